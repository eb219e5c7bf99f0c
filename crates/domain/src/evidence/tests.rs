//! The table of verdicts, row by row.

use super::*;
use crate::process::TerminalOwner;

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

fn launcher(depth: u32, person: bool) -> Sign {
    let process = format!("l{depth}");
    Sign::Launcher {
        depth,
        process,
        person,
    }
}

#[test]
fn a_launcher_above_git_is_a_sign_of_its_own() {
    let presence = Sign::Presence {
        name: "SIGLUM_SESSION_ID".into(),
    };
    let named = check(&case(&[(1, launcher(4, false))]), Some(1), Verdict::Likely);
    assert_eq!(named.rule, "launcher");
    // The token says nothing that ancestry does not.
    let both = case(&[(1, launcher(4, false)), (1, presence)]);
    check(&both, Some(1), Verdict::Likely);
    // A program of its own between, with the environment that the launcher gave it, and without.
    let mut program = both;
    program.programs = vec![(3, "tool".into(), ProgramKind::Other)];
    check(&program, Some(1), Verdict::Likely);
    program.signs.truncate(1);
    check(&program, None, Verdict::Ambiguous);
    // The nearest counts: an agent below the launcher, and a launcher below an agent.
    let within = case(&[(1, launcher(4, false)), (2, ancestry(3)), (2, variable())]);
    check(&within, Some(2), Verdict::Certain);
    let without = case(&[(1, launcher(4, false)), (2, ancestry(5)), (2, variable())]);
    let judged = check(&without, Some(1), Verdict::Likely);
    assert_eq!(judged.outer, [ses(2)]);
    // An agent that nobody records.
    let mut stranger = case(&[(1, launcher(4, false))]);
    stranger.strangers = vec![Stranger::Process {
        depth: 3,
        agent: AgentName::new("goose").unwrap(),
    }];
    check(&stranger, None, Verdict::Unknown);
}

#[test]
fn a_person_in_a_launched_shell_is_not_the_launch() {
    let mut typed = case(&[(1, launcher(4, true))]);
    check(&typed, None, Verdict::Unknown);
    typed.terminal = Some(sshd());
    let judged = judge(&typed);
    assert_eq!(judged.committer, Committer::Human);
    // The person's own terminal is further out than the launcher.
    typed.signs[0].1 = launcher(4, false);
    check(&typed, Some(1), Verdict::Likely);
}

fn printed() -> Sign {
    Sign::CallPrinted { call: "t".into() }
}

fn committed() -> Sign {
    Sign::CallCommitted { call: "t".into() }
}

fn fits() -> Sign {
    Sign::CommandFits { call: "t".into() }
}

fn terminal(owner: TerminalOwner) -> TerminalSeen {
    TerminalSeen {
        shell: "bash".into(),
        typed: true,
        through: Vec::new(),
        owner,
    }
}

fn sshd() -> TerminalSeen {
    terminal(TerminalOwner::Login("sshd".into()))
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
fn without_hooks_the_only_call_that_fits_is_named() {
    let check = |signs: &[(u128, Sign)], committer, verdict| {
        let mut unseen = case(signs);
        unseen.witnessed = false;
        check(&unseen, committer, verdict)
    };
    check(&[(1, printed())], None, Verdict::Unknown);
    check(&[(1, window())], None, Verdict::Unknown);
    check(&[(1, fits())], Some(1), Verdict::Likely);
    check(&[(1, fits()), (2, printed())], Some(1), Verdict::Likely);
    check(
        &[(1, printed()), (2, committed()), (3, window())],
        Some(2),
        Verdict::Certain,
    );
    for both in [
        [committed(), committed()],
        [committed(), fits()],
        [fits(), fits()],
    ] {
        let [one, two] = both;
        check(&[(1, one), (2, two)], None, Verdict::Ambiguous);
    }
    let judgement = check(&[(1, window()), (2, printed())], None, Verdict::Unknown);
    assert_eq!(judgement.candidates, [ses(2), ses(1)], "for reading only");
}

#[test]
fn what_hooks_saw_is_not_made_certain_by_who_prints_a_log() {
    check(&case(&[(1, printed())]), None, Verdict::Unknown);
    check(&case(&[(1, committed())]), Some(1), Verdict::Likely);
    check(&case(&[(1, fits())]), Some(1), Verdict::Likely);
    check(
        &case(&[(1, variable()), (2, printed())]),
        Some(1),
        Verdict::Likely,
    );
    check(
        &case(&[(1, variable()), (1, printed())]),
        Some(1),
        Verdict::Likely,
    );
    check(
        &case(&[(1, variable()), (1, committed())]),
        Some(1),
        Verdict::Certain,
    );
    check(
        &case(&[(1, variable()), (2, committed())]),
        None,
        Verdict::Ambiguous,
    );
    check(
        &case(&[(1, ancestry(4)), (2, committed())]),
        Some(1),
        Verdict::Likely,
    );
}

#[test]
fn a_variable_at_a_terminal_is_contradicted() {
    let through_a_script = TerminalSeen {
        typed: false,
        ..sshd()
    };
    for seen in [sshd(), through_a_script] {
        let mut multiplexer = case(&[(1, variable())]);
        multiplexer.terminal = Some(seen);
        let judgement = check(&multiplexer, None, Verdict::Ambiguous);
        assert_eq!(judgement.candidates, [ses(1)]);
        multiplexer.signs.push((ses(1), running()));
        check(&multiplexer, None, Verdict::Ambiguous);
        multiplexer.signs.push((ses(1), ancestry(4)));
        check(&multiplexer, Some(1), Verdict::Certain);
    }
}

fn with_program(signs: &[(u128, Sign)], kind: ProgramKind) -> Case {
    let mut case = case(signs);
    case.programs = vec![(3, "program".to_owned(), kind)];
    case
}

#[test]
fn a_program_between_agent_and_git_may_be_an_agent_of_its_own() {
    let whole = [(1, ancestry(4)), (1, variable())];
    let cleaned = [(1, ancestry(4)), (1, running())];
    let presence = || Sign::Presence {
        name: "CLAUDECODE".into(),
    };
    check(
        &with_program(&whole, ProgramKind::Other),
        Some(1),
        Verdict::Certain,
    );
    check(
        &with_program(&whole, ProgramKind::OwnLife),
        Some(1),
        Verdict::Likely,
    );
    check(
        &with_program(&whole, ProgramKind::Window),
        None,
        Verdict::Ambiguous,
    );
    for kind in [ProgramKind::Other, ProgramKind::OwnLife] {
        let mut case = with_program(&cleaned, kind);
        let judgement = check(&case, None, Verdict::Ambiguous);
        assert_eq!(judgement.rule, "cleaned-environment");
        case.unmarked.insert(ses(1));
        let unmarked = judge(&case);
        assert!(
            unmarked.verdict >= Verdict::Likely,
            "its agent sets no variable"
        );
    }
    let mut present = with_program(&cleaned, ProgramKind::OwnLife);
    present.signs.push((ses(1), presence()));
    check(&present, Some(1), Verdict::Likely);
    let mut further_out = with_program(&cleaned, ProgramKind::Other);
    further_out.programs[0].0 = 9;
    check(&further_out, Some(1), Verdict::Certain);
}

#[test]
fn a_variable_that_outlived_its_session_below_a_program() {
    let mut left = with_program(&[(1, variable())], ProgramKind::Other);
    check(&left, Some(1), Verdict::Likely);
    left.standings.get_mut(&ses(1)).unwrap().ended_at = Some(Timestamp::from_seconds(50));
    let judgement = check(&left, None, Verdict::Ambiguous);
    assert_eq!(judgement.rule, "variable-outlived-session");
    left.programs.clear();
    check(&left, Some(1), Verdict::Likely);
    let window = with_program(&[(1, variable())], ProgramKind::Window);
    check(&window, None, Verdict::Ambiguous);
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
        None,
        Verdict::Ambiguous,
    );
    let mut named = case(&[(1, reaper()), (1, variable()), (1, running())]);
    check(&named, Some(1), Verdict::Likely);
    named.terminal = Some(sshd());
    check(&named, None, Verdict::Ambiguous);
}

#[test]
fn one_sign_is_likely() {
    check(&case(&[(1, ancestry(4))]), Some(1), Verdict::Likely);
    check(&case(&[(1, variable())]), Some(1), Verdict::Likely);
}

#[test]
fn a_running_tool_alone_names_nobody() {
    let mut lone = case(&[(1, running())]);
    check(&lone, None, Verdict::Unknown);
    lone.signs.push((ses(2), running()));
    check(&lone, None, Verdict::Unknown);
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

fn check_human(case: &Case, verdict: Verdict) -> Judgement {
    let judgement = judge(case);
    assert_eq!(
        (judgement.committer, judgement.verdict),
        (Committer::Human, verdict),
        "{judgement:#?}"
    );
    judgement
}

#[test]
fn a_person_needs_to_be_seen() {
    let mut human = case(&[]);
    check(&human, None, Verdict::Unknown);
    human.terminal = Some(sshd());
    check_human(&human, Verdict::Certain);
    human.signs = vec![(ses(1), running())];
    check_human(&human, Verdict::Certain);
    human.signs = vec![(ses(1), printed())];
    check_human(&human, Verdict::Certain);
    for may_have_typed in [
        committed(),
        fits(),
        Sign::TypesIntoTerminals {
            call: "t".into(),
            program: "ssh".into(),
        },
    ] {
        human.signs = vec![(ses(1), may_have_typed)];
        let judgement = check(&human, None, Verdict::Ambiguous);
        assert_eq!(judgement.candidates, [ses(1)]);
    }
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
fn a_terminal_proves_a_terminal() {
    let mut seen = case(&[]);
    for (owner, verdict) in [
        (TerminalOwner::Login("sshd".into()), Verdict::Certain),
        (TerminalOwner::Multiplexer("tmux".into()), Verdict::Likely),
        (TerminalOwner::Window("code".into()), Verdict::Likely),
    ] {
        seen.terminal = Some(terminal(owner));
        seen.signs.clear();
        check_human(&seen, verdict);
        seen.signs = vec![(ses(1), running())];
        check_human(&seen, verdict);
    }
    seen.terminal = Some(terminal(TerminalOwner::Unknown("python3".into())));
    check(&seen, None, Verdict::Ambiguous);
    seen.signs.clear();
    let judgement = check(&seen, None, Verdict::Unknown);
    assert_eq!(judgement.rule, "terminal-of-robot");
}

#[test]
fn a_person_through_a_tool_is_likely_and_a_program_is_nobody() {
    let mut seen = case(&[]);
    let make = TerminalSeen {
        typed: false,
        ..sshd()
    };
    seen.terminal = Some(make);
    check_human(&seen, Verdict::Likely);
    let program = TerminalSeen {
        through: vec!["helper".into()],
        ..sshd()
    };
    seen.terminal = Some(program);
    check(&seen, None, Verdict::Unknown);
    seen.terminal = Some(sshd());
    seen.cut = true;
    let judgement = check(&seen, None, Verdict::Unknown);
    assert_eq!(judgement.rule, "terminal-not-seen-whole");
}

#[test]
fn the_table_has_a_name_for_each_row_and_says_what_defeats_it() {
    let mut names: Vec<_> = TABLE.iter().map(|rule| rule.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TABLE.len());
    for rule in TABLE {
        assert!(!rule.observed.is_empty() && !rule.defeated_by.is_empty());
        assert!(super::rule(rule.name).is_some());
    }
}

#[test]
fn what_would_have_changed_the_answer() {
    let both = case(&[(1, ancestry(4)), (1, variable())]);
    let changed = counterfactuals(&both);
    assert_eq!(changed.len(), 2, "{changed:#?}");
    assert!(changed.iter().all(|c| c.verdict == Verdict::Likely));
    assert_eq!(counterfactuals(&case(&[(1, running())])), []);
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
