//! The verbs of what waits: declines, transcripts, the outbox.

use siglum_domain::Timestamp;
use siglum_domain::intake::Decline;

use crate::LedgerError;
use crate::record::*;

type Result<T> = std::result::Result<T, LedgerError>;

/// Declines, transcripts, the outbox and its cursors.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Queue {
    /// Records that something was refused, deferred or lost; the same key twice is one row.
    fn decline(&mut self, key: &str, at: Timestamp, decline: &Decline) -> Result<()>;
    /// What was declined since, newest first.
    fn declines(&mut self, since: Timestamp, limit: usize) -> Result<Vec<DeclineRecord>>;

    /// Wants a transcript to be read (on); creates it if it is new.
    fn want_transcript(&mut self, record: &TranscriptRecord) -> Result<()>;
    /// Transcripts that want to be read.
    fn wanted_transcripts(&mut self, limit: usize) -> Result<Vec<TranscriptRecord>>;
    /// One transcript.
    fn transcript(&mut self, stream: &str) -> Result<Option<TranscriptRecord>>;
    /// Notes how far a transcript was read, and whether there is more.
    fn transcript_read(&mut self, record: &TranscriptRecord, wanted: bool) -> Result<()>;
    /// Stores a run of lines; what was there at its place is replaced.
    fn put_segment(&mut self, segment: &Segment) -> Result<()>;
    /// The run of lines that holds this offset.
    fn segment(&mut self, stream: &str, offset: u64) -> Result<Option<Segment>>;

    /// Puts a change where projections find it.
    fn push(&mut self, at: Timestamp, topic: &str, body: &str) -> Result<()>;
    /// The last position of the outbox.
    fn outbox_end(&mut self) -> Result<u64>;
    /// How far a projection came.
    fn cursor(&mut self, projection: &str) -> Result<u64>;
    /// Notes how far a projection came.
    fn set_cursor(&mut self, projection: &str, position: u64) -> Result<()>;
    /// Writes about as much as a small turn, which says nothing: whoever asks learns whether anything can be written.
    fn write_probe(&mut self) -> Result<()>;
    /// Notes that an item is about to be tried, so that one which is the end of its worker is known to the next.
    fn tried(&mut self, queue: &str, item: &str, at: Timestamp) -> Result<()>;
    /// How often an item was tried since it was last taken back, if it was.
    fn tries(&mut self, queue: &str, item: &str) -> Result<Option<u64>>;
    /// Sets an item aside that failed too often.
    fn park(&mut self, queue: &str, item: &str, at: Timestamp, reason: &str) -> Result<()>;
    /// The items that were set aside: queue, item, when, why.
    fn parked(&mut self) -> Result<Vec<(String, String, Timestamp, String)>>;
    /// Takes an item back that was set aside, or came to its end: it was never tried.
    fn unpark(&mut self, queue: &str, item: &str) -> Result<()>;
}
