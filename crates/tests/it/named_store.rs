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
    "show HEAD",
    "search one",
    "cost",
    "status",
    "mcp",
    "session list",
    "checkpoint list",
    "link list 1234567",
    "projection list",
    "otel list",
    "sync",
    "rebuild judgements",
    "adopt HEAD 1234567",
    "import --all",
    "forget --pattern nobody-has-this --yes",
    "doctor",
    "verify",
    "backup copy",
    "restore copy --yes",
];

/// All others, by their first word.
const ELSEWHERE: &[&str] = &[
    "init",
    "uninstall",
    "serve",
    "context",
    "heartbeat",
    "token",
    "audit",
    "pipeline",
    "upgrade",
    "demo",
    "config",
    "completions",
    "man",
    "version",
];

#[test]
fn what_knows_the_own_ledger_alone_is_refused_where_a_server_is_named() {
    let mut world = World::new();
    world.variables.push(("SIGLUM_STORE", SERVER.into()));
    let repo = plain(&world);
    let ledger = world.siglum_home().join("ledger.db");
    for command in ON_THE_OWN_LEDGER {
        let words: Vec<&str> = command.split(' ').collect();
        let ran = repo.siglum(&words);
        assert_eq!(ran.code, Some(2), "{command}: {ran:?}");
        let unset = format!("`env -u SIGLUM_STORE siglum {}`", words[0]);
        assert!(ran.stderr.contains(&unset), "{command}: {ran:?}");
        assert_eq!(ran.stdout, "", "{command}");
        assert!(!ledger.exists(), "{command}");
    }
    for name in repo.commands_below(&[]) {
        let is_first = |row: &&str| row.split(' ').next() == Some(name.as_str());
        let is_refused = ON_THE_OWN_LEDGER.iter().any(is_first);
        let is_elsewhere = ELSEWHERE.contains(&name.as_str());
        assert_ne!(is_refused, is_elsewhere, "{name} has a row in one list");
    }
    for command in [
        "token list",
        "audit list",
        "pipeline list",
        "context list",
        "session recover",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let ran = repo.siglum(&words);
        assert_eq!(ran.code, Some(1), "it asks the server: {command}: {ran:?}");
        assert!(!ledger.exists(), "{command}");
    }
    for command in ["version", "config list"] {
        let words: Vec<&str> = command.split(' ').collect();
        repo.siglum(&words).ok();
        assert!(!ledger.exists(), "{command}");
    }
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
