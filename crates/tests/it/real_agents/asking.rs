//! The real Claude Code asks the ledger by the tools of `siglum mcp`.

use std::fs;

use serde_json::json;

use super::agents::{Agent, Start};
use super::lab::Lab;
use super::programs;

#[test]
fn it_links_the_session_that_it_is_and_hears_who_made_a_commit() {
    let Some(lab) = Lab::open() else { return };
    let call = |tool: &str, input| json!({"tools": [{"name": format!("mcp__siglum__{tool}"), "input": input}]});
    let commit = "git commit -q --allow-empty -m asked";
    let turns = [
        call("link", json!({"links": ["issue=42"]})),
        json!({"tools": [{"op": "shell", "command": commit, "description": "Commit"}]}),
        call("why", json!({"commit": "HEAD"})),
        json!({"text": "Done."}),
    ];
    let script = json!({"turns": turns}).to_string();
    fs::write(lab.beside("log/asking.json"), script).expect("a script");
    let server = json!({"command": programs::path("SIGLUM_BIN"), "args": ["mcp"]});
    let servers = json!({"mcpServers": {"siglum": server}}).to_string();
    fs::write(lab.beside("servers.json"), servers).expect("a file");

    let mut claude = lab.claude(Start::New, &lab.prompt("asking"));
    claude.arg("--mcp-config").arg(lab.beside("servers.json"));
    let session = lab
        .begin(Agent::Claude, claude, "asking".to_owned())
        .finish();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let why = lab.why(&lab.head(), &session, "certain", &book);
    assert_eq!(why.links(), ["issue_number=42"]);
    let record = book.session(&session);
    assert_eq!(record.outcomes("mcp__siglum__link"), ["ok"]);
    assert_eq!(record.outcomes("mcp__siglum__why"), ["ok"]);
    let written = lab.transcript(&session).expect("a transcript");
    assert!(
        written.contains("siglum.why/1") && written.contains("certain"),
        "{written}"
    );
}
