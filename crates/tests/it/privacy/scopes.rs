//! Scopes: what is chosen, what changes it, and what waits until it does.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{INSIDE, OUTSIDE, has, is_private, marked_repo, play, received, three};
use crate::harness::{Agent, Gateway, OtlpSink, World, until};

/// The reach of a projection, as `siglum projection scope` tells it.
#[track_caller]
fn reach(world: &World, dir: &std::path::Path, name: &str) -> Value {
    world.json(dir, &["projection", "scope", name])["reach"].clone()
}

#[test]
fn a_repository_that_is_switched_on_later_is_outside_until_it_is_added() {
    let world = World::new();
    let [inside, one, _] = three(&world);
    let gateway = Gateway::start(&world);
    inside
        .siglum(&["sync", "--to", &gateway.url, "--name", "team"])
        .ok();
    let late = marked_repo(&world, "added-later");
    play(
        Agent::process(&late, "added-later-session", &Agent::program()),
        "added-later",
    );
    until("the worker has left", || world.processes().is_empty());
    let text = late.siglum(&["sync"]).ok();
    assert!(text.contains("up to date"), "{text}");
    is_private("sync", &received(&gateway), &["-prompt"]);
    assert!(!has(&received(&gateway), "added-later"));
    assert_eq!(
        reach(&world, &late.dir, "team"),
        json!({"sessions": 1, "outside": 3})
    );
    late.siglum(&["projection", "scope", "team", "--add", "."])
        .ok();
    late.siglum(&["sync"]).ok();
    let all = received(&gateway);
    for end in ["-prompt", "-subject", "-session"] {
        assert!(has(&all, &format!("added-later{end}")), "{end}");
    }
    is_private("sync", &all, &["-prompt"]);
    assert_eq!(
        reach(&world, &late.dir, "team"),
        json!({"sessions": 2, "outside": 2})
    );
    // All that there is, once it is said.
    one.siglum(&["sync", "--to", &gateway.url, "--all-repositories"])
        .ok();
    for mark in OUTSIDE {
        assert!(
            has(&received(&gateway), &format!("{mark}-prompt")),
            "{mark}"
        );
    }
}

#[test]
fn what_began_before_stays() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let gateway = Gateway::start(&world);
    let to = ["sync", "--to", &gateway.url, "--since", "2200-01-01"];
    let text = inside.siglum(&to).ok();
    assert!(text.contains("0 sessions in scope, 3 outside"), "{text}");
    assert!(!has(&received(&gateway), &format!("{INSIDE}-prompt")));
    inside
        .siglum(&["sync", "--to", &gateway.url, "--since", "7d"])
        .ok();
    is_private("since", &received(&gateway), &["-prompt", "-subject"]);
}

#[test]
fn outside_of_a_repository_somebody_must_say_what_may_leave() {
    let world = World::new();
    three(&world);
    let gateway = Gateway::start(&world);
    for args in [
        &["sync", "--to", &gateway.url][..],
        &["otel", "add", "traces", "http://127.0.0.1:1"],
        &["projection", "add", "copies", "--program", "true"],
    ] {
        let refused = world.siglum(&world.root, args);
        assert_eq!(refused.code, Some(2), "{args:?}: {refused:?}");
        assert!(refused.stderr.contains("--all-repositories"), "{refused:?}");
    }
    assert_eq!(world.count("SELECT count(*) FROM projections"), 0);
    assert!(gateway.requests().is_empty());
    let path = format!("{INSIDE}-repo");
    let to = ["sync", "--to", &gateway.url, "--repository", &path];
    world.siglum(&world.root, &to).ok();
    is_private("named", &received(&gateway), &["-prompt"]);
}

/// What a destination with this scope would get is shown, and nothing is written or sent.
#[test]
fn a_dry_run_shows_the_scope_with_its_counts_and_writes_nothing() {
    let world = World::new();
    let [inside, one, _] = three(&world);
    let sink = OtlpSink::start();
    let copies = world.root.join("copies");
    let header = world.root.join("header");
    std::fs::write(&header, "Bearer quokka\n").unwrap();
    let header = format!("authorization={}", header.display());
    let other = one.dir.to_str().unwrap();
    let otel = ["otel", "add", "traces", &sink.url, "--header-file", &header];
    let add = ["projection", "add", "copies", "--directory"];
    let add = [&add[..], &[copies.to_str().unwrap()]].concat();
    let dry = |args: &[&str]| world.json(&inside.dir, &[args, &["--dry-run"]].concat());
    for args in [&otel[..], &add] {
        let planned = dry(args);
        assert_eq!(planned["dry_run"], true, "{planned}");
        assert_eq!(planned["reach"], json!({"sessions": 1, "outside": 2}));
        let wider = dry(&[args, &["--all-repositories"]].concat());
        assert_eq!(wider["reach"], json!({"sessions": 3, "outside": 0}));
        let text = inside.siglum(&[args, &["--dry-run"]].concat());
        assert!(
            text.stderr.contains("1 session in scope, 2 outside"),
            "{text:?}"
        );
        assert!(text.stderr.contains("nothing was written"), "{text:?}");
    }
    inside.siglum(&["worker", "--once"]).ok();
    assert_eq!(world.count("SELECT count(*) FROM projections"), 0);
    assert_eq!(world.count("SELECT count(*) FROM deliveries"), 0);
    assert!(sink.requests().is_empty() && !copies.exists());
    let kept = super::all_files(&world.siglum_home());
    assert!(!has(&kept, "quokka"), "the header was kept");
    // And so it is where a scope is changed.
    inside.siglum(&add).ok();
    let before = world.json(&inside.dir, &["projection", "scope", "copies"]);
    let scope = ["projection", "scope", "copies"];
    for (change, sessions) in [
        (["--add", other], 2),
        (["--repository", other], 1),
        (["--since", "2200-01-01"], 0),
    ] {
        let planned = dry(&[&scope[..], &change].concat());
        let reach = json!({"sessions": sessions, "outside": 3 - sessions});
        assert_eq!(planned["reach"], reach, "{planned}");
        assert_ne!(planned["scope"], before["scope"], "{planned}");
    }
    let after = world.json(&inside.dir, &scope);
    assert_eq!(after, before);
    // A list of servers shows what may leave for each.
    inside.siglum(&otel).ok();
    let list = inside.siglum(&["otel", "list"]);
    assert!(
        list.stdout.contains("1 session in scope, 2 outside"),
        "{list:?}"
    );
}

#[test]
fn a_session_that_works_outside_too_stays_as_a_whole() {
    let world = World::new();
    let [inside, one, _] = three(&world);
    let gateway = Gateway::start(&world);
    inside.siglum(&["sync", "--to", &gateway.url]).ok();
    let mut agent = Agent::process(&inside, "both", &Agent::program());
    agent.begin("startup");
    agent.prompt("works-in-both-prompt");
    agent.write("here.txt", "works-in-both-text\n");
    let there = one.dir.join("there.txt");
    agent.write(there.to_str().unwrap(), "works-in-both-text\n");
    agent.sh("git add . && git commit -q -m works-in-both-subject");
    agent.stop();
    agent.end("exit");
    agent.quit();
    until("the worker has left", || world.processes().is_empty());
    inside.siglum(&["sync"]).ok();
    let all = received(&gateway);
    assert!(!has(&all, "works-in-both"));
    is_private("sync", &all, &["-prompt"]);
    let add = ["projection", "scope", "gateway-127-0-0-1", "--add"];
    let other = one.dir.to_str().unwrap();
    inside.siglum(&[&add[..], &[other]].concat()).ok();
    inside.siglum(&["sync"]).ok();
    let all = received(&gateway);
    for end in ["-prompt", "-subject"] {
        assert!(has(&all, &format!("works-in-both{end}")), "{end}");
    }
}

#[test]
fn a_sync_of_one_time_that_is_killed_leaves_nothing_to_the_worker() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let gateway = Gateway::start(&world);
    gateway.fates([crate::harness::Fate::KillBefore]);
    let mut command = world.command(World::program());
    let mut child = command
        .args(["sync", "--to", &gateway.url, "--once"])
        .current_dir(&inside.dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    gateway.kills(child.id());
    assert_eq!(child.wait().unwrap().code(), None);
    let before = gateway.requests().len();
    gateway.fates([]);
    inside.siglum(&["worker", "--once"]).ok();
    assert_eq!(gateway.requests().len(), before);
    let list = world.json(&inside.dir, &["projection", "list"]);
    assert_eq!(list["projections"], json!([]));
    // The next one takes away what it left.
    inside
        .siglum(&["sync", "--to", &gateway.url, "--once"])
        .ok();
    assert_eq!(world.count("SELECT count(*) FROM projections"), 0);
    is_private("once", &received(&gateway), &["-prompt"]);
}

#[test]
fn destinations_from_before_scopes_get_nothing_and_doctor_says_so() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let gateway = Gateway::start(&world);
    let old = format!(
        "INSERT INTO projections (name, kind, target, at) VALUES ('team', 'gateway', '{}', 0);
         INSERT INTO deliveries (projection, session, taken, due, since, retry_at)
             SELECT 'team', session, 0, max(number), 0, 0 FROM receipts GROUP BY session;",
        gateway.url
    );
    world.store().execute_batch(&old).unwrap();
    inside.siglum(&["worker", "--once"]).ok();
    let ran = inside.siglum(&["sync"]);
    assert!(
        ran.stderr.contains("siglum projection scope team"),
        "{ran:?}"
    );
    assert!(gateway.requests().is_empty());
    let doctor = inside.siglum(&["doctor"]);
    let all = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(all.contains("siglum projection scope team"), "{all}");
    let scope = ["projection", "scope", "team", "--repository", "."];
    inside.siglum(&scope).ok();
    inside.siglum(&["sync"]).ok();
    is_private("scoped", &received(&gateway), &["-prompt", "-subject"]);
}

#[test]
fn texts_stay_where_only_verdicts_may_leave() {
    let world = World::new();
    let [inside, ..] = three(&world);
    let texts = ["-prompt", "-output"];
    for (kinds, goes, stays) in [
        ("verdicts", &texts[..0], &texts[..]),
        ("prompts", &texts[..1], &texts[1..]),
        ("conversations", &texts[..], &texts[..0]),
    ] {
        let gateway = Gateway::start(&world);
        let to = ["sync", "--to", &gateway.url, "--once", "--kinds", kinds];
        let text = inside.siglum(&to).ok();
        assert!(text.contains("up to date"), "{text}");
        let all = received(&gateway);
        is_private(kinds, &all, &["-file.txt", "-subject"]);
        for end in goes {
            assert!(has(&all, &format!("{INSIDE}{end}")), "{kinds}: {end}");
        }
        for end in stays {
            assert!(!has(&all, &format!("{INSIDE}{end}")), "{kinds}: {end} left");
        }
        let mut verify = world.command(World::program());
        verify.env("SIGLUM_HOME", gateway.home());
        let verified = verify.arg("verify").output().unwrap();
        assert!(verified.status.success(), "{kinds}: {verified:?}");
        std::fs::remove_dir_all(gateway.home()).unwrap();
        let dir = world.root.join(format!("copies-{kinds}"));
        let (name, target) = (format!("copies-{kinds}"), dir.to_str().unwrap());
        let add = ["projection", "add", &name, "--directory", target];
        inside
            .siglum(&[&add[..], &["--kinds", kinds]].concat())
            .ok();
        until("the directory has everything", || {
            inside.siglum(&["worker", "--once"]).ok();
            has(&super::all_files(&dir), &format!("{INSIDE}-file.txt"))
        });
        let all = super::all_files(&dir);
        for end in stays {
            assert!(!has(&all, &format!("{INSIDE}{end}")), "{kinds}: {end} left");
        }
    }
}
