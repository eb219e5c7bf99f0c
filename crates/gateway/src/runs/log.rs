//! The events of a run: kept for those who come late, and told while they happen.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::RunEvent;

/// The most events that are kept of one run.
const EVENTS_MOST: usize = 20_000;
/// The most bytes of texts that are kept of one run.
const BYTES_MOST: usize = 8 << 20;

/// One event, with its place in the run from 1.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) event: Arc<RunEvent>,
}

/// What somebody who follows a run is told next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Next {
    Event(Numbered),
    /// So many events are kept no more: the ledger has what they said.
    Cut(u64),
}

/// The events of one run. One side writes, all others follow.
#[derive(Debug)]
pub(crate) struct Log {
    buffer: Mutex<Buffer>,
    /// The number of the last event, and whether more will come.
    grown: watch::Sender<(u64, bool)>,
}

#[derive(Debug, Default)]
struct Buffer {
    events: VecDeque<Arc<RunEvent>>,
    /// How many are kept no more.
    cut: u64,
    bytes: usize,
    readers: usize,
}

impl Log {
    pub(crate) fn new() -> Arc<Self> {
        let (grown, _) = watch::channel((0, true));
        Arc::new(Self {
            buffer: Mutex::default(),
            grown,
        })
    }

    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event. Behind [`RunEvent::Finished`] there is none.
    pub(crate) fn push(&self, event: RunEvent) {
        let more = !matches!(event, RunEvent::Finished(_));
        let mut buffer = self.buffer();
        buffer.bytes += size(&event);
        buffer.events.push_back(Arc::new(event));
        while buffer.events.len() > EVENTS_MOST
            || (buffer.bytes > BYTES_MOST && buffer.events.len() > 2)
        {
            // The first one says which run it is, so that it stays.
            let Some(gone) = buffer.events.remove(1) else {
                break;
            };
            buffer.bytes -= size(&gone);
            buffer.cut += 1;
        }
        let last = buffer.cut + buffer.events.len() as u64;
        drop(buffer);
        self.grown.send_replace((last, more));
    }

    /// The events that are kept behind this number, from 1, with the number of the first of them.
    pub(crate) fn events_after(&self, after: u64) -> (u64, Vec<Arc<RunEvent>>) {
        let buffer = self.buffer();
        let after = after.max(buffer.cut + 1);
        let place = usize::try_from(after - buffer.cut).unwrap_or(usize::MAX);
        let events = buffer.events.iter().skip(place).cloned();
        (after + 1, events.collect())
    }

    /// The number of the last event that is kept no more; 0: all are kept.
    pub(crate) fn cut(&self) -> u64 {
        match self.buffer().cut {
            0 => 0,
            cut => cut + 1,
        }
    }

    /// Of a run of another gateway: the events up to this number, but the first one, are kept nowhere any more.
    pub(crate) fn skip(&self, last: u64) {
        let mut buffer = self.buffer();
        buffer.events.truncate(1);
        buffer.bytes = buffer.events.front().map_or(0, |event| size(event));
        buffer.cut = last.saturating_sub(1);
    }

    /// Of a run of another gateway: nothing more is told here, though the run may go on.
    pub(crate) fn close(&self) {
        self.grown.send_modify(|(_, more)| *more = false);
    }

    /// Whether more will come.
    pub(crate) fn is_open(&self) -> bool {
        self.grown.borrow().1
    }

    /// Follows the events behind this number.
    pub(crate) fn follow(self: &Arc<Self>, after: u64) -> Events {
        self.buffer().readers += 1;
        Events {
            log: Arc::clone(self),
            grown: self.grown.subscribe(),
            after,
        }
    }

    pub(crate) fn readers(&self) -> usize {
        self.buffer().readers
    }

    fn next(&self, after: u64) -> Option<Next> {
        let buffer = self.buffer();
        if after == 0 {
            let event = Arc::clone(buffer.events.front()?);
            return Some(Next::Event(Numbered { number: 1, event }));
        }
        // The first one stays, and those that are kept no more come behind it.
        let first = buffer.cut + 1;
        if after < first {
            return Some(Next::Cut(first - after));
        }
        let place = usize::try_from(after - buffer.cut).ok()?;
        let event = Arc::clone(buffer.events.get(place)?);
        let number = after + 1;
        Some(Next::Event(Numbered { number, event }))
    }
}

fn size(event: &RunEvent) -> usize {
    const OTHERS: usize = 256;
    OTHERS
        + match event {
            RunEvent::Text { delta, .. } | RunEvent::Reasoning { delta, .. } => delta.len(),
            RunEvent::ToolCall { input, .. } => input.to_string().len(),
            RunEvent::ToolResult { output, .. } => output.len(),
            RunEvent::Finished(finished) => finished.text.len(),
            _ => 0,
        }
}

/// The events of a run from one place on.
#[derive(Debug)]
pub(crate) struct Events {
    log: Arc<Log>,
    grown: watch::Receiver<(u64, bool)>,
    after: u64,
}

impl Events {
    /// Gives the next one, when there is one; nothing behind the last one.
    pub(crate) async fn next(&mut self) -> Option<Next> {
        loop {
            let more = self.grown.borrow_and_update().1;
            if let Some(next) = self.log.next(self.after) {
                self.after += match &next {
                    Next::Event(_) => 1,
                    Next::Cut(events) => *events,
                };
                return Some(next);
            }
            if !more || self.grown.changed().await.is_err() {
                return None;
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.log.buffer().readers -= 1;
        // Whoever waits for the last one to leave looks again.
        self.log.grown.send_modify(|_| {});
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::{Finished, Status, Usage};

    fn text(delta: &str) -> RunEvent {
        RunEvent::Text {
            id: "m".to_owned(),
            delta: delta.to_owned(),
        }
    }

    fn finished() -> RunEvent {
        RunEvent::Finished(Finished {
            status: Status::Done,
            text: String::new(),
            usage: Usage::default(),
            error: None,
        })
    }

    async fn all(mut events: Events) -> Vec<Next> {
        let mut all = Vec::new();
        while let Some(next) = events.next().await {
            all.push(next);
        }
        all
    }

    #[tokio::test]
    async fn whoever_comes_late_gets_everything_in_order() {
        let log = Log::new();
        log.push(text("a"));
        let early = tokio::spawn(all(log.follow(0)));
        log.push(text("b"));
        log.push(finished());
        let early = early.await.unwrap();
        assert_eq!(early, all(log.follow(0)).await);
        let numbers = early.iter().map(|next| match next {
            Next::Event(event) => event.number,
            Next::Cut(_) => 0,
        });
        assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(all(log.follow(2)).await.len(), 1);
        assert_eq!(log.readers(), 0);
    }

    #[tokio::test]
    async fn what_is_behind_a_number_has_its_own_numbers() {
        let log = Log::new();
        ["a", "b", "c"]
            .iter()
            .for_each(|delta| log.push(text(delta)));
        let counted = |(first, events): (u64, Vec<Arc<RunEvent>>)| (first, events.len());
        assert_eq!(counted(log.events_after(1)), (2, 2));
        assert_eq!(counted(log.events_after(3)), (4, 0));
        // As one that begins to follow a run of another gateway late.
        let late = Log::new();
        late.push(text("a"));
        late.skip(7);
        late.push(text("h"));
        assert_eq!((late.cut(), log.cut()), (7, 0));
        assert_eq!(counted(late.events_after(1)), (8, 1));
        late.close();
        let seen = all(late.follow(0)).await;
        assert_eq!(seen[1], Next::Cut(6));
        assert!(matches!(&seen[2], Next::Event(event) if event.number == 8));
        assert_eq!(seen.len(), 3);
    }

    #[tokio::test]
    async fn what_is_kept_is_bounded_and_the_gap_is_reported() {
        let log = Log::new();
        (0..EVENTS_MOST + 10).for_each(|n| log.push(text(&n.to_string())));
        log.push(finished());
        let events = all(log.follow(0)).await;
        assert!(matches!(&events[0], Next::Event(first) if *first.event == text("0")));
        assert_eq!(events[1], Next::Cut(11));
        assert!(matches!(&events[2], Next::Event(e) if e.number == 13 && *e.event == text("12")));
        assert_eq!(events.len(), EVENTS_MOST + 1);
    }
}
