//! Answers of gateways, kept by commit: a file for each, in a directory of Siglum's home that only the user enters.
//!
//! What cannot be kept or read is as if it had never come.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use siglum_domain::{Oid, Timestamp};
use siglum_engine::commits::answers::CommitAnswer;

use crate::platform::regular_file;
use crate::secret_files;

/// So long an answer is used without asking again, in ms.
const FRESH_MS: i64 = 10 * 60 * 1000;
/// The largest answer that is kept, in bytes.
const FILE_MOST: u64 = 2 << 20;
/// The most answers that are kept, and the most bytes of all of them: the oldest go first.
const FILES_MOST: usize = 5_000;
const BYTES_MOST: u64 = 64 << 20;

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The address of the gateway that gave it.
    pub gateway: String,
    pub at: Timestamp,
    pub answer: CommitAnswer,
}

impl Kept {
    /// Whether it is so young that nobody is asked again.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        (0..FRESH_MS).contains(&now.millis_since(self.at))
    }
}

/// All answers that are kept.
pub struct KeptAnswers {
    dir: PathBuf,
}

impl KeptAnswers {
    pub const fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    fn file(&self, commit: &Oid) -> PathBuf {
        self.dir.join(file_name(commit))
    }

    /// The answer of one gateway about a commit.
    pub fn get(&self, commit: &Oid, gateway: &str) -> Option<Kept> {
        let text = regular_file::read_text(&self.file(commit), FILE_MOST).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        (kept.gateway == gateway && kept.answer.commit == *commit).then_some(kept)
    }

    /// Keeps an answer in place of the one before.
    pub fn put(&self, kept: &Kept) {
        let Ok(text) = serde_json::to_string(kept) else {
            return;
        };
        let name = file_name(&kept.answer.commit);
        if text.len() as u64 > FILE_MOST {
            return self.remove(&kept.answer.commit);
        }
        if let Err(error) = secret_files::write_private(&self.dir, &name, &text) {
            tracing::debug!("cannot keep an answer of the gateway: {error}");
        }
    }

    /// Removes the answer about a commit.
    pub fn remove(&self, commit: &Oid) {
        let _ = fs::remove_file(self.file(commit));
    }

    /// Removes the oldest answers, until the others are few enough.
    pub fn prune(&self) {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((meta.modified().ok()?, meta.len(), entry.path()))
            })
            .collect();
        files.sort_unstable();
        let mut bytes = 0;
        for (at, (_, size, path)) in files.into_iter().rev().enumerate() {
            bytes += size;
            if at >= FILES_MOST || bytes > BYTES_MOST {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn file_name(commit: &Oid) -> String {
    format!("{commit}.json")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;

    fn kept(commit: &str, at: i64) -> Kept {
        let answer = json!({
            "commit": commit,
            "repository": "rep_01920000000070008000000000000001",
            "checkpoint": null, "seen_by": "hook",
            "judgement": { "rules": 4, "committer": { "kind": "human" }, "verdict": "certain",
                "evidence": [], "candidates": [], "outer": [] },
            "claim": null, "files": [], "prompt": null, "rewritten_from": [], "origins": [],
            "same_patch": [], "sessions": [],
        });
        Kept {
            gateway: "https://team.example".to_owned(),
            at: Timestamp::from_seconds(at),
            answer: serde_json::from_value(answer).unwrap(),
        }
    }

    #[test]
    fn an_answer_is_kept_for_its_owner_and_its_gateway_alone() {
        let dir = tempfile::tempdir().unwrap();
        let answers = KeptAnswers::at(dir.path().join("answers"));
        let one = kept(&"a".repeat(40), 1_000);
        let commit = one.answer.commit.clone();
        answers.put(&one);
        let found = answers.get(&commit, "https://team.example").unwrap();
        assert_eq!((found.at, &found.answer), (one.at, &one.answer));
        assert!(answers.get(&commit, "https://other.example").is_none());
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(answers.file(&commit)), 0o600);
        assert_eq!(mode(answers.dir.clone()), 0o700);
        answers.prune();
        assert!(answers.get(&commit, "https://team.example").is_some());
        answers.remove(&commit);
        assert!(answers.get(&commit, "https://team.example").is_none());
    }

    #[test]
    fn an_answer_is_fresh_for_minutes_and_never_from_the_future() {
        let one = kept(&"a".repeat(40), 1_000);
        let fresh = |seconds| one.is_fresh(Timestamp::from_seconds(seconds));
        assert_eq!(
            [999, 1_000, 1_599, 1_600].map(fresh),
            [false, true, true, false]
        );
    }
}
