//! `siglum check`: which commits of a range are not accounted for.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::{Agent, Ran, Repo, Terminal, World};

/// The data of the JSON answer, whatever the exit code is, and that code.
#[track_caller]
fn json(repo: &Repo<'_>, args: &[&str]) -> (Option<i32>, Value) {
    let ran = repo.siglum(&[&["check", "--json"], args].concat());
    let mut value: Value = serde_json::from_str(&ran.stdout).expect(&ran.stdout);
    assert_eq!(value["schema"], "siglum.check/1");
    (ran.code, value["data"].take())
}

/// The commits that fail, oldest first, each as `<subject>: <reason>,<reason>`.
#[track_caller]
fn failing(repo: &Repo<'_>, args: &[&str]) -> Vec<String> {
    let (code, answer) = json(repo, args);
    let failed = answer["failed"].as_array().unwrap();
    let reason = |f: &Value| f["reason"].as_str().unwrap().to_owned();
    let line = |commit: &Value| {
        let findings = commit["findings"].as_array().unwrap();
        let reasons: Vec<String> = findings.iter().map(reason).collect();
        format!(
            "{}: {}",
            commit["subject"].as_str().unwrap(),
            reasons.join(",")
        )
    };
    assert_eq!(code == Some(1), !failed.is_empty(), "{code:?} {answer}");
    assert_eq!(answer["passed"], failed.is_empty(), "{answer}");
    assert_eq!(answer["counts"]["failed"], failed.len(), "{answer}");
    failed.iter().rev().map(line).collect()
}

/// Checks that one reason fails, is named in the text, and passes when it is allowed.
#[track_caller]
fn fails_for(repo: &Repo<'_>, range: &str, subject: &str, reason: &str) -> Ran {
    assert_eq!(failing(repo, &[range]), [format!("{subject}: {reason}")]);
    let allowed = repo.siglum(&["check", range, "--allow", reason]);
    assert_eq!(allowed.code, Some(0), "{allowed:?}");
    let ran = repo.siglum(&["check", range]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let line = ran.stdout.lines().nth(1).unwrap();
    let id = repo.id(range.rsplit("..").next().unwrap());
    assert!(line.starts_with(&id[..10]), "{ran:?}");
    assert!(line.contains(reason), "{ran:?}");
    assert!(line.contains(&format!("--allow {reason}")), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 2, "{ran:?}");
    assert!(ran.stderr.contains(&format!("1 {reason}")), "{ran:?}");
    ran
}

#[test]
fn commits_of_sessions_and_of_people_pass() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "good");
    agent.write("file", "one\n");
    agent
        .sh("git add -A && git commit -q -m 'by the agent'")
        .ok();
    agent
        .sh("git commit -q --amend --allow-empty -m amended")
        .ok();
    let mut terminal = Terminal::open(&repo);
    terminal.run("git commit -q --allow-empty -m 'by hand'");
    assert_eq!(failing(&repo, &["HEAD~2..HEAD"]), [""; 0]);
    let (code, answer) = json(&repo, &["HEAD~2..HEAD"]);
    assert_eq!(code, Some(0));
    assert_eq!(answer["against"], "ledger");
    let count = |word: &str| answer["counts"][word].as_u64().unwrap();
    assert_eq!(
        (count("all"), count("sessions"), count("people")),
        (2, 1, 1)
    );
    let ran = repo.siglum(&["check", "HEAD~2..HEAD"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.contains("1 by sessions, 1 by people"), "{ran:?}");
}

#[test]
fn a_rebased_commit_keeps_its_checkpoint() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "rebaser");
    agent.sh("git checkout -q -b side").ok();
    agent.write("file", "one\n");
    agent.sh("git add -A && git commit -q -m work").ok();
    agent
        .sh("git checkout -q main && git commit -q --allow-empty -m up")
        .ok();
    agent.sh("git checkout -q side && git rebase -q main").ok();
    assert_eq!(failing(&repo, &["HEAD~2..HEAD"]), [""; 0]);
}

#[test]
fn what_was_there_before_siglum_passes_unless_it_is_denied() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["uninstall", "--yes"]).ok();
    repo.sh(
        "git checkout -q -b side && git commit -q --allow-empty -m aside && git checkout -q main",
    )
    .ok();
    repo.siglum(&["init", "--yes"]).ok();
    repo.sh("git merge -q --no-ff -m 'By nobody' side").ok();
    let ran = repo.siglum(&["check", "HEAD", "--allow", "merge"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("2 from before Siglum"), "{ran:?}");
    let (_, answer) = json(&repo, &["HEAD"]);
    assert_eq!(answer["counts"]["before"], 2, "{answer}");
    assert_eq!(failing(&repo, &["HEAD"]), ["By nobody: merge"]);
    let strict = failing(&repo, &["side", "--deny", "before"]);
    assert_eq!(strict, ["base: before", "aside: before"]);
    // What is made later with a date from before is not from before.
    repo.sh("GIT_COMMITTER_DATE=2001-01-01T00:00:00Z git -c core.hooksPath=/dev/null commit -q --allow-empty -m later")
        .ok();
    fails_for(&repo, "HEAD~..HEAD", "later", "unrecorded");
}

#[test]
fn what_comes_of_it_does_not_depend_on_who_reads() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("for n in $(seq 2000); do git commit-tree -p HEAD -m $n HEAD^{tree} >id && git reset -q --hard $(cat id); done")
        .ok();
    let program = World::program();
    let script = format!(
        "({} check HEAD; echo $? >code) | head -n 1 >/dev/null; cat code",
        program.display()
    );
    assert_eq!(repo.sh(&script).stdout.trim(), "1");
}

#[test]
fn what_nothing_is_recorded_of_fails_until_somebody_adopts_it() {
    let world = World::new();
    let repo = world.repo();
    let agent = Agent::start(&repo, "adopter");
    repo.sh("git -c core.hooksPath=/dev/null commit -q --allow-empty -m past")
        .ok();
    fails_for(&repo, "HEAD~..HEAD", "past", "unrecorded");
    let sessions = world.json(&repo.dir, &["session", "list"]);
    let session = sessions["items"][0]["id"].as_str().unwrap();
    repo.siglum(&["adopt", "HEAD", session]).ok();
    assert_eq!(failing(&repo, &["HEAD"]), [""; 0]);
    assert_eq!(json(&repo, &["HEAD"]).1["counts"]["claimed"], 1);
    drop(agent);
}

#[test]
fn a_script_without_a_terminal_is_unknown() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("git commit -q --allow-empty -m script").ok();
    fails_for(&repo, "HEAD~..HEAD", "script", "unknown");
}

#[test]
fn a_merge_of_nobody_is_a_reason_of_its_own() {
    let world = World::new();
    let repo = world.repo();
    // As a forge makes it: no hook of this repository runs.
    repo.sh("side=$(git commit-tree -p HEAD -m side HEAD^{tree}) && \
         git reset -q --hard $(git commit-tree -p HEAD -p $side -m 'Merge side' HEAD^{tree})")
        .ok();
    fails_for(&repo, "HEAD^2..HEAD", "Merge side", "merge");
    let both = failing(&repo, &["HEAD", "^main~1"]);
    assert_eq!(both, ["side: unrecorded", "Merge side: merge"]);
}

#[test]
fn a_commit_of_a_session_without_a_trailer_says_whose_it_is() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["config", "set", "trailer", "false"]).ok();
    let mut agent = Agent::start(&repo, "silent");
    agent.sh("git commit -q --allow-empty -m silent").ok();
    let ran = fails_for(&repo, "HEAD~..HEAD", "silent", "no-trailer");
    assert!(ran.stdout.contains("claude-code"), "{ran:?}");
    assert!(ran.stderr.contains("trailer = false"), "{ran:?}");
}

#[test]
fn a_copied_trailer_says_which_commit_it_is_of() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "original");
    agent.write("file", "one\n");
    agent.sh("git add -A && git commit -q -m original").ok();
    let original = repo.id("HEAD");
    // As a forge rebases it: another commit with the same message.
    repo.sh("git reset -q --hard $(git log -1 --format=%B | git commit-tree -p HEAD HEAD^{tree})")
        .ok();
    let ran = fails_for(&repo, "HEAD~..HEAD", "original", "copied");
    assert!(ran.stdout.contains(&original[..10]), "{ran:?}");
    let (_, answer) = json(&repo, &["HEAD~..HEAD"]);
    assert_eq!(answer["failed"][0]["findings"][0]["of"], original.as_str());
}

#[test]
fn a_cherry_pick_by_a_session_is_its_own() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "picker");
    agent.sh("git checkout -q -b side").ok();
    agent.write("file", "one\n");
    agent.sh("git add -A && git commit -q -m picked").ok();
    agent
        .sh("git checkout -q main && git cherry-pick side")
        .ok();
    assert_eq!(failing(&repo, &["HEAD~..HEAD"]), [""; 0]);
    agent
        .sh("git checkout -q -b squash HEAD~ && git merge -q --squash side")
        .ok();
    agent.sh("git commit -q -m 'all of it'").ok();
    assert_eq!(failing(&repo, &["HEAD~..HEAD"]), [""; 0]);
}

#[test]
fn a_trailer_that_points_nowhere_fails_whoever_made_the_commit() {
    let world = World::new();
    let repo = world.repo();
    let mut terminal = Terminal::open(&repo);
    let nowhere = "Siglum-Checkpoint: chk_019200000000700080000000deadbeef";
    terminal.run(&format!(
        "git commit -q --allow-empty -m title -m '{nowhere}'"
    ));
    let ran = fails_for(&repo, "HEAD~..HEAD", "title", "nowhere");
    assert!(ran.stdout.contains("deadbeef"), "{ran:?}");
    terminal.run("git commit -q --allow-empty -m odd -m 'Siglum-Checkpoint: ../../x'");
    let ran = fails_for(&repo, "HEAD~..HEAD", "odd", "nowhere");
    assert!(ran.stdout.contains("../../x"), "{ran:?}");
    terminal.run("git commit -q --allow-empty -m prose -m 'Siglum-Checkpoint: is the key\nof it.'");
    assert_eq!(failing(&repo, &["HEAD~..HEAD"]), [""; 0]);
}

#[test]
fn an_ambiguous_commit_passes_unless_it_is_denied() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    let _two = Agent::start(&repo, "two");
    one.bare_sh("CLAUDE_CODE_SESSION_ID=two git commit -q --allow-empty -m either")
        .ok();
    assert_eq!(failing(&repo, &["HEAD~..HEAD"]), [""; 0]);
    assert_eq!(json(&repo, &["HEAD~..HEAD"]).1["counts"]["ambiguous"], 1);
    let deny = ["HEAD~..HEAD", "--deny", "ambiguous"];
    assert_eq!(failing(&repo, &deny), ["either: ambiguous"]);
    let ran = repo.siglum(&[&["check"], &deny[..]].concat());
    assert!(ran.stdout.contains("one of 2 sessions"), "{ran:?}");
}

#[test]
fn without_a_range_it_is_what_the_upstream_lacks() {
    let world = World::new();
    let repo = world.repo();
    let ran = repo.siglum(&["check"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("main..HEAD"), "{ran:?}");
    repo.git(&["branch", "up"]);
    repo.git(&["branch", "-u", "up"]);
    let ran = repo.siglum(&["check"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.contains("No commits in up..HEAD"), "{ran:?}");
    repo.sh("git commit -q --allow-empty -m more").ok();
    assert_eq!(failing(&repo, &[]), ["more: unknown"]);
}

#[test]
fn a_wrong_range_differs_from_a_range_that_fails() {
    let world = World::new();
    let repo = world.repo();
    for range in ["no-such..HEAD", "no-such", ""] {
        let ran = repo.siglum(&["check", range]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""), "{ran:?}");
        assert!(
            ran.stderr.contains("is not a revision or a range"),
            "{ran:?}"
        );
    }
    for wrong in [
        &["check", "HEAD", "--allow", "no-such-reason"][..],
        &[
            "check",
            "HEAD",
            "--allow",
            "ambiguous",
            "--deny",
            "ambiguous",
        ],
        &["check", "--output=x"],
    ] {
        assert_eq!(repo.siglum(wrong).code, Some(2), "{wrong:?}");
    }
    let outside = world.siglum(&world.root, &["check", "HEAD"]);
    assert_eq!(outside.code, Some(1), "{outside:?}");
    assert!(
        outside.stderr.contains("not inside a git repository"),
        "{outside:?}"
    );
}

/// A copy of a repository as a runner has it: with no ledger.
fn runner<'w>(world: &World, runner: &'w World, clone: &str) -> Repo<'w> {
    let source = world.root.join("repo");
    let command = format!("git clone -q {clone} file://{} clone", source.display());
    runner.sh(&runner.root, &command).ok();
    runner.at(&runner.root.join("clone"))
}

#[test]
fn where_there_is_no_ledger_only_trailers_are_checked_and_it_says_so() {
    let (world, elsewhere) = (World::new(), World::new());
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "remote");
    agent.sh("git commit -q --allow-empty -m one").ok();
    let clone = runner(&world, &elsewhere, "");
    let ran = clone.siglum(&["check", "HEAD~..HEAD"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{ran:?}");
    assert!(ran.stderr.contains("only trailers were checked"), "{ran:?}");
    assert!(ran.stderr.contains("--trailers"), "{ran:?}");
    let (_, answer) = json(&clone, &["HEAD~..HEAD"]);
    assert_eq!(
        (&answer["against"], &answer["complete"]),
        (&"trailers".into(), &false.into())
    );
    let ran = clone.siglum(&["check", "HEAD~..HEAD", "--trailers"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(!ran.stderr.contains("warning"), "{ran:?}");
    assert_eq!(failing(&clone, &["HEAD"]), ["base: no-trailer"]);
    let allowed = ["check", "HEAD", "--trailers", "--allow", "no-trailer"];
    let ran = clone.siglum(&allowed);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("allowed: 1 no-trailer"), "{ran:?}");
    assert!(!elsewhere.siglum_home().exists(), "asking makes no ledger");
    // A ledger that knows nothing of these commits is none.
    let mine = elsewhere.root.join("mine");
    fs::create_dir(&mine).unwrap();
    let mine = elsewhere.at(&mine);
    mine.git(&["init", "-q"]);
    mine.siglum(&["init", "--yes"]).ok();
    assert_eq!(clone.siglum(&["check", "HEAD~..HEAD"]).code, Some(4));
}

#[test]
fn a_clone_on_the_same_machine_finds_the_records_by_the_trailers() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "here");
    agent.sh("git commit -q --allow-empty -m one").ok();
    let clone = runner(&world, &world, "");
    assert_eq!(failing(&clone, &["HEAD~..HEAD"]), [""; 0]);
    assert_eq!(json(&clone, &["HEAD~..HEAD"]).1["against"], "ledger");
    assert_eq!(failing(&clone, &["HEAD"]), ["base: unrecorded"]);
}

#[test]
fn a_shallow_clone_says_what_it_cuts() {
    let (world, elsewhere) = (World::new(), World::new());
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "shallow");
    for subject in ["one", "two", "three"] {
        agent
            .sh(&format!("git commit -q --allow-empty -m {subject}"))
            .ok();
    }
    let clone = runner(&world, &elsewhere, "--depth 2");
    let whole = clone.siglum(&["check", "--trailers", "HEAD~..HEAD"]);
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let cut = clone.siglum(&["check", "--trailers", "HEAD"]);
    assert_eq!(cut.code, Some(4), "{cut:?}");
    assert!(cut.stderr.contains("shallow"), "{cut:?}");
    let gone = clone.siglum(&["check", "--trailers", "HEAD~2..HEAD"]);
    assert_eq!(gone.code, Some(3), "{gone:?}");
    assert!(gone.stderr.contains("--unshallow"), "{gone:?}");
}

#[test]
fn a_thousand_commits_take_no_process_each() {
    let world = World::new();
    let repo = world.repo();
    let mut stream = String::from("feature done\n");
    for number in 0..1000 {
        stream.push_str(&format!(
            "commit refs/heads/many\ncommitter A <a@example.com> {} +0000\ndata <<END\ncommit {number}\n\n\
             Siglum-Checkpoint: chk_0192000000007000800000000000{number:04x}\nEND\n",
            1_700_000_000 + number
        ));
    }
    stream.push_str("done\n");
    fs::write(world.root.join("stream"), stream).unwrap();
    repo.sh("git fast-import --quiet <../stream").ok();
    // A git that counts how often it is started.
    let git = repo.sh("command -v git").ok();
    let counting = world.root.join("counting-git");
    let script = format!(
        "#!/bin/sh\necho >>{}/starts\nexec {git} \"$@\"\n",
        world.root.display()
    );
    fs::write(&counting, script).unwrap();
    repo.sh("chmod +x ../counting-git").ok();
    let start = Instant::now();
    let mut command = world.command(World::program());
    command.env("SIGLUM_GIT", &counting).current_dir(&repo.dir);
    let ran = Ran::from(command.args(["check", "many", "--json"]).output().unwrap());
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["data"]["counts"]["all"], 1000);
    assert_eq!(answer["data"]["failed"].as_array().unwrap().len(), 1000);
    let starts = fs::read_to_string(world.root.join("starts")).unwrap();
    assert!(starts.lines().count() <= 5, "{}", starts.lines().count());
}
