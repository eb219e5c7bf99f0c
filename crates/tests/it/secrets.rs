//! Secrets of every kind that four scanners name, put in wherever text comes in: none of them is in any file, row or
//! answer, but in the versions of files that were edited, which are kept to the byte.
//!
//! | way in | planted by |
//! | --- | --- |
//! | hooks, transcripts and plug-ins of each agent, record protocol, replay over ACP, places of transcripts | `agents` |
//! | hooks of git, commits, spool, file versions | `plant` |
//! | commands | [`COMMANDS`] |
//! | requests to a gateway, tools of `siglum mcp`, telemetry | `gateway::intakes`, `gateway::name_intakes` |
//! | batches of replicas | `look_at_what_leaves`, `replica::planted` of the engine |
//!
//! Not planted, since it is needed as it is: where a repository lies on this machine, and settings that its user writes,
//! such as the address of a collector.

mod agents;

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::forgetting::{rows, unpacked};
use crate::harness::{Agent, Gateway, OtlpSink, Ran, Repo, World, until};
use crate::planted::{Planted, files};

fn ran(code: i32, stdout: &str, stderr: &str) -> Ran {
    Ran {
        code: Some(code),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
    }
}

/// Lines of a transcript, in which every text has secrets.
fn transcript(agent: &Agent, planted: &mut Planted, way: &str, now: &str) -> String {
    let mut all = String::new();
    for (number, kind) in ["user", "thinking", "text", "tool_use", "tool_result"]
        .iter()
        .enumerate()
    {
        let text = planted.text(&format!("{way}, {kind}"));
        let (role, content) = match *kind {
            "user" => ("user", json!(text)),
            "thinking" => (
                "assistant",
                json!([{ "type": "thinking", "thinking": text }]),
            ),
            "text" => ("assistant", json!([{ "type": "text", "text": text }])),
            "tool_use" => (
                "assistant",
                json!([{ "type": "tool_use", "id": format!("t-{way}"), "name": "Bash", "input": { "command": text } }]),
            ),
            _ => (
                "user",
                json!([{ "type": "tool_result", "tool_use_id": format!("t-{way}"), "content": text }]),
            ),
        };
        let mut line = json!({
            "type": role, "uuid": format!("u-{way}-{number}"), "timestamp": now, "sessionId": agent.native,
            "cwd": agent.cwd, "isSidechain": false, "gitBranch": "main",
            "message": { "role": role, "content": content },
        });
        if role == "assistant" {
            line["message"]["id"] = json!(format!("msg-{way}-{number}"));
            line["message"]["model"] = json!("claude-opus-4-5");
            line["message"]["usage"] = json!({ "input_tokens": 1, "output_tokens": 2 });
        }
        all += &format!("{line}\n");
    }
    all
}

/// Hooks, transcripts, commits, texts of commands, and what waits while the ledger is somebody else's.
fn plant(repo: &Repo<'_>, planted: &mut Planted) -> Agent {
    let mut agent = Agent::start(repo, "one");
    agent.prompt(&planted.text("prompt"));
    agent.prompt(&planted.lookalikes());
    let call = agent.shell_call(&planted.text("command"));
    agent.hook("PreToolUse", call.clone());
    let (out, err) = (planted.text("output"), planted.text("errors"));
    agent.shell_returned(call, &ran(0, &out, &err));
    let call = agent.shell_call("false");
    agent.hook("PreToolUse", call.clone());
    agent.shell_returned(call, &ran(1, "", &planted.text("failure")));
    agent.write("settings.env", &planted.text("edit"));
    for part in planted.parts("commit", 20, ", ") {
        let message = repo.world.root.join("message");
        fs::write(&message, format!("{part}\n\n{part}\n")).unwrap();
        agent
            .sh(&format!(
                "git commit -q --allow-empty -F '{}'",
                message.display()
            ))
            .ok();
    }
    for part in planted.parts("author", 60, " ") {
        let author = repo.world.root.join("author");
        fs::write(&author, part.replace(['<', '>', '\n'], "")).unwrap();
        let script = format!(
            "GIT_AUTHOR_NAME=\"$(cat '{0}')\" git commit -q --allow-empty -m by",
            author.display()
        );
        agent.bare_sh(&script).ok();
    }
    let path = agent.transcript();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let now = repo.sh("date -u +%Y-%m-%dT%H:%M:%S.%3NZ").ok();
    let lines = transcript(&agent, planted, "transcript", now.trim());
    fs::write(&path, lines).unwrap();
    agent.stop();
    by_commands(repo, planted);
    let store = repo.world.store();
    until("the ledger is locked", || {
        store.execute_batch("BEGIN IMMEDIATE").is_ok()
    });
    agent.prompt(&planted.text("spooled prompt"));
    let is_name = |line: &&String| line.len() < 200 && !line.contains(['/', '\n']);
    let mut names = planted.words("path");
    names.retain(|name| is_name(&name));
    // Each hook waits for the ledger for a moment.
    let rest = names.split_off(20);
    for name in names {
        agent.write(&name, "one\n");
    }
    assert!(repo.world.spooled() > 0, "it waits");
    let waiting = files(&repo.world.siglum_home().join("spool"));
    planted.search(&[("what waits", waiting)]);
    drop(store);
    for name in rest {
        agent.write(&name, "one\n");
    }
    agent.stop();
    agent
}

/// Texts that people give to commands.
fn by_commands(repo: &Repo<'_>, planted: &mut Planted) {
    let file = repo.world.root.join("text");
    let path = file.to_str().unwrap();
    fs::write(&file, planted.text("contract")).unwrap();
    repo.siglum(&["pipeline", "contract", "p", "api", "--file", path])
        .ok();
    for part in planted.parts("review", 40, "\n") {
        fs::write(&file, part).unwrap();
        repo.siglum(&["pipeline", "review", "p", "approved", "--file", path])
            .ok();
    }
    for part in planted.parts("check", 20, " ") {
        repo.siglum(&[
            "pipeline",
            "check",
            "p",
            "unit",
            "failed",
            "--summary",
            &part,
        ])
        .ok();
    }
    let dir = repo.dir.to_str().unwrap();
    let prompt = repo.dir.join("prompt");
    for (number, part) in planted.parts("heartbeat", 40, "\n").iter().enumerate() {
        fs::write(&prompt, part).unwrap();
        let name = format!("beat-{number}");
        let agent = ["--agent", "claude-code", "--every", "1d", "--cwd", dir];
        let of = ["--prompt-file", "prompt"];
        repo.siglum(&[&["heartbeat", "add", &name], &agent[..], &of].concat())
            .ok();
    }
    fs::remove_file(prompt).unwrap();
    // What is refused is told without the secret, too.
    for word in planted.words("link") {
        let link = format!("label=key={word}");
        planted.hear(&repo.siglum(&["link", "add", "one", &link]));
    }
    for word in planted.words("name of a session") {
        planted.hear(&repo.siglum(&["session", "rename", "one", &word]));
    }
    by_names(repo, planted);
}

/// Names that people give to commands, each kind by one of them. One that is refused is told without the secret, too.
fn by_names(repo: &Repo<'_>, planted: &mut Planted) {
    let text = repo.world.root.join("text");
    fs::write(&text, "A contract.").unwrap();
    let file = text.to_str().unwrap();
    let beat = [
        "heartbeat",
        "add",
        "b",
        "--agent",
        "claude-code",
        "--prompt",
        "Go.",
    ];
    let every = [&beat[..], &["--every", "1d"]].concat();
    let ways = [
        vec!["pipeline", "plan", "WORD", "plan"],
        vec!["pipeline", "plan", "p", "WORD"],
        vec!["pipeline", "phase", "start", "p", "WORD"],
        vec!["pipeline", "check", "p", "WORD", "passed"],
        vec!["pipeline", "check", "p", "a", "passed", "--key", "WORD"],
        vec![
            "pipeline",
            "check",
            "p",
            "a",
            "passed",
            "--url",
            "https://a.example/WORD",
        ],
        vec!["pipeline", "review", "p", "approved", "--role", "WORD"],
        vec!["pipeline", "review", "p", "approved", "--contract", "WORD"],
        vec!["pipeline", "contract", "p", "WORD", "--file", file],
        [
            &["heartbeat", "add", "WORD"][..],
            &beat[3..],
            &["--every", "1d"],
        ]
        .concat(),
        [&beat[..], &["--cron", "WORD"]].concat(),
        [&every[..], &["--zone", "WORD"]].concat(),
        [&every[..], &["--active", "WORD"]].concat(),
        [&every[..], &["--model", "WORD"]].concat(),
        [&every[..], &["--route-key", "WORD"]].concat(),
        [&every[..], &["--acknowledge", "WORD"]].concat(),
        [&every[..], &["--link", "role=WORD"]].concat(),
        vec!["session", "fork", "one", "--conversation", "WORD"],
        vec!["token", "create", "--name", "WORD"],
        vec!["projection", "add", "WORD", "--directory", "/nowhere"],
        vec!["otel", "add", "WORD", "http://127.0.0.1:9"],
        vec!["run", "--phase", "WORD", "--", "true"],
        vec!["run", "--label", "key=WORD", "--", "true"],
        vec!["run", "--agent", "WORD", "--", "true"],
        vec!["run", "--", "true"],
        vec!["record", "--agent", "WORD"],
        vec!["import", "--acp", "true", "--agent", "WORD"],
    ];
    for (number, word) in planted.words("names by commands").iter().enumerate() {
        let way = &ways[number % ways.len()];
        let args: Vec<String> = way.iter().map(|arg| arg.replace("WORD", word)).collect();
        let mut command = repo.world.command(World::program());
        // Launchers name what the work is for in variables, too.
        command.env("SIGLUM_AGENT_ROLE", word).args(args);
        let ran = command.current_dir(&repo.dir).output().unwrap();
        planted.hear(&Ran::from(ran));
    }
}

/// What leaves this machine: everything that sinks and a gateway are sent, and what that gateway keeps.
fn look_at_what_leaves(repo: &Repo<'_>, planted: &mut Planted) {
    let (sink, gateway) = (OtlpSink::start(), Gateway::start(repo.world));
    let copies = repo.world.root.join("copies");
    let program = repo.world.root.join("program");
    let keep = format!("cat >> '{}'", program.display());
    for (name, target) in [
        ("copies", ["--directory", copies.to_str().unwrap()]),
        ("program", ["--program", &keep]),
    ] {
        let add = ["projection", "add", name, "--all-repositories"];
        repo.siglum(&[&add[..], &target].concat()).ok();
    }
    let add = [
        "otel",
        "add",
        "spans",
        &sink.url,
        "--content",
        "--all-repositories",
    ];
    repo.siglum(&add).ok();
    for name in ["copies", "program", "spans"] {
        until(&format!("{name} has everything"), || {
            repo.siglum(&["worker", "--once"]);
            let shown = repo.world.json(&repo.dir, &["projection", "show", name]);
            shown["projection"]["lag_receipts"] == 0
        });
    }
    planted.hear(&repo.siglum(&["sync", "--to", &gateway.url, "--once"]));
    let spans = sink.requests().into_iter();
    let spans = spans.flat_map(|sent| format!("{:?}{}", sent.headers, sent.request).into_bytes());
    let sent = gateway.requests().into_iter();
    let sent = sent.flat_map(|sent| {
        [
            format!("{:?}", sent.headers).into_bytes(),
            unpacked(&sent.body),
            sent.body,
        ]
    });
    let store = Connection::open(gateway.home().join("ledger.db")).unwrap();
    let places = [
        ("what a directory is sent", files(&copies)),
        ("what a program is sent", fs::read(&program).unwrap()),
        ("what a collector is sent", spans.collect()),
        ("what a gateway is sent", sent.flatten().collect()),
        ("the home of a gateway", files(gateway.home())),
        ("a row of a gateway", rows(&store)),
    ];
    for (place, bytes) in &places {
        let told = String::from_utf8_lossy(bytes).contains("[redacted:");
        assert!(told, "{place} has no text");
    }
    planted.search(&places);
}

/// What each command takes in.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "names and texts, by `by_commands` and `by_names`",
        &[
            "heartbeat",
            "import",
            "link",
            "otel",
            "pipeline",
            "projection",
            "record",
            "run",
            "session",
            "token",
        ],
    ),
    ("what `agents` and `gateway` plant", &["mcp", "serve"]),
    (
        "ids of what is there, and words that are looked for and not stored",
        &[
            "adopt",
            "audit",
            "check",
            "checkpoint",
            "context",
            "cost",
            "doctor",
            "files",
            "forget",
            "log",
            "rebuild",
            "resume",
            "search",
            "show",
            "status",
            "statusline",
            "tail",
            "verify",
            "why",
        ],
    ),
    (
        "settings and places of this machine",
        &[
            "agents",
            "backup",
            "completions",
            "config",
            "demo",
            "init",
            "login",
            "logout",
            "man",
            "relocate",
            "restore",
            "sync",
            "uninstall",
            "upgrade",
            "version",
        ],
    ),
];

#[test]
fn a_new_command_that_takes_a_text_needs_secrets_planted_in_it() {
    let world = World::new();
    let mut known: Vec<&str> = COMMANDS
        .iter()
        .flat_map(|(_, names)| *names)
        .copied()
        .collect();
    known.sort_unstable();
    let mut commands = world.at(&world.root).commands_below(&[]);
    commands.sort_unstable();
    assert_eq!(commands, known, "plant secrets, or say why not");
}

/// What all commands say, in words and in JSON.
fn all_output(repo: &Repo<'_>) -> String {
    let commands: &[&[&str]] = &[
        &["why", "HEAD", "--explain"],
        &["log"],
        &["show", "one"],
        &["show", "HEAD"],
        &["session", "list"],
        &["session", "show", "one", "--full"],
        &["show", "one", "--md"],
        &["show", "one", "--html"],
        &["search", "now"],
        &["cost", "--by", "session"],
        &["status"],
        &["context", "list"],
        &["checkpoint", "list"],
        &["pipeline", "show", "p"],
        &["pipeline", "export", "p"],
        &["heartbeat", "list"],
        &["projection", "list"],
        &["otel", "list"],
        &["audit", "list"],
        &["audit", "export"],
        &["doctor", "--secrets"],
        &["verify"],
        &["config", "list"],
    ];
    let mut all = String::new();
    for command in commands {
        for form in [&[][..], &["--json"]] {
            let ran = repo.siglum(&[command, form].concat());
            let length = ran.stdout.len() + ran.stderr.len();
            assert!(length > 0, "{command:?}: {ran:?}");
            all += &ran.stdout;
            all += &ran.stderr;
        }
    }
    all
}

#[test]
fn every_kind_of_secret_by_hooks_transcripts_commits_and_commands_is_kept_nowhere() {
    let world = World::new();
    let repo = world.repo();
    let mut planted = Planted::new();
    let agent = plant(&repo, &mut planted);
    let path = world.home().join(".claude/projects/old/imported.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines = transcript(&agent, &mut planted, "import", "2026-01-01T00:00:00.000Z");
    fs::write(&path, lines.replace("\"one\"", "\"imported\"")).unwrap();
    repo.siglum(&["import"]).ok();
    all_is_read(&repo);
    look_at_what_leaves(&repo, &mut planted);
    let said = all_output(&repo);
    planted.look_at_all(&repo, &said);
    let found = repo.siglum(&["doctor", "--secrets", "--json"]);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    for found in found["data"]["secrets"].as_array().unwrap() {
        assert!(found["place"].to_string().contains("version"), "{found}");
    }
    println!("{}", planted.report());
    planted.check(&[]);
}

/// Waits until the worker has read everything.
fn all_is_read(repo: &Repo<'_>) {
    until("all is read", || {
        repo.siglum(&["worker", "--once"]);
        let open = "SELECT count(*) FROM sessions WHERE mode = 'observed' AND head > folded";
        repo.world.spooled() == 0 && repo.world.count(open) == 0
    });
}

#[test]
fn a_secret_in_a_variable_of_an_agent_is_not_in_the_evidence_of_a_commit() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let secret = concat!("ghp_q7RzW2mLx0Tb9KpVd3Yc", "5NfHs8JgAe1Uo4Zi");
    let commit = "git commit -q --allow-empty -m x";
    agent
        .bare_sh(&format!("CODEX_THREAD_ID={secret} {commit}"))
        .ok();
    agent.stop();
    all_is_read(&repo);
    let scenes = "SELECT group_concat(scene) FROM intents";
    let scenes = world.store().query_row(scenes, [], |row| row.get(0));
    let scenes: String = scenes.unwrap();
    assert!(scenes.contains("CODEX_THREAD_ID"), "{scenes}");
    assert!(!scenes.contains("q7RzW2mLx0Tb"), "{scenes}");
}
