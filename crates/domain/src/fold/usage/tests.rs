//! What is counted, whoever reports it and in whatever order.

use super::*;
use crate::fold::session;
use crate::id::ObservationId;
use crate::observation::{Body, Role, event};
use crate::redact::Redacted;
use proptest::prelude::*;

/// A record of a cost: who says it, of what message and request, in which turn, how much.
#[derive(Debug, Clone)]
struct CostRecord {
    source: Source,
    message: &'static str,
    request: Option<&'static str>,
    turn: Option<u128>,
    output: u64,
}

const fn cost_record(
    source: Source,
    message: &'static str,
    request: Option<&'static str>,
    turn: u128,
    output: u64,
) -> CostRecord {
    let turn = if turn == 0 { None } else { Some(turn) };
    CostRecord {
        source,
        message,
        request,
        turn,
        output,
    }
}

fn log(records: &[CostRecord]) -> Vec<Entry> {
    let entry = |(n, record): (u64, &CostRecord)| Entry {
        id: ObservationId::from_uuid(uuid::Uuid::from_u128(u128::from(n))),
        sequence: n,
        turn: record
            .turn
            .map(|t| TurnId::from_uuid(uuid::Uuid::from_u128(t))),
        recorded_at: Timestamp::from_seconds(0),
        observation: Observation {
            source: record.source,
            key: format!("k{n}"),
            event: event::message(record.message),
            at: Timestamp::from_seconds(i64::try_from(n).unwrap()),
            turn: None,
            subagent: None,
            fact: Fact::Message {
                role: Role::Assistant,
                text: Body::Text(Redacted::from_stored(String::new())),
                model: Some("m".to_owned()),
                tokens: Some(Tokens {
                    output: record.output,
                    ..Tokens::default()
                }),
                request: record.request.map(str::to_owned),
            },
        },
    };
    (1..).zip(records).map(entry).collect()
}

/// The counted tokens by event, and the number and the sum of what is left out: repeated, then retold.
#[track_caller]
fn check(
    records: &[CostRecord],
    counted: &[(&str, u64)],
    repeated: (u64, u64),
    retold: (u64, u64),
) {
    let entries = log(records);
    let usage = usage(&entries);
    let by_event: Vec<(&str, u64)> = usage
        .iter()
        .filter(|u| u.is_counted())
        .map(|u| (u.event.as_str(), u.tokens.output))
        .collect();
    assert_eq!(by_event, counted);
    let sum = |of: fn(&Usage) -> Records| {
        let mut sum = Records::default();
        usage.iter().for_each(|u| sum += of(u));
        (sum.count, sum.tokens.output)
    };
    assert_eq!(sum(|u| u.repeated), repeated, "repeated");
    assert_eq!(sum(|u| u.retold), retold, "retold");
    let all: u64 = records.iter().map(|s| s.output).sum();
    assert_eq!(usage.iter().map(|u| u.plain().output).sum::<u64>(), all);
    let view = session(&entries);
    let shown: u64 = counted.iter().map(|(_, n)| n).sum();
    assert_eq!(view.tokens.output, shown, "the session's");
    let messages = view.turns.iter().flat_map(|t| &t.messages);
    assert_eq!(messages.map(|m| m.tokens.output).sum::<u64>(), shown);
}

use Source::{Api, Hook, Telemetry, Transcript};

#[test]
fn a_message_that_grows_is_counted_once() {
    let records = [
        cost_record(Transcript, "a", None, 1, 3),
        cost_record(Transcript, "a", None, 1, 9),
        cost_record(Transcript, "b", None, 1, 2),
    ];
    check(&records, &[("msg:a", 9), ("msg:b", 2)], (1, 3), (0, 0));
}

#[test]
fn a_request_joins_what_sources_call_differently() {
    let records = [
        cost_record(Telemetry, "r1", Some("r1"), 0, 8),
        cost_record(Transcript, "a", Some("r1"), 1, 9),
        cost_record(Hook, "a", None, 1, 1),
    ];
    check(&records, &[("msg:a", 9)], (0, 0), (2, 9));
}

#[test]
fn the_transcript_counts_even_where_telemetry_says_more() {
    let records = [
        cost_record(Telemetry, "a", None, 1, 90),
        cost_record(Transcript, "a", None, 1, 9),
    ];
    check(&records, &[("msg:a", 9)], (0, 0), (1, 90));
}

#[test]
fn a_call_that_the_transcript_leaves_out_is_counted_if_both_name_requests() {
    let records = [
        cost_record(Transcript, "a", Some("r1"), 1, 9),
        cost_record(Telemetry, "r1", Some("r1"), 1, 9),
        cost_record(Telemetry, "r2", Some("r2"), 1, 4),
    ];
    check(&records, &[("msg:a", 9), ("msg:r2", 4)], (0, 0), (1, 9));
}

#[test]
fn telemetry_under_other_names_is_not_counted_beside_the_transcript_of_its_turn() {
    let records = [
        cost_record(Transcript, "tokens:1", None, 1, 9),
        cost_record(Telemetry, "x", Some("x"), 1, 9),
        cost_record(Telemetry, "y", None, 0, 9),
        cost_record(Telemetry, "z", None, 2, 5),
    ];
    check(
        &records,
        &[("msg:tokens:1", 9), ("msg:z", 5)],
        (0, 0),
        (2, 18),
    );
}

#[test]
fn a_driver_that_counts_is_not_counted_twice() {
    let records = [
        cost_record(Api, "1", None, 1, 9),
        cost_record(Telemetry, "x", Some("x"), 1, 9),
    ];
    check(&records, &[("msg:1", 9)], (0, 0), (1, 9));
}

#[test]
fn telemetry_alone_is_counted() {
    let records = [
        cost_record(Telemetry, "x", None, 0, 9),
        cost_record(Telemetry, "x", None, 1, 10),
        cost_record(Telemetry, "y", Some("y"), 2, 1),
    ];
    check(&records, &[("msg:x", 10), ("msg:y", 1)], (1, 9), (0, 0));
}

#[test]
fn a_message_is_on_the_branch_that_was_seen_last_before_it() {
    let mut entries = log(&[
        cost_record(Transcript, "a", None, 1, 1),
        cost_record(Transcript, "b", None, 1, 2),
        cost_record(Transcript, "c", None, 1, 3),
        cost_record(Transcript, "d", None, 1, 4),
    ]);
    entries[2].observation.subagent = Some("s".to_owned());
    for (n, name, subagent) in [(2, "main", None), (4, "next", None), (3, "x", Some("t"))] {
        let mut seen = entries[0].clone();
        seen.observation.key = format!("branch{n}");
        seen.observation.event = format!("branch{n}");
        seen.observation.at = Timestamp::from_seconds(n);
        seen.observation.subagent = subagent.map(str::to_owned);
        seen.observation.fact = Fact::BranchSeen {
            name: name.to_owned(),
        };
        entries.push(seen);
    }
    let branches: Vec<_> = usage(&entries).into_iter().map(|u| u.branch).collect();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(branches, [None, named("main"), None, named("next")]);
}

fn record() -> impl Strategy<Value = CostRecord> {
    let source = prop_oneof![Just(Transcript), Just(Telemetry), Just(Hook), Just(Api)];
    let message = prop_oneof![Just("a"), Just("b"), Just("c"), Just("d")];
    let request = prop_oneof![Just(None), Just(Some("r")), Just(Some("q"))];
    (source, message, request, 0..3u128, 0..20u64).prop_map(
        |(source, message, request, turn, n)| cost_record(source, message, request, turn, n),
    )
}

proptest! {
    #[test]
    fn order_and_repetition_change_nothing(
        (records, order) in prop::collection::vec(record(), 1..9).prop_flat_map(|records| {
            let order: Vec<usize> = (0..records.len()).collect();
            (Just(records), Just(order).prop_shuffle())
        }),
        twice in any::<prop::sample::Index>(),
    ) {
        let entries = log(&records);
        let mut shuffled: Vec<Entry> = order.iter().map(|n| entries[*n].clone()).collect();
        shuffled.push(entries[twice.index(entries.len())].clone());
        prop_assert_eq!(usage(&shuffled), usage(&entries));
        prop_assert_eq!(session(&shuffled), session(&entries));
    }

    /// Nothing is lost: what is counted and what is left out add up to all that was said.
    #[test]
    fn counted_and_left_out_add_up(records in prop::collection::vec(record(), 0..12)) {
        let usage = usage(&log(&records));
        let all: u64 = records.iter().map(|s| s.output).sum();
        prop_assert_eq!(usage.iter().map(|u| u.plain().output).sum::<u64>(), all);
        let view = session(&log(&records));
        let counted: u64 = usage.iter().map(|u| u.tokens.output).sum();
        prop_assert_eq!(view.tokens.output, counted);
        prop_assert!(counted <= all);
    }
}
