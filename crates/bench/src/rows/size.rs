//! The program in packages, and the way from a clone to a first answer.

use std::path::Path;
use std::process::Command;

use crate::Fallible;
use crate::contest::timed;
use crate::report::Line;
use crate::run::Run;

/// The largest program, in MB.
const PROGRAM_MOST: f64 = include!("../../../../packaging/most_megabytes.rs");
/// The longest way from a clone to a first answer, in seconds, on two idle cores.
const COLD_MOST: f64 = 180.0;

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    #[expect(clippy::cast_precision_loss, reason = "a size of some megabytes")]
    let megabytes = std::fs::metadata(&run.program)?.len() as f64 / 1e6;
    let mut lines = vec![
        Line::new("program in packages", megabytes, "MB", 1)
            .bound(format!("≤ {PROGRAM_MOST} MB"), megabytes <= PROGRAM_MOST),
    ];
    if run.cold {
        lines.extend(cold(run)?);
    }
    Ok(lines)
}

/// What a newcomer waits for: a clone, a build with nothing built, the demo.
fn cold(run: &Run) -> Fallible<Vec<Line>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = run.dir("cold")?;
    let clone = dir.join("siglum");
    let target = dir.join("target");
    let (clone_ms, ()) = timed(|| {
        succeed(
            Command::new("git")
                .args(["clone", "-q"])
                .arg(&workspace)
                .arg(&clone),
        )
    })?;
    let cargo = |args: &[&str]| {
        let mut command = Command::new("cargo");
        command
            .args(args)
            .current_dir(&clone)
            .env("CARGO_TARGET_DIR", &target)
            .env_remove("RUSTFLAGS");
        timed(|| succeed(&mut command)).map(|(ms, ())| ms)
    };
    let build_ms = cargo(&["build", "--quiet"])?;
    let demo_ms = cargo(&["run", "--quiet", "--", "demo"])?;
    let all = (clone_ms + build_ms + demo_ms) / 1000.0;
    Ok(vec![
        Line::new("cold build", build_ms / 1000.0, "s", 1),
        Line::new("from clone to first answer", all, "s", 1).bound("≤ 180 s", all <= COLD_MOST),
    ])
}

fn succeed(command: &mut Command) -> Fallible<()> {
    let out = command.output()?;
    if out.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&out.stderr);
    Err(format!("{command:?} failed: {stderr}").into())
}
