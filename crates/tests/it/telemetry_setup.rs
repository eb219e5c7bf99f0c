//! `siglum init --telemetry`: what agents are told, what they are not, and how it is undone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::harness::{Ran, Repo, World};

/// Settings as people have them, by the path in the home directory.
const SETTINGS: &[(&str, &str)] = &[
    (
        ".claude/settings.json",
        "{\n  // mine\n  \"env\": { \"A\": \"b\" },\n}\n",
    ),
    (
        ".codex/config.toml",
        "model = \"m\" # mine\n[profiles.x]\na = 1\n",
    ),
    (".gemini/settings.json", "{}"),
    (".gemini/.env", "GEMINI_API_KEY=x"),
    (".qwen/settings.json", "{\"model\":{\"name\":\"q\"}}\n"),
    (
        ".config/opencode/opencode.json",
        "{\n\t\"experimental\": {\n\t}\n}\n",
    ),
];

fn write(world: &World) {
    for (name, text) in SETTINGS {
        let path = world.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    }
}

/// Content and mode of all of these settings that are there.
fn settings_contents(world: &World) -> BTreeMap<&'static str, (String, u32)> {
    let of = |name: &'static str| {
        let path = world.home().join(name);
        let text = fs::read_to_string(&path).ok()?;
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        Some((name, (text, mode)))
    };
    SETTINGS.iter().filter_map(|(name, _)| of(name)).collect()
}

fn token(world: &World) -> String {
    let kept = fs::read_to_string(world.siglum_home().join("telemetry.json")).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    kept["token"].as_str().unwrap().to_owned()
}

fn tokens(repo: &Repo<'_>) -> Vec<(String, String)> {
    let listed = repo.world.json(&repo.dir, &["token", "list"]);
    let text = |t: &Value, field: &str| t[field].as_str().unwrap().to_owned();
    let all = listed["tokens"].as_array().unwrap().iter();
    all.map(|t| (text(t, "scope"), text(t, "state"))).collect()
}

fn plain(world: &World) -> Repo<'_> {
    let dir = world.root.join("repo");
    fs::create_dir(&dir).unwrap();
    let repo = world.at(&dir);
    repo.sh("git init -q -b main . && git commit -q --allow-empty -m base")
        .ok();
    repo
}

fn combined_output(ran: &Ran) -> String {
    format!("{}{}", ran.stdout, ran.stderr)
}

#[test]
fn all_agents_are_set_up_and_everything_is_taken_back() {
    let world = World::new();
    let repo = plain(&world);
    write(&world);
    let before = settings_contents(&world);
    let dry = repo.siglum(&["init", "--telemetry", "--dry-run"]);
    assert_eq!(settings_contents(&world), before);
    assert!(combined_output(&dry).contains("siglum_…"), "{dry:?}");
    assert!(!world.siglum_home().join("telemetry.json").exists());
    repo.siglum(&["init", "--yes"]).ok();
    let hooked = settings_contents(&world);
    let ran = repo.siglum(&["init", "--telemetry", "--yes"]);
    let token = token(&world);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        !combined_output(&ran).contains(&token),
        "the token was printed"
    );
    let set = settings_contents(&world);
    for (name, (text, mode)) in &set {
        assert_ne!(text, &hooked[name].0, "{name}");
        let expected = if text.contains(&token) { 0o600 } else { 0o644 };
        assert_eq!(*mode, expected, "{name}");
    }
    let holding = set.values().filter(|(text, _)| text.contains(&token));
    assert_eq!(holding.count(), 4);
    let active = ("telemetry".to_owned(), "active".to_owned());
    assert_eq!(tokens(&repo), [active]);
    let kept = world.siglum_home().join("telemetry.json");
    assert_eq!(
        fs::metadata(kept).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let again = repo.siglum(&["init", "--telemetry", "--yes"]);
    assert!(
        combined_output(&again).contains("nothing to change"),
        "{again:?}"
    );
    assert_eq!(settings_contents(&world), set);

    let gone = repo.siglum(&["uninstall", "--telemetry", "--yes"]);
    assert!(
        !combined_output(&gone).contains(&token),
        "the token was printed"
    );
    assert_eq!(settings_contents(&world), hooked);
    let revoked = ("telemetry".to_owned(), "revoked".to_owned());
    assert_eq!(tokens(&repo), [revoked]);
    repo.siglum(&["init", "--telemetry", "--yes"]).ok();
    repo.siglum(&["uninstall", "--yes"]).ok();
    assert_eq!(settings_contents(&world), before);
    assert!(!world.siglum_home().join("telemetry.json").exists());
}

#[test]
fn another_gateway_takes_the_place_of_the_first() {
    let world = World::new();
    let repo = plain(&world);
    write(&world);
    let before = settings_contents(&world);
    repo.siglum(&["init", "--telemetry", "--yes"]).ok();
    let first = token(&world);
    let there = [
        "init",
        "--telemetry",
        "--gateway",
        "http://localhost:9999/",
        "--yes",
    ];
    repo.siglum(&there).ok();
    let second = token(&world);
    assert_ne!(first, second);
    for (name, (text, _)) in settings_contents(&world) {
        assert!(!text.contains(&first) && !text.contains(":7477"), "{name}");
    }
    let state = |state: &str| ("telemetry".to_owned(), state.to_owned());
    assert_eq!(tokens(&repo), [state("active"), state("revoked")]);
    repo.siglum(&["uninstall", "--yes"]).ok();
    assert_eq!(settings_contents(&world), before);
}

#[test]
fn who_sends_telemetry_elsewhere_is_warned_and_left_alone() {
    let world = World::new();
    let repo = plain(&world);
    write(&world);
    let theirs = "{\"env\": {\"OTEL_EXPORTER_OTLP_ENDPOINT\": \"https://mine.example\"}}";
    let path = world.home().join(".claude/settings.json");
    fs::write(&path, theirs).unwrap();
    let ran = repo.siglum(&["init", "--telemetry", "--yes"]);
    let output = combined_output(&ran);
    assert!(
        output.contains("Claude Code sends its telemetry elsewhere"),
        "{output}"
    );
    let text = fs::read_to_string(&path).unwrap();
    assert!(!text.contains("OTEL_EXPORTER_OTLP_HEADERS"), "{text}");
    assert!(text.contains("https://mine.example"), "{text}");
}

#[test]
fn a_gateway_elsewhere_needs_its_own_token() {
    let world = World::new();
    let repo = plain(&world);
    write(&world);
    let refused = repo.siglum(&[
        "init",
        "--telemetry",
        "--gateway",
        "https://team.example",
        "--yes",
    ]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--token-file"), "{refused:?}");
    let file = world.root.join("token");
    let given = format!("siglum_team_{}", "ab".repeat(32));
    fs::write(&file, &given).unwrap();
    let ran = repo.siglum(&[
        "init",
        "--telemetry",
        "--gateway",
        "https://team.example",
        "--token-file",
        file.to_str().unwrap(),
        "--yes",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!combined_output(&ran).contains(&given));
    assert_eq!(token(&world), given);
    assert_eq!(tokens(&repo), []);
}

#[test]
fn doctor_tells_what_has_changed_since() {
    let world = World::new();
    let repo = plain(&world);
    write(&world);
    repo.siglum(&["init", "--telemetry", "--yes"]).ok();
    let checks = |repo: &Repo<'_>| -> Vec<(String, String)> {
        let ran = repo.siglum(&["doctor", "--json"]);
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
        let all = answer["data"]["checks"].as_array().unwrap().clone();
        let text = |c: &Value, field: &str| c[field].as_str().unwrap().to_owned();
        let ours = all.iter().filter(|c| c["area"] == "telemetry");
        ours.map(|c| (text(c, "verdict"), text(c, "text")))
            .collect()
    };
    let before = checks(&repo);
    assert_eq!(before.len(), 5, "{before:?}");
    assert!(
        before.iter().all(|(verdict, _)| verdict == "ok"),
        "{before:?}"
    );
    let path = world.home().join(".gemini/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        text.replace("\"logPrompts\": false", "\"logPrompts\": true"),
    )
    .unwrap();
    let after = checks(&repo);
    let wrong: Vec<_> = after
        .iter()
        .filter(|(verdict, _)| verdict == "problem")
        .collect();
    assert!(
        matches!(wrong.as_slice(), [(_, text)] if text.contains("Gemini CLI")),
        "{after:?}"
    );
}

/// What a launched command finds of these variables.
fn launched(repo: &Repo<'_>, own: &str) -> String {
    let siglum = World::program();
    let names =
        "OTEL_EXPORTER_OTLP_ENDPOINT|OTEL_EXPORTER_OTLP_HEADERS|GEMINI_TELEMETRY_LOG_PROMPTS";
    let script = format!(
        "{own} '{}' run -- /usr/bin/env | grep -E '^({names})=' | sort",
        siglum.display()
    );
    repo.sh(&script).stdout
}

#[test]
fn what_is_launched_gets_the_variables_unless_it_has_its_own() {
    let world = World::new();
    let repo = plain(&world);
    write(&world);
    repo.siglum(&["init", "--yes"]).ok();
    assert_eq!(launched(&repo, ""), "");
    repo.siglum(&["init", "--telemetry", "--yes"]).ok();
    let token = token(&world);
    assert_eq!(
        launched(&repo, ""),
        format!(
            "GEMINI_TELEMETRY_LOG_PROMPTS=false\n\
             OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:7477\n\
             OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer {token}\n"
        )
    );
    let own = "OTEL_EXPORTER_OTLP_ENDPOINT=https://mine.example";
    assert_eq!(launched(&repo, own), format!("{own}\n"));
    repo.siglum(&["uninstall", "--telemetry", "--yes"]).ok();
    assert_eq!(launched(&repo, ""), "");
}

/// No file below the home has the token but those that need it.
#[test]
fn the_token_stands_nowhere_else() {
    let world = World::new();
    let repo = plain(&world);
    write(&world);
    repo.siglum(&["init", "--telemetry", "--yes"]).ok();
    let token = token(&world);
    let mut holding = Vec::new();
    files_with(&world.root, &token, &mut holding);
    holding.sort();
    assert_eq!(holding.len(), 5, "{holding:?}");
}

fn files_with(dir: &Path, token: &str, into: &mut Vec<String>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_with(&path, token, into),
            Ok(kind) if kind.is_file() => {
                let bytes = fs::read(&path).unwrap_or_default();
                if String::from_utf8_lossy(&bytes).contains(token) {
                    into.push(path.display().to_string());
                }
            }
            _ => {}
        }
    }
}
