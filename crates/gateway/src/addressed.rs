//! The session that a request speaks of: one rule for all requests about messages.
//!
//! What begins with `ses_` and goes on with 32 hexadecimal digits is the id of a session. Everything else is what the
//! outside world calls the conversation; where several agents have one of that name, the agent must be said.

use siglum_domain::{AgentName, ConversationId, NativeId, SessionId};
use siglum_engine::driven::turn::TurnError;
use siglum_ledger::{LedgerError, SessionRecord, Transaction, read};

use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::reach::is_within;

/// What stands in a path in place of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {
    Session(SessionId),
    Conversation(ConversationId),
}

impl Address {
    /// Reads what stands in a path.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        if let Ok(session) = text.parse() {
            return Ok(Self::Session(session));
        }
        let named = ConversationId::new(text).map(Self::Conversation);
        named.map_err(|error| Problem::invalid("session", error.rule))
    }
}

/// The session of an address, if it is there and the caller sees it.
pub(crate) async fn known(
    app: &App,
    caller: &Caller,
    address: Address,
    agent: Option<AgentName>,
) -> Result<Option<SessionRecord>, Problem> {
    let limits = caller.limits_on_sessions();
    let found = app.ledgers().read(&caller.tenant, move |_, ledger| {
        read(ledger, |tx| {
            let found: Vec<SessionRecord> = match &address {
                Address::Session(id) => tx.session(*id)?.into_iter().collect(),
                Address::Conversation(name) => called(tx, name, agent.as_ref())?,
            };
            let mut seen = Vec::new();
            for record in found {
                if is_within(tx, &limits, record.id)? {
                    seen.push(record);
                }
            }
            Ok(seen)
        })
    });
    let mut found: Vec<SessionRecord> = found.await??;
    match found.len() {
        0 | 1 => Ok(found.pop()),
        _ => {
            let agents: Vec<_> = found.iter().map(SessionRecord::agent_word).collect();
            let detail = format!(
                "several agents have a conversation of this id: {}; pass `agent`",
                agents.join(", ")
            );
            Err(Problem::conflict("ambiguous", detail))
        }
    }
}

/// There is no session of this address.
pub(crate) fn missing(address: &Address) -> Problem {
    match address {
        Address::Session(id) => TurnError::NoSession(*id).into(),
        Address::Conversation(name) => {
            Problem::not_found(format!("no session has the conversation id {name}"))
        }
    }
}

fn called(
    tx: &mut dyn Transaction,
    name: &ConversationId,
    agent: Option<&AgentName>,
) -> Result<Vec<SessionRecord>, LedgerError> {
    // What is called so is among the aliases, too; those have more than the names of conversations.
    let Ok(native) = NativeId::new(name.as_str()) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (of, id) in tx.sessions_by_native(&native)? {
        let wanted = agent.is_none_or(|agent| *agent == of);
        let record = tx.session(id)?;
        if let Some(record) = record.filter(|record| wanted && record.conversation == *name) {
            found.push(goes_on_in(tx, record)?);
        }
    }
    Ok(found)
}

/// The session that a conversation goes on in: somebody may have gone back in it, or begun anew.
fn goes_on_in(
    tx: &mut dyn Transaction,
    record: SessionRecord,
) -> Result<SessionRecord, LedgerError> {
    let Some(context) = tx.context_of_session(record.id)? else {
        return Ok(record);
    };
    let current = tx.route(&context.route)?.and_then(|route| route.current);
    let Some(current) = current.map(|key| tx.context(&key)).transpose()?.flatten() else {
        return Ok(record);
    };
    let now = tx.session(current.session)?;
    let same = |now: &SessionRecord| now.conversation == record.conversation;
    Ok(now.filter(same).unwrap_or(record))
}
