//! Sessions as answers show them.

use siglum_domain::link::Link;
use siglum_domain::{ConversationId, NativeId, SessionId};
use siglum_ledger::{LedgerError, SessionRecord, Transaction};

use crate::commits::prompts::prompt_text;
use crate::damage::undamaged;
use crate::identity::{names, statements};

/// A session as an answer shows it.
#[derive(Debug, Clone)]
pub struct SessionCard {
    pub record: SessionRecord,
    /// The agent's ids for it, oldest first.
    pub natives: Vec<NativeId>,
    /// The name that a person gave to it, else the first line of its first prompt.
    pub title: Option<String>,
    pub links: Vec<Link>,
    /// The command that resumes it.
    pub resume: Option<String>,
}

impl SessionCard {
    /// What the outside world calls it.
    #[must_use]
    pub const fn conversation(&self) -> &ConversationId {
        &self.record.conversation
    }

    /// The command that resumes it on the machine where it ran, where that is another one.
    #[must_use]
    pub fn resume_elsewhere(&self) -> Option<String> {
        let agent = siglum_agents::find(self.record.agent_word()).filter(|_| self.resume.is_none());
        let resume = agent.zip(self.natives.last());
        resume.and_then(|(agent, native)| agent.resume_line(native))
    }
}

/// A session as an answer shows it.
///
/// # Errors
/// Those of the ledger.
pub fn card(tx: &mut dyn Transaction, id: SessionId) -> Result<Option<SessionCard>, LedgerError> {
    let Some(record) = tx.session(id)? else {
        return Ok(None);
    };
    let natives = undamaged(tx.aliases(id))?.unwrap_or_default();
    let agent = siglum_agents::find(record.agent_word());
    let resume = agent
        .zip(natives.last())
        .and_then(|(agent, native)| agent.resume_line(native));
    let links = statements::links(&undamaged(tx.statements_of_session(id))?.unwrap_or_default());
    let title = match names::name(&links) {
        Some(name) => Some(name.to_owned()),
        None => title(tx, id)?,
    };
    Ok(Some(SessionCard {
        title,
        links,
        natives,
        resume,
        record,
    }))
}

/// The first line of the first prompt.
fn title(tx: &mut dyn Transaction, id: SessionId) -> Result<Option<String>, LedgerError> {
    let Some((_, sequence)) = undamaged(tx.first_prompt(id))?.flatten() else {
        return Ok(None);
    };
    let text = prompt_text(tx, id, sequence)?;
    Ok(text.and_then(|t| {
        t.lines()
            .map(str::trim)
            .find(|l| !l.is_empty())
            .map(|l| l.chars().take(200).collect())
    }))
}
