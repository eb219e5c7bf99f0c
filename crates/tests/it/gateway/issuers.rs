//! Tokens of issuers: whose are taken, what they are worth, and under which name they stand in the audit.

use serde_json::{Value, json};
use siglum_domain::access::Scope;
use siglum_domain::base64url;

use super::client::id;
use super::server::{
    Gateway, Store, audited, base, each_store, on_a_file, refused, siglum, tenant, token, token_for,
};
use crate::harness::issuer::{AUDIENCE, CLIENT};
use crate::harness::{Issuer, SigningKey, issuer, until};

/// What people are granted: developers read, and administrators may everything.
pub(super) const PEOPLE: &str = r#"
[[issuer.corp.grant]]
claims = { groups = "admins" }
may = ["sync", "read", "run", "drive", "admin"]

[[issuer.corp.grant]]
claims = { groups = "dev" }
may = ["sync", "read"]
"#;

/// What jobs are granted.
pub(super) const JOBS: &str = r#"
[[issuer.corp.grant]]
claims = { repository_owner = "acme", ref = "refs/heads/*" }
may = ["sync", "read", "drive"]
repositories = ["github.com/{repository}"]
"#;

/// Writes the configuration of whoever serves a store.
pub(super) fn configure(store: &Store, text: &str) {
    let dir = store.world.home().join(".config/siglum");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("config.toml"), text).unwrap();
}

/// The configuration with an issuer and its grants.
fn configured(store: &Store, issuer: &Issuer, grants: &str) -> String {
    let (url, tenant) = (&issuer.url, tenant(store));
    format!(
        "[issuer.corp]\nurl = \"{url}\"\naudience = \"{AUDIENCE}\"\nclient_id = \"{CLIENT}\"\ntenant = \"{tenant}\"\n{grants}"
    )
}

/// A gateway that takes the tokens of an issuer.
pub(super) fn serving(store: &Store, issuer: &Issuer, grants: &str) -> Gateway {
    configure(store, &configured(store, issuer, grants));
    Gateway::start(store)
}

fn ed25519() -> SigningKey {
    SigningKey::ed25519("a", 1)
}

#[test]
fn who_has_a_token_of_an_issuer_may_what_the_first_grant_that_fits_gives() {
    each_store(|store| {
        for key in [ed25519(), SigningKey::p256("b"), SigningKey::rsa("c")] {
            let issuer = Issuer::start(key);
            let gateway = serving(store, &issuer, PEOPLE);
            let ann = gateway.client(&issuer.token(&json!({})));
            ann.get("/v1/sessions").is(200);
            ann.post("/v1/sessions", &base("S1"))
                .problem(403, "forbidden");
            ann.get("/v1/audit").problem(403, "forbidden");
            let admin = json!({ "sub": "8", "groups": ["dev", "admins"] });
            let admin = gateway.client(&issuer.token(&admin));
            admin.get("/v1/audit").is(200);
            let nobody = gateway.client(&issuer.token(&json!({ "groups": ["ops"] })));
            nobody.get("/v1/sessions").problem(403, "forbidden");
            // The gateway's own tokens are what they were.
            gateway.launcher().get("/v1/sessions").is(200);
            let (reader, _) = token_for(store, tenant(store), Scope::Read, None);
            let reader = gateway.client(&reader);
            reader.get("/v1/sessions").problem(403, "forbidden");
        }
    });
}

/// What is wrong with a token, the token, and the code of the refusal.
type BadToken = (&'static str, String, &'static str);

/// Tokens that the issuer did not sign, or not so that it counts.
fn forged(issuer: &Issuer) -> Vec<BadToken> {
    let own = ed25519();
    let claims = issuer.claims(&json!({}));
    let with = |header: Value| issuer::token(&header, &claims, |message| own.sign(message));
    let jwk = own.jwk();
    let text = jwk["x"].as_str().unwrap();
    // Whoever takes any algorithm takes the public key for a secret that both sides have.
    let by_secret = |secret: &[u8]| {
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
        let header = json!({ "alg": "HS256", "kid": "a" });
        issuer::token(&header, &claims, |message| {
            ring::hmac::sign(&key, message).as_ref().to_vec()
        })
    };
    let none = json!({ "alg": "none", "kid": "a" });
    let unsigned = issuer::token(&none, &claims, |_| Vec::new());
    let extended = json!({ "alg": "EdDSA", "kid": "a", "crit": ["x"] });
    let with_key = json!({ "alg": "EdDSA", "kid": "z", "jwk": jwk });
    let good = issuer.token(&json!({}));
    let (signed, _) = good.rsplit_once('.').unwrap();
    let other = SigningKey::ed25519("a", 9).token(&claims);
    let of_other_alg = |alg: &str| with(json!({ "alg": alg, "kid": "a" }));
    let secret = by_secret(text.as_bytes());
    let raw_secret = by_secret(&base64url::decode(text).unwrap());
    vec![
        (
            "no algorithm",
            with(json!({ "kid": "a" })),
            "token-malformed",
        ),
        ("none", unsigned, "token-malformed"),
        ("another case", of_other_alg("nOnE"), "token-malformed"),
        ("not taken", of_other_alg("ES384"), "token-malformed"),
        ("of another key", of_other_alg("RS256"), "token-invalid"),
        ("a secret", secret, "token-malformed"),
        ("a secret in bytes", raw_secret, "token-malformed"),
        ("an extension", with(extended), "token-malformed"),
        ("its own key", with(with_key), "token-invalid"),
        ("no signature", format!("{signed}."), "token-invalid"),
        ("two parts", signed.to_owned(), "token-malformed"),
        ("another signature", other, "token-invalid"),
        ("no token", "x".to_owned(), "token-malformed"),
        (
            "one of ours",
            "siglum_default_0".to_owned(),
            "token-malformed",
        ),
    ]
}

/// Tokens that the issuer signed for somebody else, or for another time.
fn for_others(issuer: &Issuer) -> Vec<BadToken> {
    let now = siglum_platform::clock::now().seconds();
    let long = "x".repeat(17 << 10);
    [
        (
            "another audience",
            json!({ "aud": "other" }),
            "token-invalid",
        ),
        ("no audience", json!({ "aud": [] }), "token-invalid"),
        (
            "another issuer",
            json!({ "iss": "https://a.example" }),
            "token-unknown",
        ),
        ("no issuer", json!({ "iss": 7 }), "token-unknown"),
        ("expired", json!({ "exp": now - 1 }), "token-expired"),
        ("no expiry", json!({ "exp": "never" }), "token-invalid"),
        ("not yet", json!({ "nbf": now + 3_600 }), "token-invalid"),
        ("nobody", json!({ "sub": "" }), "token-invalid"),
        ("huge", json!({ "groups": long }), "token-malformed"),
    ]
    .map(|(what, claims, code)| (what, issuer.token(&claims), code))
    .to_vec()
}

#[test]
fn a_token_that_is_not_quite_right_is_worth_nothing() {
    on_a_file(|store| {
        let issuer = Issuer::start(ed25519());
        let gateway = serving(store, &issuer, PEOPLE);
        for (what, token, code) in [forged(&issuer), for_others(&issuer)].concat() {
            let reply = gateway.client(&token).get("/v1/sessions");
            assert_eq!(reply.status, 401, "{what}: {}", reply.text);
            assert_eq!(reply.json()["code"], code, "{what}: {}", reply.text);
        }
        gateway
            .client(&issuer.token(&json!({})))
            .get("/v1/sessions")
            .is(200);
        let refusals = || audited(&gateway, "token.refused");
        let is_ours = |e: &Value| e["body"]["issuer"] == issuer.url;
        until("refusals are in the audit", || {
            refusals().iter().filter(|e| is_ours(e)).count() > 5
        });
        let refusals = refusals();
        assert!(!format!("{refusals:?}").contains("eyJ"), "{refusals:?}");
    });
}

#[test]
fn a_token_of_one_issuer_is_not_one_of_another() {
    on_a_file(|store| {
        let (one, two) = (
            Issuer::start(ed25519()),
            Issuer::start(SigningKey::ed25519("a", 2)),
        );
        let other = configured(store, &two, PEOPLE).replace(".corp", ".other");
        configure(
            store,
            &format!("{}{other}", configured(store, &one, PEOPLE)),
        );
        let gateway = Gateway::start(store);
        for issuer in [&one, &two] {
            let ann = gateway.client(&issuer.token(&json!({})));
            ann.get("/v1/sessions").is(200);
        }
        let forged = one.token(&json!({ "iss": two.url }));
        let reply = gateway.client(&forged).get("/v1/sessions");
        reply.problem(401, "token-invalid");
    });
}

#[test]
fn keys_are_fetched_again_when_they_change_and_kept_when_the_issuer_is_away() {
    on_a_file(|store| {
        let issuer = Issuer::start(ed25519());
        let gateway = serving(store, &issuer, PEOPLE);
        let ask = |token: &str| gateway.client(token).get("/v1/sessions");
        let before = issuer.token(&json!({}));
        ask(&before).is(200);
        issuer.rotate(SigningKey::ed25519("b", 2));
        let after = issuer.token(&json!({ "sub": "8" }));
        ask(&after).is(200);
        // Not the same text again, which is remembered for a second.
        let old = ed25519().token(&issuer.claims(&json!({ "sub": "9" })));
        ask(&old).problem(401, "token-invalid");
        issuer.set_away(true);
        ask(&issuer.token(&json!({ "sub": "10" }))).is(200);
        let unknown = SigningKey::ed25519("z", 3);
        let unknown = |n: u32| unknown.token(&issuer.claims(&json!({ "sub": n.to_string() })));
        ask(&unknown(1)).problem(503, "issuer-unavailable");
        issuer.set_away(false);
        // Whoever makes up keys does not make the gateway ask each time.
        for n in 0..30 {
            let reply = ask(&unknown(n));
            assert!([401, 503].contains(&reply.status), "{}", reply.text);
        }
        assert!(issuer.count("/keys") <= 8, "{}", issuer.count("/keys"));
        ask(&issuer.token(&json!({ "sub": "11" }))).is(200);
    });
}

#[test]
fn where_the_issuer_is_away_from_the_start_our_own_tokens_are_taken() {
    on_a_file(|store| {
        let issuer = Issuer::start(ed25519());
        issuer.set_away(true);
        let gateway = serving(store, &issuer, PEOPLE);
        gateway.launcher().get("/v1/sessions").is(200);
        let ann = gateway.client(&issuer.token(&json!({})));
        ann.get("/v1/sessions").problem(503, "issuer-unavailable");
        issuer.set_away(false);
        until("the issuer is asked again", || {
            ann.get("/v1/sessions").status == 200
        });
    });
}

#[test]
fn a_token_is_over_when_it_expires() {
    on_a_file(|store| {
        let issuer = Issuer::start(ed25519());
        let gateway = serving(store, &issuer, PEOPLE);
        let now = siglum_platform::clock::now().seconds();
        let ann = gateway.client(&issuer.token(&json!({ "exp": now + 6 })));
        ann.get("/v1/sessions").is(200);
        until("the token expires", || {
            let reply = ann.get("/v1/sessions");
            assert!([200, 401].contains(&reply.status), "{}", reply.text);
            reply.status == 401
        });
        assert!(siglum_platform::clock::now().seconds() >= now + 6);
        ann.get("/v1/sessions").problem(401, "token-expired");
    });
}

#[test]
fn the_audit_says_who_it_was_and_whose_word_that_is() {
    each_store(|store| {
        let issuer = Issuer::start(ed25519());
        let gateway = serving(store, &issuer, PEOPLE);
        let bob = json!({ "sub": "8", "email": "bob@example.org", "groups": ["admins"] });
        let bob = gateway.client(&issuer.token(&bob));
        let created = id(&bob.create(&base("S1")));
        let entries = audited(&gateway, "session.created");
        let entry = entries.iter().find(|e| e["session"] == created).unwrap();
        let actor = entry["actor"].as_str().unwrap();
        assert!(actor.starts_with("token tok_"), "{actor}");
        assert!(actor.ends_with(" bob@example.org (8) of corp"), "{actor}");
        let uses = || audited(&gateway, "token.used");
        until("the use is in the audit", || {
            uses().iter().any(|e| e["actor"] == actor)
        });
        let uses = uses();
        let use_of_bob = uses.iter().find(|e| e["actor"] == actor).unwrap();
        let body = &use_of_bob["body"];
        assert_eq!(body["issuer"], issuer.url, "{body}");
        assert_eq!(body["subject"], "8", "{body}");
        assert_eq!(body["may"].as_array().unwrap().len(), 5, "{body}");
        // No token of the store is its own; the session that it created has one, and says by whom.
        let listed = siglum(store, &["token", "list"]);
        let known = actor.split(' ').nth(1).unwrap();
        for token in listed["tokens"].as_array().unwrap() {
            assert_ne!(token["id"], known, "{token}");
            let is_of_session = token["session"] == created;
            assert_eq!(token["by"] == actor, is_of_session, "{token}");
        }
        // With another token it is the same one, who speaks for the session.
        let again =
            json!({ "sub": "8", "email": "bob@example.org", "groups": ["admins"], "jti": "2" });
        let again = gateway.client(&issuer.token(&again));
        again.get(&format!("/v1/sessions/{created}")).is(200);
    });
}

#[test]
fn a_job_writes_for_its_repository_alone() {
    each_store(|store| {
        let issuer = Issuer::start(SigningKey::rsa("ci"));
        let gateway = serving(store, &issuer, JOBS);
        let job = |repository: &str, branch: &str| {
            let owner = repository.split('/').next().unwrap();
            let subject = format!("repo:{repository}:ref:{branch}");
            let claims = json!({ "sub": subject, "repository": repository, "ref": branch,
                "repository_owner": owner, "email": null, "groups": null });
            gateway.client(&issuer.token(&claims))
        };
        let shop = job("acme/shop", "refs/heads/main");
        let session = |name: &str, repository: &str| {
            let mut body = base(name);
            body["repositories"] = json!([repository]);
            body
        };
        let own = id(&shop.create(&session("S1", "github.com/acme/shop")));
        let elsewhere = session("S2", "github.com/acme/other");
        shop.post("/v1/sessions", &elsewhere)
            .problem(403, "forbidden");
        let other = id(&gateway.launcher().create(&elsewhere));
        shop.get(&format!("/v1/sessions/{other}"))
            .problem(404, "not-found");
        let listed = shop.get("/v1/sessions").is(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed["items"][0]["id"], own, "{listed}");
        // A tag, somebody else's repository, and names that are none.
        for (repository, branch) in [
            ("acme/shop", "refs/tags/v1"),
            ("eve/shop", "refs/heads/main"),
            ("acme/../eve/shop", "refs/heads/main"),
            ("acme/shop other", "refs/heads/main"),
        ] {
            let refused = job(repository, branch).get("/v1/sessions");
            refused.problem(403, "forbidden");
        }
        let entries = audited(&gateway, "session.created");
        let actor = "repo:acme/shop:ref:refs/heads/main of corp";
        let is_job = |e: &&Value| e["actor"].as_str().unwrap().ends_with(actor);
        assert_eq!(entries.iter().filter(is_job).count(), 1, "{entries:?}");
    });
}

#[test]
fn a_configuration_that_would_let_in_too_many_is_refused_with_the_reason() {
    on_a_file(|store| {
        token(store, tenant(store), None, None);
        let issuer = Issuer::start(ed25519());
        let good = configured(store, &issuer, PEOPLE);
        let public = "https://token.actions.githubusercontent.com";
        for (text, words) in [
            (
                good.replace(&issuer.url, "http://login.example"),
                "[issuer.corp] url: without encryption",
            ),
            (good.replace("\"admins\"", "\"adm*\""), "grant 1: `groups`"),
            (good.replace("[\"sync\", \"read\"]", "[]"), "grant 2: `may`"),
            (good.replace("may =", "might ="), "might"),
            (configured(store, &issuer, ""), "[issuer.corp] grant"),
            (
                good.replace("\"default\"", "\"other\""),
                "[issuer.corp] tenant",
            ),
            (
                configured(
                    store,
                    &issuer,
                    &JOBS.replace("github.com/{repository}", "{repository}"),
                ),
                "`repositories`",
            ),
            (
                configured(store, &issuer, JOBS)
                    .replace(&issuer.url, public)
                    .replace("repository_owner = \"acme\", ", ""),
                "anybody gets tokens of this issuer",
            ),
        ] {
            configure(store, &text);
            let _ = std::fs::remove_file(store.world.root.join("gateway.err"));
            let (code, said) = refused(store, &[]);
            assert_eq!(code, Some(1), "{text}: {said}");
            assert!(said.contains(words), "{words}: {said}");
        }
    });
}

#[test]
fn the_gateway_names_the_issuers_at_which_people_log_in() {
    on_a_file(|store| {
        let issuer = Issuer::start(ed25519());
        let gateway = serving(store, &issuer, PEOPLE);
        let listed = gateway.stranger().get("/v1/issuers").is(200);
        let expected = json!({ "items": [{ "name": "corp", "issuer": issuer.url, "client_id": CLIENT,
            "audience": AUDIENCE, "scopes": ["openid", "profile", "email", "offline_access"] }] });
        assert_eq!(listed, expected);
    });
}
