//! Several programs at one store at once.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use siglum_domain::fold::{Records, Usage};
use siglum_domain::link::Link;
use siglum_domain::observation::Tokens;
use siglum_domain::receipt::{GENESIS, Receipt, seal};

use super::*;
use crate::{Projection, Statement};

#[test]
fn two_that_wait_for_each_other_both_succeed() {
    let Some(home) = Home::shared() else { return };
    drop(home.furnished());
    let met = Barrier::new(2);
    let runs = AtomicU32::new(0);
    let both = |first: u128, second: u128| {
        let mut ledger = home.open();
        let mut tries = 0;
        put(&mut ledger, |tx| {
            runs.fetch_add(1, Ordering::Relaxed);
            tries += 1;
            append(tx, first, &format!("k{first}"))?;
            if tries == 1 {
                met.wait();
            }
            append(tx, second, &format!("k{first}"))
        })
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| both(2, 1));
        both(1, 2).unwrap();
        other.join().unwrap().unwrap();
    });
    let runs = runs.load(Ordering::Relaxed);
    assert!(runs > 2, "one of the two has to run again");
    let heads = crate::read(&mut home.open(), |tx| {
        Ok([tx.session(session_id(1))?, tx.session(session_id(2))?])
    });
    let heads = heads.unwrap().map(|s| s.map(|s| s.head));
    assert_eq!(heads, [Some(2), Some(2)]);
}

#[test]
fn of_two_that_store_the_same_message_one_has_a_copy() {
    let Some(home) = Home::shared() else { return };
    drop(home.furnished());
    let message = Usage {
        event: "msg:a".to_owned(),
        request: None,
        turn: None,
        at: at(1),
        model: None,
        subagent: None,
        branch: None,
        source: Source::Transcript,
        tokens: Tokens {
            output: 1,
            ..Tokens::default()
        },
        repeated: Records::default(),
        retold: Records::default(),
    };
    let met = Barrier::new(2);
    let store = |n: u128, waits_first: bool| {
        let mut tries = 0;
        put(&mut home.open(), |tx| {
            tries += 1;
            if tries == 1 && waits_first {
                met.wait();
            }
            tx.put_usages(session_id(n), std::slice::from_ref(&message))?;
            if tries == 1 && !waits_first {
                met.wait();
                // The other one is at it meanwhile.
                for _ in 0..100 {
                    tx.session(session_id(n))?;
                }
            }
            Ok(())
        })
    };
    std::thread::scope(|scope| {
        let older = scope.spawn(|| store(1, true));
        store(2, false).unwrap();
        older.join().unwrap().unwrap();
    });
    let counted = crate::read(&mut home.open(), |tx| {
        let mut counted = Vec::new();
        tx.usage_quarters(&Default::default(), &mut |record| {
            counted.push((record.session.id, record.quarter.counted.count));
        })?;
        counted.sort();
        Ok(counted)
    });
    assert_eq!(counted.unwrap(), [(session_id(1), 1), (session_id(2), 0)]);
}

#[test]
fn two_that_see_a_session_first_create_it_once() {
    let Some(home) = Home::shared() else { return };
    let met = Barrier::new(2);
    let arrive = |n: u128| {
        let mut ledger = home.open();
        let fresh = session(n, ledger.id());
        let (agent, native) = native("same");
        let mut tries = 0;
        let mut found = None;
        put(&mut ledger, |tx| {
            tries += 1;
            found = tx.session_by_alias(&agent, &native)?;
            if tries == 1 {
                met.wait();
            }
            if found.is_none() {
                tx.create_session(&fresh)?;
                tx.add_alias(&agent, &native, fresh.id, at(1))?;
                found = Some(fresh.id);
            }
            Ok(())
        })
        .map(|()| found)
    };
    let (one, other) = std::thread::scope(|scope| {
        drop(home.open());
        let other = scope.spawn(|| arrive(2));
        (arrive(1).unwrap(), other.join().unwrap().unwrap())
    });
    assert_eq!(one, other);
    let all = crate::read(&mut home.open(), |tx| tx.sessions(&Default::default()));
    assert_eq!(all.unwrap().len(), 1);
}

#[test]
fn a_name_that_another_session_has_stays_there() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    let (agent, native) = native("taken");
    let found = |ledger: &mut PostgresLedger| {
        crate::read(ledger, |tx| tx.session_by_alias(&agent, &native)).unwrap()
    };
    for n in [1, 2] {
        put(&mut ledger, |tx| {
            tx.add_alias(&agent, &native, session_id(n), at(1))
        })
        .unwrap();
        assert_eq!(found(&mut ledger), Some(session_id(1)));
    }
    put(&mut ledger, |tx| {
        tx.session_by_alias(&agent, &native)?;
        tx.add_alias(&agent, &native, session_id(2), at(1))
    })
    .unwrap();
    assert_eq!(found(&mut ledger), Some(session_id(1)));
}

/// The first receipt of a session.
fn receipt(tx: &mut dyn Transaction, n: u128) -> Result<Receipt, LedgerError> {
    let rows = tx.to_seal(session_id(n), 1, 1)?;
    let entries: Vec<_> = rows.into_iter().map(|(entry, _)| entry).collect();
    let sealed = seal(session_id(n), None, &entries, vec![], at(4)).unwrap();
    assert_eq!(sealed.previous, GENESIS);
    Ok(sealed)
}

#[test]
fn a_projection_that_comes_while_a_receipt_is_stored_gets_it() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    put(&mut ledger, |tx| append(tx, 1, "k")).unwrap();
    let page = Projection {
        name: "page".to_owned(),
        kind: "k".to_owned(),
        target: "t".to_owned(),
        at: at(1),
        scope: Some(siglum_domain::scope::Scope::in_process()),
    };
    std::thread::scope(|scope| {
        let (begun, began) = mpsc::channel();
        let (home, page) = (&home, &page);
        let mut coming = None;
        put(&mut ledger, |tx| {
            let sealed = receipt(tx, 1)?;
            assert!(tx.put_receipt(&sealed)?);
            let begun = begun.clone();
            coming = Some(scope.spawn(move || {
                let mut other = home.open();
                begun.send(()).unwrap();
                put(&mut other, |tx| tx.put_projection(page)).unwrap();
            }));
            began.recv().unwrap();
            wait_for_a_waiter(home, "Lock", "%FROM tenants%FOR UPDATE%");
            Ok(())
        })
        .unwrap();
        coming.unwrap().join().unwrap();
    });
    let lag = crate::read(&mut ledger, |tx| tx.lag("page")).unwrap();
    assert_eq!((lag.receipts, lag.sessions), (1, 1));
}

#[test]
fn what_two_state_of_one_session_at_once_is_folded_one_after_the_other() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    let session = session_id(1);
    let link = Link::IssueNumber(42);
    let attached = Statement::LinkAttached {
        session,
        link: link.clone(),
    };
    let detached = Statement::LinkDetached { session, link };
    std::thread::scope(|scope| {
        let (home, detached) = (&home, &detached);
        let mut other = None;
        put(&mut ledger, |tx| {
            tx.state(at(2), "me", "cli", &attached)?;
            other = Some(scope.spawn(move || {
                let state = |tx: &mut dyn Transaction| tx.state(at(3), "me", "cli", detached);
                put(&mut home.open(), |tx| state(tx).map(drop)).unwrap();
            }));
            wait_for_a_waiter(home, "Lock", "%INTO unindexed%");
            Ok(())
        })
        .unwrap();
        other.unwrap().join().unwrap();
    });
    let sql = "SELECT count(*) FROM links WHERE tenant = $1";
    let links: i64 = home.raw().query_one(sql, &[&home.tenant()]).unwrap().get(0);
    assert_eq!(links, 0, "the last statement detached it");
}

/// Waits until a statement waits for such an event.
pub(super) fn wait_for_a_waiter(home: &Home, event: &str, statement: &str) {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = $2 AND query LIKE $1";
    let mut raw = home.raw();
    for _ in 0..500 {
        let waiting: i64 = raw.query_one(sql, &[&statement, &event]).unwrap().get(0);
        if waiting > 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("nobody waits");
}

#[test]
fn several_workers_claim_different_sessions() {
    let Some(home) = Home::shared() else { return };
    let mut ledger = home.furnished();
    let page = Projection {
        name: "page".to_owned(),
        kind: "k".to_owned(),
        target: "t".to_owned(),
        at: at(1),
        scope: Some(siglum_domain::scope::Scope::in_process()),
    };
    put(&mut ledger, |tx| tx.put_projection(&page)).unwrap();
    for n in [1, 2] {
        put(&mut ledger, |tx| {
            append(tx, n, "k")?;
            let sealed = receipt(tx, n)?;
            assert!(tx.put_receipt(&sealed)?);
            Ok(())
        })
        .unwrap();
    }
    let mut other = home.open();
    let claim = |tx: &mut dyn Transaction| {
        let claimed = tx.claim("page", at(9), at(20), 1)?;
        let sessions = claimed.into_iter().map(|d| d.session);
        Ok::<Vec<_>, LedgerError>(sessions.collect())
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    put(&mut ledger, |tx| {
        ours = claim(tx)?;
        put(&mut other, |tx| {
            theirs = claim(tx)?;
            Ok(())
        })
    })
    .unwrap();
    let mut both = [ours, theirs].concat();
    both.sort();
    assert_eq!(both, [session_id(1), session_id(2)]);
    let mut none = Vec::new();
    put(&mut ledger, |tx| {
        none = claim(tx)?;
        Ok(())
    })
    .unwrap();
    assert_eq!(none, []);
}

#[test]
fn a_commit_is_announced_to_those_who_listen_to_the_same_ledger() {
    let Some(home) = Home::shared() else { return };
    let Some(other) = Home::shared() else { return };
    let mut ledger = home.furnished();
    let mut hints = PostgresHints::listen(&home.settings, ledger.id()).unwrap();
    let mut elsewhere = PostgresLedger::open(&other.settings, command(2)).unwrap();
    elsewhere.announce();
    assert!(!hints.wait(Duration::from_millis(50)).unwrap());
    ledger.announce();
    assert!(hints.wait(Duration::from_secs(60)).unwrap());
    // Also after the connection of who tells it was lost.
    let lost = "SELECT pg_terminate_backend(pg_backend_pid())";
    let link = ledger.link().unwrap();
    assert!(link.client.batch_execute(lost).is_err());
    ledger.announce();
    assert!(hints.wait(Duration::from_secs(60)).unwrap());
}
