//! Changes of agents' settings: shown first, then made whole or not at all.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use siglum_agents::{SettingsError, SettingsFile};
use siglum_gitstore::{create_directories, give_to_owner, hooks};

use crate::error::CommandError;
use crate::install_record::{InstallRecord, link_target, missing_directories};
use crate::platform::regular_file;

/// Directories of agents are made as their own programs would make them.
const DIRECTORY_MODE: u32 = 0o777;

/// The change of an agent's settings.
pub struct SettingsChange {
    pub path: PathBuf,
    pub before: Option<String>,
    /// Absent if the file goes.
    pub after: Option<String>,
    pub mode: Mode,
}

/// Who may read a file afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Whoever might before; its owner alone where it is new.
    AsItIs,
    /// Whoever this mode allows.
    To(u32),
}

impl SettingsChange {
    /// The changes from files to what they are to hold.
    pub fn all(files: Vec<SettingsFile>, after: Vec<Option<String>>) -> Vec<Self> {
        let changes = files.into_iter().zip(after).map(|(file, after)| Self {
            path: file.path,
            before: file.text,
            after,
            mode: Mode::AsItIs,
        });
        changes.filter(|c| c.before != c.after).collect()
    }

    /// Writes it whole or not at all, and only if the file is still
    /// what it was when the change was shown.
    pub fn apply(&self) -> Result<(), CommandError> {
        let now = regular_file::read_settings(&self.path).ok();
        if now != self.before {
            return Err(
                CommandError::failed(format!("{} changed meanwhile", self.path.display()))
                    .hint("Run the command again."),
            );
        }
        // A link is written through, not replaced, wherever it leads.
        let target = link_target(&self.path);
        let written = match &self.after {
            Some(after) => self.write(&target, after),
            None => fs::remove_file(&target),
        };
        written.map_err(CommandError::at(&target))
    }

    fn write(&self, target: &Path, after: &str) -> io::Result<()> {
        let dir = target.parent().unwrap_or(Path::new("/"));
        create_directories(dir, DIRECTORY_MODE)?;
        let present = fs::metadata(target).ok();
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(after.as_bytes())?;
        let permissions = match self.mode {
            Mode::AsItIs => present.as_ref().map(fs::Metadata::permissions),
            Mode::To(mode) => Some(fs::Permissions::from_mode(mode)),
        };
        give_to_owner(file.as_file(), target)?;
        if let Some(permissions) = permissions {
            file.as_file().set_permissions(permissions)?;
        }
        file.persist(target).map(drop).map_err(|e| e.error)
    }

    /// Notes what there is before this change, so that it can be undone.
    pub fn note(&self, record: &mut InstallRecord) {
        record.add_directories(missing_directories(&link_target(&self.path)));
        if let Some(before) = self.before.as_ref().filter(|text| text.trim().is_empty()) {
            record.add_blank(&self.path, before);
        }
    }

    pub fn diff(&self) -> String {
        hooks::unified(
            self.before.as_deref().map(str::as_bytes),
            self.after.as_deref().map(str::as_bytes),
            &self.path,
        )
    }
}

/// Settings that cannot be edited are left alone, and everything else with them.
pub fn refused(error: &SettingsError, command: &str) -> CommandError {
    CommandError::failed(error.to_string()).hint(format!(
        "Repair the file, then run `siglum {command}` again; nothing was changed."
    ))
}
