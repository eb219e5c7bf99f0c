//! The list of processes that sessions are bound to: a file beside the ledger, in which a hook sees what the ledger knows of
//! the processes above it.
//!
//! Its first line says of which ledger, machine and start of the machine it is. It has at least what is bound: a process is
//! listed, with a mark, before the ledger stores that it is bound, and without the mark after it. Whoever changes it keeps
//! others from writing to the ledger meanwhile. Where that fails it goes, so that the ledger is asked. It is not synced:
//! what a power cut takes is of another start of the machine.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use rustix::fs::OFlags;
use siglum_domain::process::ProcessIdentity;

use super::SqliteLedger;
use crate::LedgerError;

type Result<T> = std::result::Result<T, LedgerError>;

/// The table that is listed.
pub(super) const TABLE: &str = "processes";
/// Before a process of which the ledger may not know yet.
const MARK: char = '?';

/// To which of some processes sessions are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NearestBound {
    /// To none of them.
    Nowhere,
    /// The first one, by its position.
    At(usize),
}

impl SqliteLedger {
    /// To which of these processes sessions of the ledger at `path` are bound; nothing where only the ledger can tell.
    #[must_use]
    pub fn nearest_bound<'a>(
        path: &Path,
        processes: impl Iterator<Item = &'a ProcessIdentity>,
    ) -> Option<NearestBound> {
        let mut processes = processes.peekable();
        let first = *processes.peek()?;
        let text = read(path, &head(path, first).ok()?)?;
        let scope = scope(first);
        let mut positions = BTreeMap::new();
        for (position, process) in processes.enumerate() {
            positions
                .entry(entry(&scope, &process.key())?)
                .or_insert(position);
        }
        let mut nearest: Option<usize> = None;
        for line in text.lines().skip(1) {
            if let Some(position) = positions.get(line) {
                nearest = Some(nearest.map_or(*position, |known| known.min(*position)));
            } else if line
                .strip_prefix(MARK)
                .is_some_and(|line| positions.contains_key(line))
            {
                return None;
            }
        }
        Some(nearest.map_or(NearestBound::Nowhere, NearestBound::At))
    }

    /// Lists what is bound on the machine that this process runs on, where no list says it.
    ///
    /// # Errors
    /// Those of the store, or the list cannot be written.
    pub fn list_bound(&mut self, process: &ProcessIdentity) -> Result<()> {
        let Some(ledger) = file_of(self.connection()) else {
            return Ok(());
        };
        let head = head(&ledger, process).map_err(unwritable)?;
        let is_marked = |text: String| text.lines().any(|line| line.starts_with(MARK));
        if read(&ledger, &head).is_some_and(|text| !is_marked(text)) {
            return Ok(());
        }
        // Nobody binds another one meanwhile, and all that is bound is stored.
        let tx = self.begin(TransactionBehavior::Immediate)?;
        let text = listed(&tx, &head, process, "")?;
        replace(&ledger, &text).map_err(unwritable)?;
        tx.commit()?;
        Ok(())
    }

    /// Has a process listed without the mark, now that its binding is stored. Where others write, whoever needs the list
    /// does it.
    pub(super) fn confirm_bound(&mut self, process: &ProcessIdentity) {
        let wait = self.wait();
        let at_once = self.connection().busy_timeout(Duration::ZERO);
        let _ = at_once.map(|()| self.list_bound(process));
        let _ = self.connection().busy_timeout(wait);
    }
}

/// Whether a process is listed as one that a session is bound to.
pub(super) fn is_listed(db: &Connection, process: &ProcessIdentity) -> bool {
    file_of(db).is_some_and(|ledger| {
        let nearest = SqliteLedger::nearest_bound(&ledger, std::iter::once(process));
        nearest == Some(NearestBound::At(0))
    })
}

/// Lists a process that a session is about to be bound to.
pub(super) fn announce(db: &Connection, process: &ProcessIdentity) -> Result<()> {
    let Some(ledger) = file_of(db) else {
        return Ok(());
    };
    announce_beside(db, &ledger, process).or_else(|_| forget(&ledger))
}

fn announce_beside(db: &Connection, ledger: &Path, process: &ProcessIdentity) -> Result<()> {
    let head = head(ledger, process).map_err(unwritable)?;
    let mut text = match read(ledger, &head) {
        Some(text) => text,
        // Some of it may be bound by this very transaction, and not be stored either.
        None => listed(db, &head, process, &MARK.to_string())?,
    };
    text.push(MARK);
    text.extend(entry(&scope(process), &process.key()));
    text.push('\n');
    replace(ledger, &text).map_err(unwritable)
}

/// Removes the list: only the ledger can tell from now on.
fn forget(ledger: &Path) -> Result<()> {
    match fs::remove_file(beside(ledger, "")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unwritable(error)),
        _ => Ok(()),
    }
}

/// Removes the list where rows of the table that is listed are about to change or go, or others to come in their place.
pub(super) fn forget_rows(db: &Connection, table: &str) -> Result<()> {
    match file_of(db).filter(|_| table == TABLE) {
        Some(ledger) => forget(&ledger),
        None => Ok(()),
    }
}

/// The list, if it begins with this line.
fn read(ledger: &Path, head: &str) -> Option<String> {
    // A hook must not wait for whoever writes to a pipe.
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let mut options = OpenOptions::new();
    let options = options.read(true).custom_flags(at_once);
    let mut text = String::new();
    let mut list = options.open(beside(ledger, "")).ok()?;
    list.read_to_string(&mut text).ok()?;
    text.starts_with(head).then_some(text)
}

/// A list of all that the ledger has, each with this mark.
fn listed(db: &Connection, head: &str, process: &ProcessIdentity, mark: &str) -> Result<String> {
    let scope = scope(process);
    // The character behind the one that a scope ends with.
    let behind = format!("{}0", scope.trim_end_matches('/'));
    let mut query = db.prepare_cached(
        "SELECT DISTINCT process FROM processes WHERE process >= ?1 AND process < ?2",
    )?;
    let mut rows = query.query([&scope, &behind])?;
    let mut text = head.to_owned();
    while let Some(row) = rows.next()? {
        let bound: String = row.get(0)?;
        if let Some(entry) = entry(&scope, &bound) {
            text.push_str(&format!("{mark}{entry}\n"));
        }
    }
    Ok(text)
}

/// Puts a text in the place of the list, whole or not at all.
fn replace(ledger: &Path, text: &str) -> io::Result<()> {
    let part = beside(ledger, ".part");
    // One that was left behind, whatever stands there.
    let _ = fs::remove_file(&part);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(&part)?.write_all(text.as_bytes())?;
    fs::rename(&part, beside(ledger, ""))
}

fn unwritable(error: io::Error) -> LedgerError {
    LedgerError::Unwritable(Box::new(error))
}

/// The file of a ledger; nothing where it is in memory.
fn file_of(db: &Connection) -> Option<PathBuf> {
    db.path().filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn beside(ledger: &Path, ending: &str) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push("-bound");
    name.push(ending);
    PathBuf::from(name)
}

/// The first line, without the name of the machine: what is forgotten is in no file beside the ledger. Where nothing tells
/// one start of the machine from another, there is no list.
fn head(ledger: &Path, process: &ProcessIdentity) -> io::Result<String> {
    if process.boot.is_empty() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let file = fs::metadata(ledger)?;
    let scope = blake3::hash(scope(process).as_bytes()).to_hex();
    Ok(format!("{} {} {scope}\n", file.dev(), file.ino()))
}

/// What the keys of all processes of one start of a machine begin with.
fn scope(process: &ProcessIdentity) -> String {
    format!("{}/{}/", process.host, process.boot)
}

fn entry(scope: &str, key: &str) -> Option<String> {
    key.strip_prefix(scope).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use siglum_domain::{AgentName, ConversationId, LedgerId, SessionId, Timestamp};
    use uuid::Uuid;

    use super::super::Open;
    use super::NearestBound::{At, Nowhere};
    use super::*;
    use crate::{Durability, Ledger as _, Mode, SessionOrigin, SessionRecord};

    fn process(boot: &str, pid: u32) -> ProcessIdentity {
        ProcessIdentity {
            host: "host".to_owned(),
            boot: boot.to_owned(),
            namespace: 1,
            pid,
            start: 1,
        }
    }

    fn session() -> SessionId {
        SessionId::from_uuid(Uuid::from_u128(1))
    }

    /// A ledger with one session.
    fn open(path: &Path) -> SqliteLedger {
        let id = LedgerId::from_uuid(Uuid::from_u128(1));
        let mut ledger = SqliteLedger::open(path, Open::Command { id, key: [1; 32] }).unwrap();
        let record = SessionRecord::new(
            session(),
            AgentName::new("codex").unwrap(),
            ConversationId::new("c").unwrap(),
            id,
            Mode::Observed,
            SessionOrigin::Live,
            Timestamp::default(),
        );
        ledger
            .write(Durability::Process, &mut |tx| tx.create_session(&record))
            .unwrap();
        ledger
    }

    /// The same in a directory of its own.
    fn in_a_directory() -> (tempfile::TempDir, PathBuf, SqliteLedger) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        let ledger = open(&path);
        (dir, path, ledger)
    }

    fn bind(ledger: &mut SqliteLedger, process: &ProcessIdentity) {
        ledger
            .write(Durability::Process, &mut |tx| {
                tx.bind(session(), process, None, Timestamp::default())
            })
            .unwrap();
    }

    fn nearest(path: &Path, processes: &[&ProcessIdentity]) -> Option<NearestBound> {
        SqliteLedger::nearest_bound(path, processes.iter().copied())
    }

    #[test]
    fn what_is_bound_is_listed_and_nothing_else() {
        let (_dir, path, mut ledger) = in_a_directory();
        let (one, two, three) = (process("boot", 1), process("boot", 2), process("boot", 3));
        assert_eq!(nearest(&path, &[&one]), None, "nobody listed anything");
        ledger.list_bound(&one).unwrap();
        assert_eq!(nearest(&path, &[&one]), Some(Nowhere));
        bind(&mut ledger, &one);
        bind(&mut ledger, &two);
        bind(&mut ledger, &one);
        assert_eq!(nearest(&path, &[&three]), Some(Nowhere));
        assert_eq!(nearest(&path, &[&three, &two, &one]), Some(At(1)));
        let text = fs::read_to_string(beside(&path, "")).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.contains("host"), "{text}");
        let later = process("later", 1);
        assert_eq!(nearest(&path, &[&later]), None, "another start");
        assert_eq!(nearest(&path, &[&process("", 1)]), None, "no word for it");
        assert_eq!(nearest(&path, &[]), None);
    }

    #[test]
    fn a_new_list_has_what_was_bound_before() {
        let (_dir, path, mut ledger) = in_a_directory();
        let (one, later) = (process("boot", 1), process("later", 1));
        bind(&mut ledger, &one);
        bind(&mut ledger, &later);
        assert_eq!(nearest(&path, &[&one]), None, "it is of another start");
        assert_eq!(nearest(&path, &[&later]), Some(At(0)));
        bind(&mut ledger, &process("boot", 2));
        assert_eq!(nearest(&path, &[&one]), Some(At(0)));
        forget(&path).unwrap();
        ledger.list_bound(&later).unwrap();
        assert_eq!(nearest(&path, &[&later]), Some(At(0)));
        assert_eq!(nearest(&path, &[&process("later", 2)]), Some(Nowhere));
    }

    #[test]
    fn what_was_not_stored_is_asked_for() {
        let (_dir, path, mut ledger) = in_a_directory();
        let (one, two) = (process("boot", 1), process("boot", 2));
        bind(&mut ledger, &one);
        let taken_back = ledger.write(Durability::Process, &mut |tx| {
            tx.bind(session(), &two, None, Timestamp::default())?;
            Err(LedgerError::Refused)
        });
        assert!(taken_back.is_err());
        assert_eq!(nearest(&path, &[&two]), None);
        assert_eq!(nearest(&path, &[&one]), Some(At(0)), "the others are known");
        let part = ledger.write(Durability::Process, &mut |tx| {
            let done = tx.nested(&mut |tx| {
                tx.bind(session(), &two, None, Timestamp::default())?;
                Err(LedgerError::Refused)
            });
            assert!(done.is_err());
            Ok(())
        });
        part.unwrap();
        assert_eq!(nearest(&path, &[&two]), Some(Nowhere), "it was looked up");
    }

    #[test]
    fn a_list_that_cannot_be_written_goes() {
        let (_dir, path, mut ledger) = in_a_directory();
        let one = process("boot", 1);
        ledger.list_bound(&one).unwrap();
        fs::create_dir(beside(&path, ".part")).unwrap();
        bind(&mut ledger, &one);
        assert_eq!(nearest(&path, &[&one]), None);
        fs::remove_dir(beside(&path, ".part")).unwrap();
        ledger.list_bound(&one).unwrap();
        assert_eq!(nearest(&path, &[&one]), Some(At(0)), "the ledger has it");
    }

    /// Its file may have the same number as the one before.
    #[test]
    fn a_new_ledger_has_another_list() {
        let (_dir, path, mut ledger) = in_a_directory();
        let one = process("boot", 1);
        bind(&mut ledger, &one);
        drop(ledger);
        assert_eq!(nearest(&path, &[&one]), Some(At(0)));
        for ending in ["-wal", "-shm"] {
            let _ = fs::remove_file(path.with_extension(format!("db{ending}")));
        }
        fs::write(&path, "").unwrap();
        let mut ledger = open(&path);
        assert_eq!(nearest(&path, &[&one]), None);
        ledger.list_bound(&one).unwrap();
        assert_eq!(nearest(&path, &[&one]), Some(Nowhere));
    }

    #[test]
    fn a_list_goes_with_what_it_lists() {
        let (_dir, path, mut ledger) = in_a_directory();
        let one = process("boot", 1);
        bind(&mut ledger, &one);
        forget_rows(ledger.connection(), "sessions").unwrap();
        assert_eq!(nearest(&path, &[&one]), Some(At(0)));
        forget_rows(ledger.connection(), TABLE).unwrap();
        assert_eq!(nearest(&path, &[&one]), None);
    }
}
