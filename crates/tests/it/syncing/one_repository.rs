//! One repository on two laptops, at the gateway that both send to.

use std::collections::BTreeSet;

use serde_json::Value;
use siglum_engine::share::replica::{self, Batch};

use super::{json_there, settle, there};
use crate::costs::spend;
use crate::gateway::server::{Gateway as Served, each_store};
use crate::harness::{Agent, Gateway, Repo, World, until};
use crate::moved_repositories::looked_at;

const REMOTE: &str = "github.com/o/r";
const NAMES: [&str; 3] = [
    REMOTE,
    "https://github.com/o/r.git",
    "git@github.com:o/r.git",
];

/// An agent that makes a commit, uses 100 tokens and ends. All of it is sent.
fn work(repo: &Repo<'_>, native: &str, gateway: &Gateway) -> String {
    let mut agent = Agent::start(repo, native);
    agent.write(&format!("{native}.txt"), "one\ntwo\n");
    let commit = format!("git add . && git commit -q -m {native}");
    agent.sh(&commit).ok();
    spend(repo, &mut agent);
    agent.end("exit");
    agent.quit();
    until("the worker has left", || repo.world.processes().is_empty());
    settle(repo);
    looked_at(repo.world);
    repo.siglum(&["sync", "--to", &gateway.url]).ok();
    repo.id("HEAD")
}

/// The texts in a field of some rows, each once.
fn texts(rows: &Value, field: &str) -> BTreeSet<String> {
    let rows = rows.as_array().unwrap().iter();
    rows.filter_map(|row| row[field].as_str().map(str::to_owned))
        .collect()
}

fn both(one: &str, two: &str) -> BTreeSet<String> {
    [one, two].map(str::to_owned).into()
}

/// A gateway as programs elsewhere meet it has both by the remote.
fn check_served(batches: &[Batch], commits: &BTreeSet<String>) {
    each_store(|store| {
        let served = Served::start(store);
        let launcher = served.launcher();
        for batch in batches {
            let batch = serde_json::to_value(batch).unwrap();
            launcher.post("/v1/replicas", &batch).is(200);
        }
        for name in NAMES {
            let get = |path: &str| {
                let path = format!("{path}?repository={name}");
                launcher.get(&path).is(200)
            };
            let sessions = get("/v1/sessions");
            let names = texts(&sessions["items"], "conversation_id");
            assert_eq!(names, both("ann", "ben"), "{sessions}");
            let remotes = texts(&sessions["items"], "repository_remote");
            assert_eq!(remotes, BTreeSet::from([REMOTE.to_owned()]));
            let checkpoints = get("/v1/checkpoints");
            assert_eq!(&texts(&checkpoints["items"], "commit"), commits);
            for commit in commits {
                let found = get(&format!("/v1/commits/{commit}"));
                assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
            }
        }
        for commit in commits {
            let path = format!("/v1/commits/{commit}?repository=github.com/o/other");
            launcher.get(&path).is(404);
        }
        let cost = || {
            let path = format!("/v1/cost?by=repository&repository={REMOTE}");
            launcher.get(&path).is(200)
        };
        until("the gateway's worker has counted", || {
            cost()["total"]["tokens"]["output"] == 200
        });
        let cost = cost();
        assert_eq!(cost["rows"].as_array().unwrap().len(), 1, "{cost}");
        assert_eq!(cost["rows"][0]["repository"], REMOTE, "{cost}");
        assert_eq!(cost["rows"][0]["repository_remote"], REMOTE, "{cost}");
        let other = launcher.get("/v1/sessions?repository=github.com/o/other");
        assert!(texts(&other.is(200)["items"], "conversation_id").is_empty());
    });
}

#[test]
fn a_repository_on_two_laptops_is_one_by_its_remote() {
    let (ann_world, ben_world) = (World::new(), World::new());
    let ann = ann_world.repo_made_by(
        "git init -q -b main . && git commit -q --allow-empty -m base && \
         git init -q --bare -b main ../r.git && git push -q ../r.git main && \
         git remote add origin git@github.com:o/r.git",
    );
    let ben = ben_world.repo_made_by(&format!(
        "git clone -q {}/r.git . && git remote set-url origin https://ben:hunter2@github.com/o/r.git",
        ann_world.root.display()
    ));
    let gateway = Gateway::start(&ann_world);
    let commits = [work(&ann, "ann", &gateway), work(&ben, "ben", &gateway)];
    let commits = BTreeSet::from(commits);
    there(&gateway, &ann, &["worker", "--once"]).ok();
    for name in NAMES {
        let listed = json_there(&gateway, &ann, &["session", "list", "--repository", name]);
        let names = texts(&listed["items"], "conversation_id");
        assert_eq!(names, both("ann", "ben"), "{listed}");
        let checkpoints = json_there(
            &gateway,
            &ann,
            &["checkpoint", "list", "--repository", name],
        );
        assert_eq!(texts(&checkpoints["items"], "commit"), commits);
    }
    let cost = ["cost", "--by", "repository", "--repository", REMOTE];
    let costs = json_there(&gateway, &ann, &cost);
    assert_eq!(costs["rows"].as_array().unwrap().len(), 1, "{costs}");
    assert_eq!(costs["rows"][0]["repository_remote"], REMOTE, "{costs}");
    assert_eq!(
        costs["rows"][0]["usage"]["tokens"]["output"], 200,
        "{costs}"
    );
    assert!(there(&gateway, &ann, &cost).ok().contains(REMOTE));
    let unknown = ["session", "list", "--repository", "github.com/o/other"];
    let ran = there(&gateway, &ann, &unknown);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr.contains("Known remotes: github.com/o/r."),
        "{ran:?}"
    );
    there(&gateway, &ann, &["verify"]).ok();
    let sent = gateway.requests();
    let decoded = |body: &[u8]| replica::decode(body, &mut Vec::new()).unwrap();
    let batches: Vec<Batch> = sent.iter().map(|push| decoded(&push.body)).collect();
    assert!(!serde_json::to_string(&batches).unwrap().contains("hunter2"));
    check_served(&batches, &commits);
}
