//! What is seen from a context: what was said in it, and what it has of the one that it came from.

use std::collections::HashMap;

use siglum_domain::context::{ContextKey, Inherit};
use siglum_domain::fold::Entry;
use siglum_domain::observation::Fact;
use siglum_domain::{SessionId, Timestamp, TurnId};
use siglum_ledger::{ContextRecord, ContextTurn, ContextTurnKind, Transaction};

use super::{ContextError, Spoken};
use crate::driven::turn::between;

/// How many contexts are followed, from one to the one that it came from.
const DEEP: usize = 64;
/// How many entries are read first, from the end, and at once at most: each page is twice as large as the one before.
const FIRST_PAGE: u64 = 32;
const PAGE_MOST: u64 = 512;
/// What it takes to hand over a message beside its text, in tokens.
pub(super) const EACH: u64 = 4;
/// How many bytes a token is taken to have.
const BYTES: u64 = 4;

/// The kind of the fact that the context was compacted.
const COMPACTED: &str = "compacted";

/// Where a message that is seen stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In the context itself.
    Own,
    /// In another one, from which this one has it.
    Inherited {
        from: ContextKey,
    },
    /// It is what is left of what was said before.
    Summary {
        /// The context that was compacted.
        of: ContextKey,
    },
    Open,
}

/// One message as it is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub spoken: Spoken,
    pub origin: Origin,
    /// The session in whose log it stands.
    pub session: SessionId,
    /// Its place there; 0 in a turn that is open.
    pub sequence: u64,
    pub turn: Option<TurnId>,
    pub at: Timestamp,
    pub kind: ContextTurnKind,
}

impl Seen {
    const fn is_spoken(&self) -> bool {
        !matches!(self.spoken, Spoken::Call { .. } | Spoken::Result { .. })
    }
}

/// Whether what heartbeats said is seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Heartbeats {
    /// As everything else.
    #[default]
    Seen,
    /// As if there had been none.
    LeftOut,
}

/// What becomes of a gap that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Gaps {
    /// Nothing is seen of a context that has one.
    #[default]
    Refused,
    /// The caller goes on with it.
    Accepted,
}

/// What to look for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) heartbeats: Heartbeats,
    pub(super) gaps: Gaps,
    /// Whether what was compacted is seen, too.
    pub(super) past: Past,
    pub(super) most: Most,
}

/// Where to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Past {
    /// With what the last compaction left.
    Compacted,
    /// With the first message.
    Whole,
}

/// How much of the end is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Most {
    All,
    Messages(usize),
    /// What has so many tokens, as they are estimated, or a little more.
    Tokens(u64),
}

/// Estimates the tokens of a text: one for four bytes.
#[must_use]
pub const fn tokens(text: &str) -> u64 {
    (text.len() as u64).div_ceil(BYTES)
}

/// What a message takes of a budget.
pub(super) fn cost(seen: &Seen) -> u64 {
    let tool = match &seen.spoken {
        Spoken::Call { id, tool, .. } | Spoken::Result { id, tool, .. } => {
            tokens(id) + tokens(tool)
        }
        _ => 0,
    };
    EACH + tool + tokens(seen.spoken.text())
}

impl Most {
    fn reached(self, seen: &[Seen]) -> bool {
        match self {
            Self::All => false,
            Self::Messages(most) => spoken(seen) >= most,
            Self::Tokens(most) => seen.iter().map(cost).sum::<u64>() >= most,
        }
    }

    fn after(self, seen: &[Seen]) -> Self {
        match self {
            Self::All => Self::All,
            Self::Messages(most) => Self::Messages(most.saturating_sub(spoken(seen))),
            Self::Tokens(most) => {
                let has: u64 = seen.iter().map(cost).sum();
                Self::Tokens(most.saturating_sub(has))
            }
        }
    }
}

fn spoken(seen: &[Seen]) -> usize {
    seen.iter().filter(|seen| seen.is_spoken()).count()
}

type Outcome<T> = Result<T, ContextError>;

/// What is seen from a context up to a sequence of its log.
pub(super) fn view(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    until: u64,
    look: Look,
) -> Outcome<Vec<Seen>> {
    deeper(tx, context, until, look, 0)
}

fn deeper(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    until: u64,
    look: Look,
    depth: usize,
) -> Outcome<Vec<Seen>> {
    sound(tx, context, look.gaps)?;
    let compaction = match look.past {
        Past::Compacted => tx.last_of_kind(context.session, COMPACTED, until)?,
        Past::Whole => None,
    };
    let first = compaction.map_or(1, |at| at + 1);
    let mut own = own(tx, context, (first, until), look)?;
    if look.most.reached(&own) || depth >= DEEP {
        return Ok(own);
    }
    let rest = Look {
        most: look.most.after(&own),
        ..look
    };
    let mut seen = match compaction {
        Some(at) => left_by(tx, context, at, rest, depth)?,
        None => inherited(tx, context, rest, depth)?,
    };
    seen.append(&mut own);
    Ok(seen)
}

/// Refuses a context that has a gap nobody accepted.
pub(super) fn sound(tx: &mut dyn Transaction, context: &ContextRecord, gaps: Gaps) -> Outcome<()> {
    if gaps == Gaps::Accepted {
        return Ok(());
    }
    let open = tx.context_gaps(&context.key)?;
    match open.into_iter().find(siglum_ledger::ContextGap::is_open) {
        None => Ok(()),
        Some(gap) => Err(ContextError::Gap {
            context: gap.context,
            first: gap.first,
            last: gap.last,
            reason: gap.reason,
        }),
    }
}

/// The summary of a compaction, and the messages that it kept.
fn left_by(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    at: u64,
    look: Look,
    depth: usize,
) -> Outcome<Vec<Seen>> {
    let entries = between(tx, context.session, at, at)?;
    let turns = tx.context_turns(&context.key, at - 1)?;
    let keep = match turns.first().map(|turn| turn.kind) {
        Some(ContextTurnKind::Compaction { keep }) => keep as usize,
        _ => 0,
    };
    let mut seen: Vec<Seen> = entries.iter().filter_map(|e| summary(context, e)).collect();
    if keep > 0 {
        let most = Most::Messages(keep);
        let before = Look { most, ..look };
        // A tail ends where the compaction stands, and never begins with what it left itself.
        let kept = deeper(tx, context, at - 1, before, depth + 1)?;
        seen.extend(tail(kept, keep));
    }
    Ok(seen)
}

fn summary(context: &ContextRecord, entry: &Entry) -> Option<Seen> {
    let Fact::Compacted {
        summary: Some(text),
        ..
    } = &entry.observation.fact
    else {
        return None;
    };
    Some(Seen {
        spoken: Spoken::System {
            text: text.text().unwrap_or_default().to_owned(),
        },
        origin: Origin::Summary {
            of: context.key.clone(),
        },
        session: context.session,
        sequence: entry.sequence,
        turn: entry.turn,
        at: entry.observation.at,
        kind: ContextTurnKind::Compaction { keep: 0 },
    })
}

/// The last messages, so many; what tools said counts with the message before it.
pub(super) fn tail(mut seen: Vec<Seen>, most: usize) -> Vec<Seen> {
    let mut left = spoken(&seen).saturating_sub(most);
    let first = seen.iter().position(|seen| {
        if seen.is_spoken() && left > 0 {
            left -= 1;
            return false;
        }
        left == 0 && seen.is_spoken()
    });
    match first {
        Some(first) => seen.split_off(first),
        None => Vec::new(),
    }
}

/// What a context has of the one that it came from.
fn inherited(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    look: Look,
    depth: usize,
) -> Outcome<Vec<Seen>> {
    let Some((parent, at)) = context
        .parent
        .as_ref()
        .filter(|_| context.inherit != Inherit::None)
    else {
        return Ok(Vec::new());
    };
    // One that was let go with its session: what it said is gone.
    let Some(parent) = tx.context(parent)? else {
        return Ok(Vec::new());
    };
    let mut seen = match context.inherit {
        Inherit::None => Vec::new(),
        Inherit::Summary => {
            let last = tx.last_of_kind(parent.session, COMPACTED, *at)?;
            let entries = match last {
                Some(at) => between(tx, parent.session, at, at)?,
                None => Vec::new(),
            };
            entries.iter().filter_map(|e| summary(&parent, e)).collect()
        }
        Inherit::Tail(most) => {
            let most = most as usize;
            let limit = match look.most {
                Most::Messages(fewer) => fewer.min(most),
                _ => most,
            };
            let of = Look {
                most: Most::Messages(limit),
                ..look
            };
            tail(deeper(tx, &parent, *at, of, depth + 1)?, most)
        }
        Inherit::All => deeper(tx, &parent, *at, look, depth + 1)?,
    };
    for seen in &mut seen {
        if seen.origin == Origin::Own {
            let from = parent.key.clone();
            seen.origin = Origin::Inherited { from };
        }
    }
    Ok(seen)
}

/// What was said in the context itself, from the end until enough is read, in the order of its host.
fn own(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    (first, until): (u64, u64),
    look: Look,
) -> Outcome<Vec<Seen>> {
    let mut pages: Vec<Vec<Seen>> = Vec::new();
    let mut turns: Vec<ContextTurn> = Vec::new();
    let mut last = until;
    let mut most = look.most;
    let mut page_size = match look.most {
        Most::All => PAGE_MOST,
        _ => FIRST_PAGE,
    };
    while last >= first && last > 0 && !most.reached(&[]) {
        let from = last.saturating_sub(page_size - 1).max(first);
        let entries = between(tx, context.session, from, last)?;
        let of: Vec<ContextTurn> = tx
            .context_turns(&context.key, from - 1)?
            .into_iter()
            .take_while(|turn| turn.log.0 <= last)
            .collect();
        let page = read(context, &entries, &of, look.heartbeats);
        most = most.after(&page);
        pages.push(page);
        turns.extend(of);
        last = from - 1;
        page_size = (page_size * 2).min(PAGE_MOST);
    }
    let seen: Vec<Seen> = pages.into_iter().rev().flatten().collect();
    Ok(ordered(seen, &turns))
}

fn read(
    context: &ContextRecord,
    entries: &[Entry],
    turns: &[ContextTurn],
    heartbeats: Heartbeats,
) -> Vec<Seen> {
    let seen = |entry: &Entry| {
        let is_in = |turn: &&ContextTurn| (turn.log.0..=turn.log.1).contains(&entry.sequence);
        let kind = turns.iter().find(is_in).map(|turn| turn.kind);
        let kind = kind.unwrap_or(ContextTurnKind::Asked);
        if kind == ContextTurnKind::Heartbeat && heartbeats == Heartbeats::LeftOut {
            return None;
        }
        Some(Seen {
            spoken: Spoken::from_observation(&entry.observation)?,
            origin: Origin::Own,
            session: context.session,
            sequence: entry.sequence,
            turn: entry.turn,
            at: entry.observation.at,
            kind,
        })
    };
    entries.iter().filter_map(seen).collect()
}

/// Brings turns that were handed over late to their place: those with a position are in the order of their positions,
/// and the others stay where they are.
fn ordered(seen: Vec<Seen>, turns: &[ContextTurn]) -> Vec<Seen> {
    let place: HashMap<TurnId, u64> = turns
        .iter()
        .filter_map(|turn| Some((turn.turn, turn.positions?.0)))
        .collect();
    let placed = |seen: &Seen| seen.turn.and_then(|turn| place.get(&turn).copied());
    let positions: Vec<u64> = seen.iter().filter_map(placed).collect();
    if positions.is_sorted() {
        return seen;
    }
    let mut sorted: Vec<Seen> = seen
        .iter()
        .filter(|s| placed(s).is_some())
        .cloned()
        .collect();
    sorted.sort_by_key(|seen| placed(seen));
    let mut sorted = sorted.into_iter();
    let next = |seen: Seen| match placed(&seen) {
        Some(_) => sorted.next().unwrap_or(seen),
        None => seen,
    };
    seen.into_iter().map(next).collect()
}
