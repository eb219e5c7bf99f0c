//! Sessions that a runner drives, with hooks of their agent on.

use std::time::Duration;

use siglum_domain::intake::{AgentMatter, LaunchClaim};
use siglum_domain::observation::{Fact, Side, Source, StartKind, ToolClass};
use siglum_domain::{ConversationId, SessionId};
use siglum_ledger::{Launch, LaunchEnd};

use super::stage::*;
use crate::driven::launch;
use crate::driven::run::{self, RunSession, Wanted, Which};
use crate::driven::turn::{self, Event, Holder, Leased, Opened};

fn wanted(which: Which) -> Wanted {
    Wanted {
        agent: agent(),
        which,
        cwd: "/home/dev/main".to_owned(),
        links: Vec::new(),
        by: "somebody".to_owned(),
    }
}

fn find_run_session(stage: &mut Stage, which: &Which) -> RunSession {
    stage.play(|here, ledger| run::find(here, ledger, &wanted(which.clone())).unwrap())
}

fn conversation(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

/// The gateway is process 10.
fn start(stage: &mut Stage, session: SessionId, digest: &str) {
    let launch = Launch {
        digest: digest.to_owned(),
        launcher: Some(process(10)),
        agent: Some(agent()),
        program: "x".to_owned(),
        worktree: None,
    };
    stage.play(|here, ledger| {
        run::record_launch(here, ledger, session, &launch, "somebody").unwrap();
    });
}

fn end(stage: &mut Stage, session: SessionId) {
    let end = LaunchEnd::Completed;
    stage.play(|here, ledger| launch::end(here, ledger, session, &end, None).unwrap());
}

/// What a hook of an agent process below the gateway says.
fn below(pid: u32, session: SessionId, digest: &str, matter: AgentMatter) -> AgentMatter {
    AgentMatter {
        above: vec![process(10)],
        claim: Some(LaunchClaim {
            session,
            digest: digest.to_owned(),
        }),
        ..in_process(pid, matter)
    }
}

fn opened(stage: &mut Stage, session: SessionId) -> Leased {
    let holder = Holder {
        name: "h".to_owned(),
        nonce: "n".to_owned(),
        process: None,
    };
    stage.play(|here, ledger| {
        let term = Duration::from_secs(30);
        let leased = turn::lease(here, ledger, session, &holder, term).unwrap();
        let events = [Event::prompt("k", "do it").observed(here.now())];
        turn::open(here, ledger, leased.hold, leased.committed, "k", &events).unwrap();
        leased
    })
}

#[test]
fn hooks_add_evidence_and_tell_nothing_twice() {
    let mut stage = Stage::new();
    let session = find_run_session(&mut stage, &Which::Named(conversation("c"))).session;
    start(&mut stage, session, "d1");
    let leased = opened(&mut stage, session);
    let first = vec![
        started(1, StartKind::Startup),
        prompt("t", 2),
        call("a", "t", 3, ToolClass::Shell),
        head("a", "t", 3, Side::Before, 1),
        file("b", "t", 4, Side::Before, Some(1)),
        file("b", "t", 5, Side::After, Some(2)),
    ];
    let found = stage.hear(below(20, session, "d1", says("native", first)));
    assert_eq!(found, session);
    assert_eq!(stage.named("native"), Some(session));
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(0)));
    assert_eq!(running.len(), 1, "a shell call runs");
    let second = vec![
        returned("a", "t", 6, ToolClass::Shell, "x"),
        head("a", "t", 6, Side::After, 2),
        stopped("t", 7),
        ended(8),
    ];
    stage.hear(below(20, session, "d1", says("native", second)));
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(0)));
    assert!(running.is_empty(), "it returned");
    stage.play(|here, ledger| {
        let events = [
            Event::tool_call("a", "Bash", "ls").observed(here.now()),
            Event::tool_result("a", "Bash", "x").observed(here.now()),
            Event::stop("k").observed(here.now()),
        ];
        let (hold, head) = (leased.hold, leased.committed);
        turn::commit(here, ledger, hold, head, "k", &events).unwrap();
    });
    let log = stage.read(|tx| tx.entries(session, 0, 0));
    let of = |kind: &str| {
        log.iter()
            .filter(|e| e.observation.fact.kind() == kind)
            .count()
    };
    for kind in ["prompt", "tool_started", "tool_ended", "stopped"] {
        assert_eq!(of(kind), 1, "{kind}");
    }
    assert_eq!((of("file_seen"), of("head_seen")), (2, 2));
    assert_eq!(of("session_started") + of("session_ended"), 0);
    let turns: std::collections::BTreeSet<_> = log.iter().map(|e| e.turn).collect();
    assert_eq!(turns.len(), 1, "one turn");
    let hooks = log.iter().filter(|e| e.observation.source == Source::Hook);
    assert!(
        hooks
            .clone()
            .all(|e| !matches!(e.observation.fact, Fact::Prompt { .. }))
    );
    let record = stage.session(session);
    assert_eq!((record.head, record.ended_at), (record.sealed, None));
    assert_eq!(stage.read(|tx| tx.bindings(session)).len(), 1);
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn each_process_of_a_driven_session_proves_its_own_launch() {
    let mut stage = Stage::new();
    let session = find_run_session(&mut stage, &Which::Named(conversation("c"))).session;
    for (n, digest) in ["d1", "d2"].into_iter().enumerate() {
        start(&mut stage, session, digest);
        let n = u32::try_from(n).unwrap();
        let begins = says(
            &format!("native-{n}"),
            vec![started(i64::from(n), StartKind::Startup)],
        );
        assert_eq!(stage.hear(below(20 + n, session, digest, begins)), session);
        end(&mut stage, session);
    }
    assert_eq!(
        stage.session(session).ended_at,
        None,
        "it outlives its processes"
    );
    let late = says("native-2", vec![started(9, StartKind::Startup)]);
    let late = stage.hear(below(30, session, "d1", late));
    assert_ne!(late, session, "the launch of before proves nothing");
}

#[test]
fn the_end_of_a_session_that_never_ran_makes_none() {
    let mut stage = Stage::new();
    let session = find_run_session(&mut stage, &Which::Named(conversation("c"))).session;
    start(&mut stage, session, "d1");
    let begins = says("one", vec![started(1, StartKind::Startup)]);
    stage.hear(below(20, session, "d1", begins));
    let ends = says("other", vec![ended(2)]);
    assert_eq!(stage.hear(below(20, session, "d1", ends)), session);
    assert_eq!(stage.sessions().len(), 1);
    assert_eq!(stage.named("other"), None);
    let works = says("other", vec![prompt("t", 3)]);
    let other = stage.hear(below(20, session, "d1", works));
    assert_ne!(other, session, "one that runs is another one");
}

#[test]
fn a_conversation_that_nobody_named_is_called_what_its_agent_calls_it() {
    let mut stage = Stage::new();
    let unnamed = find_run_session(&mut stage, &Which::Unnamed);
    assert_eq!(unnamed.conversation, None);
    let session = unnamed.session;
    let name = |stage: &mut Stage, id: &str| {
        stage.play(|here, ledger| run::record_native_id(here, ledger, session, &native(id)))
    };
    assert_eq!(name(&mut stage, "n1").unwrap().as_str(), "n1");
    assert_eq!(name(&mut stage, "n2").unwrap().as_str(), "n1", "for good");
    assert_eq!(
        stage.named("n2"),
        Some(session),
        "one more name of the agent's"
    );
    let again = find_run_session(&mut stage, &Which::Named(conversation("n1")));
    assert_eq!(
        (again.session, again.conversation),
        (session, Some(conversation("n1")))
    );
    let other = find_run_session(&mut stage, &Which::Unnamed).session;
    let taken =
        stage.play(|here, ledger| run::record_native_id(here, ledger, other, &native("n1")));
    assert!(taken.is_err(), "another session has it");
}

#[test]
fn names_that_an_agent_uses_again_are_made_its_own() {
    let mut stage = Stage::new();
    let session = find_run_session(&mut stage, &Which::Named(conversation("c"))).session;
    let leased = opened(&mut stage, session);
    stage.play(|here, ledger| {
        let call = || Event::tool_call("call_1", "Bash", "ls").observed(here.now());
        let result = || Event::tool_result("call_1", "Bash", "x").observed(here.now());
        let (hold, head) = (leased.hold, leased.committed);
        let done = turn::commit(here, ledger, hold, head, "k", &[call(), result()]).unwrap();
        let head = done.receipt.last;
        let opened = turn::open(here, ledger, hold, head, "k2", &[]).unwrap();
        let Opened::Turn(open) = opened else {
            panic!("it is new")
        };
        let mut events = [call(), result()];
        run::rename(ledger, session, open.id, &mut events).unwrap();
        assert_eq!(events[0].event, events[1].event);
        assert_ne!(events[0].event, call().event);
        turn::commit(here, ledger, hold, head, "k2", &events).unwrap();
    });
}
