//! A document store as a runtime may have one: a file for each session, with a line for each receipt. As a sink it gets
//! every committed turn; without one, the runtime's own notes of its turns go into it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use siglum_store::{Ledger, Position, Sealed, SessionId, Sink, SinkError};

pub struct Documents {
    dir: PathBuf,
}

impl Documents {
    pub fn at(dir: &Path) -> std::io::Result<Self> {
        fs::create_dir_all(dir)?;
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// The runtime's own note that a turn is over.
    pub fn note(&self, turn: &str) -> std::io::Result<()> {
        append(&self.dir.join("own.jsonl"), &json!({ "turn": turn }))
    }

    fn path(&self, session: SessionId) -> PathBuf {
        self.dir.join(format!("{session}.jsonl"))
    }

    /// The last whole line; what a process that died left of one is cut off.
    fn last(&self, session: SessionId) -> std::io::Result<Option<Value>> {
        let path = self.path(session);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        if whole < text.len() {
            OpenOptions::new()
                .write(true)
                .open(&path)?
                .set_len(whole as u64)?;
        }
        let line = text[..whole].lines().next_back();
        Ok(line.and_then(|line| serde_json::from_str(line).ok()))
    }
}

fn append(path: &Path, line: &Value) -> std::io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()
}

fn unavailable(error: std::io::Error) -> SinkError {
    SinkError::Unavailable(error.to_string())
}

impl Sink for Documents {
    fn position(&mut self, session: SessionId) -> Result<Position, SinkError> {
        let last = self.last(session).map_err(unavailable)?;
        Ok(last.map_or(Position::Nothing, |line| Position::At {
            number: line["receipt"].as_u64().unwrap_or(u64::MAX),
            digest: line["digest"].as_str().unwrap_or_default().to_owned(),
        }))
    }

    fn take(&mut self, _: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError> {
        for sealed in sealed {
            let events: Vec<&str> = sealed
                .entries
                .iter()
                .map(|e| e.observation.key.as_str())
                .collect();
            let line = json!({
                "receipt": sealed.receipt.number,
                "digest": sealed.receipt.digest,
                "events": events,
            });
            append(&self.path(sealed.session.id), &line).map_err(unavailable)?;
        }
        Ok(())
    }

    fn reset(&mut self, session: SessionId) -> Result<(), SinkError> {
        match fs::remove_file(self.path(session)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unavailable(error)),
            _ => Ok(()),
        }
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        fs::remove_dir_all(&self.dir)
            .and_then(|()| fs::create_dir_all(&self.dir))
            .map_err(unavailable)
    }
}
