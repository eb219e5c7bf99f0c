//! Sessions: created once, forked, compacted, archived.

use siglum_domain::link::Link;
use siglum_ledger::SessionFilter;

use super::*;

#[test]
fn a_conversation_is_one_session() {
    let mut stage = Stage::new();
    let first = created(&mut stage);
    assert_eq!(created(&mut stage), first);
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn sessions_are_listed_by_link() {
    let mut stage = Stage::new();
    let link = |n| Link::IssueNumber(n);
    let all: Vec<SessionId> = (1..4)
        .map(|n| {
            let new = NewSession {
                agent: AgentName::new("house").unwrap(),
                conversation: conversation(&format!("c-{n}")),
                cwd: None,
                links: vec![link(n % 2 + 1), Link::PrNumber(n)],
                by: "ann".to_owned(),
            };
            act(&mut stage, |world, ledger| {
                create(world, ledger, &new).unwrap().id
            })
        })
        .collect();
    let filter = SessionFilter {
        links: vec![link(2)],
        ..SessionFilter::default()
    };
    let found = stage.read(|tx| tx.sessions(&filter));
    let mut found: Vec<_> = found.iter().map(|s| s.record.id).collect();
    found.sort();
    assert_eq!(found, [all[0], all[2]]);
}

#[test]
fn a_fork_goes_on_from_a_turn_and_stores_it_once() {
    let (mut stage, session, mut driver) = driving();
    let first = turn(&mut stage, &mut driver, "t1").unwrap();
    turn(&mut stage, &mut driver, "t2").unwrap();
    act(&mut stage, |world, ledger| {
        driver.open(world, ledger, "t3", &[prompt("Go.")]).unwrap();
    });
    let at_turn = Some(first.receipt.turns[0]);
    let of_one = act(&mut stage, |world, ledger| {
        fork(world, ledger, session, at_turn, &conversation("f-1"), "ann").unwrap()
    });
    assert_eq!((of_one.head, of_one.parent_at), (0, Some(3)));
    let running = act(&mut stage, |world, ledger| {
        fork(world, ledger, session, None, &conversation("f-2"), "ann").unwrap()
    });
    assert_eq!(running.parent_at, Some(6), "up to what is committed");
    let mut other = take(&mut stage, of_one.id, &holder("two", Some(51))).unwrap();
    turn(&mut stage, &mut other, "t1").unwrap();
    let parts = act(&mut stage, |_, ledger| {
        history(ledger, of_one.id, None).unwrap()
    });
    let sizes: Vec<_> = parts
        .iter()
        .map(|(of, entries)| (*of, entries.len()))
        .collect();
    assert_eq!(sizes, [(session, 3), (of_one.id, 3)]);
    let again = act(&mut stage, |world, ledger| {
        fork(world, ledger, session, at_turn, &conversation("f-1"), "ann").unwrap()
    });
    assert_eq!(again.id, of_one.id);
    let unknown = act(&mut stage, |world, ledger| {
        let turn = siglum_domain::TurnId::mint(world.ids);
        fork(
            world,
            ledger,
            session,
            Some(turn),
            &conversation("f-3"),
            "ann",
        )
    });
    assert_eq!(unknown.unwrap_err().code(), "invalid");
}

#[test]
fn a_compaction_is_an_edge_and_what_was_before_stays() {
    let (mut stage, session, mut driver) = driving();
    turn(&mut stage, &mut driver, "t1").unwrap();
    let compacted = Fact::Compacted {
        trigger: "auto".to_owned(),
        summary: Some(body("So far.")),
    };
    let compacted = api_observation("compacted", "compact:1".to_owned(), compacted);
    act(&mut stage, |world, ledger| {
        driver.commit(world, ledger, "c1", &[compacted]).unwrap()
    });
    turn(&mut stage, &mut driver, "t2").unwrap();
    let kinds_of = |stage: &mut Stage, session, until| {
        let entries = act(stage, |_, ledger| context(ledger, session, until).unwrap());
        let kinds: Vec<_> = entries.iter().map(|e| e.observation.fact.kind()).collect();
        kinds.join(" ")
    };
    let kinds = |stage: &mut Stage, until| kinds_of(stage, session, until);
    assert_eq!(kinds(&mut stage, None), "compacted prompt message stopped");
    assert_eq!(kinds(&mut stage, Some(3)), "prompt message stopped");
    assert_eq!(kinds(&mut stage, Some(2)), "prompt message");
    assert_eq!(kinds(&mut stage, Some(4)), "compacted");
    assert_eq!(kinds(&mut stage, Some(0)), "");
    let fork = act(&mut stage, |world, ledger| {
        fork(world, ledger, session, None, &conversation("f"), "ann").unwrap()
    });
    let mut other = take(&mut stage, fork.id, &holder("two", Some(51))).unwrap();
    turn(&mut stage, &mut other, "t1").unwrap();
    assert_eq!(
        kinds_of(&mut stage, fork.id, None),
        "compacted prompt message stopped prompt message stopped"
    );
    act(&mut stage, |world, ledger| {
        let again = Fact::Compacted {
            trigger: "auto".to_owned(),
            summary: None,
        };
        let again = api_observation("again", "compact:2".to_owned(), again);
        other.commit(world, ledger, "c2", &[again]).unwrap()
    });
    assert_eq!(kinds_of(&mut stage, fork.id, None), "compacted");
}

#[test]
fn nothing_is_written_to_what_is_archived() {
    let (mut stage, session, mut driver) = driving();
    let first = turn(&mut stage, &mut driver, "t1").unwrap();
    act(&mut stage, |world, ledger| {
        driver.open(world, ledger, "t2", &[prompt("Go.")]).unwrap();
        let open = archive(world, ledger, session, "ann").unwrap_err();
        assert_eq!(open.code(), "leased");
        driver.abort(ledger).unwrap();
        archive(world, ledger, session, "ann").unwrap();
        archive(world, ledger, session, "ann").unwrap();
    });
    assert_eq!(
        turn(&mut stage, &mut driver, "t3").unwrap_err().code(),
        "archived"
    );
    assert_eq!(
        turn(&mut stage, &mut driver, "t1").unwrap().receipt,
        first.receipt
    );
    let refused = take(&mut stage, session, &holder("two", Some(51))).unwrap_err();
    assert_eq!(refused.code(), "archived");
    assert_eq!(log(&mut stage, session).len(), 3);
    let fork = act(&mut stage, |world, ledger| {
        fork(world, ledger, session, None, &conversation("f"), "ann").unwrap()
    });
    assert_eq!(fork.parent_at, Some(3));
}

#[test]
fn an_observed_session_is_not_driven() {
    let mut stage = Stage::new();
    let observed = stage.hear(crate::tests::stage::says(
        "one",
        vec![crate::tests::stage::prompt("p", 1)],
    ));
    let refused = take(&mut stage, observed, &holder("two", Some(51))).unwrap_err();
    assert_eq!(refused.code(), "not-driven");
}
