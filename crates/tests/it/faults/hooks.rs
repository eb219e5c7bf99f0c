//! What hooks do when the input or the machine is bad: nothing to the user, and say so later.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use rusqlite::TransactionBehavior;
use serde_json::{Value, json};

use crate::harness::{Agent, Ran, Repo, World, left_out, until};

/// Runs the agent hook with this input, and checks that it keeps its promise: exit code 0, nothing
/// said.
#[track_caller]
fn hook(repo: &Repo<'_>, agent: &str, input: &[u8]) {
    let mut command = repo
        .world
        .command(repo.world.siglum_home().join("bin/siglum"));
    command
        .args(["hook", agent])
        .current_dir(&repo.dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(input).unwrap();
    drop(pipe);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
}

#[test]
fn bad_payloads_are_declined_with_a_reason() {
    let world = World::new();
    let repo = world.repo();
    let good = json!({
        "session_id": "s", "cwd": repo.dir, "hook_event_name": "SessionStart", "source": "startup",
    });
    let with = |key: &str, value: Value| {
        let mut payload = good.clone();
        payload[key] = value;
        payload.to_string().into_bytes()
    };
    let whole = good.to_string().into_bytes();
    let outside = world.root.join("secret.jsonl");
    fs::write(&outside, "{}\n").unwrap();
    let projects = world.home().join(".claude/projects/-repo");
    fs::create_dir_all(&projects).unwrap();
    symlink(&outside, projects.join("linked.jsonl")).unwrap();
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), "not_json"),
        ("no JSON", b"hello\n".to_vec(), "not_json"),
        ("binary", vec![0xff, 0xfe, 0, 1], "not_json"),
        ("truncated", whole[..whole.len() - 9].to_vec(), "not_json"),
        ("no session", b"{}".to_vec(), "no_session"),
        ("an array", b"[1]".to_vec(), "no_session"),
        (
            "an id that climbs",
            with("session_id", json!("../../etc")),
            "bad_session_id",
        ),
        (
            "an id that is too long",
            with("session_id", json!("x".repeat(300))),
            "bad_session_id",
        ),
        (
            "a control character",
            with("session_id", json!("a\u{7}b")),
            "bad_session_id",
        ),
        (
            "a transcript outside",
            with("transcript_path", json!(outside)),
            "transcript_outside",
        ),
        (
            "a transcript that climbs",
            with(
                "transcript_path",
                json!(projects.join("../../../secret.jsonl")),
            ),
            "transcript_outside",
        ),
        (
            "a transcript that is a link",
            with("transcript_path", json!(projects.join("linked.jsonl"))),
            "transcript_outside",
        ),
        (
            "nesting",
            [b"[".repeat(200_000), b"]".repeat(200_000)].concat(),
            "",
        ),
    ];
    for (what, input, reason) in cases {
        let before = world.declines().len();
        hook(&repo, "claude-code", &input);
        let declines = world.declines();
        assert_eq!(declines.len(), before + 1, "{what}: {declines:?}");
        if !reason.is_empty() {
            assert_eq!(declines[before], reason, "{what}");
        }
    }
    hook(&repo, "no-such-agent", b"{}");
    assert_eq!(world.declines().last().unwrap(), "unknown_agent");
}

#[test]
fn an_unknown_event_is_no_reason_to_say_anything() {
    let world = World::new();
    let repo = world.repo();
    let payload = json!({ "session_id": "s", "cwd": repo.dir, "hook_event_name": "FromTheFuture" });
    hook(&repo, "claude-code", payload.to_string().as_bytes());
    hook(
        &repo,
        "claude-code",
        &json!({ "session_id": "s", "cwd": repo.dir })
            .to_string()
            .into_bytes(),
    );
    let mut agent = Agent::start(&repo, "s");
    agent.sh("git commit -q --allow-empty -m x").ok();
    assert_eq!(repo.committer("HEAD"), agent.certain());
}

#[test]
fn two_hundred_megabytes_are_read_and_declined() {
    let world = World::new();
    let repo = world.repo();
    let mut input =
        json!({ "session_id": "s", "cwd": repo.dir, "hook_event_name": "UserPromptSubmit" })
            .to_string()
            .into_bytes();
    input.pop();
    input.extend_from_slice(b",\"prompt\":\"");
    input.resize(200 << 20, b'x');
    input.extend_from_slice(b"\"}");
    hook(&repo, "claude-code", &input);
    assert_eq!(world.declines(), ["payload_too_large"]);
}

#[test]
fn a_large_prompt_is_withheld_and_a_huge_file_is_not_kept() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "large");
    agent.prompt(&"word ".repeat(100_000));
    agent.write("huge", &"line\n".repeat(2 << 20));
    agent.sh("git add -A && git commit -q -m huge").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    assert_eq!(why.authors().get("large"), None, "{why}");
}

/// A whole piece of work while something is wrong: the agent must notice nothing.
pub(super) fn work(repo: &Repo<'_>, agent: &mut Agent) -> String {
    agent.prompt("While it is broken.");
    agent.write("broken", "one\ntwo\n");
    agent
        .sh("git add -A && git commit -q -m 'while it is broken'")
        .ok();
    agent.stop();
    repo.id("HEAD")
}

/// After the recovery everything is known that happened before it.
pub(super) fn recovered(repo: &Repo<'_>, commit: &str, native: &str) {
    let why = repo.why(commit);
    assert_eq!(why.committer(), format!("{native} certain"), "{why}");
    assert_eq!(why.authors(), [(native.to_owned(), 2)].into(), "{why}");
    assert_eq!(why.checkpoints(), repo.trailers(commit), "{why}");
    assert_eq!(repo.world.spooled(), 0, "nothing waits any more");
}

#[test]
fn a_locked_ledger() {
    let world = World::new();
    let repo = world.repo();
    let mut store = world.store();
    let lock = store
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .unwrap();
    let mut agent = Agent::start(&repo, "locked");
    let commit = work(&repo, &mut agent);
    assert!(world.spooled() > 0, "the evidence waits");
    repo.sh("git commit -q --allow-empty -m 'by nobody'").ok();
    assert_eq!(repo.trailers("HEAD"), [""; 0]);
    drop(lock);
    recovered(&repo, &commit, "locked");
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
}

/// Another way to see the lock: a session that began before it.
#[test]
fn a_ledger_that_is_locked_for_one_commit() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "between");
    let mut store = world.store();
    let lock = store
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap();
    agent
        .bare_sh("echo 1 >f && echo 2 >>f && git add f && git commit -q -m x")
        .ok();
    drop(lock);
    repo.check("after the lock", "HEAD", &agent.certain());
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

/// Runs the work without the right to write to a place, even for root.
fn read_only(repo: &Repo<'_>, place: &Path, native: &str) -> Option<String> {
    let mount = format!(
        "mount --bind '{0}' '{0}' && mount -o remount,ro,bind '{0}'",
        place.display()
    );
    if repo.sh(&mount).code != Some(0) {
        left_out("this user may not mount");
        return None;
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut agent = Agent::start(repo, native);
        work(repo, &mut agent)
    }));
    repo.sh(&format!("umount -l '{}'", place.display())).ok();
    Some(result.unwrap())
}

#[test]
fn a_home_that_cannot_be_written_to() {
    let world = World::new();
    let repo = world.repo();
    let Some(commit) = read_only(&repo, &world.siglum_home(), "readonly") else {
        return;
    };
    recovered(&repo, &commit, "readonly");
}

#[test]
fn a_spool_that_cannot_be_written_to_is_reported() {
    let world = World::new();
    let repo = world.repo();
    until("the worker has left", || world.processes().is_empty());
    for dir in [
        world.siglum_home().join("spool"),
        repo.dir.join(".git/siglum/spool"),
    ] {
        let _ = fs::remove_dir_all(&dir);
        fs::write(&dir, "no directory").unwrap();
        let doctor = repo.siglum(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        let words: Vec<&str> = doctor.stdout.split_whitespace().collect();
        for says in [
            format!("cannot write to the spool {}:", dir.display()),
            "Make it writable".to_owned(),
        ] {
            assert!(words.join(" ").contains(&says), "{says}: {doctor:?}");
        }
        fs::remove_file(&dir).unwrap();
    }
}

#[test]
fn a_full_disk() {
    let world = World::new();
    let disk = world.siglum_home();
    fs::create_dir(&disk).unwrap();
    let mount = format!("mount -t tmpfs -o size=8m tmpfs '{}'", disk.display());
    if world.sh(&world.root, &mount).code != Some(0) {
        left_out("this user may not mount");
        return;
    }
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let repo = world.repo();
        let mut early = Agent::start(&repo, "early");
        early.sh("git commit -q --allow-empty -m known").ok();
        let known = repo.id("HEAD");
        early.quit();
        until("the worker has left", || world.processes().is_empty());
        let fill = format!("cat /dev/zero >'{}/fill' 2>/dev/null; true", disk.display());
        repo.sh(&fill).ok();
        let mut agent = Agent::start(&repo, "full");
        let commit = work(&repo, &mut agent);
        // Who only reads needs no room.
        assert_eq!(repo.why(&known).committer(), "early certain");
        for args in [
            "log",
            "status",
            "session list",
            "checkpoint list",
            "show early",
            "cost",
            "search one",
            "doctor",
        ] {
            let words: Vec<&str> = args.split(' ').collect();
            let ran = repo.siglum(&words);
            let is_doctor = args == "doctor";
            assert_eq!(ran.code, Some(i32::from(is_doctor)), "{args}: {ran:?}");
            let says = ["the disk of", "is full", "nothing can be recorded"];
            let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_told = says.iter().all(|part| words.contains(part));
            assert_eq!(is_told, is_doctor, "{args}: {ran:?}");
        }
        fs::remove_file(disk.join("fill")).unwrap();
        // What could not be kept is the content of the edit; who committed is known.
        let why = repo.why(&commit);
        assert_eq!(why.committer(), "full certain", "{why}");
        assert_eq!(why.checkpoints(), repo.trailers(&commit), "{why}");
    }));
    world.processes().into_iter().for_each(crate::harness::kill);
    let ran = world.sh(&world.root, &format!("umount -l '{}'", disk.display()));
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
    ran.ok();
}

#[test]
fn a_home_that_is_gone() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "gone");
    let away = world.root.join("away");
    fs::rename(world.siglum_home(), &away).unwrap();
    // The settings name a program that is gone with it; an agent shrugs, and so must a commit.
    let ran = agent.bare_sh("git commit --allow-empty -m homeless");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "", "a block without its program is silent");
    assert_eq!(repo.trailers("HEAD"), [""; 0]);
    // A worker that a hook started before, and that is up only now.
    let worker = format!("'{}' worker --once", away.join("bin/siglum").display());
    world.sh(&world.root, &worker).ok();
    assert!(!world.siglum_home().exists(), "no other home is made");
    fs::rename(&away, world.siglum_home()).unwrap();
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
}

#[test]
fn a_missing_program_is_silent_and_the_commit_passes() {
    let world = World::new();
    let repo = world.repo();
    let shim = world.siglum_home().join("bin/siglum");
    fs::remove_file(&shim).unwrap();
    let ran = repo
        .sh("git commit --allow-empty -m without && git commit -q --amend --allow-empty -m again");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stderr, "");
    symlink("/nonexistent/siglum", &shim).unwrap();
    repo.sh("git commit -q --allow-empty -m dangling").ok();
}

#[test]
fn a_ledger_of_a_newer_program() {
    let world = World::new();
    let repo = world.repo();
    let schema = world.count("PRAGMA user_version");
    world
        .store()
        .execute_batch("PRAGMA user_version = 999; UPDATE meta SET value = 999 WHERE key IN ('min_reader', 'min_writer');")
        .unwrap();
    let mut agent = Agent::start(&repo, "newer");
    let commit = work(&repo, &mut agent);
    assert!(world.spooled() > 0);
    let refused = repo.siglum(&["why"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("newer"), "{refused:?}");
    assert!(world.spooled() > 0, "a refused command takes nothing out");
    world
        .store()
        .execute_batch(&format!(
            "PRAGMA user_version = {schema}; UPDATE meta SET value = {schema} WHERE key IN ('min_reader', 'min_writer');"
        ))
        .unwrap();
    recovered(&repo, &commit, "newer");
}

#[test]
fn a_ledger_that_is_no_database() {
    let world = World::new();
    let repo = world.repo();
    until("the worker has left", || world.processes().is_empty());
    let ledger = world.siglum_home().join("ledger.db");
    let kept = world.root.join("kept.db");
    world
        .store()
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    fs::rename(&ledger, &kept).unwrap();
    fs::write(
        &ledger,
        b"this is no database at all, but it is long enough to be read",
    )
    .unwrap();
    let mut agent = Agent::start(&repo, "garbled");
    let commit = work(&repo, &mut agent);
    assert!(world.spooled() > 0);
    until("the worker gave up", || world.processes().len() == 1);
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(world.siglum_home().join(name));
    }
    fs::rename(&kept, &ledger).unwrap();
    recovered(&repo, &commit, "garbled");
}

#[test]
fn damaged_deliveries_are_set_aside_and_hold_nothing_up() {
    let world = World::new();
    let repo = world.repo();
    let spool = world.siglum_home().join("spool");
    fs::create_dir_all(&spool).unwrap();
    fs::write(spool.join("00000000000000000001-bad.json"), "{").unwrap();
    fs::write(
        spool.join("00000000000000000002-bad.json"),
        "{\"version\":99}",
    )
    .unwrap();
    fs::write(spool.join("00000000000000000003-half.part"), "{").unwrap();
    let mut agent = Agent::start(&repo, "after");
    let commit = work(&repo, &mut agent);
    recovered(&repo, &commit, "after");
    assert!(spool.join("00000000000000000001-bad.bad").exists());
}

/// Half of the hooks in the home's spool, half in the repository's.
#[test]
fn both_spools_are_drained() {
    let world = World::new();
    let repo = world.repo();
    let mut store = world.store();
    let lock = store
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .unwrap();
    let spool = world.siglum_home().join("spool");
    fs::write(&spool, "in the way").unwrap();
    let mut agent = Agent::start(&repo, "two");
    agent.write("broken", "one\ntwo\n");
    fs::remove_file(&spool).unwrap();
    agent.sh("git add -A && git commit -q -m x").ok();
    assert!(world.spooled() > 0);
    drop(lock);
    recovered(&repo, "HEAD", "two");
}

#[test]
fn a_repository_that_moved_away_leaves_the_others_alone() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["worktree", "add", "-q", "../gone"]);
    let gone = repo.beside("../gone");
    let mut agent = Agent::start(&gone, "gone");
    agent.sh("git commit -q --allow-empty -m there").ok();
    let commit = gone.id("HEAD");
    drop(agent);
    fs::remove_dir_all(world.root.join("gone")).unwrap();
    repo.check("of a worktree that is gone", &commit, "gone certain");
}

#[test]
fn hooks_with_bad_arguments_are_silent() {
    let world = World::new();
    let repo = world.repo();
    for arguments in [
        "hook",
        "hook git",
        "hook git no-such-hook",
        "hook git prepare-commit-msg",
        "hook git prepare-commit-msg /no/such/file",
        "hook git commit-msg /no/such/file message x y",
        "hook git post-rewrite",
        "hook git post-checkout a b c",
        "hook git post-merge",
    ] {
        let shim = world.siglum_home().join("bin/siglum");
        let ran = repo.sh(&format!("'{}' {arguments} </dev/null", shim.display()));
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", ""),
            "{arguments}"
        );
    }
}

#[test]
fn files_of_siglum_in_the_repository_that_are_in_the_way() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "blocked");
    let notes = repo.dir.join(".git/siglum/commits");
    fs::remove_dir_all(&notes).unwrap_or_default();
    fs::write(&notes, "").unwrap();
    agent
        .sh("GIT_EDITOR='sed -i 1ititle' git commit -q --allow-empty")
        .ok();
    assert_eq!(
        repo.committer("HEAD"),
        agent.certain(),
        "the ledger knows without a trailer"
    );
    fs::remove_file(&notes).unwrap();
    mode(&repo.dir.join(".git/siglum"), 0o500);
    agent.sh("git commit -q --allow-empty -m x").ok();
    assert_eq!(repo.committer("HEAD"), agent.certain());
    mode(&repo.dir.join(".git/siglum"), 0o700);
}
