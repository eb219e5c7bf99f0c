//! What must be true when the time is over.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::laptop::{Answer, Laptop};
use super::receipts::{compared, items};
use super::{REPOSITORIES, Team, jobs};
use crate::gateway::client::Client;
use crate::gateway::server::{Gateway, Store};
use crate::harness::OtlpSink;

/// How many commits of a repository each laptop asks about; the gateways are asked about all.
const NEWEST: &str = "400";
/// How many commits the gateway explains at once.
const EXPLAINED: usize = 500;
/// How long it may take until the server of traces has all of them.
const PATIENCE: Duration = Duration::from_secs(120);

/// What was looked at, in words.
pub(super) struct Outcome {
    pub(super) rows: Vec<Row>,
}

/// What was looked at, and what was there.
type Row = (&'static str, String);

impl Outcome {
    /// Checks every promise. Those that are broken are problems of the journal.
    pub(super) fn check(
        team: &Team,
        store: &Store,
        laptops: &mut [Laptop<'_>],
        gateways: &[Gateway],
        collector: &OtlpSink,
    ) -> Self {
        let journal = &team.journal;
        let client = team.client(&team.launcher);
        let mut rows = Vec::new();
        journal.watch("acknowledged", || rows.push(acknowledged(team, &client)));
        // Not before that: a laptop sends again what the gateway lacks.
        thread::scope(|scope| {
            for laptop in laptops.iter_mut() {
                let who = format!("laptop {}", laptop.number);
                scope.spawn(move || journal.watch(&who, || laptop.finish(team)));
            }
        });
        let laptops = &*laptops;
        journal.watch("receipts", || {
            rows.push(same_receipts(team, laptops, &client));
        });
        journal.watch("store", || rows.push(verified(team, store)));
        journal.watch("answers", || {
            let makers = merged(team, store);
            let homes = answers_at_home(laptops);
            rows.push(judged(team, laptops, &makers, &homes));
            rows.push(same_answers(team, laptops, gateways, &homes));
            rows.push(checked(team));
        });
        journal.watch("traces", || rows.push(traced(team, laptops, collector)));
        Self { rows }
    }
}

fn report(team: &Team, problems: Vec<String>) {
    for problem in problems {
        team.journal.problem(problem);
    }
}

/// What the API acknowledged is there, once.
fn acknowledged(team: &Team, client: &Client) -> Row {
    let (receipts, conversations, messages, pipelines) = {
        let records = team.journal.records();
        let conversations = records.conversations.clone();
        let (messages, pipelines) = (records.messages.clone(), records.pipelines.clone());
        (records.receipts.clone(), conversations, messages, pipelines)
    };
    let (_, mut problems) = compared(client, &receipts);
    problems.extend(misplaced_conversations(client, &conversations));
    for (session, texts) in &messages {
        match items(client, &format!("/v1/sessions/{session}/events")) {
            Ok(entries) => problems.extend(miscounted(session, texts, &entries)),
            Err(problem) => problems.push(problem),
        }
    }
    let broken = pipelines
        .iter()
        .filter_map(|id| broken_pipeline(client, id));
    problems.extend(broken);
    report(team, problems);
    let text = format!(
        "{} receipts, {} conversations, {} pipelines, each there once",
        receipts.len(),
        conversations.len(),
        pipelines.len()
    );
    ("acknowledged", text)
}

/// The conversations of which there is not exactly the session that was acknowledged.
fn misplaced_conversations(
    client: &Client,
    conversations: &BTreeMap<String, String>,
) -> Vec<String> {
    let listed = match items(client, "/v1/sessions") {
        Ok(listed) => listed,
        Err(problem) => return vec![problem],
    };
    let mut ids: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for session in &listed {
        let [name, id] = ["conversation_id", "id"].map(|field| session[field].as_str().unwrap());
        ids.entry(name).or_default().push(id);
    }
    let misplaced = |(session, name): (&String, &String)| {
        let there = ids.get(name.as_str()).cloned().unwrap_or_default();
        let is_once = there == [session.as_str()];
        (!is_once).then(|| format!("{name} is {session}, and the gateway lists {there:?}"))
    };
    conversations.iter().filter_map(misplaced).collect()
}

/// What was said in a session and is not there exactly once.
fn miscounted(session: &str, texts: &[String], entries: &[Value]) -> Vec<String> {
    let facts: Vec<String> = entries
        .iter()
        .map(|entry| entry["fact"].to_string())
        .collect();
    let miscounted = |text: &String| {
        let count = facts
            .iter()
            .filter(|fact| fact.contains(text.as_str()))
            .count();
        (count != 1).then(|| format!("{session}: {text:?} is there {count} times"))
    };
    texts.iter().filter_map(miscounted).collect()
}

/// What is wrong with a pipeline of one check that came to its end.
fn broken_pipeline(client: &Client, id: &str) -> Option<String> {
    let reply = client.get(&format!("/v1/pipelines/{id}"));
    if reply.status != 200 {
        return Some(format!("{id}: {}", reply.text));
    }
    let graph = reply.json();
    let phases = graph["phases"].as_array().unwrap();
    let checks = phases.iter().flat_map(|phase| phase["checks"].as_array());
    let is_whole =
        phases.len() == 1 && checks.flatten().count() == 1 && graph["end_recorded"] == true;
    (!is_whole).then(|| format!("{id} is {graph}"))
}

/// The gateway has what each laptop sealed, and no more of its sessions.
fn same_receipts(team: &Team, laptops: &[Laptop<'_>], client: &Client) -> Row {
    let mut all = 0;
    for laptop in laptops {
        let sealed = laptop.receipts();
        let (there, problems) = compared(client, &sealed);
        report(team, problems);
        if there.len() > sealed.len() {
            team.journal.problem(format!(
                "the gateway has {} receipts of laptop {}, which sealed {}",
                there.len(),
                laptop.number,
                sealed.len()
            ));
        }
        all += sealed.len();
    }
    (
        "laptops",
        format!("{all} receipts, the same at the gateway"),
    )
}

/// The store verifies: logs without a gap, receipts with their digests.
fn verified(team: &Team, store: &Store) -> Row {
    let checked = store.driver().must(&json!({ "do": "check", "dirs": [] }));
    for problem in checked["problems"].as_array().unwrap() {
        team.journal.problem(problem.to_string());
    }
    let (sessions, receipts) = (&checked["sessions"], &checked["receipts"]);
    ("store", format!("{sessions} sessions, {receipts} receipts"))
}

/// Makes a branch `all` of the branches of all laptops, and gives who made each of their commits, by git's own record.
fn merged(team: &Team, store: &Store) -> BTreeMap<String, String> {
    let script = "git update-ref refs/heads/all $(git commit-tree -m all -p main \
         $(git for-each-ref --format='-p %(refname)' 'refs/heads/laptop-*') 'main^{tree}') && \
         git log --format='%H %cn' 'all^@' ^main";
    let mut makers = BTreeMap::new();
    for repository in REPOSITORIES {
        let place = team.origin.join(format!("{repository}.git"));
        let listed = store.world.sh(&place, script).ok();
        let commits = listed.lines().filter_map(|line| line.split_once(' '));
        makers.extend(commits.map(|(id, maker)| (id.to_owned(), maker.to_owned())));
    }
    makers
}

/// What each laptop answers about its own commits.
fn answers_at_home(laptops: &[Laptop<'_>]) -> BTreeMap<String, Answer> {
    let mut answers = BTreeMap::new();
    for laptop in laptops {
        for repo in &laptop.clones {
            let range = format!("origin/main..laptop-{}", laptop.number);
            answers.extend(laptop.answers(repo, &range, "0"));
        }
    }
    answers
}

/// Nobody is named who did not make a commit.
fn judged(
    team: &Team,
    laptops: &[Laptop<'_>],
    makers: &BTreeMap<String, String>,
    homes: &BTreeMap<String, Answer>,
) -> Row {
    let natives: BTreeMap<String, String> = laptops.iter().flat_map(Laptop::natives).collect();
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    for (commit, maker) in makers {
        let Some(answer) = homes.get(commit) else {
            team.journal
                .problem(format!("{commit} by {maker} is on no laptop"));
            continue;
        };
        *verdicts.entry(&answer.verdict).or_default() += 1;
        let named = natives.get(&answer.committer).unwrap_or(&answer.committer);
        if named != maker && named != "unknown" {
            let text = format!(
                "{commit} by {maker} is said to be by {named}: {}",
                answer.verdict
            );
            team.journal.problem(text);
        }
    }
    ("commits", format!("{}: {verdicts:?}", makers.len()))
}

/// Every laptop and every gateway answers as the laptop on which the commit was made.
fn same_answers(
    team: &Team,
    laptops: &[Laptop<'_>],
    gateways: &[Gateway],
    homes: &BTreeMap<String, Answer>,
) -> Row {
    let mut counted = 0;
    let mut compare = |who: &str, commit: &str, answer: &Answer| {
        let Some(home) = homes.get(commit) else {
            return;
        };
        counted += 1;
        if home != answer {
            let text = format!("{commit} is {answer:?} to {who}, and {home:?} at home");
            team.journal.problem(text);
        }
    };
    for laptop in laptops {
        let who = format!("laptop {}", laptop.number);
        for repo in &laptop.clones {
            repo.git(&["fetch", "-q", "origin"]);
            let answers = laptop.answers(repo, "origin/main..origin/all", NEWEST);
            for (commit, answer) in &answers {
                compare(&who, commit, answer);
            }
        }
    }
    for (number, gateway) in gateways.iter().enumerate() {
        let answers = explained(&gateway.launcher(), homes.keys().cloned().collect());
        let who = format!("gateway {number}");
        let nobody = Answer::unknown();
        for commit in homes.keys() {
            compare(&who, commit, answers.get(commit).unwrap_or(&nobody));
        }
    }
    ("answers", format!("{counted}, the same everywhere"))
}

/// What a gateway answers about commits.
fn explained(client: &Client, mut waiting: Vec<String>) -> BTreeMap<String, Answer> {
    let mut answers = BTreeMap::new();
    while !waiting.is_empty() {
        let rest = waiting.split_off(waiting.len().min(EXPLAINED));
        let body = json!({ "commits": waiting });
        let explained = client.post("/v1/commits/explain", &body).is(200);
        for item in explained["items"].as_array().unwrap() {
            let judgement = &item["judgement"];
            let answer = Answer::read(&judgement["committer"], &judgement["verdict"]);
            answers.insert(item["commit"].as_str().unwrap().to_owned(), answer);
        }
        let left = explained["left_off"].as_array().unwrap().iter();
        let left: Vec<String> = left.map(|id| id.as_str().unwrap().to_owned()).collect();
        assert!(left.len() < waiting.len(), "it answers about no commit");
        waiting = [left, rest].concat();
    }
    answers
}

/// A pipeline that reads at the gateway finds each commit recorded.
fn checked(team: &Team) -> Row {
    let machine = jobs::machine(team);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = 0;
    for repository in REPOSITORIES {
        let checkout = jobs::check_out(&machine, repository);
        let merge = machine.sh(&checkout, "git rev-parse origin/all").ok();
        let args = ["check", "--json", "origin/main..origin/all"];
        let ran = machine.siglum(&checkout, &args);
        let answer: Value = serde_json::from_str(&ran.stdout).expect(&ran.stderr);
        all += answer["data"]["counts"]["all"].as_u64().unwrap();
        for commit in answer["data"]["failed"].as_array().unwrap() {
            if commit["commit"] == merge.trim() {
                continue;
            }
            for finding in commit["findings"].as_array().unwrap() {
                let reason = finding["reason"].as_str().unwrap();
                *reasons.entry(reason.to_owned()).or_default() += 1;
                if reason == "unrecorded" {
                    team.journal
                        .problem(format!("siglum check finds no record: {commit}"));
                }
            }
        }
    }
    (
        "checks",
        format!("{all} commits by the gateway, failed: {reasons:?}"),
    )
}

/// The server of traces has each conversation of a laptop.
fn traced(team: &Team, laptops: &[Laptop<'_>], collector: &OtlpSink) -> Row {
    let begun = Instant::now();
    let wanted: BTreeSet<String> = laptops.iter().flat_map(Laptop::conversations).collect();
    loop {
        let spans = collector.spans();
        let shown: BTreeSet<&str> = spans
            .iter()
            .filter_map(|span| span["attributes"]["session.id"].as_str())
            .collect();
        let missing = wanted
            .iter()
            .filter(|name| !shown.contains(name.as_str()))
            .count();
        if missing > 0 && begun.elapsed() < PATIENCE {
            for laptop in laptops {
                laptop.settle();
            }
            continue;
        }
        if missing > 0 {
            let text = format!("{missing} of {} conversations have no trace", wanted.len());
            team.journal.problem(text);
        }
        let ids: BTreeSet<&str> = spans.iter().filter_map(|s| s["spanId"].as_str()).collect();
        let twice = spans.len() - ids.len();
        let text = format!(
            "{} conversations, {} spans, {twice} of them twice",
            wanted.len(),
            ids.len()
        );
        return ("traces", text);
    }
}
