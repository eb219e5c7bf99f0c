//! Finding transcripts. Links are not followed, and the walk is bounded.

use std::fs::{self, DirEntry};
use std::io::Read as _;
use std::path::Path;

use siglum_domain::NativeId;

use super::path::projects;
use super::wire::{Cwd, SessionLine};
use crate::listing::{FILE_LIMIT, directories, files, stem, transcript};
use crate::open_regular;
use crate::transcript::TranscriptFile;

/// How much of a sub-agent's transcript is read to learn which session it belongs to, in bytes.
const HEAD: u64 = 256 << 10;
/// How the names of sub-agents' transcripts begin.
const SUBAGENT: &str = "agent-";

/// Lists the transcripts in the agent's own directory, by path.
pub(super) fn discover(agent_dir: &Path) -> Vec<TranscriptFile> {
    let mut found = Vec::new();
    for project in directories(&projects(agent_dir)) {
        found.extend(files(&project).iter().filter_map(session_file));
        for session in directories(&project) {
            let Some(id) = session
                .file_name()
                .and_then(|name| NativeId::new(name.to_str()?).ok())
            else {
                continue;
            };
            let inner = session.join("subagents");
            if fs::symlink_metadata(&inner).is_ok_and(|meta| meta.is_dir()) {
                found.extend(
                    files(&inner)
                        .iter()
                        .filter_map(|file| subagent_file(file, &id)),
                );
            }
        }
        if found.len() >= FILE_LIMIT {
            break;
        }
    }
    found.truncate(FILE_LIMIT);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn session_file(entry: &DirEntry) -> Option<TranscriptFile> {
    let stem = stem(entry, ".jsonl")?;
    if stem.starts_with(SUBAGENT) {
        // Older versions write them beside their session's.
        let session = session_of(&entry.path())?;
        return subagent_file(entry, &session);
    }
    let session = NativeId::new(stem.as_str()).ok()?;
    transcript(entry, stem, session, None)
}

/// The session that the first complete line with one names.
fn session_of(path: &Path) -> Option<NativeId> {
    let mut head = Vec::new();
    open_regular(path)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut head)
        .ok()?;
    let complete = &head[..=memchr::memrchr(b'\n', &head)?];
    complete.split(|byte| *byte == b'\n').find_map(|line| {
        let line: SessionLine<'_> = serde_json::from_slice(line).ok()?;
        NativeId::new(line.session.text()?).ok()
    })
}

fn subagent_file(entry: &DirEntry, session: &NativeId) -> Option<TranscriptFile> {
    let stem = stem(entry, ".jsonl")?;
    let subagent = NativeId::new(stem.strip_prefix(SUBAGENT)?).ok()?;
    transcript(
        entry,
        stem,
        session.clone(),
        Some(subagent.as_str().to_owned()),
    )
}

/// The working directory that the first complete line with one names.
pub(super) fn first_cwd(head: &[u8]) -> Option<String> {
    let complete = &head[..=memchr::memrchr(b'\n', head)?];
    complete.split(|byte| *byte == b'\n').find_map(|line| {
        let line: Cwd<'_> = serde_json::from_slice(line).ok()?;
        Some(line.cwd.text().filter(|cwd| !cwd.is_empty())?.into_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_their_sub_agents_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let project = projects(dir.path()).join("-repo");
        let inner = project.join("s1/subagents");
        fs::create_dir_all(&inner).expect("directories");
        for (path, text) in [
            (project.join("s1.jsonl"), "{}\n"),
            (project.join("notes.txt"), ""),
            (project.join("a b.jsonl"), ""),
            (inner.join("agent-a1.jsonl"), ""),
            (inner.join("agent-a1.meta.json"), ""),
            (inner.join("other.jsonl"), ""),
            (
                project.join("agent-a0.jsonl"),
                "{}\n{\"sessionId\":\"s0\",\"isSidechain\":true}\n",
            ),
            (project.join("agent-no-session.jsonl"), "{}\n"),
        ] {
            fs::write(path, text).expect("a file");
        }
        let found = discover(dir.path());
        let shown: Vec<_> = found
            .iter()
            .map(|f| {
                (
                    f.stream.as_str(),
                    f.session.as_str(),
                    f.subagent.as_deref(),
                    f.bytes,
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("agent-a0", "s0", Some("a0"), 41),
                ("agent-a1", "s1", Some("a1"), 0),
                ("s1", "s1", None, 3)
            ]
        );
        assert!(
            found
                .iter()
                .all(|f| f.modified > siglum_domain::Timestamp::default())
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a directory");
        let other = tempfile::tempdir().expect("a directory");
        fs::write(other.path().join("s1.jsonl"), "").expect("a file");
        let root = projects(dir.path());
        fs::create_dir_all(root.join("-repo")).expect("directories");
        symlink(other.path(), root.join("-linked")).expect("a link");
        symlink(other.path().join("s1.jsonl"), root.join("-repo/s1.jsonl")).expect("a link");
        assert_eq!(discover(dir.path()), []);
        assert_eq!(discover(&dir.path().join("absent")), []);
    }

    #[test]
    fn the_first_working_directory_is_read_from_a_head() {
        let check = |head: &str, expected: Option<&str>| {
            assert_eq!(first_cwd(head.as_bytes()).as_deref(), expected, "{head}");
        };
        check(
            "{\"type\":\"mode\"}\n{\"cwd\":\"/repo\"}\n{\"cwd\":\"/x\"}\n",
            Some("/repo"),
        );
        check(
            "{\"content\":\"\\\"cwd\\\":\\\"/x\\\"\"}\nnot JSON\n{\"cwd\":\"/r\\u00e4\"}\n",
            Some("/rä"),
        );
        check("{\"cwd\":\"/re", None);
        check("", None);
    }
}
