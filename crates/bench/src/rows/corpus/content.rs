//! What a ledger says of sessions, without what is made anew for each ledger: ids, and when something was recorded.

use std::collections::BTreeMap;

use siglum_domain::fold::Entry;
use siglum_domain::observation::{Fact, Source};
use siglum_domain::{SessionId, TurnId};
use siglum_ledger::{Ledger, LedgerError, SessionFilter, SessionListing, Transaction, read};

use crate::Fallible;

/// How many entries are in memory at once.
const PAGE: usize = 2_000;

/// The sums of all sessions, and a digest of what is known of each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) sessions: u64,
    pub(super) turns: u64,
    pub(super) calls: u64,
    pub(super) tokens: u64,
    pub(super) transcript_bytes: u64,
    /// Of a line about each session.
    pub(super) digest: String,
}

impl Content {
    /// Reads a ledger from end to end.
    pub(super) fn read(ledger: &mut dyn Ledger) -> Fallible<Self> {
        let (listings, names) = read(ledger, |tx| {
            let listings = tx.sessions(&SessionFilter::default())?;
            let mut names = BTreeMap::new();
            for listing in &listings {
                names.insert(listing.record.id, name(tx, listing)?);
            }
            Ok((listings, names))
        })?;
        let mut content = Self::default();
        let mut lines = Vec::with_capacity(listings.len());
        for listing in &listings {
            let (line, bytes) = read(ledger, |tx| line(tx, listing, &names))?;
            lines.push(line);
            let (summary, tokens) = (&listing.summary, listing.summary.tokens);
            content.sessions += 1;
            content.turns += summary.turns;
            content.calls += summary.tool_calls;
            content.tokens += tokens.prompt() + tokens.output;
            content.transcript_bytes += bytes;
        }
        lines.sort();
        content.digest = blake3::hash(lines.join("\n").as_bytes())
            .to_hex()
            .to_string();
        Ok(content)
    }
}

/// What agents call a session.
fn name(tx: &mut dyn Transaction, listing: &SessionListing) -> Result<String, LedgerError> {
    let aliases = tx.aliases(listing.record.id)?;
    let mut natives: Vec<&str> = aliases.iter().map(|native| native.as_str()).collect();
    natives.sort_unstable();
    Ok(format!(
        "{} {}",
        listing.record.agent_word(),
        natives.join(",")
    ))
}

/// A session in one line, and how many bytes of its transcripts are stored.
fn line(
    tx: &mut dyn Transaction,
    listing: &SessionListing,
    names: &BTreeMap<SessionId, String>,
) -> Result<(String, u64), LedgerError> {
    let (record, summary) = (&listing.record, &listing.summary);
    let parent = record.parent.map(|(parent, relation)| {
        let name = names.get(&parent).map_or("unknown", String::as_str);
        format!("{} of {name}", relation.as_str())
    });
    let turns = tx.turns_of(record.id)?.into_iter();
    let turns: BTreeMap<TurnId, String> = turns.map(|turn| (turn.id, turn.native)).collect();
    let mut sum = 0_u64;
    let mut after = 0;
    loop {
        let entries = tx.entries(record.id, after, PAGE)?;
        let Some(last) = entries.last() else {
            break;
        };
        after = last.sequence;
        // In whatever order they came.
        let sums = entries.iter().filter_map(|entry| entry_sum(entry, &turns));
        sum = sums.fold(sum, u64::wrapping_add);
    }
    let bytes = tx.holdings(record.id)?.map_or(0, |h| h.transcript_bytes);
    let name = names.get(&record.id).map_or("", String::as_str);
    let line = format!(
        "{name} {parent:?} {:?} {:?} {} {} {} {:?} {sum:x}",
        summary.title,
        summary.models,
        summary.turns,
        summary.tool_calls,
        summary.subagents,
        summary.tokens,
    );
    Ok((line, bytes))
}

/// A sum of what a transcript says in an entry. What is read of files depends on what else is stored of them, and which
/// branch was checked out is noted once more by a reader that goes on.
fn entry_sum(entry: &Entry, turns: &BTreeMap<TurnId, String>) -> Option<u64> {
    let o = &entry.observation;
    if o.source != Source::Transcript || matches!(o.fact, Fact::BranchSeen { .. }) {
        return None;
    }
    let fact = match &o.fact {
        Fact::FileSeen { path, .. } => path.clone(),
        fact => serde_json::to_string(fact).unwrap_or_default(),
    };
    let turn = entry.turn.and_then(|turn| turns.get(&turn));
    let text = format!(
        "{}\n{}\n{}\n{turn:?}\n{:?}\n{fact}",
        o.key,
        o.event,
        o.at.nanos(),
        o.subagent
    );
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..8]);
    Some(u64::from_le_bytes(first))
}
