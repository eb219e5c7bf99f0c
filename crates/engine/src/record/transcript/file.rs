//! Slices of a transcript file.

use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use siglum_agents::{AgentSpec, CommitMention, TranscriptReader, open_regular};
use siglum_domain::intake::{AgentMatter, Place};
use siglum_ledger::{
    Durability, Ledger, LedgerError, SessionOrigin, Transaction, TranscriptRecord, read, write,
};

use super::committed::InGit;
use super::skipped_lines::{LINE_MOST, SkipReason, SkippedLines};
use super::store::{Line, Slice, Store};
use crate::{EngineError, World};

/// The queue that transcripts are tried and set aside in.
pub(crate) const QUEUE: &str = "transcripts";
/// How much of a file one transaction takes, in bytes.
const SLICE: usize = 4 << 20;
/// How many bytes before the offset tell whether the file was rewritten.
const TAIL: u64 = 64;

/// What reading on brought.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    pub more: bool,
    /// Lines that cannot be read.
    pub skipped: SkippedLines,
    /// Commits that the output of a command names.
    pub mentions: Vec<CommitMention>,
    /// The reader, to go on with; without it the next slice knows nothing of open tool calls.
    pub reader: Option<Box<dyn TranscriptReader>>,
}

/// Reads one slice of a transcript, with the reader of the slice before, if there was one.
///
/// # Errors
/// The file cannot be read, or those of the ledger.
pub fn read_on(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    agent: &AgentSpec,
    record: &TranscriptRecord,
    reader: Option<Box<dyn TranscriptReader>>,
) -> Result<Progress, EngineError> {
    let path = PathBuf::from(&record.path);
    let failed = |source| EngineError::Read {
        path: path.clone(),
        source,
    };
    let mut file = match open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            write(ledger, Durability::Process, |tx| {
                tx.unpark(QUEUE, &record.stream)?;
                let wanted = has_changed(tx, record, None)?;
                tx.transcript_read(record, wanted)
            })?;
            return Ok(Progress::default());
        }
        Err(error) => return Err(failed(error)),
    };
    let meta = file.metadata().map_err(failed)?;
    let identity = identity(&meta);
    let same = record.file == identity
        && meta.len() >= record.read_to
        && tail(&mut file, record.read_to).map_err(failed)? == record.tail;
    let from = if same { record.read_to } else { 0 };
    let is_start = is_line_start(&mut file, from).map_err(failed)?;
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut bytes = Vec::new();
    take_lines(&mut file, &mut bytes).map_err(failed)?;
    let past = from + bytes.len() as u64;
    let more = !bytes.is_empty() && past < meta.len();
    let now = TranscriptRecord {
        file: identity,
        read_to: past,
        ..if same { record.clone() } else { afresh(record) }
    };
    let (matter, is_import) = matter(ledger, record)?;
    let reader = reader.filter(|_| same);
    let mut reader = reader.unwrap_or_else(|| begin(world, agent, &now, &matter, is_import));
    // Before the transaction: nobody waits for the ledger meanwhile.
    let (lines, mut skips) = lines_of(&bytes, from, is_start);
    let lines = understood(world, reader.as_mut(), lines, &mut skips);
    let slice = Slice {
        from,
        more,
        lines,
        matter,
        reader,
    };
    let mut stored = None;
    let mut skipped = SkippedLines::default();
    write(ledger, Durability::Process, |tx| {
        let mut store = Store::new(world, agent, &now, &slice);
        let mut read = store.all(tx)?;
        read.tail = tail(&mut file, read.read_to).map_err(|e| LedgerError::Storage(Box::new(e)))?;
        stored = Some(store.end());
        skipped = SkippedLines::before(read.read_to, &skips);
        skipped.decline(tx, record, slice.matter.place.as_ref(), world.now())?;
        tx.unpark(QUEUE, &record.stream)?;
        let wanted = more || has_changed(tx, record, Some(&meta))?;
        tx.transcript_read(&read, wanted)
    })?;
    // The log grows faster than what is read: each slice touches pages all over the indexes.
    ledger.maintain_at_work()?;
    let (mentions, reader) = stored.expect("because a transaction that succeeds has run its work");
    Ok(Progress {
        bytes: bytes.len() as u64,
        more,
        skipped,
        mentions,
        reader: Some(reader),
    })
}

/// Lines as a reader understands them. Those that it skips are added to the others.
fn understood<'a>(
    world: &World<'_>,
    reader: &mut dyn TranscriptReader,
    lines: Vec<At<&'a str>>,
    skips: &mut Vec<At<SkipReason>>,
) -> Vec<Line<'a>> {
    let read = |(offset, raw)| {
        let skipped = reader.skipped();
        let seen = reader.line(offset, raw, world.redactor);
        if reader.skipped() > skipped {
            skips.push((offset, SkipReason::Malformed));
        }
        let is_own = reader.is_own();
        Line {
            offset,
            raw,
            seen,
            is_own,
        }
    };
    lines.into_iter().map(read).collect()
}

/// Whether a transcript has another file by now, or its file another size, than when it was looked at. A hook that wanted
/// it read meanwhile found that it was wanted already. This is asked in the transaction that says how far it was read:
/// hooks that come after it want it anew.
fn has_changed(
    tx: &mut dyn Transaction,
    record: &TranscriptRecord,
    before: Option<&Metadata>,
) -> Result<bool, LedgerError> {
    let stored = tx.transcript(&record.stream)?;
    let path = stored.map_or_else(|| record.path.clone(), |stored| stored.path);
    let now = std::fs::symlink_metadata(path).ok();
    let state = |meta: &Metadata| (identity(meta), meta.len());
    Ok(now.as_ref().map(state) != before.map(state))
}

/// The record of a file that another one replaced, or that was rewritten.
fn afresh(record: &TranscriptRecord) -> TranscriptRecord {
    TranscriptRecord {
        turn: None,
        own: false,
        ..record.clone()
    }
}

/// A reader that goes on where the record says, with what it may ask: of a session that no hook saw, what was
/// committed.
fn begin(
    world: &World<'_>,
    agent: &AgentSpec,
    record: &TranscriptRecord,
    matter: &AgentMatter,
    is_import: bool,
) -> Box<dyn TranscriptReader> {
    let (stream, native) = (record.stream.clone(), record.native.clone());
    let mut reader = (agent.transcript)(stream, record.subagent.clone(), native);
    reader.resume(record.turn.clone(), record.own);
    if let Some(place) = &matter.place {
        reader.set_worktree(PathBuf::from(&place.worktree));
        if is_import {
            reader.set_committed(Arc::new(InGit::at(world, place)));
        }
    }
    reader
}

/// Which file it is, to notice that another one took its name.
pub(super) fn identity(meta: &Metadata) -> String {
    format!("{}:{}", meta.dev(), meta.ino())
}

/// A digest of the bytes before an offset.
pub(super) fn tail(file: &mut File, at: u64) -> std::io::Result<String> {
    let from = at.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(at - from).read_to_end(&mut bytes)?;
    Ok(blake3::hash(&bytes).to_hex()[..16].to_owned())
}

/// Reads whole lines, a slice at least unless the file ends.
fn take_lines(file: &mut File, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let before = bytes.len();
        file.by_ref().take(SLICE as u64).read_to_end(bytes)?;
        let ended = bytes.len() == before;
        let end = bytes[before..]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| before + at + 1);
        if end > 0 || ended {
            bytes.truncate(end);
            return Ok(());
        }
        if bytes.len() > LINE_MOST {
            // A line without end: skipped, piece by piece.
            return Ok(());
        }
    }
}

/// Whether a line begins at an offset. One that is too long goes on there.
fn is_line_start(file: &mut File, at: u64) -> std::io::Result<bool> {
    let Some(before) = at.checked_sub(1) else {
        return Ok(true);
    };
    let mut byte = [0];
    file.seek(SeekFrom::Start(before))?;
    file.read_exact(&mut byte)?;
    Ok(byte == *b"\n")
}

/// A line, or why there is none, and where it begins in the file.
type At<T> = (u64, T);

/// The lines of a slice, and those that are skipped. The slice begins with a line if `is_start`, else inside of one that is
/// too long and was counted where it begins.
fn lines_of(bytes: &[u8], from: u64, is_start: bool) -> (Vec<At<&str>>, Vec<At<SkipReason>>) {
    let (mut lines, mut skips) = (Vec::new(), Vec::new());
    let (mut offset, mut is_start) = (from, is_start);
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        let is_whole = line.ends_with(b"\n");
        if is_start && !is_whole {
            skips.push((offset, SkipReason::TooLong));
        } else if is_start {
            match std::str::from_utf8(line).map(str::trim_end) {
                Ok("") => {}
                Ok(text) => lines.push((offset, text)),
                Err(_) => skips.push((offset, SkipReason::NotUtf8)),
            }
        }
        is_start = is_whole;
        offset += line.len() as u64;
    }
    (lines, skips)
}

/// The transcript's session as a matter without observations, and whether it was imported.
fn matter(
    ledger: &mut dyn Ledger,
    record: &TranscriptRecord,
) -> Result<(AgentMatter, bool), EngineError> {
    let (place, is_import) = read(ledger, |tx| {
        let session = tx.session(record.session)?;
        let is_import = session
            .as_ref()
            .is_some_and(|s| s.origin == SessionOrigin::Import);
        let Some((repository, worktree)) = session.and_then(|s| s.repository.zip(s.worktree))
        else {
            return Ok((None, is_import));
        };
        let known = tx.repositories()?.into_iter().find(|r| r.id == repository);
        let place = known.map(|r| Place {
            common_dir: r.common_dir,
            worktree,
        });
        Ok((place, is_import))
    })?;
    let matter = AgentMatter {
        place,
        ..AgentMatter::new(record.agent.clone(), record.native.clone())
    };
    Ok((matter, is_import))
}
