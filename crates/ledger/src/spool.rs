//! Where evidence waits when the ledger cannot be reached: one file per delivery.
//!
//! A file is written aside, synced and renamed, and its directory is synced, so that a reader never sees half of one and a
//! power cut takes none away. What waits here is redacted already. A delivery that cannot be taken in is set aside, never deleted. In a
//! directory that several users share, each sees only their own. A spool in a repository may have come with that repository:
//! it says which one it is of, and speaks of no other.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use siglum_domain::AgentName;
use siglum_domain::intake::{Intake, VERSION};
use siglum_domain::time::Timestamp;

/// How many deliveries one spool holds at most.
const MOST: usize = 100_000;
/// No delivery is larger, in bytes: a hook takes a quarter of that, and what it takes may be stored in more words.
const LARGEST: u64 = 64 << 20;
const ENDING: &str = "json";

/// Why a delivery does not wait with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aside {
    /// A newer program wrote it, and will read it.
    Newer,
    /// The ledger refused it, which may be the ledger's own damage.
    Refused,
    Unreadable,
    /// It waited in the spool of a repository, and speaks of something else.
    Foreign,
}

impl Aside {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Newer, Self::Refused, Self::Unreadable, Self::Foreign];

    /// How the names of such files end.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Newer => "newer",
            Self::Refused => "refused",
            Self::Unreadable => "bad",
            Self::Foreign => "foreign",
        }
    }
}

/// A directory of waiting deliveries.
#[derive(Debug, Clone)]
pub struct Spool {
    dir: PathBuf,
    repository: Option<SpoolRepository>,
}

/// The repository that a spool lies in.
#[derive(Debug, Clone)]
pub struct SpoolRepository {
    /// Its git common directory, absolute.
    pub common_dir: String,
    /// Tells whether a file lies where an agent keeps its transcripts.
    pub is_transcript: fn(&AgentName, &str) -> bool,
}

/// A delivery that waits.
#[derive(Debug)]
pub struct Spooled {
    pub path: PathBuf,
    /// What; `Err` says why it cannot be read, and for whom it is.
    pub intake: Result<Intake, (Aside, String)>,
}

/// The spool cannot be written to.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to the spool {dir}")]
pub struct SpoolError {
    pub dir: PathBuf,
    #[source]
    pub source: io::Error,
}

impl Spool {
    /// The spool in this directory, which need not exist yet and which nobody but its user writes to.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            repository: None,
        }
    }

    /// The same in the git directory of a repository.
    #[must_use]
    pub fn in_repository(dir: &Path, repository: SpoolRepository) -> Self {
        Self {
            dir: dir.to_owned(),
            repository: Some(repository),
        }
    }

    /// The repository that it lies in; absent for the one in Siglum's home, which may speak of everything.
    #[must_use]
    pub const fn repository(&self) -> Option<&SpoolRepository> {
        self.repository.as_ref()
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes a delivery wait; the same one twice is one file. It survives the loss of power.
    ///
    /// # Errors
    /// The directory cannot be written to, or the one above it is not there.
    pub fn put(&self, intake: &Intake) -> Result<(), SpoolError> {
        self.write(intake).map_err(|source| SpoolError {
            dir: self.dir.clone(),
            source,
        })
    }

    fn write(&self, intake: &Intake) -> io::Result<()> {
        if !self.dir.is_dir() {
            // In a directory that is there: of a home that was moved away nobody makes another one.
            match DirBuilder::new().mode(0o700).create(&self.dir) {
                Err(_) if self.dir.is_dir() => {}
                made => made?,
            }
            self.dir.parent().map_or(Ok(()), sync)?;
        }
        let text = serde_json::to_vec(intake)?;
        if text.len() as u64 > LARGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
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
        let done = file.write_all(&text).and_then(|()| file.sync_data());
        if let Err(error) = done {
            let _ = fs::remove_file(&aside);
            return Err(error);
        }
        fs::rename(&aside, self.dir.join(format!("{name}.{ENDING}")))?;
        sync(&self.dir)
    }

    /// Tells whether a delivery could wait here: nothing is left behind.
    ///
    /// # Errors
    /// The directory cannot be written to, or, where there is none yet, cannot be made.
    pub fn probe(&self) -> Result<(), SpoolError> {
        let there = self.dir.ancestors().find(|dir| dir.exists());
        let writable = there.map_or(Ok(()), |dir| {
            if !dir.is_dir() {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            rustix::fs::access(dir, rustix::fs::Access::WRITE_OK).map_err(io::Error::from)
        });
        writable.map_err(|source| SpoolError {
            dir: self.dir.clone(),
            source,
        })
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
        self.names_ending(ENDING, most)
    }

    fn names_ending(&self, ending: &str, most: usize) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.dir) else {
            return Vec::new();
        };
        let me = rustix::process::geteuid().as_raw();
        let waiting = entries
            .flatten()
            .filter(|e| e.path().extension().is_some_and(|e| e == ending))
            // What waits for another user belongs into that user's ledger.
            .filter(|e| e.metadata().is_ok_and(|m| m.is_file() && m.uid() == me));
        waiting.map(|e| e.path()).take(most).collect()
    }

    /// The deliveries that wait, oldest first, at most `most`. Each is read when its turn comes, unless somebody else took it
    /// out before.
    pub fn waiting(&self, most: usize) -> impl Iterator<Item = Spooled> {
        let mut names = self.names(MOST);
        names.sort();
        names.truncate(most);
        let there = names.into_iter().filter(|path| path.exists());
        there.map(|path| Spooled {
            intake: load(&path),
            path,
        })
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

    /// Sets a delivery aside that cannot be taken in.
    ///
    /// # Errors
    /// The file cannot be renamed.
    pub fn set_aside(&self, spooled: &Spooled, why: Aside) -> Result<(), SpoolError> {
        self.rename(&spooled.path, why.ending())
    }

    /// The files that were set aside for this reason, in order.
    #[must_use]
    pub fn aside(&self, why: Aside) -> Vec<PathBuf> {
        let mut names = self.names_ending(why.ending(), MOST);
        names.sort();
        names
    }

    /// Has those wait again that were set aside for one of these reasons and that can be read, and returns how many.
    pub fn take_back(&self, reasons: &[Aside]) -> usize {
        let aside = reasons.iter().flat_map(|why| self.aside(*why));
        let readable = aside.filter(|path| load(path).is_ok());
        let taken = readable.filter(|path| self.rename(path, ENDING).is_ok());
        taken.count()
    }

    fn rename(&self, path: &Path, ending: &str) -> Result<(), SpoolError> {
        fs::rename(path, path.with_extension(ending)).map_err(|source| SpoolError {
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

/// Waits until a directory is on the disk.
fn sync(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn load(path: &Path) -> Result<Intake, (Aside, String)> {
    /// The part that all versions have.
    #[derive(serde::Deserialize)]
    struct Versioned {
        version: u32,
    }
    let unreadable = |e: &dyn std::fmt::Display| (Aside::Unreadable, e.to_string());
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes))
        .map_err(|e| unreadable(&e))?;
    if bytes.len() as u64 > LARGEST {
        return Err(unreadable(&format!("it is larger than {LARGEST} bytes")));
    }
    let Versioned { version } = serde_json::from_slice(&bytes).map_err(|e| unreadable(&e))?;
    if version > VERSION {
        let why = format!("it has version {version} and this program knows {VERSION}");
        return Err((Aside::Newer, why));
    }
    serde_json::from_slice(&bytes).map_err(|e| unreadable(&e))
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
    fn of_a_home_that_was_moved_away_no_other_one_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let spool = Spool::at(&home.join("spool"));
        assert!(spool.put(&intake(1)).is_err());
        assert!(!home.exists());
    }

    #[test]
    fn what_waits_comes_out_in_order_and_once() {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::at(&home.path().join("spool"));
        assert!(spool.is_empty());
        for at in [3, 1, 2, 1] {
            spool.put(&intake(at)).unwrap();
        }
        let waiting: Vec<_> = spool.waiting(10).collect();
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
        let waiting = spool.waiting(10).next().unwrap();
        assert!(matches!(waiting.intake, Err((Aside::Unreadable, _))));
        spool.set_aside(&waiting, Aside::Unreadable).unwrap();
        assert!(spool.is_empty());
        let bad = home.path().join("00001-x.bad");
        assert_eq!(spool.aside(Aside::Unreadable), [bad]);
        assert_eq!(spool.take_back(&Aside::ALL), 0);
    }

    /// Read without a bound, it would fill the memory.
    #[test]
    fn what_is_larger_than_any_delivery_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::at(home.path());
        spool.put(&intake(1)).unwrap();
        let path = spool.waiting(1).next().unwrap().path;
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.set_len(LARGEST + 1).unwrap();
        let intake = spool.waiting(1).next().unwrap().intake;
        assert!(
            matches!(&intake, Err((Aside::Unreadable, why)) if why.contains("larger")),
            "{intake:?}"
        );
    }

    #[test]
    fn what_the_ledger_refused_waits_again_once_it_is_requested() {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::at(home.path());
        spool.put(&intake(1)).unwrap();
        let waiting = spool.waiting(1).next().unwrap();
        spool.set_aside(&waiting, Aside::Refused).unwrap();
        assert_eq!((spool.len(), spool.aside(Aside::Refused).len()), (0, 1));
        assert_eq!(spool.take_back(&[Aside::Newer]), 0);
        assert_eq!(spool.take_back(&[Aside::Refused]), 1);
        assert_eq!((spool.len(), spool.aside(Aside::Refused).len()), (1, 0));
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
        let waiting = spool.waiting(1).next().unwrap();
        assert!(matches!(waiting.intake, Err((Aside::Newer, _))));
        spool.set_aside(&waiting, Aside::Newer).unwrap();
        assert_eq!(spool.take_back(&Aside::ALL), 0, "by an older program");
    }
}
