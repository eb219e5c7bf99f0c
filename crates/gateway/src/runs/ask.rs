//! What somebody asks of an agent, checked.

use std::path::PathBuf;
use std::time::Duration;

use siglum_domain::context::{Keys, RouteKey};
use siglum_domain::digest::Hasher;
use siglum_domain::link::Link;
use siglum_domain::trace::TraceParent;
use siglum_domain::{AgentName, ConversationId, SessionId, Tenant, TurnKey};

use super::NameSource;
use crate::problem::Problem;

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

impl Ask {
    /// What tells whether two of one key ask for the same. A keyed digest of it is stored: the same request has the same
    /// bytes in every version.
    ///
    /// Whoever asks again may be in another trace, or wait now for a run that was in its way: neither is of it.
    pub(crate) fn content(&self) -> String {
        let mut hasher = Hasher::new();
        let mut field = |text: &str| hasher.field(text.as_bytes());
        let number = |number: Option<u64>| number.map(|n| n.to_string()).unwrap_or_default();
        let time = |time: Option<Duration>| time.map(|t| t.as_millis().to_string());
        field(self.agent.as_str());
        field(&self.prompt.len().to_string());
        for message in &self.prompt {
            field(message.role.word());
            field(&message.text);
        }
        let cwd = self.cwd.as_ref().map(|cwd| cwd.to_string_lossy());
        field(&cwd.unwrap_or_default());
        field(&self.links.len().to_string());
        for link in &self.links {
            field(link.field());
            field(&link.value());
        }
        field(self.model.as_deref().unwrap_or_default());
        field(self.resume.word());
        field(&time(self.limits.wall).unwrap_or_default());
        field(&time(self.limits.silent).unwrap_or_default());
        field(&number(self.limits.tokens));
        field(&number(self.limits.nano_usd));
        field(self.permissions.word());
        for word in self.under.words() {
            field(word);
        }
        hasher.hex()
    }
}

/// The key is that of something else.
pub(crate) fn key_reused(key: &TurnKey) -> Problem {
    let detail = format!("the key `{key}` was used for a different message of this session");
    Problem::conflict("key-reused", detail)
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

impl Under {
    fn words(&self) -> [&str; 3] {
        match self {
            Self::Session => ["session", "", ""],
            Self::Route(route) => ["route", route.as_str(), ""],
            Self::Isolated(route) => ["isolated", route.as_str(), ""],
            Self::Keys(keys) => ["keys", keys.route.as_str(), keys.context.as_str()],
        }
    }
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

impl Speaker {
    const fn word(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
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

impl Resume {
    const fn word(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Native => "native",
        }
    }
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

impl Permissions {
    const fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Allow => "allow",
            Self::Refuse => "refuse",
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> Ask {
        Ask {
            tenant: Tenant::new("default").unwrap(),
            session: Target::Unnamed,
            under: Under::Route(RouteKey::new("chat-1").unwrap()),
            agent: AgentName::new("one").unwrap(),
            prompt: vec![PromptMessage {
                role: Speaker::User,
                text: "hello".to_owned(),
            }],
            cwd: Some(PathBuf::from("/home/dev/main")),
            links: vec![Link::IssueNumber(4), Link::PipelineId("p".to_owned())],
            model: Some("m-1".to_owned()),
            resume: Resume::Native,
            if_busy: IfBusy::Refuse,
            limits: RunLimits {
                wall: Some(Duration::from_secs(60)),
                tokens: Some(100),
                ..RunLimits::default()
            },
            permissions: Permissions::Allow,
            traced: None,
            key: TurnKey::new("k").unwrap(),
            by: "tests".to_owned(),
            owned: Owned::BySession,
            environment: Vec::new(),
        }
    }

    /// A message that an older version took is sent again: what is stored of it keeps its bytes.
    #[test]
    fn the_bytes_of_what_a_message_asks_for_are_pinned() {
        assert_eq!(&ask().content()[..16], "9b1c410a4dd5dcce");
        let waits = Ask {
            if_busy: IfBusy::Queue,
            by: "somebody else".to_owned(),
            ..ask()
        };
        assert_eq!(waits.content(), ask().content());
    }

    #[test]
    fn what_asks_for_something_else_has_another_digest() {
        let others: [fn(&mut Ask); 9] = [
            |ask| ask.agent = AgentName::new("two").unwrap(),
            |ask| ask.prompt[0].text.push('!'),
            |ask| ask.prompt[0].role = Speaker::System,
            |ask| ask.cwd = None,
            |ask| ask.links.truncate(1),
            |ask| ask.model = None,
            |ask| ask.limits.tokens = None,
            |ask| ask.permissions = Permissions::Ask,
            |ask| ask.under = Under::Isolated(RouteKey::new("chat-1").unwrap()),
        ];
        for (at, change) in others.iter().enumerate() {
            let mut other = ask();
            change(&mut other);
            assert_ne!(other.content(), ask().content(), "{at}");
        }
    }
}
