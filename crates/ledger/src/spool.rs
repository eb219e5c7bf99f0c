//! Where evidence waits when the ledger cannot be reached: one file per delivery.
//!
//! A file is written aside, synced and renamed, and its directory is synced, so that a reader never sees half of one and a
//! power cut takes none away. What waits here is redacted already. A delivery that cannot be taken in is set aside, never deleted. In a
//! directory that several users share, each sees only their own. A spool in a repository may have come with that repository:
//! it says which one it is of, and speaks of no other. It is none behind a link, and no file is touched whose name is not
//! one that a spool gives.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, DirEntry, File, OpenOptions};
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
/// How the name of a file ends that is being written.
const PART: &str = "part";

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

    /// The spool in Siglum's directory of a repository. Whoever made the repository may have put links there, which lead
    /// anywhere.
    #[must_use]
    pub fn in_repository(siglum_dir: &Path, repository: SpoolRepository) -> Self {
        Self {
            dir: siglum_dir.join("spool"),
            repository: Some(repository),
        }
    }

    /// Whether nothing on the way to this spool's files is a link that somebody else may have put there.
    fn is_reachable(&self) -> bool {
        let is_link = |dir: &Path| dir.symlink_metadata().is_ok_and(|at| at.is_symlink());
        self.repository.is_none() || !self.dir.ancestors().take(2).any(is_link)
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
        if !self.is_reachable() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
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
            intake.at.nanos().max(0),
            &blake3::hash(intake.key.as_bytes()).to_hex()[..16]
        );
        let aside = self.dir.join(format!("{name}.{PART}"));
        let mut file = match create(&aside) {
            // One that a hook of the same delivery left half written; a link is not followed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&aside)?;
                create(&aside)?
            }
            created => created?,
        };
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
            if !dir.is_dir() || !self.is_reachable() {
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
        let me = rustix::process::geteuid().as_raw();
        let waiting = self
            .entries()
            .filter(|e| e.path().extension().is_some_and(|e| e == ending))
            // What waits for another user belongs into that user's ledger.
            .filter(|e| e.metadata().is_ok_and(|m| m.uid() == me));
        waiting.map(|e| e.path()).take(most).collect()
    }

    /// All files of this spool, whoever wrote them and whatever became of them.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        self.entries().map(|e| e.path()).collect()
    }

    fn entries(&self) -> impl Iterator<Item = DirEntry> {
        let entries = self.is_reachable().then(|| fs::read_dir(&self.dir));
        let entries = entries.into_iter().flatten().flatten().flatten();
        entries
            .filter(|e| is_name(&e.file_name()) && e.file_type().is_ok_and(|kind| kind.is_file()))
    }

    /// The deliveries that wait in spools, oldest first, at most `most` of each: what one session left in several
    /// repositories stays in its order. Each is read when its turn comes, unless somebody else took it out before.
    pub fn waiting_in(spools: &[Self], most: usize) -> impl Iterator<Item = (&Self, Spooled)> {
        let mut all = Vec::new();
        for spool in spools {
            let mut names = spool.names(MOST);
            names.sort();
            names.truncate(most);
            all.extend(names.into_iter().map(|path| (spool, path)));
        }
        all.sort_by(|(_, one), (_, other)| one.file_name().cmp(&other.file_name()));
        let there = all.into_iter().filter(|(_, path)| path.exists());
        there.map(|(spool, path)| {
            let intake = load(&path);
            (spool, Spooled { path, intake })
        })
    }

    /// The deliveries that wait here, oldest first, at most `most`, each read when its turn comes.
    #[cfg(test)]
    fn waiting(&self, most: usize) -> impl Iterator<Item = Spooled> {
        Self::waiting_in(std::slice::from_ref(self), most).map(|(_, spooled)| spooled)
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
        let mut left = self.files();
        left.retain(|path| path.extension().is_none_or(|e| e != ENDING));
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

/// Whether a spool names files so: a time and a digest, and what became of the delivery.
fn is_name(name: &OsStr) -> bool {
    let parts = |name: &str| {
        let (stem, ending) = name.split_once('.')?;
        let (time, digest) = stem.split_once('-')?;
        let is_known =
            [ENDING, PART].contains(&ending) || Aside::ALL.iter().any(|why| why.ending() == ending);
        let is_time = !time.is_empty() && time.bytes().all(|b| b.is_ascii_digit());
        let is_digest = !digest.is_empty() && digest.bytes().all(|b| b.is_ascii_hexdigit());
        Some(is_known && is_time && is_digest)
    };
    name.to_str().and_then(parts).unwrap_or(false)
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

/// Reads a file of a spool; what took its place meanwhile is not waited for.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let mut bytes = Vec::new();
    options
        .open(path)?
        .take(LARGEST + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
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
    let bytes = read(path).map_err(|e| unreadable(&e))?;
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
        fs::write(home.path().join("00001-a.json"), "{\"version\":").unwrap();
        fs::write(home.path().join("00002-a.part"), "half").unwrap();
        let waiting = spool.waiting(10).next().unwrap();
        assert!(matches!(waiting.intake, Err((Aside::Unreadable, _))));
        spool.set_aside(&waiting, Aside::Unreadable).unwrap();
        assert!(spool.is_empty());
        let bad = home.path().join("00001-a.bad");
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
    fn nothing_is_a_spools_behind_a_link_or_by_another_name() {
        let dir = tempfile::tempdir().unwrap();
        let (theirs, siglum) = (dir.path().join("theirs"), dir.path().join("siglum"));
        let repository = SpoolRepository {
            common_dir: dir.path().to_string_lossy().into_owned(),
            is_transcript: |_, _| false,
        };
        let spool = Spool::in_repository(&siglum, repository);
        fs::create_dir_all(&theirs).unwrap();
        fs::create_dir(&siglum).unwrap();
        let waits = |spool: &Spool| (spool.len(), spool.files().len(), spool.leftovers().len());
        let names = [
            "package.json",
            "1-x.json",
            "1-a.bad",
            "1-a.json",
            "a-1.part",
        ];
        for name in names {
            fs::write(theirs.join(name), "{}").unwrap();
        }
        std::os::unix::fs::symlink("one", theirs.join("2-a.json")).unwrap();
        assert_eq!(waits(&Spool::at(&theirs)), (1, 2, 1), "by their names");
        let link = |from: &Path, to: &Path| std::os::unix::fs::symlink(to, from).unwrap();
        link(spool.dir(), &theirs);
        assert_eq!(waits(&spool), (0, 0, 0));
        assert!(spool.put(&intake(1)).is_err() && spool.probe().is_err());
        fs::remove_file(spool.dir()).unwrap();
        spool.put(&intake(1)).unwrap();
        fs::remove_dir_all(&siglum).unwrap();
        fs::rename(&theirs, dir.path().join("spool")).unwrap();
        link(&siglum, dir.path());
        assert_eq!(waits(&spool), (0, 0, 0), "above it, too");
        assert!(spool.put(&intake(1)).is_err());
        assert_eq!(fs::read_dir(dir.path().join("spool")).unwrap().count(), 6);
    }

    /// The name of a delivery that is being written can be guessed.
    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let spool = Spool::at(dir.path());
        spool.put(&intake(1)).unwrap();
        let [path] = <[PathBuf; 1]>::try_from(spool.files()).unwrap();
        let (part, theirs) = (path.with_extension(PART), dir.path().join("theirs"));
        fs::write(&theirs, "text").unwrap();
        std::os::unix::fs::symlink(&theirs, &part).unwrap();
        spool.put(&intake(1)).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "text");
        assert!(!part.exists() && spool.len() == 1);
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
