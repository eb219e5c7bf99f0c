//! Runs: what a runner of agents needs of a ledger beside turns.
//!
//! The session is there before its agent is, so that hooks of the agent find it. Where nobody named the conversation, its
//! name is decided when the agent has told its own: until then nobody outside hears of the session.

use serde_json::json;
use siglum_domain::claims::Claims;
use siglum_domain::digest::Hasher;
use siglum_domain::fold::Entry;
use siglum_domain::link::Link;
use siglum_domain::observation::{Fact, Observation, Source, event};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{
    AgentName, ConversationId, InteractionId, NativeId, SessionId, Timestamp, TurnId,
};
use siglum_ledger::{
    Durability, InteractionRecord, Joined, Launch, Ledger, LedgerError, Mode, RequestRecord,
    RunRecord, SessionOrigin, SessionRecord, Settlement, Statement, Transaction, attempt, read,
    write,
};

pub use siglum_agents::{
    Blank, Choosing, HeadlessSpec, ReportedUsage, RunSpec, run_spec, runnable,
};

use crate::Here;
use crate::driven::turn::{self, Hold, Opened, TurnError};
use crate::identity::audit;
use crate::identity::links::{self, Change};
use crate::identity::{
    self, FirstLinks, Name, NewSession, SessionIdentity, add_name, open_session,
};

/// Runs of a session that are looked through for the agent's own id.
const LOOK_BACK: usize = 64;

/// Which conversation somebody wants an agent to go on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// The one of this name, which is made if it is not there.
    Named(ConversationId),
    /// A new one, which nobody named.
    Unnamed,
    /// The one of this session.
    Session(SessionId),
}

/// What somebody says of the session that a run is to be of.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub agent: AgentName,
    pub which: Which,
    pub cwd: String,
    pub links: Vec<Link>,
    /// Who asks.
    pub by: String,
}

/// The session of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSession {
    pub session: SessionId,
    /// What the outside world calls it; nothing until its agent has told its own name for it.
    pub conversation: Option<ConversationId>,
    pub links: Vec<Link>,
}

/// Finds the session of a run, or makes it, and attaches what is to be attached.
///
/// # Errors
/// [`TurnError::NotDriven`] where the agent itself has a session of this name; [`TurnError::NoSession`];
/// [`TurnError::Invalid`] where the session is of another agent.
pub fn find(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    wanted: &Wanted,
) -> Result<RunSession, TurnError> {
    let record = match &wanted.which {
        Which::Named(conversation) => turn::create(
            here,
            ledger,
            &turn::NewSession {
                agent: wanted.agent.clone(),
                conversation: conversation.clone(),
                cwd: Some(wanted.cwd.clone()),
                links: wanted.links.clone(),
                by: wanted.by.clone(),
            },
        )?,
        Which::Session(session) => existing_session(ledger, *session, &wanted.agent)?,
        Which::Unnamed => create_unnamed(here, ledger, wanted)?,
    };
    let session = record.id;
    let by = (wanted.by.as_str(), "api");
    let changed = links::change(here, ledger, session, &wanted.links, Change::Attach, by)?;
    let is_named = read(ledger, |tx| is_named(tx, &record))?;
    Ok(RunSession {
        session,
        conversation: is_named.then_some(record.conversation),
        links: changed.standing,
    })
}

fn existing_session(
    ledger: &mut dyn Ledger,
    session: SessionId,
    agent: &AgentName,
) -> Result<SessionRecord, TurnError> {
    let record = read(ledger, |tx| tx.session(session))?.ok_or(TurnError::NoSession(session))?;
    if record.mode == Mode::Observed {
        return Err(TurnError::NotDriven(session));
    }
    match record.agent_key() == *agent {
        true => Ok(record),
        false => Err(TurnError::Invalid {
            field: "agent",
            rule: format!("session {session} belongs to agent {}", record.agent_word()),
        }),
    }
}

/// A session that is called by its own id as long as nobody outside hears of it.
fn create_unnamed(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    wanted: &Wanted,
) -> Result<SessionRecord, TurnError> {
    let (home, id, at) = (ledger.id(), SessionId::mint(here.ids), here.now());
    let record = SessionRecord {
        cwd: Some(wanted.cwd.clone()),
        ..SessionRecord::new(
            id,
            wanted.agent.clone(),
            ConversationId::of_native(None, id),
            home,
            Mode::Driven,
            SessionOrigin::Api,
            at,
        )
    };
    let opened = NewSession {
        record,
        name: None,
        links: FirstLinks::stated_by("api", &wanted.links)?,
        statement: None,
        by: &wanted.by,
        audit: Some((here, json!({}))),
    };
    write(ledger, Durability::Disk, |tx| open_session(tx, &opened))?;
    Ok(opened.record)
}

/// Whether it is decided what the outside world calls a session: somebody named it, or its agent told what it calls it.
fn is_named(tx: &mut dyn Transaction, record: &SessionRecord) -> Result<bool, LedgerError> {
    let own = ConversationId::of_native(None, record.id);
    Ok(record.conversation != own || !tx.aliases(record.id)?.is_empty())
}

/// The agent's own session that a run can resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NativeSession {
    /// There is none: the agent never ran.
    Nothing,
    /// It has what is committed, up to the run of this turn.
    Committed(NativeId, TurnId),
    /// It has more than is committed: the store refused what was said there last, or nobody knows how that ended.
    Diverged,
}

/// The native session that a run of this session can resume. Only the holder of the lease may rely on it: another driver
/// could commit in between.
///
/// # Errors
/// Those of the ledger.
pub fn native_session(
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<NativeSession, LedgerError> {
    let runs = read(ledger, |tx| tx.runs_of(session, LOOK_BACK))?;
    let newest = runs.into_iter().find(|run| run.native.is_some());
    let Some((native, turn, end)) = newest.and_then(|run| Some((run.native?, run.turn, run.end)))
    else {
        return Ok(NativeSession::Nothing);
    };
    Ok(match end {
        Some(end) if end.committed => NativeSession::Committed(native, turn),
        _ => NativeSession::Diverged,
    })
}

/// Writes down that an agent is about to be started for a session: its hooks prove by the launch's token that they run
/// in it. What was said of launches before is over.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn record_launch(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    launch: &Launch,
    by: &str,
) -> Result<(), LedgerError> {
    let at = here.now();
    write(ledger, Durability::Disk, |tx| {
        let launch = launch.clone();
        let launched = Statement::Launched { session, launch };
        tx.state(at, by, "runner", &launched)?;
        tx.set_ended(session, None)
    })
}

/// Binds the process that was started to its session: what git is run below it is the session's work.
///
/// # Errors
/// Those of the ledger.
pub fn bind_process(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    process: &ProcessIdentity,
) -> Result<(), LedgerError> {
    let at = here.now();
    write(ledger, Durability::Process, |tx| {
        tx.bind(session, process, None, at)
    })
}

/// The agent told what it calls the session. Gives what the outside world calls it, from now on for good.
///
/// # Errors
/// Those of the ledger, and [`TurnError::Invalid`] where the agent runs a session there that is another one here.
pub fn record_native_id(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    native: &NativeId,
) -> Result<ConversationId, TurnError> {
    let at = here.now();
    let mut other = None;
    let named = write(ledger, Durability::Disk, |tx| {
        other = None;
        let record = tx.session(session)?;
        let record = record.ok_or_else(|| LedgerError::Damaged(format!("no session {session}")))?;
        let agent = record.agent_key();
        let known = identity::find(tx, &Claims::by_name(&agent, native))?;
        let known = known.map(SessionIdentity::session);
        other = known.filter(|known| *known != session);
        if other.is_some() {
            return Ok(record.conversation);
        }
        let is_named = is_named(tx, &record)?;
        add_name(tx, session, &agent, Name::Native(native), at)?;
        if is_named {
            return Ok(record.conversation);
        }
        let conversation = ConversationId::of_native(Some(native), session);
        tx.set_conversation(session, &conversation)?;
        Ok(conversation)
    })?;
    match other {
        None => Ok(named),
        Some(known) => Err(TurnError::Invalid {
            field: "native_id",
            rule: format!("the native id `{native}` belongs to another session: {known}"),
        }),
    }
}

/// What is asked of a session under a key. The same is done once; something else under the same key is refused for as long
/// as the request is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRequest {
    pub session: SessionId,
    /// The key of the turn.
    pub key: String,
    /// A digest of what is asked.
    pub content: String,
}

impl RunRequest {
    fn name(&self) -> String {
        format!("message:{}:{}", self.session, self.key)
    }

    /// What is stored of the content: nobody who reads a copy of the ledger without its key can guess at short messages.
    fn stored(&self, secret: &[u8; 32]) -> String {
        let mut hasher = Hasher::keyed(secret);
        hasher.field(self.content.as_bytes());
        hasher.hex()
    }

    fn is_other(&self, tx: &mut dyn Transaction, stored: &str) -> Result<bool, LedgerError> {
        let known = tx.request(&self.name())?;
        Ok(known.is_some_and(|known| known.content != stored))
    }
}

/// Whether something else was asked under the key of a request, as far as that is still known.
///
/// # Errors
/// Those of the ledger.
pub fn is_key_of_another(
    ledger: &mut dyn Ledger,
    request: &RunRequest,
) -> Result<bool, LedgerError> {
    let stored = request.stored(&ledger.key());
    read(ledger, |tx| request.is_other(tx, &stored))
}

/// Opens the turn of a run, and notes in the same transaction what was asked under its key. Gives nothing, and writes
/// nothing, where something else was.
///
/// # Errors
/// As [`turn::open`].
pub fn open(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    expected: u64,
    request: &RunRequest,
    observations: &[Observation],
) -> Result<Option<Opened>, TurnError> {
    let (home, secret) = (ledger.id(), ledger.key());
    let stored = request.stored(&secret);
    attempt(ledger, Durability::Process, |tx| {
        if request.is_other(tx, &stored)? {
            return Ok(None);
        }
        let key = &request.key;
        let mut joined = Joined::new(tx, home, secret);
        let opened = turn::open(here, &mut joined, hold, expected, key, observations)?;
        // A turn that was committed long ago may be another request's: of what was swept nothing is known again.
        if let Opened::Turn(turn) = &opened {
            tx.put_request(&RequestRecord {
                key: request.name(),
                content: stored.clone(),
                outcome: turn.id.to_string(),
                at: here.now(),
            })?;
        }
        Ok(Some(opened))
    })
}

/// Notes a run, as it begins and as it ends.
///
/// # Errors
/// Those of the ledger.
pub fn record_run(ledger: &mut dyn Ledger, run: &RunRecord) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| tx.put_run(run))
}

/// Notes that an agent asks.
///
/// # Errors
/// Those of the ledger.
pub fn record_interaction(
    ledger: &mut dyn Ledger,
    record: &InteractionRecord,
) -> Result<(), LedgerError> {
    write(ledger, Durability::Disk, |tx| tx.put_interaction(record))
}

/// Notes what became of what an agent asked; `false` where that is settled.
///
/// # Errors
/// Those of the ledger.
pub fn settle(
    ledger: &mut dyn Ledger,
    id: InteractionId,
    settled: &Settlement,
) -> Result<bool, LedgerError> {
    write(ledger, Durability::Disk, |tx| {
        tx.settle_interaction(id, settled)
    })
}

/// What an agent asked, if it did so in this session.
///
/// # Errors
/// Those of the ledger.
pub fn interaction(
    ledger: &mut dyn Ledger,
    session: SessionId,
    id: InteractionId,
) -> Result<Option<InteractionRecord>, LedgerError> {
    let found = read(ledger, |tx| tx.interaction(id))?;
    Ok(found.filter(|record| record.session == session))
}

/// What an agent asked in a session, newest first.
///
/// # Errors
/// Those of the ledger.
pub fn interactions(
    ledger: &mut dyn Ledger,
    session: SessionId,
    limit: usize,
) -> Result<Vec<InteractionRecord>, LedgerError> {
    read(ledger, |tx| tx.interactions_of(session, limit))
}

/// Settles what was asked in a session and that nobody waits for any more, since its gateway is gone. Whoever holds the
/// session's lease says so.
///
/// # Errors
/// Those of the ledger.
pub fn lose_interactions(
    ledger: &mut dyn Ledger,
    session: SessionId,
    at: Timestamp,
) -> Result<u64, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let mut lost = 0;
        for record in tx.interactions_of(session, LOOK_BACK)? {
            let settled = Settlement {
                at,
                how: "lost".to_owned(),
                option: None,
                by: audit::SIGLUM.to_owned(),
            };
            if record.settled.is_none() && tx.settle_interaction(record.id, &settled)? {
                lost += 1;
            }
        }
        Ok(lost)
    })
}

/// The runs of a session that did not end, as far as is known.
///
/// # Errors
/// Those of the ledger.
pub fn unfinished_runs(
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<Vec<RunRecord>, LedgerError> {
    let runs = read(ledger, |tx| tx.runs_of(session, LOOK_BACK))?;
    Ok(runs.into_iter().filter(|run| run.end.is_none()).collect())
}

/// What is stored of a run that is committed: its session, who asked for it, and what was said in it.
pub type CommittedRun = (SessionRecord, Option<RunRecord>, Vec<Entry>);

/// What is stored of the run of one of these turns, whose entries are within `first ..= last`.
///
/// # Errors
/// [`TurnError::NoSession`], and those of the ledger.
pub fn committed_run(
    ledger: &mut dyn Ledger,
    session: SessionId,
    turns: &[TurnId],
    first: u64,
    last: u64,
) -> Result<CommittedRun, TurnError> {
    let found = read(ledger, |tx| {
        let Some(record) = tx.session(session)? else {
            return Ok(None);
        };
        let mut run = None;
        for turn in turns {
            run = tx.run_of_turn(*turn)?.or(run);
        }
        let most = usize::try_from(last.saturating_sub(first) + 1).unwrap_or(usize::MAX);
        let mut entries = tx.entries(session, first.saturating_sub(1), most)?;
        if let Some(run) = &run {
            entries.retain(|entry| entry.turn == Some(run.turn));
        }
        Ok(Some((record, run, entries)))
    })?;
    found.ok_or(TurnError::NoSession(session))
}

/// Gives calls and messages that an agent names as it named others before in this session names of their own. What is
/// said of one call gets one name.
///
/// # Errors
/// Those of the ledger.
pub fn rename(
    ledger: &mut dyn Ledger,
    session: SessionId,
    turn: TurnId,
    observations: &mut [Observation],
) -> Result<(), LedgerError> {
    read(ledger, |tx| {
        for seen in observations.iter_mut() {
            let is_named = matches!(
                seen.fact,
                Fact::Message { .. } | Fact::ToolStarted { .. } | Fact::ToolEnded { .. }
            );
            // A result may be there without its call, where that is of another turn.
            let call = event::call_of(&seen.event).map(|call| format!("call:{call}"));
            let key = call.as_deref().unwrap_or(&seen.key);
            if is_named && tx.sighted(session, Source::Api, key)?.is_some() {
                let own = format!(".{}", turn.short());
                seen.key.push_str(&own);
                seen.event.push_str(&own);
            }
        }
        Ok(())
    })
}
