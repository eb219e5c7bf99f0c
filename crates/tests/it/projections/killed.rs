//! Workers that are killed, and sinks that know more or less than the ledger.

use std::fs;
use std::time::Duration;

use super::{
    KEEP, directory, lines, program, sealed, session, shown, turn, until_all, until_sealed, whole,
    workers,
};
use crate::harness::{Agent, World, kill, until};

/// Kills every worker, and waits until they are gone.
fn kill_workers(world: &World) {
    until("no worker runs", || {
        let all = workers(world);
        all.iter().copied().for_each(kill);
        all.is_empty()
    });
}

#[test]
fn a_worker_killed_before_the_delivery_loses_nothing() {
    let world = World::new();
    let repo = world.repo();
    // The place of the directory is taken by a file: what is sealed cannot be handed over.
    let blocked = world.root.join("blocked");
    let target = blocked.join("copies");
    let target = target.to_str().unwrap();
    repo.siglum(&["projection", "add", "copies", "--directory", target])
        .ok();
    fs::write(&blocked, "").unwrap();
    let mut agent = Agent::start(&repo, "busy");
    agent.stop();
    until("it is sealed", || !sealed(&world).is_empty());
    kill_workers(&world);
    fs::remove_file(&blocked).unwrap();
    repo.siglum(&["projection", "retry", "copies"]).ok();
    until_all(&world, &blocked.join("copies"));
}

#[test]
fn a_worker_killed_in_the_midst_of_it_goes_on_where_it_was() {
    let world = World::new();
    let repo = world.repo();
    let script = format!("{KEEP}\nif [ -e hang ]; then echo > hangs; exec sleep 1000; fi");
    let dir = program(&repo, "slow", &script);
    let mut agent = Agent::start(&repo, "busy");
    agent.stop();
    until_all(&world, &dir);
    fs::write(world.root.join("hang"), "").unwrap();
    turn(&mut agent, "the turn that hangs");
    until("the program has it and does not say so", || {
        world.root.join("hangs").exists()
    });
    kill_workers(&world);
    let id = session(&repo, &agent);
    let numbers = || -> Vec<u64> { shown(&dir)[&id].iter().map(|(n, _)| *n).collect() };
    let hung = *numbers().last().unwrap();
    fs::remove_file(world.root.join("hang")).unwrap();
    turn(&mut agent, "the turn behind it");
    // It is not known whether it was taken, so it is said again, with the same number, before the next.
    let in_effect = || {
        let mut once = shown(&dir);
        once.values_mut().for_each(Vec::dedup);
        once
    };
    until_sealed(&world);
    until("everything is there", || {
        whole(&dir) && in_effect() == sealed(&world)
    });
    let again = numbers().iter().filter(|n| **n == hung).count();
    assert!(again > 1, "{hung} of {:?}", numbers());
}

#[test]
fn killed_at_any_moment_nothing_is_lost_or_doubled_in_a_directory() {
    let world = World::new();
    let repo = world.repo();
    let dir = directory(&repo, "copies");
    let mut agents = [Agent::start(&repo, "one"), Agent::start(&repo, "two")];
    agents.iter_mut().for_each(Agent::stop);
    for round in 0..12_u64 {
        for agent in &mut agents {
            turn(agent, &format!("round {round}"));
        }
        // Later each time, so that it dies before, in and behind the sealing and the handing over.
        std::thread::sleep(Duration::from_millis(round * 7));
        workers(&world).into_iter().for_each(kill);
    }
    kill_workers(&world);
    agents.iter_mut().for_each(|agent| turn(agent, "the last"));
    until_all(&world, &dir);
    for (session, lines) in lines(&dir) {
        for (at, line) in lines.iter().enumerate() {
            assert_eq!(line["receipt"]["number"], at + 1, "{session}");
        }
    }
}

#[test]
fn a_directory_that_is_ahead_of_a_restored_ledger_is_filled_again() {
    let world = World::new();
    let repo = world.repo();
    let dir = directory(&repo, "copies");
    let mut agent = Agent::start(&repo, "busy");
    agent.stop();
    until_all(&world, &dir);
    let (store, copy) = (
        world.siglum_home().join("ledger.db"),
        world.root.join("copy.db"),
    );
    let sql = format!("VACUUM INTO '{}'", copy.display());
    world.store().execute_batch(&sql).unwrap();
    turn(&mut agent, "a turn that the copy does not have");
    turn(&mut agent, "and another");
    until_all(&world, &dir);
    let ahead = shown(&dir);
    assert!(sealed(&world).values().flatten().count() >= 2);
    kill_workers(&world);
    for name in ["ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(store.with_file_name(name));
    }
    fs::copy(&copy, &store).unwrap();
    turn(&mut agent, "what is said instead");
    until_all(&world, &dir);
    assert_ne!(shown(&dir), ahead);
    let text = format!("{:?}", lines(&dir));
    assert!(!text.contains("the copy does not have"), "{text}");
    assert!(text.contains("said instead"), "{text}");
}
