//! Batches as the ledger keeps them: redacted protobuf in a zstd frame.

use std::io::Read;

use siglum_telemetry::wire::{self, Batch, Encoding, Limits, Signal};

/// Records that are joined in one transaction, which is to be short: hooks wait for it.
const PIECE: usize = 256;
/// Bytes of one piece, as protobuf. More than any request may have.
const BYTES_MOST: u64 = 128 << 20;
/// How hard is packed: as little as possible.
const LEVEL: i32 = 1;

/// A part of a batch, packed. Batches are packed where time does not matter to others, before they are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parcel {
    pub(super) signal: Signal,
    pub(super) records: u64,
    pub(super) payload: Vec<u8>,
}

impl Parcel {
    /// Packs a redacted batch, a large one in several pieces; nothing of an empty one.
    #[must_use]
    pub fn pack(batch: &Batch) -> Vec<Self> {
        let records = batch.records();
        match records {
            0 => Vec::new(),
            1..=PIECE => vec![Self::from_batch(batch)],
            _ => (0..records.div_ceil(PIECE))
                .map(|piece| Self::from_batch(&batch.select(|record| record.0 / PIECE == piece)))
                .collect(),
        }
    }

    /// Packs a batch as one.
    pub(super) fn from_batch(batch: &Batch) -> Self {
        Self {
            signal: batch.signal(),
            records: batch.records() as u64,
            payload: zstd::bulk::compress(&batch.to_protobuf(), LEVEL)
                .expect("because compressing into memory cannot fail"),
        }
    }
}

/// Unpacks what was stored.
pub(super) fn open(signal: &str, payload: &[u8]) -> Result<Batch, String> {
    let signal = match signal {
        "traces" => Signal::Traces,
        "logs" => Signal::Logs,
        "metrics" => Signal::Metrics,
        other => return Err(format!("`{other}` is no signal")),
    };
    let mut plain = Vec::new();
    let unpacked = zstd::stream::Decoder::new(payload)
        .and_then(|decoder| decoder.take(BYTES_MOST).read_to_end(&mut plain));
    unpacked.map_err(|error| error.to_string())?;
    let read = wire::decode(signal, Encoding::Protobuf, &plain, &Limits::default());
    read.map_err(|error| error.to_string())
}

/// What is in a stored payload, as JSON; nothing where it cannot be read.
pub(crate) fn kept_json(signal: &str, payload: &[u8]) -> Option<String> {
    let batch = open(signal, payload).ok()?;
    String::from_utf8(batch.encode(Encoding::Json)).ok()
}
