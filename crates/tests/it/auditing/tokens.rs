//! Credentials on the command line, and what verifying tells of an audit that somebody changed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{actions, audit, verify};
use crate::harness::World;
use crate::launching::{COMMIT, Launch, sessions};

/// Every file below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// The files in which one of these texts, or its random part, stands.
fn holding(dir: &Path, secrets: &[String]) -> Vec<PathBuf> {
    let mut found = files(dir);
    found.retain(|path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        secrets
            .iter()
            .any(|s| text.contains(s.as_str()) || text.contains(&s[s.len() - 64..]))
    });
    found
}

fn secret(answer: &Value) -> String {
    let secret = answer["secret"].as_str().unwrap().to_owned();
    assert!(secret.starts_with("siglum_default_") && secret.len() == 79);
    secret
}

#[test]
fn a_token_is_shown_once_and_stands_in_no_file() {
    let world = World::new();
    let repo = world.repo();
    let flags = "--issue 7 --label who=me";
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], flags);
    agent.begin("startup");
    let session = sessions(&repo)[0]["id"].as_str().unwrap().to_owned();
    let json = |args: &[&str]| world.json(&repo.dir, args);

    let plain = repo.siglum(&["token", "create", "--name", "night"]);
    let lines: Vec<&str> = plain.stdout.lines().collect();
    let mut secrets = vec![lines[0].to_owned()];
    assert_eq!(lines.len(), 1, "only the token is on standard output");
    assert!(!plain.stderr.contains(&secrets[0]), "{}", plain.stderr);
    let created = json(&[
        "token",
        "create",
        "--session",
        &session,
        "--expires",
        "never",
    ]);
    secrets.push(secret(&created));
    assert_eq!(created["token"]["scope"], "session");
    assert_eq!(created["token"]["expires_at"], Value::Null);
    let id = created["token"]["id"].as_str().unwrap().to_owned();
    let rotated = json(&["token", "rotate", &id, "--grace", "0s"]);
    secrets.push(secret(&rotated));
    assert_eq!(rotated["replaces"].as_str(), Some(id.as_str()));
    assert_eq!(rotated["token"]["session"].as_str(), Some(session.as_str()));

    // An agent that prints one, and a person who mistakes it for its id.
    agent.prompt(&format!("Use {} for it.", secrets[0]));
    agent.sh(&format!("echo {}; {COMMIT}", secrets[1])).ok();
    let mistaken = repo.siglum(&["token", "revoke", &secrets[2]]);
    assert_eq!(mistaken.code, Some(3));
    assert!(
        !mistaken.stderr.contains(&secrets[2]),
        "{}",
        mistaken.stderr
    );
    repo.siglum(&["token", "create", "--name", &secrets[0]]);
    agent.stop();
    agent.end("other");
    drop(agent);
    assert_eq!(launch.over(), Some(0));
    repo.siglum(&["status"]).ok();

    let listed = json(&["token", "list"]);
    let state = |t: &Value| t["state"].as_str().unwrap().to_owned();
    let states: Vec<String> = listed["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .map(state)
        .collect();
    assert_eq!(states, ["active", "expired", "active"]);
    let left = holding(&world.siglum_home(), &secrets);
    assert!(left.is_empty(), "{left:?}");
    let left = holding(&repo.dir.join(".git/siglum"), &secrets);
    assert!(left.is_empty(), "{left:?}");
    let digest = |dir| holding(dir, &["0".repeat(64)]);
    assert!(
        !digest(&world.siglum_home()).is_empty(),
        "files are looked through"
    );
}

#[test]
fn tokens_and_launches_leave_their_entries() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["run", "--pipeline", "p1", "--", "true"]).ok();
    let json = |args: &[&str]| world.json(&repo.dir, args);
    let created = json(&["token", "create", "--name", "ci"]);
    let id = created["token"]["id"].as_str().unwrap();
    let rotated = json(&["token", "rotate", &id[id.len() - 8..]]);
    let newer = rotated["token"]["id"].as_str().unwrap();
    assert_eq!(rotated["token"]["name"], "ci");
    for before in [false, true] {
        assert_eq!(json(&["token", "revoke", newer])["before"], before);
    }
    let again = repo.siglum(&["token", "rotate", newer]);
    assert_eq!(again.code, Some(1), "{}", again.stderr);
    for bad in [
        &["token", "create", "--expires", "0d"][..],
        &["token", "create", "--name", ""],
        &["token", "create", "--name", "a\tb"],
        &["token", "rotate", id, "--grace", "soon"],
    ] {
        assert_eq!(repo.siglum(bad).code, Some(2), "{bad:?}");
    }
    assert_eq!(repo.siglum(&["token", "revoke", "ffffff"]).code, Some(3));
    let missing = ["token", "create", "--session", "ffffffff"];
    assert_eq!(repo.siglum(&missing).code, Some(3));
    let entries = audit(&world, &[]);
    assert_eq!(
        actions(&entries),
        [
            "session.created",
            "session.ended",
            "token.created",
            "token.rotated",
            "token.revoked"
        ]
    );
    assert_eq!(entries[1]["actor"], "launcher");
    assert_eq!(entries[1]["pipeline"], "p1");
    assert_eq!(entries[3]["body"]["replaces"], id);
    let page = json(&["audit", "list", "--limit", "2"]);
    assert_eq!(page["next"], 4);
    let next = json(&["audit", "list", "--limit", "9", "--before", "4"]);
    assert_eq!(next["items"].as_array().unwrap().len(), 3);
}

#[test]
fn a_changed_audit_entry_is_reported_with_its_number() {
    let world = World::new();
    let repo = world.repo();
    for _ in 0..4 {
        repo.siglum(&["run", "--", "true"]).ok();
    }
    let report = verify(&world).ok();
    assert!(report.contains("8  audit entries"), "{report}");
    repo.siglum(&["verify"]).ok();
    let db = world.store();
    db.execute("UPDATE audit SET actor = 'nobody' WHERE number = 3", [])
        .unwrap();
    db.execute("DELETE FROM audit WHERE number = 6", [])
        .unwrap();
    drop(db);
    let found = verify(&world);
    assert_eq!(found.code, Some(4));
    for flaw in ["entry 3 is not what was recorded", "entry 6 is missing"] {
        assert!(found.stdout.contains(flaw), "{}", found.stdout);
        for command in ["verify", "doctor"] {
            let ran = repo.siglum(&[command]);
            assert!(ran.stdout.contains(flaw), "{command}: {}", ran.stdout);
        }
    }
}

#[test]
fn an_export_is_json_lines_and_its_own_last_entry() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["run", "--issue", "3", "--", "true"]).ok();
    let exported = repo.siglum(&["audit", "export"]).ok();
    let lines: Vec<Value> = exported
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 3);
    let mut before = "0".repeat(64);
    for (number, line) in (1..).zip(&lines) {
        assert_eq!(line["schema"], "siglum.audit.export/1");
        let data: siglum_domain::audit::wire::Line =
            serde_json::from_value(line["data"].clone()).unwrap();
        assert_eq!((data.number, &data.previous), (number, &before));
        before = data.digest.clone();
        let ledger = data.ledger;
        let entry = data.entry().unwrap();
        let mut verifying = siglum_domain::audit::Verifying::from(ledger, number);
        assert_eq!(verifying.entry(number, Ok(&entry)), []);
    }
    assert_eq!(lines[2]["data"]["action"], "audit.exported");
}
