//! The table of verdicts, row by row, and its indifference to order.

use proptest::prelude::*;

use super::*;

fn ses(n: u128) -> SessionId {
    SessionId::from_uuid(uuid::Uuid::from_u128(n))
}

fn ancestry(depth: u32) -> Sign {
    Sign::Ancestry {
        depth,
        process: format!("p{depth}"),
        bound_at: Timestamp::default(),
    }
}

fn variable() -> Sign {
    Sign::Variable {
        name: "CLAUDE_CODE_SESSION_ID".into(),
    }
}

fn running() -> Sign {
    Sign::RunningTool {
        call: "toolu_1".into(),
    }
}

fn case(signs: &[(u128, Sign)]) -> Case {
    let signs: Vec<_> = signs.iter().map(|(n, s)| (ses(*n), s.clone())).collect();
    let standing = |n: u128| Standing {
        last_at: Some(Timestamp::from_seconds(i64::try_from(n).unwrap())),
        ended_at: None,
    };
    let standings = signs
        .iter()
        .map(|(s, _)| (*s, standing(s.uuid().as_u128())))
        .collect();
    Case {
        signs,
        standings,
        witnessed: true,
        at: Timestamp::from_seconds(100),
        ..Case::default()
    }
}

fn check(case: &Case, committer: Option<u128>, verdict: Verdict) -> Judgement {
    let judgement = judge(case);
    let expected = committer.map_or(Committer::Unknown, |n| Committer::Session {
        session: ses(n),
    });
    assert_eq!(
        (judgement.committer, judgement.verdict),
        (expected, verdict),
        "{judgement:#?}"
    );
    judgement
}

#[test]
fn two_independent_signs_are_certain() {
    for second in [variable(), running(), Sign::LaunchClaim] {
        check(
            &case(&[(1, ancestry(4)), (1, second)]),
            Some(1),
            Verdict::Certain,
        );
    }
}

#[test]
fn a_tool_call_that_names_the_commit_is_certain() {
    let output = || Sign::ToolOutput { call: "t".into() };
    check(&case(&[(1, output())]), Some(1), Verdict::Certain);
    check(
        &case(&[(1, output()), (2, output())]),
        None,
        Verdict::Ambiguous,
    );
}

#[test]
fn one_sign_is_likely() {
    check(&case(&[(1, ancestry(4))]), Some(1), Verdict::Likely);
    check(&case(&[(1, variable())]), Some(1), Verdict::Likely);
}

#[test]
fn a_running_tool_alone_counts_for_work_that_was_left_behind_only() {
    let mut lone = case(&[(1, running())]);
    check(&lone, None, Verdict::Unknown);
    lone.orphaned = true;
    check(&lone, Some(1), Verdict::Likely);
    lone.signs.push((ses(2), running()));
    check(&lone, None, Verdict::Ambiguous);
}

#[test]
fn a_variable_and_a_running_tool_without_ancestry_stay_likely() {
    check(
        &case(&[(1, variable()), (1, running())]),
        Some(1),
        Verdict::Likely,
    );
}

#[test]
fn another_session_whose_tool_runs_contradicts_nothing() {
    check(
        &case(&[(1, ancestry(4)), (1, variable()), (2, running())]),
        Some(1),
        Verdict::Certain,
    );
    check(
        &case(&[(1, variable()), (2, running())]),
        Some(1),
        Verdict::Likely,
    );
}

#[test]
fn signs_that_name_different_sessions_are_ambiguous() {
    let judgement = check(
        &case(&[(1, ancestry(4)), (2, variable())]),
        None,
        Verdict::Ambiguous,
    );
    assert_eq!(
        judgement.candidates,
        [ses(2), ses(1)],
        "newest interaction first"
    );
    check(
        &case(&[(1, variable()), (2, variable())]),
        None,
        Verdict::Ambiguous,
    );
}

#[test]
fn the_nearest_agent_commits_and_the_outer_one_is_its_parent() {
    let nested = case(&[
        (1, ancestry(9)),
        (1, variable()),
        (2, ancestry(4)),
        (2, variable()),
    ]);
    let judgement = check(&nested, Some(2), Verdict::Certain);
    assert_eq!(judgement.outer, [ses(1)]);
    let inherited = case(&[(1, ancestry(9)), (1, variable()), (2, ancestry(4))]);
    check(&inherited, Some(2), Verdict::Likely);
}

#[test]
fn a_newer_session_that_is_not_above_git_is_never_chosen() {
    let mut old = case(&[(1, ancestry(4))]);
    old.standings.insert(
        ses(9),
        Standing {
            last_at: Some(Timestamp::from_seconds(99)),
            ended_at: None,
        },
    );
    check(&old, Some(1), Verdict::Likely);
}

#[test]
fn sessions_that_share_a_process_are_at_most_likely() {
    let shared = case(&[(1, ancestry(4)), (2, ancestry(4))]);
    let judgement = check(&shared, Some(2), Verdict::Likely);
    assert_eq!(judgement.candidates, [ses(1)]);
    let mut cleared = shared;
    cleared.standings.get_mut(&ses(2)).unwrap().ended_at = Some(Timestamp::from_seconds(50));
    check(&cleared, Some(1), Verdict::Likely);
    cleared.signs.push((ses(2), variable()));
    check(&cleared, Some(2), Verdict::Certain);
}

#[test]
fn a_person_needs_to_be_seen() {
    let mut human = case(&[]);
    check(&human, None, Verdict::Unknown);
    human.typed_in = Some("bash".into());
    assert_eq!(judge(&human).committer, Committer::Human);
    human.signs = vec![(ses(1), running())];
    assert_eq!(
        judge(&human).committer,
        Committer::Human,
        "an agent that works meanwhile"
    );
    human.strangers = vec![Stranger::Variable {
        name: "CLAUDECODE".into(),
        native: None,
    }];
    check(&human, None, Verdict::Unknown);
    human.strangers.clear();
    human.signs = vec![(ses(1), ancestry(5))];
    check(&human, Some(1), Verdict::Likely);
}

#[test]
fn an_agent_that_nobody_records_hides_the_one_above_it() {
    let mut nested = case(&[(1, ancestry(9)), (1, variable())]);
    nested.strangers = vec![Stranger::Process {
        depth: 4,
        agent: AgentName::new("codex").unwrap(),
    }];
    let judgement = check(&nested, None, Verdict::Unknown);
    assert_eq!(judgement.outer, [ses(1)]);
    nested.strangers = vec![Stranger::Process {
        depth: 12,
        agent: AgentName::new("codex").unwrap(),
    }];
    check(&nested, Some(1), Verdict::Certain);
}

#[test]
fn sessions_without_process_identity_stay_candidates() {
    let judgement = check(
        &case(&[(1, running()), (2, running())]),
        None,
        Verdict::Unknown,
    );
    assert_eq!(judgement.candidates, [ses(2), ses(1)]);
}

fn any_sign() -> impl Strategy<Value = Sign> {
    prop_oneof![
        (1u32..5).prop_map(ancestry),
        Just(variable()),
        Just(running()),
        Just(Sign::LaunchClaim),
        Just(Sign::ToolOutput { call: "t".into() }),
    ]
}

proptest! {
    #[test]
    fn the_answer_is_the_same_for_every_order(
        mut signs in prop::collection::vec((1u128..4, any_sign()), 0..8),
        times in prop::collection::vec(prop::option::of(0i64..3), 4),
        seed in any::<u64>(),
    ) {
        let mut first = case(&signs);
        for (n, standing) in first.standings.iter_mut().enumerate() {
            standing.1.last_at = times[n % times.len()].map(Timestamp::from_seconds);
        }
        let mut second = first.clone();
        let turn = usize::try_from(seed % (signs.len() as u64 + 1)).unwrap();
        second.signs.rotate_left(turn);
        second.signs.reverse();
        prop_assert_eq!(judge(&first), judge(&second));
        signs.clear();
    }

    #[test]
    fn only_a_session_with_a_sign_is_ever_named(signs in prop::collection::vec((1u128..4, any_sign()), 0..8)) {
        let c = case(&signs);
        if let Committer::Session { session } = judge(&c).committer {
            prop_assert!(c.signs.iter().any(|(s, _)| *s == session));
        }
    }
}
