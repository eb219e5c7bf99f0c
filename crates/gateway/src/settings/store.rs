//! Where the sessions are.

use std::path::PathBuf;
use std::sync::Arc;

/// Where the sessions are.
#[derive(Clone)]
pub enum Store {
    /// A SQLite file: one tenant, whose name is `default`. Whoever does what can wait is told that something was
    /// written.
    File(PathBuf, Written),
    /// A PostgreSQL store, at `postgres://user:password@host/database`: all tenants that have a ledger there.
    #[cfg(feature = "postgres")]
    Server(String),
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, _) => f.debug_tuple("File").field(path).finish(),
            // Its address may hold a password.
            #[cfg(feature = "postgres")]
            Self::Server(_) => f.debug_struct("Server").finish_non_exhaustive(),
        }
    }
}

/// Called from time to time when something was written.
#[derive(Clone)]
pub struct Written(pub Arc<dyn Fn() + Send + Sync>);
