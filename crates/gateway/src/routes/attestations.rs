//! Attestations: what trusted platforms state of commits that no hook saw.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use siglum_domain::Oid;
use siglum_engine::driven::attestation;
use siglum_engine::identity::access;

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
use super::representation::Elsewhere;
use super::responses;
use super::transaction::refusable;
use crate::admission::Attester;
use crate::app::App;
use crate::body::Body;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::reach::may_name;
use crate::wire::{AttestCommit, RecordedAttestation};

/// Why a token that is limited to repositories attests no commit elsewhere.
const OTHER_REPOSITORY: &str = "repository: the token is limited to other repositories";

/// Attest that a session made a commit that no hook observed, such as a commit by the API of a git host
///
/// It is evidence of its own kind: it names the session where nothing was observed, and never overrides what was. It
/// stays when the token is revoked later.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/commits", tag = "commits", operation_id = "attestCommit",
    security(("attester" = [])),
    params(OfSession),
    request_body = AttestCommit,
    responses(
        (status = 201, description = "The attestation was recorded", body = RecordedAttestation),
        (status = 200, description = "The attestation already existed", body = RecordedAttestation),
        Problems)))]
pub(crate) async fn attest(
    State(app): State<App>,
    Attester(caller): Attester,
    path: Path,
    Body(body): Body<AttestCommit>,
) -> Result<(StatusCode, Json<RecordedAttestation>), Problem> {
    let session = path.session()?;
    let wanted = body.checked(session)?;
    let credential = caller.credential().clone();
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        let own = ledger.id();
        refusable(ledger, |tx| {
            access::still_holds(here, tx, &credential)?;
            let home = Elsewhere::of_session(here, tx, &credential, own, session)?;
            if !may_name(tx, &credential.limits, &wanted.repository)? {
                return Err(Problem::forbidden(OTHER_REPOSITORY));
            }
            let (known, already) = attestation::attest(here, tx, &credential, &wanted)?;
            // Whoever revokes the token writes into the audit, as this does: before it, or after all of this.
            access::still_holds(here, tx, &credential)?;
            let name = responses::repository_name(tx, known.repository)?;
            let name = name.unwrap_or_else(|| known.repository.to_string());
            home.note(here, tx, &credential)?;
            Ok(RecordedAttestation::new(
                &wanted.commit,
                name,
                &known,
                already,
            ))
        })
    });
    let recorded = done.await?;
    let recorded = recorded.inspect_err(|p| caller.note_forbidden(&app, p))?;
    let already = recorded.already;
    Ok(responses::created(recorded, already))
}

/// Withdraw an attestation; it stays on record, with the withdrawal
#[cfg_attr(test, utoipa::path(delete, path = "/v1/sessions/{session}/commits/{commit}", tag = "commits", operation_id = "withdrawAttestation",
    security(("attester" = [])),
    params(
        OfSession,
        ("commit" = String, Path, description = "Full commit id", pattern = r"^([0-9a-f]{40}|[0-9a-f]{64})$"),
    ),
    responses((status = 204, description = "No attestation of this session and commit stands"), Problems)))]
pub(crate) async fn withdraw(
    State(app): State<App>,
    Attester(caller): Attester,
    path: Path,
) -> Result<StatusCode, Problem> {
    let session = path.session()?;
    let commit = path.text("commit")?;
    let commit = Oid::new(commit).map_err(|e| Problem::invalid("commit", e.rule))?;
    let credential = caller.credential().clone();
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        let own = ledger.id();
        refusable(ledger, |tx| {
            access::still_holds(here, tx, &credential)?;
            let home = Elsewhere::of_session(here, tx, &credential, own, session)?;
            attestation::withdraw(here, tx, &credential, session, &commit)?;
            home.note(here, tx, &credential)?;
            Ok(())
        })
    });
    done.await?
        .inspect_err(|p| caller.note_forbidden(&app, p))?;
    Ok(StatusCode::NO_CONTENT)
}
