//! Clones of one repository read each other's commits and sessions, and share nothing else; forks share nothing at all.

use std::fs;

use serde_json::json;

use crate::costs::written;
use crate::harness::{Ran, Repo, World, kill, until};
use crate::mcp;
use crate::moved_repositories::{commit_as, is_known, listed, looked_at, repo_in, verdicts};

/// Another place in which a script makes something.
fn beside<'w>(repo: &Repo<'w>, name: &str, script: &str) -> Repo<'w> {
    repo.sh(script).ok();
    repo.world.at(&repo.world.root.join(name))
}

/// What `siglum init` would send of a repository, which it says where it has something to change.
fn sends(repo: &Repo<'_>) -> String {
    let _ = fs::remove_file(repo.dir.join(".git/hooks/post-commit"));
    let shown = repo.siglum(&["init", "--dry-run"]).ok();
    let line = shown
        .lines()
        .find(|line| line.trim_start().starts_with("sends"));
    line.unwrap_or_default().trim().to_owned()
}

/// A repository that is fetched from a bare one, with one commit of an agent, and a destination that gets its sessions.
fn published(world: &World) -> Repo<'_> {
    let repo = world.repo_made_by(
        "git init -q -b main . && git commit -q --allow-empty -m base && \
         git init -q --bare -b main ../r.git && git remote add origin file://$PWD/../r.git",
    );
    commit_as(&repo, "here");
    repo.sh("git push -q origin main").ok();
    repo.siglum(&["otel", "add", "o", "http://127.0.0.1:9/"])
        .ok();
    looked_at(world);
    repo
}

#[test]
fn clones_read_each_others_commits_and_sessions() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "here");
    looked_at(&world);
    // It is known by the path that it was cloned from, before anything is switched on in it.
    let clone = beside(&repo, "clone", "git clone -q . ../clone");
    assert_eq!(verdicts(&clone), ["certain", "unknown"]);
    assert_eq!(listed(&clone), ["here"]);
    assert_eq!(clone.siglum(&["check", "HEAD~..HEAD"]).code, Some(0));
    clone.siglum(&["init", "--yes"]).ok();
    commit_as(&clone, "there");
    repo.sh("git pull -q ../clone main").ok();
    assert_eq!(verdicts(&repo), ["certain", "certain", "unknown"]);
    for place in [&repo, &clone] {
        assert_eq!(listed(place), ["here", "there"]);
        assert_eq!(written(place), 200);
        let found = world.json(&place.dir, &["search", "commit"]);
        assert_eq!(found["looked_at"], 2, "{found}");
    }
    assert_eq!(world.count("SELECT count(*) FROM repositories"), 2);
}

#[test]
fn a_clone_has_a_scope_of_its_own_wherever_the_other_one_is() {
    let world = World::new();
    let repo = published(&world);
    let clone = beside(&repo, "clone", "git clone -q file://$PWD/../r.git ../clone");
    assert_eq!(sends(&clone), "sends      nothing");
    // One that is gone, or on a disk that is not there, has not become its clone.
    fs::remove_dir_all(&repo.dir).unwrap();
    let anew = beside(&clone, "anew", "git clone -q file://$PWD/../r.git ../anew");
    for place in [&clone, &anew] {
        assert_eq!(verdicts(place), ["certain", "unknown"]);
        assert_eq!(listed(place), ["here"]);
        place.siglum(&["init", "--yes"]).ok();
        assert_eq!(sends(place), "sends      nothing");
    }
    commit_as(&anew, "anew");
    assert_eq!(listed(&clone), ["anew", "here"]);
    let scope = world.json(&anew.dir, &["projection", "show", "o"]);
    let reach = &scope["projection"]["reach"];
    assert_eq!(reach["sessions"], 1, "{scope}");
}

#[test]
fn a_fork_is_another_repository() {
    let world = World::new();
    let repo = published(&world);
    let fork = beside(
        &repo,
        "fork",
        "git clone -q --bare ../r.git ../fork.git && git clone -q file://$PWD/../fork.git ../fork && \
         git remote set-url origin https://host/o/r.git && \
         git -C ../fork remote set-url origin https://host/me/r.git",
    );
    assert!(!is_known(&fork));
    let ran = fork.siglum(&["init", "--yes"]);
    assert!(!ran.stderr.contains("--same-as"), "{ran:#?}");
    assert!(listed(&fork).is_empty());
    commit_as(&fork, "forked");
    assert_eq!(listed(&repo), ["here"]);
    // What is one commit is one commit in both.
    fork.check("a fork", "HEAD~", "here certain");
    // A remote names it where somebody reads, and not where it is said what may leave: whoever wrote it may have chosen it.
    looked_at(&world);
    let by_remote = ["session", "list", "--repository", "https://host/me/r.git"];
    let found = world.json(&repo.dir, &by_remote);
    let mut sessions = found["items"].as_array().unwrap().iter();
    assert!(
        sessions.any(|s| s["conversation_id"] == "forked"),
        "{found}"
    );
    let scope = ["projection", "scope", "o", "--repository", "host/me/r"];
    let ran = repo.siglum(&scope);
    assert_eq!(ran.code, Some(3), "{ran:#?}");
}

#[test]
fn an_ambiguous_copy_leads_to_exactly_one_question() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "here");
    looked_at(&world);
    let script = |n: &str| format!("cp -r . ../{n} && rm -r ../{n}/.git/siglum ../{n}/.git/hooks");
    let copies = ["a", "b", "c", "d"].map(|name| beside(&repo, name, &script(name)));
    let [confirmed, refused, explicit, silent] = &copies;
    assert!(!is_known(confirmed));
    let at_terminal = |copy: &Repo<'_>, command: &str, answers: &str| {
        let program = World::program();
        let line = format!(
            "printf '{answers}' | COLUMNS=80 script -qec '{} {command}' /dev/null",
            program.display()
        );
        copy.sh(&line).ok()
    };
    let question = "Is it a clone of that one, and not a fork?";
    let shown = at_terminal(confirmed, "init", "y\\ny\\n");
    assert_eq!(shown.matches(question).count(), 1, "{shown}");
    assert_eq!(listed(confirmed), ["here"]);
    let shown = at_terminal(refused, "init", "y\\nn\\n");
    assert!(
        shown.contains("Which of them is it a clone of") || shown.contains(question),
        "{shown}"
    );
    assert!(listed(refused).is_empty());
    // Nobody is asked twice.
    let shown = at_terminal(refused, "init", "y\\n");
    assert!(!shown.contains("clone of"), "{shown}");
    // With --yes nobody is asked at all, at a terminal or without one.
    let shown = at_terminal(explicit, "init --yes", "y\\ny\\n");
    assert!(
        !shown.contains("[y/N]") && shown.contains("siglum init --same-as"),
        "{shown}"
    );
    let ran = silent.siglum(&["init", "--yes"]);
    assert!(ran.stderr.contains("siglum init --same-as"), "{ran:#?}");
    assert!(listed(explicit).is_empty());
    let path = repo.dir.to_str().unwrap();
    explicit.siglum(&["init", "--yes", "--same-as", path]).ok();
    assert_eq!(listed(explicit), ["here"]);
    explicit.siglum(&["init", "--yes", "--same-as", "."]).ok();
    assert!(listed(explicit).is_empty());
    let ran = explicit.siglum(&["init", "--yes", "--same-as", "host/o/r"]);
    assert_eq!(ran.code, Some(3), "{ran:#?}");
}

#[test]
fn a_copy_with_its_mark_is_a_clone_with_a_scope_of_its_own() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "here");
    repo.siglum(&["otel", "add", "o", "http://127.0.0.1:9/"])
        .ok();
    looked_at(&world);
    let (queried, worked) = (
        beside(&repo, "asked", "cp -a . ../asked"),
        beside(&repo, "worked", "cp -a . ../worked"),
    );
    assert_eq!(listed(&queried), ["here"]);
    // A hook may be the first that sees a copy.
    commit_as(&worked, "copied");
    until("the worker has marked the copy", || {
        let mark = |repo: &Repo<'_>| fs::read_to_string(repo.dir.join(".git/siglum/repository"));
        mark(&worked).unwrap() != mark(&repo).unwrap()
    });
    until("the copy is known as one", || {
        listed(&repo) == ["copied", "here"]
    });
    for copy in [&queried, &worked] {
        assert_eq!(sends(copy), "sends      nothing");
    }
    // Each goes its own way.
    fs::rename(&worked.dir, world.root.join("moved")).unwrap();
    let moved = world.at(&world.root.join("moved"));
    assert_eq!(listed(&moved), ["copied", "here"]);
    assert_eq!(world.count("SELECT count(*) FROM repositories"), 3);
}

#[test]
fn a_checkout_does_not_choose_what_it_is_a_clone_of() {
    let world = World::new();
    let private = repo_in(&world, "private");
    commit_as(&private, "secret");
    looked_at(&world);
    // Whoever knows its first commit has a link in the work tree lead there, by the form of an address.
    let hostile = beside(
        &private,
        "hostile",
        "git clone -q . ../hostile && cd ../hostile && git reset -q --hard HEAD~ && \
         mkdir -p 'https:/host' 'host:' && ln -s ../../../private 'https:/host/r' && ln -s ../../private 'host:/r' && \
         ln -s ../private near && git add -A && git commit -q -m links",
    );
    for address in [
        "https://host/r",
        "host:r",
        "near",
        "../private",
        "file://near",
    ] {
        hostile.git(&["remote", "set-url", "origin", address]);
        assert!(!is_known(&hostile), "{address}");
    }
    hostile.git(&["remote", "set-url", "origin", "https://host/r"]);
    hostile.siglum(&["init", "--yes"]).ok();
    assert!(listed(&hostile).is_empty());
}

#[test]
fn an_agent_learns_nothing_of_another_clone() {
    let world = World::new();
    let repo = published(&world);
    let clone = beside(&repo, "clone", "git clone -q file://$PWD/../r.git ../clone");
    clone.siglum(&["init", "--yes"]).ok();
    assert_eq!(listed(&clone), ["here"]);
    let calls = [
        ("search", json!({ "words": "here" })),
        ("cost", json!({})),
        ("show", json!({ "session": "here" })),
    ];
    let answers = mcp::ask(&clone, &calls, |command| clone.sh(command).ok());
    assert_eq!(mcp::data(&answers[0])["looked_at"], 0, "{answers:?}");
    assert_eq!(mcp::data(&answers[1])["rows"], json!([]), "{answers:?}");
    let refused = mcp::refusal(&answers[2]);
    assert!(refused.contains("in this repository"), "{refused}");
}

#[test]
fn a_clone_is_recognised_whatever_became_of_others() {
    let world = World::new();
    let repo = published(&world);
    let broken = beside(
        &repo,
        "broken",
        "git clone -q file://$PWD/../r.git ../broken",
    );
    broken.siglum(&["init", "--yes"]).ok();
    commit_as(&broken, "broken");
    looked_at(&world);
    // Git reads neither of these any more.
    fs::write(broken.dir.join(".git/config"), "[nonsense\n").unwrap();
    fs::write(repo.dir.join(".git/HEAD"), "nonsense\n").unwrap();
    let clone = beside(
        &repo,
        "clone",
        "git -C / clone -q file://$PWD/../r.git $PWD/../clone",
    );
    assert_eq!(listed(&clone), ["broken", "here"]);
    assert_eq!(world.count("SELECT count(*) FROM parked"), 0);
}

#[test]
fn shallow_clones_must_be_named_and_several_roots_work_as_one() {
    let world = World::new();
    let repo = published(&world);
    repo.sh(
        "git checkout -q --orphan second && git commit -q --allow-empty -m second && \
         git checkout -q main && git merge -q --allow-unrelated-histories -m both second && git push -q origin main",
    )
    .ok();
    let shallow = beside(
        &repo,
        "shallow",
        "git clone -q --depth 1 file://$PWD/../r.git ../shallow",
    );
    assert!(!is_known(&shallow));
    let ran = shallow.siglum(&["init", "--yes"]);
    assert!(ran.stderr.contains("siglum init --same-as"), "{ran:#?}");
    assert!(listed(&shallow).is_empty());
    let path = repo.dir.to_str().unwrap();
    shallow.siglum(&["init", "--yes", "--same-as", path]).ok();
    assert_eq!(listed(&shallow), ["here"]);
    let whole = beside(&repo, "whole", "git clone -q file://$PWD/../r.git ../whole");
    assert_eq!(listed(&whole), ["here"]);
    // A shallow clone in the place of the whole one is taken for it, and another one is not.
    fs::remove_dir_all(&whole.dir).unwrap();
    repo.sh("git clone -q --depth 1 file://$PWD/../r.git ../whole")
        .ok();
    assert_eq!(listed(&whole), ["here"]);
    whole.git(&["remote", "set-url", "origin", "https://host/me/r"]);
    assert!(!is_known(&whole));
    // Nothing can be said in a bare one.
    let bare = world.at(&world.root.join("r.git"));
    let ran = bare.siglum(&["log"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
}

#[test]
fn a_clone_that_is_just_being_made_is_taken_for_the_one_in_its_place() {
    // What lies in the place, and what comes there right before git answers which commits are there, or right after it.
    for (lies, comes, is_before) in [
        ("begun", "made", true),
        ("whole", "begun", false),
        ("whole", "emptied", true),
    ] {
        let world = World::new();
        let repo = published(&world);
        let whole = beside(&repo, "whole", "git clone -q file://$PWD/../r.git ../whole");
        assert_eq!(listed(&whole), ["here"]);
        repo.sh(&format!(
            "cd .. && git clone -q --depth 1 file://$PWD/r.git made && git init -q begun && \
             cp -r whole emptied && rm -r emptied/.git/objects/* && \
             {{ [ {lies} = whole ] || {{ rm -r whole && mv {lies} whole; }}; }}"
        ))
        .ok();
        let root = world.root.display();
        let git = repo.sh("command -v git").ok();
        let swap = format!(
            "case \"$*\" in *-C\\ *whole*cat-file*)\n  [ ! -e {root}/{comes} ] || \
             {{ rm -r {root}/whole && mv {root}/{comes} {root}/whole; }};;\nesac"
        );
        let script = match is_before {
            true => format!("#!/bin/sh\n{swap}\nexec {git} \"$@\"\n"),
            false => format!("#!/bin/sh\n{git} \"$@\" || exit\n{swap}\n"),
        };
        fs::write(world.root.join("slow-git"), script).unwrap();
        repo.sh("chmod +x ../slow-git").ok();
        // One that is at work already has git itself.
        world.processes().into_iter().for_each(kill);
        until("a worker has looked at it", || {
            let mut worker = world.command(World::program());
            worker.env("SIGLUM_GIT", world.root.join("slow-git"));
            worker.args(["worker", "--once"]).current_dir(&repo.dir);
            Ran::from(worker.output().unwrap()).ok();
            !world.root.join(comes).exists()
        });
        repo.sh("cd .. && { [ ! -e made ] || { rm -r whole && mv made whole; }; }")
            .ok();
        assert_eq!(listed(&whole), ["here"], "{lies}, {comes}");
    }
}
