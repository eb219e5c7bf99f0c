//! The suite on broken stores.

use std::collections::HashMap;

use super::ledger::Called;
use super::{
    Broken, Fault, Kind, access, audit, commits, contexts, forgetting, heartbeats, integrity, log,
    own, pipelines, projections, queue, replicas, requests, retention, runs, search, sessions,
    telemetry, turns, usage,
};
use crate::{Check, Shelf, checks, run};

fn all_caught(faults: impl IntoIterator<Item = Fault>) {
    let mut order = checks();
    // What each check calls, once it has come to its end.
    let mut called: HashMap<&str, Called> = HashMap::new();
    let mut missed = Vec::new();
    for fault in faults {
        // A check that never calls the faulty verb is the last to catch it.
        order.sort_by_key(|check| match (fault.verb(), called.get(check.name)) {
            (Some(verb), Some(called)) => !called.contains(verb),
            _ => false,
        });
        let catches = |check: &Check| {
            let store = Broken::new(fault);
            let is_caught = check.run(&store).is_err();
            if !is_caught {
                called.insert(check.name, store.called());
            }
            is_caught
        };
        // What caught one fault of a verb often catches the next.
        match order.iter().position(catches) {
            Some(found) => order[..=found].rotate_right(1),
            None => missed.push(fault),
        }
    }
    assert!(missed.is_empty(), "the suite passes stores with {missed:?}");
}

fn faults(verbs: &[(Kind, &'static str)], limited: &[&'static str]) -> Vec<Fault> {
    let by_kind = verbs.iter().flat_map(|(kind, verb)| kind.faults(verb));
    let unlimited = limited.iter().map(|verb| Fault::Unlimited(verb));
    by_kind.chain(unlimited).collect()
}

#[test]
fn a_wrapper_without_a_fault_passes() {
    let fresh = || -> Box<dyn Shelf> { Box::new(Broken::new(Fault::None)) };
    assert_eq!(run(&fresh), []);
}

#[test]
fn broken_sessions_are_caught() {
    all_caught(faults(sessions::SESSIONS, sessions::LIMITED));
}

#[test]
fn a_broken_log_is_caught() {
    all_caught(faults(log::LOG, log::LIMITED));
}

#[test]
fn a_store_that_does_not_forget_is_caught() {
    all_caught(faults(forgetting::FORGETTING, forgetting::LIMITED));
}

#[test]
fn a_store_that_hides_rows_is_caught() {
    let own = integrity::FAULTS.iter().copied();
    all_caught(own.chain(faults(integrity::INTEGRITY, integrity::LIMITED)));
}

#[test]
fn broken_commits_are_caught() {
    all_caught(faults(commits::COMMITS, commits::LIMITED));
}

#[test]
fn broken_queues_are_caught() {
    all_caught(faults(queue::QUEUE, queue::LIMITED));
}

#[test]
fn broken_replicas_are_caught() {
    let own = replicas::FAULTS.iter().copied();
    all_caught(own.chain(faults(replicas::REPLICAS, replicas::LIMITED)));
}

#[test]
fn a_broken_index_is_caught() {
    all_caught(search::FAULTS.iter().copied());
}

#[test]
fn broken_turns_are_caught() {
    let own = turns::FAULTS.iter().copied();
    all_caught(own.chain(faults(turns::TURNS, turns::LIMITED)));
}

#[test]
fn broken_projections_are_caught() {
    let verbs = faults(projections::PROJECTIONS, projections::LIMITED);
    let own = projections::FAULTS.iter().copied();
    let lists = projections::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    all_caught(own.chain(lists).chain(verbs));
}

#[test]
fn broken_credentials_are_caught() {
    let own = access::FAULTS.iter().chain(requests::FAULTS).copied();
    let lists = access::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    all_caught(
        own.chain(lists)
            .chain(faults(access::ACCESS, access::LIMITED))
            .chain(faults(requests::REQUESTS, requests::LIMITED)),
    );
}

#[test]
fn a_broken_audit_is_caught() {
    let own = audit::FAULTS.iter().copied();
    let lists = audit::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    all_caught(own.chain(lists).chain(faults(audit::AUDIT, audit::LIMITED)));
}

#[test]
fn broken_pipelines_are_caught() {
    let verbs = faults(pipelines::PIPELINES, pipelines::LIMITED);
    let own = pipelines::FAULTS.iter().copied();
    let lists = pipelines::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    let keyed = Kind::Find.faults("keyed_pipeline_event");
    all_caught(own.chain(lists).chain(verbs).chain(keyed));
}

#[test]
fn broken_contexts_are_caught() {
    let own = contexts::FAULTS.iter().copied();
    let lists = contexts::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    all_caught(
        own.chain(lists)
            .chain(faults(contexts::CONTEXTS, contexts::LIMITED)),
    );
}

#[test]
fn broken_usage_is_caught() {
    let own = usage::FAULTS.iter().copied();
    let lists = usage::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    let bags = usage::BAGS.iter();
    let bags = bags.flat_map(|verb| Kind::Bag.faults(verb));
    all_caught(
        own.chain(lists)
            .chain(bags)
            .chain(faults(usage::USAGES, usage::LIMITED)),
    );
}

#[test]
fn broken_telemetry_is_caught() {
    let verbs = faults(telemetry::TELEMETRY, telemetry::LIMITED);
    let own = telemetry::FAULTS.iter().copied();
    let lists = telemetry::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    all_caught(own.chain(lists).chain(verbs));
}

#[test]
fn broken_heartbeats_are_caught() {
    let verbs = faults(heartbeats::HEARTBEATS, heartbeats::LIMITED);
    let own = heartbeats::FAULTS.iter().copied();
    let lists = heartbeats::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    all_caught(own.chain(lists).chain(verbs));
}

#[test]
fn a_store_that_keeps_the_wrong_things_is_caught() {
    let verbs = faults(retention::RETENTION, retention::LIMITED);
    let own = retention::FAULTS.iter().copied();
    let lists = retention::LISTS.iter();
    let lists = lists.flat_map(|verb| Kind::List.faults(verb));
    all_caught(own.chain(lists).chain(verbs));
}

#[test]
fn broken_runs_are_caught() {
    let own = runs::FAULTS.iter().copied();
    all_caught(own.chain(faults(runs::RUNS, runs::LIMITED)));
}

#[test]
fn broken_lists_and_transactions_are_caught() {
    let lists = own::LISTS.iter().flat_map(|verb| Kind::List.faults(verb));
    all_caught(own::FAULTS.iter().copied().chain(lists));
}
