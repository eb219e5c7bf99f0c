//! What the tools show when something breaks on the way: all of it, and nothing twice.

use std::time::Duration;

use super::sinks::{Sinks, fresh};
use crate::harness::wire::{Break, Wire};
use crate::harness::{Repo, Talk, World, kill, until};

#[test]
fn what_was_recorded_during_an_outage_is_sent_afterwards() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::new(&repo, "dead");
    let mut talk = Talk::start(&repo, &fresh("dead-for-a-while"));
    talk.turn("Before.");
    sinks.show(&[&talk]);
    sinks.wires().into_iter().for_each(Wire::down);
    let begun = std::time::Instant::now();
    for n in 0..4 {
        talk.turn(&format!("Meanwhile, {n}."));
    }
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "nobody waits for them"
    );
    until("both were tried in vain", || {
        world.count("SELECT count(*) FROM deliveries WHERE tries > 1") == 2
    });
    sinks.wires().into_iter().for_each(Wire::up);
    talk.turn("After.");
    try_again(&repo);
    sinks.show(&[&talk]);
}

#[test]
fn a_connection_that_breaks_inside_a_batch_loses_and_doubles_nothing() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::new(&repo, "broken");
    let mut talk = Talk::start(&repo, &fresh("broken-off"));
    for (n, breaks) in [
        // In the head, in the body, and when all was taken.
        [Break::Asking(40), Break::Answering],
        [Break::Asking(900), Break::Asking(2_000)],
        [Break::Answering, Break::Answering],
    ]
    .into_iter()
    .enumerate()
    {
        for wire in sinks.wires() {
            wire.breaks(&breaks);
        }
        talk.turn(&format!("Turn {n}."));
        // The next try may be due in minutes, and a batch that is smaller than a break goes through: then the next turn
        // is the one that breaks.
        until("the connections broke", || {
            try_again(&repo);
            let left = |wire: &Wire| wire.broken() < breaks.len();
            let all_broke = !sinks.wires().into_iter().any(left);
            let waits = world.count("SELECT count(*) FROM deliveries WHERE due > taken");
            if !all_broke && waits == 0 {
                talk.turn("Once more.");
            }
            all_broke
        });
        try_again(&repo);
        sinks.show(&[&talk]);
    }
}

#[test]
fn a_worker_that_is_killed_at_any_moment_loses_and_doubles_nothing() {
    let world = World::new();
    let repo = world.repo();
    let sinks = Sinks::new(&repo, "killed");
    let mut talk = Talk::start(&repo, &fresh("killed-worker"));
    let mut killed = 0;
    for n in 0..8_u64 {
        talk.turn(&format!("Turn {n}."));
        // At another moment each time.
        std::thread::sleep(Duration::from_millis(n * 45));
        for pid in workers(&repo) {
            kill(pid);
            killed += 1;
        }
    }
    assert!(killed > 0, "no worker was there to be killed");
    talk.turn("At last.");
    try_again(&repo);
    sinks.show(&[&talk]);
    eprintln!("{killed} workers killed, nothing lost or doubled");
}

fn workers(repo: &Repo<'_>) -> Vec<u32> {
    let is_worker = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|b| *b == 0).any(|word| word == b"worker")
    };
    let all = repo.world.processes().into_iter();
    all.filter(is_worker).collect()
}

/// What failed is tried now, and not when the next try is due: that may be minutes later.
#[track_caller]
fn try_again(repo: &Repo<'_>) {
    for tool in ["phoenix", "mlflow"] {
        repo.siglum(&["projection", "retry", tool]).ok();
    }
}
