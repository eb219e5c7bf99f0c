//! Commits that landed while nobody but the shell was there: it added a line to the note of the hook before the commit.

use std::fs;
use std::path::Path;

use siglum_domain::intake::{Intake, Landed, LandedBy, Matter, Place, Rewritten, VERSION};
use siglum_domain::process::Chain;
use siglum_gitstore::{Repo, discover};

use super::commit_note::{self, LandedNote};
use super::delivery::Delivery;
use super::rebase;
use crate::home::{Home, repository_spool};

/// How many of them wait for others to come by before a commit starts the worker.
const WAIT_MOST: usize = 16;

/// From the hook of an agent: tells the ledger of them, so that whatever this hook says comes after.
pub fn send(delivery: &mut Delivery, repo: &Repo) {
    for path in commit_note::landed(&repo.siglum_dir()) {
        send_one(delivery, repo, &path);
    }
}

/// From the first hook of a commit: tells of the one that the same git made before, and leaves others to others.
pub fn send_own(delivery: &mut Delivery, repo: &Repo, chain: &Chain) {
    let waiting = commit_note::landed(&repo.siglum_dir());
    if waiting.len() > WAIT_MOST {
        delivery.want_worker();
    }
    if let Some((_, git)) = chain.git_process()
        && let Some(own) = waiting
            .iter()
            .find(|path| commit_note::is_of(path, git.identity.pid))
    {
        send_one(delivery, repo, own);
    }
}

fn send_one(delivery: &mut Delivery, repo: &Repo, path: &Path) {
    let home = delivery.home.dir().to_owned();
    // Notes are of the main checkout, wherever this hook is run.
    take_up(path, repo.common_dir(), &home, |intake| {
        delivery.deliver(intake, Some(repo)).is_ok()
    });
}

/// From the worker or a command: has them wait where all else waits, in the order of what was seen, and removes the notes
/// of commits that were not made.
pub fn spool(home: &Home, siglum_dir: &Path) {
    // Of a home that was moved away nobody makes another one.
    if !home.dir().is_dir() {
        return;
    }
    let (spool, own) = (home.spool(), repository_spool(siglum_dir));
    let git_dir = siglum_dir.parent().unwrap_or(siglum_dir);
    for path in commit_note::landed(siglum_dir) {
        take_up(&path, git_dir, home.dir(), |intake| {
            spool.put(intake).is_ok() || own.put(intake).is_ok()
        });
    }
    commit_note::drop_dead(siglum_dir);
}

/// Hands on what a note says, and removes it unless some of that was lost, or the same git has left the note of its next
/// commit there meanwhile. What is told again is told once.
fn take_up(path: &Path, git_dir: &Path, home: &Path, hand_on: impl FnMut(&Intake) -> bool) {
    let Some(note) = LandedNote::read(path, home) else {
        return;
    };
    let all_handed_on = intakes(git_dir, &note).iter().all(hand_on);
    if all_handed_on && note.is_at(path) {
        let _ = fs::remove_file(path);
    }
}

/// What the hook after the commit would have said: that it landed, and what it amended. Nothing where git's list of the
/// moves of HEAD was cut, or the checkout cannot be found; the sweep finds the commit by its trailer then.
fn intakes(git_dir: &Path, note: &LandedNote) -> Vec<Intake> {
    let announced = &note.announced;
    let scene = &announced.scene;
    let Some(repo) = place_now(git_dir, &scene.place) else {
        return Vec::new();
    };
    let place = &repo.place;
    let moves = repo.head_moves_since(announced.log);
    let Some(landed) = moves.into_iter().find(|m| m.makes && m.from == scene.head) else {
        return Vec::new();
    };
    // The times of files are a few milliseconds behind.
    let at = note.at.max(announced.at);
    let intake = |(key, matter)| Intake {
        version: VERSION,
        key,
        at,
        matter,
    };
    let mut intakes = vec![intake(landing(Landed {
        place: place.clone(),
        commit: landed.to.clone(),
        by: LandedBy::Commit,
        scene: scene.clone(),
        moves: vec![(landed.from.clone(), landed.to.clone())],
    }))];
    if let Some(old) = landed.from.filter(|_| landed.is_amend) {
        let rewritten = rebase::amended(&repo, at, scene.clone(), (old, landed.to));
        intakes.extend(rewriting(rewritten).map(intake));
    }
    intakes
}

/// The checkout of a note, also where it was moved meanwhile.
fn place_now(git_dir: &Path, then: &Place) -> Option<Repo> {
    if git_dir == Path::new(&then.common_dir) {
        return Some(Repo {
            place: then.clone(),
            git_dir: git_dir.to_owned(),
        });
    }
    discover(git_dir.parent()?, None, None).filter(|repo| repo.git_dir == git_dir)
}

/// A landing, by the key that makes it one however often it is told.
pub fn landing(landed: Landed) -> (String, Matter) {
    let key = format!("landed:{}:{}", landed.place.common_dir, landed.commit);
    (key, Matter::Landed(landed))
}

/// A rewriting, by its key; nothing where nothing was rewritten.
pub fn rewriting(rewritten: Rewritten) -> Option<(String, Matter)> {
    let (_, last) = rewritten.pairs.last()?;
    let key = format!("rewritten:{}:{last}", rewritten.place.common_dir);
    Some((key, Matter::Rewritten(rewritten)))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use siglum_domain::Timestamp;

    use super::super::commit_note::{Announced, CommitNote};
    use super::super::scene;
    use super::*;

    /// Leaves the note of a commit that landed at this time, for a home in this directory.
    fn leave(path: &Path, dir: &Path, seconds: u64) {
        let place = Place {
            common_dir: dir.display().to_string(),
            worktree: dir.display().to_string(),
        };
        let repo = Repo {
            place,
            git_dir: dir.to_owned(),
        };
        let scene = scene::observe(&repo, "message", None);
        let note = CommitNote {
            git: "git".to_owned(),
            head: None,
            checkpoint: None,
            message: None,
            template: None,
            comment: None,
            announced: Some(Announced {
                home: dir.to_owned(),
                at: Timestamp::from_seconds(1),
                scene,
                log: 0,
            }),
        };
        fs::write(path, serde_json::to_string(&note).unwrap() + "\n").unwrap();
        let file = fs::File::open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
    }

    /// A git that makes several commits leaves the note of each in the same place.
    #[test]
    fn the_note_of_the_next_commit_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let moved = format!("{one} {two} A <a@example.com> 1 +0000\tcommit: x\n");
        fs::write(dir.path().join("HEAD"), &one).unwrap();
        fs::create_dir(dir.path().join("logs")).unwrap();
        fs::write(dir.path().join("logs/HEAD"), moved).unwrap();
        let note = dir.path().join("7");
        leave(&note, dir.path(), 1);
        let mut handed_on = 0;
        take_up(&note, dir.path(), dir.path(), |_| {
            handed_on += 1;
            leave(&note, dir.path(), 2);
            true
        });
        assert!(note.exists(), "the note of the next commit");
        take_up(&note, dir.path(), dir.path(), |_| {
            handed_on += 1;
            true
        });
        assert!(!note.exists());
        assert_eq!(handed_on, 2);
    }
}
