//! A store, and what can be done in one transaction of it.

use siglum_domain::{LedgerId, Timestamp};

use crate::LedgerError;
use crate::access::Access;
use crate::audit::Audit;
use crate::commits::Commits;
use crate::contexts::Contexts;
use crate::forgetting::Forgetting;
use crate::heartbeats::Heartbeats;
use crate::integrity::Integrity;
use crate::log::Log;
use crate::pipelines::Pipelines;
use crate::projections::Projections;
use crate::queue::Queue;
use crate::replicas::Replicas;
use crate::requests::Requests;
use crate::retention::Retention;
use crate::runs::Runs;
use crate::search::SearchIndex;
use crate::sessions::Sessions;
use crate::telemetry::Telemetry;
use crate::turns::Turns;
use crate::usage::Usages;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// How safe a write is when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It survives the death of the process.
    Process,
    /// It survives the loss of power: receipts and intents.
    Disk,
}

/// What was done about payloads in a blob store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlobWork {
    /// Payloads that were moved there.
    pub moved: u64,
    /// Blobs that were deleted.
    pub deleted: u64,
}

impl BlobWork {
    /// Whether there was nothing to do.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        self.moved + self.deleted == 0
    }
}

/// A store, opened for one tenant.
pub trait Ledger {
    /// Its id.
    fn id(&self) -> LedgerId;

    /// The secret key of line hashes and of the digests of withheld texts. Never leaves the ledger.
    fn key(&self) -> [u8; 32];

    /// Runs `work` in one transaction that only reads one state of the store.
    ///
    /// # Errors
    /// Those of `work`, or of the store.
    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Runs `work` in one transaction. All of it happens or nothing; `work` may run again after a
    /// conflict, so it must have no effect outside.
    ///
    /// # Errors
    /// Those of `work`, or of the store; nothing was written then.
    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Brings what waits in the store's own log into its files, if that is worth it.
    ///
    /// # Errors
    /// Those of the store.
    fn maintain(&mut self) -> Result<(), LedgerError>;

    /// The same between two steps of long work, which may write more than all that was there before:
    /// only once so much waits that others would be held up. Where the store has no log of its own,
    /// or this is part of a transaction, there is nothing to do.
    ///
    /// # Errors
    /// Those of the store.
    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Tells whoever waits in another process that something was committed, where the store has a way to. It is a
    /// hint that may be lost: whoever waits looks by itself now and then.
    fn announce(&mut self) {}

    /// Moves large payloads that are old enough at `at` to the blob store, and deletes blobs of what was erased: a bounded
    /// part of it. Where the ledger has no blob store, there is nothing to do.
    ///
    /// # Errors
    /// Those of the store; [`LedgerError::Unreachable`] where the blob store does not do it. A payload that was not moved
    /// is where it was.
    fn keep_blobs(&mut self, _at: Timestamp) -> Result<BlobWork, LedgerError> {
        Ok(BlobWork::default())
    }

    /// Takes what was erased out of the store's files and out of its blob store, too, so that not even their bytes hold it.
    ///
    /// # Errors
    /// Those of the store: [`LedgerError::Busy`] while another process reads.
    fn scrub(&mut self) -> Result<(), LedgerError>;

    /// Checks the store's own files and gives what is wrong in words; nothing means sound.
    ///
    /// # Errors
    /// Those of the store.
    fn check(&mut self) -> Result<Vec<String>, LedgerError>;

    /// The index of the texts of its sessions.
    ///
    /// # Errors
    /// There is none that could be asked from here, as within a transaction.
    fn index(&mut self) -> Result<&mut dyn SearchIndex, LedgerError> {
        Err(LedgerError::Storage("the index is not at hand".into()))
    }
}

/// A store of any kind is one as well where it is in a box.
impl<L: Ledger + ?Sized> Ledger for Box<L> {
    fn id(&self) -> LedgerId {
        (**self).id()
    }

    fn key(&self) -> [u8; 32] {
        (**self).key()
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        (**self).read(work)
    }

    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        (**self).write(durability, work)
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        (**self).maintain()
    }

    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        (**self).maintain_at_work()
    }

    fn announce(&mut self) {
        (**self).announce();
    }

    fn keep_blobs(&mut self, at: Timestamp) -> Result<BlobWork, LedgerError> {
        (**self).keep_blobs(at)
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        (**self).scrub()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        (**self).check()
    }

    fn index(&mut self) -> Result<&mut dyn SearchIndex, LedgerError> {
        (**self).index()
    }
}

/// [`Ledger::read`] with a result.
///
/// # Errors
/// Those of `work`, or of the store.
pub fn read<T>(
    ledger: &mut dyn Ledger,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let mut result = None;
    ledger.read(&mut |tx| {
        result = Some(work(tx)?);
        Ok(())
    })?;
    Ok(result.expect("because a transaction that succeeds has run its work"))
}

/// [`Ledger::write`] with a result.
///
/// # Errors
/// Those of `work`, or of the store; nothing was written then.
pub fn write<T>(
    ledger: &mut dyn Ledger,
    durability: Durability,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let mut result = None;
    ledger.write(durability, &mut |tx| {
        result = Some(work(tx)?);
        Ok(())
    })?;
    Ok(result.expect("because a transaction that succeeds has run its work"))
}

/// Everything that can be done inside a transaction.
pub trait Transaction:
    Sessions
    + Log
    + Commits
    + Queue
    + Forgetting
    + Turns
    + Projections
    + Integrity
    + Access
    + Audit
    + Pipelines
    + Replicas
    + Requests
    + Usages
    + Telemetry
    + Heartbeats
    + Contexts
    + Runs
    + Retention
{
    /// Runs `work` as a part of this transaction: if it fails, what it wrote is taken back, and what was written
    /// before it stays. `work` runs once.
    ///
    /// # Errors
    /// Those of `work`, or of the store. Where it is the store's, the whole transaction may be lost: its end says so.
    fn nested(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;
}

/// A transaction as a ledger of its own: what is read and written in it is a part of that transaction, and stored
/// with it or not at all. So use cases that know a ledger alone can share one transaction.
pub struct Joined<'a> {
    tx: &'a mut dyn Transaction,
    id: LedgerId,
    key: [u8; 32],
}

impl<'a> Joined<'a> {
    /// The ledger of this id and key, within its transaction.
    pub fn new(tx: &'a mut dyn Transaction, id: LedgerId, key: [u8; 32]) -> Self {
        Self { tx, id, key }
    }
}

impl Joined<'_> {
    fn outside<T>() -> Result<T, LedgerError> {
        let why = "the files of a store are not touched within a transaction";
        Err(LedgerError::Storage(why.into()))
    }
}

impl Ledger for Joined<'_> {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn key(&self) -> [u8; 32] {
        self.key
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        work(self.tx)
    }

    /// As a part of the transaction; how safe that is, it says itself.
    fn write(
        &mut self,
        _durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.tx.nested(work)
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        Self::outside()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        Self::outside()
    }
}
