//! Whose files git's objects are.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
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
