//! Drawings as people see them, and that nothing breaks them.

use proptest::prelude::*;
use siglum_domain::observation::Tokens;
use siglum_domain::pipeline::{
    Activity, CheckEvidence, CheckResult, Event, Graph, Member, Outcome, ReviewVerdict, What, fold,
};
use siglum_domain::price::{Cost, NanoUsd};
use siglum_domain::{AgentName, Redacted, SessionId, Timestamp};

use crate::views::pipeline::{Style, draw};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_795_000_000 + seconds)
}

fn member(n: u128, phase: &str, role: &str, agent: &str, (from, to): (i64, i64)) -> Member {
    let words = |text: &str| {
        (!text.is_empty())
            .then(|| text.to_owned())
            .into_iter()
            .collect()
    };
    Member {
        session: SessionId::from_uuid(uuid::Uuid::from_u128(0xabcd_0000 + n)),
        agent: AgentName::new(agent).unwrap().named(),
        roles: words(role),
        phases: words(phase),
        detached: false,
        started: at(from),
        ended: Some(at(to)),
        activity: Activity::Completed,
        end: None,
        tokens: Tokens {
            input: 12_000,
            output: 800,
            ..Tokens::default()
        },
        commits: u64::from(role == "coder"),
        models: Vec::new(),
    }
}

fn live(member: Member) -> Member {
    Member {
        ended: None,
        activity: Activity::Working,
        ..member
    }
}

fn failed(member: Member) -> Member {
    Member {
        activity: Activity::Failed,
        ..member
    }
}

fn events(all: Vec<(i64, What, Option<&str>)>) -> Vec<Event> {
    let event = |(number, (seconds, what, text)): (u64, (i64, What, Option<&str>))| Event {
        number,
        at: at(seconds),
        by: "Ada".to_owned(),
        source: "cli".to_owned(),
        session: None,
        key: None,
        what,
        text: text.map(|t| Redacted::from_stored(t.to_owned())),
    };
    (1..).zip(all).map(event).collect()
}

fn started(phase: &str) -> What {
    let phase = phase.to_owned();
    What::PhaseStarted { phase }
}

fn ended(phase: &str, outcome: Outcome) -> What {
    let phase = phase.to_owned();
    What::PhaseEnded { phase, outcome }
}

fn check(phase: &str, name: &str, result: CheckResult) -> What {
    What::Check {
        phase: Some(phase.to_owned()),
        name: name.to_owned(),
        result,
        url: None,
        commit: None,
        evidence: CheckEvidence::default(),
    }
}

/// Four phases: one done, one in its second cycle with two roles side by side and a repeated one, one that nobody has
/// begun, and a session without a phase.
fn under_way() -> Graph {
    let plan = ["refine", "plan", "implement", "pr"]
        .map(str::to_owned)
        .to_vec();
    let events = events(vec![
        (0, What::Planned { phases: plan }, None),
        (0, started("refine"), None),
        (250, ended("refine", Outcome::Completed), None),
        (250, ended("plan", Outcome::Skipped), None),
        (260, started("implement"), None),
        (
            255,
            What::Contract {
                phase: Some("implement".to_owned()),
                name: "api".to_owned(),
                version: Some("v2".to_owned()),
                digest: "9f86d081884c".to_owned(),
            },
            Some("The contract."),
        ),
        (
            1000,
            check("implement", "unit", CheckResult::Failed),
            Some("2 of 120 failed"),
        ),
        (
            1010,
            What::Review {
                phase: Some("implement".to_owned()),
                verdict: ReviewVerdict::ChangesRequested,
                role: Some("reviewer".to_owned()),
                contract: None,
            },
            Some("\nThe error has no field.\nAnd more."),
        ),
        (1020, ended("implement", Outcome::Failed), None),
        (1030, started("implement"), None),
        (
            1700,
            check("implement", "unit", CheckResult::Passed),
            Some("120 passed"),
        ),
        (1701, check("implement", "lint", CheckResult::Skipped), None),
    ]);
    let members = [
        member(1, "refine", "refiner", "claude-code", (0, 240)),
        failed(member(2, "implement", "coder", "claude-code", (260, 910))),
        member(3, "implement", "tester", "codex", (911, 1000)),
        member(4, "implement", "documenter", "gemini", (915, 990)),
        live(member(5, "implement", "coder", "claude-code", (1030, 0))),
        member(6, "", "", "codex", (10, 20)),
    ];
    let mut graph = fold("issue-42", &events, &members, at(3900));
    graph.totals.cost = Some(Cost {
        known: NanoUsd(1_234_560_000),
        ..Cost::default()
    });
    graph
}

fn drawn(graph: &Graph, ascii: bool, width: usize) -> String {
    draw(graph, &Style { ascii, width }).text()
}

#[test]
fn four_phases_with_two_roles_at_one_time_and_a_repeated_one() {
    insta::assert_snapshot!("four_phases", drawn(&under_way(), false, usize::MAX));
}

#[test]
fn the_same_in_ascii() {
    let text = drawn(&under_way(), true, 100);
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!("four_phases_ascii", text);
}

#[test]
fn the_same_on_a_narrow_terminal() {
    insta::assert_snapshot!("four_phases_narrow", drawn(&under_way(), false, 40));
}

#[test]
fn a_running_phase_without_agents_and_a_failed_one() {
    let plan = ["build", "deploy", "watch"].map(str::to_owned).to_vec();
    let events = events(vec![
        (0, What::Planned { phases: plan }, None),
        (0, started("build"), None),
        (42, ended("build", Outcome::Failed), None),
        (43, started("deploy"), None),
    ]);
    let members = [failed(member(1, "build", "coder", "codex", (0, 40)))];
    let graph = fold("nightly", &events, &members, at(100));
    insta::assert_snapshot!("running_without_agents", drawn(&graph, false, 80));
}

#[test]
fn sessions_alone_and_nothing_at_all() {
    let members = [
        member(1, "plan", "architect", "claude-code", (0, 60)),
        member(2, "build", "coder", "codex", (61, 90)),
        live(member(3, "build", "tester", "codex", (70, 0))),
    ];
    let graph = fold("run-7", &[], &members, at(100));
    insta::assert_snapshot!("sessions_alone", drawn(&graph, false, 80));
    let graph = fold("empty", &[], &[], at(100));
    insta::assert_snapshot!("nothing", drawn(&graph, false, 80));
}

/// Names that try to break a box: wide, long, invisible, turning, with escape sequences.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("漢".repeat(256)),
        Just("\u{1b}[31mred\u{7}\u{9b}2J".to_owned()),
        Just("a\u{202e}b\u{200d}\u{200b}c\u{fe0f}".to_owned()),
        Just("👩‍👩‍👧‍👦🏳️‍🌈🇩🇪".to_owned()),
        Just("e\u{301}\u{302}\u{303}\u{20dd}".repeat(30)),
        Just("لا\u{644}\u{627}".repeat(20)),
        Just("│┌─┐▶ ✓".to_owned()),
        "\\PC{0,80}",
        any::<String>(),
    ]
}

/// The phase boxes of a drawing: the widths of their lines.
fn ragged(text: &str) -> Option<String> {
    let mut inside = None;
    for line in text.lines() {
        let width = unicode_width::UnicodeWidthStr::width(line);
        let first = line.chars().next();
        match (first, inside) {
            (Some('┌' | '┏' | '+'), None) => inside = Some(width),
            (Some('└' | '┗' | '+'), Some(wanted)) if line.ends_with(['┘', '┛', '+']) => {
                if width != wanted {
                    return Some(line.to_owned());
                }
                inside = None;
            }
            (_, Some(wanted)) if width != wanted || !line.ends_with(['│', '┃', '|']) => {
                return Some(line.to_owned());
            }
            _ => {}
        }
    }
    None
}

proptest! {
    #[test]
    fn no_name_breaks_a_box(
        names in prop::collection::vec(hostile(), 6),
        ascii in any::<bool>(),
        width in 0..140_usize,
    ) {
        let mut members = vec![
            live(member(1, &names[0], &names[1], "codex", (0, 0))),
            member(2, &names[0], &names[1], "codex", (1, 9)),
            member(3, &names[2], &names[3], "codex", (2, 9)),
            member(4, "", "", "codex", (2, 9)),
        ];
        members[1].activity = Activity::Lost;
        let events = events(vec![
            (0, started(&names[0]), None),
            (1, check(&names[0], &names[4], CheckResult::Errored), Some(&names[5])),
            (2, check(&names[2], &names[5], CheckResult::Skipped), Some(&names[4])),
            (3, What::Review { phase: None, verdict: ReviewVerdict::Approved, role: Some(names[3].clone()), contract: None }, Some(&names[2])),
        ]);
        let graph = fold(&names[2], &events, &members, at(50));
        let text = drawn(&graph, ascii, width);
        prop_assert!(!ascii || text.is_ascii());
        for line in text.lines() {
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            prop_assert!(unicode_width::UnicodeWidthStr::width(line) <= width.clamp(20, 100), "{line}");
        }
        prop_assert_eq!(ragged(&text), None, "{}", text);
    }
}
