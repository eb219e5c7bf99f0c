//! Where Siglum keeps things: `SIGLUM_HOME`, else the platform's data directory.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use siglum_ledger::{Spool, SpoolRepository};

use crate::{env, platform};

/// What stands behind the name of a ledger that another one was restored in place of, before the time.
pub const BEFORE_RESTORE: &str = ".before-restore-";

/// The variable that names the home.
const VARIABLE: &str = "SIGLUM_HOME";

/// The places below one home.
#[derive(Debug, Clone)]
pub struct Home {
    dir: PathBuf,
}

impl Home {
    /// The home of this user. A hook knows it by the name that it is called by, also where the
    /// environment says nothing. A relative path would be another home in each directory.
    pub fn find() -> Self {
        let named = env::path(VARIABLE).filter(|dir| dir.is_absolute());
        let dir = named.or_else(Self::called_by).unwrap_or_else(|| {
            let base = etcetera::choose_base_strategy().map(|b| b.data_dir());
            base.unwrap_or_else(|_| env::home().join(".local/share"))
                .join("siglum")
        });
        Self { dir }
    }

    /// The home whose stable name this program was started by.
    fn called_by() -> Option<PathBuf> {
        let program = PathBuf::from(std::env::args_os().next()?);
        let dir = program
            .is_absolute()
            .then(|| program.parent()?.parent())??;
        let home = Self::at(dir.to_owned());
        // One of them is there after `init`, also where the ledger is lost.
        let marks = [home.ledger(), home.install_record(), home.known_ledger()];
        (home.shim() == program && marks.iter().any(|mark| mark.exists())).then_some(home.dir)
    }

    /// What is wrong with the variable that names the home, if something is.
    pub fn wrong_variable() -> Option<PathBuf> {
        env::path(VARIABLE).filter(|dir| dir.is_relative())
    }

    /// The home at a directory.
    pub const fn at(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes the directory, for its owner alone, if it is not there.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)
    }

    /// The ledger.
    pub fn ledger(&self) -> PathBuf {
        self.dir.join("ledger.db")
    }

    /// The versions of edited files.
    pub fn objects(&self) -> PathBuf {
        self.dir.join("objects")
    }

    /// The versions of edited files that belong to a server's store: there are never any.
    pub fn no_objects(&self) -> PathBuf {
        self.dir.join("server-objects")
    }

    /// Where deliveries wait.
    pub fn spool(&self) -> Spool {
        Spool::at(&self.dir.join("spool"))
    }

    /// The tokens of launches that go on.
    pub fn launches(&self) -> PathBuf {
        self.dir.join("launches")
    }

    /// The tokens of gateways.
    pub fn tokens(&self) -> PathBuf {
        self.dir.join("tokens")
    }

    /// What gateways said of commits: a file for each.
    pub fn answers(&self) -> PathBuf {
        self.dir.join("answers")
    }

    /// The checkouts that were made for sessions.
    pub fn worktrees(&self) -> PathBuf {
        self.dir.join("worktrees")
    }

    /// Where the telemetry of agents was told to go.
    pub fn telemetry(&self) -> PathBuf {
        self.dir.join("telemetry.json")
    }

    /// Where `siglum init` wrote something.
    pub fn install_record(&self) -> PathBuf {
        self.dir.join("installed.json")
    }

    /// Which ledger was here before.
    pub fn known_ledger(&self) -> PathBuf {
        self.dir.join("known-ledger")
    }

    /// The log file.
    pub fn log(&self) -> PathBuf {
        self.dir.join("siglum.log")
    }

    /// What heartbeats said whose target is the log: a file for each.
    pub fn heartbeats(&self) -> PathBuf {
        self.dir.join("heartbeats")
    }

    /// Is there in the home of a demo that was kept: whoever exports it and switches Siglum on for another repository would
    /// have all agents report to it.
    pub fn demo(&self) -> PathBuf {
        self.dir.join("demo")
    }

    /// The stable name of this program, which hooks call.
    pub fn shim(&self) -> PathBuf {
        self.dir.join("bin/siglum")
    }

    /// When it was looked last what is older than it is kept.
    pub fn last_retention(&self) -> PathBuf {
        self.dir.join("last-retention")
    }

    /// The lock of the one worker.
    pub fn worker_lock(&self) -> PathBuf {
        self.dir.join("worker.lock")
    }

    /// Starts the worker of this home, unless one runs. It is not waited for.
    pub fn start_worker(&self) {
        platform::start_worker(&self.dir, &self.worker_lock());
    }

    /// The same for a gateway, whose environment may say how long data is kept.
    #[cfg(feature = "gateway")]
    pub fn start_worker_of_gateway(&self) {
        platform::start_worker_of_gateway(&self.dir, &self.worker_lock());
    }

    /// If this file is there, sessions are recorded outside of switched-on repositories, too.
    pub fn everywhere(&self) -> PathBuf {
        self.dir.join("everywhere")
    }
}

/// Where deliveries of one repository wait when the ledger cannot be reached from it.
pub fn repository_spool(siglum_dir: &Path) -> Spool {
    let common_dir = siglum_dir.parent().unwrap_or(siglum_dir);
    let repository = SpoolRepository {
        common_dir: common_dir.to_string_lossy().into_owned(),
        is_transcript: env::is_transcript,
    };
    Spool::in_repository(siglum_dir, repository)
}
