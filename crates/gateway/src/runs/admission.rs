//! The runs of this gateway: which start and go on, who waits, and which agents are kept for the next message.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use siglum_domain::{InteractionId, SessionId, Tenant, Timestamp, TurnId, TurnKey};
use siglum_platform::clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc, oneshot};

use super::agent::Agent;
use super::{Ask, IfBusy, Log, Running, key_reused};
use crate::problem::Problem;
use crate::settings::RunSettings;

/// Messages that wait for one session.
const WAITING_MOST: usize = 32;
/// Things that somebody outside says to a run and that it did not hear yet.
const CONTROLS: usize = 16;

/// The runs of this gateway, by tenant and session.
pub(crate) struct Runs {
    settings: RunSettings,
    slots: Mutex<HashMap<(Tenant, SessionId), Arc<Slot>>>,
    going: Arc<Semaphore>,
    /// What is told of runs of other gateways that somebody follows here.
    mirrors: Mutex<HashMap<(Tenant, TurnId), Weak<Log>>>,
}

/// Runs that go on at once in one gateway.
const GOING_MOST: usize = 256;

/// What a session has here.
pub(crate) struct Slot {
    /// One run at a time, in the order in which they came. Closed once the gateway is told to stop.
    gate: Arc<Semaphore>,
    waiting: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    placed: Option<Placed>,
    warm: Option<Parked>,
    parked: u64,
}

/// An agent that is kept for the next message.
struct Parked {
    number: u64,
    /// The last turn that it knows.
    turn: TurnId,
    agent: Agent,
}

/// A run that has the place of its session.
#[derive(Clone)]
struct Placed {
    key: TurnKey,
    /// A digest of what is asked.
    content: String,
    by: String,
    since: Timestamp,
    /// What is said here while its agent starts waits for it.
    control: mpsc::Sender<Control>,
    /// Nothing while its agent starts.
    running: Option<Running>,
}

impl Placed {
    fn cancel(&self, by: &str) {
        // One that is full of these was cancelled by another one.
        let _ = self.control.try_send(Control::Cancel(by.to_owned()));
    }
}

/// A run that goes on.
pub(crate) struct Active {
    pub(crate) running: Running,
    pub(crate) control: mpsc::Sender<Control>,
}

/// What a run is told from outside.
pub(crate) enum Control {
    Cancel(String),
    Answer {
        id: InteractionId,
        option: String,
        by: String,
        reply: oneshot::Sender<Result<(), Problem>>,
    },
}

/// Whoever has it runs the session here; the other one is a place among all runs.
pub(crate) struct Place {
    slot: Arc<Slot>,
    _session: OwnedSemaphorePermit,
    all: Arc<OwnedSemaphorePermit>,
}

impl Place {
    /// The place among all runs alone: while it is held, the gateway does not stop as if nothing went on.
    pub(crate) fn among_all(&self) -> Arc<OwnedSemaphorePermit> {
        Arc::clone(&self.all)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Before the next one has the place, which the permits are let go for behind this.
        self.slot.clear();
    }
}

/// What comes of asking for a place.
pub(crate) enum Admitted {
    /// It is this one's turn, and it hears here what is said to it.
    Mine(Place, mpsc::Receiver<Control>),
    /// The same ask is being answered.
    Same(Running),
}

impl Runs {
    pub(crate) fn new(settings: RunSettings) -> Self {
        Self {
            settings,
            slots: Mutex::default(),
            going: Arc::new(Semaphore::new(GOING_MOST)),
            mirrors: Mutex::default(),
        }
    }

    /// The log of a run of another gateway, and whether nobody fills it yet.
    pub(crate) fn mirror(&self, tenant: &Tenant, turn: TurnId) -> (Arc<Log>, bool) {
        let mut mirrors = self.mirrors.lock().unwrap_or_else(PoisonError::into_inner);
        mirrors.retain(|_, log| log.strong_count() > 0);
        let key = (tenant.clone(), turn);
        let known = mirrors.get(&key).and_then(Weak::upgrade);
        if let Some(log) = known.filter(|log| log.is_open()) {
            return (log, false);
        }
        let log = Log::new();
        mirrors.insert(key, Arc::downgrade(&log));
        (log, true)
    }

    /// What may be run.
    pub(crate) const fn settings(&self) -> &RunSettings {
        &self.settings
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<(Tenant, SessionId), Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slot(&self, tenant: &Tenant, session: SessionId) -> Arc<Slot> {
        let mut slots = self.slots();
        // Those that nobody needs any more go.
        slots.retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_idle());
        let slot = slots.entry((tenant.clone(), session));
        Arc::clone(slot.or_insert_with(|| Arc::new(Slot::new())))
    }

    pub(crate) fn active(&self, tenant: &Tenant, session: SessionId) -> Option<Active> {
        let slot = self.slots().get(&(tenant.clone(), session)).cloned();
        slot.and_then(|slot| slot.active())
    }

    /// The run of a session that goes on here.
    pub(crate) fn find(&self, tenant: &Tenant, session: SessionId) -> Option<Running> {
        self.active(tenant, session).map(|active| active.running)
    }

    /// Cancels the run of a session that starts or goes on here; what it did is committed, and marked. Gives it, unless
    /// it starts.
    ///
    /// # Errors
    /// Where none goes on here.
    pub(crate) fn cancel(
        &self,
        tenant: &Tenant,
        session: SessionId,
        by: &str,
    ) -> Result<Option<Running>, Problem> {
        let none = || Problem::not_found(format!("session {session} has no active run"));
        let slot = self.slots().get(&(tenant.clone(), session)).cloned();
        let placed = slot.and_then(|slot| slot.placed()).ok_or_else(none)?;
        placed.cancel(by);
        Ok(placed.running)
    }

    /// Has nobody wait for the place of a session any more: whoever does goes to another gateway at once, however long the
    /// run before it takes.
    pub(crate) fn refuse_waiting(&self) {
        for slot in self.slots().values() {
            slot.gate.close();
        }
    }

    /// Waits until no run goes on, or waits for the place of its session.
    pub(crate) async fn idle(&self) {
        let all = u32::try_from(GOING_MOST).unwrap_or(u32::MAX);
        drop(self.going.acquire_many(all).await);
    }

    /// The number of runs that go on, or wait for the place of their session.
    pub(crate) fn count(&self) -> usize {
        GOING_MOST - self.going.available_permits()
    }

    /// Messages that wait for the runs of their sessions.
    pub(crate) fn waiting(&self) -> usize {
        let slots = self.slots();
        let waiting = slots
            .values()
            .map(|slot| slot.waiting.load(Ordering::Acquire));
        waiting.sum()
    }

    /// Lets go of agents that wait for another message, and waits until no run goes on.
    pub(crate) async fn end(&self) {
        for slot in self.slots().values() {
            drop(slot.state().warm.take());
        }
        self.idle().await;
        for slot in self.slots().values() {
            drop(slot.state().warm.take());
        }
    }

    /// Waits for a place for this ask, with a digest of what it asks for.
    pub(crate) async fn admit(
        &self,
        slot: &Arc<Slot>,
        ask: &Ask,
        content: &str,
    ) -> Result<Admitted, Problem> {
        let placed = slot.placed();
        let same = placed.as_ref().filter(|placed| placed.key == ask.key);
        if let Some(same) = same {
            if same.content != content {
                return Err(key_reused(&ask.key));
            }
            if let Some(running) = &same.running {
                return Ok(Admitted::Same(running.clone()));
            }
        }
        // Nobody cancels what is the same: whoever waits for it is answered with it.
        let other = placed.as_ref().filter(|_| same.is_none());
        let all = Arc::clone(&self.going).try_acquire_owned();
        let all =
            all.map_err(|_| Problem::rate_limited("too many runs are active on this gateway", 5))?;
        let session = match ask.if_busy {
            IfBusy::Refuse => {
                let place = Arc::clone(&slot.gate).try_acquire_owned();
                place.map_err(|refused| match refused {
                    TryAcquireError::NoPermits => slot.busy(),
                    TryAcquireError::Closed => Problem::stopping(),
                })?
            }
            IfBusy::Queue => slot.wait().await?,
            IfBusy::Steer | IfBusy::Cancel => {
                if let Some(other) = other {
                    other.cancel(&ask.by);
                }
                slot.wait().await?
            }
        };
        let (control, controls) = mpsc::channel(CONTROLS);
        slot.state().placed = Some(Placed {
            key: ask.key.clone(),
            content: content.to_owned(),
            by: ask.by.clone(),
            since: clock::now(),
            control,
            running: None,
        });
        let place = Place {
            slot: Arc::clone(slot),
            _session: session,
            all: Arc::new(all),
        };
        Ok(Admitted::Mine(place, controls))
    }
}

impl Slot {
    fn new() -> Self {
        Self {
            gate: Arc::new(Semaphore::new(1)),
            waiting: AtomicUsize::new(0),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        let state = self.state();
        let is_free = self.gate.available_permits() == 1;
        is_free && state.placed.is_none() && state.warm.is_none()
    }

    fn placed(&self) -> Option<Placed> {
        self.state().placed.clone()
    }

    fn active(&self) -> Option<Active> {
        let placed = self.placed()?;
        Some(Active {
            running: placed.running?,
            control: placed.control,
        })
    }

    /// What the run that has the place hears by.
    pub(crate) fn control(&self) -> Option<mpsc::Sender<Control>> {
        self.placed().map(|placed| placed.control)
    }

    /// The run that has the place goes on.
    pub(crate) fn begun(&self, running: &Running) {
        if let Some(placed) = &mut self.state().placed {
            placed.running = Some(running.clone());
        }
    }

    /// The run that had the place hears nothing any more.
    pub(crate) fn clear(&self) {
        self.state().placed = None;
    }

    async fn wait(&self) -> Result<OwnedSemaphorePermit, Problem> {
        if self.waiting.fetch_add(1, Ordering::AcqRel) >= WAITING_MOST {
            self.waiting.fetch_sub(1, Ordering::AcqRel);
            let detail = format!("{WAITING_MOST} messages are already waiting for this session");
            return Err(Problem::conflict("queue-full", detail));
        }
        // Also where whoever waits goes.
        let _waits = Waits(&self.waiting);
        let place = Arc::clone(&self.gate).acquire_owned().await;
        place.map_err(|_| Problem::stopping())
    }

    fn busy(&self) -> Problem {
        let detail = match self.placed() {
            Some(placed) => {
                let (by, state, since) = match &placed.running {
                    Some(running) => (running.by(), "active", running.started().at),
                    None => (placed.by.as_str(), "starting", placed.since),
                };
                format!(
                    "a run of this session, requested by {by}, is {state} since {since}; set `if_busy` to wait or to cancel it"
                )
            }
            None => {
                "a run of this session is starting or ending; set `if_busy` to wait or to cancel it"
                    .to_owned()
            }
        };
        Problem::conflict("session-busy", detail)
    }

    /// The agent that was kept, if there is one, with the last turn that it knows.
    pub(crate) fn warm(&self) -> Option<(TurnId, Agent)> {
        let parked = self.state().warm.take()?;
        Some((parked.turn, parked.agent))
    }

    /// Keeps an agent that knows all up to this turn for the next message, for a while.
    pub(crate) fn keep(self: &Arc<Self>, agent: Agent, turn: TurnId, until: std::time::Duration) {
        let mut state = self.state();
        state.parked += 1;
        let number = state.parked;
        state.warm = Some(Parked {
            number,
            turn,
            agent,
        });
        drop(state);
        let slot = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(until).await;
            let cold = slot.state().warm.take_if(|parked| parked.number == number);
            drop(cold);
        });
    }
}

struct Waits<'a>(&'a AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
