//! Work beside the commits: a thread with a connection of its own, which is told when there is something new and is
//! never waited for.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use siglum_engine::Slice;
use siglum_ledger::{Ledger, LedgerError};

use crate::place::Place;

/// How long a store that is let go waits for what is under way.
const GRACE: Duration = Duration::from_secs(1);
/// How often it looks by itself: for what other processes committed, and what failed before.
pub(crate) const LOOK: Duration = Duration::from_secs(1);

enum Order {
    /// There may be something to do.
    Wake,
    /// The same, and who asked is told when all is done.
    Finish(Sender<()>),
}

pub(crate) struct BackgroundWorker {
    orders: Option<Sender<Order>>,
    ended: Mutex<Receiver<()>>,
}

impl BackgroundWorker {
    /// Does `work` until it is idle, whenever told, every so often, and once more when let go.
    pub(crate) fn start(
        place: Place,
        every: Duration,
        work: impl FnMut(&mut dyn Ledger) -> Result<Slice, LedgerError> + Send + 'static,
    ) -> Self {
        let (orders, received) = channel();
        let (end, ended) = channel();
        thread::spawn(move || {
            serve(&place, every, work, &received);
            drop(end);
        });
        Self {
            orders: Some(orders),
            ended: Mutex::new(ended),
        }
    }

    /// Tells that there may be something to do. Waits for nothing.
    pub(crate) fn wake(&self) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(Order::Wake);
        }
    }

    /// Waits until all is done, `most` at most.
    pub(crate) fn finish(&self, most: Duration) {
        let (done, wait) = channel();
        if let Some(orders) = &self.orders
            && orders.send(Order::Finish(done)).is_ok()
        {
            let _ = wait.recv_timeout(most);
        }
    }
}

impl Drop for BackgroundWorker {
    fn drop(&mut self) {
        drop(self.orders.take());
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        // One that hangs is left behind: what it did not do is done after the next start.
        let _ = ended.recv_timeout(GRACE);
    }
}

fn serve(
    place: &Place,
    every: Duration,
    mut work: impl FnMut(&mut dyn Ledger) -> Result<Slice, LedgerError>,
    orders: &Receiver<Order>,
) {
    let mut ledger = None;
    loop {
        let (mut last, mut waiting) = (false, Vec::new());
        match orders.recv_timeout(every) {
            Ok(Order::Finish(done)) => waiting.push(done),
            Ok(Order::Wake) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => last = true,
        }
        for order in orders.try_iter() {
            if let Order::Finish(done) = order {
                waiting.push(done);
            }
        }
        if let Err(error) = all(place, &mut ledger, &mut work) {
            // The next look tries again.
            tracing::debug!("beside the commits: {error}");
        }
        for done in waiting {
            let _ = done.send(());
        }
        if last {
            return;
        }
    }
}

fn all(
    place: &Place,
    ledger: &mut Option<Box<dyn Ledger + Send>>,
    work: &mut impl FnMut(&mut dyn Ledger) -> Result<Slice, LedgerError>,
) -> Result<(), LedgerError> {
    let open = match ledger {
        Some(open) => open,
        None => ledger.insert(place.connect()?),
    };
    while work(open.as_mut())? == Slice::Worked {}
    Ok(())
}
