//! The program in packages, and the way from a clone to a first answer.

use std::path::Path;
use std::process::Command;

use crate::Fallible;
use crate::contest::{Times, timed};
use crate::report::Line;
use crate::run::Run;

/// The largest program, in MB.
const PROGRAM_MOST: f64 = include!("../../../../packaging/most_megabytes.rs");
/// The longest way from a clone to a first answer, in seconds, on two idle cores.
const COLD_MOST: f64 = 180.0;
/// How often that way is gone.
const COLD_ROUNDS: usize = 3;

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

/// What a newcomer waits for: a clone, and the demo with nothing built. And, once, a build of all of the program.
fn cold(run: &Run) -> Fallible<Vec<Line>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut answers = Vec::new();
    let mut builds = Vec::new();
    for round in 0..run.much(COLD_ROUNDS, 1) {
        let dir = run.dir(&format!("cold-{round}"))?;
        let clone = dir.join("siglum");
        let mut git = Command::new("git");
        git.args(["clone", "-q"]).arg(&workspace).arg(&clone);
        let cargo = |target: &str, args: &[&str]| {
            let mut command = Command::new("cargo");
            command
                .args(args)
                .current_dir(&clone)
                .env("CARGO_TARGET_DIR", dir.join(target))
                .env_remove("RUSTFLAGS");
            timed(|| succeed(&mut command)).map(|(ms, ())| ms / 1000.0)
        };
        let (clone_ms, ()) = timed(|| succeed(&mut git))?;
        answers.push(clone_ms / 1000.0 + cargo("demo", &["demo"])?);
        if round == 0 {
            builds.push(cargo("whole", &["build", "--quiet"])?);
        }
        std::fs::remove_dir_all(&dir)?;
    }
    let seconds = |what: &str, times: Times| Line::new(what, times.median(), "s", times.n());
    let answers = Times::from(answers);
    let is_soon = answers.median() <= COLD_MOST;
    Ok(vec![
        seconds("from clone to first answer", answers).bound("≤ 180 s", is_soon),
        seconds("cold build of the whole program", builds.into()),
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
