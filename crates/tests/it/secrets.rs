//! Secrets of every kind that four scanners name, put in wherever text comes in: none of them is in any file, row or
//! answer, but in the versions of files that were edited, which are kept to the byte.

#[path = "../../domain/src/redact/corpus/draw.rs"]
mod draw;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use aho_corasick::AhoCorasick;
use serde_json::{Value, json};

use self::draw::Draw;
use crate::forgetting::{rows, unpacked};
use crate::harness::{Agent, Ran, Repo, World, until};

/// Signs at the end of a secret that may not survive either.
const END: usize = 12;

/// Secrets, each planted once, and the text in which it is.
struct Planted {
    draw: Draw,
    /// What must not be found, with the way in and the kind.
    secrets: Vec<(String, String)>,
    ways: usize,
}

impl Planted {
    fn new() -> Self {
        Self {
            draw: Draw::new(),
            secrets: Vec::new(),
            ways: 0,
        }
    }

    /// A line with a new secret of each kind, for a way in.
    fn lines(&mut self, way: &str) -> Vec<String> {
        self.ways += 1;
        let kinds = kinds();
        let line = |(form, (name, is_own)): (&String, &(String, bool))| {
            let secret = self.draw.fill(form);
            let line = match is_own {
                true => format!("It is {secret} for now."),
                false => format!("{}_API_KEY={secret}", name.replace('-', "_").to_uppercase()),
            };
            let what = format!("{name} by {way}");
            if form.ends_with('}') && secret.len() > END && secret.is_ascii() {
                let end = secret[secret.len() - END..].to_owned();
                self.secrets.push((end, what.clone()));
            }
            self.secrets.push((secret, what));
            line
        };
        kinds.iter().map(line).collect()
    }

    /// The same as one text.
    fn text(&mut self, way: &str) -> String {
        self.lines(way).join("\n") + "\n"
    }

    /// The same in texts of a few lines.
    fn parts(&mut self, way: &str, lines: usize, between: &str) -> Vec<String> {
        let all = self.lines(way);
        all.chunks(lines).map(|some| some.join(between)).collect()
    }

    /// Nothing of it is in there.
    #[track_caller]
    fn are_gone(&self, what: &str, bytes: &[u8]) {
        let found = AhoCorasick::new(self.secrets.iter().map(|(secret, _)| secret)).unwrap();
        let mut left: BTreeMap<&str, usize> = BTreeMap::new();
        for hit in found.find_iter(bytes) {
            *left.entry(&self.secrets[hit.pattern()].1).or_default() += 1;
        }
        assert!(
            left.is_empty(),
            "{what} has {} secrets: {left:#?}",
            left.len()
        );
    }
}

/// The kinds by their form, with a name that a scanner has for each, and whether it is known by its own form.
fn kinds() -> BTreeMap<String, (String, bool)> {
    let lines = include_str!("../../domain/src/redact/corpus/scanners.txt").lines();
    let rows = lines.filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        let [_, name, known, form] = columns[..] else {
            panic!("not four columns: {line}");
        };
        (form.to_owned(), (name.to_owned(), known == "own"))
    })
    .collect()
}

/// All files below a directory, as they are and unpacked.
fn files(dir: &Path, but: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_symlink() || entry.file_name() == but {
            continue;
        }
        match path.is_dir() {
            true => bytes.extend(files(&path, but)),
            false => {
                let content = fs::read(&path).unwrap_or_default();
                bytes.extend(unpacked(&content));
                bytes.extend(content);
            }
        }
        bytes.push(b'\n');
    }
    bytes
}

/// Looks at all that is kept here but for versions of files.
#[track_caller]
fn nothing_is_kept(repo: &Repo<'_>, planted: &Planted, when: &str) {
    let home = files(&repo.world.siglum_home(), "objects");
    planted.are_gone(&format!("the home {when}"), &home);
    planted.are_gone(&format!("a row {when}"), &rows(&repo.world.store()));
    let ours = files(&repo.dir.join(".git/siglum"), "objects");
    planted.are_gone(&format!("the repository {when}"), &ours);
}

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
    let names = planted.parts("path", 1, "");
    for name in names.iter().filter(is_name).step_by(20) {
        agent.write(name, "one\n");
    }
    assert!(repo.world.spooled() > 0, "it waits");
    let waiting = files(&repo.world.siglum_home().join("spool"), "");
    planted.are_gone("what waits", &waiting);
    drop(store);
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
    let prompt = planted.parts("heartbeat", 40, "\n").remove(0);
    fs::write(repo.dir.join("prompt"), prompt).unwrap();
    let beat = [
        "heartbeat",
        "add",
        "beat",
        "--agent",
        "claude-code",
        "--every",
        "1d",
        "--prompt-file",
    ];
    let dir = repo.dir.to_str().unwrap();
    repo.siglum(&[&beat[..], &["prompt", "--cwd", dir]].concat())
        .ok();
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
fn what_hooks_transcripts_and_commits_bring_in_is_kept_without_secrets() {
    let world = World::new();
    let repo = world.repo();
    let mut planted = Planted::new();
    let agent = plant(&repo, &mut planted);
    let kinds = kinds().len();
    assert!(kinds > 421, "{kinds} kinds");
    let path = world.home().join(".claude/projects/old/imported.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let lines = transcript(&agent, &mut planted, "import", "2026-01-01T00:00:00.000Z");
    fs::write(&path, lines.replace("\"one\"", "\"imported\"")).unwrap();
    repo.siglum(&["import"]).ok();
    until("all is read", || {
        repo.siglum(&["worker", "--once"]);
        let open = "SELECT count(*) FROM sessions WHERE mode = 'observed' AND head > folded";
        world.spooled() == 0 && world.count(open) == 0
    });
    nothing_is_kept(&repo, &planted, "after all was read");
    let output = all_output(&repo);
    planted.are_gone("what commands say", output.as_bytes());
    let found = repo.siglum(&["doctor", "--secrets", "--json"]);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    for found in found["data"]["secrets"].as_array().unwrap() {
        assert!(found["place"].to_string().contains("version"), "{found}");
    }
    println!(
        "{kinds} kinds, each planted by {} ways: none is kept",
        planted.ways
    );
}
