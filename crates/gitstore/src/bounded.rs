//! Reading small files that others wrote: only regular ones, never more than a bound.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file to read it, following links. Anything else is refused without waiting for it: the file is looked
/// at after it is opened, so that nothing can take its place in between.
///
/// # Errors
/// It cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = File::options();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        )),
    }
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let file = open_regular(path).ok()?;
    file.take(limit + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= limit).then_some(content)
}

/// Reads a regular file of at most `limit` bytes that is valid UTF-8.
pub(crate) fn read_text(path: &Path, limit: u64) -> Option<String> {
    String::from_utf8(read(path, limit)?).ok()
}

/// Reads the end of a regular file, at most `limit` bytes, and where that begins.
pub(crate) fn read_end(path: &Path, limit: u64) -> Option<(u64, Vec<u8>)> {
    let mut file = open_regular(path).ok()?;
    let size = file.metadata().ok()?.len();
    let from = size.saturating_sub(limit);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut content = Vec::new();
    file.take(size - from).read_to_end(&mut content).ok()?;
    Some((from, content))
}

/// Reads a regular file from a place on, at most `limit` bytes; nothing where it ends before that place.
pub(crate) fn read_from(path: &Path, from: u64, limit: u64) -> Option<Vec<u8>> {
    let mut file = open_regular(path).ok()?;
    let is_there = file.metadata().ok()?.len() >= from;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut content = Vec::new();
    file.take(limit).read_to_end(&mut content).ok()?;
    is_there.then_some(content)
}

/// Reads the last whole lines of a regular file, from at most `limit` bytes.
pub(crate) fn read_tail(path: &Path, limit: u64) -> Option<String> {
    read_tail_at(path, limit).map(|(_, lines)| String::from_utf8_lossy(&lines).into_owned())
}

/// The same, with where in the file they begin, in bytes.
pub(crate) fn read_tail_at(path: &Path, limit: u64) -> Option<(u64, Vec<u8>)> {
    let (mut from, mut content) = read_end(path, limit)?;
    let end = content.iter().rposition(|b| *b == b'\n')? + 1;
    content.truncate(end);
    if from > 0 {
        let start = content.iter().position(|b| *b == b'\n')? + 1;
        content.drain(..start);
        from += start as u64;
    }
    Some((from, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "one\ntwo\n").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), mode).unwrap();
        assert_eq!(read_text(&at("link"), 99).as_deref(), Some("one\ntwo\n"));
        assert_eq!(read_text(&at("file"), 3), None);
        assert_eq!(read_tail(&at("file"), 5).as_deref(), Some("two\n"));
        for other in [
            at("pipe"),
            at("none"),
            dir.path().to_owned(),
            "/dev/zero".into(),
        ] {
            assert!(read(&other, 99).is_none(), "{}", other.display());
            assert!(read_tail(&other, 99).is_none(), "{}", other.display());
        }
    }
}
