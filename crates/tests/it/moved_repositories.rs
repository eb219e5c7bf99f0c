//! A repository that lies elsewhere than before is the same one; another one that lies in its place is not.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::costs::{spend, written};
use crate::harness::{Agent, Repo, World, until};

/// The conversations that `siglum session list` shows in a repository, in order.
pub(crate) fn listed(repo: &Repo<'_>) -> Vec<String> {
    let list = repo.world.json(&repo.dir, &["session", "list"]);
    let sessions = list["items"].as_array().unwrap().iter();
    let mut names: Vec<String> = sessions
        .map(|s| s["conversation_id"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

/// The verdicts that `siglum log` shows, newest commit first.
pub(crate) fn verdicts(repo: &Repo<'_>) -> Vec<String> {
    let log = repo.world.json(&repo.dir, &["log"]);
    let commits = log["items"].as_array().unwrap().iter();
    let verdict = |c: &Value| c["committer"]["verdict"].as_str().unwrap().to_owned();
    commits.map(verdict).collect()
}

/// Whether the ledger knows anything of the repository in a directory.
pub(crate) fn is_known(repo: &Repo<'_>) -> bool {
    repo.siglum(&["session", "list"]).code == Some(0)
}

/// An agent that makes one commit in a repository and uses 100 tokens.
pub(crate) fn commit_as(repo: &Repo<'_>, native: &str) {
    let mut agent = Agent::start(repo, native);
    agent.write(native, "one\ntwo\n");
    agent
        .sh(&format!("git add -A && git commit -q -m {native}"))
        .ok();
    spend(repo, &mut agent);
    agent.quit();
}

/// Waits until a worker has looked at all repositories that are there.
pub(crate) fn looked_at(world: &World) {
    until("the worker has looked at all repositories", || {
        world.count("SELECT count(*) FROM repositories WHERE roots = ''") == 0
    });
}

fn repositories(world: &World) -> i64 {
    world.count("SELECT count(*) FROM repositories")
}

/// A repository with one commit of its own, with Siglum switched on.
pub(crate) fn repo_in<'w>(world: &'w World, name: &str) -> Repo<'w> {
    let dir = world.root.join(name);
    fs::create_dir_all(&dir).unwrap();
    let script = format!("git init -q -b main . && git commit -q --allow-empty -m 'begin {name}'");
    world.sh(&dir, &script).ok();
    let repo = world.at(&dir);
    repo.siglum(&["init", "--yes"]).ok();
    repo
}

fn moved<'w>(repo: &Repo<'w>, to: &str) -> Repo<'w> {
    let to = repo.world.root.join(to);
    fs::rename(&repo.dir, &to).unwrap();
    repo.world.at(&to)
}

/// How often the scope of a destination has a repository that `siglum status` names in a directory.
fn is_in_scope(repo: &Repo<'_>, destination: &str) -> bool {
    let shown = repo.siglum(&["init", "--dry-run"]);
    shown
        .stdout
        .contains(&format!("the data in the scope of {destination}"))
}

#[test]
fn a_repository_that_was_moved_keeps_its_answers_and_its_scope() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "before");
    repo.siglum(&["otel", "add", "o", "http://127.0.0.1:9/"])
        .ok();
    let repo = moved(&repo, "renamed");
    let status = repo.world.json(&repo.dir, &["status"]);
    assert_eq!(status["last"]["conversation_id"], "before", "{status}");
    assert_eq!(verdicts(&repo), ["certain", "unknown"]);
    assert_eq!(listed(&repo), ["before"]);
    assert_eq!(written(&repo), 100);
    repo.check("a moved repository", "HEAD", "before certain");
    fs::remove_file(repo.dir.join(".git/hooks/post-commit")).unwrap();
    assert!(is_in_scope(&repo, "o"));
    repo.siglum(&["init", "--yes"]).ok();
    commit_as(&repo, "after");
    assert_eq!(verdicts(&repo), ["certain", "certain", "unknown"]);
    assert_eq!(listed(&repo), ["after", "before"]);
    assert_eq!(written(&repo), 200);
    assert_eq!(repositories(&world), 1);
    let worktree =
        "SELECT count(*) FROM worktrees WHERE path LIKE '%/renamed' AND swept_head IS NOT NULL";
    assert_eq!(world.count(worktree), 1);
    // And back again.
    let repo = moved(&repo, "repo");
    assert_eq!(listed(&repo), ["after", "before"]);
    assert_eq!(repositories(&world), 1);
    assert_eq!(world.count("SELECT count(*) FROM worktrees"), 1);
    repo.siglum(&["verify"]).ok();
}

#[test]
fn hooks_that_are_the_first_to_see_a_moved_repository_split_nothing() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "before");
    let repo = moved(&repo, "renamed");
    commit_as(&repo, "after");
    assert_eq!(repositories(&world), 1);
    assert_eq!(listed(&repo), ["after", "before"]);
    assert_eq!(verdicts(&repo), ["certain", "certain", "unknown"]);
}

#[test]
fn linked_worktrees_may_be_the_first_that_speak_after_a_move() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("git worktree add -q -b side ../linked && git worktree add -q -b in inner")
        .ok();
    let linked = world.at(&world.root.join("linked"));
    let inner = repo.beside("inner");
    for (place, native) in [(&repo, "main"), (&linked, "side"), (&inner, "in")] {
        commit_as(place, native);
    }
    let repo = moved(&repo, "renamed");
    repo.sh("git worktree repair ../linked inner").ok();
    for place in [&linked, &repo.beside("inner"), &repo] {
        assert_eq!(listed(place), ["in", "main", "side"]);
        assert_eq!(verdicts(place), ["certain", "unknown"]);
    }
    assert_eq!(repositories(&world), 1);
    assert_eq!(world.count("SELECT count(*) FROM worktrees"), 3);
    commit_as(&linked, "later");
    assert_eq!(listed(&repo), ["in", "later", "main", "side"]);
    repo.siglum(&["verify"]).ok();
}

#[test]
fn repositories_that_are_moved_at_once_stay_distinct() {
    let world = World::new();
    let one = world.repo_made_by("git init -q -b main . && git commit -q --allow-empty -m base");
    // A copy without a remote, of which nothing but its mark is its own.
    one.sh("mkdir ../src && cp -a . ../src/two && rm -r ../src/two/.git/siglum && mv ../repo ../src/one")
        .ok();
    let one = world.at(&world.root.join("src/one"));
    let two = world.at(&world.root.join("src/two"));
    two.siglum(&["init", "--yes"]).ok();
    commit_as(&one, "first");
    commit_as(&two, "second");
    fs::rename(world.root.join("src"), world.root.join("code")).unwrap();
    let one = world.at(&world.root.join("code/one"));
    let two = world.at(&world.root.join("code/two"));
    assert_eq!(
        (listed(&two), listed(&one)),
        (vec!["second".to_owned()], vec!["first".to_owned()])
    );
    // In each other's place they are themselves, whoever looks first.
    one.sh("cd .. && mv one three && mv two one && mv three two")
        .ok();
    commit_as(&one, "third");
    assert_eq!(listed(&one), ["second", "third"]);
    assert_eq!(listed(&two), ["first"]);
    assert_eq!(repositories(&world), 2);
    two.siglum(&["verify"]).ok();
}

#[test]
fn another_repository_in_the_place_of_one_is_not_taken_for_it() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "before");
    repo.siglum(&["otel", "add", "o", "http://127.0.0.1:9/"])
        .ok();
    looked_at(&world);
    fs::remove_dir_all(&repo.dir).unwrap();
    fs::create_dir(&repo.dir).unwrap();
    repo.sh("git init -q -b main .").ok();
    // No commit yet, and another one than before.
    assert!(!is_known(&repo));
    repo.sh("git commit -q --allow-empty -m other").ok();
    assert!(!is_in_scope(&repo, "o"));
    repo.siglum(&["init", "--yes"]).ok();
    assert!(listed(&repo).is_empty());
    commit_as(&repo, "after");
    assert_eq!(listed(&repo), ["after"]);
    let all = world.json(&repo.dir, &["session", "list", "--all"]);
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    assert_eq!(repositories(&world), 2);
    repo.siglum(&["verify"]).ok();
}

#[test]
fn a_repository_that_gave_its_place_to_another_one_is_found_where_it_went() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "before");
    looked_at(&world);
    let old = moved(&repo, "old");
    repo.world
        .sh(
            &world.root,
            "git init -q -b main repo && git -C repo commit -q --allow-empty -m other",
        )
        .ok();
    // The new one is asked about first, and then the old one.
    repo.siglum(&["init", "--yes"]).ok();
    assert!(listed(&repo).is_empty());
    assert_eq!(listed(&old), ["before"]);
    assert_eq!(verdicts(&old), ["certain", "unknown"]);
    assert!(listed(&repo).is_empty());
}

#[test]
fn what_waits_is_delivered_to_the_repository_that_was_moved() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "before");
    until("no worker runs", || world.processes().is_empty());
    let held = world.hold_worker();
    let store = world.store();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut agent = Agent::start(&repo, "waits");
    agent.sh("git commit -q --allow-empty -m waits").ok();
    agent.stop();
    store.execute_batch("ROLLBACK").unwrap();
    assert!(world.spooled() > 0);
    agent.quit();
    let repo = moved(&repo, "renamed");
    repo.siglum(&["init", "--yes"]).ok();
    assert_eq!(listed(&repo), ["before", "waits"]);
    assert_eq!(repositories(&world), 1);
    drop(held);
}

#[test]
fn submodules_and_repositories_without_a_commit_are_moved_like_others() {
    let world = World::new();
    let outer = world.repo();
    outer
        .sh(
            "git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m lib && \
             git -c protocol.file.allow=always submodule -q add ../lib lib && git commit -q -m lib",
        )
        .ok();
    let lib = outer.beside("lib");
    lib.siglum(&["init", "--yes"]).ok();
    commit_as(&lib, "inside");
    let empty = world.at(&world.root.join("empty"));
    fs::create_dir(&empty.dir).unwrap();
    empty.sh("git init -q -b main .").ok();
    empty.siglum(&["init", "--yes"]).ok();
    let (outer, empty) = (moved(&outer, "renamed"), moved(&empty, "still-empty"));
    assert_eq!(listed(&outer.beside("lib")), ["inside"]);
    assert!(listed(&empty).is_empty());
    assert_eq!(repositories(&world), 3);
    commit_as(&empty, "first");
    assert_eq!(verdicts(&empty), ["certain"]);
}

#[test]
fn removing_siglum_removes_the_mark() {
    let world = World::new();
    let repo = world.repo();
    let mark = repo.dir.join(".git/siglum/repository");
    let text = fs::read_to_string(&mark).unwrap();
    assert!(
        text.starts_with("rep_") && text.lines().count() == 1,
        "{text}"
    );
    fs::write(mark.with_file_name("repository.new-1"), "").unwrap();
    repo.siglum(&["uninstall", "--yes"]).ok();
    assert!(!Path::new(&repo.dir).join(".git/siglum").exists());
}
