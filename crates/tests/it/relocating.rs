//! `siglum relocate` says where repositories are and by what they were matched, and takes a person's word where nothing tells.

use std::fs;

use serde_json::{Value, json};

use crate::harness::{Repo, World};
use crate::moved_repositories::{commit_as, listed, looked_at, repo_in, verdicts};

/// What `siglum relocate` says in the directory above all repositories.
fn relocate(world: &World, options: &[&str]) -> Value {
    world.json(&world.root, &[&["relocate"], options].concat())
}

/// The state of the repository that was known by a directory, and its matches.
#[track_caller]
fn state(world: &World, answer: &Value, name: &str) -> (String, Value) {
    let path = world.root.join(name);
    let all = answer["repositories"].as_array().unwrap();
    let is_it = |r: &&Value| r["path"] == path.to_str().unwrap();
    let one = all.iter().find(is_it).unwrap_or_else(|| panic!("{answer}"));
    let state = one["state"].as_str().unwrap().to_owned();
    (state, one["matches"].clone())
}

/// A repository with one commit of an agent, at which a worker has looked.
fn recorded(world: &World) -> Repo<'_> {
    let repo = world.repo();
    commit_as(&repo, "here");
    looked_at(world);
    repo
}

fn places(world: &World, name: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM repositories WHERE common_dir LIKE '%/{name}/.git'");
    world.count(&sql)
}

#[test]
fn a_repository_that_was_moved_is_found_beside_its_place() {
    let world = World::new();
    let repo = recorded(&world);
    fs::rename(&repo.dir, world.root.join("renamed")).unwrap();
    let to = world.root.join("renamed");
    let expected = json!([{ "path": to, "by": ["mark", "root_commit"] }]);
    let shown = relocate(&world, &["--dry-run"]);
    assert_eq!(shown["done"], false);
    assert_eq!(
        state(&world, &shown, "repo"),
        ("moved".into(), expected.clone())
    );
    assert_eq!(places(&world, "repo"), 1, "a dry run notes nothing");
    let shown = relocate(&world, &[]);
    assert_eq!(state(&world, &shown, "repo"), ("moved".into(), expected));
    assert_eq!((places(&world, "repo"), places(&world, "renamed")), (0, 1));
    let shown = relocate(&world, &[]);
    assert_eq!(
        state(&world, &shown, "renamed"),
        ("in_place".into(), json!([]))
    );
    assert_eq!(listed(&world.at(&to)), ["here"]);
}

#[test]
fn a_repository_that_went_far_is_found_by_a_linked_worktree() {
    let world = World::new();
    let repo = recorded(&world);
    repo.sh("git worktree add -q -b side ../linked").ok();
    let linked = world.at(&world.root.join("linked"));
    commit_as(&linked, "side");
    let far = world.root.join("far/away/shop");
    fs::create_dir_all(far.parent().unwrap()).unwrap();
    fs::rename(&repo.dir, &far).unwrap();
    let shown = relocate(&world, &["--dry-run"]);
    assert_eq!(state(&world, &shown, "repo").0, "missing");
    world.sh(&far, "git worktree repair ../../../linked").ok();
    let shown = relocate(&world, &[]);
    let (state, matches) = state(&world, &shown, "repo");
    assert_eq!(state, "moved", "{shown}");
    assert_eq!(matches[0]["by"], json!(["mark", "worktree", "root_commit"]));
    assert_eq!(places(&world, "far/away/shop"), 1);
    assert_eq!(listed(&world.at(&far)), ["here", "side"]);
}

#[test]
fn of_two_copies_none_is_taken_for_the_repository_that_is_gone() {
    let world = World::new();
    let repo = recorded(&world);
    repo.sh("cp -a . ../one && cp -a . ../two").ok();
    fs::remove_dir_all(&repo.dir).unwrap();
    let shown = relocate(&world, &[]);
    assert_eq!(state(&world, &shown, "repo"), ("missing".into(), json!([])));
    assert_eq!(places(&world, "repo"), 1);
    // Whoever stands in one of them says which.
    let two = world.at(&world.root.join("two"));
    two.siglum(&["relocate"]).ok();
    assert_eq!((places(&world, "one"), places(&world, "two")), (0, 1));
}

#[test]
fn a_repository_that_was_cloned_again_is_matched_by_commits_and_remote() {
    let world = World::new();
    let repo = world.repo_made_by(
        "git init -q -b main . && git commit -q --allow-empty -m base && \
         git init -q --bare -b main ../r.git && git remote add origin file://$PWD/../r.git",
    );
    commit_as(&repo, "here");
    repo.sh("git push -q origin main").ok();
    looked_at(&world);
    fs::remove_dir_all(&repo.dir).unwrap();
    world
        .sh(&world.root, "git clone -q file://$PWD/r.git again")
        .ok();
    let clone = world.at(&world.root.join("again"));
    let shown = world.json(&clone.dir, &["relocate"]);
    let (state, matches) = state(&world, &shown, "repo");
    assert_eq!(state, "cloned", "{shown}");
    let expected = json!([{ "path": clone.dir, "by": ["root_commit", "remote"] }]);
    assert_eq!(matches, expected);
    assert_eq!(listed(&clone), ["here"]);
}

#[test]
fn a_person_matches_what_nothing_tells_of_unless_identities_contradict() {
    let world = World::new();
    let repo = recorded(&world);
    let other = repo_in(&world, "other");
    repo.sh("cp -a . ../copy && rm -r ../copy/.git/siglum").ok();
    let copy = world.at(&world.root.join("copy"));
    let stated = |new: &str| world.siglum(&world.root, &["relocate", "repo", new]);
    let refused = stated("copy");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("still at"), "{refused:?}");
    fs::remove_dir_all(&repo.dir).unwrap();
    let shown = relocate(&world, &[]);
    assert_eq!(state(&world, &shown, "repo"), ("missing".into(), json!([])));
    let refused = stated("other");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("root commits"), "{refused:?}");
    // Nobody sees what a shallow clone goes back to.
    other
        .sh("git commit -q --allow-empty -m more && git clone -q --depth 1 file://$PWD ../shallow && git -C ../shallow remote remove origin")
        .ok();
    let refused = stated("shallow");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("compared"), "{refused:?}");
    assert_eq!(stated("home").code, Some(3));
    let unknown = world.siglum(&world.root, &["relocate", "nowhere", "copy"]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
    let shown = relocate(&world, &["--dry-run", "repo", "copy"]);
    assert_eq!(shown["stated"]["outcome"], "moved");
    assert_eq!((places(&world, "repo"), places(&world, "copy")), (1, 0));
    stated("copy").ok();
    assert_eq!((places(&world, "repo"), places(&world, "copy")), (0, 1));
    assert_eq!(listed(&copy), ["here"]);
    assert_eq!(verdicts(&copy), ["certain", "unknown"]);
    assert!(listed(&other).is_empty());
    copy.siglum(&["verify"]).ok();
}

#[test]
fn a_fork_is_not_taken_for_the_repository_that_is_gone() {
    let world = World::new();
    let repo = world.repo_made_by(
        "git init -q -b main . && git commit -q --allow-empty -m base && \
         git remote add origin https://host/o/r.git",
    );
    commit_as(&repo, "here");
    looked_at(&world);
    repo.sh(
        "cp -a . ../fork && rm -r ../fork/.git/siglum && git -C ../fork remote set-url origin https://host/me/r.git",
    )
    .ok();
    fs::remove_dir_all(&repo.dir).unwrap();
    let refused = world.siglum(&world.root, &["relocate", "repo", "fork"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("host/me/r"), "{refused:?}");
    assert_eq!(places(&world, "repo"), 1);
}
