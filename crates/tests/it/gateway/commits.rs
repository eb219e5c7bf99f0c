//! Checkpoints, the commits that sessions claim, and lists by what is attached.

use serde_json::{Value, json};

use super::client::{id, links, secret};
use super::server::{Gateway, base, each_store, linked};

fn claim(repository: &str, commit: &str) -> Value {
    json!({ "commit": { "repository": repository, "commit": commit } })
}

fn oid(letter: char) -> String {
    letter.to_string().repeat(40)
}

#[test]
fn each_commit_that_is_claimed_is_one_checkpoint() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("one"));
        let path = format!("/v1/sessions/{}/checkpoints", id(&created));
        let session = gateway.client(&secret(&created));
        for letter in ['a', 'b', 'c'] {
            let body = claim("github.com/o/r", &oid(letter));
            let recorded = session.post(&path, &body).is(201);
            assert_eq!(recorded["checkpoint"]["commit"], oid(letter));
            assert_eq!(recorded["checkpoint"]["repository"], "github.com/o/r");
        }
        let again = session.post(&path, &claim("github.com/o/r", &oid('c')));
        assert_eq!(again.is(200)["already"], true);
        let listed = session.get(&path).is(200);
        let commits: Vec<&Value> = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| &c["commit"])
            .collect();
        assert_eq!(
            commits,
            [&json!(oid('c')), &json!(oid('b')), &json!(oid('a'))]
        );
        for bad in ["", "abc", &"A".repeat(40), &"g".repeat(40)] {
            let reply = session.post(&path, &claim("github.com/o/r", bad));
            reply.refuses("commit.commit");
        }
        let reply = session.post(&path, &claim("/etc", &oid('a')));
        reply.refuses("commit.repository");
    });
}

#[test]
fn a_checkpoint_of_a_silent_session_keeps_what_is_attached() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let attached = json!({ "issue_number": 42, "phase": "implement" });
        let created = gateway.launcher().create(&linked("one", &attached));
        let path = format!("/v1/sessions/{}/checkpoints", id(&created));
        let body = claim("github.com/o/r", &oid('a'));
        let recorded = gateway.client(&secret(&created)).post(&path, &body).is(201);
        let pin = &recorded["checkpoint"]["pins"][0];
        assert_eq!(pin["sequence"], 0);
        assert_eq!(links(pin), ["issue_number=42", "phase=implement"]);
    });
}

#[test]
fn sessions_are_listed_by_each_filter_newest_first() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let mut all = Vec::new();
        for n in 0..8_u32 {
            let bit = |b: u32| n & b != 0;
            let attached = json!({
                "issue_number": if bit(1) { 42 } else { 43 },
                "agent_role": if bit(2) { "coder" } else { "tester" },
                "phase": if bit(4) { "implement" } else { "plan" },
                "pr_number": n + 1, "pipeline_id": format!("p{n}"), "labels": { "n": n.to_string() },
            });
            all.push(id(&launcher.create(&linked(&format!("egg-{n}"), &attached))));
        }
        let again = json!({ "issue_number": 42, "agent_role": "coder", "phase": "implement" });
        all.push(id(&launcher.create(&linked("egg-8", &again))));
        let matching_sessions = |query: &str| {
            let page = launcher.get(&format!("/v1/sessions?{query}")).is(200);
            let page = page["items"].as_array().unwrap().clone();
            let ids = page.iter().map(|s| s["id"].as_str().unwrap().to_owned());
            let at = ids.map(|id| all.iter().position(|a| *a == id).unwrap());
            at.collect::<Vec<_>>()
        };
        assert_eq!(
            matching_sessions("issue_number=42&agent_role=coder&phase=implement"),
            [8, 7]
        );
        assert_eq!(
            matching_sessions("issue_number=42&agent_role=coder"),
            [8, 7, 3]
        );
        assert_eq!(
            matching_sessions("issue_number=43&agent_role=tester&phase=plan"),
            [0]
        );
        assert_eq!(matching_sessions("pr_number=6"), [5]);
        assert_eq!(matching_sessions("pipeline_id=p2"), [2]);
        assert_eq!(matching_sessions("label=n%3D4"), [4]);
        assert_eq!(matching_sessions("label=n%3D4&label=n%3D5"), [0; 0]);
        assert_eq!(matching_sessions("issue_number=42&pr_number=1"), [0; 0]);
        assert_eq!(matching_sessions("agent=claude-code&limit=2"), [8, 7]);
        assert_eq!(matching_sessions("agent=codex"), [0; 0]);
        assert_eq!(matching_sessions("repository=github.com/o/other"), [0; 0]);
        assert_eq!(matching_sessions("repository=github.com/o/r&limit=1"), [8]);
        // Page by page it is the same list.
        let (mut pages, mut path) = (Vec::new(), "/v1/sessions?limit=4".to_owned());
        loop {
            let page = launcher.get(&path).is(200);
            pages.extend(
                page["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|s| s["id"].clone()),
            );
            let Some(next) = page["next"].as_str() else {
                break;
            };
            path = format!("/v1/sessions?limit=4&cursor={next}");
        }
        let newest: Vec<Value> = all.iter().rev().map(|id| json!(id)).collect();
        assert_eq!(pages, newest);
        for (query, field) in [
            ("issue_number=0", "issue_number"),
            ("issue_number=4.2", "issue_number"),
            ("phase=%20plan", "phase"),
            ("label=n", "label"),
            ("limit=0", "limit"),
            ("limit=501", "limit"),
            ("state=closed", "state"),
            ("cursor=x", "cursor"),
            ("isue_number=42", "isue_number"),
            ("issue_number=1&issue_number=2", "issue_number"),
        ] {
            launcher
                .get(&format!("/v1/sessions?{query}"))
                .refuses(field);
        }
    });
}

#[test]
fn checkpoints_that_come_at_once_are_all_listed() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        std::thread::scope(|scope| {
            for n in 0..10 {
                let launcher = gateway.launcher();
                scope.spawn(move || {
                    let created = launcher.create(&base(&format!("egg-{n}")));
                    let path = format!("/v1/sessions/{}/checkpoints", id(&created));
                    let repository = format!("github.com/o/r{}", n % 2);
                    let commit = oid(char::from_digit(n, 16).unwrap());
                    launcher.post(&path, &claim(&repository, &commit)).is(201);
                });
            }
        });
        let listed = gateway.launcher().get("/v1/checkpoints").is(200);
        let listed = listed["items"].as_array().unwrap();
        assert_eq!(listed.len(), 10);
        for n in 0..10 {
            let commit = oid(char::from_digit(n, 16).unwrap());
            let of: Vec<_> = listed.iter().filter(|c| c["commit"] == commit).collect();
            assert_eq!(of.len(), 1, "{commit}");
            assert_eq!(of[0]["repository"], format!("github.com/o/r{}", n % 2));
            let one = gateway.launcher().get(&format!(
                "/v1/checkpoints/{}",
                of[0]["id"].as_str().unwrap()
            ));
            assert_eq!(&one.is(200), of[0]);
        }
    });
}

#[test]
fn two_sessions_that_claim_one_commit_are_both_named() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let made = ["one", "two"].map(|name| {
            let created = launcher.create(&linked(name, &json!({ "agent_role": name })));
            let path = format!("/v1/sessions/{}/checkpoints", id(&created));
            let own = gateway.client(&secret(&created));
            own.post(&path, &claim("github.com/o/r", &oid('d'))).is(201);
            id(&created)
        });
        let why = launcher.get(&format!("/v1/commits/{}", oid('d'))).is(200);
        let commit = &why["items"][0];
        assert_eq!(commit["repository"], "github.com/o/r", "{why}");
        for session in made {
            assert!(
                commit.to_string().contains(&session),
                "{session} is missing: {commit:#}"
            );
        }
        // Somebody's own word is no proof.
        assert_eq!(commit["committer"]["verdict"], "unknown", "{commit:#}");
        launcher
            .get(&format!("/v1/commits/{}", oid('e')))
            .problem(404, "not-found");
    });
}

#[test]
fn a_pull_request_that_is_made_later_is_in_all_checkpoints() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let created = gateway
            .launcher()
            .create(&linked("one", &json!({ "issue_number": 42 })));
        let path = format!("/v1/sessions/{}", id(&created));
        let session = gateway.client(&secret(&created));
        let checkpoints = format!("{path}/checkpoints");
        session
            .post(&checkpoints, &claim("github.com/o/r", &oid('a')))
            .is(201);
        let attached = session
            .post(&format!("{path}/links"), &json!({ "pr_number": 7 }))
            .is(200);
        assert_eq!(links(&attached), ["issue_number=42", "pr_number=7"]);
        let event = attached["events"].as_array().unwrap().last().unwrap();
        assert!(
            event["by"].is_string() && event["at"].is_string(),
            "{event}"
        );
        session
            .post(&checkpoints, &claim("github.com/o/r", &oid('b')))
            .is(201);
        for checkpoint in session.get(&checkpoints).is(200)["items"]
            .as_array()
            .unwrap()
        {
            assert_eq!(
                links(&checkpoint["pins"][0]),
                ["issue_number=42", "pr_number=7"]
            );
        }
        let listed = gateway.launcher().get("/v1/sessions?pr_number=7").is(200);
        assert_eq!(listed["items"][0]["id"], created["session"]["id"]);
        let changed = super::server::audited(&gateway, "link.attached");
        assert_eq!(changed.len(), 1, "{changed:?}");
    });
}
