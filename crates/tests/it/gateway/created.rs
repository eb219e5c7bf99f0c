//! Sessions that are created: what is given arrives, and nothing else.

use serde_json::{Value, json};

use super::client::{id, links, secret};
use super::server::{Gateway, audited, base, each_store, linked};
use crate::harness::until;

/// Everything that a launcher may know.
pub(crate) fn all() -> Value {
    json!({ "issue_number": 42, "pr_number": 701, "pipeline_id": "issue-42", "agent_role": "coder", "phase": "implement" })
}

/// The same as it is told.
pub(crate) const ALL: [&str; 5] = [
    "issue_number=42",
    "pr_number=701",
    "pipeline_id=issue-42",
    "agent_role=coder",
    "phase=implement",
];

const FIELDS: [&str; 6] = [
    "issue_number",
    "pr_number",
    "pipeline_id",
    "agent_role",
    "phase",
    "labels",
];

#[test]
fn the_smallest_request_is_a_session_with_nothing_attached() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("egg-t1"));
        assert!(secret(&created).starts_with("siglum_"), "{created}");
        let session = &created["session"];
        assert_eq!(session["repositories"], json!(["github.com/o/r"]));
        assert_eq!(session["conversation_id"], "egg-t1");
        assert_eq!(links(session), [""; 0]);
        assert_eq!(store.sql("SELECT count(*) FROM links"), "0");
        let entry = &audited(&gateway, "session.created")[0];
        assert_eq!(entry["session"], session["id"]);
        assert_eq!(entry["body"]["repositories"], json!(["github.com/o/r"]));
        for (field, values) in entry["body"]["links"].as_object().unwrap() {
            assert_eq!(values, &json!([]), "{field}");
        }
    });
}

#[test]
fn what_the_launcher_knows_is_stored_listed_and_audited() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&linked("egg-t1", &all()));
        assert_eq!(links(&created["session"]), ALL);
        let path = format!("/v1/sessions/{}", id(&created));
        assert_eq!(links(&gateway.launcher().get(&path).is(200)), ALL);
        let own = gateway.client(&secret(&created));
        let listed = own.get(&format!("{path}/links")).is(200);
        assert_eq!(links(&listed), ALL);
        for event in listed["events"].as_array().unwrap() {
            assert_eq!(
                (&event["change"], &event["source"]),
                (&json!("attached"), &json!("api"))
            );
            assert!(event["by"].as_str().unwrap().contains("tests"), "{event}");
        }
        let entry = &audited(&gateway, "session.created")[0];
        assert_eq!(entry["pipeline"], "issue-42");
        let wanted = json!({
            "issue_number": [42], "pr_number": [701], "pipeline_id": ["issue-42"],
            "agent_role": ["coder"], "phase": ["implement"], "label": [],
        });
        assert_eq!(entry["body"]["links"], wanted);
        let entry = &audited(&gateway, "token.created")[0];
        assert_eq!(entry["session"], created["session"]["id"]);
        assert_eq!(entry["pipeline"], "issue-42");
    });
}

#[test]
fn null_is_absent() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        for field in FIELDS {
            let created = launcher.create(&linked(field, &json!({ field: null })));
            assert_eq!(links(&created["session"]), [""; 0], "{field}");
        }
        for field in [
            "id",
            "home",
            "native_id",
            "mode",
            "cwd",
            "links",
            "repositories",
            "token_seconds",
        ] {
            let mut body = base(field);
            body[field] = Value::Null;
            launcher.create(&body);
        }
    });
}

#[test]
fn what_just_fits_is_taken_whole() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        // Characters count, and not bytes.
        for letter in ["p", "ß", "漢"] {
            for (field, most) in [("pipeline_id", 256), ("agent_role", 64), ("phase", 64)] {
                let value = letter.repeat(most);
                let name = format!("{field}.{}", letter.len());
                let created = launcher.create(&linked(&name, &json!({ field: value })));
                assert_eq!(links(&created["session"]), [format!("{field}={value}")]);
            }
        }
        let most = json!({ "issue_number": 9_007_199_254_740_991_u64 });
        let created = launcher.create(&linked("most", &most));
        assert_eq!(
            links(&created["session"]),
            ["issue_number=9007199254740991"]
        );
    });
}

#[test]
fn a_role_that_nobody_knows_is_kept_as_it_is() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = launcher.create(&linked("one", &json!({ "agent_role": "my-new-role" })));
        let path = format!("/v1/sessions/{}/checkpoints", id(&created));
        let recorded = launcher.post(&path, &json!({})).is(201);
        let pin = &recorded["checkpoint"]["pins"][0];
        assert_eq!(links(pin), ["agent_role=my-new-role"]);
        let listed = launcher.get("/v1/sessions?agent_role=my-new-role").is(200);
        assert_eq!(listed["items"][0]["id"], created["session"]["id"]);
    });
}

#[test]
fn a_phase_is_free_text() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway
            .launcher()
            .create(&linked("one", &json!({ "phase": "deploy" })));
        assert_eq!(links(&created["session"]), ["phase=deploy"]);
    });
}

#[test]
fn an_unknown_key_is_refused_among_links_and_beside_them() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut body = base("one");
        body["x"] = json!(1);
        // What is misspelt must not be lost without a word.
        gateway.launcher().post("/v1/sessions", &body).refuses("x");
        let misspelt = linked("two", &json!({ "isue_number": 1 }));
        let reply = gateway.launcher().post("/v1/sessions", &misspelt);
        assert_eq!(reply.status, 400);
        assert!(reply.text.contains("isue_number"), "{}", reply.text);
    });
}

#[test]
fn sessions_that_are_created_at_once_are_all_there() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let made: Vec<Value> = std::thread::scope(|scope| {
            let one = |n: u32| {
                let launcher = launcher.clone();
                scope.spawn(move || launcher.create(&base(&format!("egg-{n}"))))
            };
            let all: Vec<_> = (0..20).map(one).collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let tokens: std::collections::BTreeSet<String> = made.iter().map(secret).collect();
        let ids: std::collections::BTreeSet<String> = made.iter().map(id).collect();
        assert_eq!((tokens.len(), ids.len()), (20, 20));
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "20");
        for created in &made {
            let path = format!("/v1/sessions/{}", id(created));
            gateway.client(&secret(created)).get(&path).is(200);
        }
        assert_eq!(audited(&gateway, "session.created").len(), 20);
        let verified = launcher.get("/v1/audit/verify").is(200);
        assert_eq!(verified["sound"], true);
    });
}

#[test]
fn who_creates_one_session_at_once_gets_that_one() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let made: Vec<(u16, Value)> = std::thread::scope(|scope| {
            let one = |_| {
                let launcher = gateway.launcher().with("idempotency-key", "one");
                scope.spawn(move || {
                    let reply = launcher.post("/v1/sessions", &linked("S1", &all()));
                    (reply.status, reply.json())
                })
            };
            let all: Vec<_> = (0..8).map(one).collect();
            all.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let statuses: Vec<u16> = made.iter().map(|(status, _)| *status).collect();
        assert!(statuses.iter().all(|s| [200, 201].contains(s)), "{made:#?}");
        assert_eq!(
            statuses.iter().filter(|s| **s == 201).count(),
            1,
            "{statuses:?}"
        );
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "1");
        assert_eq!(audited(&gateway, "session.created").len(), 1);
        let keyed = gateway.launcher().with("idempotency-key", "one");
        keyed
            .post("/v1/sessions", &base("S2"))
            .problem(409, "key-reused");
    });
}

#[test]
fn whoever_finds_a_session_takes_its_drivers_token_from_nobody() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let path = format!("/v1/sessions/{}", id(&created));
        let found = gateway.launcher().post("/v1/sessions", &base("one"));
        let found = found.is(200);
        assert_eq!(found["already"], true);
        // The minute goes by for which a token would hold that another one took the place of.
        store.sql("UPDATE tokens SET expires_at = expires_at - 61000000000");
        gateway.restart(store);
        for token in [secret(&created), secret(&found)] {
            gateway.client(&token).get(&path).is(200);
        }
    });
}

#[test]
fn tokens_of_a_session_that_nobody_uses_do_not_pile_up() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let path = format!("/v1/sessions/{}", id(&created));
        gateway.client(&secret(&created)).get(&path).is(200);
        let used =
            "SELECT count(*) FROM tokens WHERE session IS NOT NULL AND last_used_at IS NOT NULL";
        until("its use is noted", || store.sql(used) == "1");
        let find = || {
            let found = gateway.launcher().post("/v1/sessions", &base("one"));
            secret(&found.is(200))
        };
        let found: Vec<String> = (0..20).map(|_| find()).collect();
        let held = "SELECT count(*) FROM tokens WHERE session IS NOT NULL AND replaced_by IS NULL";
        assert_eq!(store.sql(held), "16");
        store.sql("UPDATE tokens SET expires_at = expires_at - 61000000000");
        gateway.restart(store);
        // The driver's is the oldest, and the one that is in use.
        for token in [&secret(&created), &found[19]] {
            gateway.client(token).get(&path).is(200);
        }
        gateway
            .client(&found[0])
            .get(&path)
            .problem(401, "token-expired");
    });
}
