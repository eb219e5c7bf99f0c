//! Where the sessions are, and the way there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use siglum_domain::Tenant;
use siglum_engine::Here;
use siglum_ledger::{Cancellation, Durability, Ledger, LedgerError, write};
use tokio::sync::Mutex;

use super::Unavailable;
use super::file::File;
use super::job::{Job, JobOutput, JobReply};
#[cfg(feature = "postgres")]
use super::server::Server;
use crate::metrics::StoreMetrics;
use crate::serve_error::ServeError;
use crate::settings::{Limits, Store};
use crate::shares::place_to_read;

/// The name of the only tenant of a file.
const LOCAL: &str = siglum_domain::access::DEFAULT_TENANT;

/// The threads. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Ledgers(Arc<Threads>, Arc<Mutex<Option<Tried>>>, StoreMetrics);

/// When it was last tried to write, and what came of it.
type Tried = (Instant, Result<(), Unavailable>);

/// How long what a trial brought holds: anybody may ask.
const TRIED: Duration = Duration::from_secs(1);

enum Threads {
    File(File),
    #[cfg(feature = "postgres")]
    Server(Server),
}

/// The ways to the threads: a file has some for each kind of work, a server the same for reading and writing.
impl Threads {
    fn read(&self, job: Job) -> Result<(), Unavailable> {
        match self {
            Self::File(file) => file.read(job),
            #[cfg(feature = "postgres")]
            Self::Server(server) => server.take(job),
        }
    }

    fn write(&self, job: Job) -> Result<(), Unavailable> {
        match self {
            Self::File(file) => file.write(job),
            #[cfg(feature = "postgres")]
            Self::Server(server) => server.take(job),
        }
    }

    fn probe(&self, job: Job) -> Result<(), Unavailable> {
        match self {
            Self::File(file) => file.probe(job),
            #[cfg(feature = "postgres")]
            Self::Server(server) => server.probe(job),
        }
    }

    /// Ends a read that nobody waits for any more.
    fn end(&self, read: Cancellation) {
        read.cancel();
        match self {
            // It looks by itself.
            Self::File(_) => {}
            #[cfg(feature = "postgres")]
            Self::Server(server) => server.end(read),
        }
    }
}

/// Whoever waits for a read, which ends when this is dropped before it was done.
struct Waiting<'a> {
    threads: &'a Threads,
    read: Option<Cancellation>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(read) = self.read.take() {
            self.threads.end(read);
        }
    }
}

impl Ledgers {
    /// Opens the store, so that one that cannot be opened is told at once.
    pub(crate) fn open(store: &Store, limits: &Limits) -> Result<Self, ServeError> {
        let threads = match store {
            Store::File(path, written) => Threads::File(File::open(path, written.clone(), limits)?),
            #[cfg(feature = "postgres")]
            Store::Server(url, blobs) => {
                Threads::Server(Server::open(url, Self::local(), blobs.clone(), limits)?)
            }
        };
        let metrics = StoreMetrics::default();
        Ok(Self(Arc::new(threads), Arc::default(), metrics))
    }

    /// The tenant of a file.
    pub(crate) fn local() -> Tenant {
        Tenant::new(LOCAL).expect("because it keeps to the grammar")
    }

    /// Whether credentials of this tenant are known here at all.
    pub(crate) fn serves(&self, tenant: &Tenant) -> bool {
        match self.0.as_ref() {
            Threads::File(_) => *tenant == Self::local(),
            #[cfg(feature = "postgres")]
            Threads::Server(_) => true,
        }
    }

    /// The tenants that have heartbeats.
    pub(crate) async fn beating(&self) -> BTreeSet<Tenant> {
        match self.0.as_ref() {
            Threads::File(_) => BTreeSet::from([Self::local()]),
            #[cfg(feature = "postgres")]
            Threads::Server(server) => server.beating().await,
        }
    }

    /// All tenants that have a ledger.
    pub(crate) async fn all_tenants(&self) -> BTreeSet<Tenant> {
        match self.0.as_ref() {
            Threads::File(_) => BTreeSet::from([Self::local()]),
            #[cfg(feature = "postgres")]
            Threads::Server(server) => server.all_tenants().await,
        }
    }

    /// The tenants that have turns open.
    pub(crate) async fn driving(&self) -> BTreeSet<Tenant> {
        match self.0.as_ref() {
            Threads::File(_) => BTreeSet::from([Self::local()]),
            #[cfg(feature = "postgres")]
            Threads::Server(server) => server.driving().await,
        }
    }

    /// The tenants of a server that have projections: those of a file are its worker's.
    pub(crate) async fn projecting(&self) -> BTreeSet<Tenant> {
        match self.0.as_ref() {
            Threads::File(_) => BTreeSet::new(),
            #[cfg(feature = "postgres")]
            Threads::Server(server) => server.projecting().await,
        }
    }

    /// The tenants of a server that have telemetry that is not joined, whoever took it.
    pub(crate) async fn hearing(&self) -> BTreeSet<Tenant> {
        match self.0.as_ref() {
            Threads::File(_) => BTreeSet::new(),
            #[cfg(feature = "postgres")]
            Threads::Server(server) => server.hearing().await,
        }
    }

    /// Those among these tenants whose sessions this gateway folds. Of the gateways on one server, one at a time does: a fold
    /// reads a whole log, and another one that reads it meanwhile finds the same.
    pub(crate) async fn folding(&self, tenants: BTreeSet<Tenant>) -> BTreeSet<Tenant> {
        match self.0.as_ref() {
            Threads::File(_) => tenants,
            #[cfg(feature = "postgres")]
            Threads::Server(server) => server.folding(tenants).await,
        }
    }

    /// Adds how busy the store is to what the gateway counts.
    pub(crate) fn register_metrics(&self, registry: &mut Registry) {
        self.2.register(registry);
        #[cfg(feature = "postgres")]
        if let Threads::Server(server) = self.0.as_ref() {
            server.register_metrics(registry);
        }
    }

    /// Whether the store is a file of this machine.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.0.as_ref(), Threads::File(_))
    }

    /// Whether other gateways may serve the same store.
    pub(crate) fn is_shared(&self) -> bool {
        !self.is_file()
    }

    /// Tries to write, once a second at most, in the ledger of the first of these tenants that has one.
    ///
    /// # Errors
    /// Why nothing can be committed now.
    pub(crate) async fn try_write(&self, tenants: &[Tenant]) -> Result<(), Unavailable> {
        let mut last = self.1.lock().await;
        if let Some((_, before)) = last.as_ref().filter(|(at, _)| at.elapsed() < TRIED) {
            return before.clone();
        }
        let tried = self.tried(tenants).await;
        *last = Some((Instant::now(), tried.clone()));
        tried
    }

    async fn tried(&self, tenants: &[Tenant]) -> Result<(), Unavailable> {
        if let Threads::File(file) = self.0.as_ref() {
            file.has_room()?;
        }
        for tenant in tenants {
            // Whoever writes to a file does it in turn, and nobody for long.
            let probed = match self.0.as_ref() {
                Threads::File(_) => self.write(tenant, write_probe).await,
                #[cfg(feature = "postgres")]
                Threads::Server(_) => self.probe(tenant, write_probe).await,
            };
            match probed {
                // A store of several tenants need not have this one.
                Err(Unavailable::NoTenant) => {}
                probed => return probed?.map_err(|error| Unavailable::from(&error)),
            }
        }
        Ok(())
    }

    /// Does something short that tells how the store is, on a thread for that alone: however many slow requests keep all
    /// the others busy, the store is well.
    pub(crate) async fn probe<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let job = Job::new(tenant, work);
        self.give("probe", Threads::probe, job).await.map(output_as)
    }

    /// Counts something of what is stored, for the metrics. On a server it waits for no connection that requests use. It ends
    /// when nobody waits for it any more.
    pub(crate) async fn count<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        match self.0.as_ref() {
            Threads::File(_) => self.read(tenant, work).await,
            #[cfg(feature = "postgres")]
            Threads::Server(server) => {
                let _turn = server.turn_to_count().await;
                let job = Job::reading(tenant, work);
                self.give("probe", Threads::probe, job).await.map(output_as)
            }
        }
    }

    /// Does something that only reads. It ends when nobody waits for it any more.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let job = Job::reading(tenant, work);
        self.give_to_read(job).await.map(output_as)
    }

    /// Does something that writes. What it gives is stored by then.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        tenant: &Tenant,
        work: impl FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        let job = Job::new(tenant, work);
        self.give("write", Threads::write, job).await.map(output_as)
    }

    async fn give_to_read(&self, job: (Job, JobReply)) -> Result<JobOutput, Unavailable> {
        let _place = place_to_read().await;
        self.give("read", Threads::read, job).await
    }

    /// Hands work over, and waits for what it gives.
    async fn give(
        &self,
        kind: &'static str,
        to: fn(&Threads, Job) -> Result<(), Unavailable>,
        (job, told): (Job, JobReply),
    ) -> Result<JobOutput, Unavailable> {
        let active = self.2.begin(kind);
        let mut waiting = Waiting {
            threads: &self.0,
            read: job.cancellation(),
        };
        let done = match to(&self.0, job) {
            Ok(()) => told.await.unwrap_or(Err(Unavailable::Broken)),
            Err(why) => Err(why),
        };
        waiting.read = None;
        active.end(done.as_ref().map_or_else(Unavailable::outcome, |_| "done"));
        done
    }
}

/// What a job gave, as its work gave it.
fn output_as<T: 'static>(output: JobOutput) -> T {
    let output = output.downcast::<T>();
    *output.expect("because it is what the work of this very job gives")
}

fn write_probe(_: &Here<'_>, ledger: &mut dyn Ledger) -> Result<(), LedgerError> {
    write(ledger, Durability::Disk, |tx| tx.write_probe())
}

#[cfg(test)]
mod tests {
    use siglum_ledger::read;

    use super::*;
    use crate::settings::Written;

    #[tokio::test]
    async fn how_the_store_is_can_be_told_while_all_who_read_are_busy() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("ledger.db");
        let store = Store::File(file, Written(Arc::new(|| {})));
        let limits = Limits {
            readers: 2,
            ..Limits::default()
        };
        let ledgers = Ledgers::open(&store, &limits).unwrap();
        let local = Ledgers::local();
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let (free, waits) = std::sync::mpsc::channel::<()>();
        let waits = Arc::new(std::sync::Mutex::new(waits));
        let mut slow = Vec::new();
        // One more than there are who read: it waits for them.
        for _ in 0..=limits.readers {
            let (ledgers, local) = (ledgers.clone(), local.clone());
            let (begun, waits) = (begun.clone(), Arc::clone(&waits));
            slow.push(tokio::spawn(async move {
                let work = ledgers.read(&local, move |_, _| {
                    begun.send(()).unwrap();
                    let _ = waits.lock().unwrap().recv();
                });
                work.await
            }));
        }
        for _ in 0..limits.readers {
            begins.recv().await.unwrap();
        }
        let look = |ledger: &mut dyn Ledger| read(ledger, |tx| tx.parked().map(drop));
        let probe = ledgers.probe(&local, move |_, ledger| look(ledger));
        let probed = tokio::time::timeout(Duration::from_secs(1), probe).await;
        assert!(matches!(probed, Ok(Ok(Ok(())))), "{probed:?}");
        ledgers.try_write(&[local]).await.unwrap();
        drop(free);
        for work in slow {
            work.await.unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn a_read_ends_when_nobody_waits_for_it_any_more() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("ledger.db");
        let store = Store::File(file, Written(Arc::new(|| {})));
        let limits = Limits {
            readers: 1,
            ..Limits::default()
        };
        let ledgers = Ledgers::open(&store, &limits).unwrap();
        let local = Ledgers::local();
        let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
        let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
        // Two that read until they cannot: one waits for the other.
        let endless: Vec<_> = (0..2)
            .map(|n| {
                let (ledgers, local) = (ledgers.clone(), local.clone());
                let (begun, ended) = (begun.clone(), ended.clone());
                tokio::spawn(async move {
                    let work = ledgers.read(&local, move |_, ledger| {
                        begun.send(n).unwrap();
                        let read: Result<(), _> = read(ledger, |tx| {
                            loop {
                                tx.parked()?;
                            }
                        });
                        ended.send(read.unwrap_err()).unwrap();
                    });
                    work.await
                })
            })
            .collect();
        let first = begins.recv().await.unwrap();
        let look = |ledger: &mut dyn Ledger| read(ledger, |tx| tx.parked().map(drop));
        let next = ledgers.read(&local, move |_, ledger| look(ledger));
        let within = tokio::time::timeout(Duration::from_millis(300), next).await;
        assert!(within.is_err(), "the only one who reads is busy");
        for work in endless.iter().rev() {
            work.abort();
        }
        let next = ledgers.read(&local, move |_, ledger| look(ledger));
        let within = tokio::time::timeout(Duration::from_secs(1), next).await;
        assert!(matches!(within, Ok(Ok(Ok(())))), "{within:?}");
        let why = ends.recv().await.unwrap();
        assert!(matches!(why, LedgerError::Cancelled), "{why}");
        assert!(
            begins.try_recv().is_err(),
            "{first}: the other was not begun"
        );
    }
}
