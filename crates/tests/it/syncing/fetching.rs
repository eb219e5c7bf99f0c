//! Fetching what the team's gateway says of a whole history: what is asked, what is kept, and what goes wrong.

use std::collections::BTreeSet;
use std::fs::{self, File};

use serde_json::{Value, json};

use super::reads::{answer, questions, sending};
use crate::harness::{Fate, Gateway, Repo, World};

/// The file among the answers that has what the gateway does not know.
const UNKNOWN: &str = "unknown.json";

/// A repository of 1 201 commits in the scope of a gateway, which knows all but the first one. Gives their ids, newest
/// first.
fn history<'w>(world: &'w World, gateway: &Gateway) -> (Repo<'w>, Vec<String>, File) {
    let repo = sending(world, gateway);
    // Only what is fetched is requested.
    let held = world.hold_worker();
    repo.add_commits(1_200);
    let listed = repo.sh("git rev-list HEAD").ok();
    let commits: Vec<String> = listed.lines().map(str::to_owned).collect();
    assert_eq!(commits.len(), 1_201);
    gateway.explains_each(
        commits[..1_200]
            .iter()
            .map(|commit| answer(commit, "Do it.")),
    );
    (repo, commits, held)
}

/// The commits that each request was about.
fn requested(gateway: &Gateway) -> Vec<BTreeSet<String>> {
    let ids = |request: Value| {
        assert_eq!(request.as_object().unwrap().len(), 2, "{request}");
        assert_eq!(request["checkpoints"], json!([]));
        let commits = request["commits"].as_array().unwrap().iter();
        commits.map(|c| c.as_str().unwrap().to_owned()).collect()
    };
    questions(gateway).into_iter().map(ids).collect()
}

/// The commits of which answers are kept.
fn kept(world: &World) -> BTreeSet<String> {
    let files = fs::read_dir(world.siglum_home().join("answers")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name != UNKNOWN)
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .collect()
}

fn set(commits: &[String]) -> BTreeSet<String> {
    commits.iter().cloned().collect()
}

#[test]
fn an_interrupted_fetch_goes_on_and_a_second_one_asks_for_what_is_new() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let (repo, commits, _held) = history(&world, &gateway);
    // It is killed while it waits for the second answer.
    gateway.fates([Fate::Well, Fate::KillBefore]);
    let mut command = world.command(World::program());
    command.args(["log", "--fetch"]).current_dir(&repo.dir);
    let mut fetching = command.spawn().unwrap();
    gateway.kills(fetching.id());
    assert_eq!(fetching.wait().unwrap().code(), None);
    assert_eq!(
        requested(&gateway),
        [set(&commits[..500]), set(&commits[500..1_000])]
    );
    assert_eq!(kept(&world), set(&commits[..500]));
    let went_on = repo.siglum(&["log", "--fetch"]);
    assert_eq!(went_on.code, Some(0), "{went_on:?}");
    let words = [
        format!("Fetched 700 answers from {} in ", gateway.url),
        " s. 500 were here already. It has no record of 1 commit.".to_owned(),
    ];
    for words in words {
        assert!(went_on.stderr.contains(&words), "{went_on:?}");
    }
    assert_eq!(
        requested(&gateway)[2..],
        [set(&commits[500..1_000]), set(&commits[1_000..])]
    );
    assert_eq!(kept(&world), set(&commits[..1_200]));
    // The list comes behind it, without another request.
    assert_eq!(went_on.stdout.lines().count(), 21, "{went_on:?}");
    repo.siglum(&["log", "--fetch"]).ok();
    assert_eq!(requested(&gateway).len(), 4);
    // The minute is over in which it is not asked again about what it did not know, and there is a commit more.
    fs::remove_file(world.siglum_home().join("answers").join(UNKNOWN)).unwrap();
    repo.sh("git -c core.hooksPath=/dev/null commit -q --allow-empty -m more")
        .ok();
    repo.siglum(&["log", "--fetch"]).ok();
    let new = set(&[repo.id("HEAD"), commits[1_200].clone()]);
    assert_eq!(requested(&gateway)[4..], [new]);
}

#[test]
fn a_fetch_that_is_refused_or_breaks_off_says_so() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let (repo, commits, _held) = history(&world, &gateway);
    let problem = json!({ "title": "forbidden", "detail": "the token does not allow the request", "code": "forbidden" });
    gateway.says(problem);
    gateway.fates([Fate::Status(403)]);
    let refused = repo.siglum(&["log", "--fetch"]);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (Some(1), ""),
        "{refused:?}"
    );
    for words in [
        "the token does not allow the request",
        "siglum token create --read",
    ] {
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
    gateway.fates([Fate::Before]);
    let away = repo.siglum(&["log", "--fetch"]);
    assert_eq!((away.code, away.stdout.as_str()), (Some(1), ""), "{away:?}");
    assert!(!world.siglum_home().join("answers").exists() || kept(&world).is_empty());
    gateway.fates([Fate::Well, Fate::Before]);
    let broken_off = repo.siglum(&["log", "--fetch"]);
    assert_eq!(broken_off.code, Some(4), "{broken_off:?}");
    assert!(
        broken_off.stderr.contains("Fetched 500 answers"),
        "{broken_off:?}"
    );
    assert!(
        broken_off.stderr.contains("Run the command again"),
        "{broken_off:?}"
    );
    assert_eq!(kept(&world), set(&commits[..500]));
    assert_eq!(requested(&gateway).len(), 4);
}
