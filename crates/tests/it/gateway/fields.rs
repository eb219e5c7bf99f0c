//! Fields where nobody looks for them: taken at the one place beside their own, refused everywhere else. None vanishes.

use serde_json::{Value, json};

use super::client::{id, links, secret};
use super::created::{ALL, all};
use super::server::{Gateway, audited, base, each_store, linked};

/// A request with the fields of links beside the others.
fn beside(name: &str, links: &Value) -> Value {
    let mut body = base(name);
    for (field, value) in links.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

#[test]
fn links_beside_the_other_fields_are_attached() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = launcher.create(&beside("egg", &all()));
        assert_eq!(links(&created["session"]), ALL);
        // Half here and half there, and the same in both places, is the same thing.
        let mut both = linked(
            "both",
            &json!({ "issue_number": 42, "labels": { "a": "b" } }),
        );
        both["issue_number"] = json!(42);
        both["phase"] = json!("plan");
        both["labels"] = json!({ "a": "b", "c": "d" });
        let created = launcher.create(&both);
        let wanted = ["issue_number=42", "phase=plan", "label=a=b", "label=c=d"];
        assert_eq!(links(&created["session"]), wanted);
        // The one validator judges them.
        launcher
            .post(
                "/v1/sessions",
                &beside("bad", &json!({ "issue_number": "42" })),
            )
            .refuses("issue_number");
    });
}

#[test]
fn links_that_differ_in_both_places_are_refused() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        for (inside, outside, field) in [
            (
                json!({ "issue_number": 42 }),
                ("issue_number", json!(43)),
                "issue_number",
            ),
            (
                json!({ "labels": { "a": "b" } }),
                ("labels", json!({ "a": "c" })),
                "label",
            ),
        ] {
            let mut body = linked("differ", &inside);
            body[outside.0] = outside.1;
            launcher.post("/v1/sessions", &body).refuses(field);
        }
        let listed = launcher.get("/v1/sessions").is(200);
        assert_eq!(listed["items"], json!([]), "nothing was created");
    });
}

#[test]
fn a_field_that_nobody_knows_is_refused_with_its_path_and_the_nearest_name() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let mut wrong = base("one");
        wrong["isue_number"] = json!(42);
        let problem = launcher.post("/v1/sessions", &wrong).refuses("isue_number");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains("did you mean `issue_number`?"), "{problem}");
        let problem = launcher
            .post("/v1/sessions", &linked("two", &json!({ "fase": "plan" })))
            .refuses("links.fase");
        assert!(
            problem["detail"].as_str().unwrap().contains("`phase`"),
            "{problem}"
        );
        let message = json!({ "agent": "claude-code", "issue_numbr": 1,
            "messages": [{ "role": "user", "content": "go" }] });
        launcher
            .post("/v1/messages", &message)
            .refuses("issue_numbr");
        let resolve = json!({ "agent": "claude-code", "route_key": "r", "couse": "message" });
        launcher
            .post("/v1/contexts/resolve", &resolve)
            .refuses("couse");
        let created = launcher.create(&base("three"));
        let (path, own) = (
            format!("/v1/sessions/{}", id(&created)),
            gateway.client(&secret(&created)),
        );
        own.post(&format!("{path}/checkpoints"), &json!({ "comit": {} }))
            .refuses("comit");
        own.post(
            &format!("{path}/end"),
            &json!({ "outcome": "completed", "kode": 1 }),
        )
        .refuses("kode");
        let event = json!({ "events": [{ "kind": "planned", "phase_s": ["a"] }] });
        launcher
            .post("/v1/pipelines/p-1/events", &event)
            .refuses("events[0].phase_s");
    });
}

#[test]
fn a_parameter_that_nobody_knows_is_refused_on_every_route() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = launcher.create(&base("one"));
        let problem = launcher
            .get("/v1/sessions?isue_number=1")
            .refuses("isue_number");
        assert!(
            problem["detail"]
                .as_str()
                .unwrap()
                .contains("`issue_number`"),
            "{problem}"
        );
        // These take none at all.
        let path = format!("/v1/sessions/{}?verbose=1", id(&created));
        launcher.get(&path).refuses("verbose");
        launcher
            .post("/v1/sessions?issue_number=1", &base("two"))
            .refuses("issue_number");
    });
}

#[test]
fn numbers_are_answered_as_numbers() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = launcher.create(&linked("one", &all()));
        let number = |of: &Value| {
            let links = of["links"].as_array().unwrap();
            let value = |field: &str| {
                let link = links.iter().find(|l| l["field"] == field).unwrap();
                link["value"].clone()
            };
            assert_eq!(value("issue_number"), 42, "{of}");
            assert_eq!(value("pr_number"), 701, "{of}");
            assert_eq!(value("phase"), "implement", "{of}");
        };
        number(&created["session"]);
        let path = format!("/v1/sessions/{}", id(&created));
        let own = gateway.client(&secret(&created));
        let listed = own.get(&format!("{path}/links")).is(200);
        number(&listed);
        assert_eq!(listed["events"][0]["value"], 42, "{listed}");
        let recorded = own.post(&format!("{path}/checkpoints"), &json!({})).is(201);
        number(&recorded["checkpoint"]["pins"][0]);
        // The audit has them by field, both as they came with the session and as they were attached later.
        let more = json!({ "issue_number": 43, "pr_number": 702 });
        own.post(&format!("{path}/links"), &more).is(200);
        for (action, issue, pr) in [("session.created", 42, 701), ("link.attached", 43, 702)] {
            let links = &audited(&gateway, action)[0]["body"]["links"];
            assert_eq!(links["issue_number"], json!([issue]), "{action}");
            assert_eq!(links["pr_number"], json!([pr]), "{action}");
        }
    });
}

#[test]
fn what_cannot_be_seen_is_no_character_of_a_link() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        for hidden in [
            '\u{200b}',
            '\u{feff}',
            '\u{202e}',
            '\u{2028}',
            '\u{2029}',
            '\u{ad}',
            '\u{2066}',
            '\u{e0041}',
            '\u{fffe}',
            '\u{3164}',
        ] {
            for field in ["pipeline_id", "agent_role", "phase"] {
                let value = format!("co{hidden}der");
                launcher
                    .post("/v1/sessions", &linked("hidden", &json!({ field: value })))
                    .refuses(&format!("links.{field}"));
            }
            let label = json!({ "labels": { "team": format!("a{hidden}b") } });
            launcher
                .post("/v1/sessions", &linked("hidden", &label))
                .refuses("links.label");
        }
        // Letters of all scripts, and signs that somebody has a font for, are what they were.
        for (at, text) in ["größe", "開発", "разработка", "naïve", "🦀", "\u{e000}"]
            .into_iter()
            .enumerate()
        {
            let created = launcher.create(&linked(
                &format!("seen-{at}"),
                &json!({ "agent_role": text }),
            ));
            assert_eq!(links(&created["session"]), [format!("agent_role={text}")]);
        }
    });
}

#[test]
fn checkpoints_are_listed_by_what_their_sessions_work_for() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let mut made = Vec::new();
        for (name, phase) in [("one", "plan"), ("two", "build")] {
            let wanted = json!({ "issue_number": 42, "phase": phase, "labels": { "team": name } });
            let created = launcher.create(&linked(name, &wanted));
            let path = format!("/v1/sessions/{}/checkpoints", id(&created));
            let recorded = gateway
                .client(&secret(&created))
                .post(&path, &json!({}))
                .is(201);
            made.push(recorded["checkpoint"]["id"].clone());
        }
        let listed = |query: &str| -> Vec<Value> {
            let page = launcher.get(&format!("/v1/checkpoints?{query}")).is(200);
            let all = page["items"].as_array().unwrap().iter();
            all.map(|c| c["id"].clone()).collect()
        };
        assert_eq!(
            listed("issue_number=42"),
            [made[1].clone(), made[0].clone()]
        );
        assert_eq!(listed("issue_number=42&limit=1"), made[1..]);
        for filter in ["", "issue_number=42&"] {
            let first = launcher
                .get(&format!("/v1/checkpoints?{filter}limit=1"))
                .is(200);
            let next = first["next"].as_str().expect("there is another page");
            let path = format!("/v1/checkpoints?{filter}limit=1&cursor={next}");
            let last = launcher.get(&path).is(200);
            assert_eq!(last["items"][0]["id"], made[0]);
            assert_eq!(last["next"], Value::Null);
        }
        let nowhere = format!("/v1/checkpoints?cursor=chk_{:032x}", 1);
        launcher.get(&nowhere).problem(404, "not-found");
        launcher.get("/v1/checkpoints?cursor=1").refuses("cursor");
        assert_eq!(listed("issue_number=42&phase=plan"), made[..1]);
        assert_eq!(listed("label=team%3Dtwo"), made[1..]);
        assert_eq!(listed("issue_number=4"), made[..0]);
        assert_eq!(listed("repository=github.com/o/none"), made[..0]);
    });
}
