//! A case, and the questions that the rows of the table ask about it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Sign, Standing, Stranger};
use crate::id::SessionId;
use crate::process::{ProgramKind, TerminalOwner};

pub(super) type Sessions = BTreeSet<SessionId>;

/// What follows from a case for all rows alike.
pub(crate) struct View {
    pub(super) case: Case,
    /// Bound to the nearest agent process.
    nearest: Sessions,
    /// Bound to processes further up, nearest first.
    pub(super) outer: Vec<SessionId>,
    /// Named by variables that nobody further in is known to have inherited.
    named: Sessions,
    /// Variables of agents that nobody records, and that no recorded one is known to have inherited.
    foreign: BTreeSet<String>,
    /// Variables that were set further out than the committer.
    pub(super) inherited: BTreeSet<String>,
}

impl View {
    pub(super) fn new(case: &Case) -> Self {
        let (nearest, outer) = levels(case);
        let mut view = Self {
            case: case.clone(),
            nearest,
            outer,
            named: Sessions::new(),
            foreign: BTreeSet::new(),
            inherited: BTreeSet::new(),
        };
        view.read_variables();
        view
    }

    /// Sets aside the variables of sessions further up, and those that the agent process of a session
    /// further in had inherited.
    fn read_variables(&mut self) {
        let mut named: BTreeMap<&str, Sessions> = BTreeMap::new();
        for (session, sign) in &self.case.signs {
            if let Sign::Variable { name } = sign
                && (self.nearest.contains(session) || !self.outer.contains(session))
            {
                named.entry(name).or_default().insert(*session);
            }
        }
        let all: Sessions = named.values().flatten().copied().collect();
        let within = &all | &self.nearest;
        let carriers = |name: &str| -> Sessions {
            let carries =
                |s: &&SessionId| carried(&self.case, **s).is_some_and(|c| c.contains(name));
            within.iter().filter(carries).copied().collect()
        };
        let mut own = Sessions::new();
        let mut inherited = BTreeSet::new();
        for (name, sessions) in &named {
            for session in sessions {
                if carriers(name).iter().all(|c| c == session) {
                    own.insert(*session);
                } else {
                    inherited.insert((*name).to_owned());
                }
            }
        }
        // Two that carry each other's: neither is known to be further in.
        if own.is_empty() && self.nearest.is_empty() {
            own = all;
            inherited.clear();
        }
        for stranger in &self.case.strangers {
            if let Stranger::Variable { name, .. } = stranger {
                if carriers(name).is_empty() {
                    self.foreign.insert(name.clone());
                } else {
                    inherited.insert(name.clone());
                }
            }
        }
        self.named = own;
        self.inherited = inherited;
    }

    pub(super) fn sessions(&self) -> Sessions {
        self.case.signs.iter().map(|(s, _)| *s).collect()
    }

    pub(super) fn any(&self, who: Who) -> bool {
        self.sessions().into_iter().any(|s| who(self, s))
    }

    pub(super) fn one(&self, who: Who) -> bool {
        self.all_who(who).len() == 1
    }

    pub(super) fn all_who(&self, who: Who) -> Sessions {
        let mut sessions = self.sessions();
        sessions.retain(|s| who(self, *s));
        sessions
    }

    fn has(&self, session: SessionId, wanted: fn(&Sign) -> bool) -> bool {
        let mut signs = self.case.signs.iter();
        signs.any(|(s, sign)| *s == session && wanted(sign))
    }

    /// Its call made the commit, by its command and by git's own line.
    pub(super) fn committed(&self, s: SessionId) -> bool {
        self.has(s, |sign| matches!(sign, Sign::CallCommitted { .. }))
    }

    /// Its call's command fits the commit, whatever its output says.
    pub(super) fn fits(&self, s: SessionId) -> bool {
        self.committed(s) || self.has(s, |sign| matches!(sign, Sign::CommandFits { .. }))
    }

    pub(super) fn runs(&self, s: SessionId) -> bool {
        self.has(s, |sign| matches!(sign, Sign::RunningTool { .. }))
    }

    fn types(&self, s: SessionId) -> bool {
        self.has(s, |sign| matches!(sign, Sign::TypesIntoTerminals { .. }))
    }

    /// It may have typed what seems to be typed by a person.
    pub(super) fn may_type(&self, s: SessionId) -> bool {
        self.types(s) || self.fits(s)
    }

    pub(super) fn nearest(&self, s: SessionId) -> bool {
        self.nearest.contains(&s)
    }

    pub(super) fn open(&self, s: SessionId) -> bool {
        self.nearest(s) && !self.ended(s)
    }

    /// Only its launcher is above git, and no agent is nearer.
    pub(super) fn launched(&self, s: SessionId) -> bool {
        let by_agent = |sign: &Sign| matches!(sign, Sign::Ancestry { .. } | Sign::Reaper { .. });
        self.nearest(s) && !self.has(s, by_agent)
    }

    /// A sign beside ancestry that is independent of it.
    pub(super) fn confirmed(&self, s: SessionId) -> bool {
        self.runs(s) || self.fits(s) || self.has(s, |sign| matches!(sign, Sign::LaunchClaim))
    }

    pub(super) fn named(&self, s: SessionId) -> bool {
        self.named.contains(&s)
    }

    pub(super) fn named_or_committed(&self, s: SessionId) -> bool {
        self.named(s) || self.committed(s)
    }

    pub(super) fn named_nearest(&self, s: SessionId) -> bool {
        self.nearest(s) && self.named(s)
    }

    pub(super) fn named_or_nearest(&self, s: SessionId) -> bool {
        self.nearest(s) || self.named(s)
    }

    /// Nobody recorded what its process had inherited.
    pub(super) fn unsure_of_inheritance(&self, s: SessionId) -> bool {
        carried(&self.case, s).is_none()
    }

    pub(super) fn ended(&self, s: SessionId) -> bool {
        let ended = self.case.standings.get(&s).and_then(|s| s.ended_at);
        ended.is_some_and(|ended| ended <= self.case.at)
    }

    /// An agent that nobody records is nearer to git than any session.
    pub(super) fn nearest_stranger(&self) -> Option<&str> {
        let nearest = self.depth();
        let nearer = self.case.strangers.iter().filter_map(|s| match s {
            Stranger::Process { depth, agent } if nearest.is_none_or(|n| *depth < n) => {
                Some((*depth, agent.as_str()))
            }
            _ => None,
        });
        nearer.min().map(|(_, agent)| agent)
    }

    /// A variable of somebody who is not above git, which the nearest agent had not inherited.
    pub(super) fn contradicted(&self) -> bool {
        let elsewhere = !self.named.is_subset(&self.nearest);
        !self.nearest.is_empty() && (elsewhere || !self.foreign.is_empty())
    }

    pub(super) fn has_foreign_variable(&self) -> bool {
        !self.foreign.is_empty()
    }

    /// All that puts git below the nearest agent is that orphans fall to its process.
    pub(super) fn in_container_of_agent(&self) -> bool {
        let descends = |s: &SessionId| {
            let below = |sign: &Sign| matches!(sign, Sign::Ancestry { .. } | Sign::Launcher { .. });
            self.has(*s, below)
        };
        !self.nearest.is_empty() && !self.nearest.iter().any(descends)
    }

    pub(super) fn has_nearest(&self) -> bool {
        !self.nearest.is_empty()
    }

    pub(super) fn has_terminal(&self) -> bool {
        self.case.terminal.is_some()
    }

    /// Programs between git and the nearest agent, or all above git where there is none.
    fn between(&self) -> impl Iterator<Item = &(u32, String, ProgramKind)> {
        let nearest = self.depth();
        let mut programs: Vec<_> = self.case.programs.iter().collect();
        programs.retain(|(depth, _, _)| nearest.is_none_or(|n| *depth < n));
        programs.sort();
        programs.into_iter()
    }

    /// The nearest program that lies between git and the agent.
    pub(super) fn program_between(&self) -> Option<&str> {
        self.between().map(|(_, name, _)| name.as_str()).next()
    }

    pub(super) fn window_between(&self) -> Option<&str> {
        self.of_kind(ProgramKind::Window)
    }

    pub(super) fn own_life_between(&self) -> Option<&str> {
        self.of_kind(ProgramKind::OwnLife)
    }

    fn of_kind(&self, wanted: ProgramKind) -> Option<&str> {
        let mut programs = self.between();
        let found = programs.find(|(_, _, kind)| *kind == wanted);
        found.map(|(_, name, _)| name.as_str())
    }

    /// Git's environment is the one that the agent gave what it started.
    pub(super) fn environment_is_whole(&self, s: SessionId) -> bool {
        self.case.unmarked.contains(&s)
            || self.has(s, |sign| {
                matches!(
                    sign,
                    Sign::Variable { .. } | Sign::Presence { .. } | Sign::LaunchClaim
                )
            })
    }

    pub(super) fn nearest_with_whole_environment(&self, s: SessionId) -> bool {
        self.nearest(s) && self.environment_is_whole(s)
    }

    /// A terminal with nothing in it but shells and tools through which people commit.
    pub(super) fn at_persons_terminal(&self) -> bool {
        let terminal = self.case.terminal.as_ref();
        terminal.is_some_and(|t| t.through.is_empty())
    }

    /// Typed as a command of its own, and the terminal's owner types nothing by itself.
    pub(super) fn typed_at_login(&self) -> bool {
        let terminal = self.case.terminal.as_ref();
        terminal.is_some_and(|t| t.typed && matches!(t.owner, TerminalOwner::Login(_)))
    }

    pub(super) fn owner_is_unknown(&self) -> bool {
        let terminal = self.case.terminal.as_ref();
        terminal.is_some_and(|t| matches!(t.owner, TerminalOwner::Unknown(_)))
    }

    fn depth(&self) -> Option<u32> {
        depth(&self.case, |_| true)
    }
}

pub(super) type Who = fn(&View, SessionId) -> bool;

fn carried(case: &Case, session: SessionId) -> Option<&BTreeSet<String>> {
    let standing: &Standing = case.standings.get(&session)?;
    standing.carried.as_ref()
}

/// How far up the chain the nearest process is that one of these sessions is bound to.
fn depth(case: &Case, of: impl Fn(SessionId) -> bool) -> Option<u32> {
    let depths = case.signs.iter().filter_map(|(s, sign)| match sign {
        Sign::Ancestry { depth, .. }
        | Sign::Reaper { depth, .. }
        | Sign::Launcher {
            depth,
            person: false,
            ..
        } if of(*s) => Some(*depth),
        _ => None,
    });
    depths.min()
}

/// The sessions bound to the nearest agent process, and those bound to processes further up.
fn levels(case: &Case) -> (Sessions, Vec<SessionId>) {
    let mut by_depth: BTreeMap<u32, Sessions> = BTreeMap::new();
    for (session, _) in &case.signs {
        if let Some(depth) = depth(case, |s| s == *session) {
            by_depth.entry(depth).or_default().insert(*session);
        }
    }
    let nearest = by_depth.pop_first().map(|(_, sessions)| sessions);
    let outer = by_depth
        .values()
        .flat_map(|sessions| newest_first(case, sessions));
    (nearest.unwrap_or_default(), outer.collect())
}

/// Orders candidates for a reader; decides nothing.
pub(super) fn newest_first(case: &Case, sessions: &Sessions) -> Vec<SessionId> {
    let mut list: Vec<_> = sessions.iter().copied().collect();
    let last = |s: &SessionId| case.standings.get(s).and_then(|s| s.last_at);
    list.sort_by(|a, b| last(b).cmp(&last(a)).then(a.cmp(b)));
    list
}
