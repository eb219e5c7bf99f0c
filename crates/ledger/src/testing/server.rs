//! The PostgreSQL server that tests may use: `SIGLUM_TEST_PG` holds its address.

use std::sync::atomic::{AtomicU32, Ordering};

use postgres::error::SqlState;
use postgres::{Client, NoTls};
use siglum_domain::Tenant;

use crate::postgres::{PostgresSettings, migrations};

/// A schema on the server of the tests.
pub struct Server {
    address: String,
    schema: String,
    run: String,
    tenants: AtomicU32,
    is_own: bool,
}

impl Server {
    /// The address of the server; absent if there is none to test with.
    ///
    /// # Panics
    /// Where there has to be one: in continuous integration.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "only tests use it, and this is how they are told of the server"
    )]
    pub fn address() -> Option<String> {
        let address = std::env::var("SIGLUM_TEST_PG").ok();
        let is_required = std::env::var_os("CI").is_some();
        assert!(
            address.is_some() || !is_required,
            "set SIGLUM_TEST_PG to the address of a PostgreSQL server: `cargo xtask postgres` starts one"
        );
        address
    }

    /// The schema that all tests of one version share; each has tenants of its own there.
    ///
    /// # Errors
    /// Those of the server.
    pub fn shared(address: &str) -> Result<Self, postgres::Error> {
        let version = blake3::hash(migrations().as_bytes()).to_hex();
        Self::with(address, |_| format!("siglum_{}", &version[..12]), false)
    }

    /// A schema for one test, dropped with it. Nothing is in it.
    ///
    /// # Errors
    /// Those of the server.
    pub fn own(address: &str) -> Result<Self, postgres::Error> {
        Self::with(address, |run| format!("siglum_own_{}", &run[..20]), true)
    }

    fn with(
        address: &str,
        schema: impl Fn(&str) -> String,
        is_own: bool,
    ) -> Result<Self, postgres::Error> {
        let mut client = Client::connect(address, NoTls)?;
        let row = client.query_one("SELECT replace(gen_random_uuid()::text, '-', '')", &[])?;
        let run: String = row.try_get(0)?;
        let schema = schema(&run);
        let made = client.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}"));
        match made {
            // Another test made it at the same moment.
            Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {}
            made => made?,
        }
        Ok(Self {
            address: address.to_owned(),
            schema,
            run,
            tenants: AtomicU32::new(0),
            is_own,
        })
    }

    /// The address of the schema.
    #[must_use]
    pub fn url(&self) -> String {
        let mark = if self.address.contains('?') { '&' } else { '?' };
        let Self {
            address, schema, ..
        } = self;
        format!("{address}{mark}options=-csearch_path%3D{schema}")
    }

    /// A tenant that nobody else uses.
    #[must_use]
    pub fn tenant(&self) -> Tenant {
        let n = self.tenants.fetch_add(1, Ordering::Relaxed);
        Tenant::new(format!("{}-{n}", self.run)).expect("because these are hexadecimal digits")
    }

    /// Settings for a tenant.
    #[must_use]
    pub fn settings(&self, tenant: Tenant) -> PostgresSettings {
        PostgresSettings::new(self.url(), tenant)
    }

    /// A connection beside the ledgers.
    ///
    /// # Errors
    /// Those of the server.
    pub fn client(&self) -> Result<Client, postgres::Error> {
        Client::connect(&self.url(), NoTls)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.is_own {
            return;
        }
        let dropped = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        // What cannot be dropped goes with the server.
        if let Ok(mut client) = Client::connect(&self.address, NoTls) {
            let _ = client.batch_execute(&dropped);
        }
    }
}
