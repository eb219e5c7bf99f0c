//! Two gateways on one PostgreSQL store: a client that comes to either of them cannot tell which one runs the agent.

use std::io::Read;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::going_on::{messages_to_agent, resumed, serve, serve_with};
use crate::gateway::server::{Gateway, on_a_server};
use crate::harness::until;
use crate::messages::played::{arguments, events_of, send, text, to};
use crate::messages::streams::{begun, meanwhile, open_interaction, runs};

const STREAM: &str = "/v1/sessions/S1/messages/stream";
const CANCEL: &str = "/v1/sessions/S1/messages/cancel";

fn answer_of(question: &Value) -> String {
    let id = question["id"].as_str().unwrap();
    format!("/v1/sessions/S1/interactions/{id}")
}

/// What a stream has, up to its end.
fn read_events(mut stream: impl Read) -> Vec<(String, Option<u64>, Value)> {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    events_of(&text)
}

#[test]
fn a_run_is_cancelled_at_another_gateway() {
    on_a_server(|store| {
        let one = serve(store, &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let body = to(&json!("S1"), "!say begun \n!sleep 60\n!say never");
        let (result, ()) = meanwhile(&first, &body, || {
            until("it runs", || runs(&second, "S1"));
            let cancelled = second.poke(CANCEL).is(200);
            assert_eq!(cancelled["run"]["conversation_id"], "S1", "{cancelled}");
        });
        assert_eq!(result["end"]["status"], "cancelled", "{result}");
        assert_eq!(result["end"]["error"]["code"], "cancelled", "{result}");
        second.poke(CANCEL).problem(404, "not-found");
        assert!(!runs(&second, "S1"));
        assert_eq!(text(&send(&second, &to(&json!("S1"), "more"))), "more");
    });
}

#[test]
fn a_run_is_cancelled_at_another_gateway_while_its_agent_starts() {
    on_a_server(|store| {
        let root = store.world.root.clone();
        let (log, hangs) = (root.join("acp.log"), root.join("hangs"));
        std::fs::write(&hangs, "").unwrap();
        let variables = [
            ("PLAYED_ACP_START", "hang"),
            ("PLAYED_ACP_WHILE", hangs.to_str().unwrap()),
            ("PLAYED_ACP_LOG", log.to_str().unwrap()),
        ];
        let arguments = arguments(store);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let one = Gateway::with(store, &arguments, &variables);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        std::thread::scope(|scope| {
            let body = to(&json!("S1"), "first");
            let sent = scope.spawn(move || first.post("/v1/messages", &body));
            until("its agent starts", || begun(&log).len() == 1);
            // It takes longer than the lease, which is prolonged meanwhile.
            let lease = || store.sql("SELECT expires_at FROM leases");
            store.seconds_pass(25);
            let before = lease();
            until("the lease is prolonged", || lease() != before);
            store.seconds_pass(10);
            let cancelled = second.poke(CANCEL).is(200);
            assert_eq!(cancelled.get("run"), None, "its turn is not open");
            sent.join().unwrap().problem(409, "cancelled");
        });
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
    });
}

#[test]
fn what_an_agent_asks_is_answered_at_another_gateway_and_once() {
    on_a_server(|store| {
        let one = serve(store, &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        for (approved, expected) in [(true, "[allow]"), (false, "[reject]")] {
            let script = "!tool c1 rm delete {}\n!ask c1 Remove it?\n!done c1 ok";
            let (result, ()) = meanwhile(&first, &to(&json!("S1"), script), || {
                let path = answer_of(&open_interaction(&second, "S1"));
                let settled = second.post(&path, &json!({ "approved": approved })).is(200);
                assert_eq!(settled["settled"]["how"], "answered", "{settled}");
                let again = first.post(&path, &json!({ "approved": !approved }));
                again.problem(409, "interaction-settled");
            });
            assert!(text(&result).contains(expected), "{expected}: {result}");
        }
    });
}

#[test]
fn a_run_is_followed_at_another_gateway_with_each_event_once_and_in_order() {
    on_a_server(|store| {
        let one = serve(store, &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        assert_eq!(second.get(STREAM).status, 204);
        let body = to(
            &json!("S1"),
            "!say a |b |c\n!think so\n!tool c1 rm delete {}\n!ask c1 Go on?\n!done c1 ok\n!next\n!say d |e",
        );
        let (here, there, behind) = std::thread::scope(|scope| {
            let client = &first;
            let sent = scope.spawn(move || client.post("/v1/messages?format=events", &body).text);
            let path = answer_of(&open_interaction(&second, "S1"));
            let whole = second.lines(STREAM).expect("it runs");
            let rest = second.with("last-event-id", "2");
            let rest = rest.lines(STREAM).expect("it runs");
            second.post(&path, &json!({ "approved": true })).is(200);
            let here = events_of(&sent.join().unwrap());
            (here, read_events(whole), read_events(rest))
        });
        let names: Vec<&str> = here.iter().map(|(name, ..)| name.as_str()).collect();
        for name in ["started", "text", "interaction", "answered", "finished"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert_eq!(there, here);
        assert_eq!(behind, here[2..]);
        assert_eq!(second.get(STREAM).status, 204);
    });
}

#[test]
fn a_message_waits_for_a_run_of_another_gateway_is_refused_or_ends_it() {
    on_a_server(|store| {
        let one = serve(store, &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let begins = to(&json!("S1"), "!say begun \n!sleep 60");
        let (cancelled, next) = meanwhile(&first, &begins, || {
            until("it runs", || runs(&second, "S1"));
            let refused = second.post("/v1/messages", &to(&json!("S1"), "second"));
            refused.problem(409, "session-busy");
            let mut body = to(&json!("S1"), "third");
            body["if_busy"] = json!("cancel");
            send(&second, &body)
        });
        assert_eq!(cancelled["end"]["status"], "cancelled", "{cancelled}");
        assert_eq!(text(&next), "third");
        let (before, behind) = meanwhile(&first, &to(&json!("S1"), "!sleep 2\n!say four"), || {
            until("it runs", || runs(&second, "S1"));
            let mut body = to(&json!("S1"), "five");
            body["if_busy"] = json!("queue");
            send(&second, &body)
        });
        assert_eq!((text(&before), text(&behind)), ("four", "five"));
    });
}

#[test]
fn the_same_message_at_two_gateways_is_asked_once() {
    on_a_server(|store| {
        let one = serve(store, &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let mut body = to(&json!("S1"), "!say begun \n!ask c1 Go on?\n!say so");
        body["turn_key"] = json!("k-1");
        let (result, again) = meanwhile(&first, &body, || {
            let path = answer_of(&open_interaction(&second, "S1"));
            std::thread::scope(|scope| {
                let (client, same) = (&second, &body);
                let again = scope.spawn(move || send(client, same));
                let mut other = to(&json!("S1"), "something else");
                other["turn_key"] = json!("k-1");
                second
                    .post("/v1/messages", &other)
                    .problem(409, "key-reused");
                second.post(&path, &json!({ "approved": true })).is(200);
                again.join().unwrap()
            })
        });
        assert_eq!(again["run"]["turn"], result["run"]["turn"]);
        assert_eq!(again["end"]["status"], "done", "{again}");
        assert_eq!(messages_to_agent(store, "session/prompt").len(), 1);
    });
}

#[test]
fn a_gateway_that_is_killed_hands_its_session_to_a_message_that_waits_elsewhere() {
    on_a_server(|store| {
        let mut one = serve(store, &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let mut body = to(
            &json!("S1"),
            "!say one\n!tool c1 Bash execute {}\n!done c1 y\n!ask c1 May I\n!say two",
        );
        body["turn_key"] = json!("k-1");
        std::thread::scope(|scope| {
            let asked = body.clone();
            let sent = scope.spawn(move || first.ask("POST", "/v1/messages", Some(&asked)));
            until("what it did is stored", || {
                store.sql("SELECT count(*) FROM pending WHERE kind = 'tool_ended'") == "1"
                    && store.sql("SELECT count(*) FROM interactions") == "1"
            });
            let followed = second.lines(STREAM).expect("it runs");
            let mut next = to(&json!("S1"), "next");
            next["if_busy"] = json!("queue");
            let client = &second;
            let waits = scope.spawn(move || send(client, &next));
            one.kill();
            assert!(sent.join().unwrap().is_none());
            store.seconds_pass(60);
            assert_eq!(text(&waits.join().unwrap()), "next");
            let (_, _, last) = read_events(followed).pop().unwrap();
            assert_eq!(last["end"]["status"], "failed", "{last}");
            assert_eq!(last["end"]["text"], "one", "what it said is kept: {last}");
        });
        assert_eq!(store.sql("SELECT how FROM interactions"), "lost");
        // Whoever lost the answer asks again, at the gateway that is left.
        let again = send(&second, &body);
        assert_eq!(again["end"]["status"], "failed", "{again}");
        assert_eq!(text(&again), "one", "what it said is kept");
        assert_eq!(messages_to_agent(store, "session/prompt").len(), 2);
    });
}

/// So long a lease is taken for; what is handed on does not wait for its end.
const TERM: Duration = Duration::from_secs(30);

#[test]
fn a_gateway_that_stops_hands_its_session_to_a_message_that_waits_elsewhere() {
    on_a_server(|store| {
        let mut one = serve_with(store, &["--drain-seconds", "0"], &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let mut next = to(&json!("S1"), "next");
        next["if_busy"] = json!("queue");
        let (stopped, ()) = meanwhile(&first, &to(&json!("S1"), "!say begun\n!sleep 60"), || {
            until("it runs", || runs(&second, "S1"));
            let client = &second;
            std::thread::scope(|scope| {
                let waits = scope.spawn(move || send(client, &next));
                one.signal(Signal::TERM);
                let since = Instant::now();
                assert_eq!(text(&waits.join().unwrap()), "next");
                assert!(since.elapsed() < TERM / 2, "{:?}", since.elapsed());
            });
        });
        assert_eq!(stopped["end"]["error"]["code"], "gateway-stopped");
        assert_eq!(one.over(), Some(0));
        assert_eq!(store.sql("SELECT count(*) FROM open_turns"), "0");
    });
}

#[test]
fn a_gateway_that_stops_lets_go_of_an_agent_that_starts() {
    on_a_server(|store| {
        let hangs = store.world.root.join("hangs");
        std::fs::write(&hangs, "").unwrap();
        let variables = [
            ("PLAYED_ACP_START", "hang"),
            ("PLAYED_ACP_WHILE", hangs.to_str().unwrap()),
        ];
        let mut one = serve_with(store, &["--drain-seconds", "0"], &variables);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let mut body = to(&json!("S1"), "first");
        body["turn_key"] = json!("k-1");
        std::thread::scope(|scope| {
            let asked = &body;
            let sent = scope.spawn(move || first.post("/v1/messages", asked));
            until("its agent starts", || {
                !messages_to_agent(store, "initialize").is_empty()
            });
            one.signal(Signal::TERM);
            let since = Instant::now();
            let stopped = sent.join().unwrap();
            assert_eq!(stopped.header("retry-after"), Some("1"));
            stopped.problem(503, "stopping");
            assert_eq!(one.over(), Some(0));
            std::fs::remove_file(&hangs).unwrap();
            // Whoever sent it goes on at the gateway that is left, and nothing is in the way.
            assert_eq!(text(&send(&second, &body)), "first");
            assert!(since.elapsed() < TERM / 2, "{:?}", since.elapsed());
        });
    });
}

#[test]
fn messages_that_wait_are_sent_elsewhere_as_soon_as_their_gateway_stops() {
    on_a_server(|store| {
        let mut one = serve_with(store, &["--drain-seconds", "3600"], &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let begins = to(&json!("S1"), "!ask c1 Go on?\n!say to its end");
        let (ended, ()) = meanwhile(&first, &begins, || {
            let path = answer_of(&open_interaction(&second, "S1"));
            let mut next = to(&json!("S1"), "next");
            next["if_busy"] = json!("queue");
            next["turn_key"] = json!("k-2");
            next["issue_number"] = json!(42);
            let (client, asked) = (&first, &next);
            std::thread::scope(|scope| {
                let waits = scope.spawn(move || client.post("/v1/messages", asked));
                let linked = "SELECT count(*) FROM statements WHERE kind = 'link_attached'";
                until("it came as far as the run before it", || {
                    store.sql(linked) == "1"
                });
                one.signal(Signal::TERM);
                let sent_away = waits.join().unwrap();
                assert_eq!(sent_away.header("retry-after"), Some("1"));
                sent_away.problem(503, "stopping");
                assert!(runs(&second, "S1"), "the run before it goes on");
                let client = &second;
                let waits = scope.spawn(move || send(client, asked));
                second.post(&path, &json!({ "approved": true })).is(200);
                assert_eq!(text(&waits.join().unwrap()), "next");
            });
        });
        assert_eq!(ended["end"]["status"], "done", "{ended}");
        assert_eq!(one.over(), Some(0));
        assert_eq!(messages_to_agent(store, "session/prompt").len(), 2);
    });
}

#[test]
fn an_agent_that_was_kept_does_not_go_on_where_another_gateway_has() {
    on_a_server(|store| {
        let one = serve(store, &[]);
        let two = one.beside(store);
        let (first, second) = (one.launcher(), two.launcher());
        let begun = send(&first, &to(&json!("S1"), "one"));
        let elsewhere = send(&second, &resumed("!seen"));
        assert_eq!(text(&elsewhere), "1", "it finds the files of the agent");
        let back = send(&first, &resumed("!seen"));
        assert_eq!(text(&back), "2", "its process of before knows one");
        assert_eq!(back["run"]["native_id"], begun["run"]["native_id"]);
    });
}

#[test]
fn an_agent_whose_own_session_is_elsewhere_begins_with_what_is_committed() {
    on_a_server(|store| {
        let one = serve(store, &[]);
        let two = one.beside(store);
        let begun = send(&one.launcher(), &to(&json!("S1"), "one fine day"));
        let native = begun["run"]["native_id"].as_str().unwrap();
        std::fs::remove_file(store.world.root.join(format!("{native}.json"))).unwrap();
        let next = send(&two.launcher(), &resumed("two is new"));
        assert_eq!(next["run"]["diverged"], true, "{next}");
        assert_ne!(next["run"]["native_id"], begun["run"]["native_id"]);
        assert_eq!(next["run"]["session"], begun["run"]["session"]);
        let prompt = messages_to_agent(store, "session/prompt").pop().unwrap();
        let prompt = prompt["message"]["params"]["prompt"].to_string();
        for part in ["one fine day", "two is new"] {
            assert!(prompt.contains(part), "{part}: {prompt}");
        }
        // From now on its own session is what is committed.
        let third = send(&two.launcher(), &resumed("!seen"));
        assert_eq!(third["run"].get("diverged"), None, "{third}");
    });
}
