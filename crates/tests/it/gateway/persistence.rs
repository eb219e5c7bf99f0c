//! What is stored outlives the gateway, holds no secret, and is not lost where a part of it is damaged.

use serde_json::json;

use super::client::{id, links, secret};
use super::created::{ALL, all};
use super::server::{Gateway, base, each_store, linked, on_a_file, on_a_server, refused};
use crate::harness::{Ran, World};

#[test]
fn a_restart_keeps_tokens_and_links_up_to_the_last_checkpoint() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let created = gateway.launcher().create(&linked("egg-t1", &all()));
        gateway.restart(store);
        let session = gateway.client(&secret(&created));
        let path = format!("/v1/sessions/{}", id(&created));
        assert_eq!(links(&session.get(&path).is(200)), ALL);
        gateway.restart(store);
        let session = gateway.client(&secret(&created));
        let end = json!({ "outcome": "completed" });
        let ended = session.post(&format!("{path}/end"), &end).is(200);
        assert_eq!(ended["session"]["end"], "completed");
        gateway.restart(store);
        let listed = gateway.launcher().get(&format!("{path}/checkpoints"));
        let listed = listed.is(200);
        let [checkpoint] = &listed["items"].as_array().unwrap()[..] else {
            panic!("{listed}");
        };
        assert_eq!(checkpoint["kind"], "end");
        assert_eq!(links(&checkpoint["pins"][0]), ALL);
        assert_eq!(checkpoint["pins"][0]["session"], created["session"]["id"]);
    });
}

#[test]
fn no_token_is_stored_only_its_digest() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let created = gateway.launcher().create(&linked("egg-t1", &all()));
        let own = secret(&created);
        gateway
            .client(&own)
            .get(&format!("/v1/sessions/{}", id(&created)))
            .is(200);
        let wrong = format!("{}0", &own[..own.len() - 1]);
        gateway.client(&wrong).get("/v1/sessions");
        let launchers = gateway.token.clone();
        gateway.stop();
        let copy = store.backup();
        let places = [
            store.world.siglum_home(),
            copy,
            store.world.root.join("gateway.err"),
        ];
        for token in [&own, &launchers, &wrong] {
            let random = &token[token.len() - 64..];
            for place in &places {
                assert_eq!(holding(place, random), [""; 0], "{place:?}");
            }
        }
        let digest = "SELECT count(*) FROM tokens WHERE length(digest) = 64";
        assert_eq!(store.sql(digest), "2");
        if store.is_file() {
            use std::os::unix::fs::PermissionsExt;
            let mode = store.file().metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    });
}

/// The files in or below a place that hold a text.
fn holding(place: &std::path::Path, text: &str) -> Vec<String> {
    if place.is_dir() {
        let entries = std::fs::read_dir(place).unwrap();
        return entries
            .flat_map(|e| holding(&e.unwrap().path(), text))
            .collect();
    }
    let bytes = std::fs::read(place).unwrap_or_default();
    let found = bytes.windows(text.len()).any(|w| w == text.as_bytes());
    found
        .then(|| place.display().to_string())
        .into_iter()
        .collect()
}

#[test]
fn a_damaged_or_expired_session_is_in_the_way_of_no_other() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let good = launcher.create(&base("good"));
        let expired = launcher.create(&base("expired"));
        let damaged = launcher.create(&base("damaged"));
        gateway.stop();
        let over = format!(
            "UPDATE tokens SET expires_at = 1 WHERE {}",
            session_id(store, &expired)
        );
        store.sql(&over);
        store.sql("UPDATE sessions SET quarantined = 'its log has a hole' WHERE conversation_id = 'damaged'");
        gateway.restart(store);
        let path = |of| format!("/v1/sessions/{}", id(of));
        gateway.client(&secret(&good)).get(&path(&good)).is(200);
        let reply = gateway.client(&secret(&expired)).get(&path(&expired));
        reply.problem(401, "token-expired");
        let shown = gateway
            .client(&secret(&damaged))
            .get(&path(&damaged))
            .is(200);
        assert_eq!(shown["quarantined"], "its log has a hole");
        let lease = json!({ "holder": "tests", "nonce": "n", "term_ms": 60_000 });
        let refused = gateway
            .launcher()
            .post(&format!("{}/lease", path(&damaged)), &lease);
        assert_eq!(refused.status, 409, "{}", refused.text);
        let listed = gateway.launcher().get("/v1/sessions").is(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 3);
    });
}

/// The tokens of a session, in the store's own language.
fn session_id(store: &super::server::Store, created: &serde_json::Value) -> String {
    let id = id(created);
    let hex = id.strip_prefix("ses_").unwrap();
    match store.is_file() {
        true => format!("session = x'{hex}'"),
        false => format!("session = '{hex}'::uuid"),
    }
}

#[test]
fn a_store_that_is_cut_off_is_not_served_and_not_touched() {
    on_a_file(|store| {
        let mut gateway = Gateway::start(store);
        for n in 0..20 {
            gateway.launcher().create(&base(&format!("egg-{n}")));
        }
        gateway.stop();
        let whole = store.backup();
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(format!("{}{ending}", store.file().display()));
        }
        let bytes = std::fs::read(&whole).unwrap();
        let cut = &bytes[..bytes.len() / 2 + 100];
        std::fs::write(store.file(), cut).unwrap();
        let (code, text) = refused(store, &[]);
        assert_eq!(code, Some(1), "{text}");
        assert!(
            text.contains("ledger.db") || text.contains("malformed") || text.contains("damaged"),
            "{text}"
        );
        assert_eq!(
            std::fs::read(store.file()).unwrap(),
            cut,
            "it is left as it is"
        );
        store.restore(&whole);
        gateway.restart(store);
        let listed = gateway.launcher().get("/v1/sessions").is(200);
        assert_eq!(listed["items"].as_array().unwrap().len(), 20);
    });
}

#[test]
fn a_missing_store_is_named_without_its_password() {
    on_a_server(|store| {
        let address = store.address();
        let gone = address.replace("faults_", "gone_");
        let mut command = store.world.command(crate::harness::World::program());
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .env("SIGLUM_STORE", &gone);
        let ran = crate::harness::Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("gone_"), "{}", ran.stderr);
        let password = address.split([':', '@']).nth(2).unwrap();
        assert!(!ran.stderr.contains(password), "the password is told");
    });
}

#[test]
fn a_tenant_that_is_mistyped_is_told_and_not_created() {
    on_a_server(|store| {
        let address = store.address();
        let ask = |tenant: &str, command: &str| {
            let mut program = store.world.command(World::program());
            program
                .args(command.split(' '))
                .env("SIGLUM_STORE", &address)
                .env("SIGLUM_TENANT", tenant);
            Ran::from(program.output().unwrap())
        };
        let refused = |tenant: &str, command: &str| {
            let ran = ask(tenant, command);
            assert_eq!(ran.code, Some(3), "{command}: {ran:?}");
            let told = format!("there is no tenant {tenant} on this server");
            assert!(ran.stderr.contains(&told), "{command}: {ran:?}");
        };
        refused("team", "token list");
        let tables = "SELECT count(*) FROM pg_tables WHERE tablename = 'tenants'";
        assert_eq!(store.sql(tables), "0", "asking makes no store");
        ask("team", "token create --name ci").ok();
        for command in [
            "token list",
            "token revoke 1234567",
            "token create --session 1234567",
            "audit list",
            "audit verify",
            "context list",
            "heartbeat list",
            "heartbeat pause beat",
            "pipeline list",
            "pipeline plan issue-1 build",
            "upgrade --check",
        ] {
            refused("taem", command);
        }
        let tenants = "SELECT string_agg(tenant, ' ') FROM tenants";
        assert_eq!(store.sql(tenants), "team");
        let listed = ask("team", "token list").ok();
        assert!(listed.contains("ci"), "{listed}");
        for command in ["audit list", "pipeline list", "upgrade --check"] {
            ask("team", command).ok();
        }
    });
}

#[test]
fn what_the_gateways_own_variables_say_is_attached_to_nobody() {
    each_store(|store| {
        let variables = [
            ("EGG_ISSUE_NUMBER", "99"),
            ("SIGLUM_ISSUE_NUMBER", "98"),
            ("SIGLUM_SESSION_ID", "ses_00000000000070008000000000000000"),
        ];
        let gateway = Gateway::with(store, &[], &variables);
        let created = gateway.launcher().create(&base("one"));
        let path = format!("/v1/sessions/{}", id(&created));
        let end = json!({ "outcome": "completed" });
        gateway
            .launcher()
            .post(&format!("{path}/end"), &end)
            .is(200);
        let listed = gateway.launcher().get(&format!("{path}/checkpoints"));
        let pin = &listed.is(200)["items"][0]["pins"][0];
        assert_eq!(links(pin), [""; 0]);
    });
}
