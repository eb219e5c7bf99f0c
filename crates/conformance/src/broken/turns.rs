//! Driven turns that go wrong.

use siglum_domain::receipt::Receipt;
use siglum_domain::{SessionId, Timestamp, TurnId};
use siglum_ledger::{KeyedReceipt, Lease, LedgerError, LogRow, OpenTurn, Turns};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::GoesBack("clock"),
    Fault::Lost("release_lease"),
    Fault::Ignores("release_lease", "epoch"),
    Fault::Lost("put_open_turn"),
    Fault::Alternate("put_open_turn"),
    Fault::DropsPending("put_open_turn"),
    Fault::Lost("drop_turn"),
    Fault::KeepsPending,
    Fault::Lost("add_pending"),
    Fault::Alternate("add_pending"),
    Fault::Affirms("add_pending"),
    Fault::Denies("add_pending"),
    Fault::PendsTwice,
    Fault::Lost("append_rows"),
    Fault::Alternate("append_rows"),
    Fault::Blind("append_rows"),
    Fault::Reversed("append_rows"),
    Fault::Ignores("append_rows", "turn"),
    Fault::Lost("put_keyed_receipt"),
    Fault::Alternate("put_keyed_receipt"),
    Fault::Affirms("put_keyed_receipt"),
    Fault::Denies("put_keyed_receipt"),
    Fault::Ignores("put_keyed_receipt", "content"),
    Fault::Undue("put_keyed_receipt"),
    Fault::LosesKey,
    Fault::KeyMoves,
];

broken! { Turns, TURNS, LIMITED;
    Own clock(local: Timestamp) -> Timestamp;
    Find take_lease(session: SessionId, holder: &str, at: Timestamp, until: Timestamp) -> Option<u64>;
    Own release_lease(session: SessionId, epoch: u64, at: Timestamp) -> ();
    Find lease(session: SessionId) -> Option<Lease>;
    Own put_open_turn(turn: &OpenTurn) -> ();
    Find open_turn(session: SessionId) -> Option<OpenTurn>;
    List open_turns(; limit) -> Vec<OpenTurn>;
    Own drop_turn(session: SessionId) -> ();
    Own add_pending(session: SessionId, row: &LogRow) -> bool;
    List pending(session: SessionId) -> Vec<LogRow>;
    Own append_rows(session: SessionId, turn: TurnId, rows: &[LogRow]) -> Option<String>;
    Own put_keyed_receipt(receipt: &Receipt, key: &str, content: &str) -> bool;
    Find keyed_receipt(session: SessionId, key: &str) -> Option<KeyedReceipt>;
    Find last_receipt(session: SessionId) -> Option<Receipt>;
    WriteOnce archive(session: SessionId, at: Timestamp) -> ();
    Write quarantine(session: SessionId, reason: Option<&str>) -> ();
    List quarantined_sessions(; limit) -> Vec<(SessionId, String)>;
}

impl BrokenTx<'_> {
    /// A verb that says yes or no, and may say what is not so.
    pub(super) fn faulty_flag(&self, verb: &'static str, truth: bool) -> bool {
        match self.state.fault {
            Fault::Affirms(faulty) if faulty == verb => true,
            Fault::Denies(faulty) if faulty == verb => false,
            _ => truth,
        }
    }

    fn clock(&mut self, local: Timestamp) -> Result<Timestamp> {
        let time = self.good.clock(local)?;
        if self.state.fault != Fault::GoesBack("clock") {
            return Ok(time);
        }
        self.state.calls += 1;
        let back = i64::try_from(self.state.calls).unwrap() * 20_000_000_000;
        Ok(Timestamp::from_nanos(time.nanos() - back))
    }

    fn release_lease(&mut self, session: SessionId, epoch: u64, at: Timestamp) -> Result<()> {
        if self.lost("release_lease") {
            return Ok(());
        }
        let held = self.good.lease(session)?;
        let epoch = match held {
            Some(lease) if self.ignores("release_lease", "epoch") => lease.epoch,
            _ => epoch,
        };
        self.good.release_lease(session, epoch, at)
    }

    fn put_open_turn(&mut self, turn: &OpenTurn) -> Result<()> {
        if self.lost("put_open_turn") {
            return Ok(());
        }
        if self.state.fault == Fault::DropsPending("put_open_turn") {
            self.good.drop_turn(turn.session)?;
        }
        self.good.put_open_turn(turn)
    }

    fn drop_turn(&mut self, session: SessionId) -> Result<()> {
        if self.lost("drop_turn") {
            return Ok(());
        }
        let waiting = self.good.pending(session)?;
        self.good.drop_turn(session)?;
        for row in waiting {
            if self.state.fault == Fault::KeepsPending {
                self.good.add_pending(session, &row)?;
            }
        }
        Ok(())
    }

    fn add_pending(&mut self, session: SessionId, row: &LogRow) -> Result<bool> {
        if self.lost("add_pending") {
            return Ok(true);
        }
        let mut added = self.good.add_pending(session, row)?;
        if !added && self.state.fault == Fault::PendsTwice {
            let key = format!("{}+", row.key);
            let again = LogRow { key, ..row.clone() };
            added = self.good.add_pending(session, &again)?;
        }
        Ok(self.faulty_flag("add_pending", added))
    }

    fn append_rows(
        &mut self,
        session: SessionId,
        turn: TurnId,
        rows: &[LogRow],
    ) -> Result<Option<String>> {
        if self.lost("append_rows") {
            return Ok(None);
        }
        let mut rows = rows.to_vec();
        if self.state.fault == Fault::Reversed("append_rows") {
            rows.reverse();
        }
        let turn = if self.ignores("append_rows", "turn") {
            crate::sample::turn_id(77)
        } else {
            turn
        };
        let known = self.good.append_rows(session, turn, &rows)?;
        Ok(self.faulty_lookup("append_rows", known))
    }

    fn put_keyed_receipt(&mut self, receipt: &Receipt, key: &str, content: &str) -> Result<bool> {
        if self.lost("put_keyed_receipt") {
            return Ok(true);
        }
        let taken = match self.state.fault {
            Fault::LosesKey => self.good.put_receipt(receipt)?,
            Fault::KeyMoves if self.good.keyed_receipt(receipt.session, key)?.is_some() => {
                self.good.put_receipt(receipt)?
            }
            Fault::Ignores("put_keyed_receipt", "content") => {
                self.good.put_keyed_receipt(receipt, key, "")?
            }
            _ => self.good.put_keyed_receipt(receipt, key, content)?,
        };
        self.undue("put_keyed_receipt", receipt)?;
        Ok(self.faulty_flag("put_keyed_receipt", taken))
    }
}
