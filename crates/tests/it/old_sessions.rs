//! What a laptop keeps for a time only goes in many parts, and from the bytes of its file, too: that is written anew once,
//! when nothing more goes, also where the worker ends before it comes to that.

use std::fs;
use std::process::Stdio;

use super::harness::{Repo, World, until};
use super::importing::{lines, project};

/// How many sessions one part has, at most.
const PART: i64 = 64;
/// A word in pages that are free: it goes when the file is written anew, and in no other way.
const LEFT: &str = "left-behind-in-a-page";

/// Imports so many sessions, lets a hundred days go by, and leaves something in the file that was deleted before.
fn long_silent(repo: &Repo<'_>, sessions: i64) {
    let project = project(repo.world);
    for n in 0..sessions {
        let native = format!("s{n:03}");
        let path = project.join(format!("{native}.jsonl"));
        fs::write(path, lines(repo, &native, None)).unwrap();
    }
    repo.siglum(&["import"]).ok();
    work(repo);
    let store = repo.world.store();
    store
        .execute_batch(&format!(
            "UPDATE sessions SET last_at = last_at - 8640000000000000;
             CREATE TABLE left_behind (word TEXT); INSERT INTO left_behind VALUES ('{}'); DROP TABLE left_behind;",
            LEFT.repeat(20_000),
        ))
        .unwrap();
    assert_eq!(repo.world.count("SELECT count(*) FROM sessions"), sessions);
    let cut_off = "PRAGMA wal_checkpoint(TRUNCATE)";
    store.query_row(cut_off, [], |_| Ok(())).unwrap();
    assert!(is_left(repo));
}

/// Lets a worker do all there is to do.
fn work(repo: &Repo<'_>) {
    until("the worker has left", || repo.world.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
}

fn forgotten(repo: &Repo<'_>) -> i64 {
    let forgotten = "SELECT count(*) FROM sessions WHERE forgotten_whole = 1";
    repo.world.count(forgotten)
}

/// How often the file was written anew.
fn rewrites(repo: &Repo<'_>) -> i64 {
    repo.world
        .count("SELECT schema_version FROM pragma_schema_version")
}

/// Whether the word is in the bytes of the file or its log.
fn is_left(repo: &Repo<'_>) -> bool {
    ["ledger.db", "ledger.db-wal"].iter().any(|name| {
        let bytes = fs::read(repo.world.siglum_home().join(name)).unwrap_or_default();
        bytes.windows(LEFT.len()).any(|w| w == LEFT.as_bytes())
    })
}

fn keep(repo: &Repo<'_>, time: &str) {
    repo.siglum(&["config", "set", "keep_sessions", time]).ok();
}

#[test]
fn the_file_is_written_anew_once_for_all_parts() {
    // With a rest, and where the last part is full and the one behind it removes nothing.
    for sessions in [2 * PART + 2, PART] {
        let world = World::new();
        let repo = world.repo();
        long_silent(&repo, sessions);
        let before = rewrites(&repo);
        keep(&repo, "30d");
        work(&repo);
        assert_eq!(forgotten(&repo), sessions);
        assert!(!is_left(&repo), "{sessions} sessions");
        assert_eq!(rewrites(&repo) - before, 1, "{sessions} sessions");
        // Nothing goes, and nothing is owed.
        work(&repo);
        assert_eq!(rewrites(&repo) - before, 1, "{sessions} sessions");
    }
}

#[test]
fn what_a_killed_worker_left_in_the_file_goes_though_nothing_else_does() {
    let world = World::new();
    let repo = world.repo();
    long_silent(&repo, 2 * PART + 2);
    let before = rewrites(&repo);
    keep(&repo, "30d");
    let mut worker = world.command(World::program());
    worker.args(["worker", "--once"]).current_dir(&repo.dir);
    let mut worker = worker.stderr(Stdio::null()).spawn().unwrap();
    until("some are forgotten", || forgotten(&repo) > 0);
    worker.kill().unwrap();
    worker.wait().unwrap();
    let gone = forgotten(&repo);
    assert!((1..130).contains(&gone), "{gone}");
    assert_eq!(rewrites(&repo), before);
    assert!(is_left(&repo));
    // What is left is kept now.
    repo.siglum(&["config", "unset", "keep_sessions"]).ok();
    work(&repo);
    assert_eq!(forgotten(&repo), gone);
    assert!(!is_left(&repo));
    assert_eq!(rewrites(&repo) - before, 1);
}

#[test]
fn the_file_is_written_anew_where_telemetry_alone_goes() {
    let world = World::new();
    let repo = world.repo();
    long_silent(&repo, 1);
    let old = "INSERT INTO unassigned (at, signal, name, records, reason, bytes, payload) VALUES (1, 'logs', 'n', 1, 'no_session', 3, x'010203')";
    world.store().execute(old, []).unwrap();
    let before = rewrites(&repo);
    repo.siglum(&["config", "set", "keep_telemetry", "30d"])
        .ok();
    work(&repo);
    assert_eq!(world.count("SELECT count(*) FROM unassigned"), 0);
    assert_eq!((forgotten(&repo), rewrites(&repo) - before), (0, 1));
    assert!(!is_left(&repo));
}
