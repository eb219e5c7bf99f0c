//! The store as a runtime holds it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use siglum_domain::{ConversationId, SessionId, TurnId};
use siglum_engine::Slice;
use siglum_engine::driven::turn::{
    self, Decider, Decision, Held, NewSession, Page, Recovered, TurnError,
};
use siglum_engine::share::project::Sink;
use siglum_ledger::{Lag, Ledger, SessionFilter, SessionListing, SessionRecord, read};

use crate::background::{BackgroundWorker, LOOK};
use crate::place::{Place, here};
use crate::{Entry, Receipt, follow};

/// A durable store of sessions. Cheap to clone; all clones are one store.
///
/// Let go, it waits a second at most for sinks that are being fed; what they did not get they get after the next start.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    place: Place,
    /// How often sinks look for what other processes committed.
    every: Duration,
    ledger: Mutex<Box<dyn Ledger + Send>>,
    keeper: OnceLock<BackgroundWorker>,
    followers: Mutex<BTreeMap<String, BackgroundWorker>>,
    /// Something was committed here, and other processes were not told yet.
    is_news: Arc<AtomicBool>,
    #[cfg(feature = "postgres")]
    listening: OnceLock<()>,
}

impl Inner {
    fn followers(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, BackgroundWorker>> {
        let followers = self.followers.lock();
        followers.unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was committed: the sinks are told.
    fn wake_followers(&self) {
        for worker in self.followers().values() {
            worker.wake();
        }
    }
}

#[cfg(feature = "postgres")]
impl crate::hints::Listener for Inner {
    fn ledger_id(&self) -> siglum_domain::LedgerId {
        let ledger = self.ledger.lock();
        ledger.unwrap_or_else(PoisonError::into_inner).id()
    }

    fn notify(&self) {
        self.wake_followers();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.0.place).finish()
    }
}

impl Store {
    /// Opens the ledger in this file, which is created if it is missing. Where it is the ledger of a Siglum home
    /// (`ledger.db` in `SIGLUM_HOME`), `siglum log`, `show` and the others show its sessions.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TurnError> {
        Self::at(Place::File(path.as_ref().to_owned()), LOOK)
    }

    /// Opens a tenant's part of a PostgreSQL store, at `postgres://user:password@host/database`.
    ///
    /// # Errors
    /// Those of the store.
    #[cfg(feature = "postgres")]
    pub fn connect(url: &str, tenant: &siglum_domain::Tenant) -> Result<Self, TurnError> {
        let settings = siglum_ledger::PostgresSettings::new(url, tenant.clone());
        Self::at(Place::Server(Box::new(settings)), LOOK)
    }

    pub(crate) fn at(place: Place, every: Duration) -> Result<Self, TurnError> {
        let ledger = Mutex::new(place.connect()?);
        Ok(Self(Arc::new(Inner {
            place,
            every,
            ledger,
            keeper: OnceLock::new(),
            followers: Mutex::default(),
            is_news: Arc::default(),
            #[cfg(feature = "postgres")]
            listening: OnceLock::new(),
        })))
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut dyn Ledger) -> T) -> T {
        // A panic inside left a transaction that was rolled back.
        let ledger = self.0.ledger.lock();
        work(ledger.unwrap_or_else(PoisonError::into_inner).as_mut())
    }

    /// Creates a session, or finds the one of this conversation.
    ///
    /// # Errors
    /// [`TurnError::NotDriven`] where the agent itself has a session of this name.
    pub fn create(&self, new: &NewSession) -> Result<SessionRecord, TurnError> {
        self.with(|ledger| turn::create(&here(), ledger, new))
    }

    /// Sessions, newest first.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionListing>, TurnError> {
        Ok(self.with(|ledger| read(ledger, |tx| tx.sessions(filter)))?)
    }

    /// One session.
    ///
    /// # Errors
    /// [`TurnError::NoSession`].
    pub fn session(&self, session: SessionId) -> Result<SessionRecord, TurnError> {
        let found = self.with(|ledger| read(ledger, |tx| tx.session(session)))?;
        found.ok_or(TurnError::NoSession(session))
    }

    /// The log of a session behind `after`, at most `limit` entries (0: all). Nothing of a turn that is open is in it.
    ///
    /// # Errors
    /// [`TurnError::NoSession`].
    pub fn read(&self, session: SessionId, after: u64, limit: usize) -> Result<Page, TurnError> {
        self.with(|ledger| turn::committed(ledger, session, after, limit))
    }

    /// The receipt of the turn that its driver calls by this key, if it was committed.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn receipt(&self, session: SessionId, key: &str) -> Result<Option<Receipt>, TurnError> {
        self.with(|ledger| turn::receipt(ledger, session, key))
    }

    /// The receipts of a session behind a number, at most `limit`, in order.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn receipts(
        &self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Receipt>, TurnError> {
        Ok(self.with(|ledger| read(ledger, |tx| tx.receipts_after(session, after, limit)))?)
    }

    /// What an agent that goes on needs to read: all since the context was compacted last, up to `until`.
    ///
    /// # Errors
    /// [`TurnError::NoSession`].
    pub fn context(&self, session: SessionId, until: Option<u64>) -> Result<Vec<Entry>, TurnError> {
        self.with(|ledger| turn::context(ledger, session, until))
    }

    /// Everything that was said up to `until`, and before it was forked in the sessions that it came from: oldest
    /// first, each part with its session.
    ///
    /// # Errors
    /// [`TurnError::NoSession`].
    pub fn history(
        &self,
        session: SessionId,
        until: Option<u64>,
    ) -> Result<Vec<(SessionId, Vec<Entry>)>, TurnError> {
        self.with(|ledger| turn::history(ledger, session, until))
    }

    /// Makes a session that goes on from a turn of another one, or from its last one; also while that one is driven.
    ///
    /// # Errors
    /// [`TurnError::Invalid`] for a turn that is not committed there.
    pub fn fork(
        &self,
        from: SessionId,
        turn: Option<TurnId>,
        conversation: &ConversationId,
        by: &str,
    ) -> Result<SessionRecord, TurnError> {
        self.with(|ledger| turn::fork(&here(), ledger, from, turn, conversation, by))
    }

    /// Archives a session: nothing is written to it any more, and all of it can be read.
    ///
    /// # Errors
    /// [`TurnError::Leased`] while somebody drives it, [`TurnError::Held`] while a turn waits for a decision.
    pub fn archive(&self, session: SessionId, by: &str) -> Result<(), TurnError> {
        self.with(|ledger| turn::archive(&here(), ledger, session, by))?;
        self.committed();
        Ok(())
    }

    /// Settles what a driver that died left in a session. [`Store::drive`] does that, too.
    ///
    /// # Errors
    /// [`TurnError::Leased`] while its driver lives.
    pub fn recover(&self, session: SessionId) -> Result<Recovered, TurnError> {
        let recovered = self.with(|ledger| turn::recover(&here(), ledger, session))?;
        self.committed();
        Ok(recovered)
    }

    /// The turns that are open and not settled, oldest first, at most `limit`.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn held(&self, limit: usize) -> Result<Vec<Held>, TurnError> {
        self.with(|ledger| turn::held(&here(), ledger, limit))
    }

    /// Ends what holds a session. Gives the receipt of a turn that was kept.
    ///
    /// # Errors
    /// [`TurnError::Leased`] while its driver lives; [`TurnError::NotOpen`] where no turn is open.
    pub fn decide(
        &self,
        session: SessionId,
        decision: Decision,
        by: &str,
    ) -> Result<Option<Receipt>, TurnError> {
        let who = Decider {
            turn: None,
            by,
            source: "api",
        };
        let receipt = self.with(|ledger| turn::decide(&here(), ledger, session, decision, who))?;
        self.committed();
        Ok(receipt)
    }

    /// Lets a sink follow under this name, on a thread of its own. It gets every turn that is or was committed, by
    /// whomever, in order within a session, and nothing else. After a restart the same name goes on where it was. What
    /// goes wrong in it is tried again, and never fails or delays a commit.
    ///
    /// # Errors
    /// [`TurnError::Invalid`] where the name is that of a projection which the worker feeds.
    pub fn follow(&self, name: &str, sink: Box<dyn Sink + Send>) -> Result<(), TurnError> {
        self.with(|ledger| follow::register(ledger, name))?;
        let feed = follow::feed(name.to_owned(), sink);
        let worker = BackgroundWorker::start(self.0.place.clone(), self.0.every, feed);
        worker.wake();
        let before = self.0.followers().insert(name.to_owned(), worker);
        #[cfg(feature = "postgres")]
        self.listen();
        drop(before);
        Ok(())
    }

    /// Waits until the sinks that follow have what is due, `most` at most, and tells what each lacks.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn pump(&self, most: Duration) -> Result<BTreeMap<String, Lag>, TurnError> {
        let until = Instant::now() + most;
        let followers = self.0.followers();
        for worker in followers.values() {
            worker.finish(until.saturating_duration_since(Instant::now()));
        }
        let names: Vec<String> = followers.keys().cloned().collect();
        drop(followers);
        let lag = |name: String| {
            let lag = self.with(|ledger| read(ledger, |tx| tx.lag(&name)))?;
            Ok((name, lag))
        };
        names.into_iter().map(lag).collect()
    }

    /// Listens for what other processes commit, once.
    #[cfg(feature = "postgres")]
    fn listen(&self) {
        let Place::Server(settings) = &self.0.place else {
            return;
        };
        let listen = || crate::hints::listen((**settings).clone(), Arc::downgrade(&self.0));
        self.0.listening.get_or_init(listen);
    }

    /// Something was committed: the sinks are told, here and elsewhere, and the store's own log is kept short.
    pub(crate) fn committed(&self) {
        self.0.wake_followers();
        self.0.is_news.store(true, Ordering::SeqCst);
        let is_news = Arc::clone(&self.0.is_news);
        let beside = move |ledger: &mut dyn Ledger| {
            if is_news.swap(false, Ordering::SeqCst) {
                ledger.announce();
            }
            ledger.maintain().map(|()| Slice::Idle)
        };
        let keeper = || BackgroundWorker::start(self.0.place.clone(), self.0.every, beside);
        self.0.keeper.get_or_init(keeper).wake();
    }
}
