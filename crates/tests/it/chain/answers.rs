//! One question, asked on the command line, over MCP and at the API: one answer.

use serde_json::{Value, json};

use super::served::Served;
use crate::harness::{Agent, Repo, World, until};
use crate::mcp;

/// Work of a session with an issue: a commit with lines of its own, and what an amend made of it.
fn work(repo: &Repo<'_>) {
    let mut agent = Agent::start(repo, "one");
    agent.prompt("Write two lines");
    repo.siglum(&["link", "add", "one", "issue=42"]).ok();
    agent.write("a.txt", "one\ntwo\n");
    agent.sh("git add . && git commit -q -m work");
    agent.sh("git commit -q --amend -m 'Two lines'");
    agent.stop();
    agent.end("exit");
    agent.quit();
    until("the worker has left", || repo.world.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
}

#[test]
fn a_commit_has_the_same_answer_at_every_door() {
    let world = World::new();
    let repo = world.repo();
    work(&repo);
    let command = world.json(&repo.dir, &["why", "HEAD"]);
    // What is compared is not merely empty on all sides.
    let (committer, author) = (&command["committer"], &command["authors"][0]);
    assert_eq!(committer["native_ids"], json!(["one"]), "{command}");
    let issue = json!([{ "field": "issue_number", "value": 42 }]);
    assert_eq!(committer["links"], issue, "{command}");
    assert!(committer["resume"].is_string(), "{command}");
    let file = json!([{ "path": "a.txt", "lines": [[1, 2]] }]);
    assert_eq!(author["files"], file, "{command}");
    assert_eq!(command["prompt"]["text"], "Write two lines", "{command}");
    let origin = &command["origins"][0]["committer"];
    assert_eq!(origin["session"], committer["session"], "{command}");
    let question = [("why", json!({ "commit": "HEAD" }))];
    let answers = mcp::ask(&repo, &question, |script| repo.sh(script).ok());
    assert_eq!(*mcp::data(&answers[0]), command);
    let served = Served::over(&world, &world.siglum_home());
    let found = served.get(&format!("/v1/commits/{}", repo.id("HEAD")));
    assert_eq!(found["items"], json!([command]));
    until("the reading of its prompt is in the audit", || {
        let read = served.get("/v1/audit?action=transcript.read");
        read["items"][0]["session"] == committer["session"]
    });
}

#[test]
fn a_list_of_commits_has_the_same_rows_at_every_door() {
    let world = World::new();
    let repo = world.repo();
    work(&repo);
    let log = world.json(&repo.dir, &["log"]);
    let head = &log["items"][0];
    assert_eq!(head["lines"]["by_sessions"], 2, "{log}");
    assert_eq!(head["committer"]["agent"], "claude-code", "{log}");
    assert!(head["recorded_at"].is_string(), "{log}");
    let served = Served::over(&world, &world.siglum_home());
    let listed = served.get("/v1/commits");
    let rows = listed["items"].as_array().unwrap();
    let is_head = |row: &&Value| row["commit"] == head["commit"];
    assert_eq!(rows.iter().find(is_head), Some(head), "{listed}");
}
