//! What belongs to a file: its schema, its locks, its place.

use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use siglum_domain::Timestamp;
use siglum_domain::intake::Decline;
use uuid::Uuid;

use super::*;
use crate::sqlite::SCHEMA;

mod own_log;

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("siglum/ledger.db")
    }

    /// A home with a ledger.
    fn furnished() -> Self {
        let home = Self::new();
        drop(SqliteLedger::open(&home.path(), command(1)).unwrap());
        home
    }

    fn raw(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    fn set_meta(&self, key: &str, value: u32) {
        let sql = "UPDATE meta SET value = ?2 WHERE key = ?1";
        assert_eq!(self.raw().execute(sql, (key, value)).unwrap(), 1);
    }

    fn open(&self, how: Open) -> Result<SqliteLedger, LedgerError> {
        SqliteLedger::open(&self.path(), how)
    }
}

fn command(id: u128) -> Open {
    Open::Command {
        id: LedgerId::from_uuid(Uuid::from_u128(id)),
        key: [u8::try_from(id).unwrap(); 32],
    }
}

fn decline(ledger: &mut SqliteLedger, detail: &str) -> Result<(), LedgerError> {
    decline_on(ledger, Durability::Process, detail)
}

fn decline_on(
    ledger: &mut SqliteLedger,
    durability: Durability,
    detail: &str,
) -> Result<(), LedgerError> {
    let decline = Decline {
        edge: "test".into(),
        reason: "r".into(),
        detail: detail.into(),
        place: None,
    };
    let key = blake3::hash(detail.as_bytes()).to_hex();
    ledger.write(durability, &mut |tx| {
        tx.decline(&key, Timestamp::default(), &decline)
    })
}

fn declined(ledger: &mut SqliteLedger) -> usize {
    crate::read(ledger, |tx| tx.declines(Timestamp::default(), 1000))
        .unwrap()
        .len()
}

#[test]
fn a_new_ledger_belongs_to_its_owner_and_keeps_its_id() {
    let home = Home::new();
    let first = home.open(command(1)).unwrap();
    let again = home.open(command(2)).unwrap();
    let hook = home.open(Open::Hook).unwrap();
    for ledger in [&first, &again, &hook] {
        assert_eq!(ledger.id(), LedgerId::from_uuid(Uuid::from_u128(1)));
        assert_eq!(ledger.key(), [1; 32]);
    }
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&home.path()), 0o600);
    assert_eq!(mode(home.path().parent().unwrap()), 0o700);
}

#[test]
fn many_commands_may_create_one_ledger_at_once() {
    let home = Home::new();
    let start = std::sync::Barrier::new(6);
    let ids: Vec<_> = std::thread::scope(|scope| {
        let (home, start) = (&home, &start);
        let open = |n: u128| {
            start.wait();
            home.open(command(n)).map(|l| (l.id(), l.key()))
        };
        let running: Vec<_> = (1..=6).map(|n| scope.spawn(move || open(n))).collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let ids: Vec<_> = ids.into_iter().map(Result::unwrap).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn a_hook_creates_nothing() {
    let home = Home::new();
    let refused = home.open(Open::Hook).err();
    assert!(
        matches!(refused, Some(LedgerError::Unwritable(_))),
        "{refused:?}"
    );
    assert!(!home.path().parent().unwrap().exists());
    std::fs::create_dir(home.path().parent().unwrap()).unwrap();
    let refused = home.open(Open::Hook).err();
    assert!(
        matches!(refused, Some(LedgerError::Unwritable(_))),
        "{refused:?}"
    );
    assert!(!home.path().exists());
}

#[test]
fn a_hook_migrates_nothing() {
    let home = Home::new();
    std::fs::create_dir(home.path().parent().unwrap()).unwrap();
    std::fs::write(home.path(), "").unwrap();
    let outdated = |found: u32| {
        let refused = home.open(Open::Hook).err();
        assert!(
            matches!(refused, Some(LedgerError::Outdated { found: f, known: SCHEMA }) if f == found),
            "{refused:?}"
        );
    };
    outdated(0);
    assert_eq!(std::fs::metadata(home.path()).unwrap().len(), 0);
    drop(home.open(command(1)).unwrap());
    home.raw()
        .pragma_update(None, "user_version", SCHEMA - 1)
        .unwrap();
    outdated(SCHEMA - 1);
}

#[test]
fn a_newer_ledger_says_what_a_program_must_know() {
    for key in ["min_reader", "min_writer"] {
        let home = Home::furnished();
        home.set_meta(key, SCHEMA + 1);
        let bytes = || std::fs::read(home.path()).unwrap();
        let before = bytes();
        for how in [Open::Hook, command(2)] {
            let refused = home.open(how).err();
            let needed = SCHEMA + 1;
            assert!(
                matches!(refused, Some(LedgerError::TooNew { needed: n, known: SCHEMA }) if n == needed),
                "{key}: {refused:?}"
            );
            assert!(bytes() == before, "{key}: bytes changed");
        }
    }
}

#[test]
fn a_newer_schema_that_we_may_write_is_no_reason_to_refuse() {
    let home = Home::furnished();
    home.raw()
        .pragma_update(None, "user_version", SCHEMA + 5)
        .unwrap();
    for how in [Open::Hook, command(2)] {
        decline(&mut home.open(how).unwrap(), "x").unwrap();
    }
    let version: u32 = home
        .raw()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, SCHEMA + 5);
}

#[test]
fn what_was_open_when_a_newer_program_migrated_writes_no_more() {
    let home = Home::furnished();
    for how in [Open::Hook, command(2)] {
        let mut open = home.open(how).unwrap();
        let version = |n: u32| home.raw().pragma_update(None, "user_version", n).unwrap();
        version(SCHEMA + 1);
        home.set_meta("min_writer", SCHEMA + 1);
        let refused = decline(&mut open, "after");
        assert!(
            matches!(refused, Err(LedgerError::TooNew { .. })),
            "{refused:?}"
        );
        version(SCHEMA);
        home.set_meta("min_writer", SCHEMA);
        assert_eq!(declined(&mut open), 0, "nothing was written");
    }
}

#[test]
fn a_hook_waits_for_a_lock_and_not_for_long() {
    let home = Home::furnished();
    let mut hook = home.open(Open::Hook).unwrap();
    let holder = home.raw();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = Instant::now();
    let refused = decline(&mut hook, "x").err();
    let waited = start.elapsed();
    assert!(matches!(refused, Some(LedgerError::Busy)), "{refused:?}");
    assert!(refused.unwrap().is_out_of_reach());
    assert!((40..1500).contains(&waited.as_millis()), "{waited:?}");
    assert_eq!(declined(&mut hook), 0, "a reader waits for nobody");
    assert_eq!(declined(&mut home.open(Open::Hook).unwrap()), 0);
    holder.execute_batch("COMMIT").unwrap();
    decline(&mut hook, "x").unwrap();
    assert_eq!(declined(&mut hook), 1);
}

#[test]
fn a_place_that_cannot_be_written_to_is_reported_as_such() {
    let home = Home::furnished();
    let below_a_file = home.path().join("ledger.db");
    for path in [below_a_file, "/proc/siglum/ledger.db".into()] {
        let refused = SqliteLedger::open(&path, command(1)).err();
        assert!(
            matches!(refused, Some(LedgerError::Unwritable(_))),
            "{}: {refused:?}",
            path.display()
        );
    }
    // What a restore mends.
    let a_directory = SqliteLedger::open(&home.0.path().join("siglum"), command(1));
    assert!(matches!(a_directory.err(), Some(LedgerError::Damaged(_))));
}

#[test]
fn a_full_disk_is_out_of_reach_and_leaves_nothing() {
    let home = Home::furnished();
    let mut ledger = home.open(command(1)).unwrap();
    let pages: u32 = ledger
        .db
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    ledger
        .db
        .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        .unwrap();
    let refused = decline(&mut ledger, &"x".repeat(100_000)).err();
    assert!(
        matches!(refused, Some(LedgerError::Unwritable(_))),
        "{refused:?}"
    );
    assert_eq!(declined(&mut ledger), 0);
}

#[test]
fn what_is_no_ledger_is_damaged() {
    let home = Home::new();
    std::fs::create_dir(home.path().parent().unwrap()).unwrap();
    std::fs::write(home.path(), "no database at all, ".repeat(100)).unwrap();
    for how in [Open::Hook, command(1)] {
        assert_damaged(&home, how);
    }
}

/// The error names the file, since it may be all that somebody sees.
#[track_caller]
fn assert_damaged(home: &Home, how: Open) {
    let path = home.path().display().to_string();
    match home.open(how).err() {
        Some(LedgerError::Damaged(what)) => assert!(what.starts_with(&path), "{what}"),
        refused => panic!("{refused:?}"),
    }
}

#[test]
fn a_ledger_that_lacks_what_every_one_has_is_damaged() {
    for sql in [
        "DROP TABLE meta",
        "DELETE FROM meta",
        "DELETE FROM meta WHERE key = 'key'",
        "UPDATE meta SET value = 'text' WHERE key = 'key'",
        "UPDATE meta SET value = x'00' WHERE key = 'ledger'",
    ] {
        let home = Home::furnished();
        home.raw().execute_batch(sql).unwrap();
        for how in [Open::Hook, command(1)] {
            assert_damaged(&home, how);
        }
    }
    let home = Home::furnished();
    home.raw().execute_batch("PRAGMA user_version = 0").unwrap();
    assert_damaged(&home, command(1));
    let home = Home::new();
    std::fs::create_dir_all(home.path()).unwrap();
    assert_damaged(&home, command(1));
}

#[test]
fn leases_of_a_file_go_by_the_time_of_its_machine() {
    let mut ledger = Home::furnished().open(command(1)).unwrap();
    for nanos in [20, 7] {
        let local = Timestamp::from_nanos(nanos);
        let time = crate::read(&mut ledger, |tx| tx.clock(local)).unwrap();
        assert_eq!(time, local);
    }
}

#[test]
fn each_write_is_as_safe_as_requested() {
    let home = Home::furnished();
    let mut ledger = home.open(command(1)).unwrap();
    let (normal, full) = (1, 2);
    for (durability, wanted) in [
        (Durability::Process, normal),
        (Durability::Disk, full),
        (Durability::Disk, full),
        (Durability::Process, normal),
    ] {
        ledger.write(durability, &mut |_| Ok(())).unwrap();
        let db = ledger.connection();
        let level: i64 = db
            .query_row("PRAGMA synchronous", [], |row| row.get(0))
            .unwrap();
        assert_eq!(level, wanted, "{durability:?}");
    }
}

#[test]
fn a_ledger_for_transactions_of_parts_keeps_no_file_of_the_system() {
    let stored = |ledger: &SqliteLedger| -> i64 {
        let db = ledger.connection();
        db.query_row("PRAGMA temp_store", [], |row| row.get(0))
            .unwrap()
    };
    let (usual, memory) = (0, 2);
    let ledger = Home::furnished().open(command(1)).unwrap();
    assert_eq!(stored(&ledger), usual);
    let mut ledger = ledger.in_parts().unwrap();
    assert_eq!(stored(&ledger), memory);
    // A part is taken back, and what is around it stays.
    crate::write(&mut ledger, Durability::Process, |tx| {
        let kept = tx.nested(&mut |_| Ok(()));
        let lost = tx.nested(&mut |_| Err(LedgerError::Busy));
        assert!(matches!((kept, lost), (Ok(()), Err(LedgerError::Busy))));
        tx.nested(&mut |_| Ok(()))
    })
    .unwrap();
}

/// A file that is lost stays as it is: what its log holds may be all that is left.
#[test]
fn a_known_ledger_is_never_created() {
    let home = Home::furnished();
    let id = LedgerId::from_uuid(Uuid::from_u128(1));
    let known = |id| SqliteLedger::open_known(&home.path(), id);
    let lost = |id| match known(id) {
        Err(LedgerError::Lost(text)) => text,
        other => panic!("{:?}", other.err()),
    };
    assert_eq!(known(id).unwrap().id(), id);
    let other = LedgerId::from_uuid(Uuid::from_u128(2));
    assert!(lost(other).contains("another one"), "{}", lost(other));
    let log = home.path().with_file_name("ledger.db-wal");
    let logged = std::fs::metadata(&log).unwrap().len();
    std::fs::write(home.path(), "").unwrap();
    assert!(lost(id).ends_with("is empty"), "{}", lost(id));
    assert_eq!(std::fs::metadata(&log).unwrap().len(), logged);
    std::fs::remove_file(home.path()).unwrap();
    assert!(lost(id).ends_with("is gone"), "{}", lost(id));
    assert!(!home.path().exists());
    // A database that nobody made a ledger of.
    std::fs::remove_file(log).unwrap();
    home.raw().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(lost(id).ends_with("is empty"), "{}", lost(id));
}

#[test]
fn scrubbing_does_not_wait_for_ever_for_a_reader_that_stands_still() {
    let home = Home::furnished();
    let reader = home.raw();
    reader
        .execute_batch("BEGIN; SELECT count(*) FROM meta")
        .unwrap();
    let mut hook = home.open(Open::Hook).unwrap();
    let begun = Instant::now();
    assert!(matches!(hook.scrub(), Err(LedgerError::Busy)));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_read_that_nobody_waits_for_ends_and_the_next_one_is_whole() {
    const ENDLESS: &str =
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT max(n) FROM n";
    let home = Home::furnished();
    let mut ledger = home.open(command(1)).unwrap();
    let cancellation = Cancellation::default();
    ledger.cancel_by(Some(cancellation.clone())).unwrap();
    let (reads, begins) = std::sync::mpsc::channel();
    let leaving = std::thread::spawn(move || {
        begins.recv().unwrap();
        cancellation.cancel();
    });
    let begun = Instant::now();
    let transaction = ledger.begin(TransactionBehavior::Deferred);
    let ended: Result<(), LedgerError> = transaction.and_then(|tx| {
        reads.send(()).unwrap();
        let most: i64 = tx.query_row(ENDLESS, [], |row| row.get(0))?;
        panic!("it counted to {most}");
    });
    assert!(matches!(ended, Err(LedgerError::Cancelled)), "{ended:?}");
    assert!(begun.elapsed() < Duration::from_secs(2));
    leaving.join().unwrap();
    assert!(ledger.db.is_autocommit(), "no transaction is open");
    let next = ledger.read(&mut |_| panic!("nobody waits for it"));
    assert!(matches!(next, Err(LedgerError::Cancelled)), "{next:?}");
    ledger.cancel_by(Some(Cancellation::default())).unwrap();
    ledger.read(&mut |tx| tx.parked().map(drop)).unwrap();
    ledger.cancel_by(None).unwrap();
    decline(&mut ledger, "and one that writes").unwrap();
}
