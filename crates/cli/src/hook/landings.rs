//! Commits that landed while nobody but the shell was there: it added a line to the note of the hook before the commit.

use std::fs;
use std::path::Path;

use siglum_domain::intake::{Intake, Landed, LandedBy, Matter, Rewritten, VERSION};
use siglum_gitstore::Repo;

use super::commit_note::{self, LandedNote};
use super::delivery::Delivery;
use super::rebase;
use crate::home::{Home, repository_spool};

/// From a hook: tells the ledger of them, so that whatever this hook says comes after.
pub fn send(delivery: &mut Delivery, repo: &Repo) {
    for note in commit_note::landed(&repo.siglum_dir(), delivery.home.dir()) {
        let mut told = intakes(&repo.git_dir, &note).into_iter();
        if told.all(|intake| delivery.deliver(&intake, Some(repo)).is_ok()) {
            // One that stays is told again, which is once.
            let _ = fs::remove_file(&note.path);
        }
    }
}

/// From the worker or a command: has them wait in the spool of the repository, and removes the notes of commits that were
/// not made.
pub fn spool(home: &Home, siglum_dir: &Path) {
    let spool = repository_spool(siglum_dir);
    let git_dir = siglum_dir.parent().unwrap_or(siglum_dir);
    for note in commit_note::landed(siglum_dir, home.dir()) {
        let mut told = intakes(git_dir, &note).into_iter();
        if told.all(|intake| spool.put(&intake).is_ok()) {
            let _ = fs::remove_file(&note.path);
        }
    }
    commit_note::drop_dead(siglum_dir);
}

/// What the hook after the commit would have said: that it landed, and what it amended. Nothing where git's list of the
/// moves of HEAD was cut; the sweep finds the commit by its trailer then.
fn intakes(git_dir: &Path, note: &LandedNote) -> Vec<Intake> {
    let announced = &note.announced;
    let (scene, place) = (&announced.scene, &announced.scene.place);
    let repo = Repo {
        place: place.clone(),
        git_dir: git_dir.to_owned(),
    };
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
    let mut told = vec![intake(landing(Landed {
        place: place.clone(),
        commit: landed.to.clone(),
        by: LandedBy::Commit,
        scene: scene.clone(),
        moves: vec![(landed.from.clone(), landed.to.clone())],
    }))];
    if let Some(old) = landed.from.filter(|_| landed.is_amend) {
        let rewritten = rebase::amended(&repo, at, scene.clone(), (old, landed.to));
        told.extend(rewriting(rewritten).map(intake));
    }
    told
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
