//! One SQLite file: a thread that writes, some that read, and one that tells whether it can be read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use siglum_domain::LedgerId;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Durability, Joined, Ledger, LedgerError, SqliteLedger, write};
use siglum_platform::clock::{self, Ids};
use siglum_platform::disk::{self, ROOM_NONE};

use super::Unavailable;
use super::job::Job;
use crate::settings::{Limits, Written};

/// How many jobs are stored with one sync, at most.
const GROUP: usize = 256;
/// After this, no further job is taken into a group: hooks of this machine want to write, too.
const GROUP_TIME: Duration = Duration::from_millis(20);
/// How often what waits in the store's own log is brought into its file.
const MAINTAIN: Duration = Duration::from_secs(1);

/// The threads of a file. They end when this is let go and all jobs are done.
pub(super) struct File {
    writer: SyncSender<Job>,
    readers: SyncSender<Job>,
    /// A reader that is never behind what others asked for.
    prober: SyncSender<Job>,
    path: PathBuf,
}

impl File {
    pub(super) fn open(
        path: &Path,
        written: Written,
        limits: &Limits,
    ) -> Result<Self, LedgerError> {
        let ledger = SqliteLedger::open(path, how())?.in_parts()?;
        let id = ledger.id();
        let (writer, jobs) = sync_channel(limits.queue);
        thread::spawn(move || write_all(ledger, &jobs, &written));
        let (readers, jobs) = sync_channel(limits.queue);
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..limits.readers.max(1) {
            let (path, jobs) = (path.to_owned(), Arc::clone(&jobs));
            thread::spawn(move || read_all(&path, id, &jobs));
        }
        let (prober, jobs) = sync_channel(limits.queue);
        let (probed, jobs) = (path.to_owned(), Mutex::new(jobs));
        thread::spawn(move || read_all(&probed, id, &jobs));
        let path = path.to_owned();
        Ok(Self {
            writer,
            readers,
            prober,
            path,
        })
    }

    /// Refuses where its disk is full: what the file has reserved before takes a little more, and then no commit does.
    pub(super) fn has_room(&self) -> Result<(), Unavailable> {
        match disk::room(&self.path) {
            Some(room) if room < ROOM_NONE => {
                let text = format!("the disk of the ledger is full: {room} bytes are left");
                Err(Unavailable::Refused(text))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn write(&self, job: Job) -> Result<(), Unavailable> {
        give(&self.writer, job)
    }

    pub(super) fn read(&self, job: Job) -> Result<(), Unavailable> {
        give(&self.readers, job)
    }

    pub(super) fn probe(&self, job: Job) -> Result<(), Unavailable> {
        give(&self.prober, job)
    }
}

/// How a ledger is opened here.
pub(super) fn how() -> Open {
    Open::Command {
        id: LedgerId::mint(&Ids),
        key: clock::secret(),
    }
}

/// Hands a job over; one that finds no room is not done.
pub(super) fn give<T>(to: &SyncSender<T>, job: T) -> Result<(), Unavailable> {
    to.try_send(job).map_err(|error| match error {
        TrySendError::Full(_) => Unavailable::Full,
        TrySendError::Disconnected(_) => Unavailable::Broken,
    })
}

fn write_all(mut ledger: SqliteLedger, jobs: &Receiver<Job>, written: &Written) {
    let mut maintained = Instant::now();
    let mut is_news = false;
    loop {
        // What was written is told to others once it is a while ago, and no more often than that.
        let next = match is_news {
            true => jobs.recv_timeout(MAINTAIN.saturating_sub(maintained.elapsed())),
            false => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match next {
            Ok(first) => {
                write_group(&mut ledger, first, jobs);
                is_news = true;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if maintained.elapsed() >= MAINTAIN {
            // Whoever reads may be in the way; then it is done the next time.
            let _ = ledger.maintain();
            (written.0)();
            (maintained, is_news) = (Instant::now(), false);
        }
    }
    let _ = ledger.maintain();
    (written.0)();
}

/// Does what waits, in one transaction: all who wait are told when it is stored.
fn write_group(ledger: &mut SqliteLedger, first: Job, jobs: &Receiver<Job>) {
    let (id, key) = (ledger.id(), ledger.key());
    let begun = Instant::now();
    let mut first = Some(first);
    let (mut done, mut broken) = (Vec::new(), Vec::new());
    let stored = write(ledger, Durability::Disk, |tx| {
        while let Some(mut job) = first.take().or_else(|| jobs.try_recv().ok()) {
            let mut why = None;
            let mut part = |tx: &mut dyn siglum_ledger::Transaction| {
                let mut joined = Joined::new(tx, id, key);
                let run = catch_unwind(AssertUnwindSafe(|| job.run(&mut joined)));
                run.map_err(|_| {
                    why = Some(Unavailable::Broken);
                    LedgerError::Storage("a job panicked".into())
                })
            };
            match tx.nested(&mut part) {
                Ok(()) => done.push(job),
                Err(error) => {
                    let why = why.unwrap_or_else(|| Unavailable::from(&error));
                    broken.push((job, why));
                }
            }
            if done.len() + broken.len() >= GROUP || begun.elapsed() > GROUP_TIME {
                break;
            }
        }
        Ok(())
    });
    match stored {
        Ok(()) => done.into_iter().for_each(Job::tell),
        Err(error) => {
            tracing::error!("what {} requests wrote was not stored: {error}", done.len());
            for job in done.into_iter().chain(first) {
                job.fail(&error);
            }
        }
    }
    // What they did was taken back, whatever they think of it.
    broken.into_iter().for_each(|(job, why)| job.refuse(why));
}

/// Takes jobs in turn with the other readers.
fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
    jobs.recv().ok()
}

fn read_all(path: &Path, id: LedgerId, jobs: &Mutex<Receiver<Job>>) {
    let mut ledger = None;
    while let Some(mut job) = next(jobs) {
        if !job.is_wanted() {
            continue;
        }
        if ledger.is_none() {
            match SqliteLedger::open_known(path, id) {
                Ok(opened) => ledger = Some(opened),
                Err(error) => {
                    job.fail(&error);
                    continue;
                }
            }
        }
        let Some(open) = &mut ledger else { continue };
        if let Err(error) = open.cancel_by(job.cancellation()) {
            job.fail(&error);
            continue;
        }
        // A transaction that was open is rolled back, and the next job gets a ledger of its own.
        if catch_unwind(AssertUnwindSafe(|| job.run(open))).is_err() {
            ledger = None;
        }
        job.tell();
    }
}
