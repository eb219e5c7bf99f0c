//! A ledger that is gone, emptied or another one is never taken for a new one: nothing begins in its place by itself, what
//! hooks see waits, and it comes in after `init` or `restore`.

use std::fs;
use std::path::{Path, PathBuf};

use super::hooks::{recovered, work};
use crate::harness::{Agent, Ran, Repo, World, until};

/// What is said of a lost ledger, and how it is lost.
type Loss = (&'static str, fn(&Path));

/// Ways to lose a ledger.
const WAYS: [Loss; 3] = [
    ("is gone", |home| {
        for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
            let _ = fs::remove_file(home.join(name));
        }
    }),
    // The log of the ledger that was there stays, and belongs to no other one.
    ("is gone", |home| {
        fs::remove_file(home.join("ledger.db")).unwrap();
    }),
    ("is empty", |home| {
        fs::write(home.join("ledger.db"), "").unwrap();
    }),
];

fn bytes(world: &World) -> u64 {
    fs::metadata(world.siglum_home().join("ledger.db")).map_or(0, |meta| meta.len())
}

#[track_caller]
fn refused(ran: &Ran, text: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let output = format!("{}{}", ran.stdout, ran.stderr);
    for part in [text, "siglum restore", "siglum init"] {
        assert!(output.contains(part), "{part}: {ran:?}");
    }
}

/// Loses the ledger and works on: every command says it, and none makes another one.
fn lose(repo: &Repo<'_>, text: &str, lose: fn(&Path)) -> String {
    let world = repo.world;
    until("the worker has left", || world.processes().is_empty());
    lose(&world.siglum_home());
    let mut agent = Agent::start(repo, "lost");
    let commit = work(repo, &mut agent);
    drop(agent);
    until("the worker gave up", || world.processes().is_empty());
    for command in [
        &["doctor"][..],
        &["doctor", "--fix"],
        &["status"],
        &["why"],
        &["import", "--all"],
        &["verify"],
        &["worker", "--once"],
        &["serve", "--listen", "127.0.0.1:0"],
        &["run", "--", "true"],
    ] {
        refused(&repo.siglum(command), text);
        assert_eq!(bytes(world), 0, "{command:?} makes none");
    }
    assert!(world.spooled() > 0, "the evidence waits");
    commit
}

#[test]
fn a_lost_ledger_gives_way_to_a_new_one_by_init_alone() {
    for (text, way) in WAYS {
        let world = World::new();
        let repo = world.repo();
        let commit = lose(&repo, text, way);
        let ran = repo.siglum(&["init", "--yes"]);
        assert!(ran.stderr.contains(text), "{ran:?}");
        ran.ok();
        recovered(&repo, &commit, "lost");
        assert!(repo.siglum(&["doctor"]).stdout.contains("is intact"));
    }
}

#[test]
fn a_lost_ledger_comes_back_from_its_backup() {
    for (text, way) in WAYS {
        let world = World::new();
        let repo = world.repo();
        let mut agent = Agent::start(&repo, "before");
        agent
            .sh("git commit -q --allow-empty -m 'before it was lost'")
            .ok();
        let before = repo.id("HEAD");
        agent.stop();
        drop(agent);
        let backup = world.root.join("backup.db");
        repo.siglum(&["backup", backup.to_str().unwrap()]).ok();
        // Only the ledger's log knows of it, and it goes with the ledger.
        repo.sh("git commit -q --allow-empty -m 'after the backup'")
            .ok();
        let commit = lose(&repo, text, way);
        repo.siglum(&["restore", "--yes", backup.to_str().unwrap()])
            .ok();
        recovered(&repo, &commit, "lost");
        assert_eq!(repo.committer(&before), "before certain");
        repo.siglum(&["verify"]).ok();
        assert!(repo.siglum(&["doctor"]).stdout.contains("is intact"));
    }
}

/// Whoever goes back to this program has the backup from before a newer one migrated the ledger.
#[test]
fn a_ledger_of_a_newer_program_is_replaced_by_a_backup() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "before");
    agent
        .sh("git commit -q --allow-empty -m 'before it was migrated'")
        .ok();
    let before = repo.id("HEAD");
    agent.stop();
    drop(agent);
    let backup = world.root.join("backup.db");
    let backup = backup.to_str().unwrap();
    repo.siglum(&["backup", backup]).ok();
    until("the worker has left", || world.processes().is_empty());
    let newer = "PRAGMA user_version = 999; UPDATE meta SET value = 999 WHERE key IN ('min_reader', 'min_writer');";
    world.store().execute_batch(newer).unwrap();
    let ran = repo.siglum(&["restore", backup]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("is of a newer program"), "{ran:?}");
    assert_eq!(world.count("PRAGMA user_version"), 999);
    repo.siglum(&["restore", "--yes", backup]).ok();
    assert_eq!(repo.committer(&before), "before certain");
    repo.siglum(&["verify"]).ok();
    let files = fs::read_dir(world.siglum_home()).unwrap();
    let mut paths = files.map(|file| file.unwrap().path());
    let is_kept = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.contains("before-restore-") && !name.ends_with("-wal")
    };
    let kept = paths.find(is_kept).unwrap();
    let kept = rusqlite::Connection::open(kept).unwrap();
    let version: i64 = kept
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 999, "the newer ledger is kept");
}

#[test]
fn a_backup_of_another_ledger_is_refused_where_one_was_lost() {
    let (world, other) = (World::new(), World::new());
    let (repo, elsewhere) = (world.repo(), other.repo());
    let backup = other.root.join("backup.db");
    let backup = backup.to_str().unwrap();
    elsewhere.siglum(&["backup", backup]).ok();
    let (text, way) = WAYS[0];
    lose(&repo, text, way);
    let ran = repo.siglum(&["restore", "--yes", backup]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("--force"), "{ran:?}");
    repo.siglum(&["restore", "--yes", "--force", backup]).ok();
    repo.siglum(&["why"]).ok();
}

#[test]
fn another_ledger_in_its_place_is_found_out_and_left_alone() {
    let (world, other) = (World::new(), World::new());
    let (repo, elsewhere) = (world.repo(), other.repo());
    let backup = other.root.join("backup.db");
    elsewhere.siglum(&["backup", backup.to_str().unwrap()]).ok();
    until("the worker has left", || world.processes().is_empty());
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(world.siglum_home().join(name));
    }
    let ledger = world.siglum_home().join("ledger.db");
    fs::copy(&backup, &ledger).unwrap();
    for command in [&["doctor"][..], &["status"], &["why"]] {
        refused(&repo.siglum(command), "is another one");
    }
    assert!(fs::read(&ledger).unwrap() == fs::read(&backup).unwrap());
    repo.siglum(&["init", "--yes"]).ok();
    repo.siglum(&["why"]).ok();
}

/// A home that was made before the ledger was known, and a copy of a home.
#[test]
fn the_first_command_learns_which_ledger_is_here() {
    let world = World::new();
    let repo = world.repo();
    let known = world.siglum_home().join("known-ledger");
    until("the worker has left", || world.processes().is_empty());
    fs::remove_file(&known).unwrap();
    repo.siglum(&["status"]).ok();
    assert!(known.exists());
    let copy = world.root.join("copy");
    world
        .sh(&world.root, &format!("cp -a siglum '{}'", copy.display()))
        .ok();
    let mut command = world.command(World::program());
    command.env("SIGLUM_HOME", &copy).current_dir(&repo.dir);
    Ran::from(command.arg("status").output().unwrap()).ok();
}
