//! The lab: real agents at pinned versions, installed by npm into a cache, and the programs in `lab/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, debian, programs, workspace};

/// The packages, and their programs.
mod packages;

use packages::{AGENTS, OPENCODE, Package};

const NODE: &str = "26.10.0";
/// What writes the types of the client in TypeScript, checks and builds it.
const TYPESCRIPT: [(&str, &str); 3] = [
    ("typescript", "5.9.3"),
    ("@types/node", "24.10.1"),
    ("openapi-typescript", "7.13.0"),
];

/// The release of OpenClaw that the plug-in is shown with.
const OPENCLAW: &str = "2026.9.6";

/// What OpenCode would install by npm at its start, where there is no network then.
const PLUGIN: &str = "@opencode-ai/plugin";

/// Where the lab's parts are.
pub(crate) struct Lab {
    /// The agents' programs.
    agents: Vec<(&'static Package, PathBuf)>,
    /// The directory of `node`.
    node: PathBuf,
    /// What stands for an installation of OpenCode's plugins.
    plugin: PathBuf,
    cache: PathBuf,
}

/// Runs a `cargo xtask lab` command.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let rest = args.get(1..).unwrap_or_default();
    match (args.first().map(String::as_str), rest) {
        (Some("install"), []) => install().map(|lab| lab.print()),
        (Some("path"), []) => Lab::at(&cache()?).map(|lab| lab.print()),
        (Some("run"), [_, _, ..]) => script("lab.py", &[&["run".to_owned()], rest].concat()),
        (Some("record"), [_] | [_, _]) => script("record.py", rest),
        (Some("acp"), [_, _, ..]) => script("acp_client.py", rest),
        (Some("record-acp"), [_]) => script("record_acp.py", rest),
        (Some("record-headless"), [_]) => script("record_headless.py", rest),
        _ => Err(Failure::Usage(
            "lab install, path, run AGENT STEP…, record [AGENT] DIR, acp AGENT STEP…, record-acp DIR or record-headless DIR"
                .to_owned(),
        )),
    }
}

/// Installs what is missing. Versions are part of the folders' names, so a new one is a new folder.
pub(crate) fn install() -> Result<Lab, Failure> {
    debian::ensure(debian::AGENTS)?;
    let cache = cache()?;
    let lab = Lab::at(&cache)?;
    install_node(&lab)?;
    for (package, program) in &lab.agents {
        if !program.is_file() {
            let wanted = format!("{}@{}", package.name, package.version);
            npm(&package.folder(&lab.cache), &[wanted], Some(&lab.node))?;
        }
    }
    install_plugin(&lab)?;
    let programs = lab.agents.iter().map(|(_, program)| program.clone());
    for path in programs.chain([lab.node.join("node")]) {
        if !path.is_file() {
            return Err(Failure::new(format!(
                "npm did not bring {}",
                path.display()
            )));
        }
    }
    Ok(lab)
}

fn install_node(lab: &Lab) -> Result<(), Failure> {
    if lab.node.join("node").is_file() {
        return Ok(());
    }
    let folder = lab.cache.join(format!("node-{NODE}"));
    npm(&folder, &[format!("node@{NODE}")], None)
}

fn install_plugin(lab: &Lab) -> Result<(), Failure> {
    if lab.plugin.join("node_modules").is_dir() {
        return Ok(());
    }
    let wanted = format!("{PLUGIN}@{}", OPENCODE.version);
    npm(&lab.plugin, &[wanted], Some(&lab.node))
}

/// Installs what makes and runs the client in TypeScript, and gives the directory with it and that of `node`.
pub(crate) fn typescript() -> Result<(PathBuf, PathBuf), Failure> {
    debian::ensure(debian::AGENTS)?;
    let lab = Lab::at(&cache()?)?;
    install_node(&lab)?;
    let [(compiler, version), ..] = TYPESCRIPT;
    let folder = lab.cache.join(format!("{compiler}-{version}"));
    let has = |(package, _): &(&str, &str)| folder.join("node_modules").join(package).is_dir();
    if !TYPESCRIPT.iter().all(has) {
        let packages = TYPESCRIPT.map(|(package, version)| format!("{package}@{version}"));
        npm(&folder, &packages, Some(&lab.node))?;
    }
    Ok((folder.join("node_modules"), lab.node))
}

/// Installs OpenClaw, and gives the environment that the programs expect which start it.
pub(crate) fn openclaw() -> Result<[(&'static str, PathBuf); 2], Failure> {
    debian::ensure(debian::AGENTS)?;
    let lab = Lab::at(&cache()?)?;
    install_node(&lab)?;
    let folder = lab.cache.join(format!("openclaw-{OPENCLAW}"));
    let program = folder.join("node_modules/openclaw/openclaw.mjs");
    if !program.is_file() {
        npm(&folder, &[format!("openclaw@{OPENCLAW}")], Some(&lab.node))?;
    }
    Ok([("LAB_OPENCLAW", program), ("LAB_NODE", lab.node)])
}

/// Installs what the page of the front-end tests is made of, at the versions of its lock file, and gives the directory
/// with it and that of `node`.
pub(crate) fn front_end() -> Result<(PathBuf, PathBuf), Failure> {
    let lab = Lab::at(&cache()?)?;
    install_node(&lab)?;
    let sources = workspace::root().join("lab/front_end");
    let lock = sources.join("package-lock.json");
    let unread = |e: std::io::Error| Failure::new(format!("{}: {e}", lock.display()));
    let wanted = std::fs::read(&lock).map_err(unread)?;
    let folder = lab.cache.join("front-end");
    // What was installed last, whole, says so.
    let done = folder.join("installed.json");
    if std::fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok((folder.join("node_modules"), lab.node));
    }
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(&folder).map_err(fail)?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(sources.join(file), folder.join(file)).map_err(fail)?;
    }
    let mut npm = programs::program("npm");
    npm.current_dir(&folder)
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .arg("--loglevel=error");
    programs::run(programs::look_first_in(&mut npm, &lab.node))?;
    std::fs::write(done, wanted).map_err(fail)?;
    Ok((folder.join("node_modules"), lab.node))
}

/// The programs in `lab/`, with the environment they expect.
pub(crate) fn python(lab: &Lab, file: &str) -> Command {
    let mut command = programs::program("python3");
    command
        .arg(workspace::root().join("lab").join(file))
        .env("LAB_NODE", &lab.node)
        .env("LAB_OPENCODE_PLUGIN", &lab.plugin);
    for (package, program) in &lab.agents {
        command.env(format!("LAB_{}", package.variable()), program);
    }
    command
}

impl Lab {
    fn at(cache: &Path) -> Result<Self, Failure> {
        let (arch, triple) = match std::env::consts::ARCH {
            "x86_64" => ("x64", "x86_64"),
            "aarch64" => ("arm64", "aarch64"),
            other => {
                return Err(Failure::new(format!(
                    "no package of the agents for {other}"
                )));
            }
        };
        let program = |package: &'static Package| {
            let below = package.program.replace("{arch}", arch);
            let modules = package.folder(cache).join("node_modules");
            (package, modules.join(below.replace("{triple}", triple)))
        };
        Ok(Self {
            agents: AGENTS.iter().copied().map(program).collect(),
            node: cache.join(format!("node-{NODE}/node_modules/node/bin")),
            plugin: cache.join(format!("opencode-plugin-{}", OPENCODE.version)),
            cache: cache.to_owned(),
        })
    }

    /// The variables that the tests of real agents read.
    pub(crate) fn variables(&self) -> Vec<(String, PathBuf)> {
        let programs = self.agents.iter().map(|(package, program)| {
            let name = format!("SIGLUM_LAB_{}", package.variable());
            (name, program.clone())
        });
        let rest = [
            ("SIGLUM_LAB_DIR", workspace::root().join("lab")),
            ("SIGLUM_LAB_NODE", self.node.clone()),
            ("SIGLUM_LAB_OPENCODE_PLUGIN", self.plugin.clone()),
        ];
        let rest = rest.map(|(name, value)| (name.to_owned(), value));
        programs.chain(rest).collect()
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

/// Installs packages into a folder of their own, all at once: what is not asked for is taken out. Only Node's package needs its install script.
fn npm(folder: &Path, packages: &[String], node: Option<&Path>) -> Result<(), Failure> {
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(fail)?;
    std::fs::write(folder.join("package.json"), "{\"private\": true}\n").map_err(fail)?;
    let mut npm = programs::program("npm");
    npm.current_dir(folder)
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error"]);
    if let Some(node) = node {
        programs::look_first_in(&mut npm, node).arg("--ignore-scripts");
    }
    programs::run(npm.args(packages))
}
