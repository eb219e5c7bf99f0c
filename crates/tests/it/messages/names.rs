//! What the conversation of a run is called.

use serde_json::{Value, json};

use super::played::{AGENT, events, lines, send, serve, text, to};
use crate::gateway::client::links;
use crate::gateway::created::{ALL, all};
use crate::gateway::server::{each_store, on_a_server, stored, token};

const HEADER: &str = "siglum-conversation-id";

#[test]
fn a_name_that_is_given_is_the_name_everywhere() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let reply = launcher.post("/v1/messages", &to(&json!("S1"), "hello"));
        let result = reply.is(200);
        assert_eq!(result["run"]["conversation_id"], "S1");
        assert_eq!(
            (&result["run"]["named_by"], text(&result)),
            (&json!("body"), "hello")
        );
        assert_eq!(reply.header(HEADER), Some("S1"));
        assert_eq!(
            reply.header("siglum-session-id"),
            result["run"]["session"].as_str()
        );
        assert_eq!(
            reply.header("siglum-trace-id"),
            result["run"]["trace_id"].as_str()
        );
        let trace = result["run"]["trace_id"].as_str().unwrap();
        assert!(reply.header("traceparent").unwrap().contains(trace));
        let native = result["run"]["native_id"].as_str().unwrap();
        assert_ne!(native, "S1");
        // It is the one that requests find by either name, and the log says nothing else.
        let path = format!(
            "/v1/sessions/{}",
            result["run"]["session"].as_str().unwrap()
        );
        assert_eq!(launcher.get(&path).is(200)["conversation_id"], "S1");
        let again = send(&launcher, &to(&json!("S1"), "again"));
        assert_eq!(again["run"]["session"], result["run"]["session"]);
        assert_ne!(again["run"]["turn"], result["run"]["turn"]);
        assert_ne!(again["run"]["trace_id"], result["run"]["trace_id"]);
        // A stream says the same first.
        let streamed = launcher.post("/v1/messages?format=events", &to(&json!("S1"), "more"));
        assert_eq!(streamed.header(HEADER), Some("S1"));
        assert_eq!(events(&streamed)[0].2["run"]["conversation_id"], "S1");
    });
}

#[test]
fn links_beside_the_other_fields_of_a_message_are_those_of_its_session() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let mut body = to(&json!("S1"), "hello");
        for (field, value) in all().as_object().unwrap() {
            body[field] = value.clone();
        }
        let result = send(&launcher, &body);
        let path = format!(
            "/v1/sessions/{}",
            result["run"]["session"].as_str().unwrap()
        );
        assert_eq!(links(&launcher.get(&path).is(200)), ALL);
        // In both places they must say the same, and no run begins otherwise.
        let mut differs = to(&json!("S2"), "hello");
        differs["links"] = json!({ "issue_number": 42 });
        differs["issue_number"] = json!(43);
        launcher
            .post("/v1/messages", &differs)
            .refuses("issue_number");
        let listed = launcher.get("/v1/sessions").is(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn without_a_name_the_agents_own_counts_and_none_is_made_up() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        for name in [
            Value::Null,
            json!(""),
            json!("   "),
            json!("\t"),
            json!("\n"),
            json!("\u{a0}"),
        ] {
            let reply = launcher.post("/v1/messages", &to(&name, "hello"));
            let result = reply.is(200);
            let native = result["run"]["native_id"].as_str().unwrap();
            assert_eq!(result["run"]["conversation_id"], native, "{name}");
            assert_eq!(result["run"]["named_by"], "agent", "{name}");
            assert_eq!(reply.header(HEADER), Some(native), "{name}");
        }
        let absent = launcher.post("/v1/messages", &lines("hello")).is(200);
        assert_eq!(absent["run"]["named_by"], "agent");
        let blanks = "SELECT count(*) FROM sessions WHERE trim(conversation_id) = ''";
        assert_eq!(store.sql(blanks), "0");
    });
}

#[test]
fn a_name_of_another_form_is_refused_and_nothing_is_started() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let before = stored(store, &gateway);
        let long = ["x".repeat(129), "x".repeat(10_000)];
        let bad = [
            " S1 ", "a/b", "a b", "\u{e9}", "S1\n", "..", "a\u{1}", &long[0], &long[1],
        ];
        for name in bad {
            let reply = launcher.post("/v1/messages", &to(&json!(name), "hello"));
            reply.refuses("conversation_id");
            let fits = name.trim() == name && name.bytes().all(|b| (b' '..=b'~').contains(&b));
            if fits {
                let by_header = launcher.with(HEADER, name);
                by_header
                    .post("/v1/messages", &lines("hello"))
                    .refuses(HEADER);
                let by_baggage = launcher.with("baggage", &format!("session.id={name}"));
                by_baggage
                    .post("/v1/messages", &lines("hello"))
                    .refuses("baggage");
            }
        }
        for encoded in ["a%20b", "a%2Fb", "S1%0A", "%C3%A9"] {
            let path = format!("/v1/sessions/{encoded}/messages");
            launcher.post(&path, &lines("hello")).refuses("session");
            launcher.get(&path).refuses("session");
        }
        for name in [json!(7), json!([]), json!({}), json!(true)] {
            launcher
                .post("/v1/messages", &to(&name, "hello"))
                .refuses("conversation_id");
        }
        assert_eq!(stored(store, &gateway), before);
    });
}

#[test]
fn a_name_of_128_characters_is_kept_whole() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let name = format!("{}.B_c:d-9", "a".repeat(119)) + "z";
        let result = send(&gateway.launcher(), &to(&json!(name), "hello"));
        assert_eq!(result["run"]["conversation_id"], name);
        let path = format!("/v1/sessions/{name}/messages");
        let messages = gateway.launcher().get(&path).is(200);
        assert_eq!(messages["items"].as_array().unwrap().len(), 2);
    });
}

#[test]
fn the_path_comes_before_the_body_the_header_and_baggage() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let all = gateway
            .launcher()
            .with(HEADER, "B")
            .with("baggage", "x=y, session.id=C");
        let naming_summary = |result: &Value| {
            let ignored = result["ignored"].as_array().unwrap().iter();
            let ignored = ignored.map(|i| {
                let by = i["named_by"].as_str().unwrap();
                format!("{by}={}", i["value"].as_str().unwrap())
            });
            let run = &result["run"];
            format!(
                "{} by {}, not {}",
                run["conversation_id"].as_str().unwrap(),
                run["named_by"].as_str().unwrap(),
                ignored.collect::<Vec<_>>().join(" ")
            )
        };
        let body = send(&all, &to(&json!("A"), "hello"));
        assert_eq!(naming_summary(&body), "A by body, not header=B baggage=C");
        let header = send(&all, &to(&json!(""), "hello"));
        assert_eq!(naming_summary(&header), "B by header, not baggage=C");
        let baggage = gateway.launcher().with("baggage", "session.id=C");
        assert_eq!(
            naming_summary(&send(&baggage, &lines("hello"))),
            "C by baggage, not "
        );
        let path = all.post("/v1/sessions/P/messages", &to(&json!("A"), "hello"));
        assert_eq!(
            naming_summary(&path.is(200)),
            "P by path, not body=A header=B baggage=C"
        );
        // The id of a session is no name.
        let id = body["run"]["session"].as_str().unwrap();
        let by_id = all.post(
            &format!("/v1/sessions/{id}/messages"),
            &to(&json!("X"), "hello"),
        );
        let by_id = by_id.is(200);
        assert_eq!(by_id["run"]["conversation_id"], "A");
        assert_eq!(by_id["ignored"].as_array().unwrap().len(), 3, "{by_id}");
    });
}

#[test]
fn the_agent_gets_the_messages_and_nothing_else() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let mut before = to(&json!("Secret-name-1"), "the word is xyzzy");
        before["route_key"] = json!("agent:route-9");
        send(&launcher, &before);
        // The name is not in what the agent is told, and what was said before under it is not either.
        let mut body = to(&json!("Secret-name-1"), "!whole");
        body["links"] = json!({ "issue_number": 424_242 });
        body["route_key"] = json!("agent:route-9");
        let result = send(&launcher, &body);
        assert!(text(&result).contains("!whole"), "{result}");
        for hidden in ["Secret-name-1", "xyzzy", "424242", "route-9"] {
            assert!(!text(&result).contains(hidden), "{hidden}: {result}");
        }
        // A field of the payload with the same name stays what it is.
        let mut body = to(&json!("S1"), "!whole");
        body["inputs"] = json!({ "conversation_id": "X-of-the-payload" });
        let result = send(&launcher, &body);
        assert!(
            text(&result).contains(r#"{"conversation_id":"X-of-the-payload"}"#),
            "{result}"
        );
        assert_eq!(result["run"]["conversation_id"], "S1");
    });
}

#[test]
fn the_same_name_for_another_tenant_is_another_session() {
    on_a_server(|store| {
        let gateway = serve(store, &[]);
        let (token, _) = token(store, "others", None, None);
        let (ours, theirs) = (gateway.launcher(), gateway.client(&token));
        let here = send(&ours, &to(&json!("S1"), "ours alone"));
        let there = send(&theirs, &to(&json!("S1"), "theirs alone"));
        assert_ne!(here["run"]["session"], there["run"]["session"]);
        let read = |client: &crate::gateway::client::Client| {
            client.get("/v1/sessions/S1/messages").is(200).to_string()
        };
        assert!(read(&ours).contains("ours alone") && !read(&ours).contains("theirs"));
        assert!(read(&theirs).contains("theirs alone") && !read(&theirs).contains("ours"));
        let path = format!(
            "/v1/sessions/{}/messages",
            here["run"]["session"].as_str().unwrap()
        );
        theirs.get(&path).problem(404, "not-found");
        theirs
            .post(&path, &lines("hello"))
            .problem(404, "not-found");
        theirs
            .get(&format!("{path}/stream"))
            .problem(404, "not-found");
        theirs
            .poke(&format!("{path}/cancel"))
            .problem(404, "not-found");
        assert_eq!(
            ours.get(&path).is(200)["items"].as_array().unwrap().len(),
            2
        );
    });
}

#[test]
fn a_trace_that_is_valid_is_joined_and_another_begins_else() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let given = "0af7651916cd43dd8448eb211c80319c";
        let valid = format!("00-{given}-b7ad6b7169203331-01");
        let unsampled = format!("00-{given}-b7ad6b7169203331-00");
        for (parent, joined) in [
            (valid.as_str(), true),
            (&unsampled, true),
            ("garbage", false),
            (
                "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                false,
            ),
        ] {
            let traced = launcher.with("traceparent", parent);
            let result = send(&traced, &to(&json!("S1"), "hello"));
            assert_eq!(result["run"]["trace_id"] == given, joined, "{parent}");
            assert_eq!(result["end"]["status"], "done");
        }
        let messages = launcher.get("/v1/sessions/S1/messages").is(200);
        assert_eq!(messages["items"].as_array().unwrap().len(), 8);
        // Nobody says which agent, where there is one of this conversation.
        let mut body = to(&json!("S1"), "hello");
        body["agent"] = Value::Null;
        assert_eq!(send(&launcher, &body)["agent"], AGENT);
    });
}

#[test]
fn a_run_of_a_route_has_both_keys_equal_and_an_isolated_one_has_a_context_of_its_own() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let routed = |isolated: bool| {
            let mut body = lines("hello");
            body["route_key"] = json!("agent:main:main");
            body["isolated"] = json!(isolated);
            send(&launcher, &body)["run"].clone()
        };
        let shared = [routed(false), routed(false)];
        for run in &shared {
            assert_eq!(run["route_key"], "agent:main:main");
            assert_eq!(run["context_key"], "agent:main:main");
        }
        assert_eq!(shared[0]["session"], shared[1]["session"]);
        let isolated = [routed(true), routed(true)];
        for run in &isolated {
            assert_eq!(run["route_key"], "agent:main:main");
            let expected = format!("agent:main:main-run:{}", run["session"].as_str().unwrap());
            assert_eq!(run["context_key"], expected);
            assert_ne!(run["session"], shared[0]["session"]);
        }
        assert_ne!(isolated[0]["session"], isolated[1]["session"]);
        assert_eq!(
            routed(false)["session"],
            shared[0]["session"],
            "the route goes on"
        );
        let mut named = to(&json!("S1"), "hello");
        named["route_key"] = json!("agent:other");
        let on = send(&launcher, &named)["run"].clone();
        assert_eq!(on["conversation_id"], "S1");
        // Isolated it is called the same, and is another session; a conversation has one route.
        named["isolated"] = json!(true);
        let apart = send(&launcher, &named)["run"].clone();
        assert_eq!(apart["conversation_id"], "S1");
        assert_ne!(apart["session"], on["session"]);
        assert_ne!(apart["context_key"], on["context_key"]);
        named["route_key"] = json!("agent:third");
        launcher.post("/v1/messages", &named).problem(409, "taken");
    });
}
