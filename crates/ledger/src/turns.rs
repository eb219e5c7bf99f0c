//! Verbs of driven turns: the lease of the driver, the turn it has open, and the receipt that ends it.
//!
//! What a driver says waits outside the log. It comes into the log in the transaction that seals it and in no
//! other, so that no reader can see it before.

use siglum_domain::receipt::Receipt;
use siglum_domain::{SessionId, Timestamp, TurnId};

use crate::LedgerError;
use crate::row::LogRow;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Who may drive a session, and until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Grows with each change of the holder, and when somebody takes a lease that had run out: a write that
    /// names another one comes too late.
    pub epoch: u64,
    pub holder: String,
    /// From then on somebody else may take it.
    pub expires_at: Timestamp,
}

/// A turn that its driver has opened and not committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenTurn {
    pub session: SessionId,
    pub id: TurnId,
    /// What its driver calls it.
    pub key: String,
    /// The lease under which it was opened, or taken over.
    pub epoch: u64,
    /// The last sequence of the log when it was opened.
    pub base: u64,
    pub opened_at: Timestamp,
    /// Why a person has to decide what becomes of it.
    pub held: Option<String>,
}

/// A receipt that a driver can ask for by its own key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyedReceipt {
    pub receipt: Receipt,
    /// A keyed digest of what the driver said in the turn.
    pub content: String,
}

/// Leases, open turns, and the receipts that end them.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Turns {
    /// The time that leases go by: that of the store where several machines write to it, else `local`. It does
    /// not go back while `local` does not.
    fn clock(&mut self, local: Timestamp) -> Result<Timestamp>;
    /// Takes the lease of a driven session until `until`, if nobody else holds it at `at`; the holder
    /// may take it again. Gives its epoch, which stays only where the holder prolongs a lease that has not run
    /// out.
    fn take_lease(
        &mut self,
        session: SessionId,
        holder: &str,
        at: Timestamp,
        until: Timestamp,
    ) -> Result<Option<u64>>;
    /// Gives a lease back, which runs out at `at` then, if it has not yet; one of another epoch stays.
    fn release_lease(&mut self, session: SessionId, epoch: u64, at: Timestamp) -> Result<()>;
    /// The lease of a session, whoever has it. In a transaction that writes, nobody takes it meanwhile.
    fn lease(&mut self, session: SessionId) -> Result<Option<Lease>>;

    /// Notes that a turn is open; what was noted of the session before is replaced, and the entries that
    /// wait stay.
    fn put_open_turn(&mut self, turn: &OpenTurn) -> Result<()>;
    /// The turn that is open in a session.
    fn open_turn(&mut self, session: SessionId) -> Result<Option<OpenTurn>>;
    /// The turns that are open, oldest first.
    fn open_turns(&mut self, limit: usize) -> Result<Vec<OpenTurn>>;
    /// The open turn goes, with all that waits in it.
    fn drop_turn(&mut self, session: SessionId) -> Result<()>;
    /// Adds an entry to the open turn, behind those that wait; `false` if one of the same source and key waits
    /// there, which stays as it is.
    fn add_pending(&mut self, session: SessionId, row: &LogRow) -> Result<bool>;
    /// What waits in the open turn, in order.
    fn pending(&mut self, session: SessionId) -> Result<Vec<LogRow>>;

    /// Appends rows of one turn behind the log's end, in their order. Where one of them is there already it gives
    /// its key, and the transaction must not be committed. What was forgotten before it came keeps no payload.
    fn append_rows(
        &mut self,
        session: SessionId,
        turn: TurnId,
        rows: &[LogRow],
    ) -> Result<Option<String>>;
    /// Stores a receipt under the key of its driver, if it follows the last one; `false`, and nothing is
    /// stored, if another came first or has this key. It is due at every projection.
    fn put_keyed_receipt(&mut self, receipt: &Receipt, key: &str, content: &str) -> Result<bool>;
    /// The receipt that the driver of a session calls by this key.
    fn keyed_receipt(&mut self, session: SessionId, key: &str) -> Result<Option<KeyedReceipt>>;
    /// The last receipt of a session.
    fn last_receipt(&mut self, session: SessionId) -> Result<Option<Receipt>>;

    /// Says that nothing of a session is written any more, for good, so that it has ended, too. The first time
    /// stands. Nothing is refused here: whoever writes asks before.
    fn archive(&mut self, session: SessionId, at: Timestamp) -> Result<()>;
    /// Says that what is stored of a session is damaged, and how; or that it is sound again. Nothing is refused
    /// here: whoever writes asks before.
    fn quarantine(&mut self, session: SessionId, reason: Option<&str>) -> Result<()>;
    /// The sessions of which that was said, by id, each with the reason.
    fn quarantined_sessions(&mut self, limit: usize) -> Result<Vec<(SessionId, String)>>;
}
