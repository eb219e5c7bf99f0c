//! Bad input and too much of it: a clear answer, bounded memory, and everybody else is served.

use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::{id, secret, turn_body};
use super::raw::{Raw, ask, ask_from, connect};
use super::server::{
    Gateway, base, each_store, each_store_at_once, on_a_file, stored, tenant, token,
};
use crate::harness::until;

/// Kilobytes that the gateway may have in use, whatever is sent to it.
const MEMORY: u64 = 300 * 1024;
/// The largest body.
const BODY: usize = 8 << 20;

/// The head of a request to create a session, with these lines more.
fn head(gateway: &Gateway, more: &str) -> String {
    format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\n{more}\r\n",
        gateway.token
    )
}

fn with_body(gateway: &Gateway, body: &[u8]) -> Vec<u8> {
    let more = format!("content-length: {}\r\nconnection: close\r\n", body.len());
    [head(gateway, &more).as_bytes(), body].concat()
}

/// What waits for a request that hangs waits for half a minute; this is less, also on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// It serves others, and quickly.
#[track_caller]
fn serves(gateway: &Gateway) {
    let begun = Instant::now();
    gateway.launcher().get("/v1/sessions").is(200);
    gateway.stranger().get("/readyz").is(200);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn a_body_that_is_no_json_of_ours_is_refused_with_what_is_wrong() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let before = stored(store, &gateway);
        let deep =
            |left: &str, right: &str, n: usize| format!("{}{}", left.repeat(n), right.repeat(n));
        let nested = format!("{{\"agent\":\"a\",\"x\":{}}}", deep("[", "]", 100_000));
        let objects = format!(
            "{{\"agent\":\"a\",\"x\":{}1{}}}",
            "{\"a\":".repeat(40),
            "}".repeat(40)
        );
        for (body, word) in [
            (&b"{\"agent\":\"\xff\xfe\"}"[..], "UTF-8"),
            (b"{\"agent\":\"a\",\"cwd\":\"\xc3\x28\"}", "UTF-8"),
            (b"{\"agent\":\"a\",\"agent\":\"b\"}", "duplicate key"),
            (
                b"{\"agent\":\"a\",\"links\":{\"issue_number\":1,\"issue_number\":2}}",
                "duplicate key",
            ),
            (
                b"{\"agent\":\"a\",\"x\":[{\"y\":1,\"\\u0079\":2}]}",
                "duplicate key",
            ),
            (b"{\"agent\":\"a\"", "EOF"),
            (b"{\"agent\":\"a\"} x", "trailing"),
            (b"{\"agent\":\"a\\ud800\"}", "hex escape"),
            (b"{\"agent\":\"a\",\"token_seconds\":1e999}", "number"),
            (b"{'agent':'a'}", "key"),
            (nested.as_bytes(), "nested"),
            (objects.as_bytes(), "nested"),
            (b"", "EOF"),
        ] {
            let reply = ask(&gateway, &with_body(&gateway, body));
            let problem = reply.problem(400, "invalid-body");
            let detail = problem["detail"].as_str().unwrap();
            let sent = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            assert!(detail.contains(word), "{sent}: {detail}");
        }
        for form in [
            "text/plain",
            "application/xml",
            "application/json; charset=latin1",
            "",
        ] {
            let bytes = String::from_utf8(with_body(&gateway, b"{\"agent\":\"a\"}")).unwrap();
            let bytes = bytes.replace("application/json", form);
            ask(&gateway, bytes.as_bytes()).problem(415, "unsupported-media-type");
        }
        assert_eq!(stored(store, &gateway), before);
        serves(&gateway);
    });
}

#[test]
fn what_is_no_request_is_answered_or_cut_off_and_nothing_behind_it_is_done() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let before = stored(store, &gateway);
        let body = base("smuggled").to_string();
        let behind = String::from_utf8(with_body(&gateway, body.as_bytes())).unwrap();
        let auth = format!("authorization: Bearer {}\r\n", gateway.token);
        for bad in [
            "\x16\x03\x01\x02\x00\x01\x00\x01\u{fc}\x03\x03".to_owned(),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
            "GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n".to_owned(),
            "GET /healthz\r\n\r\n".to_owned(),
            "G\u{0}T /healthz HTTP/1.1\r\n\r\n".to_owned(),
            "GET /health\u{0}z HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
            "GET /healthz HTTP/1.1\r\nhost : x\r\nbad header\r\n\r\n".to_owned(),
            format!(
                "POST /v1/sessions HTTP/1.1\r\nhost: x\r\n{auth}content-length: 5\r\ncontent-length: 50\r\n\r\n"
            ),
            format!("POST /v1/sessions HTTP/1.1\r\nhost: x\r\n{auth}content-length: -1\r\n\r\n"),
            format!(
                "POST /v1/sessions HTTP/1.1\r\nhost: x\r\n{auth}transfer-encoding: chunked, identity\r\n\r\n"
            ),
            format!(
                "POST /v1/sessions HTTP/1.1\r\nhost: x\r\n{auth}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n"
            ),
            "garbage garbage garbage\r\n\r\n".to_owned(),
        ] {
            let mut raw = connect(&gateway);
            // What is pipelined behind it looks like a request, and must not be taken for one.
            let _ = raw.say(format!("{bad}{behind}").as_bytes());
            raw.half_close();
            if let Some(answer) = raw.answer() {
                assert!(
                    (400..500).contains(&answer.status),
                    "{bad:?}: {}",
                    answer.status
                );
            }
            assert!(raw.is_over(), "{bad:?}: the connection stays");
            assert_eq!(stored(store, &gateway), before, "{bad:?}");
        }
        serves(&gateway);
    });
}

#[test]
fn requests_that_are_pipelined_are_answered_in_order() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut raw = connect(&gateway);
        let one = "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        let two = "GET /nowhere HTTP/1.1\r\nhost: x\r\n\r\n";
        let three = "DELETE /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
        assert!(raw.say(format!("{one}{two}{three}{one}").as_bytes()));
        raw.answer().unwrap().is(200);
        raw.answer().unwrap().problem(404, "not-found");
        let reply = raw.answer().unwrap();
        reply.problem(405, "method-not-allowed");
        assert!(reply.header("allow").unwrap().contains("GET"));
        raw.answer().unwrap().is(200);
    });
}

#[test]
fn too_large_a_head_or_body_is_refused_and_not_kept() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let before = stored(store, &gateway);
        let large = format!(
            "GET /healthz HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n",
            "a".repeat(1 << 20)
        );
        let many = format!(
            "GET /healthz HTTP/1.1\r\nhost: x\r\n{}\r\n",
            "a: b\r\n".repeat(5_000)
        );
        let long = format!(
            "GET /healthz?{} HTTP/1.1\r\nhost: x\r\n\r\n",
            "a".repeat(1 << 20)
        );
        for bytes in [&large, &many, &long] {
            let reply = ask(&gateway, bytes.as_bytes());
            assert!([414, 431].contains(&reply.status), "{}", reply.status);
        }
        // It is said to be too large: nothing of it is waited for.
        for length in [BODY + 1, 100 << 20, usize::MAX / 2] {
            let reply = ask(
                &gateway,
                head(&gateway, &format!("content-length: {length}\r\n")).as_bytes(),
            );
            reply.problem(413, "body-too-large");
        }
        // It is not said how large it is, and it never ends.
        let mut endless = connect(&gateway);
        assert!(endless.say(head(&gateway, "transfer-encoding: chunked\r\n").as_bytes()));
        let chunk = [b"10000\r\n", &vec![b' '; 0x10000][..], b"\r\n"].concat();
        let mut sent = 0;
        while sent < 20 * BODY && endless.say(&chunk) {
            sent += chunk.len();
        }
        assert!(sent < 20 * BODY, "all of it was taken");
        if let Some(reply) = endless.answer() {
            reply.problem(413, "body-too-large");
        }
        // What just fits is read.
        let most = vec![b' '; BODY];
        ask(&gateway, &with_body(&gateway, &most)).problem(400, "invalid-body");
        assert!(gateway.memory() < MEMORY, "{} kB", gateway.memory());
        assert_eq!(stored(store, &gateway), before);
        serves(&gateway);
    });
}

/// Whoever sends a body is told what is wrong with it, and not cut off in the middle.
#[test]
fn who_sends_a_body_that_nobody_wants_gets_the_answer() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let body = vec![b' '; 3 * BODY];
        let large = with_body(&gateway, &body);
        let stranger = String::from_utf8_lossy(&large).replace(&gateway.token, "letmein");
        let nowhere = String::from_utf8_lossy(&large).replace("/v1/sessions", "/v1/nowhere");
        for (bytes, status) in [
            (large, 413),
            (stranger.into_bytes(), 401),
            (nowhere.into_bytes(), 404),
        ] {
            let mut raw = connect(&gateway);
            assert!(raw.say(&bytes), "it is cut off before the answer: {status}");
            assert_eq!(raw.answer().expect("there is no answer").status, status);
        }
        // Whoever asks first sends nothing, and is told at once.
        let expects = format!("content-length: {}\r\nexpect: 100-continue\r\n", 3 * BODY);
        let reply = ask(&gateway, head(&gateway, &expects).as_bytes());
        reply.problem(413, "body-too-large");
        assert!(gateway.memory() < MEMORY, "{} kB", gateway.memory());
    });
}

/// A request with this many bytes of head.
fn of_size(bytes: usize) -> String {
    let begin = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
    let mut left = bytes - begin.len() - 2;
    let mut head = begin.to_owned();
    while left > 0 {
        let line = if left < 2_000 { left } else { 1_000 };
        head.push_str(&format!("x: {}\r\n", "a".repeat(line - 5)));
        left -= line;
    }
    head + "\r\n"
}

#[test]
fn a_head_is_bounded_as_it_is_documented() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        for (bytes, status) in [
            (60_000, 200),
            (65_000, 200),
            (66_000, 431),
            (80_000, 431),
            (100_000, 431),
        ] {
            let head = of_size(bytes);
            assert_eq!(head.len(), bytes);
            assert_eq!(ask(&gateway, head.as_bytes()).status, status, "{bytes}");
        }
    });
}

#[test]
fn a_request_names_one_host() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        for (head, status) in [
            ("GET /healthz HTTP/1.1\r\nhost: x\r\n", 200),
            ("GET /healthz HTTP/1.0\r\n", 200),
            ("GET /healthz HTTP/1.1\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nhost: x\r\nhost: x\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nhost: x\r\nHost: y\r\n", 400),
            ("GET /healthz HTTP/1.0\r\nhost: x\r\nhost: y\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nhost: x:8080\r\n", 200),
            ("GET /healthz HTTP/1.1\r\nhost: [::1]:8080\r\n", 200),
            ("GET /healthz HTTP/1.1\r\nhost: a b\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nhost: \r\n", 400),
            ("GET /healthz HTTP/1.1\r\nhost: x/y\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nhost: me@x\r\n", 400),
            ("GET /healthz HTTP/1.1\r\nhost: x:http\r\n", 400),
            ("GET /healthz HTTP/1.0\r\nhost: a b\r\n", 400),
            // The target says of itself which host is meant.
            ("GET http://y/healthz HTTP/1.1\r\nhost: x\r\n", 200),
            ("GET http://y/v1/sessions HTTP/1.1\r\nhost: x\r\n", 401),
        ] {
            let bytes = format!("{head}connection: close\r\n\r\n");
            assert_eq!(ask(&gateway, bytes.as_bytes()).status, status, "{head}");
        }
    });
}

#[test]
fn large_bodies_at_once_are_bounded() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        let (epoch, head) = own.lease(&session, "n");
        let mut turn = turn_body(epoch, head, "t1");
        turn["events"][1]["text"] = json!("lorem ipsum ".repeat(300_000));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (own, session, turn) = (own.clone(), &session, &turn);
                scope.spawn(move || {
                    let reply = own.turn(session, "t1", turn).unwrap();
                    assert_eq!(reply.status, 200, "{}", reply.text);
                });
            }
        });
        assert_eq!(store.sql("SELECT count(*) FROM receipts"), "1");
        assert!(gateway.memory() < 2 * MEMORY, "{} kB", gateway.memory());
    });
}

/// Slow and half-open ones, all at once, as each takes its time.
#[test]
fn who_is_slow_or_goes_silent_is_let_go_and_the_rest_is_served() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let before = stored(store, &gateway);
        std::thread::scope(|scope| {
            scope.spawn(|| slow_head(&gateway));
            scope.spawn(|| slow_body(&gateway));
            scope.spawn(|| silent(&gateway));
            scope.spawn(|| half_open(&gateway));
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_secs(32) {
                serves(&gateway);
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        assert_eq!(stored(store, &gateway), before);
        until("no connection is left", || connections(&gateway) <= 3);
    });
}

fn slow_head(gateway: &Gateway) {
    let mut raw = connect(gateway);
    assert!(raw.say(b"GET /healthz HTTP/1.1\r\nhost: x\r\n"));
    let begun = Instant::now();
    while raw.say(b"a: b\r\n") {
        assert!(
            begun.elapsed() < Duration::from_secs(25),
            "a head may take too long"
        );
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn slow_body(gateway: &Gateway) {
    let mut raw = connect(gateway);
    assert!(raw.say(head(gateway, "content-length: 1000\r\n").as_bytes()));
    for _ in 0..60 {
        let _ = raw.say(b" ");
        std::thread::sleep(Duration::from_millis(550));
    }
    raw.answer().unwrap().problem(408, "too-slow");
}

fn silent(gateway: &Gateway) {
    let begun = Instant::now();
    let mut raw = connect(gateway);
    assert!(raw.is_over());
    assert!(
        begun.elapsed() < Duration::from_secs(25),
        "it is kept for too long"
    );
}

fn half_open(gateway: &Gateway) {
    let body = base("half").to_string();
    let mut raw = connect(gateway);
    let head = head(gateway, &format!("content-length: {}\r\n", body.len()));
    assert!(raw.say(format!("{head}{}", &body[..9]).as_bytes()));
    raw.half_close();
    if let Some(reply) = raw.answer() {
        assert_eq!(reply.status, 400, "{}", reply.text);
    }
    assert!(raw.is_over());
}

/// The connections that the gateway counts.
pub(super) fn connections(gateway: &Gateway) -> u64 {
    let metrics = gateway.stranger().get("/metrics").text;
    let line = metrics
        .lines()
        .find(|l| l.starts_with("siglum_http_connections "))
        .unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn ten_thousand_that_say_nothing_are_in_nobodys_way() {
    const MANY: u64 = 10_000;
    allow_open_files(MANY + 2_000);
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let begun = Instant::now();
        let open: Vec<TcpStream> = (0..MANY)
            .map(|_| TcpStream::connect(gateway.place()).unwrap())
            .collect();
        let took = begun.elapsed();
        serves(&gateway);
        let counted = connections(&gateway);
        let memory = gateway.memory();
        eprintln!("{counted} connections after {took:?}, {memory} kB");
        // They are let go after 15 seconds; on a machine under load the first ones may be gone by then.
        assert!(
            counted >= MANY || took > Duration::from_secs(10),
            "{counted}"
        );
        assert!(memory < MEMORY, "{memory} kB");
        for n in 0..50 {
            gateway.launcher().create(&base(&format!("egg-{n}")));
        }
        until("they are let go", || connections(&gateway) < 10);
        drop(open);
        serves(&gateway);
    });
}

/// The test may have as many files open as it needs. On a machine that does not allow that it fails: it would show nothing.
#[track_caller]
fn allow_open_files(wanted: u64) {
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let at_least = |limit: Option<u64>| limit.map(|limit| limit.max(wanted));
    let more = rustix::process::Rlimit {
        current: at_least(files.current),
        maximum: at_least(files.maximum),
    };
    let allowed = rustix::process::setrlimit(rustix::process::Resource::Nofile, more);
    assert!(
        allowed.is_ok(),
        "{wanted} open files are needed, and this machine allows {:?}: raise its limit (`ulimit -Hn`)",
        files.maximum
    );
}

#[test]
fn one_token_has_so_many_connections_and_another_one_its_own() {
    const MOST: usize = 1_024;
    allow_open_files(2 * MOST as u64);
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let (other, _) = token(store, tenant(store), None, None);
        let wanted = |token: &str| {
            format!("GET /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n")
        };
        let mine = wanted(&gateway.token);
        let mut open = Vec::new();
        // One that is silent for 15 seconds is let go, so they all come again now and then.
        let refused = (0..2 * MOST).find_map(|n| {
            if n % 200 == 0 {
                open.iter_mut().for_each(|raw: &mut Raw| {
                    raw.say(mine.as_bytes());
                });
                open.retain_mut(|raw| raw.answer().is_some());
            }
            let mut raw = connect(&gateway);
            raw.say(mine.as_bytes());
            let answer = raw.answer().unwrap();
            (answer.status == 429).then_some(()).map_or_else(
                || {
                    open.push(raw);
                    None
                },
                |()| Some(answer.header("connection").map(str::to_owned)),
            )
        });
        assert_eq!(refused, Some(Some("close".to_owned())), "{}", open.len());
        assert!(open.len() > MOST / 2, "{}", open.len());
        ask(&gateway, wanted(&other).as_bytes()).is(200);
    });
}

/// A token begins more requests than it may have, and ends none of them: each waits for its body.
#[test]
fn one_token_has_so_many_requests_at_once_and_another_one_is_served() {
    const MOST: usize = 256;
    each_store_at_once(|store| {
        let gateway = Gateway::start(store);
        let (other, _) = token(store, tenant(store), None, None);
        let begin = head(&gateway, "content-length: 1000\r\n");
        let open = || {
            let mut raw = connect(&gateway);
            assert!(raw.say(begin.as_bytes()));
            raw
        };
        let mut open: Vec<Raw> = std::iter::repeat_with(open).take(MOST + 100).collect();
        until("the token has as many as it may", || {
            gateway.launcher().get("/v1/sessions").status == 429
        });
        let begun = Instant::now();
        gateway.client(&other).create(&base("beside"));
        gateway.client(&other).get("/v1/sessions").is(200);
        gateway.stranger().get("/readyz").is(200);
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        assert!(gateway.memory() < MEMORY, "{} kB", gateway.memory());
        let replies = open.iter_mut().map(|raw| raw.answer().unwrap());
        let (waited, refused): (Vec<_>, Vec<_>) = replies.partition(|reply| reply.status == 408);
        for reply in &refused {
            reply.problem(429, "rate-limited");
            assert!(reply.header("retry-after").is_some());
        }
        // Whoever asked whether it is full may have had the place of a few.
        assert!(
            (MOST - 10..=MOST).contains(&waited.len()),
            "{} waited",
            waited.len()
        );
        drop(open);
        // What they held has come back, and nothing came of them.
        assert_eq!(store.sql("SELECT count(*) FROM sessions"), "1");
        serves(&gateway);
    });
}

/// Who tries tokens is stopped, and nobody else is.
#[test]
fn who_comes_with_wrong_tokens_too_often_has_to_wait() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        // A tenant that is there and one that nobody has, so that neither is told by it.
        for (n, tenant) in [(1, tenant(store)), (2, "nobodys")] {
            let token = format!("siglum_{tenant}_{}", "0".repeat(64));
            let wrong = format!(
                "GET /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n"
            );
            let from = Ipv4Addr::new(127, 2, 0, n);
            let ask = || ask_from(&gateway, from, wrong.as_bytes());
            for _ in 0..60 {
                ask().problem(401, "token-unknown");
            }
            // One more is allowed each second.
            let mut more = (0..200)
                .map(|_| ask())
                .skip_while(|reply| reply.status == 401);
            let reply = more.next().expect(tenant);
            reply.problem(429, "rate-limited");
            assert!(reply.header("retry-after").is_some());
        }
        serves(&gateway);
    });
}
