//! Lines that git or a person carries to another place, with their writer.

use std::fs;

use super::one;
use crate::harness::{Agent, World};

const TEXT: &str = "first line\nsecond line\nthird line\nfourth line\nfifth line\n";

#[test]
fn a_file_that_is_moved_before_it_is_committed() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("new", TEXT);
    repo.sh("mv new moved && git add -A && git commit -q -m moved")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("agent", 5), "{why}");
    agent.edit("moved", "second line\n", "second line\nbetween\n");
    repo.sh("git mv moved again && git commit -q -a -m again")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("agent", 1), "{why}");
    repo.sh("git mv again once-more").ok();
    agent.edit("once-more", "between\n", "between\nand after\n");
    repo.sh("git commit -q -a -m more").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("agent", 1), "{why}");
}

#[test]
fn line_ends_that_only_the_checkout_has() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("printf '* text=auto eol=crlf\\n' >.gitattributes && printf 'a\\r\\nb\\r\\n' >file && git add -A && git commit -q -m start").ok();
    let mut agent = Agent::start(&repo, "agent");
    agent.edit("file", "b\n", "b\nof the agent\n");
    agent.write("new", "x\r\ny\r\n");
    assert!(
        fs::read_to_string(repo.dir.join("file"))
            .unwrap()
            .contains("agent\r\n")
    );
    agent.sh("git add -A && git commit -q -m work").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.lines("file"), one_range("agent", "3"), "{why}");
    assert_eq!(why.lines("new"), one_range("agent", "1-2"), "{why}");
}

fn one_range(who: &str, lines: &str) -> std::collections::BTreeMap<String, String> {
    [(who.to_owned(), lines.to_owned())].into()
}

#[test]
fn a_merge_has_the_lines_of_whoever_resolved_it() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("printf 'a\\nb\\nc\\n' >file && git add file && git commit -q -m start && git checkout -q -b side \
        && printf 'a\\nside\\nc\\n' >file && git commit -q -a -m side && git checkout -q main \
        && printf 'a\\nmain\\nc\\n' >file && git commit -q -a -m main").ok();
    let mut agent = Agent::start(&repo, "agent");
    assert_ne!(agent.sh("git merge side").code, Some(0));
    let conflict = fs::read_to_string(repo.dir.join("file")).unwrap();
    let middle = &conflict["a\n".len()..conflict.len() - "c\n".len()];
    agent.edit("file", middle, "main\nside\nboth of them\n");
    agent.sh("git add file && git commit -q --no-edit").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.lines("file"), one_range("agent", "4"), "{why}");
}

#[test]
fn a_file_of_a_submodule_below_the_session() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("git init -q -b main ../inner && cd ../inner && git commit -q --allow-empty -m inner")
        .ok();
    repo.sh("git -c protocol.file.allow=always submodule --quiet add ../inner inner && git commit -q -a -m 'a submodule'").ok();
    let inner = repo.beside("inner");
    inner.siglum(&["init", "--yes"]).ok();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("inner/file", TEXT);
    agent.write("file", "outside\n");
    agent
        .sh("cd inner && git add -A && git commit -q -m inside")
        .ok();
    let why = inner.why("HEAD");
    assert_eq!(why.authors(), one("agent", 5), "{why}");
    agent.sh("git add -A && git commit -q -m outside").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.lines("file"), one_range("agent", "1"), "{why}");
}

#[test]
fn a_file_of_another_worktree() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = repo.beside("../side");
    let mut agent = Agent::start(&repo, "agent");
    agent.write("../side/file", TEXT);
    agent
        .sh("cd ../side && git add -A && git commit -q -m there")
        .ok();
    let why = side.why("HEAD");
    assert_eq!(why.authors(), one("agent", 5), "{why}");
}

#[test]
fn an_amended_commit_keeps_its_writers_and_gains_one() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "first");
    first.write("file", TEXT);
    first.sh("git add -A && git commit -q -m one").ok();
    assert_eq!(repo.why("HEAD").authors(), one("first", 5));
    let mut second = Agent::start(&repo, "second");
    second.edit("file", "third line\n", "another third\n");
    repo.sh("git checkout -q --detach && git checkout -q main && git commit -q -a --amend -m two")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.lines("file")["second"], "3", "{why}");
    assert_eq!(why.lines("file")["first"], "1-2,4-5", "{why}");
}
