//! What the example prints after a crash at each step of a turn, as its README says.

use std::path::Path;
use std::process::Command;

fn run(dir: &Path, more: &[&str]) -> (bool, String) {
    let mut runtime = Command::new(env!("CARGO_BIN_EXE_runtime"));
    runtime
        .arg("--ledger")
        .arg(dir.join("ledger.db"))
        .args(more);
    let output = runtime.args(["--issue", "42"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.success(), text)
}

#[track_caller]
fn check(step: &str, expected: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (ended, before) = run(dir.path(), &["--crash-after", step]);
    assert!(!ended && before.ends_with("crashed\n"), "{before}");
    let (ended, after) = run(dir.path(), &[]);
    assert!(ended, "{after}");
    let mut lines = after
        .lines()
        .skip_while(|line| line.starts_with("session "));
    for expected in expected {
        assert_eq!(lines.next(), Some(*expected), "{after}");
    }
    assert!(after.contains("turn-3 committed: receipt 3 "), "{after}");
}

#[test]
fn a_prompt_without_an_answer_is_taken_up() {
    let line = "recovered: somebody had asked; the turn goes on";
    check("prompt", &[line, "turn-2 prompt", "turn-2 call"]);
}

#[test]
fn a_call_without_a_result_is_held() {
    let held = "held: nobody knows whether tool:turn-2 was done";
    let rest = [
        "decided: failed",
        "recovered: nothing was open",
        "turn-3 prompt",
    ];
    check("call", &[held, rest[0], rest[1], rest[2]]);
}

#[test]
fn what_was_broken_off_is_kept_as_that() {
    let line = "recovered: the turn was broken off and is kept as that, receipt 2";
    check("result", &[line, "turn-3 prompt"]);
    check("answer", &[line, "turn-3 prompt"]);
}

#[test]
fn what_was_whole_is_committed() {
    let line = "recovered: the turn was whole and is committed, receipt 2";
    check("stop", &[line, "turn-3 prompt"]);
}

#[test]
fn what_was_committed_is_left_alone() {
    check("commit", &["recovered: nothing was open", "turn-3 prompt"]);
}
