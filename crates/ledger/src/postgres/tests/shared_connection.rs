//! One connection for several tenants.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice::from_ref;
use std::sync::{Arc, Mutex};

use siglum_domain::Tenant;

use super::losses::{backend, end_connections, wait_for_end};
use super::*;

/// Two tenants with ledgers, and a connection for both.
fn two_tenants(home: &Home) -> (PostgresConnection, [Tenant; 2]) {
    let tenants = [1, 2].map(|id| {
        let settings = home.server.settings(home.server.tenant());
        PostgresLedger::open(&settings, command(id)).unwrap();
        settings.tenant
    });
    let connection = PostgresConnection::new(home.settings.clone());
    (connection, tenants)
}

fn served_by(connection: &mut PostgresConnection, tenant: &Tenant) -> i32 {
    connection.with(tenant, backend).unwrap()
}

#[test]
fn tenants_use_one_connection_in_turn_and_see_their_own() {
    let Some(home) = Home::shared() else { return };
    let (mut connection, [one, two]) = two_tenants(&home);
    assert!(!connection.is_open(), "nobody needs it yet");
    let pid = served_by(&mut connection, &one);
    for round in ["a", "b"] {
        for tenant in [&one, &two] {
            let detail = format!("{round} of {tenant}");
            let done = connection.with(tenant, |ledger| decline(ledger, &detail));
            done.unwrap().unwrap();
            assert_eq!(served_by(&mut connection, tenant), pid);
        }
    }
    for tenant in [&one, &two] {
        let expected = ["b", "a"].map(|round| format!("{round} of {tenant}"));
        assert_eq!(connection.with(tenant, details).unwrap(), expected);
    }
    let ids = [&one, &two].map(|tenant| connection.with(tenant, |ledger| ledger.id()).unwrap());
    assert_ne!(ids[0], ids[1]);
}

/// Whether a connection gets the right, once the server has noticed who lost it.
fn gets(connection: &mut PostgresConnection, tenant: &Tenant) -> bool {
    for _ in 0..500 {
        if connection.hold(tenant, "x").unwrap() {
            return true;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    false
}

#[test]
fn a_right_is_one_connections_until_it_is_given_back_or_the_connection_ends() {
    let Some(home) = Home::shared() else { return };
    let (mut connection, [one, two]) = two_tenants(&home);
    let mut other = PostgresConnection::new(home.settings.clone());
    for _ in 0..2 {
        assert!(connection.hold(&one, "x").unwrap());
    }
    assert!(!other.hold(&one, "x").unwrap());
    assert!(other.hold(&one, "y").unwrap(), "it is another right");
    assert!(other.hold(&two, "x").unwrap(), "it is another tenant's");
    other.release(&one, "x");
    assert!(
        !other.hold(&one, "x").unwrap(),
        "nobody gives back what another has"
    );
    connection.release(&one, "x");
    assert!(other.hold(&one, "x").unwrap());
    drop(other);
    assert!(gets(&mut connection, &one));
    let pid = served_by(&mut connection, &one);
    end_connections(&home, pid);
    let mut third = PostgresConnection::new(home.settings);
    assert!(gets(&mut third, &one));
    let done = connection.with(&one, |ledger| decline(ledger, "x"));
    done.unwrap().unwrap();
    assert!(
        !connection.hold(&one, "x").unwrap(),
        "its right ended with its connection"
    );
}

#[test]
fn rights_to_other_tenants_are_given_back() {
    let Some(home) = Home::shared() else { return };
    let (mut connection, [one, two]) = two_tenants(&home);
    let mut other = PostgresConnection::new(home.settings);
    let both: BTreeSet<_> = [one.clone(), two.clone()].into();
    assert!(connection.hold(&one, "y").unwrap());
    assert_eq!(connection.hold_only(&both, "x").unwrap().len(), 2);
    assert_eq!(other.hold_only(&both, "x").unwrap(), []);
    let first = [one.clone()].into();
    assert_eq!(connection.hold_only(&first, "x").unwrap(), from_ref(&one));
    assert_eq!(other.hold_only(&both, "x").unwrap(), [two]);
    assert_eq!(connection.hold_only(&BTreeSet::new(), "x").unwrap(), []);
    assert_eq!(other.hold_only(&first, "x").unwrap(), from_ref(&one));
    assert!(!other.hold(&one, "y").unwrap(), "it is another right");
}

#[test]
fn threads_share_a_connection_and_keep_it_for_no_longer_than_a_transaction() {
    let Some(home) = Home::shared() else { return };
    let (connection, [one, two]) = two_tenants(&home);
    let connection = Arc::new(Mutex::new(connection));
    let ledgers = [one, two].map(|tenant| SharedLedger::open(&connection, tenant).unwrap());
    let threads = ledgers.clone().map(|mut ledger| {
        std::thread::spawn(move || {
            for n in 0..20 {
                let done = crate::write(&mut ledger, Durability::Process, |tx| {
                    declined(tx, &n.to_string())
                });
                done.unwrap();
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    for mut ledger in ledgers {
        let found = crate::read(&mut ledger, |tx| tx.declines(at(0), 100)).unwrap();
        assert_eq!(found.len(), 20);
    }
}

#[test]
fn a_tenant_without_a_ledger_takes_no_connection_away() {
    let Some(home) = Home::shared() else { return };
    let (mut connection, [one, _]) = two_tenants(&home);
    let pid = served_by(&mut connection, &one);
    let refused = connection.with(&home.server.tenant(), |_| ());
    assert!(matches!(refused, Err(LedgerError::Unwritable(_))));
    assert!(connection.is_open());
    assert_eq!(served_by(&mut connection, &one), pid);
}

#[test]
fn a_panic_gives_up_the_connection_with_its_transaction() {
    let Some(home) = Home::shared() else { return };
    let (mut connection, [one, two]) = two_tenants(&home);
    let pid = served_by(&mut connection, &one);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        connection.with(&one, |ledger| {
            put(ledger, |tx| {
                declined(tx, "x")?;
                panic!("in the middle of a transaction")
            })
        })
    }));
    assert!(panicked.is_err());
    assert!(!connection.is_open());
    wait_for_end(&home, pid);
    assert_ne!(served_by(&mut connection, &two), pid);
    assert_eq!(connection.with(&one, details).unwrap(), [""; 0]);
}

#[test]
fn a_connection_that_ended_is_made_anew_for_a_tenant_that_is_known_or_not() {
    let Some(home) = Home::shared() else { return };
    let (mut connection, [one, two]) = two_tenants(&home);
    let first = served_by(&mut connection, &one);
    end_connections(&home, first);
    let done = connection.with(&one, |ledger| decline(ledger, "x"));
    done.unwrap().unwrap();
    let second = served_by(&mut connection, &one);
    assert_ne!(second, first);
    end_connections(&home, second);
    let done = connection.with(&two, |ledger| decline(ledger, "y"));
    done.unwrap().unwrap();
    assert_ne!(served_by(&mut connection, &two), second);
}

#[test]
fn a_server_says_how_many_connections_it_takes() {
    let Some(home) = Home::shared() else { return };
    let mut connection = PostgresConnection::new(home.settings.clone());
    let limit = connection.limit().unwrap().unwrap();
    assert!(
        limit.most > limit.reserved && limit.reserved >= 0,
        "{limit:?}"
    );
    let sql = "SELECT current_setting('max_connections')::bigint";
    let most: i64 = home.raw().query_one(sql, &[]).unwrap().get(0);
    assert_eq!(limit.most, most);
}
