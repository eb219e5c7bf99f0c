//! What a server of traces gets of sessions.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{SECRET, secret_file};
use crate::gateway::client::{id, secret, turn_body};
use crate::gateway::server::{Gateway, base, on_a_file, on_a_server, siglum};
use crate::harness::talk::tokens;
use crate::harness::{Agent, OtlpSink, Repo, SinkFate, Talk, World, until};
use crate::launching::Launch;

/// The names under which a span has the id of its conversation.
const KEYS: [&str; 4] = [
    "session.id",
    "gen_ai.conversation.id",
    "langsmith.metadata.thread_id",
    "lmnr.association.properties.session_id",
];

fn followed(repo: &Repo<'_>, sink: &OtlpSink, more: &[&str]) {
    let args = [&["otel", "add", "sink", sink.url.as_str()][..], more].concat();
    repo.siglum(&args).ok();
}

/// The spans of a conversation; on all of them, its id is the same under all names.
fn spans_of<'s>(spans: &'s [Value], conversation: &str) -> Vec<&'s Value> {
    let own = |s: &&Value| s["attributes"]["session.id"] == conversation;
    let own: Vec<_> = spans.iter().filter(own).collect();
    for span in &own {
        for key in KEYS {
            assert_eq!(span["attributes"][key], conversation, "{key} of {span}");
        }
    }
    own
}

fn roots<'s>(spans: &[&'s Value]) -> Vec<&'s Value> {
    let named = |s: &&&Value| {
        let name = s["name"].as_str().unwrap_or_default();
        name.starts_with("invoke_agent") && s["attributes"]["siglum.agent.id"].is_null()
    };
    spans.iter().filter(named).copied().collect()
}

/// The traces of the turns in their order; none is told twice.
fn traces(spans: &[&Value]) -> Vec<String> {
    let mut all: BTreeMap<u64, String> = BTreeMap::new();
    for root in roots(spans) {
        let index = root["attributes"]["siglum.turn.index"].as_u64().unwrap();
        let trace = root["traceId"].as_str().unwrap().to_owned();
        assert_eq!(all.insert(index, trace), None, "a turn twice: {root}");
    }
    all.into_values().collect()
}

fn once(spans: &[Value]) {
    let ids: BTreeSet<_> = spans.iter().map(|s| s["spanId"].to_string()).collect();
    assert_eq!(ids.len(), spans.len(), "a span twice");
}

fn sum(spans: &[&Value], key: &str) -> u64 {
    let number = |s: &&Value| s["attributes"][key].as_u64().unwrap_or(0);
    spans.iter().map(number).sum()
}

fn is_sent(talk: &Talk<'_>, spans: &[Value]) -> bool {
    let own = spans_of(spans, &talk.conversation);
    let input = talk.used.input + talk.used.cache_read + talk.used.cache_write;
    traces(&own).len() == talk.turns as usize && sum(&own, "gen_ai.usage.input_tokens") == input
}

/// The repository of all that is driven here is known before anybody says what may leave.
fn name_repository(gateway: &Gateway) {
    gateway.launcher().create(&base("before"));
}

/// One turn of a session that a caller named so, in a trace if one is given.
pub(super) fn driven(gateway: &Gateway, name: &str, keys: &[&str], traceparent: Option<&str>) {
    let created = gateway.launcher().create(&base(name));
    let (session, mut own) = (id(&created), gateway.client(&secret(&created)));
    let (epoch, mut head) = own.lease(&session, name);
    if let Some(parent) = traceparent {
        own = own.with("traceparent", parent);
    }
    for key in keys {
        let done = own
            .turn(&session, key, &turn_body(epoch, head, key))
            .unwrap();
        head = done.is(200)["receipt"]["last"].as_u64().unwrap();
    }
}

#[test]
fn a_named_conversation_is_on_every_span_of_its_turns() {
    on_a_file(|store| {
        let repo = store.world.repo();
        let sink = OtlpSink::start();
        let gateway = Gateway::start(store);
        name_repository(&gateway);
        followed(&repo, &sink, &["--all-repositories"]);
        let long = "x".repeat(128);
        for name in ["S1", long.as_str()] {
            driven(&gateway, name, &["t1", "t2"], None);
            until("both turns are told", || {
                traces(&spans_of(&sink.spans(), name)).len() == 2
            });
            let spans = sink.spans();
            let own = spans_of(&spans, name);
            let traces = traces(&own);
            assert_ne!(traces[0], traces[1], "a trace for each turn");
            let second = roots(&own);
            let second = second
                .iter()
                .find(|r| r["attributes"]["siglum.turn.index"] == 1);
            let link = &second.unwrap()["links"][0];
            assert_eq!(link["traceId"], json!(traces[0]));
            assert_eq!(link["attributes"]["siglum.link.type"], "previous_turn");
            assert_eq!(sum(&own, "gen_ai.usage.output_tokens"), 6);
        }
        once(&sink.spans());
    });
}

/// A server's store has no worker: its gateways deliver, one of them at a time, and another one goes on where that one dies.
#[test]
fn of_two_gateways_on_a_server_each_span_is_told_once() {
    on_a_server(|store| {
        let sink = OtlpSink::start();
        let mut first = Gateway::start(store);
        let mut second = first.beside(store);
        name_repository(&first);
        let args = ["otel", "add", "sink", &sink.url, "--all-repositories"];
        assert_eq!(siglum(store, &args)["outcome"], "added");
        let all_is_noted = || {
            let listed = siglum(store, &["otel", "list"]);
            listed["destinations"][0]["standing"]["lag_receipts"] == 0
        };
        let deliver = |gateway: &Gateway, name: &str| {
            driven(gateway, name, &["t1", "t2"], None);
            until("both turns are told", || {
                traces(&spans_of(&sink.spans(), name)).len() == 2
            });
            until("that is noted", all_is_noted);
        };
        deliver(&first, "by-one");
        deliver(&second, "by-the-other");
        // One of the two had the right to deliver.
        first.kill();
        deliver(&second, "behind-the-first");
        let third = second.beside(store);
        second.kill();
        deliver(&third, "behind-the-second");
        once(&sink.spans());
        siglum(store, &["otel", "remove", "sink"]);
        let listed = siglum(store, &["otel", "list"]);
        assert_eq!(listed["destinations"], json!([]));
    });
}

#[test]
fn a_gateway_without_the_headers_leaves_an_endpoint_of_a_server_to_the_others() {
    on_a_server(|store| {
        let sink = OtlpSink::start();
        let elsewhere = store.world.root.join("elsewhere");
        let home = ("SIGLUM_HOME", elsewhere.to_str().unwrap());
        let without = Gateway::with(store, &[], &[home]);
        name_repository(&without);
        let file = format!("authorization={}", secret_file(&store.world).display());
        let args = [
            "otel",
            "add",
            "sink",
            &sink.url,
            "--all-repositories",
            "--header-file",
            &file,
        ];
        siglum(store, &args);
        driven(&without, "one", &["t1"], None);
        let log = store.world.root.join("gateway.err");
        until("it says that it has no headers", || {
            let log = std::fs::read_to_string(&log).unwrap();
            log.contains("nothing is delivered from here to sink")
        });
        assert!(sink.requests().is_empty());
        let _with = Gateway::start(store);
        until("the turn is told", || {
            traces(&spans_of(&sink.spans(), "one")).len() == 1
        });
        for request in sink.requests() {
            assert_eq!(request.header("authorization"), Some(SECRET));
        }
        siglum(store, &["otel", "remove", "sink"]);
        let kept = store.world.siglum_home().join("tokens");
        assert_eq!(std::fs::read_dir(kept).unwrap().count(), 0);
    });
}

#[test]
fn a_valid_trace_is_joined_and_any_other_is_not() {
    on_a_file(|store| {
        let repo = store.world.repo();
        let sink = OtlpSink::start();
        let gateway = Gateway::start(store);
        name_repository(&gateway);
        followed(&repo, &sink, &["--all-repositories"]);
        let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
        let valid = format!("00-{trace}-{span}-01");
        for name in ["one", "two"] {
            driven(&gateway, name, &["t"], Some(&valid));
        }
        for (name, header) in [
            ("garbage", "00-garbage-01".to_owned()),
            ("zero", format!("00-{}-{span}-01", "0".repeat(32))),
            ("capitals", valid.to_uppercase()),
        ] {
            driven(&gateway, name, &["t"], Some(&header));
        }
        driven(
            &gateway,
            "unsampled",
            &["t"],
            Some(&valid.replace("-01", "-00")),
        );
        driven(&gateway, "last", &["t"], None);
        until("all are told", || {
            let spans = sink.spans();
            let has_one_trace = |name: &&str| traces(&spans_of(&spans, name)).len() == 1;
            ["one", "two", "garbage", "zero", "capitals", "last"]
                .iter()
                .all(has_one_trace)
        });
        let spans = sink.spans();
        for name in ["one", "two"] {
            for sent in spans_of(&spans, name) {
                assert_eq!(sent["traceId"], trace, "{sent}");
            }
            assert_eq!(roots(&spans_of(&spans, name))[0]["parentSpanId"], span);
        }
        for name in ["garbage", "zero", "capitals", "last"] {
            let own = spans_of(&spans, name);
            assert_ne!(traces(&own)[0], trace);
            let parent = &roots(&own)[0]["parentSpanId"];
            assert!(
                parent.as_str().unwrap_or_default().is_empty(),
                "{name}: {parent}"
            );
        }
        assert_eq!(spans_of(&spans, "unsampled"), [&Value::Null; 0]);
        let kept = store.sql("SELECT count(*) FROM receipts");
        assert_eq!(kept, "7", "the ledger has what is not told");
    });
}

#[test]
fn what_began_before_the_time_of_a_destination_is_not_told() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    let mut early = Talk::start(&repo, "early");
    early.turn("One.");
    let since = repo.sh("date -u +%Y-%m-%dT%H:%M:%S.%3NZ").ok();
    followed(&repo, &sink, &["--since", &since]);
    // The time at which the session began counts, and not that of the turn.
    early.turn("Two.");
    let mut late = Talk::start(&repo, "late");
    late.turn("Three.");
    until("the later is told", || is_sent(&late, &sink.spans()));
    early.agent.quit();
    late.agent.quit();
    until("the worker has left", || world.processes().is_empty());
    once(&sink.spans());
    assert_eq!(spans_of(&sink.spans(), "early"), [&Value::Null; 0]);
    let of_early = |log: &Value| log["attributes"]["session.id"] == "early";
    assert!(!sink.logs().iter().any(of_early));
}

#[test]
fn an_agent_that_nobody_named_has_its_own_name_for_good() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    followed(&repo, &sink, &["--protocol", "http/json"]);
    let mut talk = Talk::start(&repo, "h1");
    talk.turn("One.");
    talk.ask("Two, with help from two at once.");
    let (first, second) = (talk.help("a1"), talk.help("a2"));
    talk.help_on(&second, tokens(5, 6, 7, 8));
    talk.help_on(&first, tokens(1, 2, 3, 4));
    talk.helped(second);
    talk.helped(first);
    talk.answer(tokens(9, 10, 11, 12));
    talk.stop();
    let mut fork = talk.forked("h2");
    fork.turn("Another way.");
    until("all is told", || {
        let spans = sink.spans();
        is_sent(&talk, &spans) && traces(&spans_of(&spans, "h2")).len() == 1
    });
    let spans = sink.spans();
    once(&spans);
    let own = spans_of(&spans, "h1");
    let by_id: BTreeMap<_, _> = own.iter().map(|s| (s["spanId"].to_string(), *s)).collect();
    for id in ["a1", "a2"] {
        let named = |s: &&&Value| {
            s["name"].as_str().unwrap().starts_with("invoke_agent")
                && s["attributes"]["siglum.agent.id"] == id
        };
        let inner = own.iter().find(named).unwrap();
        let around = by_id[&inner["parentSpanId"].to_string()];
        assert_eq!(
            around["attributes"]["gen_ai.tool.call.id"],
            format!("toolu_{id}")
        );
        let inside = own.iter().filter(|s| s["parentSpanId"] == inner["spanId"]);
        let inside: BTreeSet<_> = inside.map(|s| s["name"].as_str().unwrap()).collect();
        let wanted = BTreeSet::from(["chat claude-opus-4-5", "execute_tool Bash"]);
        assert_eq!(inside, wanted);
    }
    let fork = spans_of(&spans, "h2");
    let root = roots(&fork)[0];
    assert_eq!(root["attributes"]["session.previous_id"], "h1");
    assert_eq!(root["links"][0]["attributes"]["siglum.link.type"], "fork");
    assert_eq!(root["links"][0]["traceId"], json!(traces(&own)[1]));
    // Sessions begin as records of the log, and no span stands for one.
    until("both beginnings are told", || {
        let started = sink
            .logs()
            .into_iter()
            .filter(|l| l["eventName"] == "session.start");
        let of: BTreeSet<_> = started
            .map(|l| l["attributes"]["session.id"].to_string())
            .collect();
        of.len() == 2
    });
}

#[test]
fn an_agent_that_dies_leaves_a_turn_that_failed() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    followed(&repo, &sink, &[]);
    let mut agent = Agent::start(&repo, "h1");
    let call = agent.shell_call("true");
    agent.hook("PreToolUse", call);
    agent.kill();
    until("what is left is told", || {
        repo.siglum(&["worker", "--once"]).ok();
        traces(&spans_of(&sink.spans(), "h1")).len() == 1
    });
    let spans = sink.spans();
    let own = spans_of(&spans, "h1");
    assert_eq!(own.len(), 2, "the turn and its call: {own:?}");
    for span in own {
        assert_eq!(span["status"]["code"], 2, "{span}");
    }
    let is_end = |l: &Value| l["eventName"] == "session.end";
    until("its end is told", || sink.logs().iter().any(is_end));
}

#[test]
fn a_session_is_kept_or_left_out_as_a_whole() {
    on_a_file(|store| {
        let repo = store.world.repo();
        let sink = OtlpSink::start();
        let gateway = Gateway::with(store, &["--creations", "1000"], &[]);
        name_repository(&gateway);
        followed(&repo, &sink, &["--sample", "30%", "--all-repositories"]);
        let all = OtlpSink::start();
        repo.siglum(&["otel", "add", "all", &all.url, "--all-repositories"])
            .ok();
        let names: Vec<_> = (0..40).map(|n| format!("session-{n}")).collect();
        for name in &names {
            driven(&gateway, name, &["t1", "t2", "t3"], None);
        }
        until("all is told where all is told", || {
            let spans = all.spans();
            names
                .iter()
                .all(|n| traces(&spans_of(&spans, n)).len() == 3)
        });
        let lags = || store.world.json(&repo.dir, &["otel", "list"])["destinations"].clone();
        until("nothing is left", || {
            lags()
                .as_array()
                .unwrap()
                .iter()
                .all(|d| d["standing"]["lag_receipts"] == 0)
        });
        let (spans, whole) = (sink.spans(), all.spans());
        let mut kept = 0;
        for name in &names {
            match spans_of(&spans, name).len() {
                0 => {}
                some => {
                    kept += 1;
                    assert_eq!(some, spans_of(&whole, name).len(), "{name}");
                }
            }
        }
        assert!((4..=22).contains(&kept), "{kept} of 40 are about a third");
        assert_eq!(store.sql("SELECT count(*) FROM receipts"), "120");
    });
}

#[test]
fn a_server_that_is_away_gets_all_of_it_once_when_it_is_back() {
    let world = World::new();
    let repo = world.repo();
    let mut sink = OtlpSink::start();
    followed(&repo, &sink, &[]);
    let mut talk = Talk::start(&repo, "h1");
    let standing =
        || world.json(&repo.dir, &["otel", "list"])["destinations"][0]["standing"].clone();
    talk.turn("One.");
    until("one is told", || is_sent(&talk, &sink.spans()));
    // What the server has and has not answered yet would be told again.
    until("it is noted", || standing()["lag_receipts"] == 0);
    sink.stop();
    talk.turn("Two.");
    talk.turn("Three.");
    until("it is seen that it is away", || {
        standing()["health"] != "ok"
    });
    sink.start_again();
    sink.fates([
        SinkFate::Before,
        SinkFate::Inside,
        SinkFate::Status(503, "retry-after: 1\r\n"),
        SinkFate::Status(429, ""),
    ]);
    until("the rest is told", || {
        repo.siglum(&["worker", "--once"]).ok();
        is_sent(&talk, &sink.spans())
    });
    once(&sink.spans());
}

#[test]
fn what_is_sent_again_since_the_answer_was_lost_is_the_same() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    followed(&repo, &sink, &[]);
    let mut talk = Talk::start(&repo, "h1");
    talk.turn("One.");
    // That a session began may be sent before its first turn is over, and that is no span.
    until("the first turn is sent", || is_sent(&talk, &sink.spans()));
    sink.fates([SinkFate::After, SinkFate::After]);
    talk.turn("Two.");
    until("the second one is sent again", || {
        let spans = sink.spans();
        let ids: BTreeSet<_> = spans.iter().map(|s| s["spanId"].to_string()).collect();
        sink.pending_fates() == 0 && ids.len() < spans.len()
    });
    let mut by_id: BTreeMap<String, Value> = BTreeMap::new();
    let spans = sink.spans();
    for span in &spans {
        let first = by_id
            .entry(span["spanId"].to_string())
            .or_insert_with(|| span.clone());
        assert_eq!(first, span);
    }
    let unique: Vec<Value> = by_id.into_values().collect();
    assert!(is_sent(&talk, &unique));
}

#[test]
fn the_trace_of_the_launcher_is_that_of_the_first_turn_alone() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    followed(&repo, &sink, &[]);
    let (trace, span) = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331");
    let parent = format!("00-{trace}-{span}-01");
    let variables = [("TRACEPARENT", parent.as_str())];
    let (mut agent, launch) = Launch::agent(&repo, "h1", &variables, "");
    agent.hook("SessionStart", json!({ "source": "startup" }));
    for text in ["One.", "Two."] {
        agent.prompt(text);
        agent.stop();
    }
    let spans_of_both_turns = || {
        let spans = sink.spans();
        let turns = roots(&spans.iter().collect::<Vec<_>>()).len();
        (turns == 2).then_some(spans)
    };
    until("both turns are told", || spans_of_both_turns().is_some());
    let spans = spans_of_both_turns().unwrap();
    let all: Vec<_> = spans.iter().collect();
    let traces = traces(&all);
    assert_eq!(traces[0], trace);
    assert_ne!(traces[1], trace);
    let second = roots(&all)
        .into_iter()
        .find(|r| r["attributes"]["siglum.turn.index"] == 1);
    let link = &second.unwrap()["links"][0];
    assert_eq!(link["traceId"], trace, "the second points to the first");
    drop(agent);
    launch.over();
}

#[test]
fn an_endpoint_for_logs_alone_gets_them_and_no_spans() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    let endpoint = format!("{}/v1/logs", sink.url);
    repo.siglum(&["otel", "add", "sink", &endpoint]).ok();
    let mut agent = Agent::start(&repo, "h1");
    agent.stop();
    let is_start = |l: &Value| l["eventName"] == "session.start";
    until("its beginning is told", || sink.logs().iter().any(is_start));
    assert!(sink.requests().iter().all(|a| a.path == "/v1/logs"));
    let standing =
        || world.json(&repo.dir, &["otel", "list"])["destinations"][0]["standing"].clone();
    until("nothing is left", || standing()["lag_receipts"] == 0);
    assert_eq!(standing()["health"], "ok");
}
