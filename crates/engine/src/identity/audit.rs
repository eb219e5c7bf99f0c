//! The audit: who did what, or was refused what, as data that can be verified.
//!
//! [`record`] belongs into the transaction of the change, as its last step: what was done is in the audit, and
//! nothing else is. What is not a change of the ledger has a transaction of its own: [`note`].

mod read;
mod trim;

use serde_json::{Map, Value, json};
use siglum_domain::audit::{Action, Body, Header, Outcome};
use siglum_domain::link::{FIELDS, Link};
use siglum_domain::redact::Redactor;
use siglum_domain::{IdSource, SessionId, Timestamp, TokenId};
use siglum_ledger::{Durability, Ledger, LedgerError, SessionRecord, Transaction, write};

use crate::Here;
use crate::identity::statements;
use crate::world::salt;

pub use self::read::{Report, export, list, verify};
pub(crate) use self::trim::trim;
pub use siglum_ledger::AuditFilter;

/// How long an actor's name, a reason, a field and a body may be.
const ACTOR_MOST: usize = 200;
const REASON_MOST: usize = 1_000;
const FIELD_MOST: usize = 100;
const BODY_MOST: usize = 64 << 10;

/// The actor where the program itself did it, because of what it found.
pub const SIGLUM: &str = "siglum";
/// The actor where `siglum run` did it.
pub const LAUNCHER: &str = "launcher";

/// The actor who calls with a token.
#[must_use]
pub fn bearer(token: TokenId, name: &str) -> String {
    format!("token {token} {name}")
}

/// Something that goes into the audit. Secrets in it are removed on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub actor: String,
    pub action: Action,
    pub outcome: Outcome,
    pub session: Option<SessionId>,
    /// In which pipeline; if none is named, that of the session.
    pub pipeline: Option<String>,
    pub body: Value,
}

impl Entry {
    /// Something that was done.
    #[must_use]
    pub fn done(actor: &str, action: Action) -> Self {
        Self {
            actor: actor.to_owned(),
            action,
            outcome: Outcome::Done,
            session: None,
            pipeline: None,
            body: json!({}),
        }
    }

    /// Something that was refused, and because of which field.
    #[must_use]
    pub fn refused(actor: &str, action: Action, reason: &str, field: Option<&str>) -> Self {
        let outcome = Outcome::Refused {
            reason: reason.to_owned(),
            field: field.map(str::to_owned),
        };
        Self {
            outcome,
            ..Self::done(actor, action)
        }
    }

    /// It was done with a session.
    #[must_use]
    pub fn for_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// It was done in a pipeline.
    #[must_use]
    pub fn in_pipeline(mut self, pipeline: &str) -> Self {
        self.pipeline = Some(pipeline.to_owned());
        self
    }

    /// Its details, which are an object.
    #[must_use]
    pub fn with(mut self, body: Value) -> Self {
        self.body = body;
        self
    }
}

/// Adds an entry to the audit and gives its number. Where several write to the store, the next one waits until this
/// transaction ends: it is the last step.
///
/// # Errors
/// Those of the ledger.
pub fn record(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    entry: &Entry,
) -> Result<u64, LedgerError> {
    put(tx, here.ids, here.redactor, here.now(), entry)
}

/// [`record`], at a time.
pub(crate) fn put(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    redactor: &Redactor,
    at: Timestamp,
    entry: &Entry,
) -> Result<u64, LedgerError> {
    let pipeline = match (&entry.pipeline, entry.session) {
        (None, Some(session)) => pipeline(&statements::links(&tx.statements_of_session(session)?)),
        (named, _) => named.clone(),
    };
    put_in(tx, ids, redactor, at, entry, pipeline)
}

/// [`put`], in a pipeline that is known, or in none.
fn put_in(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    redactor: &Redactor,
    at: Timestamp,
    entry: &Entry,
    pipeline: Option<String>,
) -> Result<u64, LedgerError> {
    let text = |text: &str, most| {
        let clean = redactor.redact(text);
        clean.as_str().chars().take(most).collect::<String>()
    };
    let outcome = match &entry.outcome {
        Outcome::Refused { reason, field } => Outcome::Refused {
            reason: text(reason, REASON_MOST),
            field: field.as_ref().map(|field| text(field, FIELD_MOST)),
        },
        Outcome::Done => Outcome::Done,
    };
    let header = Header {
        at,
        actor: text(&entry.actor, ACTOR_MOST),
        action: entry.action.clone(),
        outcome,
        session: entry.session,
        pipeline: pipeline.map(|p| text(&p, REASON_MOST)),
    };
    let mut body = redactor.redact_json(&entry.body).into_text();
    if body.as_str().len() > BODY_MOST {
        let cut = json!({ "bytes_left_out": body.as_str().len() });
        body = redactor.redact_json(&cut).into_text();
    }
    let salt = salt(ids);
    let body = Body { salt, text: body };
    Ok(tx.append_audit(&header, &body)?.number)
}

/// [`record`] in a transaction of its own: for what was refused or read.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn note(here: &Here<'_>, ledger: &mut dyn Ledger, entry: &Entry) -> Result<u64, LedgerError> {
    write(ledger, Durability::Process, |tx| record(tx, here, entry))
}

/// Records that a session was created, as the ledger has it: with its links, field by field, and its place. `more` is
/// an object with what the ledger does not have, such as the address of the caller.
///
/// # Errors
/// Those of the ledger.
pub fn session_created(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    by: &str,
    session: SessionId,
    more: Value,
) -> Result<u64, LedgerError> {
    let Some(record) = tx.session(session)? else {
        return Err(LedgerError::Damaged(format!(
            "session {session} is not there"
        )));
    };
    let attached = statements::links(&tx.statements_of_session(session)?);
    session_opened(tx, here, by, (&record, &attached), more)
}

/// The same of a session that this transaction opened, with its links in order: the ledger has nothing else of it.
pub(crate) fn session_opened(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    by: &str,
    (record, attached): (&SessionRecord, &[Link]),
    more: Value,
) -> Result<u64, LedgerError> {
    let mut body = json!({
        "agent": record.agent_word(),
        "conversation_id": record.conversation.as_str(),
        "cwd": record.cwd,
        "links": links(attached),
        "parent": record.parent.map(|(parent, _)| parent.to_string()),
        "relation": record.parent.map(|(_, relation)| relation.as_str()),
        "repositories": record.repository.iter().map(|r| r.to_string()).collect::<Vec<_>>(),
        "worktree": record.worktree,
    });
    if let (Value::Object(body), Value::Object(more)) = (&mut body, more) {
        body.extend(more);
    }
    let entry = Entry::done(by, Action::SessionCreated)
        .for_session(record.id)
        .with(body);
    let (at, pipeline) = (here.now(), pipeline(attached));
    put_in(tx, here.ids, here.redactor, at, &entry, pipeline)
}

/// Links field by field: every field that there is, with its values as JSON has them. Entries from before have numbers as
/// text; the chain keeps them.
#[must_use]
pub fn links(links: &[Link]) -> Value {
    let values = |field: &&str| {
        let of = links.iter().filter(|link| link.field() == *field);
        Value::from(of.map(Link::to_json).collect::<Vec<_>>())
    };
    let fields = FIELDS.iter();
    Value::Object(
        fields
            .map(|field| ((*field).to_owned(), values(field)))
            .collect::<Map<_, _>>(),
    )
}

/// The pipeline that links name.
#[must_use]
pub fn pipeline(links: &[Link]) -> Option<String> {
    links.iter().find_map(|link| match link {
        Link::PipelineId(id) => Some(id.clone()),
        _ => None,
    })
}
