//! Small things that a person at a shell trips over.

use std::fs;

use serde_json::Value;

use crate::harness::{Agent, Terminal, World};

#[test]
fn errors_are_json_where_answers_are() {
    let world = World::new();
    let repo = world.repo();
    for (args, kind, code) in [
        (&["why", "nothing-like-it", "--json"][..], "not_found", 3),
        (&["log", "--no-such-flag", "--json"], "usage", 2),
        (
            &["check", "HEAD..", "--deny", "\"what\"", "--json"],
            "usage",
            2,
        ),
    ] {
        let ran = repo.siglum(args);
        assert_eq!((ran.code, &*ran.stdout), (Some(code), ""), "{args:?}");
        let error: Value = serde_json::from_str(&ran.stderr).expect(&ran.stderr);
        assert_eq!(error["schema"], "siglum.error/1", "{error}");
        let data = &error["data"];
        assert_eq!((&data["kind"], &data["code"]), (&kind.into(), &code.into()));
        assert_ne!(data["error"], "", "{error}");
    }
    let ran = repo.siglum(&["why", "nothing-like-it"]);
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
}

#[test]
fn a_session_is_found_by_how_its_own_id_begins() {
    let world = World::new();
    let repo = world.repo();
    let _one = Agent::start(&repo, "5d0c1f22-one");
    let _two = Agent::start(&repo, "5d0cffff-two");
    let show = |text: &str| repo.siglum(&["show", text]);
    assert!(show("5d0c1").ok().contains("5d0c1f22-one"));
    let many = show("5d0c");
    assert!(many.stderr.contains("is ambiguous"), "{}", many.stderr);
    assert_eq!(show("5d0").code, Some(3), "too little to mean one");
}

#[test]
fn without_a_home_nothing_is_done_to_agents() {
    let world = World::new();
    let repo = world.repo();
    let program = World::program();
    let program = program.display();
    for (home, args) in [
        ("-u HOME", "init --yes"),
        ("HOME=here", "import"),
        ("-u HOME", "uninstall --yes"),
    ] {
        let ran = repo.sh(&format!("env {home} '{program}' {args}"));
        assert_eq!(ran.code, Some(2), "{args}: {}", ran.stderr);
        assert!(ran.stderr.contains("HOME is not set"), "{}", ran.stderr);
    }
    repo.sh(&format!("env -u HOME '{program}' status")).ok();
}

/// A pager that the user names shows the answer; one that a repository names would be the repository's program.
#[test]
fn a_long_answer_at_a_terminal_goes_through_the_users_pager() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.sh("git commit -q --allow-empty -m 'Add it'").ok();
    let program = World::program();
    let program = program.display();
    let (mark, settings) = (world.root.join("mark"), world.root.join("settings"));
    let mut terminal = Terminal::open(&repo);
    let mut log = |before: &str, flags: &str| {
        let shown = terminal.run(&format!(
            "GIT_CONFIG_GLOBAL='{}' TERM=xterm {before} '{program}' log {flags}",
            settings.display()
        ));
        assert!(shown.contains("Add it"), "{before} {flags}: {shown}");
        shown.contains("paged")
    };
    repo.git(&[
        "config",
        "core.pager",
        &format!("touch '{}'; cat", mark.display()),
    ]);
    assert!(!log("PAGER=cat", ""));
    fs::write(&settings, "[core]\npager = sed s/^/paged/\n").unwrap();
    assert!(log("", ""), "the user's setting");
    assert!(log("GIT_PAGER='sed s/^/paged/' PAGER=cat", ""));
    for (before, flags) in [("GIT_PAGER=", ""), ("", "--no-pager"), ("", "--json")] {
        assert!(!log(before, flags), "{before} {flags}");
    }
    assert!(!log("TERM=dumb", ""), "a terminal that can show none");
    assert!(
        !mark.exists(),
        "nothing that the repository names was started"
    );
    let piped = terminal.run(&format!("TERM=xterm '{program}' log | cat"));
    assert!(!piped.contains("paged"), "{piped}");
}

/// As git does: files that options name are found from the directory of `-C`.
#[test]
fn relative_files_are_beneath_the_directory_of_the_option() {
    let world = World::new();
    let repo = world.repo();
    let elsewhere = world.root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let to = elsewhere.to_str().unwrap();
    repo.siglum(&["-C", to, "backup", "a.db", "--objects", "objects"])
        .ok();
    assert!(elsewhere.join("a.db").is_file());
    assert!(elsewhere.join("objects").is_dir());
    assert!(!repo.dir.join("a.db").exists());
}

#[test]
fn restore_asks_before_it_replaces_a_ledger() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    let backup = world.root.join("backup.db");
    let backup = backup.to_str().unwrap();
    repo.siglum(&["backup", backup]).ok();
    agent.prompt("What came after.");
    agent.quit();
    let ran = repo.siglum(&["restore", backup]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("--yes"), "{}", ran.stderr);
    let is_kept = |name: &str| name.contains("before-restore");
    let names = || {
        let entries = fs::read_dir(world.siglum_home()).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap())
    };
    assert!(!names().any(|name| is_kept(&name)), "nothing was changed");
    let page = repo.siglum(&["search", "What came after"]).ok();
    assert!(page.contains("What came after."), "{page}");
    let mut terminal = Terminal::open(&repo);
    let command = format!("'{}' restore '{backup}'", World::program().display());
    let mut answer = |key: &str, then: &str| {
        terminal.keys(&format!("{command}\n"), "[y/N]");
        terminal.keys(&format!("{key}\n"), then);
        terminal.ended().0
    };
    assert_eq!(answer("n", "nothing was restored"), "1");
    assert!(!names().any(|name| is_kept(&name)), "nothing was changed");
    assert_eq!(answer("y", "Restored"), "0");
    assert!(names().any(|name| is_kept(&name)));
    let ran = repo.siglum(&["search", "What came after"]);
    assert!(!ran.stdout.contains("What came after."), "{}", ran.stdout);
}

/// What is wrong with the file comes before anything else is waited for.
#[test]
fn restore_names_a_backup_that_is_not_there() {
    let world = World::new();
    let repo = world.repo();
    let lock = world.hold_worker();
    let ran = repo.siglum(&["restore", "/no/such.db"]);
    drop(lock);
    assert!(
        ran.stderr.contains("/no/such.db is not a file"),
        "{}",
        ran.stderr
    );
}
