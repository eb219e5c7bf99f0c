//! Kinds of hooks that people have, each with Siglum and without: what a hook sees (its name, arguments,
//! environment, input, directory, open files) and what comes of it is the same, and nothing of it is
//! changed by `init` and `uninstall`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{CONTENT, observing, read_bytes};
use crate::harness::{Repo, World};

/// The hooks that each kind is put under. Git gives one of them something to read.
const NAMES: &[&str] = &[
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-rewrite",
    "post-checkout",
    "post-merge",
];

/// What each says of itself in a shell, in Python, Perl, Node and Tcl.
const SHELL: &str = "\"$OBSERVE\" \"$0\" \"$@\"\n";
const PYTHON: &str = r#"import os, sys
with open(os.environ['LOG'], 'a') as log:
    print('name', sys.argv[0], 'args', *sys.argv[1:], file=log)
    print('in', os.getcwd(), 'read', sys.stdin.read(), file=log)
    print(*sorted(f'{k}={v}' for k, v in os.environ.items()), sep='\n', file=log)
    print('open', *[f for f in range(10) if os.path.exists(f'/proc/self/fd/{f}') and f != log.fileno()], file=log)
"#;
const PERL: &str = r#"open(my $log, '>>', $ENV{LOG}); print $log "name $0 args @ARGV\n", map { "$_=$ENV{$_}\n" } sort keys %ENV;
print $log "read ", <STDIN>, "\n";
"#;
const NODE: &str = r#"const fs = require('fs');
let read = ''; try { read = fs.readFileSync(0, 'utf8'); } catch {}
fs.appendFileSync(process.env.LOG, [process.argv.slice(1).join(' '), read, JSON.stringify(process.env, Object.keys(process.env).sort())].join('\n') + '\n');
"#;
const TCL: &str = r#"set log [open $env(LOG) a]; puts $log "name $argv0 args $argv"
foreach key [lsort [array names env]] { puts $log "$key=$env($key)" }; puts $log "read [read stdin]"; close $log
"#;

/// All kinds: what each is called, and what the hook holds.
fn kinds() -> Vec<(&'static str, String)> {
    [shell_kinds(), other_kinds()].concat()
}

fn shell_kinds() -> Vec<(&'static str, String)> {
    let shell = |head: &str| format!("{head}\n{SHELL}");
    vec![
        ("sh", shell("#!/bin/sh")),
        ("sh -e", shell("#!/bin/sh -e")),
        ("dash", shell("#!/usr/bin/env dash")),
        ("bash", shell("#!/usr/bin/env bash")),
        ("strict bash", shell("#!/bin/bash\nset -euo pipefail")),
        ("no shebang", SHELL.to_owned()),
        (
            "exec",
            format!(
                "#!/bin/sh\nexec sh -c '{}' \"$(basename \"$0\")\" \"$@\"\n",
                SHELL.trim_end()
            ),
        ),
        (
            "exit in the middle",
            format!("#!/bin/sh\n{SHELL}exit 0\nnot a command\n"),
        ),
        (
            "function",
            format!("#!/bin/sh\nmain() {{\n{SHELL}}}\nmain \"$@\"\n"),
        ),
        (
            "own directory",
            format!(
                "#!/bin/sh\nHERE=$(cd \"$(dirname \"$0\")\" && pwd); echo \"$HERE\" >>\"$LOG\"\n{SHELL}"
            ),
        ),
        (
            "reads itself",
            format!("#!/bin/sh\ntail -n +4 \"$0\" | sh -s -- \"$@\"\nexit $?\n{SHELL}"),
        ),
        (
            "marked data",
            format!(
                "#!/bin/bash\nsed '1,/^DATA$/d' \"${{BASH_SOURCE[0]}}\" >>\"$LOG\"\n{SHELL}exit 0\nDATA\nmine\n"
            ),
        ),
    ]
}

/// The same in other languages, and what is no hook at all.
fn other_kinds() -> Vec<(&'static str, String)> {
    vec![
        ("python", format!("#!/usr/bin/env python3\n{PYTHON}")),
        (
            "python -u",
            format!("#!/usr/bin/env -S python3 -u\n{PYTHON}"),
        ),
        (
            "python in a shell",
            format!("#!/bin/sh\n''':'\nexec python3 \"$0\" \"$@\"\n'''\n{PYTHON}"),
        ),
        (
            "python by exec in quotes",
            format!("#!/bin/sh\n\"exec\" \"python3\" \"$0\" \"$@\"\n{PYTHON}"),
        ),
        ("perl", format!("#!/usr/bin/perl\n{PERL}")),
        (
            "perl in a shell",
            format!("#!/bin/sh\neval 'exec perl -x -S $0 ${{1+\"$@\"}}' if 0;\n#!perl\n{PERL}"),
        ),
        ("node", format!("#!/usr/bin/env node\n{NODE}")),
        (
            "node in a shell",
            format!("#!/bin/sh\n\":\" //; exec node \"$0\" \"$@\"\n{NODE}"),
        ),
        ("tcl", format!("#!/usr/bin/tclsh\n{TCL}")),
        (
            "tcl in a shell",
            format!("#!/bin/sh\n# next line \\\nexec tclsh \"$0\" ${{1+\"$@\"}}\n{TCL}"),
        ),
        ("failing", "#!/bin/sh\nexit 3\n".to_owned()),
        (
            "failing python",
            "#!/usr/bin/env python3\nimport sys\nsys.exit('no')\n".to_owned(),
        ),
        ("no such interpreter", "#!/no/such/program\n".to_owned()),
        (
            "carriage returns",
            format!("#!/bin/sh\r\n{}", SHELL.replace('\n', "\r\n")),
        ),
        (
            "changes the message",
            "#!/bin/sh\ntest -f \"${1-}\" && echo changed >>\"$1\"\nexit 0\n".to_owned(),
        ),
        ("empty", String::new()),
    ]
}

/// One moment for all, so that the same commits have the same names.
const MOMENT: &str =
    "export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'; ";

/// What is done where each hook runs.
const DEEDS: &str = r#"
run() { "$@" >>"${LOG%log}out" 2>>"${LOG%log}err"; echo "$? $1 $2" >>"${LOG%log}ends"; }
cd tree && echo one >file && git add file
run git commit -m one
run git commit --amend -m two
run git checkout -b side
run git commit --allow-empty -m side
run git checkout main
run git merge --no-ff -m merged side
run git rebase --force-rebase HEAD~1
GIT_EDITOR='sh -c "echo edited >>$1" --' run git commit --allow-empty
mkdir -p below && cd below && run git commit --allow-empty -m below
"#;

/// Everything that came of it, byte for byte, with the places taken out.
fn outcome(repo: &Repo<'_>) -> String {
    let write = format!("{{ {CONTENT}; }} >../content");
    repo.beside("tree").sh(&write);
    let read = |name: &str| read_bytes(repo, &repo.dir.join(name));
    // Git gives advice about a hook of theirs that cannot be run; ours can. That one cannot be started is said in
    // the words of the shell.
    let is_of_words = |line: &&str| {
        line.starts_with("hint: ") || line.contains("cannot exec '") || line.contains(": exec: ")
    };
    let said = ["out", "err"].map(read).concat();
    let lines = said.split_inclusive(['\r', '\n']);
    let said: String = lines.filter(|line| !is_of_words(line)).collect();
    let all = [read("log"), said, read("ends"), read("content")].join("\n--\n");
    // A shell corrects PWD where git was started below the checkout: any hook in a shell sees it like this,
    // and so does one in another language behind ours.
    all.replace("ABOVE/here/tree/below", "ABOVE/here/tree")
}

fn make(repo: &Repo<'_>, dir: &str, content: &str, mode: &str) {
    fs::create_dir_all(&repo.dir).unwrap();
    let base = "git init -q -b main tree && cd tree && git commit -q --allow-empty -m base";
    repo.sh(&format!("{MOMENT}{base}")).ok();
    let hooks = repo.dir.join("tree").join(dir);
    fs::create_dir_all(&hooks).unwrap();
    for name in NAMES {
        fs::write(hooks.join(name), content).unwrap();
        repo.sh(&format!("chmod {mode} '{}'", hooks.join(name).display()))
            .ok();
    }
}

fn snapshot(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    files
        .map(|f| {
            (
                f.file_name().to_string_lossy().into_owned(),
                fs::read(f.path()).unwrap_or_default(),
            )
        })
        .collect()
}

/// Compares one kind in one place.
fn compare(what: &str, dir: &str, content: &str, mode: &str, before_init: &str) {
    let world = World::new();
    let (plain, ours) = (
        world.at(&world.root.join("a/here")),
        world.at(&world.root.join("b/here")),
    );
    for repo in [&plain, &ours] {
        make(repo, dir, content, mode);
        repo.sh(&format!("{MOMENT}cd tree && {before_init}")).ok();
    }
    let tree = ours.beside("tree");
    let state = || {
        (
            snapshot(&tree.dir.join(dir)),
            fs::read(tree.dir.join(".git/config")).unwrap(),
        )
    };
    let before = state();
    let ran = tree.siglum(&["init", "--yes"]);
    assert_eq!(ran.code, Some(0), "{what}: {ran:?}");
    for repo in [&plain, &ours] {
        let log = repo.dir.join("log");
        repo.sh(&format!("{MOMENT}{}{DEEDS}", observing(repo, &log)));
    }
    assert_eq!(outcome(&ours), outcome(&plain), "{what}");
    if dir != ".git/hooks" {
        assert_eq!(
            state().0,
            before.0,
            "{what}: what is in the checkout stays as it is"
        );
    }
    // What waits because the ledger was busy comes in with the next command.
    tree.siglum(&["why"]);
    let is_seen = world.count("SELECT count(*) FROM commits") > 0;
    let has_commits = outcome(&plain).contains("\n0 git commit");
    assert!(is_seen || !has_commits, "{what}: siglum sees commits");
    tree.siglum(&["uninstall", "--yes"]).ok();
    assert_eq!(state(), before, "{what}");
    assert!(!tree.dir.join(".git/siglum-hooks").exists(), "{what}");
}

#[test]
fn hooks_in_the_git_directory_see_what_they_saw() {
    for (what, content) in kinds() {
        compare(what, ".git/hooks", &content, "755", ":");
    }
}

#[test]
fn hooks_in_the_checkout_see_what_they_saw() {
    for (what, content) in kinds().into_iter().step_by(3) {
        let set = "git config core.hooksPath .githooks && git add .githooks && git -c core.hooksPath= commit -qm hooks";
        compare(what, ".githooks", &content, "755", set);
    }
}

#[test]
fn hooks_that_are_switched_off_stay_off() {
    for (what, content) in kinds().into_iter().take(2) {
        compare(what, ".git/hooks", &content, "644", ":");
    }
}

#[test]
fn hooks_that_are_links_see_what_they_saw() {
    for link in [
        "mv .git/hooks tools && ln -s ../tools .git/hooks",
        "mkdir tools && mv .git/hooks/commit-msg tools/ && ln -s ../../tools/commit-msg .git/hooks/",
    ] {
        compare(
            link,
            ".git/hooks",
            &format!("#!/bin/sh\n{SHELL}"),
            "755",
            link,
        );
    }
}
