//! The object store of file versions: exact bytes, addressed by their hash.
//!
//! A version is stored whole, or as the difference to a whole one; never as the difference to a
//! difference, so that reading takes two files at most. When the difference has grown beyond a
//! tenth of what the whole one takes on disk, the next version is stored whole. Files are written
//! beside their place and renamed, without waiting for the disk, since hooks write them: each leaves
//! a mark, and [`ObjectStore::sync`] waits for all that have one. What a power cut damages before
//! that is found damaged, not wrong, and is stored again when its content is seen again.
//!
//! The bytes are not redacted. That is why directories are 0700 and files 0600, and why nothing
//! here is ever exported. Which versions to keep is the caller's business.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use siglum_domain::Oid;

use crate::address::{ObjectAddress, hex};
use crate::bounded;
use crate::error::GitError;
use crate::objects::form::{Form, Header};
use crate::place::ObjectFormat;

mod form;

/// The largest file version that is kept.
pub const SIZE_LIMIT: u64 = 64 << 20;

/// Where marks of versions are that may not be on the disk yet: empty files named by address.
const UNSYNCED: &str = "unsynced";

/// So many versions are waited for one by one; for more of them, the whole file system is.
const EACH_MOST: usize = 64;

/// A difference may take this part of what its base takes on disk.
const DELTA_SHARE: usize = 10;

/// The object store in one directory.
#[derive(Debug, Clone)]
pub struct ObjectStore {
    dir: PathBuf,
}

impl ObjectStore {
    /// Opens the store in a directory, which is created if it is missing.
    ///
    /// # Errors
    /// The directory cannot be created, or the one above it is not there.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, GitError> {
        let dir = dir.into();
        let is_new = !dir.is_dir();
        create_dir(&dir)?;
        // What is synced inside of it is only found again where its own entry is on the disk, too.
        if let Some(parent) = dir.parent().filter(|_| is_new) {
            // The parent of a relative name of one component is the empty path.
            let parent = match parent.as_os_str().is_empty() {
                true => Path::new("."),
                false => parent,
            };
            sync(parent).map_err(GitError::io(parent))?;
        }
        Ok(Self { dir })
    }

    /// Keeps a file version and returns its address. `base` is a version that is likely to be
    /// similar; without it, or if it is gone, the version is stored whole. One that is there and
    /// damaged is replaced.
    ///
    /// # Errors
    /// The content is too large, or the file system refuses.
    pub fn put(
        &self,
        content: &[u8],
        base: Option<&ObjectAddress>,
    ) -> Result<ObjectAddress, GitError> {
        if content.len() as u64 > SIZE_LIMIT {
            return Err(GitError::TooLarge {
                what: "a file version".to_owned(),
                limit: SIZE_LIMIT,
            });
        }
        let address = ObjectAddress::for_content(content);
        if !self.unpacked(&address).is_ok_and(|held| held == content) {
            self.write(&address, content, base)?;
        }
        Ok(address)
    }

    /// Waits until the versions that were put since the last time are on the disk, and returns how
    /// many there were.
    ///
    /// # Errors
    /// The disk refuses; they are waited for again the next time.
    pub fn sync(&self) -> Result<usize, GitError> {
        let marks = self.dir.join(UNSYNCED);
        let marked = match marks.is_dir() {
            true => names(&marks)?,
            false => Vec::new(),
        };
        if marked.is_empty() {
            return Ok(0);
        }
        let io = GitError::io(&self.dir);
        match marked.len() {
            ..=EACH_MOST => self.sync_each(&marked)?,
            _ => sync_all_around(&self.dir).map_err(io)?,
        }
        for name in &marked {
            let _ = fs::remove_file(marks.join(name));
        }
        Ok(marked.len())
    }

    /// Waits for these versions one by one, then for the directories that name them.
    fn sync_each(&self, marked: &[String]) -> Result<(), GitError> {
        let mut paths = BTreeSet::new();
        let mut dirs = BTreeSet::from([self.dir.clone()]);
        for address in marked.iter().filter_map(|name| name.parse().ok()) {
            let path = self.path(&address);
            dirs.extend(path.parent().map(Path::to_owned));
            paths.insert(path);
        }
        for path in paths.iter().chain(&dirs) {
            match sync(path) {
                // It was forgotten meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                other => other.map_err(GitError::io(path))?,
            }
        }
        Ok(())
    }

    /// The content of a file version.
    ///
    /// # Errors
    /// There is none, or it is damaged, or it needs one that is gone or damaged.
    pub fn get(&self, address: &ObjectAddress) -> Result<Vec<u8>, GitError> {
        let content = self.unpacked(address)?;
        if ObjectAddress::for_content(&content) == *address {
            Ok(content)
        } else {
            Err(GitError::Damaged(*address))
        }
    }

    /// Tells whether there is a version at this address. An empty file, as a power cut leaves it, is
    /// none.
    #[must_use]
    pub fn contains(&self, address: &ObjectAddress) -> bool {
        fs::metadata(self.path(address)).is_ok_and(|m| m.len() > 0)
    }

    /// Erases file versions and returns how many there were. Others that were stored as the
    /// difference to one of them are stored anew first, so that they stay readable; one that cannot
    /// be read any more is left as it is.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn remove(&self, gone: &HashSet<ObjectAddress>) -> Result<usize, GitError> {
        for dependents in self.dependents(gone)?.values() {
            let mut root = None;
            for address in dependents {
                if let Ok(content) = self.get(address) {
                    self.write(address, &content, root.as_ref())?;
                    root.get_or_insert(*address);
                }
            }
        }
        let mut removed = 0;
        for address in gone {
            let path = self.path(address);
            match fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(GitError::io(&path)(error)),
            }
        }
        Ok(removed)
    }

    /// The addresses of all file versions, in order.
    ///
    /// # Errors
    /// A directory cannot be read.
    pub fn addresses(&self) -> Result<impl Iterator<Item = ObjectAddress> + use<>, GitError> {
        let mut all = Vec::new();
        for fan in names(&self.dir)? {
            if fan.len() == 2 {
                let rest = names(&self.dir.join(&fan))?;
                all.extend(rest.iter().filter_map(|rest| address(&fan, rest)));
            }
        }
        all.sort_unstable();
        Ok(all.into_iter())
    }

    /// Copies what another store in `dir` lacks or has damaged, as it is stored here, waits for its disk, and returns how many versions
    /// that were. What is damaged here is left out.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn copy_to(&self, dir: &Path) -> Result<usize, GitError> {
        let other = Self::open(dir)?;
        let mut copied = 0;
        for address in self.addresses()?.filter(|a| other.get(a).is_err()) {
            if self.get(&address).is_ok() {
                // The whole one that a difference stands on has an address of its own and is copied, too.
                other.keep(&address, &self.stored(&address)?)?;
                copied += 1;
            }
        }
        other.sync()?;
        Ok(copied)
    }

    /// What is stored at an address, whether it is what belongs there or not.
    fn unpacked(&self, address: &ObjectAddress) -> Result<Vec<u8>, GitError> {
        let stored = self.stored(address)?;
        let damaged = || GitError::Damaged(*address);
        let (header, body) = Header::read(&stored).ok_or_else(damaged)?;
        let base = match header.form {
            Form::Whole => Vec::new(),
            Form::Delta { base } => self.whole(&base)?.1,
        };
        form::unpack(body, &base, SIZE_LIMIT).map_err(|_| damaged())
    }

    /// Versions that stay and are stored as the difference to one that goes.
    fn dependents(
        &self,
        gone: &HashSet<ObjectAddress>,
    ) -> Result<BTreeMap<ObjectAddress, Vec<ObjectAddress>>, GitError> {
        let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for address in self.addresses()?.filter(|a| !gone.contains(a)) {
            if let Some(Form::Delta { base }) = self.form(&address)
                && gone.contains(&base)
            {
                found.entry(base).or_default().push(address);
            }
        }
        Ok(found)
    }

    fn form(&self, address: &ObjectAddress) -> Option<Form> {
        let mut start = Vec::new();
        let file = bounded::open_regular(&self.path(address)).ok()?;
        file.take(form::HEADER_LIMIT).read_to_end(&mut start).ok()?;
        Header::read(&start).map(|(header, _)| header.form)
    }

    /// The size on disk and the content of a version that is stored whole.
    fn whole(&self, address: &ObjectAddress) -> Result<(usize, Vec<u8>), GitError> {
        let stored = self.stored(address)?;
        let damaged = || GitError::Damaged(*address);
        match Header::read(&stored) {
            Some((Header { form: Form::Whole }, body)) => {
                let content = form::unpack(body, b"", SIZE_LIMIT).map_err(|_| damaged())?;
                Ok((stored.len(), content))
            }
            _ => Err(damaged()),
        }
    }

    fn stored(&self, address: &ObjectAddress) -> Result<Vec<u8>, GitError> {
        let path = self.path(address);
        let mut stored = Vec::new();
        let file = bounded::open_regular(&path);
        let read = file.and_then(|mut file| file.read_to_end(&mut stored));
        read.map_err(|error| match error.kind() {
            ErrorKind::NotFound => GitError::NotFound(*address),
            _ => GitError::io(&path)(error),
        })?;
        Ok(stored)
    }

    fn write(
        &self,
        address: &ObjectAddress,
        content: &[u8],
        base: Option<&ObjectAddress>,
    ) -> Result<(), GitError> {
        let path = self.path(address);
        let delta = base.and_then(|base| self.delta(address, content, base));
        let stored = match delta {
            Some(stored) => stored,
            None => form::pack(Form::Whole, content, b"").map_err(GitError::io(&path))?,
        };
        self.keep(address, &stored)
    }

    /// Puts stored bytes into their place.
    fn keep(&self, address: &ObjectAddress, stored: &[u8]) -> Result<(), GitError> {
        let path = self.path(address);
        let dir = path.parent().unwrap_or(&self.dir);
        create_dir(dir)?;
        let (temporary, mut file) = temporary(dir)?;
        let written = file
            .write_all(stored)
            .and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            GitError::io(&path)(error)
        })?;
        self.mark(address)
    }

    /// Has the next [`Self::sync`] wait for a version.
    fn mark(&self, address: &ObjectAddress) -> Result<(), GitError> {
        let marks = self.dir.join(UNSYNCED);
        let path = marks.join(address.to_string());
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let marked = options.open(&path).or_else(|error| match error.kind() {
            ErrorKind::NotFound => create_dir(&marks)
                .map_err(|_| error)
                .and_then(|()| options.open(&path)),
            _ => Err(error),
        });
        marked.map(drop).map_err(GitError::io(&path))
    }

    /// The content as the difference to the whole version that `base` is or stands on, if that is
    /// there, sound, another one, and if it pays.
    fn delta(
        &self,
        address: &ObjectAddress,
        content: &[u8],
        base: &ObjectAddress,
    ) -> Option<Vec<u8>> {
        let root = match self.form(base)? {
            Form::Whole => *base,
            Form::Delta { base } => base,
        };
        let (stored, whole) = self.whole(&root).ok().filter(|_| root != *address)?;
        let packed = form::pack(Form::Delta { base: root }, content, &whole).ok()?;
        let pays =
            packed.len() <= stored / DELTA_SHARE && ObjectAddress::for_content(&whole) == root;
        pays.then_some(packed)
    }

    fn path(&self, address: &ObjectAddress) -> PathBuf {
        let name = address.to_string();
        self.dir.join(&name[..2]).join(&name[2..])
    }
}

/// The id that git gives this content as a blob.
#[must_use]
pub fn blob_id(format: ObjectFormat, content: &[u8]) -> Oid {
    let head = format!("blob {}\0", content.len());
    let digits = match format {
        ObjectFormat::Sha1 => hex(&digest::<sha1::Sha1>(head.as_bytes(), content)),
        ObjectFormat::Sha256 => hex(&digest::<sha2::Sha256>(head.as_bytes(), content)),
    };
    Oid::new(digits).expect("because both hashes have the length that an object id has")
}

fn digest<D: sha1::Digest>(head: &[u8], content: &[u8]) -> Vec<u8> {
    D::new()
        .chain_update(head)
        .chain_update(content)
        .finalize()
        .to_vec()
}

/// Waits until a file or directory is on the disk.
fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Waits until all of the file system that a directory is on is on the disk.
#[cfg(target_os = "linux")]
fn sync_all_around(dir: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(dir)?)?)
}

/// Waits until all that was written on this machine is on the disk.
#[cfg(not(target_os = "linux"))]
fn sync_all_around(_: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Makes a directory in one that is there: of a home that was moved away nobody makes another one.
fn create_dir(dir: &Path) -> Result<(), GitError> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(_) if dir.is_dir() => Ok(()),
        made => made.map_err(GitError::io(dir)),
    }
}

/// A file beside the place, under a name that nobody else uses: of two processes that come to the
/// same name, the second takes the next.
fn temporary(dir: &Path) -> Result<(PathBuf, File), GitError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!(".new-{}-{number}", std::process::id()));
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
        {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(GitError::io(&path)(error)),
        }
    }
}

fn address(fan: &str, rest: &str) -> Option<ObjectAddress> {
    format!("{fan}{rest}").parse().ok()
}

fn names(dir: &Path) -> Result<Vec<String>, GitError> {
    let entries = fs::read_dir(dir).map_err(GitError::io(dir))?;
    Ok(entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect())
}
