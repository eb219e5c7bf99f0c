//! Links that change, tokens that run out, sessions that end.

use std::time::Instant;

use serde_json::{Value, json};

use super::client::{id, links, secret, turn_body};
use super::created::{ALL, all};
use super::server::{
    Gateway, LONG, Store, audited, base, each_store, each_store_at_once, linked, stored,
};

#[test]
fn a_phase_is_changed_for_good_or_refused() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let body = linked("one", &json!({ "phase": "implement" }));
        let created = gateway.launcher().create(&body);
        let path = format!("/v1/sessions/{}/links", id(&created));
        let phase = |name: &str| json!({ "phase": name });
        let session = gateway.client(&secret(&created));
        session
            .post(&format!("{path}/detach"), &phase("implement"))
            .is(200);
        assert_eq!(
            links(&session.post(&path, &phase("plan")).is(200)),
            ["phase=plan"]
        );
        let before = stored(store, &gateway);
        session.post(&path, &phase("")).refuses("phase");
        session
            .post(&path, &json!({ "phase": "x", "issue_number": 0 }))
            .refuses("issue_number");
        let wrong = format!("siglum_{}_{}", super::server::tenant(store), "0".repeat(64));
        gateway
            .client(&wrong)
            .post(&path, &phase("x"))
            .problem(401, "token-unknown");
        let nobody = "/v1/sessions/ses_019ad00000007000800000000000000a/links";
        gateway
            .launcher()
            .post(nobody, &phase("x"))
            .problem(404, "not-found");
        assert_eq!(stored(store, &gateway), before);
        gateway.restart(store);
        let listed = gateway.client(&secret(&created)).get(&path).is(200);
        assert_eq!(links(&listed), ["phase=plan"]);
        let changes: Vec<&Value> = listed["events"].as_array().unwrap().iter().collect();
        let change = |n: usize| {
            (
                changes[n]["value"].as_str().unwrap(),
                changes[n]["change"].as_str().unwrap(),
            )
        };
        assert_eq!(
            [change(0), change(1), change(2)],
            [
                ("implement", "attached"),
                ("implement", "detached"),
                ("plan", "attached")
            ]
        );
    });
}

#[test]
fn a_session_whose_token_ran_out_ends_as_expired_with_its_links() {
    each_store_at_once(|store| runs_out(store));
}

fn runs_out(store: &Store) {
    let gateway = Gateway::start(store);
    let created = gateway.launcher().create(&linked("one", &all()));
    let kept = gateway.launcher().create(&base("two"));
    // An hour goes by for the one.
    store.sql("UPDATE sessions SET last_at = last_at - 3600000000000");
    let hex = id(&created).replace("ses_", "");
    let one = if store.is_file() {
        format!("x'{hex}'")
    } else {
        format!("'{hex}'::uuid")
    };
    store.sql(&format!(
        "UPDATE tokens SET expires_at = 1 WHERE session = {one}"
    ));
    let path = format!("/v1/sessions/{}", id(&created));
    gateway
        .client(&secret(&created))
        .get(&path)
        .problem(401, "token-expired");
    let begun = Instant::now();
    let ended = loop {
        let shown = gateway.launcher().get(&path).is(200);
        if shown["ended_at"].is_string() {
            break shown;
        }
        assert!(begun.elapsed() < LONG, "{shown}");
        std::thread::sleep(std::time::Duration::from_millis(500));
    };
    assert!(
        ended["end"].as_str().unwrap().starts_with("expired"),
        "{ended}"
    );
    let listed = gateway
        .launcher()
        .get(&format!("{path}/checkpoints"))
        .is(200);
    assert_eq!(listed["items"][0]["kind"], "end");
    assert_eq!(links(&listed["items"][0]["pins"][0]), ALL);
    let other = format!("/v1/sessions/{}", id(&kept));
    assert_eq!(
        gateway.launcher().get(&other).is(200)["ended_at"],
        Value::Null
    );
}

#[test]
fn a_session_ends_once() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        for (name, how, words) in [
            ("one", json!({ "outcome": "completed" }), "completed"),
            ("two", json!({ "outcome": "failed", "code": 3 }), "failed"),
            (
                "three",
                json!({ "outcome": "signalled", "signal": 9 }),
                "signal",
            ),
            ("four", json!({ "outcome": "lost" }), "lost"),
        ] {
            let created = gateway.launcher().create(&base(name));
            let path = format!("/v1/sessions/{}", id(&created));
            let session = gateway.client(&secret(&created));
            let first = session.post(&format!("{path}/end"), &how).is(200);
            assert_eq!(first["already"], false);
            let end = first["session"]["end"].as_str().unwrap();
            assert!(end.contains(words), "{end}");
            let other = json!({ "outcome": "lost" });
            let second = gateway
                .launcher()
                .post(&format!("{path}/end"), &other)
                .is(200);
            assert_eq!(second["already"], true);
            assert_eq!(second["session"]["end"], end, "the first word counts");
            let listed = gateway
                .launcher()
                .get(&format!("{path}/checkpoints"))
                .is(200);
            assert_eq!(listed["items"].as_array().unwrap().len(), 1);
        }
        let nobody = "/v1/sessions/ses_019ad00000007000800000000000000a/end";
        let how = json!({ "outcome": "completed" });
        gateway
            .launcher()
            .post(nobody, &how)
            .problem(404, "not-found");
        let bad = [
            (json!({ "outcome": "signalled", "signal": 65 }), "signal"),
            (json!({ "outcome": "failed" }), "code"),
            (json!({ "outcome": "expired" }), "outcome"),
        ];
        let created = gateway.launcher().create(&base("five"));
        let path = format!("/v1/sessions/{}/end", id(&created));
        for (how, word) in bad {
            let reply = gateway.launcher().post(&path, &how);
            assert!(
                reply.status == 400 && reply.text.contains(word),
                "{}",
                reply.text
            );
        }
        assert_eq!(audited(&gateway, "session.ended").len(), 4);
    });
}

#[test]
fn a_session_that_ended_is_free_for_another_driver_at_once() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        // For ten minutes, which nobody waits for.
        let (first, head) = own.lease(&session, "one");
        let how = json!({ "outcome": "completed" });
        let path = format!("/v1/sessions/{session}/end");
        assert_eq!(own.post(&path, &how).is(200)["already"], false);
        let (second, _) = own.lease(&session, "two");
        assert!(second > first, "{second} after {first}");
        own.turn(&session, "t1", &turn_body(first, head, "t1"))
            .unwrap()
            .problem(409, "fenced");
        // The session was ended once: a second end takes nothing away from its new driver.
        assert_eq!(own.post(&path, &how).is(200)["already"], true);
        own.turn(&session, "t2", &turn_body(second, head, "t2"))
            .unwrap()
            .is(200);
    });
}

#[test]
fn a_driver_that_has_a_turn_open_keeps_a_session_that_ended() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        let path = format!("/v1/sessions/{session}");
        let (epoch, head) = own.lease(&session, "one");
        let turn = turn_body(epoch, head, "t1");
        own.post(&format!("{path}/turns/t1/open"), &turn).is(200);
        let how = json!({ "outcome": "completed" });
        own.post(&format!("{path}/end"), &how).is(200);
        let other = json!({ "holder": "other", "nonce": "two", "term_ms": 30_000 });
        own.post(&format!("{path}/lease"), &other)
            .problem(409, "leased");
    });
}

#[test]
fn ends_that_come_at_once_end_a_session_once() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        for round in 0..10 {
            let created = gateway.launcher().create(&base(&format!("egg-{round}")));
            let path = format!("/v1/sessions/{}/end", id(&created));
            let how = json!({ "outcome": "completed" });
            let already: Vec<bool> = std::thread::scope(|scope| {
                let end = |_| {
                    let (launcher, path, how) = (gateway.launcher(), &path, &how);
                    scope.spawn(move || launcher.post(path, how).is(200)["already"] == true)
                };
                let all: Vec<_> = (0..4).map(end).collect();
                all.into_iter().map(|t| t.join().unwrap()).collect()
            });
            assert_eq!(already.iter().filter(|a| !**a).count(), 1, "{already:?}");
        }
        assert_eq!(
            store.sql("SELECT count(*) FROM checkpoints WHERE kind = 'end'"),
            "10"
        );
        assert_eq!(audited(&gateway, "session.ended").len(), 10);
    });
}

#[test]
fn the_101st_heartbeat_within_an_hour_is_too_many() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let other = gateway.launcher().create(&base("two"));
        let path = |of| format!("/v1/sessions/{}/keep-alive", id(of));
        let session = gateway.client(&secret(&created));
        let first = session.poke(&path(&created)).is(200);
        assert!(first["last_at"].as_str() > created["session"]["last_at"].as_str());
        for _ in 1..100 {
            session.poke(&path(&created)).is(200);
        }
        let many = session.poke(&path(&created));
        many.problem(429, "rate-limited");
        let wait: u64 = many.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=3600).contains(&wait), "{wait}");
        // Nobody else waits for that.
        gateway.client(&secret(&other)).poke(&path(&other)).is(200);
        let nobody = "/v1/sessions/ses_019ad00000007000800000000000000a/keep-alive";
        gateway.launcher().poke(nobody).problem(404, "not-found");
    });
}

#[test]
fn a_token_that_another_one_took_the_place_of_holds_for_a_minute_more() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let path = format!("/v1/sessions/{}", id(&created));
        let other = gateway.launcher().poke(&format!("{path}/token")).is(201);
        let newer = other["secret"].as_str().unwrap();
        for token in [newer, &secret(&created)] {
            gateway.client(token).get(&path).is(200);
        }
        let replaced = "SELECT count(*) FROM tokens WHERE replaced_by IS NOT NULL";
        assert_eq!(store.sql(replaced), "1");
        // The minute goes by.
        store.sql("UPDATE tokens SET expires_at = expires_at - 61000000000");
        gateway.restart(store);
        gateway
            .client(&secret(&created))
            .get(&path)
            .problem(401, "token-expired");
        gateway.client(newer).get(&path).is(200);
        // A session itself cannot make a new one.
        gateway
            .client(newer)
            .poke(&format!("{path}/token"))
            .problem(403, "forbidden");
    });
}
