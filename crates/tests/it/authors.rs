//! Who wrote the lines of a commit.

mod at_once;
mod carried;
mod elsewhere;
mod here;
mod random;

use serde_json::Value;

use crate::harness::{Agent, World};

fn one(name: &str, lines: u64) -> std::collections::BTreeMap<String, u64> {
    [(name.to_owned(), lines)].into()
}

#[test]
fn one_writes_and_another_commits() {
    let world = World::new();
    let repo = world.repo();
    let mut writer = Agent::start(&repo, "writer");
    let mut committer = Agent::start(&repo, "committer");
    writer.write("file", "one\ntwo\nthree\n");
    writer.stop();
    committer.sh("git add -A && git commit -q -m 'theirs'").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), committer.certain(), "{why}");
    assert_eq!(why.authors(), one("writer", 3), "{why}");
}

/// The tool has written the file and has not come to its end when somebody commits everything; the
/// answer is asked for before that, and again after it.
#[test]
fn a_file_that_is_committed_before_its_edit_has_ended() {
    let world = World::new();
    let repo = world.repo();
    let mut writer = Agent::start(&repo, "writer");
    let mut committer = Agent::start(&repo, "committer");
    let path = repo.dir.join("file");
    let mut call = serde_json::json!({
        "tool_name": "Write",
        "tool_use_id": "toolu_slow",
        "tool_input": {"file_path": path, "content": "one\ntwo\n"},
    });
    writer.hook("PreToolUse", call.clone());
    std::fs::write(&path, "one\ntwo\n").unwrap();
    committer.sh("git add -A && git commit -q -m 'theirs'").ok();
    assert_eq!(repo.why("HEAD").authors(), one("unknown", 2));
    call["tool_response"] = serde_json::json!({"type": "create"});
    writer.hook("PostToolUse", call);
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("writer", 2), "{why}");
    assert_eq!(why.committer(), committer.certain(), "{why}");
}

#[test]
fn lines_that_nobody_was_seen_writing_are_unknown() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", "a\nb\nc\n");
    std::fs::write(repo.dir.join("file"), "a\nhand\nb\nc\n").unwrap();
    agent.edit("file", "c\n", "c\nd\n");
    std::fs::write(repo.dir.join("other"), "x\ny\n").unwrap();
    agent.sh("git add -A && git commit -q -m mixed").ok();
    let why = repo.why("HEAD");
    let lines = why.lines("file");
    assert_eq!(lines["agent"], "1,3-5", "{why}");
    assert_eq!(lines["unknown"], "2", "{why}");
    assert_eq!(why.lines("other")["unknown"], "1-2", "{why}");
}

#[test]
fn only_what_a_commit_adds_has_authors_in_it() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "first");
    first.write("file", "a\nb\nc\n");
    first.sh("git add -A && git commit -q -m one").ok();
    let mut second = Agent::start(&repo, "second");
    second.edit("file", "b\n", "b2\nb3\n");
    second.sh("git commit -q -a -m two").ok();
    let why = repo.why("HEAD");
    assert_eq!(
        why.lines("file"),
        [("second".to_owned(), "2-3".to_owned())].into(),
        "{why}"
    );
    assert_eq!(repo.why("HEAD~").authors(), one("first", 3));
}

#[test]
fn a_file_that_was_deleted_and_written_again() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", "a\nb\n");
    agent
        .sh("git add -A && git commit -q -m one && git rm -q file && git commit -q -m gone")
        .ok();
    let gone = repo.why("HEAD");
    assert_eq!(gone.committer(), agent.certain());
    assert_eq!(gone.authors(), [].into(), "{gone}");
    agent.write("file", "c\na\n");
    agent.sh("git add -A && git commit -q -m again").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("agent", 2), "{why}");
}

#[test]
fn what_was_rewritten_before_the_commit_counts_for_the_last_writer() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "first");
    let mut second = Agent::start(&repo, "second");
    first.write("file", "a\nb\nc\n");
    second.write("file", "x\nb\ny\n");
    second.sh("git add -A && git commit -q -m both").ok();
    let lines = repo.why("HEAD").lines("file");
    assert_eq!(lines["second"], "1,3");
    assert_eq!(lines["first"], "2");
}

#[test]
fn partly_staged_work_of_two_sessions() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n' >file && git add file && git commit -q -m start").ok();
    let mut top = Agent::start(&repo, "top");
    let mut bottom = Agent::start(&repo, "bottom");
    top.edit("file", "1\n", "one\n");
    bottom.edit("file", "9\n", "nine\n");
    bottom
        .sh("printf 's\\nn\\ny\\n' | git add -p file >/dev/null && git commit -q -m bottom")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), bottom.certain(), "{why}");
    assert_eq!(
        why.lines("file"),
        [("bottom".to_owned(), "9".to_owned())].into(),
        "{why}"
    );
    bottom.sh("git commit -q -a -m top").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), bottom.certain(), "{why}");
    assert_eq!(
        why.lines("file"),
        [("top".to_owned(), "1".to_owned())].into(),
        "{why}"
    );
}

#[test]
fn a_renamed_file_keeps_what_was_written_in_it() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("old", "a\nb\nc\nd\ne\nf\n");
    agent
        .sh("git add -A && git commit -q -m one && git mv old new")
        .ok();
    agent.edit("new", "c\n", "C\n");
    agent.sh("git commit -q -a -m renamed").ok();
    let why = repo.why("HEAD");
    assert_eq!(
        why.lines("new").get("agent").map(String::as_str),
        Some("3"),
        "{why}"
    );
}

#[test]
fn files_that_are_no_text() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("empty", "");
    agent.write("without-end", "no line break");
    agent.write("crlf", "a\r\nb\r\n");
    agent.write("nul", "a\0b\n\0");
    agent.sh("git add -A && git commit -q -m odd").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain());
    assert_eq!(why.lines("without-end")["agent"], "1", "{why}");
    assert_eq!(why.lines("crlf")["agent"], "1-2", "{why}");
}

/// A formatter that a hook or a person runs over the file takes nothing from who wrote it, but for
/// the lines that it changed.
#[test]
fn a_formatter_between_takes_only_its_lines() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", "a\n  b\nc\n");
    agent
        .sh("sed -i 's/^ *//' file && git add -A && git commit -q -m formatted")
        .ok();
    let why = repo.why("HEAD");
    assert_eq!(why.lines("file")["agent"], "1,3", "{why}");
    assert_eq!(why.lines("file")["unknown"], "2", "{why}");
}

#[test]
fn the_same_file_in_two_worktrees_has_two_histories() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = repo.beside("../side");
    let (mut here, mut there) = (Agent::start(&repo, "here"), Agent::start(&side, "there"));
    here.write("file", "same\nhere\n");
    there.write("file", "same\nthere\n");
    here.sh("git add -A && git commit -q -m here").ok();
    there.sh("git add -A && git commit -q -m there").ok();
    assert_eq!(repo.why("main").authors(), one("here", 2));
    assert_eq!(repo.why("side").authors(), one("there", 2));
}

#[test]
fn a_line_of_a_file_has_its_own_answer() {
    let world = World::new();
    let repo = world.repo();
    let mut first = Agent::start(&repo, "first");
    first.write("file", "a\nb\n");
    first.sh("git add -A && git commit -q -m one").ok();
    let mut second = Agent::start(&repo, "second");
    second.edit("file", "b\n", "new\nb\n");
    second.sh("git commit -q -a -m two").ok();
    std::fs::write(repo.dir.join("file"), "top\na\nnew\nb\nlast\n").unwrap();
    repo.sh("git commit -q -a -m by-nobody").ok();
    let who = |line: u32| {
        let why = repo.why(&format!("file:{line}"));
        let author = &why.0["line"]["author"];
        let natives = author["native_ids"].as_array().unwrap();
        let name = natives.first().map_or("unknown", |n| n.as_str().unwrap());
        format!("{name} {}", why.0["subject"].as_str().unwrap())
    };
    let found: Vec<String> = (1..=5).map(who).collect();
    let nobody = "unknown by-nobody";
    assert_eq!(
        found,
        [nobody, "first one", "second two", "first one", nobody]
    );
    assert_eq!(repo.siglum(&["why", "file:6"]).code, Some(3));
    assert_eq!(repo.siglum(&["why", "nofile:1"]).code, Some(3));
}

/// Who asks about a line wants to know what its author was asked, and not who committed it.
#[test]
fn a_line_has_the_prompt_and_the_way_on_of_its_author() {
    let world = World::new();
    let repo = world.repo();
    // The answer is the same where no worker has looked at the edits yet.
    let _lock = world.hold_worker();
    let mut writer = Agent::start(&repo, "writer");
    writer.prompt("Write the first line.");
    writer.write("file", "a\n");
    writer.stop();
    writer.prompt("Now the second one.");
    writer.edit("file", "a\n", "a\nb\n");
    writer.stop();
    let prompt = |of: &Value| of["prompt"]["text"].as_str().unwrap_or("none").to_owned();
    let mut other = Agent::start(&repo, "other");
    other.prompt("Commit what is there.");
    other
        .sh("git add -A && git commit -q -m 'by the other'")
        .ok();
    assert_eq!(prompt(&repo.why("HEAD").0), "Commit what is there.");
    let lines = |when: &str| {
        let first = repo.why("file:1");
        assert_eq!(
            prompt(&first.0["line"]),
            "Write the first line.",
            "{when}: {first}"
        );
        assert_eq!(
            prompt(&repo.why("file:2").0["line"]),
            "Now the second one.",
            "{when}"
        );
        let shown = repo.siglum(&["why", "file:2"]).ok();
        let resumes = shown
            .lines()
            .filter(|line| line.starts_with("Resume"))
            .collect::<Vec<_>>();
        assert_eq!(resumes.len(), 1, "{when}: {shown}");
        assert!(resumes[0].contains("writer"), "{when}: {shown}");
        assert!(!shown.contains("Commit what is there."), "{when}: {shown}");
    };
    lines("committed by another session");
    repo.sh("git commit -q --amend -m 'a better word'").ok();
    lines("amended by a person");
    let amended = repo.why("HEAD");
    assert_eq!(prompt(&amended.0), "Now the second one.", "{amended}");
    let shown = repo.siglum(&["why"]).ok();
    assert!(
        shown.contains("Now the second one.") && shown.contains("Resume"),
        "{shown}"
    );
}
