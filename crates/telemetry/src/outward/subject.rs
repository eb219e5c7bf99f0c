//! What is told of: a session, and a part of one of its turns.

use super::usage::Unexported;
use siglum_domain::fold::Entry;
use siglum_domain::link::Link;
use siglum_domain::observation::Body;
use siglum_domain::trace::{SpanId, TraceId, TraceParent};
use siglum_domain::{AgentName, CheckpointId, ConversationId, NativeId, Oid, SessionId, TurnId};

/// What is the same for all that is told of a session.
#[derive(Debug, Clone)]
pub struct Subject {
    pub session: SessionId,
    /// What the outside world calls it.
    pub conversation: ConversationId,
    /// The product that does the work; `None` where nobody named it.
    pub agent: Option<AgentName>,
    /// What the agent calls it, oldest first.
    pub natives: Vec<NativeId>,
    /// The conversation that it was copied from, or that it followed in the same process.
    pub previous: Option<String>,
    /// The address of its repository, without whatever would let somebody in.
    pub repository: Option<String>,
    pub links: Vec<Link>,
}

impl Subject {
    /// The name of its agent, if anybody named it.
    pub(super) fn agent(&self) -> Option<&str> {
        self.agent.as_ref().map(AgentName::as_str)
    }
}

/// Why a trace points to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// That turn was before this one.
    Previous,
    /// The session is a copy that was made after that turn.
    Fork,
    /// The conversation went back to that turn, and on from there.
    Rewind,
}

impl Why {
    /// The word in `siglum.link.type`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Previous => "previous_turn",
            Self::Fork => "fork",
            Self::Rewind => "rewind",
        }
    }
}

/// The first span of a turn, in whichever trace it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    pub trace: TraceId,
    pub span: SpanId,
}

impl Origin {
    /// Of a turn, which whoever asked for it may have been tracing.
    #[must_use]
    pub fn new(session: SessionId, turn: TurnId, parent: Option<TraceParent>) -> Self {
        Self {
            trace: parent.map_or_else(|| TraceId::of_turn(turn), |parent| parent.trace),
            span: SpanId::of_event(session, turn, "turn"),
        }
    }
}

/// Another trace that a turn points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Linked {
    pub origin: Origin,
    pub why: Why,
}

/// What is sealed of a turn.
#[derive(Debug, Clone)]
pub struct TurnPart {
    pub id: TurnId,
    /// Its place among the turns of its session, from 0.
    pub index: u64,
    /// Whoever asked for it, where they were being traced.
    pub parent: Option<TraceParent>,
    /// The traces that it points to.
    pub links: Vec<Linked>,
    /// Its sealed entries, in order.
    pub entries: Vec<Entry>,
    /// Its messages that were not told before.
    pub messages: Vec<Unexported>,
    /// Up to this sequence all was told before.
    pub exported: u64,
    /// The checkpoints that pin it.
    pub checkpoints: Vec<(CheckpointId, Option<Oid>)>,
}

/// What is told of texts.
#[derive(Clone, Copy)]
pub enum Content<'a> {
    /// Nothing: names, times and counts alone.
    Off,
    /// What this gives for a text: redacted, and nothing where the text is elsewhere.
    On(&'a dyn Fn(&Body) -> Option<String>),
}

impl Content<'_> {
    /// The text, if texts are told.
    pub(super) fn text(self, body: Option<&Body>) -> Option<String> {
        let Self::On(read) = self else { return None };
        let mut text = read(body?)?;
        if text.len() > TEXT_MOST {
            let mut end = TEXT_MOST;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        Some(text).filter(|text| !text.is_empty())
    }
}

/// The longest text in one attribute, in bytes: back ends cut or refuse above 64 KiB.
const TEXT_MOST: usize = 60 << 10;
