//! Reading sessions: what of a conversation is shown, as a document, as it goes on, and by file.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Agent, World};

/// What nobody may run, open or believe.
const HOSTILE: &str =
    "</pre></div><script>alert(1)</script><img src=http://127.0.0.1:9/x onerror='a()'>";

#[test]
fn output_is_folded_and_edits_are_differences() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.write("cart.py", "total = 1\n");
    agent.change("cart.py", |text| text.replace('1', "2"));
    agent.sh("seq 10").ok();
    agent.stop();
    let shown = repo.siglum(&["show", "one"]).ok();
    let folded = "      1\n      2\n      3\n      … 7 more lines; pass `--full` to show all\n";
    assert!(shown.contains(folded), "{shown}");
    assert!(
        shown.contains("      -total = 1\n      +total = 2\n"),
        "{shown}"
    );
    let full = repo.siglum(&["show", "one", "--full"]).ok();
    assert!(full.contains("      9\n      10\n"), "{full}");
    assert!(!full.contains("more lines"), "{full}");
    let colored = repo.siglum(&["show", "one", "--color=always"]).ok();
    for part in ["\u{1b}[31m      -total = 1", "\u{1b}[32m      +total = 2"] {
        assert!(colored.contains(part), "{part}: {colored:?}");
    }
    let other = repo.siglum(&["show", "one", "--turn", "9"]);
    assert_eq!(other.code, Some(3), "{other:?}");
}

#[test]
fn a_turn_that_an_error_ended_says_so() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let error =
        json!({ "error": "rate_limit", "last_assistant_message": "API Error: Rate limit reached" });
    agent.hook("StopFailure", error);
    let shown = repo.siglum(&["show", "one"]).ok();
    assert!(
        shown.contains("Rate limit reached\n    failed: rate_limit"),
        "{shown}"
    );
    let shown = world.json(&repo.dir, &["session", "show", "one"]);
    assert_eq!(shown["turns"][0]["failure"], "rate_limit");
}

#[test]
fn a_page_needs_nothing_and_runs_nothing() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.prompt(HOSTILE);
    agent.write("page.html", &format!("{HOSTILE}\n"));
    agent.sh(&format!("echo \"{HOSTILE}\"")).ok();
    agent.stop();
    let page = repo.siglum(&["show", "one", "--html"]).ok();
    assert!(page.starts_with("<!DOCTYPE html>\n"), "{page}");
    assert!(page.contains("content=\"default-src 'none'; "), "{page}");
    for part in ["<script", "<img", "<link", "<iframe", " src=\"", " href="] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    let escaped = "&lt;script&gt;alert(1)&lt;/script&gt;";
    assert!(page.matches(escaped).count() >= 4, "{page}");
    assert!(page.contains("<details"), "{page}");
    let text = repo.siglum(&["show", "one", "--md"]).ok();
    assert!(text.contains("\n## Turn 2"), "{text}");
    let quoted = HOSTILE.replace('<', "&lt;");
    assert!(text.contains(&format!("\n> {quoted}\n")), "{text}");
}

#[test]
fn a_file_has_the_sessions_that_edited_it() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.prompt("Round the cart\nand so on");
    agent.write("src/cart.py", "total = 1\n");
    agent.sh("git add -A && git commit -qm cart").ok();
    agent.stop();
    drop(Agent::start(&repo, "two"));
    repo.siglum(&["worker", "--once"]).ok();
    let answer = world.json(&repo.dir, &["files", "src/cart.py"]);
    let sessions = answer["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1, "{answer}");
    assert_eq!(sessions[0]["edits"], 1, "{answer}");
    assert_eq!(sessions[0]["prompts"][0], "Round the cart\nand so on");
    assert_eq!(sessions[0]["commits"][0], repo.id("HEAD"), "{answer}");
    let shown = repo.siglum(&["files", "src/cart.py"]).ok();
    assert!(shown.ends_with("Round the cart"), "{shown}");
    // Also once it is gone, and from another directory.
    repo.git(&["rm", "-q", "src/cart.py"]);
    let shown = repo.siglum(&["files", "./src/cart.py"]).ok();
    assert!(shown.contains("claude-code"), "{shown}");
    let none = repo.siglum(&["files", "other.py"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""), "{none:?}");
    let outside = repo.siglum(&["files", "../other.py"]);
    assert_eq!(outside.code, Some(2), "{outside:?}");
}

#[test]
fn without_a_name_the_newest_session_is_shown_and_turns_of_a_commit_are_its_sessions() {
    let world = World::new();
    let repo = world.repo();
    let none = repo.siglum(&["show"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    let mut one = Agent::start(&repo, "one");
    one.sh("git commit -q --allow-empty -m cart").ok();
    let _two = Agent::start(&repo, "two");
    let shown = |args: &[&str]| world.json(&repo.dir, &[&["show"], args].concat());
    assert_eq!(shown(&[])["native_ids"][0], "two");
    for choice in [&["--full"][..], &["--limit", "1"], &["--turn", "1"]] {
        let behind = shown(&[&["HEAD"], choice].concat());
        assert_eq!(behind["native_ids"][0], "one", "{choice:?}");
    }
    assert_eq!(shown(&["HEAD"])["committer"]["verdict"], "certain");
    repo.sh("git commit -q --allow-empty -m script").ok();
    for command in [&["show", "HEAD", "--full"][..], &["resume", "HEAD"]] {
        let nobody = repo.siglum(command);
        assert_eq!(nobody.code, Some(3), "{command:?}: {nobody:?}");
    }
    one.prompt("Round it");
    let last = shown(&["--limit", "1"]);
    assert_eq!(last["native_ids"][0], "one");
    let turns = last["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 1, "{last}");
    assert!(turns[0].to_string().contains("Round it"), "{last}");
    let nobody = repo.siglum(&["show", "--team"]);
    assert_eq!(nobody.code, Some(2), "{nobody:?}");
}

#[test]
fn a_session_is_followed_to_its_end() {
    let world = World::new();
    let repo = world.repo();
    let none = repo.siglum(&["tail"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    let mut agent = Agent::start(&repo, "one");
    agent.prompt("Count to ten");
    agent.sh("seq 10").ok();
    let mut tail = repo.world.command(World::program());
    tail.arg("tail")
        .current_dir(&repo.dir)
        .stdout(Stdio::piped());
    let tail = tail.spawn().unwrap();
    agent.sh("seq 20").ok();
    agent.stop();
    agent.end("other");
    let output = tail.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for part in [
        "> Count to ten",
        "Bash seq 10",
        "Bash seq 20",
        "the turn ended",
    ] {
        assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
    }
    assert!(
        !text.contains("Please do the work"),
        "it begins with the last prompt: {text}"
    );
    let lines = repo.siglum(&["tail", "one", "--json"]).ok();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["schema"], "siglum.tail/1");
    }
}

#[test]
fn a_status_line_is_of_the_session_at_hand() {
    let world = World::new();
    let repo = world.repo();
    assert_eq!(repo.siglum(&["statusline"]).ok(), "");
    let mut first = Agent::start(&repo, "first");
    first.stop();
    let second = Agent::start(&repo, "second");
    repo.siglum(&["session", "rename", "first", "cart"]).ok();
    let names = |input: &str| {
        let mut command = repo.world.command(World::program());
        command
            .args(["statusline", "--format", "{agent} {name}"])
            .current_dir(&repo.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        names("{\"session_id\":\"first\",\"cwd\":\"/\"}"),
        "claude-code cart\n"
    );
    assert_eq!(names("{\"session_id\":\"nobody\"}"), "");
    // Without one that is named, it is the newest that is open.
    let newest = names("no JSON");
    assert!(
        newest.starts_with("claude-code ") && !newest.contains("cart"),
        "{newest}"
    );
    drop(second);
    // Where there is no ledger, none is begun.
    let away = world.root.join("away");
    std::fs::create_dir(&away).unwrap();
    let none = repo.sh(&format!(
        "SIGLUM_HOME='{0}/home' '{1}' statusline",
        away.display(),
        World::program().display()
    ));
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""), "{none:?}");
    assert_eq!(std::fs::read_dir(&away).unwrap().count(), 0);
}

#[test]
fn what_is_no_number_is_called_that() {
    let world = World::new();
    for words in [["log", "-n", "x"], ["search", "-n", "1.5"]] {
        let ran = world.siglum(&world.root, &words);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(": not a whole number"), "{ran:?}");
    }
}
