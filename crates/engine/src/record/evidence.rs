//! What hooks of an agent add to a session that somebody drives.
//!
//! Its driver says what is asked, said, called and stopped. Hooks see what no driver does: which process runs it, what
//! runs right now, what files and HEAD were before and after. That is taken, and nothing is told twice.

use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{Fact, Observation, Source, ToolClass};
use siglum_domain::{IdSource, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Transaction};

use crate::commits::calls;
use crate::identity::SessionIdentity;
use crate::record::session_log;

/// Takes what is evidence. The process is bound by then.
pub(crate) fn take(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    at: Timestamp,
    identity: SessionIdentity,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    let matter = &*calls::named(tx, identity.session(), matter)?;
    for seen in &matter.observations {
        if is_evidence(seen) {
            session_log::append(tx, ids, at, identity, matter, seen)?;
        } else {
            running(tx, identity.session(), matter, seen)?;
        }
    }
    Ok(())
}

fn is_evidence(seen: &Observation) -> bool {
    let fact = matches!(
        seen.fact,
        Fact::FileSeen { .. } | Fact::HeadSeen { .. } | Fact::BranchSeen { .. }
    );
    fact && seen.source == Source::Hook
}

/// Keeps up to date what runs right now, for the hooks of git.
fn running(
    tx: &mut dyn Transaction,
    session: SessionId,
    matter: &AgentMatter,
    seen: &Observation,
) -> Result<(), LedgerError> {
    match (&seen.fact, &matter.place) {
        (
            Fact::ToolStarted {
                class: ToolClass::Shell,
                ..
            },
            Some(place),
        ) if seen.source == Source::Hook => {
            tx.begin_call(session, &seen.event, &place.worktree, seen.at)
        }
        (
            Fact::ToolEnded {
                class: ToolClass::Shell,
                ..
            },
            _,
        ) => tx.end_call(session, &seen.event),
        (Fact::Stopped { .. } | Fact::SessionEnded { .. }, _) => tx.end_calls(session),
        _ => Ok(()),
    }
}
