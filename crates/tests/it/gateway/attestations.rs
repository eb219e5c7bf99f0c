//! Commits that no hook saw, as trusted platforms attest them.

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Scope};
use siglum_domain::link::NUMBER_MAX;

use super::client::{Client, id, secret};
use super::server::{
    Gateway, audited, base, each_store, limited_token, revoke, siglum, stored, tenant, token_for,
};
use crate::faults::store::Store;

fn oid(letter: char) -> String {
    letter.to_string().repeat(40)
}

fn body(letter: char) -> Value {
    json!({ "commit": oid(letter), "repository": "github.com/o/r", "platform": "Acme Forge" })
}

/// A platform that may attest.
pub(super) fn platform(store: &Store, gateway: &Gateway) -> Client {
    gateway.client(&token_for(store, tenant(store), Scope::Attester, None).0)
}

fn path(session: &str) -> String {
    format!("/v1/sessions/{session}/commits")
}

/// The only record of a commit.
#[track_caller]
fn record(gateway: &Gateway, letter: char) -> Value {
    let found = gateway
        .launcher()
        .get(&format!("/v1/commits/{}", oid(letter)));
    let mut found = found.is(200);
    let items = found["items"].as_array_mut().unwrap();
    assert_eq!(items.len(), 1, "{items:?}");
    items.remove(0)
}

#[test]
fn a_platform_attests_a_commit_once_and_every_answer_says_so() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let platform = platform(store, &gateway);
        let session = id(&platform.create(&base("S1")));
        let first = platform.post(&path(&session), &body('a')).is(201);
        assert_eq!(
            (&first["already"], &first["commit"]),
            (&json!(false), &json!(oid('a')))
        );
        assert_eq!(first["repository"], "github.com/o/r");
        let again = platform.post(&path(&session), &body('a')).is(200);
        assert_eq!(again["attestation"], first["attestation"]);
        let shown = record(&gateway, 'a');
        let committer = &shown["committer"];
        assert_eq!(
            (
                &committer["kind"],
                &committer["session"],
                &committer["verdict"]
            ),
            (&json!("session"), &json!(session), &json!("likely")),
            "{shown}"
        );
        let evidence = &committer["evidence"][0];
        assert_eq!(evidence["basis"], "attested", "{shown}");
        let text = evidence["text"].as_str().unwrap();
        assert!(
            text.starts_with("attested by token tests of Acme Forge at "),
            "{text}"
        );
        assert_eq!(shown["attestations"], json!([first["attestation"]]));
        assert_eq!(committer["conversation_id"], "S1", "{shown}");
        let asked = json!({ "commits": [oid('a'), oid('b')] });
        let explained = gateway.launcher().post("/v1/commits/explain", &asked);
        let explained = explained.is(200);
        let [answer] = explained["items"].as_array().unwrap().as_slice() else {
            panic!("{explained}");
        };
        assert_eq!(answer["judgement"]["rule"], "attested", "{answer}");
        let entries = audited(&gateway, "commit.attested");
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!(entries[0]["session"], session, "{entries:?}");
        let verified = siglum(store, &["audit", "verify"]);
        assert_eq!(verified["sound"], true, "{verified}");
    });
}

#[test]
fn two_attested_sessions_are_ambiguous_until_one_is_withdrawn() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let platform = platform(store, &gateway);
        let [one, two] = ["S1", "S2"].map(|name| id(&platform.create(&base(name))));
        for session in [&one, &two] {
            platform.post(&path(session), &body('a')).is(201);
        }
        let shown = record(&gateway, 'a');
        assert_eq!(shown["committer"]["verdict"], "ambiguous", "{shown}");
        assert_eq!(shown["candidates"].as_array().unwrap().len(), 2, "{shown}");
        let withdraw = |session: &str| {
            let of = format!("{}/{}", path(session), oid('a'));
            platform.ask("DELETE", &of, None).unwrap().status
        };
        assert_eq!([withdraw(&one), withdraw(&one)], [204, 204]);
        assert_eq!(audited(&gateway, "attestation.withdrawn").len(), 1);
        assert_eq!(record(&gateway, 'a')["committer"]["session"], two.as_str());
        assert_eq!(withdraw(&two), 204);
        let gone = gateway.launcher().get(&format!("/v1/commits/{}", oid('a')));
        gone.problem(404, "not-found");
        platform.post(&path(&two), &body('a')).is(201);
        // With other fields it is another statement.
        let mut other = body('a');
        other["tree"] = json!(oid('c'));
        platform.post(&path(&two), &other).problem(409, "taken");
    });
}

#[test]
fn only_a_token_that_may_attest_does_and_a_revoked_one_no_more() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let (token, token_id) = token_for(store, tenant(store), Scope::Attester, None);
        let platform = gateway.client(&token);
        let created = platform.create(&base("S1"));
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        for other in [&gateway.launcher(), &own] {
            other
                .post(&path(&session), &body('a'))
                .problem(403, "forbidden");
            let of = format!("{}/{}", path(&session), oid('a'));
            let refused = other.ask("DELETE", &of, None).unwrap();
            refused.problem(403, "forbidden");
        }
        platform.post(&path(&session), &body('a')).is(201);
        revoke(store, tenant(store), token_id);
        // Also where the gateway let it in a moment ago.
        let refused = platform.post(&path(&session), &body('b'));
        refused.problem(401, "token-revoked");
        let shown = record(&gateway, 'a');
        assert_eq!(shown["committer"]["session"], session, "{shown}");
        assert!(
            shown["attestations"][0]["token_revoked_at"].is_string(),
            "{shown}"
        );
        let text = shown["committer"]["evidence"][0]["text"].as_str().unwrap();
        assert!(text.contains("the token was revoked at"), "{text}");
    });
}

#[test]
fn a_token_that_attests_is_made_on_the_command_line() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let made = siglum(
            store,
            &["token", "create", "--name", "acme bot", "--attests"],
        );
        assert_eq!(made["token"]["scope"], "attester", "{made}");
        let platform = gateway.client(made["secret"].as_str().unwrap());
        let session = id(&platform.create(&base("S1")));
        let attested = platform.post(&path(&session), &body('a')).is(201);
        assert_eq!(attested["attestation"]["token_name"], "acme bot");
        let of = made["token"]["id"].as_str().unwrap();
        let rotated = siglum(store, &["token", "rotate", of]);
        assert_eq!(rotated["token"]["scope"], "attester", "{rotated}");
    });
}

#[test]
fn hostile_input_is_refused_by_its_field_and_leaves_nothing() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let platform = platform(store, &gateway);
        let session = id(&platform.create(&base("S1")));
        let before = stored(store, &gateway);
        let long = "x".repeat(65);
        for (field, bad) in [
            ("commit", json!("HEAD")),
            ("commit", json!("../../etc/passwd")),
            ("commit", json!(NUMBER_MAX)),
            ("repository", json!("/etc")),
            ("repository", json!("https://user:secret@github.com/o/r")),
            ("repository", json!("rep_019ad0000000700080000000000000ff")),
            ("platform", json!("a\u{1b}[31mb")),
            ("platform", json!("a\u{202e}b")),
            ("platform", json!(long)),
            ("tree", json!("b".repeat(64))),
            ("parents", json!(vec![oid('b'); 65])),
            ("committed_at", json!("now")),
        ] {
            let mut body = body('a');
            body[field] = bad;
            platform.post(&path(&session), &body).refuses(field);
        }
        let of = format!("{}/HEAD", path(&session));
        let refused = platform.ask("DELETE", &of, None).unwrap();
        refused.refuses("commit");
        let nobody = "ses_019ad0000000700080000000000000ff";
        platform
            .post(&path(nobody), &body('a'))
            .problem(404, "not-found");
        let of = format!("{}/{}", path(nobody), oid('a'));
        let refused = platform.ask("DELETE", &of, None).unwrap();
        refused.problem(404, "not-found");
        assert_eq!(stored(store, &gateway), before);
    });
}

#[test]
fn a_token_of_a_repository_attests_there_alone_and_sees_no_attestation_elsewhere() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let whole = platform(store, &gateway);
        let mut both = base("S1");
        both["repositories"] = json!(["github.com/o/r", "github.com/o/other"]);
        let session = id(&whole.create(&both));
        let limits = Limits::new([], ["github.com/o/r".to_owned()]).unwrap();
        let (token, _) = limited_token(store, tenant(store), Scope::Attester, limits, None);
        let limited = gateway.client(&token);
        let mut elsewhere = body('a');
        elsewhere["repository"] = json!("github.com/o/other");
        limited
            .post(&path(&session), &elsewhere)
            .problem(403, "forbidden");
        whole.post(&path(&session), &elsewhere).is(201);
        let hidden = format!("/v1/commits/{}", oid('a'));
        limited.get(&hidden).problem(404, "not-found");
        let asked = json!({ "commits": [oid('a')] });
        let explained = limited.post("/v1/commits/explain", &asked).is(200);
        assert_eq!(explained["items"], json!([]));
        let of = format!("{}/{}", path(&session), oid('a'));
        assert_eq!(limited.ask("DELETE", &of, None).unwrap().status, 204);
        let stands = record(&gateway, 'a');
        assert_eq!(stands["committer"]["verdict"], "likely", "{stands}");
        limited.post(&path(&session), &body('b')).is(201);
        let own = limited.get(&format!("/v1/commits/{}", oid('b'))).is(200);
        assert_eq!(own["items"][0]["committer"]["session"], session, "{own}");
    });
}
