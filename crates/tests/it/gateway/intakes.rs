//! A secret by each way that text comes in: none is in a row, a file or an answer.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{id, secret as token_of, turn_body};
use super::server::{Gateway, Store, base, on_a_file};
use crate::forgetting::{rows, unpacked};
use crate::harness::{Repo, until};

/// Secrets, each with the way by which it came in.
#[derive(Default)]
struct Planted(Vec<(String, String)>);

impl Planted {
    /// A new one, of one of three kinds.
    fn by(&mut self, way: &str) -> String {
        let n = self.0.len() as u64;
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(n + 7);
        let signs = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
        let mut drawn = |count: usize| -> String {
            let mut sign = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                char::from(signs[(state >> 33) as usize % signs.len()])
            };
            (0..count).map(|_| sign()).collect()
        };
        let secret = match n % 3 {
            0 => format!("ghp_{}", drawn(36)),
            1 => format!("glpat-{}", drawn(20)),
            _ => format!("sk-ant-api03-{}AA", drawn(93)),
        };
        self.0.push((secret.clone(), way.to_owned()));
        secret
    }

    /// The ways whose secret is in there.
    fn left_in(&self, bytes: &[u8]) -> Vec<&str> {
        let holds = |secret: &str| memchr::memmem::find(bytes, secret.as_bytes()).is_some();
        let left = self.0.iter().filter(|(secret, _)| holds(secret));
        left.map(|(_, way)| way.as_str()).collect()
    }
}

fn files(dir: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && entry.file_name() != "objects" {
            files(&path, all);
        } else if path.is_file() {
            let content = fs::read(&path).unwrap_or_default();
            let mut bytes = unpacked(&content);
            bytes.extend(content);
            all.push((path, bytes));
        }
    }
}

/// What callers of the API send. Whatever is refused is not stored.
fn by_api(gateway: &Gateway, planted: &mut Planted) -> String {
    let launcher = gateway.launcher();
    let mut answers = String::new();
    for field in ["conversation_id", "cwd", "native_id"] {
        let mut body = base(&format!("with {field}").replace(' ', "-"));
        let secret = planted.by(&format!("API, {field}"));
        body[field] = json!(match field {
            "cwd" => format!("/repos/{secret}"),
            _ => secret,
        });
        answers += &launcher.post("/v1/sessions", &body).text;
    }
    let mut body = base("repositories");
    body["repositories"] = json!([format!("github.com/o/{}", planted.by("API, repository"))]);
    answers += &launcher.post("/v1/sessions", &body).text;
    let mut body = base("links");
    body["links"] = json!({ "phase": planted.by("API, link") });
    answers += &launcher.post("/v1/sessions", &body).text;
    let created = launcher.create(&base("turns"));
    let (session, own) = (id(&created), gateway.client(&token_of(&created)));
    let (epoch, mut head) = own.lease(&session, "n");
    for (n, field) in ["text", "model", "name", "input", "output"]
        .iter()
        .enumerate()
    {
        let secret = planted.by(&format!("API, turn, {field}"));
        let key = format!("t{n}");
        let mut turn = turn_body(epoch, head, &key);
        let events = turn["events"].as_array_mut().unwrap();
        match *field {
            "text" => events[0]["text"] = json!(format!("use {secret}")),
            "model" => events[1]["model"] = json!(secret),
            "name" | "input" => {
                let mut call = json!({ "type": "tool_call", "key": format!("{key}.c"),
                    "name": "Bash", "input": "ls" });
                call[*field] = json!(secret);
                events.insert(2, call);
            }
            _ => events[1]["text"] = json!(secret),
        }
        let answer = own.turn(&session, &key, &turn).unwrap();
        if answer.status == 200 {
            head = answer.json()["receipt"]["last"].as_u64().unwrap();
        }
        answers += &answer.text;
    }
    let repository = format!("github.com/o/{}", planted.by("API, checkpoint"));
    let claim = json!({ "commit": { "repository": repository, "commit": "a".repeat(40) } });
    let path = format!("/v1/sessions/{session}/checkpoints");
    answers += &own.post(&path, &claim).text;
    for field in ["phase", "key", "text"] {
        let mut event = json!({ "kind": "phase_started", "phase": "plan", "key": field });
        event[field] = json!(planted.by(&format!("API, pipeline, {field}")));
        let body = json!({ "events": [event] });
        answers += &launcher.post("/v1/pipelines/p/events", &body).text;
    }
    answers
}

/// What agents send as telemetry.
fn by_telemetry(gateway: &Gateway, planted: &mut Planted) {
    let launcher = gateway.launcher();
    let text = |value: String| json!({ "stringValue": value });
    let attribute = |key: &str, value: String| json!({ "key": key, "value": text(value) });
    let resource = json!({ "attributes": [
        attribute("service.name", planted.by("OTLP, service")),
        attribute("session.id", planted.by("OTLP, session")),
    ] });
    let record = json!({
        "timeUnixNano": "1790000000000000000",
        "severityText": planted.by("OTLP, severity"),
        "body": text(planted.by("OTLP, body")),
        "attributes": [attribute("user.prompt", planted.by("OTLP, attribute"))],
    });
    let scope = json!({ "name": planted.by("OTLP, scope") });
    let logs = json!({ "resourceLogs": [{ "resource": resource, "scopeLogs": [
        { "scope": scope, "logRecords": [record] }] }] });
    launcher.post("/v1/logs", &logs).is(200);
}

/// What hooks of each agent say.
fn by_hooks(repo: &Repo<'_>, planted: &mut Planted) {
    let events = [
        ("claude-code", "UserPromptSubmit", "prompt"),
        ("claude-code", "SessionStart", "model"),
        ("claude-code", "PreToolUse", "tool_name"),
        ("codex", "UserPromptSubmit", "prompt"),
        ("codex", "SessionStart", "model"),
        ("codex", "PreToolUse", "tool_name"),
        ("gemini", "BeforeAgent", "prompt"),
        ("gemini", "BeforeTool", "tool_name"),
        ("qwen", "UserPromptSubmit", "prompt"),
        ("qwen", "PreToolUse", "tool_name"),
        ("copilot", "UserPromptSubmit", "prompt"),
        ("copilot", "PreToolUse", "tool_name"),
    ];
    for (agent, event, field) in events {
        let secret = planted.by(&format!("hook of {agent}, {event}, {field}"));
        let mut payload = json!({
            "session_id": format!("session-of-{agent}"), "hook_event_name": event,
            "cwd": repo.dir, "transcript_path": repo.dir.join("none.jsonl"),
            "timestamp": "2026-11-21T03:55:30.899Z", "source": "startup", "turn_id": "turn-1",
            "prompt": "do it", "tool_name": "Bash", "tool_use_id": "call-1",
            "tool_input": { "command": "ls" },
        });
        payload[field] = json!(secret);
        hook(repo, agent, &payload);
    }
}

fn hook(repo: &Repo<'_>, agent: &str, payload: &Value) {
    let file = repo.world.root.join("payload");
    fs::write(&file, payload.to_string()).unwrap();
    let program = crate::harness::World::program();
    let script = format!(
        "'{}' hook {agent} < '{}'",
        program.display(),
        file.display()
    );
    repo.sh(&script).ok();
    fs::remove_file(&file).unwrap();
}

/// What tools of `siglum mcp` are asked.
fn by_mcp(repo: &Repo<'_>, planted: &mut Planted) -> String {
    let calls = [
        ("search", json!({ "query": planted.by("MCP, search") })),
        ("why", json!({ "commit": planted.by("MCP, why") })),
    ];
    let answers = crate::mcp::ask(repo, &calls, |command| {
        let ran = repo.sh(command);
        ran.stdout
    });
    answers.iter().map(Value::to_string).collect()
}

fn nothing_is_left(store: &Store, repo: &Repo<'_>, planted: &Planted, answers: &str) {
    let mut left: Vec<String> = Vec::new();
    let mut note = |place: &str, bytes: &[u8]| {
        let ways = planted.left_in(bytes).into_iter();
        left.extend(ways.map(|way| format!("{way}: {place}")));
    };
    note("a row", &rows(&store.world.store()));
    note("an answer", answers.as_bytes());
    let mut all = Vec::new();
    files(&store.world.siglum_home(), &mut all);
    files(&repo.dir.join(".git/siglum"), &mut all);
    for (path, bytes) in &all {
        note(&path.display().to_string(), bytes);
    }
    assert!(left.is_empty(), "{left:#?}");
}

#[test]
fn what_comes_in_by_the_api_telemetry_hooks_and_mcp_is_kept_without_secrets() {
    on_a_file(|store| {
        let repo = store.world.repo();
        let mut planted = Planted::default();
        by_hooks(&repo, &mut planted);
        let mut answers = by_mcp(&repo, &mut planted);
        let gateway = Gateway::start(store);
        answers += &by_api(&gateway, &mut planted);
        by_telemetry(&gateway, &mut planted);
        let launcher = gateway.launcher();
        for path in [
            "/v1/sessions",
            "/v1/audit",
            "/v1/checkpoints",
            "/v1/pipelines/p",
        ] {
            answers += &launcher.get(path).text;
        }
        until("telemetry is joined", || {
            store.sql("SELECT count(*) FROM telemetry_inbox") == "0"
        });
        println!("{} ways", planted.0.len());
        nothing_is_left(store, &repo, &planted, &answers);
    });
}
