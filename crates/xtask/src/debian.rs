//! Programs the tests need, installed as Debian packages where they are missing.

use crate::{Failure, programs};

/// A program and the package that brings it.
pub(crate) type Need = (&'static str, &'static str);

/// What the black-box tests start.
pub(crate) const BLACKBOX: &[Need] = &[
    ("git", "git"),
    ("python3", "python3"),
    ("tmux", "tmux"),
    ("setsid", "util-linux"),
    ("unshare", "util-linux"),
    ("ps", "procps"),
    ("strace", "strace"),
    ("zsh", "zsh"),
    ("mksh", "mksh"),
    ("yash", "yash"),
    ("busybox", "busybox"),
    ("gawk", "gawk"),
];

/// What real agents need besides.
pub(crate) const AGENTS: &[Need] = &[("npm", "npm"), ("ip", "iproute2")];

/// What drives a page.
pub(crate) const BROWSER: &[Need] = &[("npm", "npm"), ("chromium", "chromium")];

/// Makes sure that all programs are there; installs the missing ones when run as root.
pub(crate) fn ensure(needs: &[Need]) -> Result<(), Failure> {
    let mut packages: Vec<&str> = needs
        .iter()
        .filter(|(program, _)| programs::find(program).is_none())
        .map(|(_, package)| *package)
        .collect();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    install(&packages)
}

/// Installs packages, when run as root.
pub(crate) fn install(packages: &[&str]) -> Result<(), Failure> {
    let list = packages.join(" ");
    if programs::find("apt-get").is_none() || !is_root() {
        return Err(Failure::new(format!(
            "programs of the Debian packages {list} are missing and this is not root on Debian; \
             install them first: sudo apt-get install {list}"
        )));
    }
    eprintln!("installing Debian packages: {list}");
    programs::run(programs::program("apt-get").args(["-qq", "update"]))?;
    let mut install = programs::program("apt-get");
    install
        .args(["-qq", "-y", "--no-install-recommends", "install"])
        .args(packages);
    programs::run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

pub(crate) fn is_root() -> bool {
    let id = programs::program("id").arg("-u").output();
    id.is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}
