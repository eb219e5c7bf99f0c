//! The store, and the world as this process sees it.

use std::fs;

use siglum_domain::process::ProcessIdentity;
use siglum_domain::redact::Redactor;
use siglum_domain::{IdSource, LedgerId, Tenant, Timestamp};
use siglum_engine::{Here, World};
use siglum_gitstore::ObjectStore;
use siglum_ledger::postgres::{PostgresLedger, PostgresSettings};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, LedgerError, SqliteLedger};
use uuid::Uuid;

pub(crate) struct Ids;

impl IdSource for Ids {
    fn fresh(&self) -> Uuid {
        Uuid::now_v7()
    }
}

fn now() -> Timestamp {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap();
    Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap())
}

/// Nanoseconds of the clock that all processes of this machine share and nobody sets.
pub(crate) fn moment() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

pub(crate) fn world(home: &str) -> World<'static> {
    std::fs::create_dir_all(home).unwrap();
    World {
        here: Here {
            ids: &Ids,
            clock: &now,
            alive: &alive,
            redactor: Redactor::shared(),
        },
        git: "git".into(),
        objects: ObjectStore::open(format!("{home}/objects")).unwrap(),
    }
}

/// Opens a file, or the store at an address.
pub(crate) fn open(store: &str) -> Result<Box<dyn Ledger + Send>, LedgerError> {
    let how = Open::Command {
        id: LedgerId::mint(&Ids),
        key: [7; 32],
    };
    if store.starts_with("postgres") {
        let settings = PostgresSettings::new(store, Tenant::new("tests").unwrap());
        return Ok(Box::new(PostgresLedger::open(&settings, how)?));
    }
    Ok(Box::new(SqliteLedger::open(store.as_ref(), how)?))
}

/// An error with its causes.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// This process, as the program under test names it.
pub(crate) fn own() -> ProcessIdentity {
    let link = fs::read_link("/proc/self/ns/pid").unwrap();
    let digits = |c: &char| c.is_ascii_digit();
    let namespace: String = link.to_str().unwrap().chars().filter(digits).collect();
    let host = rustix::system::uname();
    ProcessIdentity {
        host: host.nodename().to_str().unwrap().to_owned(),
        boot: boot(),
        namespace: namespace.parse().unwrap(),
        pid: std::process::id(),
        start: start(std::process::id()).unwrap(),
    }
}

fn alive(process: &ProcessIdentity) -> Option<bool> {
    (process.boot == boot()).then(|| start(process.pid) == Some(process.start))
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    id.trim().to_owned()
}

/// When a process began; nothing for one that is dead, also where its parent does not know that yet.
fn start(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let gone = matches!(*fields.first()?, "Z" | "X");
    (!gone).then(|| fields.get(19)?.parse().ok()).flatten()
}
