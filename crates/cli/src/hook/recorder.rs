//! Lines of the record protocol, on the way that payloads of hooks take, for a sender that hears what became of each.

use std::path::{Path, PathBuf};

use siglum_agents::{Boundary, HookCall, RecordLine};
use siglum_domain::AgentName;
use siglum_domain::intake::{Intake, Matter, VERSION};
use siglum_domain::link::Stated;
use siglum_domain::redact::Redactor;
use siglum_gitstore::discover;
use siglum_ledger::{Ledger as _, SpoolError};

use super::agent::{AgentProcess, Kept, complete};
use super::delivery::{Delivery, is_recorded};
use super::landings;
use crate::clock;

/// What attached a link that a line names.
const LINK_SOURCE: &str = "record";

/// After so many lines the ledger is closed for a moment. Its log grows with each, and is only measured, and brought in by
/// the worker, where it is opened again.
const LINES_MOST: u32 = 256;

/// Stores lines of one agent.
pub struct Recorder {
    delivery: Delivery,
    /// How many lines were stored since the ledger was closed.
    lines: u32,
    agent: AgentName,
    process: AgentProcess,
}

/// Why a line was not stored.
#[derive(Debug)]
pub enum StoreError {
    /// Nothing is recorded where the agent works.
    NotRecorded(PathBuf),
    /// The id of the session or of the line has a secret in it.
    SecretId,
    /// Neither the ledger nor a spool could be written to.
    Lost(SpoolError),
}

impl Recorder {
    /// Lines of an agent that this process runs.
    pub fn new(agent: AgentName, process: AgentProcess) -> Self {
        Self {
            delivery: Delivery::new("record"),
            lines: 0,
            agent,
            process,
        }
    }

    /// Stores what a line says, in the ledger or in the spool. The same line again changes nothing.
    ///
    /// # Errors
    /// It was not stored, and nothing of it was written.
    pub fn store(&mut self, line: &RecordLine) -> Result<(), StoreError> {
        let delivery = &mut self.delivery;
        delivery.now = clock::now();
        let dir = PathBuf::from(line.cwd().unwrap_or("."));
        let repo = discover(&dir, None, None);
        if !is_recorded(&delivery.home, repo.as_ref()) {
            return Err(StoreError::NotRecorded(dir));
        }
        if let Some(repo) = &repo {
            landings::send(delivery, repo);
        }
        let redactor = Redactor::shared();
        let key = format!("record:{}:{}:{}", self.agent, line.session(), line.id());
        // By itself: what stands before it may be a name that promises a secret.
        if redactor.has_secret(line.id()) {
            return Err(StoreError::SecretId);
        }
        let digest_key = delivery
            .ledger()
            .map_or_else(|_| clock::secret(), |ledger| ledger.key());
        let reduced = line.reduce(&HookCall {
            payload: &[],
            redactor,
            digest_key: &digest_key,
            now: delivery.now,
            delivery: line.id(),
            agent_dir: Path::new(""),
            worktree: repo.as_ref().map(siglum_gitstore::Repo::worktree),
        });
        let reduced = reduced
            .without_secrets(redactor)
            .map_err(|_| StoreError::SecretId)?;
        let turn_is_over = matches!(reduced.boundary, Boundary::TurnEnd | Boundary::SessionEnd);
        let process = match line.is_live() {
            true => self.process,
            false => AgentProcess::Nobody,
        };
        let seen_in = (repo.as_ref(), Kept::All);
        let matter = complete(delivery, self.agent.clone(), process, reduced, seen_in);
        if let Some(mut matter) = matter {
            matter.links.extend(line.link().map(|link| Stated {
                link,
                source: LINK_SOURCE.to_owned(),
            }));
            let intake = Intake {
                version: VERSION,
                key,
                at: delivery.now,
                matter: Matter::Agent(matter),
            };
            delivery
                .deliver(&intake, repo.as_ref())
                .map_err(StoreError::Lost)?;
        }
        self.lines += 1;
        if turn_is_over || self.lines >= LINES_MOST {
            // Nobody knows how long the next turn takes to come.
            self.lines = 0;
            delivery.pause();
        }
        Ok(())
    }
}
