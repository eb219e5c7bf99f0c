//! Answers of gateways, kept by commit: a file for each, in a directory of Siglum's home that only the user enters. One more
//! file has the commits that gateways did not know a moment ago.
//!
//! What cannot be kept or read is as if it had never come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
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
/// So long an answer is not fetched again, in ms.
const FETCHED_MS: i64 = 24 * 60 * 60 * 1000;
/// So long a gateway is not asked again about a commit that it did not know, in ms.
const UNKNOWN_MS: i64 = 60 * 1000;
/// The most commits of which it is kept that a gateway did not know them: the oldest go first.
const UNKNOWN_MOST: usize = 5_000;
/// The file with them.
const UNKNOWN_FILE: &str = "unknown.json";
/// The largest answer that is kept, in bytes.
const FILE_MOST: u64 = 2 << 20;
/// The most answers that are kept, and the most bytes of all of them: the oldest go first.
pub const FILES_MOST: usize = 5_000;
const BYTES_MOST: u64 = 64 << 20;

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kept {
    /// The address of the gateway that gave it.
    pub gateway: String,
    /// Who asked: another token may be of another tenant, or see other repositories.
    pub asker: String,
    pub at: Timestamp,
    pub answer: CommitAnswer,
}

impl Kept {
    /// Whether it is so young that nobody is asked again.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        (0..FRESH_MS).contains(&now.millis_since(self.at))
    }

    /// Whether it is so young that it is not fetched again.
    pub fn is_of_today(&self, now: Timestamp) -> bool {
        (0..FETCHED_MS).contains(&now.millis_since(self.at))
    }
}

/// The commits that gateways did not know a moment ago: of each gateway, by its address and who asked, when it said so.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct UnknownCommits(BTreeMap<String, BTreeMap<Oid, Timestamp>>);

impl UnknownCommits {
    /// Whether a gateway did not know a commit so lately that it is not asked again.
    pub fn contains(&self, gateway: &str, commit: &Oid, now: Timestamp) -> bool {
        let at = self.0.get(gateway).and_then(|commits| commits.get(commit));
        at.is_some_and(|at| is_late(*at, now))
    }

    /// Notes which of the commits that a gateway was asked about it does not know.
    pub fn note(
        &mut self,
        gateway: &str,
        commits: &BTreeSet<Oid>,
        is_known: impl Fn(&Oid) -> bool,
        now: Timestamp,
    ) {
        for commits in self.0.values_mut() {
            commits.retain(|_, at| is_late(*at, now));
        }
        self.0.retain(|_, commits| !commits.is_empty());
        let noted = self.0.entry(gateway.to_owned()).or_default();
        noted.retain(|commit, _| !commits.contains(commit));
        let unknown = commits.iter().filter(|commit| !is_known(commit));
        noted.extend(unknown.map(|commit| (commit.clone(), now)));
        if noted.len() > UNKNOWN_MOST {
            let mut newest: Vec<(Oid, Timestamp)> = std::mem::take(noted).into_iter().collect();
            newest.sort_by_key(|(_, at)| Reverse(*at));
            newest.truncate(UNKNOWN_MOST);
            noted.extend(newest);
        }
    }
}

/// Whether a gateway said less than a minute ago that it does not know a commit.
fn is_late(at: Timestamp, now: Timestamp) -> bool {
    (0..UNKNOWN_MS).contains(&now.millis_since(at))
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

    /// The answer of one gateway about a commit to who asks.
    pub fn get(&self, commit: &Oid, gateway: &str, asker: &str) -> Option<Kept> {
        let text = regular_file::read_text(&self.file(commit), FILE_MOST).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        let is_it = kept.gateway == gateway && kept.asker == asker;
        (is_it && kept.answer.commit == *commit).then_some(kept)
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

    /// The commits that gateways did not know a moment ago.
    pub fn unknown(&self) -> UnknownCommits {
        let text = regular_file::read_text(&self.dir.join(UNKNOWN_FILE), FILE_MOST);
        let unknown = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        unknown.unwrap_or_default()
    }

    /// Keeps them in place of those before.
    pub fn put_unknown(&self, unknown: &UnknownCommits) {
        let Ok(text) = serde_json::to_string(unknown) else {
            return;
        };
        if let Err(error) = secret_files::write_private(&self.dir, UNKNOWN_FILE, &text) {
            tracing::debug!("cannot keep which commits the gateway does not know: {error}");
        }
    }

    /// Removes the answer about a commit.
    pub fn remove(&self, commit: &Oid) {
        let _ = fs::remove_file(self.file(commit));
    }

    /// Removes the oldest answers, until the others are few enough; those about these commits last, from the end. Gives
    /// about how many of these none is left.
    pub fn prune(&self, first: &[Oid]) -> usize {
        let ranks = first.iter().enumerate();
        let ranks: BTreeMap<String, usize> = ranks.map(|(n, c)| (file_name(c), n)).collect();
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut files: Vec<(usize, Reverse<SystemTime>, u64, PathBuf)> = entries
            .filter(|entry| entry.file_name() != UNKNOWN_FILE)
            .filter_map(|entry| {
                let meta = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                let rank = ranks.get(entry.file_name().to_str()?).copied();
                let modified = Reverse(meta.modified().ok()?);
                Some((
                    rank.unwrap_or(usize::MAX),
                    modified,
                    meta.len(),
                    entry.path(),
                ))
            })
            .collect();
        files.sort_unstable();
        let (mut bytes, mut lost) = (0, 0);
        for (nth, (rank, _, size, path)) in files.into_iter().enumerate() {
            bytes += size;
            if nth >= FILES_MOST || bytes > BYTES_MOST {
                let _ = fs::remove_file(path);
                lost += usize::from(rank != usize::MAX);
            }
        }
        lost
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
            asker: "one".to_owned(),
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
        let found = answers.get(&commit, "https://team.example", "one").unwrap();
        assert_eq!((found.at, &found.answer), (one.at, &one.answer));
        assert!(
            answers
                .get(&commit, "https://other.example", "one")
                .is_none()
        );
        assert!(
            answers
                .get(&commit, "https://team.example", "two")
                .is_none()
        );
        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(answers.file(&commit)), 0o600);
        assert_eq!(mode(answers.dir.clone()), 0o700);
        answers.prune(&[]);
        assert!(
            answers
                .get(&commit, "https://team.example", "one")
                .is_some()
        );
        answers.remove(&commit);
        assert!(
            answers
                .get(&commit, "https://team.example", "one")
                .is_none()
        );
    }

    #[test]
    fn what_was_fetched_stays_and_the_oldest_of_the_others_goes() {
        let dir = tempfile::tempdir().unwrap();
        let answers = KeptAnswers::at(dir.path().join("answers"));
        answers.put_unknown(&UnknownCommits::default());
        let commits: Vec<Oid> = (0..FILES_MOST + 2)
            .map(|n| Oid::new(format!("{n:040x}")).unwrap())
            .collect();
        for (n, commit) in commits.iter().enumerate() {
            fs::write(answers.file(commit), "{}").unwrap();
            let file = fs::File::options().append(true).open(answers.file(commit));
            let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(n as u64);
            file.unwrap().set_modified(at).unwrap();
        }
        assert_eq!(answers.prune(&commits[..1]), 0);
        let is_there = |n: usize| answers.file(&commits[n]).exists();
        assert_eq!([0, 1, 2, 3].map(is_there), [true, false, false, true]);
        assert!(answers.dir.join(UNKNOWN_FILE).exists());
        // Of those that were fetched, the last ones go.
        fs::write(answers.file(&commits[1]), "{}").unwrap();
        let last = FILES_MOST + 1;
        fs::File::create(answers.file(&commits[last]))
            .unwrap()
            .set_len(BYTES_MOST)
            .unwrap();
        assert_eq!(
            answers.prune(&[commits[0].clone(), commits[last].clone()]),
            1
        );
        assert_eq!([0, 1, last].map(is_there), [true, false, false]);
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

    #[test]
    fn a_commit_is_unknown_for_a_minute() {
        let dir = tempfile::tempdir().unwrap();
        let answers = KeptAnswers::at(dir.path().join("answers"));
        let (here, there) = ("https://team.example", "https://other.example");
        let oid = |letter: &str| Oid::new(letter.repeat(40)).unwrap();
        let at = Timestamp::from_seconds(100);
        let commits = BTreeSet::from([oid("a"), oid("b")]);
        let mut unknown = answers.unknown();
        unknown.note(here, &commits, |commit| *commit == oid("b"), at);
        answers.put_unknown(&unknown);
        let mut unknown = answers.unknown();
        assert!(unknown.contains(here, &oid("a"), at.plus_millis(UNKNOWN_MS - 1)));
        assert!(!unknown.contains(here, &oid("a"), at.plus_millis(UNKNOWN_MS)));
        assert!(!unknown.contains(here, &oid("a"), at.plus_millis(-1)));
        assert!(!unknown.contains(here, &oid("b"), at));
        assert!(!unknown.contains(there, &oid("a"), at));
        // Then it knows it.
        unknown.note(here, &commits, |_| true, at);
        assert!(!unknown.contains(here, &oid("a"), at));
        let many = (0..=UNKNOWN_MOST).map(|n| Oid::new(format!("{n:040x}")).unwrap());
        unknown.note(there, &many.collect(), |_| false, at);
        assert_eq!(unknown.0[there].len(), UNKNOWN_MOST);
    }
}
