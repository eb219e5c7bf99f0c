//! Applies the table: the answer, what counted for it, and who else it could have been.

use super::table::{Answer, Rule, TABLE};
use super::view::{Sessions, View, newest_first};
use super::{Basis, Case, Committer, Evidence, Judgement, RULES, Stranger, Verdict};
use crate::id::SessionId;
use crate::process::TerminalOwner;

/// Gives the committer of a case. Equal for every order of the signs.
#[must_use]
pub fn judge(case: &Case) -> Judgement {
    let view = View::new(case);
    let rule = TABLE
        .iter()
        .find(|rule| (rule.applies)(&view))
        .expect("because the last row always applies");
    let (committer, verdict, contenders) = answer(&view, rule);
    close(&view, rule, (committer, verdict), contenders)
}

/// What the answer would have been without one piece of the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counterfactual {
    /// What is left out, in words.
    pub without: String,
    pub committer: Committer,
    pub verdict: Verdict,
    /// By which row.
    pub rule: String,
}

/// Leaves out each piece of the evidence in turn, and gives those without which the answer is another
/// one.
#[must_use]
pub fn counterfactuals(case: &Case) -> Vec<Counterfactual> {
    let judged = judge(case);
    let mut cases: Vec<(String, Case)> = Vec::new();
    for at in 0..case.signs.len() {
        let mut other = case.clone();
        let (_, sign) = other.signs.remove(at);
        cases.push((sign.to_string(), other));
    }
    for at in 0..case.strangers.len() {
        let mut other = case.clone();
        let stranger = other.strangers.remove(at);
        cases.push((stranger_text(&stranger), other));
    }
    for at in 0..case.programs.len() {
        let mut other = case.clone();
        let (depth, name, _) = other.programs.remove(at);
        let text = format!("{name} is {depth} processes above git");
        cases.push((text, other));
    }
    if case.terminal.is_some() {
        let mut other = case.clone();
        other.terminal = None;
        cases.push(("git ran in a terminal".to_owned(), other));
    }
    let differs = |(without, other): (String, Case)| {
        let changed = judge(&other);
        let same = (changed.committer, changed.verdict) == (judged.committer, judged.verdict);
        (!same).then_some(Counterfactual {
            without,
            committer: changed.committer,
            verdict: changed.verdict,
            rule: changed.rule,
        })
    };
    cases.into_iter().filter_map(differs).collect()
}

/// The answer of the table without one of its rows, or of all of it, with who is a candidate.
#[cfg(test)]
pub(super) fn judge_without(case: &Case, row: Option<usize>) -> (Committer, Verdict, Sessions) {
    let view = View::new(case);
    let mut rules = TABLE.iter().enumerate().filter(|(at, _)| Some(*at) != row);
    let found = rules.find(|(_, rule)| (rule.applies)(&view));
    answer(&view, found.expect("because the last row always applies").1)
}

fn answer(view: &View, rule: &Rule) -> (Committer, Verdict, Sessions) {
    match rule.answer {
        Answer::Unknown => (Committer::Unknown, Verdict::Unknown, Sessions::new()),
        Answer::Human(verdict) => (Committer::Human, verdict, Sessions::new()),
        Answer::Ambiguous(who) => (Committer::Unknown, Verdict::Ambiguous, view.all_who(who)),
        Answer::Session(verdict, who) => {
            let named = view.all_who(who);
            match (named.first(), named.len()) {
                (Some(session), 1) => {
                    let committer = Committer::Session { session: *session };
                    (committer, verdict, beside(view, *session))
                }
                // No row means several; if one did, nobody could tell them apart.
                _ => (Committer::Unknown, Verdict::Ambiguous, named),
            }
        }
    }
}

/// Who else could have been named by the same kind of sign.
fn beside(view: &View, session: SessionId) -> Sessions {
    if view.nearest(session) {
        view.all_who(View::nearest)
    } else {
        view.all_who(|v, s| v.named(s) || v.fits(s))
    }
}

fn close(
    view: &View,
    rule: &Rule,
    (committer, verdict): (Committer, Verdict),
    contenders: Sessions,
) -> Judgement {
    let case = &view.case;
    let named = match committer {
        Committer::Session { session } => Some(session),
        Committer::Human | Committer::Unknown => None,
    };
    let mut signs: Vec<_> = case.signs.iter().collect();
    signs.sort();
    signs.dedup();
    let counts = |session: &SessionId| match named {
        Some(named) => *session == named,
        None => verdict == Verdict::Ambiguous && contenders.contains(session),
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
    evidence.extend(strangers(case));
    let counted = committer == Committer::Human;
    evidence.extend(notes(view, rule).into_iter().map(|text| Evidence {
        session: None,
        basis: Basis::Inferred,
        counted,
        text,
    }));
    let mut others = contenders;
    let mut outer = view.outer.clone();
    if view.nearest_stranger().is_some() && case.witnessed {
        let nearest = newest_first(case, &view.all_who(View::nearest));
        outer = [nearest, outer].concat();
    }
    // For reading only.
    if verdict == Verdict::Unknown {
        others.extend(case.signs.iter().map(|(s, _)| *s));
    }
    others.retain(|s| Some(*s) != named);
    Judgement {
        rules: RULES,
        committer,
        verdict,
        rule: rule.name.to_owned(),
        evidence,
        candidates: newest_first(case, &others),
        outer,
    }
}

/// What the row saw, where the signs do not say it by themselves.
fn notes(view: &View, rule: &Rule) -> Vec<String> {
    let case = &view.case;
    let inherited = view
        .inherited
        .iter()
        .filter(|_| case.witnessed)
        .map(|name| format!("{name} was set further out: the agent's process had it already"));
    let mut notes: Vec<String> = inherited.collect();
    let between = || view.program_between().unwrap_or("a program");
    notes.extend(match rule.name {
        "unrecorded-agent" => Some(format!(
            "{} ran git, and none of its sessions is recorded",
            view.nearest_stranger().unwrap_or("an agent")
        )),
        "window-below-agent" | "variable-in-window" => Some(format!(
            "{} is above git, in which a person may have committed",
            view.window_between().unwrap_or("a window")
        )),
        "cleaned-environment" => Some(format!(
            "{} is between git and the agent, and the agent's variables are gone: it may be an \
             agent of its own",
            between()
        )),
        "variable-outlived-session" => Some(format!(
            "the session had ended, and {} went on with its variable",
            between()
        )),
        "variable-at-terminal" => case.terminal.as_ref().map(|t| {
            format!(
                "git ran at a terminal with {} in it, which may have inherited the variable",
                t.shell
            )
        }),
        "typed"
        | "terminal"
        | "typed-by-call"
        | "terminal-of-unknown-program"
        | "terminal-of-robot" => terminal_note(view),
        "terminal-with-unknown-program" => case.terminal.as_ref().map(|t| {
            format!(
                "{} ran in the terminal, which may commit by itself",
                t.through.join(", ")
            )
        }),
        "several-variables"
        | "ancestry-and-variable"
        | "ancestry-confirmed"
        | "launcher"
        | "ancestry"
        | "call-committed"
        | "command-fits"
        | "variable"
        | "variable-and-call"
        | "unseen"
        | "nothing"
        | "program-with-own-life"
        | "unrecorded-variable"
        | "left-behind-committed" => None,
        _ => Some(rule.observed.to_owned()),
    });
    if let Some(program) = view.own_life_between()
        && matches!(rule.name, "program-with-own-life" | "ancestry")
    {
        notes.push(format!(
            "{program} holds a terminal or a connection of its own"
        ));
    }
    notes
}

fn terminal_note(view: &View) -> Option<String> {
    let terminal = view.case.terminal.as_ref()?;
    let shell = &terminal.shell;
    let how = match terminal.typed {
        true => format!("typed at a terminal in {shell}"),
        false => format!("ran from a terminal with {shell} in it, not as a command of its own"),
    };
    Some(match &terminal.owner {
        TerminalOwner::Login(owner) => {
            format!("{how} ({owner}), no agent above git or in its environment")
        }
        TerminalOwner::Multiplexer(owner) => {
            format!("{how}; others can type into a terminal of {owner}")
        }
        TerminalOwner::Window(owner) => format!("{how}, inside {owner}"),
        TerminalOwner::Unknown(owner) => {
            format!("{how}; {owner} holds its other end and may have typed it")
        }
    })
}

fn strangers(case: &Case) -> Vec<Evidence> {
    let mut seen: Vec<_> = case.strangers.iter().collect();
    seen.sort();
    seen.dedup();
    let evidence = |s| Evidence {
        session: None,
        basis: Basis::Observed,
        counted: false,
        text: stranger_text(s),
    };
    seen.into_iter().map(evidence).collect()
}

fn stranger_text(stranger: &Stranger) -> String {
    match stranger {
        Stranger::Process { depth, agent } => {
            format!("{agent} is {depth} processes above git, without a recorded session")
        }
        Stranger::Variable {
            name,
            native: Some(native),
        } => format!("{name} names {native}, which is not recorded"),
        Stranger::Variable { name, native: None } => format!("{name} says that an agent is there"),
    }
}
