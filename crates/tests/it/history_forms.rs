//! Commits that git makes of other commits: merge, rebase, cherry-pick, revert, squash, stash.

use crate::harness::{Agent, Repo, World};

/// A repository with a branch `side` of this many commits by an agent, and `main` one commit on.
fn forked<'w>(world: &'w World, commits: u32) -> (Repo<'w>, Agent) {
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "worker");
    agent.sh("git checkout -q -b side").ok();
    for n in 1..=commits {
        agent.write(&format!("side-{n}"), &format!("line {n}\n"));
        agent
            .sh(&format!("git add -A && git commit -q -m 'side {n}'"))
            .ok();
    }
    agent
        .sh("git checkout -q main && echo m >main-1 && git add -A && git commit -q -m 'main 1'")
        .ok();
    (repo, agent)
}

#[test]
fn a_merge_is_its_own_commit_and_leaves_the_others_alone() {
    let world = World::new();
    let (repo, mut agent) = forked(&world, 2);
    let sides: Vec<_> = repo.commits("main..side");
    agent.sh("git merge -q --no-ff --no-edit side").ok();
    repo.check("the merge", "HEAD", &agent.certain());
    for side in &sides {
        repo.check("merged", side, &agent.certain());
    }
    agent.sh("git checkout -q -b other HEAD~ && git commit -q --allow-empty -m o && git checkout -q main").ok();
    agent
        .sh("git merge -q --no-ff -m 'with a message' other")
        .ok();
    repo.check("a merge with -m", "HEAD", &agent.certain());
    assert_eq!(repo.trailers("HEAD").len(), 1);
}

#[test]
fn a_merge_with_a_conflict_is_committed_by_who_resolves_it() {
    let world = World::new();
    let repo = world.repo();
    repo.sh(
        "echo a >f && git add f && git commit -q -m f && git checkout -q -b side && echo b >f && \
             git commit -q -a -m b && git checkout -q main && echo c >f && git commit -q -a -m c",
    )
    .ok();
    let mut agent = Agent::start(&repo, "merger");
    assert_ne!(agent.sh("git merge side").code, Some(0));
    agent
        .sh("echo both >f && git add f && git commit -q --no-edit")
        .ok();
    repo.check("git commit", "HEAD", &agent.certain());
    agent.sh("git checkout -q -b again side && echo d >f && git commit -q -a -m d && git checkout -q main && echo e >f && git commit -q -a -m e").ok();
    assert_ne!(agent.sh("git merge again").code, Some(0));
    agent
        .sh("echo all >f && git add f && GIT_EDITOR=true git merge --continue")
        .ok();
    repo.check("git merge --continue", "HEAD", &agent.certain());
}

#[test]
fn a_fast_forward_makes_nobody_a_committer() {
    let world = World::new();
    let repo = world.repo();
    repo.sh(
        "git checkout -q -b side && git commit -q --allow-empty -m theirs && git checkout -q main",
    )
    .ok();
    let mut agent = Agent::start(&repo, "forward");
    agent.sh("git merge -q side && git log -1 --format=%H").ok();
    repo.check("merge", "HEAD", "unknown unknown");
    repo.sh(
        "git checkout -q -b more && git commit -q --allow-empty -m more && git checkout -q main",
    )
    .ok();
    agent.sh("git pull -q . more && git rev-parse HEAD").ok();
    repo.check("pull", "HEAD", "unknown unknown");
    repo.sh("git checkout -q side && git commit -q --allow-empty -m x")
        .ok();
    agent
        .sh("git checkout -q side && git reset -q --hard side && git rev-parse HEAD")
        .ok();
    repo.check("checkout and reset", "HEAD", "unknown unknown");
}

#[test]
fn commits_that_came_from_elsewhere_are_not_the_one_who_pulls() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("git clone -q . ../upstream && cd ../upstream && export GIT_COMMITTER_DATE=2020-02-02T02:02:02Z && git commit -q --allow-empty -m up")
        .ok();
    let mut agent = Agent::start(&repo, "puller");
    agent
        .sh("git pull -q ../upstream main && git rev-parse --short HEAD")
        .ok();
    repo.check("pulled", "HEAD", "unknown unknown");
    repo.sh("cd ../upstream && git commit -q --allow-empty -m now")
        .ok();
    agent
        .sh("git pull -q ../upstream main && git rev-parse --short HEAD")
        .ok();
    repo.check(
        "pulled in the second it was made",
        "HEAD",
        "unknown unknown",
    );
    repo.sh("cd ../upstream && git commit -q --allow-empty -m up2")
        .ok();
    agent.sh("git commit -q --allow-empty -m own && git pull -q --no-rebase --no-edit ../upstream main").ok();
    repo.check("the merge of a pull", "HEAD", &agent.certain());
    repo.check("its second parent", "HEAD^2", "unknown unknown");
}

#[test]
fn a_rebase_carries_what_was_known() {
    let world = World::new();
    let (repo, mut agent) = forked(&world, 5);
    let before: Vec<_> = repo.commits("main..side");
    let checkpoints: Vec<_> = before.iter().map(|c| repo.trailers(c)).collect();
    agent.sh("git checkout -q side && git rebase -q main").ok();
    let after = repo.commits("main..side");
    assert_eq!(after.len(), 5);
    for ((old, new), checkpoint) in before.iter().zip(&after).zip(&checkpoints) {
        assert_ne!(old, new);
        let why = repo.why(new);
        assert_eq!(why.committer(), agent.certain(), "{why}");
        assert_eq!(&why.checkpoints(), checkpoint);
        assert_eq!(&repo.trailers(new), checkpoint);
        assert_eq!(why.0["rewritten_from"][0], old.as_str());
    }
    let why = repo.why("HEAD");
    assert_eq!(why.authors().get("worker"), Some(&1), "{why}");
    repo.siglum(&["verify"]).ok();
}

#[test]
fn a_rebase_by_nobody_is_nobodys_and_names_who_made_each_commit() {
    let world = World::new();
    let (repo, agent) = forked(&world, 2);
    repo.sh("git checkout -q side && git commit -q --allow-empty -m nobodys && git rebase -q main")
        .ok();
    let after = repo.commits("main..side");
    for (new, origin) in after
        .iter()
        .zip([&*agent.certain(), &agent.certain(), "unknown unknown"])
    {
        let why = repo.why(new);
        assert_eq!(why.committer(), "unknown unknown", "{why}");
        assert_eq!(why.origins()[0].1, origin, "{why}");
    }
}

#[test]
fn reword_squash_and_drop_in_a_rebase() {
    let world = World::new();
    let (repo, mut agent) = forked(&world, 4);
    let todo = "GIT_SEQUENCE_EDITOR='sed -i -e 1s/^pick/reword/ -e 3s/^pick/fixup/ -e 4s/^pick/drop/' \
                GIT_EDITOR='sed -i 1s/.*/reworded/' git rebase -q -i main";
    agent.sh(&format!("git checkout -q side && {todo}")).ok();
    let after = repo.commits("main..side");
    assert_eq!(after.len(), 2);
    assert!(repo.message(&after[0]).starts_with("reworded\n"));
    for commit in &after {
        let why = repo.why(commit);
        assert_eq!(why.committer(), agent.certain(), "{why}");
        assert_eq!(why.checkpoints(), repo.trailers(commit), "{why}");
    }
    repo.siglum(&["verify"]).ok();
}

#[test]
fn an_interrupted_rebase_ends_as_a_whole_one() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "rebaser");
    agent.sh("echo a >f && git add f && git commit -q -m f && git checkout -q -b side && echo b >f && \
              git commit -q -a -m b && git checkout -q main && echo c >f && git commit -q -a -m c").ok();
    assert_ne!(agent.sh("git rebase main side").code, Some(0));
    agent
        .sh("echo d >f && git add f && GIT_EDITOR=true git rebase --continue")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    let trailers = repo.trailers("HEAD");
    assert_eq!(why.checkpoints(), trailers);
    agent.sh("git checkout -q main && git checkout -q -b third HEAD~ && echo e >f && git commit -q -a -m e").ok();
    assert_ne!(agent.sh("git rebase main").code, Some(0));
    agent
        .sh("git rebase --abort && git commit -q --allow-empty -m after")
        .ok();
    repo.check("after an abort", "HEAD", &agent.certain());
}

#[test]
fn cherry_picks_belong_to_who_picked_them() {
    let world = World::new();
    let (repo, worker) = forked(&world, 3);
    drop(worker);
    let mut picker = Agent::start(&repo, "picker");
    picker.sh("git cherry-pick side~2 >/dev/null").ok();
    assert_eq!(repo.committer("HEAD"), picker.certain(), "one");
    picker.sh("git cherry-pick side~2..side >/dev/null").ok();
    for commit in repo.commits("HEAD~2..HEAD") {
        let why = repo.why(&commit);
        assert_eq!(why.committer(), picker.certain(), "several: {why}");
        assert_eq!(why.authors().get("worker"), Some(&1), "{why}");
    }
    picker.sh("git cherry-pick -x --no-commit main >/dev/null; git commit -q --allow-empty -m 'by hand'").ok();
    repo.check("--no-commit", "HEAD", &picker.certain());
}

#[test]
fn cherry_picks_by_nobody_point_to_the_original() {
    let world = World::new();
    let (repo, _worker) = forked(&world, 2);
    repo.sh("git cherry-pick side~1 side >/dev/null").ok();
    for commit in repo.commits("HEAD~2..HEAD") {
        let why = repo.why(&commit);
        assert_eq!(why.committer(), "unknown unknown", "{why}");
        assert_eq!(why.candidates(), ["worker"], "{why}");
        assert_eq!(why.authors().get("worker"), Some(&1), "{why}");
        assert_ne!(why.0["same_patch"], serde_json::json!([]), "{why}");
    }
}

#[test]
fn reverts_belong_to_who_reverted() {
    let world = World::new();
    let (repo, worker) = forked(&world, 1);
    drop(worker);
    let mut agent = Agent::start(&repo, "reverter");
    agent.sh("git revert --no-edit HEAD >/dev/null").ok();
    repo.check("revert", "HEAD", &agent.certain());
    agent.sh("git revert --no-edit HEAD HEAD~1 >/dev/null").ok();
    for commit in repo.commits("HEAD~2..HEAD") {
        repo.check("two reverts", &commit, &agent.certain());
    }
    repo.sh("git revert --no-edit HEAD >/dev/null").ok();
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
}

#[test]
fn a_squash_merge_has_one_committer_and_the_authors_of_all() {
    let world = World::new();
    let (repo, worker) = forked(&world, 3);
    drop(worker);
    let mut agent = Agent::start(&repo, "squasher");
    agent
        .sh("git merge -q --squash side && git commit -q -m squashed")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    assert_eq!(why.authors(), [("worker".to_owned(), 3)].into(), "{why}");
    agent.sh("git checkout -q -b again main~1 && git merge -q --squash side && GIT_EDITOR=true git commit -q").ok();
    let why = repo.why("HEAD");
    assert_eq!(
        why.committer(),
        agent.certain(),
        "its message quotes the others: {why}"
    );
    assert_eq!(
        repo.trailers("HEAD").last(),
        why.checkpoints().last(),
        "{}",
        repo.message("HEAD")
    );
}

#[test]
fn a_stash_is_no_commit_of_the_history() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "stasher");
    agent.write("file", "one\ntwo\n");
    agent
        .sh("git add -A && git stash -q && git stash pop -q --index && git commit -q -m popped")
        .ok();
    repo.check("after a pop", "HEAD", &agent.certain());
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), [("stasher".to_owned(), 2)].into(), "{why}");
}

#[test]
fn git_am_calls_no_hook_that_sees_the_agent() {
    let world = World::new();
    let (repo, worker) = forked(&world, 2);
    drop(worker);
    let mut agent = Agent::start(&repo, "applier");
    agent
        .sh("git format-patch -q -o ../patches main..side && git am -q ../patches/*")
        .ok();
    for commit in repo.commits("HEAD~2..HEAD") {
        let why = repo.why(&commit);
        assert_eq!(why.committer(), "unknown unknown", "{why}");
        assert_eq!(why.authors(), [("worker".to_owned(), 1)].into(), "{why}");
    }
}
