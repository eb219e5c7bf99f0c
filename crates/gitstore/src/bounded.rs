//! Reading small files that others wrote: only regular ones, never more than a bound.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file to read it. A pipe in its place is not waited for.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("is not a regular file")),
    }
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open(path)
        .ok()?
        .take(limit + 1)
        .read_to_end(&mut content)
        .ok()?;
    (content.len() as u64 <= limit).then_some(content)
}

/// Reads a regular file of at most `limit` bytes that is valid UTF-8.
pub(crate) fn read_text(path: &Path, limit: u64) -> Option<String> {
    String::from_utf8(read(path, limit)?).ok()
}

/// Reads the last whole lines of a regular file, from at most `limit` bytes.
pub(crate) fn read_tail(path: &Path, limit: u64) -> Option<String> {
    read_tail_at(path, limit).map(|(_, lines)| String::from_utf8_lossy(&lines).into_owned())
}

/// The same, with where in the file they begin, in bytes.
pub(crate) fn read_tail_at(path: &Path, limit: u64) -> Option<(u64, Vec<u8>)> {
    let mut file = open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let mut from = size.saturating_sub(limit);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut content = Vec::new();
    file.take(size - from).read_to_end(&mut content).ok()?;
    let end = content.iter().rposition(|b| *b == b'\n')? + 1;
    content.truncate(end);
    if from > 0 {
        let start = content.iter().position(|b| *b == b'\n')? + 1;
        content.drain(..start);
        from += start as u64;
    }
    Some((from, content))
}
