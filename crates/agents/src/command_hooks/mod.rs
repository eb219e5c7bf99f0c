//! Command hooks in the form that several agents share, added to settings and removed without touching
//! another byte: `{"hooks": {EVENT: [{"matcher": …, "hooks": [{"type": "command", "command": …}]}]}}`.

use crate::install::{InstallState, SettingsError, SettingsFile, SettingsTexts};

mod command;
mod document;
mod plan;
mod render;
mod switch;

#[cfg(test)]
mod tests;

pub(crate) use command::our_program;
pub use command::quote;
pub(crate) use document::{Container, Entry, member, parse};
pub(crate) use plan::{form, root};
pub(crate) use render::{Hooked, Json, Layout};
pub(crate) use switch::switched_off;

/// The hooks that we want of one agent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommandHooks {
    /// What the hook command says behind `hook`: the agent's name in the ledger, and what makes a failure harmless where the
    /// agent takes one for a refusal.
    pub(crate) arguments: &'static str,
    /// The events, in the order in which they are written.
    pub(crate) hooked: &'static [Hooked],
    /// How long the agent waits for the hook at most, in the agent's own unit.
    pub(crate) timeout: u32,
}

impl CommandHooks {
    /// All files with our hooks in the first; the others stay.
    ///
    /// # Errors
    /// The first one is not of the form that the agent reads.
    pub(crate) fn install_first(
        &self,
        files: &[SettingsFile],
        shim: &str,
    ) -> Result<SettingsTexts, SettingsError> {
        edit_first(files, |file| {
            let text = self.plan_install(file.text.as_deref(), shim);
            text.map(Some).map_err(|e| file.error(e))
        })
    }

    /// All files without our hooks in the first; the others stay. A file that only our hooks made is
    /// gone.
    ///
    /// # Errors
    /// The first one is not of the form that the agent reads.
    pub(crate) fn remove_first(
        &self,
        files: &[SettingsFile],
        shim: &str,
    ) -> Result<SettingsTexts, SettingsError> {
        edit_first(files, |file| match &file.text {
            Some(text) => self.plan_remove(text, shim).map_err(|e| file.error(e)),
            None => Ok(None),
        })
    }

    /// What of our hooks the first file holds.
    ///
    /// # Errors
    /// It is not of the form that the agent reads.
    pub(crate) fn inspect_first(
        &self,
        files: &[SettingsFile],
        shim: &str,
    ) -> Result<InstallState, SettingsError> {
        match files.first() {
            Some(file) => {
                let text = file.text.as_deref().unwrap_or_default();
                self.inspect(text, shim).map_err(|e| file.error(e))
            }
            None => Ok(InstallState::Missing),
        }
    }
}

fn edit_first(
    files: &[SettingsFile],
    edit: impl FnOnce(&SettingsFile) -> Result<Option<String>, SettingsError>,
) -> Result<SettingsTexts, SettingsError> {
    let mut texts: Vec<_> = files.iter().map(|file| file.text.clone()).collect();
    if let (Some(text), Some(file)) = (texts.first_mut(), files.first()) {
        *text = edit(file)?;
    }
    Ok(texts)
}
