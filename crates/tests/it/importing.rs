//! Sessions that agents left on disk before anybody watched, as they lie there: sub-agents beside their session, files
//! that were cut, imports that were killed, and what Codex tells as a patch alone.

mod summary;
mod unreadable;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use siglum_ledger::SqliteLedger;

use super::harness::{OtlpSink, Repo, World, until, until_within};

/// Where Claude Code keeps the transcripts of a repository.
pub(crate) fn project(world: &World) -> PathBuf {
    let dir = world.home().join(".claude/projects/-repo");
    fs::create_dir_all(&dir).unwrap();
    dir
}

fn now(repo: &Repo<'_>) -> String {
    repo.sh("date -u +%Y-%m-%dT%H:%M:%S.%3NZ").ok()
}

/// A prompt and its answer, as Claude Code 2.1 writes them.
pub(crate) fn lines(repo: &Repo<'_>, native: &str, sidechain: Option<&str>) -> String {
    let at = now(repo);
    let line = |kind: &str, message: Value| {
        let mut line = json!({
            "type": kind, "uuid": format!("{kind}-{native}-{sidechain:?}"), "timestamp": at, "sessionId": native,
            "promptId": format!("{native}-turn-1"), "cwd": repo.dir, "gitBranch": "main",
            "isSidechain": sidechain.is_some(), "version": "2.1.329", "message": message,
        });
        if let Some(agent) = sidechain {
            line["agentId"] = json!(agent);
        }
        line
    };
    let prompt = json!({ "role": "user", "content": format!("Please do the work of {native}.") });
    let answer = json!({
        "id": format!("msg_{native}_{}", sidechain.unwrap_or("own")), "role": "assistant", "model": "claude-haiku-4-5",
        "content": [{ "type": "text", "text": "Done." }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 7, "output_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0 },
    });
    format!("{}\n{}\n", line("user", prompt), line("assistant", answer))
}

fn sessions(repo: &Repo<'_>) -> Vec<Value> {
    let listed = repo
        .world
        .json(&repo.dir, &["session", "list", "--limit", "0"]);
    listed["items"].as_array().unwrap().clone()
}

fn natives(repo: &Repo<'_>) -> Vec<String> {
    let native = |s: &Value| {
        let id = s["conversation_id"].as_str().unwrap();
        id.rsplit([':', '/']).next().unwrap().to_owned()
    };
    let mut all: Vec<String> = sessions(repo).iter().map(native).collect();
    all.sort();
    all
}

#[test]
fn transcripts_of_sub_agents_are_no_sessions() {
    let world = World::new();
    let repo = world.repo();
    let project = project(&world);
    fs::write(project.join("whole.jsonl"), lines(&repo, "whole", None)).unwrap();
    // Older versions wrote them beside their session's transcript; and agents delete old transcripts, not all at once.
    for (file, session, agent) in [
        ("agent-a1.jsonl", "whole", "a1"),
        ("agent-a2.jsonl", "gone", "a2"),
        ("agent-a3.jsonl", "gone", "a3"),
    ] {
        fs::write(project.join(file), lines(&repo, session, Some(agent))).unwrap();
    }
    let report = world.json(&repo.dir, &["import"]);
    assert_eq!(report["sessions"].as_array().unwrap().len(), 2, "{report}");
    assert_eq!(natives(&repo), ["gone", "whole"]);
    for session in sessions(&repo) {
        assert!(session["ended_at"].is_string(), "{session}");
    }
    let cost = world.json(&repo.dir, &["cost"]);
    assert_eq!(cost["total"]["messages"], 4, "{cost}");
}

#[test]
fn a_transcript_that_was_cut_is_imported_once() {
    let world = World::new();
    let repo = world.repo();
    let path = project(&world).join("cut.jsonl");
    let whole = lines(&repo, "cut", None);
    let next = whole.lines().next().unwrap().replace("user-", "later-");
    let half = &next[..next.len() / 2];
    fs::write(&path, format!("{whole}{half}")).unwrap();
    let first = world.json(&repo.dir, &["import"]);
    assert_eq!(first["bytes"], whole.len(), "{first}");
    let again = world.json(&repo.dir, &["import"]);
    assert_eq!(again["sessions"], json!([]), "{again}");
    let ran = repo.siglum(&["import", "--dry-run"]);
    assert!(
        ran.stderr.contains("0 transcripts would be imported"),
        "{ran:?}"
    );
    // The rest may come.
    fs::write(&path, format!("{whole}{next}\n")).unwrap();
    let rest = world.json(&repo.dir, &["import"]);
    assert_eq!(rest["bytes"], next.len() + 1, "{rest}");
}

#[test]
fn a_turn_that_was_imported_comes_to_its_stop() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    let since = now(&repo);
    let (url, since) = (sink.url.as_str(), since.as_str());
    repo.siglum(&["otel", "add", "sink", url, "--since", since])
        .ok();
    let path = project(&world).join("told.jsonl");
    fs::write(path, lines(&repo, "told", None)).unwrap();
    repo.siglum(&["import"]).ok();
    let turns = || {
        let mut spans = sink.spans();
        spans.retain(|s| s["name"] == "invoke_agent claude-code");
        spans
    };
    until("the turn is told", || {
        repo.siglum(&["worker", "--once"]).ok();
        !turns().is_empty()
    });
    for turn in turns() {
        assert_eq!(turn["status"]["code"], 1, "{turn}");
    }
}

fn set_age(path: &Path, seconds: u64) {
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(seconds);
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(then).unwrap();
}

/// What `siglum doctor` says of transcripts that are deleted soon.
fn deleted_soon(repo: &Repo<'_>) -> Option<Value> {
    let ran = repo.siglum(&["doctor", "--json"]);
    let answer: Value = serde_json::from_str(&ran.stdout).expect(&ran.stdout);
    let mut checks = answer["data"]["checks"].as_array().unwrap().iter();
    let is_it = |check: &&Value| check["text"].as_str().unwrap().contains("not archived yet");
    checks.find(is_it).cloned()
}

#[test]
fn doctor_warns_of_transcripts_that_are_deleted_before_they_are_archived() {
    const DAY: u64 = 24 * 60 * 60;
    let world = World::new();
    let repo = world.repo();
    let project = project(&world);
    let path = |name: &str| project.join(format!("{name}.jsonl"));
    for (name, days) in [("old", 29), ("older", 40), ("fresh", 20)] {
        fs::write(path(name), lines(&repo, name, None)).unwrap();
        set_age(&path(name), days * DAY);
    }
    // Nothing happened in it, so there is nothing to archive.
    fs::write(path("empty"), "").unwrap();
    set_age(&path("empty"), 40 * DAY);
    let check = deleted_soon(&repo).expect("two are deleted soon");
    let text = check["text"].as_str().unwrap();
    assert!(
        text.contains("deletes 2 transcripts within 7 days"),
        "{text}"
    );
    let oldest = repo.sh("date -d '40 days ago' +%Y-%m-%d").ok();
    assert!(text.contains(&oldest), "{text}");
    assert_eq!(check["verdict"], "note");
    assert_eq!(check["remedy"], "Run `siglum import` to archive them.");
    // What the settings say counts.
    let settings = world.home().join(".claude/settings.json");
    let before = fs::read_to_string(&settings).unwrap_or_else(|_| "{}".to_owned());
    let mut kept: Value = serde_json::from_str(&before).unwrap();
    kept["cleanupPeriodDays"] = json!(365);
    fs::write(&settings, kept.to_string()).unwrap();
    assert_eq!(deleted_soon(&repo), None);
    // The agent that starts in a project deletes by what is said there.
    let own = repo.dir.join(".claude/settings.json");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "{\"cleanupPeriodDays\": 25}").unwrap();
    let check = deleted_soon(&repo).expect("three are deleted soon");
    let text = check["text"].as_str().unwrap();
    assert!(text.contains("deletes 3 transcripts"), "{text}");
    fs::remove_file(&own).unwrap();
    fs::write(&settings, before).unwrap();
    repo.siglum(&["import"]).ok();
    assert_eq!(deleted_soon(&repo), None);
}

/// An import that goes on.
fn begin_import(repo: &Repo<'_>) -> Child {
    let mut import = repo.world.command(World::program());
    import.arg("import").current_dir(&repo.dir);
    import.stdout(Stdio::null()).stderr(Stdio::null());
    import.spawn().unwrap()
}

#[test]
fn an_import_that_was_killed_has_the_newest_and_says_that_it_is_not_done() {
    const ALL: usize = 120;
    let world = World::new();
    let repo = world.repo();
    repo.sh("git commit -q --allow-empty -m before").ok();
    let project = project(&world);
    for n in 0..ALL {
        let native = format!("s{n:03}");
        let path = project.join(format!("{native}.jsonl"));
        fs::write(&path, lines(&repo, &native, None).repeat(40)).unwrap();
        set_age(&path, 1_000 + 60 * n as u64);
    }
    let mut import = begin_import(&repo);
    until("some sessions are imported", || {
        world.count("SELECT count(*) FROM sessions") > 3
    });
    import.kill().unwrap();
    import.wait().unwrap();
    let there = natives(&repo);
    assert!(there.len() < ALL, "it was not killed in time");
    let newest: Vec<String> = (0..there.len()).map(|n| format!("s{n:03}")).collect();
    assert_eq!(there, newest);
    let status = world.json(&repo.dir, &["status"]);
    assert_eq!(status["waiting"]["importing"], true);
    for args in [&["status"][..], &["log"]] {
        let ran = repo.siglum(args);
        assert!(
            ran.stderr.contains("run `siglum import` to complete it"),
            "{ran:?}"
        );
    }

    repo.siglum(&["import"]).ok();
    assert_eq!(natives(&repo).len(), ALL);
    for session in sessions(&repo) {
        assert!(session["ended_at"].is_string(), "{session}");
    }
    let status = world.json(&repo.dir, &["status"]);
    assert_eq!(status["waiting"]["importing"], false);
    let ran = repo.siglum(&["log"]);
    assert!(!ran.stderr.contains("siglum import"), "{ran:?}");
}

#[test]
fn hooks_reach_the_ledger_while_much_is_imported() {
    /// Beside a log that is longer, hooks only spool; in bytes.
    const LOG_MOST: u64 = 16 << 20;
    let world = World::new();
    let repo = world.repo();
    let project = project(&world);
    let pair = lines(&repo, "template", None);
    let mut all = String::new();
    for turn in 0..30 {
        let other = pair
            .replace("user-", &format!("user{turn}-"))
            .replace("assistant-", &format!("assistant{turn}-"))
            .replace("-turn-1", &format!("-turn-{turn}"))
            .replace("msg_", &format!("msg{turn}_"));
        all.push_str(&other);
    }
    for n in 0..160 {
        let native = format!("s{n:03}");
        let path = project.join(format!("{native}.jsonl"));
        fs::write(path, all.replace("template", &native)).unwrap();
    }
    // It brings the log in, too.
    let _worker = world.hold_worker();
    let mut import = begin_import(&repo);
    let ledger = world.siglum_home().join("ledger.db");
    let mut most = 0;
    until_within(Duration::from_secs(120), "all is imported", || {
        most = most.max(SqliteLedger::log_bytes(&ledger));
        import.try_wait().unwrap().is_some()
    });
    assert!(import.wait().unwrap().success());
    assert!(most < LOG_MOST, "a log of {most} bytes");
    assert!(most > LOG_MOST / 4, "too little was written: {most} bytes");
    assert_eq!(natives(&repo).len(), 160);
}

/// A rollout of Codex 0.169 that patches `shop.py`, which is there, and writes `new.py`.
fn rollout(repo: &Repo<'_>, commit: &str) -> String {
    let (at, turn) = (now(repo), "01a1fc44-c836-7d93-b525-c51bae21e05c");
    let id = "01a1fc44-c824-7a41-9678-86a903db1e79";
    let line =
        |kind: &str, payload: Value| json!({ "timestamp": at, "type": kind, "payload": payload });
    let file = |name: &str| repo.dir.join(name).display().to_string();
    let changes = json!({
        file("shop.py"): { "type": "update", "unified_diff": "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", "move_path": null },
        file("new.py"): { "type": "add", "content": "n1\nn2\n" },
        file("elsewhere.py"): { "type": "update", "unified_diff": "@@ -1 +1 @@\n-not what was there\n+x\n", "move_path": null },
    });
    let all = [
        line(
            "session_meta",
            json!({
                "session_id": id, "id": id, "timestamp": at, "cwd": repo.dir, "originator": "codex_exec",
                "cli_version": "0.169.0", "source": "exec", "model_provider": "lab",
                "git": { "commit_hash": commit, "branch": "main" },
            }),
        ),
        line(
            "event_msg",
            json!({ "type": "task_started", "turn_id": turn, "root_turn_id": turn }),
        ),
        line(
            "event_msg",
            json!({ "type": "item_completed", "thread_id": id, "turn_id": turn, "item": {
                "type": "UserMessage", "id": "m1", "content": [{ "type": "text", "text": "Shout the second line." }],
            }}),
        ),
        line(
            "event_msg",
            json!({ "type": "item_completed", "thread_id": id, "turn_id": turn, "item": {
                "type": "FileChange", "id": "call_1", "changes": changes, "status": "completed",
            }}),
        ),
    ];
    all.map(|line| format!("{line}\n")).concat()
}

#[test]
fn lines_that_codex_patched_have_their_author_in_an_import() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("printf 'one\\ntwo\\nthree\\n' > shop.py; echo there > elsewhere.py; git add -A; git commit -qm shop").ok();
    let commit = repo.id("HEAD");
    let day = world.home().join(".codex/sessions/2026/11/21");
    fs::create_dir_all(&day).unwrap();
    let name = "rollout-2026-11-21T04-02-08-01a1fc44-c824-7a41-9678-86a903db1e79.jsonl";
    fs::write(day.join(name), rollout(&repo, &commit)).unwrap();
    repo.sh(
        "printf 'one\\nTWO\\nthree\\n' > shop.py; printf 'n1\\nn2\\n' > new.py; echo x > elsewhere.py; \
         git add -A; git commit -qm 'by hand'",
    )
    .ok();
    repo.siglum(&["import"]).ok();
    let why = repo.why("HEAD");
    let of_codex = |path: &str| {
        let lines = why.lines(path).into_iter();
        let mut own = lines.filter(|(who, _)| who.contains("01a1fc44"));
        own.next().map(|(_, lines)| lines)
    };
    assert_eq!(of_codex("shop.py").as_deref(), Some("2"), "{why}");
    assert_eq!(of_codex("new.py").as_deref(), Some("1-2"), "{why}");
    assert_eq!(of_codex("elsewhere.py"), None, "{why}");
    let text = repo.siglum(&["why", "shop.py:2"]).ok();
    assert!(text.contains("Shout the second line."), "{text}");
}
