//! The wheel for pip and pipx: the program, and what pip wants to know of it.

use std::path::Path;

use super::platform::{Wheel, glibc};
use super::{Built, facts, files};
use crate::{Failure, programs, python, workspace};

const LICENSES: &[&str] = &["LICENSE-MIT", "LICENSE-APACHE"];

pub(super) fn make(built: &Built) -> Result<(), Failure> {
    let folder = built.folder("wheel")?;
    let facts = built.facts.with("tag", tag(built)?);
    let name = format!("siglum-{}", facts.get("version"));
    let info = folder.join(format!("{name}.dist-info"));
    for file in ["METADATA", "WHEEL"] {
        let text = facts.fill_file(&format!("wheel/{file}"))?;
        files::write(&info.join(file), text)?;
    }
    let program = folder.join(format!("{name}.data/scripts/siglum"));
    files::copy(&built.program, &program)?;
    files::executable(&program)?;
    pack(&folder, &info, &built.out)
}

/// Packs a folder, of which `info` says what it is, and the licenses.
pub(crate) fn pack(folder: &Path, info: &Path, out: &Path) -> Result<(), Failure> {
    for license in LICENSES {
        let to = info.join("licenses").join(license);
        files::copy(&workspace::root().join(license), &to)?;
    }
    // It writes the list of digests that pip checks.
    let mut wheel = programs::program(python::install(&python::WHEEL)?);
    wheel
        .arg("pack")
        .arg(folder)
        .arg("--dest-dir")
        .arg(out)
        .env("SOURCE_DATE_EPOCH", facts::epoch());
    programs::run(&mut wheel)
}

fn tag(built: &Built) -> Result<String, Failure> {
    let cpu = match built.platform.wheel {
        Wheel::Tag(tag) => return Ok(tag.to_owned()),
        Wheel::Glibc(cpu) => cpu,
    };
    let bytes = std::fs::read(&built.program).map_err(files::at(&built.program))?;
    match glibc(&bytes) {
        Some((major, minor)) => Ok(format!("manylinux_{major}_{minor}_{cpu}")),
        None => Err(Failure::new(
            "the program does not say which glibc it needs",
        )),
    }
}
