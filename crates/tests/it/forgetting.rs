//! What was forgotten is gone, byte by byte, and stays gone; what stands in the environment never gets in.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::costs::spend;
use super::harness::{Agent, Ran, Repo, World, until};

/// All bytes that Siglum keeps: every file of its home and of its directory in the repository, and what is compressed
/// in there.
fn all_stored_bytes(repo: &Repo<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut open = vec![repo.world.siglum_home(), repo.dir.join(".git/siglum")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).unwrap().flatten();
            open.extend(entries.map(|e| e.path()).filter(|p| !p.is_symlink()));
        } else if let Ok(content) = fs::read(&path) {
            bytes.extend(unpacked(&content));
            bytes.extend(content);
        }
    }
    bytes.extend(rows(&repo.world.store()));
    bytes
}

/// All that is in rows, as it is and unpacked: in its file, a long text is in pieces.
pub(crate) fn rows(store: &Connection) -> Vec<u8> {
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table'";
    let mut tables = store.prepare(tables).unwrap();
    let tables: Vec<String> = tables
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let mut bytes = Vec::new();
    for table in tables {
        let mut query = store
            .prepare(&format!("SELECT * FROM \"{table}\""))
            .unwrap();
        let columns = query.column_count();
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in 0..columns {
                if let ValueRef::Text(value) | ValueRef::Blob(value) = row.get_ref(column).unwrap()
                {
                    bytes.extend(unpacked(value));
                    bytes.extend(value);
                    bytes.push(b'\n');
                }
            }
        }
    }
    bytes
}

/// What a Zstandard frame in there says.
pub(crate) fn unpacked(content: &[u8]) -> Vec<u8> {
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let starts = content.windows(4).enumerate().filter(|(_, w)| *w == magic);
    let mut all = Vec::new();
    for (at, _) in starts {
        if let Ok(decoder) = zstd::stream::Decoder::new(&content[at..]) {
            let _ = std::io::copy(&mut decoder.single_frame(), &mut all);
        }
    }
    all
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|w| w.eq_ignore_ascii_case(text.as_bytes()))
}

/// Writes lines of a transcript, and lets the turn stop so that they are read.
pub(crate) fn append_assistant_messages(repo: &Repo<'_>, agent: &mut Agent, texts: &[&str]) {
    let path = agent.transcript();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let now = repo.sh("date -u +%Y-%m-%dT%H:%M:%S.%3NZ").ok();
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    for (n, text) in texts.iter().enumerate() {
        let line = json!({
            "type": "assistant", "uuid": format!("{}-{n}-{}", agent.native, text.len()), "timestamp": now,
            "sessionId": agent.native, "cwd": repo.dir, "isSidechain": false,
            "message": {
                "id": format!("msg_{}_{n}", agent.native), "role": "assistant", "model": "opus",
                "content": [{ "type": "text", "text": text }],
                "usage": { "input_tokens": 1, "output_tokens": 2 },
            },
        });
        writeln!(file, "{line}").unwrap();
    }
    drop(file);
    agent.stop();
    read_to_the_end(repo, &path);
}

fn read_to_the_end(repo: &Repo<'_>, path: &Path) {
    let size = fs::metadata(path).unwrap().len();
    until("the transcript is read", || {
        let sql = format!("SELECT count(*) FROM transcripts WHERE wanted = 0 AND read_to = {size}");
        repo.world.count(&sql) > 0
    });
}

#[track_caller]
fn forget(repo: &Repo<'_>, args: &[&str]) -> Value {
    let args = [&["forget"], args].concat();
    repo.world.json(&repo.dir, &args)
}

fn listed_session(repo: &Repo<'_>, native: &str) -> Value {
    let list = repo.world.json(&repo.dir, &["session", "list"]);
    let sessions = list["items"].as_array().unwrap();
    let of = |s: &&Value| s["conversation_id"].as_str().unwrap().contains(native);
    sessions.iter().find(of).cloned().unwrap()
}

#[track_caller]
fn receipts_verify(repo: &Repo<'_>) {
    let doctor = repo.siglum(&["doctor", "--json"]).stdout;
    let doctor: Value = serde_json::from_str(&doctor).unwrap();
    let checks = doctor["data"]["checks"].as_array().unwrap();
    let stored = checks.iter().find(|c| c["area"] == "stored").unwrap();
    assert_eq!(stored["verdict"], "ok", "{stored}");
}

#[test]
fn a_forgotten_session_is_gone_byte_by_byte_and_stays_gone() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.prompt("Please write about Zanzibar.");
    one.write("a.txt", "zanzibar in a file\n");
    one.sh("git add a.txt && git commit -q -m 'Add a'");
    let long = "and more of zanzibar ".repeat(200);
    append_assistant_messages(&repo, &mut one, &["zanzibar is told", &long]);
    let mut two = Agent::start(&repo, "two");
    two.write("b.txt", "another island\n");
    append_assistant_messages(&repo, &mut two, &["the other one stays"]);
    let before = repo.committer("HEAD");
    assert!(contains(&all_stored_bytes(&repo), "zanzibar"));

    let shown = forget(&repo, &["one", "--dry-run"]);
    assert_eq!(
        (&shown["done"], &shown["sessions"][0]["versions"]),
        (&json!(false), &json!(1))
    );
    assert!(contains(&all_stored_bytes(&repo), "zanzibar in a file"));
    let unconfirmed = repo.siglum(&["forget", "one"]);
    assert_eq!(unconfirmed.code, Some(1), "{unconfirmed:?}");
    assert!(contains(&all_stored_bytes(&repo), "zanzibar in a file"));

    let done = forget(&repo, &["one", "--yes"]);
    assert_eq!(done["done"], true);
    let bytes = all_stored_bytes(&repo);
    assert!(!contains(&bytes, "zanzibar"), "some bytes are left");
    assert!(contains(&bytes, "the other one stays") && contains(&bytes, "another island"));
    assert_eq!(repo.committer("HEAD"), before);
    assert!(repo.siglum(&["why", "HEAD"]).ok().contains("forgotten"));
    assert_eq!(listed_session(&repo, "one")["forgotten"]["what"], "whole");
    assert_eq!(listed_session(&repo, "one")["title"], Value::Null);
    receipts_verify(&repo);

    // The agent writes the file anew, so that it is read from its start.
    let transcript = one.transcript();
    let copy = transcript.with_extension("copy");
    fs::copy(&transcript, &copy).unwrap();
    fs::rename(&copy, &transcript).unwrap();
    one.prompt("Now something else.");
    append_assistant_messages(&repo, &mut one, &["this is new"]);
    repo.siglum(&["import", "--yes"]);
    let bytes = all_stored_bytes(&repo);
    assert!(!contains(&bytes, "zanzibar"), "it came back");
    assert!(contains(&bytes, "this is new"));
    receipts_verify(&repo);
}

#[test]
fn what_a_forgotten_session_cost_is_still_counted() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    let mut two = Agent::start(&repo, "two");
    spend(&repo, &mut one);
    spend(&repo, &mut two);
    let by = |what: &str| world.json(&repo.dir, &["cost", "--by", what]);
    let (model, branch) = (by("model"), by("branch"));
    assert_eq!(model["total"]["messages"], 2, "{model}");
    assert_eq!(branch["rows"][0]["usage"]["messages"], 2, "{branch}");

    forget(&repo, &["one", "--yes"]);
    assert_eq!(by("model"), model);
    let branch = by("branch");
    assert_eq!(branch["rows"][0]["usage"]["messages"], 1, "{branch}");
    assert_eq!(
        branch["rows"][1]["key"],
        Value::Null,
        "the branch is a word of the user's"
    );
    // It goes on, and the same message is told once more: what was kept stays, and is counted once.
    spend(&repo, &mut one);
    assert_eq!(by("model"), model);

    forget(&repo, &["one", "--costs", "--yes"]);
    assert_eq!(by("model")["total"]["messages"], 1);
    let refused = repo.siglum(&["forget", "--pattern", "x+", "--costs", "--yes"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn a_forgotten_text_goes_and_what_stands_around_it_stays() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.prompt("The word is tangerine-77, they say.");
    one.sh("echo \"they said \\\"tangerine-77\\\"\"");
    one.write("a.txt", "tangerine-77\n");
    one.write("b.txt", "an apple\n");
    append_assistant_messages(
        &repo,
        &mut one,
        &["I heard tangerine-77 and took note", "nothing here"],
    );
    assert!(contains(&all_stored_bytes(&repo), "tangerine-77"));

    let shown = forget(&repo, &["--pattern", r"tangerine-\d+", "--dry-run"]);
    assert!(shown["count"].as_u64().unwrap() >= 4, "{shown}");
    assert!(!shown.to_string().contains("tangerine"), "{shown}");
    forget(&repo, &["--pattern", r"tangerine-\d+", "--yes"]);
    let bytes = all_stored_bytes(&repo);
    assert!(!contains(&bytes, "tangerine"), "some bytes are left");
    for stays in [
        "The word is [redacted:forgotten], they say.",
        "took note",
        "nothing here",
        "an apple",
    ] {
        assert!(contains(&bytes, stays), "{stays}");
    }
    assert_eq!(
        forget(&repo, &["--pattern", r"tangerine-\d+", "--dry-run"])["count"],
        0
    );
    assert_eq!(listed_session(&repo, "one")["forgotten"]["what"], "parts");
    receipts_verify(&repo);

    let transcript = one.transcript();
    let copy = transcript.with_extension("copy");
    fs::copy(&transcript, &copy).unwrap();
    fs::rename(&copy, &transcript).unwrap();
    append_assistant_messages(&repo, &mut one, &["this is new"]);
    let bytes = all_stored_bytes(&repo);
    assert!(!contains(&bytes, "tangerine") && contains(&bytes, "this is new"));
}

#[test]
fn a_text_comes_from_standard_input_with_all_its_signs() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    let text = "pa\"ss\\wo(rd";
    one.prompt(&format!("It is {text} today."));
    append_assistant_messages(
        &repo,
        &mut one,
        &[
            &format!("so {text} it is"),
            &json!({ "said": text }).to_string(),
        ],
    );
    let mut command = repo.world.command(World::program());
    command
        .args(["forget", "--text", "--yes"])
        .current_dir(&repo.dir);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{text}").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!contains(&all_stored_bytes(&repo), "wo(rd"));
    assert!(contains(
        &all_stored_bytes(&repo),
        "so [redacted:forgotten] it is"
    ));
    assert_eq!(repo.siglum(&["forget", "--text"]).code, Some(2));
    assert_eq!(
        repo.siglum(&["forget", "--pattern", "x*", "--yes"]).code,
        Some(2)
    );
    assert_eq!(repo.siglum(&["forget", "nobody", "--yes"]).code, Some(3));
}

#[test]
fn a_delivery_that_waits_or_cannot_be_read_is_forgotten_too() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    let spool = world.siglum_home().join("spool");
    fs::create_dir_all(&spool).unwrap();
    fs::write(
        spool.join("1-a.bad"),
        "{\"native\":\"one\",\"text\":\"papaya",
    )
    .unwrap();
    fs::write(
        spool.join("2-b.bad"),
        "{\"native\":\"other\",\"text\":\"mango",
    )
    .unwrap();
    one.prompt("papaya");
    one.stop();
    forget(&repo, &["one", "--yes"]);
    assert!(
        !contains(&all_stored_bytes(&repo), "papaya")
            && contains(&all_stored_bytes(&repo), "mango")
    );
    forget(&repo, &["--pattern", "mango", "--yes"]);
    assert!(!contains(&all_stored_bytes(&repo), "mango"));
}

/// What an older version stored in the clear is found by today's rules, and erased.
#[test]
fn doctor_finds_an_old_secret_without_telling_it() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.prompt("A word that goes: PLACEHOLDER.");
    one.stop();
    let token = format!("{}{}", "ghp_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let store = world.store();
    let sql = "UPDATE observations SET payload = CAST(replace(CAST(payload AS TEXT), 'PLACEHOLDER', ?1) AS BLOB) WHERE kind = 'prompt'";
    until("the ledger is free", || {
        store.execute(sql, [&token]).is_ok()
    });
    drop(store);
    assert!(contains(&all_stored_bytes(&repo), &token));
    let ran = repo.siglum(&["doctor", "--secrets", "--json"]);
    assert!(
        ran.code == Some(1) && !ran.stdout.contains(&token),
        "{ran:?}"
    );
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let found = answer["data"]["secrets"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["rules"], json!(["github-token"]));
    assert_eq!(found[0]["session"], listed_session(&repo, "one")["id"]);
    let text = repo.siglum(&["doctor", "--secrets"]).stdout;
    assert!(
        text.contains("siglum forget --rule github-token") && !text.contains(&token),
        "{text}"
    );
    forget(&repo, &["--rule", "github-token", "--yes"]);
    assert!(!contains(&all_stored_bytes(&repo), &token));
    assert!(contains(
        &all_stored_bytes(&repo),
        "A word that goes: [redacted:github-token]."
    ));
    let ran = repo.siglum(&["doctor", "--secrets", "--json"]).stdout;
    let answer: Value = serde_json::from_str(&ran).unwrap();
    assert_eq!(answer["data"]["secrets"], json!([]));
    receipts_verify(&repo);
}

#[test]
fn doctor_finds_an_old_secret_in_the_subject_and_the_author_of_a_commit() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("GIT_AUTHOR_NAME='Ada PLACEHOLDER' git commit -q --allow-empty -m 'Use PLACEHOLDER'")
        .ok();
    repo.siglum(&["why", "HEAD"]).ok();
    let token = format!("{}{}", "ghp_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let store = world.store();
    let sql = "UPDATE commits SET facts = replace(facts, 'PLACEHOLDER', ?1) WHERE facts LIKE '%PLACEHOLDER%'";
    until("the commit has the secret", || {
        store.execute(sql, [&token]).is_ok_and(|rows| rows == 1)
    });
    drop(store);
    let ran = repo.siglum(&["doctor", "--secrets", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let found = answer["data"]["secrets"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["place"], "facts of commits");
    forget(&repo, &["--rule", "github-token", "--yes"]);
    assert!(!contains(&all_stored_bytes(&repo), &token));
}

/// An agent and git run with secrets in their environment; nothing of it gets anywhere.
#[test]
fn environments_leave_no_trace() {
    let world = World::new();
    let repo = world.repo();
    let (named, unnamed) = ("kr4ken-Harbour77-Qz", "just-a-setting-8841");
    let mut one = Agent::started_by(&repo, "one", &Agent::program(), |command| {
        let mut shell = repo.world.command("/bin/sh");
        shell.env("DEPLOY_API_TOKEN", named).env("SETTING", unnamed);
        shell
            .args(["-c", &format!("{command} &")])
            .current_dir(&repo.dir);
        assert!(shell.status().unwrap().success());
    });
    one.begin("startup");
    assert_eq!(one.bare_sh("echo $SETTING").stdout.trim(), unnamed);
    one.hook(
        "Notification",
        json!({ "message": "x", "env": { "SETTING": unnamed, "DEPLOY_API_TOKEN": named } }),
    );
    one.write("a.txt", "a\n");
    one.sh("git add -A && git commit -q -m 'Add a' && git commit -q --amend -m 'Add a file'");
    one.sh("GIT_EDITOR='echo x >' git commit -q --allow-empty; git checkout -q -b other; git rebase -q main");
    append_assistant_messages(&repo, &mut one, &["done"]);
    repo.siglum(&["why", "HEAD"]).ok();
    let mut bytes = all_stored_bytes(&repo);
    bytes.extend(
        repo.git(&["cat-file", "--batch-all-objects", "--batch"])
            .into_bytes(),
    );
    bytes.extend(repo.git(&["for-each-ref"]).into_bytes());
    assert!(!contains(&bytes, named), "the secret is stored");
    assert!(!contains(&bytes, unnamed), "the setting is stored");

    // What a tool prints is kept, without the values under names of secrets.
    for dump in [
        "env",
        "printenv",
        "export -p",
        "set",
        "tr '\\0' '\\n' </proc/self/environ",
        "cat /proc/self/environ",
    ] {
        one.sh(dump);
    }
    one.stop();
    let bytes = all_stored_bytes(&repo);
    assert!(
        !contains(&bytes, named),
        "a dump of the environment is stored in the clear"
    );
    assert!(contains(&bytes, unnamed));
}

/// What people choose in git is redacted like everything else; git itself keeps it.
#[test]
fn what_git_says_of_a_commit_is_stored_without_secrets() {
    let world = World::new();
    let repo = world.repo();
    let token = format!("{}{}", "ghp_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let mut one = Agent::start(&repo, "one");
    one.write("a.txt", "a\n");
    one.sh(&format!(
        "git add -A && GIT_AUTHOR_NAME='Ada {token}' git commit -q -m 'Use {token} here'"
    ));
    one.stop();
    repo.sh(&format!(
        "GIT_AUTHOR_NAME='Bob {token}' git commit -q --allow-empty -m 'By hand: {token}'"
    ))
    .ok();
    for commit in ["HEAD", "HEAD~1"] {
        repo.siglum(&["why", commit]).ok();
    }
    assert!(repo.git(&["log"]).contains(&token));
    assert!(
        !contains(&all_stored_bytes(&repo), &token),
        "the token is stored"
    );
    assert!(contains(
        &all_stored_bytes(&repo),
        "Use [redacted:github-token] here"
    ));
}

/// Not only what was said: names, paths, subjects, links and whatever else somebody chose.
#[test]
fn a_forgotten_text_leaves_every_place_or_is_listed_as_staying() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "persimmon-1");
    one.prompt("Plant a persimmon.");
    one.write("persimmon.txt", "a tree\n");
    one.sh("git add -A && GIT_AUTHOR_NAME='Ada Persimmon' git commit -q -m 'Add persimmon'");
    append_assistant_messages(&repo, &mut one, &["persimmon is planted"]);
    repo.siglum(&["link", "add", "persimmon-1", "--label", "tree=persimmon"]);
    repo.siglum(&["why", "HEAD"]).ok();
    let store = world.store();
    let sql = "INSERT INTO parked (queue, item, at, reason) VALUES ('transcripts', '/persimmon', 1, 'persimmon is damaged')";
    until("the ledger is free", || store.execute(sql, []).is_ok());
    drop(store);

    let shown = forget(&repo, &["--pattern", "(?i)persimmon", "--dry-run"]);
    let (count, staying) = (
        shown["count"].as_u64().unwrap(),
        shown["staying"].as_u64().unwrap(),
    );
    assert!(count > 10 && staying < count, "{shown}");
    forget(&repo, &["--pattern", "(?i)persimmon", "--yes"]);
    let left = forget(&repo, &["--pattern", "(?i)persimmon", "--dry-run"]);
    assert_eq!(left["count"], left["staying"], "{left}");
    // What is said to stay is all that is there.
    let store = world.store();
    let mut columns = store
        .prepare("SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' AND c.type = 'TEXT'")
        .unwrap();
    let columns: Vec<(String, String)> = columns
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for (table, column) in columns {
        let held = world.count(&format!(
            "SELECT count(*) FROM \"{table}\" WHERE \"{column}\" LIKE '%persimmon%'"
        ));
        let is_listed = left["found"].as_array().unwrap().iter().any(|found| {
            found["stays"] == true
                && found["place"]
                    .as_str()
                    .unwrap()
                    .starts_with(&format!("{column} of {table}"))
        });
        assert!(held == 0 || is_listed, "{column} of {table}: {held}");
    }
    assert!(repo.why("HEAD").committer().contains("certain"));
    receipts_verify(&repo);
    let text = repo.siglum(&["forget", "--pattern", "(?i)persimmon", "--yes"]);
    assert!(
        !text.stderr.contains("Nothing that matches is stored") || left["count"] == 0,
        "{text:?}"
    );
}

#[test]
fn a_forgotten_text_goes_from_telemetry_without_a_session() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["status"]).ok();
    let store = world.store();
    let sql = "INSERT INTO unassigned (at, signal, name, records, reason, bytes, payload) VALUES (1, 'logs', 'durian', 1, 'no_session', 3, x'010203')";
    until("the ledger is free", || store.execute(sql, []).is_ok());
    drop(store);
    forget(&repo, &["--pattern", "durian", "--yes"]);
    assert_eq!(world.count("SELECT count(*) FROM unassigned"), 0);
    assert!(!contains(&all_stored_bytes(&repo), "durian"));
}

#[test]
fn a_session_that_was_silent_for_long_goes_by_age_and_its_commit_keeps_its_answer() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.prompt("Say the-quarterly-word.");
    agent.write("a.txt", "one\n");
    agent.sh("git add . && git commit -q -m work");
    agent.stop();
    agent.end("exit");
    agent.quit();
    until("the worker has left", || world.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
    let old = || world.json(&repo.dir, &["forget", "--older-than", "30d", "--dry-run"]);
    assert_eq!(old()["sessions"], json!([]));
    let hundred_days = "UPDATE sessions SET last_at = last_at - 8640000000000000";
    world.store().execute(hundred_days, []).unwrap();
    let shown = old();
    assert_eq!(shown["sessions"].as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown["done"], false);
    // Without a setting nothing goes, and what starts the worker has none: a repository may set variables of agents.
    let mut starts = world.command(World::program());
    starts.env("SIGLUM_KEEP_SESSIONS", "30d");
    starts.args(["run", "--", "true"]).current_dir(&repo.dir);
    Ran::from(starts.output().unwrap()).ok();
    until("the worker has left", || world.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
    assert!(contains(&all_stored_bytes(&repo), "the-quarterly-word"));
    repo.siglum(&["config", "set", "keep_sessions", "30d"]).ok();
    repo.siglum(&["worker", "--once"]).ok();
    assert!(!contains(&all_stored_bytes(&repo), "the-quarterly-word"));
    assert_eq!(old()["sessions"], json!([]));
    let why = world.json(&repo.dir, &["why"]);
    assert_eq!(why["committer"]["verdict"], "certain", "{why}");
    repo.siglum(&["verify"]).ok();
    let listed = world.json(&repo.dir, &["audit", "list"]).to_string();
    assert!(listed.contains("retention.applied"), "{listed}");
    let refused = repo.siglum(&["config", "set", "keep_sessions", "1h"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}
