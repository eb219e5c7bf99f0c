//! Which session a hook speaks of, where it came from, and when it ends.

use siglum_domain::claims::{Claims, Origin};
use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{Side, StartKind, ToolClass};
use siglum_domain::{AgentName, NativeId};
use siglum_ledger::{
    CheckpointFilter, CheckpointKind, Durability, OutputMention, Relation, SessionOrigin, write,
};

use super::stage::*;
use crate::identity::{self, SessionIdentity};
use crate::record::session;

#[test]
fn a_claim_names_a_session_if_it_names_one_alone() {
    let mut stage = Stage::new();
    let shell = |id: &str| call(id, "p", 2, ToolClass::Shell);
    let one = stage.hear(says("one", vec![shell("own"), shell("both")]));
    let two = stage.hear(says("two", vec![shell("both")]));
    let other = AgentName::new("other").unwrap();
    stage.hear(AgentMatter {
        agent: other.clone(),
        ..says("two", vec![prompt("p", 3)])
    });
    let (agent, first, second) = (agent(), native("one"), native("two"));
    let of_any_agent = |native: &NativeId| Claims {
        origin: Origin::Other,
        natives: vec![native.clone()],
        ..Claims::default()
    };
    let of_call = |call: &str| Claims {
        call: Some(call.to_owned()),
        ..Claims::default()
    };
    for (claims, expected) in [
        (Claims::by_id(two), Some(two)),
        (Claims::by_name(&agent, &second), Some(two)),
        (Claims::by_name(&other, &first), None),
        (of_any_agent(&first), Some(one)),
        (of_any_agent(&second), None),
        (of_call("own"), Some(one)),
        (of_call("both"), None),
    ] {
        let found = stage.read(|tx| identity::find(tx, &claims));
        let found = found.map(SessionIdentity::session);
        assert_eq!(found, expected, "{claims:?}");
    }
    for (agent, name, expected) in [
        (&agent, &first, Some(one)),
        (&agent, &second, Some(two)),
        (&other, &first, None),
    ] {
        let found = stage.read(|tx| identity::session_by_name(tx, agent, name));
        assert_eq!(found, expected, "{agent} {name}");
    }
    for (name, expected) in [(&first, Some(one)), (&second, None)] {
        let found = stage.read(|tx| identity::only_session_by_name(tx, name));
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_session_that_two_agents_call_alike_is_one() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![prompt("p", 1)]));
    let other = AgentMatter {
        agent: AgentName::new("other").unwrap(),
        explicit: Some(one),
        ..says("one", vec![prompt("q", 2)])
    };
    assert_eq!(stage.hear(other), one);
    let named = stage.read(|tx| tx.sessions_by_native(&native("one")));
    assert_eq!(named.len(), 2, "{named:?}");
    let found = stage.read(|tx| identity::only_session_by_name(tx, &native("one")));
    assert_eq!(found, Some(one));
}

#[test]
fn a_session_of_an_unnamed_agent_keeps_a_name_that_others_have() {
    let mut stage = Stage::new();
    stage.hear(says("one", vec![prompt("p", 1)]));
    let mut open = |agent| {
        stage.hear(AgentMatter {
            agent,
            ..says("one", vec![prompt("p", 2)])
        })
    };
    open(AgentName::new("other").unwrap());
    let unnamed = open(AgentName::unnamed());
    let claims = Claims {
        origin: Origin::Model,
        natives: vec![native("one")],
        ..Claims::default()
    };
    let found = stage.read(|tx| identity::find(tx, &claims));
    assert_eq!(found.map(SessionIdentity::session), Some(unnamed));
}

#[test]
fn a_known_session_goes_on_and_has_the_name_too() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![started(1, StartKind::Startup), ended(9)]));
    assert_eq!(stage.session(one).ended_at, Some(at(9)));
    let more = says("again", vec![prompt("p", 20)]);
    stage.play(|world, ledger| {
        write(ledger, Durability::Process, |tx| {
            let known = identity::find(tx, &Claims::by_id(one))?.unwrap();
            session::record_known(tx, world.ids, world.now(), known, &more)
        })
        .unwrap();
    });
    let record = stage.session(one);
    assert_eq!((record.ended_at, record.last_at), (None, at(20)));
    assert_eq!(stage.named("again"), Some(one));
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn a_named_session_wins_over_an_alias_and_an_alias_over_a_new_one() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![started(1, StartKind::Startup)]));
    let two = stage.hear(says("two", vec![started(2, StartKind::Startup)]));
    assert_ne!(one, two);
    assert_eq!(stage.hear(says("two", vec![prompt("p", 3)])), two);
    let explicit = |id: &str, key: &str| AgentMatter {
        explicit: Some(one),
        ..says(id, vec![prompt(key, 4)])
    };
    assert_eq!(stage.hear(explicit("three", "q")), one);
    assert_eq!(stage.named("three"), Some(one), "the new name is an alias");
    assert_eq!(stage.hear(explicit("two", "r")), one);
    assert_eq!(stage.named("two"), Some(two), "an alias stays where it is");
    let unknown = AgentMatter {
        explicit: Some(siglum_domain::SessionId::from_uuid(uuid::Uuid::from_u128(
            9,
        ))),
        ..says("two", vec![prompt("s", 5)])
    };
    assert_eq!(
        stage.hear(unknown),
        two,
        "a session that is not there names nothing"
    );
    assert_eq!(stage.sessions().len(), 2);
}

#[test]
fn a_session_is_as_old_as_what_was_seen_first() {
    let mut stage = Stage::new();
    stage.hear(says("one", vec![prompt("p", 9)]));
    let one = stage.hear(says("one", vec![started(3, StartKind::Startup)]));
    let record = stage.session(one);
    assert_eq!((record.created_at, record.last_at), (at(3), at(9)));
    assert_eq!(record.conversation.as_str(), "one");
    assert_eq!(record.origin, SessionOrigin::Live);
    assert_eq!(record.worktree.as_deref(), Some("/home/dev/main"));
}

#[test]
fn what_a_sub_agent_tells_under_its_own_id_is_its_sessions() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![prompt("p", 1)]));
    let begins = AgentMatter {
        thread: Some(native("sub")),
        ..says("one", vec![call("c", "p", 2, ToolClass::Agent)])
    };
    assert_eq!(stage.hear(begins), one);
    let inside = says("sub", vec![call("d", "p", 3, ToolClass::Shell)]);
    assert_eq!(stage.hear(inside), one);
    assert_eq!(stage.sessions().len(), 1);
    assert_eq!(stage.read(|tx| tx.aliases(one)), [native("one")]);
    // A session that is known by this id stays what it is.
    let two = stage.hear(says("two", vec![prompt("q", 4)]));
    let begins = AgentMatter {
        thread: Some(native("two")),
        ..says("one", vec![call("e", "p", 5, ToolClass::Agent)])
    };
    stage.hear(begins);
    assert_eq!(stage.named("two"), Some(two));
}

#[test]
fn a_fork_names_its_parent() {
    let mut stage = Stage::new();
    let old = stage.hear(says("old", vec![started(1, StartKind::Startup)]));
    let fork = AgentMatter {
        parent: Some(native("old")),
        ..says("new", vec![started(2, StartKind::Fork)])
    };
    let new = stage.hear(fork);
    assert_eq!(stage.session(new).parent, Some((old, Relation::Fork)));
}

#[test]
fn a_clear_comes_from_the_session_that_its_process_ran_last() {
    let mut stage = Stage::new();
    let start = |id: &str, seconds, how| in_process(50, says(id, vec![started(seconds, how)]));
    stage.hear(start("a", 1, StartKind::Startup));
    let b = stage.hear(start("b", 2, StartKind::Clear));
    let c = stage.hear(start("c", 3, StartKind::Clear));
    assert_eq!(stage.session(c).parent, Some((b, Relation::Clear)));
    let other = stage.hear(in_process(
        51,
        says("d", vec![started(4, StartKind::Clear)]),
    ));
    assert_eq!(
        stage.session(other).parent,
        None,
        "another process cleared nothing of ours"
    );
}

#[test]
fn an_agent_below_an_agent_is_nested_in_the_nearest() {
    let mut stage = Stage::new();
    let outer = stage.hear(in_process(
        50,
        says("outer", vec![started(1, StartKind::Startup)]),
    ));
    let inner = stage.hear(in_process(
        60,
        says("inner", vec![started(2, StartKind::Startup)]),
    ));
    let nested = AgentMatter {
        above: vec![process(70), process(60), process(50)],
        ..in_process(80, says("nested", vec![started(3, StartKind::Startup)]))
    };
    let nested = stage.hear(nested);
    assert_eq!(
        stage.session(nested).parent,
        Some((inner, Relation::Nested))
    );
    assert_eq!(stage.session(outer).parent, None);
}

#[test]
fn a_session_without_a_commit_ends_with_a_checkpoint_and_only_one() {
    let mut stage = Stage::new();
    let one = stage.hear(says(
        "one",
        vec![started(1, StartKind::Startup), prompt("p", 2)],
    ));
    stage.hear(says("one", vec![ended(3)]));
    stage.hear(says("one", vec![ended(3)]));
    let found = stage.read(|tx| tx.checkpoints(&CheckpointFilter::of_session(one, 9)));
    let kinds: Vec<_> = found.iter().map(|c| (c.kind, c.pins.clone())).collect();
    assert_eq!(kinds, [(CheckpointKind::End, vec![(one, 3)])]);
    assert_eq!(stage.session(one).ended_at, Some(at(3)));
    stage.hear(says("one", vec![started(5, StartKind::Resume)]));
    assert_eq!(
        stage.session(one).ended_at,
        None,
        "a resumed session goes on"
    );
    stage.hear(says("one", vec![ended(6)]));
    let found = stage.read(|tx| tx.checkpoints(&CheckpointFilter::of_session(one, 9)));
    assert_eq!(found.len(), 2, "its log grew since the last checkpoint");
}

#[test]
fn an_end_that_comes_late_does_not_end_what_went_on() {
    let mut stage = Stage::new();
    let hear = |stage: &mut Stage, seen| stage.hear(in_process(50, says("one", vec![seen])));
    let one = hear(&mut stage, started(1, StartKind::Startup));
    hear(&mut stage, started(5, StartKind::Resume));
    hear(&mut stage, ended(3));
    assert_eq!(stage.session(one).ended_at, None);
    assert_eq!(
        stage.read(|tx| tx.checkpoints(&CheckpointFilter::of_session(one, 9))),
        []
    );
    hear(&mut stage, ended(7));
    assert_eq!(stage.session(one).ended_at, Some(at(7)));
}

#[test]
fn head_that_stands_as_before_is_not_recorded() {
    let mut stage = Stage::new();
    let shell = |id: &str, after| {
        vec![
            call(id, "p", 3, ToolClass::Shell),
            head(id, "p", 3, Side::Before, 1),
            head(id, "p", 4, Side::After, after),
            returned(id, "p", 4, ToolClass::Shell, "[main 0202020] message"),
        ]
    };
    let one = stage.hear(says("one", shell("same", 1)));
    let count = stage.session(one).head;
    assert_eq!(count, 3, "without HEAD after the call");
    stage.hear(says("one", shell("moved", 2)));
    assert_eq!(stage.session(one).head, count + 4);
    let repository = stage.repository().id;
    let moves = stage.read(|tx| tx.moves_to(repository, &oid(2)));
    let found: Vec<_> = moves.iter().map(|m| (m.session, m.mention)).collect();
    assert_eq!(found, [(one, OutputMention::Made)]);
    assert!(stage.read(|tx| tx.moves_to(repository, &oid(1))).is_empty());
}

#[test]
fn an_edit_is_put_with_both_versions() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![file("t", "p", 1, Side::Before, Some(1))]));
    stage.hear(says("one", vec![file("t", "p", 2, Side::After, Some(2))]));
    stage.hear(says("one", vec![file("u", "p", 3, Side::After, Some(3))]));
    stage.hear(says("one", vec![file("v", "p", 4, Side::Before, None)]));
    stage.hear(says("one", vec![file("v", "p", 5, Side::After, Some(4))]));
    let repository = stage.repository().id;
    let edits = stage.read(|tx| tx.edits(repository, "a.rs", at(9)));
    let blob =
        |v: &Option<siglum_domain::observation::FileVersion>| v.as_ref().map(|v| v.blob.clone());
    let found: Vec<_> = edits
        .iter()
        .map(|e| (blob(&e.before), blob(&e.after)))
        .collect();
    let unseen_before = (Some(oid(3)), Some(oid(3)));
    assert_eq!(
        found,
        [
            (Some(oid(1)), Some(oid(2))),
            unseen_before,
            (None, Some(oid(4)))
        ]
    );
    assert!(
        edits
            .iter()
            .all(|e| e.session == one && e.worktree == "/home/dev/main")
    );
}

#[test]
fn an_end_that_comes_from_a_process_the_session_has_left_is_none() {
    let mut stage = Stage::new();
    let one = stage.hear(in_process(7, says("one", vec![prompt("p", 1)])));
    stage.hear(in_process(
        8,
        says("one", vec![started(3, StartKind::Resume)]),
    ));
    stage.hear(in_process(7, says("one", vec![ended(5)])));
    assert_eq!(stage.session(one).ended_at, None);
    let folded = stage.sessions();
    assert_eq!(folded.len(), 1);
    stage.hear(in_process(8, says("one", vec![ended(6)])));
    assert_eq!(stage.session(one).ended_at, Some(at(6)));
    stage.hear(in_process(7, says("one", vec![ended(60)])));
    assert_eq!(stage.session(one).ended_at, Some(at(6)));
}
