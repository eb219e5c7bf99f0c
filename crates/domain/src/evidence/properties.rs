//! Random cases: the rules against the [oracle](super::oracle), and against every order.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::judging::judge_without;
use super::oracle::answer;
use super::{Case, Committer, Sign, Standing, Stranger, TABLE, Verdict, judge};
use crate::grammar::{AgentName, NativeId};
use crate::id::SessionId;
use crate::process::{ProgramKind, TerminalOwner, TerminalSeen};
use crate::time::Timestamp;

/// How many cases are compared, unless `PROPTEST_CASES` says how many.
const CASES: u32 = 100_000;
/// What proptest says if it was told nothing.
const DEFAULT_CASES: u32 = 256;
/// How many cases may pass before each row of the table has decided one.
const CASES_TO_TELL: usize = 200_000;

fn cases() -> Config {
    let config = Config::default();
    let cases = if config.cases == DEFAULT_CASES {
        CASES
    } else {
        config.cases
    };
    Config { cases, ..config }
}

fn session() -> impl Strategy<Value = SessionId> {
    (1u128..5).prop_map(|n| SessionId::from_uuid(uuid::Uuid::from_u128(n)))
}

fn variable() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["ONE_SESSION_ID", "TWO_SESSION_ID", "THREE"]).prop_map(str::to_owned)
}

fn sign() -> impl Strategy<Value = Sign> {
    let call = || "t".to_owned();
    let (process, bound_at) = (|depth: u32| format!("p{depth}"), Timestamp::default());
    prop_oneof![
        4 => (3u32..6).prop_map(move |depth| Sign::Ancestry { depth, process: process(depth), bound_at }),
        1 => Just(Sign::Reaper { depth: 5, process: "p5".to_owned() }),
        4 => variable().prop_map(|name| Sign::Variable { name }),
        2 => Just(Sign::RunningTool { call: call() }),
        1 => Just(Sign::LaunchClaim),
        2 => ((2u32..7), any::<bool>()).prop_map(move |(depth, person)| Sign::Launcher { depth, process: process(depth), person }),
        1 => Just(Sign::Presence { name: "CLAUDECODE".to_owned() }),
        1 => Just(Sign::TypesIntoTerminals { call: call(), program: "tmux".to_owned() }),
        2 => Just(Sign::CallPrinted { call: call() }),
        2 => Just(Sign::CallCommitted { call: call() }),
        2 => Just(Sign::CommandFits { call: call() }),
        2 => Just(Sign::Window { call: call() }),
    ]
}

fn stranger() -> impl Strategy<Value = Stranger> {
    let agent = AgentName::new("goose").unwrap();
    let native = prop::option::of(Just(NativeId::new("nobody").unwrap()));
    prop_oneof![
        (2u32..7).prop_map(move |depth| Stranger::Process {
            depth,
            agent: agent.clone()
        }),
        (variable(), native).prop_map(|(name, native)| Stranger::Variable { name, native }),
    ]
}

/// Equal, missing and single timestamps, and ends on both sides of the commit.
fn standing() -> impl Strategy<Value = Standing> {
    let seconds = || prop::option::of((0i64..3).prop_map(Timestamp::from_seconds));
    let carried = prop::option::weighted(0.7, prop::collection::btree_set(variable(), 0..3));
    (seconds(), seconds(), carried).prop_map(|(last_at, ended_at, carried)| Standing {
        last_at,
        ended_at,
        carried,
    })
}

fn terminal() -> impl Strategy<Value = Option<TerminalSeen>> {
    let owner = prop_oneof![
        2 => Just(TerminalOwner::Login("sshd".to_owned())),
        1 => Just(TerminalOwner::Multiplexer("tmux".to_owned())),
        1 => Just(TerminalOwner::Window("code".to_owned())),
        2 => Just(TerminalOwner::Unknown("python3".to_owned())),
    ];
    let seen =
        (owner, any::<bool>(), prop::bool::weighted(0.2)).prop_map(|(owner, typed, program)| {
            let through = program.then(|| "helper".to_owned()).into_iter().collect();
            let shell = "bash".to_owned();
            TerminalSeen {
                shell,
                typed,
                through,
                owner,
            }
        });
    prop::option::weighted(0.4, seen)
}

fn program() -> impl Strategy<Value = (u32, String, ProgramKind)> {
    let kinds = vec![
        ProgramKind::Window,
        ProgramKind::OwnLife,
        ProgramKind::Other,
    ];
    (2u32..7, prop::sample::select(kinds)).prop_map(|(depth, kind)| (depth, "p".to_owned(), kind))
}

prop_compose! {
    fn case()(
        signs in prop::collection::vec((session(), sign()), 0..7),
        standings in prop::collection::btree_map(session(), standing(), 0..5),
        strangers in prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(stranger(), 1..3)],
        terminal in terminal(),
        programs in prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(program(), 1..3)],
        unmarked in prop::collection::btree_set(session(), 0..2),
        witnessed in prop::bool::weighted(0.8),
        cut in prop::bool::weighted(0.2),
    ) -> Case {
        let at = Timestamp::from_seconds(1);
        Case { signs, standings, strangers, terminal, programs, unmarked, cut, witnessed, at }
    }
}

fn shuffled<T: Clone + std::fmt::Debug + 'static>(all: Vec<T>) -> impl Strategy<Value = Vec<T>> {
    Just(all).prop_shuffle()
}

fn in_another_order() -> impl Strategy<Value = (Case, Case)> {
    case().prop_flat_map(|first| {
        let orders = (
            shuffled(first.signs.clone()),
            shuffled(first.strangers.clone()),
        );
        orders.prop_map(move |(signs, strangers)| {
            let second = Case {
                signs,
                strangers,
                ..first.clone()
            };
            (first.clone(), second)
        })
    })
}

/// The sessions with the time of their last interaction taken away.
fn timeless(case: &Case) -> Case {
    let mut case = case.clone();
    for standing in case.standings.values_mut() {
        standing.last_at = None;
    }
    case
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_rules_are_the_table(case in case()) {
        let judgement = judge(&case);
        prop_assert_eq!((judgement.committer, judgement.verdict), answer(&case), "{}", judgement.rule);
    }
}

proptest! {
    #![proptest_config(Config { cases: cases().cases / 20, ..cases() })]

    #[test]
    fn the_answer_is_the_same_for_every_order((first, second) in in_another_order()) {
        prop_assert_eq!(judge(&first), judge(&second));
    }

    #[test]
    fn who_was_seen_last_decides_nothing(case in case()) {
        let (timed, timeless) = (judge(&case), judge(&timeless(&case)));
        prop_assert_eq!((timed.committer, timed.verdict), (timeless.committer, timeless.verdict));
        let sorted = |list: Vec<SessionId>| list.into_iter().collect::<BTreeSet<_>>();
        prop_assert_eq!(sorted(timed.candidates), sorted(timeless.candidates));
    }

    #[test]
    fn an_answer_stands_on_its_signs(case in case()) {
        let judgement = judge(&case);
        let of = |id: SessionId| case.signs.iter().filter(move |(s, _)| *s == id).count();
        if let Committer::Session { session } = judgement.committer {
            prop_assert!(judgement.verdict >= Verdict::Likely);
            prop_assert!(of(session) >= 1);
            prop_assert!(judgement.evidence.iter().any(|e| e.counted && e.session == Some(session)));
            prop_assert!(!judgement.candidates.contains(&session));
        }
        for candidate in judgement.candidates.iter().chain(&judgement.outer) {
            prop_assert!(of(*candidate) >= 1);
        }
        let last = |s: &SessionId| case.standings.get(s).and_then(|s| s.last_at);
        let keys = judgement.candidates.iter().map(|s| (std::cmp::Reverse(last(s)), *s));
        prop_assert!(keys.is_sorted(), "newest first, then by id");
    }
}

/// The comparison can fail: without any one of its rows, the table says something else of some case.
#[test]
fn each_row_of_the_table_decides_a_case() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut undecided: BTreeMap<usize, &str> =
        TABLE.iter().map(|rule| rule.name).enumerate().collect();
    // The last row is what is left where no other one applies.
    undecided.remove(&(TABLE.len() - 1));
    let cases = case();
    for _ in 0..CASES_TO_TELL {
        let case = cases.new_tree(&mut runner).unwrap().current();
        let judgement = judge(&case);
        let judged = judge_without(&case, None);
        // Only the row that applied can decide it.
        undecided.retain(|row, name| {
            *name != judgement.rule || judge_without(&case, Some(*row)) == judged
        });
        if undecided.is_empty() {
            return;
        }
    }
    panic!("never decided anything: {undecided:#?}");
}
