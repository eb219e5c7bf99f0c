//! Sends what waits for a downstream collector: in order, one after the other, and each until it is taken or refused.

use std::time::Duration;

use siglum_domain::{SessionId, Timestamp};
use siglum_egress::otlp::{OtlpClient, OtlpError, Signal};
use siglum_ledger::{Durability, ForwardRecord, Ledger, LedgerError, read, write};
use siglum_telemetry::answer::Answer;
use siglum_telemetry::wire::Batch;

use super::parcel;
use crate::Here;
use crate::share::otel::destination::{Destination, DestinationError};
use crate::share::otel::{encoding, lost, sent_as};
use crate::share::project::{Position, Sealed, Sink, SinkError};
use crate::share::scope::Guard;

/// Rows that are sent before others are asked again.
const AT_ONCE: usize = 16;
/// How long a collector is left alone that does not answer, at first and at most.
const FIRST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(60);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// The way to one collector.
pub struct Forwarder {
    name: String,
    destination: Destination,
    client: Result<OtlpClient, DestinationError>,
    pause: Duration,
    until: Option<Timestamp>,
    /// It took something at this address: what it has no place for, it will not have later.
    is_met: bool,
}

/// What became of one row.
enum Sent {
    /// It is taken, but for so many of its records.
    But(u64),
    /// It is to be sent again, after so long.
    Again(Option<Duration>),
}

impl Forwarder {
    /// The collector of this name.
    #[must_use]
    pub fn new(
        name: &str,
        destination: Destination,
        client: Result<OtlpClient, DestinationError>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            destination,
            client,
            pause: FIRST,
            until: None,
            is_met: false,
        }
    }

    /// When something can be sent; nothing where nothing waits.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn next_try(
        &self,
        ledger: &mut dyn Ledger,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, LedgerError> {
        let waits = read(ledger, |tx| {
            let is_shut = Guard::read(tx, &self.name)?.kinds().is_none();
            Ok(!is_shut && tx.forward_depth(&self.name)?.rows > 0)
        })?;
        Ok(waits.then(|| self.until.unwrap_or(now)))
    }

    /// Sends a little.
    ///
    /// # Errors
    /// Those of the ledger; what was sent and could not be let go of is sent once more.
    pub fn feed(&mut self, here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<(), LedgerError> {
        let guard = read(ledger, |tx| Guard::read(tx, &self.name))?;
        if guard.kinds().is_none() {
            return Ok(());
        }
        for row in read(ledger, |tx| tx.forwards(&self.name, AT_ONCE))? {
            // The scope may be narrower than when it was put aside, or its session works elsewhere, too, by now.
            let is_whole = guard.has_texts();
            let may_leave = read(ledger, |tx| match row.session {
                _ if !is_whole => Ok(false),
                Some(session) => guard.has_session(tx, session),
                None => Ok(guard.has_strangers()),
            })?;
            let sent = match may_leave {
                true => self.send(here.now(), &row),
                false => Sent::But(row.records),
            };
            match sent {
                Sent::But(lost_now) => {
                    self.is_met |= lost_now < row.records;
                    (self.pause, self.until) = (FIRST, None);
                    write(ledger, Durability::Process, |tx| {
                        tx.drop_forward(row.sequence)?;
                        match lost_now {
                            0 => Ok(()),
                            n => tx.add_count(&lost(&self.name), n),
                        }
                    })?;
                }
                Sent::Again(after) => {
                    let wait = after.unwrap_or(self.pause).min(MOST);
                    self.pause = (self.pause * 2).min(MOST);
                    let ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
                    self.until = Some(here.now().plus_millis(ms));
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn send(&self, now: Timestamp, row: &ForwardRecord) -> Sent {
        let days = i64::from(self.destination.backlog.days);
        if now.millis_since(row.at) > days.saturating_mul(DAY_MS) {
            return Sent::But(row.records);
        }
        match parcel::open(&row.signal, &row.payload) {
            Ok(batch) => self.send_batch(&batch),
            Err(why) => {
                tracing::warn!("what was to be forwarded cannot be read: {why}");
                Sent::But(row.records)
            }
        }
    }

    fn send_batch(&self, batch: &Batch) -> Sent {
        let client = match &self.client {
            Ok(client) => client,
            Err(why) => {
                tracing::warn!("destination {}: {why}", self.name);
                return Sent::Again(Some(MOST));
            }
        };
        let encoding = encoding(self.destination.protocol);
        let signal = sent_as(batch.signal());
        let records = batch.records() as u64;
        match client.send(signal, &batch.encode(encoding)) {
            Ok(answer) => {
                let read = Answer::read(&answer.content_type, &answer.body);
                Sent::But(read.map_or(0, |answer| answer.rejected.min(records)))
            }
            Err(OtlpError::TooLarge { .. }) if records > 1 => self.send_halves(batch),
            Err(OtlpError::TooLarge { .. }) => Sent::But(records),
            Err(OtlpError::Busy { after, .. }) => Sent::Again(after),
            Err(OtlpError::Refused { refusal, .. })
                if refusal.is_about_the_address() && self.is_met && signal != Signal::Traces =>
            {
                Sent::But(records)
            }
            // What is wrong with us or the address is mended by a person.
            Err(OtlpError::Refused { refusal, .. })
                if !refusal.is_about_credentials() && !refusal.is_about_the_address() =>
            {
                tracing::warn!("destination {} refused telemetry: {refusal}", self.name);
                Sent::But(records)
            }
            Err(error) => {
                tracing::debug!("destination {}: {error}", self.name);
                Sent::Again(None)
            }
        }
    }

    /// Each half by itself. Where only the first is taken, both are sent again: a collector knows the same span.
    fn send_halves(&self, batch: &Batch) -> Sent {
        let half = batch.records() / 2;
        let mut lost_now = 0;
        for is_first in [true, false] {
            let part = batch.select(|record| (record.0 < half) == is_first);
            match self.send_batch(&part) {
                Sent::But(lost) => lost_now += lost,
                again @ Sent::Again(_) => return again,
            }
        }
        Sent::But(lost_now)
    }
}

/// Receipts are none of its business: it is through with each at once.
impl Sink for Forwarder {
    fn at_once(&self) -> usize {
        usize::MAX
    }

    fn position(&mut self, _: SessionId) -> Result<Position, SinkError> {
        Ok(Position::Unknown)
    }

    fn take(&mut self, _: &mut dyn Ledger, _: &[Sealed<'_>]) -> Result<(), SinkError> {
        Ok(())
    }

    fn reset(&mut self, _: SessionId) -> Result<(), SinkError> {
        Ok(())
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}
