//! What can wait: sealing, draining the spool, reading transcripts, folding.
//!
//! Each call does one slice and tells whether there is more, so that the caller keeps its time and
//! a kill at any moment loses nothing: every slice is one transaction, or several that may each be
//! the last.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::fold;
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::receipt;
use siglum_domain::{IdSource, ObservationId, RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{
    Aside, Binding, Durability, EditRecord, Ledger, LedgerError, Mode, NewEntry, RepositoryRecord,
    SessionOrigin, SessionRecord, Spool, Spooled, Transaction, read, write,
};

use crate::commits::contents::hash_added_lines;
use crate::commits::{authors, pull_requests, sweep};
use crate::damage::{self, undamaged};
use crate::driven::turn;
use crate::identity::repositories;
use crate::record::{deliver, session_log, transcript};
use crate::share::ingest;
use crate::views::{overview, search};
pub use crate::world::Slice;
use crate::world::salt;
use crate::{EngineError, Here, World};

/// How many items one slice takes.
const SLICE: usize = 64;
/// Batches of telemetry that one slice joins.
const BATCHES: usize = 8;
/// How many sessions one slice puts into the search index, and those that wait for an answer.
const INDEXED: usize = 64;
/// How long whoever waits for an answer waits for that, in milliseconds.
const CATCH_UP_MS: i64 = 300;
/// Under what deliveries are counted that came from a spool.
const SPOOLED: &str = "spooled";
/// How often an item may fail before it is set aside.
const TRIES: u64 = 3;
/// How often a worker may begin with an item and die before it is set aside.
const ENDLESS: u64 = 9;
/// How many sessions with an open turn are looked at for one that can be sealed.
const UNSEALED_MOST: usize = 10_000;

/// A log of more entries than this is folded when nothing was added to it for [`SILENT_MS`].
const LONG: u64 = 1_000;
/// In milliseconds.
const SILENT_MS: i64 = 2_000;

/// What one run of the worker remembers.
#[derive(Debug, Default)]
pub struct Run {
    /// The repositories that were looked through.
    swept: BTreeSet<RepositoryId>,
    /// Sessions whose open turn is all that is not sealed, as they were then: head and end.
    waiting: BTreeMap<SessionId, (u64, Option<Timestamp>)>,
    /// Long logs grow right now, which are folded when they are silent.
    folds_later: bool,
}

impl Run {
    /// Whether something waits until it is silent for a moment.
    #[must_use]
    pub const fn folds_later(&self) -> bool {
        self.folds_later
    }
}

/// Does one slice of everything, in the order of the design.
///
/// # Errors
/// Those of the ledger; what fails by itself is counted and set aside.
pub fn slice(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    spools: &[Spool],
    run: &mut Run,
) -> Result<Slice, EngineError> {
    let mut done = Slice::Idle;
    let mut note = |worked: bool| {
        if worked {
            done = Slice::Worked;
        }
    };
    note(turn::recover_all(world, ledger)? > 0);
    let unsealed = unsealed(ledger, run)?;
    note(seal_on_disk(world, ledger, run, unsealed)?);
    note(drain(world.ids, ledger, spools)? > 0);
    note(ingest::join(world, ledger, BATCHES)?.batches > 0);
    let (has_read, growing) = transcripts(world, ledger)?;
    note(has_read);
    let folded = fold_others(world, ledger, SLICE, &growing)?;
    run.folds_later = folded.waiting > 0;
    note(folded.done > 0);
    note(ingest::end_silent(world, ledger)? > 0);
    note(bury(world, ledger)?);
    for repository in read(ledger, |tx| tx.repositories())? {
        let open = read(ledger, |tx| tx.open_intents(Some(repository.id)))?;
        if repositories::is_set_aside(ledger, &repository)? {
            continue;
        }
        let is_first = run.swept.insert(repository.id);
        if is_first && !repositories::note_identity(world, ledger, &repository)? {
            continue;
        }
        if is_first || !open.is_empty() {
            sweep::sweep(world, ledger, &repository)?;
        }
        note(finish(world, ledger, &repository)?);
    }
    note(hash_lines(world, ledger)?);
    note(index_some(ledger));
    ledger.maintain()?;
    Ok(done)
}

/// Puts some sessions into the search index. What is wrong with that holds up nothing else.
fn index_some(ledger: &mut dyn Ledger) -> bool {
    let done = index(ledger, INDEXED);
    let done = done.inspect_err(|error| tracing::warn!("the search index is not filled: {error}"));
    done.is_ok_and(|done| done == Slice::Worked)
}

/// Puts at most so many sessions into the search index that wait for it.
///
/// # Errors
/// Those of the ledger and of the index.
pub fn index(ledger: &mut dyn Ledger, most: usize) -> Result<Slice, LedgerError> {
    search::fill(ledger, most, &|| true)
}

/// Does the same for whoever is about to search, and folds before: a few sessions, and for a moment only. What cannot be
/// done is left to the worker, and a search says what the index lacks.
pub fn catch_up(here: &Here<'_>, ledger: &mut dyn Ledger) {
    let begun = here.now();
    let goes_on = || (0..CATCH_UP_MS).contains(&here.now().millis_since(begun));
    let folded = fold_silent(here, ledger, INDEXED);
    let filled = folded.and_then(|_| search::fill(ledger, INDEXED, &goes_on));
    if let Err(error) = filled {
        tracing::debug!("the search index is not caught up: {error}");
    }
}

/// Takes in what waits, seals what is complete and asks git about new commits, beside a worker that is at work: each
/// step is a transaction that finds what the other one left.
///
/// # Errors
/// Those of the ledger.
pub fn seal_beside(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    spools: &[Spool],
    run: &mut Run,
) -> Result<Slice, EngineError> {
    let mut worked = drain(world.ids, ledger, spools)? > 0;
    let unsealed = unsealed(ledger, run)?;
    worked |= seal_on_disk(world, ledger, run, unsealed)?;
    for repository in read(ledger, |tx| tx.repositories())? {
        worked |= finish(world, ledger, &repository)?;
    }
    Ok(match worked {
        true => Slice::Worked,
        false => Slice::Idle,
    })
}

/// Does for sessions that telemetry tells of what a worker does: for a store that none looks after. Their batches are
/// joined; they are ended where they are silent, and sealed.
///
/// # Errors
/// Those of the ledger.
pub fn hear(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    run: &mut Run,
    most: usize,
) -> Result<Slice, LedgerError> {
    let mut worked = ingest::join(here, ledger, most)?.batches > 0;
    worked |= ingest::end_silent(here, ledger)? > 0;
    let unsealed = unsealed(ledger, run)?;
    worked |= seal(here, ledger, run, unsealed)?;
    Ok(match worked {
        true => Slice::Worked,
        false => Slice::Idle,
    })
}

/// Settles the turns whose drivers are gone: for a store that no worker looks after. Gives how many were settled or newly
/// held.
///
/// # Errors
/// Those of the ledger. One session that is driven, or damaged, holds up no other.
pub fn settle_turns(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<usize, LedgerError> {
    turn::recover_all(here, ledger)
}

/// Moves deliveries from the spools into the ledger. One that cannot be read, that the ledger refuses, or that speaks of
/// more than its spool may, is set aside.
///
/// # Errors
/// Those of the ledger; deliveries that were not moved wait on.
pub fn drain(
    ids: &dyn IdSource,
    ledger: &mut dyn Ledger,
    spools: &[Spool],
) -> Result<usize, LedgerError> {
    let mut moved = 0;
    for (spool, spooled) in Spool::waiting_in(spools, SLICE) {
        let (why, reason) = match &spooled.intake {
            Ok(intake) => match deliver::deliver_from(ledger, ids, spool, intake) {
                Ok(None) => {
                    moved += usize::from(take_out(ledger, spool, &spooled)?);
                    continue;
                }
                Ok(Some(foreign)) => (Aside::Foreign, foreign),
                Err(error) if error.is_out_of_reach() => return Err(error),
                Err(error) => (Aside::Refused, error.to_string()),
            },
            Err((why, reason)) => (*why, reason.clone()),
        };
        tracing::warn!("set {} aside: {reason}", spooled.path.display());
        let _ = spool.set_aside(&spooled, why);
    }
    Ok(moved)
}

/// Takes a delivery out of its spool that the ledger has. A spool keeps what waits in it over a loss of power, so first
/// that must be on the disk; counting does that, which is a write even where it was delivered before. One after the other:
/// a delivery that comes twice has the effect of one only as long as none came in between.
fn take_out(
    ledger: &mut dyn Ledger,
    spool: &Spool,
    delivered: &Spooled,
) -> Result<bool, LedgerError> {
    write(ledger, Durability::Disk, |tx| tx.add_count(SPOOLED, 1))?;
    Ok(spool.done(delivered).is_ok())
}

/// Seals what a receipt may seal: what is on the disk, with the file versions that it names. Where those cannot be synced,
/// nothing is sealed until they can.
fn seal_on_disk(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    run: &mut Run,
    unsealed: Vec<SessionRecord>,
) -> Result<bool, LedgerError> {
    match world.objects.sync() {
        Ok(synced) => Ok(seal(world, ledger, run, unsealed)? || synced > 0),
        Err(error) => {
            tracing::warn!("nothing is sealed, because file versions may not be on disk: {error}");
            Ok(false)
        }
    }
}

/// The sessions that may have something to seal, as they are now. Those that wait for the end of their turn must not hold
/// up the others.
fn unsealed(ledger: &mut dyn Ledger, run: &Run) -> Result<Vec<SessionRecord>, LedgerError> {
    let mut sessions = read(ledger, |tx| tx.unsealed(UNSEALED_MOST))?;
    sessions.retain(|s| run.waiting.get(&s.id) != Some(&(s.head, s.ended_at)));
    Ok(sessions)
}

/// Seals what is complete, as far as it was listed: the whole log of a session that pauses or is dead, else what came
/// before the turn that is open.
fn seal(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    run: &mut Run,
    mut sessions: Vec<SessionRecord>,
) -> Result<bool, LedgerError> {
    let mut worked = sessions.len() > SLICE;
    sessions.truncate(SLICE);
    for session in sessions {
        let at = here.now();
        let sealed = write(ledger, Durability::Disk, |tx| seal_one(tx, &session, at))?;
        if !sealed {
            run.waiting
                .insert(session.id, (session.head, session.ended_at));
        }
        worked |= sealed;
    }
    Ok(worked)
}

fn seal_one(
    tx: &mut dyn Transaction,
    listed: &SessionRecord,
    at: siglum_domain::Timestamp,
) -> Result<bool, LedgerError> {
    let Some(session) = tx.session(listed.id)? else {
        return Ok(false);
    };
    // A receipt says that what it seals is sound.
    if session.quarantined.is_some() {
        return Ok(false);
    }
    let mut entries = tx.to_seal(session.id, session.sealed + 1, listed.head)?;
    if let Some(open) = tx.last_turn(session.id)?
        && session.ended_at.is_none()
        && works(tx, &session, open.id)?
    {
        let first = entries
            .iter()
            .position(|(_, turn)| *turn == Some(open.id))
            .unwrap_or(entries.len());
        entries.truncate(first);
    }
    let mut turns: Vec<TurnId> = entries.iter().filter_map(|(_, turn)| *turn).collect();
    turns.sort();
    turns.dedup();
    let rows: Vec<_> = entries.into_iter().map(|(entry, _)| entry).collect();
    let before = tx.last_receipt(session.id)?;
    match receipt::seal(session.id, before.as_ref(), &rows, turns, at) {
        Some(receipt) => tx.put_receipt(&receipt),
        None => Ok(false),
    }
}

/// Tells whether the turn opened last is still open. Its stop may be sealed already, while its transcript tells of its
/// prompt once more: only all of the turn tells.
fn works(
    tx: &mut dyn Transaction,
    session: &SessionRecord,
    open: TurnId,
) -> Result<bool, LedgerError> {
    let entries = undamaged(tx.entries_of_turn(session.id, open, session.head))?;
    Ok(entries.is_none_or(|entries| fold::session(&entries).state.word() == "working"))
}

/// Reads the transcripts on that want to be read. One that fails, or is the end of its worker, is set aside, so that it does
/// not hold up the others for ever. Returns whether something was read, and whose log grew by it: that is sealed before it is
/// folded. Of each transcript one slice is read, so that a long one is in no other's way.
fn transcripts(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
) -> Result<(bool, BTreeSet<SessionId>), EngineError> {
    let (mut worked, mut growing) = (false, BTreeSet::new());
    for record in read(ledger, |tx| tx.wanted_transcripts(SLICE))? {
        let Some(agent) = siglum_agents::find(record.agent.as_str()) else {
            write(ledger, Durability::Process, |tx| {
                tx.transcript_read(&record, false)
            })?;
            continue;
        };
        let now = world.now();
        let stream = record.stream.as_str();
        let tries = write(ledger, Durability::Process, |tx| {
            tx.tried(transcript::QUEUE, stream, now)?;
            Ok(tx.tries(transcript::QUEUE, stream)?.unwrap_or_default())
        })?;
        let failed = match tries {
            ENDLESS.. => Some("no attempt to process it ended".to_owned()),
            _ => match transcript::read_on(world, ledger, agent, &record, None) {
                Ok(progress) => {
                    worked |= progress.bytes > 0;
                    growing.extend((progress.bytes > 0).then_some(record.session));
                    None
                }
                Err(EngineError::Ledger(error)) => return Err(error.into()),
                Err(error) => (tries >= TRIES).then(|| error.in_full()),
            },
        };
        if let Some(reason) = failed {
            write(ledger, Durability::Process, |tx| {
                tx.park(transcript::QUEUE, stream, now, &reason)?;
                tx.transcript_read(&record, false)
            })?;
        }
    }
    Ok((worked, growing))
}

/// Folds the sessions whose log grew, and links them to what was opened in them. Returns how many.
///
/// # Errors
/// Those of the ledger.
pub fn fold_sessions(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    most: usize,
) -> Result<usize, LedgerError> {
    let sessions = read(ledger, |tx| tx.unfolded(most))?;
    for session in &sessions {
        fold_session(here, ledger, *session)?;
    }
    Ok(sessions.len())
}

/// What folding without haste came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Folded {
    /// Sessions that were folded.
    pub done: usize,
    /// Sessions that wait until they are silent.
    pub waiting: usize,
}

/// As [`fold_sessions`], but for long logs that grow right now: a fold reads a whole log, and one that is driven fast
/// would be read over and over.
///
/// # Errors
/// Those of the ledger.
pub fn fold_silent(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    most: usize,
) -> Result<Folded, LedgerError> {
    fold_others(here, ledger, most, &BTreeSet::new())
}

/// Folds all but these, whose logs grow by slices of their transcripts: each is folded once, at its end.
fn fold_others(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    most: usize,
    growing: &BTreeSet<SessionId>,
) -> Result<Folded, LedgerError> {
    let mut folded = Folded::default();
    // Those that are silent for longest come first.
    let mut unfolded = read(ledger, |tx| tx.unfolded(most + growing.len()))?;
    unfolded.retain(|session| !growing.contains(session));
    for session in unfolded {
        let record = read(ledger, |tx| tx.session(session))?;
        // A clock that was set back does not hold it up.
        let grows =
            |r: &SessionRecord| (0..SILENT_MS).contains(&here.now().millis_since(r.last_at));
        if record.is_some_and(|r| r.head > LONG && r.ended_at.is_none() && grows(&r)) {
            folded.waiting += 1;
            continue;
        }
        fold_session(here, ledger, session)?;
        folded.done += 1;
    }
    Ok(folded)
}

fn fold_session(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<(), LedgerError> {
    let home = ledger.id();
    write(ledger, Durability::Process, |tx| {
        let Some(record) = tx.session(session)? else {
            return Ok(());
        };
        // What can be read of a damaged log is what it amounts to; `verify` tells the rest.
        let entries = damage::readable(tx, session)?;
        let view = fold::session(&entries);
        // A transcript has no word for the end of a session that was never seen running.
        let unseen = record.origin == SessionOrigin::Import && tx.bindings(session)?.is_empty();
        let over = unseen || record.ended_at.is_some();
        // Where several write at once, something of it may have been erased since it was read. Whoever erases has its row,
        // and is waited for; what was read then is nobody's any more, and what is left is folded later.
        tx.refold(Some(session))?;
        let now = tx.session(session)?;
        if now.is_none_or(|now| now.forgotten != record.forgotten) {
            return Ok(());
        }
        tx.put_summary(session, &overview::summary(&view, over), record.head)?;
        tx.put_usages(session, &fold::usage(&entries))?;
        pull_requests::link(here, tx, home, &record, &entries)
    })?;
    ledger.maintain_at_work()
}

/// Ends the sessions whose agent process is gone without a word. Those whose process cannot be seen
/// from here stay open; after long silence they are no longer looked at, so that they cost nothing
/// however many they become.
fn bury(world: &World<'_>, ledger: &mut dyn Ledger) -> Result<bool, EngineError> {
    let filter = siglum_ledger::SessionFilter {
        open: true,
        seen: true,
        limit: 500,
        ..Default::default()
    };
    let open = read(ledger, |tx| tx.sessions(&filter))?;
    let mut worked = false;
    let home = ledger.id();
    for listing in open {
        // Where a replica stands, its home tells. Of a driven session its driver does: the processes of its agent
        // come and go.
        if listing.record.home != home || listing.record.mode == Mode::Driven {
            continue;
        }
        let id = listing.record.id;
        let last = last_process(world, read(ledger, |tx| tx.bindings(id))?);
        let alive = last.as_ref().and_then(|l| (world.alive)(&l.process));
        let silent = world.now().millis_since(listing.record.last_at) >= overview::UNSEEN_MS;
        worked |= match (last, alive) {
            (Some(last), Some(false)) => write(ledger, Durability::Process, |tx| {
                end_gone(world, tx, &listing.record, &last.process.key())
            })?,
            (_, None) if silent => write(ledger, Durability::Process, |tx| {
                // Something may have been heard since it was listed.
                let still = tx.session(id)?.map(|s| s.last_at);
                if still == Some(listing.record.last_at) {
                    tx.set_unseen(id)?;
                }
                Ok(true)
            })?,
            _ => false,
        };
    }
    Ok(worked)
}

/// The process that a session runs in: the one that it was bound to last. Where the clock was set
/// back, that is one that began later and lives.
fn last_process(world: &World<'_>, bindings: Vec<Binding>) -> Option<Binding> {
    let mut bindings = bindings.into_iter();
    let last = bindings.next()?;
    let later = bindings
        .find(|b| b.process.began_after(&last.process) && (world.alive)(&b.process) == Some(true));
    Some(later.unwrap_or(last))
}

fn end_gone(
    world: &World<'_>,
    tx: &mut dyn Transaction,
    record: &SessionRecord,
    process: &str,
) -> Result<bool, LedgerError> {
    let gone = Observation {
        source: Source::Siglum,
        key: format!("gone:{process}:{}", record.last_at.nanos()),
        event: format!("gone:{process}"),
        at: record.last_at,
        turn: None,
        subagent: None,
        fact: Fact::SessionEnded {
            reason: "its process has ended".to_owned(),
        },
    };
    let entry = NewEntry {
        id: ObservationId::mint(world.ids),
        session: record.id,
        turn: None,
        recorded_at: world.now(),
        salt: salt(world.ids),
        observation: &gone,
    };
    let new = tx.append(&entry)? != siglum_ledger::Appended::Known;
    session_log::end(tx, world.ids, record.id, record.repository, record.last_at)?;
    for native in tx.aliases(record.id)? {
        if let Some(transcript) = tx.transcript(native.as_str())? {
            tx.want_transcript(&transcript)?;
        }
    }
    Ok(new)
}

/// Asks git about new commits of a repository, and finds the authors of their lines.
///
/// # Errors
/// Those of the ledger. A repository that git cannot read is left out.
pub fn finish(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
) -> Result<bool, EngineError> {
    let unfinished = read(ledger, |tx| tx.unfinished(repository.id, SLICE))?;
    if unfinished.is_empty() || repositories::is_set_aside(ledger, repository)? {
        return Ok(false);
    }
    match authors::finish(world, ledger, repository, &unfinished) {
        Err(error @ (EngineError::Git(_) | EngineError::NoCheckout(_))) => {
            tracing::warn!("left {} out: {error}", repository.common_dir);
            if let EngineError::Git(error) = &error {
                repositories::set_aside(world, ledger, repository, error)?;
            }
            Ok(false)
        }
        other => other.map(|()| true),
    }
}

/// Hashes the lines that edits added, so that they can be recognised when the versions are gone.
fn hash_lines(world: &World<'_>, ledger: &mut dyn Ledger) -> Result<bool, EngineError> {
    let edits = read(ledger, |tx| tx.unhashed_edits(SLICE))?;
    let key = ledger.key();
    for edit in &edits {
        let lines = hash_added_lines(world, &key, edit);
        let hashed = EditRecord {
            lines: Some(lines),
            ..edit.clone()
        };
        write(ledger, Durability::Process, |tx| tx.put_edit(&hashed))?;
    }
    Ok(!edits.is_empty())
}
