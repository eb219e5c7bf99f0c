//! Commits whose message is written in an editor.

use std::os::unix::fs::PermissionsExt;

use crate::harness::{Agent, Repo, World};

/// Makes an editor of a script that gets the file as `$1`, and gives the command that starts it.
fn editor(repo: &Repo<'_>, name: &str, script: &str) -> String {
    let path = repo.world.root.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// An editor that writes a title above what is there.
const WRITES: &str =
    "{ printf 'title\\n\\nbody\\n'; cat \"$1\"; } >\"$1.new\" && mv \"$1.new\" \"$1\"";

#[test]
fn a_message_from_the_editor_gets_one_trailer() {
    let world = World::new();
    let repo = world.repo();
    let writes = editor(&repo, "writes", WRITES);
    std::fs::write(repo.dir.join("template"), "# say why\n\nIssue: \n").unwrap();
    let mut agent = Agent::start(&repo, "typist");
    for (form, command) in [
        ("plain", "git commit -q"),
        ("-v", "git commit -q -v"),
        ("-v -v", "git commit -q -v -v"),
        ("scissors", "git -c commit.cleanup=scissors commit -q"),
        ("scissors -v", "git -c commit.cleanup=scissors commit -q -v"),
        (
            "verbatim",
            "git -c commit.cleanup=verbatim commit -q --no-status",
        ),
        (
            "whitespace",
            "git -c commit.cleanup=whitespace commit -q --no-status",
        ),
        (
            "another comment character",
            "git -c core.commentChar=';' commit -q -v",
        ),
        (
            "an automatic comment character",
            "git -c core.commentChar=auto commit -q",
        ),
        (
            "a comment string",
            "git -c core.commentString='//' commit -q -v",
        ),
        ("-m -e", "git commit -q -m given -e"),
        ("-s", "git commit -q -s"),
        ("a template", "git -c commit.template=template commit -q"),
        ("-t", "git commit -q -t template"),
        ("no status", "git -c commit.status=false commit -q"),
        ("an alias", "git -c alias.ci='commit -q' ci"),
    ] {
        std::fs::write(repo.dir.join("file"), form).unwrap();
        agent
            .sh(&format!("git add -A && GIT_EDITOR={writes} {command}"))
            .ok();
        repo.check(form, "HEAD", &agent.certain());
        assert_eq!(repo.trailers("HEAD").len(), 1, "{form}");
        let message = repo.message("HEAD");
        assert!(message.starts_with("title\n\nbody\n"), "{form}: {message}");
        assert_eq!(message.matches("Siglum-Checkpoint").count(), 1, "{form}");
        assert!(!message.contains("diff --git"), "{form}: {message}");
    }
    assert_eq!(world.declines(), [""; 0]);
}

#[test]
fn an_amend_in_the_editor_keeps_its_checkpoint() {
    let world = World::new();
    let repo = world.repo();
    let writes = editor(&repo, "writes", WRITES);
    let mut agent = Agent::start(&repo, "typist");
    agent
        .sh("echo a >a && git add a && git commit -q -m one")
        .ok();
    let before = repo.trailers("HEAD");
    agent
        .sh(&format!("GIT_EDITOR={writes} git commit -q --amend"))
        .ok();
    repo.check("amend", "HEAD", &agent.certain());
    assert_eq!(repo.trailers("HEAD"), before);
}

#[test]
fn a_message_that_nobody_wrote_still_aborts() {
    let world = World::new();
    let repo = world.repo();
    let nothing = editor(&repo, "nothing", ":");
    let fails = editor(&repo, "fails", "echo text >\"$1\"; exit 1");
    let empties = editor(&repo, "empties", ": >\"$1\"");
    let comments = editor(&repo, "comments", "printf '# only\\n# comments\\n' >\"$1\"");
    std::fs::write(repo.dir.join("template"), "# say why\n\nIssue: \n").unwrap();
    let mut agent = Agent::start(&repo, "typist");
    let before = repo.id("HEAD");
    for (form, editor, command) in [
        ("untouched", &nothing, "git commit -q"),
        ("untouched, -v", &nothing, "git commit -q -v"),
        ("untouched, -s", &nothing, "git commit -q -s"),
        (
            "untouched, scissors",
            &nothing,
            "git -c commit.cleanup=scissors commit -q",
        ),
        (
            "untouched, `;`",
            &nothing,
            "git -c core.commentChar=';' commit -q -v",
        ),
        (
            "untouched, `auto`",
            &nothing,
            "git -c core.commentChar=auto commit -q",
        ),
        (
            "untouched template",
            &nothing,
            "git -c commit.template=template commit -q",
        ),
        (
            "untouched template, -v",
            &nothing,
            "git commit -q -v -t template",
        ),
        (
            "untouched template, -s",
            &nothing,
            "git commit -q -s -t template",
        ),
        ("failing editor", &fails, "git commit -q"),
        ("emptied", &empties, "git commit -q"),
        ("emptied after -m", &empties, "git commit -q -m given -e"),
        ("only comments", &comments, "git commit -q"),
    ] {
        std::fs::write(repo.dir.join("file"), form).unwrap();
        let ran = agent.sh(&format!("git add -A && GIT_EDITOR={editor} {command}"));
        assert_ne!(ran.code, Some(0), "{form}: {ran:?}");
        assert_eq!(repo.id("HEAD"), before, "{form}");
        let notes = std::fs::read_dir(repo.dir.join(".git/siglum/commits")).unwrap();
        assert!(
            notes.count() <= 1,
            "{form}: only the last git can have left a note"
        );
    }
    repo.sh("git add -A && git commit -q -m later").ok();
    repo.check("a commit by nobody after it", "HEAD", "unknown unknown");
}

/// A person may throw the trailer away; the ledger keeps the link.
#[test]
fn a_trailer_that_is_taken_out_does_not_take_out_the_link() {
    let world = World::new();
    let repo = world.repo();
    let hook = repo.dir.join(".git/hooks/commit-msg");
    let ours = std::fs::read_to_string(&hook).unwrap();
    std::fs::write(&hook, format!("{ours}sed -i /Siglum/d \"$1\"\n")).unwrap();
    let mut agent = Agent::start(&repo, "plain");
    agent.sh("git commit -q --allow-empty -m one").ok();
    assert_eq!(repo.trailers("HEAD"), [""; 0]);
    assert_eq!(repo.committer("HEAD"), agent.certain());
}

/// The ids that `why` names are those that a later commit in the same second has, too.
#[test]
fn commits_in_quick_succession_stay_apart() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "quick");
    agent
        .sh("for n in 1 2 3 4 5 6; do git commit -q --allow-empty -m same; done")
        .ok();
    let mut all = Vec::new();
    for commit in repo.commits("HEAD~6..HEAD") {
        repo.check("quick", &commit, &agent.certain());
        all.extend(repo.trailers(&commit));
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6);
}
