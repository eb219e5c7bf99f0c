//! Gateways on PostgreSQL that keep large payloads in a real server of S3, on this machine, which checks signatures.
//!
//! `cargo xtask test` installs and starts it, and tells by variables where it is; `cargo xtask s3` does it for tests by
//! hand. Without the variables these tests fail. Each test has a bucket of its own, which is a directory, and reaches the
//! server over a wire that breaks as it is told.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::faults::store::{Store, on_a_server};
use crate::gateway::client::{id, secret, turn_body};
use crate::gateway::server::{Gateway, LONG, base, siglum, tenant};
use crate::harness::wire::Wire;
use crate::harness::{World, until_within};

/// A bucket that the commands and gateways of a store use.
struct Bucket {
    directory: PathBuf,
    wire: Wire,
}

impl Bucket {
    #[track_caller]
    fn new(store: &mut Store) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        store.skip_check();
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("blobs-{}-{made}", std::process::id());
        let directory = PathBuf::from(variable("SIGLUM_TEST_S3_ROOT")).join(&name);
        fs::create_dir(&directory).unwrap();
        let address = variable("SIGLUM_TEST_S3");
        let wire = Wire::to(address.trim_start_matches("http://"));
        let key = store.world.root.join("blobs.key");
        fs::write(&key, variable("SIGLUM_TEST_S3_CREDENTIALS")).unwrap();
        let endpoint = format!("http://{}", wire.address());
        store.world.variables.extend([
            ("SIGLUM_BLOBS", format!("s3://{name}/siglum/test").into()),
            ("SIGLUM_BLOBS_ENDPOINT", endpoint.into()),
            ("SIGLUM_BLOBS_CREDENTIALS_FILE", key),
            ("SIGLUM_BLOBS_AFTER_SECONDS", "0".into()),
        ]);
        Self { directory, wire }
    }

    /// The files of its objects.
    fn blobs(&self) -> Vec<PathBuf> {
        files(&self.directory)
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        match entry.file_type().is_ok_and(|t| t.is_dir()) {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

#[track_caller]
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: `cargo xtask s3` tells it"))
}

/// Words that do not become few when they are compressed.
fn long(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut pick = |of: &'static [u8]| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let at = usize::try_from(state >> 33).unwrap() % of.len();
        char::from(of[at])
    };
    let mut text = String::new();
    for _ in 0..4000 {
        for _ in 0..3 {
            text.push(pick(b"bcdfghjklmnprstvz"));
            text.push(pick(b"aeiou"));
        }
        text.push(' ');
    }
    text.trim_end().to_owned()
}

/// A session in which something long was said, and its text.
#[track_caller]
fn long_session(gateway: &Gateway, seed: u64) -> (String, String) {
    let created = gateway.launcher().create(&base(&format!("long-{seed}")));
    let (session, client) = (id(&created), gateway.client(&secret(&created)));
    let (epoch, head) = client.lease(&session, "tests");
    let text = long(seed);
    let mut body = turn_body(epoch, head, "t");
    body["events"][0]["text"] = text.as_str().into();
    client.turn(&session, "t", &body).unwrap().is(200);
    (session, text)
}

/// What is told of a session.
fn events(gateway: &Gateway, session: &str) -> String {
    let path = format!("/v1/sessions/{session}/events");
    gateway.launcher().get(&path).is(200).to_string()
}

/// A command on the store, however it ends.
fn ran(store: &Store, args: &[&str]) -> Output {
    let mut command = store.world.command(World::program());
    command.args(args);
    command.env("SIGLUM_STORE", store.address());
    command.env("SIGLUM_TENANT", tenant(store));
    command.output().unwrap()
}

/// All that a command says.
fn words(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

fn number(store: &Store, sql: &str) -> u64 {
    store.sql(sql).trim().parse().unwrap()
}

#[test]
fn large_payloads_go_to_the_bucket_and_what_is_forgotten_leaves_no_byte_there() {
    on_a_server(|store| {
        let bucket = Bucket::new(store);
        let gateway = Gateway::start(store);
        let (session, text) = long_session(&gateway, 1);
        let (kept, other) = long_session(&gateway, 2);
        until_within(LONG, "both are moved", || {
            number(store, "SELECT count(*) FROM blobs WHERE held") == 2
        });
        let largest = "SELECT max(octet_length(payload)) FROM observations";
        assert!(number(store, largest) <= 4096);
        let blobs = bucket.blobs();
        assert_eq!(blobs.len(), 2, "{blobs:?}");
        let is_inside = |blob: &PathBuf| blob.starts_with(bucket.directory.join("siglum/test"));
        assert!(blobs.iter().all(is_inside), "{blobs:?}");
        assert!(events(&gateway, &session).contains(&text));
        siglum(store, &["verify"]);
        siglum(store, &["forget", &session, "--yes"]);
        assert_eq!(bucket.blobs().len(), 1);
        assert!(!events(&gateway, &session).contains(&text));
        assert!(events(&gateway, &kept).contains(&other));
        siglum(store, &["verify"]);
    });
}

#[test]
fn gateways_that_are_killed_lose_nothing_and_leave_nothing() {
    on_a_server(|store| {
        let bucket = Bucket::new(store);
        let mut gateway = Gateway::start(store);
        let sessions: Vec<_> = (1..=12).map(|seed| long_session(&gateway, seed)).collect();
        let moved = |store: &Store| number(store, "SELECT count(*) FROM blobs WHERE held");
        for step in 1..=4 {
            // Some of what is left has come there, so it is at work.
            until_within(LONG, "some are on the way", || {
                number(store, "SELECT count(*) FROM blobs") >= step
            });
            gateway.kill();
            gateway.start_again(store);
            for (session, text) in &sessions {
                assert!(events(&gateway, session).contains(text), "{session}");
            }
        }
        until_within(LONG, "all are moved", || moved(store) == 12);
        until_within(LONG, "nothing is left over", || {
            number(store, "SELECT count(*) FROM blobs WHERE NOT held") == 0
        });
        assert_eq!(bucket.blobs().len(), 12);
        for (session, text) in &sessions {
            assert!(events(&gateway, session).contains(text), "{session}");
        }
    });
}

#[test]
fn a_blob_that_is_damaged_or_missing_is_named() {
    on_a_server(|store| {
        let bucket = Bucket::new(store);
        let mut gateway = Gateway::start(store);
        long_session(&gateway, 1);
        until_within(LONG, "it is moved", || {
            number(store, "SELECT count(*) FROM blobs WHERE held") == 1
        });
        gateway.stop();
        let blob = bucket.blobs().remove(0);
        let bytes = fs::read(&blob).unwrap();
        fs::write(&blob, [&bytes[..bytes.len() - 1], b"x"].concat()).unwrap();
        let verified = ran(store, &["verify"]);
        assert!(!verified.status.success());
        assert!(words(&verified).contains("is damaged"), "{verified:?}");
        assert!(words(&ran(store, &["doctor"])).contains("is damaged"));
        fs::remove_file(&blob).unwrap();
        let verified = ran(store, &["verify"]);
        assert!(!verified.status.success());
        assert!(
            words(&verified).contains("not in the blob store"),
            "{verified:?}"
        );
        assert!(words(&ran(store, &["doctor"])).contains("not in the blob store"));
        fs::write(&blob, &bytes).unwrap();
        assert!(ran(store, &["verify"]).status.success());
    });
}

#[test]
fn a_gateway_with_a_wrong_key_does_not_start() {
    on_a_server(|store| {
        let bucket = Bucket::new(store);
        let serve = ["serve", "--listen", "127.0.0.1:0"];
        let key = store.world.root.join("blobs.key");
        fs::write(&key, "tests:another-key").unwrap();
        let refused = ran(store, &serve);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let said = words(&refused);
        assert!(
            said.contains("the blob store refused the request"),
            "{said}"
        );
        assert!(!said.contains("another-key"), "{said}");
        fs::write(&key, "no key at all").unwrap();
        let refused = ran(store, &serve);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        assert!(!words(&refused).contains("no key at all"), "{refused:?}");
        assert!(bucket.blobs().is_empty());
    });
}

#[test]
fn a_bucket_that_is_away_is_in_nobodys_way_and_what_is_in_it_can_be_read_later() {
    on_a_server(|store| {
        let bucket = Bucket::new(store);
        bucket.wire.down();
        let gateway = Gateway::start(store);
        let (session, text) = long_session(&gateway, 1);
        assert!(events(&gateway, &session).contains(&text));
        bucket.wire.up();
        until_within(LONG, "it is moved", || {
            number(store, "SELECT count(*) FROM blobs WHERE held") == 1
        });
        bucket.wire.down();
        let path = format!("/v1/sessions/{session}/events");
        gateway.launcher().get(&path).problem(503, "store");
        // Turns are committed all the same.
        let (session, text) = long_session(&gateway, 2);
        assert!(events(&gateway, &session).contains(&text));
        bucket.wire.up();
        until_within(LONG, "the first one can be read again", || {
            gateway.launcher().get(&path).status == 200
        });
    });
}
