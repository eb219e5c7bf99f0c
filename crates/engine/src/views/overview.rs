//! What agents have been doing: sessions with where they stand, and what waits.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use siglum_domain::fold::SessionView;
use siglum_domain::link::Link;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    DeclineRecord, Ledger, LedgerError, RepositoryRecord, SessionFilter, SessionListing,
    SessionOrigin, StatementRecord, Summary, Transaction, read,
};

use crate::damage::undamaged;
use crate::identity::{names, repositories, statements};
use crate::record::import;
use crate::{Here, World};

/// How many open sessions are looked at for whether they run.
const OPEN_MOST: usize = 500;
/// A session whose process cannot be seen from here counts as running this long, in ms.
pub(crate) const UNSEEN_MS: i64 = 24 * 60 * 60 * 1000;
/// How far back declines are told, in ms.
const DECLINES_MS: i64 = 24 * 60 * 60 * 1000;
/// How many of each queue are counted at most.
pub const COUNT_MOST: usize = 1_000;

/// Where a session stands, as far as it can be told from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// A turn is open.
    Working,
    /// The last turn came to its stop.
    Waiting,
    /// It ended, or its process is gone.
    Ended,
    /// It was read from a transcript; nobody saw it run.
    Imported,
}

impl Stand {
    /// The word that listings use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Ended => "ended",
            Self::Imported => "imported",
        }
    }
}

/// A session with where it stands.
#[derive(Debug, Clone)]
pub struct Listed {
    pub listing: SessionListing,
    pub stand: Stand,
    /// Whether its process lives; absent where that cannot be seen.
    pub alive: Option<bool>,
    pub links: Vec<Link>,
    /// What was stated of it.
    pub statements: Vec<StatementRecord>,
}

impl Listed {
    /// The name that a person gave to it, else the first line of its first prompt.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        names::name(&self.links).or(self.listing.summary.title.as_deref())
    }
}

/// Sessions, newest first, with where they stand.
///
/// # Errors
/// Those of the ledger.
pub fn sessions(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    filter: &SessionFilter,
) -> Result<Vec<Listed>, LedgerError> {
    read(ledger, |tx| {
        let listings = tx.sessions(filter)?;
        let stand = |listing| stand(world, tx, listing);
        listings.into_iter().map(stand).collect()
    })
}

/// Where one session stands.
///
/// # Errors
/// Those of the ledger.
pub fn stand(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    listing: SessionListing,
) -> Result<Listed, LedgerError> {
    let bindings = match listing.record.ended_at {
        Some(_) => Vec::new(),
        None => undamaged(tx.bindings(listing.record.id))?.unwrap_or_default(),
    };
    let bound = bindings.first();
    let alive = bound.and_then(|b| (here.alive)(&b.process));
    stand_of_process(tx, listing, bound.is_some(), alive)
}

/// Where a session stands that no process is bound to, such as one that was created just now.
///
/// # Errors
/// Those of the ledger.
pub fn stand_unbound(
    tx: &mut dyn Transaction,
    listing: SessionListing,
) -> Result<Listed, LedgerError> {
    stand_of_process(tx, listing, false, None)
}

fn stand_of_process(
    tx: &mut dyn Transaction,
    listing: SessionListing,
    is_bound: bool,
    alive: Option<bool>,
) -> Result<Listed, LedgerError> {
    let stated = undamaged(tx.statements_of_session(listing.record.id))?.unwrap_or_default();
    let links = statements::links(&stated);
    let record = &listing.record;
    let stand = if record.ended_at.is_some() || alive == Some(false) {
        Stand::Ended
    } else if !is_bound && record.origin == SessionOrigin::Import {
        Stand::Imported
    } else if listing.summary.state == "working" {
        Stand::Working
    } else {
        Stand::Waiting
    };
    Ok(Listed {
        listing,
        links,
        statements: stated,
        stand,
        alive,
    })
}

/// What a session amounts to by its log.
pub(crate) fn summary(view: &SessionView, over: bool) -> Summary {
    let state = if over { "ended" } else { view.state.word() };
    Summary {
        state: state.to_owned(),
        title: view.title.clone(),
        models: view.models.iter().cloned().collect(),
        turns: view.prompted_turns() as u64,
        tool_calls: view.tool_calls() as u64,
        subagents: view.subagents.len() as u64,
        tokens: view.tokens,
    }
}

/// What is going on, and what waits.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// The sessions that run, newest first.
    pub running: Vec<Listed>,
    /// The newest session of this repository.
    pub last: Option<Listed>,
    /// Transcripts to be read, [`COUNT_MOST`] at most.
    pub transcripts: usize,
    /// Sessions that do not run and have entries to be sealed, [`COUNT_MOST`] at most.
    pub unsealed: usize,
    /// Commits under way in this repository.
    pub intents: usize,
    /// Whether an import of this repository runs, or did not come to its end.
    pub importing: bool,
    /// What was set aside: queue, item, when, why.
    pub parked: Vec<(String, String, Timestamp, String)>,
    /// What was declined in the last day, newest first, [`COUNT_MOST`] at most.
    pub declines: Vec<DeclineRecord>,
}

/// Tells what is going on.
///
/// # Errors
/// Those of the ledger.
pub fn overview(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: Option<&RepositoryRecord>,
) -> Result<Overview, LedgerError> {
    let open = SessionFilter {
        open: true,
        seen: true,
        limit: OPEN_MOST,
        ..SessionFilter::default()
    };
    let mut running = sessions(world, ledger, &open)?;
    let now = world.now();
    running.retain(|s| runs(s, now));
    let last = match repository {
        Some(repository) => {
            let newest = SessionFilter {
                repositories: read(ledger, |tx| repositories::clones(tx, &[repository.id]))?,
                limit: 1,
                ..SessionFilter::default()
            };
            sessions(world, ledger, &newest)?.pop()
        }
        None => None,
    };
    let busy: BTreeSet<SessionId> = running.iter().map(|s| s.listing.record.id).collect();
    read(ledger, |tx| {
        let unsealed = tx.unsealed(COUNT_MOST)?;
        Ok(Overview {
            running: running.clone(),
            last: last.clone(),
            transcripts: tx.wanted_transcripts(COUNT_MOST)?.len(),
            unsealed: unsealed.iter().filter(|s| !busy.contains(&s.id)).count(),
            intents: match repository {
                Some(repository) => tx.open_intents(Some(repository.id))?.len(),
                None => 0,
            },
            importing: match repository {
                Some(repository) => import::is_owed(tx, repository.id)?,
                None => false,
            },
            parked: tx.parked()?,
            declines: tx.declines(now.plus_millis(-DECLINES_MS), COUNT_MOST)?,
        })
    })
}

fn runs(session: &Listed, now: Timestamp) -> bool {
    let open = matches!(session.stand, Stand::Working | Stand::Waiting);
    let is_recent = now.millis_since(session.listing.record.last_at) < UNSEEN_MS;
    open && session.alive.unwrap_or(is_recent)
}
