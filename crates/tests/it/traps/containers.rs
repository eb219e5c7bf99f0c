//! Containers: a pid there is another process than the same pid outside, and the ledger is out of
//! reach.

use super::{BARE, COMMIT, bystander, runs_beside};
use crate::harness::{Agent, Container, World, left_out};

#[test]
fn what_a_container_commits_waits_in_the_repository_and_names_no_pid_of_the_host() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "outside");
    let nowhere = world.root.join("a-file");
    std::fs::write(&nowhere, "").unwrap();
    let words = format!("env SIGLUM_HOME='{}/siglum'", nowhere.display());
    let Some(mut container) = Container::start(&repo, &words) else {
        return;
    };
    let pid = bound_pid(&world);
    container.next_pid(pid);
    let worker = world.hold_worker();
    let line = format!("sh -c 'echo $$; {COMMIT}; true' & wait $!");
    let ran = container.run(&line);
    assert_eq!(ran.stderr, "", "hooks are silent");
    assert_eq!(ran.ok(), pid.to_string(), "the trap is set");
    let spool = repo.dir.join(".git/siglum/spool");
    let waiting = || std::fs::read_dir(&spool).map_or(0, Iterator::count);
    assert!(waiting() > 0, "it waits in the repository");
    drop(worker);
    let _bystander = bystander(&repo);
    repo.check("the same pid", "HEAD", "unknown unknown");
    assert_eq!(waiting(), 0, "the host took it");
    repo.recency_errs("nobody");
    let named = format!("CLAUDE_CODE_SESSION_ID=outside {COMMIT}");
    container.run(&named).ok();
    repo.check("with the variable", "HEAD", &agent.likely());
    let call = agent.shell_call("make");
    agent.hook("PreToolUse", call);
    container.run(COMMIT).ok();
    repo.check("while calls run outside", "HEAD", "unknown unknown");
}

fn bound_pid(world: &World) -> u32 {
    let store = world.store();
    let sql = "SELECT identity FROM processes";
    let identity: String = store.query_row(sql, [], |row| row.get(0)).unwrap();
    let identity: serde_json::Value = serde_json::from_str(&identity).unwrap();
    u32::try_from(identity["pid"].as_u64().unwrap()).unwrap()
}

#[test]
fn orphans_of_a_container_fall_to_the_agent_that_is_its_first_process() {
    let world = World::new();
    let repo = world.repo();
    let allowed = repo.sh("unshare --user --map-root-user --pid --fork --mount-proc true");
    if allowed.code != Some(0) {
        left_out("this machine makes no pid namespaces for us");
        return;
    }
    let mut child = None;
    let mut agent = Agent::started_by(&repo, "first-process", &Agent::program(), |command| {
        let unshare = "unshare --user --map-root-user --pid --fork --kill-child --mount-proc";
        let mut shell = world.command("/bin/sh");
        shell.args(["-c", &format!("exec {unshare} {command}")]);
        child = Some(shell.current_dir(&repo.dir).spawn().unwrap());
    });
    agent.begin("startup");
    let mut bystander = bystander(&repo);
    runs_beside(&mut agent, &mut bystander, &repo, COMMIT).ok();
    repo.check("its own", "HEAD", &agent.likely());
    let orphan = format!(
        "setsid -f sh -c '{}; touch done' >/dev/null 2>&1",
        BARE.replace('\'', "\"")
    );
    agent.bare_sh(&orphan).ok();
    crate::harness::until("the orphan is done", || repo.dir.join("done").exists());
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "unknown ambiguous", "{why}");
    assert!(why.says("first process of a container"), "{why}");
    repo.recency_errs("nobody that is known");
    crate::harness::kill(child.unwrap().id());
}
