//! Programs in Python that tests start, pinned, each installed by pip into an environment of its own.

use std::path::PathBuf;

use crate::{Failure, debian, programs, workspace};

/// What makes an environment: the program, and the part of it that Debian packs apart.
const NEEDS: &[debian::Need] = &[("python3", "python3")];
const VENV: &str = "python3-venv";

const SCHEMATHESIS: &str = "4.32.5";

/// Installs Schemathesis where it is missing, and gives its program. The version is part of the folder's name, so a new
/// one is a new folder.
pub(crate) fn schemathesis() -> Result<PathBuf, Failure> {
    let folder = workspace::target_dir()?.join(format!("python/schemathesis-{SCHEMATHESIS}"));
    let program = folder.join("bin/schemathesis");
    // What was begun and not finished has no mark.
    let mark = folder.join("installed");
    if mark.is_file() && program.is_file() {
        return Ok(program);
    }
    debian::ensure(NEEDS)?;
    if !has_venv() {
        debian::install(&[VENV])?;
    }
    let mut venv = programs::program("python3");
    programs::run(venv.args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = programs::program(folder.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--only-binary=:all:",
    ]);
    programs::run(pip.arg(format!("schemathesis=={SCHEMATHESIS}")))?;
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", mark.display()));
    std::fs::write(&mark, "").map_err(fail)?;
    Ok(program)
}

fn has_venv() -> bool {
    let mut python = programs::program("python3");
    let asked = python.args(["-c", "import venv, ensurepip"]).output();
    asked.is_ok_and(|out| out.status.success())
}
