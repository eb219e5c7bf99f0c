//! Agents and gateways that die.

use std::fs;

use serde_json::json;

use super::bench::{Bench, Hooks, is_first};
use crate::harness::kill;
use crate::real_agents::agents::Agent;
use crate::real_agents::programs::{wait_for, wait_until};
use crate::real_sinks::sinks::fresh;

/// Processes whose command line has this word, below the gateway of this bench: they have its home in their environment.
fn processes(bench: &Bench, word: &str) -> Vec<u32> {
    let home = format!("HOME={}", bench.lab.home().display());
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: &u32| {
        let read = |what: &str| fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
        let has = |text: &[u8], wanted: &str| String::from_utf8_lossy(text).contains(wanted);
        let words = read("cmdline");
        has(&read("environ"), &home) && has(&words, word) && !has(&words, "\0serve\0")
    };
    pids.filter(is_it).collect()
}

/// The agent dies in the middle of a turn: the turn has failed, in the ledger and in the trace, and nobody is left over.
#[track_caller]
fn an_agent_dies(agent: Agent, word: &str) {
    let Some(bench) = Bench::open(&[agent], Hooks::None) else {
        return;
    };
    let name = fresh("dies");
    let mut body = bench.body(agent, Some(&name), "slow");
    // One whose adapter says nothing when its agent has died.
    body["limits"] = json!({ "silent_ms": 15_000 });
    let run = bench.beside(body);
    bench.under_way("slow.txt");
    wait_until("the command runs", || {
        !processes(&bench, "sleep 20").is_empty()
    });
    let found = processes(&bench, word);
    assert!(!found.is_empty(), "no process of {word}");
    found.into_iter().for_each(kill);
    let answer = run.join().expect("it ends");
    assert_eq!(answer.status, 200, "{answer:#?}");
    assert!(
        ["failed", "limit"].contains(&answer.status_of_run()),
        "{answer:#?}"
    );
    assert!(
        answer.body["end"]["error"]["text"].is_string(),
        "{answer:#?}"
    );
    bench.is_everywhere(&answer, &name);
    let spans = bench.spans_of(answer.run("trace_id"));
    let root = spans.iter().find(|s| is_first(s)).expect("a first span");
    assert_eq!(root["status"]["code"], 2, "{root:#}");
    wait_until("nobody is left over", || {
        processes(&bench, "sleep 20").is_empty()
    });
    // The conversation goes on.
    let next = bench.run(agent, &name, "say");
    bench.is_everywhere(&next, &name);
}

#[test]
fn claude_code_dies() {
    an_agent_dies(Agent::Claude, "--output-format");
}

#[test]
fn codex_dies() {
    an_agent_dies(Agent::Codex, "app-server");
}

#[test]
fn gemini_dies() {
    an_agent_dies(Agent::Gemini, "--acp");
}

#[test]
fn opencode_dies() {
    an_agent_dies(Agent::OpenCode, "opencode\0acp");
}

#[test]
fn pi_dies_and_its_adapter_says_nothing() {
    an_agent_dies(Agent::Pi, "pi");
}

/// The gateway dies in the middle of a turn: the next one finds the turn, and says that it failed.
#[test]
fn a_gateway_dies() {
    let Some(mut bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let name = fresh("killed");
    let run = bench.beside(bench.body(Agent::Claude, Some(&name), "slow"));
    bench.under_way("slow.txt");
    bench.killed_and_again();
    drop(run);
    // Nobody knows what became of the command, until somebody says it.
    let body = bench.body(Agent::Claude, Some(&name), "say");
    let held = wait_for("the lease of the dead one is over", || {
        let answer = bench.send(&[], &body);
        (answer.code() != "session-busy").then_some(answer)
    });
    assert_eq!((held.status, held.code()), (409, "held"), "{held:#?}");
    bench.settle(&name);
    let next = bench.done(&body);
    bench.is_everywhere(&next, &name);
    let recorded = bench.get(&format!("/v1/sessions/{}", next.run("session")));
    assert_eq!(recorded["turns"], json!(2), "{recorded:#}");
}

/// A limit ends a run, and says which.
#[test]
fn a_limit_ends_a_run() {
    let Some(bench) = Bench::open(&[Agent::Codex], Hooks::None) else {
        return;
    };
    let mut body = bench.body(Agent::Codex, Some(&fresh("limited")), "slow");
    body["limits"] = json!({ "wall_ms": 5_000 });
    let answer = bench.send(&[], &body);
    assert_eq!(answer.status_of_run(), "limit", "{answer:#?}");
    wait_until("nobody is left over", || {
        processes(&bench, "sleep 20").is_empty()
    });
}
