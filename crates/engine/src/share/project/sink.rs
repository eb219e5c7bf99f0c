//! What a projection must be able to do.

use std::time::Duration;

use siglum_domain::SessionId;
use siglum_domain::fold::Entry;
use siglum_domain::receipt::Receipt;
use siglum_ledger::{Ledger, SessionRecord};

/// What one receipt seals.
#[derive(Debug)]
pub struct Sealed<'a> {
    /// The session, as it is now.
    pub session: &'a SessionRecord,
    pub receipt: &'a Receipt,
    /// The entries that it seals, in order, without those that were forgotten.
    pub entries: &'a [Entry],
}

/// How far a sink has come with a session, by its own account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Position {
    /// It does not keep count; ours stands.
    Unknown,
    /// It has nothing of it.
    Nothing,
    /// The last receipt that it has.
    At { number: u64, digest: String },
}

/// Why a sink did not take something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// It cannot be reached, or does not answer: it is tried again for as long as it takes.
    #[error("{0}")]
    Unavailable(String),
    /// It cannot now, and says for how long it wants to be left alone.
    #[error("{why}")]
    Busy { why: String, after: Duration },
    /// It does not want this: after some tries it is set aside.
    #[error("{0}")]
    Refused(String),
    /// Nothing is wrong: what it is to be told is not all there yet, and it looks again after this time.
    #[error("it waits for more data")]
    Early(Duration),
}

/// Somewhere that shows what is committed. What it is given again, because the answer was lost, it must not show
/// twice: the number of the receipt tells.
pub trait Sink {
    /// How far it has come with a session.
    ///
    /// # Errors
    /// Why it does not tell.
    fn position(&mut self, session: SessionId) -> Result<Position, SinkError>;

    /// How many receipts of a session it takes at once: all of them, or none.
    fn at_once(&self) -> usize {
        1
    }

    /// Takes what some receipts of one session seal, in order, as many as [`at_once`](Self::at_once) at most; those
    /// before were taken before, and the ledger knows what they seal.
    ///
    /// # Errors
    /// Why it did not.
    fn take(&mut self, ledger: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError>;

    /// Lets go of all that it has of a session.
    ///
    /// # Errors
    /// Why it did not.
    fn reset(&mut self, session: SessionId) -> Result<(), SinkError>;

    /// Lets go of all that it has.
    ///
    /// # Errors
    /// Why it did not.
    fn clear(&mut self) -> Result<(), SinkError>;
}
