//! What driven sessions cost, asked over HTTP.

use serde_json::{Value, json};

use super::client::{Client, id, secret, turn_body};
use super::server::{Gateway, base, each_store, linked, on_a_server};
use crate::harness::until;

/// A turn that cost something, on a model whose list price is $1 and $5 for a million tokens.
fn turn(client: &Client, session: &str, key: &str, model: &str, output: u64) {
    let (epoch, head) = client.lease(session, key);
    let mut turn = turn_body(epoch, head, key);
    turn["events"][1]["model"] = json!(model);
    turn["events"][1]["tokens"] = json!({ "input": 1_000, "output": output });
    client.turn(session, key, &turn).unwrap().is(200);
    let path = format!("/v1/sessions/{session}/lease/release");
    client.post(&path, &json!({ "epoch": epoch })).is(200);
}

fn outputs(costs: &Value) -> Vec<(Option<&str>, u64)> {
    let rows = costs["rows"].as_array().unwrap().iter();
    let row = |row: &'_ Value| row["usage"]["tokens"]["output"].as_u64().unwrap();
    rows.map(|r| (r["key"].as_str(), row(r))).collect()
}

#[test]
fn usage_is_summed_up_as_the_command_does() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let of = |name: &str, issue: u64| {
            let created = launcher.create(&linked(name, &json!({ "issue_number": issue })));
            (gateway.client(&secret(&created)), id(&created))
        };
        let ((first, one), (second, two)) = (of("one", 1), of("two", 2));
        turn(&first, &one, "a", "claude-haiku-4-5", 100);
        turn(&first, &one, "b", "claude-haiku-4-5", 10);
        turn(&second, &two, "a", "m-1", 1);
        let get = |query: &str| launcher.get(&format!("/v1/cost{query}")).is(200);
        until("the gateway's worker has counted", || {
            get("")["total"]["tokens"]["output"] == 111
        });
        let issues = get("?by=issue");
        assert_eq!(outputs(&issues), [(Some("1"), 110), (Some("2"), 1)]);
        let used = &issues["rows"][0]["usage"];
        // 2,000 × $1 and 110 × $5, for a million.
        assert_eq!(used["cost"]["usd"], "0.002550000");
        assert_eq!(used["cost"]["complete"], true);
        let total = &issues["total"];
        assert_eq!(total["cost"]["complete"], false);
        assert_eq!(total["cost"]["unpriced"]["output"], 1);
        assert_eq!(total["messages"], 3);
        assert_eq!(issues["overlapping"], 0);
        assert_eq!(
            outputs(&get("?by=model&issue_number=2")),
            [(Some("m-1"), 1)]
        );
        let turns = get(&format!("?by=turn&session={one}&limit=1"));
        assert_eq!((outputs(&turns).len(), &turns["more"]), (1, &json!(true)));
        assert_eq!(turns["total"]["tokens"]["output"], 110);
        assert_eq!(get("?until=2026-01-01T00:00:00Z")["rows"], json!([]));
        assert_eq!(get("?since=2099-01-01T00:00:00Z")["rows"], json!([]));
        let all = get("?by=model&since=2026-01-01T00:00:00Z");
        assert_eq!(all["total"]["tokens"]["output"], 111);
        assert_eq!(get("?repository=nowhere")["rows"], json!([]));
        launcher.get("/v1/cost?by=moon").refuses("by");
        launcher.get("/v1/cost?since=monday").refuses("since");
        launcher.get("/v1/cost?moon=1").refuses("moon");
        launcher.get("/v1/cost?pr_number=0").refuses("pr_number");
        gateway
            .stranger()
            .get("/v1/cost")
            .problem(401, "token-missing");
        first.get("/v1/cost").problem(403, "forbidden");
    });
}

#[test]
fn an_answer_that_names_no_time_is_of_the_last_days() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = launcher.create(&linked("old", &json!({ "issue_number": 1 })));
        let (old, client) = (id(&created), gateway.client(&secret(&created)));
        turn(&client, &old, "a", "m-1", 100);
        let get = |query: &str| launcher.get(&format!("/v1/cost{query}")).is(200);
        let written = |query: &str| get(query)["total"]["tokens"]["output"].clone();
        until("the gateway's worker has counted", || {
            written("") == 100 && get("")["waiting"] == 0
        });
        // Whole quarters of an hour, and a day more than an answer goes back.
        let past = 31 * 24 * 60 * 60 * 1_000_000_000_i64;
        store.sql(&format!("UPDATE usages SET at = at - {past}"));
        store.sql(&format!(
            "UPDATE usage_quarters SET start = start - {past}, last_at = last_at - {past}"
        ));
        let created = launcher.create(&linked("new", &json!({ "issue_number": 2 })));
        let client = gateway.client(&secret(&created));
        turn(&client, &id(&created), "a", "m-1", 7);
        until("the gateway's worker has counted", || {
            written("?since=all") == 107
        });
        assert_eq!(written(""), 7);
        let recent = get("?by=issue");
        assert_eq!(outputs(&recent), [(Some("2"), 7)]);
        let since = recent["since"].as_str().expect("it says from when");
        assert!(since.ends_with("T00:00:00Z"), "{since}");
        assert_eq!(get(&format!("?by=issue&since={since}")), recent);
        assert_eq!(get("?since=all").get("since"), None, "all count");
        for narrowed in [
            "until=2099-01-01T00:00:00Z",
            &format!("session={old}"),
            "issue_number=1",
        ] {
            let answer = get(&format!("?{narrowed}"));
            assert_ne!(answer["total"]["tokens"]["output"], 7, "{answer}");
            assert_eq!(answer.get("since"), None, "{narrowed}: {answer}");
        }
        assert_eq!(written("?agent=nobody&since=all"), 0);
        assert_eq!(get("?repository=nowhere")["since"], json!(since));
        launcher.get("/v1/cost?since=All").refuses("since");
        launcher.get("/v1/cost?since=").refuses("since");
    });
}

/// How many connections have the right to fold the sessions of the tenant.
const FOLDING: &str = "SELECT count(*) FROM tenants, pg_locks JOIN pg_database d ON d.oid = database \
    WHERE datname = current_database() AND locktype = 'advisory' AND objsubid = 1 \
    AND (classid::bigint << 32 | objid::bigint) = hashtextextended(current_schema()::text || ' ' || tenant || ' fold', 0)";

#[test]
fn of_gateways_on_one_server_one_folds_and_another_goes_on_where_it_ends() {
    on_a_server(|store| {
        let mut one = Gateway::start(store);
        let two = one.beside(store);
        let created = one.launcher().create(&base("S1"));
        let (session, token) = (id(&created), secret(&created));
        let launcher = two.launcher();
        let is_written = |output: u64| {
            let answer = launcher.get("/v1/cost").is(200);
            answer["total"]["tokens"]["output"] == output
        };
        turn(&one.client(&token), &session, "a", "m-1", 100);
        until("it is counted", || is_written(100));
        assert_eq!(store.sql(FOLDING), "1");
        one.kill();
        turn(&two.client(&token), &session, "b", "m-1", 7);
        until("the one that is left counts", || is_written(107));
        assert_eq!(store.sql(FOLDING), "1");
    });
}
