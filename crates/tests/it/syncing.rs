//! `siglum sync`: what a laptop or a sandbox recorded, at the team's gateway.

mod fetching;
mod killed;
mod launched;
mod one_repository;
mod reads;

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::harness::{Agent, Fate, Gateway, Ran, Repo, World, until};

/// A repository with a session that made a commit, with links, all of it sealed.
fn worked(world: &World) -> Repo<'_> {
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.write("a.txt", "one\ntwo\n");
    agent.sh("git add . && git commit -q -m work");
    agent.stop();
    agent.end("exit");
    agent.quit();
    repo.siglum(&["link", "add", "one", "issue_number=42"]).ok();
    // A worker that hooks started seals, too, what comes late.
    until("the worker has left", || world.processes().is_empty());
    settle(&repo);
    repo
}

/// Everything that can wait is done.
fn settle(repo: &Repo<'_>) {
    repo.siglum(&["worker", "--once"]).ok();
}

/// The program under test, with the gateway's ledger as its own.
fn there(gateway: &Gateway, repo: &Repo<'_>, args: &[&str]) -> Ran {
    let mut command = repo.world.command(World::program());
    command.env("SIGLUM_HOME", gateway.home());
    let output = command.args(args).current_dir(&repo.dir).output().unwrap();
    output.into()
}

#[track_caller]
fn json_there(gateway: &Gateway, repo: &Repo<'_>, args: &[&str]) -> Value {
    let text = there(gateway, repo, &[args, &["--json"]].concat()).ok();
    serde_json::from_str::<Value>(&text).unwrap()["data"].take()
}

#[test]
fn the_gateway_answers_as_the_laptop() {
    let world = World::new();
    let repo = worked(&world);
    let gateway = Gateway::start(&world);
    let text = repo.siglum(&["sync", "--to", &gateway.url]).ok();
    assert!(text.contains("up to date"), "{text}");
    there(&gateway, &repo, &["worker", "--once"]).ok();
    // A clone somewhere else: nothing is recorded for it.
    world.sh(&world.root, "git clone -q repo clone").ok();
    let clone = world.at(&world.root.join("clone"));
    let mut here = world.json(&repo.dir, &["why"]);
    let mut other = json_there(&gateway, &clone, &["why"]);
    assert_eq!(here["committer"]["verdict"], "certain", "{here}");
    for answer in [&mut here, &mut other] {
        assert!(answer["authors"][0]["session"].is_string(), "{answer}");
    }
    // Others call a repository by its machine, too.
    let (theirs, ours) = (other["repository"].take(), here["repository"].take());
    let (theirs, ours) = (theirs.as_str().unwrap(), ours.as_str().unwrap());
    assert!(theirs.ends_with(&format!(":{ours}")), "{theirs} {ours}");
    assert_eq!(other, here);
    let listed = json_there(
        &gateway,
        &repo,
        &["session", "list", "--all", "--link", "issue_number=42"],
    );
    let session = listed["items"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    let shown = json_there(&gateway, &repo, &["session", "show", &session]);
    assert_eq!(shown["replica"], true, "{shown}");
    let home = world.json(&repo.dir, &["session", "show", &session]);
    assert_eq!(
        (&shown["session"]["home"], home["replica"].as_bool()),
        (&home["session"]["home"], Some(false))
    );
    assert_eq!(shown["turns"], home["turns"]);
    there(&gateway, &repo, &["verify"]).ok();
    let refused = there(&gateway, &repo, &["session", "end", &session]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("replica"), "{}", refused.stderr);
    // What a person says later arrives, too.
    repo.siglum(&["link", "add", &session, "phase=review"]).ok();
    repo.siglum(&["sync"]).ok();
    let listed = json_there(
        &gateway,
        &repo,
        &["session", "list", "--all", "--link", "phase=review"],
    );
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn nothing_leaves_before_a_destination_is_named_and_nothing_with_dry_run() {
    let world = World::new();
    let repo = worked(&world);
    let gateway = Gateway::start(&world);
    let nowhere = repo.siglum(&["sync"]);
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    let planned = world.json(&repo.dir, &["sync", "--to", &gateway.url, "--dry-run"]);
    let remains = &planned["destinations"][0]["remains"];
    assert!(remains["receipts"].as_u64() > Some(0), "{planned}");
    assert!(gateway.requests().is_empty());
    let known = world.json(&repo.dir, &["projection", "list"]);
    assert_eq!(known["projections"], json!([]));
    let once = repo.siglum(&["sync", "--to", &gateway.url, "--once"]);
    once.ok();
    assert!(!gateway.requests().is_empty());
    let known = world.json(&repo.dir, &["projection", "list"]);
    assert_eq!(known["projections"], json!([]));
    for bad in ["http://team.example", "ftp://x", "https://a@b", "nonsense"] {
        let refused = repo.siglum(&["sync", "--to", bad]);
        assert_eq!(refused.code, Some(2), "{bad}: {refused:?}");
    }
}

#[test]
fn a_token_stands_in_its_header_and_in_one_file_for_its_owner() {
    let world = World::new();
    let repo = worked(&world);
    let gateway = Gateway::start(&world);
    let secret = "sgl_launcher_1f0a9c";
    std::fs::write(world.root.join("token"), format!("{secret}\n")).unwrap();
    let file = world.root.join("token");
    let file = file.to_str().unwrap();
    let ran = repo.siglum(&[
        "sync",
        "--to",
        &gateway.url,
        "--token-file",
        file,
        "--name",
        "team",
    ]);
    assert!(!format!("{ran:?}").contains(secret));
    ran.ok();
    for request in gateway.requests() {
        assert_eq!(
            request.header("authorization"),
            Some("Bearer sgl_launcher_1f0a9c")
        );
        assert!(!request.path.contains(secret));
    }
    let kept = world.siglum_home().join("tokens/team.token");
    assert_eq!(
        std::fs::metadata(&kept).unwrap().permissions().mode() & 0o777,
        0o600
    );
    for entry in std::fs::read_dir(world.siglum_home()).unwrap().flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(secret), "{:?}", entry.path());
    }
    repo.siglum(&["projection", "remove", "team"]).ok();
    assert!(!kept.exists());
}

#[test]
fn a_gateway_that_is_down_for_days_loses_nothing_and_is_shown() {
    let world = World::new();
    let repo = worked(&world);
    let gateway = Gateway::start(&world);
    gateway.fates([Fate::Status(503)]);
    gateway.says(json!({"title": "closed for the night", "code": "maintenance"}));
    let ran = repo.siglum(&["sync", "--to", &gateway.url, "--name", "team"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("closed for the night"),
        "{}",
        ran.stderr
    );
    let list = world.json(&repo.dir, &["projection", "list"]);
    let team = &list["projections"][0];
    assert_eq!(
        (&team["kind"], &team["health"]),
        (&json!("gateway"), &json!("degraded"))
    );
    assert!(
        team["reason"].as_str().unwrap().contains("closed"),
        "{team}"
    );
    // The worker goes on by itself.
    until("the worker has sent everything", || {
        settle(&repo);
        let list = world.json(&repo.dir, &["projection", "list"]);
        let team = &list["projections"][0];
        team["lag_receipts"] == 0 && team["documents"] == 0 && team["statements"] == 0
    });
    let status = repo.siglum(&["status"]).ok();
    assert!(status.contains("team"), "{status}");
}

#[test]
fn what_the_gateway_refuses_is_reported_in_its_own_words() {
    let world = World::new();
    let repo = worked(&world);
    let gateway = Gateway::start(&world);
    gateway.fates([Fate::Status(401)]);
    gateway
        .says(json!({"title": "no such token", "code": "unauthorized", "field": "authorization"}));
    let ran = repo.siglum(&["sync", "--to", &gateway.url]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for word in ["no such token", "unauthorized", "authorization"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    repo.siglum(&["sync"]).ok();
}
