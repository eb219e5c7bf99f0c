//! What the commands of projections take, refuse and change, and that everything can be made again.

use std::fs;

use super::{directory, lines, sealed, session, shown, turn, until_all, until_sealed};
use crate::harness::{Agent, World};

#[test]
fn a_projection_is_named_checked_and_removed() {
    let world = World::new();
    let repo = world.repo();
    let add = |args: &[&str]| repo.siglum(&[&["projection", "add"], args].concat());
    for (args, why) in [
        (&["No Such", "--directory", "/x"][..], "a-z"),
        (&["summaries", "--directory", "/x"], "summaries"),
        (&["copies"], "--directory"),
        (
            &["copies", "--directory", "/x", "--program", "true"],
            "cannot be used",
        ),
        (
            &["copies", "--directory", "../siglum/inside"],
            "Siglum's own home",
        ),
        (&["copies", "--program", "  "], "not a command"),
    ] {
        let ran = add(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(why), "{args:?}: {ran:?}");
    }
    add(&["copies", "--directory", "below"]).ok();
    // Just so it is the same one; otherwise it is another.
    add(&["copies", "--directory", "below"]).ok();
    for args in [
        &["copies", "--program", "true"][..],
        &["twice", "--directory", "below"],
    ] {
        assert_eq!(add(args).code, Some(1), "{args:?}");
    }
    let list = world.json(&repo.dir, &["projection", "list"]);
    let one = &list["projections"][0];
    let target = repo.dir.join("below");
    assert_eq!(one["target"].as_str(), target.to_str(), "{list}");
    assert_eq!(list["projections"].as_array().unwrap().len(), 1, "{list}");

    let mut agent = Agent::start(&repo, "busy");
    agent.stop();
    until_all(&world, &target);
    repo.siglum(&["projection", "remove", "copies"]).ok();
    let before = shown(&target);
    turn(&mut agent, "nobody gets this");
    repo.siglum(&["worker", "--once"]);
    assert_eq!(shown(&target), before);
    for args in [
        &["projection", "show", "copies"][..],
        &["projection", "remove", "copies"],
        &["projection", "retry", "copies"],
        &["rebuild", "copies"],
    ] {
        assert_eq!(repo.siglum(args).code, Some(3), "{args:?}");
    }
}

#[test]
fn what_cannot_be_looked_at_is_not_called_healthy() {
    let world = World::new();
    let repo = world.repo();
    fs::write(world.root.join("file"), "").unwrap();
    let target = world.root.join("file/copies");
    let target = target.to_str().unwrap();
    repo.siglum(&["projection", "add", "copies", "--directory", target])
        .ok();
    let status = world.json(&repo.dir, &["status"]);
    let one = &status["projections"][0];
    assert_eq!(one["health"], "unknown", "{status}");
    assert!(one["lag_receipts"].is_null(), "{status}");
    let doctor = repo.siglum(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("cannot be checked"), "{doctor:?}");
}

#[test]
fn everything_derived_can_be_made_again() {
    let world = World::new();
    let repo = world.repo();
    let dir = directory(&repo, "copies");
    let mut agents = [Agent::start(&repo, "one"), Agent::start(&repo, "two")];
    agents.iter_mut().for_each(Agent::stop);
    until_sealed(&world);
    for agent in &mut agents {
        turn(agent, "more of it");
        until_sealed(&world);
    }
    until_all(&world, &dir);
    let good = format!("{:?}", lines(&dir));

    // A line in the middle is gone, and what the ledger never said is there.
    let ids = agents.each_ref().map(|agent| session(&repo, agent));
    let file = |n: usize| dir.join(format!("{}.jsonl", ids[n]));
    let last = |n: usize| {
        fs::read_to_string(file(n))
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .to_owned()
    };
    for n in [0, 1] {
        fs::write(file(n), format!("{}\n", last(n))).unwrap();
    }
    fs::write(dir.join("mine.txt"), "a file of mine").unwrap();
    repo.siglum(&["rebuild", "copies", &ids[0]]).ok();
    crate::harness::until("one session is whole", || {
        super::whole(&dir) && shown(&dir).get(&ids[0]) == sealed(&world).get(&ids[0])
    });
    assert_eq!(shown(&dir)[&ids[1]].len(), 1);
    repo.siglum(&["rebuild", "copies"]).ok();
    until_all(&world, &dir);
    assert_eq!(format!("{:?}", lines(&dir)), good);
    assert!(dir.join("mine.txt").exists());

    let list = || world.json(&repo.dir, &["session", "list"]);
    let before = list();
    let sql = "UPDATE summaries SET title = 'never said', turns = 99";
    world.store().execute_batch(sql).unwrap();
    assert_ne!(list(), before);
    let rebuilt = world.json(&repo.dir, &["rebuild", "summaries"]);
    assert_eq!(rebuilt["sessions"], 2, "{rebuilt}");
    assert_eq!(list(), before);
}
