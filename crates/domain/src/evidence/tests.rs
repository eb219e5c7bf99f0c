//! The table of verdicts, row by row.

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
        carried: Some(BTreeSet::new()),
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

fn output() -> Sign {
    Sign::ToolOutput { call: "t".into() }
}

fn words() -> Sign {
    Sign::GitWords { call: "t".into() }
}

fn window() -> Sign {
    Sign::Window { call: "t".into() }
}

fn reaper() -> Sign {
    Sign::Reaper {
        depth: 4,
        process: "p1".into(),
    }
}

#[test]
fn without_hooks_the_only_call_that_ran_and_names_the_commit_is_certain() {
    let check = |signs: &[(u128, Sign)], committer, verdict| {
        let mut unseen = case(signs);
        unseen.witnessed = false;
        check(&unseen, committer, verdict)
    };
    check(&[(1, output())], Some(1), Verdict::Certain);
    check(&[(1, window())], None, Verdict::Unknown);
    check(&[(1, output()), (2, output())], None, Verdict::Ambiguous);
    let judgement = check(&[(1, output()), (2, window())], None, Verdict::Ambiguous);
    assert_eq!(judgement.candidates, [ses(2), ses(1)], "who printed a log");
    check(
        &[(1, output()), (2, words()), (3, window())],
        Some(2),
        Verdict::Certain,
    );
    check(&[(1, words()), (2, words())], None, Verdict::Ambiguous);
    let judgement = check(&[(1, window()), (2, window())], None, Verdict::Unknown);
    assert_eq!(judgement.candidates, [ses(2), ses(1)]);
}

#[test]
fn what_hooks_saw_is_not_made_certain_by_who_prints_a_log() {
    check(&case(&[(1, output())]), None, Verdict::Unknown);
    check(&case(&[(1, words())]), None, Verdict::Unknown);
    check(
        &case(&[(1, variable()), (2, output())]),
        Some(1),
        Verdict::Likely,
    );
    check(
        &case(&[(1, variable()), (1, output())]),
        Some(1),
        Verdict::Likely,
    );
    check(
        &case(&[(1, variable()), (1, words())]),
        Some(1),
        Verdict::Certain,
    );
    check(
        &case(&[(1, variable()), (2, words())]),
        None,
        Verdict::Ambiguous,
    );
    check(
        &case(&[(1, ancestry(4)), (2, words())]),
        Some(1),
        Verdict::Likely,
    );
    let mut left = case(&[(1, output()), (2, words())]);
    left.orphaned = true;
    check(&left, Some(2), Verdict::Likely);
}

#[test]
fn a_variable_at_a_terminal_is_contradicted() {
    for terminal in [
        AtTerminal::Typed("bash".into()),
        AtTerminal::Below("bash".into()),
    ] {
        let mut multiplexer = case(&[(1, variable())]);
        multiplexer.terminal = terminal;
        let judgement = check(&multiplexer, None, Verdict::Ambiguous);
        assert_eq!(judgement.candidates, [ses(1)]);
        multiplexer.signs.push((ses(1), running()));
        check(&multiplexer, None, Verdict::Ambiguous);
        multiplexer.signs.push((ses(1), ancestry(4)));
        check(&multiplexer, Some(1), Verdict::Certain);
    }
}

fn other() -> Sign {
    Sign::Variable {
        name: "CODEX_SESSION_ID".into(),
    }
}

fn carries(case: &mut Case, session: u128, names: Option<&[&str]>) {
    let standing = case.standings.get_mut(&ses(session)).unwrap();
    standing.carried = names.map(|n| n.iter().map(|n| (*n).to_owned()).collect());
}

#[test]
fn a_variable_that_the_agents_process_had_already_is_the_outer_ones() {
    let mut daemon = case(&[(1, variable()), (2, ancestry(4)), (2, other())]);
    check(&daemon, None, Verdict::Ambiguous);
    carries(&mut daemon, 2, Some(&["CLAUDE_CODE_SESSION_ID"]));
    check(&daemon, Some(2), Verdict::Certain);
    carries(&mut daemon, 2, None);
    check(&daemon, Some(2), Verdict::Likely);
    daemon.signs.remove(2);
    check(&daemon, None, Verdict::Ambiguous);
    carries(&mut daemon, 2, Some(&["CLAUDE_CODE_SESSION_ID"]));
    check(&daemon, Some(2), Verdict::Likely);
}

#[test]
fn of_two_variables_that_of_who_inherited_the_other_counts() {
    let mut left = case(&[(1, variable()), (2, other())]);
    check(&left, None, Verdict::Ambiguous);
    carries(&mut left, 2, Some(&["CLAUDE_CODE_SESSION_ID"]));
    check(&left, Some(2), Verdict::Likely);
    carries(&mut left, 1, Some(&["CODEX_SESSION_ID"]));
    check(&left, None, Verdict::Ambiguous);
}

#[test]
fn a_strangers_variable_that_was_set_below_the_agent_contradicts() {
    for signs in [
        &[(1, ancestry(4)), (1, variable())][..],
        &[(1, ancestry(4))],
        &[(1, variable())],
    ] {
        let mut nested = case(signs);
        nested.strangers = vec![Stranger::Variable {
            name: "PI_CODING_AGENT".into(),
            native: None,
        }];
        let judgement = check(&nested, None, Verdict::Ambiguous);
        assert_eq!(judgement.candidates, [ses(1)]);
        carries(&mut nested, 1, Some(&["PI_CODING_AGENT"]));
        let verdict = if signs.len() == 2 {
            Verdict::Certain
        } else {
            Verdict::Likely
        };
        check(&nested, Some(1), verdict);
    }
}

#[test]
fn below_the_first_process_of_a_container_is_nowhere() {
    check(&case(&[(1, reaper())]), None, Verdict::Ambiguous);
    check(
        &case(&[(1, reaper()), (1, running())]),
        Some(1),
        Verdict::Likely,
    );
    let mut named = case(&[(1, reaper()), (1, variable()), (1, running())]);
    check(&named, Some(1), Verdict::Likely);
    named.terminal = AtTerminal::Typed("bash".into());
    check(&named, None, Verdict::Ambiguous);
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
            carried: None,
        },
    );
    check(&old, Some(1), Verdict::Likely);
}

#[test]
fn sessions_that_share_a_process_are_at_most_likely() {
    let shared = case(&[(1, ancestry(4)), (2, ancestry(4))]);
    let judgement = check(&shared, None, Verdict::Ambiguous);
    assert_eq!(judgement.candidates, [ses(2), ses(1)]);
    let mut runs = shared.clone();
    runs.signs.push((ses(1), running()));
    check(&runs, Some(1), Verdict::Likely);
    let mut cleared = shared;
    cleared.standings.get_mut(&ses(2)).unwrap().ended_at = Some(Timestamp::from_seconds(50));
    check(&cleared, Some(1), Verdict::Likely);
    cleared.signs.push((ses(2), variable()));
    check(&cleared, Some(2), Verdict::Certain);
    cleared.signs.pop();
    cleared.standings.get_mut(&ses(1)).unwrap().ended_at = Some(Timestamp::from_seconds(50));
    check(&cleared, None, Verdict::Ambiguous);
}

#[test]
fn a_person_needs_to_be_seen() {
    let mut human = case(&[]);
    check(&human, None, Verdict::Unknown);
    human.terminal = AtTerminal::Below("bash".into());
    check(&human, None, Verdict::Unknown);
    human.terminal = AtTerminal::Typed("bash".into());
    assert_eq!(judge(&human).committer, Committer::Human);
    human.signs = vec![(ses(1), running())];
    assert_eq!(
        judge(&human).committer,
        Committer::Human,
        "an agent that works meanwhile"
    );
    human.signs = vec![(ses(1), output())];
    assert_eq!(judge(&human).committer, Committer::Human, "git log");
    human.signs = vec![(ses(1), words())];
    check(&human, None, Verdict::Ambiguous);
    human.signs.clear();
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
