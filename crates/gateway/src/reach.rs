//! What a token that is limited to repositories sees: sessions that work in one of them, and what is recorded of them.

use siglum_domain::access::Limits;
use siglum_domain::{RepositoryId, SessionId};
use siglum_engine::identity::repositories;
use siglum_ledger::{Ledger, LedgerError, SessionFilter, Transaction, read};

/// Whether a session works in one of the repositories that a token is limited to, if it is.
pub(crate) fn reaches(
    ledger: &mut dyn Ledger,
    limits: &Limits,
    session: SessionId,
) -> Result<bool, LedgerError> {
    read(ledger, |tx| is_within(tx, limits, session))
}

/// The same in a transaction.
pub(crate) fn is_within(
    tx: &mut dyn Transaction,
    limits: &Limits,
    session: SessionId,
) -> Result<bool, LedgerError> {
    match repositories::within(tx, limits)? {
        Some(within) => works_in(tx, &within, session),
        None => Ok(true),
    }
}

/// Whether a session works in one of some repositories.
pub(crate) fn works_in(
    tx: &mut dyn Transaction,
    within: &[RepositoryId],
    session: SessionId,
) -> Result<bool, LedgerError> {
    if within.is_empty() {
        return Ok(false);
    }
    let filter = SessionFilter {
        id: Some(session),
        repositories: within.to_vec(),
        limit: 1,
        ..SessionFilter::default()
    };
    Ok(!tx.sessions(&filter)?.is_empty())
}

/// The repositories that a question is about, with their clones: those that it names by name, id or remote, and of these
/// the ones that the token is limited to. Nothing where all are meant; an empty list where none is.
pub(crate) fn wanted_repositories(
    tx: &mut dyn Transaction,
    limits: &Limits,
    name: Option<&str>,
) -> Result<Option<Vec<RepositoryId>>, LedgerError> {
    let within = repositories::within(tx, limits)?;
    let Some(name) = name else {
        return Ok(within);
    };
    let named = repositories::named(tx, name)?;
    let mut wanted = repositories::clones(tx, &named)?;
    wanted.retain(|id| within.as_ref().is_none_or(|ids| ids.contains(id)));
    Ok(Some(wanted))
}

/// Whether a token may write what belongs to the repository of a name, which may be new here.
pub(crate) fn may_name(
    tx: &mut dyn Transaction,
    limits: &Limits,
    name: &str,
) -> Result<bool, LedgerError> {
    let is_named = |name: &str| limits.repositories().contains(name);
    if is_named(name) || repositories::remote_of(name).is_some_and(|remote| is_named(&remote)) {
        return Ok(true);
    }
    let Some(within) = repositories::within(tx, limits)? else {
        return Ok(true);
    };
    let named = repositories::named(tx, name)?;
    Ok(!named.is_empty() && named.iter().all(|id| within.contains(id)))
}
