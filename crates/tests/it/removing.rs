//! `siglum uninstall` finds what `siglum init` wrote, wherever it has got to, and leaves everything as it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::harness::{Repo, World};

/// The files below a directory that speak of Siglum.
fn leftovers(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(leftovers(&path));
        } else if kind.is_file() {
            let text = fs::read(&path).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            if text.contains("siglum hooks") || text.contains("siglum-hooks") {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// What others do to hooks after `init`.
const SINCE: &[(&str, &str)] = &[
    ("nothing", ":"),
    (
        "husky",
        "mkdir -p .husky/_ && git config core.hooksPath .husky/_",
    ),
    (
        "husky that took ours along",
        "mkdir -p .husky/_ && cp .git/hooks/commit-msg .husky/_/ && git config core.hooksPath .husky/_",
    ),
    (
        "hooks in the checkout",
        "mkdir -p .githooks && cp .git/hooks/* .githooks/ && git config core.hooksPath .githooks",
    ),
    (
        "pre-commit",
        "for h in commit-msg post-commit; do mv .git/hooks/$h .git/hooks/$h.legacy; printf '#!/bin/sh\\nexit 0\\n' >.git/hooks/$h; done",
    ),
    (
        "lefthook",
        "for h in commit-msg post-commit; do mv .git/hooks/$h .git/hooks/$h.old; done",
    ),
    ("off", "git config core.hooksPath /dev/null"),
];

#[test]
fn blocks_are_found_wherever_hooks_are_by_now() {
    for (what, since) in SINCE {
        let world = World::new();
        let repo = world.repo();
        repo.sh(since).ok();
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(leftovers(&repo.dir), [""; 0], "{what}");
    }
}

/// The setting was there at `init`, and is another one now, or its directory is gone.
#[test]
fn blocks_are_found_where_hooks_were() {
    for (since, left) in [
        ("git config core.hooksPath elsewhere", "elsewhere"),
        ("rm -r tools", "tools"),
    ] {
        let world = World::new();
        let repo = world.repo_made_by(
            "git init -q -b main . && git commit -q --allow-empty -m base && mkdir -p tools && \
             printf '#!/bin/sh\\ntrue\\n' >tools/commit-msg && git config core.hooksPath tools",
        );
        assert_ne!(leftovers(&repo.dir), [""; 0], "{since}");
        repo.sh(since).ok();
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(leftovers(&repo.dir), [""; 0], "{since}");
        assert_eq!(repo.git(&["config", "core.hooksPath"]), left, "{since}");
    }
}

#[test]
fn a_copy_of_a_repository_can_be_rid_of_them_too() {
    let python = "printf '#!/usr/bin/env python3\\n' >.git/hooks/commit-msg && chmod +x .git/hooks/commit-msg";
    for make in [":", python] {
        let world = World::new();
        let repo = world.repo_made_by(&format!(
            "git init -q -b main . && git commit -q --allow-empty -m base && {make}"
        ));
        repo.sh("cp -a . ../copy").ok();
        let copy = repo.beside("../copy");
        copy.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(leftovers(&copy.dir), [""; 0]);
        assert_ne!(leftovers(&repo.dir), [""; 0]);
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(leftovers(&repo.dir), [""; 0]);
    }
}

#[test]
fn a_block_without_its_program_is_silent() {
    for make in [
        ":",
        "printf '#!/usr/bin/env python3\\n' >.git/hooks/commit-msg && chmod +x .git/hooks/commit-msg",
    ] {
        let world = World::new();
        let repo = world.repo_made_by(&format!(
            "git init -q -b main . && git commit -q --allow-empty -m base && {make}"
        ));
        fs::remove_dir_all(world.siglum_home()).unwrap();
        let ran =
            repo.sh("git commit --allow-empty -m one && git commit --amend --allow-empty -m two");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    }
}

/// Everything in a directory: names, and contents or targets.
fn snapshot(dir: &Path) -> BTreeMap<String, Option<Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            for (below, content) in snapshot(&entry.path()) {
                found.insert(format!("{name}/{below}"), content);
            }
            found.insert(name, None);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            found.insert(
                name,
                Some(target.to_string_lossy().into_owned().into_bytes()),
            );
        } else {
            found.insert(name, fs::read(entry.path()).ok());
        }
    }
    found
}

/// Makes a home what it is before `init`.
type MakeHome = fn(&Path);

#[test]
fn homes_are_left_as_they_were() {
    let homes: &[(&str, MakeHome)] = &[
        ("nothing", |_| {}),
        ("an empty directory", |home| {
            fs::create_dir(home.join(".claude")).unwrap();
        }),
        ("an empty file", |home| {
            fs::create_dir(home.join(".claude")).unwrap();
            fs::write(home.join(".claude/settings.json"), "").unwrap();
        }),
        ("a blank file", |home| {
            fs::create_dir(home.join(".claude")).unwrap();
            fs::write(home.join(".claude/settings.json"), "\n\n").unwrap();
        }),
        ("a link to a file", |home| {
            fs::create_dir(home.join(".claude")).unwrap();
            fs::write(home.join("dotfile"), "{}\n").unwrap();
            symlink("../dotfile", home.join(".claude/settings.json")).unwrap();
        }),
        ("a link to nothing", |home| {
            fs::create_dir_all(home.join(".claude")).unwrap();
            symlink(
                "../dotfiles/settings.json",
                home.join(".claude/settings.json"),
            )
            .unwrap();
        }),
    ];
    for (what, make) in homes {
        let world = World::new();
        make(&world.home());
        let before = snapshot(&world.home());
        let repo = world.repo_made_by(
            "git init -q -b main --template= . && git commit -q --allow-empty -m base",
        );
        assert_ne!(snapshot(&world.home()), before, "{what}");
        let link = world.home().join(".claude/settings.json");
        if what.starts_with("a link") {
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{what}");
            assert!(
                fs::read_to_string(&link).unwrap().contains("siglum"),
                "{what}"
            );
        }
        repo.siglum(&["uninstall", "--yes"]).ok();
        assert_eq!(snapshot(&world.home()), before, "{what}");
        assert!(
            !repo.dir.join(".git/hooks").exists(),
            "{what}: there was no directory of hooks"
        );
        assert!(
            !world.siglum_home().join("installed.json").exists(),
            "{what}"
        );
    }
}

/// A comment that a person wrote into settings after `init`.
#[test]
fn comments_in_settings_are_no_obstacle() {
    let world = World::new();
    let repo = world.repo();
    let path = world.home().join(".claude/settings.json");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"Stop\": [", "\"Stop\": [ // mine")).unwrap();
    removed_without_a_trace(&repo, &path);
}

#[track_caller]
fn removed_without_a_trace(repo: &Repo<'_>, path: &Path) {
    repo.siglum(&["uninstall", "--yes"]).ok();
    let left = fs::read_to_string(path).unwrap();
    assert!(left.contains("// mine"), "{left}");
    assert!(!left.contains("siglum"), "{left}");
}
