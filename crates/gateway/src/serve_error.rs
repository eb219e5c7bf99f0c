//! Why the gateway does not serve.

use std::io;
use std::net::SocketAddr;

use siglum_ledger::LedgerError;

use crate::tls::TlsError;

/// Why the gateway does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Others could reach it, and nobody said that they may.
    #[error("other machines can reach {0}, and traffic to it is not encrypted")]
    Plain(SocketAddr),
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Store(#[from] LedgerError),
    /// The system gives no threads.
    #[error("cannot start")]
    Start(#[source] io::Error),
    /// Nobody else would find room on the server of the store.
    #[error(
        "the PostgreSQL server takes {most} connections, {reserved} of them for administrators, and this gateway would \
         use {asked}"
    )]
    Room {
        /// Connections of the gateway.
        asked: i64,
        /// Connections that the server takes.
        most: i64,
        /// Those among them that the server keeps for administrators.
        reserved: i64,
    },
    /// It was told to stop a second time.
    #[error("a second signal ended the gateway before it had finished")]
    Interrupted,
}
