//! A clone that fetched what the gateway says of its history, and answers without it.

use std::time::Instant;

use serde_json::{Value, json};
use siglum_domain::access::Scope;

use super::attestations::platform;
use super::client::id;
use super::server::{Gateway, base, each_store, tenant, token_for};
use super::team::asking;

/// The commits of the history, one of two of which the gateway has a record of.
const COMMITS: usize = 2_000;

#[test]
fn a_history_of_2000_commits_is_fetched_and_answered_offline() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let mut clone = asking(store, &gateway, Scope::Read);
        let dir = clone.root.join("clone");
        std::fs::create_dir(&dir).unwrap();
        clone.sh(&dir, "git init -q -b main .").ok();
        clone.at(&dir).add_commits(COMMITS);
        let listed = clone.sh(&dir, "git rev-list HEAD").ok();
        let commits: Vec<&str> = listed.lines().collect();
        assert_eq!(commits.len(), COMMITS);
        let platform = platform(store, &gateway);
        let recorded: Vec<&str> = commits.iter().copied().step_by(2).collect();
        // What is known of a session is read for each of its commits.
        let mut makers = Vec::new();
        for (nth, commits) in recorded.chunks(20).enumerate() {
            let session = id(&platform.create(&base(&format!("S{nth}"))));
            let path = format!("/v1/sessions/{session}/commits");
            for commit in commits {
                let body = json!({ "commit": commit, "repository": "github.com/o/r" });
                platform.post(&path, &body).is(201);
                makers.push(session.clone());
            }
        }

        // A token that reads nothing is refused in plain words, and nothing is listed.
        let own = clone.variables.clone();
        let (nothing, _) = token_for(store, tenant(store), Scope::Telemetry, None);
        clone
            .variables
            .retain(|(name, _)| *name != "SIGLUM_GATEWAY_TOKEN");
        clone
            .variables
            .push(("SIGLUM_GATEWAY_TOKEN", nothing.into()));
        let refused = clone.siglum(&dir, &["log", "--fetch"]);
        assert_eq!(
            (refused.code, refused.stdout.as_str()),
            (Some(1), ""),
            "{refused:?}"
        );
        assert!(
            refused.stderr.contains("siglum token create --read"),
            "{refused:?}"
        );
        clone.variables = own;

        let begun = Instant::now();
        let fetched = clone.siglum(&dir, &["log", "--fetch"]);
        eprintln!(
            "{} commits in {:?}: {}",
            COMMITS,
            begun.elapsed(),
            fetched.stderr
        );
        assert_eq!(fetched.code, Some(0), "{fetched:?}");
        for words in [
            "Fetched 1 000 answers from ",
            "It has no record of 1 000 commits.",
        ] {
            assert!(fetched.stderr.contains(words), "{fetched:?}");
        }
        gateway.stop();

        let answers = |args: &[&str]| -> Value {
            let begun = Instant::now();
            let answer = clone.json(&dir, args);
            eprintln!("{args:?} in {:?}", begun.elapsed());
            answer
        };
        let log = answers(&["log", "-n", "0"]);
        let items = log["items"].as_array().unwrap();
        assert_eq!(items.len(), COMMITS);
        for (nth, item) in items.iter().enumerate() {
            let is_known = item["committer"]["session"] == makers[nth / 2].as_str();
            let is_from = item["source"]["gateway"] == gateway.address.as_str();
            assert_eq!((is_known, is_from), (nth % 2 == 0, nth % 2 == 0), "{item}");
        }
        for nth in [0, 499, 999] {
            let why = answers(&["why", recorded[nth]]);
            assert_eq!(why["committer"]["session"], makers[nth].as_str(), "{why}");
        }
        let blame = answers(&["blame", "1999.txt"]);
        assert_eq!(blame["runs"][0]["commit"], commits[0], "{blame}");
        let check = answers(&["check", "HEAD~..HEAD"]);
        assert_eq!(check["counts"]["by_gateway"], 1, "{check}");
    });
}
