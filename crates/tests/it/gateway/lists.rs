//! Lists by who, when and what, and sessions by words.

use serde_json::{Value, json};
use siglum_domain::access::Scope;
use siglum_domain::evidence::{Committer, Judgement, RULES, Verdict};
use siglum_domain::intake::Place;
use siglum_domain::{Oid, RepositoryId, Timestamp};
use siglum_ledger::{CommitRecord, Durability, SeenBy, write};
use siglum_platform::clock;

use super::client::{Client, id, secret, turn_body};
use super::server::{Gateway, Store, audited, base, each_store, opened, tenant, token_for};
use crate::harness::until;

/// The rows of all pages of a list, of one row each.
#[track_caller]
fn all_pages(client: &Client, path: &str) -> Vec<Value> {
    let (mut rows, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{path}&limit=1{cursor}")).is(200);
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 1, "{page}");
        rows.extend(items.iter().cloned());
        let Some(next) = page["next"].as_str() else {
            return rows;
        };
        cursor = format!("&cursor={next}");
    }
}

/// A part of the rows of a list, which is the same in pages.
#[track_caller]
fn listed(client: &Client, path: &str, part: &str) -> Vec<Value> {
    let page = client.get(path).is(200);
    assert_eq!(page["next"], Value::Null, "{path}");
    let parts = |rows: &[Value]| -> Vec<Value> {
        let part = |row: &Value| row.pointer(part).expect(part).clone();
        rows.iter().map(part).collect()
    };
    let rows = parts(page["items"].as_array().unwrap());
    assert_eq!(parts(&all_pages(client, path)), rows, "{path}");
    rows
}

const NONE: [Value; 0] = [];

#[test]
fn sessions_are_listed_by_name_time_and_parent() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let codex = json!({ "agent": "codex", "conversation_id": "one" });
        let created = [
            launcher.create(&base("one")),
            launcher.create(&base("two")),
            launcher.create(&codex),
        ];
        let [one, two, three] = &created.each_ref().map(|of| json!(id(of)));
        let sessions = |query: &str| listed(&launcher, &format!("/v1/sessions?{query}"), "/id");
        assert_eq!(
            sessions("conversation_id=one"),
            [three.clone(), one.clone()]
        );
        assert_eq!(
            sessions("conversation_id=one&agent=codex"),
            std::slice::from_ref(three)
        );
        assert_eq!(sessions("conversation_id=on"), NONE);
        // The first one is used last: this moves it in time, and not in the list.
        launcher
            .poke(&format!("/v1/sessions/{}/keep-alive", id(&created[0])))
            .is(200);
        let last = launcher.get(&format!("/v1/sessions/{}", id(&created[2])));
        let last = last.is(200)["last_at"].as_str().unwrap().to_owned();
        let since = sessions(&format!("since={last}"));
        assert_eq!(since, [three.clone(), one.clone()]);
        assert_eq!(
            sessions(&format!("until={last}")),
            std::slice::from_ref(two)
        );
        let both = format!("since={last}&until={last}");
        assert_eq!(sessions(&both), NONE);

        let resolve = |body: Value| launcher.post("/v1/contexts/resolve", &body).is(200);
        let first = resolve(json!({ "route_key": "r", "agent": "openclaw", "run": "1" }));
        let keys = json!({ "route_key": "r", "context_key": first["context_key"] });
        let mut turn = keys.clone();
        turn["turn_key"] = json!("t1");
        turn["messages"] = json!([
            { "type": "user", "text": "x" },
            { "type": "assistant", "text": "y" },
        ]);
        launcher.post("/v1/contexts/commit", &turn).is(200);
        let fork = resolve(json!({ "route_key": "f", "agent": "openclaw", "run": "2",
            "cause": "fork", "from": keys }));
        let of_first = format!("parent={}", first["session"].as_str().unwrap());
        assert_eq!(sessions(&of_first), [fork["session"].clone()]);
        let of_fork = format!("parent={}", fork["session"].as_str().unwrap());
        assert_eq!(sessions(&of_fork), NONE);
        for (query, field) in [
            ("conversation_id=", "conversation_id"),
            ("conversation_id=a%20b", "conversation_id"),
            ("parent=ses_1", "parent"),
            ("since=yesterday", "since"),
            ("until=2026-01-31", "until"),
        ] {
            launcher
                .get(&format!("/v1/sessions?{query}"))
                .refuses(field);
        }
    });
}

#[test]
fn checkpoints_are_listed_by_session_and_time() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let sessions = ["one", "two"].map(|name| id(&launcher.create(&base(name))));
        let checkpoint = |session: &str| {
            let path = format!("/v1/sessions/{session}/checkpoints");
            launcher.post(&path, &json!({})).is(201)["checkpoint"].clone()
        };
        let made = [0, 1, 0].map(|n: usize| checkpoint(&sessions[n]));
        let [first, second, third] = &made.each_ref().map(|one| one["id"].clone());
        let checkpoints =
            |query: &str| listed(&launcher, &format!("/v1/checkpoints?{query}"), "/id");
        let of_one = format!("session={}", sessions[0]);
        assert_eq!(checkpoints(&of_one), [third.clone(), first.clone()]);
        let at = made[1]["at"].as_str().unwrap();
        let since = checkpoints(&format!("since={at}"));
        assert_eq!(since, [third.clone(), second.clone()]);
        assert_eq!(
            checkpoints(&format!("until={at}")),
            std::slice::from_ref(first)
        );
        let all = format!("{of_one}&since={at}");
        assert_eq!(checkpoints(&all), std::slice::from_ref(third));
        // A session that nobody has pins nothing; a path that names it is no path.
        let nobody = "ses_019ad0000000700080000000000000ff";
        assert_eq!(checkpoints(&format!("session={nobody}")), NONE);
        launcher
            .get(&format!("/v1/sessions/{nobody}/checkpoints"))
            .problem(404, "not-found");
        launcher.get("/v1/checkpoints?session=x").refuses("session");
    });
}

/// Records commits, each later than the one before it, in one of two repositories; gives these.
fn record(store: &Store, commits: &[(usize, &str)]) -> [String; 2] {
    let mut ledger = opened(store, tenant(store));
    let recorded = write(ledger.as_mut(), Durability::Process, |tx| {
        let mut repositories = [1, 2].map(|_| RepositoryId::mint(&clock::Ids));
        for (n, id) in repositories.iter_mut().enumerate() {
            let place = Place {
                common_dir: format!("/r{n}/.git"),
                worktree: format!("/r{n}"),
            };
            *id = tx.note_place(&place, *id, clock::now())?;
        }
        for (at, (repository, commit)) in (1..).zip(commits) {
            tx.put_commit(&CommitRecord {
                repository: repositories[*repository],
                commit: Oid::new(*commit).unwrap(),
                checkpoint: None,
                intent: None,
                judgement: Judgement {
                    rules: RULES,
                    committer: Committer::Unknown,
                    verdict: Verdict::Unknown,
                    rule: String::new(),
                    evidence: Vec::new(),
                    candidates: Vec::new(),
                    outer: Vec::new(),
                },
                facts: None,
                patch: None,
                at: Timestamp::from_nanos(at),
                seen_by: SeenBy::Sweep,
            })?;
        }
        Ok(repositories)
    });
    recorded.unwrap().map(|id| id.to_string())
}

#[test]
fn commits_are_listed_by_repository_and_first_digits() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let [a, ab, b] = &["a".repeat(40), "ab".repeat(20), "b".repeat(40)];
        let [a, ab, b] = [a, ab, b].map(String::as_str);
        let [first, second] = record(store, &[(0, a), (1, a), (0, ab), (0, b)]);
        let (reader, _) = token_for(store, tenant(store), Scope::Read, None);
        let reader = gateway.client(&reader);
        let commits = |query: &str| listed(&reader, &format!("/v1/commits?{query}"), "/commit");
        assert_eq!(commits(""), [b, ab, a, a].map(|id| json!(id)));
        let of_first = format!("repository={first}");
        assert_eq!(commits(&of_first), [b, ab, a].map(|id| json!(id)));
        assert_eq!(commits(&format!("repository={second}")), [json!(a)]);
        assert_eq!(commits("repository=/r0/.git&prefix=aaaa"), [json!(a)]);
        assert_eq!(commits("prefix=aaaa"), [json!(a), json!(a)]);
        let longest = format!("prefix={}", &ab[..39]);
        assert_eq!(commits(&longest), [json!(ab)]);
        assert_eq!(commits("prefix=aaab"), NONE);
        assert_eq!(commits("repository=nowhere"), NONE);
        let page = reader.get("/v1/commits?prefix=bbbb").is(200);
        let row = &page["items"][0];
        assert_eq!(row["repository"], "/r0/.git", "{page}");
        assert_eq!(
            (&row["committer"]["verdict"], &row["committer"]["kind"]),
            (&json!("unknown"), &json!("unknown"))
        );
        // Git was not asked, and when it was recorded is not when it was made.
        assert!(row["recorded_at"].is_string(), "{page}");
        assert_eq!(row.get("committed_at"), None, "{page}");
        let names = listed(&reader, "/v1/commits?prefix=aaaa", "/repository");
        assert_eq!(names, [json!("/r1/.git"), json!("/r0/.git")]);
        for (query, field) in [
            ("prefix=abc", "prefix"),
            ("prefix=ABCD", "prefix"),
            ("prefix=abcg", "prefix"),
            ("cursor=x", "cursor"),
            ("limit=501", "limit"),
        ] {
            reader.get(&format!("/v1/commits?{query}")).refuses(field);
        }
        for query in [format!("prefix={a}"), format!("cursor={a}")] {
            let field = query.split('=').next().unwrap();
            reader.get(&format!("/v1/commits?{query}")).refuses(field);
        }
        let gone = format!("/v1/commits?cursor={b}.{second}");
        reader.get(&gone).problem(404, "not-found");
    });
}

#[test]
fn sessions_are_found_by_words_and_who_reads_their_prompts_is_written_down() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        let created = ["apple", "pear"].map(|word| {
            let mut body = base(&format!("S-{word}"));
            body["links"] = json!({ "issue_number": if word == "pear" { 42 } else { 43 } });
            let created = launcher.create(&body);
            let own = gateway.client(&secret(&created));
            let (epoch, head) = own.lease(&id(&created), "n");
            own.turn(&id(&created), "t1", &turn_body(epoch, head, word))
                .unwrap()
                .is(200);
            created
        });
        let [apple, pear] = &created.each_ref().map(|of| json!(id(of)));
        let sessions =
            |query: &str| listed(&launcher, &format!("/v1/search?{query}"), "/session/id");
        // A link and a name are no prompt.
        assert_eq!(sessions("q=%2342"), std::slice::from_ref(pear));
        assert_eq!(sessions("q=s-apple"), std::slice::from_ref(apple));
        let none = audited(&gateway, "transcript.read");
        assert!(none.is_empty(), "{none:?}");

        assert_eq!(sessions("q=do"), [pear.clone(), apple.clone()]);
        assert_eq!(sessions("q=DO%20appl*"), std::slice::from_ref(apple));
        assert_eq!(sessions("q=do&agent=codex"), NONE);
        assert_eq!(sessions("q=do&repository=nowhere"), NONE);
        assert_eq!(sessions("q=do&until=2020-01-01T00:00:00Z"), NONE);
        // What an agent said is looked at, too.
        assert_eq!(sessions("q=did").len(), 2);
        let page = launcher.get("/v1/search?q=do%20pear").is(200);
        let hit = json!({ "place": "prompt", "text": "do pear" });
        let hits = page["items"][0]["hits"].as_array().unwrap();
        let is_it = |one: &Value| one["place"] == hit["place"] && one["text"] == hit["text"];
        assert!(hits.iter().any(is_it), "{page}");
        until("both readings are written down", || {
            let entries = audited(&gateway, "transcript.read");
            let read = |session: &Value| entries.iter().any(|e| e["session"] == *session);
            read(apple) && read(pear)
        });
        for (query, field) in [
            ("", "q"),
            ("q=", "q"),
            ("q=%20do", "q"),
            ("q=%01", "q"),
            ("q=%22do", "q"),
            ("q=is:open", "q"),
            ("q=do&limit=101", "limit"),
            ("q=do&cursor=x", "cursor"),
        ] {
            launcher.get(&format!("/v1/search?{query}")).refuses(field);
        }
        let own = gateway.client(&secret(&created[0]));
        own.get("/v1/search?q=do").problem(403, "forbidden");
    });
}

#[test]
fn heartbeats_come_in_pages() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let launcher = gateway.launcher();
        for name in ["b", "a", "c"] {
            let body = json!({ "name": name, "definition": {
                "agent": "claude-code", "every": "1h", "prompt": "Look.", "target": "none" } });
            launcher.post("/v1/heartbeats", &body).is(200);
        }
        let names = listed(&launcher, "/v1/heartbeats?", "/name");
        assert_eq!(names, ["a", "b", "c"].map(|name| json!(name)));
        launcher.get("/v1/heartbeats?cursor=A").refuses("cursor");
    });
}
