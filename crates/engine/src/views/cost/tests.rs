//! Rows add up to the total, and links count where they stood.

mod both_ways;

use proptest::prelude::*;
use siglum_domain::fold::Usage;
use siglum_domain::observation::Source;
use siglum_domain::{AgentName, LedgerId, Oid, TurnId};
use siglum_ledger::{Statement, StatementRecord, UsageRecord};
use uuid::Uuid;

use super::commits::Made;
use super::*;

const KNOWN: &str = "claude-haiku-4-5";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(1_780_000_000 + seconds)
}

fn session(n: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(n))
}

fn turn(n: u128) -> TurnId {
    TurnId::from_uuid(Uuid::from_u128(n))
}

fn usage(n: u128, of_turn: Option<u128>, seconds: i64, output: u64) -> Usage {
    let records = |count| Records {
        count,
        tokens: tokens(count),
    };
    Usage {
        event: format!("msg:{n}"),
        request: None,
        turn: of_turn.map(turn),
        at: at(seconds),
        model: Some(KNOWN.to_owned()),
        subagent: None,
        branch: n.is_multiple_of(2).then(|| "main".to_owned()),
        source: Source::Transcript,
        tokens: tokens(output),
        repeated: records(n as u64 % 3),
        retold: records(n as u64 % 2),
    }
}

fn tokens(n: u64) -> Tokens {
    Tokens {
        output: n,
        ..Tokens::default()
    }
}

fn link_statement(n: u64, seconds: i64, attached: bool, link: Link) -> StatementRecord {
    let session = session(1);
    StatementRecord {
        ledger: LedgerId::from_uuid(Uuid::from_u128(1)),
        sequence: n,
        at: at(seconds),
        by: "me".to_owned(),
        source: "cli".to_owned(),
        statement: if attached {
            Statement::LinkAttached { session, link }
        } else {
            Statement::LinkDetached { session, link }
        },
    }
}

fn used(n: u128, usages: Vec<Usage>, statements: &[StatementRecord]) -> Used {
    let last = usages.iter().map(|u| u.at).max();
    let copied = |u: &Usage| n > 1 && u.tokens.output.is_multiple_of(5);
    Used {
        session: UsageSession {
            id: session(n),
            agent: Some(agent(n)),
            repository: None,
        },
        turns: standing::turns(usages.iter()),
        spans: standing::spans(statements, last),
        usages: usages
            .into_iter()
            .map(|usage| UsageRecord {
                session: session(n),
                copied: copied(&usage),
                usage,
            })
            .collect(),
        commits: vec![Made {
            at: at(20),
            repository: RepositoryId::from_uuid(Uuid::from_u128(1)),
            commit: Oid::new("a".repeat(40)).unwrap(),
            subject: None,
        }],
    }
}

fn agent(n: u128) -> AgentName {
    let name = if n.is_multiple_of(2) {
        "codex"
    } else {
        "gemini"
    };
    AgentName::new(name).unwrap()
}

fn sum(query: &CostQuery, all: &[Used]) -> Costs {
    let day = |at: Timestamp| at.to_string()[..10].to_owned();
    let mut table = Table::new(query, Prices::built_in(), &day);
    all.iter().for_each(|used| table.add(used));
    table.done(0)
}

/// The output tokens of each value, and how many messages stand in several rows.
#[track_caller]
fn check(by: By, all: &[Used], expected: &[(Option<&str>, u64)], overlapping: u64) {
    let costs = sum(&CostQuery::by(by), all);
    let mut rows: Vec<_> = costs
        .rows
        .iter()
        .map(|r| (r.key.value.as_deref(), r.sum.tokens.output))
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, expected, "{by:?}");
    assert_eq!(costs.overlapping, overlapping);
}

/// Turns 1 to 4 begin at 10, 20, 30 and 40, and write 1, 10, 100 and 1,000 tokens.
fn four_turns() -> Vec<Usage> {
    let turns = (1..).zip([1, 10, 100, 1_000]);
    turns
        .map(|(n, output)| usage(n, Some(n), i64::try_from(n * 10).unwrap(), output))
        .collect()
}

#[test]
fn a_turn_counts_for_the_link_that_stood_when_it_ran() {
    let issue = Link::IssueNumber;
    let moved = [
        link_statement(1, 5, true, issue(1)),
        link_statement(2, 25, false, issue(1)),
        link_statement(3, 30, true, issue(2)),
    ];
    // Issue 1 went within turn 2, and issue 2 came with the start of turn 3.
    let one = [used(1, four_turns(), &moved)];
    check(By::Issue, &one, &[(Some("1"), 11), (Some("2"), 1_100)], 0);
    check(By::Pr, &one, &[(None, 1_111)], 0);
    // Between two links nobody knows.
    let gone = [
        link_statement(1, 5, true, issue(1)),
        link_statement(2, 20, false, issue(1)),
    ];
    let one = [used(1, four_turns(), &gone)];
    check(By::Issue, &one, &[(None, 1_110), (Some("1"), 1)], 0);
}

#[test]
fn the_first_link_stands_from_the_beginning_and_the_next_from_its_turn_on() {
    let pr = Link::PrNumber;
    let opened = [
        link_statement(1, 15, true, pr(7)),
        link_statement(2, 36, true, pr(8)),
    ];
    let one = [used(1, four_turns(), &opened)];
    check(By::Pr, &one, &[(Some("7"), 1_111), (Some("8"), 1_100)], 2);
    let after = [
        link_statement(1, 50, true, pr(7)),
        link_statement(2, 51, true, pr(8)),
    ];
    let one = [used(1, four_turns(), &after)];
    check(By::Pr, &one, &[(Some("7"), 1_111), (Some("8"), 1_111)], 4);
}

#[test]
fn only_turns_count_for_which_all_requested_links_stood() {
    let links = [
        link_statement(1, 5, true, Link::IssueNumber(1)),
        link_statement(2, 5, true, Link::AgentRole("r".into())),
        link_statement(3, 20, false, Link::AgentRole("r".into())),
    ];
    let mut query = CostQuery::by(By::Session);
    query.links = vec![Link::IssueNumber(1), Link::AgentRole("r".into())];
    let costs = sum(&query, &[used(1, four_turns(), &links)]);
    assert_eq!(costs.total.tokens.output, 1);
    query.links.push(Link::IssueNumber(2));
    assert_eq!(sum(&query, &[used(1, four_turns(), &links)]).rows, []);
}

#[test]
fn a_commit_has_what_was_used_since_the_one_before() {
    let mut one = used(1, four_turns(), &[]);
    let made = |seconds, letter: &str| Made {
        at: at(seconds),
        commit: Oid::new(letter.repeat(40)).unwrap(),
        ..one.commits[0].clone()
    };
    one.commits = vec![made(20, "a"), made(25, "b"), made(30, "c")];
    let (a, c) = ("a".repeat(40), "c".repeat(40));
    let expected = [
        (None, 1_000),
        (Some(a.as_str()), 11),
        (Some(c.as_str()), 100),
    ];
    check(By::Commit, &[one], &expected, 0);
}

#[test]
fn a_model_without_a_price_is_unknown_and_keeps_its_tokens() {
    let mut usages = four_turns();
    usages[1].model = Some("fake-model".to_owned());
    usages[2].model = None;
    let costs = sum(&CostQuery::by(By::Model), &[used(1, usages, &[])]);
    let rows: Vec<_> = costs
        .rows
        .iter()
        .map(|r| {
            (
                r.key.value.as_deref(),
                r.sum.cost.known.0,
                r.sum.cost.unpriced.output,
            )
        })
        .collect();
    // $5 for a million.
    let expected = [
        (Some(KNOWN), 1_001 * 5_000, 0),
        (Some("fake-model"), 0, 10),
        (None, 0, 100),
    ];
    assert_eq!(rows, expected);
    assert!(!costs.total.cost.is_whole());
}

fn message() -> impl Strategy<Value = Usage> {
    (0..40u128, prop::option::of(1..5u128), 0..60i64, 0..20u64)
        .prop_map(|(n, turn, seconds, output)| usage(n, turn, seconds, output))
}

fn statements() -> impl Strategy<Value = Vec<StatementRecord>> {
    let link = prop_oneof![
        (1..4u64).prop_map(Link::IssueNumber),
        (1..4u64).prop_map(Link::PrNumber),
        Just(Link::AgentRole("r".into())),
        Just(Link::PipelineId("p".into())),
    ];
    let one = (0..70i64, any::<bool>(), link);
    prop::collection::vec(one, 0..6).prop_map(|all| {
        let all = (1..).zip(all);
        all.map(|(n, (at, attached, link))| link_statement(n, at, attached, link))
            .collect()
    })
}

proptest! {
    #[test]
    fn rows_add_up_to_the_total_where_they_do_not_overlap(
        all in prop::collection::vec((prop::collection::vec(message(), 0..12), statements()), 0..4),
    ) {
        let all: Vec<Used> = (1..).zip(all).map(|(n, (m, s))| used(n, m, &s)).collect();
        let records: u64 = all.iter().flat_map(|u| &u.usages).map(|u| u.usage.plain().output).sum();
        let mut totals = Vec::new();
        for by in [
            By::Session, By::Turn, By::Day, By::Agent, By::Model, By::Repository, By::Branch,
            By::Issue, By::Pr, By::Role, By::Pipeline, By::Commit,
        ] {
            let costs = sum(&CostQuery::by(by), &all);
            let mut rows = Sum::default();
            costs.rows.iter().for_each(|r| rows += r.sum);
            if costs.overlapping == 0 {
                prop_assert_eq!(rows, costs.total);
            } else {
                prop_assert!(matches!(by, By::Issue | By::Pr | By::Role | By::Pipeline));
                prop_assert!(rows.messages >= costs.total.messages + costs.overlapping);
            }
            let e = costs.explained;
            let mut parts = e.counted;
            parts += e.repeated;
            parts += e.retold;
            parts += e.copied;
            prop_assert_eq!(parts, e.records);
            prop_assert_eq!(e.records.tokens.output, records);
            prop_assert_eq!(e.counted.tokens, costs.total.tokens);
            prop_assert_eq!(e.counted.count, costs.total.messages);
            totals.push(costs.total);
        }
        prop_assert!(totals.windows(2).all(|two| two[0] == two[1]));
    }
}
