//! The lab: real agents at pinned versions, installed by npm into a cache, and the programs in `lab/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, debian, programs, workspace};

const NODE: &str = "26.10.0";
const CLAUDE: &str = "2.1.329";

/// Where the lab's parts are.
pub(crate) struct Lab {
    /// The agent's program.
    pub(crate) claude: PathBuf,
    /// The directory of `node`.
    pub(crate) node: PathBuf,
}

/// Runs a `cargo xtask lab` command.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let rest = args.get(1..).unwrap_or_default();
    match (args.first().map(String::as_str), rest) {
        (Some("install"), []) => install().map(|lab| lab.print()),
        (Some("path"), []) => Lab::at(&cache()?).map(|lab| lab.print()),
        (Some("run"), [_, _, ..]) => script("lab.py", &[&["run".to_owned()], rest].concat()),
        (Some("record"), [_]) => script("record.py", rest),
        _ => Err(Failure::Usage(
            "lab install, path, run AGENT STEP… or record DIR".to_owned(),
        )),
    }
}

/// Installs what is missing. Versions are part of the folders' names, so a new one is a new folder.
pub(crate) fn install() -> Result<Lab, Failure> {
    debian::ensure(debian::AGENTS)?;
    let cache = cache()?;
    let lab = Lab::at(&cache)?;
    if !lab.node.join("node").is_file() {
        npm(
            &cache.join(format!("node-{NODE}")),
            &format!("node@{NODE}"),
            None,
        )?;
    }
    if !lab.claude.is_file() {
        let package = format!("@anthropic-ai/claude-code@{CLAUDE}");
        npm(
            &cache.join(format!("claude-{CLAUDE}")),
            &package,
            Some(&lab.node),
        )?;
    }
    for path in [&lab.claude, &lab.node.join("node")] {
        if !path.is_file() {
            return Err(Failure::new(format!(
                "npm did not bring {}",
                path.display()
            )));
        }
    }
    Ok(lab)
}

/// The programs in `lab/`, with the environment they expect.
pub(crate) fn python(lab: &Lab, file: &str) -> Command {
    let mut command = programs::program("python3");
    command
        .arg(workspace::root().join("lab").join(file))
        .env("LAB_CLAUDE", &lab.claude)
        .env("LAB_NODE", &lab.node);
    command
}

impl Lab {
    fn at(cache: &Path) -> Result<Self, Failure> {
        let arch = match std::env::consts::ARCH {
            "x86_64" => "x64",
            "aarch64" => "arm64",
            other => return Err(Failure::new(format!("no package of the agent for {other}"))),
        };
        let claude =
            format!("claude-{CLAUDE}/node_modules/@anthropic-ai/claude-code-linux-{arch}/claude");
        let node = format!("node-{NODE}/node_modules/node/bin");
        Ok(Self {
            claude: cache.join(claude),
            node: cache.join(node),
        })
    }

    /// The variables that the tests of real agents read.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("SIGLUM_LAB_DIR", workspace::root().join("lab")),
            ("SIGLUM_LAB_CLAUDE", self.claude.clone()),
            ("SIGLUM_LAB_NODE", self.node.clone()),
        ]
    }

    fn print(&self) {
        for (name, value) in self.variables() {
            println!("{name}={}", value.display());
        }
    }
}

fn script(file: &str, args: &[String]) -> Result<(), Failure> {
    let lab = install()?;
    programs::run(python(&lab, file).args(args))
}

fn cache() -> Result<PathBuf, Failure> {
    match std::env::var_os("SIGLUM_LAB_CACHE") {
        Some(dir) if !dir.is_empty() => Ok(PathBuf::from(dir)),
        _ => Ok(workspace::target_dir()?.join("lab")),
    }
}

/// Installs one package into a folder of its own. Only Node's package needs its install script.
fn npm(folder: &Path, package: &str, node: Option<&Path>) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(fail)?;
    std::fs::write(folder.join("package.json"), "{\"private\": true}\n").map_err(fail)?;
    let mut npm = programs::program("npm");
    npm.current_dir(folder)
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    if let Some(node) = node {
        let old = std::env::var_os("PATH").unwrap_or_default();
        let dirs = std::iter::once(node.to_owned()).chain(std::env::split_paths(&old));
        let path = std::env::join_paths(dirs).map_err(|e| Failure::new(e.to_string()))?;
        npm.env("PATH", path).arg("--ignore-scripts");
    }
    programs::run(npm.arg(package))
}
