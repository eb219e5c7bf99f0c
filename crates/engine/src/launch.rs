//! Sessions that a launcher starts: registered before their agent runs, taken up by the first agent
//! process below the launcher, and ended with the command, or when the launcher is found dead.
//!
//! All of it is statements; what they amount to is [`standing`]. Who only inherited the claim gets
//! no identity from it.

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::intake::{AgentMatter, Decline, LaunchClaim, Place, Scene};
use siglum_domain::link::Stated;
use siglum_domain::process::{Chain, ProcessIdentity};
use siglum_domain::{AgentName, ConversationId, SessionId, Timestamp};
use siglum_ledger::{
    Binding, Claim, Durability, Launch, LaunchEnd, Ledger, LedgerError, Mode, OwnWorktree,
    Relation, SessionOrigin, SessionRecord, Statement, Transaction, attempt, read, write,
};

use crate::audit::{self, Entry};
use crate::identity::{FirstLinks, NewSession, open_session};
use crate::links::{self, LinksError};
use crate::repositories::note_place;
use crate::{Here, session, why};

/// The agent of a session of which nobody said what runs in it.
pub const UNKNOWN_AGENT: &str = "unknown";
/// Why the claim of an agent in a sandbox was declined.
pub const UNREADABLE_TOKEN: &str = "launch_token_unreadable";

/// What a launcher says of a session that it is about to start.
#[derive(Debug, Clone)]
pub struct NewLaunch {
    /// The session.
    pub session: SessionId,
    /// How it is launched.
    pub launch: Launch,
    /// What is attached to it, each with where that was stated.
    pub links: Vec<Stated>,
    /// The variables that were to be links and are none.
    pub left_out: Vec<Decline>,
    /// Who launches it.
    pub by: String,
    /// The directory it starts in.
    pub cwd: String,
    /// The repository it starts in.
    pub place: Option<Place>,
    /// What a launcher further out handed down to this one.
    pub outer: Option<LaunchClaim>,
}

/// How a launch stands after all statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How it was launched.
    pub launch: Launch,
    /// Who launched it.
    pub by: String,
    /// Who took it up.
    pub claimed: Option<Claim>,
    /// How it ended, and when that was stated.
    pub end: Option<(LaunchEnd, Timestamp)>,
    /// What became of the checkout that was made for it.
    pub worktree: Option<OwnWorktree>,
}

/// How the launch of a session stands; nothing if it was not launched.
///
/// # Errors
/// Those of the ledger.
pub fn standing(
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<Option<Standing>, LedgerError> {
    let (mut launched, mut claimed, mut ended) = (None, None, None);
    let mut records = tx.statements_of_session(session)?;
    // Which came first does not depend on the clocks of those who made them.
    records.sort_by_key(|record| (record.ledger, record.sequence));
    for record in records {
        match record.statement {
            Statement::Launched { launch, .. } => {
                // A driven session is launched again for each process that its agent runs in. What another machine
                // launched proves nothing here, and takes nothing back.
                let own = !launch.digest.is_empty();
                if own || launched.is_none() {
                    launched = Some((launch, record.by));
                    (claimed, ended) = (None, None);
                }
            }
            Statement::Claimed { claim, .. } => {
                claimed.get_or_insert(claim);
            }
            Statement::LaunchEnded { end, worktree, .. } => {
                ended.get_or_insert(((end, record.at), worktree));
            }
            _ => {}
        }
    }
    let (end, worktree) = ended.unzip();
    Ok(launched.map(|(launch, by)| Standing {
        launch,
        by,
        claimed,
        end,
        worktree: worktree.flatten(),
    }))
}

/// Writes down that a session is about to be launched, with its links.
///
/// # Errors
/// [`LinksError`]; nothing was written then.
pub fn register(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    new: &NewLaunch,
) -> Result<(), LinksError> {
    let home = ledger.id();
    let at = here.now();
    let first = FirstLinks::new(new.links.iter().cloned())?;
    attempt(ledger, Durability::Disk, |tx| {
        let repository = match &new.place {
            Some(place) => Some(note_place(tx, here.ids, place, at)?),
            None => None,
        };
        let parent = match &new.outer {
            Some(claim) => proven(tx, claim, [])?.map(|outer| target(claim.session, &outer)),
            None => None,
        };
        let session = new.session;
        let record = SessionRecord {
            parent: parent.map(|parent| (parent, Relation::Nested)),
            cwd: Some(new.cwd.clone()),
            repository,
            worktree: new.place.as_ref().map(|p| p.worktree.clone()),
            ..SessionRecord::new(
                session,
                new.launch.agent.clone().unwrap_or_else(unknown_agent),
                // No agent has given it a name yet.
                ConversationId::of_native(None, session),
                home,
                Mode::Observed,
                SessionOrigin::Launch,
                at,
            )
        };
        open_session(
            tx,
            &NewSession {
                record,
                name: None,
                links: first.clone(),
                by: &new.by,
            },
        )?;
        let launch = new.launch.clone();
        let launched = Statement::Launched { session, launch };
        tx.state(at, &new.by, "launcher", &launched)?;
        let more = json!({ "program": new.launch.program });
        audit::session_created(tx, here, &new.by, session, more)?;
        links::note_left_out(tx, here.ids, at, (session, &new.by), &new.left_out)?;
        Ok(())
    })
}

fn unknown_agent() -> AgentName {
    AgentName::new(UNKNOWN_AGENT).expect("because it keeps to the grammar")
}

/// What a claim comes to for the process that made it.
pub(crate) enum Taken {
    /// It is the first agent process below the launcher: it runs the launched session.
    Up(Box<Standing>),
    /// It only inherited the claim from what runs this session.
    Inherited(SessionId),
}

/// Looks at the claim of an agent's process.
pub(crate) fn check_claim(
    tx: &mut dyn Transaction,
    matter: &AgentMatter,
    at: Timestamp,
) -> Result<Option<Taken>, LedgerError> {
    let (Some(claim), Some(process)) = (&matter.claim, &matter.process) else {
        return Ok(None);
    };
    let Some(standing) = proven(tx, claim, &matter.above)? else {
        note_unreadable(tx, claim, matter, at)?;
        return Ok(None);
    };
    let first = standing.claimed.is_none()
        && standing.end.as_ref().is_none_or(|(_, end)| at <= *end)
        && standing
            .launch
            .agent
            .as_ref()
            .is_none_or(|a| *a == matter.agent)
        && is_below(&standing.launch, process, &matter.above);
    Ok(Some(if first {
        Taken::Up(Box::new(standing))
    } else {
        Taken::Inherited(target(claim.session, &standing))
    }))
}

/// The launch that a claim proves: by its token, or where that could not be read, by the launcher among the processes above
/// whoever makes the claim.
fn proven<'a>(
    tx: &mut dyn Transaction,
    claim: &LaunchClaim,
    above: impl IntoIterator<Item = &'a ProcessIdentity>,
) -> Result<Option<Standing>, LedgerError> {
    let standing = standing(tx, claim.session)?;
    // A launch on another machine has no digest here, and nobody proves it.
    let Some(standing) = standing.filter(|s| !s.launch.digest.is_empty()) else {
        return Ok(None);
    };
    if !claim.digest.is_empty() {
        return Ok((standing.launch.digest == claim.digest).then_some(standing));
    }
    // A runner starts the agents of many sessions, and one of them again: below it an older process may be left.
    if tx
        .session(claim.session)?
        .is_none_or(|s| s.mode == Mode::Driven)
    {
        return Ok(None);
    }
    // What falls to the first process of a container was not started by it.
    let launcher = standing.launch.launcher.as_ref().filter(|l| l.pid != 1);
    let is_below = launcher.is_some_and(|l| above.into_iter().any(|process| process == l));
    Ok(is_below.then_some(standing))
}

/// Notes once that an agent names a launch that goes on, and cannot prove it, because nothing of the launcher can be seen
/// from its sandbox: its session stays without what was attached to the launch.
fn note_unreadable(
    tx: &mut dyn Transaction,
    claim: &LaunchClaim,
    matter: &AgentMatter,
    at: Timestamp,
) -> Result<(), LedgerError> {
    let standing = standing(tx, claim.session)?.filter(|s| !s.launch.digest.is_empty());
    let goes_on = |s: Standing| s.end.is_none_or(|(_, end)| at <= end);
    if !claim.digest.is_empty() || !standing.is_some_and(goes_on) {
        return Ok(());
    }
    let decline = Decline {
        edge: format!("hook {}", matter.agent),
        reason: UNREADABLE_TOKEN.to_owned(),
        detail: format!(
            "session {} of {} runs below the launch {}, whose token it cannot read and whose launcher it does not see: \
             the links of the launch are not its own",
            matter.native, matter.agent, claim.session
        ),
        place: matter.place.clone(),
    };
    let key = format!(
        "{UNREADABLE_TOKEN}:{}:{}:{}",
        claim.session, matter.agent, matter.native
    );
    tx.decline(&key, at, &decline)
}

/// The session that was launched, where the claim of an agent's process proves that.
pub(crate) fn proven_session(
    tx: &mut dyn Transaction,
    matter: &AgentMatter,
) -> Result<Option<SessionId>, LedgerError> {
    match &matter.claim {
        Some(claim) => Ok(proven(tx, claim, &matter.above)?.map(|_| claim.session)),
        None => Ok(None),
    }
}

/// Whether what was handed down to git proves this launch.
pub(crate) fn is_proven_by(
    tx: &mut dyn Transaction,
    launched: SessionId,
    scene: &Scene,
) -> Result<bool, LedgerError> {
    match scene.claim.as_ref().filter(|c| c.session == launched) {
        Some(claim) => Ok(proven(tx, claim, scene.chain.identities())?.is_some()),
        None => Ok(false),
    }
}

/// The session that what was launched works for.
fn target(launched: SessionId, standing: &Standing) -> SessionId {
    standing.claimed.as_ref().map_or(launched, |c| c.to)
}

/// Whether a process descends from the launcher, as far as that can be seen: in another pid
/// namespace the token alone tells.
fn is_below(launch: &Launch, process: &ProcessIdentity, above: &[ProcessIdentity]) -> bool {
    let Some(launcher) = &launch.launcher else {
        return true;
    };
    let seen = |p: &ProcessIdentity| (p.host.clone(), p.boot.clone(), p.namespace);
    above.contains(launcher) || seen(process) != seen(launcher)
}

/// Notes who took up a launch. Where the agent goes on with an older session, what was attached to
/// the launched one is attached to that.
pub(crate) fn take_up(
    tx: &mut dyn Transaction,
    launched: SessionId,
    standing: &Standing,
    to: SessionId,
    matter: &AgentMatter,
    at: Timestamp,
) -> Result<(), LedgerError> {
    let Some(process) = &matter.process else {
        return Ok(());
    };
    let claim = Claim {
        to,
        agent: matter.agent.clone(),
        native: matter.native.clone(),
        process: process.clone(),
    };
    let session = launched;
    let by = standing.by.as_str();
    tx.state(at, by, "launcher", &Statement::Claimed { session, claim })?;
    if to == launched {
        if standing.launch.agent.is_none() {
            tx.set_agent(launched, &matter.agent)?;
        }
        return Ok(());
    }
    let known = why::links(&tx.statements_of_session(to)?);
    for link in why::links(&tx.statements_of_session(launched)?) {
        if !known.contains(&link) {
            let source = format!("{LINK_SOURCE} {launched}");
            let session = to;
            tx.state(at, by, &source, &Statement::LinkAttached { session, link })?;
        }
    }
    Ok(())
}

/// The word for what attached a link that came from a launch.
pub(crate) const LINK_SOURCE: &str = "launch";

/// The launch that a link came from, by the source of its statement.
pub(crate) fn launch_of_link(source: &str) -> Option<SessionId> {
    source.strip_prefix(LINK_SOURCE)?.trim_start().parse().ok()
}

/// The session whose agent process the launcher's claim is bound to, if that is the nearest one above
/// git.
pub(crate) fn bound_above(
    tx: &mut dyn Transaction,
    scene: &Scene,
    nearest: &[Binding],
) -> Result<Option<SessionId>, LedgerError> {
    let Some(claim) = &scene.claim else {
        return Ok(None);
    };
    let claimed = proven(tx, claim, scene.chain.identities())?.and_then(|s| s.claimed);
    Ok(claimed
        .filter(|c| {
            nearest
                .iter()
                .any(|b| b.session == c.to && b.process == c.process)
        })
        .map(|c| c.to))
}

/// A launch whose launcher is above git.
pub(crate) struct Above {
    /// The session that was launched.
    pub(crate) launched: SessionId,
    /// The session that what was launched works for.
    pub(crate) session: SessionId,
    /// The agent that was launched, while no hook of it has taken the launch up.
    pub(crate) agent: Option<AgentName>,
}

/// The nearest launch above git that had not ended at that moment, and how far up the chain its launcher is. What falls to
/// the first process of a container proves nothing.
pub(crate) fn nearest_above(
    tx: &mut dyn Transaction,
    scene: &Scene,
    at: Timestamp,
) -> Result<Option<(Above, usize)>, LedgerError> {
    let mut sessions = scene.launches.clone();
    sessions.extend(scene.claim.as_ref().map(|claim| claim.session));
    sessions.sort();
    sessions.dedup();
    let mut nearest: Option<(Above, usize)> = None;
    for launched in sessions {
        let Some(standing) = standing(tx, launched)? else {
            continue;
        };
        // Who runs driven sessions runs several at once, and git for itself.
        if tx.session(launched)?.is_none_or(|s| s.mode == Mode::Driven) {
            continue;
        }
        let launcher = standing.launch.launcher.as_ref();
        let mut chain = scene.chain.ancestors.iter();
        let depth = chain.position(|a| Some(&a.identity) == launcher && a.identity.pid != 1);
        let ended = standing.end.as_ref().is_some_and(|(_, end)| *end < at);
        let Some(depth) = depth.filter(|_| !ended) else {
            continue;
        };
        if nearest.as_ref().is_none_or(|(_, known)| depth < *known) {
            let session = target(launched, &standing);
            let agent = standing.launch.agent.filter(|_| standing.claimed.is_none());
            let above = Above {
                launched,
                session,
                agent,
            };
            nearest = Some((above, depth));
        }
    }
    Ok(nearest)
}

/// The session that a command speaks for that was handed a claim. None if the claim proves nothing, or if the nearest
/// agent above the command is another one, which only inherited it.
///
/// # Errors
/// Those of the ledger.
pub fn speaker(
    tx: &mut dyn Transaction,
    claim: &LaunchClaim,
    chain: &Chain,
) -> Result<Option<SessionId>, LedgerError> {
    let Some(standing) = proven(tx, claim, chain.identities())? else {
        return Ok(None);
    };
    let target = target(claim.session, &standing);
    for above in &chain.ancestors {
        let bound = tx.bound_to(&above.identity.key())?;
        if !bound.is_empty() {
            return Ok(bound.iter().any(|b| b.session == target).then_some(target));
        }
    }
    Ok(Some(target))
}

/// Writes down how the command of a launched session ended; a second time changes nothing.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn end(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    end: &LaunchEnd,
    worktree: Option<&OwnWorktree>,
) -> Result<(), LedgerError> {
    let at = here.now();
    write(ledger, Durability::Disk, |tx| {
        let Some(standing) = standing(tx, session)?.filter(|s| s.end.is_none()) else {
            return Ok(());
        };
        if tx.session(session)?.is_some_and(|s| s.mode == Mode::Driven) {
            return stop(tx, at, session, &standing.by, end);
        }
        let (end, worktree) = (end.clone(), worktree.cloned());
        let reason = words(&end);
        let actor = match end {
            LaunchEnd::Lost => audit::SIGLUM,
            _ => audit::LAUNCHER,
        };
        let entry = Entry::done(actor, Action::SessionEnded).for_session(session);
        let entry = entry.with(json!({ "how": reason }));
        let ended = Statement::LaunchEnded {
            session,
            end,
            worktree,
        };
        let number = tx.state(at, &standing.by, "launcher", &ended)?;
        over(
            here,
            tx,
            session,
            &format!("launch-ended:{number}"),
            reason,
            at,
        )?;
        audit::record(tx, here, &entry)?;
        Ok(())
    })
}

/// The process of a driven session is over, and the session is not.
fn stop(
    tx: &mut dyn Transaction,
    at: Timestamp,
    session: SessionId,
    by: &str,
    end: &LaunchEnd,
) -> Result<(), LedgerError> {
    let ended = Statement::LaunchEnded {
        session,
        end: end.clone(),
        worktree: None,
    };
    tx.end_calls(session)?;
    tx.state(at, by, "runner", &ended).map(drop)
}

/// Writes down which of these launches are lost: their launcher is dead and said nothing. Returns
/// those of which nothing more is to be heard, lost or not.
///
/// # Errors
/// Those of the ledger.
pub fn find_lost(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    sessions: &[SessionId],
) -> Result<Vec<SessionId>, LedgerError> {
    let mut done = Vec::new();
    for session in sessions {
        let Some(standing) = read(ledger, |tx| standing(tx, *session))? else {
            // It is about to be registered, or belongs to another ledger.
            continue;
        };
        if standing.end.is_none() {
            let launcher = standing.launch.launcher.as_ref();
            if launcher.and_then(|l| (here.alive)(l)) != Some(false) {
                continue;
            }
            end(here, ledger, *session, &LaunchEnd::Lost, None)?;
        }
        done.push(*session);
    }
    Ok(done)
}

/// Ends a session with its command, unless its agent said so before, or goes on without the launcher.
fn over(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    key: &str,
    reason: String,
    at: Timestamp,
) -> Result<(), LedgerError> {
    let Some(record) = tx.session(session)?.filter(|s| s.ended_at.is_none()) else {
        return Ok(());
    };
    let newest = tx.bindings(session)?.into_iter().next();
    if newest.is_some_and(|b| (here.alive)(&b.process) == Some(true)) {
        return Ok(());
    }
    session::say_ended(tx, here.ids, &record, key.to_owned(), reason, at)
}

/// How a launch ended, in words.
#[must_use]
pub fn words(end: &LaunchEnd) -> String {
    match end {
        LaunchEnd::Completed => "completed".to_owned(),
        LaunchEnd::Failed { code } => format!("failed with code {code}"),
        LaunchEnd::Signalled { signal } => format!("ended by signal {signal}"),
        LaunchEnd::NotStarted { code: 127 } => "its command was not found".to_owned(),
        LaunchEnd::NotStarted { .. } => "its command could not be started".to_owned(),
        LaunchEnd::Lost => "lost: the launcher died unexpectedly".to_owned(),
        LaunchEnd::Expired => "expired: no activity for a long time".to_owned(),
    }
}
