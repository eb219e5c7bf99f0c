//! What somebody asks of an agent, checked.

use std::path::PathBuf;
use std::time::Duration;

use siglum_domain::context::{Keys, RouteKey};
use siglum_domain::link::Link;
use siglum_domain::trace::TraceParent;
use siglum_domain::{AgentName, ConversationId, SessionId, Tenant, TurnKey};

use super::NameSource;

/// What somebody asks of an agent.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) tenant: Tenant,
    pub(crate) session: Target,
    pub(crate) under: Under,
    pub(crate) agent: AgentName,
    /// All that the agent is told, whole.
    pub(crate) prompt: Vec<PromptMessage>,
    /// The directory it works in: within one that the operator named; without this, the first one of those.
    pub(crate) cwd: Option<PathBuf>,
    /// What is attached to the session.
    pub(crate) links: Vec<Link>,
    /// Model; default: the agent's own choice.
    pub(crate) model: Option<String>,
    /// Whether the agent goes on with what it has itself.
    pub(crate) resume: Resume,
    pub(crate) if_busy: IfBusy,
    pub(crate) limits: RunLimits,
    pub(crate) permissions: Permissions,
    /// Where in a trace it is asked.
    pub(crate) traced: Option<TraceParent>,
    /// What the turn is called: the same ask again is done once.
    pub(crate) key: TurnKey,
    /// Who asks.
    pub(crate) by: String,
    /// Whether the run goes on when the client leaves.
    pub(crate) owned: Owned,
    /// Variables for the agent, of the operator's own configuration and never of a request.
    pub(crate) environment: Vec<(String, String)>,
}

/// Which conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The one of this name, and where the name came from. It is made if it is not there.
    Named(ConversationId, NameSource),
    /// Nobody named one: a new one, called what the agent calls it.
    Unnamed,
    /// The one of this session, which is there.
    Session(SessionId),
}

/// Under which keys a run is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Under {
    /// Those of the context that its session keeps; where there is none, the first one of a route of its own.
    Session,
    /// Those of the context that this route has now.
    Route(RouteKey),
    /// Those of a context of its own, which the route does not go over to.
    Isolated(RouteKey),
    /// Those that whoever asks was given, and that it says the end of the run under.
    Keys(Keys),
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    /// Whoever is in charge of both.
    System,
    User,
    /// The agent, at an earlier time.
    Assistant,
}

/// One message of those that the agent is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptMessage {
    pub(crate) role: Speaker,
    pub(crate) text: String,
}

/// Whether the agent goes on with what it has itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Resume {
    /// It knows nothing but what it is told now.
    #[default]
    Fresh,
    /// It goes on with its own newest session of this conversation, if it has one.
    Native,
}

/// What to do if the session has an active run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum IfBusy {
    #[default]
    Refuse,
    Queue,
    /// The run that goes on is ended, what it did is kept, and the agent goes on with this.
    Steer,
    /// The run that goes on is cancelled, and this one begins.
    Cancel,
}

/// When a run is ended, come what may. The operator's own limits hold where these are wider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RunLimits {
    /// So long after it began.
    pub(crate) wall: Option<Duration>,
    /// When the agent said nothing for so long.
    pub(crate) silent: Option<Duration>,
    pub(crate) tokens: Option<u64>,
    /// Limit on the cost, in billionths of a US dollar.
    pub(crate) nano_usd: Option<u64>,
}

/// How permission requests of the agent are answered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Permissions {
    /// Somebody is asked: an interaction.
    #[default]
    Ask,
    /// It is allowed, each time.
    Allow,
    Refuse,
}

/// Whether a run goes on when the client leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Owned {
    /// It belongs to its session: it goes on.
    #[default]
    BySession,
    /// It belongs to whoever asked: when the last one that reads its events leaves, it is cancelled.
    ByClient,
}
