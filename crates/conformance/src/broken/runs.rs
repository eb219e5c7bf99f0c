//! Runs that go wrong.

use siglum_domain::{InteractionId, SessionId, TurnId};
use siglum_ledger::{InteractionRecord, LedgerError, RunRecord, Runs, Settlement};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("settle_interaction"),
    Fault::Affirms("settle_interaction"),
    Fault::Denies("settle_interaction"),
];

broken! { Runs, RUNS, LIMITED;
    Write put_run(record: &RunRecord) -> ();
    Find run_of_turn(turn: TurnId) -> Option<RunRecord>;
    List runs_of(session: SessionId; limit) -> Vec<RunRecord>;
    Write put_interaction(record: &InteractionRecord) -> ();
    Find interaction(id: InteractionId) -> Option<InteractionRecord>;
    List interactions_of(session: SessionId; limit) -> Vec<InteractionRecord>;
    Own settle_interaction(id: InteractionId, settled: &Settlement) -> bool;
}

impl BrokenTx<'_> {
    fn settle_interaction(&mut self, id: InteractionId, settled: &Settlement) -> Result<bool> {
        if self.lost("settle_interaction") {
            return Ok(true);
        }
        let done = self.good.settle_interaction(id, settled)?;
        Ok(self.faulty_flag("settle_interaction", done))
    }
}
