//! From signs to a verdict: who made this commit.
//!
//! [`judge`] is the table of the design as a pure function. It takes what was observed, in any
//! order, and gives the committer, the verdict, and every sign with the reason why it counted or
//! not. Recency orders candidates and decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::grammar::{AgentName, NativeId};
use crate::id::SessionId;
use crate::time::Timestamp;

/// The version of the rules, kept with every judgement.
pub const RULES: u32 = 1;

/// How sure an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No evidence.
    Unknown,
    /// The evidence contradicts itself, or fits several.
    Ambiguous,
    /// One sign.
    Likely,
    /// Two independent signs agree.
    Certain,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Ambiguous => "ambiguous",
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}

/// How a piece of evidence was had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Seen while it happened.
    Observed,
    /// Found by comparing content.
    Derived,
    /// Concluded by a named rule.
    Inferred,
    /// Said by a trailer, a note or a person.
    Claimed,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Observed => "observed",
            Self::Derived => "derived",
            Self::Inferred => "inferred",
            Self::Claimed => "claimed",
        })
    }
}

/// One observation for or against "session S ran commit C".
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "sign", rename_all = "snake_case")]
pub enum Sign {
    /// The git process descends from the session's agent process.
    Ancestry {
        /// How far up the chain that process is; 0 is the hook itself.
        depth: u32,
        /// The process, by its key.
        process: String,
        /// When the session was last bound to this process.
        bound_at: Timestamp,
    },
    /// A variable of the agent in git's environment names the session.
    Variable {
        /// The variable.
        name: String,
    },
    /// A tool call of the session that runs commands was running in this worktree.
    RunningTool {
        /// The call.
        call: String,
    },
    /// The launcher's claim, bound to this agent process.
    LaunchClaim,
    /// A tool call of the session moved HEAD to the commit and names it in its output.
    ToolOutput {
        /// The call.
        call: String,
    },
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ancestry { depth, .. } => {
                write!(f, "git ran {depth} processes below the session's agent")
            }
            Self::Variable { name } => write!(f, "{name} in git's environment names the session"),
            Self::RunningTool { call } => {
                write!(f, "tool call {call} of the session was running here")
            }
            Self::LaunchClaim => {
                f.write_str("the launcher bound this agent process to the session")
            }
            Self::ToolOutput { call } => write!(
                f,
                "tool call {call} moved HEAD to this commit and names it in its output"
            ),
        }
    }
}

/// What is known of a session that a sign names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The last time anything was heard of it. Orders candidates, decides nothing.
    pub last_at: Option<Timestamp>,
    /// When the agent said that it ended, if it did and nothing came after.
    pub ended_at: Option<Timestamp>,
}

/// An agent in the chain or the environment that no recorded session accounts for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Stranger {
    /// A process of a known agent that no session is bound to.
    Process {
        /// How far up the chain.
        depth: u32,
        /// Which agent.
        agent: AgentName,
    },
    /// A variable that names a session we never heard of, or only that an agent is there.
    Variable {
        /// The variable.
        name: String,
        /// The session it names.
        native: Option<NativeId>,
    },
}

/// Everything that was observed about one commit.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// The signs, each for one session.
    pub signs: Vec<(SessionId, Sign)>,
    /// What is known of the sessions.
    pub standings: BTreeMap<SessionId, Standing>,
    /// Agents that no session accounts for.
    pub strangers: Vec<Stranger>,
    /// The interactive shell in which a person typed the command, by its name.
    pub typed_in: Option<String>,
    /// Whether a hook of git saw the commit at all.
    pub witnessed: bool,
    /// Whether the process that ran git was left behind by its parent, so that only its
    /// surroundings speak for it.
    pub orphaned: bool,
    /// When it was committed.
    pub at: Timestamp,
}

/// Who ran `git commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Committer {
    /// A session of an agent.
    Session {
        /// Which.
        session: SessionId,
    },
    /// A person at a terminal.
    Human,
    /// Nobody knows.
    Unknown,
}

/// One sign and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The session it speaks of; none for evidence of a person or of a stranger.
    pub session: Option<SessionId>,
    /// How it was had.
    pub basis: Basis,
    /// Whether it counted for the answer.
    pub counted: bool,
    /// The evidence in words.
    pub text: String,
}

/// The answer to one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgement {
    /// The rules that were applied.
    pub rules: u32,
    /// Who ran it.
    pub committer: Committer,
    /// How sure.
    pub verdict: Verdict,
    /// Why.
    pub evidence: Vec<Evidence>,
    /// Sessions that it could also have been, newest interaction first, then by id.
    pub candidates: Vec<SessionId>,
    /// The sessions further up the chain, which started the committer, nearest first.
    pub outer: Vec<SessionId>,
}

/// Gives the committer of a case. Equal for every order of the signs.
#[must_use]
pub fn judge(case: &Case) -> Judgement {
    let mut bench = Bench::new(case);
    let (committer, verdict) = bench.decide();
    bench.close(committer, verdict)
}

struct Bench<'a> {
    case: &'a Case,
    nearest: BTreeSet<SessionId>,
    outer: Vec<SessionId>,
    variables: BTreeSet<SessionId>,
    running: BTreeSet<SessionId>,
    launched: BTreeSet<SessionId>,
    output: BTreeSet<SessionId>,
    contenders: BTreeSet<SessionId>,
    notes: Vec<String>,
}

impl<'a> Bench<'a> {
    fn new(case: &'a Case) -> Self {
        let (nearest, outer) = levels(case);
        let of = |wanted: fn(&Sign) -> bool| -> BTreeSet<SessionId> {
            case.signs
                .iter()
                .filter(|(_, s)| wanted(s))
                .map(|(id, _)| *id)
                .collect()
        };
        let mut variables = of(|s| matches!(s, Sign::Variable { .. }));
        variables.retain(|s| nearest.contains(s) || !outer.contains(s));
        Self {
            case,
            nearest,
            outer,
            variables,
            running: of(|s| matches!(s, Sign::RunningTool { .. })),
            launched: of(|s| matches!(s, Sign::LaunchClaim)),
            output: of(|s| matches!(s, Sign::ToolOutput { .. })),
            contenders: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    fn decide(&mut self) -> (Committer, Verdict) {
        if let Some(verdict) = self.stranger_nearer() {
            return verdict;
        }
        if self.nearest.is_empty() && !self.output.is_empty() {
            return self.by_tool_output();
        }
        if !self.nearest.is_empty() {
            return self.by_ancestry();
        }
        if !self.variables.is_empty() {
            return self.by_variable();
        }
        self.without_a_name()
    }

    /// An agent that we do not record is nearer to git than any session: it is the committer, and
    /// nobody knows which of its sessions.
    fn stranger_nearer(&mut self) -> Option<(Committer, Verdict)> {
        let depth = |id: &SessionId| ancestry_depth(self.case, *id);
        let nearest = self.nearest.iter().filter_map(depth).min();
        let nearer = self.case.strangers.iter().filter_map(|s| match s {
            Stranger::Process { depth, agent } if nearest.is_none_or(|n| *depth < n) => {
                Some((*depth, agent))
            }
            _ => None,
        });
        let (_, agent) = nearer.min()?;
        self.notes.push(format!(
            "{agent} ran git, and none of its sessions is recorded"
        ));
        self.outer = [
            self.nearest.iter().copied().collect(),
            std::mem::take(&mut self.outer),
        ]
        .concat();
        self.nearest.clear();
        Some((Committer::Unknown, Verdict::Unknown))
    }

    fn by_tool_output(&mut self) -> (Committer, Verdict) {
        self.contenders = self.output.clone();
        match single(&self.output) {
            Some(session) if self.variables.iter().all(|v| *v == session) => {
                (Committer::Session { session }, Verdict::Certain)
            }
            _ => self.ambiguous(),
        }
    }

    fn by_ancestry(&mut self) -> (Committer, Verdict) {
        self.contenders = self.nearest.clone();
        let foreign: BTreeSet<_> = self.variables.difference(&self.nearest).copied().collect();
        if !foreign.is_empty() {
            self.notes
                .push("a variable names a session that is not above git".to_owned());
            self.contenders.extend(foreign);
            return self.ambiguous();
        }
        for agreeing in [&self.variables, &self.launched, &self.output, &self.running] {
            let both: BTreeSet<_> = agreeing.intersection(&self.nearest).copied().collect();
            if let Some(session) = single(&both) {
                return (Committer::Session { session }, Verdict::Certain);
            }
        }
        if let Some(session) = single(&self.nearest) {
            return (Committer::Session { session }, Verdict::Likely);
        }
        self.sharing_a_process()
    }

    /// Several sessions in one process: those that ended before the commit cannot have made it; of
    /// the others the newest is the likely one.
    fn sharing_a_process(&mut self) -> (Committer, Verdict) {
        let ended = |s: &SessionId| {
            self.case
                .standings
                .get(s)
                .and_then(|s| s.ended_at)
                .is_some_and(|e| e <= self.case.at)
        };
        let open: BTreeSet<_> = self.nearest.iter().filter(|s| !ended(s)).copied().collect();
        let among = if open.is_empty() {
            &self.nearest
        } else {
            &open
        };
        let session = newest_first(self.case, among)[0];
        self.notes
            .push("several sessions share this agent process; the newest is named".to_owned());
        (Committer::Session { session }, Verdict::Likely)
    }

    fn by_variable(&mut self) -> (Committer, Verdict) {
        self.contenders = self.variables.clone();
        match single(&self.variables) {
            Some(session) => (Committer::Session { session }, Verdict::Likely),
            None => self.ambiguous(),
        }
    }

    /// Nothing names a session. A person at the terminal is one who was seen there; work that was
    /// left behind belongs to the tool call that runs here, if there is only one.
    fn without_a_name(&mut self) -> (Committer, Verdict) {
        if let Some(shell) = &self.case.typed_in
            && self.case.strangers.is_empty()
        {
            self.notes.push(format!(
                "typed at a terminal in {shell}, no agent above git or in its environment"
            ));
            return (Committer::Human, Verdict::Certain);
        }
        let left_behind =
            self.case.witnessed && self.case.orphaned && self.case.strangers.is_empty();
        if !left_behind || self.running.is_empty() {
            return (Committer::Unknown, Verdict::Unknown);
        }
        self.contenders = self.running.clone();
        match single(&self.running) {
            Some(session) => (Committer::Session { session }, Verdict::Likely),
            None => self.ambiguous(),
        }
    }

    const fn ambiguous(&self) -> (Committer, Verdict) {
        (Committer::Unknown, Verdict::Ambiguous)
    }

    fn close(self, committer: Committer, verdict: Verdict) -> Judgement {
        let named = match committer {
            Committer::Session { session } => Some(session),
            Committer::Human | Committer::Unknown => None,
        };
        let mut signs: Vec<_> = self.case.signs.iter().collect();
        signs.sort();
        signs.dedup();
        let mut evidence: Vec<Evidence> = signs
            .into_iter()
            .map(|(session, sign)| Evidence {
                session: Some(*session),
                basis: Basis::Observed,
                counted: Some(*session) == named
                    || (named.is_none() && self.contenders.contains(session)),
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
        let mut others: BTreeSet<_> = self.contenders.clone();
        if named.is_none() {
            others.extend(self.case.signs.iter().map(|(s, _)| *s));
        }
        others.retain(|s| Some(*s) != named);
        let candidates = newest_first(self.case, &others);
        Judgement {
            rules: RULES,
            committer,
            verdict,
            evidence,
            candidates,
            outer: self.outer,
        }
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
    seen.into_iter()
        .map(|s| Evidence {
            session: None,
            basis: Basis::Observed,
            counted: false,
            text: text(s),
        })
        .collect()
}

fn ancestry_depth(case: &Case, id: SessionId) -> Option<u32> {
    case.signs
        .iter()
        .filter(|(s, _)| *s == id)
        .filter_map(|(_, s)| match s {
            Sign::Ancestry { depth, .. } => Some(*depth),
            _ => None,
        })
        .min()
}

/// The sessions bound to the nearest agent process, and those bound to processes further up.
fn levels(case: &Case) -> (BTreeSet<SessionId>, Vec<SessionId>) {
    let mut by_depth: BTreeMap<u32, BTreeSet<SessionId>> = BTreeMap::new();
    for (session, _) in &case.signs {
        if let Some(depth) = ancestry_depth(case, *session) {
            by_depth.entry(depth).or_default().insert(*session);
        }
    }
    let nearest = by_depth
        .pop_first()
        .map(|(_, sessions)| sessions)
        .unwrap_or_default();
    let outer = by_depth
        .values()
        .flat_map(|sessions| newest_first(case, sessions))
        .collect();
    (nearest, outer)
}

fn newest_first(case: &Case, sessions: &BTreeSet<SessionId>) -> Vec<SessionId> {
    let mut list: Vec<_> = sessions.iter().copied().collect();
    let last = |s: &SessionId| case.standings.get(s).and_then(|s| s.last_at);
    list.sort_by(|a, b| last(b).cmp(&last(a)).then(a.cmp(b)));
    list
}

fn single(sessions: &BTreeSet<SessionId>) -> Option<SessionId> {
    (sessions.len() == 1)
        .then(|| sessions.first().copied())
        .flatten()
}

#[cfg(test)]
mod tests;
