//! What a launcher handed down to an agent, and what that proves.
//!
//! All of it is statements; what they amount to is [`standing`]. Who only inherited the claim gets no identity from it.

use siglum_domain::claims::Claims;
use siglum_domain::intake::{AgentMatter, Decline, LaunchClaim, Scene};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{AgentName, SessionId, Timestamp};
use siglum_ledger::{
    Binding, Claim, Launch, LaunchEnd, LedgerError, Mode, OwnWorktree, Statement, Transaction,
};

use crate::identity::statements;

/// Why the claim of an agent in a sandbox was declined.
pub const UNREADABLE_TOKEN: &str = "launch_token_unreadable";

/// How a launch stands after all statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub launch: Launch,
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

/// What a claim comes to for the process that made it.
pub(super) enum Taken {
    /// It is the first agent process below the launcher: it runs the launched session.
    Up(SessionId, Box<Standing>),
    /// It only inherited the claim from what runs this session.
    Inherited(SessionId),
    /// It proves nothing.
    Unproven,
}

/// Looks at the claim of an agent's process.
pub(super) fn check_claim(
    tx: &mut dyn Transaction,
    claims: &Claims,
) -> Result<Option<Taken>, LedgerError> {
    let (Some(claim), Some(process)) = (&claims.launch, &claims.process) else {
        return Ok(None);
    };
    let Some(standing) = proven(tx, claim, &claims.above)? else {
        return Ok(Some(Taken::Unproven));
    };
    let agent = standing.launch.agent.as_ref();
    let first = standing.claimed.is_none()
        && standing
            .end
            .as_ref()
            .is_none_or(|(_, end)| claims.at <= *end)
        && agent.is_none_or(|agent| claims.agent.as_ref() == Some(agent))
        && is_below(&standing.launch, process, &claims.above);
    Ok(Some(match first {
        true => Taken::Up(claim.session, Box::new(standing)),
        false => Taken::Inherited(target(claim.session, &standing)),
    }))
}

/// The launch that a claim proves: by its token, or where that could not be read, by the launcher among the processes above
/// whoever makes the claim.
pub(crate) fn proven<'a>(
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
pub(super) fn note_unreadable(
    tx: &mut dyn Transaction,
    matter: &AgentMatter,
    at: Timestamp,
) -> Result<(), LedgerError> {
    let Some(claim) = &matter.claim else {
        return Ok(());
    };
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
pub(super) fn proven_session(
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
pub(crate) fn target(launched: SessionId, standing: &Standing) -> SessionId {
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
pub(super) fn take_up(
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
    let known = statements::links(&tx.statements_of_session(to)?);
    for link in statements::links(&tx.statements_of_session(launched)?) {
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
