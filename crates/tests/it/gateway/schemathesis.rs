//! Schemathesis holds the gateway to its own document: what it makes up from it is answered as the document says, and
//! what breaks the document is refused.
//!
//! All of its checks are on, as they are where nothing is said. What is left out, with the reasons, is in `schemathesis.py`.

use std::ffi::OsStr;
use std::path::Path;

use super::server::{Gateway, Store, on_a_file, on_a_server};

/// Where the program is: `cargo xtask test` installs it.
const PROGRAM: &str = "SIGLUM_TEST_SCHEMATHESIS";

/// Of some routes the document cannot say what is well-formed, and their own tests do: which fields an event has depends
/// on its kind, a batch is what `siglum sync` makes, and telemetry is what OTLP says.
/// Messages go to agents, and this gateway runs none. What a context is asked depends on why, and on what was said in it;
/// what a heartbeat is, on what it is to do. What is searched for is a query in a language of its own. A header that is not
/// there is sent as `null` to a stream of messages.
const SETTINGS: &str = r#"
headers = { Authorization = "Bearer TOKEN" }

[[operations]]
include-operation-id = ["recordPipelineEvents", "pushReplicas", "exportTraces", "exportLogs", "exportMetrics", "sendMessages", "sendSessionMessages", "resolveContext", "prepareSubagent", "endSubagent", "assembleContext", "ingestContextMessage", "commitContextTurn", "backfillContext", "createHeartbeat", "streamMessages", "searchSessions"]
checks.positive_data_acceptance.enabled = false
"#;

#[test]
fn the_document_holds() {
    let Some(program) = std::env::var_os(PROGRAM) else {
        eprintln!("not shown: {PROGRAM} is not set");
        return;
    };
    // One worker for each: CPython before 3.12 cannot parse its own sources in two threads at once, as Hypothesis does.
    std::thread::scope(|scope| {
        scope.spawn(|| on_a_file(|store| holds(store, &program)));
        scope.spawn(|| on_a_server(|store| holds(store, &program)));
    });
}

fn holds(store: &Store, program: &OsStr) {
    let gateway = Gateway::with(store, &["--creations", "1000000", "--rate", "1000000"], &[]);
    let dir = store.world.root.join("schemathesis");
    std::fs::create_dir(&dir).unwrap();
    // The token is in a file: a command line is everybody's to read.
    let settings = SETTINGS.replace("TOKEN", &gateway.token);
    std::fs::write(dir.join("schemathesis.toml"), settings).unwrap();
    let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/gateway/schemathesis.py");
    std::fs::copy(hooks, dir.join("own_hooks.py")).unwrap();
    let document = format!("{}/v1/openapi.json", gateway.address);
    let mut command = store.world.command(program);
    command
        .args(["run", &document, "--workers", "1", "--seed", "1"])
        .args([
            "--max-examples",
            "10",
            "--max-time",
            "75",
            "--continue-on-failure",
        ])
        .args(["--request-timeout", "30", "--no-shrink", "--no-color"])
        // It never ends; `streams` holds it to what it promises.
        .args(["--exclude-operation-id", "streamEvents"])
        .env("SCHEMATHESIS_HOOKS", "own_hooks")
        .env("PYTHONPATH", &dir)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(&dir);
    let ran = crate::harness::Ran::from(command.output().unwrap());
    let summary = ran
        .stdout
        .rsplit("== SUMMARY ==")
        .next()
        .unwrap_or_default();
    eprintln!("{}", summary.trim_start_matches('='));
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("Test cases:"), "{}", ran.stdout);
    let errors = std::fs::read_to_string(store.world.root.join("gateway.err")).unwrap();
    assert!(!errors.contains("panicked"), "{errors}");
}
