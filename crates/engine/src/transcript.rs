//! Reading transcripts into the ledger, from the byte after the last one read.
//!
//! Whether a file is still the one that was read is told by its identity, its size and the bytes
//! before the last offset, never by reading it again.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use siglum_agents::AgentSpec;
use siglum_domain::intake::{AgentMatter, Place};
use siglum_domain::{NativeId, Timestamp};
use siglum_ledger::{
    Durability, Ledger, Relation, Segment, Transaction, TranscriptRecord, read, write,
};

use crate::session::{self, SessionIdentity};
use crate::{EngineError, World};

/// How much of a file one transaction takes, in bytes.
const SLICE: usize = 4 << 20;
/// How much text one segment holds, in bytes.
const SEGMENT: usize = 256 << 10;
/// A line that is longer than this is passed over, in bytes.
const LINE_MOST: usize = 64 << 20;
/// How many bytes before the offset tell whether the file was rewritten.
const TAIL: u64 = 64;

/// What reading on brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read.
    pub bytes: u64,
    /// Whether there is more to read.
    pub more: bool,
}

/// Reads one slice of a transcript.
///
/// # Errors
/// The file cannot be read, or those of the ledger.
pub fn read_on(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    agent: &AgentSpec,
    record: &TranscriptRecord,
) -> Result<Progress, EngineError> {
    let path = PathBuf::from(&record.path);
    let failed = |source| EngineError::Read {
        path: path.clone(),
        source,
    };
    // A transcript that became a link is not followed.
    let nofollow = OFlags::NOFOLLOW.bits().cast_signed();
    let mut file = match File::options()
        .read(true)
        .custom_flags(nofollow)
        .open(&path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            write(ledger, Durability::Process, |tx| {
                tx.transcript_read(record, false)
            })?;
            return Ok(Progress::default());
        }
        Err(error) => return Err(failed(error)),
    };
    let meta = file.metadata().map_err(failed)?;
    let identity = format!("{}:{}", meta.dev(), meta.ino());
    let same = record.file == identity
        && meta.len() >= record.read_to
        && tail(&mut file, record.read_to).map_err(failed)? == record.tail;
    let from = if same { record.read_to } else { 0 };
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut bytes = Vec::new();
    take_lines(&mut file, &mut bytes).map_err(failed)?;
    let past = from + bytes.len() as u64;
    let more = !bytes.is_empty() && past < meta.len();
    let now = TranscriptRecord {
        file: identity,
        read_to: past,
        tail: tail(&mut file, past).map_err(failed)?,
        ..record.clone()
    };
    let matter = matter(ledger, record)?;
    let lines = lines_of(&bytes, from);
    write(ledger, Durability::Process, |tx| {
        store(world, tx, agent, &now, &matter, &lines)?;
        tx.transcript_read(&now, more)
    })?;
    Ok(Progress {
        bytes: bytes.len() as u64,
        more,
    })
}

fn tail(file: &mut File, at: u64) -> std::io::Result<String> {
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
        let end = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        if end > 0 || ended {
            bytes.truncate(end);
            return Ok(());
        }
        if bytes.len() > LINE_MOST {
            // A line without end: passed over, piece by piece.
            return Ok(());
        }
    }
}

fn lines_of(bytes: &[u8], from: u64) -> Vec<(u64, &str)> {
    let mut lines = Vec::new();
    let mut offset = from;
    for line in bytes.split_inclusive(|b| *b == b'\n') {
        if let Ok(text) = std::str::from_utf8(line)
            && !text.trim().is_empty()
        {
            lines.push((offset, text.trim_end()));
        }
        offset += line.len() as u64;
    }
    lines
}

/// The transcript's session as a matter without observations.
fn matter(ledger: &mut dyn Ledger, record: &TranscriptRecord) -> Result<AgentMatter, EngineError> {
    let place = read(ledger, |tx| {
        let session = tx.session(record.session)?;
        let Some((repository, worktree)) = session.and_then(|s| s.repository.zip(s.worktree))
        else {
            return Ok(None);
        };
        let known = tx.repositories()?.into_iter().find(|r| r.id == repository);
        Ok(known.map(|r| Place {
            common_dir: r.common_dir,
            worktree,
        }))
    })?;
    Ok(AgentMatter {
        agent: record.agent.clone(),
        native: record.native.clone(),
        parent: None,
        explicit: None,
        process: None,
        above: Vec::new(),
        cwd: None,
        place,
        transcript: None,
        observations: Vec::new(),
    })
}

fn store(
    world: &World<'_>,
    tx: &mut dyn Transaction,
    agent: &AgentSpec,
    record: &TranscriptRecord,
    matter: &AgentMatter,
    lines: &[(u64, &str)],
) -> Result<(), siglum_ledger::LedgerError> {
    let mut reader = (agent.transcript)(
        record.stream.clone(),
        record.subagent.clone(),
        record.native.clone(),
    );
    let mut owners = Owners {
        world,
        matter,
        record,
        known: Vec::new(),
    };
    let mut segment: Vec<(u64, String)> = Vec::new();
    let mut size = 0;
    let at = world.now();
    for (offset, raw) in lines {
        let seen = reader.line(*offset, raw, world.redactor);
        for sighting in &seen.sightings {
            let Some(identity) = owners.find(tx, &sighting.owner, sighting.observation.at)? else {
                continue;
            };
            session::append(tx, world.ids, at, identity, matter, &sighting.observation)?;
            tx.touch(identity.session, sighting.observation.at, None, None)?;
        }
        if !seen.sightings.is_empty() {
            let line = world.redactor.redact_cow(raw).into_owned();
            size += line.len();
            segment.push((*offset, line));
        }
        if size >= SEGMENT {
            put_segment(tx, &record.stream, &mut segment, &mut size)?;
        }
    }
    put_segment(tx, &record.stream, &mut segment, &mut size)?;
    want_subagents(tx, record)
}

fn put_segment(
    tx: &mut dyn Transaction,
    stream: &str,
    lines: &mut Vec<(u64, String)>,
    size: &mut usize,
) -> Result<(), siglum_ledger::LedgerError> {
    let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
        return Ok(());
    };
    let (first, past) = (first.0, last.0 + 1);
    *size = 0;
    tx.put_segment(&Segment {
        stream: stream.to_owned(),
        first,
        past,
        lines: std::mem::take(lines),
    })
}

/// The sessions that lines of one file belong to: its own, and those whose history it copied.
struct Owners<'a> {
    world: &'a World<'a>,
    matter: &'a AgentMatter,
    record: &'a TranscriptRecord,
    known: Vec<(NativeId, SessionIdentity)>,
}

impl Owners<'_> {
    fn find(
        &mut self,
        tx: &mut dyn Transaction,
        owner: &NativeId,
        at: Timestamp,
    ) -> Result<Option<SessionIdentity>, siglum_ledger::LedgerError> {
        if let Some((_, identity)) = self.known.iter().find(|(native, _)| native == owner) {
            return Ok(Some(*identity));
        }
        let own = tx.session(self.record.session)?;
        let Some(own) = own else { return Ok(None) };
        let session = match tx.session_by_alias(&self.record.agent, owner)? {
            Some(session) => session,
            None => {
                let matter = AgentMatter {
                    native: owner.clone(),
                    ..self.matter.clone()
                };
                session::record(tx, own.home, self.world.ids, at, &matter)?
            }
        };
        if session != own.id {
            tx.set_parent(own.id, session, Relation::Fork)?;
        }
        let identity = SessionIdentity {
            session,
            repository: own.repository,
        };
        self.known.push((owner.clone(), identity));
        Ok(Some(identity))
    }
}

/// Sub-agents write files of their own, in a folder named like the transcript.
fn want_subagents(
    tx: &mut dyn Transaction,
    record: &TranscriptRecord,
) -> Result<(), siglum_ledger::LedgerError> {
    if record.subagent.is_some() {
        return Ok(());
    }
    let folder = Path::new(&record.path).with_extension("").join("subagents");
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.flatten().take(10_000) {
        let path = entry.path();
        let regular = entry.file_type().is_ok_and(|t| t.is_file());
        let Some(stem) = path
            .file_stem()
            .and_then(|s| s.to_str())
            .filter(|_| regular && path.extension().is_some_and(|e| e == "jsonl"))
        else {
            continue;
        };
        let known = tx.transcript(stem)?;
        let size = entry.metadata().map_or(0, |m| m.len());
        if known.as_ref().is_some_and(|k| k.read_to == size) {
            continue;
        }
        let subagent = stem.strip_prefix("agent-").unwrap_or(stem).to_owned();
        let record = TranscriptRecord {
            stream: stem.to_owned(),
            path: path.to_string_lossy().into_owned(),
            subagent: Some(subagent),
            ..record.clone()
        };
        tx.want_transcript(&record)?;
    }
    Ok(())
}
