//! Heartbeats that go wrong.

use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{HeartbeatRecord, Heartbeats, LedgerError, TickRecord, TickTotal};

use super::own::LATE;
use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Ignores("due_heartbeats", "at"),
    Fault::Lost("put_tick"),
    Fault::Affirms("put_tick"),
    Fault::Denies("put_tick"),
    Fault::Ignores("ticks", "before"),
    Fault::Ignores("lost_ticks", "at"),
    Fault::Ignores("owed_ticks", "at"),
    Fault::Ignores("old_ticks", "before"),
    Fault::Ignores("old_ticks", "after"),
    Fault::Lost("drop_session"),
    Fault::Affirms("drop_session"),
    Fault::Denies("drop_session"),
    Fault::Ignores("drop_session", "by"),
];

/// Lists with faults of their own beside those of their kind.
pub(super) const LISTS: &[&str] = &[
    "due_heartbeats",
    "ticks",
    "lost_ticks",
    "owed_ticks",
    "old_ticks",
];

broken! { Heartbeats, HEARTBEATS, LIMITED;
    Write put_heartbeat(record: &HeartbeatRecord) -> ();
    Find heartbeat(name: &HeartbeatName) -> Option<HeartbeatRecord>;
    List heartbeats() -> Vec<HeartbeatRecord>;
    Own due_heartbeats(at: Timestamp; limit) -> Vec<HeartbeatRecord>;
    WriteOnce drop_heartbeat(name: &HeartbeatName) -> ();
    Own put_tick(tick: &TickRecord) -> bool;
    Write set_tick(tick: &TickRecord) -> ();
    Find tick(name: &HeartbeatName, due: Timestamp) -> Option<TickRecord>;
    Own ticks(name: &HeartbeatName, before: Option<Timestamp>; limit) -> Vec<TickRecord>;
    Find running_tick(name: &HeartbeatName) -> Option<TickRecord>;
    Own lost_ticks(at: Timestamp; limit) -> Vec<TickRecord>;
    Own owed_ticks(at: Timestamp; limit) -> Vec<TickRecord>;
    Own old_ticks(name: &HeartbeatName, after: Option<Timestamp>, before: Timestamp; limit) -> Vec<TickRecord>;
    Write drop_tick(name: &HeartbeatName, due: Timestamp) -> ();
    Write add_tick_total(name: &HeartbeatName, total: &TickTotal) -> ();
    List tick_totals(name: &HeartbeatName) -> Vec<TickTotal>;
    Own drop_session(session: SessionId, by: &str) -> Option<String>;
}

impl BrokenTx<'_> {
    fn until(&self, verb: &'static str, argument: &'static str, at: Timestamp) -> Timestamp {
        match self.ignores(verb, argument) {
            true => LATE,
            false => at,
        }
    }

    fn due_heartbeats(&mut self, at: Timestamp, limit: usize) -> Result<Vec<HeartbeatRecord>> {
        let at = self.until("due_heartbeats", "at", at);
        let rows = self.good.due_heartbeats(at, limit)?;
        Ok(self.listed("due_heartbeats", rows))
    }

    fn put_tick(&mut self, tick: &TickRecord) -> Result<bool> {
        if self.lost("put_tick") {
            return Ok(true);
        }
        let put = self.good.put_tick(tick)?;
        Ok(self.faulty_flag("put_tick", put))
    }

    fn ticks(
        &mut self,
        name: &HeartbeatName,
        before: Option<Timestamp>,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let before = before.filter(|_| !self.ignores("ticks", "before"));
        let rows = self.good.ticks(name, before, limit)?;
        Ok(self.listed("ticks", rows))
    }

    fn lost_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let at = self.until("lost_ticks", "at", at);
        let rows = self.good.lost_ticks(at, limit)?;
        Ok(self.listed("lost_ticks", rows))
    }

    fn owed_ticks(&mut self, at: Timestamp, limit: usize) -> Result<Vec<TickRecord>> {
        let at = self.until("owed_ticks", "at", at);
        let rows = self.good.owed_ticks(at, limit)?;
        Ok(self.listed("owed_ticks", rows))
    }

    fn old_ticks(
        &mut self,
        name: &HeartbeatName,
        after: Option<Timestamp>,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<TickRecord>> {
        let before = self.until("old_ticks", "before", before);
        let after = after.filter(|_| !self.ignores("old_ticks", "after"));
        let rows = self.good.old_ticks(name, after, before, limit)?;
        Ok(self.listed("old_ticks", rows))
    }

    fn drop_session(&mut self, session: SessionId, by: &str) -> Result<Option<String>> {
        if self.lost("drop_session") {
            return Ok(None);
        }
        let by = match self.ignores("drop_session", "by") {
            true => "heartbeat",
            false => by,
        };
        let pinned = self.good.drop_session(session, by)?;
        Ok(match self.state.fault {
            Fault::Affirms("drop_session") => None,
            Fault::Denies("drop_session") => Some("nothing".to_owned()),
            _ => pinned,
        })
    }
}
