//! Sessions.

use serde::{Deserialize, Serialize};
use siglum_domain::grammar::present;
use siglum_domain::link;
use siglum_domain::{AgentName, ConversationId, LedgerId, NativeId, SessionId, TokenId};
use siglum_engine::views::session::SessionJson;
use siglum_ledger::{LaunchEnd, Mode};

use super::LinkInput;
use super::links::{of_both, with_links, without_secret};
use crate::problem::Problem;
use crate::runs::NameSource;
#[cfg(test)]
use crate::shared_schemas::Session;

/// Whether a session is driven or observed.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionMode {
    /// One driver opens and commits its turns under a lease.
    #[default]
    Driven,
    /// It runs by itself, and is watched.
    Observed,
}

impl From<SessionMode> for Mode {
    fn from(mode: SessionMode) -> Self {
        match mode {
            SessionMode::Driven => Self::Driven,
            SessionMode::Observed => Self::Observed,
        }
    }
}

with_links! {
/// Creates a session. Its links are in `links` or at the top level.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSession {
    /// Session id, if the caller generates it: `ses_` and a UUID of version 7. Repeating it returns the same session.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^ses_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$"))]
    pub(crate) id: Option<SessionId>,
    /// Home: the ledger that alone extends its log; default: the gateway's ledger.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^led_[0-9a-f]{32}$"))]
    pub(crate) home: Option<LedgerId>,
    /// The agent, such as `claude-code`.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[a-z0-9-]{1,64}$"))]
    pub(crate) agent: AgentName,
    /// Conversation id. If blank or absent, it is taken from the header `siglum-conversation-id`, else from the baggage
    /// member `session.id`, else from the agent's native id; otherwise the session has none. The same agent with the
    /// same conversation id is the same session.
    #[cfg_attr(test, schema(pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$"))]
    pub(crate) conversation_id: Option<String>,
    /// Native id: the agent's own id for it.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^(?!.*\.\.)[^\s/\\\x00-\x1f\x7f-\x9f]{1,256}$"))]
    pub(crate) native_id: Option<NativeId>,
    /// Whether it is driven or observed; default: `driven`.
    pub(crate) mode: Option<SessionMode>,
    /// Working directory.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"))]
    pub(crate) cwd: Option<String>,
    /// Links to attach.
    pub(crate) links: Option<LinkInput>,
    /// Repositories that it works in, such as `github.com/owner/name`, without credentials; the first is its own.
    #[cfg_attr(test, schema(max_items = 32))]
    pub(crate) repositories: Option<Vec<RepositoryName>>,
    /// Lifetime of its token in seconds; default: one day.
    #[cfg_attr(test, schema(minimum = 60, maximum = 2_592_000))]
    pub(crate) token_seconds: Option<u32>,
}
}

impl CreateSession {
    /// What it works for, checked by the one validator.
    pub(crate) fn links(&self) -> Result<Vec<link::Link>, Problem> {
        of_both(self.links.as_ref(), self.beside()?)
    }
}

/// Name of a repository, such as `github.com/owner/name`: not a file path, and without credentials.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:~+-][A-Za-z0-9._:/~+-]{0,511}$"))]
pub(crate) struct RepositoryName(String);

impl RepositoryName {
    /// The name, if it keeps to the rule: no room for credentials.
    pub(crate) fn checked(&self, field: &str) -> Result<String, Problem> {
        let allowed = |b: u8| {
            b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b':' | b'/' | b'~' | b'+' | b'-')
        };
        let is_short = (1..=512).contains(&self.0.len());
        // It is a name and never a path of this machine.
        if is_short && !self.0.starts_with('/') && self.0.bytes().all(allowed) {
            without_secret(field, &self.0)?;
            return Ok(self.0.clone());
        }
        let rule = "1 to 512 of the characters A-Z a-z 0-9 . _ : / ~ + -, and no `/` at the start";
        Err(Problem::invalid(field, rule))
    }
}

/// A conversation id that was ignored, because one with higher precedence was given.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct IgnoredName {
    /// Where it came from.
    pub(crate) named_by: NameSource,
    /// The conversation id.
    pub(crate) value: String,
}

/// Takes a name for a conversation, which blank is not.
pub(crate) fn conversation(
    field: &str,
    text: Option<&str>,
) -> Result<Option<ConversationId>, Problem> {
    let named = text.and_then(present).map(ConversationId::new);
    let named = named.transpose();
    let named = named.map_err(|e| Problem::invalid(field, e.rule))?;
    if let Some(name) = &named {
        without_secret(field, name.as_str())?;
    }
    Ok(named)
}

/// A token, shown only once.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SessionToken {
    /// Token id, which is not secret.
    #[cfg_attr(test, schema(value_type = String))]
    pub(crate) id: TokenId,
    /// The token itself, which cannot be retrieved again.
    pub(crate) secret: String,
    /// When it expires.
    #[cfg_attr(test, schema(format = DateTime))]
    pub(crate) expires_at: String,
}

/// A session that was created or already existed.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CreatedSession {
    /// The session.
    #[cfg_attr(test, schema(value_type = Session))]
    pub(crate) session: SessionJson,
    /// Whether it already existed.
    pub(crate) already: bool,
    /// A token for this session only.
    pub(crate) token: SessionToken,
    /// Where the conversation id came from.
    pub(crate) named_by: NameSource,
    /// Conversation ids that were ignored, because one with higher precedence was given.
    pub(crate) ignored: Vec<IgnoredName>,
}

/// How a session ended.
// Arms without fields have braces: without them serde takes any field there.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "outcome", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum EndSession {
    /// It completed.
    Completed {},
    /// It failed.
    Failed {
        /// The exit code.
        #[cfg_attr(test, schema(minimum = -2_147_483_648_i64, maximum = 2_147_483_647_i64))]
        code: i32,
    },
    /// It was ended by a signal.
    Signalled {
        /// Signal number.
        #[cfg_attr(test, schema(minimum = 1, maximum = 64))]
        signal: i32,
    },
    /// It could not be started.
    NotStarted {
        /// Exit code of the launcher.
        #[cfg_attr(test, schema(minimum = -2_147_483_648_i64, maximum = 2_147_483_647_i64))]
        code: i32,
    },
    /// Unknown: the launcher died or has no result.
    Lost {},
}

impl EndSession {
    pub(crate) fn checked(&self) -> Result<LaunchEnd, Problem> {
        Ok(match *self {
            Self::Completed {} => LaunchEnd::Completed,
            Self::Failed { code } => LaunchEnd::Failed { code },
            Self::Signalled { signal } if (1..=64).contains(&signal) => {
                LaunchEnd::Signalled { signal }
            }
            Self::Signalled { .. } => {
                return Err(Problem::invalid("signal", "a number from 1 to 64"));
            }
            Self::NotStarted { code } => LaunchEnd::NotStarted { code },
            Self::Lost {} => LaunchEnd::Lost,
        })
    }
}

/// The result of ending a session.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct EndedSession {
    /// The session.
    #[cfg_attr(test, schema(value_type = Session))]
    pub(crate) session: SessionJson,
    /// Whether it had already ended.
    pub(crate) already: bool,
}
