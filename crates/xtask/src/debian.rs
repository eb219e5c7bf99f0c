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
    install(&packages)
}

/// Whether this user may install packages here.
pub(crate) fn can_install() -> bool {
    has_apt() && is_root()
}

fn has_apt() -> bool {
    programs::find("apt-get").is_some()
}

/// What to say of missing packages where they cannot be installed.
pub(crate) fn refusal(packages: &[&str]) -> String {
    if has_apt() {
        let line = apt_line(packages);
        return format!(
            "Debian packages are missing; install them first, or run this as root:\n{line}"
        );
    }
    format!(
        "programs of these Debian packages are missing; install what this system calls them:\n{}",
        packages.join(" ")
    )
}

/// The command that installs packages.
pub(crate) fn apt_line(packages: &[&str]) -> String {
    let list = packages.join(" ");
    format!("sudo apt-get install --no-install-recommends {list}")
}

/// Installs packages, when run as root.
pub(crate) fn install(packages: &[&str]) -> Result<(), Failure> {
    if packages.is_empty() {
        return Ok(());
    }
    if !can_install() {
        return Err(Failure::new(refusal(packages)));
    }
    eprintln!("installing Debian packages: {}", packages.join(" "));
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
