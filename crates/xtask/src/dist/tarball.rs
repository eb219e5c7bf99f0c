//! The tarball, which the install script and Homebrew unpack.

use std::path::Path;

use super::{Built, facts, files};
use crate::{Failure, programs};

pub(super) fn make(built: &Built, prefix: &Path) -> Result<(), Failure> {
    let (Some(parent), Some(name)) = (prefix.parent(), prefix.file_name()) else {
        return Err(Failure::new("the files of the tarball are nowhere"));
    };
    let mut file = name.to_owned();
    file.push(".tar.gz");
    let mut tar = programs::program(gnu_tar());
    tar.args(["--create", "--gzip", "--sort=name", "--numeric-owner"])
        .args(["--owner=0", "--group=0", "--format=ustar"])
        .arg(format!("--mtime=@{}", facts::epoch()))
        .arg("--file")
        .arg(built.out.join(file))
        .arg("--directory")
        .arg(parent)
        .arg(name);
    programs::run(&mut tar)
}

/// The `tar` that sorts and leaves times and owners out. On macOS the plain name is another one.
fn gnu_tar() -> &'static str {
    match programs::find("gtar") {
        Some(_) => "gtar",
        None => "tar",
    }
}

/// What the tarball of a platform is called.
pub(super) fn name(version: &str, triple: &str) -> String {
    format!("siglum-{version}-{triple}.tar.gz")
}

/// Its digest, where it is there.
pub(super) fn digest(out: &Path, name: &str) -> Result<Option<String>, Failure> {
    let path = out.join(name);
    path.is_file().then(|| files::digest(&path)).transpose()
}
