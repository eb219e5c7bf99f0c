//! Putting sessions into the index that wait for it.

use std::collections::BTreeMap;

use siglum_domain::Timestamp;
use siglum_domain::search::TurnText;
use siglum_ledger::{IndexUpdate, IndexedPart, Ledger, LedgerError, PartKey, WaitingSession, read};

use super::parts::{Drafts, drafts};
use crate::damage::undamaged;
use crate::record::passages::Passages;
use crate::world::Slice;

/// How much text is in memory before it is put into the index, in bytes.
const BATCH_BYTES: usize = 8 << 20;

/// A session that is about to be put into the index.
struct Ready {
    waiting: WaitingSession,
    parts: Vec<IndexedPart>,
    is_whole: bool,
    erased: Option<Timestamp>,
}

/// Puts at most so many sessions into the index that wait for it, those that were created last first, for as long as it
/// `goes_on`. An index that is missing or damaged is begun anew. Whatever ends it, nothing is lost and nothing is there
/// twice.
///
/// # Errors
/// Those of the ledger and of the index.
pub fn fill(
    ledger: &mut dyn Ledger,
    most: usize,
    goes_on: &dyn Fn() -> bool,
) -> Result<Slice, LedgerError> {
    ledger.index()?.begin_index()?;
    let waiting = ledger.index()?.waiting_sessions(most)?;
    let mut batch: Vec<Ready> = Vec::new();
    let (mut bytes, mut put) = (0, 0);
    for one in waiting {
        if !goes_on() {
            break;
        }
        let Some(known) =
            index_or_anew(ledger, |ledger| ledger.index()?.indexed_parts(one.session))?
        else {
            return Ok(Slice::Worked);
        };
        let known = known.into_iter().map(|part| (part.key, part.mark));
        let known: BTreeMap<PartKey, [u8; 32]> = known.collect();
        let session = read_session(ledger, one)?;
        let mut parts: Vec<IndexedPart> = Vec::with_capacity(session.parts.len());
        loop {
            let room = BATCH_BYTES.saturating_sub(bytes);
            let from = parts.len();
            bytes += read_parts(ledger, (&session, &known), from, room, &mut parts)?;
            if parts.len() == session.parts.len() {
                break;
            }
            // What is there so far; its texts are not in memory after that.
            let so_far = parts.clone();
            parts.iter_mut().for_each(|part| part.text = None);
            batch.push(Ready {
                waiting: one,
                parts: so_far,
                is_whole: false,
                erased: session.erased,
            });
            let Some(done) = put_batch(ledger, &mut batch)? else {
                return Ok(Slice::Worked);
            };
            (bytes, put) = (0, put + done);
        }
        batch.push(Ready {
            waiting: one,
            parts,
            is_whole: true,
            erased: session.erased,
        });
    }
    match put_batch(ledger, &mut batch)? {
        Some(done) if put + done == 0 => Ok(Slice::Idle),
        _ => Ok(Slice::Worked),
    }
}

/// Adds the parts of a session from one on, until their texts have so many bytes: at least one part, if there is one. Gives
/// how many bytes were read. Of what the index has under the same mark, nothing is read.
fn read_parts(
    ledger: &mut dyn Ledger,
    (session, known): (&Drafts, &BTreeMap<PartKey, [u8; 32]>),
    from: usize,
    most: usize,
    parts: &mut Vec<IndexedPart>,
) -> Result<usize, LedgerError> {
    let mut passages = Passages::new(ledger, &session.agent);
    let mut bytes = 0;
    for draft in session.parts.iter().skip(from) {
        let mark = draft.mark(session);
        let is_kept = session.erased.is_none() && known.get(&draft.key) == Some(&mark);
        let text = match is_kept {
            true => None,
            false => Some(draft.text(session, &mut passages)?),
        };
        bytes += text.as_ref().map_or(0, TurnText::bytes);
        parts.push(IndexedPart {
            key: draft.key,
            mark,
            number: draft.number,
            began: draft.began,
            text,
        });
        if bytes >= most {
            break;
        }
    }
    Ok(bytes)
}

/// What the ledger has of a session; without parts where that cannot be read at all.
fn read_session(ledger: &mut dyn Ledger, waiting: WaitingSession) -> Result<Drafts, LedgerError> {
    let session = waiting.session;
    let repositories = ledger.index()?.session_repositories(session)?;
    let read = read(ledger, |tx| drafts(tx, session, repositories.clone()));
    Ok(undamaged(read)?.unwrap_or_default())
}

/// Puts what is ready into the index, and gives how many sessions were put; nothing where the index was begun anew.
fn put_batch(
    ledger: &mut dyn Ledger,
    batch: &mut Vec<Ready>,
) -> Result<Option<usize>, LedgerError> {
    let ready = std::mem::take(batch);
    if ready.is_empty() {
        return Ok(Some(0));
    }
    index_or_anew(ledger, |ledger| {
        let updates = ready.iter().map(|ready| IndexUpdate {
            waiting: ready.waiting,
            parts: &ready.parts,
            is_whole: ready.is_whole,
            erased: ready.erased,
        });
        let updates: Vec<IndexUpdate<'_>> = updates.collect();
        ledger.index()?.update_index(&updates)
    })
}

/// Asks the index; one that is damaged is begun anew, and gives nothing.
fn index_or_anew<T>(
    ledger: &mut dyn Ledger,
    ask: impl FnOnce(&mut dyn Ledger) -> Result<T, LedgerError>,
) -> Result<Option<T>, LedgerError> {
    match ask(ledger) {
        Err(LedgerError::Damaged(what)) => {
            tracing::warn!("the search index is damaged and made again: {what}");
            ledger.index()?.restart_index()?;
            Ok(None)
        }
        other => other.map(Some),
    }
}
