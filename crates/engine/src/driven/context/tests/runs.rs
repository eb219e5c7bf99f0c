//! Runs are given the same again, and turns are stored once.

use super::*;

#[test]
fn a_run_that_asks_twice_is_given_the_same() {
    let mut host = Host::new();
    let cause = Cause::Tick;
    let ask = host.ask("h", Want::Isolated { cause });
    let first = host.contexts(|c| c.resolve(&ask)).unwrap();
    let again = host.contexts(|c| c.resolve(&ask)).unwrap();
    assert_eq!((&first.keys, first.was), (&again.keys, Was::Made));
    assert_eq!(again.was, Was::Asked);
    let other = Resolve {
        want: Want::Shared,
        ..ask.clone()
    };
    let refused = host.contexts(|c| c.resolve(&other)).unwrap_err();
    assert_eq!(refused.code(), "conflict");
    let by = "somebody else".to_owned();
    let theirs = host
        .contexts(|c| c.resolve(&Resolve { by, ..ask }))
        .unwrap();
    assert_ne!(theirs.keys.context, first.keys.context);
    let shown = host
        .stage
        .play(|_, ledger| super::super::route(ledger, &route("h")));
    assert_eq!(
        shown.unwrap().route.runs,
        2,
        "what was asked again is one run"
    );
}

#[test]
fn a_turn_is_stored_once_and_another_one_under_its_key_is_refused() {
    let mut host = Host::new();
    let keys = host.shared("r");
    let Committed::Done(receipt) = host.commit(&keys, &turn("a")) else {
        panic!("not stored")
    };
    assert_eq!(
        host.commit(&keys, &turn("a")),
        Committed::Duplicate(receipt)
    );
    let other = Commit::new(key("a"), vec![user("something else")]);
    assert_eq!(host.refused(&keys, &other).code(), "conflict");
    let digest = |text: &str| Commit {
        digest: Some(text.to_owned()),
        ..turn("b")
    };
    host.commit(&keys, &digest("1"));
    assert_eq!(host.refused(&keys, &digest("2")).code(), "conflict");
    assert_eq!(host.seen(&keys), strings(&["a", "b"]));
}

#[test]
fn messages_that_come_one_by_one_are_the_turn_that_is_committed() {
    let mut host = Host::new();
    let keys = host.shared("r");
    host.commit_turns(&keys, &["before"]);
    let whole = turn("t");
    for (place, message) in whole.messages.iter().enumerate() {
        let ingest = Ingest {
            key: key("t"),
            place,
            message: message.clone(),
        };
        host.contexts(|c| c.ingest(&keys, &ingest)).unwrap();
    }
    let before = host.assembled(&keys);
    assert_eq!(texts(&before), strings(&["before"]));
    assert_eq!(before.coverage, Coverage::BeforeCurrentTurn);
    let ask = Assemble {
        budget: 1_000,
        during: During::ToolLoop,
        ..Assemble::default()
    };
    let inside = host.contexts(|c| c.assemble(&keys, &ask)).unwrap();
    assert_eq!(texts(&inside), strings(&["before", "t"]));
    assert_eq!(inside.coverage, Coverage::CurrentTurn);
    host.commit_turns(&keys, &["t"]);
    assert_eq!(host.seen(&keys), strings(&["before", "t"]));
}

#[test]
fn a_run_that_begins_settles_what_another_one_left() {
    let mut host = Host::new();
    let keys = host.shared("r");
    let ingest = Ingest {
        key: key("broken"),
        place: 0,
        message: user("ask"),
    };
    host.contexts(|c| c.ingest(&keys, &ingest)).unwrap();
    host.contexts(|c| c.bootstrap(&keys, &Bootstrap::default()))
        .unwrap();
    assert_eq!(host.seen(&keys), Vec::<String>::new());
    host.contexts(|c| c.ingest(&keys, &ingest)).unwrap();
    let again = Commit {
        recovers: Some(key("broken")),
        ..turn("again")
    };
    host.commit(&keys, &again);
    assert_eq!(host.seen(&keys), strings(&["again"]));
    let explained = host.contexts(|c| c.explain(&keys)).unwrap();
    assert_eq!(explained.recovered[0].recovers.as_deref(), Some("broken"));
}

#[test]
fn heartbeats_in_a_shared_context_can_be_left_out() {
    let mut host = Host::new();
    let keys = host.shared("r");
    host.commit_turns(&keys, &["a"]);
    let beat = Commit {
        kind: ContextTurnKind::Heartbeat,
        ..turn("beat")
    };
    host.commit(&keys, &beat);
    assert_eq!(host.seen(&keys), strings(&["a", "beat"]));
    let ask = Assemble {
        budget: 1_000,
        heartbeats: Heartbeats::LeftOut,
        ..Assemble::default()
    };
    let without = host.contexts(|c| c.assemble(&keys, &ask)).unwrap();
    assert_eq!(texts(&without), strings(&["a"]));
}

#[test]
fn the_newest_that_fits_is_read_and_no_result_without_its_call() {
    let mut host = Host::new();
    let keys = host.shared("r");
    let call = Spoken::Call {
        id: "c1".to_owned(),
        tool: "sh".to_owned(),
        input: "x".repeat(400),
    };
    let result = Spoken::Result {
        id: "c1".to_owned(),
        tool: "sh".to_owned(),
        output: "ok".to_owned(),
        outcome: siglum_domain::observation::Outcome::Ok,
    };
    let messages = vec![user("old"), call.into(), result.into(), assistant("new")];
    host.commit(&keys, &Commit::new(key("t"), messages));
    let read = |host: &mut Host, budget| {
        let ask = Assemble {
            budget,
            ..Assemble::default()
        };
        host.contexts(|c| c.assemble(&keys, &ask)).unwrap()
    };
    let all = read(&mut host, 1_000);
    assert_eq!((all.messages.len(), all.cut), (4, false));
    assert_eq!(all.tokens + all.room, 1_000);
    let some = read(&mut host, 30);
    assert_eq!((texts(&some), some.cut), (vec!["new".to_owned()], true));
    assert_eq!(some.tokens + some.room, 30);
    let during = During::ToolResult { tokens: 995 };
    let ask = Assemble {
        budget: 1_000,
        during,
        ..Assemble::default()
    };
    let guard = host.contexts(|c| c.assemble(&keys, &ask)).unwrap();
    assert_eq!((guard.messages.len(), guard.room), (1, 0));
}

#[test]
fn somebody_else_who_drives_is_named_and_nothing_is_stored() {
    let mut host = Host::new();
    let resolved = host.resolve("r", Want::Shared);
    let driver = crate::driven::turn::Holder {
        name: "gateway one".to_owned(),
        nonce: "n".to_owned(),
        process: None,
    };
    host.stage.play(|world, ledger| {
        let term = std::time::Duration::from_secs(60);
        crate::driven::turn::lease(&world.here, ledger, resolved.session, &driver, term).unwrap();
    });
    let refused = host.refused(&resolved.keys, &turn("a"));
    let ContextError::Turn(TurnError::Leased { holder, .. }) = refused else {
        panic!("{refused}")
    };
    assert_eq!(holder, "gateway one");
    assert_eq!(host.seen(&resolved.keys), Vec::<String>::new());
}

#[test]
fn a_route_says_how_its_last_run_ended() {
    let mut host = Host::new();
    let tick = host.tick("h");
    host.commit_turns(&tick.keys, &["t"]);
    let ran = Ran {
        turn: Some(key("t")),
        outcome: "acknowledged".to_owned(),
        kind: ContextTurnKind::Heartbeat,
    };
    host.contexts(|c| c.after_turn(&tick.keys, &ran)).unwrap();
    let shown = host
        .stage
        .play(|_, ledger| super::super::route(ledger, &route("h")));
    let last = shown.unwrap().route.last.unwrap();
    assert_eq!(last.outcome.as_deref(), Some("acknowledged"));
    assert_eq!(
        (last.context, last.session),
        (tick.keys.context.clone(), tick.session)
    );
    let explained = host.contexts(|c| c.explain(&tick.keys)).unwrap();
    assert_eq!(explained.heartbeats, 1);
}

#[test]
fn a_summary_in_the_middle_of_a_turn_leaves_the_turn_open() {
    for later in [0, 600] {
        let mut host = Host::new();
        let keys = host.shared("r");
        host.commit_turns(&keys, &["a", "b"]);
        let whole = turn("t");
        let ingest = |host: &mut Host, place: usize| {
            let message = whole.messages[place].clone();
            let key = key("t");
            let ingest = Ingest {
                key,
                place,
                message,
            };
            host.contexts(|c| c.ingest(&keys, &ingest)).unwrap();
        };
        ingest(&mut host, 0);
        host.stage.now.set(host.stage.now.get() + later);
        let compact = Compact {
            key: key("c"),
            summary: "a and b".to_owned(),
            trigger: "overflow".to_owned(),
            keep: 0,
        };
        let inside = Assemble {
            budget: 1_000,
            during: During::ToolLoop,
            ..Assemble::default()
        };
        for _ in 0..2 {
            let done = host.contexts(|c| c.compact(&keys, &compact)).unwrap();
            assert!(!matches!(done, Committed::Behind { .. }), "{done:?}");
            let seen = host.contexts(|c| c.assemble(&keys, &inside)).unwrap();
            assert_eq!(texts(&seen), ["a and b", "ask t"], "{later}");
        }
        ingest(&mut host, 1);
        host.commit_turns(&keys, &["t"]);
        assert_eq!(host.seen(&keys), ["a and b", "ask t", "say t"]);
    }
}
