//! Reading transcripts into the ledger, from the byte after the last one read.
//!
//! Whether a file is still the one that was read is told by its identity, its size and the bytes
//! before the last offset, never by reading it again.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use siglum_agents::{AgentSpec, Sighting};
use siglum_domain::intake::{AgentMatter, Place};
use siglum_domain::{NativeId, Timestamp};
use siglum_ledger::{
    Durability, Ledger, LedgerError, Relation, Segment, SessionOrigin, Transaction,
    TranscriptRecord, read, write,
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
        ..if same { record.clone() } else { afresh(record) }
    };
    let slice = Slice {
        from,
        more,
        lines: lines_of(&bytes, from),
        matter: matter(ledger, record)?,
    };
    write(ledger, Durability::Process, |tx| {
        let mut read = store(world, tx, agent, &now, &slice)?;
        read.tail = tail(&mut file, read.read_to).map_err(|e| LedgerError::Storage(Box::new(e)))?;
        tx.transcript_read(&read, more)
    })?;
    Ok(Progress {
        bytes: bytes.len() as u64,
        more,
    })
}

/// The record of a file that another one replaced, or that was rewritten.
fn afresh(record: &TranscriptRecord) -> TranscriptRecord {
    TranscriptRecord {
        turn: None,
        own: false,
        ..record.clone()
    }
}

/// Lines that are read in one transaction.
struct Slice<'a> {
    from: u64,
    more: bool,
    lines: Vec<(u64, &'a str)>,
    matter: AgentMatter,
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

/// Writes down what a slice says. Returns how far it was read: lines whose owner only a later line
/// can tell are read again.
fn store(
    world: &World<'_>,
    tx: &mut dyn Transaction,
    agent: &AgentSpec,
    record: &TranscriptRecord,
    slice: &Slice<'_>,
) -> Result<TranscriptRecord, LedgerError> {
    let reader = (agent.transcript)(
        record.stream.clone(),
        record.subagent.clone(),
        record.native.clone(),
    );
    let mut reader = reader.resumed(record.turn.clone(), record.own);
    if let Some(place) = &slice.matter.place {
        reader = reader.in_worktree(PathBuf::from(&place.worktree));
    }
    let mut owners = Owners {
        world,
        matter: &slice.matter,
        record,
        known: Vec::new(),
        copied: None,
    };
    let mut lines: Vec<(u64, String)> = Vec::new();
    let mut size = 0;
    for (offset, raw) in &slice.lines {
        let seen = reader.line(*offset, raw, world.redactor);
        let copied = !seen.sightings.is_empty() && seen.sightings.iter().all(|s| s.copied);
        owners.append(tx, &seen.sightings)?;
        if copied && let Some(sighting) = seen.sightings.last() {
            owners.copied = Some((sighting.owner.clone(), *offset));
        }
        if seen.at.is_some() && !copied {
            let line = world.redactor.redact_cow(raw).into_owned();
            size += line.len();
            lines.push((*offset, line));
        }
        if size >= SEGMENT {
            put_segment(tx, &record.stream, &mut lines, &mut size)?;
        }
    }
    put_segment(tx, &record.stream, &mut lines, &mut size)?;
    let ended = tx
        .session(record.session)?
        .is_none_or(|s| s.ended_at.is_some() || s.origin == SessionOrigin::Import);
    let stuck = slice.more && reader.held_from() == Some(slice.from);
    if stuck || (ended && !slice.more) {
        let held = reader.finish();
        owners.append(tx, &held)?;
    }
    want_subagents(tx, record)?;
    let settled = reader.is_own() || (ended && !slice.more);
    let held_from = owners.relate(tx, slice, settled)?.or(reader.held_from());
    Ok(TranscriptRecord {
        read_to: held_from.unwrap_or(record.read_to),
        turn: reader.turn().map(str::to_owned),
        own: reader.is_own(),
        ..record.clone()
    })
}

fn put_segment(
    tx: &mut dyn Transaction,
    stream: &str,
    lines: &mut Vec<(u64, String)>,
    size: &mut usize,
) -> Result<(), LedgerError> {
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
    /// Whose the last line of copied history was, and where it starts.
    copied: Option<(NativeId, u64)>,
}

impl Owners<'_> {
    /// The session whose history was copied last is the parent; those before are its own
    /// forefathers. While the history may go on, returns where its last line starts, from which
    /// the file is to be read again.
    fn relate(
        &self,
        tx: &mut dyn Transaction,
        slice: &Slice<'_>,
        settled: bool,
    ) -> Result<Option<u64>, LedgerError> {
        let Some((owner, offset)) = &self.copied else {
            return Ok(None);
        };
        if !settled {
            return Ok(Some(*offset).filter(|offset| !slice.more || *offset > slice.from));
        }
        let parent = self.known.iter().find(|(native, _)| native == owner);
        match parent.map(|(_, identity)| identity.session) {
            Some(parent) if parent != self.record.session => tx
                .set_parent(self.record.session, parent, Relation::Fork)
                .map(|()| None),
            _ => Ok(None),
        }
    }

    fn append(
        &mut self,
        tx: &mut dyn Transaction,
        sightings: &[Sighting],
    ) -> Result<(), LedgerError> {
        let at = self.world.now();
        for sighting in sightings {
            let observation = &sighting.observation;
            let Some(identity) = self.find(tx, &sighting.owner, observation.at)? else {
                continue;
            };
            if sighting.copied && self.has_its_own_file(&sighting.owner) {
                continue;
            }
            session::append(tx, self.world.ids, at, identity, self.matter, observation)?;
            tx.touch(identity.session, observation.at, None, None)?;
        }
        Ok(())
    }

    /// A copy of history is of use only where the history itself is gone.
    fn has_its_own_file(&self, owner: &NativeId) -> bool {
        Path::new(&self.record.path)
            .with_file_name(format!("{owner}.jsonl"))
            .exists()
    }

    fn find(
        &mut self,
        tx: &mut dyn Transaction,
        owner: &NativeId,
        at: Timestamp,
    ) -> Result<Option<SessionIdentity>, LedgerError> {
        if let Some((_, identity)) = self.known.iter().find(|(native, _)| native == owner) {
            return Ok(Some(*identity));
        }
        let Some(own) = tx.session(self.record.session)? else {
            return Ok(None);
        };
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
        let identity = SessionIdentity {
            session,
            repository: own.repository,
        };
        self.known.push((owner.clone(), identity));
        Ok(Some(identity))
    }
}

/// Sub-agents write files of their own, in a folder named like the transcript.
fn want_subagents(tx: &mut dyn Transaction, record: &TranscriptRecord) -> Result<(), LedgerError> {
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
