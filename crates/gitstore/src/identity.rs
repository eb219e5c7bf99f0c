//! Which file of the file system something is, whatever its path.

use std::fs::Metadata;
use std::time::UNIX_EPOCH;

use siglum_domain::Timestamp;
use siglum_domain::observation::FileIdentity;

/// Which file this is; nothing where the file system does not say when it was created: the number
/// of a file that is gone is soon that of another one.
#[must_use]
pub fn file_identity(metadata: &Metadata) -> Option<FileIdentity> {
    let born = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let born = Timestamp::from_nanos(i64::try_from(born.as_nanos()).ok()?);
    let (device, inode) = number(metadata)?;
    Some(FileIdentity {
        device,
        inode,
        born,
    })
}

#[cfg(unix)]
fn number(metadata: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
const fn number(_: &Metadata) -> Option<(u64, u64)> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_moved_or_written_in_place_is_the_same_and_one_of_its_name_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        let identity = |path| file_identity(&fs::symlink_metadata(path).unwrap());
        fs::write(&a, "1").unwrap();
        let first = identity(&a);
        if first.is_none() {
            return;
        }
        fs::write(&a, "2").unwrap();
        assert_eq!(identity(&a), first, "written in place");
        fs::rename(&a, &b).unwrap();
        assert_eq!(identity(&b), first, "moved");
        fs::write(&a, "3").unwrap();
        assert_ne!(identity(&a), first, "another one");
        fs::rename(&a, &b).unwrap();
        assert_ne!(identity(&b), first, "put in its place");
    }
}
