//! Where the sessions are.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use siglum_domain::Tenant;
#[cfg(feature = "postgres")]
use siglum_ledger::BlobSettings;

/// Where the sessions are.
#[derive(Clone)]
pub enum Store {
    /// A SQLite file: one tenant, whose name is `default`. Whoever does what can wait is told that something was
    /// written.
    File(PathBuf, Written),
    /// A PostgreSQL store, at `postgres://user:password@host/database`: all tenants that have a ledger there. Large
    /// payloads are in a blob store, where it has one.
    #[cfg(feature = "postgres")]
    Server(String, Option<BlobSettings>),
}

impl Store {
    /// Which store that is, without the password or anything else that its address says beside host and database.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::File(path, _) => path.display().to_string(),
            #[cfg(feature = "postgres")]
            Self::Server(address, _) => {
                let rest = address.split_once("://").map_or("", |(_, rest)| rest);
                let rest = rest.split_once('@').map_or(rest, |(_, rest)| rest);
                format!("postgres://{}", rest.split('?').next().unwrap_or_default())
            }
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, _) => f.debug_tuple("File").field(path).finish(),
            // Its address may hold a password.
            #[cfg(feature = "postgres")]
            Self::Server(..) => f.debug_struct("Server").finish_non_exhaustive(),
        }
    }
}

/// Called from time to time when something was written.
#[derive(Clone)]
pub struct Written(pub Arc<dyn Fn() + Send + Sync>);

/// Called about once a second with the tenants of a PostgreSQL store that have projections: whoever feeds those is told.
#[derive(Clone)]
pub struct Projecting(pub Arc<dyn Fn(BTreeSet<Tenant>) + Send + Sync>);

impl std::fmt::Debug for Projecting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Projecting").finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_server_is_shown_without_its_secrets() {
        for (address, shown) in [
            (
                "postgres://ann:hunter2@db.example.org:5432/siglum",
                "postgres://db.example.org:5432/siglum",
            ),
            (
                "postgresql://ann:hunt?er2@db/siglum?sslmode=require",
                "postgres://db/siglum",
            ),
            (
                "postgres://db/siglum?password=hunter2",
                "postgres://db/siglum",
            ),
        ] {
            assert_eq!(Store::Server(address.to_owned(), None).shown(), shown);
        }
    }
}
