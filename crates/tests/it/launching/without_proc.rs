//! The usual scene as it is without `/proc`: processes are told by `ps`, or by nobody.

use super::{Launch, launched, sessions, show};
use crate::harness::{World, kill, until};

fn world_with_ps(ps: &str) -> World {
    let mut world = World::new();
    world.variables.push(("SIGLUM_PS", ps.into()));
    world
}

#[test]
fn a_launcher_that_was_killed_is_found_lost_by_ps() {
    let world = world_with_ps("ps");
    let repo = world.repo();
    let script = format!("exec '{}' run -- sleep 60", World::program().display());
    let mut launch = Launch::command(&repo, &[], &script).spawn().unwrap();
    until("it is launched", || !sessions(&repo).is_empty());
    assert_eq!(launched(&repo)["launch"]["state"], "running");
    kill(launch.id());
    // Until it is waited for, it is there and has ended.
    until("it is a zombie that is lost", || {
        launched(&repo)["launch"]["state"] == "lost"
    });
    launch.wait().unwrap();
    assert_eq!(launched(&repo)["session"]["state"], "ended");
}

#[test]
fn an_agent_below_a_lost_launcher_commits_and_its_death_is_found_by_ps() {
    let world = world_with_ps("ps");
    let repo = world.repo();
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "--issue 42");
    agent.begin("startup");
    kill(launch.child.id());
    launch.over();
    assert_eq!(launched(&repo)["launch"]["state"], "lost");
    agent.sh(super::COMMIT).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    let session = launched(&repo)["session"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    agent.kill();
    repo.siglum(&["worker", "--once"]).ok();
    assert_eq!(show(&repo, &session)["session"]["state"], "ended");
}

#[test]
fn what_ps_tells_is_nothing_to_proc_and_nobody_is_no_failure() {
    for (launched_by, shown_by) in [("ps", ""), ("", "ps"), ("/nowhere/ps", "/nowhere/ps")] {
        let mut world = world_with_ps(launched_by);
        let script = format!("exec '{}' run -- sleep 60", World::program().display());
        let repo = world.repo();
        let mut launch = Launch::command(&repo, &[], &script).spawn().unwrap();
        until("it is launched", || !sessions(&repo).is_empty());
        let dir = repo.dir.clone();
        drop(repo);
        world.variables = vec![("SIGLUM_PS", shown_by.into())];
        let listed = world.json(&dir, &["session", "list"]);
        let session = listed["items"][0]["id"].as_str().unwrap().to_owned();
        let state = || {
            let shown = world.json(&dir, &["session", "show", &session]);
            shown["launch"]["state"].clone()
        };
        assert_eq!(state(), "running", "{launched_by} {shown_by}");
        kill(launch.id());
        launch.wait().unwrap();
        assert_eq!(state(), "running", "{launched_by} {shown_by}");
    }
}
