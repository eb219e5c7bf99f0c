//! Which store operators look after: this home's ledger, or a tenant's part of a PostgreSQL store.

use std::path::Path;

use siglum_domain::access::{DEFAULT_TENANT, Secret};
use siglum_domain::{LedgerId, Tenant};
use siglum_engine::World;
use siglum_gitstore::ObjectStore;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, LedgerError, RepositoryRecord, SqliteLedger};

use crate::clock;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::known_ledger;
use crate::secret_files;

/// The variable with the address of a PostgreSQL store. It may hold a password, so it is no flag.
const STORE: &str = "SIGLUM_STORE";
/// The variable with the path of a file that has the address.
const STORE_FILE: &str = "SIGLUM_STORE_FILE";
/// The variable that says whose part of it.
const TENANT: &str = "SIGLUM_TENANT";
/// What says where the sessions are, a password among it perhaps.
#[cfg(feature = "gateway")]
pub const VARIABLES: [&str; 3] = [STORE, STORE_FILE, TENANT];

/// The address of the PostgreSQL store, if there is one to look after.
pub fn address() -> Result<Option<String>, CommandError> {
    let (name, address) = match (env::text(STORE), env::text(STORE_FILE)) {
        (None, None) => return Ok(None),
        (Some(address), None) => (STORE, address),
        (None, Some(file)) => (STORE_FILE, address_in(Path::new(&file))?),
        (Some(_), Some(_)) => {
            let what = format!("both {STORE} and {STORE_FILE} are set");
            return Err(CommandError::usage(what).hint("Unset one of them."));
        }
    };
    let is_server = ["postgres://", "postgresql://"]
        .iter()
        .any(|scheme| address.starts_with(scheme));
    if !is_server {
        let what = format!("the address in {name} must begin with `postgres://`");
        return Err(CommandError::usage(what));
    }
    Ok(Some(address))
}

fn address_in(file: &Path) -> Result<String, CommandError> {
    let text = secret_files::read(file, "address of the store")?;
    Ok(text.trim().to_owned())
}

/// Whose part of the store: the one that is named, else the one that is the only one of a file.
pub fn tenant() -> Result<Tenant, CommandError> {
    let name = env::text(TENANT).unwrap_or_else(|| DEFAULT_TENANT.to_owned());
    Tenant::new(name).map_err(|e| CommandError::usage(format!("{TENANT}: {}", e.rule)))
}

/// The variable that names the server, where one is named.
pub fn variable() -> &'static str {
    match env::text(STORE) {
        Some(_) => STORE,
        None => STORE_FILE,
    }
}

/// Refuses a command that knows only this machine's own ledger where a server is named. `way` says what there is instead.
pub fn refuse_server(command: &str, way: &str) -> Result<(), CommandError> {
    if address()?.is_none() {
        return Ok(());
    }
    let what = "works on this machine's own ledger";
    let name = variable();
    let hint = format!("Unset it for this command: `env -u {name} siglum {command}`.");
    let error = format!("`siglum {command}` {what}, and {name} names a server");
    Err(CommandError::usage(error).hint(way).hint(hint))
}

/// Opens the store. On a server the tenant must have a ledger: a mistyped name is no new tenant.
pub fn open(cx: &Cx) -> Result<Box<dyn Ledger>, CommandError> {
    Ok(settled(cx)?.0)
}

/// The same, and the repository that we stand in, if it is known there. A server knows no directory of this machine.
pub fn settled(cx: &Cx) -> Result<(Box<dyn Ledger>, Option<RepositoryRecord>), CommandError> {
    match address()? {
        None => {
            let (ledger, here) = cx.settled()?;
            Ok((Box::new(ledger), here))
        }
        Some(address) => Ok((existing(address, tenant()?)?, None)),
    }
}

/// The same as it is, with what waits beside it. Refuses where there is none: looking begins no ledger.
pub fn open_unsettled(cx: &Cx) -> Result<Box<dyn Ledger>, CommandError> {
    match address()? {
        None if !cx.has_ledger() => Err(CommandError::not_found("no ledger exists yet")
            .hint("Run `siglum init` in a repository to create it.")),
        None => Ok(Box::new(cx.open_ledger()?)),
        Some(address) => existing(address, tenant()?),
    }
}

/// The world as this process sees it, for work on the store. A server has no file versions: those here are the own
/// ledger's, and nothing that is done there may touch them.
pub fn world(cx: &Cx) -> Result<World<'static>, CommandError> {
    let world = cx.world()?;
    if !is_server() {
        return Ok(world);
    }
    let objects = ObjectStore::open(cx.home.no_objects())?;
    Ok(World { objects, ..world })
}

/// Has done what was put off: by the worker here. The gateways of a server look by themselves.
pub fn start_worker(cx: &Cx) {
    if !is_server() {
        cx.home.start_worker();
    }
}

/// What the secrets of a projection of the store are kept under.
pub fn secret_name(ledger: &dyn Ledger, projection: &str) -> String {
    match is_server() {
        true => secret_name_on_server(ledger.id(), projection),
        false => projection.to_owned(),
    }
}

/// The same of a server's store: tenants give names that others have, too, and none gets the secrets of another one.
pub fn secret_name_on_server(ledger: LedgerId, projection: &str) -> String {
    format!("{projection}@{ledger}")
}

/// Opens the store for what a tenant may begin with; one that has no ledger on the server gets one.
pub fn begin(cx: &Cx) -> Result<Box<dyn Ledger>, CommandError> {
    match address()? {
        None => Ok(Box::new(cx.settled()?.0)),
        Some(address) => begun(address, tenant()?),
    }
}

/// The store at an address, as commands use it.
#[cfg(feature = "postgres")]
fn server_settings(
    address: String,
    tenant: Tenant,
) -> Result<siglum_ledger::PostgresSettings, CommandError> {
    Ok(siglum_ledger::PostgresSettings {
        blobs: crate::blobs::settings()?,
        ..siglum_ledger::PostgresSettings::new(address, tenant)
    })
}

#[cfg(feature = "postgres")]
fn existing(address: String, tenant: Tenant) -> Result<Box<dyn Ledger>, CommandError> {
    use siglum_ledger::PostgresLedger;

    let settings = server_settings(address, tenant)?;
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
    use siglum_ledger::PostgresLedger;

    use crate::clock::Ids;

    let how = Open::Command {
        id: LedgerId::mint(&Ids),
        key: clock::secret(),
    };
    let settings = server_settings(address, tenant)?;
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
    [STORE, STORE_FILE]
        .iter()
        .any(|name| env::text(name).is_some())
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

/// The only tenant of a file.
pub fn default_tenant() -> Tenant {
    Tenant::new(DEFAULT_TENANT).expect("because it keeps to the grammar")
}

/// A new secret for the tenant of the store.
pub fn new_secret() -> Result<Secret, CommandError> {
    let tenant = match address()? {
        Some(_) => tenant()?,
        None => default_tenant(),
    };
    Ok(Secret::mint(&tenant, &clock::secret()))
}
