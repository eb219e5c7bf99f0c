//! Names of authors, models, tools, branches, paths and titles come from others. Whatever is in them, a terminal gets
//! nothing to obey, and nothing that hides or turns around what stands beside it.

use std::fs;
use std::io::Write as _;

use serde_json::json;

use crate::harness::{Agent, Repo, World};

/// Writes to the clipboard, clears the screen, sets a title, colours, turns text around and hides some of it.
const HOSTILE: &str = "x\u{1b}]52;c;aGk=\u{7}\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{85}\u{202e}drow\u{2066}\u{200b}\u{feff}\u{7f}\u{1b}[33mz";
/// What of it may stand in the name of a branch.
const BRANCH: &str = "x\u{9b}31m\u{202e}drow\u{200b}z";

/// What a terminal obeys, hides or turns around.
fn is_hazard(sign: char) -> bool {
    let unseen = ['\u{61c}', '\u{feff}', '\u{ad}', '\u{180e}'];
    (sign.is_control() && sign != '\n' && sign != '\t')
        || unseen.contains(&sign)
        || ('\u{200b}'..='\u{200f}').contains(&sign)
        || ('\u{2028}'..='\u{202e}').contains(&sign)
        || ('\u{2060}'..='\u{206f}').contains(&sign)
}

/// A repository and a ledger in which every text that others choose is hostile.
fn hostile(world: &World) -> (Repo<'_>, Agent) {
    let repo = world.repo();
    let name = format!("{HOSTILE}.txt");
    let mut agent = Agent::start(&repo, "one");
    agent.prompt(&format!("Please {HOSTILE} now"));
    agent.write(&name, &format!("{HOSTILE}\n"));
    agent.sh(&format!(
        "git checkout -q -b '{BRANCH}' && git add -A && git -c user.name='{HOSTILE}' commit -q -m 'Add {HOSTILE}'"
    ));
    fs::write(repo.dir.join("by-hand.txt"), "1\n").unwrap();
    repo.sh(&format!(
        "git add -A && GIT_AUTHOR_NAME='{HOSTILE}' git commit -q -m 'Hand {HOSTILE}'"
    ))
    .ok();
    said(&repo, &mut agent);
    repo.siglum(&[
        "link",
        "add",
        "one",
        "--label",
        "fruit=apple",
        "--issue",
        "42",
    ]);
    repo.siglum(&["pipeline", "start", "p"]);
    repo.siglum(&["token", "create", "--name", "t"]);
    repo.siglum(&["why", "HEAD"]).ok();
    spoil(world);
    (repo, agent)
}

/// A transcript in which model, tool and branch are hostile.
fn said(repo: &Repo<'_>, agent: &mut Agent) {
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

/// What cannot be brought in from outside any more may stand there since an older version.
fn spoil(world: &World) {
    let store = world.store();
    store
        .busy_timeout(std::time::Duration::from_secs(20))
        .unwrap();
    for (table, column) in [
        ("summaries", "title"),
        ("usages", "model"),
        ("usages", "branch"),
        ("declines", "detail"),
        ("parked", "reason"),
        ("tokens", "name"),
        ("tokens", "by"),
        ("statements", "by"),
        ("pipeline_events", "by"),
        ("pipeline_events", "text"),
        ("sessions", "cwd"),
        ("worktrees", "path"),
        ("unassigned", "name"),
    ] {
        let sql = format!("UPDATE {table} SET {column} = ?1");
        store.execute(&sql, [HOSTILE]).unwrap();
    }
    let models = json!([HOSTILE]).to_string();
    store
        .execute("UPDATE summaries SET models = ?1", [models])
        .unwrap();
    let facts = "UPDATE commits SET facts = json_set(facts, '$.author', ?1, '$.subject', ?1) WHERE facts IS NOT NULL";
    store.execute(facts, [HOSTILE]).unwrap();
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

const COMMANDS: &[&[&str]] = &[
    &["why", "HEAD"],
    &["why", "HEAD", "--explain"],
    &["why", "HEAD~1"],
    &["why", "HEAD~1", "--explain"],
    &["why", "by-hand.txt:1"],
    &["why", "no\u{1b}[2Jsuch"],
    &["log"],
    &["show", "one"],
    &["show", "HEAD"],
    &["search", "Please"],
    &["cost"],
    &["cost", "--by", "model"],
    &["cost", "--by", "branch"],
    &["cost", "--by", "session"],
    &["status"],
    &["session", "list"],
    &["session", "show", "one"],
    &["session", "show", "one", "--full"],
    &["context", "list"],
    &["checkpoint", "list"],
    &["link", "list", "one"],
    &["heartbeat", "list"],
    &["token", "list"],
    &["audit", "list"],
    &["audit", "verify"],
    &["pipeline", "list"],
    &["pipeline", "show", "p"],
    &["pipeline", "show", "p", "--ascii"],
    &["projection", "list"],
    &["otel", "list"],
    &["check", "main..HEAD"],
    &["check", "HEAD"],
    &["import", "--dry-run"],
    &["forget", "one", "--dry-run"],
    &["forget", "--pattern", "drow", "--dry-run"],
    &["doctor"],
    &["doctor", "--secrets"],
    &["verify"],
    &["config", "list"],
    &["init", "--dry-run"],
    &["remove", "--dry-run"],
    &["rebuild", "judgements"],
    &["adopt", "HEAD", "--human"],
    &["-v", "status"],
    &["no\u{1b}]0;t\u{7}such"],
    &["-C", "no\u{1b}]0;t\u{7}such", "status"],
];

#[test]
fn no_output_has_anything_that_a_terminal_obeys() {
    let world = World::new();
    let (repo, _agent) = hostile(&world);
    let (mut shown, mut bad) = (0, Vec::new());
    for command in COMMANDS {
        for form in [&["--color=never"][..], &["--color=always"], &["--json"]] {
            let ran = repo.siglum(&[command, form].concat());
            let mut output = ran.stdout.clone() + &ran.stderr;
            if form[0] == "--color=always" {
                output = without_styles(&output);
            }
            shown += usize::from(output.contains("drow"));
            let hazards: Vec<char> = output.chars().filter(|c| is_hazard(*c)).collect();
            if !hazards.is_empty() {
                bad.push((command, form[0], hazards, output));
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
    assert!(
        shown > 40,
        "only {shown} outputs have something hostile in them"
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
