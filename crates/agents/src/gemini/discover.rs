//! Finding transcripts. Links are not followed, and the walk is bounded.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use siglum_domain::NativeId;

use super::path::{chats, projects, root_file};
use super::wire::Head;
use crate::listing::{FILE_LIMIT, directories, files, stem, transcript};
use crate::open_regular;
use crate::transcript::TranscriptFile;

/// How much of a file is read to learn which session it belongs to, in bytes.
const HEAD: u64 = 4096;
/// How many paths in the head of a file are looked at.
const PATHS: usize = 256;
/// How many directories above a path are looked at.
const DEPTH: usize = 64;
/// What the agent writes above the directories that it works in.
const DIRECTORIES: &[&str] = &[
    "- **Workspace Directories:**\\n  - ",
    "working in the directory: ",
];

/// Lists the transcripts in the agent's own directory, by path. Where the agent noted which directory a
/// project is, they say so.
pub(super) fn discover(agent_dir: &Path) -> Vec<TranscriptFile> {
    let mut found = Vec::new();
    for project in directories(&projects(agent_dir)) {
        let cwd = root(&project);
        let mut of_project: Vec<TranscriptFile> = Vec::new();
        let chats = chats(&project);
        if !is_directory(&chats) {
            continue;
        }
        of_project.extend(files(&chats).iter().filter_map(session_file));
        for session in directories(&chats) {
            let id = session.file_name().and_then(|name| name.to_str());
            let Some(id) = id.and_then(|id| NativeId::new(id).ok()) else {
                continue;
            };
            let inner = files(&session);
            of_project.extend(inner.iter().filter_map(|file| subagent_file(file, &id)));
        }
        for file in &mut of_project {
            file.cwd.clone_from(&cwd);
        }
        found.extend(of_project);
        if found.len() >= FILE_LIMIT {
            break;
        }
    }
    found.truncate(FILE_LIMIT);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Where the sub-agents of a session write transcripts of their own.
pub(super) fn subagents(transcript: &Path, session: &NativeId) -> PathBuf {
    transcript.with_file_name(session.as_str())
}

fn is_directory(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

/// The directory that the agent works in for this project, by its own note.
fn root(project: &Path) -> Option<String> {
    let mut text = String::new();
    let file = open_regular(&root_file(project)).ok()?;
    let read = file.take(HEAD + 1).read_to_string(&mut text).ok()?;
    let root = (read as u64 <= HEAD).then(|| text.trim().to_owned())?;
    Path::new(&root).is_absolute().then_some(root)
}

/// A transcript of a session. One that was continued as JSON Lines is left out in its older form.
fn session_file(entry: &DirEntry) -> Option<TranscriptFile> {
    let (stream, session) = match stem(entry, ".jsonl") {
        Some(stem) => (stem, session_of(&entry.path())?),
        None => {
            let older = stem(entry, ".json")?;
            let newer = entry.path().with_extension("jsonl");
            let alone = older.starts_with("session-") && !newer.exists();
            (
                format!("{older}.json"),
                session_of(alone.then(|| entry.path())?.as_path())?,
            )
        }
    };
    transcript(entry, stream, session, None)
}

/// The session that the head of a file names.
fn session_of(path: &Path) -> Option<NativeId> {
    let mut head = String::new();
    let file = open_regular(path).ok()?;
    file.take(HEAD).read_to_string(&mut head).ok();
    let at = head.find("\"sessionId\"")?;
    let first = head.lines().next()?;
    let id = match serde_json::from_str::<Head<'_>>(first) {
        Ok(line) => line.session.text()?.into_owned(),
        Err(_) => head[at..].split('"').nth(3)?.to_owned(),
    };
    NativeId::new(id).ok()
}

fn subagent_file(entry: &DirEntry, session: &NativeId) -> Option<TranscriptFile> {
    let stem = stem(entry, ".jsonl")?;
    let subagent = NativeId::new(stem.as_str()).ok()?.as_str().to_owned();
    transcript(entry, stem, session.clone(), Some(subagent))
}

/// The directory that a transcript was written in: as the agent told the model, else the directory
/// above any file of which the head has the digest.
pub(super) fn first_cwd(head: &[u8]) -> Option<String> {
    prompted_directory(head).or_else(|| by_digest(head))
}

/// Transcripts hold the SHA-256 of the directory; a path in them that starts with it tells it.
fn by_digest(head: &[u8]) -> Option<String> {
    let digest = {
        let at = memchr::memmem::find(head, b"\"projectHash\"")?;
        let mut words = head[at..].split(|byte| *byte == b'"').skip(3);
        std::str::from_utf8(words.next()?).ok()?
    };
    let mut looked_at = BTreeSet::new();
    for at in memchr::memmem::find_iter(head, b"\"/").take(PATHS) {
        let rest = &head[at + 1..];
        let end = memchr::memchr(b'"', rest)?;
        let Ok(path) = std::str::from_utf8(&rest[..end]) else {
            continue;
        };
        for root in Path::new(path).ancestors().take(DEPTH) {
            let root = root.to_str().unwrap_or_default();
            if !looked_at.insert(root.to_owned()) {
                break;
            }
            if hex(&Sha256::digest(root.as_bytes())) == digest {
                return Some(root.to_owned());
            }
        }
    }
    None
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn prompted_directory(head: &[u8]) -> Option<String> {
    let (at, opening) = DIRECTORIES.iter().find_map(|opening| {
        let at = memchr::memmem::find(head, opening.as_bytes())?;
        Some((at, opening))
    })?;
    let rest = std::str::from_utf8(&head[at + opening.len()..]);
    let rest = rest.unwrap_or_else(|error| {
        let valid = &head[at + opening.len()..][..error.valid_up_to()];
        std::str::from_utf8(valid).unwrap_or_default()
    });
    let end = rest.find("\\n").or_else(|| rest.find('"'))?;
    let cwd: String = serde_json::from_str(&format!("\"{}\"", &rest[..end])).ok()?;
    Path::new(&cwd).is_absolute().then_some(cwd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::fixture::{EDIT, SUBAGENT};

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
    }

    #[test]
    fn sessions_and_their_sub_agents_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let work = projects(dir.path()).join("work");
        let chats = chats(&work);
        let old = "{\n  \"sessionId\": \"s3\",\n  \"projectHash\": \"x\",\n  \"messages\": []\n}";
        write(&root_file(&work), "/repo\n");
        write(&chats.join("session-1.jsonl"), "{\"sessionId\":\"s1\"}\n");
        write(&chats.join("session-3.json"), old);
        write(&chats.join("session-1.json"), old);
        write(&chats.join("session-1.jsonl.unreadable-7"), "{}");
        write(&chats.join("s1/a1.jsonl"), "");
        write(&chats.join("s1/notes.txt"), "");
        write(&chats.join("empty.jsonl"), "");
        write(&projects(dir.path()).join("bin/tool"), "");
        let found = discover(dir.path());
        let shown: Vec<_> = found
            .iter()
            .map(|f| {
                assert_eq!(f.cwd.as_deref(), Some("/repo"));
                (f.stream.as_str(), f.session.as_str(), f.subagent.as_deref())
            })
            .collect();
        let expected = [
            ("a1", "s1", Some("a1")),
            ("session-1", "s1", None),
            ("session-3.json", "s3", None),
        ];
        assert_eq!(shown, expected);
        let own = chats.join("session-1.jsonl");
        assert_eq!(subagents(&own, &found[0].session), chats.join("s1"));
    }

    #[test]
    fn a_project_that_notes_no_directory_is_known_by_its_transcripts() {
        let dir = tempfile::tempdir().expect("a directory");
        let hash = projects(dir.path()).join("0123abc");
        write(&super::chats(&hash).join("session-1.jsonl"), EDIT);
        write(&root_file(&projects(dir.path()).join("bad")), "relative");
        let found = discover(dir.path());
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].cwd, None);
        assert_eq!(first_cwd(EDIT.as_bytes()).as_deref(), Some("/repo"));
        assert_eq!(first_cwd(SUBAGENT.as_bytes()), None);
        assert_eq!(
            first_cwd(br#"{"text":"I'm currently working in the directory: /r\u00e4\nfiles"}"#)
                .as_deref(),
            Some("/r\u{e4}")
        );
        assert_eq!(first_cwd(b"working in the directory: rela\\n"), None);
        assert_eq!(first_cwd(b"working in the directory: /cut"), None);
    }

    #[test]
    fn a_directory_is_known_by_its_digest() {
        let digest = hex(&Sha256::digest(b"/home/dev/repo"));
        let head = |path: &str| {
            let call = format!(r#"{{"args":{{"other":"/tmp/x","file_path":"{path}"}}}}"#);
            format!("{{\n  \"projectHash\": \"{digest}\",\n {call}")
        };
        let check = |head: &str, expected: Option<&str>| {
            assert_eq!(first_cwd(head.as_bytes()).as_deref(), expected, "{head}");
        };
        check(&head("/home/dev/repo/src/main.rs"), Some("/home/dev/repo"));
        check(&head("/home/dev/repo"), Some("/home/dev/repo"));
        check(&head("/home/dev/repository/a"), None);
        check(&head("src/main.rs"), None);
        check("{\"file_path\":\"/home/dev/repo/a\"}", None);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a directory");
        let other = tempfile::tempdir().expect("a directory");
        write(
            &other.path().join("session-1.jsonl"),
            "{\"sessionId\":\"s1\"}\n",
        );
        let project = projects(dir.path()).join("work");
        fs::create_dir_all(&project).expect("directories");
        symlink(other.path(), chats(&project)).expect("a link");
        assert_eq!(discover(dir.path()), []);
        assert_eq!(discover(&dir.path().join("absent")), []);
    }
}
