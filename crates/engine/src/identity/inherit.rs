//! What a session works for by the environment of its agent.

use siglum_domain::intake::{AgentMatter, Decline};
use siglum_domain::link::{BY_VARIABLE, Link, Stated, same_slot};
use siglum_domain::observation::{Fact, Observation};
use siglum_domain::{IdSource, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Statement, Transaction};

use super::launch_claims::proven_session;
use crate::identity::links;
use crate::identity::statements;

/// Attaches what variables in the environment of a session's agent name, once: at its start, and at a turn's where it has
/// none of them yet; and what the agent itself names, whenever it does. What was detached stays so. A launcher has read the
/// same variables and may have been told otherwise: nothing is attached that contradicts it.
pub(crate) fn inherit(
    tx: &mut dyn Transaction,
    ids: &dyn IdSource,
    at: Timestamp,
    session: SessionId,
    matter: &AgentMatter,
) -> Result<(), LedgerError> {
    links::note_left_out(
        tx,
        ids,
        at,
        (session, matter.agent.as_str()),
        &matter.left_out,
    )?;
    if matter.links.is_empty() {
        return Ok(());
    }
    let own = tx.statements_of_session(session)?;
    let starting = |o: &Observation| matches!(o.fact, Fact::SessionStarted { .. });
    let starts = matter.observations.iter().any(starting);
    let by_variable = |source: &str| source.starts_with(BY_VARIABLE);
    let are_inherited = matter.links.iter().all(|l| by_variable(&l.source));
    if are_inherited && !starts && own.iter().any(|r| by_variable(&r.source)) {
        return Ok(());
    }
    let mut launcher: Vec<Link> = Vec::new();
    if own
        .iter()
        .any(|r| matches!(r.statement, Statement::Launched { .. }))
    {
        launcher.extend(links::ever_named(&own));
    }
    if let Some(launched) = proven_session(tx, matter)? {
        launcher.extend(links::ever_named(&tx.statements_of_session(launched)?));
    }
    let mut standing = statements::links(&own).len();
    let mut own: Vec<Link> = links::ever_named(&own).collect();
    for Stated { link, source } in &matter.links {
        // What the launched agent itself starts has the variables too, and was not launched.
        let is_launchers = |l: &Link| l == link || same_slot(l, link);
        if own.contains(link) || launcher.iter().any(is_launchers) {
            continue;
        }
        own.push(link.clone());
        if let Err(refused) = links::admit(link, standing + 1) {
            let refused = Decline {
                edge: "session".to_owned(),
                reason: "link".to_owned(),
                detail: format!("{source}: {refused}"),
                place: matter.place.clone(),
            };
            let by = (session, matter.agent.as_str());
            links::note_left_out(tx, ids, at, by, &[refused])?;
            continue;
        }
        standing += 1;
        let link = link.clone();
        let attached = Statement::LinkAttached { session, link };
        tx.state(at, matter.agent.as_str(), source, &attached)?;
    }
    Ok(())
}
