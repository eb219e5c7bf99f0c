//! One connection and what it has prepared.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use postgres::config::SslMode;
use postgres::{Client, NoTls, Statement};
use siglum_domain::{LedgerId, Tenant};

use super::settings::{Address, PostgresSettings, address};
use super::{error, tls};
use crate::cancellation::Interrupt;
use crate::{Cancellation, LedgerError};

/// Statements that stay prepared. Listings have one for each combination of filters; there are not more than these.
const PREPARED: usize = 512;
/// A transaction whose program stands still gives its locks back after this time.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(60);

/// What a tenant's ledger says of itself.
#[derive(Clone, Copy)]
pub(super) struct Own {
    pub(super) id: LedgerId,
    pub(super) key: [u8; 32],
}

/// A connection.
pub(super) struct Link {
    pub(super) client: Client,
    prepared: HashMap<String, Statement>,
    /// Tenants whose ledger was found through this connection. Another connection may lead to another store.
    pub(super) tenants: HashMap<Tenant, Own>,
    /// What this connection alone may do, in the words of [`super::hold`].
    pub(super) held: HashSet<String>,
    /// Ends what it does.
    pub(super) interrupt: Interrupt,
    /// Whether anybody still waits for the transaction that it is in; nothing where that is not asked.
    pub(super) cancellation: Option<Cancellation>,
}

impl Link {
    /// Makes a connection and tells the server how long anything may take.
    pub(super) fn make(settings: &PostgresSettings) -> Result<Self, LedgerError> {
        let Address { config, roots } = address(settings)?;
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(tls::connector(roots.as_deref())?),
        };
        let made = match tls.clone() {
            None => config.connect(NoTls),
            Some(tls) => config.connect(tls),
        };
        let mut client = made.map_err(error::unreachable)?;
        let limits = format!(
            // To compile a statement takes 70 ms and more, and all of these are short.
            "SET lock_timeout = {}; SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {}; SET jit = off",
            settings.wait.as_millis(),
            settings.statement.as_millis(),
            IDLE_IN_TRANSACTION.as_millis(),
        );
        client.batch_execute(&limits).map_err(error::refused)?;
        let token = client.cancel_token();
        let interrupt: Interrupt = Arc::new(move || {
            // Whether it came there is seen by what the statement does.
            let _ = match tls.clone() {
                None => token.cancel_query(NoTls),
                Some(tls) => token.cancel_query(tls),
            };
        });
        Ok(Self {
            client,
            prepared: HashMap::new(),
            tenants: HashMap::new(),
            held: HashSet::new(),
            interrupt,
            cancellation: None,
        })
    }

    /// Refuses where nobody waits any more for the transaction that it is in.
    pub(super) fn check_wanted(&self) -> Result<(), LedgerError> {
        let cancellation = self.cancellation.as_ref();
        match cancellation.is_some_and(Cancellation::is_cancelled) {
            true => Err(LedgerError::Cancelled),
            false => Ok(()),
        }
    }

    /// A statement, prepared once for each connection.
    pub(super) fn prepare(&mut self, sql: &str) -> Result<Statement, postgres::Error> {
        if let Some(known) = self.prepared.get(sql) {
            return Ok(known.clone());
        }
        #[cfg(any(test, feature = "testing"))]
        crate::recording::note_statement(crate::recording::StoreKind::Postgres, sql);
        let fresh = self.client.prepare(sql)?;
        if self.prepared.len() >= PREPARED {
            self.prepared.clear();
        }
        self.prepared.insert(sql.to_owned(), fresh.clone());
        Ok(fresh)
    }
}
