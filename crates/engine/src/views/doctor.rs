//! What was not recorded, and why: what the ledger itself can tell. Changes nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use siglum_domain::{SessionId, Timestamp};
use siglum_gitstore::is_on;
use siglum_ledger::{IntentRecord, Ledger, LedgerError, RepositoryRecord, read};

use crate::record::transcript::{LINES_SKIPPED, SkippedLines};

/// How many declines are looked at.
const DECLINES_MOST: usize = 100_000;
/// How many commits that wait are counted.
const WAITING_MOST: usize = 10_000;
/// An intent that is open for longer than this is worth a look, in ms.
const STALE_MS: i64 = 24 * 60 * 60 * 1000;

/// Declines with the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declined {
    /// The stable word for the reason.
    pub reason: String,
    pub count: u64,
    /// When the last one was.
    pub last: Timestamp,
    /// At which edge the last one was.
    pub edge: String,
    /// What exactly the last one was.
    pub example: String,
}

/// A transcript of which lines were skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedTranscript {
    pub path: String,
    pub lines: SkippedLines,
    /// When the last of them were.
    pub last: Timestamp,
}

/// What was declined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllDeclined {
    /// By reason, the most frequent first.
    pub groups: Vec<Declined>,
    /// Those of which lines were skipped, the newest first.
    pub skipped: Vec<SkippedTranscript>,
}

/// What was declined since.
///
/// # Errors
/// Those of the ledger.
pub fn declined(ledger: &mut dyn Ledger, since: Timestamp) -> Result<AllDeclined, LedgerError> {
    let records = read(ledger, |tx| tx.declines(since, DECLINES_MOST))?;
    let mut groups: BTreeMap<String, Declined> = BTreeMap::new();
    let mut skipped: BTreeMap<String, SkippedTranscript> = BTreeMap::new();
    for record in records {
        let is_of_lines = record.reason == LINES_SKIPPED;
        if let Some((path, lines)) = SkippedLines::parse(&record.detail).filter(|_| is_of_lines) {
            let transcript = skipped
                .entry(path.to_owned())
                .or_insert_with(|| SkippedTranscript {
                    path: path.to_owned(),
                    lines: SkippedLines::default(),
                    last: record.at,
                });
            transcript.lines += lines;
            transcript.last = transcript.last.max(record.at);
            continue;
        }
        let group = groups
            .entry(record.reason.clone())
            .or_insert_with(|| Declined {
                reason: record.reason.clone(),
                count: 0,
                last: record.at,
                edge: record.edge.clone(),
                example: record.detail.clone(),
            });
        group.count += 1;
        if record.at > group.last {
            group.last = record.at;
            (group.edge, group.example) = (record.edge, record.detail);
        }
    }
    let mut groups: Vec<Declined> = groups.into_values().collect();
    groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.reason.cmp(&b.reason)));
    let mut skipped: Vec<SkippedTranscript> = skipped.into_values().collect();
    skipped.sort_by_key(|transcript| Reverse(transcript.last));
    Ok(AllDeclined { groups, skipped })
}

/// What waits for a commit or a worker.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Intents that are open for more than a day, oldest first.
    pub intents: Vec<IntentRecord>,
    /// Items that failed too often: queue, item, when, why.
    pub parked: Vec<(String, String, Timestamp, String)>,
    /// Commits that git was not asked about yet.
    pub commits: usize,
    /// Transcripts that are not read to their end.
    pub transcripts: usize,
}

/// Looks at what waits.
///
/// # Errors
/// Those of the ledger.
pub fn waiting(ledger: &mut dyn Ledger, now: Timestamp) -> Result<Waiting, LedgerError> {
    read(ledger, |tx| {
        let mut intents = tx.open_intents(None)?;
        intents.retain(|i| now.millis_since(i.at) > STALE_MS);
        let mut commits = 0;
        for repository in tx.repositories()? {
            commits += tx.unfinished(repository.id, WAITING_MOST)?.len();
        }
        Ok(Waiting {
            intents,
            parked: tx.parked()?,
            commits,
            transcripts: tx.wanted_transcripts(WAITING_MOST)?.len(),
        })
    })
}

/// Sessions that are quarantined, each with the reason: a thousand at most. Whose record cannot be read, a look at what is
/// stored finds ([`super::verify::spot_check`]).
///
/// # Errors
/// Those of the ledger.
pub fn damaged(ledger: &mut dyn Ledger) -> Result<Vec<(SessionId, String)>, LedgerError> {
    const MOST: usize = 1_000;
    read(ledger, |tx| tx.quarantined_sessions(MOST))
}

/// The repositories that are switched on: those whose switch is there.
///
/// # Errors
/// Those of the ledger.
pub fn switched_on(ledger: &mut dyn Ledger) -> Result<Vec<RepositoryRecord>, LedgerError> {
    let mut known = read(ledger, |tx| tx.repositories())?;
    known.retain(|r| r.is_here() && is_on(Path::new(&r.common_dir)));
    Ok(known)
}
