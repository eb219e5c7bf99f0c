//! Replicas: what other ledgers hand to this one.

use axum::Json;
use axum::body::Body as Raw;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Serialize;
use siglum_domain::audit::Action;
use siglum_engine::replica::{self, BATCH_MOST, Positions, ReplicaError};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{is_json, whole};
use crate::caller::{Caller, refused};
use crate::openapi::Problems;
use crate::problem::Problem;

/// How far this ledger is after a batch.
#[derive(Serialize, ToSchema)]
pub(crate) struct AcceptedBatch {
    /// The last receipt of each session of the batch and of those that it asks about, the last statement of the sender,
    /// and what of the batch was left out, since others are concerned.
    #[schema(value_type = Object)]
    positions: Positions,
    /// The fields of the batch that this gateway does not know and left out, by their paths; at most 32.
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
/// All of it is taken, or nothing. The same batch again changes nothing. What is here already is told by the positions of the
/// answer, and the sender goes on from there. A ledger belongs to the launcher's token that registered it first. A session's
/// token hands over that session and what came from it: a row of another one is refused, and what sessions share is left as
/// it is where others are concerned (`set_aside` names it). It is how `siglum sync` and `siglum run --gateway` send.
#[utoipa::path(post, path = "/v1/replicas", tag = "replicas", operation_id = "pushReplicas",
    security(("launcher" = []), ("session" = [])),
    request_body(content = Object, content_type = "application/json", description = "A batch, as it is or in a zstd frame with `content-encoding: zstd`; `siglum sync` makes it"),
    responses(
        (status = 200, description = "It is taken", body = AcceptedBatch),
        (status = 422, description = "A document of the batch breaks a rule; `field` names it", body = crate::problem::Told, content_type = "application/problem+json"),
        Problems))]
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
