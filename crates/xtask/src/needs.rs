//! What lanes need of the system. Who may not install Debian packages gets all that the chosen lanes lack in one list,
//! before anything is built; otherwise a lane installs what it lacks when its turn comes.

use crate::{Failure, debian, postgres, programs, python};

/// One part of what a lane needs.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Programs(&'static [debian::Need]),
    /// A PostgreSQL server.
    Postgres,
    /// Programs that pip installs.
    Python(&'static [&'static python::Package]),
}

/// What tests of all stores need.
pub(crate) const STORES: &[Part] = &[Part::Programs(debian::BLACKBOX), Part::Postgres];

/// What the black-box tests need.
pub(crate) const BLACKBOX: &[Part] = &[
    Part::Programs(debian::BLACKBOX),
    Part::Postgres,
    Part::Python(&[&python::SCHEMATHESIS]),
];

/// What a machine has.
struct Machine {
    has_program: fn(&str) -> bool,
    /// Whether the environment names a PostgreSQL server.
    has_server: fn() -> bool,
    /// Whether the programs of PostgreSQL are there.
    has_postgres: fn() -> bool,
    /// Whether a program in Python is installed, or can be.
    has_python: fn(&python::Package) -> bool,
}

const THIS: Machine = Machine {
    has_program: |name| programs::find(name).is_some(),
    has_server: postgres::is_named,
    has_postgres: postgres::is_installed,
    has_python: |package| python::is_installed(package) || python::has_venv(),
};

/// Makes sure that this machine has all parts.
pub(crate) fn ensure(parts: &[Part]) -> Result<(), Failure> {
    debian::install(&lacking(parts, &THIS))
}

/// Refuses lanes, each with its parts, whose Debian packages are missing where nobody may install them.
pub(crate) fn check(lanes: &[(&str, &[Part])]) -> Result<(), Failure> {
    if debian::can_install() {
        return Ok(());
    }
    refusal(lanes, &THIS).map_or(Ok(()), |what| Err(Failure::new(what)))
}

/// What to say where some lanes lack something.
fn refusal(lanes: &[(&str, &[Part])], machine: &Machine) -> Option<String> {
    let lacks = |(_, parts): &&(&str, &[Part])| !lacking(parts, machine).is_empty();
    let names: Vec<&str> = lanes.iter().filter(lacks).map(|(name, _)| *name).collect();
    let parts: Vec<Part> = lanes
        .iter()
        .flat_map(|(_, parts)| *parts)
        .copied()
        .collect();
    let packages = lacking(&parts, machine);
    if packages.is_empty() {
        return None;
    }
    let mut refusal = debian::refusal(&packages);
    if names.len() < lanes.len() {
        let rest = names.join(" --skip ");
        refusal += &format!("\nor leave out the lanes that need them: --skip {rest}");
    }
    Some(refusal)
}

/// The Debian packages with what is missing, each once.
fn lacking(parts: &[Part], machine: &Machine) -> Vec<&'static str> {
    let mut packages = Vec::new();
    for package in parts.iter().flat_map(|part| part.lacking(machine)) {
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages
}

impl Part {
    fn lacking(self, machine: &Machine) -> Vec<&'static str> {
        let without = |needs: &[debian::Need]| {
            let missing = needs
                .iter()
                .filter(|(name, _)| !(machine.has_program)(name));
            missing.map(|(_, package)| *package).collect()
        };
        match self {
            Self::Programs(needs) => without(needs),
            Self::Postgres if (machine.has_server)() => Vec::new(),
            Self::Postgres => {
                let mut packages = without(&[postgres::OPENSSL]);
                if !(machine.has_postgres)() {
                    packages.push(postgres::PACKAGE);
                }
                packages
            }
            Self::Python(wanted) if wanted.iter().all(|one| (machine.has_python)(one)) => {
                Vec::new()
            }
            Self::Python(_) => {
                let mut packages = without(python::NEEDS);
                packages.push(python::VENV);
                packages
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    /// A machine with what every Debian has, and git.
    const BARE: Machine = Machine {
        has_program: |name| ["git", "setsid", "unshare", "tar"].contains(&name),
        has_server: || false,
        has_postgres: || false,
        has_python: |_| false,
    };

    #[test]
    fn a_package_that_several_parts_lack_is_listed_once() {
        let parts = [STORES, BLACKBOX].concat();
        assert_eq!(lacking(&parts, &BARE), lacking(BLACKBOX, &BARE));
        let python = lacking(BLACKBOX, &BARE);
        assert_eq!(python.iter().filter(|name| **name == "python3").count(), 1);
    }

    #[test]
    fn what_is_there_is_not_listed() {
        let whole = Machine {
            has_program: |_| true,
            has_postgres: || true,
            has_python: |_| true,
            ..BARE
        };
        assert!(lacking(BLACKBOX, &whole).is_empty());
        let without_server = Machine {
            has_postgres: || false,
            ..whole
        };
        assert_eq!(lacking(BLACKBOX, &without_server), ["postgresql"]);
        let without_venv = Machine {
            has_python: |_| false,
            ..whole
        };
        assert_eq!(lacking(BLACKBOX, &without_venv), ["python3-venv"]);
    }

    #[test]
    fn a_server_that_the_environment_names_needs_no_packages() {
        let named = Machine {
            has_server: || true,
            ..BARE
        };
        assert!(lacking(&[Part::Postgres], &named).is_empty());
        assert_eq!(lacking(&[Part::Postgres], &BARE), ["openssl", "postgresql"]);
    }

    #[test]
    fn one_refusal_names_every_package_and_the_lanes_that_lack_some() {
        let lanes = [("house", &[][..]), ("unit", STORES), ("blackbox", BLACKBOX)];
        let refusal = refusal(&lanes, &BARE).unwrap();
        for package in lacking(BLACKBOX, &BARE) {
            assert!(refusal.contains(&format!(" {package}")), "{refusal}");
        }
        let hint = "\nor leave out the lanes that need them: --skip unit --skip blackbox";
        assert!(refusal.ends_with(hint), "{refusal}");
        let all = super::refusal(&lanes[1..], &BARE).unwrap();
        assert!(!all.contains("--skip"), "{all}");
        assert_eq!(super::refusal(&lanes[..1], &BARE), None);
    }

    #[test]
    fn the_guide_for_contributors_lists_what_a_bare_machine_lacks() {
        let text = workspace::read(&workspace::root().join("CONTRIBUTING.md")).unwrap();
        let line = debian::apt_line(&lacking(BLACKBOX, &BARE));
        assert!(text.lines().any(|found| found == line), "{line}");
    }
}
