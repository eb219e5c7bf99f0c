//! The packages for npm: one for each platform with its program, and one whose launcher starts the program of the platform
//! that npm installed with it. No script runs at installation, and nothing is downloaded.

use std::path::Path;

use super::platform::Node;
use super::{Built, Facts, PLATFORMS, Platform, facts, files};
use crate::{Failure, debian, programs, workspace};

const NEEDS: &[debian::Need] = &[("npm", "npm")];
const LICENSES: &[&str] = &["LICENSE-MIT", "LICENSE-APACHE"];

/// What npm calls the package of a platform.
pub(crate) fn scoped(platform: &Platform) -> String {
    format!("@siglum/{}", platform.node.name)
}

/// Makes the package of a platform.
pub(super) fn make(built: &Built) -> Result<(), Failure> {
    let folder = built.folder("npm")?;
    let Node { os, cpu, libc, .. } = built.platform.node;
    let libc = libc.map(|libc| format!("\n  \"libc\": [\"{libc}\"],"));
    let facts = built
        .facts
        .with("package", scoped(built.platform))
        .with("triple", built.platform.triple)
        .with("os", os)
        .with("cpu", cpu)
        .with("libc", libc.unwrap_or_default());
    let manifest = facts.fill_file("npm/platform/package.json.in")?;
    files::write(&folder.join("package.json"), manifest)?;
    let program = folder.join("bin/siglum");
    files::copy(&built.program, &program)?;
    files::executable(&program)?;
    pack(&folder, &built.out)
}

/// Makes the package that people install, for the platforms whose packages are there.
pub(super) fn make_main(facts: &Facts, out: &Path) -> Result<(), Failure> {
    let folder = workspace::target_dir()?.join("dist-work/npm");
    files::clean(&folder)?;
    let version = facts.get("version");
    let is_there = |platform: &&Platform| {
        out.join(format!("siglum-{}-{version}.tgz", platform.node.name))
            .is_file()
    };
    let rows = PLATFORMS
        .iter()
        .filter(is_there)
        .map(|platform| format!("    \"{}\": \"{version}\"", scoped(platform)));
    let rows: Vec<String> = rows.collect();
    let facts = facts.with("platforms", format!("{{\n{}\n  }}", rows.join(",\n")));
    let manifest = facts.fill_file("npm/siglum/package.json.in")?;
    files::write(&folder.join("package.json"), manifest)?;
    let readme = facts.fill_file("npm/siglum/README.md")?;
    files::write(&folder.join("README.md"), readme)?;
    let launcher = folder.join("siglum.js");
    files::copy(&facts::source("npm/siglum/siglum.js"), &launcher)?;
    files::executable(&launcher)?;
    pack(&folder, out)
}

/// Packs a folder with its manifest, and the licenses.
pub(crate) fn pack(folder: &Path, out: &Path) -> Result<(), Failure> {
    debian::ensure(NEEDS)?;
    for license in LICENSES {
        files::copy(&workspace::root().join(license), &folder.join(license))?;
    }
    let mut npm = programs::program("npm");
    npm.current_dir(folder)
        .args(["pack", "--silent", "--ignore-scripts"])
        .arg("--pack-destination")
        .arg(out);
    programs::run(&mut npm)
}
