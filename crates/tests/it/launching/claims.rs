//! Who takes up a launched session, and who only inherits its claim.

use super::{COMMIT, Launch, launched, links, sessions};
use crate::harness::{Agent, World};

/// The session that an agent calls so.
#[track_caller]
fn called(repo: &crate::harness::Repo<'_>, native: &str) -> serde_json::Value {
    super::show(repo, native)
}

#[test]
fn an_agent_that_the_agent_starts_is_somebody_else() {
    let world = World::new();
    let repo = world.repo();
    let (mut outer, launch) = Launch::agent(&repo, "outer", &[], "--issue 42");
    outer.begin("startup");
    let mut inner = outer.nested(&repo, "inner", &Agent::program());
    inner.begin("startup");
    inner.sh(COMMIT).ok();
    repo.check("by the inner one", "HEAD", &inner.certain());
    let why = repo.why("HEAD");
    assert_eq!(why.parents(), ["outer"]);
    assert!(links(&why.0["committer"]).is_empty(), "{why}");
    assert!(!why.says("the launcher bound"), "{why}");
    outer.sh(COMMIT).ok();
    repo.check("by the outer one", "HEAD", &outer.certain());
    let launched = launched(&repo);
    let inner_session = called(&repo, "inner");
    assert_eq!(
        inner_session["session"]["parent"],
        launched["session"]["id"]
    );
    assert_eq!(inner_session["session"]["relation"], "nested");
    drop((inner, outer));
    assert_eq!(launch.over(), Some(0));
}

#[test]
fn an_agent_that_was_left_behind_by_the_first_one_is_somebody_else() {
    let world = World::new();
    let repo = world.repo();
    let (mut first, launch) = Launch::agent(&repo, "first", &[], "--issue 42");
    first.begin("startup");
    let mut left = Agent::started_by(&repo, "left", &Agent::program(), |command| {
        let step = format!("setsid -f sh -c \"{command}\"");
        first.step(&serde_json::json!({ "start": step }));
    });
    left.begin("startup");
    let session = called(&repo, "left");
    assert_eq!(
        session["session"]["parent"],
        launched(&repo)["session"]["id"]
    );
    assert!(links(&session["session"]).is_empty());
    drop((left, first));
    launch.over();
}

#[test]
fn a_later_agent_below_the_same_launcher_has_a_parent_and_no_links() {
    let world = World::new();
    let repo = world.repo();
    let later = world.root.join("later.sh");
    let (mut first, launch) = Launch::new(&repo, "first", &[], "--issue 42", |command| {
        let wait = format!("until test -e '{0}'; do sleep 0.02; done", later.display());
        let script = world.root.join("both.sh");
        let text = format!("{command}\n{wait}\n. '{}'\n", later.display());
        std::fs::write(&script, text).unwrap();
        format!("sh '{}'", script.display())
    });
    first.begin("startup");
    first.end("other");
    drop(first);
    let mut second = Agent::started_by(&repo, "second", &Agent::program(), |command| {
        let draft = world.root.join("draft");
        std::fs::write(&draft, command).unwrap();
        std::fs::rename(draft, &later).unwrap();
    });
    second.begin("startup");
    second.sh(COMMIT).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), second.certain(), "{why}");
    assert!(!why.says("the launcher bound"), "{why}");
    let session = called(&repo, "second");
    assert_eq!(
        session["session"]["parent"],
        launched(&repo)["session"]["id"]
    );
    assert!(links(&session["session"]).is_empty());
    drop(second);
    assert_eq!(launch.over(), Some(0));
}

#[test]
fn only_the_agent_that_was_launched_takes_it_up() {
    let world = World::new();
    let repo = world.repo();
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "--agent codex --issue 42");
    agent.begin("startup");
    let session = called(&repo, "one");
    assert_eq!(session["session"]["origin"], "live");
    assert!(links(&session["session"]).is_empty());
    let launched = launched(&repo);
    assert_eq!(session["session"]["parent"], launched["session"]["id"]);
    assert_eq!(launched["session"]["agent"], "codex");
    drop(agent);
    launch.over();
}

#[test]
fn another_session_in_the_same_process_is_not_the_launched_one() {
    let world = World::new();
    let repo = world.repo();
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "--issue 42");
    agent.begin("startup");
    agent.clear("two");
    assert_eq!(sessions(&repo).len(), 2);
    let launched = launched(&repo);
    assert_eq!(launched["native_ids"], serde_json::json!(["one"]));
    let cleared = called(&repo, "two");
    assert_eq!(cleared["session"]["parent"], launched["session"]["id"]);
    assert_eq!(cleared["session"]["relation"], "clear");
    drop(agent);
    launch.over();
}

#[test]
fn an_older_session_that_goes_on_gets_the_links() {
    let world = World::new();
    let repo = world.repo();
    let mut before = Agent::start(&repo, "old");
    before.stop();
    before.kill();
    let old = called(&repo, "old");
    let (mut agent, launch) = Launch::agent(&repo, "old", &[], "--issue 42 --role coder");
    agent.begin("resume");
    agent.sh(COMMIT).ok();
    repo.check("by the old session", "HEAD", &agent.certain());
    let why = repo.why("HEAD");
    assert_eq!(why.0["committer"]["session"], old["session"]["id"]);
    assert!(why.says("the launcher bound"), "{why}");
    assert_eq!(
        links(&why.0["committer"]),
        ["issue_number=42", "agent_role=coder"]
    );
    let launched = launched(&repo);
    assert_eq!(launched["launch"]["claimed_for"], old["session"]["id"]);
    drop(agent);
    assert_eq!(launch.over(), Some(0));
}

#[test]
fn a_launcher_inside_a_launched_agent_starts_a_child_of_its_session() {
    let world = World::new();
    let repo = world.repo();
    let (mut outer, launch) = Launch::agent(&repo, "outer", &[], "--issue 1");
    outer.begin("startup");
    let siglum = World::program();
    let mut inner = Agent::started_by(&repo, "inner", &Agent::program(), |command| {
        let run = format!("'{}' run --issue 2 -- {command}", siglum.display());
        outer.step(&serde_json::json!({ "start": run }));
    });
    inner.begin("startup");
    inner.sh(COMMIT).ok();
    repo.check("by the inner one", "HEAD", &inner.certain());
    assert_eq!(links(&repo.why("HEAD").0["committer"]), ["issue_number=2"]);
    let (outer_session, session) = (called(&repo, "outer"), called(&repo, "inner"));
    assert_eq!(session["session"]["parent"], outer_session["session"]["id"]);
    assert_eq!(links(&outer_session["session"]), ["issue_number=1"]);
    drop((inner, outer));
    launch.over();
}

#[test]
fn the_token_is_in_a_private_file_alone_and_goes_with_the_launch() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let repo = world.repo();
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "");
    agent.begin("startup");
    let seen = agent
        .bare_sh("echo \"$SIGLUM_SESSION_ID $SIGLUM_LAUNCH_TOKEN_FILE\"")
        .ok();
    let (session, file) = seen.trim().split_once(' ').unwrap();
    let file = std::path::Path::new(file);
    let mode = std::fs::metadata(file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let token = std::fs::read_to_string(file).unwrap();
    assert_eq!(token.len(), 64);
    for pid in world.processes() {
        for what in ["cmdline", "environ"] {
            let text = std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&text).contains(&token), "{what}");
        }
    }
    for name in ["ledger.db", "ledger.db-wal"] {
        let bytes = std::fs::read(world.siglum_home().join(name)).unwrap_or_default();
        let found = bytes.windows(token.len()).any(|w| w == token.as_bytes());
        assert!(!found, "{name}");
    }
    assert_eq!(launched(&repo)["session"]["id"], session);
    drop(agent);
    assert_eq!(launch.over(), Some(0));
    assert!(!file.exists());
}

#[test]
fn a_session_without_its_token_is_no_claim() {
    let world = World::new();
    let repo = world.repo();
    let forged = world.root.join("forged");
    std::fs::write(&forged, "0".repeat(64)).unwrap();
    let (mut first, launch) = Launch::agent(&repo, "first", &[], "--issue 42");
    let seen = first.bare_sh("echo $SIGLUM_SESSION_ID").ok();
    let mut forger = None;
    let mut other = Agent::started_by(&repo, "other", &Agent::program(), |command| {
        let forged = forged.to_str().unwrap();
        let variables = [
            ("SIGLUM_SESSION_ID", seen.trim()),
            ("SIGLUM_LAUNCH_TOKEN_FILE", forged),
        ];
        forger = Some(Launch::command(&repo, &variables, command).spawn().unwrap());
    });
    other.begin("startup");
    let session = called(&repo, "other");
    assert_eq!(session["session"]["parent"], serde_json::Value::Null);
    assert!(links(&session["session"]).is_empty());
    first.begin("startup");
    assert_eq!(launched(&repo)["native_ids"], serde_json::json!(["first"]));
    drop((first, other));
    launch.over();
    forger.unwrap().wait().unwrap();
}

#[test]
fn a_claim_that_went_through_the_spool_is_worth_the_same() {
    let world = World::new();
    let repo = world.repo();
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "--issue 42");
    agent.bare_sh("true").ok();
    let store = world.store();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    agent.begin("startup");
    assert!(world.spooled() > 0);
    store.execute_batch("ROLLBACK").unwrap();
    drop(store);
    drop(agent);
    assert_eq!(launch.over(), Some(0));
    let session = launched(&repo);
    assert_eq!(session["native_ids"], serde_json::json!(["one"]));
    assert_eq!(session["session"]["agent"], "claude-code");
    assert_eq!(sessions(&repo).len(), 1);
}
