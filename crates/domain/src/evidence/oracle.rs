//! The table of the design once more, as a list of rows, to compare [`super::judge`] with.
//!
//! It shares no code with the rules: each row is a sentence, the condition that it states, and what
//! it says of whom. The first row that applies gives the answer.

use super::{AtTerminal, Case, Committer, Sign, Stranger, Verdict};
use crate::id::SessionId;

/// What a row says.
pub(super) enum Says {
    Unknown,
    Ambiguous,
    Human,
    Likely(Who),
    Certain(Who),
}

type Who = fn(&View, SessionId) -> bool;

/// One row.
pub(super) struct Row {
    /// In words.
    pub(super) text: &'static str,
    applies: fn(&View) -> bool,
    says: Says,
}

const fn row(text: &'static str, applies: fn(&View) -> bool, says: Says) -> Row {
    Row {
        text,
        applies,
        says,
    }
}

/// The table.
pub(super) const ROWS: &[Row] = &[
    row(
        "no hook saw it, and one session's call has git's own words for it",
        |v| !v.case.witnessed && v.one(View::words),
        Says::Certain(View::words),
    ),
    row(
        "no hook saw it, and no call names it",
        |v| !v.case.witnessed && !v.any(View::names),
        Says::Unknown,
    ),
    row(
        "no hook saw it, one call names it, and no other session's ran then",
        |v| !v.case.witnessed && v.one(View::ran),
        Says::Certain(View::ran),
    ),
    row(
        "no hook saw it, and calls of several sessions ran then",
        |v| !v.case.witnessed,
        Says::Ambiguous,
    ),
    row(
        "an agent that nobody records is nearer than any session",
        View::stranger_nearest,
        Says::Unknown,
    ),
    row(
        "a variable was set below the nearest agent, whose process was never looked at, and its own \
         variable is there, too",
        |v| v.contradicted() && v.one(View::named_nearest) && v.all(View::named_nearest, View::dim),
        Says::Likely(View::named_nearest),
    ),
    row(
        "a variable that names somebody else was set below the nearest agent",
        View::contradicted,
        Says::Ambiguous,
    ),
    row(
        "the nearest is the first process of a container, and somebody has a terminal there",
        |v| v.container() && v.case.terminal != AtTerminal::Away,
        Says::Ambiguous,
    ),
    row(
        "it is the first process of a container, and one variable names a session of it",
        |v| v.container() && v.one(View::named_nearest),
        Says::Likely(View::named_nearest),
    ),
    row(
        "it is the first process of a container, no variable names a session of it, one call runs",
        |v| v.container() && !v.any(View::named_nearest) && v.one(View::runs_nearest),
        Says::Likely(View::runs_nearest),
    ),
    row(
        "it is the first process of a container",
        View::container,
        Says::Ambiguous,
    ),
    row(
        "ancestry and one variable agree",
        |v| v.any(View::nearest) && v.one(View::named_nearest),
        Says::Certain(View::named_nearest),
    ),
    row(
        "variables name several sessions of the nearest process",
        |v| v.any(View::nearest) && v.any(View::named_nearest),
        Says::Ambiguous,
    ),
    row(
        "ancestry of the only open session, and a second sign",
        |v| v.one(View::open) && v.all(View::open, View::confirmed),
        Says::Certain(View::open),
    ),
    row(
        "ancestry of the only open session",
        |v| v.one(View::open),
        Says::Likely(View::open),
    ),
    row(
        "several share the process, and the output of one has git's own words",
        |v| v.any(View::nearest) && v.one(|v, s| v.open(s) && v.words(s)),
        Says::Likely(|v, s| v.open(s) && v.words(s)),
    ),
    row(
        "several share the process, and a call of one runs",
        |v| v.any(View::nearest) && v.one(|v, s| v.open(s) && v.runs(s)),
        Says::Likely(|v, s| v.open(s) && v.runs(s)),
    ),
    row(
        "several share the process, or its sessions had ended",
        |v| v.any(View::nearest),
        Says::Ambiguous,
    ),
    row(
        "only a variable, at somebody's terminal",
        |v| v.any(View::named) && v.case.terminal != AtTerminal::Away,
        Says::Ambiguous,
    ),
    row(
        "only a variable, beside that of an agent nobody records",
        |v| v.any(View::named) && v.foreign(),
        Says::Ambiguous,
    ),
    row(
        "variables, or git's own words, for several sessions",
        |v| v.any(View::named) && !v.one(|v, s| v.named(s) || v.words(s)),
        Says::Ambiguous,
    ),
    row(
        "one variable, and git's own words in the output of the same session",
        |v| v.one(View::named) && v.any(View::words),
        Says::Certain(View::named),
    ),
    row(
        "only one variable: detached work",
        |v| v.one(View::named),
        Says::Likely(View::named),
    ),
    row(
        "only an agent that nobody records",
        |v| !v.case.strangers.is_empty(),
        Says::Unknown,
    ),
    row(
        "typed at a terminal whose screen a tool call shows",
        |v| matches!(v.case.terminal, AtTerminal::Typed(_)) && v.any(View::words),
        Says::Ambiguous,
    ),
    row(
        "typed at a terminal, no agent anywhere",
        |v| matches!(v.case.terminal, AtTerminal::Typed(_)),
        Says::Human,
    ),
    row(
        "from a terminal, or by something that nobody left behind",
        |v| v.case.terminal != AtTerminal::Away || !v.case.orphaned,
        Says::Unknown,
    ),
    row(
        "left behind, and one output has git's own words",
        |v| v.one(View::words),
        Says::Likely(View::words),
    ),
    row(
        "left behind, no output has git's own words, and one call runs",
        |v| !v.any(View::words) && v.one(View::runs),
        Says::Likely(View::runs),
    ),
    row(
        "left behind, and it may be several",
        |v| v.any(View::words) || v.any(View::runs),
        Says::Ambiguous,
    ),
];

/// A case, and questions about it.
pub(super) struct View {
    case: Case,
}

/// The answer of the table without one of its rows, or of all of it.
pub(super) fn answer(case: &Case, without: Option<usize>) -> (Committer, Verdict) {
    let view = View { case: case.clone() };
    let mut rows = ROWS.iter().enumerate().filter(|(n, _)| Some(*n) != without);
    let Some((_, row)) = rows.find(|(_, row)| (row.applies)(&view)) else {
        return (Committer::Unknown, Verdict::Unknown);
    };
    let of = |who: Who, verdict| match view.sessions().find(|s| who(&view, *s)) {
        Some(session) => (Committer::Session { session }, verdict),
        None => panic!("nobody is meant by: {}", row.text),
    };
    match row.says {
        Says::Unknown => (Committer::Unknown, Verdict::Unknown),
        Says::Ambiguous => (Committer::Unknown, Verdict::Ambiguous),
        Says::Human => (Committer::Human, Verdict::Certain),
        Says::Likely(who) => of(who, Verdict::Likely),
        Says::Certain(who) => of(who, Verdict::Certain),
    }
}

impl View {
    fn sessions(&self) -> impl Iterator<Item = SessionId> {
        let mut all: Vec<_> = self.case.signs.iter().map(|(s, _)| *s).collect();
        all.sort();
        all.dedup();
        all.into_iter()
    }

    fn any(&self, who: Who) -> bool {
        self.sessions().any(|s| who(self, s))
    }

    fn one(&self, who: Who) -> bool {
        self.sessions().filter(|s| who(self, *s)).count() == 1
    }

    fn all(&self, who: Who, also: Who) -> bool {
        self.sessions().all(|s| !who(self, s) || also(self, s))
    }

    fn has(&self, session: SessionId, sign: fn(&Sign) -> bool) -> bool {
        self.case
            .signs
            .iter()
            .any(|(s, found)| *s == session && sign(found))
    }

    fn words(&self, s: SessionId) -> bool {
        self.has(s, |sign| matches!(sign, Sign::GitWords { .. }))
    }

    fn names(&self, s: SessionId) -> bool {
        self.words(s) || self.has(s, |sign| matches!(sign, Sign::ToolOutput { .. }))
    }

    fn ran(&self, s: SessionId) -> bool {
        self.names(s) || self.has(s, |sign| matches!(sign, Sign::Window { .. }))
    }

    fn runs(&self, s: SessionId) -> bool {
        self.has(s, |sign| matches!(sign, Sign::RunningTool { .. }))
    }

    fn confirmed(&self, s: SessionId) -> bool {
        self.runs(s) || self.names(s) || self.has(s, |sign| matches!(sign, Sign::LaunchClaim))
    }

    fn depths(&self, of: Option<SessionId>) -> Option<u32> {
        let mut least = None;
        for (session, sign) in &self.case.signs {
            let (Sign::Ancestry { depth, .. } | Sign::Reaper { depth, .. }) = sign else {
                continue;
            };
            if of.is_none_or(|of| of == *session) && least.is_none_or(|l| *depth < l) {
                least = Some(*depth);
            }
        }
        least
    }

    fn nearest(&self, s: SessionId) -> bool {
        self.depths(Some(s)).is_some() && self.depths(Some(s)) == self.depths(None)
    }

    fn further_out(&self, s: SessionId) -> bool {
        self.depths(Some(s)) > self.depths(None)
    }

    fn container(&self) -> bool {
        let descends = |v: &Self, s| v.has(s, |sign| matches!(sign, Sign::Ancestry { .. }));
        let mut nearest = self.sessions().filter(|s| self.nearest(*s)).peekable();
        nearest.peek().is_some() && nearest.all(|s| !descends(self, s))
    }

    fn open(&self, s: SessionId) -> bool {
        let ended = self.case.standings.get(&s).and_then(|s| s.ended_at);
        self.nearest(s) && (ended.is_none() || ended > Some(self.case.at))
    }

    fn stranger_nearest(&self) -> bool {
        self.case.strangers.iter().any(|stranger| match stranger {
            Stranger::Process { depth, .. } => match self.depths(None) {
                Some(nearest) => *depth < nearest,
                None => true,
            },
            Stranger::Variable { .. } => false,
        })
    }

    /// The variables that name a session, unless it is further out than the nearest.
    fn variables(&self, s: SessionId) -> Vec<&str> {
        let mut names = Vec::new();
        for (session, sign) in &self.case.signs {
            if let Sign::Variable { name } = sign
                && *session == s
                && !self.further_out(s)
            {
                names.push(name.as_str());
            }
        }
        names
    }

    /// Whether a session that could be the committer had this variable before it set its own.
    fn inherits(&self, s: SessionId, name: &str) -> bool {
        let could = self.nearest(s) || !self.variables(s).is_empty();
        let standing = self.case.standings.get(&s);
        let had = standing.and_then(|s| s.carried.as_ref());
        could && had.is_some_and(|had| had.contains(name))
    }

    fn named_by_its_own(&self, s: SessionId) -> bool {
        let others = |name: &str| self.sessions().any(|o| o != s && self.inherits(o, name));
        self.variables(s).iter().any(|name| !others(name))
    }

    fn named(&self, s: SessionId) -> bool {
        let undecided = !self.any(Self::named_by_its_own) && !self.any(Self::nearest);
        self.named_by_its_own(s) || (undecided && !self.variables(s).is_empty())
    }

    fn named_nearest(&self, s: SessionId) -> bool {
        self.nearest(s) && self.named(s)
    }

    fn runs_nearest(&self, s: SessionId) -> bool {
        self.nearest(s) && self.runs(s)
    }

    fn dim(&self, s: SessionId) -> bool {
        self.case
            .standings
            .get(&s)
            .is_none_or(|s| s.carried.is_none())
    }

    fn foreign(&self) -> bool {
        self.case.strangers.iter().any(|stranger| match stranger {
            Stranger::Process { .. } => false,
            Stranger::Variable { name, .. } => !self.sessions().any(|s| self.inherits(s, name)),
        })
    }

    fn contradicted(&self) -> bool {
        let elsewhere = |v: &Self, s| v.named(s) && !v.nearest(s);
        self.any(Self::nearest) && (self.foreign() || self.any(elsewhere))
    }
}
