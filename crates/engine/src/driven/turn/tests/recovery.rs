//! What becomes of a turn whose driver dies.

use siglum_domain::observation::Recovery;
use siglum_ledger::AuditFilter;

use super::*;

/// A driver that died with these in its open turn, and the session.
fn left(all: &[Observation]) -> (Stage, SessionId, Driver) {
    let (mut stage, session, mut driver) = driving();
    turn(&mut stage, &mut driver, "before").unwrap();
    act(&mut stage, |world, ledger| {
        driver.open(world, ledger, "t1", all).unwrap();
    });
    stage.dead.borrow_mut().push(50);
    (stage, session, driver)
}

fn recovered(stage: &mut Stage, session: SessionId) -> Recovered {
    act(stage, |world, ledger| {
        recover(world, ledger, session).unwrap()
    })
}

fn how(stage: &mut Stage, session: SessionId) -> Option<Recovery> {
    let page = act(stage, |_, ledger| committed(ledger, session, 0, 0).unwrap());
    match page.entries.last()?.observation.fact {
        Fact::Recovered { how } => Some(how),
        _ => None,
    }
}

#[test]
fn a_turn_that_had_come_to_its_stop_is_committed_once() {
    let (mut stage, session, mut driver) = left(&[prompt("Go."), message("m", "Went."), stop()]);
    let Recovered::Committed(receipt) = recovered(&mut stage, session) else {
        panic!("it was complete");
    };
    assert_eq!(recovered(&mut stage, session), Recovered::Nothing);
    assert_eq!(how(&mut stage, session), Some(Recovery::Complete));
    assert_eq!((receipt.first, receipt.last), (4, 7));
    let late = act(&mut stage, |world, ledger| {
        driver.commit(world, ledger, "t1", &[message("n", "More.")])
    });
    assert_eq!(late.unwrap_err().code(), "conflict");
    let next = take(&mut stage, session, &holder("two", Some(51))).unwrap();
    assert_eq!(
        (next.committed(), &next.recovered),
        (7, &Recovered::Nothing)
    );
}

#[test]
fn a_turn_that_was_broken_off_is_kept_as_that() {
    let events = [prompt("Go."), call("a"), result("a"), message("m", "So f")];
    let (mut stage, session, _) = left(&events);
    let next = take(&mut stage, session, &holder("two", Some(51))).unwrap();
    assert!(matches!(next.recovered, Recovered::Interrupted(_)));
    assert_eq!(how(&mut stage, session), Some(Recovery::Interrupted));
    assert_eq!(next.committed(), 8);
}

#[test]
fn a_turn_in_which_nothing_was_answered_waits_for_the_next_driver() {
    let (mut stage, session, _) = left(&[prompt("Go.")]);
    assert_eq!(recovered(&mut stage, session), Recovered::Asked);
    let mut next = take(&mut stage, session, &holder("two", Some(51))).unwrap();
    assert_eq!(next.recovered, Recovered::Asked);
    assert_eq!(next.open_turn().unwrap().key, "t1");
    let hold = next.hold();
    let waits = act(&mut stage, |_, ledger| pending(ledger, hold).unwrap());
    assert_eq!(waits, [prompt("Go.")]);
    act(&mut stage, |world, ledger| {
        next.append(world, ledger, &[message("m", "Went.")])
            .unwrap();
        next.commit(world, ledger, "t1", &[stop()]).unwrap()
    });
    assert_eq!(
        log(&mut stage, session)[3..],
        ["prompt", "message", "stopped"]
    );
}

#[test]
fn an_empty_turn_goes() {
    let (mut stage, session, _) = left(&[]);
    assert_eq!(recovered(&mut stage, session), Recovered::Nothing);
    assert_eq!(stage.read(|tx| tx.open_turn(session)), None);
}

#[test]
fn a_call_without_a_result_waits_for_a_person() {
    for (decision, kinds) in [
        (
            Decision::Done,
            &["prompt", "tool_started", "tool_ended", "recovered"][..],
        ),
        (
            Decision::Failed,
            &["prompt", "tool_started", "tool_ended", "recovered"],
        ),
        (Decision::Discard, &[]),
    ] {
        let (mut stage, session, _) = left(&[prompt("Go."), call("a")]);
        let calls = vec!["tool:a".to_owned()];
        assert_eq!(recovered(&mut stage, session), Recovered::Held { calls });
        let refused = take(&mut stage, session, &holder("two", Some(51))).unwrap_err();
        assert_eq!(refused.code(), "held");
        assert_eq!(
            log(&mut stage, session).len(),
            3,
            "what is committed is read"
        );
        let waits = act(&mut stage, |world, ledger| held(world, ledger, 9).unwrap());
        assert_eq!(waits[0].turn.session, session);
        let who = |turn| Decider {
            turn,
            by: "ann",
            source: "cli",
        };
        let other = act(&mut stage, |world, ledger| {
            decide(world, ledger, session, decision, who(Some("t9")))
        });
        assert_eq!(other.unwrap_err().code(), "not-open");
        act(&mut stage, |world, ledger| {
            decide(world, ledger, session, decision, who(Some("t1"))).unwrap()
        });
        assert_eq!(log(&mut stage, session)[3..], *kinds, "{decision:?}");
        let page = act(&mut stage, |_, ledger| {
            committed(ledger, session, 5, 1).unwrap()
        });
        if let Some(end) = page.entries.first() {
            let Fact::ToolEnded {
                outcome, output, ..
            } = &end.observation.fact
            else {
                panic!("{end:?}");
            };
            let wanted = if decision == Decision::Done {
                Outcome::Ok
            } else {
                Outcome::Failed
            };
            assert_eq!((*outcome, output), (wanted, &None), "nothing is invented");
            assert_eq!(end.observation.source, Source::Siglum);
        }
        let statements = stage.read(|tx| tx.statements_of_session(session));
        assert_eq!(statements.last().unwrap().by, "ann");
        let filter = AuditFilter {
            action: Some("turn.decided".to_owned()),
            ..AuditFilter::default()
        };
        let audited = act(&mut stage, |_, ledger| {
            crate::identity::audit::list(ledger, &filter).unwrap()
        });
        let [entry] = &audited[..] else {
            panic!("{audited:?}");
        };
        assert_eq!(
            (entry.header.actor.as_str(), entry.header.session),
            ("ann", Some(session))
        );
        take(&mut stage, session, &holder("two", Some(51))).unwrap();
    }
}

#[test]
fn a_turn_whose_driver_lives_is_left_alone() {
    let (mut stage, session, _) = left(&[prompt("Go."), message("m", "Went."), stop()]);
    stage.dead.borrow_mut().clear();
    let refused = act(&mut stage, |world, ledger| recover(world, ledger, session));
    assert_eq!(refused.unwrap_err().code(), "leased");
    stage.slice();
    assert!(stage.read(|tx| tx.open_turn(session)).is_some());
    stage.dead.borrow_mut().push(50);
    stage.slice();
    assert!(stage.read(|tx| tx.open_turn(session)).is_none());
    assert_eq!(how(&mut stage, session), Some(Recovery::Complete));
}

#[test]
fn what_waits_in_an_open_turn_is_forgotten_with_the_session() {
    for by_pattern in [false, true] {
        let (mut stage, session, mut driver) = left(&[prompt("The word is marzipan."), call("a")]);
        stage.play(|world, ledger| {
            use crate::forget;
            if by_pattern {
                let needle = forget::Needle::literal("marzipan").unwrap();
                let found = forget::erase(world, ledger, &[], &needle, "Ann").unwrap();
                assert_eq!(found.count, 1);
            } else {
                let holding = forget::holding(ledger, session).unwrap().unwrap();
                forget::forget_session(world, ledger, &holding, forget::Costs::Kept, &[], "Ann")
                    .unwrap();
            }
        });
        assert_eq!(stage.read(|tx| tx.pending(session)), []);
        let late = act(&mut stage, |world, ledger| {
            driver.append(world, ledger, &[stop()])
        });
        assert_eq!(late.unwrap_err().code(), "not-open");
        turn(&mut stage, &mut driver, "t2").unwrap();
    }
}
