//! One session's story: its turns, what was said and done in them, and the commits made of it.

use std::collections::BTreeMap;

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Verdict;
use siglum_domain::fold::{self, Entry, SessionView, TurnView};
use siglum_domain::link::Link;
use siglum_domain::observation::Recovery;
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{
    CommitRecord, Ledger, LedgerError, Mode, Relation, SeenBy, SessionFilter, SessionListing,
    SessionRecord, StatementRecord, Transaction, read,
};

use crate::commits::cards::{SessionCard, card};
use crate::driven::launch;
use crate::identity::{links, statements};
use crate::views::overview::{self, Listed, Stand};
use crate::{World, damage};

/// How many commits and children of a session are told at most.
const MOST: usize = 10_000;

/// Where a turn stands in the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    /// It has not come to its stop.
    Open,
    /// Nobody saw its stop, and the session went on or ended.
    Broken,
    /// Its driver died before its stop, and it was kept as it was.
    Interrupted,
    /// Its driver died in a call, and a person said what became of that.
    Decided,
    /// It stopped, and some of it is not sealed yet.
    Unsealed,
    /// A receipt holds all of it.
    Sealed,
}

impl TurnState {
    /// The word that answers use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Broken => "no stop seen",
            Self::Interrupted => "interrupted",
            Self::Decided => "settled by a person",
            Self::Unsealed => "unsealed",
            Self::Sealed => "sealed",
        }
    }
}

/// A commit that the session made.
#[derive(Debug, Clone)]
pub struct Made {
    pub repository: RepositoryId,
    pub commit: Oid,
    /// The first line of its message, once git was asked.
    pub subject: Option<String>,
    /// How sure it is that the session made it.
    pub verdict: Verdict,
    pub at: Timestamp,
}

/// One turn of the story.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Its number in the session, from 1; 0 for what happened outside any turn.
    pub number: usize,
    pub state: TurnState,
    pub view: TurnView,
    pub commits: Vec<Made>,
}

/// The story of a session.
#[derive(Debug, Clone)]
pub struct History {
    pub card: SessionCard,
    /// What is attached to it, each with the statement that did so.
    pub attached: Vec<(Link, StatementRecord)>,
    /// Why variables that were to be links are none.
    pub left_out: Vec<String>,
    /// The session as lists have it.
    pub listed: Listed,
    /// Whether its home is another ledger.
    pub replica: bool,
    /// How it was launched, if a launcher started it.
    pub launch: Option<launch::Standing>,
    /// The session it came from, and how.
    pub parent: Option<(SessionCard, Relation)>,
    /// The sessions that came from it, oldest first, and how.
    pub children: Vec<(SessionRecord, Relation)>,
    /// What its log says, without the turns.
    pub view: SessionView,
    /// Its turns in order.
    pub turns: Vec<Turn>,
}

impl History {
    /// How many commits it made.
    #[must_use]
    pub fn commits(&self) -> usize {
        self.turns.iter().map(|t| t.commits.len()).sum()
    }
}

/// Tells the story of a session; nothing if there is no such session.
///
/// # Errors
/// Those of the ledger.
pub fn history(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    id: SessionId,
) -> Result<Option<History>, LedgerError> {
    let home = ledger.id();
    read(ledger, |tx| {
        let Some(own) = card(tx, id)? else {
            return Ok(None);
        };
        let replica = own.record.home != home;
        let parent = match own.record.parent {
            Some((parent, how)) => card(tx, parent)?.zip(Some(how)),
            None => None,
        };
        let entries = damage::readable(tx, id)?;
        let mut view = fold::session(&entries);
        let made = tx.commits_of_session(id, MOST)?;
        let listing = SessionListing {
            record: own.record.clone(),
            summary: overview::summary(&view, false),
            commits: made.len() as u64,
        };
        let listed = overview::stand(world, tx, listing)?;
        let views = std::mem::take(&mut view.turns);
        let sealed = (own.record.mode, own.record.sealed);
        let mut turns = turns(views, &entries, sealed, listed.stand);
        for record in made {
            place(&mut turns, &record);
        }
        turns.retain(worth_telling);
        let statements = tx.statements_of_session(id)?;
        let attached = statements::attached(&statements).into_iter();
        Ok(Some(History {
            attached: attached.map(|(link, by)| (link, by.clone())).collect(),
            left_out: links::left_out(tx, id)?,
            children: children(tx, id)?,
            launch: launch::standing(tx, id)?,
            card: own,
            listed,
            replica,
            parent,
            view,
            turns,
        }))
    })
}

fn children(
    tx: &mut dyn Transaction,
    id: SessionId,
) -> Result<Vec<(SessionRecord, Relation)>, LedgerError> {
    let filter = SessionFilter {
        parent: Some(id),
        limit: MOST,
        ..SessionFilter::default()
    };
    let listed = tx.sessions(&filter)?;
    let mut children: Vec<_> = listed
        .into_iter()
        .filter_map(|l| Some((l.record.parent?.1, l.record)))
        .map(|(how, record)| (record, how))
        .collect();
    children.sort_by_key(|(record, _)| (record.created_at, record.id));
    Ok(children)
}

/// The turns of a session of this mode that is sealed up to a sequence, by what can be read of its log.
#[must_use]
pub fn turns(
    views: Vec<TurnView>,
    entries: &[Entry],
    (mode, sealed_to): (Mode, u64),
    stand: Stand,
) -> Vec<Turn> {
    let last = views.len().saturating_sub(1);
    let outside = views.iter().filter(|v| v.id.is_none()).count();
    let mut ends: BTreeMap<Option<TurnId>, u64> = BTreeMap::new();
    for entry in entries {
        let end = ends.entry(entry.turn).or_default();
        *end = entry.sequence.max(*end);
    }
    let turn = |(at, view): (usize, TurnView)| {
        let sealed = ends.get(&view.id).is_none_or(|end| *end <= sealed_to);
        let runs = at == last && !matches!(stand, Stand::Ended | Stand::Imported);
        // What a person tells the agent itself to do, such as to compact, has no prompt and no stop; a driver that
        // commits a turn without a stop is done with it.
        let unstopped = mode != Mode::Driven && view.prompt.is_some() && view.stopped.is_none();
        Turn {
            number: (at + 1).saturating_sub(outside),
            state: match (view.recovered, unstopped, sealed) {
                (Some(Recovery::Interrupted), ..) => TurnState::Interrupted,
                (Some(Recovery::Decided), ..) => TurnState::Decided,
                (_, true, _) if runs => TurnState::Open,
                (_, true, _) if stand != Stand::Imported => TurnState::Broken,
                (_, _, true) => TurnState::Sealed,
                (_, _, false) => TurnState::Unsealed,
            },
            view,
            commits: Vec::new(),
        }
    };
    views.into_iter().enumerate().map(turn).collect()
}

/// The turn whose tool call moved HEAD to a commit, else the one that was the last at that moment, else the first.
pub(crate) fn turn_of_commit(views: &[&TurnView], record: &CommitRecord) -> Option<usize> {
    let at = made_at(record);
    let moved = views.iter().position(|view| {
        let heads = view.tools.iter().map(|call| &call.heads);
        heads.flat_map(|h| &h.1).any(|head| *head == record.commit)
    });
    let then = || {
        views
            .iter()
            .rposition(|view| view.opened.is_some_and(|o| o <= at))
    };
    let first = (!views.is_empty()).then_some(0);
    moved.or_else(then).or(first)
}

/// Puts a commit into its turn.
fn place(turns: &mut Vec<Turn>, record: &CommitRecord) {
    let at = made_at(record);
    let views: Vec<&TurnView> = turns.iter().map(|turn| &turn.view).collect();
    let found = turn_of_commit(&views, record).unwrap_or(0);
    if turns.is_empty() {
        turns.push(Turn {
            number: 0,
            state: TurnState::Sealed,
            view: TurnView::default(),
            commits: Vec::new(),
        });
    }
    let turn = &mut turns[found];
    turn.commits.push(Made {
        repository: record.repository,
        commit: record.commit.clone(),
        subject: record.facts.as_ref().map(|f| f.subject.clone()),
        verdict: record.judgement.verdict,
        at,
    });
    turn.commits
        .sort_by(|a, b| (a.at, &a.commit).cmp(&(b.at, &b.commit)));
}

/// When a commit was made: when a hook saw it, else by git's word, which knows whole seconds.
fn made_at(record: &CommitRecord) -> Timestamp {
    let git_time = |facts: &CommitFacts| facts.committed.plus_millis(999);
    match (record.seen_by, &record.facts) {
        (SeenBy::Hook, _) | (_, None) => record.at,
        (_, Some(facts)) => git_time(facts).min(record.at),
    }
}

/// What happened outside any turn is told only if there is something to tell.
fn worth_telling(turn: &Turn) -> bool {
    let view = &turn.view;
    view.id.is_some()
        || !view.tools.is_empty()
        || !view.messages.is_empty()
        || !turn.commits.is_empty()
}

#[cfg(test)]
mod tests;
