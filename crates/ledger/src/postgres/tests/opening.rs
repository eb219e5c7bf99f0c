//! Who may open a store, and what they find.

use std::sync::Barrier;

use super::*;
use crate::postgres::connection::Link;
use crate::postgres::{SCHEMA, migrate};

fn refused(settings: &PostgresSettings, how: Open) -> LedgerError {
    match PostgresLedger::open(settings, how) {
        Ok(_) => panic!("the store was opened"),
        Err(error) => error,
    }
}

fn set_meta(home: &Home, key: &str, value: u32) {
    let sql = "UPDATE meta SET value = $2 WHERE key = $1";
    let set = home.raw().execute(sql, &[&key, &i64::from(value)]);
    assert_eq!(set.unwrap(), 1);
}

#[test]
fn a_ledger_keeps_its_id_and_its_key() {
    let Some(home) = Home::shared() else { return };
    let open = |how| PostgresLedger::open(&home.settings, how).unwrap();
    let [first, again, hook] = [command(1), command(2), Open::Hook].map(open);
    for ledger in [&first, &again, &hook] {
        assert_eq!(ledger.id(), LedgerId::from_uuid(Uuid::from_u128(1)));
        assert_eq!(ledger.key(), [1; 32]);
    }
}

#[test]
fn many_programs_may_create_one_store_at_once() {
    let Some(home) = Home::own() else { return };
    let start = Barrier::new(6);
    let ids: Vec<_> = std::thread::scope(|scope| {
        let (home, start) = (&home, &start);
        let open = |n: u128| {
            start.wait();
            PostgresLedger::open(&home.settings, command(n)).map(|l| (l.id(), l.key()))
        };
        let running: Vec<_> = (1..=6).map(|n| scope.spawn(move || open(n))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let ids: Vec<_> = ids.into_iter().map(Result::unwrap).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn a_migration_gives_way_to_whoever_works_on_the_tables() {
    let Some(home) = Home::own() else { return };
    drop(home.furnished());
    let [mut reader, mut watcher] = [home.raw(), home.raw()];
    reader
        .batch_execute("BEGIN; SELECT FROM observations")
        .unwrap();
    std::thread::scope(|scope| {
        let migrating = scope.spawn(|| {
            let mut link = Link::make(&home.settings)?;
            let sql = "LOCK TABLE sessions; LOCK TABLE observations";
            migrate::apply(&mut link, SCHEMA + 1, sql)
        });
        let waits = "SELECT FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' \
                     AND relation = 'observations'::regclass";
        while watcher.query(waits, &[]).unwrap().is_empty() {
            assert!(!migrating.is_finished());
            std::thread::yield_now();
        }
        // Each has now what the other one wants.
        reader
            .batch_execute("SELECT FROM sessions; COMMIT")
            .unwrap();
        migrating.join().unwrap().unwrap();
    });
    let schema = "SELECT value FROM meta WHERE key = 'schema'";
    let schema: i64 = watcher.query_one(schema, &[]).unwrap().get(0);
    assert_eq!(schema, i64::from(SCHEMA + 1));
}

#[test]
fn a_hook_creates_and_migrates_nothing() {
    let Some(home) = Home::own() else { return };
    let error = refused(&home.settings, Open::Hook);
    let is_outdated = matches!(
        error,
        LedgerError::Outdated {
            found: 0,
            known: SCHEMA
        }
    );
    assert!(is_outdated, "{error:?}");
    let sql = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()";
    let tables: i64 = home.raw().query_one(sql, &[]).unwrap().get(0);
    assert_eq!(tables, 0);
    drop(home.open());
    let other = home.server.settings(home.server.tenant());
    let error = refused(&other, Open::Hook);
    assert!(matches!(error, LedgerError::Unwritable(_)), "{error:?}");
    assert!(PostgresLedger::open(&home.settings, Open::Hook).is_ok());
}

#[test]
fn a_newer_store_says_what_a_program_must_know() {
    for key in ["min_reader", "min_writer"] {
        let Some(home) = Home::own() else { return };
        drop(home.open());
        set_meta(&home, key, SCHEMA + 1);
        for how in [Open::Hook, command(1)] {
            let error = refused(&home.settings, how);
            let is_newer = matches!(error, LedgerError::TooNew { needed, known: SCHEMA } if needed == SCHEMA + 1);
            assert!(is_newer, "{key}: {error:?}");
        }
    }
}

#[test]
fn a_newer_schema_that_we_may_write_is_no_reason_to_refuse() {
    let Some(home) = Home::own() else { return };
    drop(home.open());
    set_meta(&home, "schema", SCHEMA + 5);
    for how in [Open::Hook, command(1)] {
        let mut ledger = PostgresLedger::open(&home.settings, how).unwrap();
        decline(&mut ledger, "x").unwrap();
    }
    let sql = "SELECT value FROM meta WHERE key = 'schema'";
    let schema: i64 = home.raw().query_one(sql, &[]).unwrap().get(0);
    assert_eq!(schema, i64::from(SCHEMA + 5));
}

#[test]
fn what_cannot_be_reached_is_reported_without_the_password() {
    let Some(home) = Home::shared() else { return };
    let good = home.server.url();
    let (_, place) = good.rsplit_once('@').unwrap();
    let (host, rest) = place.split_once('/').unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    for url in [
        format!("postgres://nobody:hunter2@{host}/{rest}"),
        format!("postgres://siglum:hunter2@127.0.0.1:{port}/{rest}"),
        format!("postgres://siglum:hunter2@{host}/no_such_database"),
        format!("postgres://siglum:hunter2@{place}&sslmode=require"),
        format!("postgres://siglum:hunter2@{place}&sslmode=require&sslrootcert=/no/file"),
    ] {
        let settings = PostgresSettings::new(&url, home.settings.tenant.clone());
        for how in [Open::Hook, command(1)] {
            let error = refused(&settings, how);
            let chain = error_chain(&error);
            assert!(matches!(error, LedgerError::Unreachable(_)), "{chain}");
            assert!(error.is_out_of_reach());
            assert!(!chain.contains("hunter2"), "{chain}");
        }
    }
}

#[test]
fn a_store_that_is_read_only_cannot_be_written_to() {
    let Some(home) = Home::shared() else { return };
    drop(home.open());
    let url = home.server.url() + "%20-cdefault_transaction_read_only%3Don";
    let settings = PostgresSettings::new(url, home.settings.tenant);
    let mut ledger = PostgresLedger::open(&settings, command(1)).unwrap();
    assert_eq!(details(&mut ledger), [""; 0]);
    let error = decline(&mut ledger, "x").unwrap_err();
    assert!(matches!(error, LedgerError::Unwritable(_)), "{error:?}");
}

#[test]
fn a_server_is_reached_by_tls_and_only_with_a_certificate_that_is_trusted() {
    let Some(home) = Home::shared() else { return };
    let Some(certificate) = certificate() else {
        return;
    };
    let plain = home.server.url();
    let open = |options: &str| {
        let url = format!("{plain}&{options}");
        let settings = PostgresSettings::new(url, home.settings.tenant.clone());
        PostgresLedger::open(&settings, command(1))
    };
    let is_encrypted = |mut ledger: PostgresLedger| -> bool {
        let link = ledger.link().unwrap();
        let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        link.client.query_one(sql, &[]).unwrap().get(0)
    };
    assert!(!is_encrypted(open("sslmode=disable").unwrap()));
    for mode in ["require", "verify-full", "prefer"] {
        let trusted = format!("sslmode={mode}&sslrootcert={certificate}");
        assert!(is_encrypted(open(&trusted).unwrap()), "{mode}");
        // Nobody whom this machine trusts signed it.
        let error = open(&format!("sslmode={mode}")).map(drop).unwrap_err();
        assert!(matches!(error, LedgerError::Unreachable(_)), "{error:?}");
        assert!(
            error_chain(&error).contains("UnknownIssuer"),
            "{}",
            error_chain(&error)
        );
    }
    // It names the address of the server, and no other name of it.
    let elsewhere = plain.replacen("@127.0.0.1:", "@localhost:", 1);
    assert_ne!(elsewhere, plain);
    let url = format!("{elsewhere}&sslmode=require&sslrootcert={certificate}");
    let settings = PostgresSettings::new(url, home.settings.tenant.clone());
    let error = refused(&settings, command(1));
    assert!(
        error_chain(&error).contains("NotValidForName"),
        "{}",
        error_chain(&error)
    );
}

/// The certificate of the server of the tests; absent where only its address is known.
#[expect(clippy::disallowed_methods, reason = "this is how tests are told")]
fn certificate() -> Option<String> {
    std::env::var("SIGLUM_TEST_PG_CERTIFICATE").ok()
}
