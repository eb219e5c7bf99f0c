//! The same session at every back end: what Siglum exports, recorded by a played server, and read by the rule of each.
//!
//! Most of them are services that cannot run here. What is known of how each groups spans and adds up tokens is a pure
//! function in [`rules`]; each must show one session with all turns and the full total. [`blind`] has what a rule shows
//! of spans that lack something: else nobody would know that it can tell.

mod blind;
mod rules;
mod span;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rules::BACK_ENDS;
use span::{Sessions, Shown, Span, Totals};

use crate::harness::talk::tokens;
use crate::harness::{OtlpSink, Repo, SinkFate, Talk, World};

/// A worker may have to start, and a try that failed is made again seconds later.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that gets what a repository exports, by this protocol.
#[track_caller]
fn sink(repo: &Repo<'_>, protocol: &str) -> OtlpSink {
    let sink = OtlpSink::start();
    let args = ["otel", "add", "recorder", &sink.url, "--protocol", protocol];
    repo.siglum(&args).ok();
    sink
}

fn batches(sink: &OtlpSink) -> Vec<Vec<Span>> {
    let batches = sink.batches().into_iter();
    batches
        .map(|spans| spans.iter().map(Span::from_json).collect())
        .collect()
}

/// Waits until every back end shows these conversations and no others, with all turns and all tokens.
#[track_caller]
fn all_show(sink: &OtlpSink, talks: &[&Talk<'_>]) {
    let begun = Instant::now();
    loop {
        let batches = batches(sink);
        let mut spans = batches.iter().flatten();
        let wrong = BACK_ENDS
            .iter()
            .map(|(name, rule)| (name, rule(&batches)))
            .find(|(_, shown)| !is_whole(shown, talks));
        let Some((name, shown)) = wrong else {
            assert!(spans.next().is_some());
            return;
        };
        let expected: Vec<_> = talks
            .iter()
            .map(|t| (&t.conversation, t.turns, Totals::from(t.used)))
            .collect();
        assert!(
            begun.elapsed() < PATIENCE,
            "{name} shows {shown:#?}\ninstead of {expected:#?}\nof {:#?}",
            spans.collect::<Vec<_>>()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_whole(shown: &Sessions, talks: &[&Talk<'_>]) -> bool {
    let names: BTreeSet<_> = talks.iter().map(|talk| talk.conversation.clone()).collect();
    let has = |talk: &&Talk<'_>| {
        let Shown { traces, totals } = &shown.0[&talk.conversation];
        u32::try_from(traces.len()) == Ok(talk.turns) && *totals == Totals::from(talk.used)
    };
    shown.0.keys().cloned().collect::<BTreeSet<_>>() == names && talks.iter().all(has)
}

#[test]
fn three_turns_are_one_session_everywhere() {
    for protocol in ["http/protobuf", "http/json"] {
        let world = World::new();
        let repo = world.repo();
        let sink = sink(&repo, protocol);
        let mut talk = Talk::start(&repo, "one-session");
        for text in ["One.", "Two.", "Three."] {
            talk.turn(text);
        }
        all_show(&sink, &[&talk]);
    }
}

#[test]
fn a_resumed_session_stays_one_and_its_fork_is_another() {
    let world = World::new();
    let repo = world.repo();
    let sink = sink(&repo, "http/protobuf");
    let mut talk = Talk::start(&repo, "origin");
    talk.turn("One.");
    let mut talk = talk.resumed("origin");
    talk.turn("Two.");
    let mut fork = talk.forked("copy");
    fork.turn("Another way.");
    talk.turn("Three.");
    all_show(&sink, &[&talk, &fork]);
}

#[test]
fn a_sub_agent_is_in_the_same_session() {
    let world = World::new();
    let repo = world.repo();
    let sink = sink(&repo, "http/protobuf");
    let mut talk = Talk::start(&repo, "helped");
    talk.ask("Let somebody look.");
    talk.answer(tokens(50, 20, 9_000, 400));
    let helper = talk.help("a1");
    talk.help_on(&helper, tokens(5, 6, 700, 80));
    talk.helped(helper);
    talk.answer(tokens(3, 90, 9_100, 20));
    talk.stop();
    talk.turn("Thanks.");
    all_show(&sink, &[&talk]);
}

#[test]
fn what_was_sent_twice_counts_once() {
    let world = World::new();
    let repo = world.repo();
    let sink = sink(&repo, "http/protobuf");
    let mut talk = Talk::start(&repo, "sent-twice");
    talk.turn("One.");
    all_show(&sink, &[&talk]);
    sink.fates([SinkFate::After, SinkFate::Inside, SinkFate::After]);
    talk.turn("Two.");
    talk.turn("Three.");
    let wait = |what: &str, done: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !done() {
            assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait("every answer was lost", &|| sink.pending_fates() == 0);
    wait("something was sent again", &|| {
        let batches = batches(&sink);
        let ids: Vec<_> = batches.iter().flatten().map(|span| &span.id).collect();
        ids.len() > ids.iter().collect::<BTreeSet<_>>().len()
    });
    all_show(&sink, &[&talk]);
}
