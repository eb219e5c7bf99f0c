//! Listening: connections with bounded heads and times, until the gateway is told to stop.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use siglum_domain::{Tenant, Timestamp};
use siglum_engine::driven::remote;
use siglum_engine::worker;
use siglum_engine::worker::Slice;
use siglum_ledger::{Durability, Ledger, LedgerError, attempt, write};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;

use crate::app::App;
#[cfg(feature = "postgres")]
use crate::blobs;
use crate::connection;
use crate::heartbeats;
use crate::ledgers::{Ledgers, Unavailable};
use crate::retention;
use crate::router::router;
use crate::serve_error::ServeError;
use crate::settings::{Projecting, Settings, Store};
use crate::stop_signals::StopSignals;
use crate::tls::{self, Tls};
use crate::undecided;

/// How long to wait after the system had no room for a connection.
const NO_ROOM: Duration = Duration::from_millis(50);
/// How often what grew old is let go.
const TIDY: Duration = Duration::from_secs(15);
/// Of so many times once also for those who did not come to this gateway.
const TIDY_ALL: u32 = 240;
/// How often it is looked which sessions grew, in a store that no worker looks after.
const FOLD: Duration = Duration::from_secs(1);
/// How often it is looked which tenants have projections.
const PROJECT: Duration = Duration::from_secs(1);
/// Batches of telemetry that are joined in one go.
const BATCHES: usize = 8;
/// Sessions that are folded in one go.
const FOLDS: usize = 64;
/// So long a session of requests may be silent before it is taken for expired, once its tokens are.
const SILENT: Duration = Duration::from_secs(15);
/// How long what came of a request is kept for those who ask again.
const KEPT: Duration = Duration::from_hours(24);
/// How many rows of a kind go in one transaction, and how many transactions follow each other.
const SLICE: usize = 1_000;
const SLICES: usize = 10;

/// Serves until SIGTERM or SIGINT comes; then no run is begun, and what has begun is finished, in the time that
/// `settings` give it. `ready` hears the address.
///
/// # Errors
/// Why it cannot begin, and that a second signal did not let it finish.
pub fn serve(settings: &Settings, ready: impl FnOnce(SocketAddr)) -> Result<(), ServeError> {
    if !settings.listen.ip().is_loopback() && !settings.plain && settings.tls.is_none() {
        return Err(ServeError::Plain(settings.listen));
    }
    let tls = settings.tls.as_ref().map(Tls::open).transpose()?;
    siglum_platform::allow_many_files();
    let ledgers = Ledgers::open(&settings.store, &settings.limits)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(ServeError::Start)?;
    runtime.block_on(async {
        let listener = TcpListener::bind(settings.listen).await;
        let failed = |error| ServeError::Listen(settings.listen, error);
        let listener = listener.map_err(failed)?;
        let app = App::new(ledgers, settings);
        let signals = StopSignals::listen().map_err(ServeError::Start)?;
        let address = listener.local_addr().map_err(failed)?;
        ready(address);
        let (store, version) = (settings.store.shown(), env!("CARGO_PKG_VERSION"));
        let scheme = settings.scheme();
        tracing::info!(
            %address,
            %store,
            version,
            "siglum {version} serves {store} at {scheme}://{address}"
        );
        if let Some(tls) = &tls {
            let hangup = signal(SignalKind::hangup()).map_err(ServeError::Start)?;
            tokio::spawn(tls::follow(tls.clone(), hangup, app.stopping()));
        }
        tokio::spawn(tidy(app.clone()));
        if !settings.runs.agents.is_empty() {
            tokio::spawn(heartbeats::watch(app.clone()));
        }
        if !matches!(settings.store, Store::File(..)) {
            tokio::spawn(fold(app.clone()));
            if let Some(projecting) = &settings.projecting {
                tokio::spawn(project(app.clone(), projecting.clone()));
            }
            tokio::spawn(retention::watch(app.clone(), settings.retention));
        }
        #[cfg(feature = "postgres")]
        if matches!(settings.store, Store::Server(_, Some(_))) {
            tokio::spawn(blobs::watch(app.clone()));
        }
        if let Some(decision) = settings.held {
            tokio::spawn(undecided::settle(app.clone(), decision));
        }
        serve_until_stopped(&app, listener, tls, signals).await
    })
}

/// Serves until the first signal; then lets runs end, and after them connections. A second signal lets nothing end.
async fn serve_until_stopped(
    app: &App,
    listener: TcpListener,
    tls: Option<Tls>,
    mut signals: StopSignals,
) -> Result<(), ServeError> {
    let door = Door {
        app,
        router: router(app),
        listener,
        tls,
        room: Arc::new(Semaphore::new(app.limits().connections)),
        open: GracefulShutdown::new(),
    };
    door.accept_until(signals.next()).await;
    app.drain();
    let runs = app.runs().count();
    tracing::info!(runs, "stopping; {runs} runs are in progress");
    // Whoever follows a run, answers it or looks how the gateway is can do so until the last one has ended.
    let drained = tokio::time::timeout(app.limits().drain, app.runs().idle());
    tokio::select! {
        () = door.accept_until(async { let _ = drained.await; }) => {}
        () = signals.next() => return Err(ServeError::Interrupted),
    }
    // Whoever comes now is refused, and goes to another gateway, instead of waiting in the queue of this one.
    let open = door.close();
    app.stop();
    let ended = async {
        // Those who follow a run are told how it ended.
        tokio::join!(open.shutdown(), app.runs().end());
    };
    tokio::select! {
        finished = tokio::time::timeout(app.limits().grace, ended) => {
            if finished.is_err() {
                tracing::warn!("closed connections that did not end in time");
            }
        }
        () = signals.next() => return Err(ServeError::Interrupted),
    }
    tracing::info!("stopped");
    Ok(())
}

/// Where connections come in.
struct Door<'a> {
    app: &'a App,
    router: Router,
    listener: TcpListener,
    tls: Option<Tls>,
    room: Arc<Semaphore>,
    open: GracefulShutdown,
}

impl Door<'_> {
    /// Serves who comes, until something is done.
    async fn accept_until(&self, until: impl Future<Output = ()>) {
        tokio::pin!(until);
        loop {
            let accepted = tokio::select! {
                () = &mut until => return,
                accepted = async {
                    // Where there is no room, those who come wait in the system's own queue.
                    let permit = Arc::clone(&self.room).acquire_owned().await;
                    (permit, self.listener.accept().await)
                } => accepted,
            };
            let (Ok(permit), Ok((stream, peer))) = accepted else {
                tokio::time::sleep(NO_ROOM).await;
                continue;
            };
            // Whoever has its share is closed at once, so that there is room for others.
            let Some(share) = self.app.peer_connections().permit(&peer.ip()) else {
                continue;
            };
            let (app, router, watcher) =
                (self.app.clone(), self.router.clone(), self.open.watcher());
            let tls = self.tls.clone();
            tokio::spawn(async move {
                app.metrics().connections.inc();
                let peer = peer.ip();
                connection::serve(&app, router, stream, peer, watcher, tls.as_ref()).await;
                app.metrics().connections.dec();
                drop((permit, share));
            });
        }
    }

    /// Lets nobody in any more. Gives the connections that are open.
    fn close(self) -> GracefulShutdown {
        self.open
    }
}

/// Lets go of what grew old, for as long as the gateway runs.
async fn tidy(app: App) {
    let mut stopping = app.stopping();
    let mut times: u32 = 0;
    loop {
        tokio::select! {
            () = tokio::time::sleep(TIDY) => {}
            _ = stopping.changed() => return,
        }
        app.rates().tidy();
        let mut tenants = app.remembered().tenants();
        // What a gateway that died left of a run is to go also where nobody comes any more.
        if times.is_multiple_of(TIDY_ALL) {
            tenants.extend(app.ledgers().all_tenants().await);
        }
        times = times.wrapping_add(1);
        for tenant in tenants {
            let tidied = app.ledgers().write(&tenant, |here, ledger| {
                let id = ledger.id();
                let kept = i64::try_from(KEPT.as_millis()).unwrap_or(i64::MAX);
                drop_older(ledger, here.now().plus_millis(-kept))?;
                attempt(ledger, Durability::Process, |tx| {
                    remote::expire(here, tx, id, SILENT)
                })
            });
            match tidied.await {
                Ok(Ok(expired)) if expired.is_empty() => {}
                Ok(Ok(expired)) => {
                    tracing::info!("{} sessions expired", expired.len());
                }
                _ => tracing::warn!("cannot delete expired data"),
            }
        }
        // Of a file, its worker does.
        if !app.ledgers().is_file() {
            settle_turns(&app).await;
        }
    }
}

/// Lets go of requests and events of runs that are older than a time, a bounded part of them: nobody waits for all of them
/// after a long pause. What is left is for the next time.
fn drop_older(ledger: &mut dyn Ledger, before: Timestamp) -> Result<(), LedgerError> {
    for _ in 0..SLICES {
        let gone = write(ledger, Durability::Process, |tx| {
            let requests = tx.drop_requests(before, SLICE)?;
            Ok(requests.max(tx.drop_old_run_events(before, SLICE)?))
        })?;
        if gone < SLICE as u64 {
            break;
        }
    }
    Ok(())
}

/// Settles the turns whose drivers let their leases run out.
async fn settle_turns(app: &App) {
    for tenant in app.ledgers().driving().await {
        match app.ledgers().write(&tenant, worker::settle_turns).await {
            Ok(Ok(0)) => {}
            Ok(Ok(settled)) => {
                app.sealed();
                tracing::info!("settled {settled} turns that nobody drives any more");
            }
            _ => tracing::warn!("cannot settle the turns that nobody drives any more"),
        }
    }
}

/// Tells what sessions amount to whose logs grew, and puts them into the search index, for as long as the gateway runs: a server has no worker.
async fn fold(app: App) {
    let mut stopping = app.stopping();
    let mut runs = BTreeMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(FOLD) => {}
            _ = stopping.changed() => break,
        }
        let mut tenants = app.remembered().tenants();
        // Whoever took it may have died with it.
        tenants.extend(app.ledgers().hearing().await);
        let ours = app.ledgers().folding(tenants.clone()).await;
        for tenant in tenants {
            if ours.contains(&tenant) {
                fold_tenant(&app, &tenant).await;
            }
            let run = runs.entry(tenant.clone()).or_default();
            if let Err(error) = hear(&app, &tenant, run).await {
                tracing::warn!("cannot join telemetry to sessions: {error}");
            }
        }
    }
    // Runs may take long to end, and another gateway folds meanwhile.
    app.ledgers().folding(BTreeSet::new()).await;
}

async fn fold_tenant(app: &App, tenant: &Tenant) {
    let folded = app.ledgers().write(tenant, |here, ledger| {
        worker::fold_silent(here, ledger, FOLDS)
    });
    if !matches!(folded.await, Ok(Ok(_))) {
        tracing::warn!("cannot count the usage of updated sessions");
    }
    let indexed = app.ledgers();
    let indexed = indexed.write(tenant, |_, ledger| worker::index(ledger, FOLDS));
    if !matches!(indexed.await, Ok(Ok(_))) {
        tracing::warn!("cannot fill the search index");
    }
}

/// Tells who has projections, for as long as the gateway runs.
async fn project(app: App, projecting: Projecting) {
    let mut stopping = app.stopping();
    loop {
        (projecting.0)(app.ledgers().projecting().await);
        tokio::select! {
            () = tokio::time::sleep(PROJECT) => {}
            _ = stopping.changed() => return,
        }
    }
}

/// What the gateway remembers of a tenant between two looks at its telemetry.
type JoinState = Arc<Mutex<worker::Run>>;

/// Joins what waits of a tenant's telemetry, for a moment at most: others wait, too.
async fn hear(app: &App, tenant: &Tenant, run: &JoinState) -> Result<(), Unavailable> {
    let begun = Instant::now();
    while begun.elapsed() < FOLD && !*app.stopping().borrow() {
        let run = Arc::clone(run);
        let slice = app.ledgers().write(tenant, move |here, ledger| {
            let mut run = run.lock().unwrap_or_else(PoisonError::into_inner);
            worker::hear(here, ledger, &mut run, BATCHES)
        });
        if slice.await?.map_err(|error| Unavailable::from(&error))? == Slice::Idle {
            break;
        }
    }
    Ok(())
}
