//! Which store a command works on where `SIGLUM_STORE` names a server.

use crate::commands::plain;
use crate::harness::{Agent, World};

/// Nobody listens there.
const SERVER: &str = "postgres://127.0.0.1:1/x";

/// Commands that know this machine's own ledger alone, each with arguments that lead it as far as its store.
const ON_THE_OWN_LEDGER: &[&str] = &[
    "run -- true",
    "why HEAD",
    "log",
    "check HEAD",
    "status",
    "resume HEAD",
    "tail",
    "files file",
    "mcp",
    "sync",
    "adopt HEAD 1234567",
    "import --all",
    "record --agent tester",
    "relocate",
    "backup copy",
    "restore copy --yes",
];

/// Commands that ask the server, each with arguments that lead it as far as its store. They read and write nothing here.
const ON_THE_NAMED_STORE: &[&str] = &[
    "show 1234567",
    "show --limit 1",
    "search one",
    "cost",
    "session list",
    "session show 1234567",
    "session end 1234567",
    "session archive 1234567 --yes",
    "session recover",
    "session rename 1234567 name",
    "context list",
    "checkpoint list",
    "checkpoint show 1234567",
    "link list 1234567",
    "link add 1234567 issue=1",
    "heartbeat list",
    "token list",
    "audit list",
    "pipeline list",
    "projection list",
    "projection show one",
    "otel list",
    "otel unassigned",
    "otel add one http://127.0.0.1:1 --all-repositories",
    "rebuild search",
    "rebuild summaries",
    "forget --pattern nobody-has-this --yes",
    "doctor",
    "verify",
];

/// What such a command does on this machine alone.
const OF_A_MACHINE: &[&str] = &[
    "rebuild judgements",
    "projection add one --program true --all-repositories",
    "doctor --fix",
];

/// All others, by their first word.
const ELSEWHERE: &[&str] = &[
    "statusline",
    "init",
    "agents",
    "uninstall",
    "login",
    "logout",
    "serve",
    "upgrade",
    "demo",
    "config",
    "completions",
    "man",
    "version",
];

#[test]
fn a_command_asks_the_server_that_is_named_or_is_refused() {
    let mut world = World::new();
    world.variables.push(("SIGLUM_STORE", SERVER.into()));
    let repo = plain(&world);
    let ledger = world.siglum_home().join("ledger.db");
    let run = |command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        let ran = repo.siglum(&words);
        assert!(!ledger.exists(), "{command}");
        ran
    };
    for command in ON_THE_OWN_LEDGER.iter().chain(OF_A_MACHINE) {
        let ran = run(command);
        assert_eq!(ran.code, Some(2), "{command}: {ran:?}");
        let first = command.split(' ').next().unwrap();
        let unset = format!("`env -u SIGLUM_STORE siglum {first}");
        assert!(ran.stderr.contains(&unset), "{command}: {ran:?}");
        assert_eq!(ran.stdout, "", "{command}");
    }
    for command in ON_THE_NAMED_STORE {
        let ran = run(command);
        assert_eq!(ran.code, Some(1), "it asks the server: {command}: {ran:?}");
    }
    for command in ["version", "config list"] {
        run(command).ok();
    }
    for name in repo.commands_below(&[]) {
        let is_first = |row: &&str| row.split(' ').next() == Some(name.as_str());
        let lists = [ON_THE_OWN_LEDGER, ON_THE_NAMED_STORE, ELSEWHERE];
        let rows = lists.iter().filter(|list| list.iter().any(is_first));
        assert_eq!(rows.count(), 1, "{name} has rows in one list");
    }
}

#[test]
fn a_file_may_have_the_address_of_the_server() {
    let mut world = World::new();
    let file = world.root.join("store");
    std::fs::write(&file, format!("{SERVER}\n")).unwrap();
    world.variables.push(("SIGLUM_STORE_FILE", file.clone()));
    let repo = plain(&world);
    let refused = repo.siglum(&["status"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let unset = "`env -u SIGLUM_STORE_FILE siglum status`";
    assert!(refused.stderr.contains(unset), "{refused:?}");
    let asked = repo.siglum(&["session", "list"]);
    assert_eq!(asked.code, Some(1), "it asks the server: {asked:?}");
    std::fs::write(&file, "mysql://127.0.0.1:1/x").unwrap();
    assert_eq!(repo.siglum(&["session", "list"]).code, Some(2));
    std::fs::remove_file(&file).unwrap();
    let unreadable = repo.siglum(&["session", "list"]);
    assert_eq!(unreadable.code, Some(1), "{unreadable:?}");
    let reason = "cannot read the address of the store";
    assert!(unreadable.stderr.contains(reason), "{unreadable:?}");
}

#[test]
fn two_addresses_of_the_server_are_refused() {
    let mut world = World::new();
    world.variables.push(("SIGLUM_STORE", SERVER.into()));
    world.variables.push(("SIGLUM_STORE_FILE", "store".into()));
    let refused = plain(&world).siglum(&["session", "list"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("both"), "{refused:?}");
}

/// Hooks know no other ledger, so what serves them is not refused.
#[test]
fn hooks_keep_their_ledger_where_a_server_is_named() {
    let mut world = World::new();
    world.variables.push(("SIGLUM_STORE", SERVER.into()));
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "named");
    agent.sh("git commit -q --allow-empty -m one").ok();
    repo.siglum(&["worker", "--once"]).ok();
    let program = World::program();
    let why = format!(
        "env -u SIGLUM_STORE '{}' session list --json",
        program.display()
    );
    let listed = repo.sh(&why).ok();
    assert!(listed.contains("claude-code"), "{listed}");
    repo.siglum(&["uninstall", "--yes"]).ok();
}
