//! The stores that each scenario runs on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::types::ValueRef;
use serde_json::{Value, json};

use super::driver::Driver;
use crate::forgetting::{rows, unpacked};
use crate::harness::World;

/// A new store in a world of its own, and what happened to it.
pub(crate) struct Store {
    pub(crate) world: World,
    pub(crate) place: Place,
    kills: u32,
    outcomes: BTreeMap<String, u32>,
    /// Whether a driver looks at what is left of it.
    is_checked: bool,
}

/// Where it is.
pub(crate) enum Place {
    File(PathBuf),
    /// A database of its own on a server: the server's address, and its name.
    Server(String, String),
}

impl Place {
    fn address(&self) -> String {
        match self {
            Self::File(file) => file.to_str().unwrap().to_owned(),
            Self::Server(server, name) => {
                let plain = server.split('?').next().unwrap();
                let (host, _) = plain.rsplit_once('/').unwrap();
                server.replacen(plain, &format!("{host}/{name}"), 1)
            }
        }
    }
}

/// What PostgreSQL's own program says.
#[track_caller]
fn psql(address: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("psql");
    command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", address]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Runs a scenario on each store, and checks what is left of it.
pub(crate) fn each_store(scenario: impl Fn(&mut Store)) {
    on_a_file(&scenario);
    on_a_server(&scenario);
}

/// The same for a scenario that waits more than it works: on all stores at once.
pub(crate) fn each_store_at_once(scenario: impl Fn(&mut Store) + Sync) {
    // What a scenario prints has the name of its test, which is that of the thread.
    let named = || {
        let name = std::thread::current().name().map(str::to_owned);
        std::thread::Builder::new().name(name.unwrap_or_default())
    };
    std::thread::scope(|scope| {
        named()
            .spawn_scoped(scope, || on_a_file(&scenario))
            .unwrap();
        named()
            .spawn_scoped(scope, || on_a_server(&scenario))
            .unwrap();
    });
}

pub(crate) fn on_a_file(scenario: impl Fn(&mut Store)) {
    let world = World::new();
    let place = Place::File(world.siglum_home().join("ledger.db"));
    run(world, place, "sqlite", scenario);
}

/// Only where there is a server.
pub(crate) fn on_a_server(scenario: impl Fn(&mut Store)) {
    if let Some(server) = server() {
        on_a_database_of(&server, "", scenario);
    }
}

/// On the database of this name that a server of the scenario's own has already.
pub(crate) fn on_the_database(address: &str, name: &str, scenario: impl Fn(&mut Store)) {
    let place = Place::Server(address.to_owned(), name.to_owned());
    run(World::new(), place, "postgres", scenario);
}

/// Only where there is a server that has little room. The scenario gets the directory that is soon full.
pub(crate) fn on_a_server_with_little_room(scenario: impl Fn(&mut Store, &Path)) {
    let Ok(server) = std::env::var("SIGLUM_TEST_PG_SMALL") else {
        eprintln!("not shown on PostgreSQL: SIGLUM_TEST_PG_SMALL is not set");
        return;
    };
    let place = "SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname = 'small'";
    let place = psql(&server, &["-c", place]);
    on_a_database_of(&server, "TABLESPACE small", |store| {
        scenario(store, Path::new(&place));
    });
}

fn server() -> Option<String> {
    let server = std::env::var("SIGLUM_TEST_PG").ok();
    if server.is_none() {
        eprintln!("not shown on PostgreSQL: SIGLUM_TEST_PG is not set");
    }
    server
}

fn on_a_database_of(server: &str, options: &str, scenario: impl Fn(&mut Store)) {
    // Several tests may run in one process.
    static MADE: AtomicU32 = AtomicU32::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let name = format!("faults_{}_{made}", std::process::id());
    psql(
        server,
        &["-c", &format!("CREATE DATABASE {name} {options}")],
    );
    let place = Place::Server(server.to_owned(), name.clone());
    run(World::new(), place, "postgres", scenario);
    psql(server, &["-c", &format!("DROP DATABASE {name}")]);
}

fn run(world: World, place: Place, kind: &str, scenario: impl Fn(&mut Store)) {
    let mut store = Store {
        world,
        place,
        kills: 0,
        outcomes: BTreeMap::new(),
        is_checked: true,
    };
    scenario(&mut store);
    if store.is_checked {
        store.check();
    }
    let thread = std::thread::current();
    eprintln!(
        "{kind} {}: {} killed, {:?}",
        thread.name().unwrap_or_default(),
        store.kills,
        store.outcomes
    );
}

impl Store {
    /// Where a driver finds it.
    pub(crate) fn address(&self) -> String {
        self.place.address()
    }

    /// The file, of one that is in a file.
    pub(crate) fn file(&self) -> &Path {
        match &self.place {
            Place::File(file) => file,
            Place::Server(..) => panic!("it is on a server"),
        }
    }

    pub(crate) const fn is_file(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// A part of what is stored is where no driver looks: the scenario checks what is left by itself.
    pub(crate) const fn skip_check(&mut self) {
        self.is_checked = false;
    }

    /// A new process that drives.
    #[track_caller]
    pub(crate) fn driver(&self) -> Driver {
        Driver::start(self)
    }

    /// A directory that shows what is committed.
    pub(crate) fn dir(&self) -> String {
        self.world.root.join("shown").to_str().unwrap().to_owned()
    }

    /// A driver is dead. Where nobody can see that, its lease runs out.
    pub(crate) fn killed(&mut self) {
        self.kills += 1;
        if !self.is_file() {
            self.seconds_pass(120);
        }
    }

    pub(crate) fn outcome(&mut self, what: &str) {
        *self.outcomes.entry(what.to_owned()).or_default() += 1;
    }

    /// What a statement of the store's own language gives: rows by line, columns by `|`.
    pub(crate) fn sql(&self, sql: &str) -> String {
        if !self.is_file() {
            return psql(&self.address(), &["-c", sql]);
        }
        let db = rusqlite::Connection::open(self.file()).unwrap();
        siglum_ledger::sqlite::sums_on(&db).unwrap();
        db.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
        let mut query = db.prepare(sql).unwrap();
        let columns = query.column_count();
        let mut rows = query.query([]).unwrap();
        let mut lines = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            let cell = |n| match row.get_ref(n).unwrap() {
                ValueRef::Null => String::new(),
                ValueRef::Integer(n) => n.to_string(),
                ValueRef::Real(n) => n.to_string(),
                ValueRef::Text(t) | ValueRef::Blob(t) => String::from_utf8_lossy(t).into_owned(),
            };
            lines.push((0..columns).map(cell).collect::<Vec<_>>().join("|"));
        }
        lines.join("\n")
    }

    /// All that is in its rows, as it is and unpacked.
    pub(crate) fn rows(&self) -> Vec<u8> {
        if self.is_file() {
            return rows(&rusqlite::Connection::open(self.file()).unwrap());
        }
        let dump = std::fs::read(self.backup()).unwrap();
        let mut bytes = Vec::new();
        for field in dump.split(|byte| matches!(byte, b'\t' | b'\n')) {
            // So a dump writes bytes.
            let Some(digits) = field.strip_prefix(br"\\x") else {
                continue;
            };
            let digit = |d: &u8| char::from(*d).to_digit(16).unwrap() as u8;
            let pairs = digits.chunks_exact(2);
            let content: Vec<u8> = pairs.map(|p| digit(&p[0]) << 4 | digit(&p[1])).collect();
            bytes.extend(unpacked(&content));
            bytes.extend(content);
            bytes.push(b'\n');
        }
        [bytes, dump].concat()
    }

    /// Whether its server answers.
    pub(crate) fn answers(&self) -> bool {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-q", "-c", "SELECT 1", &self.address()]);
        psql.output().unwrap().status.success()
    }

    /// So many seconds go by, as far as leases and pauses tell.
    pub(crate) fn seconds_pass(&self, seconds: u32) {
        for (table, column) in [("leases", "expires_at"), ("deliveries", "retry_at")] {
            self.sql(&format!(
                "UPDATE {table} SET {column} = {column} - {seconds}000000000"
            ));
        }
    }

    /// From now on nothing of this session is committed.
    pub(crate) fn break_commits(&self, session: &str) {
        let hex = session.trim_start_matches("ses_");
        if !self.is_file() {
            let check = format!("CHECK (session <> '{hex}') NOT VALID");
            self.sql(&format!(
                "ALTER TABLE receipts ADD CONSTRAINT broken {check}"
            ));
            return;
        }
        self.sql(&format!(
            "CREATE TRIGGER broken BEFORE INSERT ON receipts WHEN NEW.session = x'{hex}' \
             BEGIN SELECT RAISE(ABORT, 'broken'); END"
        ));
    }

    /// They are again.
    pub(crate) fn mend_commits(&self) {
        self.sql(if self.is_file() {
            "DROP TRIGGER broken"
        } else {
            "ALTER TABLE receipts DROP CONSTRAINT broken"
        });
    }

    /// A copy of all that it has.
    pub(crate) fn backup(&self) -> PathBuf {
        let copy = self.world.root.join("backup");
        if self.is_file() {
            self.sql(&format!("VACUUM INTO '{}'", copy.display()));
        } else {
            let mut dump = Command::new("pg_dump");
            dump.args(["--no-owner", "-f", copy.to_str().unwrap(), &self.address()]);
            assert!(dump.status().unwrap().success());
        }
        copy
    }

    /// The copy takes its place. Nobody may have it open.
    pub(crate) fn restore(&self, copy: &Path) {
        match &self.place {
            Place::File(file) => {
                for ending in ["-wal", "-shm"] {
                    let _ = std::fs::remove_file(format!("{}{ending}", file.display()));
                }
                std::fs::copy(copy, file).unwrap();
            }
            Place::Server(server, name) => {
                // By force, it would end autovacuum, too, which an ordinary role may not; without, the server itself
                // sends that away.
                let end = format!(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}' \
                     AND backend_type = 'client backend' AND usename = current_user"
                );
                psql(server, &["-c", &end]);
                psql(server, &["-c", &format!("DROP DATABASE {name}")]);
                psql(server, &["-c", &format!("CREATE DATABASE {name}")]);
                psql(&self.address(), &["-f", copy.to_str().unwrap()]);
            }
        }
    }

    /// The ledger verifies, and every sink is a prefix of it.
    #[track_caller]
    pub(crate) fn check(&self) -> Value {
        let checked = self
            .driver()
            .must(&json!({ "do": "check", "dirs": [self.dir()] }));
        assert_eq!(checked["problems"], json!([]));
        checked
    }
}
