//! Where HEAD stands, read by hand.
//!
//! Only what a hook needs: HEAD through loose refs and `packed-refs`. Other ways to store refs are
//! left to git ([`HeadRead::NeedsGit`]); nothing is ever written.

use std::fs;
use std::path::{Path, PathBuf};

use siglum_domain::observation::{Arrival, HeadStep};
use siglum_domain::{Oid, Timestamp};

use crate::bounded;

const REF_LIMIT: u64 = 4 << 10;
const PACKED_LIMIT: u64 = 64 << 20;
/// Git follows as many symbolic refs.
const DEPTH_LIMIT: usize = 5;

/// Where HEAD stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeadRead {
    Commit(Oid),
    /// At a branch without a commit.
    Unborn,
    /// Only git can tell.
    NeedsGit,
}

enum RefText {
    Direct(Oid),
    Symbolic(String),
    Missing,
    Unknown,
}

pub(crate) fn head(git_dir: &Path, common_dir: &Path) -> HeadRead {
    if common_dir.join("reftable").exists() || common_dir.join("refs/heads").is_file() {
        return HeadRead::NeedsGit;
    }
    let mut name = "HEAD".to_owned();
    for _ in 0..=DEPTH_LIMIT {
        let found = match loose(&location(&name, git_dir, common_dir)) {
            RefText::Missing if name != "HEAD" => packed(common_dir, &name),
            other => other,
        };
        match found {
            RefText::Direct(oid) => return HeadRead::Commit(oid),
            RefText::Symbolic(next) if is_ref_name(&next) => name = next,
            RefText::Missing if name != "HEAD" => return HeadRead::Unborn,
            RefText::Symbolic(_) | RefText::Missing | RefText::Unknown => break,
        }
    }
    HeadRead::NeedsGit
}

/// How much of the log of HEAD is looked at, in bytes.
const LOG_TAIL: u64 = 4 << 10;

/// How HEAD came to a commit, by the messages of the log: made here if any of them says so.
pub(crate) fn arrival(git_dir: &Path, commit: &Oid) -> Option<Arrival> {
    let log = bounded::read_tail(&git_dir.join("logs/HEAD"), LOG_TAIL).unwrap_or_default();
    let to_commit = log
        .lines()
        .filter(|line| line.split(' ').nth(1) == Some(commit.as_str()));
    let arrivals = to_commit.filter_map(|line| parse_arrival(line.split_once('\t')?.1));
    arrivals.reduce(|a, b| if a == b { a } else { Arrival::Made })
}

/// Whether the message of a move says that the commit was made of another one.
fn is_copy(message: &str) -> bool {
    const COPYING: [&str; 5] = [
        "rebase",
        "cherry-pick",
        "revert",
        "am",
        "commit (cherry-pick)",
    ];
    COPYING.iter().any(|verb| {
        let rest = message.strip_prefix(verb);
        rest.is_some_and(|rest| rest.starts_with([':', ' ']))
    })
}

/// What the message of a move says: `commit (amend): …`, `pull: Fast-forward`, `reset: moving to …`.
fn parse_arrival(message: &str) -> Option<Arrival> {
    const MAKING: [&str; 4] = ["commit", "cherry-pick", "revert", "rebase"];
    const MOVING: [&str; 6] = ["pull", "merge", "reset", "checkout", "clone", "switch"];
    let begins = |words: &[&str]| words.iter().any(|word| message.starts_with(word));
    if message.starts_with("rebase (finish)") {
        return None;
    }
    if message.starts_with("rebase (start)") {
        return Some(Arrival::Moved);
    }
    if begins(&MAKING) || message.contains(": Merge made by") {
        return Some(Arrival::Made);
    }
    begins(&MOVING).then_some(Arrival::Moved)
}

/// The last moves of HEAD to commits that were or may have been made by them, newest first, from and
/// to, as git logs them. One that only went to another commit is left out.
pub(crate) fn moves(git_dir: &Path) -> Vec<(Option<Oid>, Oid)> {
    let log = bounded::read_tail(&git_dir.join("logs/HEAD"), LOG_TAIL).unwrap_or_default();
    let made = |line: &&str| {
        let message = line.split_once('\t').map_or("", |(_, message)| message);
        parse_arrival(message) != Some(Arrival::Moved)
    };
    let moved = |line: &str| {
        let mut words = line.split(' ');
        let from = Oid::new(words.next()?).ok()?;
        let to = Oid::new(words.next()?).ok()?;
        Some(((!from.is_zero()).then_some(from), to))
    };
    log.lines().rev().filter(made).filter_map(moved).collect()
}

/// How the message of a move begins that an amend made.
const AMENDED: &str = "commit (amend):";

/// The commit that an amend just now put this one in the place of, by the last line of the log of HEAD.
pub(crate) fn amended(git_dir: &Path, commit: &Oid) -> Option<Oid> {
    let log = bounded::read_tail(&git_dir.join("logs/HEAD"), LOG_TAIL)?;
    let (oids, message) = log.lines().next_back()?.split_once('\t')?;
    let mut oids = oids.split(' ');
    let old = Oid::new(oids.next()?).ok()?;
    let is_amend = message.starts_with(AMENDED);
    (is_amend && oids.next() == Some(commit.as_str())).then_some(old)
}

/// How long the log of HEAD is, in bytes; nothing where there is none.
pub(crate) fn log_length(git_dir: &Path) -> Option<u64> {
    let log = fs::metadata(git_dir.join("logs/HEAD")).ok()?;
    log.is_file().then_some(log.len())
}

/// The last moves of HEAD, oldest first, each with its place in the log.
pub(crate) fn steps(git_dir: &Path) -> Vec<HeadStep> {
    let path = git_dir.join("logs/HEAD");
    let Some((mut position, log)) = bounded::read_tail_at(&path, LOG_TAIL) else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    for line in log.split_inclusive(|b| *b == b'\n') {
        let text = String::from_utf8_lossy(line);
        if let Some(to) = text.split(' ').nth(1).and_then(|to| Oid::new(to).ok()) {
            let message = text.split_once('\t').map(|(_, message)| message);
            steps.push(HeadStep {
                position,
                to,
                arrival: message.and_then(parse_arrival),
                copied: message.is_some_and(is_copy),
            });
        }
        position += line.len() as u64;
    }
    steps
}

/// How much of the log of HEAD is read where its moves are followed, in bytes.
const LOG_MOST: u64 = 1 << 20;

/// What a move of HEAD does to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveKind {
    /// A commit of what is in the index: files stay as they are.
    Commit,
    /// A reset: files may stay or be replaced, the log does not say.
    Reset,
    /// Anything else: git puts those files in place that differ.
    Checkout,
}

/// One move of HEAD, as git logs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflogMove {
    /// Where in the log it stands, in bytes.
    pub position: u64,
    /// Where HEAD was; absent where there was no commit.
    pub from: Option<Oid>,
    /// Where it went.
    pub to: Oid,
    /// What it does to files.
    pub kind: MoveKind,
    /// Whether it may have made the commit, and did not only go to it.
    pub makes: bool,
    /// Whether the commit was made by an amend, in the place of the one before.
    pub is_amend: bool,
    /// When, in whole seconds.
    pub at: Timestamp,
}

/// The moves of HEAD, oldest first: all of them, or those at the end of a log that is very long.
pub(crate) fn head_moves(git_dir: &Path) -> Vec<ReflogMove> {
    let path = git_dir.join("logs/HEAD");
    let Some((position, log)) = bounded::read_tail_at(&path, LOG_MOST) else {
        return Vec::new();
    };
    read_moves(&log, position)
}

/// The first moves of HEAD behind this place in its log, oldest first; nothing where the log is shorter, as after its
/// entries expired.
pub(crate) fn head_moves_since(git_dir: &Path, position: u64) -> Vec<ReflogMove> {
    let log = bounded::read_from(&git_dir.join("logs/HEAD"), position, LOG_TAIL);
    read_moves(&log.unwrap_or_default(), position)
}

/// The moves in whole lines of the log that begin at this place of it.
fn read_moves(log: &[u8], mut position: u64) -> Vec<ReflogMove> {
    let mut moves = Vec::new();
    for line in log.split_inclusive(|b| *b == b'\n') {
        if line.ends_with(b"\n") {
            moves.extend(head_move(&String::from_utf8_lossy(line), position));
        }
        position += line.len() as u64;
    }
    moves
}

fn head_move(line: &str, position: u64) -> Option<ReflogMove> {
    let (head, message) = line.split_once('\t').unwrap_or((line, ""));
    let mut words = head.split(' ');
    let from = Oid::new(words.next()?).ok()?;
    let to = Oid::new(words.next()?).ok()?;
    let seconds = head.trim_end().rsplit(' ').nth(1)?.parse().ok()?;
    // Whoever moves HEAD without a word has made the commit by hand.
    let kind = match message.trim_end() {
        "" => MoveKind::Commit,
        m if m.starts_with("commit") => MoveKind::Commit,
        m if m.starts_with("reset") => MoveKind::Reset,
        _ => MoveKind::Checkout,
    };
    Some(ReflogMove {
        position,
        from: (!from.is_zero()).then_some(from),
        to,
        kind,
        makes: parse_arrival(message) != Some(Arrival::Moved),
        is_amend: message.starts_with(AMENDED),
        at: Timestamp::from_seconds(seconds),
    })
}

/// Where HEAD was before the last command that could move it far: a merge, a squash, a reset, a rebase.
pub(crate) fn orig_head(git_dir: &Path) -> Option<Oid> {
    let text = bounded::read_text(&git_dir.join("ORIG_HEAD"), REF_LIMIT)?;
    Oid::new(text.trim_end()).ok()
}

/// HEAD and a few families of refs belong to the worktree, all others to the repository.
fn location(name: &str, git_dir: &Path, common_dir: &Path) -> PathBuf {
    let own = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];
    let of_worktree = name == "HEAD" || own.iter().any(|family| name.starts_with(family));
    if of_worktree {
        git_dir.join(name)
    } else {
        common_dir.join(name)
    }
}

/// A name that stays below the git directory.
fn is_ref_name(name: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && !part.starts_with('.');
    name.starts_with("refs/")
        && !name.contains(|c: char| c.is_control() || c == '\\')
        && name.split('/').all(plain)
}

fn loose(path: &Path) -> RefText {
    if let Ok(target) = fs::read_link(path)
        && let Some(name) = target.to_str().filter(|t| is_ref_name(t))
    {
        return RefText::Symbolic(name.to_owned());
    }
    let is_file = fs::metadata(path).is_ok_and(|m| m.is_file());
    match bounded::read_text(path, REF_LIMIT) {
        Some(text) => parse(&text),
        None if is_file => RefText::Unknown,
        None => RefText::Missing,
    }
}

fn parse(text: &str) -> RefText {
    let text = text.trim_end();
    if let Some(name) = text.strip_prefix("ref:") {
        return RefText::Symbolic(name.trim_start().to_owned());
    }
    Oid::new(text).map_or(RefText::Unknown, RefText::Direct)
}

fn packed(common_dir: &Path, name: &str) -> RefText {
    let path = common_dir.join("packed-refs");
    let Some(content) = bounded::read(&path, PACKED_LIMIT) else {
        return if path.exists() {
            RefText::Unknown
        } else {
            RefText::Missing
        };
    };
    let wanted = |line: &&[u8]| {
        line.strip_suffix(name.as_bytes())
            .is_some_and(|head| head.ends_with(b" "))
    };
    let line = content.split(|b| *b == b'\n').find(wanted);
    line.map_or(RefText::Missing, |line| {
        parse(&String::from_utf8_lossy(
            &line[..line.len() - name.len() - 1],
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_says_what_it_does_to_files() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        for (message, kind) in [
            ("\tcommit (amend): x", MoveKind::Commit),
            ("", MoveKind::Commit),
            ("\treset: moving to HEAD", MoveKind::Reset),
            ("\tcheckout: moving from a to b", MoveKind::Checkout),
            ("\trebase (pick): x", MoveKind::Checkout),
        ] {
            let line = format!("{a} {b} A U Thor <a@b> 17 +0100{message}\n");
            let found = head_move(&line, 5).expect("a move");
            assert_eq!((found.kind, found.position), (kind, 5), "{message}");
            assert_eq!(found.at, Timestamp::from_seconds(17));
            assert_eq!(
                (found.from, found.to),
                (Oid::new(&*a).ok(), Oid::new(&*b).expect("an id"))
            );
        }
        assert_eq!(head_move("no log\n", 0), None);
    }

    #[test]
    fn a_move_says_whether_it_made_the_commit() {
        let check =
            |message: &str, expected| assert_eq!(parse_arrival(message), expected, "{message}");
        for made in [
            "commit: x",
            "commit (initial): x",
            "commit (amend): x",
            "cherry-pick: x",
            "revert: x",
            "rebase (pick): x",
            "merge side: Merge made by the 'ort' strategy.",
            "pull up main: Merge made by the 'ort' strategy.",
        ] {
            check(made, Some(Arrival::Made));
        }
        for moved in [
            "pull up main: Fast-forward",
            "merge side: Fast-forward",
            "reset: moving to HEAD~1",
            "checkout: moving from a to b",
            "clone: from up",
            "rebase (start): checkout main",
        ] {
            check(moved, Some(Arrival::Moved));
        }
        for silent in ["", "rebase (finish): returning to refs/heads/a", "anything"] {
            check(silent, None);
        }
    }
}
