//! Telemetry that goes wrong.

use siglum_domain::trace::TraceId;
use siglum_domain::{SessionId, Timestamp, TurnId};
use siglum_ledger::{
    Depth, ForwardRecord, LedgerError, Telemetry, TelemetryBatch, UnassignedRecord,
};

use super::own::LATE;
use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("put_batch"),
    Fault::OneMore("put_batch"),
    Fault::OneMore("inbox"),
    Fault::Lost("put_unassigned"),
    Fault::OneMore("put_unassigned"),
    Fault::Ignores("unassigned", "before"),
    Fault::Ignores("unforwarded", "until"),
    Fault::Lost("trim_unassigned"),
    Fault::OneMore("trim_unassigned"),
    Fault::OneMore("unassigned_depth"),
    Fault::Lost("put_forward"),
    Fault::OneMore("put_forward"),
    Fault::Lost("drop_forwards"),
    Fault::OneMore("drop_forwards"),
    Fault::OneMore("forward_depth"),
];

/// Lists with faults of their own beside those of their kind.
pub(super) const LISTS: &[&str] = &["unassigned", "unforwarded"];

broken! { Telemetry, TELEMETRY, LIMITED;
    Own put_batch(batch: &TelemetryBatch) -> u64;
    List batches(; limit) -> Vec<TelemetryBatch>;
    Write drop_batch(sequence: u64) -> ();
    Own inbox() -> Depth;
    Write note_trace(trace: &TraceId, session: SessionId, at: Timestamp) -> ();
    Bag sessions_of_trace(trace: &TraceId; limit) -> Vec<SessionId>;
    Bag sessions_of_call(event: &str; limit) -> Vec<SessionId>;
    Find session_of_turn(turn: TurnId) -> Option<SessionId>;
    Own put_unassigned(record: &UnassignedRecord) -> u64;
    Own unassigned(before: Option<u64>; limit) -> Vec<UnassignedRecord>;
    List unassigned_of(trace: &TraceId; limit) -> Vec<UnassignedRecord>;
    Own unforwarded(until: Timestamp; limit) -> Vec<UnassignedRecord>;
    Write set_forwarded(sequence: u64) -> ();
    Write drop_unassigned(sequence: u64) -> ();
    Own trim_unassigned(keep: usize) -> u64;
    Own unassigned_depth() -> Depth;
    Own put_forward(forward: &ForwardRecord) -> u64;
    List forwards(destination: &str; limit) -> Vec<ForwardRecord>;
    Write drop_forward(sequence: u64) -> ();
    Own drop_forwards(destination: &str) -> u64;
    Own forward_depth(destination: &str) -> Depth;
    Write add_count(name: &str, by: u64) -> ();
    List counts() -> Vec<(String, u64)>;
}

impl BrokenTx<'_> {
    fn more(&self, verb: &'static str, count: u64) -> u64 {
        count + u64::from(self.state.fault == Fault::OneMore(verb))
    }

    fn deeper(&self, verb: &'static str, depth: Depth) -> Depth {
        Depth {
            rows: self.more(verb, depth.rows),
            ..depth
        }
    }

    fn put_batch(&mut self, batch: &TelemetryBatch) -> Result<u64> {
        if self.lost("put_batch") {
            return Ok(1);
        }
        let place = self.good.put_batch(batch)?;
        Ok(self.more("put_batch", place))
    }

    fn inbox(&mut self) -> Result<Depth> {
        let depth = self.good.inbox()?;
        Ok(self.deeper("inbox", depth))
    }

    fn put_unassigned(&mut self, record: &UnassignedRecord) -> Result<u64> {
        if self.lost("put_unassigned") {
            return Ok(1);
        }
        let place = self.good.put_unassigned(record)?;
        Ok(self.more("put_unassigned", place))
    }

    fn unassigned(&mut self, before: Option<u64>, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let before = before.filter(|_| !self.ignores("unassigned", "before"));
        let rows = self.good.unassigned(before, limit)?;
        Ok(self.listed("unassigned", rows))
    }

    fn unforwarded(&mut self, until: Timestamp, limit: usize) -> Result<Vec<UnassignedRecord>> {
        let ignores = self.ignores("unforwarded", "until");
        let rows = self
            .good
            .unforwarded(if ignores { LATE } else { until }, limit)?;
        Ok(self.listed("unforwarded", rows))
    }

    fn trim_unassigned(&mut self, keep: usize) -> Result<u64> {
        if self.lost("trim_unassigned") {
            return Ok(9);
        }
        let gone = self.good.trim_unassigned(keep)?;
        Ok(self.more("trim_unassigned", gone))
    }

    fn unassigned_depth(&mut self) -> Result<Depth> {
        let depth = self.good.unassigned_depth()?;
        Ok(self.deeper("unassigned_depth", depth))
    }

    fn put_forward(&mut self, forward: &ForwardRecord) -> Result<u64> {
        if self.lost("put_forward") {
            return Ok(1);
        }
        let place = self.good.put_forward(forward)?;
        Ok(self.more("put_forward", place))
    }

    fn drop_forwards(&mut self, destination: &str) -> Result<u64> {
        if self.lost("drop_forwards") {
            return Ok(7);
        }
        let gone = self.good.drop_forwards(destination)?;
        Ok(self.more("drop_forwards", gone))
    }

    fn forward_depth(&mut self, destination: &str) -> Result<Depth> {
        let depth = self.good.forward_depth(destination)?;
        Ok(self.deeper("forward_depth", depth))
    }
}
