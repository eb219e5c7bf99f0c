//! From what was seen at a commit to a case that can be judged.

mod ancestry;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use siglum_domain::command::{CommandFit, commit_fit, terminal_addressed};
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::{Case, Sign, Standing};
use siglum_domain::intake::Scene;
use siglum_domain::observation::{Fact, Side, Source, event};
use siglum_domain::process::{Chain, ProgramKind, TerminalOwner};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::is_another_users;
use siglum_ledger::{Binding, HeadMove, LedgerError, OutputMention, SessionFilter, Transaction};

use self::ancestry::{ancestry, launchers, setter, variables};
use crate::commits::calls;
use crate::identity;
use crate::identity::sighting_keys::before_key;
use crate::identity::sighting_keys::side_key;

/// A tool call that has run for longer than this is not believed to run.
const CALL_AT_MOST_MS: i64 = 24 * 60 * 60 * 1000;
/// A session that was silent for longer than this before a commit is not listed beside it.
const AROUND_MS: i64 = 24 * 60 * 60 * 1000;
/// For how long after a call that types into terminals a commit there may be what it typed.
const TYPED_BEFORE_MS: i64 = 10 * 60 * 1000;
/// How many sessions are asked whether they type into terminals.
const TYPING_MOST: usize = 16;
/// How many sessions are listed beside a commit of which nothing tells who made it.
const AROUND_MOST: usize = 8;

/// Looks up what the ledger knows of the processes and names in a scene, at the moment of the scene.
pub(crate) fn case(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: Timestamp,
) -> Result<Case, LedgerError> {
    let running = running_now(tx, scene, at)?;
    case_with(tx, scene, at, running)
}

/// The same long after it: calls that have returned since are looked up in the logs.
pub(crate) fn past_case(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    scene: &Scene,
    at: Timestamp,
) -> Result<Case, LedgerError> {
    let mut running = running_now(tx, scene, at)?;
    let mut sessions = sessions_above(tx, scene)?;
    for session in around(tx, repository, at)? {
        let worktree = tx.session(session)?.and_then(|s| s.worktree);
        if worktree.as_ref() == Some(&scene.place.worktree) {
            sessions.insert(session);
        }
    }
    for session in sessions {
        let calls = calls::shell_calls(tx, session, at)?;
        let ran = calls.into_iter().filter(|call| call.runs_at(at));
        running.extend(ran.map(|call| (session, call.event)));
    }
    case_with(tx, scene, at, running)
}

fn case_with(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: Timestamp,
    running: BTreeSet<(SessionId, String)>,
) -> Result<Case, LedgerError> {
    let mut case = Case {
        witnessed: true,
        terminal: scene.chain.terminal_seen(),
        programs: programs(&scene.chain),
        cut: scene.chain.is_cut(),
        at,
        ..Case::default()
    };
    let nearest = ancestry(tx, scene, &mut case)?;
    if let Some(setter) = setter(tx, scene)?.filter(|_| nearest.is_empty()) {
        // What is above whoever set a variable cannot have inherited it.
        case.programs
            .retain(|(depth, _, _)| (*depth as usize) < setter);
    }
    launchers(tx, scene, at, &mut case)?;
    variables(tx, scene, &nearest, &mut case)?;
    for (session, event) in running {
        let call = tool_name(&event);
        case.signs.push((session, Sign::RunningTool { call }));
    }
    if let Some(terminal) = case.terminal.clone()
        && nearest.is_empty()
    {
        typing(tx, at, &terminal.owner, &mut case)?;
    }
    if let Some(session) = identity::bound_above(tx, scene, &nearest)? {
        case.signs.push((session, Sign::LaunchClaim));
    }
    standings(tx, &mut case)?;
    carried(tx, scene, &nearest, &mut case)?;
    Ok(case)
}

fn programs(chain: &Chain) -> Vec<(u32, String, ProgramKind)> {
    let depth = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    let programs = chain.programs_above().into_iter();
    programs
        .map(|(at, name, kind)| (depth(at), name, kind))
        .collect()
}

/// The tool calls that run in the checkout.
fn running_now(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: Timestamp,
) -> Result<BTreeSet<(SessionId, String)>, LedgerError> {
    let since = at.plus_millis(-CALL_AT_MOST_MS);
    let calls = tx.running_calls(&scene.place.worktree, since)?;
    let running = calls.into_iter().filter(|call| call.started <= at);
    Ok(running.map(|call| (call.session, call.event)).collect())
}

/// The sessions bound to processes above git: theirs are the calls that confirm.
fn sessions_above(
    tx: &mut dyn Transaction,
    scene: &Scene,
) -> Result<BTreeSet<SessionId>, LedgerError> {
    let mut sessions = BTreeSet::new();
    for ancestor in &scene.chain.ancestors {
        let bound = tx.bound_to(&ancestor.identity.key())?;
        sessions.extend(bound.into_iter().map(|b| b.session));
    }
    Ok(sessions)
}

/// Adds the tool calls of any session of this ledger that send input to terminals of this owner, at
/// that moment or shortly before: `tmux send-keys` returns before what it typed is done.
fn typing(
    tx: &mut dyn Transaction,
    at: Timestamp,
    owner: &TerminalOwner,
    case: &mut Case,
) -> Result<(), LedgerError> {
    let sessions = tx.sessions(&SessionFilter {
        since: Some(at.plus_millis(-TYPED_BEFORE_MS)),
        limit: TYPING_MOST,
        ..SessionFilter::default()
    })?;
    for session in sessions {
        let session = session.record.id;
        for call in calls::shell_calls(tx, session, at)? {
            let over = call.ended.unwrap_or(at);
            if over < at.plus_millis(-TYPED_BEFORE_MS) {
                continue;
            }
            let addressed = terminal_addressed(&call.command);
            if let Some(program) = addressed.filter(|program| owner.takes_input_from(program)) {
                let (call, program) = (tool_name(&call.event), program.to_owned());
                let sign = Sign::TypesIntoTerminals { call, program };
                case.signs.push((session, sign));
            }
        }
    }
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
        repositories: vec![repository],
        since: Some(at.plus_millis(-AROUND_MS)),
        created_before: Some(at),
        limit: AROUND_MOST,
        ..SessionFilter::default()
    })?;
    open.retain(|s| s.record.ended_at.is_none_or(|ended| ended >= at));
    Ok(open.into_iter().map(|s| s.record.id).collect())
}

/// A commit that no hook of git saw.
pub(crate) struct Unseen<'a> {
    pub(crate) repository: RepositoryId,
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
    let moves = tx.moves_to(unseen.repository, &unseen.facts.commit)?;
    let subject = match is_copied(tx, &moves)? {
        true => "",
        false => &unseen.facts.subject,
    };
    let mut worktrees = Vec::new();
    for moved in moves {
        if !made_in_call(tx, &moved, made)? {
            continue;
        }
        let sign = sign_of(tx, &moved, subject)?;
        if elsewhere && !matches!(sign, Sign::CallCommitted { .. }) {
            continue;
        }
        worktrees.extend(tx.session(moved.session)?.and_then(|s| s.worktree));
        case.signs.push((moved.session, sign));
    }
    worktrees.sort();
    worktrees.dedup();
    for worktree in worktrees {
        for call in tx.running_calls(&worktree, made.plus_millis(-CALL_AT_MOST_MS))? {
            if call.started.seconds() <= made.seconds() {
                let fits = fit_of(tx, call.session, &call.event, subject)?.silently();
                let name = tool_name(&call.event);
                let sign = match fits {
                    true => Sign::CommandFits { call: name },
                    false => Sign::Window { call: name },
                };
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

/// What a call during which HEAD moved to a commit shows of it: by its command, which is given the
/// commit's subject or makes commits, and by its output.
fn sign_of(tx: &mut dyn Transaction, moved: &HeadMove, subject: &str) -> Result<Sign, LedgerError> {
    let call = tool_name(&moved.event);
    let fit = fit_of(tx, moved.session, &moved.event, subject)?;
    Ok(match moved.mention {
        OutputMention::Made if fit.with_git_line() => Sign::CallCommitted { call },
        _ if fit.silently() => Sign::CommandFits { call },
        OutputMention::Made | OutputMention::Named => Sign::CallPrinted { call },
        OutputMention::Nothing => Sign::Window { call },
    })
}

fn fit_of(
    tx: &mut dyn Transaction,
    session: SessionId,
    event: &str,
    subject: &str,
) -> Result<CommandFit, LedgerError> {
    let command = calls::command(tx, session, event)?;
    Ok(command.map_or_else(CommandFit::default, |c| commit_fit(&c, subject)))
}

/// Whether git made a commit of another one, by its list of the moves of HEAD. Its message is the other one's then, or,
/// where two commits in one checkout met in the file with the message, somebody else's: a command that is given these
/// words did not make it.
fn is_copied(tx: &mut dyn Transaction, moves: &[HeadMove]) -> Result<bool, LedgerError> {
    for moved in moves {
        let key = side_key("head", &moved.event, Side::After);
        let after = tx.entry(moved.session, Source::Hook, &key)?;
        if let Some(Fact::HeadSeen { moves: steps, .. }) = after.map(|e| e.observation.fact)
            && steps
                .iter()
                .any(|step| step.copied && step.to == moved.commit)
        {
            return Ok(true);
        }
    }
    Ok(false)
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

/// Adds the tool calls during which HEAD moved to the commit. Without its subject only git's own line
/// beside a command that makes commits counts.
pub(crate) fn tool_output(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    subject: &str,
    case: &mut Case,
) -> Result<(), LedgerError> {
    for moved in tx.moves_to(repository, commit)? {
        if moved.mention > OutputMention::Nothing {
            let sign = sign_of(tx, &moved, subject)?;
            case.signs.push((moved.session, sign));
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
