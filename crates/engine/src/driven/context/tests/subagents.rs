//! Sub-agents have what was declared, and leave nothing where they never started.

use super::*;

fn spawn(host: &mut Host, parent: &Keys, inherit: Inherit, on: &str) -> Resolved {
    let child = host.ask(on, Want::Shared);
    let ask = PrepareSubagent {
        child,
        inherit,
        at: None,
    };
    host.contexts(|c| c.prepare_subagent(parent, &ask)).unwrap()
}

#[test]
fn a_sub_agent_has_nothing_or_the_prefix_as_declared() {
    let mut host = Host::new();
    let parent = host.shared("agent:main:main");
    host.commit_turns(&parent, &["a"]);
    for (inherit, on, seen) in [
        (Inherit::None, "agent:main:subagent:1", strings(&[])),
        (Inherit::All, "agent:main:subagent:2", strings(&["a"])),
    ] {
        let child = spawn(&mut host, &parent, inherit, on);
        assert_eq!(child.cause, Cause::Subagent);
        assert_eq!(child.parent, Some(parent.context.clone()));
        assert_eq!(host.seen(&child.keys), seen);
        host.commit_turns(&child.keys, &["own"]);
        host.contexts(|c| c.subagent_ended(&child.keys, SubagentEnd::Done))
            .unwrap();
        assert_eq!(
            host.refused(&child.keys, &turn("late")).code(),
            "context-ended"
        );
    }
    assert_eq!(host.seen(&parent), strings(&["a"]));
}

#[test]
fn one_that_was_never_started_leaves_nothing() {
    let mut host = Host::new();
    let parent = host.shared("p");
    host.commit_turns(&parent, &["a"]);
    let before = standing(&mut host);
    let child = spawn(&mut host, &parent, Inherit::All, "c");
    assert_ne!(standing(&mut host), before);
    for _ in 0..2 {
        let ended = host.contexts(|c| c.subagent_ended(&child.keys, SubagentEnd::NeverStarted));
        ended.unwrap();
        assert_eq!(standing(&mut host), before);
    }
}

/// The routes, the sessions, and what came from the first context.
fn standing(host: &mut Host) -> (Vec<String>, usize, usize) {
    host.stage.play(|_, ledger| {
        let routes = routes(ledger, None, 10).unwrap();
        let all = siglum_ledger::SessionFilter::default();
        let (sessions, children) = siglum_ledger::read(ledger, |tx| {
            let parent = ContextKey::new("p").expect("a key");
            Ok((
                tx.sessions(&all)?.len(),
                tx.contexts_from(&parent, 9)?.len(),
            ))
        })
        .unwrap();
        let keys = routes.into_iter().map(|route| route.key.to_string());
        (keys.collect(), sessions, children)
    })
}
