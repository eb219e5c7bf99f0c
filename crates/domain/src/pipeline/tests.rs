//! What may be recorded, and what it comes to, whatever the order.

use proptest::prelude::*;

use super::*;
use crate::observation::Tokens;
use crate::redact::Redactor;
use crate::{AgentName, SessionId, Timestamp};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_795_000_000 + seconds)
}

fn session(n: u128) -> SessionId {
    SessionId::from_uuid(uuid::Uuid::from_u128(n))
}

/// A session of a phase and a role, from one second to another.
fn member(n: u128, phase: &str, role: &str, from: i64, to: Option<i64>) -> Member {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    Member {
        session: session(n),
        agent: Some(AgentName::new("codex").unwrap()),
        roles: words(role),
        phases: words(phase),
        detached: false,
        started: at(from),
        ended: to.map(at),
        activity: if to.is_some() {
            Activity::Completed
        } else {
            Activity::Working
        },
        end: None,
        tokens: Tokens {
            input: 10,
            output: 1,
            ..Tokens::default()
        },
        commits: 1,
        models: Vec::new(),
    }
}

fn event(number: u64, seconds: i64, what: What) -> Event {
    Event {
        number,
        at: at(seconds),
        by: "Ada".to_owned(),
        source: "cli".to_owned(),
        session: None,
        key: None,
        what,
        text: None,
    }
}

fn started(phase: &str) -> What {
    What::PhaseStarted {
        phase: phase.to_owned(),
    }
}

fn ended(phase: &str, outcome: Outcome) -> What {
    What::PhaseEnded {
        phase: phase.to_owned(),
        outcome,
    }
}

fn check(name: &str, result: CheckResult) -> What {
    What::Check {
        phase: None,
        name: name.to_owned(),
        result,
        url: None,
        commit: None,
        evidence: CheckEvidence::default(),
    }
}

fn numbered(all: impl IntoIterator<Item = (i64, What)>) -> Vec<Event> {
    (1..)
        .zip(all)
        .map(|(n, (at, what))| event(n, at, what))
        .collect()
}

/// The phases in short: name, state, cycles, and the sessions by wave.
fn phase_lines(graph: &Graph) -> Vec<String> {
    let phase = |phase: &Phase| {
        let waves: Vec<String> = phase
            .waves
            .iter()
            .map(|wave| {
                wave.iter()
                    .map(Instance::label)
                    .collect::<Vec<_>>()
                    .join(",")
            })
            .collect();
        let name = phase.name.as_deref().unwrap_or("-");
        format!(
            "{name} {} {} [{}]",
            phase.state,
            phase.cycles,
            waves.join("|")
        )
    };
    graph
        .phases
        .iter()
        .chain(Some(&graph.loose).filter(|l| !l.waves.is_empty()))
        .map(phase)
        .collect()
}

#[test]
fn phases_stand_in_the_planned_order_and_others_where_they_began() {
    let plan = ["a", "b", "c"].map(str::to_owned).to_vec();
    let events = numbered([
        (0, What::Planned { phases: plan }),
        (1, started("a")),
        (9, ended("a", Outcome::Completed)),
        (10, started("extra")),
        (11, ended("extra", Outcome::Failed)),
        (12, started("b")),
    ]);
    let graph = fold("p", &events, &[], at(20));
    assert_eq!(
        phase_lines(&graph),
        [
            "a completed 1 []",
            "extra failed 1 []",
            "b running 1 []",
            "c pending 0 []"
        ]
    );
    assert_eq!((graph.state, graph.halves()), (State::Running, 4));
    assert_eq!(graph.phases[2].duration_ms, 8_000);
}

#[test]
fn waves_are_what_ran_at_one_time_and_repeated_roles_are_all_shown() {
    let members = [
        member(1, "build", "coder", 0, Some(10)),
        member(2, "build", "tester", 11, Some(20)),
        member(3, "build", "documenter", 12, Some(30)),
        member(4, "build", "coder", 31, None),
        member(5, "", "", 5, Some(6)),
    ];
    let graph = fold("p", &[], &members, at(40));
    assert_eq!(
        phase_lines(&graph),
        [
            "build running 0 [coder|tester,documenter|coder #2]",
            "- completed 0 [codex]"
        ]
    );
    let totals = graph.totals;
    assert_eq!((totals.sessions, totals.live, totals.commits), (5, 1, 5));
    assert_eq!(totals.tokens.input, 50);
}

#[test]
fn a_phase_that_starts_after_its_end_is_in_its_next_cycle() {
    let events = numbered([
        (0, started("a")),
        (1, started("a")),
        (5, ended("a", Outcome::Failed)),
        (8, started("a")),
    ]);
    let graph = fold("p", &events, &[], at(10));
    assert_eq!(phase_lines(&graph), ["a running 2 []"]);
    assert_eq!(graph.phases[0].duration_ms, 7_000);
}

#[test]
fn a_phase_whose_sessions_all_wait_is_awaiting() {
    let mut waits = member(1, "a", "coder", 0, None);
    waits.activity = Activity::Waiting;
    let events = numbered([(0, started("a"))]);
    let state = |members: &[Member]| fold("p", &events, members, at(9)).phases[0].state;
    assert_eq!(state(&[]), State::Running);
    assert_eq!(state(&[waits.clone()]), State::Awaiting);
    assert_eq!(
        state(&[waits, member(2, "a", "x", 0, None)]),
        State::Running
    );
}

#[test]
fn the_last_of_a_role_tells_how_a_phase_went_that_nobody_ended() {
    let mut first = member(1, "a", "coder", 0, Some(5));
    first.activity = Activity::Failed;
    let state = |members: &[Member]| fold("p", &[], members, at(20)).phases[0].state;
    assert_eq!(state(&[first.clone()]), State::Failed);
    assert_eq!(
        state(&[first, member(2, "a", "coder", 6, Some(9))]),
        State::Completed
    );
}

#[test]
fn a_phase_that_nobody_ended_is_unknown_once_the_pipeline_ended() {
    let events = numbered([(0, started("a")), (9, What::Ended { outcome: None })]);
    let graph = fold("p", &events, &[], at(50));
    assert_eq!(
        (graph.phases[0].state, graph.state),
        (State::Unknown, State::Unknown)
    );
    let again = [events, vec![event(3, 12, started("a"))]].concat();
    assert!(!fold("p", &again, &[], at(50)).ended_stated);
}

#[test]
fn only_what_passed_counts_as_passed_and_the_last_run_counts() {
    let events = |last| {
        numbered([
            (0, check("unit", CheckResult::Failed)),
            (1, check("unit", CheckResult::Passed)),
            (2, check("lint", last)),
        ])
    };
    for last in CheckResult::ALL {
        let graph = fold("p", &events(*last), &[], at(5));
        let all = graph.totals.checks.is_all_passed();
        assert_eq!(all, *last == CheckResult::Passed, "{last}");
        assert_eq!(graph.loose.checks[1].runs, 2);
        assert_eq!(graph.totals.checks.all(), 2);
    }
    assert!(!fold("p", &[], &[], at(5)).totals.checks.is_all_passed());
}

#[test]
fn what_a_session_records_belongs_to_its_own_phase_if_it_has_one() {
    let mut found = event(1, 3, check("unit", CheckResult::Passed));
    found.session = Some(session(1));
    let one = fold("p", &[found.clone()], &[member(1, "a", "", 0, None)], at(5));
    let two = fold("p", &[found], &[member(1, "a b", "", 0, None)], at(5));
    assert_eq!((one.phases[0].checks.len(), two.loose.checks.len()), (1, 1));
}

#[test]
fn a_session_that_was_taken_out_is_shown_and_not_counted() {
    let out = Member {
        detached: true,
        ..member(1, "a", "coder", 0, None)
    };
    let graph = fold("p", &[], &[out], at(5));
    assert_eq!(graph.phases[0].instances().count(), 1);
    assert_eq!(
        (graph.totals.sessions, graph.phases[0].state),
        (0, State::Pending)
    );
}

fn whats() -> impl Strategy<Value = What> {
    let name = || prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_owned);
    let outcome = || prop::sample::select(Outcome::ALL.to_vec());
    let result = prop::sample::select(CheckResult::ALL.to_vec());
    prop_oneof![
        prop::sample::subsequence(vec!["b", "a", "c"], 1..=3).prop_map(|of| What::Planned {
            phases: of.into_iter().map(str::to_owned).collect()
        }),
        name().prop_map(|phase| What::PhaseStarted { phase }),
        name().prop_map(|phase| What::PhaseAwaiting { phase }),
        (name(), outcome()).prop_map(|(phase, outcome)| What::PhaseEnded { phase, outcome }),
        (prop::option::of(name()), name(), result).prop_map(|(phase, name, result)| What::Check {
            phase,
            name,
            result,
            url: None,
            commit: None,
            evidence: CheckEvidence::default(),
        }),
        prop::option::of(outcome()).prop_map(|outcome| What::Ended { outcome }),
    ]
}

fn members() -> impl Strategy<Value = Vec<Member>> {
    let phase = prop::sample::select(vec!["", "a", "b", "a b"]);
    let role = prop::sample::select(vec!["", "coder", "tester"]);
    let activity = prop::sample::select(Activity::ALL.to_vec());
    let one = (phase, role, 0..30_i64, 0..20_i64, activity, any::<bool>());
    prop::collection::vec(one, 0..12).prop_map(|all| {
        let made =
            (1..).zip(all).map(
                |(n, (phase, role, from, long, activity, detached))| Member {
                    activity,
                    detached,
                    ended: (!activity.is_live()).then(|| at(from + long)),
                    ..member(n, phase, role, from, None)
                },
            );
        made.collect()
    })
}

proptest! {
    #[test]
    fn any_order_and_any_repetition_give_the_same_graph(
        whats in prop::collection::vec((0..60_i64, whats()), 0..14),
        members in members(),
        by in prop::collection::vec(any::<u32>(), 26),
    ) {
        let events = numbered(whats);
        let wanted = fold("p", &events, &members, at(60));
        let mut mixed: Vec<_> = by.iter().zip(events.iter().chain(&events).cloned()).collect();
        mixed.sort_by_key(|(by, _)| **by);
        let mixed: Vec<Event> = mixed.into_iter().map(|(_, e)| e).chain(events.clone()).collect();
        let mut turned = members.clone();
        turned.extend_from_slice(&members);
        turned.reverse();
        prop_assert_eq!(fold("p", &mixed, &turned, at(60)), wanted);
    }

    #[test]
    fn nothing_is_lost_and_waves_are_what_ran_at_one_time(
        whats in prop::collection::vec((0..60_i64, whats()), 0..10),
        members in members(),
    ) {
        let graph = fold("p", &numbered(whats), &members, at(60));
        let shown: usize = graph.all_phases().map(|p| p.instances().count()).sum();
        let wanted: usize = members.iter().map(|m| m.phases.len().max(1)).sum();
        prop_assert_eq!(shown, wanted);
        let own = members.iter().filter(|m| !m.detached).count();
        prop_assert_eq!(graph.totals.sessions, own as u64);
        for phase in graph.all_phases() {
            let mut labels: Vec<String> = phase.instances().map(Instance::label).collect();
            labels.sort();
            labels.dedup();
            prop_assert_eq!(labels.len(), phase.instances().count());
            let end = |i: &Instance| i.member.ended.unwrap_or(at(60));
            for wave in &phase.waves {
                let last = wave.iter().map(|i| i.member.started).max();
                let first = wave.iter().map(end).min();
                prop_assert!(last <= first || wave.len() == 1);
            }
            for pair in phase.waves.windows(2) {
                let next = pair[1].iter().map(|i| i.member.started).min();
                prop_assert!(pair[0].iter().map(end).min() <= next);
            }
        }
    }
}

fn refused(new: &NewEvent) -> String {
    match take(new, Redactor::shared()) {
        Ok(draft) => format!("taken: {draft:?}"),
        Err(error) => error.field.to_owned(),
    }
}

fn new(kind: &str) -> NewEvent {
    let some = |text: &str| Some(text.to_owned());
    let of = NewEvent {
        kind: kind.to_owned(),
        ..NewEvent::default()
    };
    match kind {
        "planned" => NewEvent {
            phases: vec!["a".to_owned(), "b".to_owned()],
            ..of
        },
        "phase_started" | "phase_awaiting" => NewEvent {
            phase: some("a"),
            ..of
        },
        "phase_ended" => NewEvent {
            phase: some("a"),
            outcome: some("failed"),
            ..of
        },
        "contract" => NewEvent {
            name: some("api"),
            version: some("2"),
            text: some("x"),
            ..of
        },
        "review" => NewEvent {
            verdict: some("approved"),
            role: some("reviewer"),
            text: some("x"),
            ..of
        },
        "check" => NewEvent {
            name: some("unit"),
            result: some("errored"),
            url: some("https://ci.example.com/1?a=b"),
            commit: some(&"a".repeat(40)),
            ..of
        },
        _ => of,
    }
}

#[test]
fn every_kind_is_taken_and_comes_back_from_its_stored_form() {
    for kind in KINDS {
        let draft = take(&new(kind), Redactor::shared()).unwrap_or_else(|e| panic!("{kind}: {e}"));
        assert_eq!(draft.what().kind(), *kind);
        let stored = serde_json::to_string(draft.what()).unwrap();
        assert_eq!(
            serde_json::from_str::<What>(&stored).unwrap(),
            *draft.what()
        );
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The field that is refused where one field of a kind is another text.
fn with(kind: &str, change: impl FnOnce(&mut NewEvent)) -> String {
    let mut event = new(kind);
    change(&mut event);
    refused(&event)
}

#[test]
fn bad_words_are_refused_by_name() {
    assert_eq!(refused(&new("nonsense")), "kind");
    let long = "x".repeat(65);
    let secret = format!("ghp_{}", &"a1B2c3D4e5".repeat(4)[..36]);
    for bad in ["", " ", " a", "a\nb", "\u{1b}[31m", &long, &secret] {
        let refused_fields = [
            with("phase_started", |e| e.phase = some(bad)),
            with("review", |e| e.role = some(bad)),
            with("contract", |e| e.version = some(bad)),
            with("ended", |e| e.outcome = some(bad)),
            with("review", |e| e.verdict = some(bad)),
            with("check", |e| e.result = some(bad)),
            with("check", |e| e.commit = some(bad)),
            with("check", |e| e.url = some(bad)),
            with("check", |e| e.name = some(&bad.repeat(2))),
        ];
        let fields = [
            "phase", "role", "version", "outcome", "verdict", "result", "commit", "url", "name",
        ];
        assert_eq!(refused_fields, fields, "{bad:?}");
        assert!(pipeline_id(bad).is_err() != (bad == long), "{bad:?}");
    }
    assert_eq!(with("ended", |e| e.key = some("a b")), "key");
    assert_eq!(with("phase_ended", |e| e.outcome = None), "outcome");
}

#[test]
fn fields_that_a_kind_does_not_have_are_refused() {
    assert_eq!(with("check", |e| e.outcome = some("failed")), "outcome");
    assert_eq!(with("ended", |e| e.text = some("x")), "text");
    assert_eq!(
        with("review", |e| e.phases = vec!["a".to_owned()]),
        "phases"
    );
}

#[test]
fn addresses_carry_no_credentials() {
    for bad in [
        "ftp://a/b",
        "https://",
        "https:///x",
        "https://user@host/x",
        "https://user:pw@host",
        "https://a b",
        "javascript:alert(1)",
        "//host",
        "https://h/?token=ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3",
    ] {
        assert_eq!(with("check", |e| e.url = some(bad)), "url", "{bad}");
    }
}

#[test]
fn a_plan_names_each_phase_once() {
    for phases in [vec![], vec!["a", "a"], vec!["a"; 65], vec!["a", ""]] {
        let phases = phases.into_iter().map(str::to_owned).collect();
        let field = with("planned", |e| e.phases = phases);
        assert!(["phases", "phase"].contains(&field.as_str()), "{field}");
    }
}

#[test]
fn texts_are_bounded() {
    for (kind, most) in [
        ("contract", TEXT_MOST),
        ("review", 16 * 1024),
        ("check", 4 * 1024),
    ] {
        let of = |text: &str| with(kind, |e| e.text = some(text));
        assert!(of(&"x ".repeat(most / 2)).starts_with("taken"));
        for bad in ["", "  \n", &"x".repeat(most + 1), "a\0b"] {
            assert_eq!(of(bad), "text", "{kind}");
        }
    }
}

#[test]
fn texts_are_redacted_and_their_digest_is_of_what_is_kept() {
    let secret = format!("ghp_{}", &"a1B2c3D4e5".repeat(4)[..36]);
    let of = |text: &str| {
        let new = NewEvent {
            text: Some(text.to_owned()),
            ..new("contract")
        };
        take(&new, Redactor::shared()).unwrap()
    };
    let draft = of(&format!("use {secret} here"));
    let kept = draft.text().unwrap().as_str();
    assert!(!kept.contains(&secret[4..12]), "{kept}");
    assert_eq!(of(kept).what(), draft.what());
}
