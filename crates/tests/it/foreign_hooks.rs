//! Other people's hooks and hook managers: run beside ours, left intact, byte for byte.

mod kinds;
mod places;
mod table;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::harness::{Agent, Repo, World, characters};

/// A repository whose hooks a script made before Siglum came.
fn with_hooks<'w>(world: &'w World, script: &str) -> Repo<'w> {
    world.repo_made_by(&format!(
        "git init -q -b main . && git commit -q --allow-empty -m base && {script}"
    ))
}

/// An agent commits; the link is there.
fn links(repo: &Repo<'_>) {
    let mut agent = Agent::start(repo, "linked");
    agent.sh("git commit -q --allow-empty -m linked").ok();
    repo.check("beside other hooks", "HEAD", &agent.certain());
}

/// A program that a hook of a shell tells its own path and its arguments: with them it writes down, in bytes, where it
/// runs, what it is given to read, its environment, and which files are open, the last ones by what they are.
const OBSERVER: &str = "#!/bin/sh
readlink /proc/self/fd/3 3>&1 >>\"$LOG\"
exec >>\"$LOG\"
printf '%s\\0' \"$@\"; pwd; umask; ls /proc/self/fd; readlink /proc/self/fd/0 /proc/self/fd/2
cat
env -0 | sort -z
";

/// Has shells called with `LOG` and `OBSERVE` set.
fn observing(repo: &Repo<'_>, log: &Path) -> String {
    let observer = repo.world.root.join("observer");
    fs::write(&observer, OBSERVER).unwrap();
    fs::set_permissions(&observer, fs::Permissions::from_mode(0o755)).unwrap();
    format!(
        "export LOG='{}' OBSERVE='{}'",
        log.display(),
        observer.display()
    )
}

/// What a file has, with the place of the repository and the numbers of pipes taken out. Each byte is a character.
fn read_bytes(repo: &Repo<'_>, path: &Path) -> String {
    let text = characters(&fs::read(path).unwrap_or_default());
    let above = repo.dir.parent().unwrap().to_str().unwrap();
    let text = text.replace(above, "ABOVE");
    let mut parts = text.split("pipe:[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        before + "pipe" + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}

/// What a repository has: where HEAD is, the commits, the index, all files, and the message as git left it.
const CONTENT: &str = "git symbolic-ref HEAD; git rev-list --all | git cat-file --batch; git ls-files -s; \
                       git status --porcelain; cat .git/COMMIT_EDITMSG; \
                       find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum";

/// A hook that notes its name and arguments in `ran`, and copies its input.
const NOTES: &str = "#!/bin/sh\nline=\"$(basename \"$0\") $#\"\n\
                     case $0 in *post-rewrite*) line=\"$line $(cat | tr '\\n' ';')\";; esac\n\
                     echo \"$line\" >>ran\n";

fn noting(names: &[&str], dir: &str, interpreter: &str) -> String {
    let text = NOTES
        .replace("#!/bin/sh", interpreter)
        .replace("$(basename \"$0\")", "${0##*/}");
    let write =
        |name: &&str| format!("cat >{dir}/{name} <<'HOOK'\n{text}HOOK\nchmod +x {dir}/{name}");
    let all: Vec<String> = names.iter().map(write).collect();
    format!("mkdir -p {dir}\n{}", all.join("\n"))
}

#[test]
fn hooks_that_were_there_still_run() {
    for interpreter in ["#!/bin/sh", "#!/usr/bin/env bash"] {
        let world = World::new();
        let names = [
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "post-rewrite",
        ];
        let repo = with_hooks(&world, &noting(&names, ".git/hooks", interpreter));
        links(&repo);
        let ran = fs::read_to_string(repo.dir.join("ran")).unwrap();
        let lines: Vec<&str> = ran.lines().collect();
        assert_eq!(
            lines,
            [
                "pre-commit 0",
                "prepare-commit-msg 2",
                "commit-msg 1",
                "post-commit 0"
            ]
        );
        repo.sh("git commit -q --amend --allow-empty -m two").ok();
        let ran = fs::read_to_string(repo.dir.join("ran")).unwrap();
        let rewrite = ran.lines().last().unwrap();
        let (old, new) = (repo.id("HEAD@{1}"), repo.id("HEAD"));
        assert!(rewrite.starts_with("post-rewrite 1"), "{ran}");
        assert!(rewrite.contains(&format!("{old} {new}")), "{ran}");
    }
}

#[test]
fn hooks_that_are_no_shell_scripts_are_chained() {
    let world = World::new();
    let python = "cat >.git/hooks/commit-msg <<'HOOK'\n#!/usr/bin/env python3\nimport sys\n\
                  open('ran', 'a').write(f'{len(sys.argv)}\\n')\nHOOK\nchmod +x .git/hooks/commit-msg";
    let repo = with_hooks(&world, python);
    links(&repo);
    assert_eq!(fs::read_to_string(repo.dir.join("ran")).unwrap(), "2\n");
}

#[test]
fn a_foreign_hook_that_refuses_makes_no_false_link() {
    for hook in ["pre-commit", "prepare-commit-msg", "commit-msg"] {
        let world = World::new();
        let refuse = format!(
            "printf '#!/bin/sh\\ntest ! -e refuse\\n' >.git/hooks/{hook}; chmod +x .git/hooks/{hook}"
        );
        let repo = with_hooks(&world, &refuse);
        let before = repo.id("HEAD");
        let mut agent = Agent::start(&repo, "refused");
        fs::write(repo.dir.join("refuse"), "").unwrap();
        let ran = agent.sh("git commit -q --allow-empty -m refused");
        assert_ne!(ran.code, Some(0), "{hook} still decides");
        assert_eq!(repo.id("HEAD"), before);
        fs::remove_file(repo.dir.join("refuse")).unwrap();
        repo.sh("git commit -q --allow-empty -m 'by nobody'").ok();
        repo.check(hook, "HEAD", "unknown unknown");
        agent.sh("git commit -q --allow-empty -m again").ok();
        repo.check(hook, "HEAD", &agent.certain());
    }
}

#[test]
fn a_hooks_path_inside_the_repository() {
    let world = World::new();
    let make = format!(
        "git config core.hooksPath tools/hooks\n{}",
        noting(&["commit-msg"], "tools/hooks", "#!/bin/sh")
    );
    let repo = with_hooks(&world, &make);
    links(&repo);
    assert_eq!(
        fs::read_to_string(repo.dir.join("ran")).unwrap(),
        "commit-msg 1\n"
    );
}

/// What hook managers leave in a repository, as far as hooks are concerned.
pub(crate) const MANAGERS: &[(&str, &str)] = &[
    (
        "husky 9",
        "mkdir -p .husky/_ && git config core.hooksPath .husky/_ && \
         printf '#!/usr/bin/env sh\\nn=$(basename \"$0\")\\ns=$(dirname \"$(dirname \"$0\")\")/$n\\n\
[ ! -f \"$s\" ] && exit 0\\nsh -e \"$s\" \"$@\"\\nc=$?\\nexit $c\\n' >.husky/_/h && \
         for h in pre-commit prepare-commit-msg commit-msg post-commit post-rewrite post-merge post-checkout; do \
         printf '#!/usr/bin/env sh\\n. \"$(dirname \"$0\")/h\"' >.husky/_/$h; chmod +x .husky/_/$h; done; \
         echo 'echo husky >>ran' >.husky/commit-msg",
    ),
    (
        "lefthook",
        "for h in pre-commit prepare-commit-msg commit-msg; do \
         printf '#!/bin/sh\\n\\nif [ \"$LEFTHOOK\" = \"0\" ]; then\\n  exit 0\\nfi\\n\\ncall_lefthook()\\n{\\n  \
echo \"lefthook $@\" >>ran\\n}\\n\\ncall_lefthook run \"commit-msg\" \"$@\"\\n' >.git/hooks/$h; \
         chmod +x .git/hooks/$h; done",
    ),
    (
        "pre-commit",
        "for h in pre-commit commit-msg prepare-commit-msg; do \
         printf '#!/usr/bin/env bash\\n# File generated by pre-commit: https://pre-commit.com\\n\
HERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\\nARGS=(hook-impl --hook-dir \"$HERE\" -- \"$@\")\\n\
echo \"${ARGS[0]}\" >>ran\\nexec true\\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done",
    ),
];

#[test]
fn hook_managers_are_chained_and_left_intact() {
    for (manager, make) in MANAGERS {
        let world = World::new();
        let repo = world.repo_made_by(&format!(
            "git init -q -b main . && git commit -q --allow-empty -m base && {make}"
        ));
        links(&repo);
        let ran = fs::read_to_string(repo.dir.join("ran")).unwrap_or_default();
        assert!(!ran.is_empty(), "{manager} ran");
    }
}

/// A hook manager that comes later takes the hooks over: the next turn records it, once, and
/// `status` and `why` say it.
#[test]
fn hooks_that_are_taken_over_later_are_reported() {
    for (manager, make) in MANAGERS {
        let world = World::new();
        let repo = world.repo();
        let mut agent = Agent::start(&repo, "replaced");
        assert_eq!(world.declines(), [""; 0], "{manager}: in place so far");
        repo.sh(make).ok();
        agent.stop();
        agent.prompt("go on");
        agent.stop();
        agent.prompt("and on");
        assert_eq!(world.declines(), ["git_hooks_taken_over"], "{manager}");
        let status = repo.siglum(&["status"]);
        let output = format!("{}{}", status.stdout, status.stderr);
        assert!(output.contains("prepare-commit-msg missing"), "{output}");
        assert!(output.contains("siglum init"), "{output}");
        repo.sh("git -c core.hooksPath=/dev/null commit -q --allow-empty -m unseen")
            .ok();
        let why = repo.why("HEAD");
        assert_eq!(why.committer(), "unknown unknown", "{manager}: {why}");
        let code = &why.0["warnings"][0]["code"];
        assert_eq!(code, "hooks-taken-over", "{manager}: {}", why.0);
        repo.siglum(&["init", "--yes"]).ok();
        agent.prompt("again");
        links(&repo);
        assert_eq!(
            world.declines().len(),
            1,
            "{manager}: nothing to say any more"
        );
    }
}
