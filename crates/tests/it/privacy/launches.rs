//! One session that is sent by itself: no byte of another one goes with it, not even of the same repository.

use serde_json::json;

use super::{INSIDE, OUTSIDE, has, is_private, play, received, three};
use crate::harness::{Agent, Gateway, Repo, World, until};
use crate::launching::Launch;

/// The id of the session that its agent calls so, and the hexadecimal digits in it.
fn session_id(repo: &Repo<'_>, native: &str) -> String {
    let shown = repo.world.json(&repo.dir, &["session", "show", native]);
    let id = shown["session"]["id"].as_str().unwrap();
    id.trim_start_matches("ses_").to_owned()
}

/// No byte of these sessions is in what a gateway got: neither their ids nor a name of theirs.
#[track_caller]
fn has_none_of(way: &str, gateway: &Gateway, wanted: &[&str], ids: &[String]) {
    let all = received(gateway);
    is_private(way, &all, wanted);
    for id in ids {
        assert!(!has(&all, id), "{way}: session {id} left");
    }
}

#[test]
fn no_byte_of_a_repository_outside_leaves_by_a_launch() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let gateway = Gateway::start(&world);
    let flags = format!("--gateway {}", gateway.url);
    let (agent, launch) = Launch::agent(&inside, "launched", &[], &flags);
    play(agent, &format!("{INSIDE}-again"));
    assert_eq!(launch.over(), Some(0));
    let wanted = ["-again-prompt", "-again-subject"];
    is_private("run", &received(&gateway), &wanted);
}

#[test]
fn no_byte_of_a_session_beside_leaves_by_a_launch() {
    let world = World::new();
    let [inside, ..] = three(&world);
    // It wrote a file that the launched one commits, and a call of it runs meanwhile.
    let native = format!("{}-beside", OUTSIDE[0]);
    let mut beside = Agent::process(&inside, &native, &Agent::program());
    beside.begin("startup");
    beside.write("shared.txt", "one\ntwo\nthree\n");
    beside.hook("PreToolUse", beside_call());
    let kept = session_id(&inside, &native);
    let gateway = Gateway::start(&world);
    let flags = format!("--gateway {}", gateway.url);
    let (agent, launch) = Launch::agent(&inside, "launched", &[], &flags);
    play(agent, &format!("{INSIDE}-again"));
    assert_eq!(launch.over(), Some(0));
    let authors = world.json(&inside.dir, &["why", "HEAD"]).to_string();
    assert!(authors.contains(&kept), "{authors}");
    let wanted = ["-again-prompt", "-again-subject"];
    has_none_of("run", &gateway, &wanted, std::slice::from_ref(&kept));
    assert!(has(&received(&gateway), "shared.txt"));
    // Nor when the launched one is sent by itself.
    let again = Gateway::start(&world);
    let sync = ["sync", "--to", &again.url, "--session", "launched"];
    inside.siglum(&sync).ok();
    has_none_of("sync --session", &again, &wanted, &[kept]);
}

fn beside_call() -> serde_json::Value {
    json!({
        "tool_name": "Bash", "tool_input": {"command": format!("make {}", OUTSIDE[0])},
        "tool_use_id": format!("toolu_{}", OUTSIDE[0]),
    })
}

/// Sessions that came from others, or were begun by them, are sent without their names.
#[test]
fn no_byte_of_the_session_before_or_above_leaves_by_a_launch() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let gateway = Gateway::start(&world);
    let native = format!("{}-outer", OUTSIDE[0]);
    let mut outer = Agent::process(&inside, &native, &Agent::program());
    outer.begin("startup");
    let above = session_id(&inside, &native);
    let mut nested = outer.nested(&inside, &format!("{INSIDE}-nested"), &Agent::program());
    nested.begin("startup");
    nested.sh("git commit -q --allow-empty -m work");
    nested.stop();
    nested.end("exit");
    drop(nested);
    outer.stop();
    // The screen is cleared: what follows came from the session before.
    outer.clear(&format!("{INSIDE}-cleared"));
    outer.sh("git commit -q --allow-empty -m more-work");
    outer.stop();
    outer.end("exit");
    drop(outer);
    until("the worker has left", || world.processes().is_empty());
    for end in ["-nested", "-cleared"] {
        let session = format!("{INSIDE}{end}");
        let shown = world.json(&inside.dir, &["session", "show", &session]);
        assert!(shown.to_string().contains(&above), "{end}: {shown}");
        let sync = ["sync", "--to", &gateway.url, "--session", &session];
        inside.siglum(&sync).ok();
        has_none_of(end, &gateway, &[end], std::slice::from_ref(&above));
    }
}

/// Who takes up a launch with an older session, which the launch does not own, is not named.
#[test]
fn no_byte_of_the_session_that_goes_on_leaves_by_a_launch() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let native = format!("{}-older", OUTSIDE[0]);
    play(Agent::process(&inside, &native, &Agent::program()), "older");
    let older = session_id(&inside, &native);
    let gateway = Gateway::start(&world);
    let flags = format!("--label mark={INSIDE}-launch --gateway {}", gateway.url);
    let (mut agent, launch) = Launch::agent(&inside, &native, &[], &flags);
    agent.begin("resume");
    agent.prompt(&format!("{}-prompt", OUTSIDE[0]));
    agent.stop();
    agent.end("exit");
    drop(agent);
    assert_eq!(launch.over(), Some(0));
    has_none_of("run", &gateway, &["-launch"], &[older]);
}
