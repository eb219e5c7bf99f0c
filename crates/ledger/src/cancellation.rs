//! Reads that nobody waits for any more.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
#[cfg(feature = "postgres")]
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ends the statement that a connection to a server runs. It may take as long as a connection.
#[cfg(feature = "postgres")]
pub(crate) type Interrupt = Arc<dyn Fn() + Send + Sync>;

/// The way to end reads that are in progress, from any thread. A copy is the same. A ledger that has one refuses all further
/// work once it is cancelled.
#[derive(Clone, Default)]
pub struct Cancellation(Arc<State>);

#[derive(Default)]
struct State {
    is_cancelled: AtomicBool,
    #[cfg(feature = "postgres")]
    running: Mutex<Running>,
}

/// What runs on a server.
#[cfg(feature = "postgres")]
#[derive(Default)]
struct Running {
    interrupt: Option<Interrupt>,
    was_interrupted: bool,
}

impl Cancellation {
    /// Nobody waits any more. It waits for nothing: what computes here ends by itself, and what waits for a server by
    /// `interrupt`.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
    }

    /// Whether nobody waits any more.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Relaxed)
    }
}

#[cfg(feature = "postgres")]
impl Cancellation {
    /// Has a server end what runs there, and tells whether anything did. A statement that is only on its way then is not
    /// ended, so one asks again until nothing runs.
    #[must_use]
    pub fn interrupt(&self) -> bool {
        let mut running = self.running();
        let Some(interrupt) = running.interrupt.clone() else {
            return false;
        };
        running.was_interrupted = true;
        drop(running);
        interrupt();
        true
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        let running = self.0.running.lock();
        running.unwrap_or_else(PoisonError::into_inner)
    }

    /// A transaction begins on a connection.
    pub(crate) fn begin(&self, interrupt: &Interrupt) -> Interruptible {
        self.running().interrupt = Some(Arc::clone(interrupt));
        Interruptible(self.clone())
    }
}

/// A transaction that may be interrupted, until this is let go.
#[cfg(feature = "postgres")]
pub(crate) struct Interruptible(Cancellation);

#[cfg(feature = "postgres")]
impl Interruptible {
    /// The transaction has ended. Tells whether the server was, or is, to end a statement of this connection: it may come to
    /// that late, and end whatever the connection does then.
    pub(crate) fn end(self) -> bool {
        let mut running = self.0.running();
        running.interrupt = None;
        running.was_interrupted
    }
}

#[cfg(feature = "postgres")]
impl Drop for Interruptible {
    fn drop(&mut self) {
        self.0.running().interrupt = None;
    }
}
