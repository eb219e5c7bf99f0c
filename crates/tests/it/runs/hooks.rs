//! An agent that is run and whose own hooks are on, too.

use serde_json::json;

use crate::gateway::server::on_a_file;
use crate::messages::played::{AGENT, lines, send, serve, to};

/// Hooks as the agent's own settings start them, below its process.
fn hook(event: &str, more: &str) -> String {
    hook_of("native-1", event, more)
}

/// The same of an agent that says that its session is called so.
fn hook_of(native: &str, event: &str, more: &str) -> String {
    let program = crate::harness::World::program();
    let payload = format!(
        "{{\"session_id\":\"{native}\",\"hook_event_name\":\"{event}\",\"cwd\":\"'\"$PWD\"'\"{more}}}"
    );
    format!(
        "!sh printf '%s' '{payload}' | {} hook claude-code",
        program.display()
    )
}

#[test]
fn what_hooks_see_of_a_run_is_one_turn_of_one_session() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        // The agent works outside of repositories that are switched on.
        std::fs::write(store.world.siglum_home().join("everywhere"), "").unwrap();
        let script = [
            hook("SessionStart", ",\"source\":\"startup\""),
            hook("UserPromptSubmit", ",\"prompt\":\"do it\""),
            "!tool toolu_1 Bash execute {\"command\":\"ls\"}".to_owned(),
            hook(
                "PreToolUse",
                ",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_1\",\"tool_input\":{\"command\":\"ls\"}",
            ),
            hook(
                "PostToolUse",
                ",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_1\",\"tool_input\":{\"command\":\"ls\"},\"tool_response\":{\"stdout\":\"a\"}",
            ),
            "!done toolu_1 a".to_owned(),
            "!say finished".to_owned(),
            hook("Stop", ""),
        ];
        let answer = send(&launcher, &to(&json!("S1"), &script.join("\n")));
        assert_eq!(answer["end"]["status"], "done", "{answer}");
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "1");
        let count = |kind: &str| {
            store.sql(&format!(
                "SELECT count(*) FROM observations WHERE kind = '{kind}'"
            ))
        };
        for kind in ["prompt", "tool_started", "tool_ended", "stopped"] {
            assert_eq!(count(kind), "1", "{kind}");
        }
        let session = answer["run"]["session"].as_str().unwrap();
        let native = "SELECT count(*) FROM aliases WHERE native = 'native-1'";
        assert_eq!(store.sql(native), "1", "{session}");
    });
}

#[test]
fn a_hook_of_a_fork_that_still_has_the_name_of_its_source_writes_nothing_there() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        std::fs::write(store.world.siglum_home().join("everywhere"), "").unwrap();
        let first = send(&launcher, &to(&json!("S1"), "one"))["run"].clone();
        let native = first["native_id"].as_str().unwrap();
        let of = |table: &str, session: &serde_json::Value| {
            let hex = session.as_str().unwrap().trim_start_matches("ses_");
            store.sql(&format!(
                "SELECT count(*) FROM {table} WHERE session = x'{hex}'"
            ))
        };
        let source = |table| of(table, &first["session"]);
        let before = source("observations");
        let from = json!({ "route_key": first["route_key"], "context_key": first["context_key"] });
        let fork = json!({
            "route_key": "agent:forked", "agent": AGENT, "run": "fork", "conversation_id": "S2",
            "cause": "fork", "from": from,
        });
        launcher.post("/v1/contexts/resolve", &fork).is(200);
        let tool = ",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_1\",\"tool_input\":{\"command\":\"ls\"}";
        let script = [
            hook_of(native, "SessionStart", ",\"source\":\"resume\""),
            hook_of(native, "UserPromptSubmit", ",\"prompt\":\"two\""),
            hook_of(native, "PreToolUse", tool),
            hook_of(native, "Stop", ""),
            "two".to_owned(),
        ];
        let mut body = lines(&script.join("\n"));
        body["route_key"] = json!("agent:forked");
        let second = send(&launcher, &body);
        assert_eq!(second["end"]["status"], "done", "{second}");
        assert_eq!(second["run"]["conversation_id"], "S2");
        assert_eq!(source("observations"), before);
        assert_ne!(of("processes", &second["run"]["session"]), "0");
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "2");
        let again = send(&launcher, &to(&json!("S1"), "three"));
        assert_eq!(again["run"]["session"], first["session"]);
    });
}
