//! `siglum audit export`.

use serde::Serialize;
use siglum_domain::Timestamp;
use siglum_domain::audit::Action;
use siglum_domain::audit::wire::Line;
use siglum_engine::identity::audit::{self, Entry};

use crate::cx::Cx;
use crate::error::CommandError;

/// The schema of each line.
pub const SCHEMA: &str = "siglum.audit.export/1";

/// Export the audit log as JSON Lines, oldest first
///
/// Includes everything needed to verify the chain. The last entry records the export itself. The guide
/// describes how to verify an export without the ledger.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Export the whole audit log
    siglum audit export

  Export the entries since a date
    siglum audit export --since 2026-01-31")]
pub struct Args {
    /// Limit to entries since this time: `2h`, `3d`, `1w`, `2026-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = crate::time::since)]
    since: Option<Timestamp>,
}

/// One entry.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    ledger: String,
    number: u64,
    at: String,
    actor: String,
    action: String,
    /// `done` or `refused`.
    outcome: String,
    /// Why it was refused.
    reason: Option<String>,
    /// Because of which field.
    field: Option<String>,
    session: Option<String>,
    pipeline: Option<String>,
    /// The details: the text that was digested, which is JSON; absent where it was erased.
    body: Option<String>,
    /// What the digest of the body is salted with.
    salt: Option<String>,
    body_digest: String,
    /// The digest of the entry before; 64 zeros for the first one.
    previous: String,
    digest: String,
}

impl From<Line> for Json {
    fn from(line: Line) -> Self {
        Self {
            ledger: line.ledger.to_string(),
            number: line.number,
            at: line.at.to_string(),
            actor: line.actor,
            action: line.action,
            outcome: line.outcome,
            reason: line.reason,
            field: line.field,
            session: line.session.map(|s| s.to_string()),
            pipeline: line.pipeline,
            body: line.body,
            salt: line.salt,
            body_digest: line.body_digest,
            previous: line.previous,
            digest: line.digest,
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = super::ledger(cx)?;
    let since = args.since.map(|at| at.to_string());
    let entry = Entry::done(&cx.person(), Action::AuditExported);
    let entry = entry.with(serde_json::json!({ "since": since }));
    audit::note(&*cx.world()?, ledger.as_mut(), &entry)?;
    audit::export::<CommandError>(ledger.as_mut(), args.since, &mut |line| {
        cx.ui.json(SCHEMA, Json::from(line))
    })?;
    Ok(())
}
