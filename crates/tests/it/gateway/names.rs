//! What the outside world calls a conversation, and whose it is.

use serde_json::{Value, json};

use super::client::{id, secret, turn_body};
use super::server::{Gateway, Store, each_store, on_a_server, stored, token};
use crate::harness::until;

const HEADER: &str = "siglum-conversation-id";

fn named(name: &Value, native: &str) -> Value {
    json!({ "agent": "claude-code", "conversation_id": name, "native_id": native })
}

/// The names of a session's agent, and what the conversation is called, as stored.
fn names(store: &Store) -> Vec<String> {
    let aliases = store.sql("SELECT native FROM aliases ORDER BY native");
    let called = store.sql("SELECT conversation_id FROM sessions ORDER BY conversation_id");
    vec![aliases.replace('\n', " "), called.replace('\n', " ")]
}

#[test]
fn a_name_that_is_given_is_the_name_everywhere() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&named(&json!("S1"), "H1"));
        assert_eq!(created["session"]["conversation_id"], "S1");
        assert_eq!(
            (&created["named_by"], &created["ignored"]),
            (&json!("body"), &json!([]))
        );
        assert_eq!(names(store), ["H1", "S1"]);
        let path = format!("/v1/sessions/{}", id(&created));
        let session = gateway.client(&secret(&created));
        assert_eq!(session.get(&path).is(200)["conversation_id"], "S1");
        let entry = &super::server::audited(&gateway, "session.created")[0];
        assert_eq!(entry["body"]["conversation_id"], "S1");
        assert!(!entry.to_string().contains("H1"), "{entry}");
        // Whoever says the same again means the same session.
        let again = gateway
            .launcher()
            .post("/v1/sessions", &named(&json!("S1"), "H1"));
        assert_eq!(again.is(200)["session"]["id"], created["session"]["id"]);
        // The agent's name never takes the place of the other one.
        let other = gateway
            .launcher()
            .post("/v1/sessions", &named(&json!("S2"), "H1"));
        other.problem(409, "taken");
    });
}

#[test]
fn without_a_name_the_agents_own_counts_and_none_is_made_up() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        for (n, name) in [
            json!(null),
            json!(""),
            json!("   "),
            json!("\t"),
            json!("\n"),
            json!("\u{a0}"),
        ]
        .iter()
        .enumerate()
        {
            let native = format!("H{n}");
            let created = gateway.launcher().create(&named(name, &native));
            assert_eq!(created["named_by"], "agent", "{name}");
            assert_eq!(created["session"]["conversation_id"], native, "{name}");
        }
        let blank = gateway.launcher().with(HEADER, "  ");
        let created = blank.create(&json!({ "agent": "claude-code", "native_id": "H6" }));
        assert_eq!(created["named_by"], "agent");
        let created = gateway
            .launcher()
            .create(&json!({ "agent": "claude-code" }));
        assert_eq!(created["named_by"], "nobody");
        assert_eq!(
            created["session"]["conversation_id"],
            created["session"]["id"]
        );
        let blanks = "SELECT count(*) FROM sessions WHERE trim(conversation_id) = ''";
        assert_eq!(store.sql(blanks), "0");
    });
}

#[test]
fn a_name_of_another_form_is_refused_wherever_it_stands() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let before = stored(store, &gateway);
        let long = ["x".repeat(129), "x".repeat(10_000)];
        let bad = [
            " S1 ", "a/b", "a b", "\u{e9}", "S1\n", "..", "a\u{1}", &long[0], &long[1],
        ];
        for name in bad {
            let reply = launcher.post("/v1/sessions", &named(&json!(name), "H1"));
            assert!(reply.status == 400, "{name:?}: {}", reply.text);
            reply.refuses("conversation_id");
            // What a header and baggage cannot hold at all is another matter; blanks around are not part of either.
            let fits = name.trim() == name && name.bytes().all(|b| (b' '..=b'~').contains(&b));
            if fits {
                let by_header = launcher.with(HEADER, name);
                let body = json!({ "agent": "claude-code" });
                by_header.post("/v1/sessions", &body).refuses(HEADER);
                let by_baggage = launcher.with("baggage", &format!("a=b, session.id={name};p"));
                by_baggage.post("/v1/sessions", &body).refuses("baggage");
            }
        }
        for name in [json!(7), json!([]), json!({}), json!(true)] {
            launcher
                .post("/v1/sessions", &named(&name, "H1"))
                .refuses("conversation_id");
        }
        assert_eq!(stored(store, &gateway), before);
    });
}

#[test]
fn a_name_of_128_characters_is_kept_whole() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let name = format!("{}.B_c:d-9", "a".repeat(119)) + "z";
        assert_eq!(name.len(), 128);
        let created = gateway.launcher().create(&named(&json!(name), "H1"));
        assert_eq!(created["session"]["conversation_id"], name);
        assert_eq!(names(store)[1], name);
    });
}

#[test]
fn the_body_comes_before_the_header_and_that_before_baggage() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let all = gateway
            .launcher()
            .with(HEADER, "B")
            .with("baggage", "x=y, session.id=C");
        let agent = |name: Value| json!({ "agent": "claude-code", "conversation_id": name });
        let naming_summary = |created: &Value| {
            let ignored = created["ignored"].as_array().unwrap().iter();
            let ignored = ignored.map(|i| {
                format!(
                    "{}={}",
                    i["named_by"].as_str().unwrap(),
                    i["value"].as_str().unwrap()
                )
            });
            (
                created["session"]["conversation_id"]
                    .as_str()
                    .unwrap()
                    .to_owned(),
                created["named_by"].as_str().unwrap().to_owned(),
                ignored.collect::<Vec<_>>().join(" "),
            )
        };
        let words = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        let body = all.create(&agent(json!("A")));
        assert_eq!(
            naming_summary(&body),
            words("A", "body", "header=B baggage=C")
        );
        let header = all.create(&agent(json!("")));
        assert_eq!(naming_summary(&header), words("B", "header", "baggage=C"));
        let baggage = gateway.launcher().with("baggage", "session.id=C");
        assert_eq!(
            naming_summary(&baggage.create(&agent(Value::Null))),
            words("C", "baggage", "")
        );
        let twice = gateway.launcher().with(HEADER, "B").with(HEADER, "B2");
        twice
            .post("/v1/sessions", &agent(Value::Null))
            .refuses(HEADER);
    });
}

#[test]
fn the_same_name_for_another_tenant_is_another_session() {
    on_a_server(|store| {
        let gateway = Gateway::start(store);
        let (token, _) = token(store, "others", None, None);
        let others = gateway.client(&token);
        let ours = gateway.launcher().create(&named(&json!("S1"), "H1"));
        let theirs = others.create(&named(&json!("S1"), "H1"));
        assert_ne!(ours["session"]["id"], theirs["session"]["id"]);
        // Not even by the id can one be had by the other.
        let mut stolen = named(&json!("S1"), "H1");
        stolen["id"] = ours["session"]["id"].clone();
        let refused = others.post("/v1/sessions", &stolen);
        assert!(
            refused.status == 409 || refused.status == 201,
            "{}",
            refused.text
        );
        for (us, them) in [(&ours, &others), (&theirs, &gateway.launcher())] {
            let path = format!("/v1/sessions/{}", id(us));
            for rest in [
                "",
                "/events",
                "/receipts",
                "/links",
                "/checkpoints",
                "/stream",
            ] {
                them.get(&format!("{path}{rest}")).problem(404, "not-found");
            }
            them.post(&format!("{path}/end"), &json!({ "outcome": "lost" }))
                .problem(404, "not-found");
            let lease = json!({ "holder": "h", "nonce": "n", "term_ms": 60_000 });
            them.post(&format!("{path}/lease"), &lease)
                .problem(404, "not-found");
            them.poke(&format!("{path}/keep-alive"))
                .problem(404, "not-found");
        }
        for (client, own) in [(&gateway.launcher(), &ours), (&others, &theirs)] {
            let listed = client.get("/v1/sessions").is(200);
            let listed = listed["items"].as_array().unwrap();
            assert_eq!(listed.len(), 1, "{listed:?}");
            assert_eq!(listed[0]["id"], own["session"]["id"]);
            let path = format!("/v1/sessions/{}", id(own));
            let (epoch, head) = client.lease(&id(own), "n");
            client
                .turn(&id(own), "t1", &turn_body(epoch, head, "t1"))
                .unwrap()
                .is(200);
            let audited = client.get("/v1/audit?action=session.created").is(200);
            assert_eq!(audited["items"].as_array().unwrap().len(), 1);
            until("it is counted", || client.get(&path).is(200)["turns"] == 1);
        }
    });
}
