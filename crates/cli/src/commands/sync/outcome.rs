//! What was sent, and what remains.

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_egress::Address;
use siglum_engine::share::replica::{Due, Passed, Sent};
use siglum_ledger::Projection;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::scope::{ReachJson, ScopeJson, Shown};
use crate::ui;

/// What came of one destination.
pub struct Outcome {
    pub projection: Projection,
    /// What was taken; none where it was only looked.
    pub sent: Option<Sent>,
    pub remains: Due,
    /// What may leave for it.
    pub shown: Shown,
    /// What went wrong last.
    pub trouble: Option<String>,
}

impl Outcome {
    /// One to which nothing was sent yet.
    pub const fn planned(remains: Due, projection: Projection, shown: Shown) -> Self {
        Self {
            shown,
            projection,
            sent: None,
            remains,
            trouble: None,
        }
    }
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    destinations: Vec<DestinationJson>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DestinationJson {
    name: String,
    target: String,
    /// What it took; absent with `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<SentJson>,
    /// What it lacks now; absent where one session is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    remains: Option<DueJson>,
    /// What went wrong last, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
    /// What may leave for it; absent where no scope is chosen, or where one session is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeJson>,
    /// How much is in scope; absent where one session is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    reach: Option<ReachJson>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SentJson {
    batches: u64,
    receipts: u64,
    statements: u64,
    /// Repositories, sessions, checkpoints and commits.
    documents: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DueJson {
    receipts: u64,
    /// Sessions that the receipts belong to.
    sessions: u64,
    statements: u64,
    /// Repositories, sessions, checkpoints and commits that changed.
    documents: u64,
}

impl SentJson {
    fn from_sent(sent: Sent) -> Self {
        Self {
            batches: sent.batches,
            receipts: sent.receipts,
            statements: sent.statements,
            documents: sent.documents,
        }
    }
}

impl DestinationJson {
    fn from_outcome(outcome: &Outcome) -> Self {
        let remains = outcome.remains;
        let (scope, reach) = outcome.shown.json();
        Self {
            scope,
            reach: Some(reach),
            name: outcome.projection.name.clone(),
            target: outcome.projection.target.clone(),
            sent: outcome.sent.map(SentJson::from_sent),
            remains: Some(DueJson {
                receipts: remains.receipts,
                sessions: remains.sessions,
                statements: remains.statements,
                documents: remains.documents,
            }),
            trouble: outcome.trouble.clone(),
        }
    }
}

/// Shows what came of one session; an error where not all of it was taken.
pub(super) fn session(
    cx: &Cx,
    session: SessionId,
    address: &Address,
    passed: &Passed,
) -> Result<(), CommandError> {
    let trouble = passed.trouble.as_ref().map(ToString::to_string);
    if cx.ui.json {
        let destination = DestinationJson {
            name: address.host().to_owned(),
            target: address.to_string(),
            sent: Some(SentJson::from_sent(passed.sent)),
            remains: None,
            trouble: trouble.clone(),
            scope: None,
            reach: None,
        };
        let destinations = vec![destination];
        cx.ui.json(super::SCHEMA, Json { destinations })?;
    } else {
        cx.ui.line(format!(
            "session {}: sent {} to {address}",
            session.short(),
            counts(passed.sent)
        ))?;
    }
    match trouble {
        None => Ok(()),
        Some(trouble) => Err(CommandError::failed(format!("{address}: {trouble}"))
            .hint("No retry is scheduled: run the command again when the gateway is reachable.")),
    }
}

fn counts(sent: Sent) -> String {
    format!(
        "{}, {}, {}",
        ui::plural(sent.receipts, "receipt"),
        ui::plural(sent.statements, "statement"),
        ui::plural(sent.documents, "document")
    )
}

/// Shows what came of all of them; an error where something remains.
pub(super) fn tell(cx: &Cx, outcomes: &[Outcome], kept: bool) -> Result<(), CommandError> {
    if cx.ui.json {
        let destinations = outcomes.iter().map(DestinationJson::from_outcome).collect();
        cx.ui.json(super::SCHEMA, Json { destinations })?;
    } else {
        for outcome in outcomes {
            cx.ui.paragraph(0, line(outcome))?;
            let scope = outcome.shown.text();
            cx.ui.paragraph(2, format!("scope: {scope}"))?;
        }
    }
    for outcome in outcomes.iter().filter(|o| !o.shown.is_open()) {
        let name = &outcome.projection.name;
        cx.ui.warning(format!(
            "{name} has no scope; set it with `siglum projection scope {name} --repository PATH`"
        ));
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
            "Unsent data is kept; the worker and the next `siglum sync` retry. Run `siglum projection show {name}` for details."
        ),
        false => "No retry is scheduled: run the command again when the gateway is reachable.".to_owned(),
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
        "{name}: sent {} to {}",
        counts(sent),
        outcome.projection.target
    );
    match remains.is_nothing() {
        true => format!("{took}; up to date"),
        false => format!("{took}; {lacks} left to send"),
    }
}
