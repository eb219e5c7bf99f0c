//! What those who follow a run at other gateways are told: the same events, under the same numbers.
//!
//! A secret may come in parts, and what is stored is redacted as a whole. So the parts of a message are stored once there
//! is all of it, and a message in which only the whole shows a secret is told there in one part.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use siglum_domain::redact::Redactor;
use siglum_engine::driven::active_run;
use siglum_ledger::{RunEvents, RunRecord};
use siglum_platform::clock;
use tokio::time::sleep;

use super::drive::Drive;
use crate::runs::{Finished, RunEvent};

/// How long the events of a run are kept that ended: whoever follows it elsewhere reads them within that time.
const KEPT: Duration = Duration::from_mins(1);

impl Drive {
    /// Stores what was told since, for those who follow at other gateways.
    pub(super) async fn store_events(&mut self) {
        if !self.app.ledgers().is_shared() {
            return;
        }
        let (first, events) = self.running.log.events_after(self.stored);
        let events = without_secrets(whole(&events, self.scribe.growing()));
        let Some(row) = row(&self.record, first, &events) else {
            return;
        };
        let (last, cut) = (row.last, self.running.log.cut());
        let stored = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |_, ledger| {
                active_run::store_events(ledger, &row, cut)
            });
        // What could not be stored is stored with what comes next.
        if matches!(stored.await, Ok(Ok(()))) {
            self.stored = last;
        }
    }

    /// The last events of a run, which came to this end; nothing where nobody else is told. Where its turn is not kept,
    /// there is only the end, without what was said: it may be forgotten.
    pub(super) fn last_events(&self, finished: &Finished, is_kept: bool) -> Option<RunEvents> {
        if !self.app.ledgers().is_shared() {
            return None;
        }
        let (first, events) = self.running.log.events_after(self.stored);
        if !is_kept {
            let end = Finished {
                text: String::new(),
                ..finished.clone()
            };
            let number = first + events.len() as u64;
            return row(&self.record, number, &[RunEvent::Finished(end)]);
        }
        let mut events = without_secrets(&events);
        events.push(RunEvent::Finished(finished.clone()));
        row(&self.record, first, &events)
    }

    /// Lets go of the events of a run that ended, after a while.
    pub(super) fn drop_events_later(&self) {
        let (app, tenant, turn) = (self.app.clone(), self.ask.tenant.clone(), self.record.turn);
        tokio::spawn(async move {
            sleep(KEPT).await;
            let dropped = app.ledgers().write(&tenant, move |_, ledger| {
                active_run::drop_events(ledger, turn)
            });
            // Those that stay go when they are old.
            let _ = dropped.await.is_ok();
        });
    }
}

/// Events of a run from a number on, as they are stored; nothing where there are none.
pub(super) fn row(record: &RunRecord, first: u64, events: &[RunEvent]) -> Option<RunEvents> {
    let last = (first + events.len() as u64).checked_sub(1)?;
    (last >= first).then(|| RunEvents {
        turn: record.turn,
        session: record.session,
        first,
        last,
        at: clock::now(),
        events: serde_json::to_string(events).expect("because events have text keys only"),
    })
}

/// The message or the thought that an event is a part of, and the part.
fn part(event: &RunEvent) -> Option<(&str, &str)> {
    match event {
        RunEvent::Text { id, delta } | RunEvent::Reasoning { id, delta } => {
            Some((id.as_str(), delta.as_str()))
        }
        _ => None,
    }
}

/// The events before the first part of what is not whole yet.
fn whole<'a>(events: &'a [Arc<RunEvent>], growing: Option<&str>) -> &'a [Arc<RunEvent>] {
    let grows = |event: &Arc<RunEvent>| {
        let id = part(event).map(|(id, _)| id);
        id.is_some() && id == growing
    };
    let until = events.iter().position(grows).unwrap_or(events.len());
    &events[..until]
}

/// The same events, each text redacted as a whole.
fn without_secrets(events: &[Arc<RunEvent>]) -> Vec<RunEvent> {
    let mut texts: HashMap<&str, String> = HashMap::new();
    for (id, delta) in events.iter().filter_map(|event| part(event)) {
        texts.entry(id).or_default().push_str(delta);
    }
    let changed = texts.into_iter().filter_map(|(id, text)| {
        let redacted = Redactor::shared().redact(&text).into_string();
        (redacted != text).then_some((id, redacted))
    });
    // The whole stands in the place of the last part, and nothing in those of the others, so that all keep their numbers.
    let mut changed: HashMap<&str, String> = changed.collect();
    let mut stored: Vec<RunEvent> = Vec::with_capacity(events.len());
    for event in events.iter().rev() {
        let mut event = RunEvent::clone(event);
        if let RunEvent::Text { id, delta } | RunEvent::Reasoning { id, delta } = &mut event
            && let Some(redacted) = changed.get_mut(id.as_str())
        {
            *delta = mem::take(redacted);
        }
        stored.push(event);
    }
    stored.reverse();
    stored
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(parts: &[(&str, &str)]) -> Vec<Arc<RunEvent>> {
        let text = |(id, delta): &(&str, &str)| {
            Arc::new(RunEvent::Text {
                id: (*id).to_owned(),
                delta: (*delta).to_owned(),
            })
        };
        parts.iter().map(text).collect()
    }

    fn deltas(events: &[RunEvent]) -> Vec<&str> {
        let parts = events.iter().filter_map(part);
        parts.map(|(_, delta)| delta).collect()
    }

    #[test]
    fn parts_are_stored_once_their_message_is_whole() {
        let events = texts(&[("m1", "one "), ("m1", "two"), ("m2", "three ")]);
        assert_eq!(whole(&events, Some("m2")).len(), 2);
        assert_eq!(whole(&events, Some("m1")).len(), 0);
        assert_eq!(whole(&events, None).len(), 3);
        let stored = without_secrets(&events);
        assert_eq!(deltas(&stored), ["one ", "two", "three "]);
    }

    #[test]
    fn a_secret_that_only_the_whole_shows_is_not_stored() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let (head, line) = ("-----BEGIN PRIVATE KEY-----\n", format!("{body}\n"));
        let end = "-----END PRIVATE KEY-----\n";
        let parts = [("m1", head), ("m1", &line), ("m1", end), ("m2", "so")];
        let events = texts(&parts);
        let stored = without_secrets(&events);
        let deltas = deltas(&stored);
        assert_eq!(deltas.len(), 4, "each event keeps its number");
        assert!(!deltas.concat().contains(body), "{deltas:?}");
        assert!(deltas[2].contains("BEGIN PRIVATE KEY"), "{deltas:?}");
        assert_eq!((deltas[0], deltas[1], deltas[3]), ("", "", "so"));
    }
}
