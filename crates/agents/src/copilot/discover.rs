//! Finding transcripts. Links are not followed, and the walk is bounded.

use std::path::Path;

use siglum_domain::NativeId;

use super::path::{sessions, transcript};
use super::wire::{Context, Data, Line};
use crate::listing::{self, FILE_LIMIT, directories, files};
use crate::transcript::{TranscriptFile, stream_name};

/// Lists the transcripts in the agent's own directory, by path.
pub(super) fn discover(agent_dir: &Path) -> Vec<TranscriptFile> {
    let mut found = Vec::new();
    for session in directories(&sessions(agent_dir)) {
        let name = session.file_name().and_then(|name| name.to_str());
        let Some(id) = name.and_then(|name| NativeId::new(name).ok()) else {
            continue;
        };
        let path = transcript(&session);
        let inner = files(&session);
        let own = inner.iter().find(|entry| entry.path() == path);
        found
            .extend(own.and_then(|entry| listing::transcript(entry, stream_name(&path), id, None)));
        if found.len() >= FILE_LIMIT {
            break;
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// The working directory that the first complete line with one names.
pub(super) fn first_cwd(head: &[u8]) -> Option<String> {
    let complete = &head[..=memchr::memrchr(b'\n', head)?];
    complete.split(|byte| *byte == b'\n').find_map(|line| {
        let line: Line<'_> = serde_json::from_slice(line).ok()?;
        let data: Data<'_> = line.data.object();
        let context: Context<'_> = data.context.object();
        let cwd = context.cwd.text().filter(|cwd| !cwd.is_empty())?;
        Some(cwd.into_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::copilot::fixture::WRITE_COMMIT;

    #[test]
    fn sessions_are_found_by_their_directories() {
        let dir = tempfile::tempdir().expect("a directory");
        let root = sessions(dir.path());
        for name in ["s1", "s2", "a b"] {
            fs::create_dir_all(root.join(name)).expect("directories");
        }
        for file in ["s1/events.jsonl", "s1/workspace.yaml", "a b/events.jsonl"] {
            fs::write(root.join(file), "{}\n").expect("a file");
        }
        let found = discover(dir.path());
        let shown: Vec<_> = found
            .iter()
            .map(|f| (f.stream.as_str(), f.session.as_str(), f.bytes))
            .collect();
        assert_eq!(shown, [("s1", "s1", 3)]);
        assert_eq!(discover(&dir.path().join("absent")), []);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a directory");
        let other = tempfile::tempdir().expect("a directory");
        fs::write(other.path().join("events.jsonl"), "").expect("a file");
        let root = sessions(dir.path());
        fs::create_dir_all(root.join("s2")).expect("directories");
        symlink(other.path(), root.join("s1")).expect("a link");
        symlink(
            other.path().join("events.jsonl"),
            transcript(&root.join("s2")),
        )
        .expect("a link");
        assert_eq!(discover(dir.path()), []);
    }

    #[test]
    fn the_working_directory_stands_in_the_first_event() {
        let cwd = first_cwd(WRITE_COMMIT.as_bytes());
        assert_eq!(cwd.as_deref(), Some("/repo"));
        assert_eq!(first_cwd(b"{\"data\":{}}\n"), None);
        assert_eq!(first_cwd(b"{\"data\":{\"context\":{\"cwd\":\"/re"), None);
    }
}
