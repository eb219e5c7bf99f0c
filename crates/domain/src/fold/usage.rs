//! What each message of a session cost, counted once whatever reports it.
//!
//! Sightings are of one message where they name the same event or the same request of the provider. Of all that is
//! said of a message one source counts: the transcript, else telemetry, else a hook, else a driver; within that source
//! the largest count stands, since a message is reported while it grows. Telemetry of a message that no other source
//! has is counted, unless another source may have told the same message under another name: where both name their
//! requests, different names are different messages; where one does not, nobody can tell, and telemetry is left out
//! wherever another source told of the same turn. Nothing here depends on order or repetition.

use std::collections::{BTreeMap, BTreeSet};

use super::Entry;
use crate::id::TurnId;
use crate::observation::{Fact, Observation, Source, Tokens};
use crate::time::Timestamp;

/// Records of a cost that are not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Records {
    pub count: u64,
    /// What they would add to a plain sum.
    pub tokens: Tokens,
}

impl std::ops::AddAssign for Records {
    fn add_assign(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.tokens += other.tokens;
    }
}

/// What one message cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The event, by the name that the source has for it that counts.
    pub event: String,
    /// The provider's id of its request, where a source tells.
    pub request: Option<String>,
    pub turn: Option<TurnId>,
    /// When it was seen first.
    pub at: Timestamp,
    pub model: Option<String>,
    pub subagent: Option<String>,
    /// The branch that was checked out, where the same source told before.
    pub branch: Option<String>,
    /// The source that counts.
    pub source: Source,
    /// What is counted; nothing where another message of the session is this one under another name.
    pub tokens: Tokens,
    /// What the same source said of it besides.
    pub repeated: Records,
    /// What other sources said of it.
    pub retold: Records,
}

impl Usage {
    /// What all records of it add up to.
    #[must_use]
    pub fn plain(&self) -> Tokens {
        let mut sum = self.tokens;
        sum += self.repeated.tokens;
        sum += self.retold.tokens;
        sum
    }

    /// Whether it is counted.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.tokens != Tokens::default()
    }
}

/// What each message of a session cost, by event. Messages without a cost are left out.
#[must_use]
pub fn usage(entries: &[Entry]) -> Vec<Usage> {
    let entries: Vec<&Entry> = entries.iter().collect();
    let branches = branches(&entries);
    let mut usage = Joined::from_entries(&entries).into_usage();
    for message in &mut usage {
        let until = (message.subagent.as_deref(), message.at);
        let last = branches.range(..=until).next_back();
        let own = last.filter(|((subagent, _), _)| *subagent == until.0);
        let branch = own.map(|(_, name)| (*name).to_owned());
        message.branch = branch;
    }
    usage
}

/// The branches that were seen, by whose checkout it was and when.
fn branches<'e>(entries: &[&'e Entry]) -> BTreeMap<(Option<&'e str>, Timestamp), &'e str> {
    let mut branches: BTreeMap<_, &str> = BTreeMap::new();
    for o in entries.iter().map(|e| &e.observation) {
        if let Fact::BranchSeen { name } = &o.fact {
            let seen = branches
                .entry((o.subagent.as_deref(), o.at))
                .or_insert(name);
            *seen = (*seen).min(name);
        }
    }
    branches
}

/// The messages of a session, joined.
pub(super) struct Joined {
    /// For each event of a message: which message it is of.
    of_event: BTreeMap<String, usize>,
    messages: Vec<Message>,
}

struct Message {
    /// What the sources call it, and where they place it.
    place: Place,
    usage: Option<Usage>,
    counts: bool,
}

/// Where a message is told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) event: String,
    pub(super) turn: Option<TurnId>,
}

impl Joined {
    pub(super) fn from_entries(entries: &[&Entry]) -> Self {
        let groups = groups(entries);
        let mut of_event = BTreeMap::new();
        let mut messages = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            for entry in group {
                of_event.insert(entry.observation.event.clone(), number);
            }
            messages.push(Message {
                place: place(group),
                usage: cost(group),
                counts: true,
            });
        }
        settle(&mut messages);
        Self { of_event, messages }
    }

    /// The message that an event is of, if it is shown as one; not if it is another one under a second name.
    pub(super) fn place(&self, event: &str) -> Option<&Place> {
        let message = &self.messages[*self.of_event.get(event)?];
        message.counts.then_some(&message.place)
    }

    /// What is counted of the message that an event is of.
    pub(super) fn tokens(&self, event: &str) -> Tokens {
        let message = self.of_event.get(event).map(|n| &self.messages[*n]);
        let usage = message.and_then(|m| m.usage.as_ref());
        usage.map_or(Tokens::default(), |usage| usage.tokens)
    }

    fn into_usage(self) -> Vec<Usage> {
        let mut usage: Vec<Usage> = self.messages.into_iter().filter_map(|m| m.usage).collect();
        usage.sort_by(|a, b| (a.at, &a.event).cmp(&(b.at, &b.event)));
        usage
    }
}

fn request(o: &Observation) -> Option<&str> {
    match &o.fact {
        Fact::Message { request, .. } => request.as_deref(),
        _ => None,
    }
}

fn tokens(o: &Observation) -> Option<Tokens> {
    match &o.fact {
        Fact::Message { tokens, .. } => tokens.filter(|t| *t != Tokens::default()),
        _ => None,
    }
}

/// The sightings of each message, each once.
fn groups<'e>(entries: &[&'e Entry]) -> Vec<Vec<&'e Entry>> {
    let mut sightings: BTreeMap<(Source, &str), &'e Entry> = BTreeMap::new();
    for entry in entries {
        let o = &entry.observation;
        if matches!(o.fact, Fact::Message { .. }) {
            sightings.insert((o.source, &o.key), entry);
        }
    }
    // Events of one request are one message, and requests of one event.
    let mut events: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut requests: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for entry in sightings.values() {
        let o = &entry.observation;
        let named = events.entry(&o.event).or_default();
        if let Some(request) = request(o) {
            named.insert(request);
            requests.entry(request).or_default().insert(&o.event);
        }
    }
    let mut group_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups = 0;
    for event in events.keys() {
        if group_of.contains_key(event) {
            continue;
        }
        let mut reached = vec![*event];
        while let Some(event) = reached.pop() {
            if group_of.insert(event, groups).is_none() {
                let named = events[event].iter().flat_map(|r| &requests[r]);
                reached.extend(named.copied());
            }
        }
        groups += 1;
    }
    let mut found = vec![Vec::new(); groups];
    for entry in sightings.into_values() {
        found[group_of[entry.observation.event.as_str()]].push(entry);
    }
    found
}

/// How much a source counts for what a message cost; the least counts most.
const fn rank(source: Source) -> u8 {
    match source {
        Source::Transcript => 0,
        Source::Telemetry => 1,
        Source::Hook => 2,
        Source::Api => 3,
        Source::Siglum => 4,
    }
}

/// What the source that counts most calls a message, in the turn that it names, or else another one does.
fn place(group: &[&Entry]) -> Place {
    let order = |e: &&&Entry| {
        let o = &e.observation;
        (rank(o.source), tokens(o).is_none(), o.at, o.key.clone())
    };
    let best = group.iter().min_by_key(order);
    let placed = group.iter().filter(|e| e.turn.is_some()).min_by_key(order);
    Place {
        event: best.map_or_else(String::new, |e| e.observation.event.clone()),
        turn: placed.and_then(|e| e.turn),
    }
}

fn largest(a: Tokens, b: Tokens) -> Tokens {
    Tokens {
        input: a.input.max(b.input),
        output: a.output.max(b.output),
        cache_read: a.cache_read.max(b.cache_read),
        cache_write: a.cache_write.max(b.cache_write),
    }
}

fn cost(group: &[&Entry]) -> Option<Usage> {
    let costs = group
        .iter()
        .filter_map(|e| Some((&e.observation, tokens(&e.observation)?)));
    let source = costs
        .clone()
        .map(|(o, _)| o.source)
        .min_by_key(|s| rank(*s))?;
    let (mut counted, mut own, mut retold) =
        (Tokens::default(), Records::default(), Records::default());
    for (o, tokens) in costs {
        let one = Records { count: 1, tokens };
        if o.source == source {
            counted = largest(counted, tokens);
            own += one;
        } else {
            retold += one;
        }
    }
    let mut ranked: Vec<&Observation> = group.iter().map(|e| &e.observation).collect();
    ranked.sort_by_key(|o| (rank(o.source), o.at, &o.key));
    let Place { event, turn } = place(group);
    Some(Usage {
        event,
        request: ranked.iter().find_map(|o| request(o)).map(str::to_owned),
        turn,
        at: ranked.iter().map(|o| o.at).min()?,
        model: ranked.iter().find_map(|o| model(o)).map(str::to_owned),
        subagent: ranked.iter().find_map(|o| o.subagent.clone()),
        branch: None,
        source,
        tokens: counted,
        repeated: Records {
            count: own.count.saturating_sub(1),
            tokens: less(own.tokens, counted),
        },
        retold,
    })
}

fn model(o: &Observation) -> Option<&str> {
    match &o.fact {
        Fact::Message { model, .. } => model.as_deref(),
        _ => None,
    }
}

fn less(a: Tokens, b: Tokens) -> Tokens {
    Tokens {
        input: a.input.saturating_sub(b.input),
        output: a.output.saturating_sub(b.output),
        cache_read: a.cache_read.saturating_sub(b.cache_read),
        cache_write: a.cache_write.saturating_sub(b.cache_write),
    }
}

/// Lets go of what only telemetry has and another source may have told under another name.
fn settle(messages: &mut [Message]) {
    let lonely = |u: &Usage| u.source == Source::Telemetry && u.retold.count == 0;
    let others: Vec<(Option<TurnId>, bool)> = messages
        .iter()
        .filter_map(|m| m.usage.as_ref())
        .filter(|u| !lonely(u))
        .map(|u| (u.turn, u.request.is_some()))
        .collect();
    for message in messages {
        let Some(usage) = message.usage.as_mut().filter(|u| lonely(u)) else {
            continue;
        };
        let same = |(turn, named): &(Option<TurnId>, bool)| {
            let near = *turn == usage.turn || turn.is_none() || usage.turn.is_none();
            near && !(*named && usage.request.is_some())
        };
        if others.iter().any(same) {
            message.counts = false;
            usage.retold = Records {
                count: usage.repeated.count.saturating_add(1),
                tokens: usage.plain(),
            };
            usage.repeated = Records::default();
            usage.tokens = Tokens::default();
        }
    }
}

#[cfg(test)]
mod tests;
