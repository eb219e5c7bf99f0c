//! A PostgreSQL store: threads with a connection for each tenant that they met lately.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

use siglum_domain::Tenant;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{LedgerError, PostgresLedger, PostgresSettings};

use super::Unavailable;
use super::file::{give, next};
use super::job::Job;
use super::store::Ledgers;
use crate::settings::Limits;

/// Threads that write and read.
const THREADS: usize = 16;
/// Tenants that one thread keeps a connection for.
const TENANTS: usize = 4;

/// Lists tenants of a server.
type List = fn(&PostgresSettings) -> Result<Vec<Tenant>, LedgerError>;

/// The threads of a server. They end when this is let go and all jobs are done.
pub(super) struct Server {
    jobs: SyncSender<Job>,
    /// To a thread that is never behind what others asked for.
    probes: SyncSender<Job>,
    url: String,
}

impl Server {
    pub(super) fn open(url: &str, limits: &Limits) -> Result<Self, LedgerError> {
        // Brings the store to the schema of this program; who has a ledger there is another matter.
        PostgresLedger::prepare(&PostgresSettings::new(url, Ledgers::local()))?;
        let (jobs, taken) = sync_channel(limits.queue);
        let taken = Arc::new(Mutex::new(taken));
        for _ in 0..THREADS {
            let (url, taken) = (url.to_owned(), Arc::clone(&taken));
            thread::spawn(move || serve(&url, &taken));
        }
        let (probes, taken) = sync_channel(limits.queue);
        let (probed, taken) = (url.to_owned(), Mutex::new(taken));
        thread::spawn(move || serve(&probed, &taken));
        let url = url.to_owned();
        Ok(Self { jobs, probes, url })
    }

    /// The tenants that have heartbeats.
    pub(super) async fn beating(&self) -> BTreeSet<Tenant> {
        self.tenants("heartbeats", PostgresLedger::beating).await
    }

    /// The tenants that have turns open.
    pub(super) async fn driving(&self) -> BTreeSet<Tenant> {
        self.tenants("open turns", PostgresLedger::driving).await
    }

    async fn tenants(&self, what: &str, list: List) -> BTreeSet<Tenant> {
        let settings = PostgresSettings::new(&self.url, Ledgers::local());
        let listed = tokio::task::spawn_blocking(move || list(&settings));
        match listed.await {
            Ok(Ok(tenants)) => tenants.into_iter().collect(),
            Ok(Err(error)) => {
                tracing::warn!("cannot list the tenants with {what}: {error}");
                BTreeSet::new()
            }
            Err(_) => BTreeSet::new(),
        }
    }

    pub(super) fn take(&self, job: Job) -> Result<(), Unavailable> {
        give(&self.jobs, job)
    }

    pub(super) fn probe(&self, job: Job) -> Result<(), Unavailable> {
        give(&self.probes, job)
    }
}

fn serve(url: &str, jobs: &Mutex<Receiver<Job>>) {
    // The one met last is the last.
    let mut met: Vec<(Tenant, PostgresLedger)> = Vec::new();
    while let Some(mut job) = next(jobs) {
        let known = met.iter().position(|(tenant, _)| *tenant == job.tenant);
        let opened = match known {
            Some(at) => Ok(met.remove(at).1),
            None => existing(url, &job.tenant),
        };
        let mut ledger = match opened {
            Ok(ledger) => ledger,
            Err(LedgerError::Unwritable(_)) => {
                job.refuse(Unavailable::NoTenant);
                continue;
            }
            Err(error) => {
                job.fail(&error);
                continue;
            }
        };
        // A connection on which something panicked is let go, with its transaction.
        if catch_unwind(AssertUnwindSafe(|| job.run(&mut ledger))).is_ok() {
            met.push((job.tenant.clone(), ledger));
            if met.len() > TENANTS {
                met.remove(0);
            }
        }
        job.tell();
    }
}

/// The ledger of a tenant that has one: a request makes none.
fn existing(url: &str, tenant: &Tenant) -> Result<PostgresLedger, LedgerError> {
    PostgresLedger::open(&PostgresSettings::new(url, tenant.clone()), Open::Hook)
}
