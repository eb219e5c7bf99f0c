//! Replicas: what other ledgers hand to this one.

use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Serialize;
use siglum_domain::audit::Action;
use siglum_engine::share::replica::{self, BATCH_MOST, Positions, ReplicaError};

use crate::admission::refused;
use crate::app::App;
use crate::body::{is_json, whole};
use crate::caller::Caller;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;

/// The positions of this ledger after a batch.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AcceptedBatch {
    /// The last receipt of each session in the batch and of each session it asks about, the last statement of the
    /// sender, and the parts of the batch that were skipped because they concern other sessions.
    #[cfg_attr(test, schema(value_type = Object))]
    positions: Positions,
    /// Paths of fields in the batch that this gateway does not know and ignored; at most 32.
    ignored: Vec<String>,
}

impl From<ReplicaError> for Problem {
    fn from(error: ReplicaError) -> Self {
        match error {
            ReplicaError::Refused { document, rule } => {
                Self::unprocessable(&document.to_string(), &rule)
            }
            ReplicaError::Forbidden { document, rule } => {
                Self::forbidden_document(&document.to_string(), &rule)
            }
            ReplicaError::TooLarge { most } => Self::too_large(most),
            ReplicaError::Malformed(why) => Self::body(why),
            ReplicaError::Ledger(error) => error.into(),
        }
    }
}

/// Push a batch of another ledger: sessions, sealed turns, statements, and commits with their verdicts
///
/// The whole batch is accepted, or none of it. Repeating a batch changes nothing. The positions in the response show
/// what this ledger already has, and the sender continues from there. A ledger belongs to the launcher token that first
/// registered it. A session token hands over its session and the data that came from it: a row of another session is
/// refused, and shared data that concerns other sessions is left unchanged (`set_aside` lists it). `siglum sync` and
/// `siglum run --gateway` send with this request.
#[cfg_attr(test, utoipa::path(post, path = "/v1/replicas", tag = "replicas", operation_id = "pushReplicas",
    security(("launcher" = []), ("session" = [])),
    request_body(content = Object, content_type = "application/json", description = "A batch, uncompressed or as a zstd frame with `content-encoding: zstd`; `siglum sync` creates it"),
    responses(
        (status = 200, description = "The batch is accepted", body = AcceptedBatch),
        (status = 422, description = "A document of the batch is invalid; `field` names it", body = crate::problem::ProblemBody, content_type = "application/problem+json"),
        Problems)))]
pub(crate) async fn take(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    body: Raw,
) -> Result<Json<AcceptedBatch>, Problem> {
    if !is_json(&headers) {
        return Err(Problem::media_type());
    }
    let bytes = whole(body, &app, BATCH_MOST).await?;
    // Unpacking and reading a large batch takes a while.
    let read = tokio::task::spawn_blocking(move || {
        let mut ignored = Vec::new();
        replica::decode(&bytes, &mut ignored).map(|batch| (batch, ignored))
    });
    let (batch, ignored) = read.await.map_err(|_| Problem::internal())??;
    let credential = caller.credential().clone();
    let taken = app.ledgers().write(&caller.tenant, move |here, ledger| {
        Ok::<_, Problem>(replica::apply(here, ledger, &credential, &batch)?)
    });
    let positions = taken.await?.inspect_err(|problem| {
        // What the store could not do is no refusal.
        if problem.field().is_some() {
            refused(&app, &caller, Action::ReplicaRefused, problem);
        }
    })?;
    app.sealed();
    Ok(Json(AcceptedBatch { positions, ignored }))
}
