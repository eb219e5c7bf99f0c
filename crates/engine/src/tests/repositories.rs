//! What a worker finds out of repositories, and what git is asked for it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use siglum_domain::RepositoryId;
use siglum_domain::intake::Place;
use siglum_gitstore::{ObjectStore, marks, set_marks, siglum_dir};
use siglum_ledger::{Durability, RepositoryRecord, write};
use uuid::Uuid;

use super::stage::*;
use super::sweep::Repo;
use crate::World;
use crate::identity::repositories::{clones, note_identity, note_place, set_clone_of};

fn id(n: u128) -> RepositoryId {
    RepositoryId::from_uuid(Uuid::from_u128(n))
}

/// A git that leaves a line for each time that it is started.
fn counted(stage: &Stage) -> (PathBuf, PathBuf) {
    let (git, log) = (stage.dir.path().join("git"), stage.dir.path().join("log"));
    let script = format!("#!/bin/sh\necho x >>'{}'\nexec git \"$@\"\n", log.display());
    fs::write(&git, script).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    (git, log)
}

/// How often git was started when a worker looked at a repository.
fn starts(stage: &mut Stage, repository: &RepositoryRecord) -> usize {
    let (git, log) = counted(stage);
    let _ = fs::remove_file(&log);
    let objects = stage.objects();
    stage.play(|world, ledger| {
        let world = World {
            here: world.here,
            git,
            objects: ObjectStore::open(objects).unwrap(),
        };
        note_identity(&world, ledger, repository).unwrap();
    });
    fs::read_to_string(log).unwrap_or_default().lines().count()
}

fn noted(stage: &mut Stage, common_dir: &str, worktree: &str, n: u128) -> RepositoryRecord {
    let place = Place {
        common_dir: common_dir.to_owned(),
        worktree: worktree.to_owned(),
    };
    write(&mut stage.ledger, Durability::Process, |tx| {
        tx.note_place(&place, id(n), at(0))
    })
    .unwrap();
    stage.read(|tx| tx.repository(common_dir)).unwrap()
}

#[test]
fn git_is_run_once_in_the_life_of_a_repository() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let root = repo.head();
    repo.commit("second", 5);
    let dir = Path::new(&repo.place.common_dir);
    fs::create_dir(dir.join("siglum")).unwrap();
    let before = stage.repository();
    assert!(starts(&mut stage, &before) > 0);
    let known = stage.repository();
    assert_eq!(known.identity.roots, [root]);
    assert_eq!(marks(dir), [known.id]);
    assert_eq!(starts(&mut stage, &known), 0);
    // Its remote is read without git.
    repo.git(&["remote", "add", "origin", "git@host:o/r.git"]);
    assert_eq!(starts(&mut stage, &known), 0);
    let remote = stage.repository().identity.remote;
    assert_eq!(remote.as_deref(), Some("host/o/r"));
}

#[test]
fn git_is_run_in_no_other_directory_than_that_of_a_repository() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let outer = &repo.place.worktree;
    // Its git directory is gone, or a spool is all that is left of it: git would take the one around it.
    for (n, left) in [(8, ""), (9, ".git/siglum")] {
        let lib = format!("{outer}/lib{n}");
        fs::create_dir_all(format!("{lib}/{left}")).unwrap();
        let inner = noted(&mut stage, &format!("{lib}/.git"), &lib, n);
        assert_eq!(starts(&mut stage, &inner), 0, "{lib}");
        let now = stage.read(|tx| tx.repository(&inner.common_dir));
        assert_eq!(now.unwrap(), inner);
    }
    // One that is known to a gateway by its name.
    let named = noted(&mut stage, "host/o/r", "host/o/r", 10);
    assert_eq!(starts(&mut stage, &named), 0);
}

#[test]
fn a_look_overwrites_nothing_that_changed_meanwhile() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let before = stage.repository();
    let other = noted(&mut stage, "/other/.git", "/other", 8);
    set_clone_of(&mut stage.ledger, before.id, other.id).unwrap();
    assert!(starts(&mut stage, &before) > 0);
    let now = stage
        .read(|tx| tx.repository(&repo.place.common_dir))
        .unwrap();
    assert_eq!(now.identity.clone_of, Some(other.id));
    assert_eq!(now.identity.roots.len(), 1);
    let both = stage.read(|tx| clones(tx, &[other.id]));
    assert_eq!(both, [other.id, now.id]);
    set_clone_of(&mut stage.ledger, now.id, now.id).unwrap();
    assert_eq!(stage.read(|tx| clones(tx, &[other.id])), [other.id]);
    // What was found in a place is not of a repository that has left it.
    write(&mut stage.ledger, Durability::Process, |tx| {
        tx.move_repository(before.id, "/elsewhere/.git", &[])
    })
    .unwrap();
    let newcomer = noted(&mut stage, &repo.place.common_dir, &repo.place.worktree, 9);
    repo.git(&["remote", "add", "origin", "git@host:o/r.git"]);
    starts(&mut stage, &before);
    let found = stage.read(|tx| tx.repositories());
    let remotes: Vec<_> = found.iter().map(|r| &r.identity.remote).collect();
    assert_eq!(remotes, [&None, &None, &None]);
    assert_eq!(newcomer.id, id(9));
}

#[test]
fn another_repository_in_a_place_is_no_clone_and_takes_no_mark() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let before = stage.repository();
    starts(&mut stage, &before);
    let known = stage.repository();
    fs::remove_dir_all(&repo.place.worktree).unwrap();
    fs::create_dir(&repo.place.worktree).unwrap();
    repo.git(&["init", "-q", "-b", "main"]);
    starts(&mut stage, &known);
    assert_eq!(stage.repository(), known);
    repo.commit("other", 7);
    fs::create_dir(siglum_dir(Path::new(&repo.place.common_dir))).unwrap();
    starts(&mut stage, &known);
    assert_eq!(stage.read(|tx| tx.repository(&repo.place.common_dir)), None);
    assert!(marks(Path::new(&repo.place.common_dir)).is_empty());
    let apart = stage.read(|tx| tx.repositories()).remove(0);
    assert_eq!((apart.id, &apart.identity), (known.id, &known.identity));
}

#[test]
fn a_mark_of_nobody_here_moves_nothing() {
    let mut stage = Stage::new();
    let repo = Repo::new(&mut stage);
    let dir = Path::new(&repo.place.common_dir);
    fs::create_dir(dir.join("siglum")).unwrap();
    let own = stage.repository();
    let named = noted(&mut stage, "host/o/r", "host/o/r", 8);
    // Of another ledger, and of one that has no place on this machine.
    set_marks(dir, &[id(7), named.id]).unwrap();
    let ids = Ids::default();
    let note = |stage: &mut Stage| {
        write(&mut stage.ledger, Durability::Process, |tx| {
            note_place(tx, &ids, &repo.place, at(1))
        })
        .unwrap()
    };
    assert_eq!(note(&mut stage), own.id);
    // One that may still be where it was seen last has not come here.
    let there = stage.dir.path().join("there/.git");
    fs::create_dir_all(there.join("siglum/repository")).unwrap();
    let there = noted(&mut stage, there.to_str().unwrap(), "/there", 9);
    set_marks(dir, &[there.id]).unwrap();
    assert_eq!(note(&mut stage), own.id);
    fs::remove_dir_all(&there.common_dir).unwrap();
    assert_eq!(note(&mut stage), there.id);
    assert_eq!(stage.read(|tx| tx.repositories()).len(), 3);
}
