//! What a driver may do, and what it is refused.

use super::*;

#[test]
fn a_turn_is_in_the_log_when_it_is_committed_and_not_before() {
    let (mut stage, session, mut driver) = driving();
    act(&mut stage, |world, ledger| {
        let opened = driver.open(world, ledger, "t1", &[prompt("Build it.")]);
        assert_eq!(opened.unwrap(), None);
        driver
            .append(world, ledger, &[message("m", "Yes.")])
            .unwrap();
    });
    assert_eq!(log(&mut stage, session), [""; 0]);
    let hold = driver.hold();
    let waits = act(&mut stage, |_, ledger| pending(ledger, hold).unwrap());
    assert_eq!(waits, [prompt("Build it."), message("m", "Yes.")]);
    let record = stage.session(session);
    assert_eq!((record.head, record.sealed), (0, 0));
    assert_eq!(stage.read(|tx| tx.last_turn(session)), None);
    let done = act(&mut stage, |world, ledger| {
        driver.commit(world, ledger, "t1", &[stop()]).unwrap()
    });
    assert!(!done.already);
    assert_eq!((done.receipt.first, done.receipt.last), (1, 3));
    assert_eq!(log(&mut stage, session), ["prompt", "message", "stopped"]);
    assert_eq!(driver.committed(), 3);
    let rows = stage.read(|tx| tx.to_seal(session, 1, 3));
    let rows: Vec<_> = rows.into_iter().map(|(row, _)| row).collect();
    assert!(siglum_domain::receipt::verifies(
        &done.receipt,
        siglum_domain::receipt::GENESIS,
        &rows
    ));
}

#[test]
fn the_same_key_is_done_once() {
    let (mut stage, session, mut driver) = driving();
    let first = turn(&mut stage, &mut driver, "t1").unwrap();
    turn(&mut stage, &mut driver, "t2").unwrap();
    let again = turn(&mut stage, &mut driver, "t1").unwrap();
    assert!(again.already);
    assert_eq!(again.receipt, first.receipt);
    let other = act(&mut stage, |world, ledger| {
        driver.commit(world, ledger, "t1", &[message("x", "Other.")])
    });
    match other.unwrap_err() {
        TurnError::Conflict { receipt, .. } => assert_eq!(receipt, first.receipt.digest),
        error => panic!("{error}"),
    }
    assert_eq!(log(&mut stage, session).len(), 6);
    let found = act(&mut stage, |world, ledger| {
        driver.open(world, ledger, "t1", &[]).unwrap()
    });
    assert_eq!(found, Some(first.receipt));
}

#[test]
fn a_receipt_is_found_by_a_driver_whose_lease_was_taken_over() {
    let (mut stage, session, mut driver) = driving();
    let first = turn(&mut stage, &mut driver, "t1").unwrap();
    stage.dead.borrow_mut().push(50);
    take(&mut stage, session, &holder("two", Some(51))).unwrap();
    assert_eq!(
        turn(&mut stage, &mut driver, "t1").unwrap().receipt,
        first.receipt
    );
    assert_eq!(
        turn(&mut stage, &mut driver, "t2").unwrap_err().code(),
        "fenced"
    );
}

#[test]
fn one_drives_at_a_time() {
    let (mut stage, session, mut driver) = driving();
    let other = holder("two", Some(51));
    match take(&mut stage, session, &other).unwrap_err() {
        TurnError::Leased { holder, .. } => assert_eq!(holder, "one"),
        error => panic!("{error}"),
    }
    // Paused past its lease.
    stage.now.set(stage.now.get() + 60);
    let mut second = take(&mut stage, session, &other).unwrap();
    let late = turn(&mut stage, &mut driver, "late").unwrap_err();
    assert_eq!(late.code(), "fenced");
    assert_eq!(late.fate(), Fate::NotCommitted);
    turn(&mut stage, &mut second, "t1").unwrap();
    assert_eq!(log(&mut stage, session).len(), 3);
    let hold = driver.hold();
    for refused in [
        act(&mut stage, |world, ledger| driver.renew(world, ledger)).unwrap_err(),
        act(&mut stage, |_, ledger| pending(ledger, hold)).unwrap_err(),
    ] {
        assert_eq!(refused.code(), "fenced");
    }
}

#[test]
fn the_lease_of_a_dead_process_is_free_at_once() {
    let (mut stage, session, _) = driving();
    stage.dead.borrow_mut().push(50);
    take(&mut stage, session, &holder("two", Some(51))).unwrap();
}

#[test]
fn a_driver_that_nobody_replaced_goes_on_after_its_lease_ran_out() {
    let (mut stage, _, mut driver) = driving();
    act(&mut stage, |world, ledger| {
        driver.open(world, ledger, "t1", &[prompt("Go.")]).unwrap()
    });
    stage.now.set(stage.now.get() + 60);
    act(&mut stage, |world, ledger| driver.renew(world, ledger)).unwrap();
    act(&mut stage, |world, ledger| {
        driver
            .append(world, ledger, &[message("m", "Went.")])
            .unwrap();
        driver.commit(world, ledger, "t1", &[stop()]).unwrap()
    });
}

#[test]
fn a_write_that_knows_an_older_log_is_refused() {
    let (mut stage, _, mut driver) = driving();
    let hold = driver.hold();
    turn(&mut stage, &mut driver, "t1").unwrap();
    let stale = act(&mut stage, |world, ledger| {
        commit(world, ledger, hold, 0, "t2", &[stop()])
    });
    match stale.unwrap_err() {
        TurnError::Stale {
            expected: 0,
            committed: 3,
            ..
        } => {}
        error => panic!("{error}"),
    }
}

#[test]
fn one_turn_is_open_at_a_time() {
    let (mut stage, session, mut driver) = driving();
    act(&mut stage, |world, ledger| {
        driver.open(world, ledger, "t1", &[prompt("Go.")]).unwrap();
        let other = driver.open(world, ledger, "t2", &[]).unwrap_err();
        assert_eq!(other.code(), "not-open");
        let other = driver.commit(world, ledger, "t2", &[stop()]).unwrap_err();
        assert_eq!(other.code(), "not-open");
        driver.open(world, ledger, "t1", &[prompt("Go.")]).unwrap();
        driver.abort(ledger).unwrap();
        assert_eq!(driver.abort(ledger).unwrap_err().code(), "not-open");
        driver.open(world, ledger, "t2", &[]).unwrap();
        let empty = driver.commit(world, ledger, "t2", &[]).unwrap_err();
        assert_eq!(empty.code(), "invalid");
    });
    assert_eq!(log(&mut stage, session), [""; 0]);
}

#[test]
fn an_event_is_there_once_and_never_changes() {
    let (mut stage, session, mut driver) = driving();
    act(&mut stage, |world, ledger| {
        driver.open(world, ledger, "t1", &[prompt("Go.")]).unwrap();
        driver
            .append(world, ledger, &[message("m", "One.")])
            .unwrap();
        driver
            .append(world, ledger, &[message("m", "One.")])
            .unwrap();
        let other = driver.append(world, ledger, &[message("m", "Two.")]);
        assert_eq!(other.unwrap_err().code(), "conflict");
        let other = driver.commit(world, ledger, "t1", &[message("m", "Two.")]);
        assert_eq!(other.unwrap_err().code(), "conflict");
        driver
            .commit(world, ledger, "t1", &[message("m", "One."), stop()])
            .unwrap();
    });
    assert_eq!(log(&mut stage, session), ["prompt", "message", "stopped"]);
}

#[test]
fn what_a_driver_may_not_say_is_refused_before_anything_is_written() {
    let (mut stage, session, mut driver) = driving();
    let mut blank = message("m", "x");
    blank.key = "a b".to_owned();
    let mut hook = message("m", "x");
    hook.source = Source::Hook;
    let recovered = api_observation(
        "r",
        "r".to_owned(),
        Fact::Recovered {
            how: siglum_domain::observation::Recovery::Complete,
        },
    );
    let mut huge = message("m", "x");
    if let Fact::Message { text, .. } = &mut huge.fact {
        *text = body(&"word ".repeat(EVENT_BYTES_MOST / 5 + 1));
    }
    let twice = [message("m", "x"), message("m", "x")];
    let words = ["invalid", "invalid", "invalid", "invalid", "twice"];
    let all = [&[blank][..], &[hook], &[recovered], &[huge], &twice];
    for (wrong, word) in all.into_iter().zip(words) {
        let refused = act(&mut stage, |world, ledger| {
            driver.commit(world, ledger, "t1", wrong)
        });
        assert_eq!(refused.unwrap_err().code(), word);
    }
    let refused = act(&mut stage, |world, ledger| {
        driver.commit(world, ledger, "a\tkey", &[stop()])
    });
    assert_eq!(refused.unwrap_err().code(), "invalid");
    assert_eq!(log(&mut stage, session), [""; 0]);
}

#[test]
fn an_event_key_that_is_in_the_log_already_is_refused() {
    let (mut stage, session, mut driver) = driving();
    act(&mut stage, |world, ledger| {
        driver
            .commit(world, ledger, "t1", &[message("m", "x")])
            .unwrap();
        let again = driver.commit(world, ledger, "t2", &[message("m", "x")]);
        assert_eq!(again.unwrap_err().code(), "conflict");
    });
    assert_eq!(log(&mut stage, session), ["message"]);
}
