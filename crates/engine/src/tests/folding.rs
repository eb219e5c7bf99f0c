//! Folding a session while somebody else erases it: on a server, where both write at once.

use std::sync::mpsc;
use std::time::Duration;

use siglum_domain::redact::Redactor;
use siglum_ledger::{Durability, Ledger, SessionFilter, read, write};

use super::stage::{Ids, at, intake, prompt, says};
use crate::Here;
use crate::record::deliver::{Delivered, deliver};
use crate::worker::fold_sessions;

#[test]
fn what_is_erased_while_it_is_folded_is_in_no_summary() {
    let Some(address) = siglum_conformance::Server::address() else {
        println!("not tested: SIGLUM_TEST_PG is not set");
        return;
    };
    let server = siglum_conformance::Server::shared(&address).unwrap();
    let shelf = siglum_conformance::tenant_shelf(&server);
    let (mut ledger, mut other) = (shelf.open().unwrap(), shelf.open().unwrap());
    let asked = intake(says("a", vec![prompt("t1", 10)]));
    let delivered = deliver(&mut *ledger, &Ids::default(), &asked).unwrap();
    let Delivered::Session(session) = delivered else {
        panic!("not a session: {delivered:?}");
    };
    let mut raw = server.client().unwrap();
    let mut is_waited_for = move || {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%sessions SET folded%'";
        let waiting: i64 = raw.query_one(sql, &[]).unwrap().get(0);
        waiting > 0
    };
    let (begun, erasing) = mpsc::channel();
    std::thread::scope(|scope| {
        let folding = &mut other;
        scope.spawn(move || {
            erasing.recv().unwrap();
            assert_eq!(fold(&mut **folding), 1);
        });
        write(&mut *ledger, Durability::Process, |tx| {
            tx.forget_session(session, at(20))?;
            begun.send(()).unwrap();
            let waits = (0..1_000).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                is_waited_for()
            });
            assert!(waits, "nobody waits for the end of it");
            Ok(())
        })
        .unwrap();
    });
    let mut titles = || {
        let listed = read(&mut *ledger, |tx| tx.sessions(&SessionFilter::default()));
        let listed = listed.unwrap().into_iter();
        listed.map(|l| l.summary.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(), [None]);
    assert_eq!(fold(&mut *other), 1, "it is folded without what was erased");
    assert_eq!(titles(), [None]);
    assert_eq!(fold(&mut *other), 0);
}

fn fold(ledger: &mut dyn Ledger) -> usize {
    let here = Here {
        ids: &Ids::default(),
        clock: &|| at(30),
        alive: &|_| None,
        redactor: Redactor::shared(),
    };
    fold_sessions(&here, ledger, 9).unwrap()
}
