//! One document with everything.

use serde_json::Value;

use super::Runner;
use crate::harness::World;

#[test]
fn a_bundle_has_events_sessions_links_commits_and_verdicts() {
    let world = World::new();
    let runner = Runner::new(&world, "issue-42");
    runner.start("implement");
    let (mut agent, mut launcher) = runner.agent("implement", "coder", "one");
    agent.begin("startup");
    agent.sh("git commit -q --allow-empty -m work").ok();
    agent.end("other");
    drop(agent);
    assert_eq!(launcher.wait().unwrap().code(), Some(0));
    let head = runner.repo.id("HEAD");
    runner
        .says(
            &["check"],
            &[
                "unit",
                "errored",
                "--commit",
                &head,
                "--url",
                "https://ci.example.com/7",
            ],
        )
        .ok();
    runner.end("implement", "completed");
    runner.says(&["end"], &[]).ok();
    let export = || -> Value { serde_json::from_str(&runner.says(&["export"], &[]).ok()).unwrap() };
    let bundle = export();
    assert_eq!(bundle["schema"], "siglum.pipeline.export/1");
    let content = &bundle["data"]["content"];
    assert_eq!(content["pipeline"], "issue-42");
    assert_eq!(content["events"].as_array().unwrap().len(), 3);
    let check = &content["checks"][0];
    assert_eq!(
        (&check["result"], &check["commit"]),
        (&"errored".into(), &head.as_str().into())
    );
    let commit = &content["commits"][0];
    assert_eq!(
        (&commit["commit"], &commit["verdict"]),
        (&head.as_str().into(), &"certain".into())
    );
    let session = &content["sessions"][0];
    assert_eq!(commit["session"], session["session"]);
    assert_eq!(session["end"], "completed");
    let links = session["links"].as_array().unwrap();
    let link = |field: &str| {
        links
            .iter()
            .any(|l| l["field"] == field && l["what"] == "attached")
    };
    assert!(
        link("pipeline_id") && link("phase") && link("agent_role"),
        "{links:?}"
    );
    assert_eq!(export(), bundle, "the same each time");
}
