//! A gateway that serves HTTPS itself: its certificate, which may change while it serves, and whoever does not speak TLS.
//!
//! The certificates are for 127.0.0.1 and localhost until 2120, each signed by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use siglum_domain::access::Scope;

use super::bounds::connections;
use super::client::{Client, id};
use super::raw;
use super::server::{Gateway, Store, base, on_a_file, refused, tenant, token, token_for};
use super::slow_readers::{LET_GO, large_session};
use super::team::sent;
use crate::harness::{World, until, until_within};

/// A certificate and its key.
pub(super) struct Pair {
    pub(super) certificate: &'static str,
    key: &'static str,
}

/// What a gateway has at first; clients trust it.
pub(super) const ONE: Pair = Pair {
    certificate: include_str!("certificates/one.pem"),
    key: include_str!("certificates/one.key"),
};
const TWO: Pair = Pair {
    certificate: include_str!("certificates/two.pem"),
    key: include_str!("certificates/two.key"),
};

/// The files that a gateway reads.
struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(store: &Store) -> Self {
        let files = Self {
            certificate: store.world.root.join("gateway.pem"),
            key: store.world.root.join("gateway.key"),
        };
        files.write(&ONE);
        files
    }

    fn write(&self, pair: &Pair) {
        fs::write(&self.certificate, pair.certificate).unwrap();
        fs::write(&self.key, pair.key).unwrap();
        self.allow(0o600);
    }

    /// Gives the key this mode.
    fn allow(&self, mode: u32) {
        fs::set_permissions(&self.key, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn args(&self) -> [&str; 4] {
        let paths = [&self.certificate, &self.key];
        let [certificate, key] = paths.map(|path| path.to_str().unwrap());
        ["--tls-certificate", certificate, "--tls-key", key]
    }
}

/// Whether a client that trusts this certificate is answered.
fn serves(gateway: &Gateway, pair: &Pair) -> bool {
    let client = Client::trusting(pair.certificate, &gateway.address, None);
    let reply = client.ask("GET", "/healthz", None);
    reply.is_some_and(|reply| reply.status == 200)
}

/// A laptop that trusts a certificate which the system does not have.
fn laptop(certificate: &Path) -> World {
    let mut world = World::new();
    let file = certificate.to_owned();
    world.variables.push(("SSL_CERT_FILE", file));
    world
}

#[test]
fn a_gateway_with_a_certificate_serves_https_and_needs_no_proxy() {
    on_a_file(|store| {
        let files = Files::new(store);
        let args = [&["--listen", "0.0.0.0:0"], &files.args()[..]].concat();
        let mut gateway = Gateway::with(store, &args, &[]);
        let port = gateway.address.strip_prefix("https://0.0.0.0:").unwrap();
        gateway.address = format!("https://127.0.0.1:{port}");
        id(&gateway.launcher().create(&base("S1")));
        assert!(serves(&gateway, &ONE));
        assert!(!serves(&gateway, &TWO));
        assert_eq!(gateway.stop(), Some(0));
    });
}

#[test]
fn who_speaks_no_tls_is_told_so() {
    on_a_file(|store| {
        let files = Files::new(store);
        let gateway = Gateway::with(store, &files.args(), &[]);
        let request = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        let reply = raw::ask(&gateway, request);
        assert_eq!(reply.status, 400);
        assert!(reply.text.contains("https://"), "{}", reply.text);
        assert!(serves(&gateway, &ONE));
    });
}

#[test]
fn a_handshake_that_does_not_go_on_is_cut() {
    on_a_file(|store| {
        let files = Files::new(store);
        let gateway = Gateway::with(store, &files.args(), &[]);
        let mut silent = raw::connect(&gateway);
        let mut slow = raw::connect(&gateway);
        // The beginning of a record that is a handshake.
        assert!(slow.say(b"\x16\x03\x01"));
        let mut wrong = raw::connect(&gateway);
        assert!(wrong.say(&[&b"\x16\x03\x01\x00\x64"[..], &[0; 100]].concat()));
        for raw in [&mut wrong, &mut slow, &mut silent] {
            assert!(raw.is_over());
        }
        assert!(serves(&gateway, &ONE));
    });
}

#[test]
fn who_reads_nothing_over_tls_is_let_go() {
    on_a_file(|store| {
        let files = Files::new(store);
        let gateway = Gateway::with(store, &files.args(), &[]);
        let (session, own) = large_session(&gateway);
        let client = gateway.client(&own);
        let path = format!("/v1/sessions/{session}/stream");
        let unread: Vec<_> = (0..12).map(|_| client.lines(&path).unwrap()).collect();
        assert!(connections(&gateway) > 12);
        // What remains are those that ask here.
        until_within(LET_GO, "those who take nothing are let go", || {
            connections(&gateway) < 6
        });
        drop(unread);
        assert!(serves(&gateway, &ONE));
    });
}

#[test]
fn a_certificate_that_changes_is_served_and_one_that_is_broken_is_not() {
    on_a_file(|store| {
        let files = Files::new(store);
        let gateway = Gateway::with(store, &files.args(), &[]);
        let log = store.world.root.join("gateway.err");
        let keeps = |why: &str| {
            let log = fs::read_to_string(&log).unwrap();
            let mut lines = log.lines();
            lines.any(|line| line.contains("keeps the previous certificate") && line.contains(why))
        };
        assert!(serves(&gateway, &ONE));
        files.write(&TWO);
        gateway.signal(Signal::HUP);
        until("the new certificate is served", || serves(&gateway, &TWO));
        assert!(!serves(&gateway, &ONE));
        fs::write(&files.key, ONE.key).unwrap();
        gateway.signal(Signal::HUP);
        until("a key of another certificate is logged", || {
            keeps("cannot use the certificate")
        });
        fs::write(&files.certificate, "x").unwrap();
        gateway.signal(Signal::HUP);
        until("a certificate that is none is logged", || {
            keeps("cannot find a certificate")
        });
        files.allow(0o644);
        gateway.signal(Signal::HUP);
        until("a key that others can read is logged", || {
            keeps("other users can read the key")
        });
        assert!(serves(&gateway, &TWO));
        // Without a signal, too.
        files.write(&ONE);
        until("the first certificate is served again", || {
            serves(&gateway, &ONE)
        });
    });
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    on_a_file(|store| {
        let files = Files::new(store);
        token(store, tenant(store), None, None);
        files.allow(0o644);
        let (code, text) = refused(store, &files.args());
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("other users can read the key"), "{text}");
        assert!(text.contains("chmod 600"), "{text}");
    });
}

#[test]
fn laptops_trust_a_private_certificate_by_ssl_cert_file() {
    on_a_file(|store| {
        let files = Files::new(store);
        let gateway = Gateway::with(store, &files.args(), &[]);
        let laptop = laptop(&files.certificate);
        let repo = sent(&laptop, &gateway);
        // HTTP/2, by the name that the handshake gives it.
        let (token, _) = token_for(store, tenant(store), Scope::Telemetry, None);
        let header = laptop.root.join("header");
        fs::write(&header, format!("Bearer {token}")).unwrap();
        let header = format!("authorization={}", header.display());
        let address = gateway.address.as_str();
        let add = ["otel", "add", "team", address, "--protocol", "grpc"];
        repo.siglum(&[&add[..], &["--header-file", &header]].concat())
            .ok();
        let answer = laptop.json(&repo.dir, &["otel", "test", "team"]);
        assert_eq!(answer["taken"], true, "{answer}");
    });
}
