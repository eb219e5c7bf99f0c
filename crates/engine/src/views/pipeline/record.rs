//! Recording what happens in a pipeline: all of it, or nothing.

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::digest::Hasher;
use siglum_domain::pipeline::{Draft, NewEvent, What, pipeline_id, take};
use siglum_domain::{Redacted, Timestamp};
use siglum_ledger::{Durability, Ledger, LedgerError, NewPipelineEvent, Transaction, attempt};

use super::PipelineError;
use crate::Here;
use crate::identity::audit::{self, Entry};

/// How many events a pipeline may have.
pub const EVENTS_MOST: u64 = 10_000;

/// How many characters the name of who records something is kept with.
const BY_MOST: usize = 256;

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Its number within the pipeline.
    pub number: u64,
    /// Whether it was there already, by its key.
    pub already: bool,
}

/// Records events of a pipeline, in order. Where one of them is refused, none is recorded. One whose key is there with the
/// same content is not recorded again.
///
/// # Errors
/// A field that breaks a rule, a session that is not there, a key that stands for something else, the end of a pipeline
/// that nobody knows, or those of the ledger; nothing was written then.
pub fn record(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    pipeline: &str,
    events: &[NewEvent],
    by: &str,
    source: &str,
) -> Result<Vec<Recorded>, PipelineError> {
    let pipeline = pipeline_id(pipeline)?;
    let drafts = events
        .iter()
        .map(|event| take(event, here.redactor))
        .collect::<Result<Vec<Draft>, _>>()?;
    let key = ledger.key();
    let order = Order {
        pipeline: &pipeline,
        by: &signer(here, by),
        source: &signer(here, source),
        at: here.now(),
        key: &key,
    };
    attempt(ledger, Durability::Disk, |tx| {
        let recorded = order.all(tx, &drafts)?;
        noted(here, tx, &order, events, &recorded)?;
        Ok(recorded)
    })
}

/// Writes into the audit what was recorded that was not there before.
fn noted(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    order: &Order<'_>,
    events: &[NewEvent],
    recorded: &[Recorded],
) -> Result<(), LedgerError> {
    let fresh = events.iter().zip(recorded).filter(|(_, r)| !r.already);
    let fresh: Vec<_> = fresh
        .map(|(event, r)| json!({ "number": r.number, "kind": event.kind, "phase": event.phase }))
        .collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let mut entry = Entry::done(order.by, Action::PipelineRecorded).in_pipeline(order.pipeline);
    entry.session = events.iter().find_map(|event| event.session);
    let entry = entry.with(json!({ "events": fresh, "source": order.source }));
    audit::record(tx, here, &entry).map(drop)
}

/// A name as it is kept: without secrets and control characters, cut.
fn signer(here: &Here<'_>, name: &str) -> String {
    let name = here.redactor.redact(name);
    let kept = name.as_str().chars().filter(|c| !c.is_control());
    kept.take(BY_MOST).collect()
}

/// What is to be recorded, where, by whom.
struct Order<'a> {
    pipeline: &'a str,
    by: &'a str,
    source: &'a str,
    at: Timestamp,
    key: &'a [u8; 32],
}

impl Order<'_> {
    fn all(
        &self,
        tx: &mut dyn Transaction,
        drafts: &[Draft],
    ) -> Result<Vec<Recorded>, PipelineError> {
        drafts.iter().map(|draft| self.one(tx, draft)).collect()
    }

    fn one(&self, tx: &mut dyn Transaction, draft: &Draft) -> Result<Recorded, PipelineError> {
        let content = self.content(draft);
        if let Some(key) = draft.key()
            && let Some((number, known)) = tx.keyed_pipeline_event(self.pipeline, key.as_str())?
        {
            if known == content {
                return Ok(Recorded {
                    number,
                    already: true,
                });
            }
            let key = key.to_string();
            return Err(PipelineError::Conflict { key, number });
        }
        if let Some(session) = draft.session()
            && tx.session(session)?.is_none()
        {
            return Err(PipelineError::NoSession(session));
        }
        let known = tx.pipeline(self.pipeline)?;
        if known.is_none() && matches!(draft.what(), What::Ended { .. }) {
            return Err(PipelineError::NoPipeline(self.pipeline.to_owned()));
        }
        if known.is_some_and(|p| p.events >= EVENTS_MOST) {
            return Err(PipelineError::Full(self.pipeline.to_owned()));
        }
        let event = NewPipelineEvent {
            at: self.at,
            by: self.by,
            source: self.source,
            draft,
            content: &content,
        };
        let number = tx.put_pipeline_event(self.pipeline, &event)?;
        Ok(Recorded {
            number,
            already: false,
        })
    }

    /// A keyed digest of what is said: whoever says the same says it once.
    fn content(&self, draft: &Draft) -> String {
        let mut hasher = Hasher::keyed(self.key);
        // How the session is known is no part of what is said: a retry may come with another proof.
        let what = serde_json::to_vec(&draft.what().without_evidence())
            .expect("because stored forms have text keys and no failing parts");
        hasher.field(&what);
        hasher.field(
            draft
                .session()
                .map(|s| s.to_string())
                .unwrap_or_default()
                .as_bytes(),
        );
        hasher.field(draft.text().map_or("", Redacted::as_str).as_bytes());
        hasher.hex()
    }
}
