//! The store's own log: how long it becomes, and who waits meanwhile.

use std::sync::mpsc::{TrySendError, sync_channel};

use super::*;
use crate::sqlite::LogRest;

#[test]
fn the_log_of_the_store_is_brought_in_when_it_is_long() {
    let home = Home::furnished();
    home.raw()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let mut hook = home.open(Open::Hook).unwrap();
    decline(&mut hook, "short").unwrap();
    hook.maintain().unwrap();
    let short = SqliteLedger::log_bytes(&home.path());
    assert!((1..CHECKPOINT_ABOVE).contains(&short), "{short}");
    for n in 0..30 {
        decline(&mut hook, &format!("{n}{}", "x".repeat(100_000))).unwrap();
    }
    drop(hook);
    let long = SqliteLedger::log_bytes(&home.path());
    assert!(long > CHECKPOINT_ABOVE, "a hook left {long} bytes");
    let mut command = home.open(command(1)).unwrap();
    command.maintain().unwrap();
    assert_eq!(SqliteLedger::log_bytes(&home.path()), 0);
    assert_eq!(declined(&mut command), 31);
    assert_eq!(command.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_log_that_somebody_reads_is_brought_in_later_and_holds_up_no_writer() {
    let home = Home::furnished();
    let mut hook = home.open(Open::Hook).unwrap();
    let mut command = home.open(command(1)).unwrap();
    decline(&mut hook, "before").unwrap();
    let reader = home.raw();
    let declines = || -> i64 {
        let count = "SELECT count(*) FROM declines";
        reader.query_row(count, [], |row| row.get(0)).unwrap()
    };
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(declines(), 1);
    for n in 0..30 {
        decline(&mut hook, &format!("{n}{}", "x".repeat(100_000))).unwrap();
    }
    let start = Instant::now();
    command.maintain().unwrap();
    assert!(start.elapsed() < COMMAND_WAIT / 2, "it waited");
    assert!(SqliteLedger::log_bytes(&home.path()) > CHECKPOINT_ABOVE);
    decline(&mut hook, "meanwhile").unwrap();
    assert_eq!(declines(), 1, "a reader has one state of the store");
    reader.execute_batch("COMMIT").unwrap();
    command.maintain().unwrap();
    assert_eq!(SqliteLedger::log_bytes(&home.path()), 0);
    assert_eq!(declined(&mut command), 32);
    assert_eq!(command.check().unwrap(), Vec::<String>::new());
}

#[test]
fn work_that_goes_on_brings_in_a_log_that_hooks_would_stumble_over() {
    let home = Home::furnished();
    let mut ledger = home.open(command(1)).unwrap();
    ledger.maintain().unwrap();
    let mut most = 0;
    for n in 0..150 {
        decline(&mut ledger, &format!("{n}{}", "x".repeat(100_000))).unwrap();
        most = most.max(SqliteLedger::log_bytes(&home.path()));
        ledger.maintain_at_work().unwrap();
        let left = SqliteLedger::log_bytes(&home.path());
        assert!(left <= CHECKPOINT_AT_WORK_ABOVE, "{left} bytes are left");
    }
    assert!(
        most > CHECKPOINT_AT_WORK_ABOVE,
        "the log had {most} bytes at most"
    );
}

/// A text that takes so many bytes of the log, and is another one for each number.
fn large(n: usize) -> String {
    format!("{n}{}", "x".repeat(100_000))
}

/// Another thread copies the log, and tells the one that writes when the rest is short.
#[test]
fn the_log_of_a_writer_that_never_pauses_does_not_grow_without_end() {
    const MOST: u64 = 48 << 20;
    let home = Home::furnished();
    let mut writer = home.open(command(1)).unwrap();
    let copier = home.open(command(1)).unwrap();
    let (tell, rest) = sync_channel(1);
    let (mut most, mut cut, mut slowest) = (0, 0, Duration::ZERO);
    let texts: Vec<String> = (0..1_000).map(large).collect();
    std::thread::scope(|scope| {
        // It ends with this, also where something fails before.
        let rest = rest;
        scope.spawn(move || {
            loop {
                let left = copier.copy_log().unwrap();
                if tell.try_send(left) == Err(TrySendError::Disconnected(left)) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        for text in &texts {
            decline_on(&mut writer, Durability::Disk, text).unwrap();
            let log = SqliteLedger::log_bytes(&home.path());
            most = most.max(log);
            assert!(log < MOST, "{log} bytes");
            if rest.try_recv() == Ok(LogRest::Short) {
                let begun = Instant::now();
                writer.cut_log().unwrap();
                slowest = slowest.max(begun.elapsed());
                cut += u32::from(SqliteLedger::log_bytes(&home.path()) == 0);
            }
        }
    });
    eprintln!("{most} bytes at most, cut off {cut} times by the writer, {slowest:?} at most");
    assert!(cut > 0, "the writer never cut it off");
    assert_eq!(writer.check().unwrap(), Vec::<String>::new());
}

#[test]
fn a_long_log_is_copied_beside_the_writer_and_what_is_left_for_it_is_short() {
    let home = Home::furnished();
    let mut writer = home.open(command(1)).unwrap();
    let copier = home.open(command(1)).unwrap();
    let reader = home.raw();
    let read = "BEGIN; SELECT count(*) FROM declines";
    reader.execute_batch(read).unwrap();
    for n in 0..100 {
        decline(&mut writer, &large(n)).unwrap();
    }
    assert_eq!(copier.copy_log().unwrap(), LogRest::Long);
    // Nobody waits for the reader.
    let begun = Instant::now();
    decline(&mut writer, "meanwhile").unwrap();
    writer.cut_log().unwrap();
    assert!(begun.elapsed() < COMMAND_WAIT / 2, "it waited");
    let long = SqliteLedger::log_bytes(&home.path());
    assert!(long > CHECKPOINT_AT_WORK_ABOVE, "{long}");
    reader.execute_batch("COMMIT").unwrap();
    // Another one stands at the end of the log: all of it can be copied, and nothing of it cut off.
    reader.execute_batch(read).unwrap();
    assert_eq!(copier.copy_log().unwrap(), LogRest::Short);
    writer.cut_log().unwrap();
    assert_eq!(SqliteLedger::log_bytes(&home.path()), long);
    reader.execute_batch("COMMIT").unwrap();
    writer.cut_log().unwrap();
    assert_eq!(SqliteLedger::log_bytes(&home.path()), 0);
    assert_eq!(copier.copy_log().unwrap(), LogRest::Nothing);
    assert_eq!(declined(&mut writer), 101);
    // Nobody writes: then whoever copies does all of it.
    for n in 100..103 {
        decline(&mut writer, &large(n)).unwrap();
    }
    assert_eq!(copier.copy_log().unwrap(), LogRest::Nothing);
    assert_eq!(SqliteLedger::log_bytes(&home.path()), 0);
    assert_eq!(writer.check().unwrap(), Vec::<String>::new());
}
