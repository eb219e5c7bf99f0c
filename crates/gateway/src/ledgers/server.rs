//! A PostgreSQL store: so many connections for all tenants, each on a thread of its own.
//!
//! One of them only tells how the store is, and is never behind what requests ask for. The others take jobs from a queue
//! in which tenants take turns.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use siglum_domain::Tenant;
use siglum_ledger::{
    BlobSettings, Cancellation, ConnectionLimit, LedgerError, PostgresConnection, PostgresSettings,
};
use tokio::sync::oneshot;

use super::Unavailable;
use super::file::give;
use super::job::Job;
use super::load::Load;
use super::queue::{Bounds, Queue};
use crate::serve_error::ServeError;
use crate::settings::Limits;

/// How long after a connection could not be made it is tried again; each time twice as long.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_MOST: Duration = Duration::from_secs(2);

/// How often a server is asked to end a statement that goes on.
const AGAIN: Duration = Duration::from_millis(100);

/// The right to fold the sessions of a tenant.
const FOLD: &str = "fold";

/// Lists tenants of a server.
type List = Box<dyn FnOnce(&mut PostgresConnection) -> Result<Vec<Tenant>, LedgerError> + Send>;

/// What the connection does that tells how the store is.
enum Probe {
    Job(Job),
    List(List, oneshot::Sender<Result<Vec<Tenant>, Unavailable>>),
}

/// The threads of a server. They end when this is let go and all jobs are done.
pub(super) struct Server {
    queue: Arc<Queue>,
    probes: SyncSender<Probe>,
    cancelled: SyncSender<Cancellation>,
    load: Load,
    /// Whoever counts what is stored: one at a time, so that it is in the way of no other probe.
    counting: tokio::sync::Mutex<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.queue.close();
    }
}

impl Server {
    pub(super) fn open(
        url: &str,
        tenant: Tenant,
        blobs: Option<BlobSettings>,
        limits: &Limits,
    ) -> Result<Self, ServeError> {
        let settings = PostgresSettings {
            blobs,
            ..PostgresSettings::new(url, tenant)
        };
        // Brings the store to the schema of this program; who has a ledger there is another matter.
        let mut prober = PostgresConnection::prepare(settings.clone())?;
        let connections = limits.store_connections.max(2);
        if let Some(limit) = prober.limit()? {
            check_room(limit, connections)?;
        }
        let load = Load::new(connections);
        let bounds = Bounds {
            workers: usize::from(connections) - 1,
            waiting: limits.queue,
            wait: limits.store_wait,
        };
        let queue = Arc::new(Queue::new(bounds, load.clone()));
        for _ in 0..bounds.workers {
            let (queue, connection) = (
                Arc::clone(&queue),
                PostgresConnection::new(settings.clone()),
            );
            thread::spawn(move || serve(connection, &queue));
        }
        let watched = Arc::clone(&queue);
        thread::spawn(move || watched.watch());
        let (cancelled, ended) = sync_channel(limits.queue);
        let shortened = Arc::clone(&queue);
        thread::spawn(move || end_cancelled(&ended, &shortened));
        let (probes, taken) = sync_channel(limits.queue);
        let counted = load.clone();
        thread::spawn(move || serve_probes(prober, &taken, &counted));
        Ok(Self {
            queue,
            probes,
            cancelled,
            load,
            counting: tokio::sync::Mutex::default(),
        })
    }

    /// The tenants that have heartbeats.
    pub(super) async fn beating(&self) -> BTreeSet<Tenant> {
        self.tenants("heartbeats", Box::new(PostgresConnection::beating))
            .await
    }

    /// All tenants that have a ledger.
    pub(super) async fn all_tenants(&self) -> BTreeSet<Tenant> {
        self.tenants("ledgers", Box::new(PostgresConnection::all_tenants))
            .await
    }

    /// The tenants that have turns open.
    pub(super) async fn driving(&self) -> BTreeSet<Tenant> {
        self.tenants("open turns", Box::new(PostgresConnection::driving))
            .await
    }

    /// The tenants that have projections. It is asked each second, and others tell that the store is away.
    pub(super) async fn projecting(&self) -> BTreeSet<Tenant> {
        let listed = self.listed(Box::new(PostgresConnection::projecting));
        listed.await.unwrap_or_default()
    }

    /// The tenants that have telemetry that is not joined, in the same way.
    pub(super) async fn hearing(&self) -> BTreeSet<Tenant> {
        let listed = self.listed(Box::new(PostgresConnection::hearing));
        listed.await.unwrap_or_default()
    }

    /// Those among these tenants that this gateway folds: one at a time does. It gives up all others.
    pub(super) async fn folding(&self, tenants: BTreeSet<Tenant>) -> BTreeSet<Tenant> {
        let hold = move |connection: &mut PostgresConnection| connection.hold_only(&tenants, FOLD);
        self.listed(Box::new(hold)).await.unwrap_or_default()
    }

    async fn tenants(&self, what: &str, list: List) -> BTreeSet<Tenant> {
        let listed = self.listed(list).await;
        listed
            .inspect_err(|error| tracing::warn!("cannot list the tenants with {what}: {error}"))
            .unwrap_or_default()
    }

    async fn listed(&self, list: List) -> Result<BTreeSet<Tenant>, Unavailable> {
        let (tell, listed) = oneshot::channel();
        give(&self.probes, Probe::List(list, tell))?;
        let listed = listed.await.unwrap_or(Err(Unavailable::Broken))?;
        Ok(listed.into_iter().collect())
    }

    pub(super) fn take(&self, job: Job) -> Result<(), Unavailable> {
        self.queue.push(job)
    }

    /// Ends a read that is cancelled, wherever it is.
    pub(super) fn end(&self, cancelled: Cancellation) {
        // Where too many end at once, the next statement is not begun.
        let _ = give(&self.cancelled, cancelled);
    }

    pub(super) fn probe(&self, job: Job) -> Result<(), Unavailable> {
        give(&self.probes, Probe::Job(job))
    }

    /// Waits for the turn to count what is stored.
    pub(super) async fn turn_to_count(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.counting.lock().await
    }

    /// Adds how busy the connections are to what the gateway counts.
    pub(super) fn register_metrics(&self, registry: &mut Registry) {
        self.load.register(registry);
    }
}

/// Refuses to take all connections of a server: commands, the operator and other gateways need some, too.
fn check_room(limit: ConnectionLimit, connections: u16) -> Result<(), ServeError> {
    let ConnectionLimit { most, reserved } = limit;
    let (asked, free) = (i64::from(connections), most - reserved);
    if asked >= free {
        return Err(ServeError::Room {
            asked,
            most,
            reserved,
        });
    }
    Ok(())
}

/// Does jobs, for as long as there are any.
fn serve(mut connection: PostgresConnection, queue: &Queue) {
    while let Some(job) = queue.take() {
        let tenant = job.tenant.clone();
        let broken = run(&mut connection, job);
        queue.done(&tenant);
        if let Some(why) = broken {
            queue.broken(&why);
            // One that has no connection takes no jobs, which others could do.
            if !mend(&mut connection, queue) {
                return;
            }
            queue.mended();
        }
    }
}

/// Ends reads that nobody waits for any more: those that wait are dropped, and those that run are ended by the server.
fn end_cancelled(cancelled: &Receiver<Cancellation>, queue: &Queue) {
    let mut running: Vec<Cancellation> = Vec::new();
    loop {
        let next = match running.is_empty() {
            true => cancelled.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => cancelled.recv_timeout(AGAIN),
        };
        match next {
            Ok(next) => {
                running.push(next);
                running.extend(cancelled.try_iter());
                queue.drop_unwanted();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        running.retain(Cancellation::interrupt);
    }
}

/// Tries to connect, after longer and longer pauses. Gives up where the queue is closed.
fn mend(connection: &mut PostgresConnection, queue: &Queue) -> bool {
    let mut pause = PAUSE;
    while queue.pause(pause) {
        if connection.connect().is_ok() {
            return true;
        }
        pause = (pause * 2).min(PAUSE_MOST);
    }
    false
}

/// Does a job on the ledger of its tenant, and tells whoever waits for it. Gives why there is no connection, where there
/// is none.
fn run(connection: &mut PostgresConnection, mut job: Job) -> Option<Unavailable> {
    let tenant = job.tenant.clone();
    let work = || {
        connection.with(&tenant, |ledger| {
            ledger.cancel_by(job.cancellation());
            job.run(ledger);
        })
    };
    match catch_unwind(AssertUnwindSafe(work)) {
        // One that panicked has no result. Its connection is gone, and with it its transaction.
        Ok(Ok(())) | Err(_) => {
            job.tell();
            None
        }
        // A request makes no ledger.
        Ok(Err(LedgerError::Unwritable(_))) => {
            job.refuse(Unavailable::NoTenant);
            None
        }
        Ok(Err(error)) => {
            let why = Unavailable::from(&error);
            job.refuse(why.clone());
            (!connection.is_open()).then_some(why)
        }
    }
}

/// Does what tells how the store is. Anybody may ask, so that a server that is away is not asked each time.
fn serve_probes(mut connection: PostgresConnection, probes: &Receiver<Probe>, load: &Load) {
    let mut away: Option<(Instant, Unavailable)> = None;
    while let Ok(probe) = probes.recv() {
        if matches!(&probe, Probe::Job(job) if !job.is_wanted()) {
            continue;
        }
        let recent = away.as_ref().filter(|(at, _)| at.elapsed() < PAUSE_MOST);
        if let Some((_, why)) = recent {
            match probe {
                Probe::Job(job) => job.refuse(why.clone()),
                Probe::List(_, tell) => drop(tell.send(Err(why.clone()))),
            }
            continue;
        }
        load.in_use.inc();
        let broken = match probe {
            Probe::Job(job) => run(&mut connection, job),
            Probe::List(list, tell) => {
                let listed = list(&mut connection).map_err(|error| Unavailable::from(&error));
                let broken = listed.as_ref().err().cloned();
                // Whoever asked may have gone.
                let _ = tell.send(listed);
                broken.filter(|_| !connection.is_open())
            }
        };
        load.in_use.dec();
        away = broken.map(|why| (Instant::now(), why));
    }
}

#[cfg(test)]
mod tests {
    use siglum_ledger::PostgresLedger;
    use siglum_ledger::testing::Server as TestServer;
    use tokio::runtime::{Builder, Runtime};

    use super::super::file::how;
    use super::super::store::Ledgers;
    use super::*;
    use crate::settings::Store;

    /// A store with a tenant, and a runtime in which it is used; nothing without a server.
    fn served(limits: &Limits) -> Option<(Ledgers, Tenant, Runtime)> {
        let address = TestServer::address()?;
        let server = TestServer::shared(&address).unwrap();
        let tenant = server.tenant();
        drop(PostgresLedger::open(&server.settings(tenant.clone()), how()).unwrap());
        let ledgers = Ledgers::open(&Store::Server(server.url(), None), limits).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        Some((ledgers, tenant, runtime))
    }

    #[test]
    fn a_job_that_panics_takes_no_connection_away() {
        let limits = Limits {
            store_connections: 2,
            ..Limits::default()
        };
        let Some((ledgers, tenant, runtime)) = served(&limits) else {
            return;
        };
        runtime.block_on(async {
            for _ in 0..3 {
                let panics = ledgers.write(&tenant, |_, _| -> u32 { panic!("a job of a test") });
                let panicked = panics.await;
                assert!(matches!(panicked, Err(Unavailable::Broken)), "{panicked:?}");
            }
            ledgers.read(&tenant, |_, _| ()).await.unwrap();
        });
    }

    #[test]
    fn who_gets_no_connection_in_time_is_refused_and_probes_wait_for_none() {
        let limits = Limits {
            store_connections: 2,
            store_wait: Duration::from_millis(50),
            ..Limits::default()
        };
        let Some((ledgers, tenant, runtime)) = served(&limits) else {
            return;
        };
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let (free, waits) = std::sync::mpsc::channel::<()>();
        let (busy, of) = (ledgers.clone(), tenant.clone());
        let busy = runtime.spawn(async move {
            let work = busy.write(&of, move |_, _| {
                begun.send(()).unwrap();
                let _ = waits.recv();
            });
            work.await
        });
        runtime.block_on(async {
            begins.recv().await.unwrap();
            let late = ledgers.read(&tenant, |_, _| ()).await;
            assert!(matches!(late, Err(Unavailable::Late)), "{late:?}");
            let tenants = std::slice::from_ref(&tenant);
            ledgers.try_write(tenants).await.unwrap();
            ledgers.count(&tenant, |_, _| ()).await.unwrap();
            let _ = ledgers.beating().await;
            drop(free);
            busy.await.unwrap().unwrap();
        });
    }

    #[test]
    fn a_gateway_does_not_take_all_connections_of_a_server() {
        let limit = ConnectionLimit {
            most: 20,
            reserved: 3,
        };
        assert!(check_room(limit, 16).is_ok());
        let refused = check_room(limit, 17).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the PostgreSQL server takes 20 connections, 3 of them for administrators, and this gateway would use 17"
        );
    }
}
