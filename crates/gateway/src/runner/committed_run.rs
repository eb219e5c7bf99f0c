//! A run that ended before: whoever asks for the same again is told how.

use std::sync::Arc;

use siglum_domain::context::Keys;
use siglum_domain::fold::Entry;
use siglum_domain::observation::{Fact, Role, Tokens};
use siglum_domain::price::Prices;
use siglum_domain::receipt::Receipt;
use siglum_domain::trace::TraceId;
use siglum_domain::{SessionId, TurnId};
use siglum_engine::driven::run;
use siglum_ledger::{RunRecord, SessionRecord};

use super::diverged;
use crate::app::App;
use crate::problem::Problem;
use crate::runs::{
    Ask, Finished, Log, NameSource, RunError, RunEvent, Running, Started, Status, Target, Usage,
};

/// The run of a turn that is committed, with what is stored of it.
pub(super) async fn committed_run(
    app: &App,
    ask: &Ask,
    session: SessionId,
    receipt: &Receipt,
) -> Result<Running, Problem> {
    let (turns, first, last) = (receipt.turns.clone(), receipt.first, receipt.last);
    let found = app.ledgers().read(&ask.tenant, move |_, ledger| {
        run::committed_run(ledger, session, &turns, first, last)
    });
    let (record, run, entries) = found.await??;
    Ok(running(ask, &record, run, receipt, &entries))
}

fn running(
    ask: &Ask,
    record: &SessionRecord,
    run: Option<RunRecord>,
    receipt: &Receipt,
    entries: &[Entry],
) -> Running {
    let turn = run
        .as_ref()
        .map(|run| run.turn)
        .or_else(|| receipt.turns.last().copied());
    // A receipt of a driver has its turn.
    let turn = turn.unwrap_or_else(|| TurnId::from_uuid(record.id.uuid()));
    let parent = entries.iter().find_map(|e| match e.observation.fact {
        Fact::Traced { parent } => Some(parent.trace),
        _ => None,
    });
    let started = Started {
        session: record.id,
        conversation: record.conversation.clone(),
        named_by: match &ask.session {
            Target::Named(_, by) => *by,
            Target::Unnamed | Target::Session(_) => NameSource::Agent,
        },
        native: run.as_ref().and_then(|run| run.native.clone()),
        turn,
        trace: parent.unwrap_or_else(|| TraceId::of_turn(turn)),
        keys: run.as_ref().and_then(keys),
        diverged: entries.iter().any(diverged::is_mark),
        at: run.as_ref().map_or(receipt.at, |run| run.started_at),
    };
    let log = Log::new();
    log.push(RunEvent::Started(started.clone()));
    let finished = finished(run.as_ref(), entries);
    if !finished.text.is_empty() {
        let (id, delta) = (format!("{turn}.text"), finished.text.clone());
        log.push(RunEvent::Text { id, delta });
    }
    log.push(RunEvent::Finished(finished));
    Running {
        started: Arc::new(started),
        agent: record.agent_key(),
        by: run.map_or_else(|| ask.by.clone(), |run| run.by),
        log,
    }
}

fn keys(run: &RunRecord) -> Option<Keys> {
    let (route, context) = run.route.clone().zip(run.context.clone())?;
    Some(Keys { route, context })
}

/// How a run ended, as far as it is stored.
pub(super) fn finished(run: Option<&RunRecord>, entries: &[Entry]) -> Finished {
    let end = run.and_then(|run| run.end.as_ref());
    let status = match end.map(|end| end.status.as_str()) {
        Some("cancelled") => Status::Cancelled,
        Some("limit") => Status::Limit,
        Some("failed") => Status::Failed,
        _ => Status::Done,
    };
    let (mut text, mut used, mut usage) = (String::new(), Tokens::default(), Usage::default());
    for entry in entries {
        if let Fact::Message {
            role: Role::Assistant,
            text: body,
            model,
            tokens,
            ..
        } = &entry.observation.fact
        {
            if let Some(message) = body.text().filter(|message| !message.is_empty()) {
                message.clone_into(&mut text);
            }
            used += tokens.unwrap_or_default();
            usage.model = model.clone().or(usage.model);
            let cost = Prices::built_in().cost(usage.model.as_deref(), entry.observation.at, used);
            usage.nano_usd = cost.is_whole().then(|| cost.known.saturating());
        }
    }
    usage.tokens = used;
    let error = end.and_then(|end| end.error.as_ref());
    Finished {
        status,
        text,
        usage,
        error: error.map(|text| RunError {
            code: "run-ended",
            text: text.as_str().to_owned(),
        }),
    }
}
