//! Links that are attached to a session, or detached from it, after it began.

use serde_json::json;
use siglum_domain::access::Right;
use siglum_domain::audit::{Action, Outcome};
use siglum_domain::intake::Decline;
use siglum_domain::link::{Link, LinkError};
use siglum_domain::redact::Redactor;
use siglum_domain::{IdSource, SessionId, Timestamp};
use siglum_ledger::{
    AuditFilter, Durability, Ledger, LedgerError, Refusal, Statement, StatementRecord, Transaction,
    attempt,
};

use crate::Here;
use crate::identity::audit::{self, Entry};
use crate::identity::statements;

/// What a token needs to attach and detach links, of whichever session it reaches.
pub const RIGHT: Right = Right::Drive;
/// The most links that a session has at one time.
pub const LINKS_MOST: usize = 256;

/// Why links were not changed. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum LinksError {
    /// The session would have more than [`LINKS_MOST`].
    #[error("links: {}", room_rule())]
    TooMany,
    /// One of them breaks a rule.
    #[error(transparent)]
    Invalid(#[from] LinkError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl LinksError {
    /// The field that is refused, and the rule that it breaks.
    ///
    /// # Errors
    /// It is an error of the ledger.
    pub(crate) fn broken_rule(self) -> Result<(&'static str, String), LedgerError> {
        match self {
            Self::TooMany => Ok(("links", room_rule())),
            Self::Invalid(error) => Ok((error.field, error.rule.to_owned())),
            Self::Ledger(error) => Err(error),
        }
    }
}

impl Refusal for LinksError {
    fn into_store(self) -> Result<LedgerError, Self> {
        match self {
            Self::Ledger(error) => Ok(error),
            refused => Err(refused),
        }
    }
}

/// The rule that a session with too many links breaks.
fn room_rule() -> String {
    format!("a session can have at most {LINKS_MOST}")
}

/// Refuses more links than a session may have.
///
/// # Errors
/// [`LinksError::TooMany`].
pub(crate) const fn check_room(links: usize) -> Result<(), LinksError> {
    match links <= LINKS_MOST {
        true => Ok(()),
        false => Err(LinksError::TooMany),
    }
}

/// Refuses a link that breaks a rule, or with which there are more than a session may have.
///
/// # Errors
/// [`LinksError::Invalid`], [`LinksError::TooMany`].
pub(crate) fn admit(link: &Link, links: usize) -> Result<(), LinksError> {
    link.check()?;
    check_room(links)
}

/// What is done with links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Attach,
    Detach,
}

/// What a change of links came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The links that were not as they should be before.
    pub changed: Vec<Link>,
    /// All that is attached now.
    pub standing: Vec<Link>,
}

/// Attaches links to a session or detaches them, by somebody, from somewhere. What stands already is not stated again.
///
/// # Errors
/// [`LinksError`]; nothing was written then.
pub fn change(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    links: &[Link],
    change: Change,
    (by, source): (&str, &str),
) -> Result<Changed, LinksError> {
    attempt(ledger, Durability::Process, |tx| {
        change_in(tx, here, session, links, change, (by, source))
    })
}

/// [`change`] in a transaction that does more.
///
/// # Errors
/// [`LinksError`].
pub fn change_in(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
    links: &[Link],
    change: Change,
    (by, source): (&str, &str),
) -> Result<Changed, LinksError> {
    let at = here.now();
    let mut standing = statements::links(&tx.statements_of_session(session)?);
    let mut changed = Vec::new();
    for link in links {
        if standing.contains(link) == (change == Change::Attach) {
            continue;
        }
        match change {
            Change::Attach => {
                admit(link, standing.len() + 1)?;
                standing.push(link.clone());
            }
            Change::Detach => standing.retain(|known| known != link),
        }
        changed.push(link.clone());
    }
    let statement = |link: Link| match change {
        Change::Attach => Statement::LinkAttached { session, link },
        Change::Detach => Statement::LinkDetached { session, link },
    };
    let stated: Vec<Statement> = changed.iter().cloned().map(statement).collect();
    let stated: Vec<(&str, &Statement)> = stated.iter().map(|s| (source, s)).collect();
    tx.state_all(at, by, &stated)?;
    if !changed.is_empty() {
        let action = match change {
            Change::Attach => Action::LinkAttached,
            Change::Detach => Action::LinkDetached,
        };
        let body = json!({ "links": audit::links(&changed), "source": source });
        let mut entry = Entry::done(by, action).for_session(session).with(body);
        // The pipeline that a session is taken out of is the one that it happened in.
        entry.pipeline = audit::pipeline(&changed);
        audit::record(tx, here, &entry)?;
    }
    Ok(Changed { changed, standing })
}

/// Notes variables that were to be links of a session and are none, each once: `siglum doctor` tells of them, and the
/// audit as links that were refused to whoever set them.
pub(crate) fn note_left_out(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    at: Timestamp,
    (session, by): (SessionId, &str),
    left_out: &[Decline],
) -> Result<(), LedgerError> {
    if left_out.is_empty() {
        return Ok(());
    }
    let known = self::left_out(tx, session)?;
    for decline in left_out.iter().filter(|d| !known.contains(&d.detail)) {
        let key = format!("{}:{session}:{}", decline.reason, decline.detail);
        tx.decline(&key, at, decline)?;
        let refused = Entry::refused(by, Action::LinkAttached, &decline.detail, None);
        audit::put(
            tx,
            ids,
            Redactor::shared(),
            at,
            &refused.for_session(session),
        )?;
    }
    Ok(())
}

/// Why variables that were to be links of a session are none, oldest first.
///
/// # Errors
/// Those of the ledger.
pub fn left_out(tx: &mut dyn Transaction, session: SessionId) -> Result<Vec<String>, LedgerError> {
    let refused = tx.audit(&AuditFilter {
        session: Some(session),
        action: Some(Action::LinkAttached.as_str().to_owned()),
        outcome: Some("refused".to_owned()),
        ..AuditFilter::default()
    })?;
    let reasons = refused.into_iter().rev();
    let reasons = reasons.filter_map(|entry| match entry.header.outcome {
        Outcome::Refused { reason, .. } => Some(reason),
        Outcome::Done => None,
    });
    Ok(reasons.collect())
}

/// The links that were ever attached or detached.
pub(crate) fn ever_named(records: &[StatementRecord]) -> impl Iterator<Item = Link> + use<'_> {
    records.iter().filter_map(|r| match &r.statement {
        Statement::LinkAttached { link, .. } | Statement::LinkDetached { link, .. } => {
            Some(link.clone())
        }
        _ => None,
    })
}
