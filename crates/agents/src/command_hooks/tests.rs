//! Installing and removing undo each other, whatever the settings look like.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;

use crate::claude_code::HOOKS;
use crate::install::{InstallError, InstallState};

const SHIM: &str = "/home/dev/.local/share/siglum/bin/siglum";

fn install(before: &str) -> String {
    HOOKS.plan_install(Some(before), SHIM).expect("installable")
}

fn check(before: &str) {
    let after = install(before);
    assert_eq!(
        HOOKS.inspect(&after, SHIM),
        Ok(InstallState::Current),
        "{after}"
    );
    assert_eq!(
        install(&after),
        after,
        "installing twice is installing once"
    );
    assert_eq!(
        HOOKS
            .plan_remove(&after, SHIM)
            .as_ref()
            .map(Option::as_deref),
        Ok(Some(before)),
        "\n{after}"
    );
    assert_eq!(
        HOOKS
            .plan_remove(before, SHIM)
            .as_ref()
            .map(Option::as_deref),
        Ok(Some(before))
    );
}

const REAL_WORLD: &[&str] = &[
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "{\r\n}\r\n",
    "{\n\n}",
    "{ // nothing yet\n}\n",
    "\u{feff}{\n  \"model\": \"opus\"\n}\n",
    "{\"model\":\"opus\"}",
    "{ \"model\": \"opus\" }\n",
    "{\"hooks\":{}}",
    "{\"hooks\":{ },\"x\":1}",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n  }\n}\n",
    "{\n  \"hooks\": { /* none */ }\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [],\n    \"PreToolUse\": [ ]\n  },\n  \"x\": {}\n}",
    "{\n\t\"model\": \"opus\",\n\t\"permissions\": {\n\t\t\"allow\": [\"Bash(ls:*)\"]\n\t}\n}\n",
    "{\r\n  \"model\": \"opus\",\r\n  \"hooks\": {\r\n    \"Stop\": []\r\n  }\r\n}\r\n",
    "{\r\n    \"model\": \"opus\"\r\n}",
    "// settings\n{\n  // the model\n  \"model\": \"opus\", // best\n  /* end */\n}\n// bye\n",
    "{\n  \"model\": \"opus\" // best\n}\n",
    "{\n  \"model\": \"opus\", // best\n}\n",
    "{\n  \"model\": \"opus\" /* a */ , /* b */ // c\n  // d\n}\n",
    "{\"a\":1// x\n}",
    "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] }\n    ],\n    \"PreToolUse\": [{\"matcher\": \"Bash\", \"hooks\": [{\"type\": \"command\", \"command\": \"guard\"}]}],\n  },\n}\n",
    "{\n  \"hooks\": {\n    \"Stop\": [{\n      \"hooks\": [{\n        \"type\": \"command\",\n        \"command\": \"x\"\n      }]\n    }]\n  }\n}\n",
    "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]},\"env\":{\"A\":\"{,}//\"}}",
    "{\"a\": 1,\n \"b\": 2}",
    "{\n      \"a\": 1,\n   \"b\": [\n1\n]}\n\n\n",
    "{\"a\":1,}",
    "{\"hooks\":{\"PostCompact\":[{\"hooks\":[{\"command\":\"a\"}]}\n  // d\n  ,/* [ */],/* [ */\"Stop\":[]}}",
];

#[test]
fn removing_undoes_installing_byte_for_byte() {
    for before in REAL_WORLD {
        check(before);
    }
}

/// A person's comment may stand behind any bracket of what we wrote.
#[test]
fn comments_behind_brackets_are_no_obstacle() {
    for before in REAL_WORLD {
        let after = install(before);
        for (at, _) in after.match_indices(['[', '{', ',']) {
            let (head, tail) = after.split_at(at + 1);
            let commented = format!("{head} // mine\n{tail}");
            if super::document::parse(&commented).is_err() {
                continue; // The bracket was in a text.
            }
            let removed = HOOKS.plan_remove(&commented, SHIM).expect(&commented);
            let removed = removed.expect("a comment is a person's");
            assert!(
                super::document::parse(&removed).is_ok(),
                "{commented}\n{removed}"
            );
            assert!(!removed.contains("hook claude-code"), "{removed}");
        }
    }
}

#[test]
fn a_file_that_we_made_goes_away() {
    for before in [None, Some(""), Some(" \n")] {
        let after = HOOKS.plan_install(before, SHIM).expect("installable");
        assert_eq!(HOOKS.inspect(&after, SHIM), Ok(InstallState::Current));
        assert_eq!(HOOKS.plan_remove(&after, SHIM), Ok(None));
        assert_eq!(
            HOOKS
                .plan_install(Some(&after), "/new/siglum")
                .map(|text| HOOKS.plan_remove(&text, "/new/siglum")),
            Ok(Ok(None))
        );
    }
}

#[test]
fn the_hooks_look_like_this() {
    let after = HOOKS
        .plan_install(None, "/a b/siglum")
        .expect("installable");
    let head: String = after.split_inclusive('\n').take(40).collect();
    assert_snapshot!(head, @r#"
    {
      "hooks": {
        "SessionStart": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "'/a b/siglum' hook claude-code",
                "timeout": 10
              }
            ]
          }
        ],
        "SessionEnd": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "'/a b/siglum' hook claude-code",
                "timeout": 10
              }
            ]
          }
        ],
        "UserPromptSubmit": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "'/a b/siglum' hook claude-code",
                "timeout": 10
              }
            ]
          }
        ],
        "PreToolUse": [
          {
            "matcher": "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent",
            "hooks": [
              {
    "#);
    let mut events: Value = serde_json::from_str(&after).expect("JSON");
    events.sort_all_objects();
    let events: Vec<_> = events["hooks"]
        .as_object()
        .expect("an object")
        .iter()
        .map(|(name, groups)| format!("{name} {}", groups[0]["matcher"]))
        .collect();
    assert_snapshot!(events.join("\n"), @r#"
    CwdChanged null
    PostCompact null
    PostToolUse "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent"
    PostToolUseFailure "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent"
    PreCompact null
    PreToolUse "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent"
    SessionEnd null
    SessionStart null
    Stop null
    StopFailure null
    SubagentStart null
    SubagentStop null
    UserPromptSubmit null
    "#);
}

#[test]
fn foreign_settings_keep_their_layout() {
    let lines = install(
        "{\n  \"model\": \"opus\", // best\n  \"hooks\": {\n    \"Stop\": [\n      {\"hooks\": []} // mine\n    ]\n  }\n}\n",
    );
    let lines: String = lines.split_inclusive('\n').take(32).collect();
    assert_snapshot!(lines, @r#"
    {
      "model": "opus", // best
      "hooks": {
        "Stop": [
          {"hooks": []}, // mine
          {
            "hooks": [
              {
                "type": "command",
                "command": "/home/dev/.local/share/siglum/bin/siglum hook claude-code",
                "timeout": 10
              }
            ]
          }
        ],
        "SessionStart": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "/home/dev/.local/share/siglum/bin/siglum hook claude-code",
                "timeout": 10
              }
            ]
          }
        ],
        "SessionEnd": [
          {
            "hooks": [
              {
                "type": "command",
                "command": "/home/dev/.local/share/siglum/bin/siglum hook claude-code",
    "#);
    let inline = install("{\"hooks\":{\"Stop\":[]},\"x\":1}");
    assert_snapshot!(inline.chars().take(420).collect::<String>(), @r#"{"hooks":{"Stop":[ {"hooks": [{"type": "command", "command": "/home/dev/.local/share/siglum/bin/siglum hook claude-code", "timeout": 10}]}], "SessionStart": [{"hooks": [{"type": "command", "command": "/home/dev/.local/share/siglum/bin/siglum hook claude-code", "timeout": 10}]}], "SessionEnd": [{"hooks": [{"type": "command", "command": "/home/dev/.local/share/siglum/bin/siglum hook claude-code", "timeout": 10}]}], "Us"#);
}

#[test]
fn what_is_no_settings_file_is_left_alone() {
    let check = |text: &str| {
        HOOKS
            .plan_install(Some(text), SHIM)
            .expect_err(text)
            .to_string()
    };
    assert_snapshot!(check("{\"a\": }"), @r#"settings are not valid JSON: Unexpected close brace on line 1 column 7"#);
    assert_snapshot!(check("{\n  \"a\": 1\n"), @r#"settings are not valid JSON: Unterminated object on line 1 column 1"#);
    assert_snapshot!(check("{'a': 1}"), @r#"settings are not valid JSON: Single-quoted strings are not allowed on line 1 column 2"#);
    assert_snapshot!(check("[]"), @r#"settings have an unexpected structure: `the file` is not an object"#);
    assert_snapshot!(check("// nothing\n"), @r#"settings are not valid JSON: there is no value in it"#);
    assert_snapshot!(check("{\"hooks\": []}"), @r#"settings have an unexpected structure: `hooks` is not an object"#);
    assert_snapshot!(check("{\"hooks\": {\"Stop\": {}}}"), @r#"settings have an unexpected structure: `hooks.Stop` is not an array"#);
    assert_snapshot!(check(&"[".repeat(100_000)), @r#"settings are not valid JSON: Maximum nesting depth exceeded on line 1 column 513"#);
    assert!(HOOKS.plan_remove("{\"a\": }", SHIM).is_err());
    assert!(matches!(
        HOOKS.inspect("{\"hooks\": 1}", SHIM),
        Err(InstallError::Form { .. })
    ));
    assert_eq!(HOOKS.plan_install(Some("{}"), ""), Err(InstallError::Shim));
}

#[test]
fn the_state_is_reported() {
    assert_eq!(HOOKS.inspect("", SHIM), Ok(InstallState::Missing));
    assert_eq!(
        HOOKS.inspect(
            "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"x\"}]}]}}",
            SHIM
        ),
        Ok(InstallState::Missing)
    );
    let other = HOOKS
        .plan_install(None, "/old dir/siglum")
        .expect("installable");
    assert_eq!(
        HOOKS.inspect(&other, SHIM),
        Ok(InstallState::OtherShim("/old dir/siglum".to_owned()))
    );
    let stop = "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"siglum hook claude-code\"}]}]}}";
    let Ok(InstallState::Partial(lacking)) = HOOKS.inspect(stop, "siglum") else {
        panic!("partial")
    };
    assert_eq!(lacking.len(), 12);
    assert!(!lacking.contains(&"Stop".to_owned()));
}

#[test]
fn another_shim_and_an_old_matcher_are_replaced_and_foreign_hooks_stay() {
    let before = "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"/old/siglum hook claude-code\"},{\"type\":\"command\",\"command\":\"guard\"}]}]}}";
    let after = install(before);
    assert!(!after.contains("/old/"), "{after}");
    assert_eq!(HOOKS.inspect(&after, SHIM), Ok(InstallState::Current));
    let left = HOOKS
        .plan_remove(&after, SHIM)
        .expect("removable")
        .expect("something");
    assert_eq!(
        left,
        "{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash\",\"hooks\":[{\"type\":\"command\",\"command\":\"guard\"}]}]}}"
    );
    let narrow = install("{}").replace("Bash|Write", "Write");
    assert!(
        matches!(HOOKS.inspect(&narrow, SHIM), Ok(InstallState::Partial(events)) if events.len() == 3)
    );
    assert_eq!(
        HOOKS.inspect(&install(&narrow), SHIM),
        Ok(InstallState::Current)
    );
}

#[test]
fn settings_that_the_agent_wrote_anew_can_be_cleaned() {
    let before =
        r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]},"model":"opus"}"#;
    let value: Value = serde_json::from_str(&install(before)).expect("JSON");
    let pretty = serde_json::to_string_pretty(&value).expect("JSON");
    let left = HOOKS
        .plan_remove(&pretty, SHIM)
        .expect("removable")
        .expect("something");
    assert_eq!(
        serde_json::from_str::<Value>(&left).ok(),
        serde_json::from_str(before).ok()
    );
}

/// Blanks and comments, as people write them.
fn gap() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\r\n\t",
        " // c, }\n",
        "/* [ */",
        "\n  // d\n  ",
    ])
    .prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "true",
        "null",
        "\"a//,{\"",
        "\"\\\"\"",
        "[]",
        "{}",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            container("[", "]", inner.clone()),
            container(
                "{",
                "}",
                ("[a-c]{1,2}", inner).prop_map(|(k, v)| format!("\"{k}\":{v}"))
            )
        ]
    })
}

fn container(
    open: &'static str,
    close: &'static str,
    item: impl Strategy<Value = String> + 'static,
) -> impl Strategy<Value = String> {
    (
        prop::collection::vec((gap(), item, gap()), 0..4),
        gap(),
        any::<bool>(),
    )
        .prop_map(move |(items, end, trailing)| {
            let comma = if trailing && !items.is_empty() {
                ","
            } else {
                ""
            };
            let items: Vec<String> = items
                .into_iter()
                .map(|(before, item, after)| format!("{before}{item}{after}"))
                .collect();
            format!("{open}{}{comma}{end}{close}", items.join(","))
        })
}

/// Settings with and without hooks, for our events and for others.
fn settings() -> impl Strategy<Value = String> {
    let event = prop::sample::select(vec![
        "Stop",
        "SessionStart",
        "PreToolUse",
        "PostCompact",
        "Notification",
    ]);
    let group = container("[", "]", r#"\{"hooks":\[\{"command":"[a-z]{1,4}"\}\]\}"#);
    let event = (event, group).prop_map(|(name, groups)| format!("\"{name}\":{groups}"));
    let hooks = container("{", "}", event).prop_map(|hooks| format!("\"hooks\":{hooks}"));
    let other = ("[a-c]{1,3}", value()).prop_map(|(key, value)| format!("\"{key}\":{value}"));
    let member = prop_oneof![2 => other, 1 => hooks];
    (gap(), container("{", "}", member), gap())
        .prop_map(|(before, object, after)| format!("{before}{object}{after}"))
}

proptest! {
    #[test]
    fn removing_undoes_installing_for_any_settings(before in settings()) {
        check(&before);
    }

    #[test]
    fn no_text_is_too_strange(text in ".{0,200}", cut in 0_usize..2000) {
        let _ = HOOKS.plan_install(Some(&text), SHIM);
        let _ = HOOKS.plan_remove(&text, SHIM);
        let mut cut_off = HOOKS.plan_install(None, SHIM).expect("installable");
        cut_off.truncate(cut);
        let _ = HOOKS.plan_install(Some(&cut_off), SHIM);
        let _ = HOOKS.inspect(&cut_off, SHIM);
    }
}
