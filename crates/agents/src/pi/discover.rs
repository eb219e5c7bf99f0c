//! Finding session files.

use std::path::{Path, PathBuf};

use siglum_domain::{NativeId, Timestamp};

use super::wire::Line;
use crate::listing::{FILE_LIMIT, directories, files, stem, transcript};
use crate::transcript::TranscriptFile;

/// The directory of all session files in the agent's own directory.
pub(super) fn sessions(agent_dir: &Path) -> PathBuf {
    agent_dir.join("sessions")
}

/// The directory of the sessions that were started in a directory.
pub(super) fn project(agent_dir: &Path, cwd: &str) -> PathBuf {
    let cwd = cwd.strip_prefix('/').unwrap_or(cwd);
    let slug = cwd.replace(['/', '\\', ':'], "-");
    sessions(agent_dir).join(format!("--{slug}--"))
}

/// Lists the session files in the agent's own directory, by path.
pub(super) fn discover(agent_dir: &Path) -> Vec<TranscriptFile> {
    let mut found = Vec::new();
    for project in directories(&sessions(agent_dir)) {
        found.extend(files(&project).iter().filter_map(|entry| {
            let stream = stem(entry, ".jsonl")?;
            let session = session_in(&stream)?;
            transcript(entry, stream, session, None)
        }));
        if found.len() >= FILE_LIMIT {
            break;
        }
    }
    found.truncate(FILE_LIMIT);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The session that the name of a file without its ending names: `<time>_<session>`.
pub(super) fn session_in(stream: &str) -> Option<NativeId> {
    let (_, session) = stream.split_once('_')?;
    NativeId::new(session).ok()
}

/// When the session began by the name of its file: `2026-11-20T21-19-29-129Z` in front.
pub(super) fn begun(stream: &str) -> Option<Timestamp> {
    let (time, _) = stream.split_once('_')?;
    let (day, clock) = time.split_once('T')?;
    let parts: Vec<&str> = clock.strip_suffix('Z')?.split('-').collect();
    let [hours, minutes, seconds, millis] = &parts[..] else {
        return None;
    };
    let text = format!("{day}T{hours}:{minutes}:{seconds}.{millis}Z");
    text.parse().ok()
}

/// The directory that the head of a session file names.
pub(super) fn first_cwd(head: &[u8]) -> Option<String> {
    let first = head.split(|byte| *byte == b'\n').next()?;
    let line: Line<'_> = serde_json::from_str(std::str::from_utf8(first).ok()?).ok()?;
    let is_head = line.kind.text().as_deref() == Some("session");
    let cwd = line.cwd.text().filter(|_| is_head)?;
    Path::new(&*cwd).is_absolute().then(|| cwd.into_owned())
}
