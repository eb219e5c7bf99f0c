//! One SQLite file: a thread that writes, some that read, one that tells whether it can be read, and one that keeps the
//! store's own log short.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use siglum_domain::LedgerId;
use siglum_ledger::sqlite::{LogRest, Open};
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
        let log = OwnLog::kept_short(SqliteLedger::open_known(path, id)?);
        thread::spawn(move || write_all(ledger, &jobs, &written, log));
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

/// The store's own log, as the thread that writes knows it. Another thread copies the log, which may be long after somebody
/// has read for long, and holds up no write; the short rest is left for between two writes.
struct OwnLog {
    /// Wakes the other thread.
    written: SyncSender<()>,
    /// When the rest was short.
    short: Receiver<Instant>,
}

impl OwnLog {
    fn kept_short(ledger: SqliteLedger) -> Self {
        let (written, wakes) = sync_channel(1);
        let (rest, short) = sync_channel(1);
        thread::spawn(move || copy_all(&ledger, &wakes, &rest));
        Self { written, short }
    }

    /// Cuts the log off if the rest was short a moment ago.
    fn cut_off(&self, ledger: &SqliteLedger) {
        let at = self.short.try_iter().last();
        if at.is_some_and(|at| at.elapsed() < MAINTAIN) {
            // Whoever reads may be in the way; then it is done the next time.
            let _ = ledger.cut_log();
        }
    }
}

/// Copies the log whenever something was written, and until all of it is copied.
fn copy_all(ledger: &SqliteLedger, wakes: &Receiver<()>, rest: &SyncSender<Instant>) {
    let (mut is_behind, mut is_failing) = (false, false);
    loop {
        let next = match is_behind {
            true => wakes.recv_timeout(MAINTAIN),
            false => wakes.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        if next == Err(RecvTimeoutError::Disconnected) {
            return;
        }
        let left = ledger.copy_log();
        if let Err(error) = &left
            && !is_failing
        {
            tracing::warn!("the log of the ledger was not copied into its file: {error}");
        }
        is_failing = left.is_err();
        if matches!(left, Ok(LogRest::Short)) {
            // One that is not taken is still there, and too old by then.
            let _ = rest.try_send(Instant::now());
        }
        is_behind = matches!(left, Ok(LogRest::Short | LogRest::Long));
    }
}

fn write_all(mut ledger: SqliteLedger, jobs: &Receiver<Job>, written: &Written, log: OwnLog) {
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
        log.cut_off(&ledger);
        if maintained.elapsed() >= MAINTAIN {
            // Where it is still at it, it looks again by itself.
            let _ = log.written.try_send(());
            (written.0)();
            (maintained, is_news) = (Instant::now(), false);
        }
    }
    drop(log);
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
