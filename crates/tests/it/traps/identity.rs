//! Pids, processes and sessions that are not one to one.

use serde_json::Value;

use super::{BARE, COMMIT, bystander, runs_beside};
use crate::harness::{Agent, Container, World};

#[test]
fn a_pid_that_was_used_again_is_another_process() {
    let world = World::new();
    let repo = world.repo();
    let Some(mut container) = Container::start(&repo, "") else {
        return;
    };
    container.next_pid(300);
    let mut agent = Agent::started_by(&repo, "old", &Agent::program(), |command| {
        container.start_line(&format!("{command} & echo $! >'{}'", pid_file(&world)));
    });
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    repo.check("the agent", "HEAD", &agent.certain());
    let pid: u32 = std::fs::read_to_string(pid_file(&world))
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert_eq!(pid, 300);
    container
        .run(&format!("kill -9 {pid}; wait {pid}; true"))
        .ok();
    container.next_pid(300);
    // A shell of its own, with more to do than git, so that it is above git.
    let reused = "sh -c 'echo $$; git commit -q --allow-empty -m again; true' & wait $!";
    assert_eq!(container.run(reused).ok(), "300", "the trap is set");
    repo.check("another process with its pid", "HEAD", "unknown unknown");
    repo.recency_errs("nobody");
}

fn pid_file(world: &World) -> String {
    world.root.join("pid").display().to_string()
}

#[test]
fn only_the_variable_separates_two_sessions_of_one_process() {
    let world = World::new();
    let repo = world.repo();
    let mut server = Agent::start(&repo, "thread-one");
    "thread-two".clone_into(&mut server.native);
    server.begin("startup");
    let mut bystander = bystander(&repo);
    for thread in ["thread-one", "thread-two"] {
        server
            .bare_sh(&format!("CLAUDE_CODE_SESSION_ID={thread} {COMMIT}"))
            .ok();
        repo.check("named", "HEAD", &format!("{thread} certain"));
        repo.recency_errs(thread);
    }
    server.bare_sh(BARE).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown ambiguous", "{why}");
    assert_eq!(why.candidates(), ["thread-two", "thread-one"], "{why}");
    "thread-one".clone_into(&mut server.native);
    runs_beside(&mut server, &mut bystander, &repo, BARE).ok();
    repo.check("the one whose call runs", "HEAD", "thread-one likely");
}

#[test]
fn a_session_whose_process_was_never_recorded_is_no_ancestor() {
    let world = World::new();
    let repo = world.repo();
    let mut old = Agent::start(&repo, "old");
    world.forget_processes();
    let _bystander = bystander(&repo);
    old.bare_sh(BARE).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown unknown", "{why}");
    assert_eq!(
        why.candidates(),
        ["a-bystander", "old"],
        "newest first: {why}"
    );
    repo.recency_errs("old");
    old.bare_sh(COMMIT).ok();
    repo.check("by its variable", "HEAD", &old.likely());
    old.prompt("Go on.");
    old.bare_sh(BARE).ok();
    repo.check("recorded with its next turn", "HEAD", &old.likely());
}

#[test]
fn a_turn_in_another_process_binds_that_process() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "moving");
    first.stop();
    let mut second = Agent::process(&repo, "moving", &Agent::program());
    second.prompt("Go on here.");
    let mut bystander = bystander(&repo);
    runs_beside(&mut second, &mut bystander, &repo, BARE).ok();
    repo.check("the new process", "HEAD", &second.certain());
    first.bare_sh(BARE).ok();
    repo.check("the old one, which lives on", "HEAD", &first.likely());
    let sql = "SELECT count(*) FROM processes p JOIN aliases a ON a.session = p.session \
               WHERE a.native = 'moving'";
    assert_eq!(world.count(sql), 2);
}

#[test]
fn a_newer_session_that_is_not_above_git() {
    let world = World::new();
    let repo = world.repo();
    let mut older = Agent::start(&repo, "older");
    let mut bystander = bystander(&repo);
    runs_beside(&mut older, &mut bystander, &repo, COMMIT).ok();
    repo.check("with a call", "HEAD", &older.certain());
    bystander.prompt("More.");
    older.bare_sh(BARE).ok();
    repo.recency_errs("older");
    repo.check("ancestry alone", "HEAD", &older.likely());
}

#[test]
fn what_a_process_does_after_its_session_ended_is_not_the_sessions() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "ended");
    agent.end("clear");
    let _bystander = bystander(&repo);
    agent
        .bare_sh(&format!("CLAUDE_CODE_SESSION_ID=untold {COMMIT}"))
        .ok();
    repo.check(
        "a session that has not spoken yet",
        "HEAD",
        "unknown ambiguous",
    );
    agent.bare_sh(BARE).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown ambiguous", "{why}");
    assert_eq!(why.candidates(), ["ended"], "{why}");
    repo.recency_errs("nobody that is known");
}

#[test]
fn native_ids_that_no_conversation_can_be_called_by_stay_two_sessions() {
    let world = World::new();
    let repo = world.repo();
    let long = "x".repeat(200);
    let natives = ["é1", "è1", long.as_str(), "plain"];
    for native in natives {
        Agent::start(&repo, native).begin("startup");
    }
    let listed = world.json(&repo.dir, &["session", "list"]);
    let mut called = Vec::new();
    for card in listed["items"].as_array().unwrap() {
        let (id, name) = (text(&card["id"]), text(&card["conversation_id"]));
        let shown = world.json(&repo.dir, &["session", "show", id]);
        let [native] = &shown["native_ids"].as_array().unwrap()[..] else {
            panic!("{shown:#}");
        };
        let own = match text(native) {
            "plain" => "plain",
            _ => id,
        };
        assert_eq!(name, own, "{shown:#}");
        called.push(text(native).to_owned());
    }
    called.sort_unstable();
    let mut natives = natives.map(str::to_owned);
    natives.sort_unstable();
    assert_eq!(called, natives, "native ids stay as they are");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
