//! Who records an event, and that it is recorded once.

use serde_json::Value;

use super::Runner;
use crate::harness::{Agent, World};

const CHECK: &str = "pipeline check p unit passed --json";

fn recorded(text: &str) -> Value {
    let answer: Value = serde_json::from_str(text.trim()).expect(text);
    assert_eq!(answer["schema"], "siglum.pipeline.record/1");
    answer["data"].clone()
}

#[test]
fn inside_a_launch_the_session_records_and_its_phase_has_it() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    let siglum = World::program();
    let script = format!("'{}' {CHECK}", siglum.display());
    let by_launch = recorded(&runner.runs("build", "tester", &script).ok());
    let graph = runner.graph();
    let own = &graph["phases"][0]["waves"][0][0]["session"];
    assert_eq!(&by_launch["session"], own);
    assert_eq!(&graph["phases"][0]["checks"][0]["session"], own);

    let (mut agent, mut launcher) = runner.agent("build", "coder", "one");
    agent.begin("startup");
    let by_agent = recorded(&agent.sh(&script).ok());
    let mut nested = agent.nested(&runner.repo, "two", &Agent::program());
    nested.begin("startup");
    let by_nested = recorded(&nested.sh(&script).ok());
    assert!(by_agent["session"].is_string() && by_agent["session"] != *own);
    assert_eq!(
        by_nested["session"],
        Value::Null,
        "the claim was only inherited"
    );
    nested.end("other");
    agent.end("other");
    drop((nested, agent));
    assert_eq!(launcher.wait().unwrap().code(), Some(0));

    let outside = recorded(&runner.repo.sh(&script).ok());
    assert_eq!(outside["session"], Value::Null);
    let named = runner.repo.siglum(&[
        "pipeline",
        "check",
        "p",
        "x",
        "failed",
        "--session",
        own.as_str().unwrap(),
        "--json",
    ]);
    assert_eq!(&recorded(&named.ok())["session"], own);
}

#[test]
fn a_key_is_recorded_once_and_stands_for_nothing_else() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    let check =
        |result: &str| runner.says(&["check"], &["unit", result, "--key", "run-1", "--json"]);
    let first = recorded(&check("passed").ok());
    let again = recorded(&check("passed").ok());
    assert_eq!(
        (&first["number"], &first["already"]),
        (&1.into(), &false.into())
    );
    assert_eq!(
        (&again["number"], &again["already"]),
        (&1.into(), &true.into())
    );
    let other = check("failed");
    assert_eq!(other.code, Some(1), "{other:?}");
    assert!(other.stderr.contains("run-1"), "{other:?}");
    assert_eq!(world.count("SELECT count(*) FROM pipeline_events"), 1);
}

#[test]
fn texts_come_from_files_and_standard_input_and_can_be_forgotten() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    let file = world.root.join("api.md");
    std::fs::write(&file, "# API\nthe word is Rumpelstilzchen\n").unwrap();
    let path = file.to_str().unwrap();
    runner
        .says(
            &["contract"],
            &[
                "api",
                "--file",
                path,
                "--contract-version",
                "2",
                "--phase",
                "plan",
            ],
        )
        .ok();
    let piped = format!(
        "printf 'fine, Rumpelstilzchen' | '{}' pipeline review p approved --role reviewer --file -",
        World::program().display()
    );
    runner.repo.sh(&piped).ok();
    let graph = runner.graph();
    let contract = &graph["phases"][0]["contracts"][0];
    assert_eq!(
        (&contract["name"], &contract["version"]),
        (&"api".into(), &"2".into())
    );
    let review = &graph["no_phase"]["reviews"][0];
    assert_eq!(
        (&review["role"], &review["text"]),
        (&"reviewer".into(), &"fine, Rumpelstilzchen".into())
    );

    runner
        .repo
        .siglum(&["forget", "--pattern", "Rumpelstilzchen", "--yes"])
        .ok();
    let bundle = runner.says(&["export"], &[]).ok();
    assert!(!bundle.contains("Rumpelstilzchen"), "{bundle}");
    assert!(
        bundle.contains(contract["digest"].as_str().unwrap()),
        "{bundle}"
    );
}
