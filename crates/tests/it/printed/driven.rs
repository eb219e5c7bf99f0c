//! Driven sessions, and the contexts of their routes.

use serde_json::json;

use super::{Asking, settings};
use crate::gateway::server::{Gateway, Store, on_a_file};

/// The commands in their order: some change what the next ones show.
pub(super) const COMMANDS: &[&str] = &[
    "context list",
    "context show agent:main:main",
    "context explain {session}",
    "session show {session}",
    "session fork {session} --conversation next",
    "session recover",
    "session archive {session} --yes",
    "session list --all",
];

/// A route whose context has two turns.
fn played(store: &Store, columns: usize) -> String {
    let mut gateway = Gateway::start(store);
    let client = gateway.launcher();
    let run = json!({ "route_key": "agent:main:main", "agent": "openclaw", "run": "run-1" });
    let keys = client.post("/v1/contexts/resolve", &run).is(200);
    let said = [
        ("turn-1", "What is open?", "Issue 42 is open."),
        ("turn-2", "Who works on it?", "Nobody does."),
    ];
    for (key, question, answer) in said {
        let messages = [("user", question), ("assistant", answer)];
        let messages = messages.map(|(kind, text)| json!({ "type": kind, "text": text }));
        let turn = json!({
            "route_key": keys["route_key"], "context_key": keys["context_key"],
            "turn_key": key, "messages": messages,
        });
        client.post("/v1/contexts/commit", &turn).is(200);
    }
    gateway.stop();
    let world = &store.world;
    let shown = world.json(&world.root, &["context", "show", "agent:main:main"]);
    let session = shown["contexts"][0]["session"].as_str().unwrap();
    let names = vec![("{session}", session.to_owned())];
    Asking::at(world.at(&world.root), names).story(COMMANDS, columns)
}

#[test]
fn driven_sessions_at_80_columns() {
    let _settings = settings().bind_to_scope();
    on_a_file(|store| {
        insta::assert_snapshot!(played(store, 80), @r#"
        $ siglum context list
        RUNS  SEEN  LAST  AGENT     ROUTE
        1     now   -     openclaw  agent:main:main

        $ siglum context show agent:main:main
        SESSION   CAUSE  INHERITS  SEEN  CONTEXT
        01234567  first  none      now   agent:main:main (current)

        $ siglum context explain {session}
        SESSION   ENTRIES  MESSAGES  WHY
        01234567  1-5      4         said in this context

        $ siglum session show {session}
        openclaw 01234567  "What is open?"

        Session       ses_0123456789abcdef0123456789abcdef
        Conversation  ses_0123456789abcdef0123456789abcdef
        State         waiting
        Started       2026-11-26 12:34:56
        Last seen     now
        Sealed        all 6 entries

        Turn 1  2026-11-26 12:34:56  sealed
          > What is open?
          < Issue 42 is open.

        Turn 2  2026-11-26 12:34:56  sealed
          > Who works on it?
          < Nobody does.

        $ siglum session fork {session} --conversation next
        ses_0123456789abcdef0123456789abcdef
        Forked from entry 6 of session 01234567.

        $ siglum session recover
        No open turns.

        $ siglum session archive {session} --yes
        Archived session 01234567.

        $ siglum session list --all
        SESSION   AGENT     STATE     LAST  TURNS  COMMITS  REPOSITORY  TITLE
        01234567  openclaw  waiting   now       0        0              (no prompt)
        01234567  openclaw  archived  now       2        0              What is open?
        "#);
    });
}

#[test]
fn driven_sessions_at_160_columns() {
    let _settings = settings().bind_to_scope();
    on_a_file(|store| {
        insta::assert_snapshot!(played(store, 160), @r#"
        $ siglum context list
        RUNS  SEEN  LAST  AGENT     ROUTE
        1     now   -     openclaw  agent:main:main

        $ siglum context show agent:main:main
        SESSION   CAUSE  INHERITS  SEEN  CONTEXT
        01234567  first  none      now   agent:main:main (current)

        $ siglum context explain {session}
        SESSION   ENTRIES  MESSAGES  WHY
        01234567  1-5      4         said in this context

        $ siglum session show {session}
        openclaw 01234567  "What is open?"

        Session       ses_0123456789abcdef0123456789abcdef
        Conversation  ses_0123456789abcdef0123456789abcdef
        State         waiting
        Started       2026-11-26 12:34:56
        Last seen     now
        Sealed        all 6 entries

        Turn 1  2026-11-26 12:34:56  sealed
          > What is open?
          < Issue 42 is open.

        Turn 2  2026-11-26 12:34:56  sealed
          > Who works on it?
          < Nobody does.

        $ siglum session fork {session} --conversation next
        ses_0123456789abcdef0123456789abcdef
        Forked from entry 6 of session 01234567.

        $ siglum session recover
        No open turns.

        $ siglum session archive {session} --yes
        Archived session 01234567.

        $ siglum session list --all
        SESSION   AGENT     STATE     LAST  TURNS  COMMITS  REPOSITORY  TITLE
        01234567  openclaw  waiting   now       0        0              (no prompt)
        01234567  openclaw  archived  now       2        0              What is open?
        "#);
    });
}
