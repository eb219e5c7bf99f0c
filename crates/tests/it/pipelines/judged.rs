//! What was recorded is not what counts: a check that says the opposite of its result, a review of one's own work.

use serde_json::Value;

use super::Runner;
use crate::harness::{Agent, World};

/// Whose word each check of a pipeline is, and in which session it ran.
fn evidence(graph: &Value) -> Vec<(String, String)> {
    let phases = graph["phases"].as_array().unwrap().iter();
    let checks = phases.chain([&graph["no_phase"]]).flat_map(|phase| {
        let checks = phase["checks"].as_array().unwrap().clone();
        checks.into_iter()
    });
    let text = |check: &Value, field: &str| check[field].as_str().unwrap().to_owned();
    let mut all: Vec<_> = checks
        .map(|check| (text(&check, "name"), text(&check, "evidence")))
        .collect();
    all.sort();
    all
}

#[test]
fn a_check_ran_in_a_session_only_where_the_session_proves_it_or_its_log_has_a_call() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    let siglum = World::program();
    let siglum = siglum.display();
    // The launch token proves the session.
    let proven = format!("'{siglum}' pipeline check p proven passed");
    runner.runs("build", "coder", &proven).ok();
    let graph = runner.graph();
    let coder = graph["phases"][0]["waves"][0][0]["session"].clone();
    let coder = coder.as_str().unwrap();
    // Anybody can name a session, a launched one can name another, and a key can be repeated.
    let named = ["named", "passed", "--session", coder];
    runner.says(&["check"], &named).ok();
    let other = format!("'{siglum}' pipeline check p other passed --session {coder}");
    runner.runs("build", "tester", &other).ok();
    for _ in 0..2 {
        let keyed = ["keyed", "passed", "--session", coder, "--key", "k"];
        runner.says(&["check"], &keyed).ok();
    }
    // An agent that nobody launched proves nothing, but its log has the call that recorded the check.
    let mut agent = Agent::start(&runner.repo, "observed");
    agent.prompt("check it");
    let check = |name: &str| {
        format!("'{siglum}' pipeline check p {name} passed --phase build --session observed")
    };
    agent.sh(&check("called")).ok();
    agent.bare_sh(&check("between")).ok();
    agent.stop();
    let graph = runner.graph();
    let wanted = [
        ("between", "reported"),
        ("called", "session"),
        ("keyed", "reported"),
        ("named", "reported"),
        ("other", "reported"),
        ("proven", "session"),
    ];
    let wanted: Vec<_> = wanted
        .iter()
        .map(|(name, evidence)| ((*name).to_owned(), (*evidence).to_owned()))
        .collect();
    assert_eq!(evidence(&graph), wanted, "{graph:#}");
    let bundle = runner.says(&["export"], &[]).ok();
    let bundle: Value = serde_json::from_str(&bundle).unwrap();
    for check in bundle["data"]["content"]["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        let ran = ["called", "proven"].contains(&name);
        let wanted = if ran { "session" } else { "reported" };
        assert_eq!(check["evidence"], wanted, "{name}");
    }
    let drawn = runner.drawing(&[]);
    let line = |name: &str| {
        let of = |line: &&str| line.contains("check ") && line.contains(name);
        drawn.lines().find(of).expect(name)
    };
    let short = &coder[coder.len() - 8..];
    let ran = format!("run in session {short}");
    assert!(line(" proven ").contains(&ran), "{drawn}");
    assert!(line(" named ").contains("reported by "), "{drawn}");
}

#[test]
fn a_check_that_passed_and_says_it_was_skipped_is_not_counted_as_passed() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    for (name, summary) in [
        ("unit", "SKIPPED: no runner"),
        ("lint", "0 passed, 7 skipped"),
        ("types", "was skipped"),
        ("again", "SKIPPED: previous run passed"),
        ("fine", "SKIPPED (ok)"),
        ("after", "not run: SKIPPED because lint passed"),
        ("idle", "Skipping: nothing to do"),
        ("word", "skip"),
        (
            "go",
            "--- SKIP: TestNet (0.00s)\nPASS\nok  example.com/x 0.002s",
        ),
        ("whole", "120 passed, 3 skipped"),
        ("none", "12 passed, 0 skipped"),
        ("plain", "all is well"),
    ] {
        let args = [name, "passed", "--summary", summary];
        runner.says(&["check"], &args).ok();
    }
    let graph = runner.graph();
    let counts = &graph["checks"];
    assert_eq!(
        (
            &counts["passed"],
            &counts["contradictory"],
            &counts["all_passed"]
        ),
        (&3.into(), &9.into(), &false.into()),
        "{graph:#}"
    );
    for check in graph["no_phase"]["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        let contradictory = !["whole", "none", "plain"].contains(&name);
        assert_eq!(check["contradictory"], contradictory, "{name}");
        // Nobody who is recorded here ran it.
        assert_eq!(check["evidence"], "reported", "{name}");
        assert!(!check["by"].as_str().unwrap().is_empty(), "{name}");
    }
    let drawn = runner.drawing(&[]);
    assert!(drawn.contains("9 contradictory"), "{drawn}");
    assert!(
        drawn.contains("says it was skipped, not counted"),
        "{drawn}"
    );
}

#[test]
fn a_review_says_which_contract_it_validates_and_whether_another_session_wrote_it() {
    let world = World::new();
    let runner = Runner::new(&world, "p");
    let siglum = World::program();
    let siglum = siglum.display();
    let contract = format!(
        "printf 'the API' | '{siglum}' pipeline contract p api --file - --contract-version 2 --phase plan"
    );
    let review = format!("'{siglum}' pipeline review p approved --contract api");
    runner
        .runs("plan", "architect", &format!("{contract} && {review}"))
        .ok();
    runner.runs("build", "reviewer", &review).ok();
    runner
        .says(&["review"], &["approved", "--contract", "api"])
        .ok();
    runner
        .says(&["review"], &["approved", "--contract", "other"])
        .ok();
    let graph = runner.graph();
    let api = &graph["phases"][0]["contracts"][0];
    let own = &graph["phases"][0]["reviews"][0];
    let others = &graph["phases"][1]["reviews"][0];
    for review in [own, others] {
        assert_eq!(review["contract"]["digest"], api["digest"], "{graph:#}");
        assert_eq!(review["contract"]["version"], "2");
    }
    assert_eq!(own["contract"]["by_another_session"], false);
    assert_eq!(others["contract"]["by_another_session"], true);
    let unbound = graph["no_phase"]["reviews"].as_array().unwrap();
    // Where nobody knows the session, nobody knows whether it is another one.
    assert!(unbound[0]["contract"]["by_another_session"].is_null());
    assert!(
        unbound[1]["contract"]["digest"].is_null(),
        "no such contract"
    );
    let drawn = runner.drawing(&[]);
    assert!(drawn.contains("of its own contract api"), "{drawn}");
    assert!(drawn.contains("of contract api"), "{drawn}");
    assert!(drawn.contains("which is not recorded"), "{drawn}");
}
