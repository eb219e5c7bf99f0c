//! What agents sent, on its way to a downstream collector: with the id of its conversation, and else as it came.
//!
//! What is to be sent is put aside in the transaction that joins it, if it is in the collector's scope. What has no
//! session waits a minute for one.

use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    Durability, ForwardRecord, Ledger, LedgerError, TelemetryBatch, Transaction, read, write,
};
use siglum_telemetry::wire::{Batch, Stamp};

use super::parcel::Parcel;
use crate::Here;
use crate::share::otel::destination::{Destination, Sends};
use crate::share::otel::lost;
use crate::share::scope::Guard;

/// How long what has no session waits for one before it is sent on without, in milliseconds.
const WAIT_MS: i64 = 60_000;
/// Rows without a session that are sent on at once.
const AT_ONCE: usize = 64;

/// A collector that gets what agents send.
pub(super) struct Collector {
    name: String,
    destination: Destination,
    since: Timestamp,
    guard: Guard,
}

impl Collector {
    fn takes(&self, signal: &str) -> bool {
        self.destination.only().is_none_or(|only| only == signal)
    }
}

/// The collectors that there are.
pub(super) fn collectors(tx: &mut dyn Transaction) -> Result<Vec<Collector>, LedgerError> {
    let mut collectors = Vec::new();
    for projection in tx.projections()? {
        let Some(Ok(destination)) = Destination::from_projection(&projection) else {
            continue;
        };
        if destination.sends == Sends::Native {
            collectors.push(Collector {
                guard: Guard::read(tx, &projection.name)?,
                name: projection.name,
                destination,
                since: projection.at,
            });
        }
    }
    Ok(collectors)
}

/// Puts aside what belongs to a session, for each collector that wants the session.
pub(super) fn put(
    tx: &mut dyn Transaction,
    to: &[Collector],
    row: &TelemetryBatch,
    batch: &Batch,
    stamp: &Stamp,
) -> Result<(), LedgerError> {
    let wants =
        |c: &&Collector| c.takes(&row.signal) && c.destination.sample.keeps(&stamp.conversation);
    let wanted: Vec<&Collector> = to.iter().filter(wants).collect();
    if wanted.is_empty() || row.forwarded {
        return Ok(());
    }
    let mut stamped = batch.clone();
    stamped.stamp(|_| Some(stamp.clone()));
    let parcel = Parcel::from_batch(&stamped);
    let session = Some(stamp.session);
    for collector in wanted {
        // Nobody knows which texts are in what agents send.
        let is_whole = collector.guard.has_texts();
        if !is_whole || !collector.guard.has_session(tx, stamp.session)? {
            continue;
        }
        let forward = forward(
            collector,
            row.at,
            &row.signal,
            session,
            parcel.records,
            &parcel.payload,
        );
        put_within(tx, collector, &forward)?;
    }
    Ok(())
}

fn forward(
    to: &Collector,
    at: Timestamp,
    signal: &str,
    session: Option<SessionId>,
    records: u64,
    payload: &[u8],
) -> ForwardRecord {
    ForwardRecord {
        sequence: 0,
        destination: to.name.clone(),
        at,
        signal: signal.to_owned(),
        session,
        records,
        payload: payload.to_vec(),
    }
}

/// What there is no room for is lost, and counted.
fn put_within(
    tx: &mut dyn Transaction,
    to: &Collector,
    forward: &ForwardRecord,
) -> Result<(), LedgerError> {
    let waiting = tx.forward_depth(&to.name)?;
    let bytes = waiting.bytes + forward.payload.len() as u64;
    match bytes <= to.destination.backlog.bytes {
        true => tx.put_forward(forward).map(drop),
        false => tx.add_count(&lost(&to.name), forward.records),
    }
}

/// Puts aside what has waited for a session in vain, as it came.
pub(super) fn put_unassigned(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<(), LedgerError> {
    let until = here.now().plus_millis(-WAIT_MS);
    let is_due = read(ledger, |tx| {
        let is_late = !tx.unforwarded(until, 1)?.is_empty();
        Ok(is_late && !collectors(tx)?.is_empty())
    })?;
    if !is_due {
        return Ok(());
    }
    write(ledger, Durability::Process, |tx| {
        let to = collectors(tx)?;
        for row in tx.unforwarded(until, AT_ONCE)? {
            for collector in to.iter().filter(|c| {
                c.takes(&row.signal)
                    && c.since <= row.at
                    && c.guard.has_texts()
                    && c.guard.has_strangers()
            }) {
                let put = forward(
                    collector,
                    row.at,
                    &row.signal,
                    None,
                    row.records,
                    &row.payload,
                );
                put_within(tx, collector, &put)?;
            }
            tx.set_forwarded(row.sequence)?;
        }
        Ok(())
    })
}
