//! `cargo xtask bench`: the benchmarks, always against the program as packages have it.

use crate::{Failure, programs, python, workspace};

/// The row that measures beside a program of somebody else, which is installed where the row is named.
const INGEST: &str = "ingest";
/// What packages are built with.
const PROFILE: &str = "dist";

/// Builds the program as packages have it, and all programs of the bench, once, and runs the benchmarks with these
/// arguments.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    programs::run(&mut programs::cargo(&[
        "build",
        "--profile",
        PROFILE,
        "-p",
        "siglum",
        "-p",
        "siglum-bench",
    ]))?;
    let built = workspace::target_dir()?.join(PROFILE);
    let mut bench = programs::program(built.join("siglum-bench"));
    bench.args(args).env("SIGLUM_BIN", built.join("siglum"));
    if args.iter().any(|arg| arg == INGEST) {
        bench.env("SIGLUM_BENCH_PHOENIX", python::install(&python::PHOENIX)?);
    }
    programs::run(&mut bench)
}
