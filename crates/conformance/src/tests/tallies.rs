//! Rows of a PostgreSQL store that somebody changes or deletes.

use siglum_domain::Tenant;
use siglum_ledger::testing::tallied;
use siglum_ledger::{Miscount, PostgresLedger, read};

use super::{command, fill};
use crate::Server;

fn open(server: &Server, tenant: &Tenant) -> PostgresLedger {
    PostgresLedger::open(&server.settings(tenant.clone()), command()).unwrap()
}

/// A tenant of whom every verb wrote.
fn filled(server: &Server) -> Tenant {
    let tenant = server.tenant();
    fill(Box::new(open(server, &tenant)));
    tenant
}

fn miscounts(server: &Server, tenant: &Tenant) -> Vec<Miscount> {
    read(&mut open(server, tenant), |tx| tx.miscounts()).unwrap()
}

#[test]
fn a_row_that_somebody_else_deletes_or_changes_is_reported() {
    let Some(address) = Server::address() else {
        return;
    };
    let server = Server::shared(&address).unwrap();
    let mut raw = server.client().unwrap();
    let tenant = filled(&server);
    assert_eq!(miscounts(&server, &tenant), []);
    let mut wanted = Vec::new();
    for table in tallied() {
        let sql = format!("SELECT count(*) FROM {table} WHERE tenant = $1");
        let rows: i64 = raw.query_one(&sql, &[&tenant.as_str()]).unwrap().get(0);
        if rows > 0 {
            let sql = format!(
                "DELETE FROM {table} WHERE ctid IN (SELECT ctid FROM {table} WHERE tenant = $1 LIMIT 1)"
            );
            raw.execute(&sql, &[&tenant.as_str()]).unwrap();
            let stored = u64::try_from(rows).unwrap();
            let found = stored - 1;
            wanted.push(Miscount {
                table,
                stored,
                found,
            });
        }
    }
    assert!(wanted.len() > 15, "{wanted:?}");
    assert_eq!(miscounts(&server, &tenant), wanted);
    let other = filled(&server);
    let sql = "UPDATE sessions SET created_at = 7 WHERE tenant = $1";
    let changed = raw.execute(sql, &[&other.as_str()]).unwrap();
    let wanted = Miscount {
        table: "sessions",
        stored: changed,
        found: changed,
    };
    assert_eq!(miscounts(&server, &other), [wanted]);
}
