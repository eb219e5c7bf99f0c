//! An agent that is run and whose own hooks are on, too.

use serde_json::json;

use crate::gateway::server::on_a_file;
use crate::messages::played::{send, serve, to};

/// Hooks as the agent's own settings start them, below its process.
fn hook(event: &str, more: &str) -> String {
    let program = crate::harness::World::program();
    let payload = format!(
        "{{\"session_id\":\"native-1\",\"hook_event_name\":\"{event}\",\"cwd\":\"'\"$PWD\"'\"{more}}}"
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
        let told = send(&launcher, &to(&json!("S1"), &script.join("\n")));
        assert_eq!(told["end"]["status"], "done", "{told}");
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "1");
        let count = |kind: &str| {
            store.sql(&format!(
                "SELECT count(*) FROM observations WHERE kind = '{kind}'"
            ))
        };
        for kind in ["prompt", "tool_started", "tool_ended", "stopped"] {
            assert_eq!(count(kind), "1", "{kind}");
        }
        let session = told["run"]["session"].as_str().unwrap();
        let native = "SELECT count(*) FROM aliases WHERE native = 'native-1'";
        assert_eq!(store.sql(native), "1", "{session}");
    });
}
