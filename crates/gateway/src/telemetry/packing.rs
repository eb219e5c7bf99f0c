//! Compressed bodies, which may be larger than they look.

use std::borrow::Cow;
use std::io::Read;

use axum::http::{HeaderMap, header};

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
}

/// Why a body could not be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unpackable {
    TooLarge,
    /// It is not what it is said to be.
    Malformed,
}

impl Packing {
    /// How a body is compressed by its headers; nothing for a way that is not known here.
    pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let packing = match values
            .next()
            .map(|value| value.to_str().unwrap_or_default())
        {
            None => Self::Plain,
            Some(word) => Self::named(word)?,
        };
        values.next().is_none().then_some(packing)
    }

    /// The way of this name.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word.trim() {
            word if word.eq_ignore_ascii_case("identity") => Some(Self::Plain),
            word if word.eq_ignore_ascii_case("gzip") => Some(Self::Gzip),
            _ => None,
        }
    }

    /// What a body is without compression, of `most` bytes. No more than that is ever unpacked.
    pub(super) fn undo(self, bytes: &[u8], most: usize) -> Result<Cow<'_, [u8]>, Unpackable> {
        let plain = match self {
            Self::Plain => Cow::Borrowed(bytes),
            Self::Gzip => {
                let mut plain = Vec::new();
                let decoder = flate2::read::MultiGzDecoder::new(bytes);
                let read = decoder.take(most as u64 + 1).read_to_end(&mut plain);
                read.map_err(|_| Unpackable::Malformed)?;
                Cow::Owned(plain)
            }
        };
        match plain.len() <= most {
            true => Ok(plain),
            false => Err(Unpackable::TooLarge),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use axum::http::HeaderValue;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn zipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_was_compressed_is_what_it_was() {
        for plain in [&b""[..], b"a", &[7; 1000]] {
            let packed = zipped(plain);
            let undone = Packing::Gzip.undo(&packed, 1000);
            assert_eq!(undone.as_deref(), Ok(plain));
        }
    }

    #[test]
    fn a_bomb_is_unpacked_no_further_than_to_the_limit() {
        let bomb = zipped(&vec![0; 10 << 20]);
        assert!(bomb.len() < 20_000);
        let undone = Packing::Gzip.undo(&bomb, 1 << 20);
        assert_eq!(undone, Err(Unpackable::TooLarge));
        let undone = Packing::Plain.undo(&bomb, 1 << 10);
        assert_eq!(undone, Err(Unpackable::TooLarge));
    }

    #[test]
    fn what_is_cut_off_or_is_no_gzip_is_refused() {
        let packed = zipped(&[7; 1000]);
        for bytes in [&packed[..packed.len() - 4], b"no gzip at all"] {
            let undone = Packing::Gzip.undo(bytes, 1 << 20);
            assert_eq!(undone, Err(Unpackable::Malformed));
        }
    }

    #[test]
    fn other_ways_are_not_known() {
        let mut headers = HeaderMap::new();
        assert_eq!(Packing::from_headers(&headers), Some(Packing::Plain));
        for (word, known) in [
            ("gzip", Some(Packing::Gzip)),
            ("GZIP", Some(Packing::Gzip)),
            ("identity", Some(Packing::Plain)),
            ("br", None),
            ("gzip, gzip", None),
            ("", None),
        ] {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(word));
            assert_eq!(Packing::from_headers(&headers), known, "{word}");
        }
        headers.append(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert_eq!(Packing::from_headers(&headers), None);
    }
}
