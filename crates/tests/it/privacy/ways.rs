//! Every way out, in one table: of three repositories one is in scope, and no byte of the others is in what arrives,
//! neither a text nor an id.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::gateway::server::{self, Store, on_a_file};
use crate::heartbeats::played::{put, ran};
use crate::messages::played::serve;
use crate::telemetry::sending::{TRACE, send, span, spans};

/// Where all ways begin.
struct Start<'s> {
    store: &'s Store,
    repos: [Repo<'s>; 3],
}

impl Start<'_> {
    fn world(&self) -> &World {
        &self.store.world
    }

    fn inside(&self) -> &Repo<'_> {
        &self.repos[0]
    }

    /// The ids of what is outside: repositories, and the sessions in them.
    fn ids(&self) -> Vec<String> {
        let all = ["session", "list", "--all"];
        let all = self.world().json(&self.inside().dir, &all);
        let mut ids = Vec::new();
        for mark in OUTSIDE {
            let sessions = all["items"].as_array().unwrap().iter();
            let own: Vec<&Value> = sessions.filter(|s| s.to_string().contains(mark)).collect();
            assert_eq!(own.len(), 1, "{mark}: {all}");
            let shown = ["session", "show", own[0]["id"].as_str().unwrap()];
            let shown = self.world().json(&self.inside().dir, &shown).to_string();
            for prefix in ["ses_", "rep_"] {
                ids.extend(
                    shown
                        .split(prefix)
                        .skip(1)
                        .map(|rest| rest[..32].to_owned()),
                );
            }
        }
        assert!(ids.len() >= 2, "{ids:?}");
        ids
    }

    /// Adds a projection, waits until it has everything, and removes it again.
    fn follow(&self, name: &str, add: &[&str]) {
        self.inside().siglum(add).ok();
        until(&format!("{name} has everything"), || {
            self.inside().siglum(&["worker", "--once"]).ok();
            let list = self
                .world()
                .json(&self.inside().dir, &["projection", "list"]);
            let mut all = list["projections"].as_array().unwrap().iter();
            let own = all.find(|p| p["name"] == name).unwrap();
            own["lag_receipts"] == 0
        });
        self.inside().siglum(&["projection", "remove", name]).ok();
    }

    fn sync(&self, more: &[&str]) -> Vec<u8> {
        let gateway = Gateway::start(self.world());
        let sync = ["sync", "--to", &gateway.url, "--once"];
        self.inside().siglum(&[&sync[..], more].concat()).ok();
        self.taken_from(&gateway)
    }

    fn run(&self, native: &str, flags: &str, variables: &[(&str, &str)], to: &Gateway) -> Vec<u8> {
        let (agent, launch) = Launch::agent(self.inside(), native, variables, flags);
        play(agent, &format!("{INSIDE}-{native}"));
        assert_eq!(launch.over(), Some(0));
        self.taken_from(to)
    }

    fn taken_from(&self, gateway: &Gateway) -> Vec<u8> {
        let all = received(gateway);
        // The next one has a ledger of its own.
        fs::remove_dir_all(gateway.home()).unwrap();
        all
    }

    fn traces(&self, more: &[&str]) -> Vec<u8> {
        let sink = OtlpSink::start();
        let add = [&["otel", "add", "traces", &sink.url], more].concat();
        self.follow("traces", &add);
        exported(&sink)
    }

    fn directory(&self, kinds: &str) -> Vec<u8> {
        let dir = self.world().root.join(format!("copies-{kinds}"));
        let target = ["--directory", dir.to_str().unwrap(), "--kinds", kinds];
        self.follow(
            "copies",
            &[&["projection", "add", "copies"], &target[..]].concat(),
        );
        all_files(&dir)
    }

    fn program(&self, kinds: &str) -> Vec<u8> {
        let got = self.world().root.join(format!("got-{kinds}"));
        let command = format!("cat >> '{}'", got.display());
        let target = ["--program", &command, "--kinds", kinds];
        self.follow(
            "program",
            &[&["projection", "add", "program"], &target[..]].concat(),
        );
        fs::read(got).unwrap()
    }
}

/// A way out: what of the session inside arrives, and what stays.
struct Way {
    name: &'static str,
    goes: &'static [&'static str],
    stays: &'static [&'static str],
    take: fn(&Start<'_>) -> Vec<u8>,
}

const ALL: &[&str] = &["-prompt", "-file.txt", "-output"];
const VERDICTS: &[&str] = &["-prompt", "-output"];

const WAYS: &[Way] = &[
    Way {
        name: "sync",
        goes: ALL,
        stays: &[],
        take: |s| s.sync(&[]),
    },
    Way {
        name: "sync, prompts",
        goes: &["-prompt", "-subject"],
        stays: &["-output"],
        take: |s| s.sync(&["--kinds", "prompts"]),
    },
    Way {
        name: "sync, verdicts",
        goes: &["-subject"],
        stays: VERDICTS,
        take: |s| s.sync(&["--kinds", "verdicts"]),
    },
    Way {
        name: "sync --session",
        goes: &["-prompt", "-subject"],
        stays: &["-flag", "-variable"],
        take: |s| {
            let gateway = Gateway::start(s.world());
            let session = format!("{INSIDE}-session");
            let sync = ["sync", "--to", &gateway.url, "--session", &session];
            s.inside().siglum(&sync).ok();
            s.taken_from(&gateway)
        },
    },
    Way {
        name: "run --gateway",
        goes: &["-flag-prompt", "-flag-subject"],
        stays: &["-session"],
        take: |s| {
            let gateway = Gateway::start(s.world());
            s.run("flag", &format!("--gateway {}", gateway.url), &[], &gateway)
        },
    },
    Way {
        name: "run, SIGLUM_GATEWAY",
        goes: &["-variable-prompt"],
        stays: &["-session", "-flag"],
        take: |s| {
            let gateway = Gateway::start(s.world());
            s.run(
                "variable",
                "",
                &[("SIGLUM_GATEWAY", &gateway.url)],
                &gateway,
            )
        },
    },
    Way {
        name: "traces, http/protobuf",
        goes: &["-prompt", "-session"],
        stays: &[],
        take: |s| s.traces(&["--content"]),
    },
    Way {
        name: "traces, http/json",
        goes: &["-prompt", "-session"],
        stays: &[],
        take: |s| s.traces(&["--content", "--protocol", "http/json"]),
    },
    Way {
        name: "traces without content",
        goes: &["-session"],
        stays: VERDICTS,
        take: |s| s.traces(&[]),
    },
    Way {
        name: "traces, grpc",
        goes: &["-prompt", "-session"],
        stays: &[],
        take: |s| grpc(s, &["--content"]),
    },
    Way {
        name: "traces without content, grpc",
        goes: &["-session"],
        stays: VERDICTS,
        take: |s| grpc(s, &[]),
    },
    Way {
        name: "native telemetry",
        goes: &["-span"],
        stays: &[],
        take: native,
    },
    Way {
        name: "directory",
        goes: ALL,
        stays: &[],
        take: |s| s.directory("conversations"),
    },
    Way {
        name: "directory, prompts",
        goes: &["-prompt"],
        stays: &["-output"],
        take: |s| s.directory("prompts"),
    },
    Way {
        name: "directory, verdicts",
        goes: &["-file.txt"],
        stays: VERDICTS,
        take: |s| s.directory("verdicts"),
    },
    Way {
        name: "program",
        goes: ALL,
        stays: &[],
        take: |s| s.program("conversations"),
    },
    Way {
        name: "program, prompts",
        goes: &["-prompt"],
        stays: &["-output"],
        take: |s| s.program("prompts"),
    },
    Way {
        name: "program, verdicts",
        goes: &["-file.txt"],
        stays: VERDICTS,
        take: |s| s.program("verdicts"),
    },
    Way {
        name: "webhook",
        goes: &["-asked"],
        stays: &["-session"],
        take: webhook,
    },
    Way {
        name: "pipeline export",
        goes: &["-session", "-label"],
        stays: VERDICTS,
        take: pipeline,
    },
    Way {
        name: "lists of a repository",
        goes: &["-session", "-prompt"],
        stays: &[],
        take: lists,
    },
];

#[test]
fn no_byte_of_a_repository_outside_leaves_by_any_way() {
    on_a_file(|store| {
        let repos = three(&store.world);
        let start = Start { store, repos };
        let ids = start.ids();
        for way in WAYS {
            let all = (way.take)(&start);
            is_private(way.name, &all, way.goes);
            for end in way.stays {
                let mark = format!("{INSIDE}{end}");
                assert!(!has(&all, &mark), "{}: {mark} left", way.name);
            }
            for id in &ids {
                let bytes: Vec<u8> = (0..16)
                    .map(|n| u8::from_str_radix(&id[2 * n..2 * n + 2], 16).unwrap())
                    .collect();
                let is_there = has(&all, id) || all.windows(16).any(|w| w == bytes);
                assert!(!is_there, "{}: {id} left", way.name);
            }
        }
    });
}

/// All bytes that go through to a server.
struct Tap {
    url: String,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Tap {
    fn before(address: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let server = address.trim_start_matches("http://").to_owned();
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let all = Arc::clone(&bytes);
        std::thread::spawn(move || {
            for here in listener.incoming().flatten() {
                let Ok(there) = TcpStream::connect(&server) else {
                    continue;
                };
                let (back_from, back_to) = (there.try_clone().unwrap(), here.try_clone().unwrap());
                let all = Arc::clone(&all);
                std::thread::spawn(move || copy(here, there, |b| all.lock().unwrap().extend(b)));
                std::thread::spawn(move || copy(back_from, back_to, |_| {}));
            }
        });
        Self { url, bytes }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, seen: impl Fn(&[u8])) {
    let mut part = [0; 8192];
    while let Ok(count @ 1..) = from.read(&mut part) {
        seen(&part[..count]);
        if to.write_all(&part[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Traces by gRPC, as another gateway gets them.
fn grpc(start: &Start<'_>, more: &[&str]) -> Vec<u8> {
    let got: Mutex<Vec<u8>> = Mutex::default();
    on_a_file(|receiver| {
        let gateway = server::Gateway::start(receiver);
        let tap = Tap::before(&gateway.address);
        let token = start.world().root.join("grpc-token");
        fs::write(&token, format!("Bearer {}\n", gateway.token)).unwrap();
        let header = format!("authorization={}", token.display());
        let add = [
            "otel",
            "add",
            "grpc",
            &tap.url,
            "--protocol",
            "grpc",
            "--no-gzip",
        ];
        let add = [&add[..], &["--header-file", &header], more].concat();
        start.follow("grpc", &add);
        got.lock().unwrap().clone_from(&tap.bytes.lock().unwrap());
    });
    got.into_inner().unwrap()
}

/// What agents of all three send to the gateway themselves.
fn native(start: &Start<'_>) -> Vec<u8> {
    let sink = OtlpSink::start();
    let add = ["otel", "add", "native", &sink.url, "--native"];
    start.inside().siglum(&add).ok();
    let gateway = server::Gateway::start(start.store);
    for (n, mark) in (1..).zip([OUTSIDE[0], OUTSIDE[1], INSIDE]) {
        let session = ["session", "show", &format!("{mark}-session")];
        let session = start.world().json(&start.inside().dir, &session)["session"]["id"].clone();
        let resource = json!({ "service.name": "claude-code", "siglum.session.id": session });
        let one = span(TRACE, n, &json!({ "its.own": format!("{mark}-span") }));
        send(&gateway, &gateway.token, &spans(&resource, &[one]));
    }
    until("it is handed on", || {
        start.inside().siglum(&["worker", "--once"]).ok();
        has(&exported(&sink), &format!("{INSIDE}-span"))
    });
    start.inside().siglum(&["otel", "remove", "native"]).ok();
    exported(&sink)
}

/// What a heartbeat's webhook gets of a tick.
fn webhook(start: &Start<'_>) -> Vec<u8> {
    let hook = Gateway::start(start.world());
    let gateway = serve(start.store, &[]);
    let client = gateway.launcher();
    let schema = json!({ "type": "object", "properties": {
        "conversation_id": {}, "session": {}, "turn": {}, "trace_id": {}, "context_key": {}, "labels": {},
    } });
    let definition = json!({ "every": "1h", "prompt": format!("!whole\n{INSIDE}-asked"), "route_key": "team:main",
        "target": "webhook", "webhook": hook.url, "schema": schema });
    put(&client, "alert", &definition);
    ran(&client, "alert", "delivered");
    assert_eq!(hook.requests().len(), 1, "once");
    start.taken_from(&hook)
}

/// The export of a pipeline, beside one of another repository.
fn pipeline(start: &Start<'_>) -> Vec<u8> {
    for (mark, pipeline) in [
        (INSIDE, "ours"),
        (OUTSIDE[0], "theirs"),
        (OUTSIDE[1], "theirs"),
    ] {
        let (session, link) = (format!("{mark}-session"), format!("pipeline={pipeline}"));
        let link = ["link", "add", &session, &link];
        start.inside().siglum(&link).ok();
    }
    let export = ["pipeline", "export", "ours"];
    start.inside().siglum(&export).ok().into_bytes()
}

/// What commands print of the repository that they stand in.
fn lists(start: &Start<'_>) -> Vec<u8> {
    let mut all = Vec::new();
    for list in [
        &["session", "list"][..],
        &["checkpoint", "list"],
        &["cost"],
        &["search", "prompt"],
        &["log"],
        &["why", "HEAD"],
    ] {
        let args = [list, &["--json"]].concat();
        all.extend(start.inside().siglum(&args).ok().into_bytes());
    }
    all
}

/// The audit is of the whole ledger, for whoever owns it: it has no texts at all.
#[test]
fn no_text_leaves_by_an_export_of_the_audit() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let audit = inside.siglum(&["audit", "export"]).ok();
    assert!(
        audit.contains("link_attached") || audit.contains("-label"),
        "{audit}"
    );
    for mark in [INSIDE, OUTSIDE[0], OUTSIDE[1]] {
        for end in ["-prompt", "-text", "-output", "-subject", "-file.txt"] {
            assert!(
                !audit.contains(&format!("{mark}{end}")),
                "{mark}{end}: {audit}"
            );
        }
    }
}
