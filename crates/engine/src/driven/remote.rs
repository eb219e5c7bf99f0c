//! Sessions of programs that are elsewhere: created, linked, kept alive and ended by requests.
//!
//! A request is checked as a whole before anything of it is written. The same request twice is one session: by its
//! own id, or by agent and conversation.

use std::time::Duration;

use serde_json::json;
use siglum_domain::access::Scope;
use siglum_domain::audit::Action;
use siglum_domain::claims::Claims;
use siglum_domain::link::Link;
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, LedgerId, NativeId, Oid, RepositoryId, SessionId,
    Timestamp,
};
use siglum_ledger::{
    CheckpointKind, CheckpointRecord, LaunchEnd, LedgerError, Mode, Order, Refusal, Relation,
    SessionFilter, SessionOrigin, SessionRecord, Statement, StatementRecord, Transaction,
};

use crate::Here;
use crate::driven::launch;
use crate::identity::audit::{self, Entry};
use crate::identity::links::{self, Change, LinksError};
use crate::identity::{self, FirstLinks, Name, SessionIdentity, open_session};
use crate::record::session_log;

/// The most repositories that one session may name.
pub const REPOSITORIES_MOST: usize = 32;

/// What a program says of a session that it wants.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its id, where the caller made one.
    pub id: Option<SessionId>,
    /// The ledger that alone extends its log, where that is another one.
    pub home: Option<LedgerId>,
    /// The product that does the work.
    pub agent: AgentName,
    /// What the outside world calls the conversation, if anybody named it.
    pub conversation: Option<ConversationId>,
    /// What the agent itself calls it.
    pub native: Option<NativeId>,
    /// What it is found by, where its agent gave it no name: the conversation, where nothing is said.
    pub name: Option<NativeId>,
    /// Who runs it.
    pub mode: Mode,
    pub cwd: Option<String>,
    pub links: Vec<Link>,
    /// The repositories that it works in, by the names that their owners give them.
    pub repositories: Vec<String>,
    /// The session that it goes on from, and the last entry of that one's log that is the history of both.
    pub from: Option<(SessionId, Relation, u64)>,
    pub by: String,
}

/// What creating a session gave.
#[derive(Debug, Clone)]
pub struct Created {
    pub record: SessionRecord,
    /// It was there.
    pub already: bool,
    /// Its links in order, where they are those of the request: it is new, and at home here.
    pub links: Option<Vec<Link>>,
}

/// Why a session was not created.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// There is another session of this id, or of this conversation.
    #[error("{field}: {rule}")]
    Taken {
        field: &'static str,
        /// What is there.
        rule: String,
    },
    #[error("no session {0}")]
    NoSession(SessionId),
    /// The log does not go so far.
    #[error("sequence: the log ends at {head}")]
    Ahead {
        /// Where it ends.
        head: u64,
    },
    /// Something that was given breaks a rule.
    #[error("{field}: {rule}")]
    Invalid { field: &'static str, rule: String },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl From<LinksError> for RemoteError {
    fn from(error: LinksError) -> Self {
        match error.broken_rule() {
            Ok((field, rule)) => Self::Invalid { field, rule },
            Err(error) => error.into(),
        }
    }
}

impl Refusal for RemoteError {
    fn into_store(self) -> Result<LedgerError, Self> {
        match self {
            Self::Ledger(error) => Ok(error),
            refused => Err(refused),
        }
    }
}

/// Creates a session, or finds the one that was meant; what is attached to it is attached in either case. That a new one
/// was created goes into the audit by [`created`], when all else is written.
///
/// # Errors
/// [`RemoteError::Taken`] where the id or the conversation is that of another session: nothing was written then.
pub fn create(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ledger: LedgerId,
    new: &NewSession,
) -> Result<Created, RemoteError> {
    let record = fresh(here, ledger, new);
    let name = name(new, &record)?;
    if let Some(known) = known(tx, new, &name)? {
        same(&known, new, ledger)?;
        let session = known.id;
        if known.home == ledger {
            also_works_in(here, tx, &known, new)?;
        }
        change_links(here, tx, session, &new.links, Change::Attach, &new.by)?;
        let record = tx
            .session(session)?
            .ok_or(RemoteError::NoSession(session))?;
        return Ok(Created {
            record,
            already: true,
            links: None,
        });
    }
    let mut repositories = Vec::new();
    // Where it works, and what its agent calls it, is told by its home.
    if record.home == ledger {
        for name in &new.repositories {
            repositories.push(repository(here, tx, name, record.created_at)?);
        }
    }
    let record = SessionRecord {
        repository: repositories.first().copied(),
        worktree: repositories.first().and(new.repositories.first()).cloned(),
        ..record
    };
    let session = record.id;
    let works = (!repositories.is_empty()).then_some(Statement::WorksIn {
        session,
        repositories,
    });
    let is_home = record.home == ledger;
    identity::statements::drop_early(tx, session, record.home)?;
    let named = match &new.native {
        Some(native) => Name::Native(native),
        None => Name::Caller(&name),
    };
    let opened = identity::NewSession {
        record,
        name: is_home.then_some(named),
        links: FirstLinks::stated_by("api", &new.links)?,
        statement: works.map(|works| ("api", works)),
        by: &new.by,
        audit: None,
    };
    open_session(tx, &opened)?;
    Ok(Created {
        links: is_home.then(|| opened.links.attached()),
        record: opened.record,
        already: false,
    })
}

/// Writes into the audit that a session was created, with the address that the request came from.
///
/// # Errors
/// Those of the ledger.
pub fn created(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    new: &NewSession,
    Created { record, links, .. }: &Created,
    from: &str,
) -> Result<(), LedgerError> {
    let more = json!({ "repositories": new.repositories, "from": from });
    match links {
        Some(links) => audit::session_opened(tx, here, &new.by, (record, links), more)?,
        None => audit::session_created(tx, here, &new.by, record.id, more)?,
    };
    Ok(())
}

/// The session that a request means, if it is there; an error where its id and its name are those of two.
pub fn known_session(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ledger: LedgerId,
    new: &NewSession,
) -> Result<Option<SessionRecord>, RemoteError> {
    let name = name(new, &fresh(here, ledger, new))?;
    known(tx, new, &name)
}

fn fresh(here: &Here<'_>, ledger: LedgerId, new: &NewSession) -> SessionRecord {
    let id = new.id.unwrap_or_else(|| SessionId::mint(here.ids));
    let named = new.conversation.clone();
    let conversation = named.unwrap_or_else(|| ConversationId::of_native(new.native.as_ref(), id));
    let origin = match new.mode {
        Mode::Driven => SessionOrigin::Api,
        Mode::Observed => SessionOrigin::Launch,
    };
    SessionRecord {
        cwd: new.cwd.clone(),
        parent: new.from.map(|(session, how, _)| (session, how)),
        parent_at: new.from.map(|(_, _, at)| at),
        ..SessionRecord::new(
            id,
            new.agent.clone(),
            conversation,
            new.home.unwrap_or(ledger),
            new.mode,
            origin,
            here.now(),
        )
    }
}

/// The name under which the session is found again.
fn name(new: &NewSession, record: &SessionRecord) -> Result<NativeId, RemoteError> {
    if let Some(name) = new.native.as_ref().or(new.name.as_ref()) {
        return Ok(name.clone());
    }
    NativeId::new(record.conversation.as_str()).map_err(|e| RemoteError::Invalid {
        field: "conversation_id",
        rule: e.rule.to_owned(),
    })
}

fn known(
    tx: &mut dyn Transaction,
    new: &NewSession,
    native: &NativeId,
) -> Result<Option<SessionRecord>, RemoteError> {
    if let Some(id) = new.id
        && let Some(known) = tx.session(id)?
    {
        return Ok(Some(known));
    }
    let known = identity::find(tx, &Claims::by_name(&new.agent, native))?;
    let Some(known) = known.map(SessionIdentity::session) else {
        return Ok(None);
    };
    match new.id {
        Some(id) if id != known => Err(RemoteError::Taken {
            field: "conversation_id",
            rule: format!("`{native}` belongs to another session: {known}"),
        }),
        _ => Ok(tx.session(known)?),
    }
}

/// Refuses another session in place of the one that was meant.
fn same(known: &SessionRecord, new: &NewSession, ledger: LedgerId) -> Result<(), RemoteError> {
    let taken = |field, rule: String| Err(RemoteError::Taken { field, rule });
    if known.agent_key() != new.agent {
        return taken(
            "agent",
            format!(
                "session {} belongs to agent {}",
                known.id,
                known.agent_word()
            ),
        );
    }
    if new
        .conversation
        .as_ref()
        .is_some_and(|c| *c != known.conversation)
    {
        let rule = format!(
            "session {} has the conversation id `{}`",
            known.id, known.conversation
        );
        return taken("conversation_id", rule);
    }
    if known.mode != new.mode {
        return taken("mode", format!("session {} has a different mode", known.id));
    }
    if known.home != new.home.unwrap_or(ledger) {
        return taken(
            "home",
            format!("the home of session {} is {}", known.id, known.home),
        );
    }
    Ok(())
}

/// The repository of a name, which others know it by; it has no directory here.
pub(crate) fn repository(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    name: &str,
    at: Timestamp,
) -> Result<RepositoryId, LedgerError> {
    let place = siglum_domain::intake::Place {
        common_dir: name.to_owned(),
        worktree: name.to_owned(),
    };
    tx.note_place(&place, RepositoryId::mint(here.ids), at)
}

/// The repositories that a session works in as far as it was said, its own first.
pub fn works_in(record: &SessionRecord, statements: &[StatementRecord]) -> Vec<RepositoryId> {
    let stated = statements.iter().flat_map(|s| match &s.statement {
        Statement::WorksIn { repositories, .. } => repositories.as_slice(),
        _ => &[],
    });
    let mut all: Vec<RepositoryId> = Vec::new();
    for repository in record.repository.iter().chain(stated) {
        if !all.contains(repository) {
            all.push(*repository);
        }
    }
    all
}

/// States the repositories of a session that were not named before. One that had none has its own then.
fn also_works_in(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    known: &SessionRecord,
    new: &NewSession,
) -> Result<(), RemoteError> {
    let standing = works_in(known, &tx.statements_of_session(known.id)?);
    let at = here.now();
    let mut more = Vec::new();
    for name in &new.repositories {
        let named = repository(here, tx, name, at)?;
        if !standing.contains(&named) && !more.contains(&named) {
            more.push(named);
        }
    }
    if standing.len() + more.len() > REPOSITORIES_MOST {
        return Err(RemoteError::Invalid {
            field: "repositories",
            rule: format!("a session can have at most {REPOSITORIES_MOST}"),
        });
    }
    let Some(first) = more.first().copied() else {
        return Ok(());
    };
    // What is there already stays its own.
    let place = new.repositories.first().map(|name| (first, name.as_str()));
    let place = place.filter(|_| standing.is_empty());
    tx.touch(known.id, known.last_at, place, None)?;
    let works = Statement::WorksIn {
        session: known.id,
        repositories: more,
    };
    tx.state(at, &new.by, "api", &works)?;
    Ok(())
}

/// Attaches links to a session, or detaches them; what stands already is not stated again.
///
/// # Errors
/// [`RemoteError::NoSession`], and [`RemoteError::Invalid`] where one breaks a rule or there would be too many.
pub fn change_links(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    links: &[Link],
    change: Change,
    by: &str,
) -> Result<(), RemoteError> {
    tx.session(session)?
        .ok_or(RemoteError::NoSession(session))?;
    links::change_in(tx, here, session, links, change, (by, "api"))?;
    Ok(())
}

/// Something is heard of a session: it lives. Gives it as it is then.
///
/// # Errors
/// [`RemoteError::NoSession`].
pub fn keep_alive(
    tx: &mut dyn Transaction,
    session: SessionId,
    at: Timestamp,
) -> Result<SessionRecord, RemoteError> {
    tx.session(session)?
        .ok_or(RemoteError::NoSession(session))?;
    tx.touch(session, at, None, None)?;
    tx.session(session)?.ok_or(RemoteError::NoSession(session))
}

/// Ends a session, with how it ended; a second time changes nothing, and gives `false`. What no commit holds of its work
/// a checkpoint does, and the lease of a driver that has no turn open is given back. Of one that is at home in another
/// ledger, that one says the rest.
///
/// # Errors
/// [`RemoteError::NoSession`].
pub fn end(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ledger: LedgerId,
    session: SessionId,
    end: &LaunchEnd,
    by: &str,
) -> Result<bool, RemoteError> {
    let known = tx
        .session(session)?
        .ok_or(RemoteError::NoSession(session))?;
    // Drivers lock their lease before they move their session: in another order two wait for each other.
    let lease = tx.lease(session)?;
    // Moves nothing, and holds the session: whoever ends it at the same time comes before or after.
    tx.touch(session, known.last_at, None, None)?;
    let record = tx
        .session(session)?
        .ok_or(RemoteError::NoSession(session))?;
    if record.ended_at.is_some() {
        return Ok(false);
    }
    let at = here.now();
    let stated = Statement::Ended {
        session,
        end: Some(end.clone()),
    };
    let number = tx.state(at, by, "api", &stated)?;
    let entry = Entry::done(by, Action::SessionEnded).for_session(session);
    let entry = entry.with(json!({ "end": launch::words(end) }));
    if record.home != ledger {
        tx.set_ended(session, Some(at))?;
        audit::record(tx, here, &entry)?;
        return Ok(true);
    }
    match record.mode {
        Mode::Observed => {
            let (key, reason) = (format!("ended:{number}"), launch::words(end));
            session_log::say_ended(tx, here.ids, &record, key, reason, at)?;
        }
        // Only its driver adds to its log.
        Mode::Driven => {
            session_log::end(tx, here.ids, session, record.repository, at)?;
            // Nobody waits for a driver that is done. One that has a turn open is still at work, and gives its lease back
            // itself or loses it in time.
            if let Some(lease) = lease
                && tx.open_turn(session)?.is_none()
            {
                let now = tx.clock(at)?;
                tx.release_lease(session, lease.epoch, now)?;
            }
        }
    }
    audit::record(tx, here, &entry)?;
    Ok(true)
}

/// Ends the sessions of requests that nothing was heard of for `silent` and that nobody can act for any more. Gives
/// them.
///
/// # Errors
/// Those of [`end`].
pub fn expire(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ledger: LedgerId,
    silent: Duration,
) -> Result<Vec<SessionId>, RemoteError> {
    let now = here.now();
    let limit = now.plus_millis(-i64::try_from(silent.as_millis()).unwrap_or(i64::MAX / 2_000_000));
    let open = tx.sessions(&SessionFilter {
        open: true,
        seen: true,
        order: Order::Created { after: None },
        ..SessionFilter::default()
    })?;
    let mut expired = Vec::new();
    for record in open.into_iter().map(|listing| listing.record) {
        let is_silent = record.last_at < limit && record.home == ledger;
        if !is_silent || !acts_no_more(tx, record.id, now)? {
            continue;
        }
        match end(here, tx, ledger, record.id, &LaunchEnd::Expired, "siglum") {
            Ok(_) | Err(RemoteError::NoSession(_)) => expired.push(record.id),
            Err(other) => return Err(other),
        }
    }
    Ok(expired)
}

/// It had tokens of its own, and none of them holds any more.
fn acts_no_more(
    tx: &mut dyn Transaction,
    session: SessionId,
    now: Timestamp,
) -> Result<bool, LedgerError> {
    let tokens = tx.tokens(Some(session), None, 0)?;
    let over = |t: &siglum_ledger::TokenRecord| {
        debug_assert_eq!(t.scope, Scope::Session(session));
        t.revoked_at.is_some() || t.expires_at.is_some_and(|at| at <= now)
    };
    Ok(!tokens.is_empty() && tokens.iter().all(over))
}

/// What a program says of a checkpoint of its session.
#[derive(Debug, Clone)]
pub struct NewCheckpoint {
    /// Its id, where the caller made one.
    pub id: Option<CheckpointId>,
    pub session: SessionId,
    /// Up to where of its log; its end where nothing is said.
    pub sequence: Option<u64>,
    /// The commit that it is of, by the name of its repository.
    pub commit: Option<(String, Oid)>,
}

/// Records a checkpoint; one that is there already stays as it is. That a session made a commit is what it claims, beside
/// whatever evidence there is.
///
/// # Errors
/// [`RemoteError::Invalid`] for a place behind the end of the log, [`RemoteError::Taken`] for the id of another checkpoint.
pub fn checkpoint(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    new: &NewCheckpoint,
    by: &str,
) -> Result<(CheckpointRecord, bool), RemoteError> {
    let session = new.session;
    let record = tx
        .session(session)?
        .ok_or(RemoteError::NoSession(session))?;
    let sequence = new.sequence.unwrap_or(record.head);
    if sequence > record.head {
        return Err(RemoteError::Ahead { head: record.head });
    }
    let at = here.now();
    let repository = match &new.commit {
        Some((name, _)) => Some(repository(here, tx, name, at)?),
        None => record.repository,
    };
    let wanted = CheckpointRecord {
        id: new.id.unwrap_or_else(|| CheckpointId::mint(here.ids)),
        kind: match new.commit {
            Some(_) => CheckpointKind::Commit,
            None => CheckpointKind::Manual,
        },
        repository,
        commit: new.commit.as_ref().map(|(_, commit)| commit.clone()),
        at,
        pins: vec![(session, sequence)],
    };
    if let Some(known) = tx.checkpoint(wanted.id)? {
        return again(known, &wanted);
    }
    if let Some(known) = claimed_before(tx, &wanted)? {
        return Ok((known, true));
    }
    tx.put_checkpoint(&wanted)?;
    tx.touch(session, at, None, None)?;
    let entry = Entry::done(by, Action::CheckpointRecorded).for_session(session);
    audit::record(
        tx,
        here,
        &entry.with(json!({
            "checkpoint": wanted.id.to_string(),
            "commit": wanted.commit.as_ref().map(Oid::as_str),
            "repository": new.commit.as_ref().map(|(name, _)| name),
        })),
    )?;
    Ok((wanted, false))
}

fn again(
    known: CheckpointRecord,
    wanted: &CheckpointRecord,
) -> Result<(CheckpointRecord, bool), RemoteError> {
    let of = |c: &CheckpointRecord| (c.repository, c.commit.clone(), c.pins.clone());
    if of(&known) == of(wanted) {
        return Ok((known, true));
    }
    let rule = format!("{} is already another checkpoint", known.id);
    Err(RemoteError::Taken { field: "id", rule })
}

/// The checkpoint by which the session claimed this commit before.
fn claimed_before(
    tx: &mut dyn Transaction,
    wanted: &CheckpointRecord,
) -> Result<Option<CheckpointRecord>, LedgerError> {
    let (Some(repository), Some(commit)) = (wanted.repository, &wanted.commit) else {
        return Ok(None);
    };
    let session = wanted.pins.first().map(|(session, _)| *session);
    let known = tx.checkpoints_of_commit(repository, commit)?;
    let own = |c: &CheckpointRecord| c.pins.iter().any(|(of, _)| Some(*of) == session);
    Ok(known.into_iter().find(own))
}
