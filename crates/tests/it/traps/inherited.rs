//! Variables that outlive what they were set for.

use serde_json::json;

use super::{COMMIT, bystander};
use crate::harness::{Agent, Terminal, World, left_out, until};

#[test]
fn a_person_in_a_multiplexer_that_an_agent_started() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "starter");
    let mut terminal = Terminal::started_by(&repo, "multiplexer", |command| {
        agent.step(&json!({ "start": command }));
    });
    let shown = terminal.run("echo named $CLAUDE_CODE_SESSION_ID");
    assert!(shown.contains("named starter"), "the trap is set: {shown}");
    let _bystander = bystander(&repo);
    std::fs::write(repo.dir.join("script.sh"), COMMIT).unwrap();
    for typed in [COMMIT, "sh script.sh", "sh -c 'sh script.sh; true'"] {
        terminal.run(typed);
        let why = repo.why("HEAD");
        assert_eq!(why.committer(), "unknown ambiguous", "{typed}: {why}");
        assert_eq!(why.candidates(), ["starter"], "{typed}: {why}");
        assert!(why.says("at a terminal with bash"), "{typed}: {why}");
        repo.recency_errs("a person");
    }
    agent.end("other");
    agent.kill();
    terminal.run(COMMIT);
    assert_eq!(repo.committer("HEAD"), "unknown ambiguous");
    terminal.run(&format!(
        "unset CLAUDE_CODE_SESSION_ID CLAUDECODE AI_AGENT; {COMMIT}"
    ));
    let why = repo.why("HEAD");
    assert_eq!(
        why.committer(),
        "unknown ambiguous",
        "without what it inherited: {why}"
    );
    assert!(
        why.says("holds its other end and may have typed it"),
        "{why}"
    );
}

#[test]
fn a_person_in_tmux_that_an_agent_started() {
    let world = World::new();
    let repo = world.repo();
    if repo.sh("tmux -V").code != Some(0) {
        left_out("no tmux here");
        return;
    }
    let mut agent = Agent::start(&repo, "starter");
    let socket = world.root.join("tmux");
    let tmux = format!("tmux -f /dev/null -S '{}'", socket.display());
    let shell = "bash --norc --noprofile";
    agent
        .bare_sh(&format!("{tmux} new-session -d '{shell}' >/dev/null 2>&1"))
        .ok();
    let _bystander = bystander(&repo);
    let types = |typed: &str| {
        repo.sh(&format!("{tmux} send-keys '{typed}; touch done' Enter"))
            .ok();
        until("what was typed is done", || repo.dir.join("done").exists());
        std::fs::remove_file(repo.dir.join("done")).unwrap();
    };
    types("git commit -q --allow-empty -m typed");
    let why = repo.why("HEAD");
    repo.sh(&format!("{tmux} kill-server")).ok();
    assert_eq!(why.committer(), "unknown ambiguous", "{why}");
    assert_eq!(why.candidates(), ["starter"], "{why}");
    repo.recency_errs("a person");
}

#[test]
fn a_server_that_outlived_the_session_of_its_agent_is_ambiguous() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "starter");
    let watcher = "setsid -f python3 -c 'import os, subprocess, time\n\
                   while not os.path.exists(\"go\"): time.sleep(0.02)\n\
                   subprocess.run([\"git\", \"commit\", \"-q\", \"--allow-empty\", \"-m\", \"x\"])\n\
                   open(\"done\", \"w\")' >/dev/null 2>&1 </dev/null";
    agent.bare_sh(watcher).ok();
    agent.end("other");
    agent.kill();
    let _bystander = bystander(&repo);
    std::fs::write(repo.dir.join("go"), "").unwrap();
    until("the server is done", || repo.dir.join("done").exists());
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown ambiguous", "a server: {why}");
    assert_eq!(why.candidates(), ["starter"], "{why}");
    assert!(why.says("went on with its variable"), "{why}");
}

#[test]
fn a_variable_that_the_agent_had_itself_is_not_that_of_an_agent_below_it() {
    let world = World::new();
    let repo = world.repo();
    let mut starter = Agent::process(&repo, "nobody", &Agent::program());
    let mut agent = Agent::started_by(&repo, "inner", &Agent::program(), |command| {
        let start = format!("CODEX_SESSION_ID=outer setsid -f {command} 2>/dev/null");
        starter.step(&json!({ "start": start }));
    });
    agent.begin("startup");
    let _bystander = bystander(&repo);
    agent
        .bare_sh(&format!("test $CODEX_SESSION_ID = outer && {COMMIT}"))
        .ok();
    repo.check("inherited by the agent", "HEAD", &agent.certain());
    assert!(
        repo.why("HEAD")
            .says("CODEX_SESSION_ID was set further out")
    );
    repo.recency_errs("inner");
    let detached = format!("setsid -f sh -c '{COMMIT}; touch done' >/dev/null 2>&1");
    agent.bare_sh(&detached).ok();
    until("detached work is done", || repo.dir.join("done").exists());
    repo.check("detached from the agent", "HEAD", &agent.likely());
    agent
        .bare_sh(&format!("CODEX_SESSION_ID=below {COMMIT}"))
        .ok();
    repo.check("set below the agent", "HEAD", "unknown ambiguous");
    agent
        .bare_sh(&format!("PI_CODING_AGENT=true {COMMIT}"))
        .ok();
    repo.check(
        "another agent's below the agent",
        "HEAD",
        "unknown ambiguous",
    );
    let detached = format!("PI_CODING_AGENT=true {}", detached.replace("done", "again"));
    agent.bare_sh(&detached).ok();
    until("detached work is done", || repo.dir.join("again").exists());
    repo.check(
        "detached, with another agent's",
        "HEAD",
        "unknown ambiguous",
    );
}
