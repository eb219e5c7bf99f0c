//! Tallies of tables, which many keep at once.

use std::sync::mpsc;

use postgres::Client;

use super::*;
use crate::sums::tallied;
use crate::{Miscount, read};

fn rows(raw: &mut Client, home: &Home, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM {table} WHERE tenant = $1");
    let row = raw.query_one(&sql, &[&home.tenant()]).unwrap();
    u64::try_from(row.get::<_, i64>(0)).unwrap()
}

fn miscounts(home: &Home) -> Vec<Miscount> {
    read(&mut home.open(), |tx| tx.miscounts()).unwrap()
}

#[test]
fn many_who_write_at_once_keep_one_tally() {
    let Some(home) = Home::shared() else { return };
    drop(home.furnished());
    let write = |from: u128| {
        let mut ledger = home.open();
        for n in (100 * from)..(100 * from + 20) {
            let record = session(n, ledger.id());
            put(&mut ledger, |tx| {
                let taken_back = tx.nested(&mut |tx| {
                    tx.create_session(&record)?;
                    Err(LedgerError::Busy)
                });
                assert!(taken_back.is_err());
                tx.create_session(&record)
            })
            .unwrap();
        }
    };
    std::thread::scope(|scope| {
        let write = &write;
        (1..=6).for_each(|n| drop(scope.spawn(move || write(n))));
    });
    assert_eq!(miscounts(&home), []);
    assert_eq!(rows(&mut home.raw(), &home, "sessions"), 122);
}

#[test]
fn nobody_waits_for_the_tally_of_another_transaction() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    let id = ledger.id();
    let (done, is_done) = mpsc::channel();
    put(&mut ledger, |tx| {
        tx.create_session(&session(7, id))?;
        std::thread::scope(|scope| {
            let (home, done) = (&home, done.clone());
            scope.spawn(move || {
                let mut other = home.open();
                put(&mut other, |tx| tx.create_session(&session(8, id))).unwrap();
                done.send(()).unwrap();
            });
        });
        Ok(())
    })
    .unwrap();
    is_done.try_recv().unwrap();
    assert_eq!(miscounts(&home), []);
}

#[test]
fn what_went_bad_in_a_row_still_shows_when_other_columns_change() {
    let Some(home) = Home::own() else { return };
    let mut ledger = home.furnished();
    home.raw()
        .batch_execute(
            "ALTER TABLE sessions DISABLE TRIGGER USER; UPDATE sessions SET created_at = created_at + 1; \
             ALTER TABLE sessions ENABLE TRIGGER USER",
        )
        .unwrap();
    put(&mut ledger, |tx| append(tx, 1, "k")).unwrap();
    let bad = read(&mut ledger, |tx| tx.unlike(9)).unwrap();
    assert_eq!(bad.len(), 2, "{bad:?}");
    assert!(bad.iter().all(|row| row.table == "sessions"), "{bad:?}");
}

#[test]
fn the_tallies_of_an_older_store_begin_with_what_is_there_and_its_sums_stay() {
    let Some(home) = Home::own() else { return };
    drop(home.furnished());
    let mut raw = home.raw();
    raw.batch_execute("DELETE FROM sessions WHERE id = '00000000-0000-0000-0000-000000000001'")
        .unwrap();
    for table in tallied() {
        for name in ["more", "other", "fewer"] {
            raw.batch_execute(&format!("DROP TRIGGER {table}_{name} ON {table}"))
                .unwrap();
        }
    }
    raw.batch_execute(
        "ALTER TABLE sessions DISABLE TRIGGER USER; UPDATE sessions SET created_at = created_at + 1; ALTER TABLE sessions ENABLE TRIGGER USER",
    )
    .unwrap();
    raw.batch_execute(
        "DROP TABLE tallies, usage_quarters; DROP INDEX statements_of_links; UPDATE meta SET value = 16 WHERE key = 'schema';
         ALTER TABLE repositories DROP COLUMN roots, DROP COLUMN remote, DROP COLUMN clone_of;
         DROP INDEX sessions_by_conversation, commits_by_at; DROP TABLE active_runs, run_events, unindexed, search_parts;
         DROP INDEX sessions_by_short_id, checkpoints_by_short_id, tokens_by_short_id, aliases_by_native,
             checkpoints_by_repository, contexts_by_session, declines_by_at, audit_by_at, audit_by_actor, statements_of_commits,
             observations_large; DROP TABLE blobs;
         ALTER TABLE session_repositories DROP COLUMN hour, DROP COLUMN works; DROP TABLE session_links, verified;
         DROP INDEX sessions_quarantined;
         ALTER TABLE sessions DROP COLUMN unfolded, DROP COLUMN unsealed;
         CREATE INDEX sessions_unsealed ON sessions (id); CREATE INDEX sessions_unfolded ON sessions (id)",
    )
    .unwrap();
    assert_eq!(miscounts(&home), []);
    // What went bad before the upgrade is not taken for good by it.
    let bad = read(&mut home.open(), |tx| tx.unlike(1)).unwrap();
    assert_eq!(
        bad.iter().map(|u| u.table).collect::<Vec<_>>(),
        ["sessions"],
        "{bad:?}"
    );
    raw.batch_execute("DELETE FROM sessions").unwrap();
    let wanted = Miscount {
        table: "sessions",
        stored: 1,
        found: 0,
    };
    assert_eq!(miscounts(&home), [wanted]);
}
