//! `cargo xtask packages operate`: the operator's page, followed literally on clean machines, one for each store.

use std::path::{Path, PathBuf};

use super::clean_root::{self, Root};
use crate::{Failure, debian, programs, workspace};

/// What it is named by, as packages are.
pub(super) const NAME: &str = "operate";

const NEEDS: &[debian::Need] = &[
    ("nsenter", "util-linux"),
    ("dpkg-deb", "dpkg"),
    ("openssl", "openssl"),
    ("python3", "python3"),
];

/// A minimal Debian as its installer leaves it, where somebody installed sudo.
const MACHINE: Root = Root {
    name: "-machine",
    packages: &["dbus", "sudo", "systemd-sysv"],
};

const PAGE: &str = "docs/guide/operate.md";
const STORES: &[&str] = &["sqlite", "postgresql"];

/// Follows the page up to an upgrade to the packages of `site`, from those of `before`, or from the same with a lower version.
pub(super) fn follow(site: &Path, before: Option<&Path>) -> Result<(), Failure> {
    debian::ensure(NEEDS)?;
    let root = clean_root::make(&MACHINE)?;
    for store in STORES {
        println!("\n== {PAGE}: {store}");
        let mut python = programs::program("python3");
        python
            .arg(workspace::root().join("packaging/try/follow_page.py"))
            .args([PathBuf::from(PAGE), PathBuf::from(store), root.clone()])
            .arg(site)
            .args(before);
        programs::run(&mut python).map_err(|e| Failure::new(format!("{PAGE}: {store}: {e}")))?;
    }
    Ok(())
}
