//! A launched agent in a sandbox that hides Siglum's home: what its hooks see comes through the repository's spool.

use super::{COMMIT, Launch, launched, links, sessions};
use crate::harness::{Agent, Repo, World, left_out};

const SAME_PROCESSES: &str = "unshare --user --map-root-user --mount";
const OWN_PROCESSES: &str =
    "unshare --user --map-root-user --mount --pid --fork --kill-child --mount-proc";

/// Whether this machine makes such sandboxes for us.
fn has_sandboxes(repo: &Repo<'_>, sandbox: &str) -> bool {
    let has_them = repo.sh(&format!("{sandbox} true")).code == Some(0);
    if !has_them {
        left_out("this machine makes no sandboxes for us");
    }
    has_them
}

/// A launch whose agent runs in a sandbox that has nothing of Siglum's home but its programs, and cannot write there.
/// Nothing where this machine makes none for us.
fn agent(
    repo: &Repo<'_>,
    sandbox: &str,
    variables: &[(&str, &str)],
    hidden: &str,
) -> Option<(Agent, Launch)> {
    if !has_sandboxes(repo, sandbox) {
        return None;
    }
    let (root, home) = (repo.world.root.display(), repo.world.siglum_home());
    let home = home.display();
    let script = repo.world.root.join("sandbox.sh");
    Some(Launch::new(
        repo,
        "one",
        variables,
        "--issue 78",
        |command| {
            let text = format!(
                "set -e\ncp -r '{home}/bin' '{root}/programs'\n{hidden}\nmount -t tmpfs none '{home}'\n\
             cp -r '{root}/programs' '{home}/bin'\nmount -o remount,ro '{home}'\n{command}\n"
            );
            std::fs::write(&script, text).unwrap();
            format!("{sandbox} sh '{}'", script.display())
        },
    ))
}

/// The words that hide the copy of the token, too.
const WITHOUT_COPY: &str =
    "mkdir -p .git/siglum/launches; mount -t tmpfs none .git/siglum/launches";

/// The agent works and ends, and so does its launch.
fn play((mut agent, launch): (Agent, Launch)) {
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    agent.stop();
    agent.end("other");
    drop(agent);
    launch.over();
}

#[track_caller]
fn check_taken_up(repo: &Repo<'_>, what: &str) {
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), "one certain", "{what}: {why}");
    let session = launched(repo);
    assert_eq!(session["native_ids"], serde_json::json!(["one"]), "{what}");
    assert_eq!(
        why.0["committer"]["session"], session["session"]["id"],
        "{what}"
    );
    let wanted = ["issue_number=78", "pr_number=5", "phase=build"];
    assert_eq!(links(&session["session"]), wanted, "{what}");
    assert_eq!(links(&why.0["committer"]), wanted, "{what}");
    assert_eq!(sessions(repo).len(), 1, "{what}");
    assert_eq!(repo.world.declines(), [""; 0], "{what}");
}

const VARIABLES: [(&str, &str); 2] = [("EGG_PR_NUMBER", "5"), ("SIGLUM_PHASE", "build")];

#[test]
fn in_a_sandbox_without_the_token_the_launcher_above_proves_the_launch() {
    let world = World::new();
    let repo = world.repo();
    let Some(played) = agent(&repo, SAME_PROCESSES, &VARIABLES, WITHOUT_COPY) else {
        return;
    };
    play(played);
    check_taken_up(&repo, "launcher above");
}

#[test]
fn in_a_sandbox_that_shows_the_repository_its_copy_of_the_token_proves_the_launch() {
    for sandbox in [SAME_PROCESSES, OWN_PROCESSES] {
        let world = World::new();
        let repo = world.repo();
        let Some((mut agent, launch)) = agent(&repo, sandbox, &VARIABLES, "") else {
            return;
        };
        let copies = "stat -c %a .git/siglum/launches .git/siglum/launches/*";
        assert_eq!(agent.bare_sh(copies).ok(), "700\n600");
        play((agent, launch));
        check_taken_up(&repo, sandbox);
        assert!(!repo.dir.join(".git/siglum/launches").exists(), "{sandbox}");
    }
}

#[test]
fn in_a_sandbox_that_shows_neither_launcher_nor_token_doctor_says_so() {
    let world = World::new();
    let repo = world.repo();
    let Some(played) = agent(&repo, OWN_PROCESSES, &VARIABLES, WITHOUT_COPY) else {
        return;
    };
    play(played);
    assert_eq!(repo.committer("HEAD"), "one certain");
    let wanted = ["pr_number=5", "phase=build"];
    assert_eq!(links(&super::show(&repo, "one")["session"]), wanted);
    assert_eq!(
        links(&launched(&repo)["session"]),
        ["issue_number=78", "pr_number=5", "phase=build"]
    );
    assert_eq!(world.declines(), ["launch_token_unreadable"]);
    let report = repo.siglum(&["doctor"]).stdout;
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    let launch = launched(&repo)["session"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    for words in [
        "launch_token_unreadable",
        "SIGLUM_LAUNCH_TOKEN_FILE",
        &launch,
    ] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

#[test]
fn a_script_in_a_sandbox_commits_for_the_launcher_above() {
    let world = World::new();
    let repo = world.repo();
    if !has_sandboxes(&repo, SAME_PROCESSES) {
        return;
    }
    let (root, home) = (world.root.display(), world.siglum_home());
    let home = home.display();
    let script = format!(
        "set -e\ncp -r '{home}/bin' '{root}/programs'\nmount -t tmpfs none '{home}'\n\
         cp -r '{root}/programs' '{home}/bin'\nmount -o remount,ro '{home}'\n{COMMIT}\ntrue\n"
    );
    let file = world.root.join("sandbox.sh");
    std::fs::write(&file, script).unwrap();
    let siglum = World::program();
    let (siglum, file) = (siglum.display(), file.display());
    let run = format!("'{siglum}' run --issue 78 -- {SAME_PROCESSES} sh '{file}'");
    repo.sh(&run).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.0["committer"]["verdict"], "likely", "{why}");
    assert_eq!(links(&why.0["committer"]), ["issue_number=78"]);
}

#[test]
fn variables_of_links_come_through_the_spool_of_a_sandbox() {
    let world = World::new();
    let repo = world.repo();
    if !has_sandboxes(&repo, OWN_PROCESSES) {
        return;
    }
    let (root, home) = (world.root.display(), world.siglum_home());
    let home = home.display();
    let script = world.root.join("sandbox.sh");
    let mut agent = Agent::started_by(&repo, "one", &Agent::program(), |command| {
        let text = format!(
            "set -e\ncp -r '{home}/bin' '{root}/programs'\nmount -t tmpfs none '{home}'\n\
             cp -r '{root}/programs' '{home}/bin'\nmount -o remount,ro '{home}'\n{command}\n"
        );
        std::fs::write(&script, text).unwrap();
        let start = format!("{OWN_PROCESSES} sh '{}' &", script.display());
        let mut shell = Launch::command(&repo, &VARIABLES, &start);
        assert!(shell.status().unwrap().success());
    });
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    agent.end("other");
    drop(agent);
    assert_eq!(repo.committer("HEAD"), "one certain");
    assert_eq!(
        links(&super::show(&repo, "one")["session"]),
        ["pr_number=5", "phase=build"]
    );
}
