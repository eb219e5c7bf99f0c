//! What an agent is told whose own session has more than is committed: nothing of that session goes on.

use siglum_domain::Tenant;
use siglum_domain::context::Keys;
use siglum_domain::fold::Entry;
use siglum_domain::observation::Fact;
use siglum_engine::driven::context::{self, Assemble, Gaps, Heartbeats, Spoken};

use crate::app::App;
use crate::problem::Problem;
use crate::runs::{PromptMessage, Speaker};

/// The event of a turn whose agent began anew.
pub(super) const NAME: &str = "run.diverged";
/// How much of what is committed an agent is told, in tokens: the newest of it.
const TOKENS_MOST: u64 = 50_000;
/// What stands before it.
const BEFORE: &str = "This conversation goes on. What follows was said before, and is done; answer the last message.";

/// Tells whether this says that an agent began anew.
pub(super) fn is_mark(entry: &Entry) -> bool {
    matches!(&entry.observation.fact, Fact::Other { name } if name == NAME)
}

/// What is committed under these keys, as messages.
pub(super) async fn committed(
    app: &App,
    tenant: &Tenant,
    keys: Option<Keys>,
) -> Result<Vec<PromptMessage>, Problem> {
    let Some(keys) = keys else {
        return Ok(Vec::new());
    };
    let wanted = Assemble {
        budget: TOKENS_MOST,
        heartbeats: Heartbeats::Seen,
        gaps: Gaps::Accepted,
        ..Assemble::default()
    };
    let seen = app.ledgers().read(tenant, move |_, ledger| {
        context::assemble(ledger, &keys, &wanted)
    });
    let messages = seen.await??.messages;
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    let before = PromptMessage {
        role: Speaker::System,
        text: BEFORE.to_owned(),
    };
    let history = messages.into_iter().map(|seen| prompt_message(seen.spoken));
    Ok(std::iter::once(before).chain(history).collect())
}

fn prompt_message(spoken: Spoken) -> PromptMessage {
    let (role, text) = match spoken {
        Spoken::User { text } => (Speaker::User, text),
        Spoken::System { text } => (Speaker::System, text),
        Spoken::Assistant { text, .. } => (Speaker::Assistant, text),
        Spoken::Call { tool, input, .. } => (Speaker::Assistant, format!("[{tool}] {input}")),
        Spoken::Result { tool, output, .. } => (Speaker::System, format!("[{tool}] {output}")),
    };
    PromptMessage { role, text }
}
