//! Queues that go wrong.

use siglum_domain::Timestamp;
use siglum_domain::intake::Decline;
use siglum_ledger::{DeclineRecord, LedgerError, Queue, Segment, TranscriptRecord};

use super::verbs::broken;
use super::{BrokenTx, Kind};

broken! { Queue, QUEUE, LIMITED;
    Write decline(key: &str, at: Timestamp, decline: &Decline) -> ();
    Own declines(since: Timestamp; limit) -> Vec<DeclineRecord>;
    Write want_transcript(record: &TranscriptRecord) -> ();
    List wanted_transcripts(; limit) -> Vec<TranscriptRecord>;
    Find transcript(stream: &str) -> Option<TranscriptRecord>;
    Write transcript_read(record: &TranscriptRecord, wanted: bool) -> ();
    Write put_segment(segment: &Segment) -> ();
    Find segment(stream: &str, offset: u64) -> Option<Segment>;
    Write push(at: Timestamp, topic: &str, body: &str) -> ();
    Own outbox_end() -> u64;
    Own cursor(projection: &str) -> u64;
    Write set_cursor(projection: &str, position: u64) -> ();
    Own write_probe() -> ();
    Write tried(queue: &str, item: &str, at: Timestamp) -> ();
    Find tries(queue: &str, item: &str) -> Option<u64>;
    Write park(queue: &str, item: &str, at: Timestamp, reason: &str) -> ();
    List parked() -> Vec<(String, String, Timestamp, String)>;
    WriteOnce unpark(queue: &str, item: &str) -> ();
}
