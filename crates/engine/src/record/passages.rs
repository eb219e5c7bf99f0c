//! The text of what was said, wherever it is stored.

use siglum_agents::AgentSpec;
use siglum_domain::observation::Body;
use siglum_ledger::{Ledger, LedgerError, Segment, read};

/// Finds the text of bodies, also of those that stand in a stored transcript.
pub struct Passages<'a> {
    agent: Option<&'static AgentSpec>,
    ledger: Option<&'a mut dyn Ledger>,
    segment: Option<Segment>,
}

impl<'a> Passages<'a> {
    /// The passages of a session of this agent.
    pub fn new(ledger: &'a mut dyn Ledger, agent: &str) -> Self {
        Self {
            agent: siglum_agents::find(agent),
            ledger: Some(ledger),
            segment: None,
        }
    }

    /// Without a ledger: then texts that stand in a stored transcript are absent.
    #[must_use]
    pub const fn without_ledger() -> Self {
        Self {
            agent: None,
            ledger: None,
            segment: None,
        }
    }

    /// The text, if it is stored anywhere.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn text(&mut self, body: &Body) -> Result<Option<String>, LedgerError> {
        match body {
            Body::Text(text) => Ok(Some(text.as_str().to_owned())),
            Body::Withheld { .. } => Ok(None),
            Body::Passage { stream, offset } => {
                let here = |s: &Segment| s.stream == *stream && (s.first..s.past).contains(offset);
                if !self.segment.as_ref().is_some_and(here)
                    && let Some(ledger) = self.ledger.as_deref_mut()
                {
                    self.segment = read(ledger, |tx| tx.segment(stream, *offset))?;
                }
                let lines = self.segment.iter().flat_map(|s| &s.lines);
                let line = lines.into_iter().find(|(at, _)| at == offset);
                Ok(self
                    .agent
                    .zip(line)
                    .and_then(|(agent, (_, line))| (agent.passage_text)(line)))
            }
        }
    }
}
