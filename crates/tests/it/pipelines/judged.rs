//! What was recorded is not what counts: a check that says the opposite of its result, a review of one's own work.

use super::Runner;
use crate::harness::World;

#[test]
fn a_check_that_passed_and_says_it_was_skipped_is_not_counted_as_passed() {
    let world = World::new();
    let runner = Runner::of(&world, "p");
    for (name, summary) in [
        ("unit", "SKIPPED: no runner"),
        ("lint", "0 passed, 7 skipped"),
        ("types", "was skipped"),
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
        (&3.into(), &3.into(), &false.into()),
        "{graph:#}"
    );
    for check in graph["no_phase"]["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        let contradictory = ["unit", "lint", "types"].contains(&name);
        assert_eq!(check["contradictory"], contradictory, "{name}");
        // Nobody who is recorded here ran it.
        assert_eq!(check["evidence"], "reported", "{name}");
        assert!(!check["by"].as_str().unwrap().is_empty(), "{name}");
    }
    let drawn = runner.drawing(&[]);
    assert!(drawn.contains("3 contradictory"), "{drawn}");
    assert!(
        drawn.contains("says it was skipped, not counted"),
        "{drawn}"
    );
}

#[test]
fn a_review_says_which_contract_it_validates_and_whether_another_session_wrote_it() {
    let world = World::new();
    let runner = Runner::of(&world, "p");
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
