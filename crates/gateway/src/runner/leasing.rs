//! A run takes the lease of its session. Where another gateway runs the session, it is refused, waits, or is the same.

use std::pin::pin;
use std::time::Duration;

use siglum_domain::redact::Redactor;
use siglum_domain::{SessionId, Tenant, Timestamp};
use siglum_engine::driven::active_run;
use siglum_engine::driven::run::{self, RunRequest};
use siglum_engine::driven::turn::{self, Hold, Holder, Leased, TurnError};
use siglum_ledger::{ActiveRun, Ledger, LedgerError, RunEnd, RunRecord};
use siglum_platform::clock;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::elsewhere::{self, GATEWAY_DIED, LOOK};
use crate::app::App;
use crate::ledgers::seeing;
use crate::problem::Problem;
use crate::runs::{Ask, Control, IfBusy, Running, key_reused};

/// For how long the lease of a session is taken, from each renewal on.
pub(super) const TERM: Duration = Duration::from_secs(30);
/// How often it is prolonged.
pub(super) const RENEW: Duration = Duration::from_secs(10);

/// What comes of asking for the lease.
pub(super) enum Leasing {
    /// It is this run's.
    Mine(Box<Leased>),
    /// The same is asked at another gateway, and is being answered there.
    Same(Running),
}

/// Takes the lease of a session, and waits for it behind the run of another gateway as the message says. Whoever cancels
/// meanwhile means that run.
///
/// # Errors
/// Where somebody else drives the session and the message does not wait, where its key is that of something else, where
/// the gateway is told to stop, and those of the store.
pub(super) async fn take(
    app: &App,
    ask: &Ask,
    request: &RunRequest,
    holder: &Holder,
    controls: &mut mpsc::Receiver<Control>,
) -> Result<Leasing, Problem> {
    let session = request.session;
    let (mut missed, mut cancelled) = (false, false);
    // Who wants the run to end that is in the way, and whom the store has not heard yet.
    let mut wanted: Option<String> = None;
    loop {
        let refused = match lease(app, ask, session, holder).await? {
            Ok(leased) => return Ok(Leasing::Mine(Box::new(leased))),
            Err(refused @ TurnError::Leased { .. }) => refused,
            Err(error) => return Err(error.into()),
        };
        match elsewhere::active(app, &ask.tenant, session).await? {
            Some(run) if run.key == request.key => {
                if let Some(running) = same(app, ask, request, &run).await? {
                    return Ok(Leasing::Same(running));
                }
                missed = false;
            }
            Some(run) if ask.if_busy == IfBusy::Refuse => return Err(elsewhere::busy(&run)),
            Some(_) => {
                let cancels = matches!(ask.if_busy, IfBusy::Steer | IfBusy::Cancel);
                if cancels && !cancelled {
                    (wanted, cancelled) = (Some(ask.by.clone()), true);
                }
                missed = false;
            }
            // It may have ended between two looks, or it is no run that has the lease.
            None if missed => return Err(refused.into()),
            None => {
                missed = true;
                continue;
            }
        }
        if let Some(by) = wanted.take() {
            let is_heard = cancel(app, ask, session, &by).await;
            wanted = (!is_heard).then_some(by);
        }
        tokio::select! {
            () = sleep(LOOK) => {}
            Some(control) = controls.recv() => {
                if let Control::Cancel(by) = control {
                    wanted = Some(by);
                }
            }
        }
        if app.is_draining() {
            return Err(Problem::stopping());
        }
    }
}

async fn lease(
    app: &App,
    ask: &Ask,
    session: SessionId,
    holder: &Holder,
) -> Result<Result<Leased, TurnError>, Problem> {
    let run = ActiveRun {
        session,
        driver: holder.nonce.clone(),
        key: ask.key.to_string(),
        by: ask.by.clone(),
        since: clock::now(),
        turn: None,
        cancelled_by: None,
    };
    let (holder, is_shared) = (holder.clone(), app.ledgers().is_shared());
    let leased = app.ledgers().write(&ask.tenant, move |here, ledger| {
        let here = seeing(here);
        match is_shared {
            true => active_run::lease(&here, ledger, &holder, TERM, &run),
            false => turn::lease(&here, ledger, session, &holder, TERM),
        }
    });
    leased.await.map_err(Problem::from)
}

/// The run of another gateway that was asked for under the same key; nothing while its agent starts.
async fn same(
    app: &App,
    ask: &Ask,
    request: &RunRequest,
    run: &ActiveRun,
) -> Result<Option<Running>, Problem> {
    let request = request.clone();
    let is_other = app.ledgers().read(&ask.tenant, move |_, ledger| {
        run::is_key_of_another(ledger, &request)
    });
    match is_other.await?? {
        true => Err(key_reused(&ask.key)),
        false => elsewhere::follow(app, &ask.tenant, run).await,
    }
}

/// Gives whether the store took it.
async fn cancel(app: &App, ask: &Ask, session: SessionId, by: &str) -> bool {
    let cancelled = elsewhere::cancel_elsewhere(app, &ask.tenant, session, by).await;
    if let Err(problem) = &cancelled {
        tracing::warn!(
            "cannot cancel the run of session {session} at another gateway: {}",
            problem.detail()
        );
    }
    cancelled.is_ok()
}

/// What a gateway that died left: questions that nobody waits for, and runs that did not end.
pub(super) fn lose(
    ledger: &mut dyn Ledger,
    session: SessionId,
    now: Timestamp,
) -> Result<(), LedgerError> {
    run::lose_interactions(ledger, session, now)?;
    for left in run::unfinished_runs(ledger, session)? {
        let end = Some(RunEnd {
            at: now,
            status: "failed".to_owned(),
            error: Some(Redactor::shared().redact(GATEWAY_DIED)),
            committed: false,
        });
        run::record_run(ledger, &RunRecord { end, ..left })?;
    }
    Ok(())
}

/// Does what may take longer than the lease of a session is taken for, which is prolonged meanwhile. Gives the hold to go
/// on with, too.
pub(super) async fn renewing<T>(
    app: &App,
    tenant: &Tenant,
    mut hold: Hold,
    work: impl Future<Output = T>,
) -> (T, Hold) {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return (done, hold),
            () = sleep(RENEW) => {}
        }
        let renewed = app.ledgers().write(tenant, move |here, ledger| {
            turn::renew(here, ledger, hold, TERM)
        });
        match renewed.await {
            Ok(Ok(renewed)) => hold = renewed,
            // Where somebody else took it, the turn is not opened.
            Ok(Err(error)) => tracing::warn!("cannot renew a lease: {error}"),
            Err(error) => tracing::warn!("cannot renew a lease: {error}"),
        }
    }
}

/// Gives a lease back.
pub(super) async fn release(app: &App, tenant: &Tenant, hold: Hold) {
    let released = app.ledgers().write(tenant, move |here, ledger| {
        turn::release(here, ledger, hold)
    });
    if !matches!(released.await, Ok(Ok(()))) {
        warn_of_lease(hold);
    }
}

/// Says that a lease could not be given back.
pub(super) fn warn_of_lease(hold: Hold) {
    tracing::warn!(
        "the lease of session {} is not released and expires on its own",
        hold.session
    );
}
