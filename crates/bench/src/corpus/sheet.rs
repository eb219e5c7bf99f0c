//! A file of an agent while it is written.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use siglum_domain::Timestamp;

use super::json::Object;
use crate::Fallible;
use crate::clock::Chance;

/// How a file ends that was not written to its end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tail {
    /// In the middle of a line.
    Cut,
    /// In the middle of a character.
    HalfCharacter,
    /// In the middle of a line, behind which the agent went on when it was started again.
    Resumed,
}

/// Lines, and the time at which the last of them was written.
pub(super) struct Sheet {
    path: PathBuf,
    out: BufWriter<File>,
    at: Timestamp,
    chance: Chance,
    bytes: u64,
}

impl Sheet {
    /// Begins a file that is written from a time on.
    pub(super) fn create(path: &Path, at: Timestamp, seed: u64) -> Fallible<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::with_capacity(1 << 20, File::create(path)?),
            at,
            chance: Chance::new(seed),
            bytes: 0,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) const fn at(&self) -> Timestamp {
        self.at
    }

    /// Goes on at another time.
    pub(super) fn go_on(&mut self, at: Timestamp, seed: u64) {
        self.at = at;
        self.chance = Chance::new(seed);
    }

    /// The time of the next line, some moments after the one before.
    pub(super) fn tick(&mut self) -> String {
        self.at = self.at.plus_millis(50 + self.chance.below(4_000) as i64);
        self.at.to_string()
    }

    pub(super) fn line(&mut self, line: &Object) -> Fallible<()> {
        self.write(line.text().as_bytes())?;
        self.write(b"\n")
    }

    /// Ends it as a file ends whose agent was killed.
    pub(super) fn tear(&mut self, tail: Tail) -> Fallible<()> {
        self.write("{\"type\":\"user\",\"message\":\"größ".as_bytes())?;
        match tail {
            Tail::Cut => Ok(()),
            Tail::HalfCharacter => self.write(&"ü".as_bytes()[..1]),
            Tail::Resumed => self.write(b"\n"),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Fallible<()> {
        self.out.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Ends it and gives how many bytes it has.
    pub(super) fn end(mut self) -> Fallible<u64> {
        self.out.flush()?;
        Ok(self.bytes)
    }
}
