//! Verbs that look through everything that is stored, and erase it.
//!
//! What is erased leaves a tombstone: the header of the entry and the digest of its payload, so that receipts still
//! verify. The salt goes with the payload, so that not even a guess can be held against the digest.

use siglum_domain::{SessionId, Timestamp};

use crate::LedgerError;
use crate::record::{Holdings, Payload, Segment};
use crate::telemetry::{KeptTelemetry, TelemetryStore};
use crate::texts::TextColumn;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Looking through what is stored, and erasing it.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Forgetting {
    /// How much of a session could be forgotten; nothing if there is no such session.
    fn holdings(&mut self, session: SessionId) -> Result<Option<Holdings>>;
    /// Erases all payloads of a session, the lines of its transcripts, its summary, what it said of pipelines, telemetry
    /// that is kept for it, and the addresses of the file versions that it saw. Of what its messages cost, tokens, model,
    /// turn and time stay. What was seen up to `at` and comes late keeps no payload. Directories that show it begin it anew.
    fn forget_session(&mut self, session: SessionId, at: Timestamp) -> Result<()>;
    /// Notes that parts of a session were erased: what was seen up to `at` and comes late keeps no payload. Its
    /// summary and what its messages cost are to be folded again. Directories that show it begin it anew.
    fn forget_parts(&mut self, session: SessionId, at: Timestamp) -> Result<()>;

    /// The payloads of all sessions behind a position, in order.
    fn payloads(&mut self, after: u64, limit: usize) -> Result<Vec<Payload>>;
    /// Replaces the payload of the entry at a position, or erases it; its salt goes in either case.
    fn put_payload(&mut self, position: u64, fact: Option<&str>) -> Result<()>;
    /// The runs of transcript lines behind the one of `stream` that begins at `first`, by stream and place.
    fn segments(&mut self, stream: &str, first: u64, limit: usize) -> Result<Vec<Segment>>;
    /// Replaces the lines of the run that begins at `segment.first`, and nothing beside it; without lines it goes.
    fn put_lines(&mut self, segment: &Segment) -> Result<()>;

    /// The addresses of the file versions that a session saw, in order.
    fn objects_of(&mut self, session: SessionId) -> Result<Vec<String>>;
    /// The addresses of the file versions that sessions other than these saw, in order.
    fn objects_of_others(&mut self, sessions: &[SessionId]) -> Result<Vec<String>>;
    /// Takes a file version out of all edits, with the hashes of the lines that they added.
    fn drop_object(&mut self, address: &str) -> Result<()>;

    /// The different texts of a column behind `after`, in the order of their bytes.
    fn texts(&mut self, column: TextColumn, after: &str, limit: usize) -> Result<Vec<String>>;
    /// Replaces a text wherever it stands in a column; nothing: what it is a part of goes, as far as it may.
    fn replace_text(&mut self, column: TextColumn, old: &str, new: Option<&str>) -> Result<()>;
    /// The columns of all tables that hold text, as table and column, in order.
    fn text_columns(&mut self) -> Result<Vec<(String, String)>>;

    /// Telemetry that is kept behind a place, in order.
    fn kept_telemetry(
        &mut self,
        store: TelemetryStore,
        after: u64,
        limit: usize,
    ) -> Result<Vec<KeptTelemetry>>;
    /// Erases what is kept at a place.
    fn drop_telemetry(&mut self, store: TelemetryStore, sequence: u64) -> Result<()>;
}
