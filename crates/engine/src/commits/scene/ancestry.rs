//! What the processes above git and its environment say: which sessions are there, and which agents that are not recorded.

use siglum_domain::evidence::{Case, Sign, Stranger};
use siglum_domain::intake::{AgentVariable, Scene};
use siglum_domain::{AgentName, Timestamp};
use siglum_ledger::{Binding, LedgerError, Transaction};

use crate::identity;

/// Adds the sessions that are bound to processes above git, and the agents there that are not
/// recorded. Returns the bindings to the nearest process.
pub(super) fn ancestry(
    tx: &mut dyn Transaction,
    scene: &Scene,
    case: &mut Case,
) -> Result<Vec<Binding>, LedgerError> {
    let mut nearest = Vec::new();
    let mut recorded: Vec<(u32, Option<AgentName>)> = Vec::new();
    for (depth, ancestor) in (0u32..).zip(&scene.chain.ancestors) {
        let process = ancestor.identity.key();
        let bound = tx.bound_to(&process)?;
        for binding in &bound {
            let agent = tx.session(binding.session)?.map(|s| s.agent);
            recorded.extend(agent.map(|agent| (depth, agent)));
            let process = process.clone();
            let sign = if ancestor.identity.pid == 1 {
                Sign::Reaper { depth, process }
            } else {
                let bound_at = binding.bound_at;
                Sign::Ancestry {
                    depth,
                    process,
                    bound_at,
                }
            };
            case.signs.push((binding.session, sign));
        }
        if nearest.is_empty() {
            nearest = bound;
        }
    }
    for (at, agent) in &scene.agents {
        let depth = u32::try_from(*at).unwrap_or(u32::MAX);
        // A launcher of the agent is right above its own child.
        let known = |(d, of): &(u32, Option<AgentName>)| {
            *d == depth || (d + 1 == depth && of.as_ref() == Some(agent))
        };
        let is_recorded = recorded.iter().any(known)
            || is_sandbox(tx, scene, *at, agent)?
            || is_child_of_bound(tx, scene, *at, agent)?
            || nearest.is_empty() && runs_unbound_session(tx, scene, *at, agent)?;
        if !is_recorded {
            case.strangers.push(Stranger::Process {
                depth,
                agent: agent.clone(),
            });
        }
    }
    Ok(nearest)
}

/// Adds the nearest launch above git that goes on. An agent that is not recorded and that was launched itself is accounted
/// for by it.
pub(super) fn launchers(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: Timestamp,
    case: &mut Case,
) -> Result<(), LedgerError> {
    let Some((above, depth)) = identity::nearest_above(tx, scene, at)? else {
        return Ok(());
    };
    let far = u32::try_from(depth).unwrap_or(u32::MAX);
    let below = |s: &Stranger| match s {
        Stranger::Process { depth, agent } if *depth < far => Some((*depth, agent.clone())),
        _ => None,
    };
    let agents: Vec<(u32, AgentName)> = case.strangers.iter().filter_map(below).collect();
    let own = |(_, agent): &(u32, AgentName)| Some(agent) == above.agent.as_ref();
    // A launcher of the agent is right above its own child.
    let one = agents.windows(2).all(|two| two[0].0 + 1 == two[1].0);
    if one && agents.iter().all(own) {
        case.strangers.retain(|s| below(s).is_none());
    }
    let process = scene.chain.ancestors[depth].identity.key();
    let person = scene.chain.has_person_below(depth);
    let sign = Sign::Launcher {
        depth: far,
        process,
        person,
    };
    case.signs.push((above.session, sign));
    if identity::is_proven_by(tx, above.launched, scene)? {
        let name = "SIGLUM_SESSION_ID".to_owned();
        case.signs.push((above.session, Sign::Presence { name }));
    }
    Ok(())
}

/// Tells whether what looks like an agent that is not recorded is the worker of one that is: right below
/// the process that a session is bound to, and the agent's variable in git's environment names that
/// session. An agent of its own would have named its own.
fn is_child_of_bound(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: usize,
    agent: &AgentName,
) -> Result<bool, LedgerError> {
    let named = scene.variables.iter().find(|v| v.agent == *agent);
    let (Some(native), Some(parent)) = (
        named.and_then(|v| v.native.as_ref()),
        scene.chain.ancestors.get(at + 1),
    ) else {
        return Ok(false);
    };
    let session = identity::session_by_name(tx, agent, native)?;
    let bound = tx.bound_to(&parent.identity.key())?;
    Ok(bound.iter().any(|b| Some(b.session) == session))
}

/// Tells whether what looks like an agent that is not recorded may well run one that is: its variable in git's environment
/// names a session, and it set it itself. Where its environment could not be read, no process of the session may be
/// recorded on this system: a session whose process is known there is run by that one, and this is another.
fn runs_unbound_session(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: usize,
    agent: &AgentName,
) -> Result<bool, LedgerError> {
    let named = scene.variables.iter().find(|v| v.agent == *agent);
    let (Some(native), Some(ancestor)) = (
        named.and_then(|v| v.native.as_ref()),
        scene.chain.ancestors.get(at),
    ) else {
        return Ok(false);
    };
    let Some(session) = identity::session_by_name(tx, agent, native)? else {
        return Ok(false);
    };
    if let Some(own) = named.and_then(|named| is_own(scene, at, named)) {
        return Ok(own);
    }
    let here = &ancestor.identity;
    let mut bound = tx.bindings(session)?.into_iter().map(|b| b.process);
    Ok(!bound.any(|known| {
        (&known.host, &known.boot, known.namespace) == (&here.host, &here.boot, here.namespace)
    }))
}

/// Whether the agent at this position set a variable itself; nothing where its environment could not be read.
fn is_own(scene: &Scene, at: usize, variable: &AgentVariable) -> Option<bool> {
    let (_, had) = scene.inherited.iter().find(|(depth, _)| *depth == at)?;
    Some(!had.contains(&variable.name))
}

/// The position of the nearest agent that set the variable itself which names a session of its kind.
pub(super) fn setter(
    tx: &mut dyn Transaction,
    scene: &Scene,
) -> Result<Option<usize>, LedgerError> {
    for (at, agent) in &scene.agents {
        let named = scene.variables.iter().find(|v| v.agent == *agent);
        let Some(native) = named.and_then(|v| v.native.as_ref()) else {
            continue;
        };
        let own = named.and_then(|named| is_own(scene, *at, named));
        if own == Some(true) && identity::session_by_name(tx, agent, native)?.is_some() {
            return Ok(Some(*at));
        }
    }
    Ok(None)
}

/// Tells whether what looks like an agent that is not recorded is the sandbox of one that is: the first
/// process of a pid namespace of its own, in which the agent's variable names a session that runs
/// outside.
fn is_sandbox(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: usize,
    agent: &AgentName,
) -> Result<bool, LedgerError> {
    let Some(first) = scene.chain.ancestors.get(at).map(|a| &a.identity) else {
        return Ok(false);
    };
    let named = scene.variables.iter().find(|v| v.agent == *agent);
    let (1, Some(native)) = (first.pid, named.and_then(|v| v.native.as_ref())) else {
        return Ok(false);
    };
    let Some(session) = identity::session_by_name(tx, agent, native)? else {
        return Ok(false);
    };
    let newest = tx.bindings(session)?.into_iter().next();
    Ok(newest.is_some_and(|binding| {
        let outside = &binding.process;
        let here = (&first.host, &first.boot) == (&outside.host, &outside.boot);
        here && first.namespace != outside.namespace
    }))
}

/// Adds the sessions that variables name, and variables of agents that are not recorded. One that only
/// says that the nearest agent is there says nothing new.
pub(super) fn variables(
    tx: &mut dyn Transaction,
    scene: &Scene,
    nearest: &[Binding],
    case: &mut Case,
) -> Result<(), LedgerError> {
    let mut agents = Vec::new();
    for binding in nearest {
        let Some(record) = tx.session(binding.session)? else {
            continue;
        };
        let known = siglum_agents::known(record.agent_word());
        let marks =
            known.is_some_and(|k| k.session_variable.is_some() || !k.presence_variables.is_empty());
        if !marks {
            case.unmarked.insert(binding.session);
        }
        // A variable of no agent in particular is of one that nobody named.
        agents.push(record.agent_key());
    }
    for variable in &scene.variables {
        let session = match &variable.native {
            Some(native) => identity::session_by_name(tx, &variable.agent, native)?,
            None => None,
        };
        let name = variable.name.clone();
        match session {
            Some(session) => case.signs.push((session, Sign::Variable { name })),
            // The thread of a sub-agent has no session of its own.
            None if (variable.native.is_none() || is_thread(variable))
                && agents.contains(&variable.agent) =>
            {
                let present = |b: &Binding| (b.session, Sign::Presence { name: name.clone() });
                case.signs.extend(nearest.iter().map(present));
            }
            None => case.strangers.push(Stranger::Variable {
                name,
                native: variable.native.clone(),
            }),
        }
    }
    Ok(())
}

fn is_thread(variable: &AgentVariable) -> bool {
    let known = siglum_agents::known(variable.agent.as_str());
    known.is_some_and(|k| k.thread_variable == Some(variable.name.as_str()))
}
