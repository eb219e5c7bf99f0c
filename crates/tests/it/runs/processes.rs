//! Processes of agents: what they find in their environment, and that nothing of them stays.

use serde_json::json;

use crate::gateway::server::{Gateway, on_a_file};
use crate::harness::{World, until};
use crate::messages::played::{AGENT, arguments, lines, send, serve, text, to};

pub(super) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .trim_start()
        .chars()
        .next();
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
fn what_runs_below_an_agent_ends_with_it() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let crashed = send(&launcher, &lines("!child 600\n!next\n!pid\n!crash 3"));
        assert_eq!(crashed["end"]["status"], "failed");
        assert_eq!(crashed["end"]["error"]["code"], "agent-died", "{crashed}");
        let mut body = to(
            &json!("S1"),
            "!sh setsid sleep 600 >/dev/null 2>&1 & echo $!\n!sleep 60",
        );
        body["limits"] = json!({ "wall_ms": 2000 });
        // A call that nobody told the end of: the agent is not kept.
        body["messages"][0]["content"] = json!("!child 600\n!tool c1 Bash execute {}\n!sleep 60");
        let late = send(&launcher, &body);
        let child = text(&late).trim().to_owned();
        assert!(child.parse::<u32>().is_ok(), "{late}");
        until("its child is gone", || !lives(&child));
    });
}

#[test]
fn an_agent_that_cannot_begin_is_reported_with_its_last_words() {
    on_a_file(|store| {
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let gateway = Gateway::with(store, &arguments, &[("PLAYED_ACP_START", "crash")]);
        let launcher = gateway.launcher();
        for body in [lines("hello"), to(&json!("S1"), "hello")] {
            let refused = launcher.post("/v1/messages", &body);
            assert_eq!(refused.status, 502, "{}", refused.text);
            assert!(refused.text.contains("cannot begin"), "{}", refused.text);
            assert!(!refused.text.contains("9fK2mQ"), "{}", refused.text);
        }
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
        assert_eq!(store.sql("SELECT count(*) FROM runs"), "0");
    });
}

#[test]
fn an_agent_that_says_other_things_first_is_understood() {
    on_a_file(|store| {
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let gateway = Gateway::with(store, &arguments, &[("PLAYED_ACP_START", "garbage")]);
        let answer = send(&gateway.launcher(), &lines("hello"));
        assert_eq!(text(&answer), "hello");
    });
}

#[test]
fn an_agent_is_handed_its_session_and_nothing_of_the_gateways_own_work() {
    on_a_file(|store| {
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let own = [
            ("TRACEPARENT", parent),
            ("EGG_PIPELINE_ID", "the gateway's"),
            ("SIGLUM_GATEWAY_TOKEN", "tok"),
        ];
        let gateway = Gateway::with(store, &arguments, &own);
        let mut body = lines(
            "!env SIGLUM_SESSION_ID\n!env TRACEPARENT\n!env SIGLUM_TRACEPARENT\n!env EGG_PIPELINE_ID\n\
             !env SIGLUM_ISSUE_NUMBER\n!env OTEL_RESOURCE_ATTRIBUTES\n!sh test -z \"$SIGLUM_GATEWAY_TOKEN\" && echo none",
        );
        body["conversation_id"] = json!("S1");
        body["links"] = json!({ "issue_number": 42 });
        let answer = send(&gateway.launcher(), &body);
        let session = answer["run"]["session"].as_str().unwrap();
        let output = text(&answer);
        for part in [
            format!("SIGLUM_SESSION_ID={session}TRACEPARENT=SIGLUM_TRACEPARENT=EGG_PIPELINE_ID="),
            "SIGLUM_ISSUE_NUMBER=42".to_owned(),
            format!("siglum.session.id={session}none"),
        ] {
            assert!(output.contains(&part), "{part}: {output}");
        }
        assert_eq!(answer["agent"], AGENT);
    });
}

#[test]
fn a_program_that_cannot_be_run_is_told_before_anything_is_served() {
    let world = World::new();
    let plain = world.root.join("plain");
    std::fs::write(&plain, "").unwrap();
    let (plain, dir) = (plain.to_str().unwrap(), world.root.to_str().unwrap());
    let (path, name) = ("not an executable file", "not a program in PATH");
    for (program, wrong) in [
        ("/nonexistent", path),
        ("./nonexistent", path),
        (plain, path),
        (dir, path),
        ("no-such-program", name),
    ] {
        let run = format!("codex={program}");
        // Nobody can listen there, so that it ends even if it takes the program.
        let listen = ["--listen", "192.0.2.1:1", "--plain"];
        let arguments = ["serve", "--run", &run, "--workdir", "."];
        let ran = world.siglum(&world.root, &[&arguments[..], &listen].concat());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let told = format!("cannot run codex: {program} is {wrong}");
        assert!(ran.stderr.contains(&told), "{ran:?}");
        assert!(!world.siglum_home().join("ledger.db").exists());
    }
}

#[test]
fn a_path_of_a_program_is_taken_from_where_the_gateway_was_started() {
    on_a_file(|store| {
        let arguments = arguments(store);
        let (_, program) = arguments[1].split_once('=').unwrap();
        std::os::unix::fs::symlink(program, store.world.root.join("played")).unwrap();
        let run = format!("{AGENT}=./played");
        let gateway = Gateway::with(store, &["--run", &run, "--workdir", &arguments[3]], &[]);
        let answer = send(&gateway.launcher(), &lines("Hello."));
        assert_eq!(text(&answer).trim(), "Hello.", "{answer}");
    });
}
