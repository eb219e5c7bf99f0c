//! Hooks are guests in somebody's commit, and the worker is nobody's child: they hold nothing of their
//! host's and wait for nothing that is no file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::harness::{Agent, Ran, Repo, Talk, World, until};

fn fifo(path: &Path) {
    let _ = fs::remove_file(path);
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn the_worker_keeps_no_lock_of_whoever_commits() {
    let world = World::new();
    let repo = world.repo();
    // Git's own maintenance leaves the commit behind, with what it inherited.
    repo.git(&["config", "maintenance.auto", "false"]);
    let mut agent = Agent::start(&repo, "locked");
    agent.stop();
    until("the worker is done", || world.worker_is_done());
    let script = "flock held git commit -q --allow-empty -m one && flock -n held true && \
                  exec 8>high 19>higher && flock 8 && flock 19 && git commit -q --allow-empty -m two && \
                  exec 8>&- 19>&- && flock -n high true && flock -n higher true";
    let ran = agent.sh(&format!("bash -c '{script}'"));
    agent.stop();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_pipe_ends_with_the_commit() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "piped");
    agent.stop();
    let lock = world.siglum_home().join("worker.lock");
    let script = format!(
        "git commit -q --allow-empty -m one 3>&1 >/dev/null | cat; flock -n '{}' true || echo lives",
        lock.display()
    );
    // A pipe that the worker held would end with the worker, and its lock would be free each time. Where the machine is so
    // busy that the worker is gone by the time its lock is looked at, that shows nothing.
    until("a pipe ends while the worker of its commit lives", || {
        until("the worker is done", || world.worker_is_done());
        agent.bare_sh(&script).ok() == "lives"
    });
}

/// Whoever has no mask of his own leaves nothing for others to read.
#[test]
fn what_siglum_keeps_is_its_owners_alone() {
    let world = World::new();
    let dir = world.root.join("open");
    fs::create_dir(&dir).unwrap();
    let program = World::program();
    let script = format!(
        "umask 0; git init -q . && '{0}' init --yes && git commit -q --allow-empty -m one && '{0}' why && '{0}' log && \
         echo nothing | '{0}' hook claude-code PreToolUse; '{0}' worker --once",
        program.display()
    );
    world.sh(&dir, &script).ok();
    let home = world.siglum_home();
    assert!(
        home.join("siglum.log").exists(),
        "a payload that is none is logged"
    );
    let others = format!("find '{}' ! -type l -perm /077", home.display());
    assert_eq!(world.sh(&dir, &others).ok(), "");
    let others = "find .git/siglum ! -type l -perm /077";
    assert_eq!(world.sh(&dir, others).ok(), "");
}

/// Files of ours that somebody made a pipe of.
#[test]
fn pipes_in_the_place_of_files_hold_up_nothing() {
    let files: &[fn(&Repo<'_>)] = &[
        |repo| fifo(&repo.world.siglum_home().join("siglum.log")),
        |repo| fifo(&repo.world.siglum_home().join("worker.lock")),
        |repo| fifo(&repo.world.siglum_home().join("ledger.db-bound")),
        |repo| {
            let home = repo.world.siglum_home();
            fifo(&home.join("ledger.db-bound.part"));
            // So that it is made anew.
            let _ = fs::remove_file(home.join("ledger.db-bound"));
        },
        |repo| fifo(&repo.world.siglum_home().join("config.toml")),
        |repo| {
            let spool = repo.world.siglum_home().join("spool");
            fs::create_dir_all(&spool).unwrap();
            fifo(&spool.join("00000000000000000001-0000000000000000.json"));
        },
        |repo| {
            let notes = repo.dir.join(".git/siglum/commits");
            fs::create_dir_all(&notes).unwrap();
            fifo(&notes.join("1"));
        },
        |repo| fifo(&repo.dir.join(".git/siglum/message-.git.lock")),
        |repo| fifo(&repo.dir.join(".git/siglum/hooks-taken-over")),
        |repo| fifo(&repo.dir.join(".siglum.toml")),
    ];
    for (number, make) in files.iter().enumerate() {
        let world = World::new();
        let repo = world.repo();
        let mut agent = Agent::start(&repo, "blocked");
        agent.stop();
        until("the worker is done", || world.worker_is_done());
        make(&repo);
        let begun = Instant::now();
        agent.prompt("go on");
        agent.sh("git commit -q --allow-empty -m one").ok();
        agent.stop();
        // A hook that waited is ended in the end, and says so in the log. Where that is the pipe, only the time tells: of
        // all hooks that would wait, on a busy machine.
        let log = world.siglum_home().join("siglum.log");
        if fs::metadata(&log).is_ok_and(|log| !log.is_file()) {
            let took = begun.elapsed();
            assert!(took < Duration::from_secs(30), "{number}: {took:?}");
        } else {
            let text = fs::read_to_string(&log).unwrap_or_default();
            assert!(!text.contains("too_slow"), "{number}: {text}");
        }
        assert_eq!(repo.trailers("HEAD").len(), 1, "{number}");
    }
}

/// What commands read, too, in homes and repositories: none waits for a writer that never comes.
#[test]
fn pipes_in_the_place_of_files_hold_up_no_command() {
    let files: &[fn(&Repo<'_>) -> PathBuf] = &[
        |repo| repo.world.siglum_home().join("siglum.log"),
        |repo| repo.world.siglum_home().join("installed.json"),
        |repo| repo.world.siglum_home().join("known-ledger"),
        |repo| repo.world.siglum_home().join("telemetry.json"),
        |repo| repo.world.siglum_home().join("ledger.db"),
        |repo| repo.world.home().join(".config/siglum/config.toml"),
        |repo| repo.world.home().join(".config/siglum/prices.json"),
        |repo| repo.world.home().join(".claude/settings.json"),
        |repo| repo.world.home().join(".codex/config.toml"),
        |repo| repo.world.home().join(".codex/hooks.json"),
        |repo| repo.world.home().join(".gemini/settings.json"),
        |repo| {
            let dir = repo.world.home().join(".config/opencode");
            dir.join("plugins/siglum.js")
        },
        |repo| {
            let dir = repo.world.home().join(".pi/agent");
            dir.join("extensions/siglum.ts")
        },
        |repo| repo.world.home().join(".qwen/settings.json"),
        |repo| repo.world.home().join(".copilot/hooks/siglum.json"),
        |repo| repo.world.home().join(".copilot/config.json"),
        |repo| repo.dir.join(".claude/settings.json"),
        |repo| repo.dir.join(".siglum.toml"),
        a_version,
    ];
    let commands: &[&[&str]] = &[
        &["status"],
        &["agents"],
        &["doctor"],
        &["doctor", "--secrets"],
        &["cost"],
        &["verify"],
        &["config", "list"],
        &["config", "set", "record", "true"],
        &["doctor", "--fix"],
        &["init", "--yes"],
        &["init", "--telemetry", "--yes"],
        &["uninstall", "--yes"],
    ];
    for file in files {
        let world = World::new();
        let repo = world.repo();
        let mut agent = Agent::start(&repo, "blocked");
        agent.write("a", "one\n");
        agent.stop();
        drop(agent);
        until("the worker is done", || world.worker_is_done());
        let path = file(&repo);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fifo(&path);
        for command in commands {
            let mut run = world.command("timeout");
            run.args(["--kill-after=1", "10"]).arg(World::program());
            let ran = run.args(*command).current_dir(&repo.dir).output();
            let ran = Ran::from(ran.unwrap());
            let ended = matches!(ran.code, Some(0..=4));
            assert!(ended, "{}: {command:?}: {ran:?}", path.display());
        }
    }
}

/// A version of an edited file, as it is stored.
fn a_version(repo: &Repo<'_>) -> PathBuf {
    let objects = repo.world.siglum_home().join("objects");
    let script = format!("find '{}' -type f -size +0 | head -n 1", objects.display());
    let found = PathBuf::from(repo.sh(&script).ok());
    assert!(found.is_absolute());
    found
}

/// What an edit was made of is brought to the disk by the worker.
#[test]
fn no_hook_waits_for_a_file_version_to_be_on_the_disk() {
    let world = World::new();
    let repo = world.repo();
    let lock = world.hold_worker();
    let program = world.siglum_home().join("bin/siglum");
    let path = repo.dir.join("a.txt");
    let unsynced = || {
        let dir = world.siglum_home().join("objects/unsynced");
        fs::read_dir(dir).map_or(0, Iterator::count)
    };
    for event in ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"] {
        if event == "PostToolUse" {
            fs::write(&path, "one\n").unwrap();
        }
        let payload = json!({
            "session_id": "s1", "hook_event_name": event, "cwd": repo.dir, "prompt": "Go", "tool_name": "Write",
            "tool_use_id": "t1", "tool_input": { "file_path": path, "content": "one\n" },
            "tool_response": { "type": "create", "filePath": path, "content": "one\n", "structuredPatch": [] },
        });
        fs::write(world.root.join("payload"), payload.to_string()).unwrap();
        let script = format!(
            "strace -f -y -e trace=fsync,fdatasync,syncfs,sync -o ../trace '{}' hook claude-code <../payload",
            program.display()
        );
        repo.sh(&script).ok();
        let trace = fs::read_to_string(world.root.join("trace")).unwrap();
        let waits = trace.contains("/objects") || trace.contains("syncfs(");
        assert!(!waits, "{event}: {trace}");
    }
    assert!(unsynced() > 0, "the version is stored");
    drop(lock);
    until("the worker has synced it", || {
        repo.siglum(&["worker", "--once"]);
        unsynced() == 0
    });
}

/// A program that hangs is left by the hook itself, in the end.
#[test]
fn a_hook_that_hangs_is_over_some_day() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "hanging");
    agent.stop();
    // What was rewritten is read from standard input, which somebody holds open here.
    let script = "mkfifo in && exec 9<>in && .git/hooks/post-rewrite amend <&9 9>&-";
    let begun = Instant::now();
    repo.sh(script).ok();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}");
    let log = fs::read_to_string(world.siglum_home().join("siglum.log")).unwrap();
    assert!(log.contains("too_slow"), "{log}");
}

/// What a hook names as a transcript may be anything; only files are read, and the others hold up nobody.
#[test]
fn what_is_no_file_in_the_place_of_a_transcript_is_set_aside() {
    let world = World::new();
    let repo = world.repo();
    // Hooks refuse a link that leads away, so that its transcript is wanted by what came before the link alone. A worker
    // that saw then that there is none yet would be done with it.
    let lock = world.hold_worker();
    let mut pipe = Agent::start(&repo, "pipe");
    let mut directory = Agent::start(&repo, "directory");
    let mut device = Agent::start(&repo, "device");
    fs::create_dir_all(pipe.transcript().parent().unwrap()).unwrap();
    fifo(&pipe.transcript());
    fs::create_dir(directory.transcript()).unwrap();
    std::os::unix::fs::symlink("/dev/zero", device.transcript()).unwrap();
    drop(lock);
    for agent in [&mut pipe, &mut directory, &mut device] {
        agent.prompt("What is in there?");
        agent.stop();
    }
    let mut sound = Talk::start(&repo, "sound");
    sound.turn("Say something.");
    let read = "SELECT count(*) FROM segments WHERE stream = 'sound'";
    let mut doctor = repo.siglum(&["doctor"]);
    until(
        "the sound one is read, and the others are set aside",
        || {
            repo.siglum(&["worker", "--once"]).ok();
            doctor = repo.siglum(&["doctor"]);
            world.count(read) > 0 && doctor.stdout.contains("3 items failed repeatedly")
        },
    );
    let text: Vec<&str> = doctor.stdout.split_whitespace().collect();
    assert!(
        text.join(" ").contains("it is not a regular file"),
        "{doctor:?}"
    );
}

/// A transcript that kills whoever reads it is left alone in the end, and the others are read.
#[test]
fn a_transcript_that_no_worker_survives_is_set_aside() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "heavy");
    let lock = world.hold_worker();
    // One line, which is read in one piece: whoever reads it needs far longer than this test does to see that it began.
    let content = "word ".repeat(8_000_000);
    let line = json!({ "type": "user", "message": { "role": "user", "content": content } });
    fs::create_dir_all(agent.transcript().parent().unwrap()).unwrap();
    fs::write(agent.transcript(), format!("{line}\n")).unwrap();
    agent.prompt("Read all of it.");
    agent.stop();
    let mut sound = Talk::start(&repo, "sound");
    sound.turn("Say something.");
    drop(lock);
    let tries = || world.count("SELECT coalesce(max(tries), 0) FROM parked WHERE item = 'heavy'");
    let is_aside =
        || world.count("SELECT count(*) FROM parked WHERE item = 'heavy' AND reason <> ''");
    let mut killed = 0;
    while is_aside() == 0 {
        let before = tries();
        let mut worker = world.command(World::program());
        let mut worker = worker
            .args(["worker", "--once"])
            .current_dir(&repo.dir)
            .spawn()
            .unwrap();
        until("it begins to read, or is done", || {
            tries() > before || is_aside() > 0 || worker.try_wait().unwrap().is_some()
        });
        worker.kill().unwrap();
        worker.wait().unwrap();
        killed += 1;
        assert!(killed < 30, "{} tries", tries());
    }
    // It stays aside, whoever begins to work again.
    let before = tries();
    for _ in 0..3 {
        repo.siglum(&["worker", "--once"]).ok();
        assert_eq!((tries(), is_aside()), (before, 1));
    }
    assert!(world.count("SELECT count(*) FROM segments WHERE stream = 'sound'") > 0);
    let doctor = repo.siglum(&["doctor"]).stdout;
    assert!(
        doctor.contains("no attempt to process it ended"),
        "{doctor}"
    );
}
