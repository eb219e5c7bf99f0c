//! Real agents below `siglum run`.

use std::fs;

use super::agents::{Agent, Start};
use super::lab::Lab;

/// What a pipeline sets, in its own words and in ours.
pub(super) const VARIABLES: [(&str, &str); 6] = [
    ("EGG_ISSUE_NUMBER", "7"),
    ("SIGLUM_ISSUE_NUMBER", "42"),
    ("EGG_PR_NUMBER", "701"),
    ("EGG_PIPELINE_ID", "issue-42"),
    ("EGG_AGENT_ROLE", "coder"),
    ("EGG_PIPELINE_PHASE", ""),
];
pub(super) const LINKS: [&str; 5] = [
    "issue_number=42",
    "pr_number=701",
    "pipeline_id=issue-42",
    "agent_role=coder",
    "phase=implement",
];

/// The launched agent has the identity; the agent that it starts in its shell, with the same
/// variables, has its own.
#[test]
fn the_launched_one_is_known_and_the_one_that_it_starts_is_not_it() {
    let Some(lab) = Lab::open() else { return };
    let inner = "33333333-2222-4333-8444-555555555555";
    let command = lab.claude(Start::Named(inner), &lab.prompt("write_commit"));
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words.map(quoted).collect();
    fs::write(lab.beside("nested.sh"), line.join(" ")).expect("a script");
    let flags = ["--phase", "implement"];
    let outer = lab.launch_below(Agent::Claude, Start::New, "nested", &flags, &VARIABLES);
    let outer = outer.finish();

    let book = lab.book();
    let launched = book.session(&outer);
    assert_eq!(book.sessions.len(), 2, "{book:#?}");
    let shown = lab.ask(&["session", "show", &launched.id]);
    assert_eq!(shown["session"]["origin"], "launch");
    assert_eq!(shown["session"]["agent"], "claude-code");
    assert_eq!(shown["launch"]["state"], "completed");
    assert_eq!(shown["session"]["state"], "ended");

    let why = lab.why(&lab.head(), &outer, "certain", &book);
    assert_eq!(why.links(), LINKS);
    let evidence = why.evidence().join("\n");
    assert!(evidence.contains("the launcher bound"), "{evidence}");

    let parent = Some(("nested".to_owned(), launched.id.clone()));
    assert_eq!(book.session(inner).parent, parent);
    let by_inner = lab.git(&["rev-parse", "HEAD^"]);
    let why = lab.why(&by_inner, inner, "certain", &book);
    assert_eq!(why.parents(), [outer.as_str()]);
    assert!(why.links().is_empty(), "{:?}", why.links());
    let evidence = why.evidence().join("\n");
    assert!(!evidence.contains("the launcher bound"), "{evidence}");
}

#[test]
fn the_other_agents_are_launched_as_well() {
    for agent in [Agent::Codex, Agent::Gemini] {
        let Some(lab) = Lab::open_for(&[agent]) else {
            return;
        };
        let flags = ["--phase", "implement"];
        let native = lab.launch_below(agent, Start::New, "write_commit", &flags, &VARIABLES);
        let native = native.finish();
        let book = lab.book();
        assert_eq!(book.sessions.len(), 1, "{book:#?}");
        let why = lab.look_why(&lab.head());
        assert_eq!(
            why.committer().0.as_deref(),
            Some(native.as_str()),
            "{agent:?}"
        );
        assert_eq!(why.links(), LINKS, "{agent:?}");
        let shown = lab.ask(&["session", "show", &native]);
        assert_eq!(shown["launch"]["state"], "completed", "{agent:?}");
    }
}

/// An older session that goes on below a launcher is the one that the links are attached to.
#[test]
fn a_resumed_session_gets_the_links() {
    let Some(lab) = Lab::open() else { return };
    let native = lab.run(Start::New, "say");
    let flags = ["--phase", "implement"];
    let start = Start::Resume(&native);
    let again = lab.launch_below(Agent::Claude, start, "write_commit", &flags, &VARIABLES);
    assert_eq!(again.finish(), native);
    let why = lab.look_why(&lab.head());
    assert_eq!(why.committer(), (Some(native), "certain".to_owned()));
    assert_eq!(why.links(), LINKS);
}
