//! `cargo xtask truth`: played stories whose maker is known, and what the program says of them.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::summary::Ended;
use crate::{Failure, programs, workspace};

/// Chooses release builds, for many cases.
const RELEASE: &str = "--release";
/// How the line begins that sums all up.
const SUMMARY: &str = "truth: ";

/// Builds the program and the bench, and runs the bench with these arguments.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (release, rest): (Vec<&String>, Vec<&String>) = args.iter().partition(|a| *a == RELEASE);
    let build = if release.is_empty() {
        Build::Dev
    } else {
        Build::Release
    };
    let ended = play(build, &rest)?;
    ended.problem.map_or(Ok(()), |what| Err(Failure::new(what)))
}

/// The lane: as many cases as a few minutes allow.
pub(crate) fn lane() -> Result<Ended, Failure> {
    play(Build::Dev, &[])
}

/// How programs are built.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Build {
    Dev,
    Release,
}

impl Build {
    /// Builds a binary of a package and says where it is.
    pub(crate) fn binary(self, package: &str, name: &str) -> Result<PathBuf, Failure> {
        if self == Self::Dev {
            return programs::dev_build(name);
        }
        let build = ["build", "-p", package, "--bin", name, RELEASE];
        programs::run(&mut programs::cargo(&build))?;
        Ok(workspace::target_dir()?.join("release").join(name))
    }
}

fn play(build: Build, args: &[&String]) -> Result<Ended, Failure> {
    let bench = build.binary("siglum-tests", "siglum-truth")?;
    let mut command = programs::program(bench);
    if !args.iter().any(|arg| *arg == "--program") {
        command.env("SIGLUM_BIN", build.binary("siglum", "siglum")?);
    }
    shown(command.args(args))
}

/// Runs the bench, shows what it prints, and keeps its summary.
fn shown(command: &mut Command) -> Result<Ended, Failure> {
    let failed = |e: std::io::Error| Failure::new(format!("siglum-truth: {e}"));
    let mut child = programs::without_python_shim(command)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut summaries = Vec::new();
    for line in BufReader::new(child.stdout.take().expect("because it is a pipe")).lines() {
        let line = line.map_err(failed)?;
        println!("{line}");
        if line.starts_with(SUMMARY) {
            summaries.push(line);
        }
    }
    let status = child.wait().map_err(failed)?;
    let problem = (!status.success()).then(|| match summaries.last() {
        Some(summary) => summary.clone(),
        None => format!("siglum-truth ended with {status}"),
    });
    Ok(Ended {
        summaries,
        problem,
        ..Ended::default()
    })
}
