//! All checks, and how they are run.

use super::check::{Check, Failure, Shelf};
use super::{
    access, audit, checkpoints, claims, commits, contexts, deliveries, destinations, driven,
    dropping, entries, folds, forgetting, heartbeats, integrity, leases, lists, pipelines, places,
    projections, queue, receipts, replicas, requests, restoring, retention, runs, scopes, search,
    session_links, sessions, statements, telemetry, transactions, turns, usage, usage_quarters,
    waits,
};

/// All checks.
#[must_use]
pub fn checks() -> Vec<Check> {
    [
        places::CHECKS,
        sessions::CHECKS,
        turns::CHECKS,
        lists::CHECKS,
        statements::CHECKS,
        entries::CHECKS,
        folds::CHECKS,
        forgetting::CHECKS,
        integrity::CHECKS,
        leases::CHECKS,
        driven::CHECKS,
        waits::CHECKS,
        receipts::CHECKS,
        projections::CHECKS,
        claims::CHECKS,
        deliveries::CHECKS,
        pipelines::CHECKS,
        commits::CHECKS,
        checkpoints::CHECKS,
        queue::CHECKS,
        access::CHECKS,
        audit::CHECKS,
        requests::CHECKS,
        runs::CHECKS,
        contexts::CHECKS,
        telemetry::CHECKS,
        destinations::CHECKS,
        replicas::CHECKS,
        restoring::CHECKS,
        scopes::CHECKS,
        usage::CHECKS,
        usage_quarters::CHECKS,
        session_links::CHECKS,
        heartbeats::CHECKS,
        dropping::CHECKS,
        search::CHECKS,
        retention::CHECKS,
        transactions::CHECKS,
    ]
    .concat()
}

/// Runs all checks, each on a fresh shelf, and gives what failed.
#[must_use]
pub fn run(fresh: &dyn Fn() -> Box<dyn Shelf>) -> Vec<Failure> {
    let failed = |check: Check| check.run(fresh().as_ref()).err();
    checks().into_iter().filter_map(failed).collect()
}
