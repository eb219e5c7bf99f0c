//! A page that others made: `ai` and `@ai-sdk/react` from npm, in Chromium, against the gateway.
//!
//! `cargo xtask test` installs both and tells by variables where they are; `cargo xtask front-end` does it for tests by
//! hand. Without the variables these tests fail. What the page is, and what is done in it, is in `lab/front_end`.

use std::net::TcpListener;
use std::path::Path;

use serde_json::json;

use crate::gateway::client::Client;
use crate::gateway::server::{Gateway, Store, on_a_file};
use crate::harness::Ran;
use crate::messages::played::{AGENT, arguments};

fn variable(name: &str) -> String {
    std::env::var(name)
        .unwrap_or_else(|_| panic!("{name} is not set; `cargo xtask front-end` says what to set"))
}

/// A port that nobody listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Does these steps in a browser, on a page of a gateway with these arguments; gives what was said of them.
fn steps(store: &Store, gateway: &Gateway, port: u16, conversation: &str, steps: &[&str]) -> Ran {
    let lab = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/front_end");
    let out = store.world.root.join("front-end");
    let settings = json!({
        "gateway": gateway.address, "token": gateway.token, "agent": AGENT, "conversation": conversation,
    });
    let mut command = store.world.command(variable("SIGLUM_FRONT_END_NODE"));
    command
        .arg(lab.join("drive.mjs"))
        .args(steps)
        .env("FRONT_END_MODULES", variable("SIGLUM_FRONT_END_MODULES"))
        .env("FRONT_END_BROWSER", variable("SIGLUM_FRONT_END_BROWSER"))
        .env("FRONT_END_PORT", port.to_string())
        .env("FRONT_END_OUT", &out)
        .env("FRONT_END_SETTINGS", settings.to_string());
    let ran = Ran::from(command.output().unwrap());
    eprintln!("{}{}", ran.stdout, ran.stderr);
    if let Some(kept) = std::env::var_os("SIGLUM_FRONT_END_PICTURES") {
        for picture in std::fs::read_dir(&out).unwrap() {
            let picture = picture.unwrap().path();
            if picture.extension().is_some_and(|e| e == "png") {
                let _ = std::fs::copy(
                    &picture,
                    Path::new(&kept).join(picture.file_name().unwrap()),
                );
            }
        }
    }
    ran
}

fn statuses(launcher: &Client, store: &Store, conversation: &str) -> (usize, String) {
    let page = launcher
        .get(&format!("/v1/sessions/{conversation}/messages"))
        .is(200);
    let ended =
        "SELECT group_concat(status, ' ') FROM (SELECT status FROM runs ORDER BY started_at)";
    (page["items"].as_array().unwrap().len(), store.sql(ended))
}

#[test]
fn a_page_shows_what_streams_calls_asks_is_stopped_and_goes_on() {
    on_a_file(|store| {
        let port = free_port();
        let mut arguments = arguments(store);
        arguments.extend([
            "--allow-origin".to_owned(),
            format!("http://127.0.0.1:{port}"),
        ]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let gateway = Gateway::with(store, &arguments, &[]);
        let all = ["streaming", "tool", "permission", "stop", "reload"];
        let ran = steps(store, &gateway, port, "page-1", &all);
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
        for expected in [
            "\"one two three four five six\"",
            "tool: returned what it says",
            "permission: [allow]",
            "permission: [reject]",
            "stop: cancelled",
            "reload: resumed \"early\"",
            "reload: told again",
        ] {
            assert!(ran.stdout.contains(expected), "{expected}: {}", ran.stdout);
        }
        assert!(!ran.stdout.contains("page error"), "{}", ran.stdout);
        // The gateway saw the same: six runs, one of them cancelled.
        let seen = statuses(&gateway.launcher(), store, "page-1");
        assert_eq!(seen, (12, "done done done done cancelled done".to_owned()));
    });
}

#[test]
fn a_page_of_another_origin_gets_nothing() {
    on_a_file(|store| {
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let gateway = Gateway::with(store, &arguments, &[]);
        let ran = steps(store, &gateway, free_port(), "page-2", &["refused"]);
        assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("refused: TypeError"), "{}", ran.stdout);
    });
}
