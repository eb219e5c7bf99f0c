//! The attestations of a commit: which of them stand, and what they come to beside the evidence.
//!
//! Read when somebody asks. No judgement with an attestation in it is stored, and none leaves for another ledger.

use siglum_domain::evidence::Attestation;
use siglum_domain::{Oid, RepositoryId};
use siglum_ledger::{AttestedFacts, LedgerError, Statement, StatementRecord, Transaction};

/// An attestation of a commit that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandingAttestation {
    /// The repository that it names.
    pub repository: RepositoryId,
    pub attestation: Attestation,
    /// What else the platform says of the commit.
    pub attested: AttestedFacts,
}

/// The attestations of a commit that stand, in whichever repository, in the order in which they were stated. A commit's
/// id is a digest of all that is in it, so it is the same commit everywhere.
///
/// # Errors
/// Those of the ledger.
pub fn standing_attestations(
    tx: &mut dyn Transaction,
    commit: &Oid,
) -> Result<Vec<StandingAttestation>, LedgerError> {
    let stated = tx.statements_of_commit_anywhere(commit)?;
    standing_among(tx, stated)
}

fn standing_among(
    tx: &mut dyn Transaction,
    mut stated: Vec<StatementRecord>,
) -> Result<Vec<StandingAttestation>, LedgerError> {
    // All are of one ledger. Clocks of several gateways differ; its numbers do not.
    stated.sort_by_key(|s| (s.ledger, s.sequence));
    let mut standing: Vec<StandingAttestation> = Vec::new();
    for record in stated {
        match &record.statement {
            Statement::Attested { .. } => standing.extend(read_attestation(tx, record)?),
            Statement::AttestationWithdrawn { session, .. } => {
                standing.retain(|known| known.attestation.session != *session);
            }
            _ => {}
        }
    }
    Ok(standing)
}

/// What was stated, with what became of the token that it was stated with.
fn read_attestation(
    tx: &mut dyn Transaction,
    record: StatementRecord,
) -> Result<Option<StandingAttestation>, LedgerError> {
    let Statement::Attested {
        repository,
        session,
        token,
        attested,
        ..
    } = record.statement
    else {
        return Ok(None);
    };
    let known = tx.token(token)?;
    let (name, revoked_at) = match known {
        Some(known) => (known.name, known.revoked_at),
        None => (token.short(), None),
    };
    Ok(Some(StandingAttestation {
        repository,
        attestation: Attestation {
            session,
            token,
            name,
            platform: attested.platform.clone(),
            at: record.at,
            revoked_at,
        },
        attested,
    }))
}

/// The same without what else the platforms say of the commit, and of those that name a repository of `within` only.
///
/// # Errors
/// Those of the ledger.
pub(crate) fn attestations_of(
    tx: &mut dyn Transaction,
    commit: &Oid,
    within: Option<&[RepositoryId]>,
) -> Result<Vec<Attestation>, LedgerError> {
    let stated = tx.statements_of_commit_anywhere(commit)?;
    attestations_among(tx, stated, within)
}

/// The same among all that was stated of a commit, for those who read that for other things, too.
///
/// # Errors
/// Those of the ledger.
pub(crate) fn attestations_among(
    tx: &mut dyn Transaction,
    stated: Vec<StatementRecord>,
    within: Option<&[RepositoryId]>,
) -> Result<Vec<Attestation>, LedgerError> {
    let mut standing = standing_among(tx, stated)?;
    standing.retain(|s| within.is_none_or(|ids| ids.contains(&s.repository)));
    Ok(standing.into_iter().map(|s| s.attestation).collect())
}
