//! The rules once more, as one function that asks one question after another, to compare
//! [`super::judge`] with.
//!
//! It shares no code with the table: it looks through the signs anew for each question.

use std::collections::BTreeSet;

use super::{Case, Committer, Sign, Stranger, Verdict};
use crate::id::SessionId;
use crate::process::{ProgramKind, TerminalOwner};

type Answer = (Committer, Verdict);
type Sessions = BTreeSet<SessionId>;

const UNKNOWN: Answer = (Committer::Unknown, Verdict::Unknown);
const AMBIGUOUS: Answer = (Committer::Unknown, Verdict::Ambiguous);

/// The answer to a case.
pub(super) fn answer(case: &Case) -> Answer {
    let oracle = Oracle { case };
    if !case.witnessed {
        return oracle.unseen();
    }
    match oracle.depth(None) {
        nearest if oracle.unrecorded_within(nearest) => UNKNOWN,
        Some(_) => oracle.below_an_agent(),
        None => oracle.below_nobody(),
    }
}

struct Oracle<'a> {
    case: &'a Case,
}

fn likely(session: SessionId) -> Answer {
    (Committer::Session { session }, Verdict::Likely)
}

fn certain(session: SessionId) -> Answer {
    (Committer::Session { session }, Verdict::Certain)
}

/// The only one, as an answer; ambiguous of several, and of none what else there is.
fn only(of: &Sessions, answer: fn(SessionId) -> Answer) -> Option<Answer> {
    match of.len() {
        0 => None,
        1 => of.first().map(|s| answer(*s)),
        _ => Some(AMBIGUOUS),
    }
}

impl Oracle<'_> {
    fn unseen(&self) -> Answer {
        let committed = self.with(|s| matches!(s, Sign::CallCommitted { .. }));
        let sure = !committed.is_empty();
        only(&self.fitting(), if sure { certain } else { likely }).unwrap_or(UNKNOWN)
    }

    fn below_an_agent(&self) -> Answer {
        let (nearest, named) = (self.nearest(), self.named());
        let own: Sessions = named.intersection(&nearest).copied().collect();
        if named != own || self.foreign() {
            let unsure = |s: &SessionId| self.carried(*s).is_none();
            return match own.first() {
                Some(session) if own.len() == 1 && unsure(session) => likely(*session),
                _ => AMBIGUOUS,
            };
        }
        let below = self.with(|s| matches!(s, Sign::Ancestry { .. } | Sign::Launcher { .. }));
        if below.is_disjoint(&nearest) {
            let alone = own.len() == 1 && self.case.terminal.is_none();
            return own
                .first()
                .filter(|_| alone)
                .map_or(AMBIGUOUS, |s| likely(*s));
        }
        let programs = self.programs_within(self.depth(None));
        if programs.contains(&ProgramKind::Window) {
            return AMBIGUOUS;
        }
        let whole = nearest.iter().any(|s| self.marked(*s));
        if !programs.is_empty() && !whole {
            return AMBIGUOUS;
        }
        let processes = self.with(|s| matches!(s, Sign::Ancestry { .. } | Sign::Reaper { .. }));
        if let (Some(session), 1) = (nearest.first(), nearest.len())
            && !processes.contains(session)
        {
            return likely(*session);
        }
        let lives = programs.contains(&ProgramKind::OwnLife);
        if let Some(answer) = only(&own, if lives { likely } else { certain }) {
            return answer;
        }
        let open: Sessions = nearest.into_iter().filter(|s| !self.ended(*s)).collect();
        let within = |of: &Sessions| -> Sessions { open.intersection(of).copied().collect() };
        if let (Some(session), 1) = (open.first(), open.len()) {
            let claimed = self.with(|s| matches!(s, Sign::LaunchClaim));
            let second = [self.running(), self.fitting(), claimed];
            let confirmed = second.iter().any(|of| of.contains(session)) && !lives;
            return if confirmed {
                certain(*session)
            } else {
                likely(*session)
            };
        }
        let committed = self.with(|s| matches!(s, Sign::CallCommitted { .. }));
        for telling in [within(&committed), within(&self.running())] {
            if telling.len() == 1 {
                return only(&telling, likely).unwrap_or(AMBIGUOUS);
            }
        }
        AMBIGUOUS
    }

    fn below_nobody(&self) -> Answer {
        let named = self.named();
        if !named.is_empty() {
            return self.by_variable(&named);
        }
        if !self.case.strangers.is_empty() {
            return UNKNOWN;
        }
        let Some(terminal) = &self.case.terminal else {
            return only(&self.fitting(), likely).unwrap_or(UNKNOWN);
        };
        if self.case.cut || !terminal.through.is_empty() {
            return UNKNOWN;
        }
        let types = self.with(|s| matches!(s, Sign::TypesIntoTerminals { .. }));
        if !types.is_empty() || !self.fitting().is_empty() {
            return AMBIGUOUS;
        }
        match &terminal.owner {
            TerminalOwner::Unknown(_) if !self.running().is_empty() => AMBIGUOUS,
            TerminalOwner::Unknown(_) => UNKNOWN,
            TerminalOwner::Login(_) if terminal.typed => (Committer::Human, Verdict::Certain),
            _ => (Committer::Human, Verdict::Likely),
        }
    }

    fn by_variable(&self, named: &Sessions) -> Answer {
        let committed = self.with(|s| matches!(s, Sign::CallCommitted { .. }));
        let both: Sessions = named.union(&committed).copied().collect();
        let programs = self.programs_within(None);
        let outlived = !programs.is_empty() && named.iter().any(|s| self.ended(*s));
        let doubtful = self.case.terminal.is_some()
            || self.foreign()
            || outlived
            || programs.contains(&ProgramKind::Window);
        match both.first() {
            Some(session) if both.len() == 1 && !doubtful => {
                if committed.is_empty() {
                    likely(*session)
                } else {
                    certain(*session)
                }
            }
            _ => AMBIGUOUS,
        }
    }

    fn with(&self, wanted: fn(&Sign) -> bool) -> Sessions {
        let signs = self.case.signs.iter().filter(|(_, s)| wanted(s));
        signs.map(|(session, _)| *session).collect()
    }

    fn fitting(&self) -> Sessions {
        self.with(|s| matches!(s, Sign::CallCommitted { .. } | Sign::CommandFits { .. }))
    }

    fn running(&self) -> Sessions {
        self.with(|s| matches!(s, Sign::RunningTool { .. }))
    }

    fn depth(&self, of: Option<SessionId>) -> Option<u32> {
        let mut least = None;
        for (session, sign) in &self.case.signs {
            let (Sign::Ancestry { depth, .. }
            | Sign::Reaper { depth, .. }
            | Sign::Launcher {
                depth,
                person: false,
                ..
            }) = sign
            else {
                continue;
            };
            if of.is_none_or(|of| of == *session) && least.is_none_or(|l| *depth < l) {
                least = Some(*depth);
            }
        }
        least
    }

    fn nearest(&self) -> Sessions {
        let least = self.depth(None);
        let all = self.with(|_| true).into_iter();
        all.filter(|s| least.is_some() && self.depth(Some(*s)) == least)
            .collect()
    }

    fn unrecorded_within(&self, nearest: Option<u32>) -> bool {
        self.case.strangers.iter().any(|stranger| match stranger {
            Stranger::Process { depth, .. } => nearest.is_none_or(|n| *depth < n),
            Stranger::Variable { .. } => false,
        })
    }

    fn programs_within(&self, nearest: Option<u32>) -> BTreeSet<ProgramKind> {
        let programs = self.case.programs.iter();
        let within = programs.filter(|(depth, _, _)| nearest.is_none_or(|n| *depth < n));
        within.map(|(_, _, kind)| *kind).collect()
    }

    fn ended(&self, s: SessionId) -> bool {
        let ended = self.case.standings.get(&s).and_then(|s| s.ended_at);
        !(ended.is_none() || ended > Some(self.case.at))
    }

    fn carried(&self, s: SessionId) -> Option<&BTreeSet<String>> {
        self.case.standings.get(&s).and_then(|s| s.carried.as_ref())
    }

    fn marked(&self, s: SessionId) -> bool {
        let marks = self.with(|s| {
            matches!(
                s,
                Sign::Variable { .. } | Sign::Presence { .. } | Sign::LaunchClaim
            )
        });
        marks.contains(&s) || self.case.unmarked.contains(&s)
    }

    /// The variables that name a session, unless it is further out than the nearest.
    fn variables(&self, s: SessionId) -> Vec<&str> {
        let further_out = self.depth(Some(s)) > self.depth(None);
        let of_session = self.case.signs.iter().filter(|(session, _)| *session == s);
        let names = of_session.filter_map(|(_, sign)| match sign {
            Sign::Variable { name } if !further_out => Some(name.as_str()),
            _ => None,
        });
        names.collect()
    }

    /// Whether a session that could be the committer had this variable before it set its own.
    fn inherits(&self, s: SessionId, name: &str) -> bool {
        let could = self.nearest().contains(&s) || !self.variables(s).is_empty();
        could && self.carried(s).is_some_and(|had| had.contains(name))
    }

    fn named_by_its_own(&self, s: SessionId) -> bool {
        let all = self.with(|_| true);
        let others = |name: &str| all.iter().any(|o| *o != s && self.inherits(*o, name));
        self.variables(s).iter().any(|name| !others(name))
    }

    fn named(&self) -> Sessions {
        let all = self.with(|_| true);
        let own: Sessions = all
            .iter()
            .copied()
            .filter(|s| self.named_by_its_own(*s))
            .collect();
        if own.is_empty() && self.nearest().is_empty() {
            let any = |s: &SessionId| !self.variables(*s).is_empty();
            return all.into_iter().filter(any).collect();
        }
        own
    }

    fn foreign(&self) -> bool {
        let all = self.with(|_| true);
        self.case.strangers.iter().any(|stranger| match stranger {
            Stranger::Process { .. } => false,
            Stranger::Variable { name, .. } => !all.iter().any(|s| self.inherits(*s, name)),
        })
    }
}
