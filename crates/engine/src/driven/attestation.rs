//! Attestations: a trusted platform states that a session made a commit, or withdraws that.
//!
//! Whether the caller is trusted is a question of its token, which edges ask. An attestation is a statement of its session
//! and stays as it was stated; what it comes to beside the evidence is found when somebody asks
//! ([`crate::commits::attestations`]).

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{AttestedFacts, LedgerError, Statement, Transaction};

use crate::Here;
use crate::commits::attestations::{StandingAttestation, standing_attestations};
use crate::driven::remote::{self, RemoteError};
use crate::identity::access::Caller;
use crate::identity::audit::{self, Entry};
use crate::identity::repositories;

/// The most attestations that one session may have, with those that were withdrawn.
pub const ATTESTATIONS_MOST: usize = 1_000;

/// What a platform states.
#[derive(Debug, Clone)]
pub struct NewAttestation {
    pub session: SessionId,
    pub commit: Oid,
    /// The repository, by its id or by the name that its owner gives it.
    pub repository: String,
    pub attested: AttestedFacts,
}

/// States that a session made a commit. The same again changes nothing, and gives what stands with `true`.
///
/// # Errors
/// [`RemoteError::NoSession`]; [`RemoteError::Taken`] where another attestation of the session and the commit stands;
/// [`RemoteError::Invalid`] where the id of a repository is unknown, or the session has too many attestations.
pub fn attest(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    caller: &Caller,
    new: &NewAttestation,
) -> Result<(StandingAttestation, bool), RemoteError> {
    let (session, at) = (new.session, here.now());
    hold(tx, session)?;
    let repository = repository(here, tx, &new.repository, at)?;
    if let Some(known) = standing(tx, session, &new.commit)? {
        return match (known.repository, &known.attested) == (repository, &new.attested) {
            true => Ok((known, true)),
            false => Err(RemoteError::Taken {
                field: "commit",
                rule: format!(
                    "session {session} already has an attestation of commit {} with other fields; withdraw it first",
                    new.commit
                ),
            }),
        };
    }
    let stated = tx.statements_of_session(session)?;
    let is_attestation = |s: &&Statement| matches!(s, Statement::Attested { .. });
    let count = stated.iter().map(|s| &s.statement).filter(is_attestation);
    if count.count() >= ATTESTATIONS_MOST {
        return Err(RemoteError::Invalid {
            field: "commit",
            rule: format!("a session can have at most {ATTESTATIONS_MOST} attestations"),
        });
    }
    let by = audit::bearer(caller.token, &caller.name);
    let statement = Statement::Attested {
        repository,
        commit: new.commit.clone(),
        session,
        token: caller.token,
        attested: new.attested.clone(),
    };
    tx.state(at, &by, "api", &statement)?;
    let known = standing(tx, session, &new.commit)?;
    let known = known.ok_or_else(|| {
        LedgerError::Damaged("an attestation is not there that was stated".into())
    })?;
    note(here, tx, &by, Action::CommitAttested, &known, &new.commit)?;
    Ok((known, false))
}

/// Withdraws what was attested of a session and a commit; tells whether anything stood. What names a repository that the
/// caller's token is not limited to does not stand for it.
///
/// # Errors
/// [`RemoteError::NoSession`].
pub fn withdraw(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    caller: &Caller,
    session: SessionId,
    commit: &Oid,
) -> Result<bool, RemoteError> {
    hold(tx, session)?;
    let within = repositories::within(tx, &caller.limits)?;
    let is_within = |id: &RepositoryId| within.as_ref().is_none_or(|ids| ids.contains(id));
    let known = standing(tx, session, commit)?.filter(|known| is_within(&known.repository));
    let Some(known) = known else {
        return Ok(false);
    };
    let by = audit::bearer(caller.token, &caller.name);
    let statement = Statement::AttestationWithdrawn {
        repository: known.repository,
        commit: commit.clone(),
        session,
    };
    tx.state(here.now(), &by, "api", &statement)?;
    note(here, tx, &by, Action::AttestationWithdrawn, &known, commit)?;
    Ok(true)
}

/// Holds a session without moving it: whoever attests of it at the same time comes before or after.
fn hold(tx: &mut dyn Transaction, session: SessionId) -> Result<(), RemoteError> {
    let known = tx
        .session(session)?
        .ok_or(RemoteError::NoSession(session))?;
    tx.touch(session, known.last_at, None, None)?;
    Ok(())
}

fn standing(
    tx: &mut dyn Transaction,
    session: SessionId,
    commit: &Oid,
) -> Result<Option<StandingAttestation>, RemoteError> {
    let mut standing = standing_attestations(tx, commit)?.into_iter();
    Ok(standing.find(|known| known.attestation.session == session))
}

/// The repository of an id, which must be known, or of a name.
fn repository(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    name: &str,
    at: Timestamp,
) -> Result<RepositoryId, RemoteError> {
    let Ok(id) = name.parse::<RepositoryId>() else {
        return Ok(remote::repository(here, tx, name, at)?);
    };
    match repositories::named(tx, name)?.contains(&id) {
        true => Ok(id),
        false => Err(RemoteError::Invalid {
            field: "repository",
            rule: format!("no repository {id}"),
        }),
    }
}

/// Writes into the audit what was stated or withdrawn, as the last step of the transaction.
fn note(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    by: &str,
    action: Action,
    known: &StandingAttestation,
    commit: &Oid,
) -> Result<(), RemoteError> {
    let attestation = &known.attestation;
    let entry = Entry::done(by, action).for_session(attestation.session);
    let platform = attestation.platform.as_ref().map(|p| p.as_str());
    let body = json!({
        "commit": commit.as_str(),
        "platform": platform,
        "repository": known.repository.to_string(),
        "token": attestation.token.to_string(),
    });
    audit::record(tx, here, &entry.with(body))?;
    Ok(())
}
