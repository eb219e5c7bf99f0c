//! Reading small files that others wrote: only regular ones, never more than a bound.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Reads a regular file of at most `limit` bytes. A pipe in its place is not opened, because that
/// would block.
pub(crate) fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut content = Vec::new();
    File::open(path)
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
