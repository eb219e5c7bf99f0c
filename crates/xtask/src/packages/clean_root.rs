//! A root of Debian that nothing of ours was ever in, made once, and scripts that run over it.

use std::path::{Path, PathBuf};

use super::site;
use crate::{Failure, debian, programs, workspace};

const NEEDS: &[debian::Need] = &[
    ("mmdebstrap", "mmdebstrap"),
    ("unshare", "util-linux"),
    ("ip", "iproute2"),
    ("python3", "python3"),
];
/// What signs Debian's packages; elsewhere than in Debian it is missing.
const KEYS: (&str, &str) = (
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "debian-archive-keyring",
);

/// A root, and what is in it besides what every Debian has.
pub(super) struct Root {
    /// What its directory is called after the release of Debian.
    pub(super) name: &'static str,
    pub(super) packages: &'static [&'static str],
}

/// What a person has before installing: git, something that downloads, and the package managers.
pub(super) const FOR_PACKAGES: Root = Root {
    name: "",
    packages: &[
        "ca-certificates",
        "curl",
        "git",
        "man-db",
        "nodejs",
        "npm",
        "pipx",
        "python3-venv",
        "systemd",
        "wget",
    ],
};

/// Makes the root where it is missing.
pub(super) fn make(kind: &Root) -> Result<PathBuf, Failure> {
    if !debian::is_root() {
        return Err(Failure::new(
            "a clean root is made and entered by root only",
        ));
    }
    debian::ensure(NEEDS)?;
    let (keys, package) = KEYS;
    if !Path::new(keys).is_file() {
        debian::install(&[package])?;
    }
    let suite = suite();
    let parent = workspace::target_dir()?.join("clean-root");
    let name = format!("{suite}{}", kind.name);
    let (root, mark) = (parent.join(&name), parent.join(format!("{name}.packages")));
    let packages = kind.packages.join(",");
    // What was begun and not finished has no mark.
    if std::fs::read_to_string(&mark).is_ok_and(|made| made == packages) {
        return Ok(root);
    }
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", parent.display()));
    if root.exists() {
        std::fs::remove_dir_all(&root).map_err(fail)?;
    }
    std::fs::create_dir_all(&parent).map_err(fail)?;
    let mut make = programs::program("mmdebstrap");
    // It is made anew where it is lost, so nothing waits for the disk.
    make.args(["--quiet", "--variant=minbase", "--dpkgopt=force-unsafe-io"])
        .arg(format!("--include={packages}"))
        .arg(&suite)
        .arg(&root);
    programs::run(&mut make)?;
    std::fs::write(&mark, packages).map_err(fail)?;
    Ok(root)
}

/// Runs a script over the root, with the packages of `site` on loopback.
pub(super) fn run(
    root: &Path,
    site: &Path,
    script: &Path,
    variables: &[(&str, String)],
) -> Result<(), Failure> {
    let scratch = workspace::target_dir()?.join("clean-root/scratch");
    std::fs::create_dir_all(&scratch)
        .map_err(|e| Failure::new(format!("{}: {e}", scratch.display())))?;
    let mut unshare = programs::program("unshare");
    unshare
        .args([
            "--mount",
            "--net",
            "--ipc",
            "--pid",
            "--fork",
            "--kill-child",
        ])
        .arg(workspace::root().join("packaging/try/enter_clean_root.sh"))
        .args([root, &scratch, site])
        .arg(site::PORT.to_string())
        .arg(script)
        .env_clear()
        .env(
            "PATH",
            "/root/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        )
        .env("HOME", "/root")
        .env("LC_ALL", "C.UTF-8")
        .envs(variables.iter().map(|(name, value)| (name, value)));
    programs::run(&mut unshare)
}

/// The release of Debian that runs what is built here: this machine's, or the one whose keys older systems know, too.
fn suite() -> String {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    match (value("ID="), value("VERSION_CODENAME=")) {
        (Some(id), Some(suite)) if id == "debian" => suite,
        _ => "bookworm".to_owned(),
    }
}
