//! Every route that there is, called by everybody who may not.

use std::net::Ipv4Addr;

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Right, Scope};

use super::client::{Reply, id, secret, turn_body};
use super::issuers::serving;
use super::server::{
    Gateway, Store, base, each_store, limited_token, revoke, stored, tenant, token, token_for,
};
use crate::harness::{Issuer, SigningKey};

/// A pipeline that is there, and ids that nobody has.
const NOBODY: &str = "ses_019ad0000000700080000000000000ff";
const PIPELINE: &str = "a-pipeline-that-is-there";
const HEARTBEAT: &str = "heartbeat-that-is-there";
const NO_INTERACTION: &str = "int_019ad0000000700080000000000000ff";
const NOTHING: &str = "chk_019ad0000000700080000000000000ff";

/// A call of the document.
#[derive(Debug)]
struct Route {
    name: String,
    method: String,
    path: String,
    /// Whether it needs a token, and whether a session's will do.
    secured: bool,
    sessions: bool,
    /// Whether one for telemetry will do.
    telemetry: bool,
    /// Whether one for reading will do.
    read: bool,
    /// Whether it needs one that may attest.
    attests: bool,
    /// The right that it needs of a token with limits.
    right: Option<String>,
    /// Whether a token that is limited to repositories may call it.
    by_repository: bool,
    has_body: bool,
}

fn routes(gateway: &Gateway) -> Vec<Route> {
    let document = gateway.stranger().get("/v1/openapi.json").is(200);
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let security = operation["security"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            routes.push(Route {
                name: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                secured: !security.is_empty(),
                sessions: security.iter().any(|s| s.get("session").is_some()),
                telemetry: security.iter().any(|s| s.get("telemetry").is_some()),
                read: security.iter().any(|s| s.get("read").is_some()),
                attests: security.iter().any(|s| s.get("attester").is_some()),
                right: operation["x-siglum-access"]["right"]
                    .as_str()
                    .map(str::to_owned),
                by_repository: operation["x-siglum-access"]["by_repository"] == true,
                has_body: operation.get("requestBody").is_some(),
            });
        }
    }
    routes
}

/// What is there, and is nobody else's business.
struct There {
    session: String,
    checkpoint: String,
    epoch: u64,
    head: u64,
    own: String,
    /// A context that is kept in a session of its own.
    keys: Value,
}

impl There {
    fn new(gateway: &Gateway) -> Self {
        let mut body = base("S1");
        body["links"] = json!({ "issue_number": 42, "pipeline_id": PIPELINE });
        let created = gateway.launcher().create(&body);
        let (session, own) = (id(&created), gateway.client(&secret(&created)));
        let (epoch, head) = own.lease(&session, "n");
        let turn = own
            .turn(&session, "t1", &turn_body(epoch, head, "t1"))
            .unwrap()
            .is(200);
        let claim =
            json!({ "commit": { "repository": "github.com/o/r", "commit": "a".repeat(40) } });
        let path = format!("/v1/sessions/{session}/checkpoints");
        let recorded = own.post(&path, &claim).is(201);
        let launcher = gateway.launcher();
        let request =
            json!({ "route_key": "route-that-is-there", "agent": "openclaw", "run": "r1" });
        let resolved = launcher.post("/v1/contexts/resolve", &request).is(200);
        let heartbeat = json!({ "name": HEARTBEAT, "definition": {
            "agent": "claude-code", "every": "1h", "prompt": "Look.", "target": "none" } });
        launcher.post("/v1/heartbeats", &heartbeat).is(200);
        Self {
            keys: json!({ "route_key": resolved["route_key"], "context_key": resolved["context_key"] }),
            checkpoint: recorded["checkpoint"]["id"].as_str().unwrap().to_owned(),
            epoch,
            head: turn["receipt"]["last"].as_u64().unwrap(),
            own: secret(&created),
            session,
        }
    }

    /// The path of a route, to what is there or to what nobody has.
    fn path(&self, route: &Route, real: bool) -> String {
        let or = |there: &str, nowhere: &str| {
            if real {
                there.to_owned()
            } else {
                nowhere.to_owned()
            }
        };
        let path = route
            .path
            .replace("{session}", &or(&self.session, NOBODY))
            .replace("{checkpoint}", &or(&self.checkpoint, NOTHING))
            .replace("{commit}", &or(&"a".repeat(40), &"b".repeat(40)))
            .replace("{pipeline}", &or(PIPELINE, "a-pipeline-of-nobody"))
            .replace("{heartbeat}", &or(HEARTBEAT, "a-heartbeat-of-nobody"))
            .replace("{interaction}", &or(NO_INTERACTION, NO_INTERACTION))
            .replace("{turn_key}", &or("t1", "t9"));
        assert!(
            !path.contains('{'),
            "say here what stands in the path of {}",
            route.name
        );
        let key = |name: &str, nowhere: &str| or(self.keys[name].as_str().unwrap(), nowhere);
        match route.name.as_str() {
            // What another tenant finds is its own.
            "searchSessions" => format!("{path}?q=S1"),
            "getRoute" => format!(
                "{path}?route_key={}",
                key("route_key", "route-of-nobody-at-all")
            ),
            _ => path,
        }
    }

    /// Both keys of the context, and what else a call about it says.
    fn in_context(&self, more: &Value) -> Value {
        let mut body = self.keys.clone();
        let more = more.as_object().cloned().unwrap_or_default();
        body.as_object_mut().unwrap().extend(more);
        body
    }

    /// The same of the calls about contexts.
    fn context_body(&self, name: &str) -> Option<Value> {
        let turn = || json!([{ "type": "user", "text": "stolen" }]);
        Some(match name {
            "resolveContext" => {
                json!({ "route_key": "stolen", "agent": "openclaw", "run": "r9" })
            }
            "prepareSubagent" => self.in_context(&json!({ "child": {
                "route_key": "stolen", "agent": "openclaw", "run": "r9" } })),
            "bootstrapContext" | "maintainContext" => self.in_context(&json!({})),
            "assembleContext" => self.in_context(&json!({ "budget": 1_000 })),
            "ingestContextMessage" => {
                self.in_context(&json!({ "turn_key": "t9", "index": 0, "message": turn()[0] }))
            }
            "commitContextTurn" => {
                self.in_context(&json!({ "turn_key": "t9", "messages": turn() }))
            }
            "backfillContext" => self.in_context(&json!({
                "turn_key": "t9", "messages": turn(), "positions": { "first": 1, "last": 2 } })),
            "recordAfterTurn" => self.in_context(&json!({ "outcome": "done" })),
            "compactContext" => self.in_context(&json!({ "turn_key": "t9", "summary": "stolen" })),
            "endSubagent" => self.in_context(&json!({ "outcome": "done" })),
            "acceptContextGap" => self.in_context(&json!({ "until": 3 })),
            _ => return None,
        })
    }

    /// A body that would do what the route is for. A new route needs one here.
    fn body(&self, route: &Route) -> Option<Value> {
        let (epoch, head) = (self.epoch, self.head);
        let body = match route.name.as_str() {
            "createSession" => base("stolen"),
            "endSession" => json!({ "outcome": "lost" }),
            "attachLinks" => json!({ "pr_number": 7 }),
            "detachLinks" => json!({ "issue_number": 42 }),
            "acquireLease" => json!({ "holder": "tests", "nonce": "n", "term_ms": 60_000 }),
            "renewLease" => json!({ "epoch": epoch, "term_ms": 60_000 }),
            "releaseLease" | "abortTurn" => json!({ "epoch": epoch }),
            "decideTurn" => json!({ "decision": "discard" }),
            "commitTurn" | "openTurn" | "appendToTurn" => turn_body(epoch, head, "t2"),
            "createCheckpoint" => json!({}),
            "attestCommit" => json!({ "commit": "a".repeat(40), "repository": "github.com/o/r" }),
            "explainCommits" => json!({ "commits": ["a".repeat(40)] }),
            "recordPipelineEvents" => {
                json!({ "events": [{ "kind": "phase_started", "phase": "plan", "key": "k" }] })
            }
            "pushReplicas" => json!({
                "version": 1, "ledger": "led_019ad0000000700080000000000000ff",
                "stamp": siglum_platform::clock::now(),
            }),
            "exportTraces" => json!({ "resourceSpans": [] }),
            "exportLogs" => json!({ "resourceLogs": [] }),
            "exportMetrics" => json!({ "resourceMetrics": [] }),
            "assignTrace" => json!({ "trace_id": "1".repeat(32) }),
            "createHeartbeat" => json!({ "name": "stolen", "definition": {
                "agent": "claude-code", "every": "1h", "prompt": "Look.", "target": "none" } }),
            "sendMessages" | "sendSessionMessages" => json!({
                "agent": "claude-code", "messages": [{ "role": "user", "content": "stolen" }] }),
            "answerInteraction" => json!({ "option": "allow" }),
            name if self.context_body(name).is_some() => return self.context_body(name),
            _ if !route.has_body => return None,
            other => panic!("{other} has a body, and no well-formed one is known here"),
        };
        Some(body)
    }
}

struct Intruder {
    name: &'static str,
    header: Option<String>,
    /// What may be answered.
    allowed: &'static [u16],
    /// Routes that it may call all the same are left out.
    only_launchers_routes: bool,
    /// Only for routes that take no telemetry.
    no_telemetry_routes: bool,
    /// Only for routes that are not for reading.
    no_read_routes: bool,
    /// Only for routes that need a token that may attest.
    only_attesters_routes: bool,
    /// A session, which may hand over telemetry of itself.
    is_session: bool,
    /// It has a ledger of its own, where it may do everything.
    elsewhere: bool,
}

impl Intruder {
    fn with_token(name: &'static str, token: &str, allowed: &'static [u16]) -> Self {
        Self {
            name,
            header: Some(format!("Bearer {token}")),
            allowed,
            only_launchers_routes: false,
            no_telemetry_routes: false,
            no_read_routes: false,
            only_attesters_routes: false,
            is_session: false,
            elsewhere: false,
        }
    }
}

fn intruders(store: &Store, gateway: &Gateway, there: &There) -> Vec<Intruder> {
    let ours = tenant(store);
    let of = |name, token: String, allowed| Intruder::with_token(name, &token, allowed);
    let (revoked, revoked_id) = token(store, ours, None, None);
    revoke(store, ours, revoked_id);
    let (own_revoked, own_id) = token(store, ours, Some(&there.session), None);
    revoke(store, ours, own_id);
    let another = gateway.launcher().create(&base("S2"));
    let mut all = vec![
        Intruder {
            header: None,
            ..of("no token", String::new(), &[401])
        },
        of("garbage", "letmein".to_owned(), &[401]),
        Intruder {
            header: Some("Basic YTpi".to_owned()),
            ..of("another scheme", String::new(), &[401])
        },
        of(
            "a token that nobody made",
            format!("siglum_{ours}_{}", "0".repeat(64)),
            &[401],
        ),
        of(
            "an expired launcher",
            token(store, ours, None, Some(-60)).0,
            &[401],
        ),
        of("a revoked launcher", revoked, &[401]),
        of(
            "an expired token of the session",
            token(store, ours, Some(&there.session), Some(-60)).0,
            &[401],
        ),
        of("a revoked token of the session", own_revoked, &[401]),
        Intruder {
            is_session: true,
            ..of("another session", secret(&another), &[403])
        },
        Intruder {
            no_telemetry_routes: true,
            ..of(
                "an agent's token for telemetry",
                token_for(store, ours, Scope::Telemetry, None).0,
                &[403],
            )
        },
        Intruder {
            no_read_routes: true,
            ..of(
                "a pipeline's token for reading",
                token_for(store, ours, Scope::Read, None).0,
                &[403],
            )
        },
        Intruder {
            only_attesters_routes: true,
            ..of(
                "a launcher that may not attest",
                token(store, ours, None, None).0,
                &[403],
            )
        },
        Intruder {
            only_launchers_routes: true,
            ..of(
                "the session itself, where a launcher is needed",
                there.own.clone(),
                &[403],
            )
        },
    ];
    all.extend(strangers(store, gateway));
    all
}

/// Those of another tenant.
fn strangers(store: &Store, gateway: &Gateway) -> Vec<Intruder> {
    let of = Intruder::with_token;
    let (launcher, _) = token_for(store, "others", Scope::Attester, None);
    if store.is_file() {
        // A file has one tenant; a token of another one is worth nothing, even if it were stored there.
        return vec![of("a launcher of another tenant", &launcher, &[401])];
    }
    let theirs = gateway.client(&launcher).create(&base("S1"));
    vec![
        Intruder {
            elsewhere: true,
            ..of("a launcher of another tenant", &launcher, &[404])
        },
        Intruder {
            is_session: true,
            ..of("a session of another tenant", &secret(&theirs), &[403])
        },
    ]
}

/// Asks from an address of its own: who comes with wrong tokens too often is not looked at any more.
fn ask(
    gateway: &Gateway,
    from: u16,
    who: &Intruder,
    route: &Route,
    path: &str,
    body: Option<&Value>,
) -> Reply {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut head = format!(
        "{} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n",
        route.method
    );
    if let Some(header) = &who.header {
        head.push_str(&format!("authorization: {header}\r\n"));
    }
    if route.has_body {
        head.push_str("content-type: application/json\r\n");
    }
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    let [high, low] = from.to_be_bytes();
    super::raw::ask_from(gateway, Ipv4Addr::new(127, 1, high, low), head.as_bytes())
}

/// An answer without what was asked for in it, and without the id of its request.
fn bare(reply: &Reply, path: &str) -> String {
    let id = reply.header("x-request-id").expect("each response has it");
    let mut text = format!("{} {}", reply.status, reply.text).replace(id, "*");
    for part in path.split(['/', '?', '=', '&']).filter(|p| p.len() > 16) {
        text = text.replace(part, "*");
    }
    text
}

#[test]
fn nobody_who_may_not_gets_through_any_route() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let there = There::new(&gateway);
        let all = routes(&gateway);
        let open: Vec<&str> = all
            .iter()
            .filter(|r| !r.secured)
            .map(|r| r.name.as_str())
            .collect();
        let known = [
            "getLiveness",
            "getReadiness",
            "getMetrics",
            "getOpenApi",
            "listIssuers",
        ];
        let others: Vec<_> = open.iter().filter(|name| !known.contains(name)).collect();
        assert!(others.is_empty(), "without a token one gets to {others:?}");
        let intruders = intruders(store, &gateway, &there);
        let before = stored(store, &gateway);
        let (mut calls, mut from) = (0, 0);
        for route in all.iter().filter(|r| r.secured) {
            let body = there.body(route);
            for who in &intruders {
                let may = who.only_launchers_routes && route.sessions
                    || who.no_read_routes && route.read
                    || who.only_attesters_routes && !route.attests
                    || (who.no_telemetry_routes || who.is_session) && route.telemetry;
                if may {
                    continue;
                }
                from += 1;
                calls += 1;
                let path = there.path(route, true);
                let what = format!("{} {path} by {}", route.method, who.name);
                let answer = ask(&gateway, from, who, route, &path, body.as_ref());
                // What it records of a pipeline is in a pipeline of its own, of whatever name.
                let named = route.path.contains('{') || there.path(route, true).contains('?');
                let in_context = matches!(route.path.as_str(), p if p.starts_with("/v1/contexts/"))
                    && route.name != "resolveContext";
                let own = !named && !in_context
                    || [
                        "recordPipelineEvents",
                        "listHeartbeatTicks",
                        "searchSessions",
                    ]
                    .contains(&route.name.as_str());
                if who.elsewhere && own {
                    elsewhere(&answer, &there, &what, route);
                    continue;
                }
                assert!(
                    who.allowed.contains(&answer.status),
                    "{what}: {} {}",
                    answer.status,
                    answer.text
                );
                let nowhere = there.path(route, false);
                let other = ask(&gateway, from, who, route, &nowhere, body.as_ref());
                assert_eq!(
                    bare(&answer, &path),
                    bare(&other, &nowhere),
                    "{what}: it tells whether it is there"
                );
            }
        }
        eprintln!("{calls} calls of {} routes", all.len() - open.len());
        assert_eq!(stored(store, &gateway), before);
        let turn = gateway
            .launcher()
            .get(&format!("/v1/sessions/{}/turns/t2", there.session));
        turn.problem(404, "not-found");
    });
}

/// Links are a stream of this gateway's own: whoever launches here attaches what it knows to any session.
const LINKS: [&str; 2] = ["attachLinks", "detachLinks"];

#[test]
fn another_launcher_changes_no_session_of_a_ledger_that_it_did_not_register() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let mut there = There::new(&gateway);
        let mut body = base("elsewhere");
        body["mode"] = json!("observed");
        body["home"] = json!("led_019ad000000070008000000000000e15");
        there.session = id(&gateway.launcher().create(&body));
        let (other, _) = token(store, tenant(store), None, None);
        let other = gateway.client(&other);
        let before = stored(store, &gateway);
        let shown = other.get(&format!("/v1/sessions/{}", there.session)).text;
        let (mut calls, mut forbidden) = (0, 0);
        for route in routes(&gateway) {
            let changes = route.method != "GET" && route.path.contains("{session}");
            if !changes || LINKS.contains(&route.name.as_str()) {
                continue;
            }
            calls += 1;
            let path = there.path(&route, true);
            let body = there.body(&route);
            let answer = other.ask(&route.method, &path, body.as_ref()).unwrap();
            // There is no lease to let go of: that is done already.
            let is_done = route.name == "releaseLease" && answer.status == 200;
            assert!(
                is_done || [400, 403, 404, 409].contains(&answer.status),
                "{} {path}: {} {}",
                route.method,
                answer.status,
                answer.text
            );
            forbidden += usize::from(answer.status == 403);
        }
        eprintln!("{calls} calls, {forbidden} forbidden");
        assert!(forbidden >= 4, "{forbidden} of {calls}");
        assert_eq!(stored(store, &gateway), before);
        let after = other.get(&format!("/v1/sessions/{}", there.session)).text;
        assert_eq!(after, shown);
    });
}

/// Whoever has a ledger of its own sees that one alone, and writes to it alone.
fn elsewhere(answer: &Reply, there: &There, what: &str, route: &Route) {
    assert!(answer.status < 500, "{what}: {}", answer.text);
    for ours in [&there.session, &there.checkpoint] {
        assert!(!answer.text.contains(ours.as_str()), "{what} tells {ours}");
    }
    // No agent is run here, whoever asks.
    let refused = route.name == "sendMessages" && answer.status == 400;
    assert!(
        route.method == "GET" || answer.status < 300 || refused,
        "{what}: {}",
        answer.text
    );
}

/// A launcher with limits, which may attest, as an intruder.
fn limited(store: &Store, rights: &[Right], repositories: &[&str]) -> Intruder {
    let repositories = repositories.iter().map(|name| (*name).to_owned());
    let limits = Limits::new(rights.iter().copied(), repositories).unwrap();
    let (token, _) = limited_token(store, tenant(store), Scope::Attester, limits, None);
    Intruder::with_token("a launcher with limits", &token, &[])
}

/// Of these routes, somebody with one right calls those that need it, and no other.
fn calls_by_right(
    gateway: &Gateway,
    there: &There,
    routes: &[Route],
    (right, who): (Right, &Intruder),
) {
    let mut allowed = 0;
    for route in routes {
        let body = there.body(route);
        // Nothing is there, so that nothing changes what the next right meets.
        let path = there.path(route, false);
        let answer = ask(gateway, 1, who, route, &path, body.as_ref());
        let may = route.right.as_deref() == Some(right.as_str());
        allowed += usize::from(may);
        let what = format!("{} with `{}`", route.name, right.as_str());
        assert_eq!(answer.status == 403, !may, "{what}: {}", answer.text);
        assert!(may || answer.text.contains("the right"), "{what}");
    }
    assert!(allowed > 0, "nothing needs `{}`", right.as_str());
}

#[test]
fn a_token_with_one_right_calls_what_needs_it_and_nothing_else() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let there = There::new(&gateway);
        let mut all = routes(&gateway);
        all.retain(|route| route.secured);
        for right in Right::ALL {
            let who = limited(store, &[right], &[]);
            calls_by_right(&gateway, &there, &all, (right, &who));
        }
    });
}

#[test]
fn who_logged_in_calls_what_their_grant_names_and_nothing_else() {
    each_store(|store| {
        let issuer = Issuer::start(SigningKey::ed25519("a", 1));
        let grant = |right: Right| {
            let word = right.as_str();
            format!(
                "[[issuer.corp.grant]]\nclaims = {{ groups = \"{word}\" }}\nmay = [\"{word}\"]\n"
            )
        };
        let gateway = serving(store, &issuer, &Right::ALL.map(grant).concat());
        let there = There::new(&gateway);
        let mut all = routes(&gateway);
        all.retain(|route| route.secured);
        // No issuer says who may attest.
        let (attesting, all): (Vec<_>, Vec<_>) = all.into_iter().partition(|r| r.attests);
        for right in Right::ALL {
            // Each by another name: what one registers is not another's.
            let claims = json!({ "sub": right.as_str(), "groups": [right.as_str()] });
            let token = issuer.token(&claims);
            let who = Intruder::with_token("who logged in", &token, &[]);
            calls_by_right(&gateway, &there, &all, (right, &who));
            for route in &attesting {
                let path = there.path(route, false);
                let answer = ask(&gateway, 1, &who, route, &path, there.body(route).as_ref());
                assert_eq!(answer.status, 403, "{}: {}", route.name, answer.text);
            }
        }
    });
}

#[test]
fn for_a_token_of_another_repository_nothing_is_there() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let there = There::new(&gateway);
        let who = limited(store, &[], &["github.com/o/other"]);
        // Once nobody knows the repository, and once it has a session of its own.
        for known in [false, true] {
            if known {
                let mut body = base("S3");
                body["repositories"] = json!(["github.com/o/other"]);
                gateway.launcher().create(&body);
            }
            let before = stored(store, &gateway);
            // A batch with nothing in it registers its ledger.
            let mut all = routes(&gateway);
            all.retain(|route| route.secured && route.name != "pushReplicas");
            for route in all {
                let body = there.body(&route);
                let path = there.path(&route, true);
                let what = format!("{} {path}", route.method);
                let answer = ask(&gateway, 1, &who, &route, &path, body.as_ref());
                if !route.by_repository || route.name == "createSession" {
                    assert_eq!(answer.status, 403, "{what}: {}", answer.text);
                    continue;
                }
                let in_path = route.path.contains('{');
                assert_eq!(
                    answer.status == 404,
                    in_path,
                    "{what}: {} {}",
                    answer.status,
                    answer.text
                );
                let nowhere = there.path(&route, false);
                let other = ask(&gateway, 1, &who, &route, &nowhere, body.as_ref());
                assert_eq!(bare(&answer, &path), bare(&other, &nowhere), "{what}");
                for hidden in [&there.session, &there.checkpoint] {
                    assert!(in_path || !answer.text.contains(hidden.as_str()), "{what}");
                }
            }
            assert_eq!(stored(store, &gateway), before);
        }
    });
}

#[test]
fn a_token_of_a_repository_does_there_what_others_do_everywhere() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let there = There::new(&gateway);
        let repositories = ["github.com/o/r".to_owned()];
        let limits = Limits::new([], repositories).unwrap();
        let (token, _) = limited_token(store, tenant(store), Scope::Launcher, limits, None);
        let own = gateway.client(&token);
        let listed = own.get("/v1/sessions").is(200);
        assert_eq!(listed["items"][0]["id"], json!(there.session));
        own.get(&format!("/v1/sessions/{}", there.session)).is(200);
        let commit = format!("/v1/commits/{}", "a".repeat(40));
        own.get(&commit).is(200);
        // Its repository is the same by each form of its address.
        let mut address = base("S7");
        address["repositories"] = json!(["https://github.com/o/r.git"]);
        let addressed = id(&own.create(&address));
        own.get(&format!("/v1/sessions/{addressed}")).is(200);
        // A session that works elsewhere is not found by its name, nor by its id.
        let mut elsewhere = base("S4");
        elsewhere["repositories"] = json!(["github.com/o/other"]);
        let hidden = id(&gateway.launcher().create(&elsewhere));
        let mut stolen = base("S4");
        own.post("/v1/sessions", &stolen).problem(409, "taken");
        stolen["id"] = json!(hidden);
        own.post("/v1/sessions", &stolen).problem(409, "taken");
        own.post("/v1/sessions", &elsewhere)
            .problem(403, "forbidden");
        let path = format!("/v1/sessions/{hidden}");
        own.get(&path).problem(404, "not-found");
        // Of a session that works here and elsewhere, what is a checkpoint there is not listed.
        let mut both = base("S6");
        both["repositories"] = json!(["github.com/o/r", "github.com/o/other"]);
        let both = id(&gateway.launcher().create(&both));
        let path = format!("/v1/sessions/{both}/checkpoints");
        let of = |repository: &str| json!({ "commit": { "repository": repository, "commit": "c".repeat(40) } });
        for repository in ["github.com/o/r", "github.com/o/other"] {
            gateway.launcher().post(&path, &of(repository)).is(201);
        }
        let all = gateway.launcher().get(&path).is(200);
        assert_eq!(all["items"].as_array().unwrap().len(), 2, "{all}");
        let seen = own.get(&path).is(200);
        let seen = seen["items"].as_array().unwrap();
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert_eq!(seen[0]["repository"], "github.com/o/r");
        // The token of its session has its limits.
        let created = own.create(&base("S5"));
        let session = gateway.client(&secret(&created));
        let path = format!("/v1/sessions/{}/checkpoints", id(&created));
        let claim = |repository: &str| json!({ "commit": { "repository": repository, "commit": "b".repeat(40) } });
        session
            .post(&path, &claim("github.com/o/other"))
            .problem(403, "forbidden");
        session.post(&path, &claim("github.com/o/r")).is(201);
    });
}

#[test]
fn the_token_of_a_session_has_the_rights_of_the_one_that_created_it() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let limits = Limits::new([Right::Drive], []).unwrap();
        let (token, _) = limited_token(store, tenant(store), Scope::Launcher, limits, None);
        let created = gateway.client(&token).create(&base("S1"));
        let session = gateway.client(&secret(&created));
        let path = format!("/v1/sessions/{}", id(&created));
        session.poke(&format!("{path}/keep-alive")).is(200);
        session.get(&path).problem(403, "forbidden");
        let message = json!({ "messages": [{ "role": "user", "content": "Go." }] });
        session
            .post(&format!("{path}/messages"), &message)
            .problem(403, "forbidden");
    });
}
