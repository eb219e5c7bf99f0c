//! Traces of sealed turns, sent to one server: a projection as all others, whose buffer is the ledger itself.
//!
//! What is sent twice, since an answer was lost, is the same spans once more. What a server says that it threw away,
//! and what waited too long for it, is lost and counted.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

use siglum_domain::fold::Entry;
use siglum_domain::observation::Body;
use siglum_domain::redact::Redactor;
use siglum_domain::trace::SpanId;
use siglum_domain::{SessionId, Timestamp};
use siglum_egress::otlp::{OtlpClient, OtlpError};
use siglum_ledger::{Durability, Ledger, LedgerError, SessionRecord, read, write};
use siglum_telemetry::answer::Answer;
use siglum_telemetry::outward::{self, Outgoing};
use siglum_telemetry::wire;

use super::destination::{self, Destination, DestinationError, Sends};
use super::gather::{Gathered, gather};
use super::{encoding, sent_as};
use crate::record::passages::Passages;
use crate::share::project::{Position, Sealed, Sink, SinkError};
use crate::share::scope::Guard;

/// How many receipts of a session are told at once.
const RECEIPTS: usize = 64;
/// How many spans or records are sent at once.
const RECORDS: usize = 512;
/// How long a turn may wait until its transcript is read, in ms: spans cannot be changed once they are sent.
const WAIT_MS: i64 = 5_000;
/// How soon such a turn is looked at again.
const LOOK: Duration = Duration::from_millis(250);
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What was not told to a server, by what it is counted under.
#[must_use]
pub fn lost(name: &str) -> String {
    format!("lost:{name}")
}

/// One server.
pub struct Sessions {
    name: String,
    destination: Destination,
    /// None where it cannot be made, with the reason.
    client: Result<OtlpClient, DestinationError>,
    now: Box<dyn Fn() -> Timestamp + Send>,
    /// Some servers have traces and nothing else.
    takes_logs: bool,
    /// What was taken last of each session: it is not sent again, though something else of it was not taken, or that
    /// it was could not be noted.
    taken: HashMap<SessionId, HashSet<SpanId>>,
}

impl Sessions {
    /// The server of this name, at the time that `now` tells. Where there is no way to it, it takes nothing and says
    /// why.
    #[must_use]
    pub fn new(
        name: &str,
        destination: Destination,
        client: Result<OtlpClient, DestinationError>,
        now: Box<dyn Fn() -> Timestamp + Send>,
    ) -> Self {
        let takes_logs = destination
            .only()
            .is_none_or(|only| only == wire::Signal::Logs.as_str());
        Self {
            name: name.to_owned(),
            destination,
            client,
            now,
            takes_logs,
            taken: HashMap::new(),
        }
    }

    /// Whether more of what is sealed is about to come: the transcript is read after the turn has come to its stop.
    fn is_early(
        &self,
        ledger: &mut dyn Ledger,
        record: &SessionRecord,
        sealed: &[Sealed<'_>],
    ) -> Result<bool, LedgerError> {
        let newest = sealed.last().map_or(0, |s| s.receipt.at.nanos());
        let age = (self.now)().millis_since(Timestamp::from_nanos(newest));
        if !(0..WAIT_MS).contains(&age) {
            return Ok(false);
        }
        read(ledger, |tx| {
            let wanted = tx.wanted_transcripts(usize::from(u8::MAX))?;
            let now = tx.session(record.id)?;
            let grows = now.is_some_and(|now| now.head > now.sealed);
            Ok(grows || wanted.iter().any(|t| t.session == record.id))
        })
    }

    fn outgoing(
        &self,
        ledger: &mut dyn Ledger,
        record: &SessionRecord,
        gathered: &Gathered,
        may_texts: bool,
    ) -> Outgoing {
        let Gathered {
            subject,
            parts,
            moments,
        } = gathered;
        let passages = RefCell::new(Passages::new(ledger, record.agent_word()));
        let text = |body: &Body| {
            let text = passages.borrow_mut().text(body).ok().flatten()?;
            Some(Redactor::shared().redact(&text).into_string())
        };
        let content = match self.destination.content {
            destination::Content::Off => outward::Content::Off,
            destination::Content::On if !may_texts => outward::Content::Off,
            destination::Content::On => outward::Content::On(&text),
        };
        let spans = parts
            .iter()
            .flat_map(|part| outward::turn(subject, part, content));
        let records = moments
            .iter()
            .map(|moment| outward::moment(subject, moment));
        Outgoing {
            spans: spans.collect(),
            records: records.collect(),
        }
    }

    /// Sends all of it; gives how much is lost for good.
    fn send(&mut self, session: SessionId, outgoing: &Outgoing) -> Result<usize, SinkError> {
        let mut lost = 0;
        let only = self.destination.only();
        let takes_spans = only.is_none_or(|only| only == wire::Signal::Traces.as_str());
        let spans = outgoing.pieces(wire::Signal::Traces, RECORDS);
        for piece in spans.iter().filter(|_| takes_spans) {
            lost += self.send_piece(wire::Signal::Traces, piece)?;
            self.taken.entry(session).or_default().extend(piece.names());
        }
        if !self.takes_logs {
            return Ok(lost);
        }
        for piece in outgoing.pieces(wire::Signal::Logs, RECORDS) {
            match self.send_piece(wire::Signal::Logs, &piece) {
                Err(Refusal::NoSuchSignal) => {
                    self.takes_logs = false;
                    return Ok(lost);
                }
                sent => lost += sent?,
            }
        }
        Ok(lost)
    }

    fn send_piece(&self, signal: wire::Signal, piece: &Outgoing) -> Result<usize, Refusal> {
        let client = self.client.as_ref();
        let client = client.map_err(|e| Refusal::NoWay(e.to_string()))?;
        let body = piece.encode(signal, encoding(self.destination.protocol));
        match client.send(sent_as(signal), &body) {
            // Whatever a server answers that took it: what it does not say, it took.
            Ok(answer) => Ok(Answer::read(&answer.content_type, &answer.body)
                .map_or(0, |a| usize::try_from(a.rejected).unwrap_or(usize::MAX))
                .min(piece.count())),
            Err(OtlpError::TooLarge { .. }) if piece.count() > 1 => {
                let mut lost = 0;
                for half in piece.pieces(signal, piece.count().div_ceil(2)) {
                    lost += self.send_piece(signal, &half)?;
                }
                Ok(lost)
            }
            Err(OtlpError::TooLarge { .. }) => Ok(1),
            Err(OtlpError::Refused { refusal, .. })
                if signal == wire::Signal::Logs && refusal.is_about_the_address() =>
            {
                Err(Refusal::NoSuchSignal)
            }
            Err(error) => Err(Refusal::Other(error)),
        }
    }

    fn is_too_old(&self, at: Timestamp) -> bool {
        let days = i64::from(self.destination.backlog.days);
        (self.now)().millis_since(at) > days.saturating_mul(DAY_MS)
    }
}

/// Why a piece was not taken.
enum Refusal {
    /// There is nothing at the server for this kind of telemetry.
    NoSuchSignal,
    /// Nobody can be asked.
    NoWay(String),
    Other(OtlpError),
}

impl From<Refusal> for SinkError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::NoSuchSignal => Self::Refused("it has no such address".to_owned()),
            Refusal::NoWay(why) => Self::Unavailable(why),
            Refusal::Other(error) => {
                let why = error.to_string();
                match error {
                    OtlpError::Busy {
                        after: Some(after), ..
                    } => Self::Busy { why, after },
                    // What is wrong with us or the address is mended by a person, and lost to nobody.
                    OtlpError::Refused { refusal, .. }
                        if !refusal.is_about_credentials() && !refusal.is_about_the_address() =>
                    {
                        Self::Refused(why)
                    }
                    _ => Self::Unavailable(why),
                }
            }
        }
    }
}

impl Sink for Sessions {
    fn at_once(&self) -> usize {
        RECEIPTS
    }

    fn position(&mut self, _: SessionId) -> Result<Position, SinkError> {
        Ok(Position::Unknown)
    }

    fn take(&mut self, ledger: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError> {
        let Some(first) = sealed.first() else {
            return Ok(());
        };
        let record = first.session;
        let is_wanted = self.destination.sends == Sends::Sessions
            && self.destination.sample.keeps(&record.conversation);
        if !is_wanted {
            return Ok(());
        }
        let failed = |e: LedgerError| SinkError::Unavailable(e.to_string());
        if self.is_early(ledger, record, sealed).map_err(failed)? {
            return Err(SinkError::Early(LOOK));
        }
        let new: Vec<Entry> = sealed.iter().flat_map(|s| s.entries).cloned().collect();
        let exported = first.receipt.first - 1;
        let (gathered, may_texts) = read(ledger, |tx| {
            let guard = Guard::read(tx, &self.name)?;
            let gathered = gather(tx, &self.name, record, exported, &new)?;
            Ok((gathered, guard.has_texts()))
        })
        .map_err(failed)?;
        let mut outgoing = self.outgoing(ledger, record, &gathered, may_texts);
        let all: HashSet<SpanId> = outgoing.names().collect();
        if let Some(taken) = self.taken.get(&record.id) {
            outgoing.leave_out(taken);
        }
        let newest = sealed.last().map_or(first.receipt.at, |s| s.receipt.at);
        let lost_now = match self.is_too_old(newest) {
            true => outgoing.count(),
            false => self.send(record.id, &outgoing)?,
        };
        self.taken.insert(record.id, all);
        if lost_now > 0 {
            let (name, by) = (lost(&self.name), lost_now as u64);
            write(ledger, Durability::Process, |tx| tx.add_count(&name, by)).map_err(failed)?;
        }
        Ok(())
    }

    /// A server keeps what it was told, and knows the same span when it is told it again.
    fn reset(&mut self, _: SessionId) -> Result<(), SinkError> {
        Ok(())
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}
