//! What a thread is given to do, and how whoever waits for it is told.

use std::any::Any;

use siglum_domain::Tenant;
use siglum_domain::redact::Redactor;
use siglum_engine::Here;
use siglum_ledger::{Cancellation, Ledger, LedgerError};
use siglum_platform::clock::{self, Ids};
use tokio::sync::oneshot;

use super::Unavailable;

/// The process that this runs in.
pub(crate) fn here() -> Here<'static> {
    Here {
        ids: &Ids,
        clock: &clock::now,
        // Whoever drives through the gateway may be on any machine.
        alive: &|_| None,
        redactor: Redactor::shared(),
    }
}

/// The same, where it tells whether a driver lives whose process was on this machine.
pub(crate) fn seeing<'a>(here: &Here<'a>) -> Here<'a> {
    Here {
        alive: &siglum_platform::alive,
        ..*here
    }
}

/// What a job gives. Whoever asked knows its type: jobs of all types are one in between.
pub(super) type JobOutput = Box<dyn Any + Send>;

/// Where the result of a job comes.
pub(super) type JobReply = oneshot::Receiver<Result<JobOutput, Unavailable>>;

type Work = Box<dyn FnMut(&Here<'_>, &mut dyn Ledger) -> JobOutput + Send>;

/// Work of one request.
pub(super) struct Job {
    /// Whose ledger. A file has one tenant.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "a file has one tenant")
    )]
    pub(super) tenant: Tenant,
    work: Work,
    done: Option<JobOutput>,
    /// The way to end it, where it only reads.
    cancellation: Option<Cancellation>,
    tell: oneshot::Sender<Result<JobOutput, Unavailable>>,
}

impl Job {
    /// A job, and where its result comes.
    pub(super) fn new<T: Send + 'static>(
        tenant: &Tenant,
        mut work: impl FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send + 'static,
    ) -> (Self, JobReply) {
        let (tell, told) = oneshot::channel();
        let work = move |here: &Here<'_>, ledger: &mut dyn Ledger| -> JobOutput {
            Box::new(work(here, ledger))
        };
        let job = Self {
            tenant: tenant.clone(),
            work: Box::new(work),
            done: None,
            cancellation: None,
            tell,
        };
        (job, told)
    }

    /// A job that only reads, which ends once nobody waits for it. Others go on: whoever sent them may ask what came of them.
    pub(super) fn reading<T: Send + 'static>(
        tenant: &Tenant,
        work: impl FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send + 'static,
    ) -> (Self, JobReply) {
        let (job, told) = Self::new(tenant, work);
        let cancellation = Some(Cancellation::default());
        (
            Self {
                cancellation,
                ..job
            },
            told,
        )
    }

    /// The way to end it, where it only reads.
    pub(super) fn cancellation(&self) -> Option<Cancellation> {
        self.cancellation.clone()
    }

    /// Whether it is to be done: it writes, or somebody waits for it.
    pub(super) fn is_wanted(&self) -> bool {
        self.cancellation.is_none() || !self.tell.is_closed()
    }

    /// Does it. Nobody is told yet.
    pub(super) fn run(&mut self, ledger: &mut dyn Ledger) {
        self.done = Some((self.work)(&here(), ledger));
    }

    /// Tells the result: what was done is stored.
    pub(super) fn tell(self) {
        // A job that was not run has panicked. Whoever asked may have gone.
        let _ = self.tell.send(self.done.ok_or(Unavailable::Broken));
    }

    /// Tells that it was not done, or that what was done is not stored.
    pub(super) fn fail(self, error: &LedgerError) {
        self.refuse(Unavailable::from(error));
    }

    /// Tells why it was not done.
    pub(super) fn refuse(self, why: Unavailable) {
        let _ = self.tell.send(Err(why));
    }
}
