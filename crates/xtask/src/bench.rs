//! `cargo xtask bench`: the benchmarks, always against a release build of the program.

use crate::{Failure, programs, workspace};

/// Builds the release program, and all programs of the bench, and runs the benchmarks with these arguments.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    programs::run(&mut programs::cargo(&[
        "build",
        "--release",
        "-p",
        "siglum",
        "-p",
        "siglum-bench",
    ]))?;
    let program = workspace::target_dir()?.join("release").join("siglum");
    let mut bench = programs::cargo(&["run", "--release", "-p", "siglum-bench", "--"]);
    programs::run(bench.args(args).env("SIGLUM_BIN", program))
}
