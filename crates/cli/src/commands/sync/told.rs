//! What was sent, and what remains.

use serde::Serialize;
use siglum_engine::replica::{Due, Sent};
use siglum_ledger::Projection;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui;

/// What came of one destination.
pub struct Outcome {
    pub projection: Projection,
    /// What was taken; none where it was only looked.
    pub sent: Option<Sent>,
    pub remains: Due,
    /// What went wrong last.
    pub trouble: Option<String>,
}

impl Outcome {
    /// One to which nothing was sent yet.
    pub const fn planned(remains: Due, projection: Projection) -> Self {
        Self {
            projection,
            sent: None,
            remains,
            trouble: None,
        }
    }
}

/// The JSON form of the answer.
#[derive(Serialize, schemars::JsonSchema)]
pub struct Json {
    destinations: Vec<DestinationJson>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DestinationJson {
    name: String,
    target: String,
    /// What it took; absent with `--dry-run`.
    sent: Option<SentJson>,
    /// What it lacks now.
    remains: DueJson,
    /// What went wrong last, in words.
    trouble: Option<String>,
}

#[derive(Serialize, schemars::JsonSchema)]
struct SentJson {
    batches: u64,
    receipts: u64,
    statements: u64,
    /// Repositories, sessions, checkpoints and commits.
    documents: u64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct DueJson {
    receipts: u64,
    /// Sessions that the receipts belong to.
    sessions: u64,
    statements: u64,
    /// Repositories, sessions, checkpoints and commits that changed.
    documents: u64,
}

impl DestinationJson {
    fn of(outcome: &Outcome) -> Self {
        let remains = outcome.remains;
        Self {
            name: outcome.projection.name.clone(),
            target: outcome.projection.target.clone(),
            sent: outcome.sent.map(|s| SentJson {
                batches: s.batches,
                receipts: s.receipts,
                statements: s.statements,
                documents: s.documents,
            }),
            remains: DueJson {
                receipts: remains.receipts,
                sessions: remains.sessions,
                statements: remains.statements,
                documents: remains.documents,
            },
            trouble: outcome.trouble.clone(),
        }
    }
}

/// Shows what came of all of them; an error where something remains.
pub(super) fn tell(cx: &Cx, outcomes: &[Outcome], kept: bool) -> Result<(), CommandError> {
    if cx.ui.json {
        let destinations = outcomes.iter().map(DestinationJson::of).collect();
        cx.ui.json(super::SCHEMA, Json { destinations })?;
    } else {
        outcomes.iter().try_for_each(|o| cx.ui.line(line(o)))?;
    }
    let troubled: Vec<&Outcome> = outcomes.iter().filter(|o| o.trouble.is_some()).collect();
    let Some(first) = troubled.first() else {
        return Ok(());
    };
    for outcome in &troubled[1..] {
        let why = outcome.trouble.as_deref().unwrap_or_default();
        cx.ui.warning(format!("{}: {why}", outcome.projection.name));
    }
    let name = &first.projection.name;
    let text = format!("{name}: {}", first.trouble.as_deref().unwrap_or_default());
    let some = outcomes
        .iter()
        .any(|o| o.sent.is_some_and(|s| s.batches > 0));
    let error = match some {
        true => CommandError::partly(text),
        false => CommandError::failed(text),
    };
    Err(error.hint(match kept {
        true => format!(
            "What it lacks waits here; the worker and the next `siglum sync` go on. `siglum projection show {name}` tells more."
        ),
        false => "Nothing is remembered: send again when it can be reached.".to_owned(),
    }))
}

fn line(outcome: &Outcome) -> String {
    let name = &outcome.projection.name;
    let remains = outcome.remains;
    let lacks = format!(
        "{}, {}, {}",
        ui::plural(remains.receipts, "receipt"),
        ui::plural(remains.statements, "statement"),
        ui::plural(remains.documents, "document")
    );
    let Some(sent) = outcome.sent else {
        return format!(
            "{name}: would send {lacks} to {}",
            outcome.projection.target
        );
    };
    let took = format!(
        "{name}: sent {}, {}, {} to {}",
        ui::plural(sent.receipts, "receipt"),
        ui::plural(sent.statements, "statement"),
        ui::plural(sent.documents, "document"),
        outcome.projection.target
    );
    match remains.is_nothing() {
        true => format!("{took}; it has everything"),
        false => format!("{took}; it lacks {lacks}"),
    }
}
