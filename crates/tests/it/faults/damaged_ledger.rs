//! A ledger that cannot be read: every command names the file and the way out, and `restore` is one.

use std::fs;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::Path;

use super::hooks::{recovered, work};
use crate::harness::{Agent, Repo, World, left_out, until};

/// The size of a page, in bytes.
const PAGE: u64 = 4096;
/// No database, nor a part of one.
const GARBAGE: [u8; 2048] = [0xA5; 2048];

fn ledger_of(world: &World) -> std::path::PathBuf {
    world.siglum_home().join("ledger.db")
}

fn write_at(ledger: &Path, bytes: &[u8], at: u64) {
    let file = fs::OpenOptions::new().write(true).open(ledger).unwrap();
    file.write_all_at(bytes, at).unwrap();
}

fn pages(ledger: &Path) -> u64 {
    fs::metadata(ledger).unwrap().len() / PAGE
}

fn cut(ledger: &Path, bytes: u64) {
    let file = fs::OpenOptions::new().write(true).open(ledger).unwrap();
    file.set_len(bytes).unwrap();
}

fn execute(ledger: &Path, sql: &str) {
    let db = rusqlite::Connection::open(ledger).unwrap();
    db.execute_batch(sql).unwrap();
}

/// How a ledger is damaged, and what does it. None can be opened afterwards.
type Damage = (&'static str, fn(&Path));

const KINDS: [Damage; 11] = [
    ("the header is zeroed", |ledger| {
        write_at(ledger, &[0; 100], 0);
    }),
    ("half of the first page is left", |ledger| {
        cut(ledger, PAGE / 2);
    }),
    ("one page is left", |ledger| cut(ledger, PAGE)),
    ("half of the pages are left", |ledger| {
        cut(ledger, pages(ledger) / 2 * PAGE);
    }),
    ("the list of tables is garbage", |ledger| {
        write_at(ledger, &GARBAGE, 100);
    }),
    ("half of each page is garbage", |ledger| {
        (1..pages(ledger)).for_each(|page| write_at(ledger, &GARBAGE, page * PAGE));
    }),
    ("it is a text", |ledger| {
        fs::write(ledger, "no database at all, ".repeat(100)).unwrap();
    }),
    ("a table is missing", |ledger| {
        execute(ledger, "DROP TABLE meta");
    }),
    ("its key is missing", |ledger| {
        execute(ledger, "DELETE FROM meta WHERE key = 'key'");
    }),
    ("a directory is in its place", |ledger| {
        fs::remove_file(ledger).unwrap();
        fs::create_dir(ledger).unwrap();
    }),
    ("a pipe is in its place", |ledger| {
        fs::remove_file(ledger).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            ledger,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
    }),
];

/// A commit by a session, and a backup that has it. All is in the file of the ledger afterwards, and nobody has it open.
fn backed_up(repo: &Repo<'_>) -> (String, String) {
    let world = repo.world;
    let mut agent = Agent::start(repo, "before");
    agent
        .sh("git commit -q --allow-empty -m 'before the damage'")
        .ok();
    let before = repo.id("HEAD");
    agent.stop();
    drop(agent);
    until("the worker has left", || world.processes().is_empty());
    let backup = world.root.join("backup.db").to_str().unwrap().to_owned();
    repo.siglum(&["backup", &backup]).ok();
    until("the worker has left", || world.processes().is_empty());
    world
        .store()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(world.siglum_home().join(name));
    }
    (before, backup)
}

#[track_caller]
fn says_what_to_do(repo: &Repo<'_>, what: &str) {
    let path = ledger_of(repo.world).display().to_string();
    for command in [&["log"][..], &["why"], &["status"], &["doctor"]] {
        let ran = repo.siglum(command);
        assert_eq!(ran.code, Some(1), "{what}: {command:?}: {ran:?}");
        let output = format!("{}{}", ran.stdout, ran.stderr);
        for part in [path.as_str(), "siglum restore"] {
            assert!(
                output.contains(part),
                "{what}: {command:?}: {part}: {ran:?}"
            );
        }
    }
}

#[test]
fn a_ledger_that_cannot_be_read_gives_way_to_its_backup() {
    for (what, damage) in KINDS {
        let world = World::new();
        let repo = world.repo();
        let (before, backup) = backed_up(&repo);
        damage(&ledger_of(&world));
        let mut agent = Agent::start(&repo, "damaged");
        let commit = work(&repo, &mut agent);
        drop(agent);
        until("the worker gave up", || world.processes().is_empty());
        says_what_to_do(&repo, what);
        let asked = repo.siglum(&["restore", &backup]);
        assert_eq!(asked.code, Some(1), "{what}: {asked:?}");
        for part in ["cannot be read", "before-restore-"] {
            assert!(asked.stderr.contains(part), "{what}: {asked:?}");
        }
        let restored = repo.siglum(&["restore", "--yes", &backup]);
        assert!(
            restored.stderr.contains("before-restore-"),
            "{what}: {restored:?}"
        );
        restored.ok();
        recovered(&repo, &commit, "damaged");
        assert_eq!(repo.committer(&before), "before certain", "{what}");
        let doctor = repo.siglum(&["doctor"]);
        assert!(doctor.stdout.contains("is intact"), "{what}: {doctor:?}");
    }
}

/// What a log holds that is none of the store's is not in the ledger, and keeps nobody from it.
#[test]
fn a_log_of_garbage_is_in_nobodys_way() {
    let world = World::new();
    let repo = world.repo();
    let (before, backup) = backed_up(&repo);
    let log = world.siglum_home().join("ledger.db-wal");
    fs::write(&log, GARBAGE.repeat(8)).unwrap();
    assert_eq!(repo.committer(&before), "before certain");
    repo.siglum(&["log"]).ok();
    until("the worker has left", || world.processes().is_empty());
    fs::write(&log, GARBAGE.repeat(8)).unwrap();
    repo.siglum(&["restore", "--yes", &backup]).ok();
    assert_eq!(repo.committer(&before), "before certain");
}

/// Garbage in pages that no opening reads is found by a check, and the ledger can be replaced all the same.
#[test]
fn garbage_in_any_page_leaves_the_way_to_the_backup_open() {
    let world = World::new();
    let repo = world.repo();
    let (before, backup) = backed_up(&repo);
    let ledger = ledger_of(&world);
    for page in (1..pages(&ledger)).step_by(13) {
        until("the worker has left", || world.processes().is_empty());
        world
            .store()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        write_at(&ledger, &GARBAGE, page * PAGE);
        repo.siglum(&["restore", "--yes", &backup]).ok();
        assert_eq!(repo.committer(&before), "before certain", "page {page}");
    }
}

/// The note of which ledger was here says nothing then; one that names another ledger is heeded.
#[test]
fn an_unreadable_note_of_the_known_ledger_blocks_no_restore() {
    let (world, other) = (World::new(), World::new());
    let (repo, elsewhere) = (world.repo(), other.repo());
    let (before, backup) = backed_up(&repo);
    fs::write(ledger_of(&world), "no database at all, ".repeat(100)).unwrap();
    let strange = other.root.join("strange.db");
    let strange = strange.to_str().unwrap();
    elsewhere.siglum(&["backup", strange]).ok();
    let refused = repo.siglum(&["restore", "--yes", strange]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--force"), "{refused:?}");
    fs::write(world.siglum_home().join("known-ledger"), [0xFF; 40]).unwrap();
    repo.siglum(&["restore", "--yes", &backup]).ok();
    assert_eq!(repo.committer(&before), "before certain");
}

#[test]
fn a_ledger_that_its_user_may_not_read_gives_way_to_its_backup() {
    let world = World::new();
    let repo = world.repo();
    let (_, backup) = backed_up(&repo);
    // Root reads everything, so somebody else restores.
    let becomes = match rustix::process::geteuid().is_root() {
        true => "setpriv --reuid 54321 --clear-groups",
        false => "",
    };
    let program = World::program();
    let run = |arguments: &str| repo.sh(&format!("{becomes} '{}' {arguments}", program.display()));
    if !becomes.is_empty() {
        let root = world.root.display();
        repo.sh(&format!("chown -R 54321 '{root}'")).ok();
        if run("version").code != Some(0) {
            left_out("another user cannot run the program");
            return;
        }
    }
    fs::set_permissions(ledger_of(&world), fs::Permissions::from_mode(0o000)).unwrap();
    let log = run("log");
    assert_eq!(log.code, Some(1), "{log:?}");
    assert!(log.stderr.contains("ledger.db"), "{log:?}");
    run(&format!("restore --yes '{backup}'")).ok();
    let why = run("why HEAD --json").ok();
    assert!(why.contains("\"verdict\":\"certain\""), "{why}");
}
