//! Which links stood when a turn ran.
//!
//! A turn runs from its first message until the next one begins, so that what is stated right after a turn counts for
//! it. A link stands from its attachment until it is detached. Before the first link of its kind was attached nobody
//! had said anything else: that one stands from the beginning. Links that were all attached after the last message, of
//! a session that was imported, say, speak of all of it.

use std::collections::BTreeMap;

use siglum_domain::fold::Usage;
use siglum_domain::link::Link;
use siglum_domain::{Timestamp, TurnId};
use siglum_ledger::{Statement, StatementRecord};

/// A time from its start to before its end; open where one is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: Option<Timestamp>,
    pub(super) until: Option<Timestamp>,
}

impl Span {
    /// Whether both have a moment in common.
    fn meets(self, other: Self) -> bool {
        let before = |end: Option<Timestamp>, start: Option<Timestamp>| {
            end.zip(start).is_some_and(|(end, start)| end <= start)
        };
        !before(self.until, other.from) && !before(other.until, self.from)
    }
}

/// A link, and when it stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) link: Link,
    pub(super) span: Span,
}

/// When each link of a session stood, whose last message is of this time.
pub(super) fn spans(statements: &[StatementRecord], last: Option<Timestamp>) -> Vec<Standing> {
    let mut ordered: Vec<&StatementRecord> = statements.iter().collect();
    ordered.sort_by_key(|s| (s.at, s.ledger, s.sequence));
    let mut found: Vec<Standing> = Vec::new();
    for record in ordered {
        let open = |found: &[Standing], link: &Link| {
            let is_open = |s: &Standing| s.link == *link && s.span.until.is_none();
            found.iter().position(is_open)
        };
        match &record.statement {
            Statement::LinkAttached { link, .. } if open(&found, link).is_none() => {
                let span = Span {
                    from: Some(record.at),
                    until: None,
                };
                let link = link.clone();
                found.push(Standing { link, span });
            }
            Statement::LinkDetached { link, .. } => {
                if let Some(at) = open(&found, link) {
                    found[at].span.until = Some(record.at);
                }
            }
            _ => {}
        }
    }
    let mut first: BTreeMap<String, Option<Timestamp>> = BTreeMap::new();
    for standing in &found {
        let first = first
            .entry(kind(&standing.link))
            .or_insert(standing.span.from);
        *first = (*first).min(standing.span.from);
    }
    for standing in &mut found {
        let first = first.get(&kind(&standing.link)).copied().flatten();
        let after_all = first > last;
        if after_all || standing.span.from == first {
            standing.span.from = None;
        }
    }
    found
}

/// What a link says something of: of labels, each key by itself.
fn kind(link: &Link) -> String {
    match link {
        Link::Label { key, .. } => format!("label {key}"),
        other => other.field().to_owned(),
    }
}

/// When each turn ran.
pub(super) fn turns<'u>(usages: impl Iterator<Item = &'u Usage>) -> super::Turns {
    let mut began: BTreeMap<TurnId, Timestamp> = BTreeMap::new();
    for usage in usages {
        if let Some(turn) = usage.turn {
            let first = began.entry(turn).or_insert(usage.at);
            *first = (*first).min(usage.at);
        }
    }
    let mut starts: Vec<Timestamp> = began.values().copied().collect();
    starts.sort();
    let next = |at: Timestamp| starts.iter().find(|start| **start > at).copied();
    let span = |at: Timestamp| Span {
        from: Some(at),
        until: next(at),
    };
    began
        .into_iter()
        .map(|(turn, at)| (turn, span(at)))
        .collect()
}

/// The links that stood when a message was written: of its turn, or, outside any, at its own moment.
pub(super) fn standing<'s>(
    standing: &'s [Standing],
    turns: &super::Turns,
    usage: &Usage,
) -> impl Iterator<Item = &'s Link> {
    let moment = Span {
        from: Some(usage.at),
        until: Some(Timestamp::from_nanos(usage.at.nanos().saturating_add(1))),
    };
    let ran = usage.turn.and_then(|turn| turns.get(&turn).copied());
    let ran = ran.unwrap_or(moment);
    let stood = standing.iter().filter(move |s| s.span.meets(ran));
    stood.map(|s| &s.link)
}
