//! `cargo xtask bench`: the benchmarks, always against a release build of the program.

use crate::{Failure, programs, python, workspace};

/// The row that measures beside a program of somebody else, which is installed where the row is named.
const INGEST: &str = "ingest";

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
    bench.args(args).env("SIGLUM_BIN", program);
    if args.iter().any(|arg| arg == INGEST) {
        bench.env("SIGLUM_BENCH_PHOENIX", python::install(&python::PHOENIX)?);
    }
    programs::run(&mut bench)
}
