//! `cargo xtask clients`: the clients of the gateway in Python and TypeScript, generated from the document of the API,
//! checked, tested, and packed as PyPI and npm take them. Nothing that is generated is committed.

mod python;
mod typescript;

use std::path::{Path, PathBuf};

use crate::dist::{Facts, files};
use crate::{Failure, debian, programs, workspace};

/// What makes packages, and tests them.
pub(crate) const NEEDS: &[debian::Need] = &[("python3", "python3"), ("tar", "tar")];

/// The packages of the clients, as tests use them.
pub(crate) struct Clients {
    wheel: PathBuf,
    /// The content of the package for npm.
    typescript: PathBuf,
    node: PathBuf,
}

impl Clients {
    /// The variables that the tests read.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("SIGLUM_CLIENTS_PYTHON", self.wheel.clone()),
            ("SIGLUM_CLIENTS_TYPESCRIPT", self.typescript.clone()),
            ("SIGLUM_CLIENTS_NODE", self.node.join("node")),
        ]
    }
}

/// Makes the packages, and prints how tests by hand use them: `[--out DIR]`.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let out = match args {
        [] => workspace::target_dir()?.join("packages"),
        [flag, out] if flag == "--out" => PathBuf::from(out),
        _ => return Err(Failure::Usage("clients takes only --out DIR".to_owned())),
    };
    for (name, value) in make(&out)?.variables() {
        println!("export {name}={}", value.display());
    }
    Ok(())
}

/// Generates, checks, tests and packs both clients.
pub(crate) fn make(out: &Path) -> Result<Clients, Failure> {
    debian::ensure(NEEDS)?;
    // Programs that pack work in folders of their own.
    files::make_dir(out)?;
    let out = out.canonicalize().map_err(files::at(out))?;
    let facts = Facts::load()?;
    let wheel = python::make(&facts, &out)?;
    let (typescript, node) = typescript::make(&facts, &out)?;
    Ok(Clients {
        wheel,
        typescript,
        node,
    })
}

/// A file of `clients/`.
fn source(path: &str) -> PathBuf {
    workspace::root().join("clients").join(path)
}

/// The document of the API.
fn document() -> PathBuf {
    workspace::root().join("docs/openapi.json")
}

/// An empty folder to work in.
fn folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = workspace::target_dir()?.join("clients").join(name);
    files::clean(&folder)?;
    Ok(folder)
}

/// Copies all files of a folder of `clients/`, but for what Python compiled.
fn copy(from: &str, to: &Path) -> Result<(), Failure> {
    let from = source(from);
    for path in files::below(&from)? {
        if path.extension().is_none_or(|e| e != "pyc") {
            let short = path.strip_prefix(&from).unwrap_or(&path);
            files::copy(&path, &to.join(short))?;
        }
    }
    Ok(())
}

/// Writes the methods of a client, one for each operation.
fn write_operations(language: &str, to: &Path) -> Result<(), Failure> {
    let mut writer = programs::program("python3");
    writer.arg("-B").arg(source("operations.py"));
    programs::run(writer.arg(language).arg(to))
}
