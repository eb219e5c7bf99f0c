//! What people say beside the evidence, and what commands show of the record.

use crate::harness::{Agent, World};
use crate::launching::links;

#[test]
fn links_are_attached_shown_and_detached() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "linked");
    agent.sh("git commit -q --allow-empty -m x").ok();
    repo.siglum(&["link", "add", "linked", "issue=42", "label=team=core"])
        .ok();
    repo.siglum(&["link", "add", "linked", "issue=42"]).ok();
    let links = repo.why("HEAD").0["committer"]["links"].to_string();
    assert_eq!(links.matches("42").count(), 1, "{links}");
    repo.siglum(&["link", "remove", "linked", "issue=42"]).ok();
    let links = repo.why("HEAD").0["committer"]["links"].to_string();
    assert!(!links.contains("42") && links.contains("core"), "{links}");
    for bad in [
        "issue=0",
        "issue=1.0",
        "issue=",
        "role=",
        "no-such=1",
        "pr=-1",
    ] {
        let ran = repo.siglum(&["link", "add", "linked", bad]);
        assert_eq!(ran.code, Some(2), "{bad}: {ran:?}");
    }
    assert_eq!(
        repo.siglum(&["link", "add", "nobody", "issue=1"]).code,
        Some(3)
    );
}

#[test]
fn an_adoption_stands_beside_the_verdict_and_can_be_taken_back() {
    let world = World::new();
    let repo = world.repo();
    let _agent = Agent::start(&repo, "adopter");
    repo.sh("git commit -q --allow-empty -m x").ok();
    repo.siglum(&["adopt", "HEAD", "adopter"]).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown unknown", "{why}");
    assert!(
        why.0["claim"]["session"]
            .as_str()
            .unwrap()
            .starts_with("ses_")
    );
    repo.siglum(&["adopt", "HEAD", "--undo"]).ok();
    assert!(repo.why("HEAD").0["claim"].is_null());
}

#[test]
fn a_session_that_was_ended_by_hand_goes_on_at_its_next_prompt() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "ended");
    let open = "SELECT count(*) FROM sessions WHERE ended_at IS NULL";
    repo.siglum(&["session", "end", "ended"]).ok();
    assert_eq!(world.count(open), 0);
    agent.prompt("Go on.");
    assert_eq!(world.count(open), 1);
    agent.sh("git commit -q --allow-empty -m x").ok();
    repo.check("after it went on", "HEAD", &agent.certain());
}

#[test]
fn the_checkpoint_of_a_trailer_can_be_shown() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "shown");
    agent.sh("git commit -q --allow-empty -m x").ok();
    let trailer = repo.trailers("HEAD").remove(0);
    let shown = world
        .json(&repo.dir, &["checkpoint", "show", &trailer])
        .to_string();
    assert!(
        shown.contains(&repo.id("HEAD")) && shown.contains("\"session\":\"ses_"),
        "{shown}"
    );
    // What its session works for is there in both forms.
    let attached = ["issue=42", "pr=701", "phase=build", "label=team=core"];
    let args = [&["link", "add", "shown"], &attached[..]].concat();
    repo.siglum(&args).ok();
    let shown = world.json(&repo.dir, &["checkpoint", "show", &trailer]);
    let wanted = [
        "issue_number=42",
        "pr_number=701",
        "phase=build",
        "label=team=core",
    ];
    assert_eq!(links(&shown["pins"][0]), wanted, "{shown}");
    let text = repo.siglum(&["checkpoint", "show", &trailer]).ok();
    let line = text.lines().find(|line| line.starts_with("Links "));
    for word in ["issue 42", "PR 701", "phase build", "team=core"] {
        assert!(line.unwrap().contains(word), "{word}: {text}");
    }
    let tail = &trailer[trailer.len() - 8..];
    repo.siglum(&["show", tail]).ok();
    assert_eq!(repo.siglum(&["show", "00000000"]).code, Some(3));
}

#[test]
fn doctor_shows_what_was_declined() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("echo '{' | \"$SIGLUM_HOME/bin/siglum\" hook claude-code")
        .ok();
    let ran = world.siglum(&repo.dir, &["doctor", "--json"]);
    assert!(ran.stdout.contains("not_json"), "{ran:?}");
}

/// At every door: also where a person attaches them one by one.
#[test]
fn a_session_has_room_for_256_links() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "linked");
    agent.prompt("Do it.");
    let links: Vec<String> = (0..256).map(|n| format!("label=k{n}=v")).collect();
    let mut words = vec!["link", "add", "linked"];
    words.extend(links.iter().map(String::as_str));
    repo.siglum(&words).ok();
    let refused = repo.siglum(&["link", "add", "linked", "issue=42"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("at most 256"), "{refused:?}");
    let listed = world.json(&repo.dir, &["link", "list", "linked"]);
    assert_eq!(listed["links"].as_array().map(Vec::len), Some(256));
    repo.siglum(&["link", "remove", "linked", "label=k0=v"])
        .ok();
    repo.siglum(&["link", "add", "linked", "issue=42"]).ok();
}
