//! The sole right of a connection to do something: a lock of the session, so that it ends with the connection.

use std::collections::{BTreeSet, HashSet};

use siglum_domain::Tenant;

use super::columns::raw;
use super::connection::Link;
use super::error::refused;
use crate::LedgerError;

/// Has the server notice soon that the machine at the other end is gone. It notices at once that a process is.
const NOTICE: &str =
    "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3";
/// Stores may share a database, each in a schema of its own.
const TAKE: &str =
    "SELECT pg_try_advisory_lock(hashtextextended(current_schema()::text || ' ' || $1::text, 0))";
const GIVE_BACK: &str =
    "SELECT pg_advisory_unlock(hashtextextended(current_schema()::text || ' ' || $1::text, 0))";

/// Takes a right, unless another connection has it.
pub(super) fn take(link: &mut Link, tenant: &Tenant, what: &str) -> Result<bool, LedgerError> {
    let key = key(tenant, what);
    if link.held.contains(&key) {
        return Ok(true);
    }
    if link.held.is_empty() {
        link.client.batch_execute(NOTICE).map_err(refused)?;
    }
    let row = link.client.query_one(TAKE, &[&key]).map_err(refused)?;
    let is_ours: bool = raw(&row, 0)?;
    if is_ours {
        link.held.insert(key);
    }
    Ok(is_ours)
}

/// Gives a right back, if it is ours.
pub(super) fn give_back(link: &mut Link, tenant: &Tenant, what: &str) -> Result<(), LedgerError> {
    give_back_key(link, &key(tenant, what))
}

/// Gives rights of all but these tenants back.
pub(super) fn give_back_others(
    link: &mut Link,
    tenants: &BTreeSet<Tenant>,
    what: &str,
) -> Result<(), LedgerError> {
    let kept: HashSet<String> = tenants.iter().map(|tenant| key(tenant, what)).collect();
    let is_other = |key: &&String| key.split_once(' ').is_some_and(|(_, of)| of == what);
    let others = link.held.iter().filter(is_other);
    let others: Vec<String> = others.filter(|key| !kept.contains(*key)).cloned().collect();
    others.iter().try_for_each(|key| give_back_key(link, key))
}

fn give_back_key(link: &mut Link, key: &str) -> Result<(), LedgerError> {
    if link.held.remove(key) {
        link.client.query_one(GIVE_BACK, &[&key]).map_err(refused)?;
    }
    Ok(())
}

/// No tenant has a blank in its name.
fn key(tenant: &Tenant, what: &str) -> String {
    format!("{tenant} {what}")
}
