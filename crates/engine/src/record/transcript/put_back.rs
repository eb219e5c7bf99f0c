//! Putting a transcript that is gone back where its agent looks for it, from the lines that are stored.
//!
//! Where that is, the agent's folder says; nothing here takes a path from what is stored. A file that is there is never
//! written to.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use siglum_agents::{AgentSpec, open_regular};
use siglum_domain::{NativeId, SessionId};
use siglum_ledger::{
    Durability, Ledger, LedgerError, Segment, Transaction, TranscriptRecord, read, write,
};

use super::file::{identity, tail};
use crate::EngineError;

/// How many transcripts of one session are looked at, those of sub-agents among them.
const STREAMS_MOST: usize = 10_000;
/// How many runs of lines are read at once.
const PAGE: usize = 8;
/// Behind all lines of a stream.
const BEHIND_ALL: u64 = i64::MAX.cast_unsigned();

/// The transcript of a session under one of its native ids.
#[derive(Debug, Clone)]
pub struct StoredTranscript {
    pub record: TranscriptRecord,
    /// Where its first stored line begins; absent where no line is stored.
    first: Option<u64>,
}

/// What became of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutBack {
    /// It was written.
    Written,
    /// A file is there already, and stays as it is.
    Present,
    /// None of its lines is stored, or so few that the agent would not resume all of the conversation.
    NotStored,
}

/// Finds the transcript of a session under one of its native ids, by the name of its stream.
///
/// # Errors
/// Those of the ledger.
pub fn transcript_of(
    tx: &mut dyn Transaction,
    session: SessionId,
    native: &NativeId,
) -> Result<Option<StoredTranscript>, LedgerError> {
    let is_own = |record: &TranscriptRecord| record.session == session && record.subagent.is_none();
    let (mut stream, mut first) = (String::new(), 0);
    for _ in 0..STREAMS_MOST {
        let Some(next) = tx.stored_segments(session, &stream, first, 1)?.pop() else {
            break;
        };
        if is_named_after(&next.stream, native)
            && let Some(record) = tx.transcript(&next.stream)?.filter(is_own)
        {
            let first = Some(next.first);
            return Ok(Some(StoredTranscript { record, first }));
        }
        (stream, first) = (next.stream, BEHIND_ALL);
    }
    let unread = tx.transcript(native.as_str())?.filter(is_own);
    Ok(unread.map(|record| StoredTranscript {
        record,
        first: None,
    }))
}

/// Whether a stream is that of this id: it has its name, or ends in it.
fn is_named_after(stream: &str, native: &NativeId) -> bool {
    let head = stream.strip_suffix(native.as_str());
    head.is_some_and(|head| head.is_empty() || head.ends_with('-'))
}

/// Writes the stored lines of a transcript to a file that is not there, for its owner alone, and notes that it was read:
/// what the agent adds to it is read on from there.
///
/// # Errors
/// The file cannot be written, or those of the ledger.
pub fn put_back(
    ledger: &mut dyn Ledger,
    agent: &AgentSpec,
    transcript: &StoredTranscript,
    path: &Path,
) -> Result<PutBack, EngineError> {
    let Some(first) = transcript.first else {
        return Ok(PutBack::NotStored);
    };
    let of = (&transcript.record, first);
    let put_back = write_new(path, |file| {
        let lines = write_lines(ledger, of, file, &failed(path))?;
        file.rewind().map_err(failed(path))?;
        match (agent.is_whole)(&mut BufReader::new(file)) {
            true => Ok(lines),
            false => Ok(0),
        }
    })?;
    if put_back == PutBack::Written {
        note(ledger, &transcript.record, path)?;
    }
    Ok(put_back)
}

/// Copies a transcript to where the agent looks for it, if no file is there: for its owner alone.
///
/// # Errors
/// One of the files cannot be read or written.
pub fn copy_transcript(from: &Path, to: &Path) -> Result<PutBack, EngineError> {
    write_new(to, |file| {
        let mut source = open_regular(from).map_err(|source| EngineError::Read {
            path: from.to_owned(),
            source,
        })?;
        io::copy(&mut source, file).map_err(failed(to))
    })
}

/// What a failure to write a file is told as.
fn failed(path: &Path) -> impl Fn(io::Error) -> EngineError {
    move |source| EngineError::Write {
        path: path.to_owned(),
        source,
    }
}

/// Makes a file with what is written to it; none where that is nothing. Where there is a file already, it stays.
fn write_new(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<u64, EngineError>,
) -> Result<PutBack, EngineError> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(PutBack::Present);
    }
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(path)(io::ErrorKind::InvalidInput.into()));
    };
    let made = DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(failed(path))?;
    // A name of its own: of two that do this at once, neither may link what the other one is still writing.
    let name = name.to_string_lossy();
    let unfinished = dir.join(format!(".{name}.siglum-{}", std::process::id()));
    // What a process of this number left behind that was killed.
    let _ = fs::remove_file(&unfinished);
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished);
    let mut file = opened.map_err(failed(path))?;
    let linked = fill(&mut file).and_then(|filled| {
        if filled == 0 {
            return Ok(PutBack::NotStored);
        }
        file.sync_all().map_err(failed(path))?;
        // A link is refused where there is a file: nobody's is replaced, whoever wrote it meanwhile.
        match fs::hard_link(&unfinished, path) {
            Ok(()) => Ok(PutBack::Written),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(PutBack::Present),
            Err(error) => Err(failed(path)(error)),
        }
    });
    let _ = fs::remove_file(&unfinished);
    linked
}

/// Notes that the file was read to its end: its lines are those that are stored.
fn note(
    ledger: &mut dyn Ledger,
    record: &TranscriptRecord,
    path: &Path,
) -> Result<(), EngineError> {
    let unreadable = |source| EngineError::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = open_regular(path).map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    let record = TranscriptRecord {
        path: path.to_string_lossy().into_owned(),
        file: identity(&meta),
        read_to: meta.len(),
        tail: tail(&mut file, meta.len()).map_err(unreadable)?,
        ..record.clone()
    };
    Ok(write(ledger, Durability::Process, |tx| {
        tx.want_transcript(&record)?;
        tx.transcript_read(&record, false)
    })?)
}

/// Writes the stored lines, each but the first where it was in the agent's own file, unless it got longer: the places of
/// texts in the ledger are offsets. In place of what is not stored there are blanks at the end of the line before, which
/// no reader of JSON minds. Returns how many lines there are.
fn write_lines(
    ledger: &mut dyn Ledger,
    (record, first): (&TranscriptRecord, u64),
    file: &mut File,
    failed: &dyn Fn(io::Error) -> EngineError,
) -> Result<u64, EngineError> {
    let mut out = BufWriter::new(file);
    let (mut lines, mut at) = (0, 0);
    let mut page: Vec<Segment> = read(ledger, |tx| tx.segment(&record.stream, first))?
        .into_iter()
        .collect();
    while let Some(last) = page.last() {
        let behind = last.first;
        for (offset, line) in page.iter().flat_map(|segment| &segment.lines) {
            if !is_object(line) {
                continue;
            }
            if lines > 0 {
                at += end_line(&mut out, at, *offset).map_err(failed)?;
            }
            out.write_all(line.as_bytes()).map_err(failed)?;
            at += line.len() as u64;
            lines += 1;
        }
        page = read(ledger, |tx| tx.segments(&record.stream, behind, PAGE))?;
        page.retain(|segment| segment.stream == record.stream);
    }
    end_line(&mut out, at, record.read_to).map_err(failed)?;
    out.flush().map_err(failed)?;
    Ok(lines)
}

/// Ends a line so that the next one begins at an offset, or as soon as it can. Returns how many bytes that took.
fn end_line(out: &mut impl io::Write, at: u64, next: u64) -> io::Result<u64> {
    let blanks = next.saturating_sub(at + 1);
    io::copy(&mut io::Read::take(io::repeat(b' '), blanks), out)?;
    out.write_all(b"\n")?;
    Ok(blanks + 1)
}

/// Whether a line is one object in JSON.
fn is_object(line: &str) -> bool {
    line.starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_where_the_next_one_begins() {
        let check = |at: u64, next: u64, expected: &str| {
            let mut out = Vec::new();
            let taken = end_line(&mut out, at, next).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            assert_eq!(taken, expected.len() as u64);
        };
        check(3, 4, "\n");
        check(3, 7, "   \n");
        // A secret that was removed made it longer.
        check(9, 4, "\n");
    }

    #[test]
    fn only_objects_are_lines() {
        assert!(is_object(r#"{"a":[1,{"b":null}]}"#));
        for other in ["", "{", "[1]", "{} {}", "7", "{\"a\":"] {
            assert!(!is_object(other), "{other}");
        }
    }

    #[test]
    fn a_stream_has_the_id_in_its_name() {
        let native = NativeId::new("01a1-b").unwrap();
        for stream in ["01a1-b", "rollout-2026-11-20T21-09-52-01a1-b"] {
            assert!(is_named_after(stream, &native), "{stream}");
        }
        for other in ["x01a1-b", "01a1-b-2", "agent-1"] {
            assert!(!is_named_after(other, &native), "{other}");
        }
    }
}
