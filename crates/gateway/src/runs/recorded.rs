//! Conversations that were recorded with real agents, written down as a run would.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use siglum_domain::Timestamp;
use siglum_domain::observation::{Fact, Observation, Outcome, ToolClass};
use siglum_engine::driven::run::{Blank, run_spec};

use super::scribe::Scribe;

/// What came of each turn of a recorded conversation.
struct Turn {
    observations: Vec<Observation>,
    output: u64,
}

impl Turn {
    fn messages(&self) -> Vec<String> {
        let own = self.observations.iter().filter(|o| o.subagent.is_none());
        let text = |o: &Observation| match &o.fact {
            Fact::Message { text, .. } => text.text().map(str::to_owned),
            _ => None,
        };
        own.filter_map(text)
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// The calls that returned, with how they ended.
    fn calls(&self) -> Vec<(ToolClass, Outcome)> {
        let returned = self.observations.iter().filter_map(|o| match &o.fact {
            Fact::ToolEnded { class, outcome, .. } => Some((*class, *outcome)),
            _ => None,
        });
        returned.collect()
    }
}

fn played(agent: &str, version: &str, name: &str) -> Vec<Turn> {
    let file = format!("fixtures/acp/{agent}/{version}/{name}.jsonl");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let spec = run_spec(agent).unwrap();
    let (mut turns, mut scribe, mut prompt_id) = (Vec::new(), None, Value::Null);
    for line in lines {
        let (from, line) = (&line["from"], &line["line"]);
        if from == "client" && line["method"] == "session/prompt" {
            let native = line["params"]["sessionId"].as_str().unwrap().to_owned();
            let first = if turns.is_empty() {
                spec.blank_first
            } else {
                Blank::Never
            };
            prompt_id = line["id"].clone();
            let prefix = format!("t{}", turns.len());
            scribe = Some(Scribe::new(spec, prefix, native, first, None));
            continue;
        }
        let Some(scribe_now) = &mut scribe else {
            continue;
        };
        if line["method"] == "session/update" {
            scribe_now.hear(&line["params"]);
        } else if line["method"] == "session/request_permission" {
            scribe_now.announce_call(&line["params"]["toolCall"]);
        } else if from == "agent" && line["id"] == prompt_id && line["method"].is_null() {
            let mut scribe = scribe.take().unwrap();
            scribe.answered(&line["result"]);
            scribe.end();
            let now = Timestamp::from_seconds(1_800_000_000);
            turns.push(Turn {
                observations: scribe.take_observations(now),
                output: scribe.usage(now).tokens.output,
            });
        }
    }
    turns
}

const AGENTS: [(&str, &str); 5] = [
    ("claude-code", "0.101.0"),
    ("codex", "2.6.0"),
    ("gemini", "0.61.0"),
    ("opencode", "1.18.33"),
    ("pi", "0.0.34"),
];

#[test]
fn all_agents_say_and_do_the_same() {
    for (agent, version) in AGENTS {
        let turns = played(agent, version, "turns");
        let messages = turns[0].messages();
        let expected = [
            "I will write the file first.",
            "Now I commit it.",
            "Done: hello.txt is committed.",
        ];
        assert_eq!(messages, expected, "{agent}");
        let calls = [ToolClass::Edit, ToolClass::Shell].map(|class| (class, Outcome::Ok));
        assert_eq!(turns[0].calls(), calls, "{agent}");
        assert_eq!(turns[1].messages(), ["Hello, nothing to do."], "{agent}");
        assert!(turns[1].calls().is_empty(), "{agent}");
        // Of three answers with 20 tokens each one agent tells the last, and one none.
        let output = BTreeMap::from([("opencode", 20), ("pi", 0)]);
        assert_eq!(
            turns[0].output,
            output.get(agent).copied().unwrap_or(60),
            "{agent}"
        );
    }
}

#[test]
fn of_two_calls_at_once_one_fails() {
    for (agent, version) in AGENTS {
        let turns = played(agent, version, "two_tools");
        let mut outcomes: Vec<Outcome> = turns[0].calls().iter().map(|c| c.1).collect();
        outcomes.sort_by_key(|outcome| *outcome == Outcome::Failed);
        // Gemini CLI calls all commands completed.
        let second = match agent {
            "gemini" | "opencode" => Outcome::Ok,
            _ => Outcome::Failed,
        };
        assert_eq!(outcomes, [Outcome::Ok, second], "{agent}");
    }
}

#[test]
fn a_permission_request_and_its_call_are_one() {
    for (agent, version) in [AGENTS[0], AGENTS[1], AGENTS[2]] {
        let turns = played(agent, version, "asked");
        let started = turns[0].observations.iter();
        let started = started.filter(|o| matches!(o.fact, Fact::ToolStarted { .. }));
        let mut names: Vec<&str> = started.map(|o| o.event.as_str()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "{agent}");
        assert!(all >= 1, "{agent}");
    }
}

#[test]
fn a_sub_agent_has_its_own_name_and_its_call() {
    let turns = played("claude-code", "0.101.0", "subagent");
    let observations = &turns[0].observations;
    let started: Vec<_> = observations
        .iter()
        .filter_map(|o| match &o.fact {
            Fact::SubagentStarted { agent_type, call } => Some((o, agent_type, call)),
            _ => None,
        })
        .collect();
    let [(begun, kind, call)] = &started[..] else {
        panic!("one sub-agent: {observations:#?}");
    };
    assert_eq!(kind.as_str(), "general-purpose");
    assert!(
        call.as_deref()
            .is_some_and(|call| call.starts_with("toolu_"))
    );
    let id = begun.subagent.as_deref().unwrap();
    assert!(
        !id.starts_with("toolu_"),
        "the agent's own name for it: {id}"
    );
    let inside = |o: &&Observation| o.subagent.as_deref() == Some(id);
    let inner = observations.iter().filter(inside);
    let ended = inner
        .clone()
        .filter(|o| matches!(o.fact, Fact::ToolEnded { .. }));
    assert_eq!(ended.count(), 2);
    let stopped = inner.filter(|o| matches!(o.fact, Fact::SubagentStopped { .. }));
    assert_eq!(stopped.count(), 1);
    let last = observations.last().unwrap();
    assert!(matches!(last.fact, Fact::Message { .. }) && last.subagent.is_none());
}
