//! Stops that transcripts tell of, beside those that hooks saw.

use siglum_domain::fold;
use siglum_domain::observation::{Fact, Source, ToolClass, event};

use super::stage::*;
use crate::commits::calls;

#[test]
fn a_stop_that_a_hook_and_the_transcript_tell_is_one() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![prompt("p", 1)]));
    stage.hear(says("one", vec![stopped("p", 3)]));
    stage.read_transcript(one, "one", &transcript_of("one", "p", 1));
    let log = stage.read(|tx| tx.entries(one, 0, 0));
    let stops = log.iter().map(|e| &e.observation);
    let stops = stops.filter(|o| matches!(o.fact, Fact::Stopped { .. }));
    let mut stops: Vec<_> = stops.map(|o| (o.source, o.event.clone())).collect();
    stops.sort();
    let name = event::stop("p");
    assert_eq!(
        stops,
        [(Source::Hook, name.clone()), (Source::Transcript, name)]
    );
    let view = fold::session(&log);
    let turns: Vec<_> = view.turns.iter().map(|t| t.stopped).collect();
    assert_eq!(turns, [Some(at(3))]);
    assert_eq!(view.turns[0].last_message, Some(text("done")));
    // It is told once, however often it is read.
    let head = stage.session(one).head;
    stage.read_transcript(one, "one", &transcript_of("one", "p", 1));
    assert_eq!(stage.session(one).head, head);
}

#[test]
fn a_stop_in_a_transcript_ends_no_call() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![prompt("p", 1)]));
    stage.hear(says("one", vec![prompt("q", 10)]));
    stage.hear(says("one", vec![call("t", "q", 12, ToolClass::Shell)]));
    // The turn before, and an answer in the turn that goes on.
    let text = transcript_of("one", "p", 1) + &transcript_of("one", "q", 13);
    stage.read_transcript(one, "one", &text);
    stage.hear(says("one", vec![call("u", "q", 13, ToolClass::Shell)]));
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(0)));
    let events: Vec<_> = running.iter().map(|c| c.event.as_str()).collect();
    assert_eq!(events, ["tool:t", "tool:u"]);
    let calls = stage.read(|tx| calls::shell_calls(tx, one, at(20)));
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call.runs_at(at(20))));
    // The stop that a hook sees does.
    stage.hear(says("one", vec![stopped("q", 30)]));
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(0)));
    assert_eq!(running, []);
}
