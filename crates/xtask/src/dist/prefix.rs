//! The files of a package, laid out as below `/usr`: the tarball has them as they are, and the Debian package moves a few.

use std::path::{Path, PathBuf};

use super::{Built, files};
use crate::{Failure, programs, workspace};

/// Each shell, and where its completions are looked for.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/siglum"),
    ("zsh", "share/zsh/site-functions/_siglum"),
    ("fish", "share/fish/vendor_completions.d/siglum.fish"),
];

/// What people read, from the top of the repository.
const DOCUMENTS: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Lays the files out, and gives the folder.
pub(super) fn lay_out(built: &Built) -> Result<PathBuf, Failure> {
    let name = format!(
        "siglum-{}-{}",
        built.facts.get("version"),
        built.platform.triple
    );
    let prefix = built.folder(&name)?;
    let program = prefix.join("bin/siglum");
    files::copy(&built.program, &program)?;
    files::executable(&program)?;
    let pages = prefix.join("share/man/man1");
    files::make_dir(&pages)?;
    programs::run(
        programs::program(&program)
            .args(["man", "--to"])
            .arg(&pages),
    )?;
    for (shell, path) in COMPLETIONS {
        let script = output(&program, &["completions", shell])?;
        files::write(&prefix.join(path), script)?;
    }
    for document in DOCUMENTS {
        let to = prefix.join("share/doc/siglum").join(document);
        files::copy(&workspace::root().join(document), &to)?;
    }
    Ok(prefix)
}

/// What the program prints.
pub(super) fn output(program: &Path, args: &[&str]) -> Result<Vec<u8>, Failure> {
    let result = programs::program(program).args(args).output();
    let output = result.map_err(files::at(program))?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(Failure::new(format!("siglum {}: {why}", args.join(" "))))
        }
    }
}
