//! How a launch ends: what is returned, and what is written down.

use super::{Launch, launched, sessions, show};
use crate::harness::{World, kill, until};

#[test]
fn the_exit_code_is_the_commands_and_the_end_is_written_down() {
    let world = World::new();
    let repo = world.repo();
    for (command, code, state) in [
        (&["true"][..], 0, "completed"),
        (&["sh", "-c", "exit 3"], 3, "failed"),
        (&["sh", "-c", "exit 255"], 255, "failed"),
        (&["sh", "-c", "kill -TERM $$"], 143, "signalled"),
        (&["sh", "-c", "kill -KILL $$"], 137, "signalled"),
        (&["/nowhere/at-all"], 127, "not-started"),
        (&["no-such-command"], 127, "not-started"),
        (&["/"], 126, "not-started"),
        (&["./plain"], 126, "not-started"),
    ] {
        std::fs::write(repo.dir.join("plain"), "").unwrap();
        let ran = repo.siglum(&[&["run", "--"], command].concat());
        assert_eq!(ran.code, Some(code), "{command:?} {ran:?}");
        assert_eq!(ran.stdout, "");
        let newest = sessions(&repo)[0]["id"].as_str().unwrap().to_owned();
        let session = show(&repo, &newest);
        let launch = &session["launch"];
        assert_eq!(launch["state"], state, "{command:?}");
        assert_eq!(session["session"]["state"], "ended", "{command:?}");
        match state {
            "signalled" => assert_eq!(launch["signal"], code - 128),
            "completed" => assert_eq!(launch["code"], serde_json::Value::Null),
            _ => assert_eq!(launch["code"], code),
        }
        // It ends with a checkpoint, as every session does.
        let sql = "SELECT count(*) FROM checkpoints WHERE kind = 'end'";
        assert_eq!(
            world.count(sql),
            i64::try_from(sessions(&repo).len()).unwrap()
        );
    }
}

#[test]
fn a_command_that_is_no_agent_has_none_in_answers() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["run", "--", "true"]).ok();
    let listed = sessions(&repo).swap_remove(0);
    assert!(listed.get("agent").is_none(), "{listed:#}");
    let id = listed["id"].as_str().unwrap();
    let shown = show(&repo, id);
    assert!(shown["session"].get("agent").is_none(), "{shown:#}");
    // A column must have a word.
    let table = repo.siglum(&["session", "list"]).ok();
    assert!(table.contains("unknown"), "{table}");
}

#[test]
fn the_command_has_what_the_launcher_has() {
    let world = World::new();
    let repo = world.repo();
    let siglum = World::program();
    let script = format!(
        "cd /; printf 'a\\0b' | '{}' -C '{}' run -- sh -c 'cat; pwd >&2; echo \"$1\"' x \"$(printf '\\377 y')\"",
        siglum.display(),
        repo.dir.display()
    );
    let output = Launch::command(&repo, &[], &script).output().unwrap();
    assert_eq!(output.stdout, b"a\0b\xff y\n");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.trim(), repo.dir.to_str().unwrap());
}

#[test]
fn a_directory_keeps_the_name_that_the_caller_has_for_it() {
    let world = World::new();
    let repo = world.repo();
    let link = world.root.join("link");
    std::os::unix::fs::symlink(&repo.dir, &link).unwrap();
    let (siglum, link) = (World::program(), link.display());
    let script = format!("cd '{link}' && '{}' run -- sh -c pwd", siglum.display());
    let output = Launch::command(&repo, &[], &script).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.trim(), link.to_string());
}

#[test]
fn a_launcher_that_was_killed_is_found_lost() {
    let world = World::new();
    let repo = world.repo();
    let siglum = World::program();
    let script = format!("exec '{}' run -- sleep 60", siglum.display());
    let mut launch = Launch::command(&repo, &[], &script).spawn().unwrap();
    until("it is launched", || !sessions(&repo).is_empty());
    assert_eq!(launched(&repo)["launch"]["state"], "running");
    kill(launch.id());
    launch.wait().unwrap();
    let session = launched(&repo);
    assert_eq!(session["launch"]["state"], "lost");
    assert_eq!(session["session"]["state"], "ended");
    let left = std::fs::read_dir(world.siglum_home().join("launches")).unwrap();
    assert_eq!(left.count(), 0, "its token is taken back");
}

#[test]
fn the_worker_finds_what_is_lost() {
    let world = World::new();
    let repo = world.repo();
    let siglum = World::program();
    let script = format!("exec '{}' run -- sleep 60", siglum.display());
    let mut launch = Launch::command(&repo, &[], &script).spawn().unwrap();
    until("it is launched", || !sessions(&repo).is_empty());
    kill(launch.id());
    launch.wait().unwrap();
    repo.siglum(&["worker", "--once"]).ok();
    let lost = "SELECT count(*) FROM statements WHERE kind = 'launch_ended' AND body LIKE '%lost%'";
    assert_eq!(world.count(lost), 1);
}

#[test]
fn an_agent_that_outlives_its_launcher_goes_on() {
    let world = World::new();
    let repo = world.repo();
    let (mut agent, launch) = Launch::agent(&repo, "one", &[], "--issue 42");
    agent.begin("startup");
    kill(launch.child.id());
    launch.over();
    let session = launched(&repo);
    assert_eq!(session["launch"]["state"], "lost");
    assert_eq!(session["session"]["ended_at"], serde_json::Value::Null);
    agent.sh(super::COMMIT).ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    assert_eq!(super::links(&why.0["committer"]), ["issue_number=42"]);
}

#[test]
fn where_recording_is_off_the_command_runs_without_a_session() {
    let world = World::new();
    let repo = world.repo();
    std::fs::write(repo.dir.join(".siglum.toml"), "record = false\n").unwrap();
    let ran = repo.siglum(&[
        "run",
        "--",
        "sh",
        "-c",
        "echo \"<$SIGLUM_SESSION_ID>\"; exit 4",
    ]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), "<>\n"));
    assert!(
        ran.stderr.contains("recording is off here"),
        "{}",
        ran.stderr
    );
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 0);
}
