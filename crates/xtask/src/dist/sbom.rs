//! What the program is made of, as CycloneDX.

use std::path::PathBuf;

use super::{Built, facts, files};
use crate::{Failure, programs, workspace};

/// The program that knows it, pinned.
const TOOL: &str = "cargo-cyclonedx";
const VERSION: &str = "0.5.9";

/// Writes it beside the packages.
pub(super) fn write(built: &Built) -> Result<(), Failure> {
    let manifest = workspace::root().join("crates/cli/Cargo.toml");
    let triple = built.platform.triple;
    let mut tool = programs::program(install()?);
    tool.args(["cyclonedx", "--format", "json", "--spec-version", "1.5"])
        .args(["--target", triple])
        // The tool writes beside the manifest.
        .args(["--override-filename", "siglum-sbom"])
        .arg("--manifest-path")
        .arg(&manifest)
        .env("SOURCE_DATE_EPOCH", facts::epoch());
    programs::run(&mut tool)?;
    let name = format!("siglum-sbom-{triple}.cdx.json");
    let own = manifest.with_file_name("siglum-sbom.json");
    // Where the sources lay when they were built is nobody's business.
    let root = format!("{}/", workspace::root().display());
    let text = workspace::read(&own)?.replace(&root, "/");
    files::write(&built.out.join(name), text)?;
    // It writes one for each crate of the workspace.
    for folder in workspace::crate_dirs(&workspace::root())? {
        let path = folder.join("siglum-sbom.json");
        if path.is_file() {
            std::fs::remove_file(&path).map_err(files::at(&path))?;
        }
    }
    Ok(())
}

/// Installs the tool where it is missing. The version is part of the folder's name, so a new one is a new folder.
fn install() -> Result<PathBuf, Failure> {
    let root = workspace::target_dir()?.join(format!("tools/{TOOL}-{VERSION}"));
    let program = root.join("bin").join(TOOL);
    if !program.is_file() {
        let mut cargo = programs::cargo(&["install", TOOL, "--version", VERSION, "--locked"]);
        programs::run(cargo.arg("--quiet").arg("--root").arg(&root))?;
    }
    Ok(program)
}
