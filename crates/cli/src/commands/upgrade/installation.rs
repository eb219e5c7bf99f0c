//! How this program was installed, from where it lies.

use std::path::{Path, PathBuf};

/// Who put the program where it is, and so who brings the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installation {
    Debian,
    Npm,
    Npx,
    Pipx,
    Uv,
    /// By pip, into this environment.
    Pip(PathBuf),
    Homebrew,
    /// By the install script, below this prefix.
    Script(PathBuf),
    Cargo,
    /// Built here, or copied by hand.
    Unknown,
}

/// What the install script keeps below its prefix.
const SCRIPT_RECORD: &str = "share/doc/siglum/installed-files";
/// What `dpkg` keeps of the package.
const DEBIAN_RECORD: &str = "/var/lib/dpkg/info/siglum.list";

impl Installation {
    /// Looks at the place of a program, links followed. `exists` says which files there are.
    pub fn find(program: &Path, exists: &dyn Fn(&Path) -> bool) -> Self {
        let has = |name: &str| program.iter().any(|part| part == name);
        let Some(prefix) = program.parent().and_then(Path::parent) else {
            return Self::Unknown;
        };
        if has("node_modules") {
            return if has("_npx") { Self::Npx } else { Self::Npm };
        }
        if exists(&prefix.join("pyvenv.cfg")) {
            return match () {
                () if has("pipx") => Self::Pipx,
                () if has("uv") => Self::Uv,
                () => Self::Pip(prefix.to_owned()),
            };
        }
        if has("Cellar") {
            return Self::Homebrew;
        }
        if exists(&prefix.join(SCRIPT_RECORD)) {
            return Self::Script(prefix.to_owned());
        }
        if program == Path::new("/usr/bin/siglum") && exists(Path::new(DEBIAN_RECORD)) {
            return Self::Debian;
        }
        // What `cargo install` keeps of all that it installed.
        if exists(&prefix.join(".crates.toml")) {
            return Self::Cargo;
        }
        Self::Unknown
    }

    /// As it is shown.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Debian => "deb",
            Self::Npm => "npm",
            Self::Npx => "npx",
            Self::Pipx => "pipx",
            Self::Uv => "uv",
            Self::Pip(_) => "pip",
            Self::Homebrew => "homebrew",
            Self::Script(_) => "install script",
            Self::Cargo => "cargo",
            Self::Unknown => "unknown",
        }
    }

    /// The one line that brings the newest release, where there is one.
    pub fn upgrade(&self, repository: &str) -> Option<String> {
        let release = format!("{repository}/releases/latest/download");
        Some(match self {
            Self::Debian => format!(
                "curl -fsSLo /tmp/siglum.deb {release}/siglum_$(dpkg --print-architecture).deb && sudo apt install /tmp/siglum.deb"
            ),
            Self::Npm => "npm install --global siglum@latest".to_owned(),
            Self::Npx => "npx siglum@latest".to_owned(),
            Self::Pipx => "pipx upgrade siglum".to_owned(),
            Self::Uv => "uv tool upgrade siglum".to_owned(),
            Self::Pip(environment) => format!(
                "{} install --upgrade siglum",
                quoted(&environment.join("bin/pip"))
            ),
            Self::Homebrew => "brew upgrade siglum".to_owned(),
            Self::Script(prefix) => format!(
                "curl -fsSL {release}/install.sh | sh -s -- --prefix {}",
                quoted(prefix)
            ),
            Self::Cargo => format!("cargo install --locked --git {repository} siglum"),
            Self::Unknown => return None,
        })
    }
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, there: &str, name: &str, upgrade: &str) {
        let exists = |path: &Path| path == Path::new(there);
        let found = Installation::find(Path::new(program), &exists);
        assert_eq!(found.name(), name);
        assert_eq!(found.upgrade("https://forge").unwrap_or_default(), upgrade);
    }

    #[test]
    fn each_place_has_who_brought_it() {
        let npm = "/usr/lib/node_modules/siglum/node_modules/@siglum/linux-x64/bin/siglum";
        check(npm, "", "npm", "npm install --global siglum@latest");
        let npx = "/home/a/.npm/_npx/ab12/node_modules/@siglum/linux-x64/bin/siglum";
        check(npx, "", "npx", "npx siglum@latest");
        let pipx = "/home/a/.local/share/pipx/venvs/siglum";
        let (program, venv) = (format!("{pipx}/bin/siglum"), format!("{pipx}/pyvenv.cfg"));
        check(&program, &venv, "pipx", "pipx upgrade siglum");
        check(
            "/home/a/.local/share/uv/tools/siglum/bin/siglum",
            "/home/a/.local/share/uv/tools/siglum/pyvenv.cfg",
            "uv",
            "uv tool upgrade siglum",
        );
        check(
            "/opt/my venv/bin/siglum",
            "/opt/my venv/pyvenv.cfg",
            "pip",
            "'/opt/my venv/bin/pip' install --upgrade siglum",
        );
        let brew = "/opt/homebrew/Cellar/siglum/0.1.0/bin/siglum";
        check(brew, "", "homebrew", "brew upgrade siglum");
        check(
            "/home/a/.local/bin/siglum",
            "/home/a/.local/share/doc/siglum/installed-files",
            "install script",
            "curl -fsSL https://forge/releases/latest/download/install.sh | sh -s -- --prefix /home/a/.local",
        );
        check(
            "/home/a/.cargo/bin/siglum",
            "/home/a/.cargo/.crates.toml",
            "cargo",
            "cargo install --locked --git https://forge siglum",
        );
        check(
            "/usr/bin/siglum",
            DEBIAN_RECORD,
            "deb",
            "curl -fsSLo /tmp/siglum.deb https://forge/releases/latest/download/siglum_$(dpkg --print-architecture).deb && sudo apt install /tmp/siglum.deb",
        );
        check("/src/target/debug/siglum", "", "unknown", "");
        check("/usr/local/bin/siglum", DEBIAN_RECORD, "unknown", "");
    }
}
