//! Secrets of the user that are kept for later, in files that only this user reads.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use siglum_domain::IdSource as _;

use crate::clock::Ids;
use crate::error::CommandError;
use crate::home::Home;
use crate::platform::regular_file;

/// The largest file with a secret, in bytes: a token of an issuer has 16384 at most, and one that is cut off is none.
const MOST: u64 = 32 << 10;

/// A secret from a file; `what` it is, for people.
pub fn read(path: &Path, what: &str) -> Result<String, CommandError> {
    let shown = path.display();
    let unreadable =
        |e: io::Error| CommandError::failed(format!("cannot read the {what} in {shown}: {e}"));
    regular_file::read_text(path, MOST).map_err(unreadable)
}

/// Keeps a secret under the name of a file, whole or not at all.
pub fn write(home: &Home, name: &str, secret: &str) -> io::Result<()> {
    write_private(&home.tokens(), name, secret)
}

/// Writes a file that only this user reads, into a directory that only this user enters; whole or not at all.
pub fn write_private(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let fresh = dir.join(format!(".{name}.{}", Ids.fresh().simple()));
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&fresh)?;
    let done = file
        .write_all(text.as_bytes())
        .and_then(|()| fs::rename(&fresh, dir.join(name)));
    if done.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    done
}
