//! Whose files are whose: who wrote git's objects, and to whom belongs what root writes into somebody's
//! repository or home.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, fchown, lchown, symlink,
};
use std::path::Path;

use siglum_domain::Oid;

/// Tells whether another user of the machine wrote an object. One that is packed, or borrowed from
/// another repository, tells nothing.
#[must_use]
pub fn is_another_users(common_dir: &Path, object: &Oid) -> bool {
    let (folder, file) = object.as_str().split_at(2);
    let path = common_dir.join("objects").join(folder).join(file);
    let me = rustix::process::geteuid().as_raw();
    fs::metadata(path).is_ok_and(|written| written.uid() != me)
}

/// Gives a new file, which is to take the place of another one, to its owner: to that of the file that
/// is there, else of the nearest directory. Only root gives anything away.
///
/// # Errors
/// The file system refuses.
pub fn give_to_owner(file: &File, place: &Path) -> io::Result<()> {
    give(file, nearest(place))
}

/// Makes a directory with those above it that are missing, and gives them to the owner of the nearest
/// one that was there.
///
/// # Errors
/// The file system refuses, or something else has that name.
pub fn create_directories(dir: &Path, mode: u32) -> io::Result<()> {
    let is_missing = |dir: &&Path| !dir.as_os_str().is_empty() && dir.symlink_metadata().is_err();
    let missing: Vec<&Path> = dir.ancestors().take_while(is_missing).collect();
    let owner = nearest(dir);
    for dir in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(dir) {
            // Another process made it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => {
                made?;
                give(&open_directory(dir)?, owner.clone())?;
            }
        }
    }
    match dir.is_dir() {
        true => Ok(()),
        false => Err(ErrorKind::NotADirectory.into()),
    }
}

/// Makes a symbolic link, and gives it to the owner of its directory.
///
/// # Errors
/// The file system refuses, or something has that name.
pub(crate) fn link(target: &Path, path: &Path) -> io::Result<()> {
    let owner = nearest(path).filter(|_| rustix::process::geteuid().is_root());
    symlink(target, path)?;
    owner.map_or(Ok(()), |owner| {
        lchown(path, Some(owner.uid()), Some(owner.gid()))
    })
}

fn nearest(path: &Path) -> Option<Metadata> {
    path.ancestors().find_map(|path| fs::metadata(path).ok())
}

/// Opens the directory itself: in a directory of somebody else, its name may be a link by now.
fn open_directory(dir: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::NOFOLLOW;
    let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
    OpenOptions::new().read(true).custom_flags(flags).open(dir)
}

fn give(file: &File, owner: Option<Metadata>) -> io::Result<()> {
    match owner.filter(|_| rustix::process::geteuid().is_root()) {
        Some(owner) => fchown(file, Some(owner.uid()), Some(owner.gid())),
        None => Ok(()),
    }
}
