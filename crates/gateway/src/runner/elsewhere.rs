//! Runs of other gateways on the same store: seen, followed, cancelled and answered through the store alone.
//!
//! No gateway talks to another one. What is wanted of a run is written to the store, and the gateway that runs it looks
//! there; what happens in the run is stored by that one, and read here.

use std::sync::{Arc, Weak};
use std::time::Duration;

use siglum_domain::{SessionId, Tenant, TurnId};
use siglum_engine::driven::active_run;
use siglum_engine::driven::run;
use siglum_engine::driven::turn::{self, TurnError};
use siglum_ledger::{ActiveRun, RunEvents, read};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use super::cancelling::stops;
use super::committed_run;
use crate::app::App;
use crate::problem::Problem;
use crate::runs::{Control, Finished, Log, RunError, RunEvent, Running, Started, Status, Usage};

/// How often one looks for what other gateways wrote.
pub(super) const LOOK: Duration = Duration::from_millis(500);
/// What is said of a run whose gateway is gone.
pub(super) const GATEWAY_DIED: &str = "the gateway of the run died";
/// For how long a run may seem to be gone: one whose lease ran out while the store was away has it again soon.
const GONE: Duration = Duration::from_secs(12);
/// Rows of events that are read at once.
const AT_ONCE: usize = 64;

/// The run of a session that goes on or starts at another gateway.
pub(super) async fn active(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
) -> Result<Option<ActiveRun>, Problem> {
    if !app.ledgers().is_shared() {
        return Ok(None);
    }
    let found = app.ledgers().read(tenant, move |here, ledger| {
        active_run::active(here, ledger, session)
    });
    Ok(found.await??)
}

/// What a message is told that does not wait for such a run.
pub(super) fn busy(run: &ActiveRun) -> Problem {
    let (by, since) = (&run.by, run.since);
    let state = match run.turn {
        Some(_) => "active",
        None => "starting",
    };
    let detail = format!(
        "a run of this session, requested by {by}, is {state} at another gateway since {since}; set `if_busy` to wait or to cancel it"
    );
    Problem::conflict("session-busy", detail)
}

/// The run of a session that goes on, here or at another gateway.
///
/// # Errors
/// Those of the store.
pub(crate) async fn running(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
) -> Result<Option<Running>, Problem> {
    if let Some(running) = app.runs().find(tenant, session) {
        return Ok(Some(running));
    }
    match active(app, tenant, session).await? {
        Some(run) => follow(app, tenant, &run).await,
        None => Ok(None),
    }
}

/// The turn of the run of a session that goes on, here or at another gateway.
///
/// # Errors
/// Those of the store.
pub(crate) async fn running_turn(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
) -> Result<Option<TurnId>, Problem> {
    if let Some(running) = app.runs().find(tenant, session) {
        return Ok(Some(running.turn()));
    }
    let run = active(app, tenant, session).await?;
    Ok(run.and_then(|run| run.turn))
}

/// Has the run of a session end that goes on or starts, here or at another gateway: within about a second there. What it
/// did is committed, and marked. Gives what it is known by, unless it starts.
///
/// # Errors
/// Where none goes on, and those of the store.
pub(crate) async fn cancel(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
    by: &str,
) -> Result<Option<Started>, Problem> {
    let none = match app.runs().cancel(tenant, session, by) {
        Ok(running) => return Ok(running.map(|running| running.started().clone())),
        Err(none) => none,
    };
    let run = cancel_elsewhere(app, tenant, session, by).await?;
    started(app, tenant, &run.ok_or(none)?).await
}

/// The same at another gateway. Gives the run, if one goes on or starts there.
pub(super) async fn cancel_elsewhere(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
    by: &str,
) -> Result<Option<ActiveRun>, Problem> {
    if !app.ledgers().is_shared() {
        return Ok(None);
    }
    let by = by.to_owned();
    let cancelled = app.ledgers().write(tenant, move |here, ledger| {
        active_run::cancel(here, ledger, session, &by)
    });
    Ok(cancelled.await??)
}

/// Hears who cancels a run through another gateway, for as long as it has its place here.
pub(super) fn listen(
    app: &App,
    tenant: &Tenant,
    session: SessionId,
    driver: &str,
    control: mpsc::Sender<Control>,
) {
    if !app.ledgers().is_shared() {
        return;
    }
    let (app, tenant, driver) = (app.clone(), tenant.clone(), driver.to_owned());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = control.closed() => return,
                () = sleep(LOOK) => {}
            }
            let found = app.ledgers().read(&tenant, move |_, ledger| {
                read(ledger, |tx| tx.active_run(session))
            });
            // A store that cannot be asked now is asked again.
            let Ok(Ok(Some(run))) = found.await else {
                continue;
            };
            if let Some(by) = run.cancelled_by.filter(|_| run.driver == driver) {
                // Nobody looks again. A run that is over hears nothing.
                let _ = control.send(Control::Cancel(by)).await;
                return;
            }
        }
    });
}

/// A run of another gateway, followed here; nothing while its agent starts.
pub(super) async fn follow(
    app: &App,
    tenant: &Tenant,
    run: &ActiveRun,
) -> Result<Option<Running>, Problem> {
    let Some(started) = started(app, tenant, run).await? else {
        return Ok(None);
    };
    let session = run.session;
    let record = app.ledgers().read(tenant, move |_, ledger| {
        read(ledger, |tx| tx.session(session))
    });
    let Some(record) = record.await?? else {
        return Ok(None);
    };
    let (log, is_new) = app.runs().mirror(tenant, started.turn);
    if is_new {
        let mirror = Mirror {
            app: app.clone(),
            tenant: tenant.clone(),
            run: run.clone(),
            log: Arc::downgrade(&log),
            after: 0,
            gone: None,
        };
        tokio::spawn(mirror.keep_up());
    }
    Ok(Some(Running {
        started: Arc::new(started),
        agent: record.agent_key(),
        by: run.by.clone(),
        log,
    }))
}

/// What a run of another gateway is known by: its first event.
async fn started(app: &App, tenant: &Tenant, run: &ActiveRun) -> Result<Option<Started>, Problem> {
    let Some(turn) = run.turn else {
        return Ok(None);
    };
    let found = app.ledgers().read(tenant, move |_, ledger| {
        read(ledger, |tx| tx.run_events(turn, 0, 1))
    });
    let first = found.await??.into_iter().next();
    let first = first.and_then(|row| events_of(&row)?.into_iter().next());
    match first {
        Some(RunEvent::Started(started)) => Ok(Some(started)),
        _ => Ok(None),
    }
}

/// The events of a row; nothing where another version of this program wrote them in a form of its own.
fn events_of(row: &RunEvents) -> Option<Vec<RunEvent>> {
    let events: Result<Vec<RunEvent>, _> = serde_json::from_str(&row.events);
    events
        .inspect_err(|error| {
            tracing::warn!("cannot read the events of turn {}: {error}", row.turn);
        })
        .ok()
}

/// The log of a run of another gateway, as it grows in the store.
struct Mirror {
    app: App,
    tenant: Tenant,
    run: ActiveRun,
    /// Whoever follows has it; when nobody does, nobody looks any more.
    log: Weak<Log>,
    /// The number of the last event that is in it.
    after: u64,
    /// Since when the run seems to be gone.
    gone: Option<Instant>,
}

/// Whether there is more to come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coming {
    /// It is stored already.
    Now,
    Later,
    Never,
    /// Its gateway told nobody how it ended.
    Gone,
}

impl Mirror {
    async fn keep_up(mut self) {
        let mut stopping = self.app.stopping();
        loop {
            let (run, after) = (self.run.clone(), self.after);
            let found = self.app.ledgers().read(&self.tenant, move |here, ledger| {
                active_run::events(here, ledger, &run, after, AT_ONCE)
            });
            let found = found.await;
            let Some(log) = self.log.upgrade() else {
                return;
            };
            let coming = match found {
                Ok(Ok((goes_on, rows))) => self.take(&log, goes_on, &rows),
                // The store may be back before anybody loses patience.
                _ => Coming::Later,
            };
            match coming {
                Coming::Now => continue,
                Coming::Later => drop(log),
                Coming::Never => return,
                Coming::Gone => {
                    log.push(RunEvent::Finished(self.end().await));
                    return;
                }
            }
            tokio::select! {
                () = sleep(LOOK) => {}
                () = stops(&mut stopping) => {
                    if let Some(log) = self.log.upgrade() {
                        log.close();
                    }
                    return;
                }
            }
        }
    }

    fn take(&mut self, log: &Log, goes_on: bool, rows: &[RunEvents]) -> Coming {
        for row in rows {
            let Some(events) = events_of(row) else {
                // Without the first one nobody knows which run it is.
                if self.after == 0 {
                    log.close();
                    return Coming::Never;
                }
                log.skip(row.last);
                self.after = row.last;
                continue;
            };
            if row.first > self.after + 1 {
                // Without the first one nobody knows which run it is.
                if self.after == 0 {
                    log.close();
                    return Coming::Never;
                }
                log.skip(row.first - 1);
                self.after = row.first - 1;
            }
            let known = usize::try_from(self.after + 1 - row.first).unwrap_or(usize::MAX);
            for event in events.into_iter().skip(known) {
                let is_last = matches!(event, RunEvent::Finished(_));
                log.push(event);
                self.after += 1;
                if is_last {
                    return Coming::Never;
                }
            }
        }
        if rows.len() == AT_ONCE {
            return Coming::Now;
        }
        if goes_on {
            self.gone = None;
            return Coming::Later;
        }
        // Its last event would have been stored in the transaction that gave the lease back.
        let since = *self.gone.get_or_insert_with(Instant::now);
        if since.elapsed() < GONE {
            return Coming::Later;
        }
        Coming::Gone
    }

    /// How a run ended whose last event is not stored: as it is noted, if it is, or with its gateway.
    async fn end(&self) -> Finished {
        let (session, key) = (self.run.session, self.run.key.clone());
        let found = self.app.ledgers().read(&self.tenant, move |_, ledger| {
            let Some(receipt) = turn::receipt(ledger, session, &key)? else {
                return Ok::<_, TurnError>(None);
            };
            let (first, last) = (receipt.first, receipt.last);
            run::committed_run(ledger, session, &receipt.turns, first, last).map(Some)
        });
        if let Ok(Ok(Some((_, Some(run), entries)))) = found.await
            && run.end.is_some()
            && Some(run.turn) == self.run.turn
        {
            return committed_run::finished(Some(&run), &entries);
        }
        Finished {
            status: Status::Failed,
            text: String::new(),
            usage: Usage::default(),
            error: Some(RunError {
                code: "run-ended",
                text: GATEWAY_DIED.to_owned(),
            }),
        }
    }
}
