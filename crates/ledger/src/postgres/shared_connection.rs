//! One connection that serves all tenants of a store, one after the other.
//!
//! A tenant is a value in each statement and nothing of the connection, so whoever serves many tenants needs as many
//! connections as it does things at once, and not as many as there are tenants.

use std::collections::BTreeSet;

use siglum_domain::Tenant;

use super::columns::raw;
use super::connection::{Link, Own};
use super::error::{self, Fault};
use super::open::{self, PostgresLedger};
use super::settings::PostgresSettings;
use super::{hold, migrate};
use crate::LedgerError;

/// Tenants that a connection remembers.
const TENANTS: usize = 1024;
/// How many connections the server takes. Servers before version 16 do not know the last setting.
const LIMIT: &str = "SELECT current_setting('max_connections')::bigint, \
     current_setting('superuser_reserved_connections')::bigint \
     + coalesce(current_setting('reserved_connections', true), '0')::bigint";

/// One connection to a store, on which the ledgers of its tenants are opened one after the other.
///
/// It is made when it is first needed, and made anew where it was lost; there are never two of it.
pub struct PostgresConnection {
    link: Option<Link>,
    settings: PostgresSettings,
}

/// How many connections a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// All of them.
    pub most: i64,
    /// Those among them that are kept for administrators.
    pub reserved: i64,
}

impl PostgresConnection {
    /// A connection that is not made yet. It is the same whichever tenant the settings name.
    #[must_use]
    pub const fn new(settings: PostgresSettings) -> Self {
        Self {
            link: None,
            settings,
        }
    }

    /// Connects, and brings the store to the schema of this program. No ledger is made there.
    ///
    /// # Errors
    /// As [`PostgresLedger::open`].
    pub fn prepare(settings: PostgresSettings) -> Result<Self, LedgerError> {
        let link = open::prepared(&settings)?;
        Ok(Self {
            link: Some(link),
            settings,
        })
    }

    /// Connects, unless there is a connection.
    ///
    /// # Errors
    /// [`LedgerError::Unreachable`]; [`LedgerError::TooNew`] and [`LedgerError::Outdated`] by schema.
    pub fn connect(&mut self) -> Result<(), LedgerError> {
        self.on_link(|_| Ok(()))
    }

    /// Whether there is a connection. The server may have ended it meanwhile.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.link.is_some()
    }

    /// Works on the ledger of a tenant. A panic of `work` drops the connection, and with it the transaction.
    ///
    /// # Errors
    /// Nothing was done: [`LedgerError::Unwritable`] where the tenant has no ledger, others as of
    /// [`PostgresConnection::connect`].
    pub fn with<T>(
        &mut self,
        tenant: &Tenant,
        work: impl FnOnce(&mut PostgresLedger) -> T,
    ) -> Result<T, LedgerError> {
        let own = self.on_link(|link| known(link, tenant))?;
        let settings = PostgresSettings {
            tenant: tenant.clone(),
            ..self.settings.clone()
        };
        let mut ledger = PostgresLedger::on(self.link.take(), settings, own);
        let done = work(&mut ledger);
        self.link = ledger.into_link();
        Ok(done)
    }

    /// The tenants that have heartbeats.
    ///
    /// # Errors
    /// Those of the server.
    pub fn beating(&mut self) -> Result<Vec<Tenant>, LedgerError> {
        self.tenants("SELECT DISTINCT tenant FROM heartbeats")
    }

    /// All tenants that have a ledger.
    ///
    /// # Errors
    /// Those of the server.
    pub fn all_tenants(&mut self) -> Result<Vec<Tenant>, LedgerError> {
        self.tenants("SELECT tenant FROM tenants")
    }

    /// The tenants that have turns open.
    ///
    /// # Errors
    /// Those of the server.
    pub fn driving(&mut self) -> Result<Vec<Tenant>, LedgerError> {
        self.tenants("SELECT DISTINCT tenant FROM open_turns")
    }

    /// The tenants that have projections.
    ///
    /// # Errors
    /// Those of the server.
    pub fn projecting(&mut self) -> Result<Vec<Tenant>, LedgerError> {
        self.tenants("SELECT DISTINCT tenant FROM projections")
    }

    /// The tenants that have telemetry that was taken and not joined, or sessions that the search index lacks.
    ///
    /// # Errors
    /// Those of the server.
    pub fn hearing(&mut self) -> Result<Vec<Tenant>, LedgerError> {
        // From one tenant to the next: after an upgrade, all sessions wait.
        self.tenants(
            "WITH RECURSIVE waiting AS (SELECT min(tenant) AS tenant FROM unindexed \
             UNION ALL SELECT (SELECT min(u.tenant) FROM unindexed u WHERE u.tenant > w.tenant) FROM waiting w \
             WHERE w.tenant IS NOT NULL) \
             SELECT DISTINCT tenant FROM telemetry_inbox UNION SELECT tenant FROM waiting WHERE tenant IS NOT NULL",
        )
    }

    /// Takes the sole right to something of a tenant; `false` where another connection has it. It lasts as long as this
    /// connection: a process that dies gives it up, and so does one that loses the server.
    ///
    /// # Errors
    /// Those of the server.
    pub fn hold(&mut self, tenant: &Tenant, what: &str) -> Result<bool, LedgerError> {
        self.on_link(|link| hold::take(link, tenant, what))
    }

    /// Takes such a right to each of these tenants, gives those of all others back, and gives the tenants that it has it of.
    ///
    /// # Errors
    /// Those of the server.
    pub fn hold_only(
        &mut self,
        tenants: &BTreeSet<Tenant>,
        what: &str,
    ) -> Result<Vec<Tenant>, LedgerError> {
        self.on_link(|link| {
            hold::give_back_others(link, tenants, what)?;
            let mut ours = Vec::new();
            for tenant in tenants {
                if hold::take(link, tenant, what)? {
                    ours.push(tenant.clone());
                }
            }
            Ok(ours)
        })
    }

    /// Gives such a right back.
    pub fn release(&mut self, tenant: &Tenant, what: &str) {
        let is_lost = |link: &mut Link| hold::give_back(link, tenant, what).is_err();
        // Whoever lost the server has no right left.
        if self.link.as_mut().is_some_and(is_lost) {
            self.link = None;
        }
    }

    /// How many connections the server takes, where it says so.
    ///
    /// # Errors
    /// Those of the server.
    pub fn limit(&mut self) -> Result<Option<ConnectionLimit>, LedgerError> {
        self.on_link(|link| match link.client.query_one(LIMIT, &[]) {
            Ok(row) => Ok(Some(ConnectionLimit {
                most: raw(&row, 0)?,
                reserved: raw(&row, 1)?,
            })),
            Err(error) if error::fault(&error) == Fault::Lost => Err(error::refused(error)),
            // Not every server that speaks the protocol has these settings.
            Err(_) => Ok(None),
        })
    }

    /// The tenants that a statement names.
    fn tenants(&mut self, sql: &str) -> Result<Vec<Tenant>, LedgerError> {
        self.on_link(|link| {
            let listed = link.client.query(sql, &[]).map_err(error::refused)?;
            let tenant = |row: &postgres::Row| Tenant::new(row.get::<_, &str>(0)).ok();
            Ok(listed.iter().filter_map(tenant).collect())
        })
    }

    /// Does something with the connection; with another one where it turns out to be lost.
    fn on_link<T>(
        &mut self,
        mut work: impl FnMut(&mut Link) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        if let Some(mut link) = self.link.take().filter(|link| !link.client.is_closed()) {
            match work(&mut link) {
                Err(LedgerError::Unreachable(_)) => {}
                done => {
                    self.link = Some(link);
                    return done;
                }
            }
        }
        let mut link = Link::make(&self.settings)?;
        migrate::admit(&mut link)?;
        let done = work(&mut link);
        if !matches!(done, Err(LedgerError::Unreachable(_))) {
            self.link = Some(link);
        }
        done
    }
}

/// What the ledger of a tenant says of itself, read once for each connection.
fn known(link: &mut Link, tenant: &Tenant) -> Result<Own, LedgerError> {
    if let Some(own) = link.tenants.get(tenant) {
        return Ok(*own);
    }
    let own = open::existing(link, tenant)?;
    if link.tenants.len() >= TENANTS {
        link.tenants.clear();
    }
    link.tenants.insert(tenant.clone(), own);
    Ok(own)
}
