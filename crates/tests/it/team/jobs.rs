//! Pipelines: each run clones a repository, checks the commits of a branch by a token that only reads, and records what
//! came of it.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};

use super::writer::Writer;
use super::{FORGE, REPOSITORIES, Team, pause};
use crate::harness::World;

/// How long is waited between runs, in milliseconds.
const BETWEEN_RUNS: Range<u64> = 3_000..9_000;

/// A machine of a pipeline: it reaches the gateway, and has no ledger.
pub(super) fn machine(team: &Team) -> World {
    let mut world = World::new();
    let url = PathBuf::from(team.balancer.url());
    world.variables.push(("SIGLUM_GATEWAY", url));
    let token = PathBuf::from(&team.reader);
    world.variables.push(("SIGLUM_GATEWAY_TOKEN", token));
    team.show_origin(&world);
    world
}

/// Clones a repository there, in the place of what was cloned before.
pub(super) fn check_out(machine: &World, repository: &str) -> PathBuf {
    let script = format!("rm -rf checkout && git clone -q {FORGE}/{repository}.git checkout");
    machine.sh(&machine.root, &script).ok();
    machine.root.join("checkout")
}

/// Runs one pipeline after the other.
pub(super) fn work(team: &Team, number: usize, until: Instant) {
    let mut dice = team.options.dice("jobs", number);
    let machine = machine(team);
    let writer = Writer::new(team, &team.launcher);
    for run in 0.. {
        pause(&mut dice, team.options.paced(BETWEEN_RUNS), until);
        if Instant::now() >= until {
            return;
        }
        let checkout = check_out(&machine, REPOSITORIES[dice.index(REPOSITORIES.len())]);
        let branch = format!("origin/laptop-{}", dice.index(team.options.laptops));
        let found = machine.sh(&checkout, &format!("git rev-parse -q --verify {branch}"));
        if found.code != Some(0) {
            continue;
        }
        let range = format!("origin/main..{branch}");
        let checked = machine.siglum(&checkout, &["check", &range]);
        let result = match checked.code {
            Some(0) => "passed",
            // What a laptop did not send yet is not recorded at the gateway.
            Some(1) => "failed",
            // The gateway was away.
            Some(4) => "errored",
            _ => {
                team.journal.problem(format!("siglum check: {checked:?}"));
                continue;
            }
        };
        team.journal.count(match result {
            "passed" => "checks passed",
            "failed" => "checks failed",
            _ => "checks not verified",
        });
        let pipeline = format!("job-{number}-{run}");
        let events = events(&pipeline, result, found.stdout.trim());
        let path = format!("/v1/pipelines/{pipeline}/events");
        if writer.write("POST", &path, &events).is_some() {
            team.journal.records().pipelines.insert(pipeline);
        }
    }
}

/// All that is recorded of one run, in one request.
fn events(pipeline: &str, result: &str, commit: &str) -> Value {
    let key = |event: &str| format!("{pipeline}.{event}");
    json!({ "events": [
        { "kind": "planned", "phases": ["check"], "key": key("plan") },
        { "kind": "phase_started", "phase": "check", "key": key("start") },
        { "kind": "check", "phase": "check", "name": "commits", "result": result, "commit": commit, "key": key("check") },
        { "kind": "phase_ended", "phase": "check", "outcome": "completed", "key": key("stop") },
        { "kind": "ended", "outcome": "completed", "key": key("end") },
    ] })
}
