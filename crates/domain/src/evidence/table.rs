//! The table of the design, row by row: what applies first gives the answer.
//!
//! Hold it beside DESIGN §5. A row says what was observed, what follows from it, and what would take
//! the answer away.

use super::Verdict;
use super::view::{View, Who};

/// What a row says of a case that it applies to.
pub(crate) enum Answer {
    /// Nobody is named.
    Unknown,
    /// These sessions cannot be told apart, or contradict each other.
    Ambiguous(Who),
    /// A person.
    Human(Verdict),
    /// The only session for which this holds.
    Session(Verdict, Who),
}

/// One row of the table.
pub struct Rule {
    /// A stable name.
    pub name: &'static str,
    /// What was observed, in words.
    pub observed: &'static str,
    /// What would have changed the answer.
    pub defeated_by: &'static str,
    pub(crate) applies: fn(&View) -> bool,
    pub(crate) answer: Answer,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The row of this name.
#[must_use]
pub fn rule(name: &str) -> Option<&'static Rule> {
    TABLE.iter().find(|rule| rule.name == name)
}

/// Shorthand for the rows below.
const fn row(
    name: &'static str,
    observed: &'static str,
    applies: fn(&View) -> bool,
    answer: Answer,
    defeated_by: &'static str,
) -> Rule {
    Rule {
        name,
        observed,
        defeated_by,
        applies,
        answer,
    }
}

use self::Answer::{Ambiguous, Human, Session, Unknown};
use super::Verdict::{Certain, Likely};

/// The rows, in the order in which they are asked.
pub static TABLE: &[Rule] = &[
    // No hook of git saw the commit: only what calls did speaks for it.
    row(
        "call-committed",
        "no hook saw it; one session's call has a command that commits it and git's own line for it",
        |v| !v.case.witnessed && v.one(View::fits) && v.any(View::committed),
        Session(Certain, View::committed),
        "another call that fits",
    ),
    row(
        "command-fits",
        "no hook saw it; the command of one session's call is given its subject",
        |v| !v.case.witnessed && v.one(View::fits),
        Session(Likely, View::fits),
        "another call that fits; git's own line in the output would make it certain",
    ),
    row(
        "several-calls-fit",
        "no hook saw it; calls of several sessions fit",
        |v| !v.case.witnessed && v.any(View::fits),
        Ambiguous(View::fits),
        "git's own line in the output of one, and no subject of it in the command of the others",
    ),
    row(
        "unseen",
        "no hook saw it, and no call fits; who only printed it did not make it",
        |v| !v.case.witnessed,
        Unknown,
        "a hook of git, or a call whose command and output fit",
    ),
    // A hook saw it. The nearest agent in the chain is the committer.
    row(
        "unrecorded-agent",
        "an agent that nobody records is nearer to git than any session",
        |v| v.nearest_stranger().is_some(),
        Unknown,
        "hooks of that agent",
    ),
    row(
        "variable-of-unknown-origin",
        "a variable names somebody else; the nearest agent's own is there, and what its process had \
         inherited was not recorded",
        |v| {
            v.contradicted()
                && v.one(View::named_nearest)
                && v.all_who(View::named_nearest)
                    .into_iter()
                    .all(|s| v.unsure_of_inheritance(s))
        },
        Session(Likely, View::named_nearest),
        "a record of what the agent's process had inherited",
    ),
    row(
        "variable-set-below",
        "a variable that names somebody else was set below the nearest agent",
        View::contradicted,
        Ambiguous(View::named_or_nearest),
        "the same variable in the agent's own environment",
    ),
    row(
        "terminal-in-container",
        "the nearest agent is the first process of a container, and somebody has a terminal there",
        |v| v.in_container_of_agent() && v.has_terminal(),
        Ambiguous(View::nearest),
        "no terminal",
    ),
    row(
        "variable-in-container",
        "the nearest agent is the first process of a container, to which all orphans fall; one \
         variable names a session of it",
        |v| v.in_container_of_agent() && v.one(View::named_nearest),
        Session(Likely, View::named_nearest),
        "a terminal, another variable",
    ),
    row(
        "orphan-in-container",
        "the nearest agent is the first process of a container, to which all orphans fall",
        View::in_container_of_agent,
        Ambiguous(View::nearest),
        "the agent's variable",
    ),
    row(
        "window-below-agent",
        "a window in which a person works lies between git and the agent that opened it",
        |v| v.has_nearest() && v.window_between().is_some(),
        Ambiguous(View::nearest),
        "no such program between",
    ),
    row(
        "cleaned-environment",
        "a program of its own lies between git and the agent, and the agent's variables are gone",
        |v| {
            v.has_nearest()
                && v.program_between().is_some()
                && !v.any(View::nearest_with_whole_environment)
        },
        Ambiguous(View::nearest),
        "the agent's variables, or no such program between",
    ),
    // Whatever a launcher started inherits its token with its ancestry, so that the two are one sign.
    row(
        "launcher",
        "git descends from the launcher of one session, and no agent or person was seen between",
        |v| v.one(View::nearest) && v.any(View::launched),
        Session(Likely, View::launched),
        "an agent between, an interactive shell or an editor there, a variable of somebody else, an end of the \
         launch before",
    ),
    row(
        "program-with-own-life",
        "ancestry and variable agree, and a program with a terminal or a connection of its own lies \
         between",
        |v| v.one(View::named_nearest) && v.own_life_between().is_some(),
        Session(Likely, View::named_nearest),
        "no such program between",
    ),
    row(
        "ancestry-and-variable",
        "git descends from the agent's process, and its variable names the session",
        |v| v.one(View::named_nearest),
        Session(Certain, View::named_nearest),
        "a nearer agent, a program of its own between, a variable of somebody else",
    ),
    row(
        "several-variables",
        "variables name several sessions of the nearest process",
        |v| v.any(View::named_nearest),
        Ambiguous(View::named_nearest),
        "one of the variables alone",
    ),
    row(
        "ancestry-confirmed",
        "git descends from the agent's process with one open session, and its call runs, its \
         command fits, or the launcher's claim is bound to it",
        |v| {
            v.one(View::open)
                && v.all_who(View::open).into_iter().all(|s| v.confirmed(s))
                && v.own_life_between().is_none()
        },
        Session(Certain, View::open),
        "a nearer agent, a program of its own between",
    ),
    row(
        "ancestry",
        "git descends from the agent's process with one open session",
        |v| v.one(View::open),
        Session(Likely, View::open),
        "a nearer agent; a second sign would make it certain",
    ),
    row(
        "shared-process-committed",
        "several sessions share the agent's process, and the call of one committed",
        |v| v.has_nearest() && v.one(|v, s| v.open(s) && v.committed(s)),
        Session(Likely, |v, s| v.open(s) && v.committed(s)),
        "a call of another one that fits",
    ),
    row(
        "shared-process-running",
        "several sessions share the agent's process, and a call of one runs",
        |v| v.has_nearest() && v.one(|v, s| v.open(s) && v.runs(s)),
        Session(Likely, |v, s| v.open(s) && v.runs(s)),
        "a running call of another one",
    ),
    row(
        "shared-process",
        "several sessions share the agent's process and none can be told apart",
        |v| v.any(View::open),
        Ambiguous(View::open),
        "the variable or a running call of one",
    ),
    row(
        "process-outlived-sessions",
        "git descends from an agent's process whose sessions had ended",
        View::has_nearest,
        Ambiguous(View::nearest),
        "a session that goes on in the process",
    ),
    // No agent is above git: work that was left behind, or somebody who inherited a variable.
    row(
        "variable-at-terminal",
        "a variable names a session, at a terminal with an interactive shell, which may have \
         inherited it",
        |v| v.any(View::named) && v.has_terminal(),
        Ambiguous(View::named_or_committed),
        "no terminal",
    ),
    row(
        "variable-beside-unrecorded",
        "a variable names a session, and another one says that an agent is there which nobody records",
        |v| v.any(View::named) && v.has_foreign_variable(),
        Ambiguous(View::named_or_committed),
        "one of the variables alone",
    ),
    row(
        "variables-disagree",
        "variables, or a call that committed, name several sessions",
        |v| v.any(View::named) && !v.one(View::named_or_committed),
        Ambiguous(View::named_or_committed),
        "one of them alone",
    ),
    row(
        "variable-in-window",
        "a variable names a session, below a window in which a person works and which inherited it",
        |v| v.any(View::named) && v.window_between().is_some(),
        Ambiguous(View::named),
        "no such program above git",
    ),
    row(
        "variable-outlived-session",
        "a variable names a session that had ended, below a program that outlived it",
        |v| {
            let ended = v.all_who(View::named).into_iter().any(|s| v.ended(s));
            ended && v.program_between().is_some()
        },
        Ambiguous(View::named),
        "only shells above git, or a session that goes on",
    ),
    row(
        "variable-and-call",
        "a variable names a session, and its call committed",
        |v| v.one(View::named) && v.any(View::committed),
        Session(Certain, View::named),
        "a variable or call of somebody else",
    ),
    row(
        "variable",
        "a variable alone names a session: detached work",
        |v| v.any(View::named),
        Session(Likely, View::named),
        "a terminal, a window, a program that outlived the session",
    ),
    row(
        "unrecorded-variable",
        "an agent is there that nobody records",
        |v| !v.case.strangers.is_empty(),
        Unknown,
        "hooks of that agent",
    ),
    // Nobody is named: a person, if one was seen.
    row(
        "terminal-not-seen-whole",
        "a terminal, and the walk up the chain was cut before its end",
        |v| v.has_terminal() && v.case.cut,
        Unknown,
        "a walk up to the first process of the system",
    ),
    row(
        "terminal-with-unknown-program",
        "a terminal, and a program in it that may commit by itself",
        |v| v.has_terminal() && !v.at_persons_terminal(),
        Unknown,
        "only shells, build tools and editors between git and the terminal",
    ),
    row(
        "typed-by-call",
        "a terminal, and a tool call that types into terminals or whose command fits",
        |v| v.has_terminal() && v.any(View::may_type),
        Ambiguous(View::may_type),
        "no such call",
    ),
    row(
        "terminal-of-unknown-program",
        "a terminal that some program holds which may type, while a tool call runs",
        |v| v.owner_is_unknown() && v.any(View::runs),
        Ambiguous(View::runs),
        "a known login or terminal program, or no running call",
    ),
    row(
        "terminal-of-robot",
        "a terminal whose other end is held by a program that is no known login or terminal program, \
         and may type by itself",
        View::owner_is_unknown,
        Unknown,
        "a known login or terminal program",
    ),
    row(
        "typed",
        "typed at a terminal of a login or terminal program; no agent above git or in its environment",
        View::typed_at_login,
        Human(Certain),
        "an agent above git, a variable, a multiplexer, a call that types into terminals",
    ),
    row(
        "terminal",
        "a person's terminal: through a script, a build tool or an editor, in the background, or in a \
         multiplexer, into which others can type",
        View::has_terminal,
        Human(Likely),
        "an agent above git, a variable, a call that types into terminals; a plain terminal would \
         make it certain",
    ),
    row(
        "left-behind-committed",
        "nobody is above git; the command of one session's call fits",
        |v| v.one(View::fits),
        Session(Likely, View::fits),
        "another call that fits",
    ),
    row(
        "left-behind-several",
        "nobody is above git; calls of several sessions fit",
        |v| v.any(View::fits),
        Ambiguous(View::fits),
        "one of them alone",
    ),
    row(
        "nothing",
        "nothing names anybody; a call that only ran meanwhile names nobody",
        |_| true,
        Unknown,
        "ancestry, a variable, a terminal",
    ),
];
