//! Checkpoints as they are sent: one form for the command line and the API.

use std::collections::BTreeMap;

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::Serialize;
use siglum_domain::link::Link;
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{CheckpointKind, CheckpointRecord, LedgerError, Transaction};

use super::session::LinkJson;
use crate::identity::{repositories, statements};

#[cfg(feature = "schemas")]
words! {
    KindWords as "CheckpointKind":
        "Whether a checkpoint pins sessions to a commit, to their end, or to a point that somebody chose.",
        "commit" | "end" | "manual";
}

/// A checkpoint.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CheckpointJson {
    pub id: CheckpointId,
    #[cfg_attr(feature = "schemas", schemars(with = "KindWords"))]
    pub kind: CheckpointKind,
    /// The repository of its commit: the git common directory, or the name that others gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<Oid>,
    pub at: Timestamp,
    pub pins: Vec<PinJson>,
}

/// A session up to a sequence of its log.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct PinJson {
    pub session: SessionId,
    pub sequence: u64,
    /// Current links of the session, including links attached after the checkpoint.
    pub links: Vec<LinkJson>,
}

/// Checkpoints, newest first.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CheckpointListJson {
    /// Newest first.
    pub items: Vec<CheckpointJson>,
    /// Whether there are more than were asked for.
    pub more: bool,
    /// Pass it as `cursor` to get the next page of the API; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<CheckpointId>,
}

/// Checkpoints with what is attached to their sessions.
///
/// # Errors
/// Those of the ledger.
pub fn shown(
    tx: &mut dyn Transaction,
    records: &[CheckpointRecord],
) -> Result<Vec<CheckpointJson>, LedgerError> {
    let ids = records.iter().filter_map(|record| record.repository);
    let names = repositories::names_of(tx, ids)?;
    let shown = |record| CheckpointJson::read(tx, record, &names);
    records.iter().map(shown).collect()
}

impl CheckpointJson {
    fn read(
        tx: &mut dyn Transaction,
        record: &CheckpointRecord,
        names: &BTreeMap<RepositoryId, String>,
    ) -> Result<Self, LedgerError> {
        let mut pins = Vec::with_capacity(record.pins.len());
        for (session, sequence) in &record.pins {
            let links = statements::links(&tx.statements_of_session(*session)?);
            pins.push(PinJson {
                session: *session,
                sequence: *sequence,
                links: links.iter().map(LinkJson::from).collect(),
            });
        }
        let repository = record.repository.and_then(|id| names.get(&id));
        Ok(Self {
            id: record.id,
            kind: record.kind,
            repository: repository.cloned(),
            commit: record.commit.clone(),
            at: record.at,
            pins,
        })
    }

    /// What is attached now to the sessions that it pins, each fact once.
    #[must_use]
    pub fn links(&self) -> Vec<Link> {
        let links = self.pins.iter().flat_map(|pin| &pin.links);
        let mut links: Vec<Link> = links.filter_map(LinkJson::to_link).collect();
        links.sort();
        links.dedup();
        links
    }
}
