//! What a projection must be able to do.

use siglum_domain::SessionId;
use siglum_domain::fold::Entry;
use siglum_domain::receipt::Receipt;
use siglum_ledger::SessionRecord;

/// What one receipt seals.
#[derive(Debug)]
pub struct Sealed<'a> {
    /// The session, as it is now.
    pub session: &'a SessionRecord,
    /// The receipt.
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
    At {
        /// Its number.
        number: u64,
        /// Its digest.
        digest: String,
    },
}

/// Why a sink did not take something.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    /// It cannot be reached, or does not answer: it is tried again for as long as it takes.
    #[error("{0}")]
    Unavailable(String),
    /// It does not want this: after some tries it is set aside.
    #[error("{0}")]
    Refused(String),
}

/// Somewhere that shows what is committed. What it is given again, because the answer was lost, it must not show
/// twice: the number of the receipt tells.
pub trait Sink {
    /// How far it has come with a session.
    ///
    /// # Errors
    /// Why it does not tell.
    fn position(&mut self, session: SessionId) -> Result<Position, SinkError>;

    /// Takes what one receipt seals; the one before was taken before.
    ///
    /// # Errors
    /// Why it did not.
    fn take(&mut self, sealed: &Sealed<'_>) -> Result<(), SinkError>;

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
