//! `cargo xtask compat`: our plug-ins in the live programs that they are for. Not part of any lane: it installs much.

use std::path::{Path, PathBuf};

use crate::{Failure, lab, programs, workspace};

/// Runs a `cargo xtask compat` command.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("openclaw") => openclaw(rest),
        Some("record") => record(rest),
        _ => Err(Failure::Usage(
            "compat openclaw [PART]… or compat record [PLAN]…".to_owned(),
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
    programs::run(&mut programs::cargo(&["build", "-p", "siglum"]))?;
    let mut shown = programs::program("python3");
    shown
        .arg(workspace::root().join("lab/openclaw_compat.py"))
        .args(parts)
        .envs(variables)
        .env("LAB_PLUGIN", plugin())
        .env("SIGLUM_BIN", workspace::target_dir()?.join("debug/siglum"));
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
