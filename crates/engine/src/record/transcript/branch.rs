//! Branches, as lines of a transcript tell of them: noted where they change.

use siglum_domain::Timestamp;
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_ledger::{LedgerError, Transaction, TranscriptRecord};

/// Longest name that is kept, in characters.
const LONGEST: usize = 200;

/// The branch that was told last, once somebody has looked.
#[derive(Debug, Default)]
pub(super) struct LastBranch(Option<String>);

impl LastBranch {
    /// The observation that a line is worth: nothing where it tells what was told before.
    pub(super) fn changed(
        &mut self,
        tx: &mut dyn Transaction,
        (record, offset, at): (&TranscriptRecord, u64, Timestamp),
        name: &str,
    ) -> Result<Option<Observation>, LedgerError> {
        let name: String = name
            .chars()
            .filter(|c| !c.is_control())
            .take(LONGEST)
            .collect();
        if name.is_empty() {
            return Ok(None);
        }
        // Of a sub-agent's transcript only what was read in one go is remembered.
        if self.0.is_none() && record.subagent.is_none() {
            self.0 = last(tx, record)?;
        }
        if self.0.as_ref() == Some(&name) {
            return Ok(None);
        }
        self.0 = Some(name.clone());
        let key = format!("branch:{}@{offset}", record.stream);
        Ok(Some(Observation {
            source: Source::Transcript,
            event: key.clone(),
            key,
            at,
            turn: None,
            subagent: record.subagent.clone(),
            fact: Fact::BranchSeen { name },
        }))
    }
}

/// The branch that the session's log has last.
fn last(
    tx: &mut dyn Transaction,
    record: &TranscriptRecord,
) -> Result<Option<String>, LedgerError> {
    let Some(place) = tx.last_of_kind(record.session, "branch_seen", u64::MAX)? else {
        return Ok(None);
    };
    let entries = tx.entries(record.session, place.saturating_sub(1), 1)?;
    Ok(entries.into_iter().find_map(|e| match e.observation.fact {
        Fact::BranchSeen { name } => Some(name),
        _ => None,
    }))
}
