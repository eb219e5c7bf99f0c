//! Delivers what is committed to the OTLP endpoints of a PostgreSQL store, beside the gateway.
//!
//! Each endpoint has a thread, and all of them share one connection, which is made when the first tenant has an endpoint. Of
//! several gateways, one at a time has the right to feed an endpoint, for as long as its connection lasts.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use siglum_domain::Tenant;
use siglum_engine::share::otel::destination::Destination;
use siglum_gateway::{Projecting, Store};
use siglum_ledger::{
    BlobSettings, Ledger, LedgerError, PostgresConnection, PostgresSettings, Projection,
    SharedLedger, read,
};

use crate::commands::worker::feeders::{Feeders, Source};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::home::Home;
use crate::otel_headers;
use crate::store;

/// How often it is looked whether there are other endpoints.
const LOOK: Duration = Duration::from_secs(1);
/// How long what is on its way may take when the gateway stops.
const STOP: Duration = Duration::from_secs(5);
/// How often it is looked whether it has arrived.
const STOPPED: Duration = Duration::from_millis(50);
/// Endpoints that one gateway feeds, of all tenants together: each has a thread.
const ENDPOINTS: usize = 512;

/// The deliveries of one gateway.
pub(super) struct Deliveries {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    /// Who has projections, as the gateway said last.
    tenants: Mutex<BTreeSet<Tenant>>,
    stopped: AtomicBool,
}

impl Deliveries {
    /// Delivers from a store, until it is stopped. Nothing for a file: that is its worker's.
    pub(super) fn from_store(store: &Store, cx: &Cx) -> Option<Self> {
        match store {
            Store::File(..) => None,
            Store::Server(address, blobs) => Some(Self::start(cx, address, blobs.clone())),
        }
    }

    fn start(cx: &Cx, address: &str, blobs: Option<BlobSettings>) -> Self {
        let shared = Arc::<Shared>::default();
        let settings = PostgresSettings {
            blobs,
            ..PostgresSettings::new(address, store::default_tenant())
        };
        let at_work = AtWork {
            cx: cx.clone(),
            connection: Arc::new(Mutex::new(PostgresConnection::new(settings))),
            shared: Arc::clone(&shared),
            fed: BTreeMap::new(),
        };
        let thread = thread::spawn(move || at_work.run());
        Self { shared, thread }
    }

    /// What the gateway tells who has projections.
    pub(super) fn projecting(&self) -> Projecting {
        let shared = Arc::clone(&self.shared);
        Projecting(Arc::new(move |tenants: BTreeSet<Tenant>| {
            *lock(&shared.tenants) = tenants;
        }))
    }

    /// Begins nothing more, and waits a moment for what is on its way.
    pub(super) fn stop(self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.thread.thread().unpark();
        // One that panicked delivers nothing.
        let _ = self.thread.join();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that looks who has endpoints.
struct AtWork {
    cx: Cx,
    connection: Arc<Mutex<PostgresConnection>>,
    shared: Arc<Shared>,
    /// The threads of each tenant. Nobody is let go: the threads of one who has no endpoint any more leave by themselves.
    fed: BTreeMap<Tenant, (SharedLedger, Feeders)>,
}

impl AtWork {
    fn run(mut self) {
        while !self.shared.stopped.load(Ordering::SeqCst) {
            let tenants = lock(&self.shared.tenants).clone();
            let mut room = ENDPOINTS;
            for tenant in tenants {
                if let Err(error) = self.follow(&tenant, &mut room) {
                    tracing::warn!("cannot deliver for tenant {tenant}: {:#}", error.source);
                }
            }
            thread::park_timeout(LOOK);
        }
        let until = Instant::now() + STOP;
        // All are told before any is waited for.
        while !self.close_all() && Instant::now() < until {
            thread::sleep(STOPPED);
        }
    }

    fn close_all(&self) -> bool {
        let closed: Vec<bool> = self.fed.values().map(|(_, f)| f.close()).collect();
        closed.into_iter().all(|is_closed| is_closed)
    }

    /// Has threads for the endpoints of a tenant, as far as there is room.
    fn follow(&mut self, tenant: &Tenant, room: &mut usize) -> Result<(), CommandError> {
        let (ledger, feeders) = match self.fed.entry(tenant.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let home = &self.cx.home;
                home.create().map_err(CommandError::at(home.dir()))?;
                let ledger = SharedLedger::open(&self.connection, tenant.clone())?;
                let source = TenantLedger {
                    ledger: ledger.clone(),
                    home: home.clone(),
                    unfed: Mutex::default(),
                };
                free.insert((ledger, Feeders::new(&self.cx, Arc::new(source), true)))
            }
        };
        let mut endpoints = read(ledger, |tx| tx.projections())?;
        endpoints.retain(|p| Destination::from_projection(p).is_some());
        endpoints.truncate(*room);
        *room -= endpoints.len();
        feeders.follow(endpoints);
        Ok(())
    }
}

/// The ledger of a tenant.
struct TenantLedger {
    ledger: SharedLedger,
    home: Home,
    /// The endpoints whose headers are not here, as it was logged.
    unfed: Mutex<BTreeSet<String>>,
}

impl Source for TenantLedger {
    fn open(&self) -> Result<Box<dyn Ledger>, CommandError> {
        Ok(Box::new(self.ledger.clone()))
    }

    /// An endpoint whose headers are not here is left to a gateway that has them.
    fn feeds(&self, projection: &Projection) -> bool {
        let Some(destination) = Destination::from_projection(projection) else {
            return false;
        };
        let secret = self.secret_name(&projection.name);
        let client = destination.and_then(|d| otel_headers::client(&self.home, &secret, &d));
        let Err(why) = client else {
            lock(&self.unfed).remove(&projection.name);
            return true;
        };
        if lock(&self.unfed).insert(projection.name.clone()) {
            tracing::warn!(
                "nothing is delivered from here to {}: {why}",
                projection.name
            );
        }
        false
    }

    fn holds(&self, projection: &str) -> Result<bool, LedgerError> {
        self.ledger.hold(&right(projection))
    }

    fn release(&self, projection: &str) {
        self.ledger.release(&right(projection));
    }

    fn secret_name(&self, projection: &str) -> String {
        store::secret_name_on_server(self.ledger.id(), projection)
    }
}

/// The name of the right to feed a projection.
fn right(projection: &str) -> String {
    format!("projection {projection}")
}
