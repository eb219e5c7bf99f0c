//! The hash that receipts, payloads and requests are digested with.
//!
//! What turns and seals hash goes through here, so that a test can tell how much it was (feature `metered`).

/// A hash in the making (BLAKE3).
#[derive(Debug, Clone)]
pub struct Hasher(blake3::Hasher);

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher {
    /// Of what anybody may know.
    #[must_use]
    pub fn new() -> Self {
        Self(blake3::Hasher::new())
    }

    /// With a key, without which nothing can be told from the digest.
    #[must_use]
    pub fn keyed(key: &[u8; 32]) -> Self {
        Self(blake3::Hasher::new_keyed(key))
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        #[cfg(feature = "metered")]
        meter::count(bytes.len());
        self.0.update(bytes);
    }

    /// Adds bytes behind their length, so that no two lists of fields are the same bytes.
    pub fn field(&mut self, bytes: &[u8]) {
        self.update(&(bytes.len() as u64).to_le_bytes());
        self.update(bytes);
    }

    /// The digest.
    #[must_use]
    pub fn bytes(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }

    /// The digest in hex.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }
}

/// How many bytes this thread has hashed. For tests of what work costs.
#[cfg(feature = "metered")]
#[must_use]
pub fn hashed() -> u64 {
    meter::HASHED.get()
}

#[cfg(feature = "metered")]
mod meter {
    use std::cell::Cell;

    thread_local! {
        pub(super) static HASHED: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count(bytes: usize) {
        HASHED.set(HASHED.get() + bytes as u64);
    }
}
