//! Whether somebody wants a command to stop that goes on by itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::signal;

/// How often it is looked whether somebody wants to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Notices the signals by which people and programs end a command, from when it is made on.
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Catches the signals.
    ///
    /// # Errors
    /// The system refuses.
    pub fn catch() -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        for one in [signal::SIGINT, signal::SIGTERM, signal::SIGHUP] {
            signal_hook::flag::register(one, Arc::clone(&stop))?;
        }
        Ok(Self(stop))
    }

    /// Waits this long; `false`, and at once, if somebody wants to stop.
    pub fn wait(&self, time: Duration) -> bool {
        let mut left = time;
        while !self.0.load(Ordering::Relaxed) && !left.is_zero() {
            thread::sleep(LOOK);
            left = left.saturating_sub(LOOK);
        }
        !self.0.load(Ordering::Relaxed)
    }
}
