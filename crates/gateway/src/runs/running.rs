//! A run that goes on, or that ended a short while ago.

use std::sync::Arc;

use siglum_domain::{AgentName, SessionId, TurnId};

use super::log::{Events, Log};
use super::{Finished, Next, RunEvent, Started};

/// A run. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) started: Arc<Started>,
    pub(crate) agent: AgentName,
    pub(crate) by: String,
    pub(crate) log: Arc<Log>,
}

impl Running {
    /// What is told when it begins.
    pub(crate) fn started(&self) -> &Started {
        &self.started
    }

    pub(crate) fn session(&self) -> SessionId {
        self.started.session
    }

    pub(crate) fn turn(&self) -> TurnId {
        self.started.turn
    }

    pub(crate) const fn agent(&self) -> &AgentName {
        &self.agent
    }

    /// Who requested it.
    pub(crate) fn by(&self) -> &str {
        &self.by
    }

    /// The events behind a number (0: from the start), then those to come.
    pub(crate) fn events(&self, after: u64) -> Events {
        self.log.follow(after)
    }

    /// How it ended, when it did.
    pub(crate) async fn finished(&self) -> Option<Finished> {
        let mut events = self.events(0);
        let mut last = None;
        while let Some(next) = events.next().await {
            if let Next::Event(event) = next
                && let RunEvent::Finished(finished) = &*event.event
            {
                last = Some(finished.clone());
            }
        }
        last
    }
}
