//! What of the messages of a session, and of their tokens, was not told before.

use std::collections::HashMap;

use siglum_domain::TurnId;
use siglum_domain::fold::{self, Entry, MessageView};
use siglum_domain::observation::Tokens;

/// A message that has not been told yet, or not with all of its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexported {
    pub turn: Option<TurnId>,
    pub(super) message: MessageView,
    pub(super) news: News,
}

/// What is new of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// All of it, and of its tokens these.
    Whole(Tokens),
    /// That it grew by these.
    Growth(Tokens),
}

impl News {
    pub(super) const fn tokens(self) -> Tokens {
        match self {
            Self::Whole(tokens) | Self::Growth(tokens) => tokens,
        }
    }
}

/// The messages of a session that have not been told yet: of all that was sealed of them, in order, what came up to
/// `exported` was told before. Sources may tell of one message in different turns, so the whole session counts.
///
/// A message that another source told before, and that counts under another name now, is new as a message, but its
/// tokens are not: the sum of what is told is what counts at the end. A message that was told while it grew is told
/// again with what it grew by.
#[must_use]
pub fn unexported(messages: &[Entry], exported: u64) -> Vec<Unexported> {
    let split = messages.partition_point(|e| e.sequence <= exported);
    let (old, _) = messages.split_at(split);
    let mut before = Before::from_entries(old);
    let mut now = placed(messages);
    now.sort_by(|(_, a), (_, b)| (a.at, &a.event).cmp(&(b.at, &b.event)));
    let known: Vec<_> = now.iter().map(|(_, m)| before.take(m)).collect();
    // What is left of them is not counted any more, under any name that is shared.
    let mut covered = before.rest();
    let mut all = Vec::new();
    for ((turn, message), known) in now.into_iter().zip(known) {
        let counted = rest(message.tokens, known.unwrap_or_default());
        let tokens = rest(counted, covered);
        covered = rest(covered, counted);
        let is_covered = tokens == Tokens::default() && counted != Tokens::default();
        let news = match known {
            None if is_covered && message.parts.is_empty() => continue,
            None => News::Whole(tokens),
            Some(_) if tokens == Tokens::default() => continue,
            Some(_) => News::Growth(tokens),
        };
        all.push(Unexported {
            turn,
            message,
            news,
        });
    }
    all
}

/// The messages as they count, each with its turn.
fn placed(entries: &[Entry]) -> Vec<(Option<TurnId>, MessageView)> {
    let turns = fold::session(entries).turns.into_iter();
    let own = |turn: fold::TurnView| turn.messages.into_iter().map(move |m| (turn.id, m));
    turns.flat_map(own).collect()
}

/// What was told before, by the names of messages.
struct Before {
    /// The message that an event is; none for one that did not count, though it may have done so earlier.
    events: HashMap<String, Option<usize>>,
    tokens: Vec<Option<Tokens>>,
}

impl Before {
    fn from_entries(entries: &[Entry]) -> Self {
        let names = entries.iter().map(|e| (e.observation.event.clone(), None));
        let (mut events, mut tokens): (HashMap<_, _>, Vec<_>) = (names.collect(), Vec::new());
        for (number, (_, message)) in placed(entries).into_iter().enumerate() {
            tokens.push(Some(message.tokens));
            let names = message.events.into_iter();
            events.extend(names.map(|event| (event, Some(number))));
        }
        Self { events, tokens }
    }

    /// The tokens that were told of this message, if it was told: as one, or as several, before it was known that they
    /// are one.
    fn take(&mut self, message: &MessageView) -> Option<Tokens> {
        let mut sum = None;
        for event in &message.events {
            let Some(number) = self.events.get(event) else {
                continue;
            };
            let exported = number.and_then(|n| self.tokens.get_mut(n)?.take());
            *sum.get_or_insert_with(Tokens::default) += exported.unwrap_or_default();
        }
        sum
    }

    fn rest(self) -> Tokens {
        let mut rest = Tokens::default();
        self.tokens.into_iter().flatten().for_each(|t| rest += t);
        rest
    }
}

/// What is left of tokens, kind by kind.
fn rest(all: Tokens, part: Tokens) -> Tokens {
    Tokens {
        input: all.input.saturating_sub(part.input),
        output: all.output.saturating_sub(part.output),
        cache_read: all.cache_read.saturating_sub(part.cache_read),
        cache_write: all.cache_write.saturating_sub(part.cache_write),
    }
}
