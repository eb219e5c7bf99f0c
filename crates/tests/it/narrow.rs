//! What people see at a terminal of 80 columns.

use crate::costs::spend_tokens;
use crate::harness::{Agent, World};
use crate::hostile_text::known_commands;

/// What each of these answers has no line that is wider.
const COMMANDS: &[&str] = &[
    "log",
    "why HEAD",
    "why HEAD~1",
    "why HEAD~1 --explain",
    "why nobody-knows-this-commit-and-its-name-is-a-rather-long-one",
    "show 0000",
    "cost --since never",
    "why HEAD --explain",
    "why notes/a-file-with-a-long-name.md:3",
    "why notes/a-file-with-a-long-name.md",
    "check HEAD",
    "check HEAD --deny before",
    "cost",
    "cost --by session",
    "cost --by commit",
    "cost --by issue",
    "cost --by model",
    "cost --by day",
    "cost --explain",
    "status",
    "agents",
    "session list",
    "checkpoint list",
    "search work",
    "resume HEAD~1 --print",
    "link add 0000 issue=42",
    "files notes/a-file-with-a-long-name.md",
    "statusline",
    "audit list",
    "config list",
    "projection list",
    "otel list",
    "token list",
    "heartbeat list",
    "context list",
    "pipeline list",
    "import --dry-run",
    "relocate",
    "upgrade --check",
];

#[test]
fn no_answer_is_wider_than_a_terminal_of_80_columns() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "wide");
    agent.prompt("Please write down all that is known of the work, and commit it when it is done");
    let lines: String = (1..20)
        .map(|n| format!("What is known of item {n}\n"))
        .collect();
    agent.write("notes/a-file-with-a-long-name.md", &lines);
    agent
        .sh("git add -A && git commit -q -m 'Write down all that is known of the work that is under way in here'")
        .ok();
    // As much as a month of work takes from caches.
    spend_tokens(
        &repo,
        &mut agent,
        [80_230_100, 15_040_020, 25_064_012_000, 310_300_400],
    );
    let session = world.json(&repo.dir, &["session", "list"]);
    let session = session["items"][0]["id"].as_str().unwrap();
    for link in ["issue=42", "pr=7"] {
        repo.siglum(&["link", "add", session, link]).ok();
    }
    repo.sh("git -c core.hooksPath=/dev/null commit -q --allow-empty -m 'By something that no hook saw, and that nobody knows of'")
        .ok();
    let added = [
        "projection add copies --directory copies --all-repositories",
        "otel add traces http://127.0.0.1:9/ --all-repositories",
    ];
    let show = format!("show {session}");
    let asked = format!("show {session} --turn 2");
    let shown = [show.as_str(), &asked];
    let commands = added.iter().chain(COMMANDS).chain(&shown);
    for command in commands {
        let program = World::program();
        let ran = repo.sh(&format!("COLUMNS=80 {} {command}", program.display()));
        let is_refused = *command == "cost --since never";
        assert_eq!(ran.code == Some(2), is_refused, "{command}: {ran:?}");
        for line in ran.stdout.lines().chain(ran.stderr.lines()) {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}

#[test]
fn no_help_is_wider_than_a_terminal_of_80_columns() {
    let world = World::new();
    let repo = world.at(&world.root);
    let mut known = Vec::new();
    known_commands(&repo, &[], &mut known);
    assert!(known.len() > 70, "{known:?}");
    let mut groups: Vec<String> = known
        .iter()
        .filter_map(|name| Some(name.rsplit_once(' ')?.0.to_owned()))
        .collect();
    groups.push(String::new());
    known.append(&mut groups);
    known.sort();
    known.dedup();
    let program = World::program();
    for command in &known {
        for flag in ["-h", "--help"] {
            let line = format!("COLUMNS=80 {} {command} {flag}", program.display());
            for line in repo.sh(&line).ok().lines() {
                assert!(line.chars().count() <= 80, "{command} {flag}: {line}");
            }
        }
    }
}
