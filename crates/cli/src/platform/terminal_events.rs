//! What comes to a command that has the terminal to itself: keys, signals, and what its own threads have to say.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::SigId;
use signal_hook::consts::signal;
use signal_hook::flag;
use signal_hook::low_level::{pipe, unregister};

/// How many bytes of keys are read at once.
const TYPED_MOST: usize = 4096;

/// Whether signals do what they usually do: once nobody catches them any more. Of an interrupt, a pager may say otherwise.
static IS_USUAL: AtomicBool = AtomicBool::new(false);
static IS_INTERRUPTIBLE: AtomicBool = AtomicBool::new(false);

/// Leaves interrupts to a pager, which has the keys of the terminal from now on.
pub fn leave_interrupts_to_pager() {
    IS_INTERRUPTIBLE.store(false, Ordering::SeqCst);
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To end; also where the terminal is gone.
    End,
    /// To give the terminal to the shell, until it comes back.
    Suspend,
    /// To draw everything again: the terminal has another size, or somebody else had it.
    Redraw,
}

/// What came.
#[derive(Debug, Default)]
pub struct Noticed {
    /// The bytes of keys.
    pub typed: Vec<u8>,
    pub wish: Option<Wish>,
    /// Whether nothing came for as long as was waited.
    pub is_timeout: bool,
}

/// Keys and signals, from when this is made on. When it goes, signals do what they usually do.
pub struct TerminalEvents {
    waker: Waker,
    end: Arc<AtomicBool>,
    suspend: Arc<AtomicBool>,
    redraw: Arc<AtomicBool>,
    /// What is done for signals while this lives.
    caught: Vec<SigId>,
}

/// Ends the waiting of [`TerminalEvents`], from any thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<Bell>);

/// Both ends of a pipe. They close together: a thread that rings when nobody waits any more must not be sent `SIGPIPE`, which
/// ends the process while it becomes another program.
#[derive(Debug)]
struct Bell {
    heard: UnixStream,
    rung: UnixStream,
}

impl Waker {
    pub fn wake(&self) {
        // Where it is full, somebody is woken already.
        let _ = rustix::io::write(&self.0.rung, &[0]);
    }
}

impl TerminalEvents {
    /// Catches the signals.
    ///
    /// # Errors
    /// The system refuses.
    pub fn catch() -> io::Result<Self> {
        let (heard, rung) = UnixStream::pair()?;
        heard.set_nonblocking(true)?;
        rung.set_nonblocking(true)?;
        let mut events = Self {
            waker: Waker(Arc::new(Bell { heard, rung })),
            end: Arc::default(),
            suspend: Arc::default(),
            redraw: Arc::default(),
            caught: Vec::new(),
        };
        IS_USUAL.store(false, Ordering::SeqCst);
        IS_INTERRUPTIBLE.store(false, Ordering::SeqCst);
        for (number, wish) in [
            (signal::SIGINT, Arc::clone(&events.end)),
            (signal::SIGTERM, Arc::clone(&events.end)),
            (signal::SIGHUP, Arc::clone(&events.end)),
            (signal::SIGQUIT, Arc::clone(&events.end)),
            (signal::SIGTSTP, Arc::clone(&events.suspend)),
            (signal::SIGCONT, Arc::clone(&events.redraw)),
            (signal::SIGWINCH, Arc::clone(&events.redraw)),
        ] {
            let is_usual = match number {
                signal::SIGINT => &IS_INTERRUPTIBLE,
                _ => &IS_USUAL,
            };
            flag::register_conditional_default(number, is_usual)?;
            let bell = events.waker.0.rung.try_clone()?;
            let caught = [flag::register(number, wish)?, pipe::register(number, bell)?];
            events.caught.extend(caught);
        }
        Ok(events)
    }

    /// What ends the waiting from another thread.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Waits until something comes, and no longer than `most`.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn wait(&self, most: Option<Duration>) -> io::Result<Noticed> {
        let stdin = io::stdin();
        let bell = &self.waker.0.heard;
        let most = most.and_then(|most| Timespec::try_from(most).ok());
        let mut sources = [
            PollFd::new(&stdin, PollFlags::IN),
            PollFd::new(bell, PollFlags::IN),
        ];
        let mut noticed = Noticed::default();
        match poll(&mut sources, most.as_ref()) {
            Ok(ready) => noticed.is_timeout = ready == 0,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [has_keys, is_woken] = sources.map(|source| !source.revents().is_empty());
        if is_woken {
            let mut bytes = [0; 64];
            while matches!((&*bell).read(&mut bytes), Ok(1..)) {}
        }
        if has_keys {
            noticed.typed = self.typed()?;
        }
        let wishes = [
            (&self.end, Wish::End),
            (&self.suspend, Wish::Suspend),
            (&self.redraw, Wish::Redraw),
        ];
        let is_set = |wish: &AtomicBool| wish.swap(false, Ordering::SeqCst);
        let first = wishes.into_iter().find(|(wish, _)| is_set(wish));
        noticed.wish = first.map(|(_, wish)| wish);
        Ok(noticed)
    }

    fn typed(&self) -> io::Result<Vec<u8>> {
        let mut bytes = [0; TYPED_MOST];
        match rustix::io::read(io::stdin(), &mut bytes) {
            // The terminal hung up.
            Ok(0) | Err(Errno::IO) => self.end.store(true, Ordering::SeqCst),
            Ok(length) => return Ok(bytes[..length].to_vec()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Vec::new())
    }
}

impl Drop for TerminalEvents {
    fn drop(&mut self) {
        for caught in self.caught.drain(..) {
            unregister(caught);
        }
        IS_USUAL.store(true, Ordering::SeqCst);
        IS_INTERRUPTIBLE.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_rings_when_nobody_waits_any_more_is_sent_no_signal() {
        let events = TerminalEvents::catch().unwrap();
        let waker = events.waker();
        drop(events);
        assert_eq!(rustix::io::write(&waker.0.rung, &[0]), Ok(1));
    }
}
