//! What is set is what the agents read, and taking it out leaves what was there.

use std::path::{Path, PathBuf};

use super::*;

const TOKEN: &str = "siglum_default_t";

fn export() -> Export {
    Export {
        gateway: "http://127.0.0.1:7477".to_owned(),
        token: TOKEN.to_owned(),
    }
}

fn spec(agent: &str) -> &'static TelemetrySpec {
    TELEMETRY
        .iter()
        .find(|spec| spec.agent == agent)
        .expect("an agent")
}

fn files(spec: &TelemetrySpec, texts: &[Option<&str>]) -> Vec<SettingsFile> {
    let paths = spec.settings(Path::new("/home/dev/own")).into_iter();
    let texts = texts.iter().copied().chain(std::iter::repeat(None));
    let file = |(path, text): (PathBuf, Option<&str>)| SettingsFile {
        path,
        text: text.map(str::to_owned),
    };
    paths.zip(texts).map(file).collect()
}

fn after(spec: &TelemetrySpec, plan: &TelemetryPlan) -> Vec<SettingsFile> {
    let texts: Vec<Option<&str>> = plan.texts.iter().map(Option::as_deref).collect();
    files(spec, &texts)
}

/// Sets it, checks that setting it again changes nothing, takes it out; gives the first file with it.
fn round(agent: &str, text: Option<&str>) -> String {
    let spec = spec(agent);
    let before = files(spec, &[text]);
    let plan = spec.plan(&before, &export()).expect("settings");
    assert_eq!(plan.kept, Vec::<String>::new());
    let set = after(spec, &plan);
    assert_eq!(spec.inspect(&set, &export()), Ok(TelemetryState::Current));
    let again = spec.plan(&set, &export()).expect("settings");
    assert_eq!(again.texts, plan.texts);
    assert!(again.added.iter().all(Vec::is_empty));
    let left = spec.undo(&set, &export(), &plan.added).expect("settings");
    let was: SettingsTexts = before.iter().map(|file| file.text.clone()).collect();
    assert_eq!(left, was, "{agent}");
    plan.texts[0].clone().expect("a file")
}

#[test]
fn what_is_set_is_taken_out_to_the_byte() {
    let json = [
        None,
        Some("{}\n"),
        Some("{}"),
        Some("{ \"env\": {} }"),
        Some("{\n  // mine\n  \"env\": {\n    \"A\": \"b\" // too\n  },\n}\n"),
        Some("{\r\n\t\"telemetry\": {\r\n\t}\r\n}\r\n"),
        Some("\u{feff}{\"experimental\":{\"x\":1}}"),
    ];
    for agent in ["claude-code", "gemini", "qwen", "opencode"] {
        for text in json {
            round(agent, text);
        }
    }
    for text in [
        None,
        Some("model = \"m\"\n"),
        Some("model = \"m\""),
        Some("[otel]\nenvironment = \"dev\"\n\n[profiles.x]\n# mine\na = 1\n"),
        Some(""),
    ] {
        round("codex", text);
    }
}

#[test]
fn what_is_set_is_what_the_agents_read() {
    let value = |agent: &str| -> serde_json::Value {
        serde_json::from_str(&round(agent, None)).expect("JSON")
    };
    let claude = value("claude-code");
    assert_eq!(claude["env"]["CLAUDE_CODE_ENABLE_TELEMETRY"], "1");
    assert_eq!(
        claude["env"]["OTEL_EXPORTER_OTLP_ENDPOINT"],
        "http://127.0.0.1:7477"
    );
    let header = format!("Authorization=Bearer {TOKEN}");
    assert_eq!(claude["env"]["OTEL_EXPORTER_OTLP_HEADERS"], header.as_str());
    assert_eq!(
        claude["env"]["OTEL_LOG_USER_PROMPTS"],
        serde_json::Value::Null
    );
    let gemini = value("gemini");
    assert_eq!(gemini["telemetry"]["logPrompts"], false);
    assert_eq!(gemini["telemetry"]["enabled"], true);
    assert_eq!(
        value("qwen")["env"]["OTEL_EXPORTER_OTLP_HEADERS"],
        header.as_str()
    );
    assert_eq!(value("opencode")["experimental"]["openTelemetry"], true);
    let codex: toml_edit::DocumentMut = round("codex", None).parse().expect("TOML");
    for (table, signal) in [
        ("exporter", "logs"),
        ("trace_exporter", "traces"),
        ("metrics_exporter", "metrics"),
    ] {
        let http = &codex["otel"][table]["otlp-http"];
        let endpoint = format!("http://127.0.0.1:7477/v1/{signal}");
        assert_eq!(http["endpoint"].as_str(), Some(endpoint.as_str()));
        assert_eq!(http["protocol"].as_str(), Some("binary"));
        let bearer = format!("Bearer {TOKEN}");
        assert_eq!(
            http["headers"]["Authorization"].as_str(),
            Some(bearer.as_str())
        );
    }
}

#[test]
fn the_token_of_gemini_stands_in_its_file_of_variables() {
    let spec = spec("gemini");
    let header = format!("OTEL_EXPORTER_OTLP_HEADERS=\"Authorization=Bearer {TOKEN}\"");
    for own in ["GEMINI_API_KEY=x\n# mine\n", "GEMINI_API_KEY=x"] {
        let before = files(spec, &[Some("{}"), Some(own)]);
        let plan = spec.plan(&before, &export()).expect("settings");
        let text = plan.texts[1].clone().expect("a text");
        assert!(text.lines().any(|line| line == header), "{text}");
        let left = spec.undo(&after(spec, &plan), &export(), &plan.added);
        assert_eq!(left.expect("settings")[1].as_deref(), Some(own));
    }
}

#[test]
fn who_sends_it_elsewhere_is_left_alone() {
    for (agent, text, setting) in [
        (
            "claude-code",
            r#"{"env": {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://x"}}"#,
            "env.OTEL_EXPORTER_OTLP_ENDPOINT",
        ),
        (
            "claude-code",
            r#"{"env": {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "https://x"}}"#,
            "env.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
        ),
        (
            "claude-code",
            r#"{"env": {"CLAUDE_CODE_ENABLE_TELEMETRY": "0"}}"#,
            "env.CLAUDE_CODE_ENABLE_TELEMETRY",
        ),
        (
            "gemini",
            r#"{"telemetry": {"enabled": false}}"#,
            "telemetry.enabled",
        ),
        (
            "gemini",
            r#"{"telemetry": {"target": "gcp"}}"#,
            "telemetry.target",
        ),
        (
            "qwen",
            r#"{"telemetry": {"outfile": "/x"}}"#,
            "telemetry.outfile",
        ),
        (
            "opencode",
            r#"{"experimental": {"openTelemetry": false}}"#,
            "experimental.openTelemetry",
        ),
        ("codex", "[otel]\nexporter = \"none\"\n", "otel.exporter"),
        (
            "codex",
            "[otel.trace_exporter.otlp-grpc]\nendpoint = \"https://x\"\n",
            "otel.trace_exporter",
        ),
    ] {
        let spec = spec(agent);
        let before = files(spec, &[Some(text)]);
        let plan = spec.plan(&before, &export()).expect("settings");
        assert_eq!(plan.texts[0].as_deref(), Some(text), "{agent}");
        assert!(plan.kept[0].contains(setting), "{:?}", plan.kept);
        let state = TelemetryState::Elsewhere(setting.to_owned());
        assert_eq!(spec.inspect(&before, &export()), Ok(state));
    }
}

#[test]
fn what_a_person_set_stays_and_is_reported() {
    let spec = spec("claude-code");
    let text = r#"{"env": {"OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "otlp"}}"#;
    let plan = spec
        .plan(&files(spec, &[Some(text)]), &export())
        .expect("settings");
    assert_eq!(plan.kept.len(), 1);
    assert!(plan.kept[0].contains("env.OTEL_METRICS_EXPORTER"));
    let set = after(spec, &plan);
    assert!(
        set[0]
            .text
            .as_deref()
            .expect("a text")
            .contains(r#""OTEL_METRICS_EXPORTER": "none""#)
    );
    let left = spec.undo(&set, &export(), &plan.added).expect("settings");
    assert_eq!(
        left[0].as_deref(),
        Some(text),
        "also what had our value before"
    );
}

#[test]
fn what_was_changed_since_is_drift_and_stays() {
    let spec = spec("gemini");
    let plan = spec
        .plan(&files(spec, &[None]), &export())
        .expect("settings");
    let mut set = after(spec, &plan);
    let text = set[0].text.take().expect("a text");
    set[0].text = Some(text.replace("\"logPrompts\": false", "\"logPrompts\": true"));
    let drifted = spec.inspect(&set, &export()).expect("settings");
    assert!(matches!(drifted, TelemetryState::Drifted(_)));
    let left = spec.undo(&set, &export(), &plan.added).expect("settings");
    let value: serde_json::Value =
        serde_json::from_str(left[0].as_deref().expect("a text")).expect("JSON");
    assert_eq!(
        value,
        serde_json::json!({"telemetry": {"logPrompts": true}})
    );
}

#[test]
fn files_of_another_form_are_refused() {
    for (agent, text) in [
        ("claude-code", "[]"),
        ("claude-code", "{\"env\": 7}"),
        ("codex", "otel = ["),
        ("codex", "otel = { environment = \"x\" }\n"),
    ] {
        let spec = spec(agent);
        assert!(
            spec.plan(&files(spec, &[Some(text)]), &export()).is_err(),
            "{agent}: {text}"
        );
    }
}
