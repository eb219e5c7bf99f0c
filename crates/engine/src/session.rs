//! Writing down what a hook or a transcript saw of a session.

use siglum_domain::intake::{AgentMatter, Head};
use siglum_domain::observation::{Fact, Observation, Side, Source, ToolClass};
use siglum_domain::{
    CheckpointId, IdSource, LedgerId, ObservationId, RepositoryId, SessionId, Timestamp, TurnId,
};
use siglum_ledger::{
    Appended, CheckpointKind, CheckpointRecord, EditDetail, EditRecord, LedgerError, Mode,
    NewEntry, SessionOrigin, SessionRecord, Transaction, TranscriptRecord,
};

pub(crate) use crate::sighting_keys::before_key;
pub use crate::sighting_keys::{file_key, keyed_path, side_key};

use crate::identity::{self, SessionIdentity};
use crate::repositories::note_place;
use crate::world::salt;
use crate::{calls, evidence, ingest, landing, late_events, links, moves};

/// Within which time several ends of a session are one, in milliseconds.
const ENDS_TOGETHER_MS: i64 = 5_000;

/// Resolves a matter and appends its observations.
pub(crate) fn record(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    at: Timestamp,
    matter: &AgentMatter,
) -> Result<SessionId, LedgerError> {
    let live = matter.observations.iter().any(|o| o.source == Source::Hook);
    let origin = match live {
        true => SessionOrigin::Live,
        false => SessionOrigin::Import,
    };
    record_from(tx, home, ids, at, matter, origin)
}

/// The same, of a session that is said to be of this origin where nobody knew it.
pub(crate) fn record_from(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    at: Timestamp,
    matter: &AgentMatter,
    origin: SessionOrigin,
) -> Result<SessionId, LedgerError> {
    let identity = identity::resolve(tx, home, ids, at, matter, origin)?;
    if let Some(record) = tx.session(identity.session)?
        && record.mode == Mode::Driven
    {
        evidence::take(tx, ids, at, identity, matter)?;
        return Ok(identity.session);
    }
    links::inherit(tx, ids, at, identity.session, matter)?;
    want_transcript(tx, identity.session, matter)?;
    let matter = &*calls::named(tx, identity.session, matter)?;
    for observation in &matter.observations {
        let late = late_events::end(tx, identity.session, matter, observation)?;
        append(
            tx,
            ids,
            at,
            identity,
            matter,
            late.as_ref().unwrap_or(observation),
        )?;
    }
    Ok(identity.session)
}

/// The transcript is read on after each turn, and when the session ends. Where it lies is noted
/// with the prompt: an agent that is killed does not say so any more.
fn want_transcript(
    tx: &mut dyn Transaction,
    session: SessionId,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    let inner = matter.transcript_of.is_some();
    let telling = |o: &Observation| {
        // Who starts a sub-agent may end before it, which then does not say that it stopped.
        inner && o.subagent.is_some()
            || matches!(
                o.fact,
                Fact::Prompt { .. }
                    | Fact::Stopped { .. }
                    | Fact::SessionEnded { .. }
                    | Fact::SubagentStopped { .. }
                    | Fact::Compacted { .. }
            )
    };
    let Some(path) = matter
        .transcript
        .as_ref()
        .filter(|_| matter.observations.iter().any(telling))
    else {
        return Ok(());
    };
    let stream = std::path::Path::new(path)
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default();
    tx.want_transcript(&TranscriptRecord {
        stream,
        agent: matter.agent.clone(),
        session,
        native: matter.native.clone(),
        path: path.clone(),
        subagent: matter.transcript_of.clone(),
        file: String::new(),
        read_to: 0,
        tail: String::new(),
        turn: None,
        own: false,
    })
}

/// Appends one observation to the session's log, and keeps the folds that hooks read up to date.
pub(crate) fn append(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    at: Timestamp,
    identity: SessionIdentity,
    matter: &AgentMatter,
    observation: &Observation,
) -> Result<(), LedgerError> {
    let session = identity.session;
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
        Fact::Stopped { .. } => tx.end_calls(session)?,
        Fact::Traced { parent } => ingest::note_trace(tx, &parent.trace, session, at)?,
        Fact::SessionEnded { .. } if !began_again(tx, session, observation.at)? => {
            end(tx, ids, session, identity.repository, observation.at)?;
        }
        Fact::FileSeen {
            side: Side::After, ..
        } => edit(tx, ids, identity, matter, turn, observation)?,
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
            if let (Some(place), Some(repository)) = (&matter.place, identity.repository) {
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
        return Ok(Some(open.id).filter(|_| !outside));
    }
    match (&observation.turn, &observation.fact) {
        _ if outside => Ok(None),
        (Some(native), _) => tx
            .turn(session, native, TurnId::mint(ids), observation.at)
            .map(Some),
        (None, Fact::Prompt { .. }) => tx
            .turn(session, &observation.key, TurnId::mint(ids), observation.at)
            .map(Some),
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
    let said = Observation {
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
        observation: &said,
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
    let newest = tx.checkpoints(Some(session), None, 1)?.pop();
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

/// An edit is known when the content after it was seen.
pub(crate) fn edit(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    identity: SessionIdentity,
    matter: &AgentMatter,
    turn: Option<TurnId>,
    observation: &Observation,
) -> Result<(), LedgerError> {
    let Fact::FileSeen {
        path,
        version: after,
        disk,
        write,
        place: own,
        ..
    } = &observation.fact
    else {
        return Ok(());
    };
    let (repository, place) = match (own, identity.repository, &matter.place) {
        (Some(own), ..) => (note_place(tx, ids, own, observation.at)?, own),
        (None, Some(repository), Some(place)) => (repository, place),
        _ => return Ok(()),
    };
    let key = file_key(
        &observation.event,
        &keyed_path(path, own.as_ref()),
        Side::Before,
    );
    let earlier = tx.entry(identity.session, observation.source, &key)?;
    let mut detail = EditDetail {
        after: *disk,
        write: write.as_deref().cloned(),
        ..EditDetail::default()
    };
    let (began, before) = match earlier.map(|e| (e.observation.at, e.observation.fact)) {
        Some((at, Fact::FileSeen { version, disk, .. })) => {
            detail.before = disk;
            (at.min(observation.at), version)
        }
        // The content before was not seen: what changed is then nobody's, but for what the tool says.
        _ => (observation.at, after.clone()),
    };
    tx.put_edit(&EditRecord {
        session: identity.session,
        event: observation.event.clone(),
        turn,
        repository,
        worktree: place.worktree.clone(),
        path: path.clone(),
        began,
        at: observation.at,
        before,
        after: after.clone(),
        detail,
        lines: None,
    })?;
    late_events::authors_again(tx, repository, path, began)
}
