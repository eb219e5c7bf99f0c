//! What the hooks of git see of a rebase.
//!
//! While it runs by itself it makes commits by the dozen, and the hooks only note which git process made which:
//! `post-rewrite` settles the batch. While it stands still, whoever commits or amends is seen as ever. Several
//! processes may share one rebase, since it stops at conflicts and whoever continues it may be somebody else.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use siglum_domain::command::git_subcommand;
use siglum_domain::intake::{RewriteRun, Rewritten, Scene};
use siglum_domain::{CheckpointId, Oid, Timestamp};
use siglum_gitstore::{HeadRead, Repo};
use siglum_platform::commands::{self, Command};

use super::scene;
use crate::clock::Ids;
use crate::platform::regular_file;
use crate::{clock, env};

/// What git calls an amend where it tells of rewritten commits.
pub const AMEND: &str = "amend";
/// How far above a hook its git is looked for: managers of hooks put a few programs in between.
const ABOVE_MOST: usize = 8;
/// The files with notes, each of one git process. Git removes their directory with the rebase.
const NOTES: &str = "siglum-run-";
/// The commits that others took the place of.
const REPLACED: &str = "siglum-replaced";
/// How much of such a file is read, in bytes.
const NOTES_MOST: u64 = 16 << 20;
/// How much is read of the file with which git says what it picks, in bytes.
const PICKED_MOST: u64 = 1 << 10;

/// The first line of a file with notes; the commits follow, one a line.
#[derive(Serialize, Deserialize)]
struct NotesHead {
    at: Timestamp,
    scene: Scene,
}

/// Tells whether a rebase is under way and the git above this hook is part of it: not one that somebody
/// starts while it stands still, nor one that an `exec` line starts.
pub fn runs_by_itself(repo: &Repo) -> bool {
    if !repo.rebasing() {
        return false;
    }
    let gits = gits_above();
    let commands: Vec<&str> = gits.iter().filter_map(|git| subcommand(git)).collect();
    if commands.contains(&"rebase") {
        return true;
    }
    let known = |command: &&str| ["commit", "merge", "cherry-pick", "revert"].contains(command);
    !commands.iter().any(known) && is_picking(repo)
}

/// Where nothing is to be had of the git above, as below an alias or without `/proc`: whether a rebase picks a
/// commit just now.
fn is_picking(repo: &Repo) -> bool {
    let exists = |path: &str| repo.git_dir.join(path).exists();
    let action = env::text("GIT_REFLOG_ACTION").unwrap_or_default();
    action.starts_with("rebase")
        || (exists("CHERRY_PICK_HEAD") && !exists("rebase-merge/stopped-sha"))
}

/// The git processes above this hook, the innermost first: a rebase starts `git commit` for messages that are edited.
fn gits_above() -> Vec<Command> {
    let mut above = commands::above(ABOVE_MOST).into_iter();
    let first = above.by_ref().find(is_git);
    let rest = above.take_while(is_git);
    first.into_iter().chain(rest).collect()
}

fn is_git(command: &Command) -> bool {
    command.executable.as_deref() == Some("git")
}

/// The first argument of git that is no option of its own.
fn subcommand(git: &Command) -> Option<&str> {
    git_subcommand(&mut git.arguments.iter().skip(1).map(String::as_str))
}

/// Whether the git above this hook began the rebase that it ends: nobody else had a part in it.
fn began_here() -> bool {
    let continues = |argument: &String| ["--continue", "--skip"].contains(&argument.as_str());
    let gits = gits_above();
    let rebase = gits.iter().find(|git| subcommand(git) == Some("rebase"));
    rebase.is_some_and(|git| !git.arguments.iter().any(continues))
}

/// Notes that the git process above this hook made the commit at HEAD, and of which one.
pub fn note_commit(repo: &Repo) {
    let HeadRead::Commit(commit) = repo.head() else {
        return;
    };
    let Some(path) = gits_above().last().and_then(|git| notes_of(repo, git)) else {
        return;
    };
    let picked = repo.git_dir.join("CHERRY_PICK_HEAD");
    let picked = regular_file::read_text(&picked, PICKED_MOST).unwrap_or_default();
    // Without the note nobody is known to have made the commit.
    let _ = append(repo, &path, &format!("{commit} {}", picked.trim()));
}

/// Notes that other commits took the place of these, which the rebase had made.
pub fn note_replaced(repo: &Repo, pairs: &[(Oid, Oid)]) {
    let lines: String = pairs.iter().map(|(old, _)| format!("{old}\n")).collect();
    let Some(path) = directory(repo).map(|dir| dir.join(REPLACED)) else {
        return;
    };
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    if let Ok(mut file) = regular_file::open_own(&path, &mut options) {
        // Without it a commit that nothing leads to any more is recorded, too.
        let _ = file.write_all(lines.as_bytes());
    }
}

fn notes_of(repo: &Repo, git: &Command) -> Option<PathBuf> {
    let process = siglum_platform::process(git.pid)?;
    let name = format!("{NOTES}{}-{}", process.pid, process.start);
    Some(directory(repo)?.join(name))
}

/// Where git keeps the state of a rebase, and the notes are. It makes a directory there, never a link.
fn directory(repo: &Repo) -> Option<PathBuf> {
    let dir = repo.git_dir.join("rebase-merge");
    let is_directory = dir.symlink_metadata().is_ok_and(|at| at.is_dir());
    is_directory.then_some(dir)
}

fn append(repo: &Repo, path: &Path, line: &str) -> std::io::Result<()> {
    let known = regular_file::open_own(path, OpenOptions::new().append(true));
    let mut file = match known {
        Ok(file) => file,
        Err(_) => {
            let head = NotesHead {
                at: clock::now(),
                scene: scene::observe(repo, "rebase", None),
            };
            let mut options = OpenOptions::new();
            options.append(true).create(true).mode(0o600);
            let mut file = regular_file::open_own(path, &mut options)?;
            writeln!(file, "{}", serde_json::to_string(&head)?)?;
            file
        }
    };
    file.write_all(format!("{line}\n").as_bytes())
}

/// What one git process made of a rebase.
struct Notes {
    head: NotesHead,
    /// The commits that it made, each with the one that it picked for it.
    commits: Vec<(Oid, Option<Oid>)>,
}

fn notes(repo: &Repo) -> Vec<Notes> {
    let Some(Ok(files)) = directory(repo).map(fs::read_dir) else {
        return Vec::new();
    };
    let is_notes = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(NOTES)
    };
    let paths = files.flatten().map(|file| file.path()).filter(is_notes);
    let mut notes: Vec<Notes> = paths.filter_map(|path| read_notes(&path)).collect();
    notes.sort_by_key(|n| (n.head.at, n.head.scene.checkpoint));
    notes
}

fn read_notes(path: &Path) -> Option<Notes> {
    let text = read(path)?;
    let mut lines = text.lines();
    let head = serde_json::from_str(lines.next()?).ok()?;
    let commit = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let made = Oid::new(words.next()?).ok()?;
        Some((made, words.next().and_then(|old| Oid::new(old).ok())))
    };
    Some(Notes {
        head,
        commits: lines.filter_map(commit).collect(),
    })
}

fn read(path: &Path) -> Option<String> {
    regular_file::read_own_text(path, NOTES_MOST).ok()
}

/// Takes out the commits that the rebase itself made a moment ago: they are no origins, and what they were made of is
/// told when the rebase ends.
pub fn without_its_own(repo: &Repo, mut pairs: Vec<(Oid, Oid)>) -> Vec<(Oid, Oid)> {
    let notes = notes(repo);
    let made = |commit: &Oid| {
        notes
            .iter()
            .any(|n| n.commits.iter().any(|(c, _)| c == commit))
    };
    let (own, rest) = pairs.drain(..).partition::<Vec<_>, _>(|(old, _)| made(old));
    note_replaced(repo, &own);
    rest
}

/// What `post-rewrite` would tell of an amend, by the process that the scene of the commit is of.
pub fn amended(repo: &Repo, at: Timestamp, scene: Scene, pair: (Oid, Oid)) -> Rewritten {
    let scene = Scene {
        checkpoint: CheckpointId::mint(&Ids),
        message: AMEND.to_owned(),
        ..scene
    };
    Rewritten {
        place: repo.place.clone(),
        command: AMEND.to_owned(),
        runs: vec![RewriteRun {
            at,
            scene,
            commits: vec![pair.1.clone()],
        }],
        pairs: vec![pair],
    }
}

/// What `post-rewrite` tells: the pairs, and which git process made the new commits, as far as it is known.
pub fn rewritten(repo: &Repo, command: String, mut pairs: Vec<(Oid, Oid)>) -> Rewritten {
    let mut runs = Vec::new();
    if command == "rebase" {
        let replaced = directory(repo).and_then(|dir| read(&dir.join(REPLACED)));
        let replaced = replaced.unwrap_or_default();
        for notes in notes(repo) {
            let stays = |commit: &Oid| !replaced.lines().any(|line| line == commit.as_str());
            let commits = notes
                .commits
                .into_iter()
                .filter(|(commit, _)| stays(commit));
            let (commits, picked): (Vec<_>, Vec<_>) = commits.unzip();
            for (new, old) in commits.iter().zip(picked) {
                // Git forgets the commit of a stop behind which somebody committed more.
                if let Some(old) = old
                    && !pairs.iter().any(|(_, known)| known == new)
                {
                    pairs.push((old, new.clone()));
                }
            }
            runs.push(RewriteRun {
                at: notes.head.at,
                scene: notes.head.scene,
                commits,
            });
        }
    }
    let noted = |commit: &Oid| runs.iter().any(|run| run.commits.contains(commit));
    let mut rest: Vec<Oid> = pairs.iter().map(|(_, new)| new.clone()).collect();
    rest.sort();
    rest.dedup();
    rest.retain(|commit| !noted(commit));
    if !rest.is_empty() && (command != "rebase" || began_here()) {
        runs.push(RewriteRun {
            at: clock::now(),
            scene: scene::observe(repo, &command, None),
            commits: rest,
        });
    }
    Rewritten {
        place: repo.place.clone(),
        command,
        pairs,
        runs,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subcommand_of_git_stands_behind_its_options() {
        let git = |line: &str| Command {
            pid: 1,
            executable: Some("git".to_owned()),
            arguments: line.split(' ').map(str::to_owned).collect(),
        };
        for (line, expected) in [
            ("git rebase main", Some("rebase")),
            ("git -c rebase.x=y -C rebase commit -m x", Some("commit")),
            ("/usr/libexec/git --no-pager commit --amend", Some("commit")),
            ("git --git-dir=x rb", Some("rb")),
            ("git", None),
        ] {
            assert_eq!(subcommand(&git(line)), expected, "{line}");
        }
    }
}
