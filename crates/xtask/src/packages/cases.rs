//! How each package is installed, looked at and removed.

use super::site::PORT;
use crate::Failure;
use crate::dist::Facts;

/// One package. In its commands `{{site}}` is the server and `{{version}}` the version.
pub(super) struct Case {
    pub(super) name: &'static str,
    /// How the program says that it was installed.
    by: &'static str,
    /// What is done before the files are listed.
    prepare: &'static str,
    install: &'static str,
    /// What is looked at besides the demo.
    check: &'static str,
    remove: &'static str,
    /// The bookkeeping of the package manager, as a regular expression.
    manager: &'static str,
}

/// No package manager keeps books.
const NOBODY: &str = "^$";

pub(super) const CASES: &[Case] = &[
    Case {
        name: "deb",
        by: "deb",
        prepare: "",
        install: "curl -fsSLo /tmp/siglum.deb {{site}}/releases/latest/download/siglum_$(dpkg --print-architecture).deb && apt-get install -qqy /tmp/siglum.deb",
        check: include_str!("../../../../packaging/try/check_deb.sh"),
        remove: "apt-get purge -qqy siglum && rm /tmp/siglum.deb",
        // Copies of the lists of users and groups from before their last change belong to who changes them.
        manager: "^/var/(lib/(dpkg|apt)|log|cache)/|^/etc/(passwd|group|shadow|gshadow)- |^/etc/\\.(pwd\\.lock|updated)",
    },
    Case {
        name: "script",
        by: "install script",
        prepare: "export SIGLUM_INSTALL_FROM={{site}}/releases/download/v{{version}}",
        install: "curl -fsSL {{site}}/releases/latest/download/install.sh | sh",
        check: include_str!("../../../../packaging/try/check_script.sh"),
        remove: "curl -fsSL {{site}}/releases/latest/download/install.sh | sh -s -- --remove",
        manager: NOBODY,
    },
    Case {
        name: "script-wget",
        by: "install script",
        prepare: "rm $(command -v curl); export SIGLUM_INSTALL_FROM={{site}}/releases/download/v{{version}}",
        install: "wget -qO- {{site}}/releases/latest/download/install.sh | sh -s -- --prefix /usr/local",
        check: "test -x /usr/local/bin/siglum",
        remove: "wget -qO- {{site}}/releases/latest/download/install.sh | sh -s -- --prefix /usr/local --remove",
        manager: NOBODY,
    },
    Case {
        name: "npm",
        by: "npm",
        prepare: "export npm_config_registry={{site}}/npm npm_config_update_notifier=false",
        install: "npm install --global siglum",
        check: "siglum nonsense 2>/dev/null || [ $? = 2 ]",
        remove: "npm uninstall --global siglum",
        // The folder for all that is installed globally stays.
        manager: "^/root/\\.npm(/| )|^/usr/local/lib/node_modules d$",
    },
    Case {
        name: "npx",
        by: "npx",
        prepare: "export npm_config_registry={{site}}/npm npm_config_update_notifier=false; siglum() { npx --yes siglum \"$@\"; }",
        install: "npx --yes siglum --version",
        check: "",
        remove: "unset -f siglum",
        manager: "^/root/\\.npm(/| )",
    },
    Case {
        name: "pipx",
        by: "pipx",
        prepare: "export PIP_INDEX_URL={{site}}/pypi",
        install: "pipx install siglum",
        check: "",
        remove: "pipx uninstall siglum",
        manager: "^/root/\\.(cache|local/(bin|pipx|share/pipx))(/| )|^/root/\\.local(/share)? d$",
    },
    Case {
        name: "pip",
        by: "pip",
        prepare: "export PIP_INDEX_URL={{site}}/pypi; python3 -m venv /opt/venv; PATH=/opt/venv/bin:$PATH",
        install: "pip install siglum",
        check: "",
        remove: "pip uninstall --yes siglum",
        manager: "^/root/\\.cache(/| )",
    },
];

impl Case {
    /// What the script in the clean root is told.
    pub(super) fn variables(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let facts = Facts::load()?.with("site", format!("http://127.0.0.1:{PORT}"));
        let rows = [
            ("BY", self.by),
            ("PREPARE", self.prepare),
            ("INSTALL", self.install),
            ("CHECK", self.check),
            ("REMOVE", self.remove),
            ("MANAGER", self.manager),
        ];
        let filled = rows.map(|(name, text)| Ok((name, facts.fill(text)?)));
        filled.into_iter().collect()
    }
}
