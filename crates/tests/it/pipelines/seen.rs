//! The graph: phases in order, sessions in waves, which of them is live.

use serde_json::Value;

use super::Runner;
use super::runner::phase_summary;
use crate::harness::World;

const COMMIT: &str = "git commit -q --allow-empty -m work";

fn phases(graph: &Value) -> Vec<String> {
    graph["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(phase_summary)
        .collect()
}

/// A coder fails, and in the next cycle another one, an agent, commits. One check passes, one is skipped.
fn implement(runner: &Runner<'_>) {
    runner.start("implement");
    assert_eq!(runner.runs("implement", "coder", "exit 3").code, Some(3));
    runner.end("implement", "failed");
    runner.start("implement");
    let (mut coder, mut launcher) = runner.agent("implement", "coder", "one");
    coder.begin("startup");
    coder.sh(COMMIT).ok();
    coder.end("other");
    drop(coder);
    assert_eq!(launcher.wait().unwrap().code(), Some(0));
    runner
        .says(&["check"], &["unit", "passed", "--phase", "implement"])
        .ok();
    runner
        .says(&["check"], &["lint", "skipped", "--phase", "implement"])
        .ok();
}

fn is_drawn(runner: &Runner<'_>) {
    let drawing = runner.drawing(&[]);
    for part in [
        "issue-42 · running",
        "62 % · 2 of 4 phases over",
        "✓ refine → ✓ plan → [▶ implement] → ○ pr",
        "│ ✓ architect",
        "┃ │ ✗ coder",
        "✓ coder #2",
        "┃ ┃ ▶ tester",
        "running · cycle 2",
        "check ↷ lint skipped",
        "checks: not all passed: 1 passed, 1 skipped",
        "cost $0.0000",
    ] {
        assert!(drawing.contains(part), "{part} in\n{drawing}");
    }
    let ascii = runner.drawing(&["--ascii"]);
    assert!(
        ascii.is_ascii() && ascii.contains("| + architect"),
        "{ascii}"
    );
}

#[test]
fn four_phases_with_two_roles_at_one_time_a_repeated_role_and_a_skipped_check() {
    let world = World::new();
    let runner = Runner::new(&world, "issue-42");
    runner
        .says(&["plan"], &["refine", "plan", "implement", "pr"])
        .ok();
    assert_eq!(runner.graph()["state"], "pending");

    runner.start("refine");
    assert!(runner.drawing(&[]).contains("no session is at work"));
    assert_eq!(runner.runs("refine", "refiner", "true").code, Some(0));
    runner.end("refine", "completed");

    runner.start("plan");
    let architect = runner.launches("plan", "architect");
    let analyst = runner.launches("plan", "risk_analyst");
    let graph = runner.graph();
    assert_eq!(
        phases(&graph)[1],
        "plan running 1 [architect*,risk_analyst*]",
        "{graph:#}"
    );
    assert_eq!(graph["live"], 2);
    assert_eq!((architect.end(), analyst.end()), (Some(0), Some(0)));
    runner.end("plan", "completed");

    implement(&runner);
    let tester = runner.launches("implement", "tester");
    let graph = runner.graph();
    assert_eq!(
        phases(&graph),
        [
            "refine completed 1 [refiner]",
            "plan completed 1 [architect,risk_analyst]",
            "implement running 2 [coder|coder #2|tester*]",
            "pr pending 0 []",
        ]
    );
    assert_eq!(graph["checks"]["all_passed"], false);
    assert_eq!(
        (&graph["checks"]["passed"], &graph["checks"]["skipped"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&graph["commits"], &graph["sessions"]),
        (&1.into(), &6.into())
    );
    assert_eq!(graph["cost"]["complete"], true, "nothing was used");
    let second = &graph["phases"][2]["waves"][1][0];
    assert_eq!(
        (&second["agent"], &second["commits"]),
        (&"claude-code".into(), &1.into())
    );

    is_drawn(&runner);
    assert_eq!(tester.end(), Some(0));
    runner.end("implement", "completed");
    runner.end("pr", "skipped");
    runner.says(&["end"], &[]).ok();
    let graph = runner.graph();
    assert_eq!(
        (&graph["state"], &graph["end_recorded"]),
        (&"completed".into(), &true.into())
    );
    assert_eq!(graph["live"], 0);
}

#[test]
fn sessions_alone_are_a_graph_and_one_without_a_phase_is_not_guessed() {
    let world = World::new();
    let runner = Runner::new(&world, "nightly");
    assert_eq!(runner.runs("build", "coder", "true").code, Some(0));
    let siglum = World::program();
    let bare = format!("'{}' run --pipeline nightly -- true", siglum.display());
    assert_eq!(runner.repo.sh(&bare).code, Some(0));
    let graph = runner.graph();
    assert_eq!(phases(&graph), ["build completed 0 [coder]"]);
    assert_eq!(phase_summary(&graph["no_phase"]), "- completed 0 [unknown]");
    assert_eq!(graph["phases"][0]["state_recorded"], false);
    assert!(runner.drawing(&[]).contains("✓ no phase"));
}

#[test]
fn a_session_that_was_taken_out_is_shown_and_not_counted() {
    let world = World::new();
    let runner = Runner::new(&world, "nightly");
    assert_eq!(runner.runs("build", "coder", "true").code, Some(0));
    let graph = runner.graph();
    let session = graph["phases"][0]["waves"][0][0]["session"]
        .as_str()
        .unwrap();
    runner
        .repo
        .siglum(&["link", "remove", session, "pipeline=nightly"])
        .ok();
    let graph = runner.graph();
    assert_eq!(graph["sessions"], 0);
    assert_eq!(graph["phases"][0]["waves"][0][0]["detached"], true);
}

#[test]
fn a_narrow_terminal_has_what_ran_at_one_time_below_one_another() {
    let world = World::new();
    let runner = Runner::new(&world, "nightly");
    let (one, two) = (
        runner.launches("build", "coder"),
        runner.launches("build", "tester"),
    );
    let shown = runner.repo.sh(&format!(
        "COLUMNS=34 '{}' pipeline show nightly",
        World::program().display()
    ));
    let shown = shown.ok();
    assert!(shown.contains("2 at one time:"), "{shown}");
    assert!(
        shown.lines().all(|line| line.chars().count() <= 34),
        "{shown}"
    );
    assert_eq!((one.end(), two.end()), (Some(0), Some(0)));
}

#[test]
fn pipelines_are_listed_newest_first_in_pages() {
    let world = World::new();
    let repo = world.repo();
    let list = |args: &[&str]| {
        let answer = world.json(&repo.dir, &[&["pipeline", "list"], args].concat());
        let ids = answer["items"].as_array().unwrap().iter();
        let ids: Vec<String> = ids
            .map(|p| p["pipeline"].as_str().unwrap().to_owned())
            .collect();
        (ids, answer["more"] == true)
    };
    assert_eq!(list(&[]), (vec![], false));
    for id in ["a", "b", "c"] {
        repo.siglum(&["pipeline", "phase", "start", id, "build"])
            .ok();
    }
    let of = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(list(&["--limit", "2"]), (of(&["c", "b"]), true));
    assert_eq!(list(&["--after", "b"]), (of(&["a"]), false));
    let text = repo.siglum(&["pipeline", "list"]).ok();
    assert!(text.contains("running") && text.contains("0/1"), "{text}");
}
