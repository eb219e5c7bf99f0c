//! Which store operators look after: this home's ledger, or a tenant's part of a PostgreSQL store.

use siglum_domain::Tenant;
use siglum_domain::access::{DEFAULT_TENANT, Secret};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, LedgerError, SqliteLedger};

use crate::clock;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::known_ledger;

/// The variable with the address of a PostgreSQL store. It may hold a password, so it is no flag.
const STORE: &str = "SIGLUM_STORE";
/// The variable that says whose part of it.
const TENANT: &str = "SIGLUM_TENANT";
/// What says where the sessions are, a password among it perhaps.
pub const VARIABLES: [&str; 2] = [STORE, TENANT];

/// The address of the PostgreSQL store, if there is one to look after.
pub fn address() -> Result<Option<String>, CommandError> {
    let Some(address) = env::text(STORE) else {
        return Ok(None);
    };
    let is_server = ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| address.starts_with(scheme));
    if !is_server {
        let what = format!("{STORE} must begin with `postgres://`");
        return Err(CommandError::usage(what));
    }
    Ok(Some(address))
}

/// Whose part of the store: the one that is named, else the one that is the only one of a file.
pub fn tenant() -> Result<Tenant, CommandError> {
    let name = env::text(TENANT).unwrap_or_else(|| DEFAULT_TENANT.to_owned());
    Tenant::new(name).map_err(|e| CommandError::usage(format!("{TENANT}: {}", e.rule)))
}

/// Refuses a command that knows only this machine's own ledger where a server is named.
pub fn refuse_server(command: &str) -> Result<(), CommandError> {
    if address()?.is_none() {
        return Ok(());
    }
    let what = "works on this machine's own ledger";
    let hint = format!("Unset it for this command: `env -u {STORE} siglum {command}`.");
    let error = format!("`siglum {command}` {what}, and {STORE} names a server");
    Err(CommandError::usage(error).hint(hint))
}

/// Opens the store. On a server the tenant must have a ledger: a mistyped name is no new tenant.
pub fn open(cx: &Cx) -> Result<Box<dyn Ledger>, CommandError> {
    match address()? {
        None => Ok(Box::new(cx.settled()?.0)),
        Some(address) => existing(address, tenant()?),
    }
}

/// Opens the store for what a tenant may begin with; one that has no ledger on the server gets one.
pub fn begin(cx: &Cx) -> Result<Box<dyn Ledger>, CommandError> {
    match address()? {
        None => Ok(Box::new(cx.settled()?.0)),
        Some(address) => begun(address, tenant()?),
    }
}

#[cfg(feature = "postgres")]
fn existing(address: String, tenant: Tenant) -> Result<Box<dyn Ledger>, CommandError> {
    use siglum_ledger::{PostgresLedger, PostgresSettings};

    let settings = PostgresSettings::new(address, tenant);
    let opened = match PostgresLedger::open(&settings, Open::Hook) {
        // The store of an older program is migrated; a database without one is not made one.
        Err(LedgerError::Outdated { found, .. }) if found > 0 => {
            PostgresLedger::prepare(&settings)?;
            PostgresLedger::open(&settings, Open::Hook)
        }
        opened => opened,
    };
    match opened {
        Ok(ledger) => Ok(Box::new(ledger)),
        Err(LedgerError::Unwritable(_) | LedgerError::Outdated { found: 0, .. }) => {
            Err(no_tenant(&settings.tenant))
        }
        Err(other) => Err(other.into()),
    }
}

#[cfg(not(feature = "postgres"))]
fn existing(_: String, _: Tenant) -> Result<Box<dyn Ledger>, CommandError> {
    Err(without_server())
}

#[cfg(feature = "postgres")]
fn no_tenant(tenant: &Tenant) -> CommandError {
    let error = format!("there is no tenant {tenant} on this server");
    let hint = "`siglum token create` creates the tenant with a first token";
    CommandError::not_found(error).hint(format!("Check {TENANT}; {hint}."))
}

#[cfg(feature = "postgres")]
fn begun(address: String, tenant: Tenant) -> Result<Box<dyn Ledger>, CommandError> {
    use siglum_domain::LedgerId;
    use siglum_ledger::{PostgresLedger, PostgresSettings};

    use crate::clock::{self, Ids};

    let how = Open::Command {
        id: LedgerId::mint(&Ids),
        key: clock::secret(),
    };
    let settings = PostgresSettings::new(address, tenant);
    Ok(Box::new(PostgresLedger::open(&settings, how)?))
}

#[cfg(not(feature = "postgres"))]
fn begun(_: String, _: Tenant) -> Result<Box<dyn Ledger>, CommandError> {
    Err(without_server())
}

#[cfg(not(feature = "postgres"))]
fn without_server() -> CommandError {
    CommandError::failed("this program was built without PostgreSQL")
}

/// A store that is there, and this program.
#[derive(Debug, Clone, Copy)]
pub struct StoreSchema {
    /// The schema that it has, or that a program must know to work with it.
    pub found: u32,
    /// The schema that this program writes.
    pub known: u32,
}

/// Whether the store is a server's.
pub fn is_server() -> bool {
    env::text(STORE).is_some()
}

/// The schema of the store, which stays as it is: looking begins nothing and migrates nothing.
pub fn schema(cx: &Cx) -> Result<Option<StoreSchema>, CommandError> {
    let (known, opened) = match address()? {
        Some(address) => look_at_server(address)?,
        None if !known_ledger::has_bytes(&cx.home) => return Ok(None),
        None => {
            let opened = SqliteLedger::open(&cx.home.ledger(), Open::Hook).map(drop);
            (siglum_ledger::sqlite::SCHEMA, opened)
        }
    };
    let found = match opened {
        Ok(()) => known,
        Err(LedgerError::Outdated { found, .. }) => found,
        Err(LedgerError::TooNew { needed, .. }) => needed,
        Err(other) => return Err(other.into()),
    };
    Ok(Some(StoreSchema { found, known }))
}

#[cfg(feature = "postgres")]
fn look_at_server(address: String) -> Result<(u32, Result<(), LedgerError>), CommandError> {
    use siglum_ledger::{PostgresLedger, PostgresSettings};

    let settings = PostgresSettings::new(address, tenant()?);
    match PostgresLedger::open(&settings, Open::Hook).map(drop) {
        Err(LedgerError::Unwritable(_)) => Err(no_tenant(&settings.tenant)),
        opened => Ok((siglum_ledger::postgres::SCHEMA, opened)),
    }
}

#[cfg(not(feature = "postgres"))]
fn look_at_server(_: String) -> Result<(u32, Result<(), LedgerError>), CommandError> {
    Err(without_server())
}

/// A new secret for the tenant of the store.
pub fn new_secret() -> Result<Secret, CommandError> {
    let tenant = match address()? {
        Some(_) => tenant()?,
        None => Tenant::new(DEFAULT_TENANT).expect("because it keeps to the grammar"),
    };
    Ok(Secret::mint(&tenant, &clock::secret()))
}
