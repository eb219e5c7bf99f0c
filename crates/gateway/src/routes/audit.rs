//! The audit: who did what, or was refused what.

use axum::Json;
use axum::extract::State;
use siglum_engine::identity::audit;
use siglum_ledger::AuditFilter;

use crate::admission::Launcher;
use crate::app::App;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::{Query, SESSION_RULE};
use crate::wire::{AuditEntry, AuditEntryList, AuditReport};

/// Rows of a page.
const PAGE: usize = 100;
const PAGE_MOST: usize = 1_000;

/// List audit entries, newest first
#[cfg_attr(test, utoipa::path(get, path = "/v1/audit", tag = "audit", operation_id = "listAuditEntries",
    security(("launcher" = [])),
    params(
        ("session" = Option<String>, Query, description = "Only entries of this session", pattern = r"^ses_[0-9a-f]{32}$"),
        ("action" = Option<String>, Query, description = "Only this action, such as `session.created`", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,64}$"),
        ("actor" = Option<String>, Query, description = "Only this actor, by full name or its first words", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$"),
        ("pipeline" = Option<String>, Query, description = "Only entries in this pipeline", pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,256}$"),
        ("outcome" = Option<String>, Query, description = "`done` or `refused`", pattern = r"^(done|refused)$"),
        ("cursor" = Option<String>, Query, description = "Return entries after this one (`next` of the previous page)", pattern = r"^[1-9][0-9]{0,14}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 1000),
    ),
    responses((status = 200, description = "The entries", body = AuditEntryList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<AuditEntryList>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let outcome = query.take("outcome")?;
    if outcome
        .as_deref()
        .is_some_and(|o| o != "done" && o != "refused")
    {
        return Err(Problem::invalid("outcome", "`done` or `refused`"));
    }
    let before = query.numeric_cursor(1)?;
    let filter = AuditFilter {
        session: query.parsed("session", SESSION_RULE)?,
        action: query.text("action", 64)?,
        actor: query.text("actor", 200)?,
        pipeline: query.text("pipeline", 256)?,
        outcome,
        before,
        limit: limit + 1,
        ..AuditFilter::default()
    };
    query.end()?;
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        audit::list(ledger, &filter)
    });
    let found = found.await??;
    let mut entries: Vec<AuditEntry> = found.iter().map(AuditEntry::from).collect();
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries
        .last()
        .filter(|_| more)
        .map(|entry| entry.number().to_string());
    Ok(Json(AuditEntryList {
        items: entries,
        next,
    }))
}

/// Verify that no audit entry was changed, removed, inserted or moved
#[cfg_attr(test, utoipa::path(get, path = "/v1/audit/verify", tag = "audit", operation_id = "verifyAudit",
    security(("launcher" = [])),
    responses((status = 200, description = "The result of the verification", body = AuditReport), Problems)))]
pub(crate) async fn verify(
    State(app): State<App>,
    Launcher(caller): Launcher,
) -> Result<Json<AuditReport>, Problem> {
    let report = app
        .ledgers()
        .read(&caller.tenant, |_, ledger| audit::verify(ledger));
    let report = report.await??;
    Ok(Json(AuditReport {
        sound: report.is_sound(),
        entries: report.entries,
        flaws: report.flaws.iter().map(ToString::to_string).collect(),
        digest: report.digest,
    }))
}
