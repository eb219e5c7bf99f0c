//! What a pipeline comes to, read from the ledger.

use siglum_domain::link::Link;
use siglum_domain::pipeline::{
    Activity, CheckEvidence, Event, Graph, Member, What, fold, pipeline_id,
};
use siglum_domain::price::{Cost, Prices};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{LaunchEnd, Ledger, LedgerError, SessionListing, Transaction, read};

use super::PipelineError;
use super::record::EVENTS_MOST;
use crate::Here;
use crate::commits::calls;
use crate::damage::undamaged;
use crate::driven::launch::{self, Standing};
use crate::identity::statements;
use crate::views::cost;
use crate::views::overview::{self, Stand, UNSEEN_MS};

/// Pipelines, the newest first.
#[derive(Debug, Clone)]
pub struct Page {
    pub pipelines: Vec<Graph>,
    /// Whether there are more behind the last one.
    pub more: bool,
}

/// A pipeline as it stands, with the cost of its sessions at these prices.
///
/// # Errors
/// There is no such pipeline, or those of the ledger.
pub fn graph(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    id: &str,
    prices: &Prices,
) -> Result<Graph, PipelineError> {
    let id = pipeline_id(id)?;
    read(ledger, |tx| {
        if tx.pipeline(&id)?.is_none() {
            return Ok(None);
        }
        let (events, members) = parts(here, tx, &id)?;
        let mut graph = fold(&id, &events, &members, here.now());
        let mut total = Cost::default();
        for member in members.iter().filter(|m| !m.detached) {
            total += cost::session_sum(tx, member.session, prices)?.cost;
        }
        graph.totals.cost = Some(total);
        Ok(Some(graph))
    })?
    .ok_or(PipelineError::NoPipeline(id))
}

/// Pipelines behind one, the one that was first named last first; 0 means all.
///
/// # Errors
/// There is no pipeline `after`, or those of the ledger.
pub fn list(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    after: Option<&str>,
    limit: usize,
) -> Result<Page, PipelineError> {
    let after = after.map(pipeline_id).transpose()?;
    let found = read(ledger, |tx| {
        let behind = match &after {
            Some(id) => match tx.pipeline(id)? {
                Some(record) => Some(record),
                None => return Ok(None),
            },
            None => None,
        };
        let most = if limit == 0 {
            0
        } else {
            limit.saturating_add(1)
        };
        let mut records = tx.pipelines(behind.as_ref(), most)?;
        let more = limit > 0 && records.len() > limit;
        if more {
            records.truncate(limit);
        }
        let graphs = records
            .iter()
            .map(|record| put_together(here, tx, &record.id));
        let pipelines = graphs.collect::<Result<_, LedgerError>>()?;
        Ok(Some(Page { pipelines, more }))
    })?;
    found.ok_or_else(|| PipelineError::NoPipeline(after.unwrap_or_default()))
}

/// All that was recorded of a pipeline, and its sessions.
pub(super) fn parts(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    id: &str,
) -> Result<(Vec<Event>, Vec<Member>), LedgerError> {
    let most = usize::try_from(EVENTS_MOST).unwrap_or(usize::MAX);
    let mut events = tx.pipeline_events(id, 0, most)?;
    for event in &mut events {
        add_evidence(tx, event)?;
    }
    let mut members = Vec::new();
    for listing in tx.sessions_of_pipeline(id)? {
        members.extend(member(here, tx, id, listing)?);
    }
    Ok((events, members))
}

/// Adds what the log shows of a check whose session did not prove itself: whether a call of it ran at that time. Logs may
/// come later than the event, so that this is looked for each time.
fn add_evidence(tx: &mut dyn Transaction, event: &mut Event) -> Result<(), LedgerError> {
    if let What::Check { evidence, .. } = &mut event.what
        && let (CheckEvidence::Reported, Some(session)) = (*evidence, event.session)
    {
        let calls = undamaged(calls::shell_calls(tx, session, event.at))?.unwrap_or_default();
        if calls.iter().any(|call| call.runs_at(event.at)) {
            *evidence = CheckEvidence::Session;
        }
    }
    Ok(())
}

fn put_together(here: &Here<'_>, tx: &mut dyn Transaction, id: &str) -> Result<Graph, LedgerError> {
    let (events, members) = parts(here, tx, id)?;
    Ok(fold(id, &events, &members, here.now()))
}

/// A session of a pipeline. One that was launched, and whose agent went on with an older session, is that one.
fn member(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    pipeline: &str,
    listing: SessionListing,
) -> Result<Option<Member>, LedgerError> {
    let session = listing.record.id;
    let statements = undamaged(tx.statements_of_session(session))?.unwrap_or_default();
    let launched = undamaged(launch::standing(tx, session))?.flatten();
    if launched.as_ref().is_some_and(|s| is_another(s, session)) {
        return Ok(None);
    }
    let links = statements::links(&statements);
    let values = |field: &str| {
        let of = links.iter().filter(|l| l.field() == field);
        of.map(Link::value).collect::<Vec<String>>()
    };
    let seen = overview::stand(here, tx, listing)?;
    let (record, summary) = (&seen.listing.record, &seen.listing.summary);
    let end = launched.as_ref().and_then(|s| s.end.clone());
    let end = end.or_else(|| statements::stated_end(&statements));
    let how = end.as_ref().map(|(end, _)| end);
    let activity = activity(here, launched.as_ref(), how, &seen);
    let over = record
        .ended_at
        .or(end.as_ref().map(|(_, at)| *at))
        .unwrap_or(record.last_at);
    Ok(Some(Member {
        session,
        agent: record.agent.clone(),
        roles: values("agent_role"),
        phases: values("phase"),
        detached: !values("pipeline_id").iter().any(|id| id == pipeline),
        started: record.created_at,
        ended: (!activity.is_live()).then_some(over),
        activity,
        end: how.map(launch::words),
        tokens: summary.tokens,
        commits: seen.listing.commits,
        models: summary.models.clone(),
    }))
}

/// Whether what was launched is known as another session.
fn is_another(launched: &Standing, session: SessionId) -> bool {
    launched
        .claimed
        .as_ref()
        .is_some_and(|claim| claim.to != session)
}

/// What a session does, or how it ended, as far as it can be seen from here.
fn activity(
    here: &Here<'_>,
    launched: Option<&Standing>,
    end: Option<&LaunchEnd>,
    seen: &overview::Listed,
) -> Activity {
    let is_recent = here.now().millis_since(seen.listing.record.last_at) < UNSEEN_MS;
    match (seen.stand, end) {
        (Stand::Ended | Stand::Imported, end) => end.map_or(Activity::Ended, ended),
        // The agent goes on without its launcher only if it is seen to.
        (_, Some(end)) if seen.alive != Some(true) => ended(end),
        (stand, _) if seen.alive == Some(true) => at_work(stand),
        (stand, _) => match launched.filter(|s| s.claimed.is_none()) {
            Some(standing) => command(here, standing, is_recent),
            None if is_recent => at_work(stand),
            None => Activity::Unseen,
        },
    }
}

const fn at_work(stand: Stand) -> Activity {
    match stand {
        Stand::Working => Activity::Working,
        _ => Activity::Waiting,
    }
}

/// What a command does that is no agent, or has not said so yet.
fn command(here: &Here<'_>, standing: &Standing, is_recent: bool) -> Activity {
    let alive = standing
        .launch
        .launcher
        .as_ref()
        .and_then(|l| (here.alive)(l));
    match alive {
        Some(true) => Activity::Working,
        Some(false) => Activity::Lost,
        None if is_recent => Activity::Working,
        None => Activity::Unseen,
    }
}

const fn ended(end: &LaunchEnd) -> Activity {
    match end {
        LaunchEnd::Completed => Activity::Completed,
        LaunchEnd::Lost | LaunchEnd::Expired => Activity::Lost,
        LaunchEnd::Failed { .. } | LaunchEnd::Signalled { .. } | LaunchEnd::NotStarted { .. } => {
            Activity::Failed
        }
    }
}

/// A time as it is sent.
pub(super) fn sent(at: Timestamp) -> String {
    at.to_string()
}
