//! One damaged session among many, and the way through a backup and back.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::config::DbConfig;
use serde_json::{Value, json};

use siglum_ledger::sqlite::sum_all;

use super::harness::{Agent, Ran, Repo, World, until};

/// How many sessions there are.
const MANY: usize = 1_000;

/// Makes many sessions out of one, with its log and receipts but under ids of their own.
fn multiply(world: &World) {
    let store = world.store();
    store.pragma_update(None, "foreign_keys", false).unwrap();
    let columns = "agent, home, mode, origin, created_at, last_at, ended_at, repository, worktree, head, sealed, folded";
    let sql = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY} - 1) \
         INSERT INTO sessions (id, conversation_id, {columns}) \
         SELECT unhex(printf('0192000000007000800000000%07x', i)), 'copy-' || i, agent, home, mode, origin, created_at, \
         last_at - i, created_at, repository, worktree, 1, 0, 1 FROM sessions, n"
    );
    until("the ledger is free", || store.execute(&sql, []).is_ok());
    let log = "INSERT INTO observations (id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload, sum) \
         SELECT s.id, s.id, 1, o.source, o.key, o.event, NULL, o.subagent, o.kind, o.at, o.recorded_at, o.salt, o.digest, o.payload, \
         row_sum(s.id, s.id, 1, NULL, o.subagent, o.kind, o.at, o.recorded_at) \
         FROM sessions s, observations o WHERE s.conversation_id LIKE 'copy-%' AND o.kind = 'prompt'";
    until("the ledger is free", || store.execute(log, []).is_ok());
    let places = "INSERT INTO session_repositories (repository, session, hour) \
         SELECT repository, id, last_at / 3600000000000 FROM sessions WHERE conversation_id LIKE 'copy-%'";
    until("the ledger is free", || store.execute(places, []).is_ok());
    until("the ledger is free", || sum_all(&store).is_ok());
}

fn idle(repo: &Repo<'_>) {
    repo.siglum(&["worker", "--once"]).ok();
    until("all is sealed", || {
        repo.siglum(&["worker", "--once"]);
        repo.world
            .count("SELECT count(*) FROM sessions WHERE head > sealed OR head > folded")
            == 0
    });
}

/// Verifies one session, or everything: bytes are changed here that no program wrote.
fn verify(repo: &Repo<'_>, args: &[&str]) -> (Option<i32>, Value) {
    let is_of_all = args.iter().all(|arg| arg.starts_with("--"));
    let all: &[&str] = if is_of_all { &["--all"] } else { &[] };
    let ran = repo.siglum(&[&["verify", "--json"], all, args].concat());
    let answer: Value = serde_json::from_str(&ran.stdout).expect(&ran.stdout);
    (ran.code, answer["data"].clone())
}

#[test]
fn one_damaged_session_among_a_thousand_is_named_and_the_others_are_served() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.write("a.txt", "a\n");
    one.sh("git add -A && git commit -q -m 'Add a'");
    one.end("other");
    idle(&repo);
    multiply(&world);
    idle(&repo);
    let (code, sound) = verify(&repo, &[]);
    assert_eq!((code, &sound["sound"]), (Some(0), &json!(true)), "{sound}");
    assert_eq!(sound["counts"]["sessions"], MANY);
    let _ = repo.committer("HEAD");

    for sql in [
        "UPDATE observations SET payload = x'28b52ffd00' WHERE kind = 'prompt' AND session = (SELECT session FROM aliases)",
        "UPDATE sessions SET agent = 'No Agent!' WHERE id = (SELECT session FROM aliases)",
    ] {
        until("the ledger is free", || {
            world.store().execute(sql, []).is_ok()
        });
        let listed = world.json(&repo.dir, &["session", "list", "--limit", "0"]);
        assert_eq!(listed["items"].as_array().unwrap().len(), MANY, "{sql}");
        repo.siglum(&["log"]).ok();
        repo.siglum(&["why", "HEAD"]).ok();
        repo.siglum(&["show", "one"]).ok();
        let before = contents(&world);
        let (code, report) = verify(&repo, &[]);
        assert_eq!(code, Some(4), "{report}");
        let problems = report["problems"].as_array().unwrap();
        assert!(!problems.is_empty());
        let bad = &problems[0]["session"];
        // The sum of its row tells of it, too.
        let is_of_bad = |p: &Value| p["session"] == *bad || p["place"] == "a row in sessions";
        assert!(
            problems
                .iter()
                .all(|p| is_of_bad(p) && p["kind"] == "damaged"),
            "{report}"
        );
        let after = contents(&world);
        let first = before.iter().zip(&after).find(|(then, now)| then != now);
        assert!(after == before, "verifying wrote: {first:?}");
    }
    let (code, report) = verify(&repo, &["--quarantine"]);
    assert_eq!((code, &report["quarantined"]), (Some(4), &json!(1)));
    let doctor = repo.siglum(&["doctor"]);
    assert!(
        doctor.code == Some(1) && doctor.stdout.contains("1 session damaged"),
        "{doctor:?}"
    );
    assert!(
        repo.siglum(&["session", "list", "--limit", "0"])
            .ok()
            .contains("(damaged)")
    );
    one.prompt("It goes on.");
    let prompts = "SELECT count(*) FROM observations WHERE session = (SELECT session FROM aliases) AND kind = 'prompt'";
    until("its hooks are heard", || world.count(prompts) > 1);
    let mend = "UPDATE sessions SET agent = 'claude-code' WHERE id = (SELECT session FROM aliases)";
    until("the ledger is free", || {
        world.store().execute(mend, []).is_ok()
    });
    let (code, _) = verify(&repo, &["one"]);
    assert_eq!(code, Some(4), "its payload is still damaged");
    assert_eq!(world.count("SELECT count(quarantined) FROM sessions"), 1);
    let whole = "UPDATE observations SET payload = (SELECT payload FROM observations o WHERE o.session <> observations.session \
         AND o.digest = observations.digest) WHERE payload = x'28b52ffd00'";
    until("the ledger is free", || {
        world.store().execute(whole, []).is_ok()
    });
    let (code, report) = verify(&repo, &["one"]);
    assert_eq!(
        (code, &report["taken_back"]),
        (Some(0), &json!(1)),
        "{report}"
    );
}

/// The bytes of the ledger's file.
fn files(world: &World) -> Vec<u8> {
    fs::read(world.siglum_home().join("ledger.db")).unwrap()
}

/// All rows of the ledger, but for notes of what was verified, and for what a worker works off meanwhile.
fn contents(world: &World) -> Vec<String> {
    let store = world.store();
    let tables = "SELECT name FROM sqlite_schema \
         WHERE type = 'table' AND name NOT IN ('verified', 'cursors', 'unindexed') ORDER BY 1";
    let mut tables = store.prepare(tables).unwrap();
    let tables = tables.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut all = Vec::new();
    for table in tables.map(Result::unwrap) {
        let mut rows = store.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let columns = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let values = (0..columns).map(|n| format!("{:?}", row.get_ref(n).unwrap()));
            all.push(format!(
                "{table}: {}",
                values.collect::<Vec<_>>().join(", ")
            ));
        }
    }
    all
}

#[test]
fn verify_looks_at_what_changed_and_says_what_it_left_out() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.prompt("Do it.");
    one.stop();
    one.end("other");
    idle(&repo);
    let changes = || -> Value {
        let ran = repo.siglum(&["verify", "--json"]);
        let answer: Value = serde_json::from_str(&ran.ok()).unwrap();
        answer["data"].clone()
    };
    // The first time it is everything.
    let first = changes();
    assert_eq!(first["verified"], "all", "{first}");
    assert_eq!(first["counts"]["sessions"], 1, "{first}");
    assert!(first["all_verified_at"].is_null(), "{first}");
    let second = changes();
    assert_eq!(second["verified"], "changes", "{second}");
    assert_eq!(second["unchanged"], 1, "{second}");
    assert_eq!(second["counts"]["sessions"], 0, "{second}");
    assert!(second["all_verified_at"].is_string(), "{second}");
    let ran = repo.siglum(&["verify"]);
    assert!(
        ran.stderr.contains("Unchanged and left out: 1 session."),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("`siglum verify --all`"), "{ran:?}");
    let mut two = Agent::start(&repo, "two");
    two.prompt("Do more.");
    two.stop();
    two.end("other");
    idle(&repo);
    let third = changes();
    let verified = third["counts"]["sessions"].as_u64().unwrap();
    assert_eq!(
        verified + third["unchanged"].as_u64().unwrap(),
        2,
        "{third}"
    );
    assert!(verified > 0, "{third}");
    let (code, all) = verify(&repo, &[]);
    assert_eq!((code, &all["verified"]), (Some(0), &json!("all")), "{all}");
    assert_eq!(all["counts"]["sessions"], 2, "{all}");
}

#[test]
fn a_backup_in_a_burst_has_all_that_was_acknowledged_and_comes_back_sound() {
    let world = World::new();
    let repo = world.repo();
    let backup = world.root.join("backup.db");
    let objects = world.root.join("objects");
    let (file, dir) = (backup.to_str().unwrap(), objects.to_str().unwrap());
    let mut one = Agent::start(&repo, "one");
    one.write("a.txt", "a\n");
    let stop = AtomicBool::new(false);
    let prompts = std::thread::scope(|scope| {
        let (stop, repo) = (&stop, &repo);
        scope.spawn(move || {
            let mut two = Agent::start(repo, "two");
            while !stop.load(Ordering::Relaxed) {
                two.prompt("more");
                two.stop();
            }
        });
        for _ in 0..5 {
            one.prompt("mine");
            one.stop();
        }
        let prompts = one.acknowledged.clone();
        repo.siglum(&["backup", file, "--objects", dir]).ok();
        stop.store(true, Ordering::Relaxed);
        prompts
    });
    let refused = repo.siglum(&["backup", file]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    one.prompt("after");
    one.stop();
    idle(&repo);
    drop(one);
    fs::remove_dir_all(world.siglum_home().join("objects")).unwrap();
    repo.siglum(&["restore", "--yes", file, "--objects", dir])
        .ok();
    let store = world.store();
    for key in &prompts {
        let known = "SELECT EXISTS (SELECT 1 FROM observations WHERE key = ?1)";
        let is_there: bool = store.query_row(known, [key], |row| row.get(0)).unwrap();
        assert!(is_there, "{key} was acknowledged before the backup");
    }
    let (code, report) = verify(&repo, &[]);
    assert_eq!(code, Some(0), "{report}");
    let kept = fs::read_dir(world.siglum_home()).unwrap().flatten();
    let kept = kept.filter(|e| e.file_name().to_string_lossy().contains("before-restore"));
    assert_eq!(kept.count(), 1);
    // A file that is no backup changes nothing.
    let before = files(&world);
    fs::write(&backup, "no ledger").unwrap();
    assert_eq!(repo.siglum(&["restore", "--yes", file]).code, Some(1));
    assert_eq!(files(&world), before);
}

/// As on a machine whose disk was lost, where only the repository was cloned again.
#[test]
fn a_backup_comes_back_in_a_home_where_nothing_ever_was() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.write("a.txt", "a\n");
    one.sh("git add -A && git commit -q -m 'Add a'");
    one.stop();
    one.end("other");
    drop(one);
    idle(&repo);
    let asked = [&["log", "--json"][..], &["why", "HEAD", "--json"]];
    let before = asked.map(|args| repo.siglum(args).ok());
    assert!(before.iter().all(|answer| answer.contains("certain")));
    let backup = world.root.join("backup.db");
    let objects = world.root.join("objects");
    let (file, dir) = (backup.to_str().unwrap(), objects.to_str().unwrap());
    repo.siglum(&["backup", file, "--objects", dir]).ok();
    let with = ["--objects", dir];
    for (name, more) in [("without", &with[..0]), ("with", &with[..])] {
        let home = world.root.join(name);
        let siglum = |args: &[&str]| -> Ran {
            let mut command = world.command(World::program());
            command.env("SIGLUM_HOME", &home).current_dir(&repo.dir);
            command.args(args).output().unwrap().into()
        };
        siglum(&[&["restore", "--yes", file], more].concat()).ok();
        assert_eq!(asked.map(|args| siglum(args).ok()), before, "{name}");
        if !more.is_empty() {
            siglum(&["verify", "--all"]).ok();
        }
    }
}

/// Changes a row without the ledger's knowledge, as a bad sector would.
fn rot(world: &World, sql: &str) {
    let store = world.store();
    let triggers = DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER;
    store.set_db_config(triggers, false).unwrap();
    store.pragma_update(None, "foreign_keys", false).unwrap();
    until(sql, || {
        store.execute(sql, []).is_ok_and(|changed| changed > 0)
    });
}

/// Each says something else than what was stored, in a form that any reader takes for sound.
#[test]
fn a_row_that_went_bad_is_found_by_verify_and_by_doctor() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.write("a.txt", "a\n");
    one.sh("git add -A && git commit -q -m 'Add a'");
    repo.siglum(&["link", "add", "one", "issue=42"]).ok();
    repo.siglum(&["adopt", "HEAD", "one"]).ok();
    repo.siglum(&["token", "create", "--name", "ci"]).ok();
    crate::forgetting::append_assistant_messages(&repo, &mut one, &["This is done."]);
    one.end("other");
    idle(&repo);
    let (code, report) = verify(&repo, &[]);
    assert_eq!(code, Some(0), "{report}");
    for (table, change) in [
        ("commits", "verdict = 'likely'"),
        (
            "commits",
            "judgement = replace(judgement, 'certain', 'likely')",
        ),
        ("intents", "scene = replace(scene, 'claude', 'codex')"),
        ("intents", "at = at + 1"),
        ("observations", "recorded_at = recorded_at + 1"),
        ("observations", "turn = NULL"),
        ("statements", "by = 'Eve'"),
        ("links", "value = '43'"),
        ("tokens", "name = 'root'"),
        ("authors", "spans = replace(spans, '1', '2')"),
        ("pins", "sequence = sequence + 1"),
        ("aliases", "native = 'two'"),
        ("processes", "bound_at = bound_at + 1"),
        ("turns", "opened_at = opened_at + 1"),
        ("segments", "past = past + 1"),
    ] {
        let backup = world.root.join("before.db");
        repo.siglum(&["backup", backup.to_str().unwrap()]).ok();
        rot(&world, &format!("UPDATE {table} SET {change}"));
        let (code, report) = verify(&repo, &[]);
        assert_eq!(code, Some(4), "{table} {change}: {report}");
        let problems = report["problems"].as_array().unwrap();
        let place = format!("a row in {table}");
        assert!(
            problems.iter().any(|p| p["place"] == place.as_str()),
            "{change}: {report}"
        );
        let doctor = repo.siglum(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        assert!(doctor.stdout.contains(&place), "{doctor:?}");
        repo.siglum(&["restore", "--yes", backup.to_str().unwrap()])
            .ok();
        fs::remove_file(backup).unwrap();
    }
}

/// A session with a commit that was amended, and what people state beside it.
fn record_all_kinds(repo: &Repo<'_>) {
    let mut one = Agent::start(repo, "one");
    one.write("a.txt", "a\n");
    one.sh("git add -A && git commit -q -m 'Add a'");
    one.sh("git commit -q --amend -m 'Add a, again'");
    for args in [
        &["link", "add", "one", "issue=42"][..],
        &["adopt", "HEAD", "one"],
        &["token", "create", "--name", "ci"],
        &["pipeline", "phase", "start", "p", "build"],
        &[
            "heartbeat",
            "add",
            "beat",
            "--agent",
            "codex",
            "--every",
            "1h",
            "--prompt",
            "Look.",
        ],
    ] {
        repo.siglum(args).ok();
    }
    crate::forgetting::append_assistant_messages(repo, &mut one, &["This is done."]);
    one.end("other");
    idle(repo);
}

/// All tables that a rebuild cannot make anew and that commands fill: tables of contexts and runs are tested beside the
/// store, in the same way.
#[test]
fn a_row_that_is_gone_is_missed_by_verify_and_by_doctor() {
    let world = World::new();
    let repo = world.repo();
    record_all_kinds(&repo);
    let (code, report) = verify(&repo, &[]);
    assert_eq!(code, Some(0), "{report}");
    let backup = world.root.join("before.db");
    let backup = backup.to_str().unwrap();
    repo.siglum(&["backup", backup]).ok();
    for table in [
        "aliases",
        "authors",
        "checkpoints",
        "commits",
        "heartbeats",
        "intents",
        "links",
        "pins",
        "pipeline_events",
        "processes",
        "repositories",
        "rewrites",
        "segments",
        "sessions",
        "statements",
        "tokens",
        "turns",
        "worktrees",
    ] {
        let rows = world.count(&format!("SELECT count(*) FROM {table}"));
        let one = "(SELECT sum FROM {} ORDER BY sum LIMIT 1)".replace("{}", table);
        rot(&world, &format!("DELETE FROM {table} WHERE sum = {one}"));
        let (code, report) = verify(&repo, &[]);
        assert_eq!(code, Some(4), "{table}: {report}");
        let what = format!("1 of its {rows} rows are gone");
        let place = format!("the table {table}");
        let problems = report["problems"].as_array().unwrap();
        let problem = problems.iter().find(|p| p["place"] == place.as_str());
        let problem = problem.unwrap_or_else(|| panic!("{table}: {report}"));
        assert_eq!(
            (&problem["kind"], &problem["what"]),
            (&json!("missing"), &json!(what))
        );
        assert!(
            problem["remedy"].to_string().contains("siglum restore"),
            "{problem}"
        );
        let doctor = repo.siglum(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{doctor:?}");
        assert!(
            doctor.stdout.contains(&format!("{place}: {what}")),
            "{doctor:?}"
        );
        assert!(doctor.stdout.contains("siglum restore"), "{doctor:?}");
        repo.siglum(&["restore", "--yes", backup]).ok();
    }
    let (code, report) = verify(&repo, &[]);
    assert_eq!(code, Some(0), "{report}");
}

/// The files of the object store.
fn objects(world: &World) -> Vec<PathBuf> {
    let fans = fs::read_dir(world.siglum_home().join("objects")).unwrap();
    let fans = fans.flatten().filter(|e| e.file_name().len() == 2);
    let files = fans.flat_map(|fan| fs::read_dir(fan.path()).unwrap().flatten());
    files.map(|entry| entry.path()).collect()
}

#[test]
fn a_damaged_file_version_is_stored_again_when_it_is_seen_and_from_git() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    let text: String = (0..300).map(|n| format!("line {n}\n")).collect();
    one.write("a.txt", &text);
    one.sh("git add -A && git commit -q -m 'Add a'");
    one.stop();
    idle(&repo);
    let spoil = || {
        let all = objects(&world);
        assert!(!all.is_empty());
        for path in &all {
            let length = fs::metadata(path).unwrap().len();
            fs::write(path, vec![0; usize::try_from(length).unwrap()]).unwrap();
        }
        assert_eq!(verify(&repo, &[]).0, Some(4));
    };
    spoil();
    one.write("a.txt", &format!("{text}one more\n"));
    one.stop();
    idle(&repo);
    let (code, report) = verify(&repo, &[]);
    assert_eq!(code, Some(0), "seen again before the next edit: {report}");
    one.sh("git commit -q -a -m 'One more'");
    one.end("other");
    idle(&repo);
    spoil();
    let fixed = repo.siglum(&["doctor", "--fix"]);
    assert!(fixed.stderr.contains("from git"), "{fixed:?}");
    let (code, report) = verify(&repo, &[]);
    assert_eq!(code, Some(0), "{report}");
}

/// Overwrites the first page of a table or an index, as a bad disk would.
fn spoil_page(world: &World, name: &str) {
    let page = format!("SELECT rootpage FROM sqlite_master WHERE name = '{name}'");
    let page = world.count(&page);
    let size = world.count("PRAGMA page_size");
    until("all is in the file", || {
        let busy = "PRAGMA wal_checkpoint(TRUNCATE)";
        world.count(busy) == 0
    });
    let ledger = world.siglum_home().join("ledger.db");
    let file = fs::OpenOptions::new().write(true).open(&ledger).unwrap();
    let at = u64::try_from((page - 1) * size).unwrap();
    file.write_all_at(&vec![0xFF; usize::try_from(size).unwrap()], at)
        .unwrap();
}

/// All tables are sound, and have rows that such an index leads to.
#[test]
fn an_index_that_went_bad_by_itself_is_found_by_verify_and_by_doctor() {
    for index in ["commits_by_patch", "audit_by_actor", "turns_by_session"] {
        let world = World::new();
        let repo = world.repo();
        record_all_kinds(&repo);
        until("the worker has left", || world.processes().is_empty());
        let (code, report) = verify(&repo, &[]);
        assert_eq!(code, Some(0), "{report}");
        spoil_page(&world, index);
        let (code, report) = verify(&repo, &[]);
        assert_eq!(code, Some(4), "{index}: {report}");
        let problems = report["problems"].as_array().unwrap();
        let is_of_file = |p: &Value| p["place"] == "the file" && p["kind"] == "damaged";
        assert!(problems.iter().any(is_of_file), "{index}: {report}");
        let doctor = repo.siglum(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{index}: {doctor:?}");
        assert!(
            doctor.stdout.contains("ledger.db is damaged"),
            "{index}: {doctor:?}"
        );
    }
}

/// What hooks and git tell meanwhile is in the restored ledger.
#[test]
fn what_waits_for_a_damaged_ledger_comes_in_when_one_is_restored() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.write("a.txt", "a\n");
    one.stop();
    idle(&repo);
    let backup = world.root.join("backup.db");
    let backup = backup.to_str().unwrap();
    repo.siglum(&["backup", backup]).ok();
    spoil_page(&world, "aliases");

    one.prompt("What is told now?");
    one.write("b.txt", "b\n");
    one.sh("git add -A && git commit -q -m 'Add b'");
    one.stop();
    repo.siglum(&["worker", "--once"]);
    let doctor = repo.siglum(&["doctor"]);
    assert!(doctor.stdout.contains("siglum restore"), "{doctor:?}");
    let restored = repo.siglum(&["restore", "--yes", backup, "--json"]).ok();
    let restored: Value = serde_json::from_str(&restored).unwrap();
    assert!(
        restored["data"]["waiting"].as_u64().unwrap() > 0,
        "{restored}"
    );
    // By the worker that the restore started: nothing else is run for it.
    until("the spool is drained", || world.spooled() == 0);
    idle(&repo);
    assert_eq!(repo.committer("HEAD"), one.certain());
}

/// Triggers and views of a file that somebody else made would act in the ledger.
#[test]
fn a_backup_with_anything_that_is_not_ours_is_refused() {
    let world = World::new();
    let repo = world.repo();
    let backup = world.root.join("backup.db");
    for (name, evil) in [
        (
            "trigger",
            "CREATE TRIGGER evil AFTER INSERT ON audit BEGIN DELETE FROM tokens; END",
        ),
        ("view", "CREATE VIEW evil AS SELECT 1"),
        ("table", "CREATE TABLE evil (a)"),
        (
            "trigger",
            "DROP TRIGGER commit_added; CREATE TRIGGER commit_added AFTER INSERT ON commits BEGIN DELETE FROM tokens; END",
        ),
    ] {
        let _ = fs::remove_file(&backup);
        repo.siglum(&["backup", backup.to_str().unwrap()]).ok();
        rusqlite::Connection::open(&backup)
            .unwrap()
            .execute_batch(evil)
            .unwrap();
        let before = files(&world);
        let refused = repo.siglum(&["restore", "--yes", backup.to_str().unwrap(), "--force"]);
        assert_eq!(refused.code, Some(1), "{evil}: {refused:?}");
        assert!(
            refused.stderr.contains(&format!("holds the {name}")),
            "{refused:?}"
        );
        assert_eq!(files(&world), before);
    }
}
