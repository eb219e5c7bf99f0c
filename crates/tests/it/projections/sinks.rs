//! Sinks that work, fail, refuse and hang.

use std::fs;

use serde_json::json;

use super::{
    KEEP, directory, lines, program, session, shown, standing, turn, until_all, until_sealed,
};
use crate::harness::{Agent, World, until};

#[test]
fn a_directory_gets_every_sealed_turn_and_nothing_that_is_open() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "early");
    agent.stop();
    // What was sealed before it was added is due at it, too.
    until("a turn is sealed", || {
        world.count("SELECT count(*) FROM receipts") > 0
    });
    let dir = directory(&repo, "copies");
    turn(&mut agent, "Now write the parser.");
    until_all(&world, &dir);
    agent.prompt("a question that is still open");
    repo.siglum(&["worker", "--once"]).code.unwrap();
    let text = format!("{:?}", lines(&dir));
    assert!(text.contains("Now write the parser."), "{text}");
    assert!(!text.contains("still open"), "{text}");
    agent.stop();
    until_all(&world, &dir);
    assert!(format!("{:?}", lines(&dir)).contains("still open"));
    let has = standing(&repo, "copies");
    assert_eq!(has["projection"]["health"], "ok", "{has}");
    assert_eq!(has["projection"]["lag_receipts"], 0, "{has}");
}

#[test]
fn a_program_that_fails_for_a_while_gets_everything_once_and_in_order() {
    let world = World::new();
    let repo = world.repo();
    let script = format!("[ -e broken ] && exit 1\n{KEEP}");
    fs::write(world.root.join("broken"), "").unwrap();
    let dir = program(&repo, "flaky", &script);
    let mut agent = Agent::start(&repo, "busy");
    agent.stop();
    until_sealed(&world);
    turn(&mut agent, "and another");
    until("it fails", || {
        standing(&repo, "flaky")["projection"]["failing"] == 1
    });
    let state = standing(&repo, "flaky");
    assert_eq!(state["projection"]["health"], "degraded", "{state}");
    let trouble = &state["troubled"][0];
    assert_eq!(trouble["reason"], "it left with 1", "{state}");
    assert!(trouble["next_try_at"].is_string(), "{state}");
    assert_eq!(trouble["receipt"], 1, "{state}");
    assert!(shown(&dir).is_empty());
    turn(&mut agent, "and a third");
    fs::remove_file(world.root.join("broken")).unwrap();
    until_all(&world, &dir);
}

#[test]
fn what_is_refused_is_set_aside_and_holds_up_no_other_session() {
    let world = World::new();
    let repo = world.repo();
    let refuse = "case \"$line\" in *poison*) [ -e tolerant ] || exit 65;; esac";
    let dir = program(&repo, "picky", &format!("{refuse}\n{KEEP}"));
    let mut bad = Agent::start(&repo, "bad");
    bad.stop();
    until_all(&world, &dir);
    turn(&mut bad, "this is poison");
    let parked = || standing(&repo, "picky")["projection"]["parked"] == 1;
    until("it is set aside", parked);
    let mut good = Agent::start(&repo, "good");
    good.stop();
    let (good_id, bad_id) = (session(&repo, &good), session(&repo, &bad));
    until("others flow", || shown(&dir).contains_key(&good_id));
    let state = standing(&repo, "picky");
    let trouble = &state["troubled"][0];
    assert_eq!(trouble["session"], json!(bad_id), "{state}");
    assert_eq!(trouble["reason"], "it left with 65", "{state}");
    assert_eq!(trouble["tries"], 3, "{state}");
    assert_eq!(trouble["next_try_at"], json!(null), "{state}");
    let status = world.json(&repo.dir, &["status"]);
    assert_eq!(status["projections"][0]["health"], "degraded", "{status}");
    let doctor = repo.siglum(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(doctor.stdout.contains("picky"), "{doctor:?}");

    // How many receipts a turn has is the worker's: it may seal what came before a turn by itself.
    let numbers = || -> Vec<u64> {
        let all = shown(&dir);
        let of = all.get(&bad_id).into_iter().flatten();
        of.map(|(number, _)| *number).collect()
    };
    let before = numbers();
    let poison = before.last().unwrap() + 1;

    // Tried again it is refused again; left out, what comes behind it flows.
    repo.siglum(&["projection", "retry", "picky"]).ok();
    until("it is set aside again", parked);
    turn(&mut bad, "harmless");
    until_sealed(&world);
    repo.siglum(&["projection", "skip", "picky", &bad_id]).ok();
    let behind = || numbers().iter().any(|number| *number > poison);
    until("the next one comes", behind);
    assert!(numbers().starts_with(&before) && !numbers().contains(&poison));

    // Where the sink is mended, another try is enough.
    turn(&mut bad, "more poison");
    until_sealed(&world);
    until("that is set aside", parked);
    fs::write(world.root.join("tolerant"), "").unwrap();
    repo.siglum(&["projection", "retry", "picky", &bad_id]).ok();
    let is_all = || standing(&repo, "picky")["projection"]["lag_receipts"] == 0;
    until("it is taken", is_all);
    assert!(!numbers().contains(&poison), "{:?}", numbers());
    let state = standing(&repo, "picky");
    assert_eq!(state["projection"]["parked"], 0, "{state}");
}

#[test]
fn one_that_hangs_holds_up_neither_sealing_nor_another() {
    let world = World::new();
    let repo = world.repo();
    program(&repo, "stuck", "echo > hangs; exec sleep 1000");
    let mut agent = Agent::start(&repo, "busy");
    agent.stop();
    until("it hangs", || world.root.join("hangs").exists());
    let dir = directory(&repo, "copies");
    for n in 0..3 {
        turn(&mut agent, &format!("turn {n}"));
        until_all(&world, &dir);
    }
    let lacks = &standing(&repo, "stuck")["projection"]["lag_receipts"];
    assert!(lacks.as_u64().unwrap() >= 2, "{lacks}");
}
