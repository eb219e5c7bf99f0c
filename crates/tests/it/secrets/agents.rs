//! The same by what agents were seen to send and to write: each text and each name of their payloads, of their
//! transcripts, and of what protocols tell of them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use siglum_domain::NativeId;

use super::all_is_read;
use crate::harness::{Repo, World};
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
        all.extend(
            messages
                .iter()
                .map(|message| planted.fill(way, kept, message)),
        );
    }
    all
}

/// Gives a text to a command on standard input.
fn give(repo: &Repo<'_>, planted: &mut Planted, command: &str, input: &str) {
    let file = repo.world.root.join("input");
    fs::write(&file, input).unwrap();
    let program = World::program();
    let ran = repo.sh(&format!(
        "'{}' {command} <'{}'",
        program.display(),
        file.display()
    ));
    planted.hear(&ran);
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
    for word in planted.words("ids of sessions") {
        let payload = json!({ "session_id": word, "hook_event_name": "UserPromptSubmit", "cwd": repo.dir, "prompt": "Go" });
        give(repo, planted, "hook claude-code", &payload.to_string());
    }
    ways
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
    let line = |id: &str, word: &str| {
        json!({ "v": 1, "type": "message", "session": "named", "id": id, "turn": word, "message": word,
            "subagent": word, "text": "so it is", "model": word })
    };
    let ids = words.iter().enumerate();
    let lines: Vec<String> = ids
        .filter(|(_, word)| NativeId::new(word.as_str()).is_ok())
        .map(|(id, word)| line(&id.to_string(), word).to_string())
        .collect();
    give(repo, planted, "record --agent tester", &lines.join("\n"));
    for name in ["id", "session"] {
        for word in planted.words(&format!("record protocol, {name}")) {
            let mut line = line("1", "m");
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
    let history = json!({ "s-acp": { "cwd": repo.dir, "title": title, "updatedAt": "2026-11-20T21:18:59Z", "updates": updates } });
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
