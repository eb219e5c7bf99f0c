//! Links and pipes in the place of what Siglum keeps in a repository, as they come with an archive from anybody or from an
//! agent that may write there: no command and no hook changes what they lead to, or waits.

use std::fs;

use crate::harness::{Agent, World, until};
use crate::hostile_repositories::COMMANDS;

/// Makes a directory with files of a person, old ones, under all names that Siglum gives to its own.
const THEIRS: &str = "
mkdir -p theirs/commits theirs/amends theirs/spool theirs/launches && cd theirs && for dir in . *; do
  for name in 7 seven package.json ses_019ad0000000700080000000000000ff.token \
    00000000000000000001-00000000000000aa.json 00000000000000000001-00000000000000aa.bad; do
    echo \"papaya $dir $name\" >$dir/$name
  done
done
for name in hooks-taken-over message-.git.lock repository begun; do echo papaya $name >$name; done
find . -exec touch -d '2 days ago' {} +
";

/// Prints all that there is to see of them.
const STATE: &str = "find . -printf '%p %y %m %s %T@\\n' | sort; find . -type f | sort | xargs cat";

/// Puts something in the place of each of Siglum's files and directories. Whatever is made there meanwhile gives way.
fn in_each_place(test: &str, make: &str) -> String {
    format!(
        "mkdir -p .git/siglum && cd .git/siglum && for name in \
         commits amends spool launches hooks-taken-over message-.git.lock repository begun; do \
         until [ {test} $name ]; do rm -rf $name; {make} $name; done; done"
    )
}

/// The same in the place of Siglum's directory itself.
fn in_the_place_of_all(test: &str, make: &str) -> String {
    format!("cd .git && until [ {test} siglum ]; do rm -rf siglum; {make} siglum; done")
}

/// Commands that change something, beside those that look.
const CHANGES: &[&[&str]] = &[
    &["forget", "--pattern", "papaya", "--yes"],
    &["backup", "--force", "../copy"],
    &["doctor", "--fix"],
    &["init", "--yes"],
    &["worker", "--once"],
    &["uninstall", "--yes"],
];

/// Plays commits and commands, with what the script puts into the repository there before each of them.
#[track_caller]
fn check(plant: &str) {
    let world = World::new();
    let repo = world.repo();
    world.sh(&world.root, THEIRS).ok();
    let theirs = || world.sh(&world.root.join("theirs"), STATE).ok();
    let before = theirs();
    let mut agent = Agent::start(&repo, "guest");
    for script in [
        "git commit -q --allow-empty -m one",
        "git commit -q --allow-empty --amend -m two",
        "git commit -q --allow-empty -m three && git rebase -q --force-rebase HEAD~1",
    ] {
        repo.sh(plant).ok();
        agent.sh(script).ok();
        assert_eq!(theirs(), before, "{script}");
    }
    repo.sh("cp .git/config ../config && git config core.hooksPath .h")
        .ok();
    repo.sh(plant).ok();
    agent.prompt("Whose hooks are these?");
    assert_eq!(theirs(), before, "hooks that were taken over");
    repo.sh("cp ../config .git/config").ok();
    agent.stop();
    for command in COMMANDS.iter().chain(CHANGES) {
        repo.sh(plant).ok();
        let mut timed = world.command("timeout");
        timed.arg("60").arg(World::program()).args(*command);
        let ran = timed.current_dir(&repo.dir).output().unwrap();
        assert_ne!(ran.status.code(), Some(124), "{command:?} waits");
        assert_eq!(theirs(), before, "{command:?}: {ran:?}");
    }
    until("the worker is done", || world.worker_is_done());
    assert_eq!(theirs(), before, "the worker");
    let log = fs::read_to_string(world.siglum_home().join("siglum.log")).unwrap_or_default();
    assert!(!log.contains("too_slow"), "{log}");
}

#[test]
fn nothing_is_changed_behind_links_in_siglums_directory() {
    check(&in_each_place("-L", "ln -sT ../../../theirs/$name"));
}

#[test]
fn nothing_is_changed_behind_a_link_that_is_siglums_directory() {
    check(&in_the_place_of_all("-L", "ln -sT ../../theirs"));
}

#[test]
fn pipes_in_siglums_directory_hold_up_nobody() {
    check(&in_each_place("-p", "mkfifo"));
}

#[test]
fn a_pipe_that_is_siglums_directory_holds_up_nobody() {
    check(&in_the_place_of_all("-p", "mkfifo"));
}
