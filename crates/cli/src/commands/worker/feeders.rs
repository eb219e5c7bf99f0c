//! One thread for each projection, beside the worker's own loop or a gateway: a sink that hangs holds up its own projection
//! only.
//!
//! A thread that is killed with its process loses nothing: what it had in its hands is handed over once more.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use siglum_domain::Timestamp;
use siglum_egress::Timeouts;
use siglum_engine::World;
use siglum_engine::share::ingest::Forwarder;
use siglum_engine::share::otel::Sessions;
use siglum_engine::share::otel::destination::{Destination, DestinationError, Sends};
use siglum_engine::share::project::{self, KINDS, Sink};
use siglum_engine::share::replica::{self, Destined, Sender};
use siglum_ledger::{DESTINATION, Ledger, LedgerError, Projection, read};

use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::gateway::{self, Way};
use crate::otel_headers;

/// How often a thread looks whether there is something new.
const LOOK: Duration = Duration::from_millis(100);
/// What is to be tried again within this time is waited for, in ms.
const WAIT_MS: i64 = 5_000;
/// How long a thread waits after the ledger failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A ledger, as the threads see it that feed its projections.
pub trait Source: Send + Sync {
    /// Opens the ledger, once for each thread.
    ///
    /// # Errors
    /// It cannot be opened.
    fn open(&self) -> Result<Box<dyn Ledger>, CommandError>;

    /// Whether a projection is fed from here.
    fn feeds(&self, projection: &Projection) -> bool;

    /// Whether this process alone feeds a projection now: whoever did so before is dead, or gave it up.
    ///
    /// # Errors
    /// Those of the ledger.
    fn holds(&self, projection: &str) -> Result<bool, LedgerError>;

    /// Leaves a projection to other processes.
    fn release(&self, projection: &str);

    /// What the headers of a projection are kept under.
    fn secret_name(&self, projection: &str) -> String;
}

/// The own ledger: the lock of the worker is that of all its projections.
struct OwnLedger(Cx);

impl Source for OwnLedger {
    fn open(&self) -> Result<Box<dyn Ledger>, CommandError> {
        Ok(Box::new(self.0.open_ledger_in_home()?))
    }

    fn feeds(&self, projection: &Projection) -> bool {
        KINDS.contains(&projection.kind.as_str()) && project::is_once(&projection.name).is_none()
    }

    fn holds(&self, _: &str) -> Result<bool, LedgerError> {
        Ok(true)
    }

    fn release(&self, _: &str) {}

    fn secret_name(&self, projection: &str) -> String {
        projection.to_owned()
    }
}

/// The threads that feed projections.
pub struct Feeders {
    cx: Cx,
    source: Arc<dyn Source>,
    /// A thread waits for no try, however near it is.
    once: bool,
    all: Vec<Feeder>,
    shared: Arc<Shared>,
}

/// What all threads are told.
#[derive(Default)]
struct Shared {
    /// Grows whenever there may be more to hand over.
    round: AtomicU64,
    /// No thread begins anything.
    paused: AtomicBool,
    /// All threads leave.
    closed: AtomicBool,
}

struct Feeder {
    name: String,
    stand: Arc<Mutex<Stand>>,
    thread: JoinHandle<()>,
}

/// How a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stand {
    /// It is at work, or waits for a try that is near.
    Busy,
    /// It found nothing to hand over in this round.
    Idle(u64),
    /// Its projection is gone, and so is it.
    Gone,
}

impl Feeders {
    /// None yet, for the own ledger.
    pub(super) fn from_own_ledger(cx: &Cx, once: bool) -> Self {
        Self::new(cx, Arc::new(OwnLedger(cx.clone())), once)
    }

    /// None yet.
    pub fn new(cx: &Cx, source: Arc<dyn Source>, once: bool) -> Self {
        Self {
            cx: cx.clone(),
            source,
            once,
            all: Vec::new(),
            shared: Arc::default(),
        }
    }

    /// Starts a thread for each projection that has none. One whose projection is gone leaves by itself.
    pub fn follow(&mut self, projections: Vec<Projection>) {
        self.shared.paused.store(false, Ordering::SeqCst);
        let wanted = |name: &str| projections.iter().any(|p| p.name == name);
        // One that failed is not begun again by this worker, lest it fail in a circle.
        let stays = |f: &Feeder| *lock(&f.stand) != Stand::Gone && wanted(&f.name);
        self.all.retain(|f| !f.thread.is_finished() || stays(f));
        for projection in projections {
            let has_thread = self.all.iter().any(|f| f.name == projection.name);
            if !has_thread && self.source.feeds(&projection) {
                self.start(projection.name);
            }
        }
    }

    fn start(&mut self, name: String) {
        let stand = Arc::new(Mutex::new(Stand::Busy));
        let at_work = AtWork {
            cx: self.cx.clone(),
            source: Arc::clone(&self.source),
            name: name.clone(),
            once: self.once,
            shared: Arc::clone(&self.shared),
            stand: Arc::clone(&stand),
        };
        let thread = thread::spawn(move || {
            if let Err(error) = at_work.run() {
                tracing::error!("projection {}: {:#}", at_work.name, error.source);
            }
        });
        self.all.push(Feeder {
            name,
            stand,
            thread,
        });
    }

    /// Says that there may be more to hand over.
    pub(super) fn more(&self) {
        self.shared.round.fetch_add(1, Ordering::SeqCst);
    }

    /// Whether no thread has anything to hand over since [`more`](Self::more) was said last.
    pub(super) fn are_idle(&self) -> bool {
        let round = Stand::Idle(self.shared.round.load(Ordering::SeqCst));
        let is_idle = |f: &Feeder| *lock(&f.stand) == round || f.thread.is_finished();
        self.all.iter().all(is_idle)
    }

    /// Has all threads begin nothing more until the next look; `false`, and they go on, where one is at work.
    pub(super) fn pause(&self) -> bool {
        self.shared.paused.store(true, Ordering::SeqCst);
        let at_work = |f: &Feeder| *lock(&f.stand) == Stand::Busy && !f.thread.is_finished();
        let is_free = !self.all.iter().any(at_work);
        self.shared.paused.store(is_free, Ordering::SeqCst);
        is_free
    }

    /// Has all threads leave once they are through with what they are at; `true` when they have.
    #[cfg(all(feature = "gateway", feature = "postgres"))]
    pub fn close(&self) -> bool {
        self.shared.closed.store(true, Ordering::SeqCst);
        self.all.iter().all(|f| f.thread.is_finished())
    }
}

/// Whether something could be handed over now.
pub(super) fn is_due(cx: &Cx) -> Result<bool, CommandError> {
    let mut ledger = cx.open_ledger_in_home()?;
    let now = cx.world_in_home()?.now();
    // Telemetry that was taken and not joined.
    if read(&mut ledger, |tx| tx.inbox())?.rows > 0 {
        return Ok(true);
    }
    for projection in read(&mut ledger, |tx| tx.projections())? {
        let is_native = |d: &Destination| d.sends == Sends::Native;
        if matches!(Destination::from_projection(&projection), Some(Ok(d)) if is_native(&d)) {
            let waits = read(&mut ledger, |tx| tx.forward_depth(&projection.name))?;
            if waits.rows > 0 && projection.scope.is_some() {
                return Ok(true);
            }
            continue;
        }
        if project::is_once(&projection.name).is_some() {
            continue;
        }
        let next = match projection.kind.as_str() {
            DESTINATION => replica::next_try(&mut ledger, &projection.name, now)?,
            kind if KINDS.contains(&kind) => project::next_try(&mut ledger, &projection.name)?,
            _ => None,
        };
        if next.is_some_and(|at| at <= now) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn lock(stand: &Mutex<Stand>) -> MutexGuard<'_, Stand> {
    stand.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a thread found.
enum Look {
    /// There is something to hand over.
    Due,
    /// There is nothing before then.
    Later(Option<Timestamp>),
    /// Its projection is gone.
    Gone,
}

/// One thread.
struct AtWork {
    cx: Cx,
    source: Arc<dyn Source>,
    name: String,
    once: bool,
    shared: Arc<Shared>,
    stand: Arc<Mutex<Stand>>,
}

/// The projection as it was looked at, and how it is fed.
type Open = (Projection, Feed);

/// What a thread knows of its projection.
#[derive(Default)]
struct Known {
    open: Option<Open>,
    /// The values of secret headers that it was opened with.
    secrets: Vec<Option<String>>,
    /// What whoever fed it before had in its hands was freed.
    is_taken_over: bool,
}

/// How a projection is fed.
enum Feed {
    /// Receipt by receipt.
    Sink(Box<dyn Sink>),
    /// What agents sent, as it came.
    Forwarder(Box<Forwarder>),
    /// In batches.
    Gateway(Box<(Sender, Way)>),
}

/// The secret headers of a projection as they are kept now under a name; none of one that is no OTLP destination.
fn secrets_of(cx: &Cx, projection: &Projection, secret: &str) -> Vec<Option<String>> {
    match Destination::from_projection(projection) {
        Some(Ok(destination)) => otel_headers::kept_values(&cx.home, secret, &destination),
        _ => Vec::new(),
    }
}

/// How a projection is fed, whose headers are kept under a name; nothing for one that its own program feeds.
fn feed_of(cx: &Cx, projection: &Projection, secret: &str) -> Option<Feed> {
    if projection.kind == DESTINATION {
        let client = gateway::client_of_worker(&cx.home, projection, Timeouts::default()).ok()?;
        return Some(Feed::Gateway(Box::new((Sender::default(), Way(client)))));
    }
    if let Some(destination) = Destination::from_projection(projection) {
        return traces(cx, (&projection.name, secret), destination);
    }
    project::sink(projection).map(Feed::Sink)
}

/// How a server gets traces of sessions.
fn traces(
    cx: &Cx,
    (name, secret): (&str, &str),
    destination: Result<Destination, DestinationError>,
) -> Option<Feed> {
    let destination = destination
        .inspect_err(|e| tracing::error!("destination {name}: {e}"))
        .ok()?;
    let client = otel_headers::client(&cx.home, secret, &destination);
    if destination.sends == Sends::Native {
        let forwarder = Forwarder::new(name, destination, client);
        return Some(Feed::Forwarder(Box::new(forwarder)));
    }
    let sink = Sessions::new(name, destination, client, Box::new(clock::now));
    Some(Feed::Sink(Box::new(sink)))
}

/// Whatever ends a thread, another process may feed its projection.
impl Drop for AtWork {
    fn drop(&mut self) {
        self.source.release(&self.name);
    }
}

impl AtWork {
    /// Feeds the projection until it is gone.
    fn run(&self) -> Result<(), CommandError> {
        let mut ledger = self.source.open()?;
        let world = self.cx.world_in_home()?;
        let mut known = Known::default();
        // It is tried each second, and said once.
        let mut last_failure = String::new();
        while !self.shared.closed.load(Ordering::SeqCst) {
            let round = self.shared.round.load(Ordering::SeqCst);
            let done = match self.poll(&world, &mut ledger, &mut known) {
                Ok(Look::Due) if self.begin() => self.feed(&world, &mut ledger, &mut known),
                Ok(Look::Due) => {
                    thread::sleep(LOOK);
                    Ok(())
                }
                Ok(Look::Later(next)) => {
                    self.wait(&world, next, round);
                    Ok(())
                }
                Ok(Look::Gone) => break,
                Err(error) => Err(error),
            };
            if let Err(error) = done {
                let failure = error.to_string();
                if failure != last_failure {
                    tracing::warn!("projection {} waits: {failure}", self.name);
                    last_failure = failure;
                }
                *lock(&self.stand) = Stand::Idle(round);
                thread::sleep(AFTER_FAILURE);
                known.is_taken_over = false;
            } else {
                last_failure.clear();
            }
        }
        *lock(&self.stand) = Stand::Gone;
        Ok(())
    }

    /// Whether something may be begun: not while the worker leaves.
    fn begin(&self) -> bool {
        let mut stand = lock(&self.stand);
        let may = !self.shared.paused.load(Ordering::SeqCst);
        if may {
            *stand = Stand::Busy;
        }
        may
    }

    /// Tells whether there is something to hand over, and to whom.
    fn poll(
        &self,
        world: &World<'_>,
        ledger: &mut dyn Ledger,
        known: &mut Known,
    ) -> Result<Look, LedgerError> {
        let all = read(ledger, |tx| tx.projections())?;
        let Some(now) = all.into_iter().find(|p| p.name == self.name) else {
            return Ok(Look::Gone);
        };
        let secret = self.source.secret_name(&self.name);
        // They may be others by now.
        let secrets = secrets_of(&self.cx, &now, &secret);
        let is_other = known.open.as_ref().is_none_or(|(before, _)| *before != now);
        if is_other || known.secrets != secrets {
            let feed = feed_of(&self.cx, &now, &secret).filter(|_| self.source.feeds(&now));
            let Some(feed) = feed else {
                return Ok(Look::Gone);
            };
            known.open = Some((now, feed));
            known.secrets = secrets;
        }
        if !self.source.holds(&self.name)? {
            known.is_taken_over = false;
            return Ok(Look::Later(None));
        }
        if !known.is_taken_over {
            project::take_over(world, ledger, &self.name)?;
            known.is_taken_over = true;
        }
        let next = match &known.open {
            Some((_, Feed::Forwarder(forwarder))) => {
                let waits = forwarder.next_try(ledger, world.now())?;
                let due = project::next_try(ledger, &self.name)?;
                waits.into_iter().chain(due).min()
            }
            Some((_, Feed::Gateway(_))) => replica::next_try(ledger, &self.name, world.now())?,
            _ => project::next_try(ledger, &self.name)?,
        };
        Ok(match next {
            Some(at) if at <= world.now() => Look::Due,
            later => Look::Later(later),
        })
    }

    /// Hands over a little.
    fn feed(
        &self,
        world: &World<'_>,
        ledger: &mut dyn Ledger,
        known: &mut Known,
    ) -> Result<(), LedgerError> {
        match &mut known.open {
            Some((_, Feed::Sink(sink))) => {
                project::feed(world, ledger, &self.name, sink.as_mut())?;
            }
            Some((_, Feed::Forwarder(forwarder))) => {
                project::feed(world, ledger, &self.name, forwarder.as_mut())?;
                if forwarder.next_try(ledger, world.now())? <= Some(world.now()) {
                    forwarder.feed(world, ledger)?;
                }
            }
            Some((projection, Feed::Gateway(feed))) => {
                let (sender, way) = feed.as_mut();
                // The token may be another one by now.
                let (home, timeouts) = (&self.cx.home, Timeouts::default());
                if let Ok(client) = gateway::client_of_worker(home, projection, timeouts)
                    && !client.has_token_of(&way.0)
                {
                    way.0 = client;
                }
                let host = gateway::host();
                let name = &self.name;
                sender.feed(world, ledger, &Destined { name, host: &host }, way)?;
            }
            None => {}
        }
        Ok(())
    }

    /// Waits until the next try, if that is near, and else until the worker says that there may be more. What others
    /// commit is seen by looking now and then.
    fn wait(&self, world: &World<'_>, next: Option<Timestamp>, round: u64) {
        let ms = next.map_or(i64::MAX, |at| at.millis_since(world.now()));
        let is_near = ms <= WAIT_MS && !self.once;
        *lock(&self.stand) = match is_near {
            true => Stand::Busy,
            false => Stand::Idle(round),
        };
        let ms = u64::try_from(ms.clamp(1, WAIT_MS)).unwrap_or(1);
        let until = Instant::now() + Duration::from_millis(ms).min(LOOK * 5);
        while Instant::now() < until && self.shared.round.load(Ordering::SeqCst) == round {
            thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
    }
}
