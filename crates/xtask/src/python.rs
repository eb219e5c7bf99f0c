//! Programs in Python that tests, benchmarks and packages need, pinned, each installed by pip into an environment of its own.

use std::path::PathBuf;

use crate::{Failure, debian, programs, workspace};

/// What makes an environment: the program, and the part of it that Debian packs apart.
pub(crate) const NEEDS: &[debian::Need] = &[("python3", "python3")];
pub(crate) const VENV: &str = "python3-venv";

/// A program as PyPI knows it.
pub(crate) struct Package {
    name: &'static str,
    version: &'static str,
    /// Its program below `bin`.
    program: &'static str,
}

/// What holds the gateway to its own document.
pub(crate) const SCHEMATHESIS: Package = Package {
    name: "schemathesis",
    version: "4.32.5",
    program: "schemathesis",
};

/// What packs wheels.
pub(crate) const WHEEL: Package = Package {
    name: "wheel",
    version: "0.48.0",
    program: "wheel",
};

/// Helm as a library, with the program that has it: about 250 MB.
pub(crate) const HELM: Package = Package {
    name: "helm-python-sdk",
    version: "0.2.2",
    program: "python",
};

/// What writes the types of the client in Python.
pub(crate) const MODEL_GENERATOR: Package = Package {
    name: "datamodel-code-generator",
    version: "0.74.0",
    program: "datamodel-codegen",
};

/// What checks them.
pub(crate) const MYPY: Package = Package {
    name: "mypy",
    version: "2.4.1",
    program: "mypy",
};

/// A tool that shows traces: about 900 MB.
pub(crate) const PHOENIX: Package = Package {
    name: "arize-phoenix",
    version: "20.26.1",
    program: "phoenix",
};

/// Another one, as large.
pub(crate) const MLFLOW: Package = Package {
    name: "mlflow",
    version: "3.17.2",
    program: "mlflow",
};

/// Where a package is installed.
struct Place {
    folder: PathBuf,
    program: PathBuf,
    /// What was begun and not finished has no mark.
    mark: PathBuf,
}

fn place(package: &Package) -> Result<Place, Failure> {
    let Package { name, version, .. } = package;
    let folder = workspace::target_dir()?.join(format!("python/{name}-{version}"));
    Ok(Place {
        program: folder.join("bin").join(package.program),
        mark: folder.join("installed"),
        folder,
    })
}

/// Whether a package was installed before.
pub(crate) fn is_installed(package: &Package) -> bool {
    place(package).is_ok_and(|place| place.mark.is_file() && place.program.is_file())
}

/// Installs a package where it is missing, and gives its program. The version is part of the folder's name, so a new
/// one is a new folder.
pub(crate) fn install(package: &Package) -> Result<PathBuf, Failure> {
    let Place {
        folder,
        program,
        mark,
    } = place(package)?;
    if is_installed(package) {
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
        // Python compiles what it uses when it uses it, a small part of the whole.
        "--no-compile",
    ]);
    programs::run(pip.arg(format!("{}=={}", package.name, package.version)))?;
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", mark.display()));
    std::fs::write(&mark, "").map_err(fail)?;
    Ok(program)
}

/// Whether Python is there with what makes environments.
pub(crate) fn has_venv() -> bool {
    let mut python = programs::program("python3");
    let output = python.args(["-c", "import venv, ensurepip"]).output();
    output.is_ok_and(|out| out.status.success())
}
