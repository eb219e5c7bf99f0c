//! Agents inside agents.

use super::{BARE, COMMIT, bystander, runs_beside};
use crate::harness::{Agent, World};

#[test]
fn of_three_levels_the_nearest_commits() {
    let world = World::new();
    let repo = world.repo();
    let mut outer = Agent::start(&repo, "outer");
    let mut middle = outer.nested(&repo, "middle", &Agent::program());
    middle.begin("startup");
    let mut inner = middle.nested(&repo, "inner", &Agent::program());
    inner.begin("startup");
    let mut bystander = bystander(&repo);
    runs_beside(&mut inner, &mut bystander, &repo, COMMIT).ok();
    repo.check("the innermost", "HEAD", &inner.certain());
    assert_eq!(repo.why("HEAD").parents(), ["middle", "outer"]);
    runs_beside(&mut middle, &mut bystander, &repo, COMMIT).ok();
    repo.check("the middle one", "HEAD", &middle.certain());
    assert_eq!(repo.why("HEAD").parents(), ["outer"]);
    for variable in ["outer", "middle"] {
        let with = format!("CLAUDE_CODE_SESSION_ID={variable} {COMMIT}");
        inner.bare_sh(&with).ok();
        repo.check("with a variable from further out", "HEAD", &inner.likely());
        repo.recency_errs("inner");
    }
    outer
        .bare_sh(&format!("CLAUDE_CODE_SESSION_ID=inner {COMMIT}"))
        .ok();
    repo.check(
        "with a variable from further in",
        "HEAD",
        "unknown ambiguous",
    );
}

#[test]
fn a_stranger_between_two_that_are_recorded() {
    let world = World::new();
    let repo = world.repo();
    let codex = Agent::program_called(&repo, "codex");
    let mut outer = Agent::start(&repo, "outer");
    let mut stranger = outer.nested(&repo, "stranger", &codex);
    let mut inner = stranger.nested(&repo, "inner", &Agent::program());
    inner.begin("startup");
    let mut bystander = bystander(&repo);
    runs_beside(&mut inner, &mut bystander, &repo, COMMIT).ok();
    repo.check("below the stranger", "HEAD", &inner.certain());
    assert_eq!(repo.why("HEAD").parents(), ["outer"]);
    for command in [COMMIT, BARE] {
        stranger.bare_sh(command).ok();
        let why = repo.why("HEAD");
        assert_eq!(why.committer(), "unknown unknown", "{why}");
        assert_eq!(why.parents(), ["outer"], "{why}");
        repo.recency_errs("the stranger");
    }
}

#[test]
fn a_stranger_right_below_an_agent_without_a_shell_between() {
    let world = World::new();
    let repo = world.repo();
    let codex = Agent::program_called(&repo, "codex");
    let mut outer = Agent::start(&repo, "outer");
    let mut stranger = Agent::started_by(&repo, "stranger", &codex, |command| {
        outer.step(&serde_json::json!({ "start": format!("exec {command}") }));
    });
    let _bystander = bystander(&repo);
    stranger.bare_sh(BARE).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown unknown", "{why}");
    assert_eq!(why.parents(), ["outer"], "{why}");
    repo.recency_errs("the stranger");
}
