//! `cargo xtask packages`: each package installed on a clean root by its one line, run, and removed, with nothing left.

mod cases;
mod clean_root;
mod operate;
mod site;

use std::path::{Path, PathBuf};

use crate::dist::{self, files};
use crate::summary::Ended;
use crate::{Failure, debian, programs, python, workspace};

use cases::{CASES, Case};

const NEEDS: &[debian::Need] = &[("strip", "binutils"), ("git", "git")];

/// Tries the named packages, or all: `[--program PATH] [PACKAGE]…`. `operate` follows the operator's page instead.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let (program, names) = option(args, "--program");
    let (before, names) = option(names, "--before");
    if names == [operate::NAME] {
        let site = offer(program, "site")?;
        let before = before.map(|before| offer(Some(before), "site-before"));
        return operate::follow(&site, before.transpose()?.as_deref());
    }
    if before.is_some() {
        let what = format!("--before goes with {} alone", operate::NAME);
        return Err(Failure::Usage(what));
    }
    if let Some(unknown) = names
        .iter()
        .find(|name| !CASES.iter().any(|case| case.name == **name))
    {
        return Err(Failure::Usage(format!("there is no package {unknown}")));
    }
    let is_chosen = |case: &&Case| names.is_empty() || names.iter().any(|name| name == case.name);
    try_all(program, CASES.iter().filter(is_chosen))
}

/// The path that a flag in front of the rest names.
fn option<'a>(args: &'a [String], flag: &str) -> (Option<PathBuf>, &'a [String]) {
    match args {
        [first, path, rest @ ..] if first == flag => (Some(PathBuf::from(path)), rest),
        rest => (None, rest),
    }
}

/// The lane: all packages, with the program that other lanes have built already.
pub(crate) fn lane() -> Result<Ended, Failure> {
    check_files()?;
    run(&[]).map(|()| Ended::default())
}

/// Renders the Helm chart, and reads compose files and alerts.
fn check_files() -> Result<(), Failure> {
    let packaging = workspace::root().join("packaging");
    let mut check = programs::program(python::install(&python::HELM)?);
    programs::run(
        check
            .arg(packaging.join("try/check_files.py"))
            .arg(packaging),
    )
}

fn try_all<'a>(
    program: Option<PathBuf>,
    cases: impl Iterator<Item = &'a Case>,
) -> Result<(), Failure> {
    let root = clean_root::make(&clean_root::FOR_PACKAGES)?;
    let site = offer(program, "site")?;
    let script = workspace::root().join("packaging/try/in_clean_root.sh");
    for case in cases {
        println!("\n== {}", case.name);
        let variables = case.variables()?;
        clean_root::run(&root, &site, &script, &variables)
            .map_err(|e| Failure::new(format!("{}: {e}", case.name)))?;
    }
    Ok(())
}

/// Packs a program, and lays the packages out in a folder of that name as a server offers them.
fn offer(program: Option<PathBuf>, name: &str) -> Result<PathBuf, Failure> {
    debian::ensure(NEEDS)?;
    let program = match program {
        Some(program) => program,
        None => dev_program()?,
    };
    let folder = workspace::target_dir()?.join("packages-tried");
    let (packages, site) = (folder.join("packages"), folder.join(name));
    files::clean(&packages)?;
    dist::make(&program, &packages)?;
    site::lay_out(&packages, &site)?;
    Ok(site)
}

/// The dev program without what debuggers want: a third of its size.
fn dev_program() -> Result<PathBuf, Failure> {
    let built = programs::dev_build("siglum")?;
    let stripped = workspace::target_dir()?.join("packages-tried/siglum");
    make_parent(&stripped)?;
    let mut strip = programs::program("strip");
    programs::run(strip.arg("-o").arg(&stripped).arg(built))?;
    Ok(stripped)
}

fn make_parent(path: &Path) -> Result<(), Failure> {
    path.parent().map_or(Ok(()), files::make_dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Facts;

    /// The version is defined in the manifest of the workspace; Helm wants it in a file of its own.
    #[test]
    fn the_chart_has_the_version_of_the_program() {
        let chart = workspace::root().join("packaging/helm/siglum/Chart.yaml");
        let (chart, facts) = (workspace::read(&chart).unwrap(), Facts::load().unwrap());
        for name in ["version", "appVersion"] {
            let line = format!("{name}: {}", facts.get("version"));
            assert!(chart.lines().any(|found| found == line), "{line}");
        }
    }
}
