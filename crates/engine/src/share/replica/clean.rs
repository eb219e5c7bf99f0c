//! What leaves a ledger, and what comes into one, is redacted by the rules of today.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::observation::Fact;
use siglum_domain::redact::Redactor;
use siglum_domain::scope::Kinds;
use siglum_ledger::{OwnWorktree, Statement};

pub(super) fn text(redactor: &Redactor, text: String) -> String {
    match redactor.redact_cow(&text) {
        std::borrow::Cow::Borrowed(_) => text,
        std::borrow::Cow::Owned(clean) => clean,
    }
}

/// A text that may be absent.
pub(super) fn optional(redactor: &Redactor, value: Option<String>) -> Option<String> {
    value.map(|value| text(redactor, value))
}

/// A document as the rules of today leave it, whichever of its texts had something to remove; nothing where a name had
/// it, which is no name without it.
pub(super) fn document<T: Clone + Serialize + DeserializeOwned>(
    redactor: &Redactor,
    document: &T,
) -> Option<T> {
    let value = serde_json::to_value(document).ok()?;
    let clean = redactor.redact_json(&value);
    match *clean.as_value() == value {
        true => Some(document.clone()),
        false => serde_json::from_value(clean.as_value().clone()).ok(),
    }
}

/// What the rules leave of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cleaned {
    /// All of it, byte by byte.
    Same,
    /// Something was removed.
    Changed(String),
    /// What is left is no fact.
    Nothing,
}

/// A payload in JSON, with the texts that may leave.
pub(super) fn fact(redactor: &Redactor, kinds: Kinds, json: &str) -> Cleaned {
    let Ok(value) = serde_json::from_str::<Value>(json) else {
        return Cleaned::Nothing;
    };
    let clean = redactor.redact_json(&value);
    let is_same = *clean.as_value() == value;
    let Ok(mut fact) = serde_json::from_value::<Fact>(clean.as_value().clone()) else {
        return Cleaned::Nothing;
    };
    if kinds.narrow(&mut fact) {
        return match serde_json::to_string(&fact) {
            Ok(narrow) => Cleaned::Changed(narrow),
            Err(_) => Cleaned::Nothing,
        };
    }
    match is_same {
        true => Cleaned::Same,
        false => Cleaned::Changed(clean.as_value().to_string()),
    }
}

/// What was judged of a commit.
pub(super) fn judgement(redactor: &Redactor, mut judgement: Judgement) -> Judgement {
    for evidence in &mut judgement.evidence {
        evidence.text = text(redactor, std::mem::take(&mut evidence.text));
    }
    judgement
}

/// What git says of a commit.
pub(super) fn facts(redactor: &Redactor, mut facts: CommitFacts) -> CommitFacts {
    facts.author = text(redactor, facts.author);
    facts.subject = text(redactor, facts.subject);
    for change in &mut facts.changes {
        change.path = text(redactor, std::mem::take(&mut change.path));
    }
    facts
}

/// What was stated. The digest of a launch token goes nowhere, and neither does the process of a launcher: they are for
/// the machine on which it was launched.
pub(super) fn statement(redactor: &Redactor, statement: Statement) -> Statement {
    match statement {
        Statement::Launched {
            session,
            mut launch,
        } => {
            launch.digest = String::new();
            launch.launcher = None;
            launch.program = text(redactor, launch.program);
            launch.worktree = optional(redactor, launch.worktree);
            Statement::Launched { session, launch }
        }
        Statement::LaunchEnded {
            session,
            end,
            worktree: Some(OwnWorktree::Kept { reason, snapshot }),
        } => Statement::LaunchEnded {
            session,
            end,
            worktree: Some(OwnWorktree::Kept {
                reason: text(redactor, reason),
                snapshot,
            }),
        },
        other => other,
    }
}
