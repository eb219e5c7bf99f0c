//! `siglum resume`: the session that is meant, the directory, and transcripts that agents deleted.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::{Agent, Repo, Talk, World, until};

/// As Claude Code names sessions.
pub(crate) const SESSION: &str = "82d22249-95b9-4f0e-8f56-1a2b3c4d5e6f";

/// A world in which a program of this name says where it runs, and with which words.
pub(crate) fn world_with(program: &str) -> World {
    let mut world = World::new();
    let dir = world.root.join("programs");
    fs::create_dir(&dir).unwrap();
    let path = dir.join(program);
    let script = "#!/bin/sh\necho \"in $(pwd -P)\"\nfor word; do echo \"<$word>\"; done\n";
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(dir).chain(std::env::split_paths(&others));
    let all = std::env::join_paths(dirs).unwrap();
    world.variables.push(("PATH", PathBuf::from(all)));
    world
}

/// A conversation of two turns whose transcript is in the ledger.
pub(crate) fn stored_talk<'w>(repo: &Repo<'w>) -> Talk<'w> {
    let mut talk = Talk::start(repo, SESSION);
    talk.turn("Round the cart");
    talk.turn("Add the taxes");
    talk.agent.quit();
    let bytes = fs::metadata(talk.agent.transcript()).unwrap().len();
    until("the transcript is stored", || {
        repo.siglum(&["worker", "--once"]).ok();
        let sql = format!("SELECT count(*) FROM transcripts WHERE read_to = {bytes}");
        repo.world.count(&sql) == 1
    });
    talk
}

/// The lines of a file, without the blanks at their ends.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|l| l.trim_end().to_owned()).collect()
}

#[test]
fn a_transcript_that_claude_code_deleted_is_put_back() {
    let world = world_with("claude");
    let repo = world.repo();
    let talk = stored_talk(&repo);
    let path = talk.agent.transcript();
    let before = lines(&path);
    let shown = repo.siglum(&["show", SESSION, "--full"]).ok();
    fs::remove_file(&path).unwrap();
    let ran = repo.siglum(&["resume", SESSION, "--", "--model", "opus"]);
    let expected = format!(
        "in {}\n<--resume>\n<{SESSION}>\n<--model>\n<opus>\n",
        repo.dir.display()
    );
    assert_eq!(ran.stdout, expected, "{ran:?}");
    assert!(ran.stderr.contains("Wrote ~/.claude/projects/"), "{ran:?}");
    assert_eq!(lines(&path), before);
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let beside = fs::read_dir(path.parent().unwrap()).unwrap();
    assert_eq!(beside.count(), 1, "nothing is left beside it");

    // What goes on in it is read on, and what was there is there once.
    let mut talk = talk.resumed(SESSION);
    talk.turn("Print the bill");
    drop(talk);
    let whole = || {
        repo.siglum(&["worker", "--once"]).ok();
        repo.siglum(&["show", SESSION, "--full"]).ok()
    };
    until("the next turn is read", || whole().contains("Turn 3"));
    let text = whole();
    assert!(text.contains("  > Print the bill"), "{text}");
    for prompt in ["  > Round the cart", "  > Add the taxes"] {
        let times = |text: &str| text.matches(prompt).count();
        assert_eq!(times(&text), times(&shown), "{prompt}: {text}");
    }
}

#[test]
fn a_file_that_is_there_is_never_replaced() {
    let world = world_with("claude");
    let repo = world.repo();
    let path = stored_talk(&repo).agent.transcript();
    fs::write(&path, "mine\n").unwrap();
    repo.siglum(&["resume", SESSION]).ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    // A link to nowhere is no place to write to.
    fs::remove_file(&path).unwrap();
    let elsewhere = world.root.join("elsewhere");
    symlink(&elsewhere, &path).unwrap();
    let ran = repo.siglum(&["resume", SESSION]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!elsewhere.exists() && fs::read_link(&path).is_ok());
    assert_eq!(ran.stdout, "", "{ran:?}");
}

#[test]
fn print_runs_nothing_and_writes_nothing() {
    let world = world_with("claude");
    let repo = world.repo();
    let path = stored_talk(&repo).agent.transcript();
    fs::remove_file(&path).unwrap();
    let printed = repo.siglum(&["resume", SESSION, "--print", "--", "a b", "it's"]);
    let expected = format!(
        "cd {} && claude --resume {SESSION} 'a b' 'it'\\''s'\n",
        repo.dir.display()
    );
    assert_eq!(printed.stdout, expected, "{printed:?}");
    let plan = world.json(&repo.dir, &["resume", SESSION]);
    assert_eq!(plan["transcript"], "deleted", "{plan}");
    assert_eq!(plan["command"], json!(["claude", "--resume", SESSION]));
    assert!(!path.exists());
}

#[test]
fn a_session_is_found_by_what_people_know_of_it() {
    let world = world_with("claude");
    let repo = world.repo();
    let mut talk = stored_talk(&repo);
    talk = talk.resumed(SESSION);
    talk.ask("Commit it");
    talk.agent.write("cart.py", "total = 1\n");
    talk.agent.sh("git add -A && git commit -qm cart").ok();
    talk.stop();
    talk.agent.quit();
    let mut other = Agent::start(&repo, "other-session");
    other.prompt("Round the corner");
    drop(other);
    repo.siglum(&["session", "rename", SESSION, "Cart of Ann"])
        .ok();
    for words in [
        &[&SESSION[..8]][..],
        &["HEAD"],
        &["cart.py:1"],
        &["Cart of Ann"],
        &["Cart"],
        &["taxes", "add"],
    ] {
        let ran = repo.siglum(&[&["resume", "--print"][..], words].concat());
        assert!(ran.stdout.contains(SESSION), "{words:?}: {ran:?}");
    }
    let several = repo.siglum(&["resume", "round"]);
    assert_eq!(several.code, Some(2), "{several:?}");
    assert!(several.stderr.contains("siglum resume "), "{several:?}");
    let none = repo.siglum(&["resume", "nobody-said-this"]);
    assert_eq!(none.code, Some(3), "{none:?}");
    let nothing = repo.siglum(&["resume"]);
    assert_eq!(nothing.code, Some(2), "nobody can choose: {nothing:?}");
    assert_eq!(nothing.stdout, "");
}

#[test]
fn a_person_at_a_terminal_chooses() {
    let world = world_with("claude");
    let repo = world.repo();
    drop(stored_talk(&repo));
    let program = World::program();
    let script = |answer: &str| {
        let shown = format!(
            "printf '{answer}\\n' | COLUMNS=80 script -qec '{} resume' /dev/null",
            program.display()
        );
        repo.sh(&shown).stdout.replace('\r', "")
    };
    let shown = script("1");
    assert!(shown.contains("  1  "), "{shown}");
    assert!(shown.contains("Round the cart"), "{shown}");
    assert!(shown.contains(&format!("<{SESSION}>")), "{shown}");
    for answer in ["0", "9", "x", ""] {
        let shown = script(answer);
        assert!(shown.contains("no session was chosen"), "{answer}: {shown}");
        assert!(!shown.contains("<--resume>"), "{answer}: {shown}");
    }
}

#[test]
fn a_project_that_moved_takes_its_sessions_along() {
    let world = world_with("claude");
    let repo = world.repo();
    let path = stored_talk(&repo).agent.transcript();
    let moved = world.root.join("moved");
    fs::rename(&repo.dir, &moved).unwrap();
    let moved = world.at(&moved);
    let ran = moved.siglum(&["resume", SESSION]);
    let expected = format!("in {}\n", moved.dir.display());
    assert!(ran.stdout.starts_with(&expected), "{ran:?}");
    let project = path.parent().unwrap().to_str().unwrap();
    let project = PathBuf::from(project.replace("-repo", "-moved"));
    let copy = project.join(format!("{SESSION}.jsonl"));
    assert_eq!(lines(&copy), lines(&path));
    // Where both are gone, it is in the ledger.
    fs::remove_file(&path).unwrap();
    fs::remove_file(&copy).unwrap();
    moved.siglum(&["resume", SESSION]).ok();
    assert!(copy.is_file() && !path.exists());
}

/// A rollout as Codex 0.169 begins one.
pub(crate) fn rollout(repo: &Repo<'_>, id: &str) -> String {
    let at = "2026-11-21T04:02:08.000Z";
    let line = |kind: &str, payload: serde_json::Value| {
        json!({ "timestamp": at, "type": kind, "payload": payload }).to_string()
    };
    let said = |role: &str, kind: &str, text: &str| {
        let content = json!([{ "type": kind, "text": text }]);
        line(
            "response_item",
            json!({ "type": "message", "role": role, "content": content }),
        )
    };
    let all = [
        line(
            "session_meta",
            json!({
                "session_id": id, "id": id, "timestamp": at, "cwd": repo.dir, "originator": "codex_exec",
                "cli_version": "0.169.0", "source": "exec", "model_provider": "lab",
            }),
        ),
        line(
            "event_msg",
            json!({ "type": "task_started", "turn_id": "t1", "root_turn_id": "t1" }),
        ),
        said("user", "input_text", "Shout the second line."),
        line(
            "event_msg",
            json!({
                "type": "item_completed", "thread_id": id, "turn_id": "t1",
                "item": {
                    "type": "UserMessage", "id": "item_1",
                    "content": [{ "type": "text", "text": "Shout the second line.", "text_elements": [] }],
                },
            }),
        ),
        said("assistant", "output_text", "Done."),
    ];
    all.map(|line| format!("{line}\n")).concat()
}

#[test]
fn a_transcript_that_codex_deleted_is_put_back_under_its_day() {
    let world = world_with("codex");
    let repo = world.repo();
    let id = "01a1fc44-c824-7a41-9678-86a903db1e79";
    let day = world.home().join(".codex/sessions/2026/11/21");
    fs::create_dir_all(&day).unwrap();
    let path = day.join(format!("rollout-2026-11-21T04-02-08-{id}.jsonl"));
    fs::write(&path, rollout(&repo, id)).unwrap();
    repo.siglum(&["import"]).ok();
    // What only its screen shows is not needed.
    let mut before = lines(&path);
    before.retain(|line| !line.contains("event_msg"));
    fs::remove_dir_all(world.home().join(".codex")).unwrap();
    let ran = repo.siglum(&["resume", id]);
    assert_eq!(
        ran.stdout,
        format!("in {}\n<resume>\n<{id}>\n", repo.dir.display()),
        "{ran:?}"
    );
    assert_eq!(lines(&path), before);
}

/// An agent's ids are opaque: none of them leads anywhere, and none is an option.
#[test]
fn ids_that_are_no_names_write_and_run_nothing() {
    let world = world_with("claude");
    let repo = world.repo();
    for id in ["--version", "a.b", "a;touch", "~root", "$(id)"] {
        drop(Agent::start(&repo, id));
        let listed = world.json(&repo.dir, &["session", "list", "--limit", "1"]);
        let session = listed["items"][0]["id"].as_str().unwrap();
        let ran = repo.siglum(&["resume", session]);
        let shown = repo.siglum(&["session", "show", session]).stdout;
        assert_eq!(
            shown.contains("claude --resume"),
            !id.starts_with('-'),
            "{shown}"
        );
        let projects = world.home().join(".claude/projects");
        let made: Vec<_> = fs::read_dir(projects).into_iter().flatten().collect();
        assert!(made.is_empty(), "{id}: {made:?}");
        match id.starts_with('-') {
            true => assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}"),
            // One word to the agent, whatever a shell would make of it.
            false => assert!(ran.stdout.is_empty() || ran.stdout.contains(&format!("<{id}>"))),
        }
    }
}

#[test]
fn a_session_takes_the_name_that_its_agent_gives_it() {
    let world = World::new();
    let repo = world.repo();
    let mut talk = Talk::start(&repo, SESSION);
    talk.turn("Round the cart");
    let title = |name: &str| {
        let line = json!({ "type": "custom-title", "customTitle": name, "sessionId": SESSION });
        let mut options = fs::OpenOptions::new();
        let mut file = options.append(true).open(talk.agent.transcript()).unwrap();
        writeln!(file, "{line}").unwrap();
    };
    title("Old name");
    title("Cart\u{1b}[31m rounding");
    title("Cart rounding");
    talk.turn("Go on");
    let listed = || {
        repo.siglum(&["worker", "--once"]).ok();
        repo.siglum(&["session", "list"]).ok()
    };
    until("the name is read", || listed().contains("Cart rounding"));
    assert!(!listed().contains("Old name"));
    repo.siglum(&["session", "rename", "Cart", "mine"]).ok();
    talk.turn("And on");
    assert!(listed().contains("mine"), "what a person says stands");
}

#[test]
fn names_are_given_and_replaced() {
    let world = World::new();
    let repo = world.repo();
    drop(Agent::start(&repo, "one-session"));
    drop(Agent::start(&repo, "two-session"));
    repo.siglum(&["session", "rename", "one-session", "cart work"])
        .ok();
    let answer = world.json(&repo.dir, &["session", "rename", "cart", "cart rounding"]);
    assert_eq!(answer["before"], "cart work", "{answer}");
    let shown = repo.siglum(&["show", "cart"]).ok();
    assert!(shown.contains("\"cart rounding\""), "{shown}");
    let listed = repo.siglum(&["session", "list"]).ok();
    assert!(listed.contains("cart rounding"), "{listed}");
    // A name that two sessions have, or begin with, is nobody's.
    repo.siglum(&["session", "rename", "two-session", "cart rounding"])
        .ok();
    for name in ["cart rounding", "cart"] {
        let ran = repo.siglum(&["session", "show", name]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    for bad in ["", " ", "a\nb", "deadbeef", "ses_1"] {
        let ran = repo.siglum(&["session", "rename", "one-session", bad]);
        assert_eq!(ran.code, Some(2), "{bad:?}: {ran:?}");
    }
}
