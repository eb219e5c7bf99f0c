//! Who may send, and whom a run belongs to.

use std::io::Write;

use serde_json::{Value, json};

use super::played::{AGENT, lines, send, serve, to};
use crate::gateway::client::{id, secret};
use crate::gateway::server::{each_store, on_a_file};
use crate::harness::until;

#[test]
fn a_sessions_token_sends_to_its_own_session_and_to_no_other() {
    each_store(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let session =
            |name: &str| launcher.create(&json!({ "agent": AGENT, "conversation_id": name }));
        let (own, other) = (session("own"), session("other"));
        let token = gateway.client(&secret(&own));
        for path in [
            "/v1/sessions/own/messages".to_owned(),
            format!("/v1/sessions/{}/messages", id(&own)),
        ] {
            let result = token.post(&path, &lines("hello")).is(200);
            assert_eq!(result["run"]["session"], own["session"]["id"]);
            assert_eq!(token.get(&path).status, 200);
            assert_eq!(token.get(&format!("{path}/stream")).status, 204);
        }
        token
            .post("/v1/messages", &to(&json!("own"), "hello"))
            .problem(403, "forbidden");
        for path in [
            "/v1/sessions/other/messages".to_owned(),
            format!("/v1/sessions/{}/messages", id(&other)),
            "/v1/sessions/never-heard-of/messages".to_owned(),
            format!("/v1/sessions/ses_{:032x}/messages", 1),
        ] {
            token.post(&path, &lines("hello")).problem(403, "forbidden");
            token.get(&path).problem(403, "forbidden");
            token
                .get(&format!("{path}/stream"))
                .problem(403, "forbidden");
            token
                .poke(&format!("{path}/cancel"))
                .problem(403, "forbidden");
        }
        gateway
            .stranger()
            .post("/v1/messages", &lines("hello"))
            .problem(401, "token-missing");
    });
}

/// Sends a request and leaves when the answer has begun.
fn left(place: &str, token: &str, body: &Value) {
    let body = body.to_string();
    let mut stream = std::net::TcpStream::connect(place).unwrap();
    let head = format!(
        "POST /v1/messages?format=events HTTP/1.1\r\nhost: {place}\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut seen = Vec::new();
    let mut part = [0; 4096];
    while !String::from_utf8_lossy(&seen).contains("begun") {
        let read = std::io::Read::read(&mut stream, &mut part).unwrap();
        assert_ne!(read, 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&part[..read]);
    }
}

#[test]
fn a_client_that_leaves_ends_a_run_of_its_own_and_none_of_a_session() {
    on_a_file(|store| {
        let gateway = serve(store, &[]);
        let launcher = gateway.launcher();
        let script = "!say begun \n!sleep 2\n!say ended";
        left(gateway.place(), &gateway.token, &to(&json!("S1"), script));
        until("the run of the session came to its end", || {
            let messages = launcher.get("/v1/sessions/S1/messages").is(200);
            messages["items"].to_string().contains("ended")
        });
        left(
            gateway.place(),
            &gateway.token,
            &lines("!say begun \n!sleep 60\n!say ended"),
        );
        until("the run of the client was cancelled", || {
            let runs = store.sql("SELECT count(*) FROM runs WHERE status = 'cancelled'");
            runs == "1"
        });
        // Somebody else follows it meanwhile, or nobody: a result is an answer as a stream is.
        assert_eq!(send(&launcher, &lines("hello"))["end"]["status"], "done");
    });
}
