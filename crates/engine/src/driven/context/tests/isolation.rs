//! What is said in one context is seen in no other, unless that one came from it.

use super::*;

#[test]
fn ticks_have_one_route_and_see_nothing_of_each_other() {
    let mut host = Host::new();
    let mut contexts = std::collections::BTreeSet::new();
    for n in 1..=3 {
        let tick = host.tick("agent:main:main:heartbeat");
        assert_eq!(tick.keys.route.as_str(), "agent:main:main:heartbeat");
        assert_eq!((tick.cause, tick.inherit), (Cause::Tick, Inherit::None));
        let run = format!("agent:main:main:heartbeat-run:{}", tick.session);
        assert_eq!(tick.keys.context.as_str(), run);
        assert_eq!(host.seen(&tick.keys), Vec::<String>::new(), "tick {n}");
        host.commit_turns(&tick.keys, &[&format!("tick-{n}")]);
        contexts.insert(tick.keys.context.to_string());
    }
    assert_eq!(contexts.len(), 3);
    let shown = host
        .stage
        .play(|_, ledger| routes(ledger, None, 10).unwrap());
    assert_eq!(shown.len(), 1);
    assert_eq!((shown[0].runs, &shown[0].current), (3, &None));
}

#[test]
fn an_ordinary_run_has_both_keys_equal_and_sees_earlier_messages() {
    let mut host = Host::new();
    let keys = host.shared("agent:main:main");
    assert_eq!(keys, Keys::shared(route("agent:main:main")));
    host.commit_turns(&keys, &["a", "b"]);
    let again = host.shared("agent:main:main");
    assert_eq!(again, keys);
    assert_eq!(host.seen(&again), strings(&["a", "b"]));
}

#[test]
fn after_a_reset_nothing_of_before_is_seen_and_nothing_is_lost() {
    let mut host = Host::new();
    let before = host.shared("r");
    host.commit_turns(&before, &["old"]);
    let cause = Cause::Reset;
    let reset = host.resolve("r", Want::Another { cause });
    assert_eq!(reset.parent, Some(before.context.clone()));
    assert_ne!(reset.keys.context, before.context);
    assert_eq!(host.seen(&reset.keys), Vec::<String>::new());
    host.commit_turns(&reset.keys, &["new"]);
    assert_eq!(host.shared("r"), reset.keys, "the route went over to it");
    assert_eq!(host.seen(&reset.keys), strings(&["new"]));
    assert_eq!(
        host.seen(&before),
        strings(&["old"]),
        "asked for by its keys"
    );
    let refused = host.refused(&before, &turn("late"));
    assert_eq!(refused.code(), "context-ended");
    let lineage = host.contexts(|c| c.lineage(&reset.keys)).unwrap();
    let moved = &lineage.moves[0];
    assert_eq!(
        (&moved.from, &moved.to),
        (&Some(before.context), &reset.keys.context)
    );
    assert_eq!((moved.cause, moved.by.as_str()), (Cause::Reset, BY));
}

fn rule(routes: &str, cause: Cause, inherit: Inherit) -> Rule {
    Rule {
        routes: routes.parse().unwrap(),
        inherit: vec![(cause, inherit)],
        idle: None,
        retention: None,
    }
}

#[test]
fn a_reset_that_keeps_a_tail_keeps_exactly_that() {
    let mut host = Host::with(vec![rule("chat:*", Cause::Reset, Inherit::Tail(6))]);
    let before = host.shared("chat:1");
    host.commit_turns(&before, &["a", "b", "c", "d", "e"]);
    let cause = Cause::Reset;
    let reset = host.resolve("chat:1", Want::Another { cause });
    host.commit_turns(&reset.keys, &["f"]);
    let assembled = host.assembled(&reset.keys);
    assert_eq!(texts(&assembled), strings(&["c", "d", "e", "f"]));
    let from = before.context;
    let inherited = |seen: &&Seen| seen.origin == Origin::Inherited { from: from.clone() };
    assert_eq!(assembled.messages.iter().filter(inherited).count(), 6);
}

#[test]
fn a_silence_that_is_too_long_begins_anew_with_the_tail() {
    let mut host = Host::with(vec![Rule {
        idle: Some(std::time::Duration::from_secs(60)),
        ..rule("*", Cause::Idle, Inherit::Tail(2))
    }]);
    let before = host.shared("r");
    host.commit_turns(&before, &["a", "b"]);
    host.stage.now.set(host.stage.now.get() + 60);
    assert_eq!(host.shared("r"), before, "not yet");
    host.stage.now.set(host.stage.now.get() + 61);
    let after = host.resolve("r", Want::Shared);
    assert_eq!(after.cause, Cause::Idle);
    assert_eq!(after.parent, Some(before.context));
    assert_eq!(host.seen(&after.keys), strings(&["b"]));
}

#[test]
fn a_rewind_goes_on_from_its_anchor_and_the_old_branch_stays() {
    let mut host = Host::new();
    let before = host.shared("r");
    host.commit_turns(&before, &["a", "b", "c"]);
    let to = Anchor::Message(2);
    let rewound = host.resolve("r", Want::Rewound { to });
    assert_eq!(rewound.cause, Cause::Rewind);
    assert_eq!(host.seen(&rewound.keys), strings(&["a"]));
    host.commit_turns(&rewound.keys, &["d"]);
    assert_eq!(host.seen(&rewound.keys), strings(&["a", "d"]));
    assert_eq!(host.seen(&before), strings(&["a", "b", "c"]));
    // Back into what it has of the other one.
    let to = Anchor::Message(1);
    let twice = host.resolve("r", Want::Rewound { to });
    assert_eq!(twice.parent, Some(before.context));
    assert_eq!(host.seen(&twice.keys), ["ask a"]);
}

#[test]
fn a_fork_shares_earlier_messages_by_reference() {
    let mut host = Host::new();
    let from = host.shared("r");
    host.commit_turns(&from, &["a", "b"]);
    let at = Some(Anchor::Turn(key("a")));
    let want = Want::Forked {
        from: from.clone(),
        at,
    };
    let child = host.resolve("r2", want);
    assert_eq!(child.keys, Keys::shared(route("r2")));
    assert_eq!(host.seen(&child.keys), strings(&["a"]));
    host.commit_turns(&child.keys, &["c"]);
    host.commit_turns(&from, &["d"]);
    assert_eq!(host.seen(&child.keys), strings(&["a", "c"]));
    assert_eq!(host.seen(&from), strings(&["a", "b", "d"]));
    let lineage = host.contexts(|c| c.lineage(&from)).unwrap();
    assert_eq!(lineage.children[0].key, child.keys.context);
}

#[test]
fn compaction_is_of_its_own_context_alone() {
    let mut host = Host::new();
    let [one, two] = [(); 2].map(|()| host.tick("h").keys);
    host.commit_turns(&one, &["a", "b", "c"]);
    host.commit_turns(&two, &["x"]);
    let before = host.assembled(&two);
    let compact = Compact {
        key: key("compact"),
        summary: "short".to_owned(),
        trigger: "overflow".to_owned(),
        keep: 2,
    };
    let done = host.contexts(|c| c.compact(&one, &compact)).unwrap();
    assert!(matches!(done, Committed::Done(_)));
    host.commit_turns(&one, &["d"]);
    let mut wanted = vec!["short".to_owned()];
    wanted.extend(strings(&["c", "d"]));
    assert_eq!(host.seen(&one), wanted);
    assert_eq!(host.assembled(&two), before);
    let again = host.contexts(|c| c.compact(&one, &compact)).unwrap();
    assert!(matches!(again, Committed::Duplicate(_)));
}

#[test]
fn keys_that_do_not_belong_together_are_refused_by_every_call() {
    let mut host = Host::new();
    let (one, two) = (host.shared("one"), host.shared("two"));
    host.commit_turns(&one, &["a"]);
    let keys = Keys {
        route: one.route.clone(),
        context: two.context,
    };
    let none = Keys {
        context: ContextKey::new("nowhere").unwrap(),
        ..one.clone()
    };
    let ingest = Ingest {
        key: key("t"),
        place: 0,
        message: user("x"),
    };
    let compact = Compact {
        key: key("k"),
        summary: "s".to_owned(),
        trigger: "t".to_owned(),
        keep: 0,
    };
    let ran = Ran {
        turn: None,
        outcome: "done".to_owned(),
        kind: ContextTurnKind::Asked,
    };
    for (keys, code) in [(&keys, "keys-mismatch"), (&none, "no-context")] {
        let child = host.ask("child", Want::Shared);
        let spawn = PrepareSubagent {
            child,
            inherit: Inherit::None,
            at: None,
        };
        let codes = host.contexts(|c| {
            let gap = at_positions(turn("g"), 1, 2);
            [
                c.bootstrap(keys, &Bootstrap::default()).err(),
                c.assemble(keys, &Assemble::default()).err(),
                c.ingest(keys, &ingest).err(),
                c.commit(keys, &turn("t")).err(),
                c.after_turn(keys, &ran).err(),
                c.compact(keys, &compact).err(),
                c.maintain(keys).err(),
                c.prepare_subagent(keys, &spawn).err(),
                c.subagent_ended(keys, SubagentEnd::Done).err(),
                c.gaps(keys).err(),
                c.backfill(keys, &gap).err(),
                c.accept_gap(keys, None).err(),
                c.lineage(keys).err(),
                c.explain(keys).err(),
            ]
        });
        let codes = codes.map(|error| error.map(|e| e.code()));
        assert_eq!(codes, [Some(code); 14]);
    }
    assert_eq!(host.seen(&one), strings(&["a"]));
}

#[test]
fn keys_that_differ_in_case_alone_are_two() {
    let mut host = Host::new();
    let (low, high) = (host.shared("agent:x:peer"), host.shared("agent:x:Peer"));
    host.commit_turns(&low, &["low"]);
    assert_eq!(host.seen(&high), Vec::<String>::new());
}

#[test]
fn a_secret_is_removed_before_it_is_stored() {
    let mut host = Host::new();
    let keys = host.shared("r");
    let secret = ["ghp_", "016C7mRkzVvvBWQxwPbYcUTnDLaHXy3t2Qs1"].concat();
    let commit = Commit::new(key("t"), vec![user(&format!("take {secret}"))]);
    host.commit(&keys, &commit);
    let seen = host.seen(&keys).concat();
    assert!(
        !seen.contains(&secret) && seen.starts_with("take "),
        "{seen}"
    );
}
