//! Opening the file, and transactions on it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use siglum_domain::LedgerId;
use siglum_domain::process::ProcessIdentity;

use super::database::Tx;
use super::{migrate, sums};
use crate::{Cancellation, Durability, Ledger, LedgerError, SearchIndex, Transaction};

/// Above this size the store's own log is brought into its file. The first to open the file reads
/// all of the log, so a short one keeps hooks quick.
pub(super) const CHECKPOINT_ABOVE: u64 = 128 << 10;
/// Above this size it is brought in while long work goes on: half of the size at which hooks leave
/// the ledger to the worker. Less would write pages over and over that the work touches again.
const CHECKPOINT_AT_WORK_ABOVE: u64 = 8 << 20;
/// The pause before what SQLite does not wait for by itself is tried again.
const TRY_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How long others are waited for.
const HOOK_WAIT: Duration = Duration::from_millis(50);
const COMMAND_WAIT: Duration = Duration::from_secs(10);
/// How many prepared statements a connection keeps.
const STATEMENTS: usize = 256;
/// After so many steps of a statement it is looked whether anybody still waits: some tens of microseconds. What ends a
/// transaction takes fewer.
const STEPS: i32 = 1_000;
/// How a file is opened that is there.
const FLAGS: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE.union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// How to open a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// From a hook: waits 50 ms at most, never creates, migrates or checkpoints.
    Hook,
    /// From a command or the worker: waits 10 s, creates and migrates. A new ledger gets this id
    /// and this key.
    Command { id: LedgerId, key: [u8; 32] },
}

/// A ledger in one SQLite file.
pub struct SqliteLedger {
    db: Connection,
    path: PathBuf,
    id: LedgerId,
    key: [u8; 32],
    /// How long it waits for others.
    wait: Duration,
    /// What the connection was last told to sync; nothing before the first write.
    synced: Option<Durability>,
    /// Whether anybody still waits for what it does; nothing where that is not asked.
    cancellation: Option<Cancellation>,
}

impl SqliteLedger {
    /// Opens the ledger at `path`.
    ///
    /// # Errors
    /// [`LedgerError::Unwritable`] where there is none and `how` does not create one, or where the
    /// place cannot be written to; [`LedgerError::TooNew`] and [`LedgerError::Outdated`] by schema;
    /// [`LedgerError::Damaged`], with the path, where something else is in its place.
    pub fn open(path: &Path, how: Open) -> Result<Self, LedgerError> {
        Self::opened(path, how).map_err(|error| of_file(path, error))
    }

    fn opened(path: &Path, how: Open) -> Result<Self, LedgerError> {
        let mut flags = FLAGS;
        let wait = match how {
            Open::Hook => HOOK_WAIT,
            Open::Command { .. } => {
                create(path)?;
                flags |= OpenFlags::SQLITE_OPEN_CREATE;
                COMMAND_WAIT
            }
        };
        let mut db = connect(path, flags, wait)?;
        if let Open::Command { id, key } = how {
            prepare(&db, wait)?;
            migrate::migrate(&mut db, Some((id, &key)))?;
        }
        Self::admitted(db, path, wait)
    }

    /// Opens the ledger that was at `path` before, for a command or the worker: waits 10 s and migrates, and never
    /// creates. One that is gone or emptied is no reason to begin another, which would look sound.
    ///
    /// # Errors
    /// [`LedgerError::Lost`] where the file is gone, is empty or holds another ledger, which stays as it is; those of
    /// [`Self::open`].
    pub fn open_known(path: &Path, id: LedgerId) -> Result<Self, LedgerError> {
        Self::opened_known(path, id).map_err(|error| of_file(path, error))
    }

    fn opened_known(path: &Path, id: LedgerId) -> Result<Self, LedgerError> {
        // A file without a page makes the store delete the log beside it, so this is looked at before.
        match std::fs::metadata(path) {
            Ok(meta) if !meta.is_file() => return Err(no_file()),
            Ok(meta) if meta.len() == 0 => return Err(lost(path, "is empty")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(lost(path, "is gone"));
            }
            _ => {}
        }
        let mut db = connect(path, FLAGS, COMMAND_WAIT)?;
        match migrate::found_id(&db)? {
            Some(found) if found == id => {}
            Some(found) => {
                return Err(lost(
                    path,
                    &format!("is another one: {found}, and {id} was here"),
                ));
            }
            None => return Err(lost(path, "is empty")),
        }
        prepare(&db, COMMAND_WAIT)?;
        migrate::migrate(&mut db, None)?;
        Self::admitted(db, path, COMMAND_WAIT)
    }

    fn admitted(db: Connection, path: &Path, wait: Duration) -> Result<Self, LedgerError> {
        migrate::admit(&db)?;
        #[cfg(any(test, feature = "testing"))]
        let db = crate::recording::watched(db)?;
        let meta = migrate::meta(&db)?;
        // More than the statements of an import of one short transcript: where the cache holds fewer, none of those that
        // come around again is in it any more.
        db.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(Self {
            db,
            path: path.to_owned(),
            id: meta.id,
            key: meta.key,
            wait,
            synced: None,
            cancellation: None,
        })
    }

    /// Makes it ready for transactions of many parts, each of which can be taken back by itself: what that takes stays in
    /// memory, where it would be in a file of the system else.
    ///
    /// # Errors
    /// Those of the store.
    pub fn in_parts(self) -> Result<Self, LedgerError> {
        self.db.pragma_update(None, "temp_store", "MEMORY")?;
        Ok(self)
    }

    /// Lets what it does from now on be cancelled, or no more.
    ///
    /// # Errors
    /// Those of the store.
    pub fn cancel_by(&mut self, cancellation: Option<Cancellation>) -> Result<(), LedgerError> {
        let watched = cancellation.clone();
        let handler = watched.map(|watched| move || watched.is_cancelled());
        self.db.progress_handler(STEPS, handler)?;
        self.cancellation = cancellation;
        Ok(())
    }

    /// A number that is another one after each write of another connection, also of this process.
    ///
    /// # Errors
    /// Those of the store.
    pub fn version(&self) -> Result<i64, LedgerError> {
        version(&self.db)
    }

    /// The connection, for what is not a transaction.
    pub(super) const fn connection(&self) -> &Connection {
        &self.db
    }

    pub(super) const fn connection_mut(&mut self) -> &mut Connection {
        &mut self.db
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn wait(&self) -> Duration {
        self.wait
    }

    /// Begins a transaction, unless a newer program has migrated the store.
    pub(super) fn begin(
        &mut self,
        behavior: TransactionBehavior,
    ) -> Result<rusqlite::Transaction<'_>, LedgerError> {
        let cancellation = self.cancellation.as_ref();
        if cancellation.is_some_and(Cancellation::is_cancelled) {
            return Err(LedgerError::Cancelled);
        }
        let tx = self.db.transaction_with_behavior(behavior)?;
        migrate::still_admitted(&tx)?;
        Ok(tx)
    }

    /// Gives a process that was bound to a session, and is not listed yet as one that is.
    fn run(
        &mut self,
        behavior: TransactionBehavior,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<Option<ProcessIdentity>, LedgerError> {
        let ledger = self.id;
        let tx = self.begin(behavior)?;
        let mut verbs = Tx {
            db: &tx,
            ledger,
            bound: None,
        };
        work(&mut verbs)?;
        let bound = verbs.bound;
        tx.commit()?;
        Ok(bound)
    }
}

/// Changes with each write of another connection.
pub(super) fn version(db: &Connection) -> Result<i64, LedgerError> {
    Ok(db.pragma_query_value(None, "data_version", |row| row.get(0))?)
}

fn connect(path: &Path, flags: OpenFlags, wait: Duration) -> Result<Connection, LedgerError> {
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(wait)?;
    sums::sums_on(&db)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(db)
}

/// Readies a connection for a migration, and for all that commands do.
fn prepare(db: &Connection, wait: Duration) -> Result<(), LedgerError> {
    // Whoever reads a new file while another begins its log is turned away at once.
    patiently(wait, || {
        Ok(db.pragma_update(None, "journal_mode", "WAL")?)
    })?;
    db.pragma_update(None, "foreign_keys", true)?;
    Ok(())
}

/// Does what SQLite does not wait for by itself: while others are in the way it is tried again, for as long as they are
/// waited for.
pub(super) fn patiently(
    wait: Duration,
    mut work: impl FnMut() -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    let begun = Instant::now();
    loop {
        match work() {
            Err(LedgerError::Busy) if begun.elapsed() < wait => {
                std::thread::sleep(TRY_AGAIN_AFTER);
            }
            done => return done,
        }
    }
}

fn lost(path: &Path, how: &str) -> LedgerError {
    LedgerError::Lost(format!("{} {how}", path.display()))
}

fn no_file() -> LedgerError {
    LedgerError::Damaged("it is not a regular file".to_owned())
}

/// Names the file that cannot be opened because of what is in it.
fn of_file(path: &Path, error: LedgerError) -> LedgerError {
    let what = match &error {
        LedgerError::Damaged(what) => Some(what.clone()),
        LedgerError::Storage(source) => source
            .downcast_ref::<rusqlite::Error>()
            .and_then(what_is_missing),
        _ => None,
    };
    match what {
        Some(what) => LedgerError::Damaged(format!("{}: {what}", path.display())),
        None => error,
    }
}

/// What a file lacks that every ledger has: a table, a column or a row.
fn what_is_missing(error: &rusqlite::Error) -> Option<String> {
    use rusqlite::Error as E;
    match error {
        E::SqlInputError { msg, .. } => Some(msg.clone()),
        E::QueryReturnedNoRows => Some("a row of every ledger is missing".to_owned()),
        _ if error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) => {
            Some(error.to_string())
        }
        _ => None,
    }
}

/// Creates the file for its owner alone, with its directory.
fn create(path: &Path) -> Result<(), LedgerError> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    let unwritable = |e: std::io::Error| LedgerError::Unwritable(Box::new(e));
    if path.exists() {
        return match path.is_file() {
            true => Ok(()),
            false => Err(no_file()),
        };
    }
    if let Some(dir) = path.parent() {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(unwritable)?;
    }
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
        .map_err(unwritable)?;
    Ok(())
}

impl Ledger for SqliteLedger {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn key(&self) -> [u8; 32] {
        self.key
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.run(TransactionBehavior::Deferred, work).map(drop)
    }

    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        if self.synced != Some(durability) {
            let level = match durability {
                Durability::Process => "NORMAL",
                Durability::Disk => "FULL",
            };
            self.db.pragma_update(None, "synchronous", level)?;
            self.synced = Some(durability);
        }
        if let Some(process) = self.run(TransactionBehavior::Immediate, work)? {
            self.confirm_bound(&process);
        }
        Ok(())
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        self.bring_in_above(CHECKPOINT_ABOVE)
    }

    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        self.bring_in_above(CHECKPOINT_AT_WORK_ABOVE)
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        self.write_anew()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        integrity_check(&self.db)
    }

    fn index(&mut self) -> Result<&mut dyn SearchIndex, LedgerError> {
        Ok(self)
    }
}

/// What is wrong with the pages of a file, and with its indexes, in words.
pub(super) fn integrity_check(db: &Connection) -> Result<Vec<String>, LedgerError> {
    let mut check = db.prepare("PRAGMA integrity_check(20)")?;
    let mut wrong = Vec::new();
    for line in check.query_map([], |row| row.get::<_, String>(0))? {
        match line.map_err(LedgerError::from) {
            Ok(line) if line == "ok" => {}
            Ok(line) => wrong.push(line),
            // An index that it cannot read ends the check at the first row of the table.
            Err(LedgerError::Damaged(what)) => {
                wrong.push(what);
                break;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests;
