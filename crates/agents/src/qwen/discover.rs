//! Finding transcripts. Links are not followed, and the walk is bounded.

use std::fs::{self, DirEntry};
use std::io::Read as _;
use std::path::Path;

use siglum_domain::NativeId;

use super::path::{chats, projects, subagents_of};
use super::wire::Place;
use crate::listing::{FILE_LIMIT, directories, files, stem, transcript};
use crate::open_regular;
use crate::transcript::TranscriptFile;

/// How much of a sub-agent's transcript is read to learn which session it belongs to, in bytes.
const HEAD: u64 = 64 << 10;
/// How the names of sub-agents' transcripts begin.
const SUBAGENT: &str = "agent-";

/// Lists the transcripts in the agent's own directory, by path.
pub(super) fn discover(agent_dir: &Path) -> Vec<TranscriptFile> {
    let mut found = Vec::new();
    for project in directories(&projects(agent_dir)) {
        let (chats, subagents) = (chats(&project), subagents_of(&project));
        if is_directory(&chats) {
            found.extend(files(&chats).iter().filter_map(session_file));
        }
        if is_directory(&subagents) {
            for session in directories(&subagents) {
                found.extend(files(&session).iter().filter_map(subagent_file));
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

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

fn session_file(entry: &DirEntry) -> Option<TranscriptFile> {
    let stem = stem(entry, ".jsonl")?;
    let session = NativeId::new(stem.as_str()).ok()?;
    transcript(entry, stem, session, None)
}

fn subagent_file(entry: &DirEntry) -> Option<TranscriptFile> {
    let stem = stem(entry, ".jsonl")?;
    let subagent = NativeId::new(stem.strip_prefix(SUBAGENT)?).ok()?;
    let session = session_of(&entry.path())?;
    let subagent = subagent.as_str().to_owned();
    transcript(entry, stem, session, Some(subagent))
}

/// The session that the head of a file names: its directory is named after it, but not always by the same letters.
fn session_of(path: &Path) -> Option<NativeId> {
    let mut head = Vec::new();
    let file = open_regular(path).ok()?;
    file.take(HEAD).read_to_end(&mut head).ok()?;
    let mut lines = places(&head)?;
    lines.find_map(|place| NativeId::new(place.session.text()?).ok())
}

/// The working directory that the first complete line with one names.
pub(super) fn first_cwd(head: &[u8]) -> Option<String> {
    let mut lines = places(head)?;
    lines.find_map(|place| {
        let cwd = place.cwd.text().filter(|cwd| !cwd.is_empty())?;
        Some(cwd.into_owned())
    })
}

/// Where the complete lines were written.
fn places(head: &[u8]) -> Option<impl Iterator<Item = Place<'_>>> {
    let complete = &head[..=memchr::memrchr(b'\n', head)?];
    let lines = complete.split(|byte| *byte == b'\n');
    Some(lines.filter_map(|line| serde_json::from_slice(line).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn sessions_and_their_sub_agents_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let project = projects(dir.path()).join("-repo");
        let inner = subagents_of(&project).join("s_1");
        write(&chats(&project).join("s.1.jsonl"), "{}\n");
        write(&chats(&project).join("notes.txt"), "");
        write(&chats(&project).join("a b.jsonl"), "");
        write(
            &inner.join("agent-x-call_1.jsonl"),
            "{\"sessionId\":\"s.1\"}\n",
        );
        write(&inner.join("agent-x-call_1.meta.json"), "{}");
        write(&inner.join("agent-y.jsonl"), "{}\n");
        write(&inner.join("other.jsonl"), "");
        let found = discover(dir.path());
        let shown: Vec<_> = found
            .iter()
            .map(|f| (f.stream.as_str(), f.session.as_str(), f.subagent.as_deref()))
            .collect();
        let expected = [
            ("s.1", "s.1", None),
            ("agent-x-call_1", "s.1", Some("x-call_1")),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_first_working_directory_is_read_from_a_head() {
        let check = |head: &str, expected: Option<&str>| {
            assert_eq!(first_cwd(head.as_bytes()).as_deref(), expected, "{head}");
        };
        check("{\"type\":\"x\"}\n{\"cwd\":\"/repo\"}\n", Some("/repo"));
        check(
            "not JSON\n{\"cwd\":\"\"}\n{\"cwd\":\"/r\\u00e4\"}\n",
            Some("/rä"),
        );
        check("{\"cwd\":\"/re", None);
        check("", None);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a directory");
        let other = tempfile::tempdir().expect("a directory");
        fs::write(other.path().join("s1.jsonl"), "").expect("a file");
        let project = projects(dir.path()).join("-repo");
        fs::create_dir_all(&project).expect("directories");
        symlink(other.path(), chats(&project)).expect("a link");
        symlink(other.path(), subagents_of(&project)).expect("a link");
        assert_eq!(discover(dir.path()), []);
        assert_eq!(discover(&dir.path().join("absent")), []);
    }
}
