//! What can go wrong with git and with the object store.

use std::io;
use std::path::{Path, PathBuf};

use crate::address::ObjectAddress;

/// Why something with git, a git hook or the object store did not work.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The git program does not start.
    #[error("cannot start {}", program.display())]
    Start {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// Git ran and refused.
    #[error("git {command}: {message}")]
    Refused {
        /// The subcommand.
        command: String,
        message: String,
    },
    /// Git said something that this program does not understand.
    #[error("git {command} printed output in an unknown format")]
    Unreadable {
        /// The subcommand.
        command: String,
    },
    /// Git did not end, and was killed.
    #[error("git {command} in {} did not end within {limit} seconds", dir.display())]
    TooSlow {
        /// The subcommand.
        command: String,
        dir: PathBuf,
        /// The bound, in seconds.
        limit: u64,
    },
    /// Something is larger than the bound for it.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What is.
        what: String,
        /// The bound.
        limit: u64,
    },
    /// The repository names a filter that cannot be switched off.
    #[error("the repository has a filter with an unusual name: {0:?}")]
    Filter(String),
    /// A file is no longer what it was when the change was planned.
    #[error("{} changed in the meantime", .0.display())]
    Changed(PathBuf),
    /// The path of the shim cannot be written into a hook.
    #[error("{} is not an absolute path in plain text", .0.display())]
    Shim(PathBuf),
    /// The object store has no such file version.
    #[error("no file version {0}")]
    NotFound(ObjectAddress),
    /// A stored file version is not what its address says.
    #[error("file version {0} is damaged")]
    Damaged(ObjectAddress),
    /// The file system refused.
    #[error("{}", path.display())]
    Io {
        /// Which file or directory.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl GitError {
    /// Names the path in an error of the file system; for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn unreadable(command: &str) -> Self {
        Self::Unreadable {
            command: command.to_owned(),
        }
    }
}
