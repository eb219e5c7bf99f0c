//! What a thread is given to do, and how whoever waits for it is told.

use siglum_domain::Tenant;
use siglum_domain::redact::Redactor;
use siglum_engine::Here;
use siglum_ledger::{Ledger, LedgerError};
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

/// Work of one request.
pub(super) struct Job {
    /// Whose ledger. A file has one tenant.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "a file has one tenant")
    )]
    pub(super) tenant: Tenant,
    /// Does it, and gives what tells the one who waits.
    work: Box<dyn Work>,
}

impl Job {
    /// A job, and where its result comes.
    pub(super) fn new<T: Send + 'static>(
        tenant: &Tenant,
        work: impl FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send + 'static,
    ) -> (Self, oneshot::Receiver<Result<T, Unavailable>>) {
        let (tell, receiver) = oneshot::channel();
        let one = One {
            work,
            done: None,
            tell: Some(tell),
        };
        let job = Self {
            tenant: tenant.clone(),
            work: Box::new(one),
        };
        (job, receiver)
    }

    /// Does it. Nobody is told yet.
    pub(super) fn run(&mut self, ledger: &mut dyn Ledger) {
        self.work.run(ledger);
    }

    /// Tells the result: what was done is stored.
    pub(super) fn tell(mut self) {
        self.work.tell();
    }

    /// Tells that it was not done, or that what was done is not stored.
    pub(super) fn fail(self, error: &LedgerError) {
        self.refuse(Unavailable::from(error));
    }

    /// Tells why it was not done.
    pub(super) fn refuse(mut self, why: Unavailable) {
        self.work.fail(why);
    }
}

/// A job whose result has any type.
trait Work: Send {
    fn run(&mut self, ledger: &mut dyn Ledger);
    fn tell(&mut self);
    fn fail(&mut self, why: Unavailable);
}

struct One<W, T> {
    work: W,
    done: Option<T>,
    tell: Option<oneshot::Sender<Result<T, Unavailable>>>,
}

impl<W, T> One<W, T> {
    /// Whoever asked may have gone.
    fn send(&mut self, result: Result<T, Unavailable>) {
        if let Some(tell) = self.tell.take() {
            let _ = tell.send(result);
        }
    }
}

impl<W, T> Work for One<W, T>
where
    W: FnMut(&Here<'_>, &mut dyn Ledger) -> T + Send,
    T: Send,
{
    fn run(&mut self, ledger: &mut dyn Ledger) {
        self.done = Some((self.work)(&here(), ledger));
    }

    fn tell(&mut self) {
        // A job that was not run has panicked.
        let done = self.done.take().ok_or(Unavailable::Broken);
        self.send(done);
    }

    fn fail(&mut self, why: Unavailable) {
        self.send(Err(why));
    }
}
