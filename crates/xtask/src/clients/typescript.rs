//! The package for npm: types by openapi-typescript, methods by `clients/operations.py`, the rest by hand.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{copy, document, folder, source, write_operations};
use crate::dist::{Facts, files, pack_npm};
use crate::{Failure, lab, programs, workspace};

/// Makes the package, and gives the folder with its content and that of `node`.
pub(super) fn make(facts: &Facts, out: &Path) -> Result<(PathBuf, PathBuf), Failure> {
    let (modules, node) = lab::typescript()?;
    let stage = folder("typescript")?;
    copy("typescript", &stage)?;
    let manifest = facts.fill(&workspace::read(&source("typescript/package.json.in"))?)?;
    files::write(&stage.join("package.json"), manifest)?;
    let linked = stage.join("node_modules");
    std::os::unix::fs::symlink(&modules, &linked).map_err(files::at(&linked))?;
    write_operations("typescript", &stage.join("src"))?;
    let program = |path: &str| {
        let mut command = programs::program(node.join("node"));
        command.current_dir(&stage).arg(linked.join(path));
        command
    };
    generate(&mut program("openapi-typescript/bin/cli.js"))?;
    let compiler = "typescript/bin/tsc";
    programs::run(&mut program(compiler))?;
    programs::run(program(compiler).args(["--project", "tsconfig.checked.json"]))?;
    let mut tests = programs::program(node.join("node"));
    tests.current_dir(&stage);
    programs::run(tests.args(["--test", "test/client.test.js"]))?;
    pack_npm(&stage, out)?;
    let name = format!("siglum-client-{}.tgz", facts.get("version"));
    let unpacked = unpack(&out.join(name))?;
    Ok((unpacked, node))
}

/// Writes the types of the API.
fn generate(generator: &mut Command) -> Result<(), Failure> {
    generator
        .arg(document())
        .args(["--output", "src/schema.ts"])
        .args(["--root-types", "--root-types-no-schema-prefix"])
        .args(["--root-types-keep-casing", "--empty-objects-unknown"]);
    programs::run(generator)
}

/// Unpacks what npm installs, and puts the program of a test beside it. Node strips no types below `node_modules`, so the
/// examples run where the package finds itself by its name.
fn unpack(package: &Path) -> Result<PathBuf, Failure> {
    let unpacked = folder("typescript-unpacked")?;
    let mut tar = programs::program("tar");
    tar.args(["--extract", "--strip-components", "1", "--file"])
        .arg(package)
        .arg("--directory")
        .arg(&unpacked);
    programs::run(&mut tar)?;
    let report = "report.ts";
    files::copy(
        &source("typescript/test").join(report),
        &unpacked.join(report),
    )?;
    Ok(unpacked)
}
