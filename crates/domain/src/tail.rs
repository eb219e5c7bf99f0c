//! What a driver that died has left of its turn, and what may become of it.
//!
//! Nothing is run again and nothing is invented: a turn that had come to its stop only lacks its commit, one that was
//! broken off is kept as that, and a call of which nobody knows whether it was done waits for a person.

use std::collections::BTreeMap;

use crate::observation::{Fact, Observation, Role};

/// What is left of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tail {
    /// Nothing was said.
    Empty,
    /// Somebody asked, and nothing was answered: whoever drives on may take it up.
    Asked,
    /// It had come to its stop.
    Complete,
    /// It was broken off with no call open.
    Interrupted,
    /// These calls have no result, by event, in the order in which they were made.
    Unanswered(Vec<String>),
}

/// Tells what is left of a turn by what was said in it.
#[must_use]
pub fn tail<'a>(observations: impl IntoIterator<Item = &'a Observation>) -> Tail {
    let (mut any, mut answered, mut stopped) = (false, false, false);
    let mut calls: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (place, observation) in observations.into_iter().enumerate() {
        any = true;
        let event = observation.event.as_str();
        match &observation.fact {
            Fact::ToolStarted { .. } => {
                calls.entry(event).or_insert((place, false));
                (answered, stopped) = (true, false);
            }
            Fact::ToolEnded { .. } => {
                calls.entry(event).or_insert((place, true)).1 = true;
                (answered, stopped) = (true, false);
            }
            Fact::Stopped { .. } => stopped = true,
            Fact::Prompt { .. }
            | Fact::SessionStarted { .. }
            | Fact::Message {
                role: Role::User, ..
            } => stopped = false,
            _ => (answered, stopped) = (true, false),
        }
    }
    let mut open: Vec<(usize, &str)> = calls
        .into_iter()
        .filter(|(_, (_, ended))| !ended)
        .map(|(event, (place, _))| (place, event))
        .collect();
    open.sort_unstable();
    if !open.is_empty() {
        return Tail::Unanswered(
            open.into_iter()
                .map(|(_, event)| event.to_owned())
                .collect(),
        );
    }
    match (any, stopped, answered) {
        (false, ..) => Tail::Empty,
        (true, true, _) => Tail::Complete,
        (true, false, true) => Tail::Interrupted,
        (true, false, false) => Tail::Asked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Timestamp;
    use crate::observation::{Body, Outcome, Source, ToolClass};
    use crate::redact::Redacted;

    fn observation(event: &str, fact: Fact) -> Observation {
        Observation {
            source: Source::Api,
            key: event.to_owned(),
            event: event.to_owned(),
            at: Timestamp::default(),
            turn: None,
            subagent: None,
            fact,
        }
    }

    fn body() -> Body {
        Body::Text(Redacted::empty())
    }

    fn prompt() -> Observation {
        observation(
            "p",
            Fact::Prompt {
                text: body(),
                synthetic: false,
            },
        )
    }

    fn answer() -> Observation {
        let fact = Fact::Message {
            role: Role::Assistant,
            text: body(),
            model: None,
            tokens: None,
            request: None,
        };
        observation("m", fact)
    }

    fn call(event: &str) -> Observation {
        let (tool, class) = ("t".to_owned(), ToolClass::Other);
        observation(
            event,
            Fact::ToolStarted {
                tool,
                class,
                input: body(),
                path: None,
            },
        )
    }

    fn result(event: &str) -> Observation {
        let fact = Fact::ToolEnded {
            tool: "t".to_owned(),
            class: ToolClass::Other,
            outcome: Outcome::Ok,
            output: None,
            duration_ms: None,
        };
        observation(event, fact)
    }

    fn stop() -> Observation {
        observation(
            "s",
            Fact::Stopped {
                last_message: None,
                background: Vec::new(),
                failure: None,
            },
        )
    }

    #[track_caller]
    fn check(observations: &[Observation], expected: &Tail) {
        assert_eq!(tail(observations), *expected);
    }

    #[test]
    fn what_a_driver_left() {
        let open =
            |events: &[&str]| Tail::Unanswered(events.iter().map(|e| (*e).to_owned()).collect());
        check(&[], &Tail::Empty);
        check(&[prompt()], &Tail::Asked);
        check(&[prompt(), answer()], &Tail::Interrupted);
        check(&[prompt(), answer(), stop()], &Tail::Complete);
        check(
            &[prompt(), call("b"), call("a"), result("b")],
            &open(&["a"]),
        );
        check(&[prompt(), call("b"), call("a")], &open(&["b", "a"]));
        check(&[prompt(), call("a"), result("a")], &Tail::Interrupted);
        check(&[prompt(), call("a"), result("a"), stop()], &Tail::Complete);
        check(&[prompt(), call("a"), stop()], &open(&["a"]));
        check(&[prompt(), answer(), stop(), answer()], &Tail::Interrupted);
        check(&[stop()], &Tail::Complete);
    }
}
