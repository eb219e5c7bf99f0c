//! Agents whose hooks name neither turns nor calls.

use std::fs;

use proptest::prelude::*;
use siglum_domain::fold;
use siglum_domain::intake::Intake;
use siglum_domain::observation::{Observation, Side, Source, ToolClass, event};
use siglum_domain::{AgentName, SessionId};
use siglum_ledger::{Durability, TranscriptRecord, write};

use super::stage::*;
use crate::worker::drain;

const LIKE: &str = "0123456789abcdef";

/// What a hook says, without ids: `name` of its own delivery.
fn hook(name: &str, mut seen: Vec<Observation>) -> Intake {
    for o in &mut seen {
        o.turn = None;
        if o.key.starts_with("prompt:") || o.key.starts_with("stop:") {
            o.key = format!("hook:{name}");
            o.event.clone_from(&o.key);
        }
    }
    let mut matter = says("one", seen);
    matter.agent = gemini();
    let mut intake = intake(matter);
    intake.key = name.to_owned();
    intake
}

fn gemini() -> AgentName {
    AgentName::new("gemini").unwrap()
}

/// The same observation of a call that has no name.
fn unnamed(mut o: Observation) -> Observation {
    let named = event::tool(LIKE);
    o.key = o.key.replace(&named, &event::unnamed(LIKE));
    o.event = event::unnamed(LIKE);
    o
}

fn begins(at: i64) -> Intake {
    let seen = vec![
        unnamed(call(LIKE, "", at, ToolClass::Shell)),
        unnamed(head(LIKE, "", at, Side::Before, u8::try_from(at).unwrap())),
    ];
    hook(&format!("before {at}"), seen)
}

fn ends(at: i64) -> Intake {
    let commit = u8::try_from(at).unwrap();
    let output = format!("[main {}] done", &oid(commit).as_str()[..7]);
    let seen = vec![
        unnamed(returned(LIKE, "", at, ToolClass::Shell, &output)),
        unnamed(head(LIKE, "", at, Side::After, commit)),
    ];
    hook(&format!("after {at}"), seen)
}

fn prompt_intake(at: i64) -> Intake {
    hook(&format!("prompt {at}"), vec![prompt("p", at)])
}

/// Starts and ends of the calls, in seconds.
fn calls(stage: &mut Stage, session: SessionId) -> Vec<(Option<i64>, Option<i64>)> {
    let log = stage.read(|tx| tx.entries(session, 0, 0));
    let view = fold::session(&log);
    let seconds = |t: siglum_domain::Timestamp| t.millis_since(at(0)) / 1000;
    let tools = view.turns.iter().flat_map(|t| &t.tools);
    tools
        .map(|t| (t.started.map(seconds), t.ended.map(seconds)))
        .collect()
}

fn only(stage: &mut Stage) -> SessionId {
    let sessions = stage.sessions();
    assert_eq!(sessions.len(), 1);
    sessions[0].record.id
}

fn delivered_calls<'a>(
    intakes: impl IntoIterator<Item = &'a Intake>,
) -> Vec<(Option<i64>, Option<i64>)> {
    let mut stage = Stage::new();
    for intake in intakes {
        stage.deliver(intake);
    }
    let session = only(&mut stage);
    calls(&mut stage, session)
}

#[test]
fn a_call_ends_before_the_next_one_like_it_starts() {
    let all = [begins(1), ends(2), begins(3), ends(4), begins(5), ends(6)];
    let pairs = [(Some(1), Some(2)), (Some(3), Some(4)), (Some(5), Some(6))];
    assert_eq!(delivered_calls(&all), pairs);
    assert_eq!(delivered_calls(all.iter().chain(&all)), pairs, "and again");
}

#[test]
fn a_call_that_was_refused_never_ends() {
    let all = [begins(1), begins(3), ends(4)];
    assert_eq!(delivered_calls(&all), [(Some(1), None), (Some(3), Some(4))]);
    let twice = all.iter().chain(&all);
    assert_eq!(
        delivered_calls(twice),
        [(Some(1), None), (Some(3), Some(4))]
    );
}

#[test]
fn a_start_that_was_overtaken_by_its_end_joins_it() {
    assert_eq!(delivered_calls(&[ends(2), begins(1)]), [(Some(1), Some(2))]);
    let late = [begins(1), ends(2), ends(4), begins(3)];
    assert_eq!(
        delivered_calls(&late),
        [(Some(1), Some(2)), (Some(3), Some(4))]
    );
    let both = [ends(2), ends(4), begins(3), begins(1)];
    assert_eq!(
        delivered_calls(&both),
        [(Some(1), Some(2)), (Some(3), Some(4))]
    );
}

#[test]
fn what_was_seen_around_a_call_has_its_name() {
    let mut stage = Stage::new();
    for intake in [begins(1), ends(2), begins(3), ends(4)] {
        stage.deliver(&intake);
    }
    let repository = stage.repository().id;
    for (commit, number) in [(2, 1), (4, 2)] {
        let moves = stage.read(|tx| tx.moves_to(repository, &oid(commit)));
        let events: Vec<_> = moves.iter().map(|m| m.event.clone()).collect();
        assert_eq!(events, [format!("tool:{LIKE}.{number}")]);
    }
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(0)));
    assert_eq!(running, []);
    stage.deliver(&begins(5));
    let running = stage.read(|tx| tx.running_calls("/home/dev/main", at(0)));
    assert_eq!(running.len(), 1);
}

#[test]
fn the_end_of_a_session_that_is_stated_several_times_is_one() {
    let mut stage = Stage::new();
    stage.deliver(&prompt_intake(1));
    for (name, seconds) in [("a", 3), ("b", 3), ("c", 4)] {
        let mut end = ended(seconds);
        end.key = name.to_owned();
        stage.deliver(&hook(name, vec![end]));
    }
    let session = only(&mut stage);
    let log = stage.read(|tx| tx.entries(session, 0, 0));
    let ends = log
        .iter()
        .filter(|e| e.observation.fact.kind() == "session_ended");
    assert_eq!(ends.count(), 1);
    assert_eq!(stage.session(session).ended_at, Some(at(3)));
}

/// A transcript with prompts and calls of the command `x`: when each was asked for and had returned.
fn transcript(stage: &Stage, parts: &[Part]) -> TranscriptRecord {
    let stamp = |s: i64| at(s).to_string();
    let mut text = "{\"sessionId\":\"one\",\"kind\":\"main\"}\n".to_owned();
    for (n, part) in parts.iter().enumerate() {
        let line = match part {
            Part::Prompt(s) => format!(
                r#"{{"id":"u{n}","timestamp":"{}","type":"user","content":[{{"text":"Do p"}}]}}"#,
                stamp(*s)
            ),
            Part::Call(from, to) => format!(
                r#"{{"id":"m{n}","timestamp":"{}","type":"gemini","content":"","toolCalls":[{{"id":"c{n}","agentId":"agent-{n}","name":"run_shell_command","args":{{"command":"x"}},"status":"success","result":[],"timestamp":"{}"}}]}}"#,
                stamp(*from),
                stamp(*to)
            ),
        };
        text += &line;
        text.push('\n');
    }
    let path = stage.dir.path().join("session-one.jsonl");
    fs::write(&path, text).unwrap();
    TranscriptRecord {
        stream: "session-one".to_owned(),
        agent: gemini(),
        session: stage_session(),
        native: native("one"),
        path: path.to_string_lossy().into_owned(),
        subagent: None,
        file: String::new(),
        read_to: 0,
        tail: String::new(),
        turn: None,
        own: false,
    }
}

enum Part {
    Prompt(i64),
    Call(i64, i64),
}

fn stage_session() -> SessionId {
    SessionId::from_uuid(uuid::Uuid::nil())
}

fn read_transcript(stage: &mut Stage, parts: &[Part]) {
    let session = only(stage);
    let record = TranscriptRecord {
        session,
        ..transcript(stage, parts)
    };
    let spec = siglum_agents::find("gemini").unwrap();
    stage.play(|world, ledger| {
        crate::record::transcript::read_on(world, ledger, spec, &record, None).unwrap();
    });
}

/// The likeness of the command `x`, as hooks of Gemini CLI name it.
fn like_x() -> String {
    let payload = br#"{"session_id":"one","hook_event_name":"BeforeTool","tool_name":"run_shell_command","tool_input":{"command":"x"}}"#;
    let reduced = (siglum_agents::find("gemini").unwrap().reduce)(&siglum_agents::HookCall {
        payload,
        redactor: siglum_domain::redact::Redactor::shared(),
        digest_key: &[0; 32],
        now: at(0),
        delivery: "d",
        agent_dir: std::path::Path::new("/home/dev/.gemini"),
        worktree: None,
    });
    let event = reduced.unwrap().observations.remove(0).event;
    event::unnamed_parts(&event).unwrap().0.to_owned()
}

/// The same delivery of a call of the command `x`.
fn of_x(intake: &Intake) -> Intake {
    let text = serde_json::to_string(intake).unwrap();
    serde_json::from_str(&text.replace(LIKE, &like_x())).unwrap()
}

fn turns(stage: &mut Stage) -> Vec<(usize, Vec<Source>)> {
    let session = only(stage);
    let log = stage.read(|tx| tx.entries(session, 0, 0));
    let view = fold::session(&log);
    let of_turn = |id| {
        let own = log.iter().filter(|e| e.turn == id);
        let mut sources: Vec<Source> = own.map(|e| e.observation.source).collect();
        sources.sort();
        sources.dedup();
        sources
    };
    let turns = view.turns.iter().filter(|t| t.prompt.is_some());
    turns.map(|t| (t.tools.len(), of_turn(t.id))).collect()
}

#[test]
fn a_transcript_speaks_of_the_calls_and_turns_that_hooks_saw() {
    let mut stage = Stage::new();
    let day = [
        prompt_intake(1),
        begins(3),
        ends(4),
        begins(5),
        ends(6),
        prompt_intake(10),
    ];
    for intake in day.iter().map(of_x) {
        stage.deliver(&intake);
    }
    let parts = [
        Part::Prompt(2),
        Part::Call(2, 4),
        Part::Call(5, 7),
        Part::Prompt(11),
    ];
    read_transcript(&mut stage, &parts);
    let session = only(&mut stage);
    assert_eq!(
        calls(&mut stage, session),
        [(Some(2), Some(4)), (Some(5), Some(7))]
    );
    let both = vec![Source::Hook, Source::Transcript];
    assert_eq!(turns(&mut stage), [(2, both.clone()), (0, both)]);
}

/// The calls that started sub-agents: the number of the line that tells of each, and the start of the call.
fn starters(stage: &mut Stage) -> Vec<(String, Option<i64>)> {
    let session = only(stage);
    let log = stage.read(|tx| tx.entries(session, 0, 0));
    let view = fold::session(&log);
    let tools: Vec<_> = view.turns.iter().flat_map(|t| &t.tools).collect();
    let started = |agent: &fold::SubagentView| {
        let event = event::tool(agent.call.as_deref()?);
        let call = tools.iter().find(|t| t.event == event)?;
        Some(call.started?.millis_since(at(0)) / 1000)
    };
    let agents = view.subagents.iter();
    agents.map(|a| (a.id.clone(), started(a))).collect()
}

#[test]
fn a_sub_agent_is_bound_to_its_call_by_the_name_that_the_call_has_here() {
    let named = |n: usize, start| (format!("agent-{n}"), Some(start));
    let mut stage = Stage::new();
    let day = [prompt_intake(1), begins(3), ends(4), begins(5), ends(6)];
    for intake in day.iter().map(of_x) {
        stage.deliver(&intake);
    }
    let parts = [Part::Prompt(2), Part::Call(2, 4), Part::Call(5, 7)];
    read_transcript(&mut stage, &parts);
    assert_eq!(starters(&mut stage), [named(1, 2), named(2, 5)]);
    // The same without hooks.
    let mut stage = Stage::new();
    stage.deliver(&of_x(&prompt_intake(1)));
    read_transcript(&mut stage, &parts);
    assert_eq!(starters(&mut stage), [named(1, 2), named(2, 5)]);
}

#[test]
fn calls_that_no_hook_saw_are_calls_of_their_own() {
    let mut stage = Stage::new();
    // Hooks were switched on between the two prompts.
    for intake in [prompt_intake(20), begins(23), ends(24)].iter().map(of_x) {
        stage.deliver(&intake);
    }
    let parts = [
        Part::Prompt(2),
        Part::Call(3, 4),
        Part::Prompt(21),
        Part::Call(22, 25),
        Part::Prompt(30),
        Part::Call(31, 32),
    ];
    read_transcript(&mut stage, &parts);
    let session = only(&mut stage);
    let mut found = calls(&mut stage, session);
    found.sort();
    assert_eq!(
        found,
        [
            (Some(3), Some(4)),
            (Some(22), Some(25)),
            (Some(31), Some(32))
        ]
    );
    let counts: Vec<usize> = turns(&mut stage).iter().map(|t| t.0).collect();
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn a_message_that_was_written_when_its_call_had_returned_is_of_that_call() {
    let mut stage = Stage::new();
    for intake in [prompt_intake(1), begins(3), ends(8)].iter().map(of_x) {
        stage.deliver(&intake);
    }
    read_transcript(&mut stage, &[Part::Prompt(2), Part::Call(9, 9)]);
    let session = only(&mut stage);
    assert_eq!(calls(&mut stage, session), [(Some(3), Some(9))]);
}

#[test]
fn a_hook_that_comes_after_the_transcript_speaks_of_its_call() {
    let mut stage = Stage::new();
    stage.deliver(&of_x(&prompt_intake(1)));
    read_transcript(&mut stage, &[Part::Prompt(2), Part::Call(3, 6)]);
    stage.deliver(&of_x(&begins(4)));
    stage.deliver(&of_x(&ends(5)));
    let session = only(&mut stage);
    assert_eq!(calls(&mut stage, session), [(Some(3), Some(6))]);
}

#[test]
fn a_transcript_that_is_read_again_says_nothing_new() {
    let mut stage = Stage::new();
    for intake in [prompt_intake(1), begins(3), ends(4)].iter().map(of_x) {
        stage.deliver(&intake);
    }
    let parts = [Part::Prompt(2), Part::Call(2, 4), Part::Call(5, 6)];
    read_transcript(&mut stage, &parts);
    let session = only(&mut stage);
    let head = stage.session(session).head;
    read_transcript(&mut stage, &parts);
    assert_eq!(stage.session(session).head, head);
}

#[test]
fn a_session_that_was_forgotten_goes_on() {
    let mut stage = Stage::new();
    for intake in [prompt_intake(1), begins(3), ends(4)].iter().map(of_x) {
        stage.deliver(&intake);
    }
    let parts = [Part::Prompt(2), Part::Call(2, 4)];
    read_transcript(&mut stage, &parts);
    let session = only(&mut stage);
    write(&mut stage.ledger, Durability::Process, |tx| {
        tx.forget_session(session, at(10))
    })
    .unwrap();
    read_transcript(&mut stage, &parts);
    for intake in [prompt_intake(11), begins(13), ends(14)].iter().map(of_x) {
        stage.deliver(&intake);
    }
    assert_eq!(calls(&mut stage, session), [(Some(13), Some(14))]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_went_through_the_spool_or_came_twice_tells_the_same(
        refused in prop::collection::vec(any::<bool>(), 1..8),
        spooled in prop::collection::vec(any::<bool>(), 16),
        again in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let mut all = Vec::new();
        for (n, refused) in refused.iter().enumerate() {
            let from = 2 * i64::try_from(n).unwrap() + 1;
            all.push(begins(from));
            if !refused {
                all.push(ends(from + 1));
            }
        }
        let wanted = delivered_calls(&all);
        let mut stage = Stage::new();
        let spool = stage.spool();
        for (intake, spooled) in all.iter().zip(spooled) {
            if spooled {
                spool.put(intake).unwrap();
            } else {
                while drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap() > 0 {}
                stage.deliver(intake);
            }
        }
        while drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap() > 0 {}
        for n in again {
            stage.deliver(&all[n.index(all.len())]);
        }
        let session = only(&mut stage);
        prop_assert_eq!(calls(&mut stage, session), wanted);
    }
}
