//! A pull request that an agent opens is linked to its session when it is seen.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::harness::{Agent, Repo, World, until};
use crate::launching::{COMMIT, links};

const URL: &str = "https://github.com/o/r/pull/7";

/// A repository whose remote has this name, in a world with a played `gh`: it opens pull request 7,
/// except where the branch has one.
fn played<'w>(world: &'w mut World, remote: &str) -> Repo<'w> {
    let bin = world.root.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let gh = bin.join("gh");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*again*) printf 'a pull request for branch \"x\" into branch \
         \"main\" already exists:\\n{URL}\\n' >&2; exit 1;;\n*) echo {URL};;\nesac\n"
    );
    std::fs::write(&gh, script).unwrap();
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    world
        .variables
        .push(("PATH", format!("{}:{path}", bin.display()).into()));
    world.repo_made_by(&format!(
        "git init -q -b main . && git remote add origin 'git@github.com:{remote}.git' && \
         git commit -q --allow-empty -m base"
    ))
}

const ATTACHED: &str = "SELECT count(*) FROM statements WHERE kind = 'link_attached'";

/// What is attached to a session, as it is shown.
fn shown(repo: &Repo<'_>, native: &str) -> Vec<(String, String, String)> {
    let shown = repo.world.json(&repo.dir, &["session", "show", native]);
    let text = |of: &Value, key: &str| of[key].as_str().unwrap().to_owned();
    let from = shown["attached"].as_array().unwrap().iter();
    let from = from.map(|l| (text(l, "by"), text(l, "source")));
    let facts = links(&shown["session"]).into_iter().zip(from);
    facts
        .map(|(fact, (by, source))| (fact, by, source))
        .collect()
}

fn seven(source: &str) -> Vec<(String, String, String)> {
    vec![("pr_number=7".into(), "siglum".into(), source.into())]
}

#[test]
fn it_is_linked_when_it_is_seen_and_earlier_checkpoints_show_it() {
    let mut world = World::new();
    let repo = played(&mut world, "o/r");
    let world = repo.world;
    let mut agent = Agent::start(&repo, "one");
    agent.sh(COMMIT).ok();
    assert!(links(&repo.why("HEAD").0["committer"]).is_empty());
    agent.sh("gh pr view 7").ok();
    agent.sh("echo gh pr create; gh pr view").ok();
    let body = "git push -q . HEAD:refs/heads/x && GH_TOKEN=x gh pr create --title t --body \"$(cat <<'EOF'\nit's `done`\nEOF\n)\"";
    agent.sh(body).ok();
    // Nobody asks for anything: the hook wakes the worker.
    until("the worker links it", || world.count(ATTACHED) == 1);
    assert_eq!(links(&repo.why("HEAD").0["committer"]), ["pr_number=7"]);
    assert_eq!(shown(&repo, "one"), seven("output of gh pr create"));
    let text = repo.siglum(&["show", "one"]).ok();
    assert!(text.contains("PR 7 (output of gh pr create)"), "{text}");
    agent.sh("gh pr create --fill").ok();
    agent.stop();
    agent.end("exit");
    repo.siglum(&["worker", "--once"]).ok();
    repo.siglum(&["rebuild", "summaries"]).ok();
    assert_eq!(world.count(ATTACHED), 1);
    let audit = world.json(&repo.dir, &["audit", "list", "--action", "link.attached"]);
    let entries = audit["items"].as_array().unwrap();
    assert_eq!(entries.len(), 1, "{audit}");
    assert_eq!(entries[0]["body"]["links"]["pr_number"], json!([7]));
    assert_eq!(entries[0]["body"]["source"], "output of gh pr create");
    let listed = world.json(&repo.dir, &["session", "list", "--link", "pr=7"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn one_that_failed_or_is_of_another_repository_is_not_linked() {
    for (remote, command, linked) in [
        ("o/r", "gh pr create --fill again", false),
        ("o/r", "gh pr create --fill again || true", false),
        ("o/r", "gh pr create --fill again 2>&1 | tail -1", false),
        ("o/other", "gh pr create --fill", false),
        ("O/R", "gh pr create --fill", true),
    ] {
        let mut world = World::new();
        let repo = played(&mut world, remote);
        let mut agent = Agent::start(&repo, "one");
        agent.sh(command);
        agent.stop();
        repo.siglum(&["worker", "--once"]).ok();
        let expected = match linked {
            true => seven("output of gh pr create"),
            false => Vec::new(),
        };
        assert_eq!(shown(&repo, "one"), expected, "{remote} {command}");
    }
}

#[test]
fn calls_of_sub_agents_count() {
    let mut world = World::new();
    let repo = played(&mut world, "o/r");
    let mut agent = Agent::start(&repo, "one");
    let mut call = agent.shell_call("gh pr create --fill");
    call["agent_id"] = json!("helper1");
    agent.hook("PreToolUse", call.clone());
    let ran = agent.bare_sh("gh pr create --fill");
    agent.shell_returned(call, &ran);
    assert_eq!(shown(&repo, "one"), seven("output of gh pr create"));
}
