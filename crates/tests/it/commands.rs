//! What commands change, and what they leave alone.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::harness::{Agent, Container, Repo, World};

/// Everything in a directory: names, modes, contents.
fn snapshot(dir: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, name) = (
            entry.path(),
            entry.file_name().to_string_lossy().into_owned(),
        );
        let meta = fs::symlink_metadata(&path).unwrap();
        if meta.is_dir() {
            for (below, value) in snapshot(&path) {
                found.insert(format!("{name}/{below}"), value);
            }
        }
        let content = match fs::read_link(&path) {
            Ok(target) => target.to_string_lossy().into_owned().into_bytes(),
            Err(_) => fs::read(&path).unwrap_or_default(),
        };
        found.insert(name, (meta.permissions().mode(), content));
    }
    found
}

/// A repository without Siglum.
pub(crate) fn plain(world: &World) -> Repo<'_> {
    let dir = world.root.join("repo");
    fs::create_dir(&dir).unwrap();
    let repo = world.at(&dir);
    repo.sh("git init -q -b main . && git commit -q --allow-empty -m base")
        .ok();
    repo
}

/// Settings of an agent as people have them.
const SETTINGS: &str = "{\n  // my own remark\n  \"model\": \"opus\", /* kept */\n\t\"hooks\": {\n    \
                        \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"say done\" } ] } ],\n  },\n  \
                        \"z\": 1, \"a\": [1,\n2],\n}\n";

fn write_settings(world: &World, text: &str) {
    fs::create_dir_all(world.home().join(".claude")).unwrap();
    fs::write(world.home().join(".claude/settings.json"), text).unwrap();
}

fn settings(world: &World) -> String {
    fs::read_to_string(world.home().join(".claude/settings.json")).unwrap()
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let world = World::new();
    let repo = plain(&world);
    write_settings(&world, SETTINGS);
    let before = snapshot(&world.root);
    let ran = repo.siglum(&["init", "--dry-run"]);
    assert_eq!(snapshot(&world.root), before);
    let shown = ran.ok();
    for part in [
        "settings.json",
        "hooks/prepare-commit-msg",
        "hooks/post-rewrite",
        "+++",
        "hook claude-code",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("-  // my own remark"), "{shown}");
}

#[test]
fn without_an_answer_nothing_is_changed() {
    let world = World::new();
    let repo = plain(&world);
    let before = snapshot(&world.root);
    let ran = repo.siglum(&["init"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("--yes"), "{ran:?}");
    assert_eq!(snapshot(&world.root), before);
}

/// What a command shows at a terminal of 80 columns, with answers to its questions.
fn at_terminal(repo: &Repo<'_>, command: &str, answers: &str) -> String {
    let program = World::program();
    let script = format!(
        "printf '{answers}' | COLUMNS=80 script -qec '{} {command}' /dev/null",
        program.display()
    );
    repo.sh(&script).stdout.replace('\r', "")
}

#[test]
fn init_says_on_one_screen_what_it_changes_and_shows_the_rest_to_whoever_asks() {
    let world = World::new();
    let repo = plain(&world);
    write_settings(&world, SETTINGS);
    for agent in [".codex", ".gemini"] {
        fs::create_dir(world.home().join(agent)).unwrap();
    }
    let before = snapshot(&world.root);
    let shown = at_terminal(&repo, "init", "d\\nn\\n");
    assert_eq!(snapshot(&world.root), before, "{shown}");
    let question = "Change 10 files? [y]es, [n]o, [d]iff, [t] yes, without trailers:";
    let (screen, rest) = shown.split_once(question).expect(&shown);
    let (_, summary) = screen.split_once("each commit.\n\n").expect(screen);
    let rows = summary.lines().filter(|line| line.starts_with("  "));
    assert_eq!(rows.count(), 12, "{screen}");
    let words = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    let place = format!("where {} agents Claude Code,", repo.dir.display());
    let kept = format!(
        "without secrets, in {} sends nothing",
        world.siglum_home().display()
    );
    for part in [
        place.as_str(),
        "agents Claude Code, Codex, Gemini CLI: hooks in ~/.claude/settings.json",
        "git 6 hooks in",
        "trailer one line in the message of agents' commits, `Siglum-Checkpoint: chk_…`; none in yours",
        "reads agents' hook events and transcripts (including earlier ones), and git's history",
        "keeps prompts, responses, tool calls and file versions",
        kept.as_str(),
        "undo `siglum uninstall`",
    ] {
        assert!(words.contains(part), "{part}: {screen}");
    }
    assert!(!screen.contains("+++") && rest.contains("+++"), "{shown}");
    assert!(rest.contains("nothing was changed"), "{rest}");
}

#[test]
fn init_takes_no_for_an_answer_about_trailers() {
    let world = World::new();
    let repo = plain(&world);
    let shown = at_terminal(&repo, "init", "t\\n");
    assert!(shown.contains("Siglum is enabled."), "{shown}");
    let mut agent = Agent::start(&repo, "one");
    agent.sh("git commit -q --allow-empty -m one").ok();
    assert_eq!(repo.message("HEAD").trim(), "one");
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    let again = repo.siglum(&["init", "--yes", "--no-trailer"]);
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[test]
fn uninstall_says_what_it_removes_and_shows_the_rest_to_whoever_asks() {
    let world = World::new();
    let repo = world.repo();
    let shown = at_terminal(&repo, "uninstall", "d\\nn\\n");
    let question = "Make these changes? [y]es, [n]o, [d]iff:";
    let (screen, rest) = shown.split_once(question).expect(&shown);
    assert!(
        screen.contains("6 hooks in") && !screen.contains("+++"),
        "{screen}"
    );
    assert!(
        rest.contains("+++") && rest.contains("nothing was changed"),
        "{rest}"
    );
    // Who said no needs no hint how to say yes.
    assert!(!rest.contains("skip the confirmation"), "{rest}");
    assert!(repo.dir.join(".git/siglum").is_dir());
    let command = "uninstall --json 2>.git/shown";
    let answer = at_terminal(&repo, command, "d\\nn\\n");
    assert!(!answer.contains("+++"), "{answer}");
    let shown = fs::read_to_string(repo.dir.join(".git/shown")).unwrap();
    assert!(shown.contains("+++"), "{shown}");
    let shown = at_terminal(&repo, "uninstall", "y\\n");
    assert!(shown.contains("Siglum is off;"), "{shown}");
    assert!(!repo.dir.join(".git/siglum").exists());
}

#[test]
fn words_that_people_try_first_work() {
    let world = World::new();
    let repo = world.repo();
    for words in [
        "version",
        "version --json",
        "blame HEAD",
        "log -n 3",
        "sessions ls -n 1",
        "session ls",
        "checkpoints ls",
        "tokens ls",
        "search -n 2 base",
        "cost -n 2",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let ran = repo.siglum(&words);
        assert_ne!(ran.code, Some(2), "{words:?}: {ran:?}");
    }
    let shown = repo.siglum(&["version"]).ok();
    assert!(shown.starts_with("siglum 0."), "{shown}");
}

#[test]
fn commands_in_the_tables_of_the_readme_exist() {
    let readme = include_str!("../../../README.md");
    let world = World::new();
    let commands = plain(&world).commands_below(&[]);
    let rows = readme.lines().filter(|line| line.starts_with("| `siglum "));
    let spans = rows.flat_map(|row| row.split('`'));
    let named = spans.filter_map(|span| span.strip_prefix("siglum "));
    let named: Vec<&str> = named.filter_map(|rest| rest.split(' ').next()).collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(commands.iter().any(|command| command == name), "{name}");
    }
}

#[test]
fn the_version_says_how_it_was_built_what_is_in_it_and_which_ledgers_it_writes() {
    let world = World::new();
    let repo = world.repo();
    let version = world.json(&repo.dir, &["version"]);
    let build = version["build"].as_str().unwrap();
    assert!(["debug", "optimized"].contains(&build), "{version}");
    let features = version["features"].as_array().unwrap();
    let has = |feature: &str| features.iter().any(|one| one == feature);
    assert!(has("gateway"), "{version}");
    let schema = &version["schema"];
    assert_eq!(schema["sqlite"], world.count("PRAGMA user_version"));
    assert_eq!(schema["postgres"].is_u64(), has("postgres"), "{version}");
}

#[test]
fn init_twice_changes_nothing_the_second_time() {
    let world = World::new();
    let repo = plain(&world);
    write_settings(&world, SETTINGS);
    repo.siglum(&["init", "--yes"]).ok();
    let hooks = repo.dir.join(".git/hooks");
    let before = (snapshot(&hooks), settings(&world));
    let again = repo.siglum(&["init", "--yes"]);
    assert_eq!((snapshot(&hooks), settings(&world)), before);
    assert!(again.stderr.contains("nothing to change"), "{again:?}");
    assert!(!again.stdout.contains("+++"), "{again:?}");
    assert_eq!(world.count("SELECT count(*) FROM repositories"), 1);
}

#[test]
fn init_keeps_what_others_wrote_in_the_settings() {
    let world = World::new();
    let repo = plain(&world);
    write_settings(&world, SETTINGS);
    repo.siglum(&["init", "--yes"]).ok();
    let after = settings(&world);
    for part in [
        "// my own remark",
        "/* kept */",
        "say done",
        "\"z\": 1, \"a\": [1,\n2],",
    ] {
        assert!(after.contains(part), "{part}: {after}");
    }
    assert_eq!(after.matches("hook claude-code").count(), 13, "{after}");
}

#[test]
fn settings_that_cannot_be_read_are_left_alone() {
    for text in [
        "{ \"hooks\": ",
        "[]",
        "{ \"hooks\": 7 }",
        "{ \"hooks\": { \"Stop\": {} } }",
    ] {
        let world = World::new();
        let repo = plain(&world);
        write_settings(&world, text);
        let before = snapshot(&world.root);
        let ran = repo.siglum(&["init", "--yes"]);
        assert_eq!(ran.code, Some(1), "{text}: {ran:?}");
        assert!(ran.stderr.contains("settings.json"), "{ran:?}");
        assert_eq!(snapshot(&world.root), before, "{text}");
    }
}

#[test]
fn settings_that_are_a_link_are_written_through() {
    let world = World::new();
    let repo = plain(&world);
    write_settings(&world, "{}\n");
    let (link, real) = (
        world.home().join(".claude/settings.json"),
        world.home().join("dotfiles.json"),
    );
    fs::rename(&link, &real).unwrap();
    symlink("../dotfiles.json", &link).unwrap();
    repo.siglum(&["init", "--yes"]).ok();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(
        fs::read_to_string(&real)
            .unwrap()
            .contains("hook claude-code")
    );
}

#[test]
fn init_outside_of_a_repository_says_what_to_do() {
    let world = World::new();
    let ran = world.siglum(&world.root, &["init", "--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("not inside a git repository"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("hint:"), "{ran:?}");
}

#[test]
fn init_everywhere_records_sessions_without_switching_repositories_on() {
    let world = World::new();
    world
        .siglum(&world.root, &["init", "--global", "--yes"])
        .ok();
    let repo = plain(&world);
    let mut agent = Agent::start(&repo, "everywhere");
    agent.write("file", "one\n");
    agent.sh("git add -A && git commit -q -m x").ok();
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 1);
    assert_eq!(
        repo.trailers("HEAD"),
        [""; 0],
        "no hook of git is in this repository"
    );
}

#[test]
fn init_in_one_worktree_is_for_all() {
    let world = World::new();
    let repo = plain(&world);
    repo.git(&["worktree", "add", "-q", "../side"]);
    let side = repo.beside("../side");
    side.siglum(&["init", "--yes"]).ok();
    let mut agent = Agent::start(&repo, "main");
    agent.sh("git commit -q --allow-empty -m x").ok();
    repo.check("the other worktree", "HEAD", &agent.certain());
}

#[test]
fn why_without_siglum_or_without_a_commit_says_what_to_do() {
    let world = World::new();
    let repo = plain(&world);
    let ran = repo.siglum(&["why"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("siglum init"), "{ran:?}");
    repo.siglum(&["init", "--yes"]).ok();
    let ran = repo.siglum(&["why", "no-such-commit"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(
        repo.committer("HEAD"),
        "unknown unknown",
        "older than Siglum"
    );
    let ran = repo.siglum(&["why", "--no-such-flag"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let ran = repo.siglum(&["-C", "/no/such/directory", "why"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn files_of_siglum_are_for_their_owner_alone() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "private");
    agent.write("file", "one\n");
    agent.sh("git add -A && git commit -q -m x").ok();
    for (name, (mode, _)) in snapshot(&world.siglum_home()) {
        let open = mode & 0o077;
        let link = mode & 0o170_000 == 0o120_000;
        let inside = name.contains('/');
        assert!(
            link || inside || open == 0 || mode & 0o040_000 != 0,
            "{name}: {mode:o}"
        );
    }
    let mode = fs::metadata(world.siglum_home())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

#[test]
fn remove_restores_all_hooks_byte_for_byte() {
    let hooks_as_they_were: &[(&str, &str)] = &[
        ("none", ":"),
        (
            "no line end",
            "printf '#!/bin/sh\\ntrue' >.git/hooks/commit-msg; chmod +x .git/hooks/commit-msg",
        ),
        (
            "crlf",
            "printf '#!/bin/sh\\r\\ntrue\\r\\n' >.git/hooks/post-commit; chmod +x .git/hooks/post-commit",
        ),
        (
            "not executable",
            "printf '#!/bin/sh\\ntrue\\n' >.git/hooks/commit-msg; chmod -x .git/hooks/commit-msg",
        ),
        (
            "a link",
            "printf '#!/bin/sh\\ntrue\\n' >hook; chmod +x hook; ln -s ../../hook .git/hooks/commit-msg",
        ),
        (
            "odd mode",
            "printf '#!/bin/sh\\ntrue\\n' >.git/hooks/commit-msg; chmod 0711 .git/hooks/commit-msg",
        ),
        (
            "python",
            "printf '#!/usr/bin/env python3\\npass\\n' >.git/hooks/commit-msg; chmod +x .git/hooks/commit-msg",
        ),
    ];
    for (what, make) in hooks_as_they_were
        .iter()
        .chain(crate::foreign_hooks::MANAGERS)
    {
        let world = World::new();
        let dir = world.root.join("repo");
        fs::create_dir(&dir).unwrap();
        let repo = world.at(&dir);
        repo.sh(&format!(
            "git init -q -b main . && git commit -q --allow-empty -m base && {make}"
        ))
        .ok();
        let before = snapshot(&repo.dir);
        repo.siglum(&["init", "--yes"]).ok();
        assert_ne!(snapshot(&repo.dir), before, "{what}");
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(snapshot(&repo.dir), before, "{what}");
    }
}

#[test]
fn remove_restores_settings_byte_for_byte() {
    for text in [
        SETTINGS,
        "{}",
        "{}\n",
        "{\"hooks\":{}}",
        "{\r\n  \"a\": 1\r\n}\r\n",
    ] {
        let world = World::new();
        let repo = plain(&world);
        write_settings(&world, text);
        repo.siglum(&["init", "--yes"]).ok();
        assert_ne!(settings(&world), text);
        repo.siglum(&["uninstall", "--global", "--yes"]).ok();
        assert_eq!(settings(&world), text);
    }
}

#[test]
fn after_remove_nothing_is_recorded_and_what_was_is_kept() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "removed");
    agent.sh("git commit -q --allow-empty -m before").ok();
    repo.siglum(&["uninstall", "--yes"]).ok();
    agent.sh("git commit -q --allow-empty -m after").ok();
    assert_eq!(repo.trailers("HEAD"), [""; 0]);
    assert_eq!(repo.committer("HEAD~"), agent.certain());
}

/// Each process that opens the ledger reads all of the store's own log.
#[test]
fn a_command_leaves_a_short_log_where_no_worker_tidies_up() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let store = world.store();
    store.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let sql = "INSERT INTO meta (key, value) VALUES ('much', zeroblob(5 << 20))";
    store.execute(sql, []).unwrap();
    let log = world.siglum_home().join("ledger.db-wal");
    let bytes = || fs::metadata(&log).map_or(0, |m| m.len());
    assert!(bytes() > 5 << 20, "{}", bytes());
    repo.siglum(&["log"]).ok();
    assert_eq!(bytes(), 0);
}

/// What is kept of a demo shows how to look around, and binds nobody's agents to itself.
#[test]
fn a_demo_that_was_kept_changes_no_settings() {
    let world = World::new();
    let repo = plain(&world);
    let temporary = world.root.join("temporary");
    fs::create_dir(&temporary).unwrap();
    let program = World::program();
    let demo = format!(
        "TMPDIR='{}' '{}' demo --keep",
        temporary.display(),
        program.display()
    );
    let shown = world.sh(&world.root, &demo).ok();
    let look = shown
        .lines()
        .map(str::trim)
        .find(|line| line.starts_with("(cd "));
    let look = look.expect(&shown);
    let listed = world.sh(&world.root, look).ok();
    assert!(listed.contains("Add up the cart"), "{listed}");
    let home = look
        .split("SIGLUM_HOME=")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let init = format!(
        "SIGLUM_HOME='{}' '{}' init --yes",
        home.unwrap(),
        program.display()
    );
    let ran = repo.sh(&init);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("siglum demo") && ran.stderr.contains("SIGLUM_HOME"),
        "{ran:?}"
    );
    assert!(!repo.dir.join(".git/hooks/post-commit").exists());
    assert!(!world.home().join(".claude/settings.json").exists());
}

/// A container hides what it takes to know a person: that is no wrong answer.
#[test]
fn the_demo_in_a_container_ends_well() {
    let world = World::new();
    let repo = plain(&world);
    if let Some(mut container) = Container::start(&repo, "") {
        let ran = container.run(&format!("'{}' demo", World::program().display()));
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
}

#[test]
fn a_shell_is_offered_agents_sessions_and_commits() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent
        .sh("git commit -q --allow-empty -m \"$(printf 'Paint \\033[31mit')\"")
        .ok();
    let offered = |words: &str| {
        let command = format!(
            "SIGLUM_COMPLETE=zsh _CLAP_IFS='\n' _CLAP_COMPLETE_INDEX={} '{}' -- siglum {words} ''",
            words.split(' ').count() + 1,
            World::program().display()
        );
        let completions = repo.sh(&command).ok();
        let is_plain = |c: char| !c.is_control() || c == '\n';
        assert!(completions.chars().all(is_plain), "{completions:?}");
        completions
    };
    let commit = repo.git(&["rev-parse", "--short=10", "HEAD"]);
    repo.siglum(&["session", "list"]).ok();
    let completions = offered("show");
    assert!(
        completions.contains("claude-code, now  Please do the work."),
        "{completions}"
    );
    assert!(completions.contains(&format!("{commit}:Paint")));
    assert!(offered("why").contains(&commit));
    for command in ["cost --agent", "log --agent", "session list --agent"] {
        let agents = offered(command);
        for agent in [
            "claude-code:Claude Code",
            "codex:Codex",
            "gemini:Gemini CLI",
        ] {
            assert!(
                agents.lines().any(|line| line == agent),
                "{command}: {agents}"
            );
        }
    }
    assert_eq!(offered("serve").lines().find(|l| l.contains(&commit)), None);
    // Whoever asks where nothing is recorded is answered, and nothing is made.
    let away = world.root.join("away");
    fs::create_dir(&away).unwrap();
    let home = format!("cd '{0}'; export SIGLUM_HOME='{0}/none'; ", away.display());
    let variables = "SIGLUM_COMPLETE=bash _CLAP_IFS='\n' _CLAP_COMPLETE_INDEX=2";
    let program = World::program();
    let ran = repo.sh(&format!(
        "{home}{variables} '{}' -- siglum show ''",
        program.display()
    ));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(fs::read_dir(&away).unwrap().count(), 0);
}
