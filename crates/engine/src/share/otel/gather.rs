//! What the ledger knows of a turn, for whoever makes spans of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use siglum_domain::fold::Entry;
use siglum_domain::observation::Fact;
use siglum_domain::trace::TraceParent;
use siglum_domain::{SessionId, TurnId};
use siglum_ledger::{
    CheckpointFilter, LedgerError, Relation, SessionRecord, Transaction, TurnRecord,
};
use siglum_telemetry::outward::{
    self, Linked, Origin, SessionMoment, Subject, TurnPart, Unexported, Why,
};

use crate::identity::{names, statements};

/// How many checkpoints of a session are looked at, the newest ones.
const CHECKPOINTS: usize = 1_000;

/// What is to be told of a session.
pub(super) struct Gathered {
    pub(super) subject: Subject,
    pub(super) parts: Vec<TurnPart>,
    pub(super) moments: Vec<SessionMoment>,
}

/// Gathers what is told of these new entries, all of them sealed. What came before `exported` was told before.
pub(super) fn gather(
    tx: &mut dyn Transaction,
    name: &str,
    record: &SessionRecord,
    exported: u64,
    new: &[Entry],
) -> Result<Gathered, LedgerError> {
    let subject = subject(tx, name, record)?;
    let last = new.last().map_or(exported, |e| e.sequence);
    let turns = tx.turns_of(record.id)?;
    let parents = parents(tx, record.id, last)?;
    let messages = tx.entries_of_kind(record.id, "message", last)?;
    let mut unexported: BTreeMap<TurnId, Vec<Unexported>> = BTreeMap::new();
    for message in outward::unexported(&messages, exported) {
        if let Some(turn) = message.turn {
            unexported.entry(turn).or_default().push(message);
        }
    }
    let mut touched: BTreeSet<TurnId> = new.iter().filter_map(|e| e.turn).collect();
    touched.extend(unexported.keys());
    let checkpoints = tx.checkpoints(&CheckpointFilter::of_session(record.id, CHECKPOINTS))?;
    let mut parts = Vec::new();
    for (index, turn) in turns
        .iter()
        .enumerate()
        .filter(|(_, t)| touched.contains(&t.id))
    {
        let entries = tx.entries_of_turn(record.id, turn.id, last)?;
        let begins = entries.first().map_or(0, |e| e.sequence);
        let ends = entries.last().map_or(0, |e| e.sequence);
        let pins = |at: &u64| (begins..=ends).contains(at);
        let pinned = checkpoints.iter().rev().filter(|c| {
            let mut own = c.pins.iter().filter(|(session, _)| *session == record.id);
            own.any(|(_, at)| pins(at))
        });
        parts.push(TurnPart {
            id: turn.id,
            index: index as u64,
            parent: parents.get(&turn.id).copied(),
            links: links(tx, name, record, (&turns, index), &parents)?,
            checkpoints: pinned.map(|c| (c.id, c.commit.clone())).collect(),
            messages: unexported.remove(&turn.id).unwrap_or_default(),
            entries,
            exported,
        });
    }
    let mut moments = moments(record.id, &parts, new);
    let first = new.first().map_or(u64::MAX, |e| e.sequence);
    for checkpoint in checkpoints.iter().rev() {
        let mut own = checkpoint.pins.iter().filter(|(s, _)| *s == record.id);
        if own.any(|(_, at)| (first..=last).contains(at)) {
            let commit = checkpoint.commit.as_ref();
            moments.push(SessionMoment::checkpoint(
                checkpoint.id,
                commit,
                checkpoint.at,
            ));
        }
    }
    Ok(Gathered {
        subject,
        parts,
        moments,
    })
}

/// Who was tracing when turns were asked for, where anybody was. Of several, the first one counts.
fn parents(
    tx: &mut dyn Transaction,
    session: SessionId,
    until: u64,
) -> Result<BTreeMap<TurnId, TraceParent>, LedgerError> {
    let mut parents = BTreeMap::new();
    for entry in tx.entries_of_kind(session, "traced", until)? {
        if let (Some(turn), Fact::Traced { parent }) = (entry.turn, entry.observation.fact) {
            parents.entry(turn).or_insert(parent);
        }
    }
    Ok(parents)
}

fn subject(
    tx: &mut dyn Transaction,
    name: &str,
    record: &SessionRecord,
) -> Result<Subject, LedgerError> {
    let natives = tx.aliases(record.id)?;
    let before = match natives.len() {
        0 | 1 => None,
        many => natives.get(many - 2).map(ToString::to_string),
    };
    let previous = match record.parent {
        Some((parent, Relation::Fork | Relation::Rewind | Relation::Clear)) => {
            let parent = match tx.in_scope(name, parent)? {
                true => tx.session(parent)?,
                false => None,
            };
            parent.map(|p| p.conversation.as_str().to_owned())
        }
        _ => before,
    };
    // Whoever goes back stays in the conversation.
    let previous = previous.filter(|previous| previous != record.conversation.as_str());
    let repositories = match record.repository {
        Some(_) => tx.repositories()?,
        None => Vec::new(),
    };
    let mine = repositories
        .iter()
        .find(|r| Some(r.id) == record.repository);
    let remotes = mine
        .filter(|r| r.is_here())
        .map(|r| siglum_gitstore::remotes(Path::new(&r.common_dir)));
    let remote = remotes.and_then(|all| all.into_iter().next());
    let stated = tx.statements_of_session(record.id)?;
    let mut links = statements::links(&stated);
    links.retain(|link| !names::is_by_agent(link, &stated));
    Ok(Subject {
        session: record.id,
        conversation: record.conversation.clone(),
        agent: record.agent.clone(),
        natives,
        previous,
        repository: remote.as_deref().map(without_credentials),
        links,
    })
}

/// The address of a repository, as it may be shown: who may read it is nobody's business.
fn without_credentials(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return address.to_owned();
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}

/// The traces that a turn points to: that of the turn before it, or that which its session was copied after.
fn links(
    tx: &mut dyn Transaction,
    name: &str,
    record: &SessionRecord,
    (turns, index): (&[TurnRecord], usize),
    parents: &BTreeMap<TurnId, TraceParent>,
) -> Result<Vec<Linked>, LedgerError> {
    let before = index.checked_sub(1).and_then(|before| turns.get(before));
    if let Some(before) = before {
        let origin = Origin::new(record.id, before.id, parents.get(&before.id).copied());
        let why = Why::Previous;
        return Ok(vec![Linked { origin, why }]);
    }
    let (parent, why) = match record.parent {
        Some((parent, Relation::Fork)) => (parent, Why::Fork),
        Some((parent, Relation::Rewind)) => (parent, Why::Rewind),
        _ => return Ok(Vec::new()),
    };
    if !tx.in_scope(name, parent)? {
        return Ok(Vec::new());
    }
    let Some(source) = source(tx, parent, record)? else {
        return Ok(Vec::new());
    };
    let source_parents = self::parents(tx, parent, u64::MAX >> 1)?;
    let origin = Origin::new(parent, source, source_parents.get(&source).copied());
    Ok(vec![Linked { origin, why }])
}

/// The turn of the other session that this one goes on from.
fn source(
    tx: &mut dyn Transaction,
    parent: SessionId,
    record: &SessionRecord,
) -> Result<Option<TurnId>, LedgerError> {
    if let Some(at) = record.parent_at {
        let entry = tx.entries(parent, at.saturating_sub(1), 1)?;
        return Ok(entry.first().and_then(|e| e.turn));
    }
    // Nobody said where: it is what was last begun before.
    let turns = tx.turns_of(parent)?;
    let before = turns
        .iter()
        .rev()
        .find(|t| t.opened_at <= record.created_at);
    Ok(before.map(|turn| turn.id))
}

fn moments(session: SessionId, parts: &[TurnPart], new: &[Entry]) -> Vec<SessionMoment> {
    let origin = |turn: TurnId| {
        let part = parts.iter().find(|part| part.id == turn)?;
        Some(Origin::new(session, turn, part.parent))
    };
    let moment = |e: &Entry| SessionMoment::from_entry(e, e.turn.and_then(origin));
    new.iter().filter_map(moment).collect()
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn an_address_is_shown_without_whoever_may_read_it() {
        for (address, shown) in [
            (
                "https://me:secret@host.example/a/b.git",
                "https://host.example/a/b.git",
            ),
            (
                "https://token@host.example/a?key=secret#x",
                "https://host.example/a",
            ),
            ("https://host.example/a", "https://host.example/a"),
            ("git@host.example:a/b.git", "git@host.example:a/b.git"),
            ("/srv/a.git", "/srv/a.git"),
        ] {
            assert_eq!(without_credentials(address), shown);
        }
    }
}
