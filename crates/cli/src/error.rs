//! One error at the top: a kind that gives the exit code, a cause, and hints.

use std::path::Path;
use std::process::ExitCode;

use siglum_engine::EngineError;
use siglum_engine::driven::heartbeat::{FormError, HeartbeatError};
use siglum_engine::driven::turn::TurnError;
use siglum_engine::identity::access::AccessError;
use siglum_engine::identity::links::LinksError;
use siglum_engine::views::find::FindError;
use siglum_engine::views::pipeline::PipelineError;
use siglum_gitstore::GitError;
use siglum_ledger::LedgerError;

/// What kind of failure, by exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 1: the user can act.
    Failed,
    /// 2: wrong usage.
    Usage,
    /// 3: a named thing was not found.
    NotFound,
    /// 4: partly done, details on standard error.
    Partly,
    /// 70: our bug.
    Bug,
    /// 0: the reader of our output closed it.
    Closed,
}

impl Kind {
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }

    /// The exit code as a number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Partly => 4,
            Self::Bug => 70,
        }
    }

    /// What programs know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Partly => "partly",
            Self::Bug => "bug",
        }
    }
}

/// Why a command did not do what it should.
#[derive(Debug)]
pub struct CommandError {
    pub kind: Kind,
    pub source: anyhow::Error,
    pub hints: Vec<String>,
}

impl CommandError {
    fn new(kind: Kind, source: impl Into<anyhow::Error>) -> Self {
        Self {
            kind,
            source: source.into(),
            hints: Vec::new(),
        }
    }

    /// The user can act.
    pub fn failed(text: impl std::fmt::Display) -> Self {
        Self::new(Kind::Failed, anyhow::anyhow!("{text}"))
    }

    /// The file system refused something at this path; for `map_err`.
    pub fn at(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |error| Self::failed(format!("{}: {error}", path.display()))
    }

    /// Wrong usage.
    pub fn usage(text: impl std::fmt::Display) -> Self {
        Self::new(Kind::Usage, anyhow::anyhow!("{text}"))
    }

    /// A named thing was not found.
    pub fn not_found(text: impl std::fmt::Display) -> Self {
        Self::new(Kind::NotFound, anyhow::anyhow!("{text}"))
    }

    /// Partly done; the details were told.
    pub fn partly(text: impl std::fmt::Display) -> Self {
        Self::new(Kind::Partly, anyhow::anyhow!("{text}"))
    }

    /// Takes a reader who closed the answer for one who read it: what comes of a check does not depend on that.
    pub fn unless_closed(self) -> Result<(), Self> {
        match self.kind {
            Kind::Closed => Ok(()),
            _ => Err(self),
        }
    }

    /// Whether the ledger cannot be written to; it may well be read.
    pub fn is_unwritable(&self) -> bool {
        let ledger = self.source.downcast_ref::<LedgerError>();
        matches!(ledger, Some(LedgerError::Unwritable(_)))
    }

    /// Whether the ledger that was here is gone, emptied or another one.
    pub fn is_lost_ledger(&self) -> bool {
        let ledger = self.source.downcast_ref::<LedgerError>();
        matches!(ledger, Some(LedgerError::Lost(_)))
    }

    /// Whether what is stored cannot be read.
    pub fn is_damaged_ledger(&self) -> bool {
        let ledger = self.source.downcast_ref::<LedgerError>();
        matches!(ledger, Some(LedgerError::Damaged(_)))
    }

    /// Says which file is damaged, where the error came up only after that was opened.
    #[must_use]
    pub fn naming_ledger(self, ledger: &Path) -> Self {
        let path = ledger.display().to_string();
        match self.is_damaged_ledger() && !format!("{:#}", self.source).contains(&path) {
            true => self.hint(format!("The ledger is {path}.")),
            false => self,
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(text.into());
        self
    }
}

impl From<LedgerError> for CommandError {
    fn from(error: LedgerError) -> Self {
        let hint = match &error {
            LedgerError::Busy => Some("Another siglum command is running; try again."),
            LedgerError::TooNew { .. } => {
                Some("Install the version of siglum that wrote this ledger, or a newer one.")
            }
            LedgerError::Unwritable(_) => Some(
                "Check the disk and the permissions of SIGLUM_HOME; evidence waits in the spool until then.",
            ),
            LedgerError::Damaged(_) => Some(
                "Run `siglum doctor` to list the damage; `siglum restore` restores a backup and delivers the spool.",
            ),
            LedgerError::Lost(_) => Some(
                "Run `siglum restore` to restore a backup, or `siglum init` to create a new ledger or to continue with the present one.",
            ),
            LedgerError::Unreachable(_) => {
                Some("Check that the server is running and that the configured address is correct.")
            }
            LedgerError::Unknown(_) => {
                Some("Check whether the write succeeded before you retry it.")
            }
            LedgerError::Outdated { .. }
            | LedgerError::Refused
            | LedgerError::Cancelled
            | LedgerError::NoSession(_)
            | LedgerError::Storage(_) => None,
        };
        Self {
            kind: Kind::Failed,
            source: error.into(),
            hints: hint.into_iter().map(str::to_owned).collect(),
        }
    }
}

impl From<GitError> for CommandError {
    fn from(error: GitError) -> Self {
        let missing = matches!(error, GitError::Start { .. });
        let error = Self::new(Kind::Failed, error);
        if missing {
            error.hint("Install git, or set SIGLUM_GIT to its path.")
        } else {
            error
        }
    }
}

impl From<EngineError> for CommandError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Ledger(error) => error.into(),
            EngineError::Git(error) => error.into(),
            other => Self::new(Kind::Failed, other),
        }
    }
}

impl From<FindError> for CommandError {
    fn from(error: FindError) -> Self {
        match error {
            FindError::Ledger(error) => error.into(),
            FindError::NotFound { noun: "token", .. } => {
                Self::new(Kind::NotFound, error).hint("Run `siglum token list` to list the tokens.")
            }
            FindError::NotFound { .. } => Self::new(Kind::NotFound, error)
                .hint("Run `siglum session list` or `siglum checkpoint list` to find the id."),
            FindError::Ambiguous { .. } => {
                Self::new(Kind::Usage, error).hint("Type more digits of the id.")
            }
        }
    }
}

impl From<HeartbeatError> for CommandError {
    fn from(error: HeartbeatError) -> Self {
        match error {
            HeartbeatError::Ledger(error) => error.into(),
            HeartbeatError::Form(error) => Self::usage(error),
            HeartbeatError::Unknown(_) => {
                Self::not_found(error).hint("Run `siglum heartbeat list` to list the heartbeats.")
            }
            HeartbeatError::Configured(_) => Self::failed(error).hint(
                "Edit the file that `siglum config path` prints, or run `siglum heartbeat pause`.",
            ),
            HeartbeatError::StillRunning { .. } | HeartbeatError::Lost { .. } => {
                Self::failed(error)
            }
        }
    }
}

impl From<FormError> for CommandError {
    fn from(error: FormError) -> Self {
        Self::usage(error)
    }
}

impl From<AccessError> for CommandError {
    fn from(error: AccessError) -> Self {
        let (kind, hint) = match error {
            AccessError::Ledger(error) => return error.into(),
            AccessError::Unknown => (
                Kind::NotFound,
                "Run `siglum token list` to list the tokens.",
            ),
            AccessError::NoSession { .. } => (
                Kind::NotFound,
                "Run `siglum session list` to list the sessions.",
            ),
            AccessError::Registered { .. } | AccessError::NotAtHome => (
                Kind::Failed,
                "Run `siglum token create --for-ledger LEDGER` to hand a ledger over to another token.",
            ),
            AccessError::Replaced { .. } => (Kind::Failed, "Rotate the token that replaced it."),
            AccessError::Expired { .. } | AccessError::Revoked { .. } => (
                Kind::Failed,
                "Run `siglum token create` to create a new token.",
            ),
        };
        Self::new(kind, error).hint(hint)
    }
}

impl From<LinksError> for CommandError {
    fn from(error: LinksError) -> Self {
        match error {
            LinksError::Ledger(error) => error.into(),
            LinksError::Invalid(error) => error.into(),
            LinksError::TooMany => Self::new(Kind::Usage, error)
                .hint("Run `siglum link list` and detach some with `siglum link remove`."),
        }
    }
}

impl From<TurnError> for CommandError {
    fn from(error: TurnError) -> Self {
        let (kind, hint) = match error {
            TurnError::Ledger(error) => return error.into(),
            TurnError::NoSession(_) => (
                Kind::NotFound,
                "Run `siglum session list` to list the sessions.",
            ),
            TurnError::NotDriven(_) => (
                Kind::Failed,
                "Only driven sessions have turns over the API; run `siglum session end` to end another session.",
            ),
            TurnError::Leased { .. } => (
                Kind::Failed,
                "Wait until its driver releases it or its lease expires, or end that driver.",
            ),
            TurnError::Quarantined { .. } => {
                (Kind::Failed, "Run `siglum doctor` to list the damage.")
            }
            TurnError::Replica { .. } => (Kind::Failed, "Run this on the session's home machine."),
            TurnError::Archived { .. } => (
                Kind::Failed,
                "Run `siglum session fork` to create a session that continues from it.",
            ),
            TurnError::Held { .. } | TurnError::NotOpen { .. } => (
                Kind::Failed,
                "Run `siglum session recover` to list the options.",
            ),
            TurnError::Invalid { .. } | TurnError::Twice { .. } => {
                return Self::new(Kind::Usage, error);
            }
            TurnError::Fenced { .. } | TurnError::Stale { .. } | TurnError::Conflict { .. } => {
                return Self::new(Kind::Failed, error);
            }
        };
        Self::new(kind, error).hint(hint)
    }
}

impl From<PipelineError> for CommandError {
    fn from(error: PipelineError) -> Self {
        match error {
            PipelineError::Ledger(error) => error.into(),
            PipelineError::Refused(error) => error.into(),
            PipelineError::NoPipeline(_) => Self::new(Kind::NotFound, error)
                .hint("Run `siglum pipeline list` to list the pipelines."),
            PipelineError::NoSession(_) => Self::new(Kind::NotFound, error)
                .hint("Run `siglum session list` to list the sessions."),
            PipelineError::Conflict { .. } => {
                Self::new(Kind::Failed, error).hint("Use another key for a different event.")
            }
            PipelineError::Full(_) => Self::new(Kind::Failed, error),
        }
    }
}

impl From<siglum_domain::link::LinkError> for CommandError {
    fn from(error: siglum_domain::link::LinkError) -> Self {
        let is_unknown = error.field == "link";
        let refused = Self::new(Kind::Usage, error);
        match is_unknown {
            true => refused.hint(
                "Use issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or label=KEY=VALUE.",
            ),
            false => refused,
        }
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        let kind = if error.kind() == std::io::ErrorKind::BrokenPipe {
            Kind::Closed
        } else {
            Kind::Failed
        };
        Self::new(kind, error)
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(Kind::Bug, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_about_a_damaged_ledger_names_its_file_once() {
        let ledger = Path::new("/home/ada/siglum/ledger.db");
        let hints = |error: CommandError| error.naming_ledger(ledger).hints.join(" ");
        let damaged = |what: &str| CommandError::from(LedgerError::Damaged(what.to_owned()));
        assert!(hints(damaged("a page")).contains("/siglum/ledger.db"));
        let named = hints(damaged("/home/ada/siglum/ledger.db: a page"));
        assert!(!named.contains("/siglum/ledger.db"), "{named}");
        assert_eq!(hints(CommandError::failed("something else")), "");
    }
}
