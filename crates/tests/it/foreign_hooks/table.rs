//! A table of kinds of hooks and of places for them. Each is used with Siglum and without: what git and
//! the hook print, how they end, and what is committed are the same, and `init` and `uninstall` leave the
//! hook as it was.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{CONTENT, observing, read_bytes};
use crate::harness::{Repo, World};

/// What is called what, which program it needs (a blank: none but `sh`), and its text. `BODY` stands for
/// lines of the shell that show what the hook sees.
type Kind = (&'static str, &'static str, &'static str);

const BODY: &str = "\"$OBSERVE\" \"$0\" \"$@\"; echo out; echo err >&2\n";

/// Shells, and flags that they are started with.
const SHELLS: &[Kind] = &[
    ("sh", "", "#!/bin/sh\nBODY"),
    ("sh, blank", "", "#! /bin/sh\nBODY"),
    ("bash", "bash", "#!/bin/bash\nBODY"),
    ("env bash", "bash", "#!/usr/bin/env bash\nBODY"),
    ("dash", "dash", "#!/usr/bin/env dash\nBODY"),
    ("zsh", "zsh", "#!/usr/bin/env zsh\nBODY"),
    ("zsh -e", "zsh", "#!/bin/zsh -e\nBODY"),
    ("ksh", "ksh", "#!/usr/bin/env ksh\nBODY"),
    ("mksh", "mksh", "#!/usr/bin/env mksh\nBODY"),
    ("yash", "yash", "#!/usr/bin/env yash\nBODY"),
    ("busybox", "busybox", "#!/bin/busybox sh\nBODY"),
    (
        "fish",
        "fish",
        "#!/usr/bin/env fish\necho $argv >>$LOG\ncat >>$LOG\n",
    ),
    ("sh -e", "", "#!/bin/sh -e\nBODY"),
    ("sh -u", "", "#!/bin/sh -u\nBODY"),
    ("sh -eu", "", "#!/bin/sh -eu\nBODY"),
    ("sh -x", "", "#!/bin/sh -x\nBODY"),
    ("sh -v", "", "#!/bin/sh -v\nBODY"),
    ("sh -f", "", "#!/bin/sh -f\nBODYecho /*\n"),
    ("sh -a", "", "#!/bin/sh -a\nBODYX=1\nenv | grep ^X=\n"),
    ("sh -n", "", "#!/bin/sh -n\nBODY"),
    ("sh -", "", "#!/bin/sh -\nBODY"),
    ("bash -ex", "bash", "#!/bin/bash -ex\nBODY"),
    ("bash --posix", "bash", "#!/bin/bash --posix\nBODY"),
    (
        "bash -O failglob",
        "bash",
        "#!/usr/bin/env -S bash -O failglob\nBODY",
    ),
    ("env -S bash -e", "bash", "#!/usr/bin/env -S bash -e\nBODY"),
    ("env -S bash -x", "bash", "#!/usr/bin/env -S bash -x\nBODY"),
    (
        "env -S and a variable",
        "bash",
        "#!/usr/bin/env -S FOO=1 bash\nBODYecho $FOO\n",
    ),
    (
        "BASH_ENV",
        "bash",
        "#!/usr/bin/env -S BASH_ENV=envfile bash\nBODY",
    ),
    ("no shebang", "", "BODY"),
    ("carriage return", "", "#!/bin/sh\r\nBODY"),
];

/// What shell scripts do.
const SCRIPTS: &[Kind] = &[
    ("number of a line", "", "#!/bin/sh\nBODYecho \"$LINENO\"\n"),
    (
        "trap with a line",
        "bash",
        "#!/bin/bash\nBODYtrap 'echo at $LINENO' ERR\nfalse\nexit 0\n",
    ),
    (
        "stack of lines",
        "bash",
        "#!/bin/bash\nf() { echo ${BASH_LINENO[0]}; }\nf\nBODY",
    ),
    (
        "trap at the end",
        "",
        "#!/bin/sh\ntrap 'echo bye' EXIT\nBODYexit 0\n",
    ),
    (
        "directory beside",
        "",
        "#!/bin/sh\nBODYfor f in \"$0\".d/*; do [ -x \"$f\" ] && \"$f\"; done\nexit 0\n",
    ),
    (
        "script beside",
        "",
        "#!/bin/sh\nBODY[ -f \"$0.local\" ] && . \"$0.local\"\nexit 0\n",
    ),
    (
        "library beside",
        "",
        "#!/bin/sh\n. \"$(dirname \"$0\")/library\"\nBODY",
    ),
    ("own path", "", "#!/bin/sh\necho \"$0\"\nBODY"),
    ("name only", "", "#!/bin/sh\necho \"${0##*/}\"\nBODY"),
    (
        "case of name",
        "",
        "#!/bin/sh\nBODYcase \"$0\" in *commit*) echo commit;; esac\n",
    ),
    (
        "here document",
        "",
        "#!/bin/sh\ncat <<END\n$0 $#\nEND\nBODY",
    ),
    (
        "quoted here document",
        "",
        "#!/bin/sh\ncat <<'END'\n$0 $LOG\nEND\nBODY",
    ),
    ("trace inside", "", "#!/bin/sh\nset -x\nBODY"),
    ("echo inside", "", "#!/bin/sh\nset -v\nBODY"),
    ("noglob", "", "#!/bin/sh\nset -o noglob\necho *\nBODY"),
    (
        "failglob",
        "bash",
        "#!/bin/bash\nshopt -s failglob\nBODYecho no-such-*\n",
    ),
    (
        "nullglob",
        "bash",
        "#!/bin/bash\nshopt -s nullglob\nBODYecho no-such-*\n",
    ),
    (
        "pipefail",
        "bash",
        "#!/bin/bash\nset -euo pipefail\nBODYfalse | true\n",
    ),
    (
        "output elsewhere",
        "",
        "#!/bin/sh\nexec >>\"$LOG\" 2>&1\nBODY",
    ),
    ("input elsewhere", "", "#!/bin/sh\nexec </dev/null\nBODY"),
    (
        "own descriptor",
        "",
        "#!/bin/sh\nexec 9>>\"$LOG\"\necho nine >&9\nBODY",
    ),
    (
        "reads lines",
        "",
        "#!/bin/sh\nwhile read -r line; do echo \"$line\"; done\nBODY",
    ),
    ("reads nothing", "", "#!/bin/sh\necho done >>\"$LOG\"\n"),
    (
        "terminal",
        "",
        "#!/bin/sh\n[ -t 0 ] || echo none\n[ -t 1 ] || echo none\nBODY",
    ),
    ("exec", "", "#!/bin/sh\nexec echo \"$@\"\n"),
    (
        "runs itself",
        "",
        "#!/bin/sh\nif [ -z \"$AGAIN\" ]; then AGAIN=1 exec sh \"$0\" \"$@\"; fi\nBODY",
    ),
    (
        "reads itself",
        "",
        "#!/bin/sh\nsed -n '/^#DATA/,$p' \"$0\"\nBODY#DATA\n",
    ),
    ("eval", "", "#!/bin/sh\neval 'echo \"$# arguments\"'\nBODY"),
    ("functions", "", "#!/bin/sh\nmain() { BODY}\nmain \"$@\"\n"),
    (
        "positions",
        "",
        "#!/bin/sh\nset -- a b c\necho \"$#\"\nBODY",
    ),
    ("background", "", "#!/bin/sh\n(echo later) & wait\nBODY"),
    ("elsewhere", "", "#!/bin/sh\ncd / && pwd\nBODY"),
    ("umask", "", "#!/bin/sh\numask 077; umask\nBODY"),
    (
        "git inside",
        "",
        "#!/bin/sh\ngit rev-parse --git-dir; git log -1 --format=%s 2>/dev/null\nBODY",
    ),
    (
        "no git directory",
        "",
        "#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE; git status -s -uno\nBODY",
    ),
    ("refuses", "", "#!/bin/sh\necho no >&2\nexit 7\n"),
    ("refuses by -e", "", "#!/bin/sh -e\nfalse\ntrue\n"),
    ("killed", "", "#!/bin/sh\nkill -TERM $$\n"),
    ("syntax error", "", "#!/bin/sh\nif then\n"),
    (
        "unset variable",
        "",
        "#!/bin/sh\nset -u\necho \"$no_such\"\n",
    ),
    (
        "edits the message",
        "",
        "#!/bin/sh\n[ -f \"$1\" ] && echo more >>\"$1\"\nexit 0\n",
    ),
    (
        "empties the message",
        "",
        "#!/bin/sh\n[ -f \"$1\" ] && : >\"$1\"\nexit 0\n",
    ),
    (
        "adds a file",
        "",
        "#!/bin/sh\nif [ $# = 0 ]; then echo x >added; git add added; fi\nexit 0\n",
    ),
    ("no last line break", "", "#!/bin/sh\necho end"),
    (
        "comments only",
        "",
        "#!/bin/sh\n# nothing, not even at $LINENO\n",
    ),
    ("bytes of Latin 1", "", "#!/bin/sh\n# caf\u{e9}\nBODY"),
    ("empty", "", ""),
    ("blank", "", "\n\n"),
    (
        "bytes that are no text",
        "",
        "#!/bin/sh\nBODYprintf '\\377\\000\\r'; printf '\\300\\n' >&2\n",
    ),
    (
        "no line break at the end of what it says",
        "",
        "#!/bin/sh\nBODYprintf end; printf end >&2\n",
    ),
    (
        "closes its input",
        "",
        "#!/bin/sh\nexec <&-\nprintf '%s\\n' \"$@\" >>\"$LOG\"\n",
    ),
    (
        "closes its output",
        "",
        "#!/bin/sh\nBODYexec >&- 2>&-\nexit 0\n",
    ),
    (
        "reads one line",
        "",
        "#!/bin/sh\nread -r line; echo \"$line\"\nBODY",
    ),
    (
        "shifts",
        "",
        "#!/bin/sh\nBODYif [ $# -gt 0 ]; then shift; fi\necho \"$@\"\n",
    ),
    ("shebang alone", "", "#!/bin/sh"),
];

/// What a script finds by git's path of hooks or by its own, and what it can tell of lines above its own.
const LOOKS: &[Kind] = &[
    (
        "library by git's path",
        "",
        "#!/bin/sh -a\n. \"$(git rev-parse --git-path hooks)/library\"\nBODY",
    ),
    (
        "library by the setting",
        "",
        "#!/bin/sh -a\n. \"$(git config core.hooksPath || echo .git/hooks)/library\"\nBODY",
    ),
    (
        "list of functions",
        "bash",
        "#!/bin/bash\nf() { echo f; }\nfor f in $(declare -F | awk '{print $3}'); do $f || exit 1; done\nBODY",
    ),
    (
        "directory by git's path",
        "",
        "#!/bin/sh -a\nfor f in \"$(git rev-parse --git-path hooks)\"/parts.d/*; do . \"$f\"; done\nunset f\nBODY",
    ),
    (
        "library in Python",
        "python3",
        "#!/usr/bin/env python3\nimport subprocess\n\
         of = subprocess.check_output(['git', 'rev-parse', '--git-path', 'hooks'], text=True)\n\
         print(open(of.strip() + '/library').read())\n",
    ),
    ("all names", "", "#!/bin/sh\nset | grep -c siglum_\nBODY"),
    (
        "functions by completion",
        "bash",
        "#!/bin/bash\ncompgen -A function\nBODY",
    ),
    (
        "own file",
        "",
        "#!/bin/sh\nhead -3 .git/hooks/commit-msg\nBODY",
    ),
    (
        "own file beside",
        "",
        "#!/bin/sh\nsed -n 2p \"$(dirname \"$0\")/commit-msg\"\nBODY",
    ),
    ("caller", "bash", "#!/bin/bash\nf() { caller 0; }\nf\nBODY"),
    ("last word", "bash", "#!/bin/bash\necho \"$_\"\nBODY"),
];

/// Other languages, and two in one.
const LANGUAGES: &[Kind] = &[
    (
        "python",
        "python3",
        "#!/usr/bin/env python3\nimport sys\nprint(sys.argv, sys.stdin.read())\n",
    ),
    (
        "python -u",
        "python3",
        "#!/usr/bin/env -S python3 -u\nimport sys\nprint(sys.argv)\n",
    ),
    (
        "python -I",
        "python3",
        "#!/usr/bin/env -S python3 -I\nimport sys\nprint(sys.argv, sys.path[0])\n",
    ),
    (
        "python in a shell",
        "python3",
        "#!/bin/sh\n''':'\nexec python3 \"$0\" \"$@\"\n'''\nimport sys\nprint(sys.argv)\n",
    ),
    (
        "perl",
        "perl",
        "#!/usr/bin/env perl\nprint \"$0 @ARGV\\n\", <STDIN>;\n",
    ),
    (
        "perl -w",
        "perl",
        "#!/usr/bin/perl -w\nprint \"$0 @ARGV \", __LINE__, \"\\n\";\n",
    ),
    (
        "perl by eval",
        "perl",
        "#!/bin/sh\neval 'exec perl -x $0 ${1+\"$@\"}' if 0;\n#!perl\nprint \"$0 @ARGV\\n\";\n",
    ),
    (
        "node",
        "node",
        "#!/usr/bin/env node\nconsole.log(process.argv.slice(1).join())\n",
    ),
    (
        "node in a shell",
        "node",
        "#!/bin/sh\n\":\" //; exec node \"$0\" \"$@\"\nconsole.log(process.argv.slice(1).join())\n",
    ),
    ("ruby", "ruby", "#!/usr/bin/env ruby\nputs $0, ARGV\n"),
    (
        "php",
        "php",
        "#!/usr/bin/env php\n<?php echo $argv[0], \"\\n\";\n",
    ),
    ("lua", "lua", "#!/usr/bin/env lua\nprint(arg[0], arg[1])\n"),
    (
        "awk",
        "awk",
        "#!/usr/bin/awk -f\nBEGIN { print ARGV[0], ARGC }\n",
    ),
    (
        "gawk",
        "gawk",
        "#!/usr/bin/gawk -f\nBEGIN { print ARGV[0], ARGC }\n",
    ),
    (
        "make",
        "make",
        "#!/usr/bin/make -f\nall:\n\t@echo made\n%:\n\t@echo $@\n",
    ),
    ("sed", "sed", "#!/bin/sed -nf\n1p\n"),
    (
        "tcl",
        "tclsh",
        "#!/usr/bin/env tclsh\nputs \"$argv0 $argv\"\n",
    ),
    ("true", "true", "#!/bin/true\n"),
    ("false", "false", "#!/bin/false\n"),
    ("cat", "cat", "#!/bin/cat\nmine\n"),
    ("no interpreter", "", "#!/no/such/program\n"),
    ("a program", "cc", "ELF"),
];

const PROGRAM: &str = "#include <stdio.h>\nint main(int n, char **v) { FILE *f = fopen(\".git/HEAD\", \"r\"); \
                       printf(\"%s %d\\n\", v[0], n); return f == 0; }\n";

/// Where hooks are, and what is done once they are in `.git/hooks`.
const PLACES: &[(&str, &str)] = &[
    ("in the git directory", ":"),
    (
        "in the checkout",
        "mv .git/hooks .githooks && git config core.hooksPath .githooks",
    ),
    (
        "behind a link",
        "mv .git/hooks tools && ln -s ../tools .git/hooks",
    ),
    (
        "links",
        "mv .git/hooks tools && mkdir .git/hooks && for f in tools/*; do ln -s \"../../$f\" .git/hooks/; done",
    ),
    (
        "one file",
        "cd .git/hooks && for f in *-*; do ln -f commit-msg $f; done 2>/dev/null; true",
    ),
    ("switched off", "chmod 644 .git/hooks/*"),
];

/// The commits: one, one more by amending, one from an editor, a merge.
const DEEDS: &str = r#"
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
run() { echo "\$ $*"; "$@"; echo "ended with $?"; }
{ run git commit -m one; run git commit --amend -m two
GIT_EDITOR='sed -i 1s/^/edited/' run git commit --allow-empty
run git merge --no-ff -m merged side; } >../out 2>../err </dev/null
"#;

fn has(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    program.is_empty() || std::env::split_paths(&paths).any(|dir| dir.join(program).exists())
}

fn make(repo: &Repo<'_>, kind: &Kind, place: &str) {
    fs::create_dir_all(&repo.dir).unwrap();
    let base = "git init -q -b main --template= . && git commit -q --allow-empty -m base && git branch side && \
                git checkout -q side && git commit -q --allow-empty -m side && git checkout -q main && \
                mkdir .git/hooks && echo text >file && git add file && echo 'echo library' >.git/hooks/library && \
                mkdir .git/hooks/parts.d && echo 'echo part' >.git/hooks/parts.d/one && \
                echo 'echo sourced' >envfile";
    let dates = "export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'";
    repo.sh(&format!("{dates}; {base}")).ok();
    let hooks = repo.dir.join(".git/hooks");
    let text = kind.2.replace("BODY", BODY);
    let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
    for name in [
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-rewrite",
        "post-merge",
    ] {
        if kind.2 == "ELF" {
            fs::write(repo.dir.join("../program.c"), PROGRAM).unwrap();
            repo.sh(&format!("cc -o .git/hooks/{name} ../program.c"))
                .ok();
        } else {
            fs::write(hooks.join(name), &latin).unwrap();
        }
    }
    repo.sh(&format!("chmod 755 .git/hooks/*-*; {place}")).ok();
}

/// All that is compared, byte for byte, but for what differs in any two repositories, and how git and shells say that a
/// hook cannot be run or was killed.
fn outcome(repo: &Repo<'_>) -> String {
    let read = |name: &str| read_bytes(repo, &repo.dir.join("..").join(name));
    let said = ["out", "err"].map(read).concat();
    let lines = said.split_inclusive(['\r', '\n']).filter(|line| {
        // Git's advice on hooks that are switched off or cannot be started, and the shell's words for the latter.
        !["hint: ", "error: cannot ", "fatal: cannot exec"]
            .iter()
            .any(|start| line.starts_with(start))
            && !line.contains("exec: ")
            // Git names the hook that it calls, which may be the one in front.
            && !line.contains(" died of signal ")
    });
    let said: String = lines.map(without_line_number).collect();
    [said, read("log"), read("content")].join("\n--\n")
}

/// A shell names the line of a mistake, which a block above it moves.
fn without_line_number(line: &str) -> String {
    let is_number = |part: &&str| {
        let digits = part.trim().trim_start_matches("line ");
        digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit())
    };
    match line.contains("hooks/") {
        true => line
            .split(':')
            .filter(is_number)
            .collect::<Vec<_>>()
            .join(":"),
        false => line.to_owned(),
    }
}

/// All files that may be hooks, and the settings.
fn state(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![(
        "config".to_owned(),
        fs::read(dir.join(".git/config")).unwrap(),
    )];
    for place in [".git/hooks", ".githooks", "tools"] {
        for entry in fs::read_dir(dir.join(place))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = format!("{place}/{}", entry.file_name().display());
            all.push((name, fs::read(entry.path()).unwrap_or_default()));
        }
    }
    all.sort();
    all
}

/// One row in one place; none if its program is not here.
fn compare(world: &World, number: usize, kind: &Kind, place: &(&str, &str)) -> Option<()> {
    let what = format!("{} {}", kind.0, place.0);
    if !has(kind.1) {
        eprintln!("skipped, without {}: {what}", kind.1);
        return None;
    }
    let at = |side: &str| world.at(&world.root.join(format!("{side}{number}/here")));
    let (plain, ours) = (at("a"), at("b"));
    for repo in [&plain, &ours] {
        make(repo, kind, place.1);
    }
    let before = state(&ours.dir);
    ours.siglum(&["init", "--yes"]).ok();
    for repo in [&plain, &ours] {
        let log = repo.dir.join("../log");
        repo.sh(&format!(
            "{}{DEEDS}{{ {CONTENT}; }} >../content",
            observing(repo, &log)
        ));
    }
    assert_eq!(outcome(&ours), outcome(&plain), "{what}");
    ours.siglum(&["uninstall", "--yes"]).ok();
    assert_eq!(state(&ours.dir), before, "{what}");
    Some(())
}

/// Each kind in the git directory, and every third in one of the other places.
fn compare_all(kinds: &[Kind]) {
    let world = World::new();
    let other = |number: usize| {
        number
            .is_multiple_of(3)
            .then(|| &PLACES[1 + number / 3 % (PLACES.len() - 1)])
    };
    let rows = kinds.iter().enumerate().flat_map(|(number, kind)| {
        let places = std::iter::once(&PLACES[0]).chain(other(number));
        places.map(move |place| (kind, place))
    });
    let rows: Vec<_> = rows.collect();
    let ran = rows
        .iter()
        .enumerate()
        .filter_map(|(number, (kind, place))| compare(&world, number, kind, place))
        .count();
    eprintln!("{ran} of {} rows ran", rows.len());
    assert!(ran * 2 > rows.len(), "most programs are here");
}

/// With what this machine has there are a hundred kinds.
#[test]
fn a_hundred_kinds_are_compared() {
    let all = [SHELLS, SCRIPTS, LOOKS, LANGUAGES].concat();
    let here = all.iter().filter(|kind| has(kind.1));
    let names: BTreeSet<&str> = here.map(|kind| kind.0).collect();
    assert!(names.len() >= 100, "{}", names.len());
}

#[test]
fn hooks_of_any_shell_do_what_they_did() {
    compare_all(SHELLS);
}

#[test]
fn hooks_of_any_script_do_what_they_did() {
    compare_all(&SCRIPTS[..SCRIPTS.len() / 2]);
}

#[test]
fn hooks_of_any_other_script_do_what_they_did() {
    compare_all(&SCRIPTS[SCRIPTS.len() / 2..]);
}

#[test]
fn hooks_that_look_at_files_beside_them_or_at_themselves_see_what_they_saw() {
    compare_all(LOOKS);
}

#[test]
fn hooks_of_any_language_do_what_they_did() {
    compare_all(LANGUAGES);
}
