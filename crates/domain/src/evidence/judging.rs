//! The rules, in the order in which they are asked.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    AtTerminal, Basis, Case, Committer, Evidence, Judgement, RULES, Sign, Standing, Stranger,
    Verdict,
};
use crate::id::SessionId;

type Sessions = BTreeSet<SessionId>;
type Answer = (Committer, Verdict);

const UNKNOWN: Answer = (Committer::Unknown, Verdict::Unknown);
const AMBIGUOUS: Answer = (Committer::Unknown, Verdict::Ambiguous);

/// Gives the committer of a case. Equal for every order of the signs.
#[must_use]
pub fn judge(case: &Case) -> Judgement {
    let mut bench = Bench::new(case);
    let answer = bench.decide();
    bench.close(answer)
}

struct Bench<'a> {
    case: &'a Case,
    /// Bound to the nearest agent process.
    nearest: Sessions,
    /// Bound to processes further up, nearest first.
    outer: Vec<SessionId>,
    /// Named by variables that nobody further in is known to have inherited.
    variables: Sessions,
    /// Variables of agents that nobody records, and that no recorded one is known to have inherited.
    foreign: BTreeSet<String>,
    running: Sessions,
    launched: Sessions,
    /// Whose calls name the commit, in any words.
    naming: Sessions,
    /// Whose calls have git's own words for it.
    words: Sessions,
    contenders: Sessions,
    notes: Vec<String>,
}

impl<'a> Bench<'a> {
    fn new(case: &'a Case) -> Self {
        let of = |wanted: fn(&Sign) -> bool| -> Sessions {
            let signs = case.signs.iter().filter(|(_, s)| wanted(s));
            signs.map(|(id, _)| *id).collect()
        };
        let (nearest, outer) = levels(case);
        let words = of(|s| matches!(s, Sign::GitWords { .. }));
        let mut bench = Self {
            case,
            nearest,
            outer,
            variables: Sessions::new(),
            foreign: BTreeSet::new(),
            running: of(|s| matches!(s, Sign::RunningTool { .. })),
            launched: of(|s| matches!(s, Sign::LaunchClaim)),
            naming: &of(|s| matches!(s, Sign::ToolOutput { .. })) | &words,
            words,
            contenders: Sessions::new(),
            notes: Vec::new(),
        };
        bench.read_variables();
        bench
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
                |s: &&SessionId| carried(self.case, **s).is_some_and(|c| c.contains(name));
            within.iter().filter(carries).copied().collect()
        };
        let mut own = Sessions::new();
        let mut inherited = Vec::new();
        for (name, sessions) in &named {
            for session in sessions {
                if carriers(name).iter().all(|c| c == session) {
                    own.insert(*session);
                } else {
                    inherited.push((*name).to_owned());
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
                    inherited.push(name.clone());
                }
            }
        }
        self.variables = own;
        inherited.sort();
        inherited.dedup();
        let note = |name| format!("{name} was set further out: the agent's process had it already");
        self.notes.extend(inherited.into_iter().map(note));
    }

    fn decide(&mut self) -> Answer {
        if !self.case.witnessed {
            return self.by_calls();
        }
        if self.stranger_is_nearest() {
            return UNKNOWN;
        }
        if !self.nearest.is_empty() {
            return self.by_ancestry();
        }
        if !self.variables.is_empty() {
            return self.by_variable();
        }
        self.without_a_name()
    }

    /// No hook of git saw it. It is the session's whose call has git's own words for it, else the
    /// only session's whose call ran then, if that call names it.
    fn by_calls(&mut self) -> Answer {
        if !self.words.is_empty() {
            return self.one_of(&self.words.clone(), Verdict::Certain);
        }
        if self.naming.is_empty() {
            return UNKNOWN;
        }
        let windows = self.case.signs.iter();
        let windows = windows.filter(|(_, s)| matches!(s, Sign::Window { .. }));
        let ran: Sessions = windows
            .map(|(id, _)| *id)
            .chain(self.naming.clone())
            .collect();
        self.one_of(&ran, Verdict::Certain)
    }

    /// An agent that we do not record is nearer to git than any session: it is the committer, and
    /// nobody knows which of its sessions.
    fn stranger_is_nearest(&mut self) -> bool {
        let depths = self.nearest.iter().filter_map(|s| depth_of(self.case, *s));
        let nearest = depths.min();
        let nearer = self.case.strangers.iter().filter_map(|s| match s {
            Stranger::Process { depth, agent } if nearest.is_none_or(|n| *depth < n) => {
                Some((*depth, agent))
            }
            _ => None,
        });
        let Some((_, agent)) = nearer.min() else {
            return false;
        };
        self.notes.push(format!(
            "{agent} ran git, and none of its sessions is recorded"
        ));
        let mut outer: Vec<SessionId> = self.nearest.iter().copied().collect();
        outer.append(&mut self.outer);
        self.outer = outer;
        self.nearest.clear();
        true
    }

    fn by_ancestry(&mut self) -> Answer {
        let named = &self.variables & &self.nearest;
        let others = &self.variables - &self.nearest;
        if !others.is_empty() || !self.foreign.is_empty() {
            return self.contradicted(&named, &others);
        }
        if self.nearest.iter().all(|s| only_as_reaper(self.case, *s)) {
            return self.below_the_reaper(&named);
        }
        if !named.is_empty() {
            return self.one_of(&named, Verdict::Certain);
        }
        let open = self.nearest.iter().filter(|s| !ended(self.case, **s));
        let open: Sessions = open.copied().collect();
        match single(&open) {
            Some(session) => {
                self.contenders = self.nearest.clone();
                let confirming = [&self.launched, &self.running, &self.naming];
                let confirmed = confirming.iter().any(|c| c.contains(&session));
                (Committer::Session { session }, one_or_two(confirmed))
            }
            None => self.sharing_a_process(&open),
        }
    }

    /// All that others left behind in a container is below its first process: being below an agent
    /// there says little.
    fn below_the_reaper(&mut self, named: &Sessions) -> Answer {
        self.notes.push(
            "the agent is the first process of its container: whatever was left behind there is \
             below it"
                .to_owned(),
        );
        self.contenders = self.nearest.clone();
        if self.case.terminal != AtTerminal::Away {
            return AMBIGUOUS;
        }
        let telling = if named.is_empty() {
            &self.running & &self.nearest
        } else {
            named.clone()
        };
        self.one_of(&telling, Verdict::Likely)
    }

    /// A variable names somebody else who is not above git, and the agent's process did not have it:
    /// it was set further in. Where nobody looked at what the process had, its own variable counts.
    fn contradicted(&mut self, named: &Sessions, others: &Sessions) -> Answer {
        if let Some(session) = single(named)
            && carried(self.case, session).is_none()
        {
            self.notes.push(
                "a variable names somebody else; whether the agent's process had inherited it was \
                 not recorded"
                    .to_owned(),
            );
            return self.one_of(&Sessions::from([session]), Verdict::Likely);
        }
        self.notes
            .push("a variable that names somebody else was set below the agent".to_owned());
        self.contenders = &self.nearest | others;
        AMBIGUOUS
    }

    /// Several sessions are open in one process, or none is any more: the one whose call has git's
    /// words or runs is likely. Which was prompted last does not tell.
    fn sharing_a_process(&mut self, open: &Sessions) -> Answer {
        self.contenders = if open.is_empty() {
            self.notes
                .push("the sessions of this agent process had ended".to_owned());
            self.nearest.clone()
        } else {
            self.notes
                .push("several sessions share this agent process".to_owned());
            open.clone()
        };
        for telling in [&self.words, &self.running] {
            if let Some(session) = single(&(telling & open)) {
                return (Committer::Session { session }, Verdict::Likely);
            }
        }
        AMBIGUOUS
    }

    /// Work that was left behind has lost its ancestors. So has a server that an agent's shell
    /// started and in which somebody works at a terminal.
    fn by_variable(&mut self) -> Answer {
        self.contenders = &self.variables | &self.words;
        let shell = match &self.case.terminal {
            AtTerminal::Away => None,
            AtTerminal::Below(shell) | AtTerminal::Typed(shell) => Some(shell),
        };
        if let Some(shell) = shell {
            self.notes.push(format!(
                "git ran at a terminal with {shell} in it, which may have inherited the variable"
            ));
            return AMBIGUOUS;
        }
        if !self.foreign.is_empty() {
            self.notes
                .push("a variable says that another agent is there".to_owned());
            return AMBIGUOUS;
        }
        let confirmed = single(&self.variables).is_some_and(|s| self.words.contains(&s));
        self.one_of(&self.contenders.clone(), one_or_two(confirmed))
    }

    /// Nothing names a session. A person at the terminal is one who was seen there; work that was
    /// left behind belongs to the tool call that runs here, if there is only one.
    fn without_a_name(&mut self) -> Answer {
        if !self.case.strangers.is_empty() {
            return UNKNOWN;
        }
        match &self.case.terminal {
            AtTerminal::Typed(shell) if self.words.is_empty() => {
                self.notes.push(format!(
                    "typed at a terminal in {shell}, no agent above git or in its environment"
                ));
                return (Committer::Human, Verdict::Certain);
            }
            AtTerminal::Typed(shell) => {
                self.notes.push(format!(
                    "typed at a terminal in {shell}, whose screen a tool call shows"
                ));
                self.contenders = self.words.clone();
                return AMBIGUOUS;
            }
            AtTerminal::Below(_) => return UNKNOWN,
            AtTerminal::Away => {}
        }
        if !self.case.orphaned {
            return UNKNOWN;
        }
        let telling = if self.words.is_empty() {
            self.running.clone()
        } else {
            self.words.clone()
        };
        if telling.is_empty() {
            return UNKNOWN;
        }
        self.one_of(&telling, Verdict::Likely)
    }

    /// The session, if it is the only one of these.
    fn one_of(&mut self, sessions: &Sessions, verdict: Verdict) -> Answer {
        self.contenders.extend(sessions);
        match single(sessions) {
            Some(session) => (Committer::Session { session }, verdict),
            None => AMBIGUOUS,
        }
    }

    fn close(self, (committer, verdict): Answer) -> Judgement {
        let named = match committer {
            Committer::Session { session } => Some(session),
            Committer::Human | Committer::Unknown => None,
        };
        let mut signs: Vec<_> = self.case.signs.iter().collect();
        signs.sort();
        signs.dedup();
        let counts = |session: &SessionId| match named {
            Some(named) => *session == named,
            None => verdict == Verdict::Ambiguous && self.contenders.contains(session),
        };
        let mut evidence: Vec<Evidence> = signs
            .into_iter()
            .map(|(session, sign)| Evidence {
                session: Some(*session),
                basis: Basis::Observed,
                counted: counts(session),
                text: sign.to_string(),
            })
            .collect();
        evidence.extend(strangers(self.case));
        let counted = matches!(committer, Committer::Human);
        evidence.extend(self.notes.iter().map(|text| Evidence {
            session: None,
            basis: Basis::Inferred,
            counted,
            text: text.clone(),
        }));
        let mut others: Sessions = self.contenders.clone();
        // For reading only.
        if verdict == Verdict::Unknown {
            others.extend(self.case.signs.iter().map(|(s, _)| *s));
        }
        others.retain(|s| Some(*s) != named);
        Judgement {
            rules: RULES,
            committer,
            verdict,
            evidence,
            candidates: newest_first(self.case, &others),
            outer: self.outer,
        }
    }
}

/// One sign is likely, two that are independent of each other are certain.
const fn one_or_two(confirmed: bool) -> Verdict {
    if confirmed {
        Verdict::Certain
    } else {
        Verdict::Likely
    }
}

fn strangers(case: &Case) -> Vec<Evidence> {
    let mut seen: Vec<_> = case.strangers.iter().collect();
    seen.sort();
    seen.dedup();
    let text = |stranger: &Stranger| match stranger {
        Stranger::Process { depth, agent } => {
            format!("{agent} is {depth} processes above git, without a recorded session")
        }
        Stranger::Variable {
            name,
            native: Some(native),
        } => format!("{name} names {native}, which is not recorded"),
        Stranger::Variable { name, native: None } => format!("{name} says that an agent is there"),
    };
    let evidence = |s| Evidence {
        session: None,
        basis: Basis::Observed,
        counted: false,
        text: text(s),
    };
    seen.into_iter().map(evidence).collect()
}

fn standing(case: &Case, session: SessionId) -> Option<&Standing> {
    case.standings.get(&session)
}

fn carried(case: &Case, session: SessionId) -> Option<&BTreeSet<String>> {
    standing(case, session)?.carried.as_ref()
}

fn ended(case: &Case, session: SessionId) -> bool {
    let ended = standing(case, session).and_then(|s| s.ended_at);
    ended.is_some_and(|ended| ended <= case.at)
}

fn depth_of(case: &Case, session: SessionId) -> Option<u32> {
    let depths = case.signs.iter().filter_map(|(s, sign)| match sign {
        Sign::Ancestry { depth, .. } | Sign::Reaper { depth, .. } if *s == session => Some(*depth),
        _ => None,
    });
    depths.min()
}

/// Whether all that puts git below the session is that orphans fall to its process.
fn only_as_reaper(case: &Case, session: SessionId) -> bool {
    let ancestry =
        |(s, sign): &(SessionId, Sign)| *s == session && matches!(sign, Sign::Ancestry { .. });
    !case.signs.iter().any(ancestry)
}

/// The sessions bound to the nearest agent process, and those bound to processes further up.
fn levels(case: &Case) -> (Sessions, Vec<SessionId>) {
    let mut by_depth: BTreeMap<u32, Sessions> = BTreeMap::new();
    for (session, _) in &case.signs {
        if let Some(depth) = depth_of(case, *session) {
            by_depth.entry(depth).or_default().insert(*session);
        }
    }
    let nearest = by_depth.pop_first().map(|(_, sessions)| sessions);
    let outer = by_depth
        .values()
        .flat_map(|sessions| newest_first(case, sessions));
    (nearest.unwrap_or_default(), outer.collect())
}

fn newest_first(case: &Case, sessions: &Sessions) -> Vec<SessionId> {
    let mut list: Vec<_> = sessions.iter().copied().collect();
    let last = |s: &SessionId| standing(case, *s).and_then(|s| s.last_at);
    list.sort_by(|a, b| last(b).cmp(&last(a)).then(a.cmp(b)));
    list
}

fn single(sessions: &Sessions) -> Option<SessionId> {
    (sessions.len() == 1)
        .then(|| sessions.first().copied())
        .flatten()
}
