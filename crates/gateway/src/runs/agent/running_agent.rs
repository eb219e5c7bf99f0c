//! An agent, whichever way it speaks.

use siglum_domain::NativeId;
use tokio::sync::mpsc;

use super::acp::Acp;
use super::error::{AgentError, Refused};
use super::headless::Headless;
use super::{AgentMessage, Answer, Opening, Way};
use crate::runs::process::Start;

/// An agent that runs.
pub(crate) enum Agent {
    /// It speaks the protocol.
    Acp(Box<Acp>),
    /// It is run once, by its own headless mode.
    Headless(Box<Headless>),
}

impl Agent {
    /// Starts the process of an agent.
    pub(crate) async fn start(start: Start<'_>, way: Way) -> Result<Self, AgentError> {
        match way {
            Way::Protocol => Ok(Self::Acp(Box::new(Acp::start(start).await?))),
            Way::Headless(_) => Ok(Self::Headless(Box::new(Headless::start(start)?))),
        }
    }

    /// Opens its native session; one that names it when it has its prompt is told that.
    pub(crate) async fn open(&mut self, opening: &Opening<'_>) -> Result<(), AgentError> {
        match self {
            Self::Acp(agent) => agent.open(opening).await,
            Self::Headless(agent) => agent.open(opening).await,
        }
    }

    /// Its native session goes on in the same process. What it said meanwhile is dropped.
    pub(crate) async fn again(&mut self, opening: &Opening<'_>) -> Result<(), AgentError> {
        match self {
            Self::Acp(agent) => agent.again(opening).await,
            Self::Headless(_) => {
                let text = "this agent is started anew for each prompt";
                Err(AgentError::new("agent-not-ready", text))
            }
        }
    }

    pub(crate) const fn pid(&self) -> u32 {
        match self {
            Self::Acp(agent) => agent.pid(),
            Self::Headless(agent) => agent.pid(),
        }
    }

    /// What it calls the session that it has open.
    pub(crate) fn native(&self) -> Option<&NativeId> {
        match self {
            Self::Acp(agent) => agent.native(),
            Self::Headless(agent) => agent.native(),
        }
    }

    /// The model of that session, by its own word.
    pub(crate) fn model(&self) -> Option<String> {
        match self {
            Self::Acp(agent) => agent.model(),
            Self::Headless(agent) => agent.model(),
        }
    }

    /// Whether its process is there, as far as that can be told.
    pub(crate) fn lives(&self) -> bool {
        match self {
            Self::Acp(agent) => agent.lives(),
            Self::Headless(agent) => agent.lives(),
        }
    }

    /// How often it was asked something in this process.
    pub(crate) const fn turns(&self) -> u32 {
        match self {
            Self::Acp(agent) => agent.turns,
            Self::Headless(_) => 0,
        }
    }

    /// What it says that its process cost by now, in billionths of a dollar.
    pub(crate) const fn cost(&self) -> u64 {
        match self {
            Self::Acp(agent) => agent.cost,
            Self::Headless(_) => 0,
        }
    }

    /// Keeps in mind what its process cost by now.
    pub(crate) const fn cost_now(&mut self, cost: u64) {
        if let Self::Acp(agent) = self {
            agent.cost = cost;
        }
    }

    /// What it says next by itself.
    pub(crate) async fn hear(&mut self) -> Option<AgentMessage> {
        self.message_receiver().recv().await
    }

    /// What it said, and nobody looked at yet.
    pub(crate) fn try_hear(&mut self) -> Option<AgentMessage> {
        self.message_receiver().try_recv().ok()
    }

    const fn message_receiver(&mut self) -> &mut mpsc::Receiver<AgentMessage> {
        match self {
            Self::Acp(agent) => &mut agent.messages,
            Self::Headless(agent) => &mut agent.messages,
        }
    }

    /// Tells it the prompt; the answer comes when it comes.
    pub(crate) fn prompt(&mut self, blocks: &[String], parent: &str) -> Result<Answer, AgentError> {
        match self {
            Self::Acp(agent) => agent.prompt(blocks, parent),
            Self::Headless(agent) => agent.answer(),
        }
    }

    /// Has it stop.
    pub(crate) fn cancel(&self) {
        match self {
            Self::Acp(agent) => agent.cancel(),
            Self::Headless(agent) => agent.cancel(),
        }
    }

    /// What the refusal of a prompt comes to, with its last words.
    pub(crate) async fn refused(&mut self, refused: &Refused) -> AgentError {
        match self {
            Self::Acp(agent) => {
                agent.hear_out().await;
                let code = if agent.lives() {
                    "agent-failed"
                } else {
                    "agent-died"
                };
                agent.refused(code, refused)
            }
            Self::Headless(agent) => agent.refused("agent-died", refused).await,
        }
    }
}
