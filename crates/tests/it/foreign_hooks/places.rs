//! Where git takes hooks from besides its own directory, whose the files are that `init` writes, and
//! programs that want a hook for themselves.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::{links, noting, with_hooks};
use crate::harness::{Repo, World, left_out};

const INCLUDED: &str = "printf '[core]\\n\\thooksPath = .githooks\\n' >.gitconfig && \
                        git config include.path ../.gitconfig";
/// A hook that ours stands in front of.
const PYTHON: &str = "printf '#!/usr/bin/env python3\\npass\\n' >.git/hooks/commit-msg && chmod +x .git/hooks/commit-msg";

/// Team settings in the checkout name the directory of hooks.
#[test]
fn a_hooks_path_in_an_included_file_is_behind_ours() {
    let world = World::new();
    let hooks = noting(&["commit-msg"], ".githooks", "#!/bin/sh");
    let repo = with_hooks(&world, &format!("{INCLUDED}\n{hooks}"));
    links(&repo);
    let ran = fs::read_to_string(repo.dir.join("ran")).unwrap();
    assert_eq!(ran, "commit-msg 1\n");
    repo.siglum(&["uninstall", "--yes"]).ok();
    assert_eq!(repo.git(&["config", "core.hooksPath"]), ".githooks");
}

#[test]
fn a_hooks_path_that_is_included_later_is_reported_and_mended() {
    let world = World::new();
    let repo = with_hooks(&world, PYTHON);
    repo.sh(INCLUDED).ok();
    let doctor = repo.siglum(&["doctor"]);
    let text = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(text.contains("post-commit does not call siglum"), "{text}");
    repo.siglum(&["doctor", "--fix"]);
    links(&repo);
}

#[test]
fn hooks_that_come_later_are_named_by_doctor_and_called_after_its_fix() {
    let world = World::new();
    let repo = with_hooks(&world, PYTHON);
    let ran = repo.dir.join("ran");
    let note = format!("#!/bin/sh\necho $1 >>'{}'\n", ran.display());
    fs::write(repo.dir.join(".git/hooks/reference-transaction"), note).unwrap();
    fs::write(repo.dir.join(".git/hooks/pre-push"), "#!/bin/sh\nexit 1\n").unwrap();
    fs::write(repo.dir.join(".git/hooks/lib.sh"), "true\n").unwrap();
    let refuse = "cd .git && rm siglum-hooks/pre-push && git init -q --bare ../../remote && \
                  chmod +x hooks/pre-push hooks/reference-transaction";
    repo.sh(refuse).ok();
    let doctor = repo.siglum(&["doctor"]);
    for name in ["pre-push", "reference-transaction"] {
        let line = format!("{name} is missing, so that yours does not run");
        assert!(doctor.stdout.contains(&line), "{doctor:?}");
    }
    let lacks = "lib.sh is not found beside siglum's hooks";
    assert!(doctor.stdout.contains(lacks), "{doctor:?}");
    repo.siglum(&["doctor", "--fix"]);
    assert!(repo.dir.join(".git/siglum-hooks/lib.sh").is_symlink());
    assert_ne!(repo.sh("git push -q ../remote main").code, Some(0));
    repo.git(&["tag", "noted"]);
    assert!(ran.exists(), "their reference-transaction runs");
}

/// As managers of hooks leave them that write their own or clear the directory.
#[test]
fn hooks_that_are_wiped_are_named_by_doctor_and_come_back_by_its_fix() {
    for wipe in [
        "rm -r .git/hooks",
        "rm .git/hooks/*",
        "for hook in .git/hooks/*; do printf '#!/bin/sh\\ntrue\\n' >$hook; done",
    ] {
        let world = World::new();
        let repo = world.repo();
        repo.sh(wipe).ok();
        let doctor = repo.siglum(&["doctor"]);
        assert_eq!(doctor.code, Some(1), "{wipe}: {doctor:?}");
        for name in ["prepare-commit-msg", "commit-msg", "post-commit"] {
            let line = format!("{name} does not call siglum");
            assert!(doctor.stdout.contains(&line), "{wipe}: {doctor:?}");
        }
        repo.siglum(&["doctor", "--fix"]).ok();
        repo.siglum(&["doctor"]).ok();
        repo.git(&["commit", "-q", "--allow-empty", "-m", "seen"]);
        let why = repo.why("HEAD");
        assert_eq!(why.0["seen_by"], "hook", "{wipe}");
    }
}

/// Commits, refs and pushes from wherever git may stand, each of which leaves all as it was but for commits.
const EVERYWHERE: &str = r#"set -e; top=$PWD; name=${PWD##*/}; rm -rf ../else ../clone ../remote
commit() { git "$@" commit -q --allow-empty -m made; }
commit
mkdir -p sub ../else; (cd sub; commit; export GIT_DIR=../.git GIT_WORK_TREE=..; commit)
(cd ../else; commit --git-dir="../$name/.git" --work-tree=.; GIT_DIR="$top/.git" git update-ref refs/heads/made HEAD)
(cd ..; git --git-dir="$name/.git" branch -q -D made)
git worktree add -q --detach ../side; (cd ../side; commit; mkdir -p sub; cd sub; commit); git worktree remove --force ../side
git init -q --bare ../remote; git push -q ../remote HEAD:one
(cd .git; git push -q ../../remote HEAD:two); (cd ..; git --git-dir="$name/.git" push -q remote HEAD:three)
git config receive.denyCurrentBranch updateInstead
git clone -q . ../clone; cd ../clone; commit; git push -q origin HEAD:main HEAD:other; git push -q origin :other
"#;

/// A place for hooks: how git is told of it, and its directory from the checkout.
const NAMED: &[(&str, &str)] = &[
    (":", ".git/hooks"),
    ("git config core.hooksPath .githooks", ".githooks"),
    ("git config core.hooksPath \"$PWD/../hooks\"", "../hooks"),
    (
        "git config --global core.hooksPath \"$PWD/../hooks\"",
        "../hooks",
    ),
];

/// Whatever git would run without Siglum it runs with it, wherever it stands.
#[test]
fn hooks_run_wherever_git_stands() {
    for (set, dir) in NAMED {
        let world = World::new();
        let log = world.root.join("ran");
        let hook = format!("#!/bin/sh\necho \"${{0##*/}}\" >>'{}'\n", log.display());
        let update = "git read-tree -u -m HEAD \"$1\"\n";
        let python = "#!/usr/bin/env python3\nimport sys\nopen('LOG', 'a').write(sys.argv[0].split('/')[-1] + '\\n')\n";
        let python = python.replace("LOG", log.to_str().unwrap());
        let mut make = format!(
            "git init -q -b main . && git commit -q --allow-empty -m base && {set}\nmkdir -p {dir}"
        );
        for name in [
            "pre-commit",
            "prepare-commit-msg",
            "commit-msg",
            "post-commit",
            "post-checkout",
            "reference-transaction",
            "pre-push",
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "push-to-checkout",
        ] {
            let text = match name {
                "commit-msg" => python.clone(),
                "push-to-checkout" => format!("{hook}{update}"),
                _ => hook.clone(),
            };
            let write = format!("\ncat >{dir}/{name} <<'HOOK'\n{text}HOOK\nchmod +x {dir}/{name}");
            make.push_str(&write);
        }
        make.push_str(
            "\ngit add -A; git -c core.hooksPath=/dev/null commit -q --allow-empty -m hooks",
        );
        let repo = world.repo_made_by(&make);
        let ran = || {
            let _ = fs::remove_file(&log);
            repo.sh(EVERYWHERE).ok();
            fs::read_to_string(&log).unwrap()
        };
        assert!(repo.dir.join(".git/siglum-hooks").exists(), "{set}");
        let with = ran();
        links(&repo);
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(with, ran(), "{set}");
        for name in ["pre-push", "commit-msg", "reference-transaction"] {
            assert!(with.contains(name), "{set}: {name}");
        }
        assert_eq!(
            with.contains("push-to-checkout"),
            *dir != ".githooks",
            "{set}"
        );
    }
}

/// Git takes hooks of a repository that was moved or copied from where it did without Siglum, and `doctor` says that ours
/// do not run.
#[test]
fn hooks_of_a_repository_that_was_moved_are_its_own() {
    for (set, dir) in &NAMED[..2] {
        for moved in [
            "git init -q --separate-git-dir ../elsewhere && cd .",
            "cp -a . ../copy && cd ../copy",
        ] {
            let world = World::new();
            let note = format!(
                "{set}\nmkdir -p {dir}\nprintf '#!/usr/bin/env python3\\nopen(\"ran\", \"a\").write(\"ran\\\\n\")\\n' \
                 >{dir}/commit-msg && chmod +x {dir}/commit-msg"
            );
            let repo = with_hooks(&world, &note);
            repo.sh(&format!("{moved} && git commit -q --allow-empty -m moved"))
                .ok();
            let repo = match moved.contains("copy") {
                true => repo.beside("../copy"),
                false => repo,
            };
            let ran = || fs::read_to_string(repo.dir.join("ran")).unwrap();
            assert_eq!(ran(), "ran\n", "{set}: {moved}");
            let doctor = repo.siglum(&["doctor"]);
            assert!(doctor.stdout.contains("does not call siglum"), "{doctor:?}");
            repo.siglum(&["doctor", "--fix"]);
            repo.git(&["commit", "-q", "--allow-empty", "-m", "mended"]);
            assert_eq!(ran(), "ran\nran\n", "{set}: {moved}");
            assert!(
                !repo
                    .siglum(&["doctor"])
                    .stdout
                    .contains("does not call siglum")
            );
        }
    }
}

/// Hooks that the user has for all repositories, and later elsewhere.
#[test]
fn hooks_of_the_user_that_change_are_reported_and_followed() {
    let world = World::new();
    let named = |dir: &str| {
        let note = format!(
            "printf '#!/bin/sh\\necho {dir} >>ran\\n' >../{dir}/commit-msg && chmod +x ../{dir}/commit-msg"
        );
        format!("mkdir ../{dir} && {note} && git config --global core.hooksPath \"$PWD/../{dir}\"")
    };
    let repo = with_hooks(&world, &named("one"));
    links(&repo);
    repo.sh(&named("two")).ok();
    let doctor = repo.siglum(&["doctor"]);
    assert!(doctor.stdout.contains("commit-msg has"), "{doctor:?}");
    repo.siglum(&["init", "--yes"]).ok();
    repo.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let ran = fs::read_to_string(repo.dir.join("ran")).unwrap();
    assert_eq!(ran, "one\ntwo\n");
}

/// Hooks that a project has in its checkout, where `.git/hooks` has links to them or the settings name their directory:
/// nothing of Siglum's can get into a commit.
#[test]
fn hooks_that_are_committed_are_not_changed() {
    for link in [
        "mv .git/hooks tools && git config core.hooksPath tools",
        "mv .git/hooks tools && ln -s ../tools .git/hooks",
        "mkdir tools && mv .git/hooks/commit-msg tools && ln -s ../../tools/commit-msg .git/hooks/",
    ] {
        let world = World::new();
        let hook = noting(&["commit-msg"], ".git/hooks", "#!/bin/sh");
        let track = "echo ran >.gitignore && git add tools .gitignore && \
                     git -c core.hooksPath=/dev/null commit -q -m hooks";
        let repo = with_hooks(&world, &format!("{hook}\n{link} && {track}"));
        let changes = || repo.git(&["status", "--porcelain"]);
        assert_eq!(
            repo.git(&["ls-files", "tools/commit-msg"]),
            "tools/commit-msg"
        );
        assert_eq!(changes(), "", "after init: {link}");
        links(&repo);
        let ran = fs::read_to_string(repo.dir.join("ran")).unwrap();
        assert_eq!(ran, "commit-msg 1\n", "{link}");
        repo.git(&["add", "-A"]);
        assert_eq!(changes(), "", "after a commit: {link}");
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(changes(), "", "after uninstall: {link}");
    }
}

/// The files below a directory that belong to root.
fn owned_by_root(dir: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let meta = entry.metadata().unwrap();
        if meta.uid() == 0 {
            found.push(entry.path().display().to_string());
        }
        if meta.is_dir() {
            found.extend(owned_by_root(&entry.path()));
        }
    }
    found
}

#[test]
fn what_root_writes_into_a_repository_and_settings_of_somebody_is_theirs() {
    for make in [":", PYTHON] {
        let mut world = World::new();
        if fs::metadata(&world.root).unwrap().uid() != 0 {
            left_out("only root can write what is somebody else's");
            return;
        }
        let settings = world.root.join("gitconfig");
        fs::write(&settings, "[safe]\n\tdirectory = *\n").unwrap();
        world.variables.push(("GIT_CONFIG_GLOBAL", settings));
        let dir = world.root.join("theirs");
        fs::create_dir(&dir).unwrap();
        let repo = world.at(&dir);
        let home = world.home();
        let own = format!(
            "git init -q -b main . && \
             git commit -q --allow-empty -m base && {make} && chmod 600 .git/config && \
             rm -rf '{0}/.codex' '{0}/.claude' && mkdir '{0}/.claude' && chown -R nobody . '{0}/.claude'",
            home.display()
        );
        repo.sh(&own).ok();
        repo.siglum(&["init", "--yes"]).ok();
        assert_eq!(owned_by_root(&dir), [""; 0], "{make}");
        assert!(dir.join(".git/siglum").is_dir());
        assert_eq!(owned_by_root(&home.join(".claude")), [""; 0], "{make}");
        let config = fs::metadata(dir.join(".git/config")).unwrap();
        assert_eq!(config.permissions().mode() & 0o777, 0o600);
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(owned_by_root(&dir), [""; 0], "{make}");
    }
}

#[test]
fn init_says_what_it_does_not_see_with_hooks_switched_off() {
    let world = World::new();
    let repo = world.at(&world.root.join("off"));
    fs::create_dir(&repo.dir).unwrap();
    repo.sh("git init -q -b main . && git config core.hooksPath /dev/null")
        .ok();
    let ran = repo.siglum(&["init", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("without git hooks"), "{ran:?}");
    assert!(!ran.stderr.contains("Each commit now has"), "{ran:?}");
}

/// What `git lfs install` does: the first hook that is there and not its own ends it.
const LFS_INSTALL: &str = r#"lfs_install() {
dir=$(git rev-parse --git-path hooks); mkdir -p "$dir"
for hook in pre-push post-checkout post-commit post-merge; do
if [ -e "$dir/$hook" ] && ! grep -q "git lfs $hook" "$dir/$hook"; then echo "Hook already exists: $hook" >&2; return 2; fi
cat >"$dir/$hook" <<HOOK
#!/bin/sh
command -v git-lfs >/dev/null 2>&1 || { printf >&2 "\n%s\n\n" "This repository is configured for Git LFS but 'git-lfs' was not found on your path. If you no longer wish to use Git LFS, remove this hook by deleting the '$hook' file in the hooks directory (set by 'core.hookspath'; usually '.git/hooks')."; exit 2; }
git lfs $hook "\$@"
HOOK
chmod +x "$dir/$hook"
done; }
lfs_install
"#;
const LFS: &str = "mkdir -p ../bin && printf '#!/bin/sh\\necho \"$1\" >>\"$LFS_LOG\"\\n' >../bin/git-lfs && \
                   chmod +x ../bin/git-lfs && git init -q --bare ../remote && echo '*.bin filter=lfs' >.gitattributes";
const PATH: &str = "export PATH=\"$(cd .. && pwd)/bin:$PATH\" LFS_LOG=\"$(cd .. && pwd)/lfs\";";

/// Tells whether `git push` calls Git LFS.
fn uploads(repo: &Repo<'_>) -> bool {
    let _ = fs::remove_file(repo.dir.join("../lfs"));
    repo.sh(&format!("{PATH} git push -q ../remote +HEAD:main"))
        .ok();
    let log = fs::read_to_string(repo.dir.join("../lfs")).unwrap_or_default();
    log.lines().any(|line| line == "pre-push")
}

fn is_remarked(repo: &Repo<'_>) -> bool {
    let init = repo.siglum(&["init", "--yes"]);
    let doctor = repo.siglum(&["doctor"]);
    let both = [init.stderr, doctor.stdout].map(|text| text.contains("git lfs install"));
    assert_eq!(both[0], both[1], "init and doctor say the same");
    both[0]
}

#[test]
fn git_lfs_that_was_installed_before_goes_on() {
    for make in [":", PYTHON] {
        let world = World::new();
        let repo = with_hooks(&world, &format!("{LFS} && {make}\n{LFS_INSTALL}:"));
        assert!(uploads(&repo), "{make}");
        assert!(!is_remarked(&repo), "{make}");
    }
}

#[test]
fn git_lfs_that_is_installed_later_is_helped() {
    for make in [":", PYTHON] {
        let world = World::new();
        let repo = with_hooks(&world, &format!("{LFS} && {make}"));
        assert!(is_remarked(&repo), "{make}");
        let ran = repo.sh(LFS_INSTALL);
        assert!(ran.stderr.contains("Hook already exists"), "{ran:?}");
        assert_eq!(is_remarked(&repo), !uploads(&repo), "{make}");
        repo.siglum(&["uninstall", "--yes"]).ok();
        repo.sh(LFS_INSTALL);
        repo.siglum(&["init", "--yes"]).ok();
        assert!(uploads(&repo), "{make}");
        assert!(!is_remarked(&repo), "{make}");
        links(&repo);
    }
}
