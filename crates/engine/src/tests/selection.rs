//! From what was recorded to a verdict: in every order, and for processes that serve several.

use std::collections::BTreeSet;

use proptest::prelude::*;
use siglum_domain::evidence::{Committer, Judgement, Verdict};
use siglum_domain::intake::{AgentMatter, AgentVariable, Scene};
use siglum_domain::observation::{Observation, StartKind, ToolClass};
use siglum_domain::{AgentName, SessionId};

use super::scenes::*;
use super::stage::*;
use crate::record::deliver::Delivered;

const NATIVES: [&str; 4] = ["a", "b", "c", "d"];
/// The agent process above git, one further up, and one elsewhere.
const PROCESSES: [u32; 3] = [50, 60, 70];

fn variable(agent: &str, name: &str, id: &str) -> AgentVariable {
    AgentVariable {
        name: name.to_owned(),
        agent: AgentName::new(agent).unwrap(),
        native: Some(native(id)),
    }
}

/// One thing that hooks tell, of one session.
#[derive(Debug, Clone)]
struct HookEvent {
    session: usize,
    process: Option<usize>,
    seconds: i64,
    what: usize,
}

impl HookEvent {
    fn matter(&self) -> AgentMatter {
        let (id, at) = (NATIVES[self.session], self.seconds);
        let seen: Observation = match self.what {
            0 => started(at, StartKind::Startup),
            // Ends are another matter: see the tests of sessions that go on.
            1 | 2 => call(&format!("{id}{at}"), "p", at, ToolClass::Shell),
            _ => prompt(&format!("{id}{at}"), at),
        };
        let matter = AgentMatter {
            carried: Some(Vec::new()),
            ..says(id, vec![seen])
        };
        match self.process {
            Some(process) => in_process(PROCESSES[process], matter),
            None => matter,
        }
    }
}

fn hook_event_strategy() -> impl Strategy<Value = HookEvent> {
    let parts = (
        0..4usize,
        prop::option::weighted(0.8, 0..3usize),
        1..4i64,
        0..5usize,
    );
    parts.prop_map(|(session, process, seconds, what)| HookEvent {
        session,
        process,
        seconds,
        what,
    })
}

fn scene_with(variables: &[usize]) -> Scene {
    let mut scene = scene(1, &place(), 90, Some(50), None);
    let outer = process(60);
    let mut above = scene.chain.ancestors[2].clone();
    above.identity = outer;
    scene.chain.ancestors.insert(3, above);
    scene.variables = variables
        .iter()
        .map(|n| variable("claude-code", "CLAUDE_CODE_SESSION_ID", NATIVES[*n]))
        .collect();
    scene
}

fn judged(stage: &mut Stage, scene: &Scene) -> Judgement {
    match stage.deliver(&intent(scene, 9)) {
        Delivered::Intent(judgement) => judgement,
        other => panic!("not an intent: {other:?}"),
    }
}

/// The answer in the agents' own names, since ids differ from stage to stage.
fn answer(events: &[HookEvent], scene: &Scene) -> (String, Verdict, BTreeSet<String>, Vec<String>) {
    let mut stage = Stage::new();
    for event in events {
        stage.hear(event.matter());
    }
    let judgement = judged(&mut stage, scene);
    let mut name = |id: SessionId| stage.session(id).conversation.to_string();
    let committer = match judgement.committer {
        Committer::Session { session } => name(session),
        other => format!("{other:?}"),
    };
    let candidates = judgement.candidates.iter().map(|s| name(*s)).collect();
    let outer: BTreeSet<_> = judgement.outer.iter().map(|s| name(*s)).collect();
    let outer = outer.into_iter().collect();
    (committer, judgement.verdict, candidates, outer)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_verdict_is_the_same_for_every_order_of_what_was_recorded(
        (first, second) in prop::collection::vec(hook_event_strategy(), 0..8)
            .prop_flat_map(|events| (Just(events.clone()), Just(events).prop_shuffle())),
        variables in prop::collection::vec(0..4usize, 0..2),
    ) {
        let scene = scene_with(&variables);
        prop_assert_eq!(answer(&first, &scene), answer(&second, &scene));
    }
}

/// A daemon of one agent that another agent's shell started.
fn daemon(stage: &mut Stage, carried: Option<&[AgentVariable]>) -> (SessionId, Vec<SessionId>) {
    let outer = stage.hear(in_process(
        60,
        says("outer", vec![started(1, StartKind::Startup)]),
    ));
    let mut thread = |id: &str, seconds| {
        stage.hear(AgentMatter {
            agent: AgentName::new("codex").unwrap(),
            carried: carried.map(<[_]>::to_vec),
            ..in_process(50, says(id, vec![started(seconds, StartKind::Startup)]))
        })
    };
    let threads = vec![thread("thread-one", 2), thread("thread-two", 3)];
    (outer, threads)
}

fn of_claude() -> AgentVariable {
    variable("claude-code", "CLAUDE_CODE_SESSION_ID", "outer")
}

fn below_daemon(variables: Vec<AgentVariable>) -> Scene {
    Scene {
        variables,
        ..scene(1, &place(), 90, Some(50), None)
    }
}

#[test]
fn a_daemon_is_distinguished_from_the_agent_whose_variable_it_inherited() {
    let mut stage = Stage::new();
    let (_, threads) = daemon(&mut stage, Some(&[of_claude()]));
    for (thread, id) in threads.into_iter().zip(["thread-one", "thread-two"]) {
        let own = variable("codex", "CODEX_SESSION_ID", id);
        let judgement = judged(&mut stage, &below_daemon(vec![of_claude(), own.clone()]));
        let committer = Committer::Session { session: thread };
        assert_eq!(
            (judgement.committer, judgement.verdict),
            (committer, Verdict::Certain),
            "{judgement:#?}"
        );
        let mut left = below_daemon(vec![of_claude(), own]);
        left.chain.ancestors.remove(2);
        let judgement = judged(&mut stage, &left);
        assert_eq!(
            (judgement.committer, judgement.verdict),
            (committer, Verdict::Likely),
            "left behind: {judgement:#?}"
        );
    }
}

#[test]
fn a_daemon_of_several_is_no_evidence_for_whose_variable_it_inherited() {
    let mut stage = Stage::new();
    let (_, mut threads) = daemon(&mut stage, Some(&[of_claude()]));
    let judgement = judged(&mut stage, &below_daemon(vec![of_claude()]));
    assert_eq!(judgement.committer, Committer::Unknown, "{judgement:#?}");
    assert_eq!(judgement.verdict, Verdict::Ambiguous);
    threads.reverse();
    assert_eq!(judgement.candidates, threads, "newest first");
}

#[test]
fn what_was_set_below_a_daemon_was_not_inherited_by_it() {
    let mut stage = Stage::new();
    let (outer, threads) = daemon(&mut stage, Some(&[]));
    let own = variable("codex", "CODEX_SESSION_ID", "thread-one");
    let judgement = judged(&mut stage, &below_daemon(vec![of_claude(), own.clone()]));
    assert_eq!(judgement.verdict, Verdict::Ambiguous, "{judgement:#?}");
    assert!(judgement.candidates.contains(&outer));
    let mut stage = Stage::new();
    let (_, older) = daemon(&mut stage, None);
    let judgement = judged(&mut stage, &below_daemon(vec![of_claude(), own]));
    let likely = (Committer::Session { session: older[0] }, Verdict::Likely);
    assert_eq!(
        (judgement.committer, judgement.verdict),
        likely,
        "{judgement:#?}"
    );
    assert_eq!(threads.len(), older.len());
}
