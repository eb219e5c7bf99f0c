//! What a heartbeat may be.

use siglum_domain::context::RouteKey;
use siglum_domain::heartbeat::HeartbeatName;

use crate::driven::heartbeat::{Definition, Form, Isolation, Target};

fn form(more: &str) -> Form {
    let text = format!(r#"{{"every":"30m","agent":"claude-code","prompt":"Look."{more}}}"#);
    serde_json::from_str(&text).unwrap()
}

fn defined(form: Form) -> Result<Definition, String> {
    Definition::parse(HeartbeatName::new("triage").unwrap(), form).map_err(|e| e.field)
}

#[test]
fn what_is_absent_has_its_default() {
    let one = defined(form("")).unwrap();
    assert_eq!(one.route.as_str(), "heartbeat:triage");
    assert_eq!(one.isolation, Isolation::Isolated);
    assert_eq!(one.target, Target::Log);
    assert_eq!(one.acknowledge, "HEARTBEAT_OK");
    assert_eq!(one.keep.as_secs(), 30 * 86_400);
}

#[test]
fn each_field_is_refused_by_its_name() {
    for (more, field) in [
        (r#","cron":"0 9 * * *""#, "every"),
        (r#","zone":"Europe/Atlantis""#, "zone"),
        (r#","active":"09:00-09:00""#, "active"),
        (r#","active":"9-18""#, "active"),
        (r#","active":"00:00-24:00""#, "active"),
        (r#","route_key":"a b""#, "route_key"),
        (r#","prompt_file":"a""#, "prompt"),
        (r#","cwd":"relative""#, "cwd"),
        (r#","model":" x""#, "model"),
        (r#","links":{"issue_number":"7"}"#, "issue_number"),
        (r#","links":{"labels":{"a=b":"c"}}"#, "labels"),
        (r#","links":{"colour":"red"}"#, "link"),
        (r#","target":"owner""#, "target"),
        (r#","target":"webhook""#, "webhook"),
        (
            r#","target":"webhook","webhook":"http://team.example/hook""#,
            "webhook",
        ),
        (r#","webhook":"https://team.example/hook""#, "webhook"),
        (r#","target":"route""#, "target_route_key"),
        (r#","target_route_key":"team:lead""#, "target_route_key"),
        (r#","wall":"0s""#, "wall"),
        (r#","wall":"2d""#, "wall"),
        (r#","tokens":0"#, "tokens"),
        (r#","dollars":"0.0""#, "dollars"),
        (r#","dollars":"1,50""#, "dollars"),
        (r#","keep":"1m""#, "keep"),
    ] {
        assert_eq!(defined(form(more)).err().as_deref(), Some(field), "{more}");
    }
    for (every, good) in [
        ("1s", true),
        ("1h30m", true),
        ("366d", true),
        ("0s", false),
        ("367d", false),
        ("30", false),
        ("-1m", false),
        ("1.5h", false),
        ("99999999999d", false),
    ] {
        let form = Form {
            every: Some(every.to_owned()),
            ..form("")
        };
        assert_eq!(defined(form).is_ok(), good, "{every}");
    }
    let never = Form {
        every: None,
        cron: Some("0 3 * * *".to_owned()),
        active: Some("09:00-18:00".to_owned()),
        ..form("")
    };
    assert_eq!(defined(never).err().as_deref(), Some("active"));
    let file = |path: &str| Form {
        prompt: None,
        prompt_file: Some(path.to_owned()),
        cwd: Some("/home/dev".to_owned()),
        ..form("")
    };
    assert!(defined(file("todo/HEARTBEAT.md")).is_ok());
    for bad in ["../x", "/etc/passwd", "a/../../x", ""] {
        assert_eq!(
            defined(file(bad)).err().as_deref(),
            Some("prompt_file"),
            "{bad}"
        );
    }
}

#[test]
fn no_field_takes_a_secret() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let prompt = Form {
        prompt: Some(format!("use {secret}")),
        ..form("")
    };
    assert_eq!(defined(prompt).err().as_deref(), Some("prompt"));
    for field in [
        "acknowledge",
        "cwd",
        "model",
        "prompt_file",
        "route_key",
        "target_route_key",
        "webhook",
        "zone",
    ] {
        let form = form(&format!(r#","{field}":"{secret}""#));
        assert_eq!(defined(form).err().as_deref(), Some(field));
    }
}

#[test]
fn a_schema_is_that_of_an_object_for_those_who_take_arguments() {
    let hook = r#","target":"webhook","webhook":"https://team.example/hook""#;
    let nested = |levels: usize| {
        let (open, close) = (r#"{"not":"#.repeat(levels), "}".repeat(levels));
        format!("{open}{{}}{close}")
    };
    let long = |bytes: usize| format!(r#"{{"title":"{}"}}"#, "x".repeat(bytes));
    let token = format!("ghp_{}", &"a1B2c3D4e5F6g7H8i9J0".repeat(2)[..36]);
    for (target, schema, good) in [
        (hook, "{}", true),
        (
            hook,
            r#"{"type":"object","properties":{"conversation_id":{}}}"#,
            true,
        ),
        (r#","target":"command""#, "{}", true),
        (hook, &nested(31), true),
        (hook, &nested(32), false),
        (hook, &long(16_000), true),
        (hook, &long(17_000), false),
        (hook, "true", false),
        (hook, "[]", false),
        (hook, r#""conversation_id""#, false),
        (hook, r#"{"type":"string"}"#, false),
        (hook, r#"{"type":["object"]}"#, false),
        (hook, r#"{"properties":["conversation_id"]}"#, false),
        (hook, &format!(r#"{{"title":"{token}"}}"#), false),
        (r#","target":"log""#, "{}", false),
        (r#","target":"none""#, "{}", false),
        (
            r#","target":"route","target_route_key":"team:lead""#,
            "{}",
            false,
        ),
        ("", "{}", false),
    ] {
        let parsed = defined(form(&format!(r#"{target},"schema":{schema}"#)));
        let expected = (!good).then(|| "schema".to_owned());
        assert_eq!(parsed.err(), expected, "{target} {schema}");
    }
    assert!(defined(form(r#","schema":null"#)).unwrap().takes.is_none());
}

#[test]
fn keys_converge() {
    for (route, expected) in [
        ("agent:main", "agent:main"),
        ("agent:main:heartbeat", "agent:main:heartbeat"),
        ("agent:main:heartbeat:heartbeat", "agent:main:heartbeat"),
        (
            "agent:main:heartbeat:heartbeat:heartbeat",
            "agent:main:heartbeat",
        ),
        (
            "agent:heartbeat:main:heartbeat",
            "agent:heartbeat:main:heartbeat",
        ),
        (
            "Agent:Main:Heartbeat:heartbeat",
            "Agent:Main:Heartbeat:heartbeat",
        ),
        (":heartbeat", ":heartbeat"),
        (":heartbeat:heartbeat", ":heartbeat"),
    ] {
        let once = RouteKey::new(route).unwrap().converged();
        assert_eq!(once.as_str(), expected);
        assert_eq!(once.clone().converged(), once);
    }
}
