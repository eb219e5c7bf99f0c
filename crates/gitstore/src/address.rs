//! Addresses of file versions.

use std::fmt;
use std::str::FromStr;

/// The address of a file version: the BLAKE3 hash of its content, in hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectAddress(pub(crate) [u8; 32]);

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an object address has 64 hexadecimal digits")]
pub struct ParseAddressError;

impl ObjectAddress {
    /// The address of this content.
    #[must_use]
    pub fn for_content(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }
}

impl fmt::Display for ObjectAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for ObjectAddress {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let hash = blake3::Hash::from_hex(text).map_err(|_| ParseAddressError)?;
        if plain {
            Ok(Self(*hash.as_bytes()))
        } else {
            Err(ParseAddressError)
        }
    }
}

/// Bytes in lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
