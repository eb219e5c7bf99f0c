//! Writing down what a hook or a transcript saw of a session.

use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::{IdSource, LedgerId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Mode, SessionOrigin, Transaction, TranscriptRecord};

use crate::commits::calls;
use crate::identity::{self, SessionIdentity};
use crate::record::{evidence, late_events, session_log};

/// Resolves a matter and appends its observations.
pub(crate) fn record(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    at: Timestamp,
    matter: &AgentMatter,
) -> Result<SessionIdentity, LedgerError> {
    let live = matter.observations.iter().any(|o| o.source == Source::Hook);
    let origin = match live {
        true => SessionOrigin::Live,
        false => SessionOrigin::Import,
    };
    let identity = identity::resolve_or_open(tx, home, ids, at, matter, origin)?;
    append(tx, ids, at, identity, matter)?;
    Ok(identity)
}

/// The same of a session that is known: nothing is resolved.
pub(crate) fn record_known(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    at: Timestamp,
    identity: SessionIdentity,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    identity::note_activity(tx, identity, at, matter)?;
    append(tx, ids, at, identity, matter)
}

fn append(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    at: Timestamp,
    identity: SessionIdentity,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    if let Some(record) = tx.session(identity.session())?
        && record.mode == Mode::Driven
    {
        return evidence::take(tx, ids, at, identity, matter);
    }
    identity::inherit(tx, ids, at, identity.session(), matter)?;
    want_transcript(tx, identity.session(), matter)?;
    let matter = &*calls::named(tx, identity.session(), matter)?;
    for observation in &matter.observations {
        let late = late_events::end(tx, identity.session(), matter, observation)?;
        session_log::append(
            tx,
            ids,
            at,
            identity,
            matter,
            late.as_ref().unwrap_or(observation),
        )?;
    }
    Ok(())
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
    tx.want_transcript(&TranscriptRecord {
        stream: siglum_agents::stream_name(std::path::Path::new(path)),
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
