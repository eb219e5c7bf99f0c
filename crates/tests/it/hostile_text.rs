//! Names of authors, models, tools, branches, paths and titles come from others. Whatever is in them, a terminal gets
//! nothing to obey, nothing that hides or turns around what stands beside it, and no line that looks like ours.

use std::fs;
use std::io::Write as _;

use rusqlite::Connection;
use serde_json::{Value, json};
use siglum_ledger::{TextColumn, TextForm};

use crate::harness::{Agent, Repo, World, source_lines_with};

/// A line of an answer, which a value with an end of a line in it would forge.
const FORGED: &str = "Committer   Ann, human  [certain]";
/// Writes to the clipboard, clears the screen, sets a title, colours, turns text around and hides some of it, and
/// forges a line.
const HOSTILE: &str = "x\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{85}\u{202e}drow\u{2066}\u{200b}\u{feff}\u{7f}\u{1b}[33mz\nCommitter   Ann, human  [certain]\r\tq";
/// What of it may stand in the name of a branch, and of a remote.
const BRANCH: &str = "x\u{9b}31m\u{202e}drow\u{200b}z";
const TAG: &str = "v\u{9b}31m\u{202e}drow\u{200b}z";
/// What of it may stand where no control character may.
const UNSEEN: &str = "x\u{202e}drow\u{200b}z";

/// What a terminal obeys, hides or turns around.
fn is_hazard(sign: char) -> bool {
    let unseen = ['\u{61c}', '\u{feff}', '\u{ad}', '\u{180e}'];
    (sign.is_control() && sign != '\n' && sign != '\t')
        || unseen.contains(&sign)
        || ('\u{200b}'..='\u{200f}').contains(&sign)
        || ('\u{2028}'..='\u{202e}').contains(&sign)
        || ('\u{2060}'..='\u{206f}').contains(&sign)
}

/// A directory of the repository, and a file in it.
fn directory() -> String {
    format!("d{HOSTILE}")
}

fn file() -> String {
    format!("{}/{HOSTILE}.txt", directory())
}

/// A repository and a ledger in which every text that others choose is hostile.
fn hostile(world: &World) -> (Repo<'_>, Agent) {
    let repo = world.repo();
    let name = format!("{HOSTILE}.txt");
    let mut agent = Agent::start(&repo, "one");
    agent.prompt(&format!("Please {HOSTILE} now"));
    agent.write(&name, &format!("{HOSTILE}\n"));
    agent.write(&file(), &format!("{HOSTILE}\n"));
    agent.sh(&format!(
        "git checkout -q -b '{BRANCH}' && git add -A && git -c user.name='{HOSTILE}' commit -q -m 'Add {HOSTILE}'"
    ));
    fs::write(repo.dir.join("by-hand.txt"), "1\n").unwrap();
    repo.sh(&format!(
        "git add -A && GIT_AUTHOR_NAME='{HOSTILE}' git commit -q -m 'Hand {HOSTILE}'"
    ))
    .ok();
    repo.sh(&format!(
        "git tag -a '{TAG}' -m '{HOSTILE}' && git remote add '{BRANCH}' 'https://example.com/{HOSTILE}.git' \
         && git remote add origin 'https://example.com/{BRANCH}.git'"
    ))
    .ok();
    write_hostile_transcript(&repo, &mut agent);
    repo.siglum(&["link", "add", "one", "label=fruit=apple", "issue=42"])
        .ok();
    repo.siglum(&["pipeline", "plan", "p", "build"]);
    repo.siglum(&["pipeline", "phase", "start", "p", "build"]);
    repo.siglum(&[
        "heartbeat",
        "add",
        "hb",
        "--agent",
        "claude-code",
        "--every",
        "1h",
        "--prompt",
        "Look",
    ]);
    repo.siglum(&[
        "projection",
        "add",
        "d",
        "--directory",
        "projected",
        "--all-repositories",
    ]);
    repo.siglum(&[
        "otel",
        "add",
        "o",
        "http://127.0.0.1:9/",
        "--all-repositories",
    ]);
    repo.siglum(&["token", "create", "--name", "t"]);
    repo.siglum(&["why", "HEAD"]).ok();
    spoil(world);
    (repo, agent)
}

/// A transcript in which model, tool and branch are hostile.
fn write_hostile_transcript(repo: &Repo<'_>, agent: &mut Agent) {
    let path = agent.transcript();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let now = repo.sh("date -u +%Y-%m-%dT%H:%M:%S.%3NZ").ok();
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .unwrap();
    let line = json!({
        "type": "assistant", "uuid": "u-1", "timestamp": now, "sessionId": agent.native, "cwd": repo.dir,
        "isSidechain": false, "gitBranch": HOSTILE,
        "message": {
            "id": "msg_1", "role": "assistant", "model": HOSTILE,
            "content": [{ "type": "text", "text": HOSTILE }, { "type": "tool_use", "id": "t-9", "name": HOSTILE, "input": { "a": HOSTILE } }],
            "usage": { "input_tokens": 1, "output_tokens": 2 },
        },
    });
    writeln!(file, "{line}").unwrap();
    agent.stop();
}

/// Names that rows are found by, or that are read by a grammar: a ledger that has others cannot be read.
const KEYS: &[(&str, &[&str])] = &[
    ("aliases", &["native"]),
    ("context_gaps", &["context"]),
    ("context_runs", &["client", "run", "context"]),
    ("context_turns", &["context", "key", "recovers"]),
    ("contexts", &["key", "route", "parent"]),
    ("declines", &["key"]),
    ("intents", &["worktree"]),
    ("links", &["value"]),
    ("open_turns", &["key"]),
    ("pipeline_events", &["pipeline", "key"]),
    ("pipeline_sessions", &["pipeline"]),
    ("pipelines", &["id"]),
    ("receipts", &["key"]),
    ("replica_aliases", &["native"]),
    ("replica_repositories", &["common_dir"]),
    ("repositories", &["common_dir"]),
    ("requests", &["key"]),
    ("route_moves", &["route", "to", "from"]),
    ("routes", &["key", "current", "last_context"]),
    ("runs", &["key", "native", "route", "context"]),
    ("segments", &["stream"]),
    ("sessions", &["conversation_id", "worktree"]),
    ("ticks", &["context"]),
    ("transcripts", &["stream"]),
    ("turns", &["native"]),
];

/// The members of JSON in the ledger that hold free text; what else there is, is ids and words that must be read.
const FREE: &[&str] = &[
    "author",
    "contract",
    "executable",
    "name",
    "path",
    "phase",
    "phases",
    "prompt",
    "role",
    "script",
    "subject",
    "text",
    "title",
    "tool",
    "url",
    "value",
    "version",
];

/// Spoils what is free in a column of JSON, as far as it can be read then.
fn spoil_json(store: &Connection, at: TextColumn) {
    let TextColumn { table, column } = at;
    let sql =
        format!("SELECT DISTINCT \"{column}\" FROM {table} WHERE typeof(\"{column}\") = 'text'");
    let mut query = store.prepare(&sql).expect(&sql);
    let texts = query.query_map([], |row| row.get(0)).unwrap();
    let texts: Vec<String> = texts.map(Result::unwrap).collect();
    let sql = format!("UPDATE OR IGNORE {table} SET \"{column}\" = ?1 WHERE \"{column}\" = ?2");
    for text in texts {
        let Ok(mut whole) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let mut free = Vec::new();
        find_free(&whole, "", "", &mut free);
        if free.is_empty() {
            continue;
        }
        for pointer in free {
            let spoiled = [HOSTILE, UNSEEN].into_iter().find_map(|value| {
                let mut spoiled = whole.clone();
                *spoiled.pointer_mut(&pointer)? = json!(value);
                at.can_hold(&spoiled.to_string()).then_some(spoiled)
            });
            whole = spoiled.unwrap_or(whole);
        }
        store.execute(&sql, [whole.to_string(), text]).expect(&sql);
    }
}

/// The pointers to all free texts in a value, which stands in a member of this name.
fn find_free(value: &Value, name: &str, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) if FREE.contains(&name) => found.push(pointer.to_owned()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                find_free(item, name, &format!("{pointer}/{at}"), found);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                find_free(member, name, &format!("{pointer}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// What cannot be brought in from outside any more may stand there since an older version: in every column of text.
fn spoil(world: &World) {
    let store = world.store();
    store
        .busy_timeout(std::time::Duration::from_secs(20))
        .unwrap();
    for (at, form) in TextColumn::all() {
        let is_key = KEYS
            .iter()
            .any(|(table, columns)| *table == at.table && columns.contains(&at.column));
        if form == TextForm::Json {
            spoil_json(&store, at);
        }
        // Each is another one: a name may stand there once.
        let value = match form {
            TextForm::Text => "?1",
            TextForm::Name if !is_key => "?1 || hex(randomblob(6))",
            _ => continue,
        };
        let TextColumn { table, column } = at;
        let sql = format!(
            "UPDATE OR IGNORE {table} SET \"{column}\" = {value} WHERE \"{column}\" IS NOT NULL"
        );
        store.execute(&sql, [HOSTILE]).expect(&sql);
    }
    let models = json!([HOSTILE]).to_string();
    store
        .execute("UPDATE summaries SET models = ?1", [models])
        .unwrap();
    store
        .execute(
            "INSERT INTO declines (key, at, edge, reason, detail) VALUES ('k', 1, ?1, ?1, ?1)",
            [HOSTILE],
        )
        .unwrap();
    store
        .execute(
            "INSERT INTO parked (queue, item, at, reason) VALUES ('transcripts', ?1, 1, ?1)",
            [HOSTILE],
        )
        .unwrap();
}

/// Every command, those that change much at the end. `CHK` is a checkpoint, `TOK` a token, `DIR` a directory and `FILE` a
/// file in it.
const COMMANDS: &[&[&str]] = &[
    &["why", "HEAD"],
    &["why", "HEAD", "--explain"],
    &["why", "HEAD~1"],
    &["why", "HEAD~1", "--explain"],
    &["why", "by-hand.txt:1"],
    &["why", "by-hand.txt"],
    &["why", "FILE"],
    &["why", BRANCH],
    &["why", "no\u{1b}[2Jsuch"],
    &["log"],
    &["show", "one"],
    &["show", "HEAD"],
    &["show", "HEAD~1"],
    &["show", TAG],
    &["tail", "one"],
    &["statusline", "--format", "{name} {agent}"],
    &["files", "by-hand.txt"],
    &["files", HOSTILE],
    &["files", "DIR"],
    &["files", "FILE"],
    &["resume", "one", "--print"],
    &["resume", "--print", "Please"],
    &["search", "Please"],
    &["cost"],
    &["cost", "--by", "model"],
    &["cost", "--by", "branch"],
    &["cost", "--by", "session"],
    &["status"],
    &["agents"],
    &["session", "list"],
    &["session", "show", "one"],
    &["session", "show", "one", "--full"],
    &["show", "one", "--md"],
    &["show", "one", "--html"],
    &["session", "recover"],
    &["session", "recover", "one"],
    &["session", "rename", "one", HOSTILE],
    &["session", "fork", "one", "--conversation", HOSTILE],
    &["context", "list"],
    &["context", "show", HOSTILE],
    &["context", "explain", HOSTILE],
    &["checkpoint", "list"],
    &["checkpoint", "show", "CHK"],
    &["link", "list", "one"],
    &["link", "add", "one", HOSTILE],
    &["link", "remove", "one", "issue=42"],
    &["heartbeat", "list"],
    &[
        "heartbeat",
        "add",
        HOSTILE,
        "--agent",
        HOSTILE,
        "--every",
        "1h",
        "--prompt",
        HOSTILE,
    ],
    &["heartbeat", "show", "hb"],
    &["heartbeat", "pause", "hb"],
    &["heartbeat", "resume", "hb"],
    &["heartbeat", "run", "hb"],
    &["token", "list"],
    &["token", "create", "--name", HOSTILE],
    &["token", "rotate", "TOK"],
    &["token", "revoke", "TOK"],
    &["token", "release", HOSTILE],
    &["audit", "list"],
    &["audit", "verify"],
    &["audit", "export"],
    &["pipeline", "list"],
    &["pipeline", "show", "p"],
    &["pipeline", "show", "p", "--ascii"],
    &["pipeline", "export", "p"],
    &["pipeline", "plan", "p", HOSTILE],
    &["pipeline", "phase", "start", "p", HOSTILE],
    &["pipeline", "phase", "wait", "p", "build"],
    &["pipeline", "phase", "end", "p", "build"],
    &["pipeline", "check", "p", HOSTILE, "passed"],
    &["pipeline", "review", "p", "approved", "--text", HOSTILE],
    &["pipeline", "contract", "p", "c", "--file", HOSTILE],
    &["projection", "list"],
    &["projection", "add", HOSTILE, "--directory", HOSTILE],
    &["projection", "show", "d"],
    &["projection", "scope", "d"],
    &["projection", "retry", "d"],
    &["projection", "skip", "d", "one"],
    &["otel", "list"],
    &["otel", "add", HOSTILE, HOSTILE],
    &["otel", "test", "o"],
    &["otel", "unassigned"],
    &["check", "main..HEAD"],
    &["check", "HEAD"],
    &["check", TAG],
    &["demo"],
    &["import", "--dry-run"],
    &["import"],
    &["record", "--agent", HOSTILE],
    &["relocate", "--dry-run"],
    &["relocate", HOSTILE, HOSTILE],
    &["relocate", HOSTILE, "."],
    &["forget", "one", "--dry-run"],
    &["forget", "--pattern", "drow", "--dry-run"],
    &["doctor"],
    &["doctor", "--secrets"],
    &["verify"],
    &["config", "list"],
    &["config", "get", HOSTILE],
    &["config", "set", "color", HOSTILE],
    &["config", "unset", HOSTILE],
    &["config", "path"],
    &["init", "--dry-run"],
    &["init", "--dry-run", "--same-as", HOSTILE],
    &["uninstall", "--dry-run"],
    &["rebuild", "judgements"],
    &["adopt", "HEAD", "--human"],
    &["sync"],
    &["login", HOSTILE],
    &["logout", HOSTILE],
    &["mcp"],
    &["completions", "bash"],
    &["man"],
    &["version"],
    &["upgrade", "--check", "--release", HOSTILE],
    &["upgrade", "--check"],
    &["run", "--label", HOSTILE, "--", "sh", "-c", "true"],
    &["run", "--", HOSTILE],
    &["-v", "status"],
    &["no\u{1b}]0;t\u{7}such"],
    &["-C", "no\u{1b}]0;t\u{7}such", "status"],
    &["serve", "--plain", "--listen", "127.0.0.1:0"],
    &["session", "end", "one"],
    &["session", "archive", "one", "--yes"],
    &["pipeline", "end", "p"],
    &["heartbeat", "remove", "hb"],
    &["projection", "remove", "d"],
    &["otel", "remove", "o"],
    &["backup", "b.db"],
    &["restore", "--yes", "b.db", "--force"],
    &["doctor", "--fix"],
    &["init", "--yes"],
    &["init", "--yes", "--same-as", "."],
    &["forget", "--pattern", "drow", "--yes"],
    &["forget", "one", "--yes"],
    &["uninstall", "--yes"],
];

/// Every command that the program has, by its own help.
pub(crate) fn known_commands(repo: &Repo<'_>, above: &[&str], known: &mut Vec<String>) {
    let names = repo.commands_below(above);
    for name in &names {
        known_commands(repo, &[above, &[name]].concat(), known);
    }
    if names.is_empty() {
        known.push(above.join(" "));
    }
}

#[test]
fn every_command_has_a_row() {
    let world = World::new();
    let repo = world.at(&world.root);
    let mut known = Vec::new();
    known_commands(&repo, &[], &mut known);
    assert!(known.len() > 70, "{known:?}");
    let has_row = |name: &String| {
        let words: Vec<&str> = name.split(' ').collect();
        COMMANDS.iter().any(|row| row.starts_with(&words))
    };
    known.retain(|name| !has_row(name));
    assert!(known.is_empty(), "no row of COMMANDS runs {known:?}");
}

/// What a command shows; one that goes on until it is told to stop is told.
fn shown(repo: &Repo<'_>, command: &[&str]) -> String {
    let program = World::program();
    let mut run = repo.world.command("timeout");
    if command.contains(&"demo") {
        // It reads nothing of others but where it may make a directory; here it may not.
        run.env("TMPDIR", repo.world.root.join(HOSTILE));
    }
    let output = run
        .args(["--signal=INT", "4"])
        .arg(program)
        .args(command)
        .current_dir(&repo.dir)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// All that is written out goes through `ui`, which lets nothing through that is obeyed. Lints keep out `println!`.
#[test]
fn the_terminal_is_written_to_in_one_place() {
    let mut found = source_lines_with(&["io::stdout", "io::stderr"]);
    let all = found.len();
    found.retain(|line| !line.contains("/cli/src/ui/"));
    assert_eq!(found, [""; 0]);
    assert!(all > 0);
}

#[test]
fn no_output_has_anything_that_a_terminal_obeys() {
    let world = World::new();
    let (repo, _agent) = hostile(&world);
    let text = |sql: &str| {
        let store = world.store();
        let found: Option<String> = store.query_row(sql, [], |row| row.get(0)).ok();
        found.unwrap_or_else(|| "none".to_owned())
    };
    let checkpoint = text("SELECT 'chk_' || lower(hex(id)) FROM checkpoints LIMIT 1");
    let token = text("SELECT 'tok_' || lower(hex(id)) FROM tokens LIMIT 1");
    let (mut hostile_ones, mut bad) = (0, Vec::new());
    for command in COMMANDS {
        let named = |word: &&'static str| match *word {
            "CHK" => checkpoint.clone(),
            "TOK" => token.clone(),
            "DIR" => directory(),
            "FILE" => file(),
            word => word.to_owned(),
        };
        let words: Vec<String> = command.iter().map(named).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        for form in ["--color=never", "--color=always", "--json"] {
            // Options of `run` stand before its program.
            let mut output = shown(&repo, &[&[form][..], &words].concat());
            if form == "--color=always" {
                output = without_styles(&output);
            }
            hostile_ones += usize::from(output.contains("drow"));
            let is_bad = |sign: &char| match *sign {
                // The script for a shell is all ours.
                '\t' => command[0] != "completions",
                sign => is_hazard(sign),
            };
            let hazards: Vec<char> = output.chars().filter(is_bad).collect();
            let is_forged = output.lines().any(|line| line.starts_with(FORGED));
            if !hazards.is_empty() || is_forged {
                bad.push((command, form, hazards, is_forged, output));
            }
        }
    }
    let brief: Vec<_> = bad.iter().map(|row| (row.0, row.1, row.3)).collect();
    assert!(bad.is_empty(), "{bad:#?}\n{brief:?}");
    assert!(
        hostile_ones > 100,
        "only {hostile_ones} outputs have something hostile in them"
    );
    let log = fs::read_to_string(world.siglum_home().join("siglum.log")).unwrap_or_default();
    assert!(!log.chars().any(is_hazard), "{log:?}");
}

/// Without the sequences that the program itself puts around text.
fn without_styles(text: &str) -> String {
    assert!(!text.contains("\u{1b}[33mz"), "a style of theirs: {text:?}");
    let mut text = text.to_owned();
    for style in ["0", "1", "2", "31", "32", "33", "34", "35", "36"] {
        text = text.replace(&format!("\u{1b}[{style}m"), "");
    }
    text
}
