//! How a file version stands in its file: a header, then one zstd frame.
//!
//! The header is a version byte and a kind byte; a difference has the address of its base after
//! them.

use std::io::{self, Read, Write};

use zstd::stream::raw::CParameter;
use zstd::stream::{read, write};

use crate::objects::ObjectAddress;

/// No header is longer.
pub(super) const HEADER_LIMIT: u64 = 34;

const VERSION: u8 = 1;
const WHOLE: u8 = 0;
const DELTA: u8 = 1;
const LEVEL: i32 = 3;
/// Above this, far matches need zstd's search for long distances.
const LONG: usize = 1 << 20;
/// The largest window that zstd reads without being told.
const WINDOW_LIMIT: u32 = 27;
const WINDOW_MINIMUM: u32 = 10;

/// Whole, or a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Whole,
    Delta { base: ObjectAddress },
}

/// What stands before the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) form: Form,
}

impl Header {
    /// Reads the header and returns what follows it.
    pub(super) fn read(stored: &[u8]) -> Option<(Self, &[u8])> {
        match stored {
            [VERSION, WHOLE, body @ ..] => Some((Self { form: Form::Whole }, body)),
            [VERSION, DELTA, rest @ ..] => {
                let (base, body) = rest.split_first_chunk()?;
                Some((
                    Self {
                        form: Form::Delta {
                            base: ObjectAddress(*base),
                        },
                    },
                    body,
                ))
            }
            _ => None,
        }
    }

    fn write(self) -> Vec<u8> {
        match self.form {
            Form::Whole => vec![VERSION, WHOLE],
            Form::Delta { base } => [&[VERSION, DELTA], &base.0[..]].concat(),
        }
    }
}

/// Header and frame for a content.
pub(super) fn pack(form: Form, content: &[u8], base: &[u8]) -> io::Result<Vec<u8>> {
    let out = Header { form }.write();
    let mut encoder = write::Encoder::with_ref_prefix(out, LEVEL, base)?;
    if !base.is_empty() {
        let reach = (base.len() + content.len())
            .next_power_of_two()
            .trailing_zeros();
        encoder.set_parameter(CParameter::WindowLog(
            reach.clamp(WINDOW_MINIMUM, WINDOW_LIMIT),
        ))?;
        encoder.long_distance_matching(base.len() > LONG)?;
    }
    encoder.set_pledged_src_size(Some(content.len() as u64))?;
    encoder.write_all(content)?;
    encoder.finish()
}

/// The content of a frame, if it has at most `limit` bytes.
pub(super) fn unpack(body: &[u8], base: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let decoder = read::Decoder::with_ref_prefix(body, base)?;
    decoder.take(limit + 1).read_to_end(&mut content)?;
    if content.len() as u64 > limit {
        return Err(io::Error::other(
            "a file version is larger than any that is kept",
        ));
    }
    Ok(content)
}
