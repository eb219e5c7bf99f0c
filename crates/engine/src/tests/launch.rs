//! Launched sessions: who takes one up, and who only has its claim.

use siglum_domain::SessionId;
use siglum_domain::intake::{AgentMatter, LaunchClaim};
use siglum_domain::link::{Link, from_flag};
use siglum_domain::observation::StartKind;
use siglum_ledger::{Launch, LaunchEnd, Relation};

use super::stage::*;
use crate::driven::launch::{self, NewLaunch};
use crate::identity::statements;

const DIGEST: &str = "d1";

fn launched(n: u32) -> SessionId {
    format!("ses_0192000000007000900000000000{n:04}")
        .parse()
        .unwrap()
}

fn claim(n: u32, digest: &str) -> Option<LaunchClaim> {
    Some(LaunchClaim {
        session: launched(n),
        digest: digest.to_owned(),
    })
}

/// A launcher is process 10.
fn launch(stage: &mut Stage, n: u32, agent: Option<&str>) {
    let new = NewLaunch {
        left_out: Vec::new(),
        session: launched(n),
        launch: Launch {
            digest: DIGEST.to_owned(),
            launcher: Some(process(10)),
            agent: agent.map(|a| siglum_domain::AgentName::new(a).unwrap()),
            program: "x".to_owned(),
            worktree: None,
        },
        links: vec![from_flag("--issue", "issue_number", "42").unwrap()],
        by: "Ada".to_owned(),
        cwd: "/home/dev/main".to_owned(),
        place: Some(place()),
        outer: None,
    };
    stage.play(|here, ledger| launch::register(here, ledger, &new).unwrap());
}

/// The first hook of an agent in a process below the launcher.
fn begins(id: &str, pid: u32, second: i64, digest: &str) -> AgentMatter {
    AgentMatter {
        above: vec![process(11), process(10)],
        claim: claim(1, digest),
        ..in_process(pid, says(id, vec![started(second, StartKind::Startup)]))
    }
}

fn links(stage: &mut Stage, session: SessionId) -> Vec<Link> {
    statements::links(&stage.read(|tx| tx.statements_of_session(session)))
}

#[test]
fn the_first_process_takes_it_up_and_no_other() {
    let mut stage = Stage::new();
    launch(&mut stage, 1, None);
    let first = stage.hear(begins("one", 20, 1, DIGEST));
    assert_eq!(first, launched(1));
    assert_eq!(stage.session(first).agent, Some(agent()));
    let second = stage.hear(begins("two", 21, 2, DIGEST));
    assert_ne!(second, first);
    let parent = Some((first, Relation::Nested));
    assert_eq!(stage.session(second).parent, parent);
    assert!(links(&mut stage, second).is_empty());
    let again = stage.hear(begins("three", 20, 3, DIGEST));
    assert_ne!(again, first, "another id in the same process");
    assert_eq!(stage.hear(begins("one", 22, 4, DIGEST)), first, "its alias");
}

#[test]
fn what_is_not_below_the_launcher_does_not_take_it_up() {
    let mut stage = Stage::new();
    launch(&mut stage, 1, None);
    let beside = AgentMatter {
        above: vec![process(1)],
        ..begins("beside", 20, 1, DIGEST)
    };
    let beside = stage.hear(beside);
    let parent = Some((launched(1), Relation::Nested));
    assert_eq!(stage.session(beside).parent, parent);
    let nowhere = AgentMatter {
        process: None,
        ..begins("nowhere", 20, 2, DIGEST)
    };
    let nowhere = stage.hear(nowhere);
    assert_ne!(nowhere, launched(1));
    assert_eq!(stage.hear(begins("one", 21, 3, DIGEST)), launched(1));
}

#[test]
fn in_another_namespace_the_token_tells() {
    let mut stage = Stage::new();
    launch(&mut stage, 1, None);
    let mut inside = begins("inside", 7, 1, DIGEST);
    inside.above.clear();
    if let Some(process) = &mut inside.process {
        process.namespace = 2;
    }
    assert_eq!(stage.hear(inside), launched(1));
}

#[test]
fn a_wrong_token_and_a_wrong_agent_are_turned_away() {
    let mut stage = Stage::new();
    launch(&mut stage, 1, Some("codex"));
    let forged = stage.hear(begins("forged", 20, 1, "d2"));
    assert_eq!(stage.session(forged).parent, None);
    let other = stage.hear(begins("other", 21, 2, DIGEST));
    let parent = Some((launched(1), Relation::Nested));
    assert_eq!(stage.session(other).parent, parent);
    let unknown = AgentMatter {
        claim: claim(2, DIGEST),
        ..begins("unknown", 22, 3, DIGEST)
    };
    let unknown = stage.hear(unknown);
    assert_eq!(stage.session(unknown).parent, None);
}

#[test]
fn after_the_end_nothing_is_taken_up_but_what_had_begun_before() {
    let mut stage = Stage::new();
    for (n, began, taken) in [(1, 5, true), (2, 1_000_000, false)] {
        launch(&mut stage, n, None);
        let end = LaunchEnd::Failed { code: 3 };
        stage.play(|here, ledger| launch::end(here, ledger, launched(n), &end, None).unwrap());
        assert!(stage.session(launched(n)).ended_at.is_some());
        let late = AgentMatter {
            claim: claim(n, DIGEST),
            ..begins(&format!("late-{n}"), 20 + n, began, DIGEST)
        };
        assert_eq!(stage.hear(late) == launched(n), taken, "{n}");
    }
    let statements = stage.read(|tx| tx.statements_of_session(launched(1))).len();
    stage.play(|here, ledger| {
        launch::end(here, ledger, launched(1), &LaunchEnd::Completed, None).unwrap();
    });
    let after = stage.read(|tx| tx.statements_of_session(launched(1))).len();
    assert_eq!(after, statements, "it ends once");
}

#[test]
fn an_older_session_that_goes_on_gets_the_links_once() {
    let mut stage = Stage::new();
    let old = stage.hear(in_process(
        9,
        says("old", vec![started(1, StartKind::Startup)]),
    ));
    launch(&mut stage, 1, None);
    for second in [2, 3] {
        let again = AgentMatter {
            observations: vec![started(second, StartKind::Resume)],
            ..begins("old", 20, second, DIGEST)
        };
        assert_eq!(stage.hear(again), old);
    }
    assert_eq!(links(&mut stage, old), [Link::IssueNumber(42)]);
    let of_launch = stage.read(|tx| launch::standing(tx, launched(1))).unwrap();
    assert_eq!(of_launch.claimed.unwrap().to, old);
}

#[test]
fn a_launcher_that_is_dead_and_stated_no_end_is_lost_once() {
    let mut stage = Stage::new();
    launch(&mut stage, 1, None);
    let look = |stage: &mut Stage| {
        stage.play(|here, ledger| launch::find_lost(here, ledger, &[launched(1), launched(2)]))
    };
    assert_eq!(look(&mut stage).unwrap(), [], "it lives");
    let one = stage.hear(begins("one", 20, 1, DIGEST));
    stage.dead.borrow_mut().push(10);
    assert_eq!(look(&mut stage).unwrap(), [launched(1)]);
    let standing = stage.read(|tx| launch::standing(tx, launched(1))).unwrap();
    assert_eq!(standing.end.map(|(end, _)| end), Some(LaunchEnd::Lost));
    assert_eq!(stage.session(one).ended_at, None, "its agent lives");
    assert_eq!(look(&mut stage).unwrap(), [launched(1)]);
    assert_eq!(stage.read(|tx| tx.statements_of_session(one)).len(), 4);
}
