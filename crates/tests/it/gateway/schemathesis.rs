//! Schemathesis holds the gateway to its own document: what it makes up from it is answered as the document says, and
//! what breaks the document is refused.
//!
//! All of its checks are on. What is left out, with the reasons, is in `schemathesis.py`.

use std::path::Path;

use super::server::{Gateway, each_store};

/// Where the program is: `cargo xtask test` installs it.
const PROGRAM: &str = "SIGLUM_TEST_SCHEMATHESIS";

#[test]
fn the_document_holds() {
    let Some(program) = std::env::var_os(PROGRAM) else {
        eprintln!("not shown: {PROGRAM} is not set");
        return;
    };
    each_store(|store| {
        let gateway = Gateway::with(store, &["--creations", "1000000", "--rate", "1000000"], &[]);
        let dir = store.world.root.join("schemathesis");
        std::fs::create_dir(&dir).unwrap();
        // The token is in a file: a command line is everybody's to read.
        let settings = format!(
            "headers = {{ Authorization = \"Bearer {}\" }}\n",
            gateway.token
        );
        std::fs::write(dir.join("schemathesis.toml"), settings).unwrap();
        let hooks = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/gateway/schemathesis.py");
        std::fs::copy(hooks, dir.join("own_hooks.py")).unwrap();
        let document = format!("{}/v1/openapi.json", gateway.address);
        let mut command = store.world.command(&program);
        command
            .args([
                "run",
                &document,
                "--checks",
                "all",
                "--workers",
                "2",
                "--seed",
                "1",
            ])
            .args([
                "--max-examples",
                "10",
                "--max-time",
                "60",
                "--continue-on-failure",
            ])
            .args(["--request-timeout", "30", "--no-shrink", "--no-color"])
            // It never ends; `streams` holds it to what it promises.
            .args(["--exclude-operation-id", "stream_session"])
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
    });
}
