//! From what was seen at a commit to a case that can be judged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::{AtTerminal, Case, Sign, Standing, Stranger};
use siglum_domain::intake::Scene;
use siglum_domain::observation::{Source, event};
use siglum_domain::process::{Ancestor, Chain};
use siglum_domain::{AgentName, Oid, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::is_another_users;
use siglum_ledger::{Binding, HeadMove, LedgerError, Said, SessionFilter, Transaction};

use crate::launch;
use crate::session::before_key;

/// A tool call that has run for longer than this is not believed to run.
const CALL_AT_MOST_MS: i64 = 24 * 60 * 60 * 1000;
/// A session that was silent for longer than this before a commit is not listed beside it.
const AROUND_MS: i64 = 24 * 60 * 60 * 1000;
/// How many sessions are listed beside a commit of which nothing tells who made it.
const AROUND_MOST: usize = 8;

/// Looks up what the ledger knows of the processes and names in a scene.
pub(crate) fn case(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: Timestamp,
) -> Result<Case, LedgerError> {
    let mut case = Case {
        witnessed: true,
        terminal: terminal(&scene.chain),
        at,
        ..Case::default()
    };
    let nearest = ancestry(tx, scene, &mut case)?;
    variables(tx, scene, &nearest, &mut case)?;
    running(tx, scene, &mut case)?;
    if let Some(session) = launch::bound_above(tx, scene, &nearest)? {
        case.signs.push((session, Sign::LaunchClaim));
    }
    standings(tx, &mut case)?;
    carried(tx, scene, &nearest, &mut case)?;
    Ok(case)
}

fn terminal(chain: &Chain) -> AtTerminal {
    let name = |shell: &Ancestor| shell.program().to_owned();
    match (chain.typed_in(), chain.shell_above()) {
        (Some(shell), _) => AtTerminal::Typed(name(shell)),
        (None, Some(shell)) => AtTerminal::Below(name(shell)),
        (None, None) => AtTerminal::Away,
    }
}

/// Adds the tool calls that run in the checkout. Work that was left behind is told apart only where
/// their agents' processes could have been seen: one that runs in a container may be anybody's. A
/// call that began after that work did not leave it behind.
fn running(tx: &mut dyn Transaction, scene: &Scene, case: &mut Case) -> Result<(), LedgerError> {
    let since = case.at.plus_millis(-CALL_AT_MOST_MS);
    let mut in_sight = true;
    let orphaned = scene.chain.is_orphaned();
    let left_for = scene.chain.left_behind_ms().filter(|_| orphaned);
    let until = case.at.plus_millis(-left_for.unwrap_or(0));
    for call in tx.running_calls(&scene.place.worktree, since)? {
        if call.started > until {
            continue;
        }
        let bound = tx.bindings(call.session)?;
        in_sight &= bound.iter().any(|b| scene.chain.is_seen_from(&b.process));
        let call_name = tool_name(&call.event);
        let sign = Sign::RunningTool { call: call_name };
        case.signs.push((call.session, sign));
    }
    case.orphaned = in_sight && orphaned;
    Ok(())
}

/// The sessions that were open in a repository at a moment, newest first: for reading only, where
/// nothing tells who it was.
pub(crate) fn around(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    at: Timestamp,
) -> Result<Vec<SessionId>, LedgerError> {
    let mut open = tx.sessions(&SessionFilter {
        repository: Some(repository),
        since: Some(at.plus_millis(-AROUND_MS)),
        until: Some(at),
        limit: AROUND_MOST,
        ..SessionFilter::default()
    })?;
    open.retain(|s| s.record.ended_at.is_none_or(|ended| ended >= at));
    Ok(open.into_iter().map(|s| s.record.id).collect())
}

/// A commit that no hook of git saw.
pub(crate) struct Unseen<'a> {
    pub(crate) repository: RepositoryId,
    /// What git says of it.
    pub(crate) facts: &'a CommitFacts,
    /// When it was noticed.
    pub(crate) at: Timestamp,
}

/// The case of a commit that no hook of git saw: only what tools did speaks for it, if it was made
/// while they ran.
pub(crate) fn unwitnessed(
    tx: &mut dyn Transaction,
    unseen: &Unseen<'_>,
) -> Result<Case, LedgerError> {
    let mut case = Case {
        at: unseen.at,
        ..Case::default()
    };
    let elsewhere = recorded_elsewhere(tx, unseen.facts)? || by_another_user(tx, unseen)?;
    let made = unseen.facts.committed;
    let mut worktrees = Vec::new();
    for moved in tx.moves_to(unseen.repository, &unseen.facts.commit)? {
        if !made_in_call(tx, &moved, made)? || (elsewhere && moved.said < Said::Made) {
            continue;
        }
        worktrees.extend(tx.session(moved.session)?.and_then(|s| s.worktree));
        case.signs.push((moved.session, sign_of(&moved)));
    }
    worktrees.sort();
    worktrees.dedup();
    for worktree in worktrees {
        for call in tx.running_calls(&worktree, made.plus_millis(-CALL_AT_MOST_MS))? {
            if call.started.seconds() <= made.seconds() {
                let call_name = tool_name(&call.event);
                let sign = Sign::Window { call: call_name };
                case.signs.push((call.session, sign));
            }
        }
    }
    standings(tx, &mut case)?;
    Ok(case)
}

/// Whether the message names a checkpoint that this ledger never gave out: hooks of somebody else saw
/// the commit, and whoever prints a log here did not make it.
fn recorded_elsewhere(tx: &mut dyn Transaction, facts: &CommitFacts) -> Result<bool, LedgerError> {
    for named in &facts.named {
        if tx.checkpoint(*named)?.is_none() && tx.intent(*named)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether another user of the machine made the commit, whose hooks write to another ledger.
fn by_another_user(tx: &mut dyn Transaction, unseen: &Unseen<'_>) -> Result<bool, LedgerError> {
    let repositories = tx.repositories()?;
    let here = repositories.iter().find(|r| r.id == unseen.repository);
    Ok(here.is_some_and(|r| is_another_users(Path::new(&r.common_dir), &unseen.facts.commit)))
}

fn sign_of(moved: &HeadMove) -> Sign {
    let call = tool_name(&moved.event);
    match moved.said {
        Said::Nothing => Sign::Window { call },
        Said::Named => Sign::ToolOutput { call },
        Said::Made => Sign::GitWords { call },
    }
}

/// Tells whether a commit was made while a call ran. Where git keeps no list of the moves of HEAD, a
/// call that pulls, resets or checks out a commit moves HEAD to it, too, and did not make it. Git's
/// clock has whole seconds.
fn made_in_call(
    tx: &mut dyn Transaction,
    moved: &HeadMove,
    made: Timestamp,
) -> Result<bool, LedgerError> {
    let key = before_key("head", &moved.event);
    let began = tx.entry(moved.session, Source::Hook, &key)?;
    // A move that a transcript tells was compared with git when it was read.
    Ok(began.is_none_or(|e| made.seconds() >= e.observation.at.seconds()))
}

/// Adds the tool calls during which HEAD moved to the commit and that name it.
pub(crate) fn tool_output(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    case: &mut Case,
) -> Result<(), LedgerError> {
    for moved in tx.moves_to(repository, commit)? {
        if moved.said > Said::Nothing {
            case.signs.push((moved.session, sign_of(&moved)));
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

/// Adds the sessions that are bound to processes above git, and the agents there that are not
/// recorded. Returns the bindings to the nearest process.
fn ancestry(
    tx: &mut dyn Transaction,
    scene: &Scene,
    case: &mut Case,
) -> Result<Vec<Binding>, LedgerError> {
    let mut nearest = Vec::new();
    let mut recorded: Vec<(u32, AgentName)> = Vec::new();
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
        let known = |(d, of): &(u32, AgentName)| *d == depth || (d + 1 == depth && of == agent);
        if !recorded.iter().any(known) && !is_sandbox(tx, scene, *at, agent)? {
            case.strangers.push(Stranger::Process {
                depth,
                agent: agent.clone(),
            });
        }
    }
    Ok(nearest)
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
    let Some(session) = tx.session_by_alias(agent, native)? else {
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
fn variables(
    tx: &mut dyn Transaction,
    scene: &Scene,
    nearest: &[Binding],
    case: &mut Case,
) -> Result<(), LedgerError> {
    let mut agents = Vec::new();
    for binding in nearest {
        agents.extend(tx.session(binding.session)?.map(|s| s.agent));
    }
    for variable in &scene.variables {
        let session = match &variable.native {
            Some(native) => tx.session_by_alias(&variable.agent, native)?,
            None if agents.contains(&variable.agent) => continue,
            None => None,
        };
        let name = variable.name.clone();
        match session {
            Some(session) => case.signs.push((session, Sign::Variable { name })),
            None => case.strangers.push(Stranger::Variable {
                name,
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
                    carried: None,
                },
            );
        }
    }
    case.standings = standings;
    Ok(())
}

/// Adds which of the variables in git's environment the agents' own processes had: those above git,
/// and where a session is known by a variable only, all that it ran in.
fn carried(
    tx: &mut dyn Transaction,
    scene: &Scene,
    nearest: &[Binding],
    case: &mut Case,
) -> Result<(), LedgerError> {
    let had = |binding: &Binding| -> Option<BTreeSet<String>> {
        let carried = binding.carried.as_ref()?;
        let same = scene.variables.iter().filter(|v| carried.contains(v));
        Some(same.map(|v| v.name.clone()).collect())
    };
    for (session, standing) in &mut case.standings {
        let above: Vec<Binding> = nearest
            .iter()
            .filter(|b| b.session == *session)
            .cloned()
            .collect();
        let bindings = if above.is_empty() {
            tx.bindings(*session)?
        } else {
            above
        };
        let sets: Option<Vec<_>> = bindings.iter().map(had).collect();
        standing.carried = sets.and_then(|sets| sets.into_iter().reduce(|a, b| &a & &b));
    }
    Ok(())
}
