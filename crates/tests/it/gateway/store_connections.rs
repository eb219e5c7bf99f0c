//! The connections to a PostgreSQL store: so many for all tenants, and what comes of requests that get none.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::client::{Client, Reply};
use super::raw;
use super::server::{Gateway, Store, base, counted, on_a_server, token};
use crate::harness::{World, until};

const TENANTS: [&str; 6] = ["tests", "one", "two", "three", "four", "five"];

/// A gateway with so many connections, and a launcher of each tenant.
fn served(store: &Store, connections: &str) -> (Gateway, Vec<Client>) {
    let tokens = TENANTS.map(|tenant| token(store, tenant, None, None).0);
    let gateway = Gateway::with(store, &["--store-connections", connections], &[]);
    // Whoever made the tokens has left.
    until("the gateway is alone", || connections_of(store) <= 1);
    let clients = tokens.iter().map(|token| gateway.client(token)).collect();
    (gateway, clients)
}

/// The connections that Siglum has to the database of the store.
fn connections_of(store: &Store) -> u64 {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
         AND application_name = 'siglum'";
    store.sql(sql).parse().unwrap()
}

#[test]
fn many_tenants_use_no_more_connections_than_allowed() {
    on_a_server(|store| {
        let (gateway, clients) = served(store, "4");
        let crowd = clients.iter().flat_map(|client| {
            (0..4).map(move |k| {
                let client = client.clone();
                thread::spawn(move || {
                    for n in 0..5 {
                        client.create(&base(&format!("c{k}-{n}")));
                        client.get("/v1/sessions").is(200);
                    }
                })
            })
        });
        let crowd: Vec<JoinHandle<()>> = crowd.collect();
        let mut most = 0;
        while crowd.iter().any(|one| !one.is_finished()) {
            most = connections_of(store).max(most);
        }
        for one in crowd {
            one.join().unwrap();
        }
        most = connections_of(store).max(most);
        assert!((2..=4).contains(&most), "{most} connections");
        assert_eq!(counted(&gateway, "siglum_store_connections_limit"), 4);
        assert_eq!(counted(&gateway, "siglum_store_refused_total"), 0);
        let all_have_their_own = |clients: &[Client]| {
            for client in clients {
                let page = client.get("/v1/sessions?limit=500").is(200);
                assert_eq!(page["items"].as_array().unwrap().len(), 20);
            }
        };
        all_have_their_own(&clients);
        // The server is restarted, as far as its clients can tell.
        store.sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() \
             AND application_name = 'siglum'",
        );
        all_have_their_own(&clients);
        gateway.stranger().get("/readyz").is(200);
        assert!(connections_of(store) <= 4);
    });
}

/// A lock on a table, held by somebody else.
struct Lock(Child);

impl Lock {
    fn on(store: &Store, table: &str) -> Self {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", &store.address()]);
        let mut child = psql.stdin(Stdio::piped()).spawn().unwrap();
        let words = format!("BEGIN;\nLOCK TABLE {table};\n");
        let stdin = child.stdin.as_mut().unwrap();
        stdin.write_all(words.as_bytes()).unwrap();
        let lock = Self(child);
        let held = format!(
            "SELECT count(*) FROM pg_locks WHERE relation = '{table}'::regclass AND granted \
             AND mode = 'AccessExclusiveLock'"
        );
        until("the table is locked", || store.sql(&held) == "1");
        lock
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // At the end of its input it leaves, and its transaction is rolled back.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn a_request_that_gets_no_connection_in_time_is_told_and_the_operator_is_served() {
    on_a_server(|store| {
        let (gateway, clients) = served(store, "2");
        for client in &clients {
            client.get("/v1/sessions").is(200);
        }
        // Whoever has the only connection for requests waits for this as long as a statement may.
        let lock = Lock::on(store, "sessions");
        let crowd = clients.iter().cloned();
        let crowd = crowd.map(|client| thread::spawn(move || client.get("/v1/sessions")));
        let crowd: Vec<JoinHandle<Reply>> = crowd.collect();
        until("requests wait", || {
            counted(&gateway, "siglum_store_waiting") >= 3
        });
        for path in ["/healthz", "/readyz"] {
            gateway.stranger().get(path).is(200);
        }
        let replies = crowd.into_iter().map(|one| one.join().unwrap());
        let replies: Vec<Reply> = replies.collect();
        drop(lock);
        let is_busy = |reply: &&Reply| reply.json()["code"] == "busy";
        let busy: Vec<&Reply> = replies.iter().filter(is_busy).collect();
        assert!(busy.len() >= 3, "{replies:?}");
        for reply in busy {
            reply.problem(503, "busy");
            assert_eq!(reply.header("retry-after"), Some("1"));
        }
        assert!(counted(&gateway, "siglum_store_refused_total") >= 3);
        until("it serves again", || {
            clients[0].get("/v1/sessions").status == 200
        });
        let log = std::fs::read_to_string(store.world.root.join("gateway.err")).unwrap();
        assert!(log.contains("wait for one of 1 connections"), "{log}");
    });
}

#[test]
fn a_list_that_nobody_waits_for_any_more_ends_while_others_hold_it_up() {
    on_a_server(|store| {
        let (gateway, clients) = served(store, "2");
        for client in &clients {
            client.get("/v1/pipelines").is(200);
        }
        let asking = token(store, "tests", None, None).0;
        until("the gateway is alone", || connections_of(store) <= 2);
        // Not one that is looked at for metrics.
        let lock = Lock::on(store, "pipelines");
        // One of them has the only connection for requests, and the others wait for that.
        let asking: Vec<raw::Raw> = (0..3)
            .map(|_| {
                let mut one = raw::connect(&gateway);
                let words = format!(
                    "GET /v1/pipelines HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {asking}\r\n\r\n"
                );
                assert!(one.say(words.as_bytes()));
                one
            })
            .collect();
        until("they wait", || {
            counted(&gateway, "siglum_store_connections_in_use") >= 1
                && counted(&gateway, "siglum_store_waiting") >= 1
        });
        let left = Instant::now();
        drop(asking);
        until("nobody waits, and the connection is free", || {
            counted(&gateway, "siglum_store_connections_in_use") == 0
                && counted(&gateway, "siglum_store_waiting") == 0
        });
        // A lock that is not given is waited for ten seconds.
        assert!(
            left.elapsed() < Duration::from_secs(5),
            "{:?}",
            left.elapsed()
        );
        let patient = clients[1].clone();
        let patient = thread::spawn(move || patient.get("/v1/pipelines"));
        until("the next one waits for the lock", || {
            counted(&gateway, "siglum_store_connections_in_use") >= 1
        });
        drop(lock);
        patient.join().unwrap().is(200);
        for client in &clients {
            client.get("/v1/pipelines").is(200);
        }
        assert_eq!(counted(&gateway, "siglum_store_refused_total"), 0);
        assert!(connections_of(store) <= 2);
    });
}

#[test]
fn a_gateway_that_would_take_all_connections_does_not_start() {
    on_a_server(|store| {
        let mut command = store.world.command(World::program());
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--store-connections", "60000"]);
        command.env("SIGLUM_STORE", store.address());
        let ran = command.output().unwrap();
        let text = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(1), "{text}");
        for part in ["the PostgreSQL server takes ", "60000", "`max_connections`"] {
            assert!(text.contains(part), "{text}");
        }
    });
}
