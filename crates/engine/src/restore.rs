//! What a ledger that comes from a backup needs before anybody uses it.
//!
//! It knows less than the world around it: sinks may have what it never heard of, and drivers may hold leases that it
//! never gave. So every projection is asked again from the first receipt on, and every lease goes to nobody, under an
//! epoch that nobody was ever given.

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_ledger::{Durability, Ledger, LedgerError, write};

use crate::World;
use crate::identity::audit::{self, Entry};

/// What was done to a restored ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepared {
    /// Sessions that are due again, over all projections.
    pub due: u64,
    /// Leases that were taken from whoever had them.
    pub fenced: u64,
}

/// Makes everything due at every projection again, and takes all leases. `epoch` is the greatest one in the ledger that
/// is replaced, where that can be read.
///
/// Epochs grow by one with each driver, so those given out between the backup and now are not known here. The time in
/// milliseconds is above all of them, also above those given out after an earlier restore of the same backup.
///
/// # Errors
/// Those of the ledger.
pub fn prepare(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    epoch: u64,
    by: &str,
) -> Result<Prepared, LedgerError> {
    let now = world.now();
    let floor = u64::try_from(now.nanos() / 1_000_000)
        .unwrap_or(0)
        .max(epoch);
    write(ledger, Durability::Disk, |tx| {
        let mut due = 0;
        for projection in tx.projections()? {
            due += tx.restart(&projection.name, None, now)?;
            tx.restart_documents(&projection.name)?;
        }
        let fenced = tx.fence_all(floor, now)?;
        let entry = Entry::done(by, Action::LedgerRestored);
        let entry = entry.with(json!({ "due": due, "fenced": fenced }));
        audit::record(tx, world, &entry)?;
        Ok(Prepared { due, fenced })
    })
}
