//! The same by what agents were seen to send and to write: each text and each name of their payloads, of their
//! transcripts, and of what protocols tell of them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use siglum_domain::NativeId;

use super::all_is_read;
use crate::harness::{Ran, Repo, World};
use crate::planted::Planted;

/// What says of which form the rest is, and whose.
const KEPT: &[&str] = &[
    "at",
    "cwd",
    "decision",
    "event",
    "hookName",
    "hook_event_name",
    "isSidechain",
    "kind",
    "method",
    "outcome",
    "parentId",
    "parentUuid",
    "permission_mode",
    "reason",
    "role",
    "session",
    "sessionId",
    "session_id",
    "source",
    "status",
    "stop_reason",
    "timestamp",
    "transcriptPath",
    "transcript_path",
    "trigger",
    "type",
    "version",
];
/// What a line of the record protocol is refused for if it is too long, or has a secret.
const BOUNDED: &[&str] = &[
    "agent_type",
    "call",
    "id",
    "link",
    "message",
    "model",
    "path",
    "paths",
    "subagent",
    "tool",
    "turn",
    "v",
];

/// Messages that an agent was seen to send or write, in a repository of this test.
fn recorded(repo: &Repo<'_>, file: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../agents/src")
        .join(file);
    let text = fs::read_to_string(path).unwrap();
    let dir = repo.dir.display().to_string();
    let home = repo.world.home().display().to_string();
    let text = text.replace("/repo", &dir).replace("/home/dev", &home);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// These messages again and again, until each kind stood in a text and in a name.
fn filled(planted: &mut Planted, way: &str, kept: &[&str], messages: &[Value]) -> Vec<Value> {
    let mut all = Vec::new();
    while !planted.is_round(way) {
        for message in messages {
            let mut message = planted.fill(way, kept, message);
            if message["v"].is_u64() {
                // A line of the record protocol that comes again under its id is stored once.
                message["id"] = json!(all.len().to_string());
            }
            all.push(message);
        }
    }
    all
}

/// Gives a text to a command on standard input.
fn give(repo: &Repo<'_>, planted: &mut Planted, command: &str, input: &str) -> Ran {
    let file = repo.world.root.join("input");
    fs::write(&file, input).unwrap();
    let program = World::program();
    let ran = repo.sh(&format!(
        "'{}' {command} <'{}'",
        program.display(),
        file.display()
    ));
    planted.hear(&ran);
    ran
}

fn by_hooks(repo: &Repo<'_>, planted: &mut Planted) -> Vec<String> {
    let agents = [
        ("claude-code", "claude_code/fixtures/2.1.329/hooks.jsonl"),
        ("codex", "codex/fixtures/0.169.0/hooks.jsonl"),
        ("gemini", "gemini/fixtures/0.61.0/hooks.jsonl"),
        ("qwen", "qwen/fixtures/0.24.4/hooks.jsonl"),
        ("copilot", "copilot/fixtures/1.0.102/hooks.jsonl"),
    ];
    let mut ways = Vec::new();
    for (agent, file) in agents {
        let way = format!("hooks of {agent}");
        let lines = recorded(repo, file);
        while !planted.is_round(&way) {
            for line in &lines {
                let payload = planted.fill(&way, KEPT, &line["stdin"]).to_string();
                give(repo, planted, &format!("hook {agent}"), &payload);
            }
        }
        ways.push(way);
    }
    // Their plug-ins tell hooks lines of the record protocol.
    for (agent, file) in [
        ("opencode", "opencode/fixtures/1.18.33/edit.jsonl"),
        ("pi", "pi/fixtures/0.87.1/edit.hooks.jsonl"),
    ] {
        let way = format!("hooks of {agent}");
        let kept = [KEPT, BOUNDED, &["filePath", "newString", "newText"]].concat();
        let lines = recorded(repo, file);
        for line in filled(planted, &way, &kept, &lines) {
            give(repo, planted, &format!("hook {agent}"), &line.to_string());
        }
        ways.push(way);
    }
    for word in planted.words("ids of sessions") {
        let payload = json!({ "session_id": word, "hook_event_name": "UserPromptSubmit", "cwd": repo.dir, "prompt": "Go" });
        give(repo, planted, "hook claude-code", &payload.to_string());
    }
    ways
}

/// Directories and files that have a secret for a name: where agents work, and what their transcripts are.
fn by_paths(repo: &Repo<'_>, planted: &mut Planted) {
    let is_name = |word: &String| word.len() < 150 && !word.contains('/');
    let names = |planted: &mut Planted, way: &str| {
        let mut words = planted.plain_words(way);
        words.retain(is_name);
        words
    };
    let projects = repo.world.home().join(".claude/projects");
    let line = |session: &str, dir: &Path| {
        let line = json!({ "type": "user", "uuid": format!("u-{session}"), "timestamp": "2026-01-01T00:00:00.000Z",
            "sessionId": session, "cwd": dir, "isSidechain": false, "message": { "role": "user", "content": "Go" } });
        format!("{line}\n")
    };
    let words = names(planted, "directories of work and of transcripts");
    for (number, word) in words.iter().enumerate() {
        let (cwd, project) = (repo.dir.join(word), projects.join(word));
        fs::create_dir_all(&cwd).unwrap();
        fs::create_dir_all(&project).unwrap();
        let session = format!("works-{number}");
        let path = project.join(format!("{session}.jsonl"));
        fs::write(&path, line(&session, &repo.dir)).unwrap();
        let payload = json!({ "session_id": session, "hook_event_name": "UserPromptSubmit", "cwd": cwd,
            "transcript_path": path, "prompt": "Go" });
        give(repo, planted, "hook claude-code", &payload.to_string());
    }
    let (plain, chats) = (
        projects.join("plain"),
        repo.world.home().join(".gemini/tmp/plain/chats"),
    );
    let inner = plain.join("outer/subagents");
    for dir in [&inner, &chats] {
        fs::create_dir_all(dir).unwrap();
    }
    fs::write(plain.join("outer.jsonl"), line("outer", &repo.dir)).unwrap();
    let words = names(planted, "files of transcripts");
    for (number, word) in words.iter().enumerate() {
        let cwd = repo.dir.join(word);
        fs::create_dir_all(&cwd).unwrap();
        fs::write(
            plain.join(format!("{word}.jsonl")),
            line("inside", &repo.dir),
        )
        .unwrap();
        let went = format!("went-{number}");
        fs::write(plain.join(format!("{went}.jsonl")), line(&went, &cwd)).unwrap();
        fs::write(
            inner.join(format!("agent-{word}.jsonl")),
            line("outer", &repo.dir),
        )
        .unwrap();
        let head = json!({ "sessionId": word, "projectHash": "0", "startTime": "2026-01-01T00:00:00.000Z" });
        let name = format!("session-2026-01-01T00-00-{number}.jsonl");
        fs::write(chats.join(name), format!("{head}\n")).unwrap();
    }
    let prompt = json!({ "session_id": "outer", "hook_event_name": "UserPromptSubmit", "cwd": repo.dir,
        "transcript_path": plain.join("outer.jsonl"), "prompt": "Go" });
    give(repo, planted, "hook claude-code", &prompt.to_string());
    for command in [&["import", "--all", "--dry-run"][..], &["import", "--all"]] {
        for form in [&[][..], &["--json"]] {
            let ran = repo.siglum(&[command, form].concat());
            // Whatever is called by a secret is passed over, and said so.
            let refuses = command.len() == 2;
            assert_eq!(
                ran.code,
                Some(if refuses { 4 } else { 0 }),
                "{}",
                ran.stderr
            );
            planted.hear(&ran);
        }
    }
    let went = "SELECT count(*) FROM sessions WHERE cwd LIKE '%redacted%'";
    let told = usize::try_from(repo.world.count(went)).unwrap();
    assert!(
        told >= words.len(),
        "{told} of {} directories are told without secrets",
        words.len()
    );
}

/// Transcripts where the agents keep them, behind the lines by which each is known.
fn by_transcripts(repo: &Repo<'_>, planted: &mut Planted) -> Vec<String> {
    let slug = |text: &str| -> String {
        let sign = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        text.chars().map(sign).collect()
    };
    let dir = repo.dir.to_str().unwrap();
    let (own, pi) = (slug(dir), dir.trim_start_matches('/').replace('/', "-"));
    let agents = [
        (
            "claude-code",
            "claude_code/fixtures/2.1.329/edit.jsonl",
            6,
            format!(".claude/projects/{own}/ID.jsonl"),
        ),
        (
            "codex",
            "codex/fixtures/0.169.0/two_tools.jsonl",
            3,
            ".codex/sessions/2026/11/21/rollout-2026-11-21T03-56-33-ID.jsonl".to_owned(),
        ),
        (
            "gemini",
            "gemini/fixtures/0.61.0/two_tools.jsonl",
            3,
            ".gemini/tmp/repo/chats/session-2026-11-21T04-01-ID.jsonl".to_owned(),
        ),
        (
            "qwen",
            "qwen/fixtures/0.24.4/two_tools.jsonl",
            3,
            format!(".qwen/projects/{own}/chats/ID.jsonl"),
        ),
        (
            "copilot",
            "copilot/fixtures/1.0.102/write_commit.jsonl",
            3,
            ".copilot/session-state/ID/events.jsonl".to_owned(),
        ),
        (
            "pi",
            "pi/fixtures/0.87.1/two_tools.jsonl",
            3,
            format!(".pi/agent/sessions/--{pi}--/2026-11-21T04-01-00-000Z_ID.jsonl"),
        ),
    ];
    let mut ways = Vec::new();
    for (agent, file, heads, place) in agents {
        let way = format!("transcripts of {agent}");
        let lines = recorded(repo, file);
        let named = [
            &lines[0]["sessionId"],
            &lines[0]["payload"]["id"],
            &lines[0]["data"]["sessionId"],
            &lines[0]["id"],
        ];
        let id = named.iter().find_map(|id| id.as_str()).unwrap();
        let path = repo.world.home().join(place.replace("ID", id));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let planted = filled(planted, &way, KEPT, &lines);
        let all = lines[..heads].iter().chain(&planted);
        let text: Vec<String> = all.map(ToString::to_string).collect();
        fs::write(path, text.join("\n") + "\n").unwrap();
        ways.push(way);
    }
    planted.hear(&repo.siglum(&["import"]));
    ways
}

fn by_record(repo: &Repo<'_>, planted: &mut Planted) -> String {
    let way = "record protocol".to_owned();
    let kept = [KEPT, BOUNDED].concat();
    let lines = recorded(repo, "record/fixtures/session.jsonl");
    let all = filled(planted, &way, &kept, &lines);
    let text: Vec<String> = all.iter().map(ToString::to_string).collect();
    give(repo, planted, "record --agent tester", &text.join("\n"));
    // A name of more than 200 characters is refused by its length alone.
    let mut words = planted.words("names of the record protocol");
    words.retain(|word| word.len() <= 200);
    words.retain(|word| NativeId::new(word.as_str()).is_ok());
    let named = |word: &str| {
        [
            json!({ "type": "message", "turn": word, "message": word, "subagent": word, "text": "so", "model": word }),
            json!({ "type": "usage", "message": word, "request": word, "input": 1 }),
            json!({ "type": "tool_call", "call": word, "tool": word, "kind": "edit", "paths": [word] }),
            json!({ "type": "edit", "path": word, "after": "one" }),
            json!({ "type": "subagent_start", "subagent": word, "agent_type": word, "call": word }),
            json!({ "type": "session_start", "parent": word, "model": word }),
        ]
    };
    let mut lines: Vec<Value> = words.iter().flat_map(|word| named(word)).collect();
    for (id, line) in lines.iter_mut().enumerate() {
        line["v"] = json!(1);
        line["session"] = json!("named");
        line["id"] = json!(id.to_string());
    }
    let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let ran = give(repo, planted, "record --agent tester", &text.join("\n"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for name in ["id", "session"] {
        for word in planted.words(&format!("record protocol, {name}")) {
            let mut line = lines[0].clone();
            line[name] = json!(word);
            give(repo, planted, "record --agent tester", &line.to_string());
        }
    }
    way
}

/// What an agent replays over the Agent Client Protocol.
fn by_acp(repo: &Repo<'_>, planted: &mut Planted) -> String {
    let way = "replay over ACP".to_owned();
    let text = |kind: &str| json!({ "sessionUpdate": kind, "content": { "type": "text", "text": "Do it now." } });
    let updates = [
        text("user_message_chunk"),
        text("agent_thought_chunk"),
        json!({ "sessionUpdate": "tool_call", "toolCallId": "call-1", "title": "Run it now", "kind": "execute",
            "status": "completed", "rawInput": { "command": "ls -l" },
            "content": [{ "type": "content", "content": { "type": "text", "text": "a b" } }] }),
        text("agent_message_chunk"),
    ];
    let kept = [KEPT, &["sessionUpdate"]].concat();
    let updates = filled(planted, &way, &kept, &updates);
    let title = planted.text("titles over ACP");
    let mut history = json!({ "s-acp": { "cwd": repo.dir, "title": title, "updatedAt": "2026-11-20T21:18:59Z", "updates": updates } });
    for word in planted.words("ids of sessions over ACP") {
        history[word] = json!({ "cwd": repo.dir, "updates": updates[..1] });
    }
    fs::write(repo.world.root.join("history.json"), history.to_string()).unwrap();
    let agent = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("it/runs/acp_agent.py");
    planted.hear(&repo.siglum(&["import", "--acp", agent.to_str().unwrap()]));
    way
}

#[test]
fn every_kind_of_secret_that_agents_send_and_write_is_kept_nowhere() {
    let mut world = World::new();
    let history = world.root.join("history.json");
    world.variables.push(("PLAYED_ACP_HISTORY", history));
    let repo = world.repo();
    let mut planted = Planted::new();
    let mut ways = by_hooks(&repo, &mut planted);
    ways.extend(by_transcripts(&repo, &mut planted));
    by_paths(&repo, &mut planted);
    ways.push(by_record(&repo, &mut planted));
    ways.push(by_acp(&repo, &mut planted));
    repo.sh("git commit -q --allow-empty -m last").ok();
    all_is_read(&repo);
    let said = repo.siglum(&["log"]).stdout + &repo.siglum(&["session", "list", "--json"]).stdout;
    planted.look_at_all(&repo, &said);
    println!("{}", planted.report());
    let ways: Vec<&str> = ways.iter().map(String::as_str).collect();
    planted.check(&ways);
}
