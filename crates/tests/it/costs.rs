//! What sessions cost: each message once, by what is known of it, with numbers that are added up by hand.

use std::fs;
use std::io::Write as _;

use serde_json::{Value, json};

use super::harness::{Agent, Repo, World, until};
use super::launching::COMMIT;

/// A model whose list price is $1, $5, $0.10 and $1.25 for a million tokens: read, written, from a cache and to it.
const HAIKU: &str = "claude-haiku-4-5-20251001";

/// What one line of a transcript says.
#[derive(Clone, Copy)]
struct Line<'a> {
    /// The turn, from 1.
    turn: u32,
    /// The provider's id of the message, and what makes the line another one of the same message.
    id: (&'a str, u32),
    model: &'a str,
    /// Read, written, from a cache, to a cache.
    usage: [u64; 4],
    branch: &'a str,
}

const FIRST: Line<'_> = Line {
    turn: 1,
    id: ("a", 1),
    model: HAIKU,
    usage: [1_000, 100, 0, 0],
    branch: "main",
};

fn now(repo: &Repo<'_>) -> String {
    repo.sh("date -u +%Y-%m-%dT%H:%M:%S.%3NZ").ok()
}

/// The lines of a transcript for a message and the prompt before it.
fn lines(repo: &Repo<'_>, native: &str, line: &Line<'_>) -> [Value; 2] {
    let at = now(repo);
    let (id, n) = line.id;
    let [input, output, read, write] = line.usage;
    let whole = |kind: &str, message: Value| {
        json!({
            "type": kind, "uuid": format!("{kind}-{id}-{n}"), "timestamp": at, "sessionId": native,
            "promptId": format!("{native}-turn-{}", line.turn), "cwd": repo.dir,
            "gitBranch": line.branch, "isSidechain": false, "message": message,
        })
    };
    let prompt = json!({ "role": "user", "content": "Please do the work." });
    let answer = json!({
        "id": format!("msg_{id}"), "role": "assistant", "model": line.model,
        "content": [{ "type": "text", "text": format!("{id} {n}") }],
        "usage": {
            "input_tokens": input, "output_tokens": output,
            "cache_read_input_tokens": read, "cache_creation_input_tokens": write,
        },
    });
    [whole("user", prompt), whole("assistant", answer)]
}

/// Adds lines to the transcript of an agent.
fn write(agent: &Agent, lines: &[Value]) {
    let path = agent.transcript();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let file = fs::OpenOptions::new().create(true).append(true).open(&path);
    let mut file = file.unwrap();
    lines
        .iter()
        .for_each(|line| writeln!(file, "{line}").unwrap());
}

fn say(repo: &Repo<'_>, agent: &Agent, line: Line<'_>) {
    write(agent, &lines(repo, &agent.native, &line));
}

/// One message of 100 tokens, at the end of a turn.
pub(crate) fn spend(repo: &Repo<'_>, agent: &mut Agent) {
    spend_tokens(repo, agent, FIRST.usage);
}

/// One message that read, wrote, took from a cache and put into one so many tokens, at the end of a turn.
pub(crate) fn spend_tokens(repo: &Repo<'_>, agent: &mut Agent, usage: [u64; 4]) {
    let native = agent.native.clone();
    let line = Line {
        id: (&native, 1),
        usage,
        ..FIRST
    };
    say(repo, agent, line);
    stop(repo, agent);
}

/// How many tokens all sessions of a repository wrote.
pub(crate) fn written(repo: &Repo<'_>) -> u64 {
    let rows = rows(&cost(repo, &["--by", "session"]));
    rows.iter().map(|(_, written, _)| written).sum()
}

/// The turn stops, and its transcript is read.
pub(crate) fn stop(repo: &Repo<'_>, agent: &mut Agent) {
    agent.stop();
    let size = fs::metadata(agent.transcript()).unwrap().len();
    let stream = &agent.native;
    until("the transcript is read", || {
        let sql = format!(
            "SELECT count(*) FROM transcripts WHERE stream = '{stream}' AND wanted = 0 AND read_to = {size}"
        );
        repo.world.count(&sql) > 0
    });
}

fn cost(repo: &Repo<'_>, args: &[&str]) -> Value {
    repo.world.json(&repo.dir, &[&["cost"], args].concat())
}

/// The key of each row with its written tokens and what it costs in billionths of a dollar.
fn rows(costs: &Value) -> Vec<(Option<String>, u64, u64)> {
    let mut rows: Vec<_> = costs["rows"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

fn row(row: &Value) -> (Option<String>, u64, u64) {
    (
        row["key"].as_str().map(str::to_owned),
        row["usage"]["tokens"]["output"].as_u64().unwrap(),
        row["usage"]["cost"]["nano_usd"].as_u64().unwrap(),
    )
}

fn tokens([input, output, read, write]: [u64; 4]) -> Value {
    json!({ "input": input, "output": output, "cache_read": read, "cache_write": write })
}

fn some(key: &str) -> Option<String> {
    Some(key.to_owned())
}

#[test]
fn a_message_is_counted_once_and_an_unknown_model_is_unknown() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let grows = Line {
        usage: [1_000, 60, 0, 0],
        ..FIRST
    };
    say(&repo, &agent, grows);
    say(
        &repo,
        &agent,
        Line {
            id: ("a", 2),
            ..FIRST
        },
    );
    let other = Line {
        id: ("b", 1),
        model: "fake-model",
        usage: [10, 20, 30, 40],
        ..FIRST
    };
    say(&repo, &agent, other);
    stop(&repo, &mut agent);
    let costs = cost(&repo, &["--by", "model", "--explain"]);
    // 1,000 × $1 and 100 × $5, for a million.
    let haiku = 1_000 * 1_000 + 100 * 5_000;
    assert_eq!(
        rows(&costs),
        [(some(HAIKU), 100, haiku), (some("fake-model"), 20, 0)]
    );
    let total = &costs["total"];
    assert_eq!(total["tokens"], tokens([1_010, 120, 30, 40]));
    assert_eq!(total["messages"], 2);
    assert_eq!(total["cost"]["usd"], "0.001500000");
    assert_eq!(total["cost"]["complete"], false);
    assert_eq!(total["cost"]["unpriced"], tokens([10, 20, 30, 40]));
    let explained = &costs["explained"];
    let records = |count: u64, of| json!({ "count": count, "tokens": tokens(of) });
    assert_eq!(explained["records"], records(3, [2_010, 180, 30, 40]));
    assert_eq!(explained["repeated"], records(1, [1_000, 60, 0, 0]));
    assert_eq!(explained["counted"], records(2, [1_010, 120, 30, 40]));
    let shown = repo.siglum(&["cost", "--by", "model", "--explain"]);
    let table = shown.stdout.clone();
    assert!(
        table.contains("fake-model") && table.contains("unknown"),
        "{table}"
    );
    assert!(table.contains("$0.0015 + unknown"), "{table}");
    assert!(table.contains("- repeated by the same source"), "{table}");
    assert!(shown.stderr.contains("prices.json"), "{}", shown.stderr);
}

#[test]
fn an_answer_that_names_no_time_is_of_the_last_days() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let long_ago = repo
        .sh("date -u -d '40 days ago' +%Y-%m-%dT%H:%M:%S.%3NZ")
        .ok();
    let mut old = lines(&repo, "one", &FIRST);
    for line in &mut old {
        line["timestamp"] = json!(long_ago);
    }
    write(&agent, &old);
    let recent = Line {
        id: ("b", 1),
        usage: [0, 7, 0, 0],
        ..FIRST
    };
    say(&repo, &agent, recent);
    stop(&repo, &mut agent);
    let written = |args: &[&str]| cost(&repo, args)["total"]["tokens"]["output"].clone();
    assert_eq!(written(&[]), 7);
    assert!(cost(&repo, &[])["since"].is_string());
    assert_eq!(cost(&repo, &["--since", "all"])["since"], Value::Null);
    for args in [
        ["--since", "all"],
        ["--since", "60d"],
        ["--until", "2100-01-01"],
        ["--session", "one"],
    ] {
        assert_eq!(written(&args), 107, "{args:?}");
    }
    let shown = repo.siglum(&["cost"]).ok();
    assert!(shown.starts_with("Last 30 days"), "{shown}");
    let shown = repo.siglum(&["cost", "--since", "all"]).ok();
    assert!(!shown.contains("Last 30 days"), "{shown}");
    let refused = repo.siglum(&["cost", "--since", "ever"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("`all`"), "{refused:?}");
}

#[test]
fn the_user_may_give_a_model_a_price_and_a_repository_may_not() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let fake = Line {
        model: "fake-model",
        usage: [1, 2, 3, 4],
        ..FIRST
    };
    say(&repo, &agent, fake);
    stop(&repo, &mut agent);
    let prices = r#"{"schema": "siglum.prices/1", "date": "2026-01-01", "currency": "USD", "prices": [
        {"provider": "us", "models": ["fake-model"], "from": "2026-01-01", "input": "1", "output": "2", "cache_read": "0.5", "cache_write": "3", "source": "us"}]}"#;
    fs::write(repo.dir.join("prices.json"), prices).unwrap();
    fs::write(repo.dir.join(".siglum.toml"), "prices = \"prices.json\"\n").unwrap();
    assert_eq!(cost(&repo, &[])["total"]["cost"]["complete"], false);
    let own = world.home().join(".config/siglum");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("prices.json"), prices).unwrap();
    let total = cost(&repo, &[])["total"].take();
    assert_eq!(total["cost"]["complete"], true);
    assert_eq!(
        total["cost"]["nano_usd"],
        1_000 + 2 * 2_000 + 3 * 500 + 4 * 3_000
    );
    fs::write(own.join("prices.json"), prices.replace("\"0.5\"", "0.5")).unwrap();
    let refused = repo.siglum(&["cost"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("prices.json"), "{}", refused.stderr);
}

/// Before its first price a model costs nobody knows what, and it is said from when on that is known.
#[test]
fn a_model_without_a_price_yet_is_told_with_the_day_of_its_first() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    for (id, model) in [("a", "early-model"), ("b", "fake-model")] {
        let line = Line {
            id: (id, 1),
            model,
            ..FIRST
        };
        say(&repo, &agent, line);
    }
    stop(&repo, &mut agent);
    let prices = r#"{"schema": "siglum.prices/1", "date": "2026-01-01", "currency": "USD", "prices": [
        {"provider": "us", "models": ["early-model"], "from": "2099-02-01", "input": "1", "output": "2", "source": "us"}]}"#;
    let own = world.home().join(".config/siglum");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("prices.json"), prices).unwrap();
    let costs = cost(&repo, &[]);
    let unpriced = costs["unpriced"].as_array().unwrap();
    let from = |model: &str| {
        let found = unpriced.iter().find(|one| one["model"] == model).unwrap();
        found["known_from"].as_str().map(|from| &from[..10])
    };
    assert_eq!(from("early-model"), Some("2099-02-01"), "{costs}");
    assert_eq!(from("fake-model"), None, "{costs}");
    let shown = repo.siglum(&["cost"]).stderr;
    for part in [
        "No price is known for fake-model (prices are as of ",
        "No price is known for early-model before 2099-02-01.",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn history_that_a_fork_copied_is_counted_in_the_session_that_wrote_it() {
    let world = World::new();
    let repo = world.repo();
    let mut parent = Agent::start(&repo, "one");
    let original = lines(&repo, "one", &FIRST);
    write(&parent, &original);
    stop(&repo, &mut parent);
    // An older version of the agent does not say whose a copied line is; a newer one does.
    for (native, says) in [("two", false), ("three", true)] {
        let mut child = Agent::start(&repo, native);
        let mut copied = original.clone();
        for line in &mut copied {
            line["sessionId"] = json!(native);
        }
        if says {
            copied[1]["requestSessionId"] = json!("one");
        }
        write(&child, &copied);
        let own = Line {
            id: (native, 1),
            usage: [0, 7, 0, 0],
            ..FIRST
        };
        say(&repo, &child, own);
        stop(&repo, &mut child);
        child.end("exit");
    }
    let costs = cost(&repo, &["--explain"]);
    let outputs: Vec<u64> = rows(&costs).iter().map(|row| row.1).collect();
    assert_eq!(outputs, [100, 7, 7], "{costs}");
    assert_eq!(costs["total"]["tokens"], tokens([1_000, 114, 0, 0]));
    let copied = &costs["explained"]["copied"];
    assert_eq!(
        copied,
        &json!({ "count": 1, "tokens": tokens([1_000, 100, 0, 0]) })
    );
}

#[test]
fn a_turn_counts_for_the_links_that_stood_when_it_ran() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let link = |what: &str, fact: &str| {
        repo.siglum(&["link", what, "one", fact]).ok();
    };
    link("add", "issue=1");
    for (turn, output) in [(1, 1), (2, 10), (3, 100)] {
        if turn > 1 {
            agent.prompt("Go on.");
        }
        let id = ["a", "b", "c"][turn as usize - 1];
        let line = Line {
            turn,
            id: (id, 1),
            usage: [0, output, 0, 0],
            ..FIRST
        };
        say(&repo, &agent, line);
        stop(&repo, &mut agent);
        match turn {
            1 => link("add", "pr=7"),
            2 => link("add", "pr=8"),
            _ => {}
        }
    }
    let by = |what: &str| cost(&repo, &["--by", what]);
    let prs = by("pr");
    // PR 7 is the first: it stood from the beginning. PR 8 came before turn 3 began, so that turn 2 counts for both.
    let expected = [(some("7"), 111, 111 * 5_000), (some("8"), 110, 110 * 5_000)];
    assert_eq!(rows(&prs), expected);
    assert_eq!(prs["overlapping"], 2);
    assert_eq!(prs["total"]["tokens"]["output"], 111);
    let table = repo.siglum(&["cost", "--by", "pr"]).ok();
    assert!(table.contains("total (rows overlap)"), "{table}");
    assert_eq!(rows(&by("issue")), [(some("1"), 111, 111 * 5_000)]);
    assert_eq!(rows(&by("role")), [(None, 111, 111 * 5_000)]);
    let turns: Vec<u64> = rows(&by("turn")).iter().map(|row| row.1).collect();
    assert_eq!(turns.len(), 3);
    let eight = cost(&repo, &["--link", "pr=8"]);
    assert_eq!(eight["total"]["tokens"]["output"], 110);
    let both = cost(&repo, &["--link", "pr=8", "--link", "issue=2"]);
    assert_eq!(both["rows"], json!([]));
}

#[test]
fn an_issue_has_the_same_answer_by_each_of_its_names() {
    let world = World::new();
    let repo = world.repo();
    for (name, issue) in [("one", "#42"), ("two", "issue=43")] {
        let mut agent = Agent::start(&repo, name);
        repo.siglum(&["link", "add", name, issue]).ok();
        spend(&repo, &mut agent);
    }
    for issue in ["issue=42", "issue_number=42", "#42"] {
        let cost = cost(&repo, &["--by", "issue", "--link", issue]);
        assert_eq!(rows(&cost), [(some("42"), 100, 1_500_000)], "{issue}");
        let listed = world.json(&repo.dir, &["session", "list", "--link", issue]);
        let names: Vec<_> = listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["conversation_id"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["one"], "{issue}: {listed}");
    }
}

#[test]
fn a_commit_has_the_use_since_the_last_and_a_branch_its_own() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    for (id, output, branch) in [("a", 1, "main"), ("b", 10, "topic"), ("c", 100, "main")] {
        let line = Line {
            id: (id, 1),
            usage: [0, output, 0, 0],
            branch,
            ..FIRST
        };
        say(&repo, &agent, line);
        if id != "c" {
            agent.sh(&format!("echo {id} >{id} && {COMMIT}")).ok();
        }
    }
    stop(&repo, &mut agent);
    repo.siglum(&["worker", "--once"]).ok();
    let (first, second) = (repo.id("HEAD~1"), repo.id("HEAD"));
    let mut expected = [
        (None, 100, 500_000),
        (Some(first), 1, 5_000),
        (Some(second), 10, 50_000),
    ];
    expected.sort();
    let commits = cost(&repo, &["--by", "commit"]);
    assert_eq!(rows(&commits), expected);
    let last = commits["rows"].as_array().unwrap().last().unwrap();
    assert_eq!(last["key"], Value::Null, "what is in no commit comes last");
    let branches = cost(&repo, &["--by", "branch"]);
    let expected = [(some("main"), 101, 505_000), (some("topic"), 10, 50_000)];
    assert_eq!(rows(&branches), expected);
    let table = repo.siglum(&["cost", "--by", "commit"]).ok();
    assert!(table.contains("not in a commit"), "{table}");
    for what in ["day", "agent", "repository", "pipeline", "session"] {
        let costs = cost(&repo, &["--by", what]);
        assert_eq!(costs["rows"].as_array().unwrap().len(), 1, "{what}");
        assert_eq!(costs["total"]["tokens"]["output"], 111, "{what}");
    }
    let none = cost(&repo, &["--until", "2026-01-01"]);
    assert_eq!(none["rows"], json!([]));
    let wrong = repo.siglum(&["cost", "--by", "phase-of-the-moon"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
}
