//! Settings beside the agent's own that keep it from running our hooks.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Agent, World, left_out};

#[test]
fn hooks_that_a_checkout_switches_off_are_reported_there() {
    for name in ["settings.json", "settings.local.json"] {
        let world = World::new();
        let repo = world.repo();
        repo.siglum(&["doctor"]).ok();
        fs::create_dir_all(repo.dir.join(".claude")).unwrap();
        fs::create_dir_all(repo.dir.join("deep/inside")).unwrap();
        let path = repo.dir.join(".claude").join(name);
        fs::write(&path, "{ \"disableAllHooks\": true } // for now").unwrap();
        for dir in ["", "deep/inside"] {
            let here = repo.beside(repo.dir.join(dir));
            let doctor = here.siglum(&["doctor"]);
            assert_eq!(doctor.code, Some(1), "{name}: {doctor:?}");
            let report = doctor
                .stdout
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            for part in ["`disableAllHooks` in", path.to_str().unwrap()] {
                assert!(report.contains(part), "{name}: {part}: {report}");
            }
            let status = here.siglum(&["status"]).ok();
            assert!(status.contains("disableAllHooks"), "{name}: {status}");
        }
        let elsewhere = world.sh(
            &world.root,
            &format!("'{}' doctor", World::program().display()),
        );
        assert!(
            !elsewhere.stdout.contains("disableAllHooks"),
            "{elsewhere:?}"
        );
        fs::write(&path, "{ \"disableAllHooks\": false }").unwrap();
        repo.siglum(&["doctor"]).ok();
    }
}

/// An administrator's settings are at one place of the machine: it is another one for the commands of this test.
#[test]
fn hooks_that_an_administrator_switches_off_are_reported() {
    let world = World::new();
    let repo = world.repo();
    let own = "unshare --user --map-root-user --mount";
    if repo.sh(&format!("{own} true")).code != Some(0) {
        left_out("this machine makes no sandboxes for us");
        return;
    }
    let program = World::program();
    let ask = |command: &str, switch: &str| {
        let script = format!(
            "set -e\nmount -t tmpfs none /etc\nmkdir /etc/claude-code\n\
             echo '{switch}' >/etc/claude-code/managed-settings.json\n'{}' {command}\n",
            program.display()
        );
        let file = world.root.join("administered.sh");
        fs::write(&file, script).unwrap();
        repo.sh(&format!("{own} sh '{}'", file.display()))
    };
    let only_managed = json!({ "allowManagedHooksOnly": true }).to_string();
    let doctor = ask("doctor", &only_managed);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    let words: Vec<&str> = doctor.stdout.split_whitespace().collect();
    let part = "`allowManagedHooksOnly` in /etc/claude-code/managed-settings.json";
    assert!(words.join(" ").contains(part), "{doctor:?}");
    let status = ask("status", &only_managed).ok();
    assert!(status.contains("allowManagedHooksOnly"), "{status}");
    ask("doctor", "{}").ok();
}

/// The row of an agent in `siglum agents`.
fn agent_row(repo: &crate::harness::Repo<'_>, name: &str) -> Value {
    let listed = repo.world.json(&repo.dir, &["agents"]);
    let rows = listed["agents"].as_array().unwrap();
    let row = rows.iter().find(|row| row["agent"] == name);
    row.unwrap_or_else(|| panic!("{name}: {listed:#}")).clone()
}

#[test]
fn agents_are_listed_with_the_state_of_their_hooks() {
    let world = World::new();
    let repo = world.repo();
    let row = agent_row(&repo, "claude-code");
    assert_eq!(row["found"], true, "{row:#}");
    assert_eq!(row["hooks"], "installed");
    assert_eq!(row["trusted"], true);
    assert_eq!(row["last_seen_at"], Value::Null);
    assert_eq!(row["transcript_days"], 30);
    let mut agent = Agent::start(&repo, "seen");
    agent.stop();
    let row = agent_row(&repo, "claude-code");
    assert!(row["last_seen_at"].is_string(), "{row:#}");

    let settings = repo.dir.join(".claude");
    fs::create_dir_all(&settings).unwrap();
    let switch = json!({ "disableAllHooks": true }).to_string();
    fs::write(settings.join("settings.json"), switch).unwrap();
    let row = agent_row(&repo, "claude-code");
    assert_eq!(row["hooks"], "disabled", "{row:#}");
    assert_eq!(row["trusted"], false);
    let detail = row["detail"].as_str().unwrap();
    assert!(detail.contains("disableAllHooks"), "{detail}");

    let row = agent_row(&repo, "qwen");
    assert_eq!(row["hooks"], "installed", "{row:#}");
    fs::remove_dir_all(world.home().join(".qwen")).unwrap();
    let row = agent_row(&repo, "qwen");
    assert_eq!(
        (&row["found"], &row["hooks"]),
        (&json!(false), &json!("none"))
    );
    assert!(row.get("trusted").is_none_or(Value::is_null), "{row:#}");

    let shown = repo.siglum(&["agents"]).ok();
    let gemini = shown.lines().find(|line| line.starts_with("Gemini CLI"));
    let gemini = gemini.unwrap_or_else(|| panic!("{shown}"));
    assert!(
        gemini.ends_with("commits, turns, calls, sub-agents"),
        "{shown}"
    );
    assert!(shown.contains("Recognised, but not recorded: "), "{shown}");
    assert!(shown.contains("aider"), "{shown}");
}
