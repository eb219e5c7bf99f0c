//! What waits in the notes of commits: that they landed while nobody but the shell was there, which added a line to the
//! note of the hook before the commit, and intents for which that hook needed no ledger.

use std::fs;
use std::path::Path;

use siglum_domain::intake::{Intake, Landed, LandedBy, Matter, Place, Rewritten, Scene, VERSION};
use siglum_domain::process::Chain;
use siglum_domain::{CheckpointId, Timestamp};
use siglum_gitstore::{Repo, discover};
use siglum_ledger::{Ledger, read};

use super::commit_note::{self, NotedCommit, Stage};
use super::delivery::Delivery;
use super::rebase;
use crate::home::{Home, repository_spool};

/// How many of them wait for others to come by before a commit starts the worker.
const WAIT_MOST: usize = 16;

/// From the hook of an agent: tells the ledger of commits that landed or were given up, so that whatever this hook says
/// comes after.
pub fn send(delivery: &mut Delivery, repo: &Repo) {
    for path in commit_note::in_order(&repo.siglum_dir()) {
        send_one(delivery, repo, &path, is_over);
    }
}

/// From the first hook of a commit: tells of the one that the same git made before, or began, and leaves others to others.
pub fn send_own(delivery: &mut Delivery, repo: &Repo, chain: &Chain) {
    if commit_note::notes(&repo.siglum_dir()).len() > WAIT_MOST {
        delivery.want_worker();
        // The worker looks where the ledger knows repositories to be, and this one may have been moved or copied since.
        if let Some(oldest) = commit_note::in_order(&repo.siglum_dir()).first() {
            send_one(delivery, repo, oldest, is_over);
        }
    }
    if let Some((_, git)) = chain.git_process()
        && let Some(own) = commit_note::path(repo, &git.identity)
    {
        send_one(delivery, repo, &own, |_| true);
    }
}

/// From a hook after the commit: tells of an intent that only the note of its git has, or where that git died already, of
/// all that there are. Tells whether the note is needed no more.
pub fn send_intent(delivery: &mut Delivery, repo: &Repo, chain: &Chain) -> bool {
    let Some((_, git)) = chain.git_process() else {
        for path in commit_note::in_order(&repo.siglum_dir()) {
            send_one(delivery, repo, &path, |_| true);
        }
        return true;
    };
    commit_note::path(repo, &git.identity)
        .is_none_or(|own| send_one(delivery, repo, &own, |note| note.announced.untold))
}

fn send_one(
    delivery: &mut Delivery,
    repo: &Repo,
    path: &Path,
    is_due: impl FnOnce(&NotedCommit) -> bool,
) -> bool {
    let home = delivery.home.dir().to_owned();
    // Notes are of the main checkout, wherever this hook is run.
    take_up(path, repo.common_dir(), &home, is_due, |intake| {
        delivery.deliver(intake, Some(repo)).is_ok()
    })
}

/// From the worker or a command: has them wait where all else waits, in the order of what was seen, and removes the notes
/// of commits that were not made. The intent of a commit under way is told, too, unless it was before: what else is
/// looked at may have to wait for that commit.
pub fn spool(home: &Home, siglum_dir: &Path, mut is_told: impl FnMut(CheckpointId) -> bool) {
    // Of a home that was moved away nobody makes another one.
    if !home.dir().is_dir() {
        return;
    }
    let (spool, own) = (home.spool(), repository_spool(siglum_dir));
    let git_dir = siglum_dir.parent().unwrap_or(siglum_dir);
    for path in commit_note::in_order(siglum_dir) {
        let is_due = |note: &NotedCommit| {
            let announced = &note.announced;
            is_over(note) || announced.untold && !is_told(announced.scene.checkpoint)
        };
        take_up(&path, git_dir, home.dir(), is_due, |intake| {
            spool.put(intake).is_ok() || own.put(intake).is_ok()
        });
    }
    commit_note::drop_dead(siglum_dir, home.dir());
}

/// Whether the ledger has the intent of this checkpoint.
pub fn is_told(ledger: &mut dyn Ledger, checkpoint: CheckpointId) -> bool {
    read(ledger, |tx| tx.intent(checkpoint)).is_ok_and(|intent| intent.is_some())
}

fn is_over(note: &NotedCommit) -> bool {
    note.stage != Stage::UnderWay
}

/// Hands on what a note says, if it is due, and removes it once its commit is over, unless some of that was lost, or the
/// same git has left the note of its next commit there meanwhile. What is told again is told once. Tells whether nothing
/// was lost.
fn take_up(
    path: &Path,
    git_dir: &Path,
    home: &Path,
    is_due: impl FnOnce(&NotedCommit) -> bool,
    hand_on: impl FnMut(&Intake) -> bool,
) -> bool {
    let Some(note) = NotedCommit::read(path, home).filter(is_due) else {
        return true;
    };
    let all_handed_on = intakes(git_dir, &note).iter().all(hand_on);
    if all_handed_on && is_over(&note) && note.is_at(path) {
        let _ = fs::remove_file(path);
    }
    all_handed_on
}

/// What the hooks of a commit would have said by now.
fn intakes(git_dir: &Path, note: &NotedCommit) -> Vec<Intake> {
    let announced = &note.announced;
    let repo = place_now(git_dir, &announced.scene.place);
    let mut intakes = Vec::new();
    if announced.untold {
        let mut scene = announced.scene.clone();
        scene.place = match &repo {
            Some(repo) => repo.place.clone(),
            // A note may have come with its repository, and speaks of no other one.
            None => Place {
                common_dir: git_dir.to_string_lossy().into_owned(),
                ..scene.place
            },
        };
        intakes.push(intake(announced.at, intent(scene)));
    }
    if let Some(repo) = repo.filter(|_| note.stage == Stage::Landed) {
        intakes.extend(landed_intakes(&repo, note));
    }
    intakes
}

/// What the hook after the commit would have said: that it landed, and what it amended. Nothing where git's list of the
/// moves of HEAD was cut; the sweep finds the commit by its trailer then.
fn landed_intakes(repo: &Repo, note: &NotedCommit) -> Vec<Intake> {
    let announced = &note.announced;
    let scene = Scene {
        place: repo.place.clone(),
        ..announced.scene.clone()
    };
    let moves = repo.head_moves_since(announced.log);
    let Some(landed) = moves.into_iter().find(|m| m.makes && m.from == scene.head) else {
        return Vec::new();
    };
    // The times of files are a few milliseconds behind.
    let at = note.at.max(announced.at);
    let mut intakes = vec![intake(
        at,
        landing(Landed {
            place: repo.place.clone(),
            commit: landed.to.clone(),
            by: LandedBy::Commit,
            scene: scene.clone(),
            moves: vec![(landed.from.clone(), landed.to.clone())],
        }),
    )];
    if let Some(old) = landed.from.filter(|_| landed.is_amend) {
        let rewritten = rebase::amended(repo, at, scene, (old, landed.to));
        intakes.extend(rewriting(rewritten).map(|rewriting| intake(at, rewriting)));
    }
    intakes
}

fn intake(at: Timestamp, (key, matter): (String, Matter)) -> Intake {
    Intake {
        version: VERSION,
        key,
        at,
        matter,
    }
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

/// An intent, by the key that makes it one however often it is told.
pub fn intent(scene: Scene) -> (String, Matter) {
    (
        format!("intent:{}", scene.checkpoint),
        Matter::Intent(scene),
    )
}

/// A landing, by such a key.
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
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use super::super::commit_note::{Announced, CommitNote};
    use super::super::scene;
    use super::*;

    /// The note of a commit, for a home in this directory.
    fn note(dir: &Path, git: &str, untold: bool) -> CommitNote {
        let place = Place {
            common_dir: dir.display().to_string(),
            worktree: dir.display().to_string(),
        };
        let repo = Repo {
            place,
            git_dir: dir.to_owned(),
        };
        let scene = scene::observe(&repo, "message", None);
        CommitNote {
            git: git.to_owned(),
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
                untold,
            }),
        }
    }

    /// Leaves the note of a commit that landed at this time.
    fn leave(path: &Path, dir: &Path, seconds: u64) {
        let note = note(dir, "git", false);
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
        take_up(&note, dir.path(), dir.path(), is_over, |_| {
            handed_on += 1;
            leave(&note, dir.path(), 2);
            true
        });
        assert!(note.exists(), "the note of the next commit");
        take_up(&note, dir.path(), dir.path(), is_over, |_| {
            handed_on += 1;
            true
        });
        assert!(!note.exists());
        assert_eq!(handed_on, 2);
    }

    /// Whoever makes an archive of a repository can write its notes.
    #[test]
    fn a_note_speaks_of_its_own_repository_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (git_dir, path) = (dir.path().join(".git"), dir.path().join("7"));
        let mut note = note(dir.path(), "git", true);
        if let Some(announced) = &mut note.announced {
            announced.scene.place.common_dir = "/another/.git".to_owned();
        }
        fs::write(&path, serde_json::to_vec(&note).unwrap()).unwrap();
        let mut told = Vec::new();
        let hand_on = |intake: &Intake| {
            if let Matter::Intent(scene) = &intake.matter {
                told.push(PathBuf::from(&scene.place.common_dir));
            }
            true
        };
        assert!(take_up(&path, &git_dir, dir.path(), |_| true, hand_on));
        assert_eq!(told, [git_dir]);
    }

    /// The intent is told before the note of a git goes that died without a commit, and stays where that cannot be.
    #[test]
    fn a_note_with_an_intent_goes_when_that_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let siglum_dir = dir.path().join("siglum");
        let commits = siglum_dir.join(siglum_gitstore::hooks::COMMITS);
        fs::create_dir_all(&commits).unwrap();
        let path = commits.join("7");
        let mut git = siglum_platform::own().unwrap();
        let leave = |git: &str| {
            let note = note(dir.path(), git, true);
            fs::write(&path, serde_json::to_vec(&note).unwrap()).unwrap();
        };
        let take_up = |told: &mut Vec<String>, works: bool| {
            take_up(
                &path,
                dir.path(),
                dir.path(),
                |_| true,
                |intake| {
                    told.push(intake.key.clone());
                    works
                },
            )
        };
        let mut told = Vec::new();
        leave(&git.key());
        assert!(take_up(&mut told, true));
        assert!(path.exists(), "its git lives");
        git.start += 1;
        leave(&git.key());
        assert!(!take_up(&mut told, false), "nothing could be written");
        commit_note::drop_dead(&siglum_dir, dir.path());
        assert!(path.exists());
        assert!(take_up(&mut told, true));
        assert!(!path.exists());
        assert_eq!(told.len(), 3);
        assert!(
            told.iter().all(|key| key.starts_with("intent:")),
            "{told:?}"
        );
    }
}
