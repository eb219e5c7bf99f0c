//! What of the tokens was not told before.

use std::collections::HashSet;

use siglum_domain::fold::{MessageView, TurnView};
use siglum_domain::observation::Tokens;

/// The messages of a turn that have not been told yet, each with the tokens that were not.
///
/// A message that was told by another source before, and counts under another name now, is new as a message, but its
/// tokens are not: the sum of what is told is what counts at the end. A message that was told while it grew is told
/// again with what it grew by.
pub(super) fn untold<'a>(before: &TurnView, now: &'a TurnView) -> Vec<(&'a MessageView, News)> {
    let told: HashSet<&str> = before.messages.iter().map(|m| m.event.as_str()).collect();
    let stays: HashSet<&str> = now.messages.iter().map(|m| m.event.as_str()).collect();
    let gone = before.messages.iter();
    let mut covered = Tokens::default();
    gone.filter(|m| !stays.contains(m.event.as_str()))
        .for_each(|m| covered += m.tokens);
    let mut news = Vec::new();
    for message in &now.messages {
        let (is_new, counted) = match told.contains(message.event.as_str()) {
            false => (true, message.tokens),
            true => {
                let old = before.messages.iter().find(|m| m.event == message.event);
                let old = old.map_or(Tokens::default(), |m| m.tokens);
                (false, rest(message.tokens, old))
            }
        };
        let tokens = rest(counted, covered);
        covered = rest(covered, counted);
        let was_covered = tokens == Tokens::default() && counted != Tokens::default();
        match is_new {
            true if was_covered && message.parts.is_empty() => {}
            true => news.push((message, News::Whole(tokens))),
            false if tokens == Tokens::default() => {}
            false => news.push((message, News::Growth(tokens))),
        }
    }
    news
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

/// What is left of tokens, kind by kind.
fn rest(all: Tokens, told: Tokens) -> Tokens {
    Tokens {
        input: all.input.saturating_sub(told.input),
        output: all.output.saturating_sub(told.output),
        cache_read: all.cache_read.saturating_sub(told.cache_read),
        cache_write: all.cache_write.saturating_sub(told.cache_write),
    }
}
