//! `cargo xtask compat`: our plug-ins in the live programs that they are for, our hooks beside git's own tests and real hook
//! managers, and this program beside older ones. Not part of any lane: it installs much.

use std::path::{Path, PathBuf};

use crate::dist::files;
use crate::{Failure, debian, lab, programs, workspace};

/// What builds git, and what its tests start.
const GIT_NEEDS: &[debian::Need] = &[
    ("python3", "python3"),
    ("make", "make"),
    ("cc", "gcc"),
    ("perl", "perl"),
];
const OLD_NEEDS: &[debian::Need] = &[("python3", "python3"), ("git", "git"), ("tar", "tar")];
const MANAGERS_NEEDS: &[debian::Need] = &[("python3", "python3"), ("npm", "npm"), ("git", "git")];

/// Older programs: the last ones with schemas 12, 13 and 15 whose migrations were shipped as they were then.
const OLD_PROGRAMS: &[&str] = &[
    "781b5166e8458cc7d26acb1f43303009affa151a",
    "dc6bcf471baf293b129c624425826cf90ae6bf26",
    "60ed2bc30e49e55a97aa5c941f0c0252e93f31b6",
];

/// Runs a `cargo xtask compat` command.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("openclaw") => openclaw(rest),
        Some("record") => record(rest),
        Some("git") => beside_git("git_suite.py", "git-suite", GIT_NEEDS, rest),
        Some("programs") => old_programs(rest),
        Some("managers") => beside_git("hook_managers.py", "hook-managers", MANAGERS_NEEDS, rest),
        _ => Err(Failure::Usage(
            "compat openclaw [PART]…, compat record [PLAN]…, compat git [TEST]…, compat managers [MANAGER]… or compat programs [--at-once]".to_owned(),
        )),
    }
}

fn plugin() -> PathBuf {
    workspace::root().join("integrations/openclaw")
}

/// The plug-in's own tests: what OpenClaw was recorded to call it with, against a played ledger. `node` is the directory
/// of the program.
pub(crate) fn plugin_tests(node: &Path) -> Result<(), Failure> {
    let tests = ["replay", "rules"].map(|name| format!("test/{name}.test.js"));
    let mut node = programs::program(node.join("node"));
    programs::run(node.current_dir(plugin()).arg("--test").args(tests))
}

/// The plug-in's own tests, then OpenClaw with it.
fn openclaw(parts: &[String]) -> Result<(), Failure> {
    let variables = lab::openclaw()?;
    let [_, (_, node)] = &variables;
    plugin_tests(node)?;
    let program = programs::dev_build("siglum")?;
    let mut shown = programs::program("python3");
    shown
        .arg(workspace::root().join("lab/openclaw_compat.py"))
        .args(parts)
        .envs(variables)
        .env("LAB_PLUGIN", plugin())
        .env("SIGLUM_BIN", program);
    programs::run(&mut shown)
}

fn record(plans: &[String]) -> Result<(), Failure> {
    let mut recorder = programs::program("python3");
    recorder
        .arg(workspace::root().join("lab/openclaw_record.py"))
        .arg(workspace::root().join("crates/tests/fixtures/openclaw"))
        .args(plans)
        .envs(lab::openclaw()?);
    programs::run(&mut recorder)
}

/// Runs a script that compares repositories without Siglum and with the release program. What it installs is kept in a
/// folder of the target directory.
fn beside_git(
    script: &str,
    folder: &str,
    needs: &[debian::Need],
    args: &[String],
) -> Result<(), Failure> {
    debian::ensure(needs)?;
    programs::run(&mut programs::cargo(&[
        "build",
        "--release",
        "-p",
        "siglum",
    ]))?;
    let target = workspace::target_dir()?;
    let mut compared = programs::program("python3");
    compared
        .arg(workspace::root().join("lab").join(script))
        .arg(target.join(folder))
        .args(args)
        .env("SIGLUM_BIN", target.join("release/siglum"));
    programs::run(&mut compared)
}

/// Builds older programs from the history, and shows each beside this one on one ledger.
fn old_programs(flags: &[String]) -> Result<(), Failure> {
    debian::ensure(OLD_NEEDS)?;
    let folder = workspace::target_dir()?.join("old-programs");
    let mut olds = Vec::new();
    for commit in OLD_PROGRAMS {
        olds.push(old_program(commit, &folder)?);
    }
    let program = programs::dev_build("siglum")?;
    let mut shown = programs::program("python3");
    shown
        .arg(workspace::root().join("lab/old_and_new.py"))
        .arg(folder.join("beside"))
        .args(flags)
        .args(olds)
        .env("SIGLUM_BIN", program);
    programs::run(&mut shown)
}

/// The program of a commit, without what hooks and ledgers do not need.
fn old_program(commit: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let place = folder.join(commit);
    let program = place.join("siglum");
    if program.is_file() {
        return Ok(program);
    }
    let source = place.join("source");
    files::clean(&source)?;
    let archive = place.join("source.tar");
    let mut git = programs::program("git");
    programs::run(git.args(["archive", "--output"]).arg(&archive).arg(commit))?;
    let mut tar = programs::program("tar");
    programs::run(
        tar.arg("--extract")
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(&source),
    )?;
    // What they have in common is built once.
    let built = folder.join("build");
    let mut cargo = programs::cargo(&["build", "--quiet", "-p", "siglum", "--no-default-features"]);
    programs::run(cargo.current_dir(&source).arg("--target-dir").arg(&built))?;
    files::copy(&built.join("debug/siglum"), &program)?;
    files::executable(&program)?;
    Ok(program)
}
