//! Contexts come to be, each with the session that it is kept in.

use serde::{Deserialize, Serialize};
use serde_json::json;
use siglum_domain::claims::Claims;
use siglum_domain::context::{Cause, ContextKey, Inherit};
use siglum_domain::{AgentName, ConversationId, LedgerId, NativeId, SessionId};
use siglum_ledger::{ContextRecord, Mode, Relation, SessionRecord, Transaction};

use super::{ContextError, Resolve};
use crate::Here;
use crate::driven::remote;
use crate::identity::{self, Name, SessionIdentity, add_name, audit};

/// The most names that a host gives a context, and how long they and their values may be.
const ANCHORS_MOST: usize = 32;
const NAME_MOST: usize = 64;
const VALUE_MOST: usize = 512;

type Outcome<T> = Result<T, ContextError>;

/// A context that is to be made.
pub(super) struct New {
    /// Its key, where it is not made here.
    pub(super) key: Option<ContextKey>,
    pub(super) cause: Cause,
    /// What it has of the one that it comes from.
    pub(super) inherit: Inherit,
    /// The one that it comes from, and up to where.
    pub(super) parent: Option<(ContextKey, u64)>,
    /// Whether it is the first one that its route goes over to: both keys are equal then.
    pub(super) is_first: bool,
}

/// What a session will be, once somebody uses its context.
#[derive(Serialize, Deserialize)]
pub(super) struct Prepared {
    agent: AgentName,
    conversation: Option<ConversationId>,
    native: Option<NativeId>,
    cwd: Option<String>,
    by: String,
}

impl Prepared {
    pub(super) fn new(ask: &Resolve) -> Self {
        Self {
            agent: ask.agent.clone(),
            conversation: ask.conversation.clone(),
            native: ask.native.clone(),
            cwd: ask.cwd.clone(),
            by: ask.by.clone(),
        }
    }

    pub(super) fn stored(&self) -> String {
        serde_json::to_string(self).expect("because it has text keys only")
    }
}

/// Checks what a host calls a context.
pub(super) fn anchors(anchors: &[(String, String)]) -> Outcome<()> {
    let fits = |text: &str, most: usize| {
        (1..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control)
    };
    let all = anchors.iter();
    let sound = all
        .clone()
        .all(|(name, value)| fits(name, NAME_MOST) && fits(value, VALUE_MOST));
    match sound && anchors.len() <= ANCHORS_MOST {
        true => Ok(()),
        false => Err(ContextError::invalid(
            "aliases",
            "at most 32, names of 1 to 64 and values of 1 to 512 characters, no control characters",
        )),
    }
}

/// The names of a host as they are stored: what it says later counts.
fn joined(here: &Here<'_>, before: &str, more: &[(String, String)]) -> String {
    let mut all: std::collections::BTreeMap<String, String> =
        serde_json::from_str(before).unwrap_or_default();
    let clean = |text: &str| here.redactor.redact(text).into_string();
    all.extend(more.iter().map(|(name, value)| (clean(name), clean(value))));
    serde_json::to_string(&all).expect("because it has text keys only")
}

/// Makes a context with its session.
pub(super) fn make(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ask: &Resolve,
    new: New,
    home: LedgerId,
) -> Outcome<ContextRecord> {
    let session = session(here, tx, ask, &new, home)?;
    let context = ContextRecord {
        session,
        ..unmade(here, ask, new, session)?
    };
    if tx.context(&context.key)?.is_some() {
        // Somebody chose a route key that another route's context has.
        return Err(ContextError::Conflict {
            context: context.key.to_string(),
            key: ask.run.to_string(),
        });
    }
    tx.put_context(&context)?;
    Ok(context)
}

/// A context whose session is not there yet.
pub(super) fn unmade(
    here: &Here<'_>,
    ask: &Resolve,
    new: New,
    session: SessionId,
) -> Outcome<ContextRecord> {
    let key = match (new.key, new.cause) {
        (Some(key), _) => key,
        (None, Cause::Tick | Cause::CronRun) => ContextKey::isolated(&ask.route, session)?,
        (None, _) if new.is_first => ContextKey::from_route(&ask.route),
        (None, cause) => ContextKey::replacing(&ask.route, cause, session)?,
    };
    let at = here.now();
    Ok(ContextRecord {
        key,
        route: ask.route.clone(),
        session,
        prepared: None,
        parent: new.parent,
        cause: new.cause,
        inherit: new.inherit,
        by: ask.by.clone(),
        created_at: at,
        seen_at: at,
        ended_at: None,
        next: ask.next,
        anchors: joined(here, "{}", &ask.anchors),
    })
}

/// The session of a new context: that of the conversation, if nothing else is kept in it, or a new one.
fn session(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ask: &Resolve,
    new: &New,
    home: LedgerId,
) -> Outcome<SessionId> {
    let named = named(ask);
    let known = match &named {
        Some(name) => identity::find(tx, &Claims::by_name(&ask.agent, name))?,
        None => None,
    };
    let known = known.map(SessionIdentity::session);
    let is_free = known.is_none();
    if let Some(known) = known {
        match tx.context_of_session(known)? {
            None if new.is_first && is_driven(tx, known)? => return Ok(known),
            // A name that only the agent itself gives may stay with another session.
            of => refuse_another(ask, known, of.as_ref())?,
        }
    }
    let id = SessionId::mint(here.ids);
    let from = goes_on_from(tx, new)?;
    let given = ask.conversation.clone();
    let conversation = match (given, from) {
        // Whoever goes back stays in the conversation, unless the agent has a name for what it goes on with.
        (None, Some((before, Relation::Rewind, _))) if ask.native.is_none() => {
            tx.session(before)?.map(|s| s.conversation)
        }
        (None, _) => Some(ConversationId::of_native(ask.native.as_ref(), id)),
        (given, _) => given,
    };
    let record = remote::NewSession {
        id: Some(id),
        home: None,
        agent: ask.agent.clone(),
        conversation,
        native: None,
        name: Some(named.filter(|_| is_free).unwrap_or_else(|| own_name(id))),
        mode: Mode::Driven,
        cwd: ask.cwd.clone(),
        links: Vec::new(),
        repositories: Vec::new(),
        from,
        by: ask.by.clone(),
    };
    let session = remote::create(here, tx, home, &record)?.record.id;
    called(here, tx, session, &ask.agent, ask.native.as_ref())?;
    Ok(session)
}

/// A session has the name, too, that its agent gives it, unless that is another session's.
fn called(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    agent: &AgentName,
    native: Option<&NativeId>,
) -> Outcome<()> {
    match native {
        Some(native) => Ok(add_name(
            tx,
            session,
            agent,
            Name::Native(native),
            here.now(),
        )?),
        None => Ok(()),
    }
}

/// The session that a new one shares its beginning with.
fn goes_on_from(
    tx: &mut dyn Transaction,
    new: &New,
) -> Outcome<Option<(SessionId, Relation, u64)>> {
    let how = match new.cause {
        Cause::Rewind => Relation::Rewind,
        Cause::Fork => Relation::Fork,
        _ => return Ok(None),
    };
    let Some((key, at)) = &new.parent else {
        return Ok(None);
    };
    let before = tx.context(key)?;
    Ok(before.map(|before| (before.session, how, *at)))
}

/// The name under which a session is found again, if anybody gave it one.
fn named(ask: &Resolve) -> Option<NativeId> {
    let by_name = ask.conversation.as_ref().map(|name| name.as_str());
    by_name
        .and_then(|name| NativeId::new(name).ok())
        .or_else(|| ask.native.clone())
}

fn own_name(id: SessionId) -> NativeId {
    NativeId::new(id.to_string()).expect("because ids keep to the grammar")
}

fn is_driven(tx: &mut dyn Transaction, session: SessionId) -> Outcome<bool> {
    Ok(tx.session(session)?.is_some_and(|s| s.mode == Mode::Driven))
}

fn refuse_another(ask: &Resolve, known: SessionId, of: Option<&ContextRecord>) -> Outcome<()> {
    match &ask.conversation {
        Some(name) if of.is_none_or(|context| context.route != ask.route) => {
            Err(ContextError::Taken {
                conversation: name.clone(),
                session: known,
            })
        }
        _ => Ok(()),
    }
}

/// A run goes on with a context that is there. Refused where it names another conversation.
pub(super) fn keep(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ask: &Resolve,
    context: &ContextRecord,
    home: LedgerId,
) -> Outcome<ContextRecord> {
    let context = used(here, tx, context.clone(), home)?;
    if let Some(name) = &ask.conversation {
        same_conversation(tx, name, &context)?;
    }
    called(here, tx, context.session, &ask.agent, ask.native.as_ref())?;
    let context = ContextRecord {
        seen_at: here.now(),
        anchors: joined(here, &context.anchors, &ask.anchors),
        ..context
    };
    tx.put_context(&context)?;
    Ok(context)
}

fn same_conversation(
    tx: &mut dyn Transaction,
    name: &ConversationId,
    context: &ContextRecord,
) -> Outcome<()> {
    let record: Option<SessionRecord> = tx.session(context.session)?;
    match record {
        Some(record) if record.conversation != *name => Err(ContextError::invalid(
            "conversation_id",
            format!(
                "the route is stored in session {}, whose conversation id is `{}`",
                record.id, record.conversation
            ),
        )),
        _ => Ok(()),
    }
}

/// A context that was only prepared gets its session now.
pub(super) fn used(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    context: ContextRecord,
    home: LedgerId,
) -> Outcome<ContextRecord> {
    let Some(prepared) = &context.prepared else {
        return Ok(context);
    };
    let prepared: Prepared = serde_json::from_str(prepared)
        .map_err(|e| siglum_ledger::LedgerError::Damaged(format!("prepared context: {e}")))?;
    let native = prepared.native.as_ref();
    let of_native = || ConversationId::of_native(native, context.session);
    let record = remote::NewSession {
        id: Some(context.session),
        home: None,
        agent: prepared.agent,
        conversation: Some(prepared.conversation.unwrap_or_else(of_native)),
        native: None,
        name: Some(own_name(context.session)),
        mode: Mode::Driven,
        cwd: prepared.cwd,
        links: Vec::new(),
        repositories: Vec::new(),
        from: None,
        by: prepared.by,
    };
    let created = remote::create(here, tx, home, &record)?.record;
    called(here, tx, created.id, &created.agent_key(), native)?;
    let more = json!({ "route": context.route.as_str(), "cause": context.cause.as_str() });
    audit::session_created(tx, here, &record.by, created.id, more)?;
    let context = ContextRecord {
        prepared: None,
        ..context
    };
    tx.put_context(&context)?;
    Ok(context)
}
