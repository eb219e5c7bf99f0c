//! The lifecycle of contexts as one trait, for hosts that know nothing of ledgers.

use siglum_domain::context::{Keys, Policy};
use siglum_ledger::{ContextGap, Ledger};

use super::{
    Assemble, Assembled, Bootstrap, Bootstrapped, Commit, Committed, Compact, ContextError,
    Explained, Ingest, Lineage, Maintained, PrepareSubagent, Ran, Resolve, Resolved, SubagentEnd,
};
use crate::Here;

type Outcome<T> = Result<T, ContextError>;

/// What a host asks of contexts, in the order of a run. Every call but the first has both keys; keys that do not belong
/// together are refused, and nothing is written then.
#[expect(
    clippy::missing_errors_doc,
    reason = "each fails as the function of its name does"
)]
pub trait ContextEngine {
    /// Gives a run its two keys. To be called once for each run, before anything else.
    fn resolve(&mut self, ask: &Resolve) -> Outcome<Resolved>;
    /// A run begins: what another one left open is settled, and gaps are noted.
    fn bootstrap(&mut self, keys: &Keys, ask: &Bootstrap) -> Outcome<Bootstrapped>;
    /// Gives what the model is to read: before the prompt, in the loop of tool calls, and before a result is taken.
    fn assemble(&mut self, keys: &Keys, ask: &Assemble) -> Outcome<Assembled>;
    /// Takes one message of a turn that is not over. Nobody else sees it before the turn is committed.
    fn ingest(&mut self, keys: &Keys, ask: &Ingest) -> Outcome<()>;
    /// Takes a turn that is over, once.
    fn commit(&mut self, keys: &Keys, ask: &Commit) -> Outcome<Committed>;
    /// The run is over: how it ended.
    fn after_turn(&mut self, keys: &Keys, ran: &Ran) -> Outcome<()>;
    /// Takes the host's summary of what was said so far in this context, and in no other.
    fn compact(&mut self, keys: &Keys, ask: &Compact) -> Outcome<Committed>;
    /// Looks after what was left behind. May be called at any time.
    fn maintain(&mut self, keys: &Keys) -> Outcome<Maintained>;
    /// Gives a sub-agent its keys before it starts. `keys` are those of the run that starts it.
    fn prepare_subagent(&mut self, keys: &Keys, ask: &PrepareSubagent) -> Outcome<Resolved>;
    /// A sub-agent ended, or never started. `keys` are its own.
    fn subagent_ended(&mut self, keys: &Keys, how: SubagentEnd) -> Outcome<()>;
    /// Tells what was not handed over, also where that was filled or accepted since.
    fn gaps(&mut self, keys: &Keys) -> Outcome<Vec<ContextGap>>;
    /// Takes a turn that stands in a gap.
    fn backfill(&mut self, keys: &Keys, ask: &Commit) -> Outcome<Committed>;
    /// Goes on without what is missing in the gaps that begin at or before a position; gives how many those are.
    fn accept_gap(&mut self, keys: &Keys, until: Option<u64>) -> Outcome<usize>;
    /// Tells where the context came from, and what came from it.
    fn lineage(&mut self, keys: &Keys) -> Outcome<Lineage>;
    /// Tells why a run of the context sees what it sees.
    fn explain(&mut self, keys: &Keys) -> Outcome<Explained>;
}

/// Contexts that are kept in a ledger.
pub struct LedgerContexts<'a> {
    here: &'a Here<'a>,
    ledger: &'a mut dyn Ledger,
    policy: &'a Policy,
    by: String,
}

impl<'a> LedgerContexts<'a> {
    /// The contexts of a ledger, as this one uses them.
    pub fn new(
        here: &'a Here<'a>,
        ledger: &'a mut dyn Ledger,
        policy: &'a Policy,
        by: &str,
    ) -> Self {
        let by = by.to_owned();
        Self {
            here,
            ledger,
            policy,
            by,
        }
    }
}

impl ContextEngine for LedgerContexts<'_> {
    fn resolve(&mut self, ask: &Resolve) -> Outcome<Resolved> {
        super::resolve(self.here, self.ledger, self.policy, ask)
    }

    fn bootstrap(&mut self, keys: &Keys, ask: &Bootstrap) -> Outcome<Bootstrapped> {
        super::bootstrap(self.here, self.ledger, keys, &self.by, ask)
    }

    fn assemble(&mut self, keys: &Keys, ask: &Assemble) -> Outcome<Assembled> {
        super::assemble(self.ledger, keys, ask)
    }

    fn ingest(&mut self, keys: &Keys, ask: &Ingest) -> Outcome<()> {
        super::ingest(self.here, self.ledger, keys, &self.by, ask)
    }

    fn commit(&mut self, keys: &Keys, ask: &Commit) -> Outcome<Committed> {
        super::commit(self.here, self.ledger, keys, &self.by, ask)
    }

    fn after_turn(&mut self, keys: &Keys, ran: &Ran) -> Outcome<()> {
        super::after_turn(self.here, self.ledger, keys, ran)
    }

    fn compact(&mut self, keys: &Keys, ask: &Compact) -> Outcome<Committed> {
        super::compact(self.here, self.ledger, keys, &self.by, ask)
    }

    fn maintain(&mut self, keys: &Keys) -> Outcome<Maintained> {
        super::maintain(self.here, self.ledger, keys, &self.by)
    }

    fn prepare_subagent(&mut self, keys: &Keys, ask: &PrepareSubagent) -> Outcome<Resolved> {
        super::prepare_subagent(self.here, self.ledger, keys, ask)
    }

    fn subagent_ended(&mut self, keys: &Keys, how: SubagentEnd) -> Outcome<()> {
        super::subagent_ended(self.here, self.ledger, keys, how)
    }

    fn gaps(&mut self, keys: &Keys) -> Outcome<Vec<ContextGap>> {
        super::gaps(self.ledger, keys)
    }

    fn backfill(&mut self, keys: &Keys, ask: &Commit) -> Outcome<Committed> {
        super::backfill(self.here, self.ledger, keys, &self.by, ask)
    }

    fn accept_gap(&mut self, keys: &Keys, until: Option<u64>) -> Outcome<usize> {
        super::accept_gap(self.here, self.ledger, keys, &self.by, until)
    }

    fn lineage(&mut self, keys: &Keys) -> Outcome<Lineage> {
        super::lineage(self.ledger, keys)
    }

    fn explain(&mut self, keys: &Keys) -> Outcome<Explained> {
        super::explain(self.ledger, keys)
    }
}
