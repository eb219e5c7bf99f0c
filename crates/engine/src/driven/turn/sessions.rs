//! Driven sessions come to be, fork, and are archived.

use serde_json::{Value, json};
use siglum_domain::audit::Action;
use siglum_domain::claims::Claims;
use siglum_domain::link::{Link, SECRET_RULE};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, ConversationId, LedgerId, NativeId, SessionId, TurnId};
use siglum_ledger::{
    Durability, Ledger, Mode, Relation, SessionOrigin, SessionRecord, Statement, Transaction, read,
};

use super::recover::{Recovered, recover};
use super::{TurnError, at_home, attempt, driven, writable};
use crate::Here;
use crate::identity::access;
use crate::identity::audit::{self, Entry};
use crate::identity::{self, FirstLinks, Name, open_session};

/// What a driver says of a session that it creates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The product that does the work.
    pub agent: AgentName,
    /// What the outside world calls the conversation. The same one twice is one session.
    pub conversation: ConversationId,
    pub cwd: Option<String>,
    pub links: Vec<Link>,
    pub by: String,
}

/// Creates a driven session, or finds the one of this conversation.
///
/// # Errors
/// [`TurnError::NotDriven`] where the agent itself has a session of this name.
pub fn create(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    new: &NewSession,
) -> Result<SessionRecord, TurnError> {
    let home = ledger.id();
    let native = alias(&new.conversation)?;
    attempt(ledger, Durability::Disk, |tx| {
        if let Some(known) = identity::find(tx, &Claims::by_name(&new.agent, &native))? {
            return driven(tx, known.session());
        }
        let record = record(here, home, &new.agent, &new.conversation, new.cwd.clone());
        let audit = (here, json!({}));
        open_driven(tx, record, &native, &new.links, &new.by, audit)
    })
}

/// Makes a session that goes on from a turn of another one, which goes on by itself: what was said up to that turn is
/// the history of both, and is stored once. Without a turn it is the last one that is committed.
///
/// # Errors
/// [`TurnError::Invalid`] for a turn that is not committed in that session.
pub fn fork(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    from: SessionId,
    turn: Option<TurnId>,
    conversation: &ConversationId,
    by: &str,
) -> Result<SessionRecord, TurnError> {
    let home = ledger.id();
    let native = alias(conversation)?;
    attempt(ledger, Durability::Disk, |tx| {
        let parent = driven(tx, from)?;
        let agent = parent.agent_key();
        if let Some(known) = identity::find(tx, &Claims::by_name(&agent, &native))? {
            let known = driven(tx, known.session())?;
            return match known.parent {
                Some((of, Relation::Fork)) if of == from => Ok(known),
                _ => Err(TurnError::Invalid {
                    field: "conversation_id",
                    rule: format!("`{conversation}` belongs to another session: {}", known.id),
                }),
            };
        }
        let at = match turn {
            None => parent.sealed,
            Some(turn) => end_of(tx, from, turn)?,
        };
        let record = SessionRecord {
            parent: Some((from, Relation::Fork)),
            parent_at: Some(at),
            ..record(here, home, &agent, conversation, parent.cwd)
        };
        let audit = (here, json!({ "parent_at": at }));
        open_driven(tx, record, &native, &[], by, audit)
    })
}

/// The last sequence that was sealed with a turn.
fn end_of(tx: &mut dyn Transaction, session: SessionId, turn: TurnId) -> Result<u64, TurnError> {
    const PAGE: usize = 1_000;
    let mut after = 0;
    loop {
        let page = tx.receipts_after(session, after, PAGE)?;
        if let Some(receipt) = page.iter().find(|r| r.turns.contains(&turn)) {
            return Ok(receipt.last);
        }
        let Some(last) = page.last() else {
            return Err(TurnError::Invalid {
                field: "turn",
                rule: format!("{turn} is not committed in session {session}"),
            });
        };
        after = last.number;
    }
}

/// Archives a session: from then on nothing is written to it. What is committed stays readable and is still shown.
///
/// # Errors
/// [`TurnError::Leased`] while somebody drives it; [`TurnError::Held`] and [`TurnError::NotOpen`] while a turn waits for
/// a person or a driver.
pub fn archive(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    by: &str,
) -> Result<(), TurnError> {
    match recover(here, ledger, session) {
        Err(TurnError::Archived { .. }) => return Ok(()),
        Ok(Recovered::Held { calls }) => {
            let open = read(ledger, |tx| tx.open_turn(session))?;
            let turn = open.map_or_else(String::new, |turn| turn.key);
            let why = format!("nobody knows whether {} was done", calls.join(", "));
            return Err(TurnError::Held { session, turn, why });
        }
        other => other?,
    };
    let home = ledger.id();
    attempt(ledger, Durability::Disk, |tx| {
        let lease = tx.lease(session)?;
        at_home(&writable(tx, session)?, home)?;
        if let Some(turn) = tx.open_turn(session)? {
            return Err(TurnError::NotOpen {
                session,
                key: String::new(),
                open: format!("`{}` is; commit or abort it first", turn.key),
            });
        }
        let at = tx.clock(here.now())?;
        if let Some(lease) = lease.filter(|l| l.expires_at > at) {
            // A driver that holds it idles: it is told at its next write.
            tx.release_lease(session, lease.epoch, at)?;
        }
        tx.archive(session, at)?;
        tx.state(at, by, "api", &Statement::Archived { session })?;
        access::revoke_of_in(tx, here, session, by)?;
        let entry = Entry::done(by, Action::SessionArchived).for_session(session);
        audit::record(tx, here, &entry)?;
        Ok(())
    })
}

fn alias(conversation: &ConversationId) -> Result<NativeId, TurnError> {
    let refused = |rule: &str| TurnError::Invalid {
        field: "conversation_id",
        rule: rule.to_owned(),
    };
    let name = conversation.as_str();
    if Redactor::shared().has_secret(name) {
        return Err(refused(SECRET_RULE));
    }
    NativeId::new(name).map_err(|e| refused(e.rule))
}

fn record(
    here: &Here<'_>,
    home: LedgerId,
    agent: &AgentName,
    conversation: &ConversationId,
    cwd: Option<String>,
) -> SessionRecord {
    let at = here.now();
    SessionRecord {
        cwd,
        ..SessionRecord::new(
            SessionId::mint(here.ids),
            agent.clone(),
            conversation.clone(),
            home,
            Mode::Driven,
            SessionOrigin::Api,
            at,
        )
    }
}

fn open_driven(
    tx: &mut dyn Transaction,
    record: SessionRecord,
    name: &NativeId,
    links: &[Link],
    by: &str,
    audit: (&Here<'_>, Value),
) -> Result<SessionRecord, TurnError> {
    let opened = identity::NewSession {
        record,
        name: Some(Name::Caller(name)),
        links: FirstLinks::stated_by("api", links)?,
        statement: None,
        by,
        audit: Some(audit),
    };
    open_session(tx, &opened)?;
    Ok(opened.record)
}
