//! What the front-end tests need: the parts of the page by npm, and Debian's Chromium.

use std::path::{Path, PathBuf};

use crate::{Failure, debian, lab, programs};

/// Where the parts are.
pub(crate) struct FrontEnd {
    modules: PathBuf,
    node: PathBuf,
    browser: PathBuf,
}

/// Installs what is missing.
pub(crate) fn install() -> Result<FrontEnd, Failure> {
    debian::ensure(debian::BROWSER)?;
    let (modules, node) = lab::front_end()?;
    let browser = programs::find("chromium");
    let browser = browser.ok_or_else(|| Failure::new("there is no chromium"))?;
    Ok(FrontEnd {
        modules,
        node,
        browser,
    })
}

impl FrontEnd {
    /// The directory of Node.
    pub(crate) fn node(&self) -> &Path {
        &self.node
    }

    /// The variables that the tests read.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("SIGLUM_FRONT_END_MODULES", self.modules.clone()),
            ("SIGLUM_FRONT_END_NODE", self.node.join("node")),
            ("SIGLUM_FRONT_END_BROWSER", self.browser.clone()),
        ]
    }
}

/// Installs them for tests by hand, and prints how to use them.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    if !args.is_empty() {
        return Err(Failure::Usage("front-end takes no arguments".to_owned()));
    }
    for (name, value) in install()?.variables() {
        println!("export {name}={}", value.display());
    }
    Ok(())
}
