//! Runs that go wrong.

use siglum_domain::{InteractionId, SessionId, Timestamp, TurnId};
use siglum_ledger::{
    ActiveRun, InteractionRecord, LedgerError, RunEvents, RunRecord, Runs, Settlement,
};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("settle_interaction"),
    Fault::Affirms("settle_interaction"),
    Fault::Denies("settle_interaction"),
    Fault::Lost("cancel_active_run"),
    Fault::Affirms("cancel_active_run"),
    Fault::Denies("cancel_active_run"),
    Fault::Lost("drop_old_run_events"),
];

broken! { Runs, RUNS, LIMITED;
    Write put_run(record: &RunRecord) -> ();
    Find run_of_turn(turn: TurnId) -> Option<RunRecord>;
    List runs_of(session: SessionId; limit) -> Vec<RunRecord>;
    Write put_interaction(record: &InteractionRecord) -> ();
    Find interaction(id: InteractionId) -> Option<InteractionRecord>;
    List interactions_of(session: SessionId; limit) -> Vec<InteractionRecord>;
    Own settle_interaction(id: InteractionId, settled: &Settlement) -> bool;
    Write put_active_run(run: &ActiveRun) -> ();
    Find active_run(session: SessionId) -> Option<ActiveRun>;
    Write begin_active_run(session: SessionId, driver: &str, turn: TurnId) -> ();
    Own cancel_active_run(session: SessionId, driver: &str, by: &str) -> bool;
    Write put_run_events(events: &RunEvents) -> ();
    List run_events(turn: TurnId, after: u64; limit) -> Vec<RunEvents>;
    Write cut_run_events(turn: TurnId, last: u64) -> ();
    Write drop_run_events(turn: TurnId) -> ();
    Own drop_old_run_events(before: Timestamp; limit) -> u64;
}

impl BrokenTx<'_> {
    fn drop_old_run_events(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        if self.lost("drop_old_run_events") {
            return Ok(limit.min(1) as u64);
        }
        self.good.drop_old_run_events(before, limit)
    }

    fn settle_interaction(&mut self, id: InteractionId, settled: &Settlement) -> Result<bool> {
        if self.lost("settle_interaction") {
            return Ok(true);
        }
        let done = self.good.settle_interaction(id, settled)?;
        Ok(self.faulty_flag("settle_interaction", done))
    }

    fn cancel_active_run(&mut self, session: SessionId, driver: &str, by: &str) -> Result<bool> {
        if self.lost("cancel_active_run") {
            return Ok(true);
        }
        let done = self.good.cancel_active_run(session, driver, by)?;
        Ok(self.faulty_flag("cancel_active_run", done))
    }
}
