//! Finding transcripts: those of each day, and those that were put aside. Links are not followed, and
//! the walk is bounded.

use std::fs::DirEntry;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use siglum_domain::NativeId;

use super::meta::Meta;
use super::passage::content_text;
use super::path::{archived, id_of, sessions};
use super::wire::{Line, Payload};
use crate::listing::{FILE_LIMIT, directories, files, stem, transcript};
use crate::open_regular;
use crate::transcript::TranscriptFile;

/// How much of a transcript tells whose it is, in bytes: most need little.
const HEADS: [u64; 2] = [4 << 10, 1 << 20];
/// How deep the days lie: by year, month and day.
const DEPTH: usize = 3;

/// Lists the transcripts in the agent's own directory, by path.
pub(super) fn discover(agent_dir: &Path) -> Vec<TranscriptFile> {
    let mut found = Vec::new();
    for root in [sessions(agent_dir), archived(agent_dir)] {
        if !std::fs::symlink_metadata(&root).is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        for directory in below(root) {
            if found.len() < FILE_LIMIT {
                found.extend(files(&directory).iter().filter_map(rollout));
            }
        }
    }
    found.truncate(FILE_LIMIT);
    found.sort_by(|a: &TranscriptFile, b| a.path.cmp(&b.path));
    found
}

/// A directory and those in it, as deep as transcripts lie.
fn below(root: PathBuf) -> Vec<PathBuf> {
    let mut all = vec![root];
    let mut from = 0;
    for _ in 0..DEPTH {
        let inner: Vec<PathBuf> = all[from..]
            .iter()
            .flat_map(|dir| directories(dir))
            .collect();
        from = all.len();
        all.extend(inner);
    }
    all
}

fn rollout(entry: &DirEntry) -> Option<TranscriptFile> {
    let stem = stem(entry, ".jsonl")?;
    let named = NativeId::new(id_of(&stem)?).ok()?;
    let meta = meta(&entry.path());
    let root = meta
        .and_then(|meta| meta.root)
        .filter(|root| *root != named);
    let subagent = root.is_some().then(|| named.as_str().to_owned());
    transcript(entry, stem, root.unwrap_or(named), subagent)
}

fn meta(path: &Path) -> Option<Meta> {
    let mut file = open_regular(path).ok()?;
    let mut head = Vec::new();
    for most in HEADS {
        let rest = most - head.len() as u64;
        file.by_ref().take(rest).read_to_end(&mut head).ok()?;
        let meta = Meta::of_head(&head);
        if meta.is_some() {
            return meta;
        }
    }
    None
}

/// The working directory that the head of a transcript names: in its first line, with a turn, or in
/// what the model was told of its surroundings.
pub(super) fn first_cwd(head: &[u8]) -> Option<String> {
    let first = Meta::of_head(head).and_then(|meta| meta.cwd);
    first.or_else(|| {
        let complete = &head[..=memchr::memrchr(b'\n', head)?];
        complete.split(|byte| *byte == b'\n').find_map(cwd_of_line)
    })
}

fn cwd_of_line(line: &[u8]) -> Option<String> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let payload: Payload<'_> = line.payload.object();
    if let Some(cwd) = payload.cwd.text().filter(|cwd| !cwd.is_empty()) {
        return Some(cwd.into_owned());
    }
    let text = content_text(payload.content)?;
    let (_, rest) = text
        .split_once("<environment_context>")?
        .1
        .split_once("<cwd>")?;
    let (cwd, _) = rest.split_once("</cwd>")?;
    (!cwd.is_empty()).then(|| cwd.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn meta_line(fields: &str) -> String {
        format!("{{\"type\":\"session_meta\",\"payload\":{{{fields}}}}}\n")
    }

    #[test]
    fn sessions_their_sub_agents_and_archived_ones_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let day = sessions(dir.path()).join("2026/11/20");
        let aside = archived(dir.path());
        fs::create_dir_all(&day).expect("directories");
        fs::create_dir_all(&aside).expect("directories");
        let long = format!(
            r#""id":"s4","session_id":"s4","cwd":"/r","base_instructions":"{}""#,
            "x".repeat(20_000)
        );
        for (path, text) in [
            (
                day.join("rollout-2026-11-20T21-09-52-s1.jsonl"),
                meta_line(r#""id":"s1","session_id":"s1""#),
            ),
            (
                day.join("rollout-2026-11-20T21-09-53-s2.jsonl"),
                meta_line(r#""id":"s2","session_id":"s1""#),
            ),
            (
                day.join("rollout-2026-11-20T21-09-54-s3.jsonl"),
                "no JSON\n".to_owned(),
            ),
            (
                day.join("rollout-2026-11-20T21-09-55-s4.jsonl"),
                meta_line(&long),
            ),
            (
                day.join("rollout-2026-11-20T21-09-55-a b.jsonl"),
                String::new(),
            ),
            (day.join("notes.jsonl"), String::new()),
            (
                aside.join("rollout-2025-11-20T21-09-52-s0.jsonl"),
                String::new(),
            ),
        ] {
            fs::write(path, text).expect("a file");
        }
        let found = discover(dir.path());
        let shown: Vec<_> = found
            .iter()
            .map(|f| (f.session.as_str(), f.subagent.as_deref()))
            .collect();
        assert_eq!(
            shown,
            [
                ("s0", None),
                ("s1", None),
                ("s1", Some("s2")),
                ("s3", None),
                ("s4", None)
            ]
        );
        assert_eq!(found[1].stream, "rollout-2026-11-20T21-09-52-s1");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a directory");
        let other = tempfile::tempdir().expect("a directory");
        fs::write(
            other.path().join("rollout-2026-11-20T21-09-52-s1.jsonl"),
            "",
        )
        .expect("a file");
        symlink(other.path(), archived(dir.path())).expect("a link");
        fs::create_dir_all(sessions(dir.path())).expect("directories");
        symlink(other.path(), sessions(dir.path()).join("2026")).expect("a link");
        assert_eq!(discover(dir.path()), []);
        assert_eq!(discover(&dir.path().join("absent")), []);
    }

    #[test]
    fn the_first_working_directory_is_read_from_a_head() {
        let check = |head: &str, expected: Option<&str>| {
            assert_eq!(first_cwd(head.as_bytes()).as_deref(), expected, "{head}");
        };
        check(&meta_line(r#""id":"a","cwd":"/r\u00e4""#), Some("/rä"));
        let turn = "{\"type\":\"turn_context\",\"payload\":{\"cwd\":\"/repo\"}}\n";
        check(&format!("{}{turn}", meta_line("")), Some("/repo"));
        let context = "{\"type\":\"response_item\",\"payload\":{\"content\":[{\"type\":\"input_text\",\"text\":\"<environment_context>\\n  <cwd>/old</cwd>\"}]}}\n";
        check(&format!("x\n{context}"), Some("/old"));
        check(
            "{\"type\":\"session_meta\",\"payload\":{\"cwd\":\"/re",
            None,
        );
        check("", None);
    }
}
