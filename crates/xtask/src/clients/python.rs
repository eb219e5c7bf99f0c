//! The package for PyPI: types by datamodel-code-generator, methods and errors by `clients/operations.py`, the rest by hand.

use std::path::{Path, PathBuf};

use super::{copy, document, folder, source, write_operations};
use crate::dist::{Facts, files, pack_wheel};
use crate::{Failure, programs, python, workspace};

/// The oldest Python that it works with.
const PYTHON: &str = "3.11";

/// Makes the wheel, and gives its path.
pub(super) fn make(facts: &Facts, out: &Path) -> Result<PathBuf, Failure> {
    let name = format!("siglum_client-{}", facts.get("version"));
    let stage = folder("python")?;
    generate(&stage.join("siglum_client"))?;
    check(&stage)?;
    let info = stage.join(format!("{name}.dist-info"));
    let readme = workspace::read(&source("python/README.md"))?;
    let metadata = facts.fill(&workspace::read(&source("python/METADATA"))?)?;
    files::write(&info.join("METADATA"), metadata + &readme)?;
    files::copy(&source("python/WHEEL"), &info.join("WHEEL"))?;
    pack_wheel(&stage, &info, out)?;
    Ok(out.join(format!("{name}-py3-none-any.whl")))
}

/// Puts the package together.
fn generate(package: &Path) -> Result<(), Failure> {
    copy("python/src/siglum_client", package)?;
    write_operations("python", package)?;
    let mut generator = programs::program(python::install(&python::MODEL_GENERATOR)?);
    generator
        .args(["--input-file-type", "openapi", "--input"])
        .arg(document())
        .arg("--output")
        .arg(package.join("models.py"))
        .args(["--output-model-type", "typing.TypedDict"])
        // mypy does not know closed ones.
        .arg("--no-use-closed-typed-dict")
        .args(["--target-python-version", PYTHON])
        .args(["--enum-field-as-literal", "all"])
        .args(["--use-standard-collections", "--use-union-operator"])
        .args(["--use-schema-description", "--use-field-description"])
        .args(["--formatters", "builtin", "--disable-timestamp"]);
    programs::run(&mut generator)
}

/// Checks the types of the package, its tests and its examples, and runs the tests.
fn check(stage: &Path) -> Result<(), Failure> {
    let (tests, examples) = (source("python/tests"), source("python/examples"));
    let mut mypy = programs::program(python::install(&python::MYPY)?);
    mypy.args(["--strict", "--python-version", PYTHON, "--cache-dir"])
        .arg(workspace::target_dir()?.join("clients/mypy"))
        .arg(stage.join("siglum_client"))
        .args([&tests, &examples])
        .env("MYPYPATH", stage);
    programs::run(&mut mypy)?;
    let path = std::env::join_paths([stage, tests.as_path()]);
    let path = path.map_err(|e| Failure::new(e.to_string()))?;
    let mut unittest = programs::program("python3");
    unittest
        .args(["-B", "-W", "error", "-m", "unittest", "discover", "-s"])
        .arg(&tests)
        .env("PYTHONPATH", path);
    programs::run(&mut unittest)
}
