//! From what was seen at a commit to a case that can be judged.

use std::collections::BTreeMap;

use siglum_domain::evidence::{Case, Sign, Standing, Stranger};
use siglum_domain::intake::Scene;
use siglum_domain::observation::{Source, event};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{LedgerError, Transaction};

use crate::session::before_key;

/// A tool call that has run for longer than this is not believed to run.
const CALL_AT_MOST_MS: i64 = 24 * 60 * 60 * 1000;

/// Looks up what the ledger knows of the processes and names in a scene.
pub(crate) fn case(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: Timestamp,
) -> Result<Case, LedgerError> {
    let mut case = Case {
        witnessed: true,
        at,
        ..Case::default()
    };
    case.orphaned = scene.chain.is_orphaned();
    case.typed_in = scene
        .chain
        .typed_in()
        .map(|shell| shell.program().to_owned());
    ancestry(tx, scene, &mut case)?;
    variables(tx, scene, &mut case)?;
    let since = at.plus_millis(-CALL_AT_MOST_MS);
    for call in tx.running_calls(&scene.place.worktree, since)? {
        if call.started <= at {
            case.signs.push((
                call.session,
                Sign::RunningTool {
                    call: tool_name(&call.event),
                },
            ));
        }
    }
    standings(tx, &mut case)?;
    Ok(case)
}

/// The case of a commit that no hook of git saw: only what tools did speaks for it, if it was made
/// while they ran.
pub(crate) fn unwitnessed(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    at: Timestamp,
    made: Timestamp,
) -> Result<Case, LedgerError> {
    let mut case = Case {
        at,
        ..Case::default()
    };
    tool_output(tx, repository, commit, &mut case)?;
    let mut kept = Vec::new();
    for (session, sign) in std::mem::take(&mut case.signs) {
        let Sign::ToolOutput { call } = &sign else {
            continue;
        };
        if made_in_call(tx, session, call, made)? {
            kept.push((session, sign));
        }
    }
    case.signs = kept;
    standings(tx, &mut case)?;
    Ok(case)
}

/// Tells whether a commit was made while a call ran. A call that pulls, resets or checks out a commit
/// moves HEAD to it, too, and did not make it. Git's clock has whole seconds.
fn made_in_call(
    tx: &mut dyn Transaction,
    session: SessionId,
    call: &str,
    made: Timestamp,
) -> Result<bool, LedgerError> {
    let key = before_key("head", &event::tool(call));
    let began = tx.entry(session, Source::Hook, &key)?;
    // A move that a transcript tells was compared with git when it was read.
    Ok(began.is_none_or(|e| made.seconds() >= e.observation.at.seconds()))
}

/// Adds the tool calls that moved HEAD to the commit and name it.
pub(crate) fn tool_output(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    case: &mut Case,
) -> Result<(), LedgerError> {
    for moved in tx.moves_to(repository, commit)? {
        if moved.named {
            case.signs.push((
                moved.session,
                Sign::ToolOutput {
                    call: tool_name(&moved.event),
                },
            ));
        }
    }
    standings(tx, case)
}

fn tool_name(event_key: &str) -> String {
    event_key
        .strip_prefix(&event::tool(""))
        .unwrap_or(event_key)
        .to_owned()
}

fn ancestry(tx: &mut dyn Transaction, scene: &Scene, case: &mut Case) -> Result<(), LedgerError> {
    let mut recorded = Vec::new();
    for (depth, ancestor) in (0u32..).zip(&scene.chain.ancestors) {
        let process = ancestor.identity.key();
        for binding in tx.bound_to(&process)? {
            recorded.push(depth);
            let sign = Sign::Ancestry {
                depth,
                process: process.clone(),
                bound_at: binding.bound_at,
            };
            case.signs.push((binding.session, sign));
        }
    }
    for (at, agent) in &scene.agents {
        let depth = u32::try_from(*at).unwrap_or(u32::MAX);
        // An agent may be a launcher and its child: one of the two is recorded.
        let same = |d: &u32| d.abs_diff(depth) <= 1;
        if !recorded.iter().any(same) {
            case.strangers.push(Stranger::Process {
                depth,
                agent: agent.clone(),
            });
        }
    }
    Ok(())
}

fn variables(tx: &mut dyn Transaction, scene: &Scene, case: &mut Case) -> Result<(), LedgerError> {
    for variable in &scene.variables {
        let session = match &variable.native {
            Some(native) => tx.session_by_alias(&variable.agent, native)?,
            None => None,
        };
        match session {
            Some(session) => case.signs.push((
                session,
                Sign::Variable {
                    name: variable.name.clone(),
                },
            )),
            None => case.strangers.push(Stranger::Variable {
                name: variable.name.clone(),
                native: variable.native.clone(),
            }),
        }
    }
    Ok(())
}

fn standings(tx: &mut dyn Transaction, case: &mut Case) -> Result<(), LedgerError> {
    let mut standings: BTreeMap<SessionId, Standing> = std::mem::take(&mut case.standings);
    for (session, _) in &case.signs {
        if !standings.contains_key(session)
            && let Some(record) = tx.session(*session)?
        {
            standings.insert(
                *session,
                Standing {
                    last_at: Some(record.last_at),
                    ended_at: record.ended_at,
                },
            );
        }
    }
    case.standings = standings;
    Ok(())
}
