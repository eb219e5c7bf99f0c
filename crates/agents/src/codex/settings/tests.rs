//! Installing and removing undo each other in both files.

use std::path::Path;

use insta::assert_snapshot;

use super::*;

const SHIM: &str = "/home/dev/.local/share/siglum/bin/siglum";
const DIR: &str = "/home/dev/.codex";

fn with(hooks: Option<&str>, config: Option<&str>) -> Vec<SettingsFile> {
    files(Path::new(DIR), hooks, config)
}

fn installed(hooks: Option<&str>, config: Option<&str>) -> Vec<SettingsFile> {
    let texts = plan_install(&with(hooks, config), SHIM).expect("installable");
    with(texts[0].as_deref(), texts[1].as_deref())
}

fn check(hooks: Option<&str>, config: Option<&str>) {
    let after = installed(hooks, config);
    let shown = after[1].text.clone().unwrap_or_default();
    assert_eq!(inspect(&after, SHIM), Ok(InstallState::Current), "{shown}");
    let again = plan_install(&after, SHIM).expect("installable");
    assert_eq!(
        again[1].as_deref(),
        after[1].text.as_deref(),
        "twice is once"
    );
    let removed = plan_remove(&after, SHIM).expect("removable");
    assert_eq!(removed[0].as_deref(), hooks);
    assert_eq!(removed[1].as_deref(), config, "\n{shown}");
}

#[test]
fn removing_leaves_both_files_as_they_were() {
    let hooks = [
        None,
        Some("{}\n"),
        Some("{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"mine\"}]}]}}"),
    ];
    let config = [
        None,
        Some(""),
        Some("\n"),
        Some("model = \"x\""),
        Some("model = \"x\" # mine\n"),
        Some("model = \"x\"\r\n\r\n[a]\r\nb = 1\r\n"),
        Some("[hooks.state.\"/other/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n\n# end"),
        Some("[hooks]\n[hooks.state]\n[features]\nhooks = true\n"),
        Some("[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"x\"\n"),
    ];
    for hooks in hooks {
        config.iter().for_each(|config| check(hooks, *config));
    }
}

#[test]
fn what_is_written_is_what_the_agent_reads() {
    let after = installed(None, Some("model = \"x\"\n"));
    let config = after[1].text.as_deref().expect("settings");
    let first: Vec<&str> = config.lines().take(8).collect();
    assert_snapshot!(first.join("\n"), @r#"
    model = "x"

    [hooks.state."/home/dev/.codex/hooks.json:interrupt:0:0"]
    trusted_hash = "sha256:2bec381dc13e8d5a4e49a63fb7a9d79640b40e66f62d0525e6455596ec94b8ec"

    [hooks.state."/home/dev/.codex/hooks.json:post_compact:0:0"]
    trusted_hash = "sha256:2a03c79c7fda4783b245289dfbec479c85f914357da1119ca6c3d015910afbec"
    "#);
}

#[test]
fn a_state_that_cannot_be_appended_to_is_edited_in_its_place() {
    for config in [
        "hooks = { state = { } }\n",
        "[hooks]\nstate = { \"a\" = { enabled = false } }\n",
        "[hooks.state]\n\"/home/dev/.codex/hooks.json:stop:0:0\" = { trusted_hash = \"sha256:old\" }\n",
    ] {
        let after = installed(None, Some(config));
        assert_eq!(inspect(&after, SHIM), Ok(InstallState::Current));
        let removed = plan_remove(&after, SHIM).expect("removable");
        let text = removed[1].as_deref().expect("settings");
        assert!(!text.contains("trusted_hash"), "{text}");
        assert!(text.parse::<DocumentMut>().is_ok());
    }
}

#[test]
fn hooks_that_are_not_trusted_are_reported() {
    let after = installed(None, None);
    let hooks = after[0].text.as_deref();
    let config = after[1].text.as_deref().expect("settings");
    let all = [
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "Interrupt",
        "SubagentStart",
        "SubagentStop",
        "PostCompact",
    ];
    let untrusted = |config: Option<&str>| match inspect(&with(hooks, config), SHIM) {
        Ok(InstallState::Untrusted(mut events)) => {
            events.sort();
            events
        }
        other => panic!("{other:?}"),
    };
    let mut sorted = all.map(str::to_owned);
    sorted.sort();
    assert_eq!(untrusted(None), sorted);
    let off = format!("{config}\n[features]\nhooks = false\n");
    assert_eq!(untrusted(Some(&off)), sorted);
    let changed = config.replacen("sha256:", "sha256:0", 1);
    assert_eq!(untrusted(Some(&changed)).len(), 1);
    let disabled = config.replacen("trusted_hash", "enabled = false\ntrusted_hash", 1);
    assert_eq!(untrusted(Some(&disabled)).len(), 1);
}

#[test]
fn hooks_of_others_that_move_keep_their_trust() {
    let ours_first = installed(None, None);
    let hooks: serde_json::Value =
        serde_json::from_str(ours_first[0].text.as_deref().expect("hooks")).expect("JSON");
    let mut both = hooks;
    let mine = serde_json::json!({"hooks": [{"type": "command", "command": "mine"}]});
    both["hooks"]["Stop"]
        .as_array_mut()
        .expect("groups")
        .push(mine);
    let both = both.to_string();
    let config = format!(
        "{}\n[hooks.state.\"{DIR}/hooks.json:stop:1:0\"]\ntrusted_hash = \"sha256:theirs\"\nenabled = true\n",
        ours_first[1].text.as_deref().expect("settings")
    );
    let removed = plan_remove(&with(Some(&both), Some(&config)), SHIM).expect("removable");
    let text = removed[1].as_deref().expect("settings");
    assert!(
        text.contains("hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:theirs\"\nenabled = true"),
        "{text}"
    );
    assert!(!text.contains("stop:1:0"), "{text}");
}

#[test]
fn what_the_agent_cannot_read_is_left_alone() {
    let kind = |hooks: Option<&str>, config: Option<&str>| {
        let error = plan_install(&with(hooks, config), SHIM).expect_err("refused");
        assert_eq!(plan_remove(&with(hooks, config), SHIM), Err(error.clone()));
        error
    };
    let toml = kind(None, Some("model = \n"));
    assert_eq!(toml.path, Path::new("/home/dev/.codex/config.toml"));
    assert!(matches!(toml.error, InstallError::NotToml(_)));
    for config in [
        "hooks = 1\n",
        "[[hooks]]\n",
        "[hooks]\nstate = 1\n",
        "[hooks.state]\na = 1\n",
    ] {
        let form = kind(None, Some(config));
        assert!(matches!(form.error, InstallError::Form { .. }), "{config}");
    }
    let json = kind(Some("{ // comment\n}"), None);
    assert_eq!(json.path, Path::new("/home/dev/.codex/hooks.json"));
    assert!(matches!(json.error, InstallError::NotJson(_)));
}

#[test]
fn keys_are_quoted_as_toml_wants_it() {
    for key in ["a", "a\"b", "C:\\x\\hooks.json:stop:0:0", "a\tb\u{1}", "ä"] {
        let text = block(key, "sha256:0");
        let document: DocumentMut = text.parse().expect("TOML");
        assert!(
            state_of(&document).expect("state").contains_key(key),
            "{text}"
        );
    }
}
