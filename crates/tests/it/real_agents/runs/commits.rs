//! What is known of a commit that a run made, and what is counted where the agent has hooks, too.

use serde_json::Value;

use super::bench::{Answer, Bench, Hooks};
use crate::real_agents::agents::Agent;
use crate::real_agents::programs::wait_for;
use crate::real_sinks::sinks::fresh;

/// A commit of a run is its session's; where the agent has hooks, nothing is told twice.
#[track_caller]
fn its_commit_is_known(agent: Agent) {
    let Some(bench) = Bench::open(&[agent], Hooks::Installed) else {
        return;
    };
    let name = fresh("commits");
    let answer = bench.run(agent, &name, "write_commit");
    bench.is_everywhere(&answer, &name);
    one_session(&bench, &answer);
    // The worker reads the transcript beside the run, and may still be at it when the answer is there.
    let has_tokens = [Agent::Claude, Agent::Codex].contains(&agent);
    let recorded = wait_for("its turn in the ledger", || {
        let recorded = bench.get(&format!("/v1/sessions/{}", answer.run("session")));
        let is_there = recorded["turns"] != 0 && !(has_tokens && recorded["tokens"]["output"] == 0);
        is_there.then_some(recorded)
    });
    assert_eq!(recorded["turns"], 1, "{recorded:#}");
    nothing_twice(&bench, agent, &recorded, answer.run("trace_id"));
    let why = bench.lab.ask(&["why", "HEAD"]);
    let committer = &why["committer"];
    if agent == Agent::Gemini {
        // It switches the hooks of git off in the shell of its model here, so that nobody saw the commit: nothing is
        // said of it, and its session is among those that may have made it.
        assert_eq!(committer["kind"], "unknown", "{why:#}");
        assert_eq!(
            why["candidates"][0]["session"],
            answer.run("session"),
            "{why:#}"
        );
        return;
    }
    assert_eq!(committer["kind"], "session", "{why:#}");
    assert_eq!(committer["session"], answer.run("session"), "{why:#}");
    assert_eq!(committer["conversation_id"], *name, "{why:#}");
    let verdict = committer["verdict"].as_str().unwrap_or_default();
    assert!(["certain", "likely"].contains(&verdict), "{why:#}");
}

/// The agent's hooks tell of the session that the gateway runs, and of no other. Codex writes a title in a thread of its
/// own, which is below it.
#[track_caller]
fn one_session(bench: &Bench, answer: &Answer) {
    let listed = bench.get("/v1/sessions");
    let run = answer.run("session");
    for session in listed["items"].as_array().into_iter().flatten() {
        let is_title = session["parent"] == run && session["agent"] == "codex";
        assert!(session["id"] == run || is_title, "{listed:#}");
    }
}

/// One span for each call of a tool, and the tokens of each answer once.
#[track_caller]
fn nothing_twice(bench: &Bench, agent: Agent, recorded: &Value, trace: &str) {
    let answers = bench.lab.model.answers();
    let turns = answers.iter().filter(|a| a.why == "turn");
    let calls: usize = turns.map(|a| a.calls.len()).sum();
    let spans = bench.spans_of(trace);
    let tools = spans
        .iter()
        .filter(|s| s["attributes"]["gen_ai.operation.name"] == "execute_tool");
    assert_eq!(tools.count(), calls, "{spans:#?}");
    if [Agent::Claude, Agent::Codex].contains(&agent) {
        let used = bench.lab.model.all_counted(&["turn"]);
        let tokens = &recorded["tokens"];
        assert_eq!(tokens["output"], used.output, "{recorded:#}");
        assert_eq!(tokens["input"], used.input, "{recorded:#}");
    }
}

#[test]
fn commits_of_claude_code_with_hooks() {
    its_commit_is_known(Agent::Claude);
}

#[test]
fn commits_of_codex_with_hooks() {
    its_commit_is_known(Agent::Codex);
}

#[test]
fn commits_of_gemini_with_hooks() {
    its_commit_is_known(Agent::Gemini);
}

#[test]
fn commits_of_opencode() {
    its_commit_is_known(Agent::OpenCode);
}

#[test]
fn commits_of_pi() {
    its_commit_is_known(Agent::Pi);
}
