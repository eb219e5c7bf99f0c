//! Getting an intake to the ledger, or to the spool where the ledger is out of reach.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use siglum_agents::Reduced;
use siglum_domain::intake::{Decline, Intake, Matter, Place, VERSION};
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, NativeId, SessionId, Timestamp};
use siglum_engine::identity;
use siglum_engine::record::deliver::{Delivered, deliver};
use siglum_gitstore::Repo;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, LedgerError, SpoolError, SqliteLedger, read};

use crate::clock::{self, Ids};
use crate::config::Config;
use crate::home::{Home, repository_spool};
use crate::platform::regular_file;
use crate::ui::log_line;

/// Above this size of its log the ledger is left to the worker, and the hook spools.
const LOG_MOST: u64 = 16 << 20;
/// Above this size the worker is asked to bring the log in.
const LOG_WISHED: u64 = 512 << 10;

/// Whether what happens in a repository is recorded, or outside of all repositories.
pub(super) fn is_recorded(home: &Home, repo: Option<&Repo>) -> bool {
    let is_on = repo.is_some_and(Repo::is_on) || home.everywhere().exists();
    is_on && Config::load(repo.map(Repo::worktree)).records()
}

/// One hook's way to the ledger.
pub struct Delivery {
    pub home: Home,
    pub now: Timestamp,
    edge: String,
    ledger: Option<SqliteLedger>,
    /// The session that was looked up for this delivery, by what its agent calls it.
    session: Option<(AgentName, NativeId, SessionId)>,
    worker_wanted: bool,
}

impl Delivery {
    /// Opens nothing yet.
    pub fn new(edge: &str) -> Self {
        Self {
            home: Home::find(),
            now: clock::now(),
            edge: edge.to_owned(),
            ledger: None,
            session: None,
            worker_wanted: false,
        }
    }

    /// The ledger, if it can be reached.
    pub fn ledger(&mut self) -> Result<&mut SqliteLedger, LedgerError> {
        if self.ledger.is_none() {
            let path = self.home.ledger();
            let log = SqliteLedger::log_bytes(&path);
            self.worker_wanted |= log > LOG_WISHED;
            if log > LOG_MOST {
                return Err(LedgerError::Busy);
            }
            self.ledger = Some(SqliteLedger::open(&path, Open::Hook)?);
        }
        Ok(self
            .ledger
            .as_mut()
            .expect("because it was opened just now"))
    }

    /// The session that an agent calls so, if the ledger knows one. One that is there is looked up once for each delivery.
    ///
    /// # Errors
    /// The ledger cannot be reached.
    pub fn session(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
    ) -> Result<Option<SessionId>, LedgerError> {
        if let Some((of, name, session)) = &self.session
            && (of, name) == (agent, native)
        {
            return Ok(Some(*session));
        }
        let session = read(self.ledger()?, |tx| {
            identity::session_by_name(tx, agent, native)
        })?;
        self.session = session.map(|session| (agent.clone(), native.clone(), session));
        Ok(session)
    }

    /// Whether the ledger knows a session by this id; no, if it cannot be reached.
    pub fn knows(&mut self, agent: &AgentName, native: &NativeId) -> bool {
        self.session(agent, native).is_ok_and(|s| s.is_some())
    }

    /// What a hook of a session saw before under this key, where the ledger knows it.
    pub fn sighting(&mut self, agent: &AgentName, native: &NativeId, key: &str) -> Option<Fact> {
        let session = self.session(agent, native).ok()??;
        let ledger = self.ledger().ok()?;
        let seen = read(ledger, |tx| tx.entry(session, Source::Hook, key));
        Some(seen.ok()??.observation.fact)
    }

    /// Whether nothing was ever heard of a session, and nothing of it can be waiting anywhere.
    pub fn has_no_record_of(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        repo: Option<&Repo>,
    ) -> bool {
        let here = repo.map(|r| repository_spool(&r.siglum_dir()));
        let waits = !self.home.spool().is_empty() || here.is_some_and(|spool| !spool.is_empty());
        let session = self.session(agent, native);
        !waits && session.is_ok_and(|session| session.is_none())
    }

    /// Has the processes listed that sessions are bound to on this machine, so that the next hook need not ask the ledger.
    pub fn list_bound(&mut self, process: &ProcessIdentity) {
        // Without the list it asks.
        let _ = self.ledger().and_then(|l| l.list_bound(process));
    }

    /// The worker has something to do when this hook is done.
    pub const fn want_worker(&mut self) {
        self.worker_wanted = true;
    }

    /// Closes the ledger, and has the worker do what it was wanted for.
    pub fn pause(&mut self) {
        self.ledger = None;
        if std::mem::take(&mut self.worker_wanted) {
            self.home.start_worker();
        }
    }

    /// Delivers, or makes it wait. Returns what it led to, if it reached the ledger.
    pub fn send(&mut self, key: String, matter: Matter, repo: Option<&Repo>) -> Option<Delivered> {
        let intake = Intake {
            version: VERSION,
            key,
            at: self.now,
            matter,
        };
        self.deliver(&intake, repo).ok().flatten()
    }

    /// The same for what was seen at another time. Nothing overtakes what waits already, so that a commit is judged by all
    /// that was seen before it.
    ///
    /// # Errors
    /// It is lost, which was logged: nothing could be written to.
    pub fn deliver(
        &mut self,
        intake: &Intake,
        repo: Option<&Repo>,
    ) -> Result<Option<Delivered>, SpoolError> {
        self.session = None;
        let reached = if self.home.spool().is_empty() {
            self.ledger()
                .map(|l| l as &mut dyn Ledger)
                .and_then(|ledger| deliver(ledger, &Ids, intake))
        } else {
            Err(LedgerError::Busy)
        };
        match reached {
            Ok(delivered) => Ok(Some(delivered)),
            Err(error) => self.spool(intake, repo, &error).map(|()| None),
        }
    }

    fn spool(
        &mut self,
        intake: &Intake,
        repo: Option<&Repo>,
        why: &LedgerError,
    ) -> Result<(), SpoolError> {
        self.worker_wanted = true;
        let at_home = self.home.spool().put(intake);
        let spooled = match (at_home, repo) {
            (Err(_), Some(repo)) => repository_spool(&repo.siglum_dir()).put(intake),
            (at_home, _) => at_home,
        };
        if spooled.is_err() {
            self.log(&format!(
                "lost a delivery: {why}, and no spool can be written to"
            ));
        }
        spooled
    }

    /// Records that something was refused or lost.
    pub fn decline(&mut self, reason: &str, detail: &str, repo: Option<&Repo>) {
        let place: Option<Place> = repo.map(|r| r.place.clone());
        let detail = Redactor::shared().redact(detail).into_string();
        self.log(&format!("{reason}: {detail}"));
        let decline = Decline {
            edge: self.edge.clone(),
            reason: reason.to_owned(),
            detail,
            place,
        };
        let key = format!("{}:{}:{}", self.edge, std::process::id(), self.now.nanos());
        self.send(key, Matter::Decline(decline), repo);
    }

    /// Writes a line to the log file, if there is one to write to.
    fn log(&self, line: &str) {
        log(&self.home, self.now, &format!("{} {line}", self.edge));
    }
}

/// Writes a line to the log file; what stands there must be a file.
pub fn log(home: &Home, now: Timestamp, line: &str) {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    if let Ok(mut file) = regular_file::open(&home.log(), &mut options) {
        let _ = writeln!(file, "{now} {}", log_line(line));
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.pause();
    }
}

pub(super) fn note(
    delivery: &Delivery,
    reduced: &mut Reduced,
    event: &str,
    key: String,
    fact: Fact,
) {
    let like = reduced.observations.iter().find(|o| o.event == event);
    let (turn, subagent) = like.map_or((None, None), |o| (o.turn.clone(), o.subagent.clone()));
    reduced.observations.push(Observation {
        source: Source::Hook,
        key,
        event: event.to_owned(),
        at: delivery.now,
        turn,
        subagent,
        fact,
    });
}
