//! Replicas: what one ledger hands to another, and what that one makes of it.
//!
//! A session has one home ledger that alone extends its chain. Another one takes a replica: the session's record, its
//! sealed turns with the receipts that prove them, the statements that were made, and the commits as their home judged
//! them. [`Sender`] says what a destination lacks, [`apply`] takes it. Both may be killed at any moment, and an answer may
//! be lost: what comes twice, late or in another order changes nothing.
//!
//! What never leaves: the digests of launch tokens, what git processes looked like (intents), versions of files, turns
//! that no receipt holds, and secrets, since everything is redacted again by the rules of today, on both sides. A payload
//! that these rules change stays in its changed form without its salt: the digest that its receipt covers is kept, so
//! that the chain verifies, and nobody can hold a guess of what was removed against it. One that is no fact any more
//! after that goes as a whole.

mod apply;
#[cfg(test)]
mod attested;
mod changes;
mod clean;
mod documents;
mod entries;
mod error;
mod homes;
#[cfg(test)]
mod identities;
mod inside;
mod limits;
mod outgoing;
mod outsiders;
mod passing;
#[cfg(test)]
mod planted;
mod receipts;
mod recheck;
#[cfg(test)]
mod restored;
mod send;
mod shared;
mod speaker;
mod stamps;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twin_names;
pub mod wire;

pub use apply::apply;
pub use error::{DocumentName, ReplicaError};
pub use limits::{BATCH_MOST, decode, encode};
pub use outgoing::{Destined, Outgoing, Width, outgoing};
pub use passing::{Passed, is_settled, pass};
pub use recheck::{Gate, GateError, Rechecked, recheck};
pub use send::{Due, Fed, Sender, Sent, due, due_in, next_try, retry};
pub use wire::{Batch, Positions, SetAside};
