//! A directory with one file for each session, one line in it for each receipt: a document store that every program
//! can read.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use siglum_domain::SessionId;
use siglum_domain::observation::Fact;
use siglum_domain::redact::Redactor;
use siglum_ledger::Ledger;

use super::sink::{Position, Sealed, Sink, SinkError};

/// How much of the end of a file is read at a time to find its last line.
const STEP: u64 = 64 << 10;
/// The form of a line.
const SCHEMA: &str = "siglum.snapshot/1";

/// The directory.
#[derive(Debug)]
pub struct Directory {
    dir: PathBuf,
}

#[derive(Serialize)]
struct Line<'a> {
    schema: &'static str,
    session: String,
    conversation_id: &'a str,
    agent: &'a str,
    receipt: Mark,
    at: String,
    turns: Vec<String>,
    events: Vec<Event>,
}

/// What says which receipt a line is.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    number: u64,
    first: u64,
    last: u64,
    digest: String,
}

/// What is needed of a line that is there.
#[derive(Deserialize)]
struct Marked {
    receipt: Mark,
}

#[derive(Serialize)]
struct Event {
    sequence: u64,
    id: String,
    turn: Option<String>,
    at: String,
    source: &'static str,
    event: String,
    subagent: Option<String>,
    fact: Value,
}

impl Directory {
    /// At this path; it is created when something is written.
    #[must_use]
    pub fn at(dir: impl AsRef<Path>) -> Self {
        Self {
            dir: dir.as_ref().to_owned(),
        }
    }

    /// The sessions that it has files of, in order.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionId> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let session = |file: fs::DirEntry| {
            let name = file.file_name();
            let name = name.to_string_lossy();
            // Other files in it are not ours.
            name.strip_suffix(".jsonl")?.parse().ok()
        };
        let mut sessions: Vec<SessionId> = files.filter_map(session).collect();
        sessions.sort_unstable();
        sessions
    }

    /// The file of a session.
    #[must_use]
    pub fn path(&self, session: SessionId) -> PathBuf {
        self.dir.join(format!("{session}.jsonl"))
    }
}

impl Sink for Directory {
    fn position(&mut self, session: SessionId) -> Result<Position, SinkError> {
        let path = self.path(session);
        let mut file = match open(&path, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Position::Nothing);
            }
            Err(error) => return Err(unavailable(&path, &error)),
        };
        let (line, _) = last_line(&mut file).map_err(|e| unavailable(&path, &e))?;
        Ok(match line {
            None => Position::Nothing,
            Some(line) => match serde_json::from_slice::<Marked>(&line) {
                Ok(Marked { receipt }) => Position::At {
                    number: receipt.number,
                    digest: receipt.digest,
                },
                // Somebody else wrote to it: what it has is not what we said.
                Err(_) => Position::At {
                    number: u64::MAX,
                    digest: String::new(),
                },
            },
        })
    }

    fn take(&mut self, _: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError> {
        for sealed in sealed {
            let path = self.path(sealed.session.id);
            append(&self.dir, &path, sealed).map_err(|e| unavailable(&path, &e))?;
        }
        Ok(())
    }

    fn reset(&mut self, session: SessionId) -> Result<(), SinkError> {
        let path = self.path(session);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(unavailable(&path, &error))
            }
            _ => Ok(()),
        }
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        let files = match fs::read_dir(&self.dir) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unavailable(&self.dir, &error)),
        };
        for file in files.flatten() {
            let name = file.file_name();
            let name = name.to_string_lossy();
            // Other files in it are not ours.
            let session = name.strip_suffix(".jsonl").map(str::parse::<SessionId>);
            if let Some(Ok(session)) = session {
                self.reset(session)?;
            }
        }
        Ok(())
    }
}

fn unavailable(path: &Path, error: &std::io::Error) -> SinkError {
    SinkError::Unavailable(format!("{}: {error}", path.display()))
}

/// Opens a regular file: for a pipe in its place the worker would wait, and whoever waits for the worker.
fn open(path: &Path, options: &mut OpenOptions) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(std::io::Error::other("is not a regular file")),
    }
}

/// Appends a line, unless the file has it. What a writer that died left of a line is cut off.
fn append(dir: &Path, path: &Path, sealed: &Sealed<'_>) -> std::io::Result<()> {
    if !dir.is_dir() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = open(path, options.mode(0o600))?;
    let (line, end) = last_line(&mut file)?;
    let has = line
        .and_then(|line| serde_json::from_slice::<Marked>(&line).ok())
        .map_or(0, |marked| marked.receipt.number);
    if has >= sealed.receipt.number {
        return Ok(());
    }
    file.set_len(end)?;
    file.seek(SeekFrom::Start(end))?;
    let mut text = serde_json::to_vec(&line_of(sealed))?;
    text.push(b'\n');
    file.write_all(&text)?;
    file.sync_data()
}

/// The last whole line of a file, and where it ends.
fn last_line(file: &mut File) -> std::io::Result<(Option<Vec<u8>>, u64)> {
    let mut from = file.metadata()?.len();
    let mut tail: Vec<u8> = Vec::new();
    loop {
        let is_end = |(at, byte): (usize, &u8)| (*byte == b'\n').then_some(at);
        let ends: Vec<usize> = tail
            .iter()
            .enumerate()
            .rev()
            .filter_map(is_end)
            .take(2)
            .collect();
        let whole = ends.len() == 2 || (ends.len() == 1 && from == 0);
        if whole || from == 0 {
            let Some(end) = ends.first() else {
                return Ok((None, 0));
            };
            let start = ends.get(1).map_or(0, |at| at + 1);
            return Ok((Some(tail[start..*end].to_vec()), from + *end as u64 + 1));
        }
        let step = STEP.min(from);
        from -= step;
        let mut more = vec![0; usize::try_from(step).unwrap_or(0)];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut more)?;
        more.extend_from_slice(&tail);
        tail = more;
    }
}

fn line_of<'a>(sealed: &Sealed<'a>) -> Line<'a> {
    let receipt = sealed.receipt;
    // What leaves the ledger is redacted by the rules of today.
    let fact = |fact: &Fact| {
        let value = serde_json::to_value(fact).unwrap_or_default();
        Redactor::shared().redact_json(&value).as_value().clone()
    };
    let event = |e: &siglum_domain::fold::Entry| Event {
        sequence: e.sequence,
        id: e.id.to_string(),
        turn: e.turn.map(|t| t.to_string()),
        at: e.observation.at.to_string(),
        source: e.observation.source.as_str(),
        event: e.observation.event.clone(),
        subagent: e.observation.subagent.clone(),
        fact: fact(&e.observation.fact),
    };
    Line {
        schema: SCHEMA,
        session: sealed.session.id.to_string(),
        conversation_id: sealed.session.conversation.as_str(),
        agent: sealed.session.agent_word(),
        receipt: Mark {
            number: receipt.number,
            first: receipt.first,
            last: receipt.last,
            digest: receipt.digest.clone(),
        },
        at: receipt.at.to_string(),
        turns: receipt.turns.iter().map(ToString::to_string).collect(),
        events: sealed.entries.iter().map(event).collect(),
    }
}

pub(super) fn document(sealed: &Sealed<'_>) -> String {
    serde_json::to_string(&line_of(sealed)).expect("because a line has text keys only")
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let session = SessionId::from_uuid(Uuid::from_u128(1));
        let mut sink = Directory {
            dir: dir.path().to_owned(),
        };
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, sink.path(session), mode).unwrap();
        assert!(sink.position(session).is_err());
    }
}
