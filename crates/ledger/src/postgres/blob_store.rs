//! Where large payloads are kept beside the database: bytes by name, in an object store for instance.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Bytes by name, outside of the database. It blocks, like everything here.
pub trait BlobStore: Send + Sync {
    /// Stores bytes under a name, whole or not at all. The same again changes nothing.
    ///
    /// # Errors
    /// They may be stored all the same.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError>;

    /// The bytes under each of these names, in their order.
    fn get(&self, names: &[String]) -> Vec<Result<Vec<u8>, BlobError>>;

    /// Deletes what is under a name, if anything is.
    ///
    /// # Errors
    /// It may be deleted all the same.
    fn delete(&self, name: &str) -> Result<(), BlobError>;
}

/// Why a blob store did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// There is nothing under the name.
    #[error("object not found in the blob store")]
    Missing,
    /// It does not answer, or cannot now.
    #[error("the blob store cannot be reached: {0}")]
    Unreachable(String),
    /// It does not accept the credentials, or has no such bucket.
    #[error("the blob store refused the request: {0}")]
    Refused(String),
}

/// The blob store of a database, and what is kept there.
#[derive(Clone)]
pub struct BlobSettings {
    /// The blob store.
    pub store: Arc<dyn BlobStore>,
    /// How long after it was recorded a payload stays in the database: what is new is read soon.
    pub after: Duration,
}

impl fmt::Debug for BlobSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlobSettings")
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}
