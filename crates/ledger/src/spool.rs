//! Where evidence waits when the ledger cannot be reached: one file per delivery.
//!
//! A file is written aside, synced and renamed, so that a reader never sees half of one. What waits
//! here is redacted already. A delivery that cannot be read is set aside, never deleted. In a
//! directory that several users share, each sees only their own.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use siglum_domain::intake::{Intake, VERSION};
use siglum_domain::time::Timestamp;

/// How many deliveries one spool holds at most.
const MOST: usize = 100_000;
const ENDING: &str = "json";

/// A directory of waiting deliveries.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
}

/// A delivery that waits.
#[derive(Debug)]
pub struct Spooled {
    /// Where.
    pub path: PathBuf,
    /// What; `Err` says why it cannot be read.
    pub intake: Result<Intake, String>,
}

/// The spool cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("the spool {dir} cannot be written to")]
pub struct SpoolError {
    /// The directory.
    pub dir: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

impl Spool {
    /// The spool in this directory, which need not exist yet.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes a delivery wait; the same one twice is one file. It survives the loss of power.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn put(&self, intake: &Intake) -> Result<(), SpoolError> {
        self.write(intake).map_err(|source| SpoolError {
            dir: self.dir.clone(),
            source,
        })
    }

    fn write(&self, intake: &Intake) -> io::Result<()> {
        if !self.dir.is_dir() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.dir)?;
        }
        let name = format!(
            "{:020}-{}",
            intake.at.nanos(),
            &blake3::hash(intake.key.as_bytes()).to_hex()[..16]
        );
        let aside = self.dir.join(format!("{name}.part"));
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&aside)?;
        let done = serde_json::to_writer(&mut file, intake)
            .map_err(io::Error::from)
            .and_then(|()| file.flush())
            .and_then(|()| file.sync_data());
        if let Err(error) = done {
            let _ = fs::remove_file(&aside);
            return Err(error);
        }
        fs::rename(&aside, self.dir.join(format!("{name}.{ENDING}")))
    }

    /// Tells whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names(1).is_empty()
    }

    /// How many deliveries wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names(MOST).len()
    }

    fn names(&self, most: usize) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let me = rustix::process::geteuid().as_raw();
        let waiting = entries
            .flatten()
            .filter(|e| e.path().extension().is_some_and(|e| e == ENDING))
            // What waits for another user belongs into that user's ledger.
            .filter(|e| e.metadata().is_ok_and(|m| m.is_file() && m.uid() == me));
        waiting.map(|e| e.path()).take(most).collect()
    }

    /// The deliveries that wait, oldest first, at most `most`.
    #[must_use]
    pub fn waiting(&self, most: usize) -> Vec<Spooled> {
        let mut names = self.names(MOST);
        names.sort();
        names.truncate(most);
        names
            .into_iter()
            .map(|path| Spooled {
                intake: load(&path),
                path,
            })
            .collect()
    }

    /// Takes a delivery out that the ledger has now.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn done(&self, spooled: &Spooled) -> Result<(), SpoolError> {
        fs::remove_file(&spooled.path).map_err(|source| SpoolError {
            dir: self.dir.clone(),
            source,
        })
    }

    /// Sets a delivery aside that cannot be read or stored, under the ending `bad`.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn set_aside(&self, spooled: &Spooled) -> Result<(), SpoolError> {
        let bad = spooled.path.with_extension("bad");
        fs::rename(&spooled.path, bad).map_err(|source| SpoolError {
            dir: self.dir.clone(),
            source,
        })
    }

    /// The files that are no delivery that waits: set aside as unreadable, or half written.
    #[must_use]
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let paths = entries.map(|e| e.path());
        let mut left: Vec<_> = paths
            .filter(|p| p.extension().is_none_or(|e| e != ENDING) && p.is_file())
            .collect();
        left.sort();
        left
    }

    /// The time of the oldest delivery that waits.
    #[must_use]
    pub fn oldest(&self) -> Option<Timestamp> {
        let name = self.names(MOST).into_iter().min()?;
        let nanos = name
            .file_stem()?
            .to_str()?
            .split('-')
            .next()?
            .parse()
            .ok()?;
        Some(Timestamp::from_nanos(nanos))
    }
}

fn load(path: &Path) -> Result<Intake, String> {
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let intake: Intake = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
    if intake.version > VERSION {
        return Err(format!(
            "it has version {} and this program knows {VERSION}",
            intake.version
        ));
    }
    Ok(intake)
}

#[cfg(test)]
mod tests {
    use siglum_domain::intake::{Decline, Matter};

    use super::*;

    fn intake(at: i64) -> Intake {
        let decline = Decline {
            edge: "test".into(),
            reason: "r".into(),
            detail: String::new(),
            place: None,
        };
        Intake {
            version: VERSION,
            key: format!("k{at}"),
            at: Timestamp::from_seconds(at),
            matter: Matter::Decline(decline),
        }
    }

    #[test]
    fn what_waits_comes_out_in_order_and_once() {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::at(&home.path().join("spool"));
        assert!(spool.is_empty());
        for at in [3, 1, 2, 1] {
            spool.put(&intake(at)).unwrap();
        }
        let waiting = spool.waiting(10);
        let keys: Vec<_> = waiting
            .iter()
            .map(|s| s.intake.as_ref().unwrap().key.clone())
            .collect();
        assert_eq!(keys, ["k1", "k2", "k3"]);
        spool.done(&waiting[0]).unwrap();
        assert_eq!(
            (spool.len(), spool.oldest()),
            (2, Some(Timestamp::from_seconds(2)))
        );
    }

    #[test]
    fn what_cannot_be_read_is_set_aside() {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::at(home.path());
        fs::write(home.path().join("00001-x.json"), "{\"version\":").unwrap();
        fs::write(home.path().join("00002-x.part"), "half").unwrap();
        let waiting = spool.waiting(10);
        assert!(waiting[0].intake.is_err());
        spool.set_aside(&waiting[0]).unwrap();
        assert!(spool.is_empty());
        assert!(home.path().join("00001-x.bad").exists());
    }

    #[test]
    fn a_newer_form_waits_for_a_newer_program() {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::at(home.path());
        spool
            .put(&Intake {
                version: VERSION + 1,
                ..intake(1)
            })
            .unwrap();
        assert!(spool.waiting(1)[0].intake.is_err());
    }
}
