//! Several who write one file at once: each line is whose tool wrote it.

use std::fs;

use rusqlite::TransactionBehavior;

use crate::harness::{Agent, Repo, World};

/// Somebody saves a file with one more line in front of another.
fn save(repo: &Repo<'_>, path: &str, before: &str, line: &str) {
    let file = repo.dir.join(path);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains(before), "{text:?}");
    fs::write(file, text.replacen(before, &format!("{line}{before}"), 1)).unwrap();
}

#[test]
fn whoever_saves_during_a_call_is_not_credited_to_it() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("printf 'top\\nend\\n' >file && git add file && git commit -q -m start")
        .ok();
    let mut agent = Agent::start(&repo, "agent");
    let mut call = agent.begin_replace("file", "end\n", "of the agent\nend\n");
    save(&repo, "file", "top\n", "of a person, first\n");
    call.work();
    save(&repo, "file", "end\n", "of a person, later\n");
    agent.end_edit(call);
    agent.sh("git commit -q -a -m mixed").ok();
    let lines = repo.why("HEAD").lines("file");
    assert_eq!(lines["agent"], "3", "{lines:?}");
    assert_eq!(lines["unknown"], "1,4", "{lines:?}");
}

/// Two sessions add seven lines each to one file, their calls one inside the other in every way.
#[test]
fn two_sessions_in_one_file_keep_their_lines() {
    for (first_works, first_ends) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let world = World::new();
        let repo = world.repo();
        repo.sh("printf 'top\\nmiddle\\nend\\n' >file && git add file && git commit -q -m start")
            .ok();
        let mut agents = [Agent::start(&repo, "one"), Agent::start(&repo, "two")];
        let places = ["middle\n", "end\n"];
        let mut calls: Vec<_> = (0..2)
            .map(|n| {
                let own: String = (0..7).map(|i| format!("line {i} of {n}\n")).collect();
                let text = format!("{own}{}", places[n]);
                agents[n].begin_replace("file", places[n], &text)
            })
            .map(Some)
            .collect();
        for n in [first_works, 1 - first_works] {
            calls[n].as_mut().unwrap().work();
        }
        for n in [first_ends, 1 - first_ends] {
            agents[n].end_edit(calls[n].take().unwrap());
        }
        agents[0].sh("git commit -q -a -m both").ok();
        let lines = repo.why("HEAD").lines("file");
        let order = format!("{first_works} works and {first_ends} ends first: {lines:?}");
        assert_eq!(lines["one"], "2-8", "{order}");
        assert_eq!(lines["two"], "10-16", "{order}");
        assert!(!lines.contains_key("unknown"), "{order}");
    }
}

/// A tool that only says what it added, not what it started from; also where its hooks find the ledger locked.
#[test]
fn a_patch_says_which_lines_are_its_own() {
    for locked in [
        &[][..],
        &["PreToolUse"],
        &["PostToolUse"],
        &["PreToolUse", "PostToolUse"],
    ] {
        let world = World::new();
        let repo = world.repo();
        repo.sh("printf 'top\\nend\\n' >file && git add file && git commit -q -m start")
            .ok();
        let mut agent = Agent::start(&repo, "agent");
        let mut call = serde_json::json!({
            "tool_name": "Edit", "tool_use_id": "toolu_patch",
            "tool_input": {"file_path": repo.dir.join("file"), "old_string": "end\n", "new_string": "of the agent\nend\n"},
        });
        let mut store = world.store();
        let mut hook = |agent: &mut Agent, event: &str, call: &serde_json::Value| {
            let lock = locked.contains(&event).then(|| {
                store
                    .transaction_with_behavior(TransactionBehavior::Exclusive)
                    .unwrap()
            });
            agent.hook(event, call.clone());
            drop(lock);
        };
        hook(&mut agent, "PreToolUse", &call);
        save(&repo, "file", "end\n", "of the agent\n");
        save(&repo, "file", "top\n", "of a person\n");
        call["tool_response"] = serde_json::json!({"filePath": repo.dir.join("file")});
        hook(&mut agent, "PostToolUse", &call);
        agent.sh("git commit -q -a -m mixed").ok();
        let lines = repo.why("HEAD").lines("file");
        assert_eq!(lines["agent"], "3", "{locked:?}: {lines:?}");
        assert_eq!(lines["unknown"], "1", "{locked:?}: {lines:?}");
    }
}
