//! What `siglum run` launches and no hook records: its commits are those of the launch.

use super::{COMMIT, Launch, launched, links};
use crate::harness::{Agent, Repo, Terminal, World};

/// Runs something below `siglum run` to its end, without a terminal.
#[track_caller]
fn run(repo: &Repo<'_>, flags: &str, command: &str) {
    let siglum = World::program();
    let script = format!("'{}' run {flags} -- {command}", siglum.display());
    let output = Launch::command(repo, &[], &script).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A program of this name that runs what it is given, as one that stays above it.
fn program(repo: &Repo<'_>, name: &str) -> String {
    let path = Agent::program_called(repo, name);
    path.display().to_string()
}

#[test]
fn a_script_that_was_launched_committed_for_the_launch() {
    let world = World::new();
    let repo = world.repo();
    run(&repo, "--issue 78", &format!("sh -c '{COMMIT}; true'"));
    let why = repo.why("HEAD");
    let session = launched(&repo);
    assert_eq!(
        why.0["committer"]["session"], session["session"]["id"],
        "{why}"
    );
    assert_eq!(why.0["committer"]["verdict"], "likely", "{why}");
    assert_eq!(links(&why.0["committer"]), ["issue_number=78"]);
    assert!(why.says("below the launcher"), "{why}");
    let cleaned = format!("env -u SIGLUM_SESSION_ID sh -c '{COMMIT}; true'");
    run(&repo, "--issue 79", &cleaned);
    let why = repo.why("HEAD");
    assert_eq!(why.0["committer"]["verdict"], "likely", "{why}");
    assert_eq!(links(&why.0["committer"]), ["issue_number=79"]);
}

#[test]
fn a_bad_variable_of_a_launch_that_nobody_records_is_named() {
    let world = World::new();
    let repo = world.repo();
    let script = format!("'{}' run -- sh -c '{COMMIT}'", World::program().display());
    let variables = [
        ("SIGLUM_PR_NUMBER", "7\u{200b}"),
        ("EGG_ISSUE_NUMBER", "42"),
    ];
    let ran = Launch::command(&repo, &variables, &script)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let bad = r"SIGLUM_PR_NUMBER is `7\u{200b}`";
    let session = launched(&repo);
    let id = session["session"]["id"].as_str().unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for output in [
        String::from_utf8_lossy(&ran.stderr).into_owned(),
        repo.siglum(&["show", id]).ok(),
        repo.siglum(&["doctor"]).stdout,
        repo.siglum(&["audit", "list", "--refused", "--session", id])
            .ok(),
    ] {
        assert!(words(&output).contains(bad), "{output}");
    }
    let shown = world.json(&repo.dir, &["session", "show", id]);
    assert_eq!(links(&shown["session"]), ["issue_number=42"]);
    assert_eq!(shown["left_out"].as_array().unwrap().len(), 1, "{shown}");
}

#[test]
fn an_agent_that_nobody_records_committed_for_the_launch_that_started_it() {
    let world = World::new();
    let repo = world.repo();
    let aider = program(&repo, "aider");
    let mut child = None;
    let mut agent = Agent::started_by(&repo, "none", aider.as_ref(), |command| {
        let siglum = World::program();
        let script = format!("'{}' run --issue 78 -- {command}", siglum.display());
        child = Some(Launch::command(&repo, &[], &script).spawn().unwrap());
    });
    // The program that plays says that it is another agent.
    let commit = format!("env -u CLAUDECODE -u AI_AGENT {COMMIT}");
    agent.bare_sh(&commit).ok();
    let why = repo.why("HEAD");
    assert_eq!(
        why.0["committer"]["session"],
        launched(&repo)["session"]["id"],
        "{why}"
    );
    assert_eq!(why.0["committer"]["verdict"], "likely", "{why}");
    // Another agent below it is somebody else.
    let mut goose = agent.nested(&repo, "goose", program(&repo, "goose").as_ref());
    goose.bare_sh(&commit).ok();
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
    drop((goose, agent));
    child.unwrap().wait().unwrap();
}

#[test]
fn a_recorded_agent_below_the_launcher_is_nearer() {
    let world = World::new();
    let repo = world.repo();
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "--agent codex --issue 78");
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    repo.check("by the agent", "HEAD", &agent.certain());
    drop(agent);
    launch.over();
}

#[test]
fn what_a_person_types_in_a_launched_shell_is_the_persons() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    let siglum = World::program();
    terminal.run(&format!(
        "'{}' run --issue 78 -- bash --norc --noprofile -i",
        siglum.display()
    ));
    terminal.run(COMMIT);
    let why = repo.why("HEAD");
    let committer = why.committer();
    assert!(committer.starts_with("human"), "{why}");
    assert!(why.says("below the launcher"), "{why}");
    // What is typed in the person's own shell, and launched there.
    terminal.run("exit");
    terminal.run(&format!(
        "'{}' run --issue 79 -- sh -c '{COMMIT}; true'",
        siglum.display()
    ));
    let why = repo.why("HEAD");
    assert_eq!(why.0["committer"]["verdict"], "likely", "{why}");
    assert_eq!(links(&why.0["committer"]), ["issue_number=79"]);
}
