//! Two agents that have to do with each other.

use std::fs;

use super::agents::Start;
use super::lab::Lab;

#[test]
fn two_at_once_in_one_worktree() {
    let Some(lab) = Lab::open() else { return };
    let [left, right] = ["left", "right"].map(|script| lab.start(Start::New, script));
    let (left, right) = (left.finish(), right.finish());

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    assert_eq!(book.session(&left).scripts(), ["left"]);
    assert_eq!(book.session(&right).scripts(), ["right"]);
    for native in [&left, &right] {
        assert_eq!(book.session(native).parent, None);
    }
    // The first commit takes up what the other session wrote meanwhile.
    let both = lab.git(&["rev-parse", "HEAD^"]);
    let why = lab.why(&both, &left, "certain", &book);
    why.wrote(&[("left.txt", &left), ("right.txt", &right)]);
    let why = lab.why(&lab.head(), &right, "certain", &book);
    why.wrote(&[("right2.txt", &right)]);
}

/// Nobody waits for anybody: a commit may take up the files of another session, or fail.
#[test]
fn three_that_race() {
    let Some(lab) = Lab::open() else { return };
    let scripts = [
        ("write_commit", "add hello"),
        ("write_commit2", "add second"),
        ("edit", "edit the list"),
    ];
    let running = scripts.map(|(script, subject)| (lab.start(Start::New, script), subject));
    let sessions = running.map(|(agent, subject)| (agent.finish(), subject));

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    // Git keeps the message of a commit that is being made in one file of the checkout: of two that are made at once,
    // one may get the other's. Whose commit it is, the process tells.
    let mut made = Vec::new();
    for commit in lab.git(&["rev-list", "--max-parents=1", "HEAD"]).lines() {
        if lab.git(&["log", "-1", "--format=%P", commit]).is_empty() {
            continue;
        }
        let committer = lab.look_why(commit).committer().0;
        let native = committer.unwrap_or_else(|| panic!("nobody made {commit}"));
        let subject = lab.git(&["log", "-1", "--format=%s", commit]);
        if sessions
            .iter()
            .any(|(of, own)| *of == native && *own == subject)
        {
            lab.why(commit, &native, "certain", &book);
        }
        made.push(native);
    }
    made.sort();
    let mut reported: Vec<String> = Vec::new();
    for (native, _) in &sessions {
        match book.session(native).outcomes("Bash")[..] {
            ["ok"] => reported.push(native.clone()),
            ref other => assert_eq!(other, ["failed"]),
        }
    }
    reported.sort();
    assert_eq!(made, reported, "who made commits, and who was told so");
    for (path, by) in ["hello.txt", "second.txt", "src/list.txt"]
        .iter()
        .zip(&sessions)
    {
        let adding = lab.git(&["log", "--format=%H", "--diff-filter=A", "--", path]);
        let lines = lab.look_why(&adding).lines();
        let writers: Vec<_> = lines[*path]
            .iter()
            .filter_map(|l| l.split_once(':'))
            .collect();
        assert!(
            writers.iter().all(|(native, _)| *native == by.0),
            "{path}: {lines:?}"
        );
    }
}

#[test]
fn one_inside_another() {
    let Some(lab) = Lab::open() else { return };
    let inner = "33333333-2222-4333-8444-555555555555";
    let command = lab.claude(Start::Named(inner), &lab.prompt("write_commit"));
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line: Vec<String> = words.map(quoted).collect();
    fs::write(lab.beside("nested.sh"), line.join(" ")).expect("a script");
    let outer = lab.run(Start::New, "nested");

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let parent = Some(("nested".to_owned(), book.session(&outer).id.clone()));
    assert_eq!(book.session(inner).parent, parent);
    assert_eq!(book.session(&outer).parent, None);
    let by_inner = lab.git(&["rev-parse", "HEAD^"]);
    let why = lab.why(&by_inner, inner, "certain", &book);
    why.wrote(&[("hello.txt", inner)]);
    assert_eq!(why.parents(), [outer.as_str()]);
    let why = lab.why(&lab.head(), &outer, "certain", &book);
    assert_eq!(why.parents(), [""; 0]);
    why.wrote(&[]);
}
