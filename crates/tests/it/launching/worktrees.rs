//! `--worktree`: a checkout for one session, which goes only if nothing in it would be lost.

use super::{COMMIT, Launch, launched, links};
use crate::harness::{Agent, Repo, World};

/// Launches a script in a worktree of its own; gives the worktree, whether it is there still, and what
/// the launcher said.
#[track_caller]
fn run(repo: &Repo<'_>, flag: &str, script: &str) -> (String, bool, String) {
    let script = format!("pwd; {{ {script}; }} >/dev/null 2>&1; exit 0");
    let ran = repo.siglum(&["run", flag, "--", "sh", "-c", &script]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let path = ran.stdout.trim().to_owned();
    assert_ne!(path, repo.dir.to_str().unwrap());
    let there = std::path::Path::new(&path).exists();
    let newest = super::sessions(repo)[0]["id"].as_str().unwrap().to_owned();
    let launch = super::show(repo, &newest)["launch"].take();
    assert_eq!(launch["worktree"], path.as_str());
    let state = if there { "kept" } else { "removed" };
    assert_eq!(launch["worktree_state"], state, "{launch}");
    let shown = repo.siglum(&["show", &newest]).ok();
    let name = std::path::Path::new(&path).file_name().unwrap();
    assert!(shown.contains(name.to_str().unwrap()), "{shown}");
    assert_eq!(there, ran.stderr.contains(&path), "{}", ran.stderr);
    (path, there, ran.stderr)
}

fn with_remote(world: &World) -> Repo<'_> {
    let far = world.root.join("far.git");
    let far = far.display();
    world.repo_made_by(&format!(
        "git init -q -b main . && git commit -q --allow-empty -m base && git init -q --bare '{far}' \
         && git remote add origin '{far}' && git push -q origin main && echo ignored > .gitignore \
         && git add .gitignore && git commit -q -m ignore"
    ))
}

#[test]
fn what_holds_no_work_goes() {
    let world = World::new();
    let repo = with_remote(&world);
    for script in [
        "true",
        "echo x > ignored",
        "git commit -q --allow-empty -m pushed && git push -q origin HEAD:refs/heads/other",
        "touch .gitignore",
    ] {
        let (path, there, output) = run(&repo, "--worktree", script);
        assert!(!there, "{script}: {path} {output}");
    }
    let branches = repo.git(&["branch", "--format=%(refname:short)"]);
    let branches: Vec<&str> = branches.lines().collect();
    // The one that was pushed has a commit; the others were empty.
    assert_eq!(branches.len(), 2, "{branches:?}");
    assert_eq!(
        repo.git(&["worktree", "list", "--porcelain"])
            .matches("worktree ")
            .count(),
        1
    );
}

#[test]
fn what_holds_work_stays() {
    let world = World::new();
    let repo = with_remote(&world);
    for (script, reason) in [
        ("echo x > new", "not committed"),
        ("echo x > .gitignore", "not committed"),
        ("echo x > new; git add new", "not committed"),
        ("git commit -q --allow-empty -m mine", "not pushed"),
        (
            "git commit -q --allow-empty -m mine; git reset -q --hard HEAD^",
            "not pushed",
        ),
        (
            "git switch -q -c mine; git commit -q --allow-empty -m mine; git switch -q -",
            "not pushed",
        ),
        ("git bisect start", "under way"),
    ] {
        let (path, there, output) = run(&repo, "--worktree", script);
        assert!(there, "{script}: {path}");
        assert!(output.contains(reason), "{script}: {output}");
    }
}

#[test]
fn a_branch_can_be_named() {
    let world = World::new();
    let repo = with_remote(&world);
    repo.git(&["branch", "known"]);
    for branch in ["known", "fresh"] {
        let on = format!("test $(git branch --show-current) = {branch} && echo x > new");
        let (_, there, output) = run(&repo, &format!("--worktree={branch}"), &on);
        assert!(there, "{output}");
    }
    // A branch that is checked out elsewhere is git's to refuse, and nothing is made.
    let before = super::sessions(&repo).len();
    let ran = repo.siglum(&["run", "--worktree=known", "--", "true"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("known"), "{}", ran.stderr);
    assert_eq!(super::sessions(&repo).len(), before);
}

#[test]
fn where_git_makes_none_nothing_stays() {
    let world = World::new();
    let repo = with_remote(&world);
    // Git cannot write a file whose content is missing.
    let blob = repo.git(&["rev-parse", "HEAD:.gitignore"]);
    let (folder, file) = blob.split_at(2);
    std::fs::remove_file(repo.dir.join(".git/objects").join(folder).join(file)).unwrap();
    let ran = repo.siglum(&["run", "--worktree", "--", "touch", "ran"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!repo.dir.join("ran").exists());
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
    let made = std::fs::read_dir(world.siglum_home().join("worktrees")).unwrap();
    assert_eq!(made.count(), 0);
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 0);
}

#[test]
fn an_agent_works_in_it() {
    let world = World::new();
    let repo = with_remote(&world);
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "--issue 42 --worktree");
    let cwd = agent.step(&serde_json::json!({ "sh": "pwd" }))["stdout"].clone();
    let cwd = cwd.as_str().unwrap().trim().to_owned();
    agent.move_to(&cwd);
    agent.begin("startup");
    agent.sh(COMMIT).ok();
    let own = repo.beside(&cwd);
    own.check("in the worktree", "HEAD", &agent.certain());
    assert_eq!(links(&own.why("HEAD").0["committer"]), ["issue_number=42"]);
    let mut other = agent.nested(&own, "left", &Agent::program());
    other.begin("startup");
    drop((agent, other));
    assert_eq!(launch.over(), Some(0));
    let session = launched(&repo);
    assert_eq!(session["session"]["worktree"], cwd.as_str());
    assert_eq!(session["launch"]["worktree_state"], "kept");
    assert!(std::path::Path::new(&cwd).exists());
}

#[test]
fn uncommitted_work_is_kept_as_a_commit_that_the_next_run_names() {
    let world = World::new();
    let repo = with_remote(&world);
    let script = "echo changed > .gitignore && git add .gitignore && echo more >> .gitignore && echo new > fresh.txt \
        && echo secret > ignored.log && echo '*.log' >> .git/info/exclude 2>/dev/null; git rev-parse HEAD > ../head; cp \"$(git rev-parse --git-dir)/index\" ../index";
    let (path, there, output) = run(&repo, "--worktree=feature", script);
    assert!(there, "{output}");
    let tree = repo.world.at(std::path::Path::new(&path));
    let names = repo.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/siglum/snapshots",
    ]);
    assert_eq!(names.lines().count(), 1, "{names}");
    assert!(output.contains(&names), "{output}");
    let show = |file: &str| repo.git(&["show", &format!("{names}:{file}")]);
    assert_eq!(
        (show(".gitignore"), show("fresh.txt")),
        ("changed\nmore".to_owned(), "new".to_owned())
    );
    // Branch, HEAD, index and files are as the agent left them.
    let before = |name: &str| std::fs::read(tree.dir.join("..").join(name)).unwrap();
    assert_eq!(
        tree.id("HEAD"),
        String::from_utf8_lossy(&before("head")).trim()
    );
    assert_eq!(tree.id("feature"), tree.id("HEAD"));
    assert_eq!(tree.git(&["diff", "--cached", "--name-only"]), ".gitignore");
    assert!(
        tree.git(&["status", "--porcelain"])
            .contains("?? fresh.txt")
    );
    let git_dir = std::path::PathBuf::from(tree.git(&["rev-parse", "--absolute-git-dir"]));
    assert!(!git_dir.join("siglum-snapshot-index").exists());
    let newest = super::sessions(&repo)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(
        super::show(&repo, &newest)["launch"]["snapshot"],
        names.as_str()
    );
    assert!(repo.siglum(&["show", &newest]).ok().contains(&names));
    let next = tree.siglum(&["run", "--", "true"]);
    assert!(next.stderr.contains(&names), "{}", next.stderr);
    let elsewhere = repo.siglum(&["run", "--", "true"]);
    assert!(!elsewhere.stderr.contains(&names), "{}", elsewhere.stderr);
    // Whoever checks out its branch somewhere else hears of it, too.
    tree.git(&["switch", "-q", "--detach"]);
    let other = repo.siglum(&["run", "--worktree=feature", "--", "true"]);
    assert!(other.stderr.contains(&names), "{}", other.stderr);
}
