//! Listing transcripts. Links are not followed, and a walk is bounded.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use siglum_domain::{NativeId, Timestamp};

use crate::transcript::TranscriptFile;

/// Most entries that are looked at in one directory.
const DIRECTORY_LIMIT: usize = 50_000;
/// Most transcripts that are listed.
pub(crate) const FILE_LIMIT: usize = 200_000;

fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> {
    fs::read_dir(directory)
        .into_iter()
        .flatten()
        .take(DIRECTORY_LIMIT)
        .flatten()
}

pub(crate) fn directories(directory: &Path) -> Vec<PathBuf> {
    let inner =
        entries(directory).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    inner.map(|entry| entry.path()).collect()
}

pub(crate) fn files(directory: &Path) -> Vec<DirEntry> {
    entries(directory)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .collect()
}

/// The name of a file without its ending, which it must have.
pub(crate) fn stem(entry: &DirEntry, ending: &str) -> Option<String> {
    let name = entry.file_name();
    name.to_str()?.strip_suffix(ending).map(str::to_owned)
}

/// A transcript as it lies there.
pub(crate) fn transcript(
    entry: &DirEntry,
    stream: String,
    session: NativeId,
    subagent: Option<String>,
) -> Option<TranscriptFile> {
    let meta = entry.metadata().ok()?;
    let age = meta
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let nanos = age
        .and_then(|age| i64::try_from(age.as_nanos()).ok())
        .unwrap_or(0);
    let modified = Timestamp::from_nanos(nanos);
    Some(TranscriptFile {
        path: entry.path(),
        stream,
        session,
        subagent,
        cwd: None,
        modified,
        bytes: meta.len(),
    })
}
