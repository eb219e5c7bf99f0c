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
    // What was built is started as it is: by itself, the bench would be built anew with all that it stands on.
    let built = workspace::target_dir()?.join("release");
    let mut bench = programs::program(built.join("siglum-bench"));
    bench.args(args);
    if args.iter().any(|arg| arg == INGEST) {
        bench.env("SIGLUM_BENCH_PHOENIX", python::install(&python::PHOENIX)?);
    }
    programs::run(&mut bench)
}
