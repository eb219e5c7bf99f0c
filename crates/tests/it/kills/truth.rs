//! What really happened, by git's own record: each actor commits under a name of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::harness::Repo;

/// How a commit came about, by git's list of the moves of HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Birth {
    /// Somebody made it.
    Made,
    /// A rebase made it of others, whose makers stay who they were.
    Rebased,
}

/// The lists of the moves of HEAD, read on after each step.
pub(super) struct Births {
    lists: Vec<(PathBuf, usize)>,
    pub(super) known: BTreeMap<String, Birth>,
}

impl Births {
    pub(super) fn watch(trees: &[Repo<'_>]) -> Self {
        let list = |repo: &Repo<'_>| {
            repo.git(&[
                "rev-parse",
                "--path-format=absolute",
                "--git-path",
                "logs/HEAD",
            ])
        };
        let lists = trees.iter().map(|repo| (PathBuf::from(list(repo)), 0));
        let mut births = Self {
            lists: lists.collect(),
            known: BTreeMap::new(),
        };
        births.read_on();
        births
    }

    /// The commits that are new since the last time.
    pub(super) fn read_on(&mut self) -> BTreeSet<String> {
        let mut fresh = BTreeSet::new();
        for (path, read) in &mut self.lists {
            let text = fs::read_to_string(path).unwrap_or_default();
            for line in text.get(*read..).unwrap_or_default().lines() {
                let (ids, deed) = line.split_once('\t').unwrap_or((line, ""));
                let Some(id) = ids.split(' ').nth(1) else {
                    continue;
                };
                if let Some(birth) = birth(deed)
                    && !self.known.contains_key(id)
                {
                    self.known.insert(id.to_owned(), birth);
                    fresh.insert(id.to_owned());
                }
            }
            *read = text.len();
        }
        fresh
    }
}

fn birth(deed: &str) -> Option<Birth> {
    let began = |words: &[&str]| words.iter().any(|word| deed.starts_with(word));
    if began(&["rebase"]) {
        return (!deed.contains("(start)")
            && !deed.contains("(finish)")
            && !deed.contains("(abort)"))
        .then_some(Birth::Rebased);
    }
    let merged = began(&["merge"]) && !deed.contains("Fast-forward");
    (merged || began(&["commit", "cherry-pick", "revert"])).then_some(Birth::Made)
}

/// A commit as git has it.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) id: String,
    /// Who ran git.
    pub(super) committer: String,
    /// Who ran git first, and when: a rebase keeps them, whatever becomes of the message.
    author: String,
    authored: String,
    /// For reading only.
    _subject: String,
    pub(super) trailers: Vec<String>,
}

impl Commit {
    fn authorship(&self) -> (&str, &str) {
        (&self.author, &self.authored)
    }
}

/// All commits that these arguments of `git log` give.
pub(super) fn commits(repo: &Repo<'_>, which: &[&str]) -> Vec<Commit> {
    let format = "--format=%H%x09%cn%x09%an%x09%at%x09%(trailers:key=Siglum-Checkpoint,valueonly,separator=%x20)%x09%s";
    let list = repo.git(&[&["log", format], which].concat());
    let commit = |line: &str| {
        let [id, committer, author, authored, trailers, subject] =
            line.splitn(6, '\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        Commit {
            id: id.to_owned(),
            committer: committer.to_owned(),
            author: author.to_owned(),
            authored: authored.to_owned(),
            _subject: subject.to_owned(),
            trailers: trailers.split_whitespace().map(str::to_owned).collect(),
        }
    };
    list.lines().map(commit).collect()
}

/// Who may be called the committer of each commit: who ran git, and where a rebase made it, whoever ran git for
/// one that has its author and the moment of the author, which amends and rebases keep.
pub(super) fn makers(commits: &[Commit], births: &Births) -> BTreeMap<String, BTreeSet<String>> {
    let mut by_authorship: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for commit in commits {
        let of = by_authorship.entry(commit.authorship()).or_default();
        of.insert(&commit.committer);
    }
    let makers = |commit: &Commit| {
        let mut makers = BTreeSet::from([commit.committer.clone()]);
        if births.known.get(&commit.id) != Some(&Birth::Made) {
            let others = &by_authorship[&commit.authorship()];
            makers.insert(commit.author.clone());
            makers.extend(others.iter().map(|name| (*name).to_owned()));
        }
        (commit.id.clone(), makers)
    };
    commits.iter().map(makers).collect()
}
