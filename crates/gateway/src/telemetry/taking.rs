//! From the bytes of a request to the inbox.

use axum::body::Bytes;
use siglum_domain::redact::Redactor;
use siglum_engine::share::ingest::{self, Parcel, Taken};
use siglum_telemetry::wire::{self, Encoding, Limits, Signal};

use super::packing::{Packing, Unpackable};
use crate::admission::Sender;
use crate::app::App;
use crate::ledgers::Unavailable;
use crate::problem::Problem;

/// How long a sender waits that came while too much was waiting to be joined, in seconds.
const LATER: u64 = 5;

/// What was sent.
pub(crate) struct Request {
    pub(crate) signal: Signal,
    pub(crate) encoding: Encoding,
    pub(crate) packing: Packing,
    pub(crate) bytes: Bytes,
}

/// Why nothing of a request was taken.
pub(crate) enum Refusal {
    /// It cannot be read. What is wrong, without a word of what was sent.
    Unreadable(String),
    Problem(Problem),
}

impl<T: Into<Problem>> From<T> for Refusal {
    fn from(problem: T) -> Self {
        Self::Problem(problem.into())
    }
}

/// What a request came to when it was read.
struct Opened {
    answer: Vec<u8>,
    parcels: Vec<Parcel>,
    records: u64,
    rejected: u64,
}

/// Takes a request: what it gives is the answer, and what was sent is stored by then.
pub(crate) async fn take(
    app: &App,
    Sender(caller): &Sender,
    request: Request,
) -> Result<Vec<u8>, Refusal> {
    let signal = request.signal;
    // Unpacking takes a processor and memory: few at once.
    let turn = tokio::time::timeout(app.limits().queue_wait, app.unpacking()).await;
    let turn = turn.map_err(|_| Unavailable::Full)?;
    let most = app.limits().telemetry_plain;
    let opened = tokio::task::spawn_blocking(move || open(&request, most)).await;
    let opened = opened.map_err(|_| Problem::internal())??;
    drop(turn);
    let Opened {
        answer,
        parcels,
        records,
        rejected,
    } = opened;
    if !parcels.is_empty() || rejected > 0 {
        let own = caller.own();
        let taken = app.ledgers().write(&caller.tenant, move |here, ledger| {
            ingest::take(here, ledger, own, &parcels, rejected)
        });
        if taken.await?? == Taken::Full {
            let what = "too much telemetry is waiting to be joined";
            return Err(Problem::rate_limited(what, LATER).into());
        }
    }
    app.metrics().telemetry(signal.as_str(), records, rejected);
    Ok(answer)
}

/// Unpacks a request, takes secrets out, and packs it for the ledger.
fn open(request: &Request, most: usize) -> Result<Opened, Refusal> {
    let plain = request.packing.undo(&request.bytes, most);
    let plain = plain.map_err(|why| match why {
        Unpackable::TooLarge => Refusal::Problem(Problem::too_large(most)),
        Unpackable::Malformed => {
            Refusal::Unreadable("the body is not complete gzip data".to_owned())
        }
    })?;
    let read = wire::decode(request.signal, request.encoding, &plain, &Limits::default());
    let mut batch = read.map_err(|why| Refusal::Unreadable(why.to_string()))?;
    batch.redact(Redactor::shared());
    Ok(Opened {
        answer: batch.answer(request.encoding),
        parcels: Parcel::pack(&batch),
        records: batch.records() as u64,
        rejected: batch.rejected,
    })
}
