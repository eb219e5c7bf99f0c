//! The log of a session: what is appended to it, and the folds that hooks read.

use siglum_domain::intake::{AgentMatter, Head};
use siglum_domain::observation::{Fact, Observation, Side, Source, ToolClass};
use siglum_domain::{
    CheckpointId, IdSource, ObservationId, RepositoryId, SessionId, Timestamp, TurnId,
};
use siglum_ledger::{
    Appended, CheckpointFilter, CheckpointKind, CheckpointRecord, LedgerError, NewEntry,
    SessionRecord, Transaction,
};

use crate::commits::landing;
use crate::identity::SessionIdentity;
use crate::record::{edits, late_events, moves, unassigned};
use crate::world::salt;

/// Within which time several ends of a session are one, in milliseconds.
const ENDS_TOGETHER_MS: i64 = 5_000;

/// Appends one observation to the session's log, and keeps the folds that hooks read up to date.
pub(crate) fn append(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    at: Timestamp,
    identity: SessionIdentity,
    matter: &AgentMatter,
    observation: &Observation,
) -> Result<(), LedgerError> {
    let session = identity.session();
    if moves::stayed(tx, session, observation)? || ended_again(tx, session, observation)? {
        return Ok(());
    }
    let turn = turn_of(tx, ids, session, observation)?;
    let entry = NewEntry {
        id: ObservationId::mint(ids),
        session,
        turn,
        recorded_at: at,
        salt: salt(ids),
        observation,
    };
    let Appended::New(sequence) = tx.append(&entry)? else {
        return Ok(());
    };
    if let (
        Fact::Prompt {
            synthetic: false, ..
        },
        Some(turn),
    ) = (&observation.fact, turn)
    {
        tx.note_prompt(turn, sequence)?;
    }
    match &observation.fact {
        Fact::ToolStarted {
            class: ToolClass::Shell,
            ..
        } if observation.source == Source::Hook => {
            if let Some(place) = &matter.place
                && !late_events::is_over(tx, session, observation)?
            {
                tx.begin_call(session, &observation.event, &place.worktree, observation.at)?;
            }
        }
        Fact::ToolEnded {
            class: ToolClass::Shell,
            ..
        } => tx.end_call(session, &observation.event)?,
        // A transcript is read when the agent may work on its next turn.
        Fact::Stopped { .. } if observation.source != Source::Transcript => {
            tx.end_calls(session)?;
        }
        Fact::Traced { parent } => unassigned::note_trace(tx, &parent.trace, session, at)?,
        Fact::SessionEnded { .. } if !began_again(tx, session, observation.at)? => {
            end(tx, ids, session, identity.repository(), observation.at)?;
        }
        Fact::FileSeen {
            side: Side::After, ..
        } => edits::edit(tx, ids, identity, matter, turn, observation)?,
        Fact::HeadSeen {
            side: Side::After, ..
        } => {
            let (place, delivery) = (matter.place.as_ref(), &matter.observations);
            moves::note(tx, ids, identity, place, delivery, observation)?;
        }
        Fact::FileSeen {
            side: Side::Before, ..
        } => late_events::file_before(tx, ids, identity, matter, observation)?,
        Fact::HeadSeen {
            side: Side::Before,
            commit,
            ..
        } => {
            if let (Some(place), Some(repository)) = (&matter.place, identity.repository()) {
                let (place, commit) = (place.clone(), commit.clone());
                landing::look_from_here(tx, repository, &Head { place, commit })?;
            }
            late_events::head_before(tx, ids, identity, matter, observation)?;
        }
        _ => {}
    }
    Ok(())
}

/// Some agents say several times that a session ended: once is enough.
fn ended_again(
    tx: &mut dyn Transaction,
    session: SessionId,
    observation: &Observation,
) -> Result<bool, LedgerError> {
    if !matches!(observation.fact, Fact::SessionEnded { .. }) {
        return Ok(false);
    }
    let ended = tx.session(session)?.and_then(|s| s.ended_at);
    Ok(ended.is_some_and(|ended| {
        let since = observation.at.millis_since(ended);
        (0..ENDS_TOGETHER_MS).contains(&since)
    }))
}

/// The turn that an observation belongs to: by the agent's own name for it, else the last one.
fn turn_of(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    session: SessionId,
    observation: &Observation,
) -> Result<Option<TurnId>, LedgerError> {
    let outside = matches!(
        observation.fact,
        Fact::SessionStarted { .. } | Fact::SessionEnded { .. }
    );
    // The names of turns are the driver's in a session that has one.
    if let Some(open) = tx.open_turn(session)? {
        return Ok((!outside).then_some(open.id));
    }
    match (&observation.turn, &observation.fact) {
        _ if outside => Ok(None),
        (Some(native), _) => tx
            .turn(session, native, TurnId::mint(ids), observation.at)
            .map(Some),
        (None, Fact::Prompt { .. }) => tx
            .turn(session, &observation.key, TurnId::mint(ids), observation.at)
            .map(Some),
        // Where the transcript does not name the turn that stopped, one that began since is not it.
        (None, Fact::Stopped { .. }) if observation.source == Source::Transcript => {
            let last = tx.last_turn(session)?;
            Ok(last.filter(|t| t.opened_at <= observation.at).map(|t| t.id))
        }
        (None, _) => Ok(tx.last_turn(session)?.map(|t| t.id)),
    }
}

/// Tells whether a session began to run again after this, as far as its processes and turns tell.
fn began_again(
    tx: &mut dyn Transaction,
    session: SessionId,
    at: Timestamp,
) -> Result<bool, LedgerError> {
    let newest = tx.bindings(session)?.into_iter().next();
    let turn = tx.last_turn(session)?;
    Ok(newest.is_some_and(|b| b.bound_at > at) || turn.is_some_and(|t| t.opened_at > at))
}

/// Says in the log of a session that it ended, and ends it.
pub(crate) fn say_ended(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    record: &SessionRecord,
    key: String,
    reason: String,
    at: Timestamp,
) -> Result<(), LedgerError> {
    let observation = Observation {
        source: Source::Siglum,
        event: key.clone(),
        key,
        at,
        turn: None,
        subagent: None,
        fact: Fact::SessionEnded { reason },
    };
    tx.append(&NewEntry {
        id: ObservationId::mint(ids),
        session: record.id,
        turn: None,
        recorded_at: at,
        salt: salt(ids),
        observation: &observation,
    })?;
    end(tx, ids, record.id, record.repository, at)
}

/// Ends a session: nothing of it runs any more, and if no commit holds its work, a checkpoint does.
pub(crate) fn end(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    session: SessionId,
    repository: Option<RepositoryId>,
    at: Timestamp,
) -> Result<(), LedgerError> {
    tx.end_calls(session)?;
    let Some(record) = tx.session(session)? else {
        return Ok(());
    };
    tx.set_ended(session, Some(at))?;
    let newest = tx
        .checkpoints(&CheckpointFilter::of_session(session, 1))?
        .pop();
    if newest.is_some_and(|c| {
        c.kind != CheckpointKind::End
            || c.pins
                .iter()
                .any(|(s, n)| *s == session && *n == record.head)
    }) {
        return Ok(());
    }
    tx.put_checkpoint(&CheckpointRecord {
        id: CheckpointId::mint(ids),
        kind: CheckpointKind::End,
        repository: repository.or(record.repository),
        commit: None,
        at,
        pins: vec![(session, record.head)],
    })
}
