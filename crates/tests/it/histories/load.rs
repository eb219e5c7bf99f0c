//! Drivers under load: threads of one process, and processes that are killed, stopped and cut off.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::check::{Deaths, check};
use super::handover::{self, Kill};
use super::history::{self, Op};
use super::{authority, history::Outcome};
use crate::faults::store::{Store, on_a_file, on_a_server};
use crate::harness::{Dice, number, seed, until};

/// How long a lease is good. On a server that is how long a session waits whose driver died.
const TERM: u64 = 800;

/// The clock of the histories.
fn moment() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap()
}

/// A process that drives.
struct Process {
    child: Child,
    name: String,
}

impl Process {
    fn start(store: &Store, name: &str, threads: u64, seed: u64, operations: u64) -> Self {
        std::fs::create_dir_all(histories(store)).unwrap();
        let how = json!({
            "history": histories(store), "name": name, "threads": threads, "sessions": 3,
            "term_ms": TERM, "seed": seed, "operations": operations,
        });
        let mut command = store.world.command(env!("CARGO_BIN_EXE_played-driver"));
        command
            .arg(store.address())
            .arg(store.world.root.join("driver"));
        let child = command
            .arg(how.to_string())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let name = name.to_owned();
        Self { child, name }
    }

    /// The name of its first thread.
    fn driver(&self) -> String {
        format!("{}a", self.name)
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Kills it, and says so.
    #[track_caller]
    fn kill(mut self) -> Kill {
        assert_eq!(
            self.child.try_wait().unwrap(),
            None,
            "{} ended by itself",
            self.name
        );
        let at = moment();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        Kill {
            driver: self.driver(),
            at,
        }
    }

    /// Tells it to end, waits until it has, and says since when it may have.
    #[track_caller]
    fn end(mut self) -> (String, u64) {
        let at = moment();
        drop(self.child.stdin.take());
        until("a driver ends", || self.child.try_wait().unwrap().is_some());
        assert!(self.child.wait().unwrap().success(), "{} failed", self.name);
        (self.driver(), at)
    }
}

fn histories(store: &Store) -> PathBuf {
    store.world.root.join("histories")
}

/// Holds what happened against what is stored.
#[track_caller]
fn checked(store: &Store, deaths: &Deaths) -> Vec<Op> {
    let began = Instant::now();
    let history = history::read(&histories(store));
    let authority = authority::read(&mut store.driver(), &history);
    let problems = check(&history, &authority, deaths);
    let (some, all) = (&problems[..problems.len().min(20)], problems.len());
    assert!(problems.is_empty(), "{all} problems, such as {some:#?}");
    let of = |outcome| history.iter().filter(|op| op.outcome == outcome).count();
    let turns: usize = authority.values().map(|log| log.receipts.len()).sum();
    let recovered = authority.values().flat_map(|log| &log.entries);
    let recovered = recovered
        .filter(|item| item.key.starts_with("recovered:"))
        .count();
    eprintln!(
        "{} operations of {} drivers: {} done, {} refused, {} unknown; {turns} turns in {} sessions, {recovered} of them recovered; checked in {:.1?}",
        history.len(),
        history
            .iter()
            .map(|op| &op.by)
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        of(Outcome::Done),
        of(Outcome::Refused),
        of(Outcome::Unknown),
        authority.len(),
        began.elapsed(),
    );
    history
}

#[test]
fn four_drivers_of_one_process_agree_with_one_log_a_session() {
    on_a_file(|store| {
        let seed = seed();
        eprintln!("SIGLUM_SEED={seed}");
        let mut process = Process::start(store, "d", 4, seed, 1_500);
        // To wait would close its input, and so tell it to end.
        let input = process.child.stdin.take();
        assert!(process.child.wait().unwrap().success());
        drop(input);
        let history = checked(store, &Deaths::new());
        assert!(history.len() >= 6_000);
        seen(&history);
    });
}

/// What has to have happened for this to have shown anything.
#[track_caller]
fn seen(history: &[Op]) {
    for what in [
        "abort", "append", "commit", "fork", "keyed", "lease", "open", "page", "pending",
        "recover", "release", "renew", "sealed",
    ] {
        assert!(
            history.iter().any(|op| op.is(what) && op.is_done()),
            "no {what}"
        );
    }
    for code in ["conflict", "fenced", "leased", "stale", "store", "unknown"] {
        assert!(
            history.iter().any(|op| op.answer["error"] == code),
            "nobody was told {code}"
        );
    }
}

/// Drives with four processes, of which now and then one is killed and another one takes its place, or one is stopped
/// for longer than its lease, or the server cuts one off.
fn killed_at_random(store: &mut Store) {
    let (seed, seconds) = (seed(), number("SIGLUM_SECONDS").unwrap_or(15));
    eprintln!("SIGLUM_SEED={seed} SIGLUM_SECONDS={seconds}");
    let mut dice = Dice(seed);
    let mut started = 0;
    let mut start = |store: &Store, dice: &mut Dice| {
        started += 1;
        Process::start(store, &format!("d{started}"), 1, dice.roll(u64::MAX), 0)
    };
    let mut all: Vec<_> = (0..4).map(|_| start(store, &mut dice)).collect();
    let mut kills: Vec<Kill> = Vec::new();
    let (mut pauses, mut cuts) = (0, 0);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(Duration::from_millis(100 + dice.roll(700)));
        let at = usize::try_from(dice.roll(4)).unwrap();
        match dice.roll(8) {
            0 => {
                all[at].signal(Signal::STOP);
                std::thread::sleep(Duration::from_millis(TERM + dice.roll(TERM)));
                all[at].signal(Signal::CONT);
                pauses += 1;
            }
            1 | 2 if !store.is_file() => {
                let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
                     AND backend_type = 'client backend' AND usename = current_user \
                     AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1";
                store.sql(cut);
                cuts += 1;
            }
            _ => {
                kills.push(all.swap_remove(at).kill());
                std::thread::sleep(Duration::from_millis(dice.roll(200)));
                all.push(start(store, &mut dice));
            }
        }
    }
    let ends: Vec<_> = all.into_iter().map(Process::end).collect();
    if !store.is_file() {
        let found = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
        assert_eq!(
            store.sql(found),
            "0",
            "two locked the same in another order"
        );
    }
    // On a server nobody sees who is dead.
    let died = kills.iter().map(|kill| (kill.driver.clone(), kill.at));
    let deaths = match store.is_file() {
        true => died.chain(ends).collect(),
        false => Deaths::new(),
    };
    let history = checked(store, &deaths);
    let times = handover::times(&history, &kills);
    // In a short run on a busy machine nobody may have come to it.
    assert!(!times.is_empty() || seconds < 60, "no driver took over");
    let ms = |time: Option<&Duration>| {
        time.map_or_else(|| "none".to_owned(), |t| format!("{} ms", t.as_millis()))
    };
    eprintln!(
        "{} killed, {pauses} stopped past their lease of {TERM} ms, {cuts} cut off; {} hand-overs: median {}, worst {}",
        kills.len(),
        times.len(),
        ms(times.get(times.len() / 2)),
        ms(times.last()),
    );
}

#[test]
fn four_processes_killed_at_random_on_a_file_lose_nothing() {
    on_a_file(killed_at_random);
}

#[test]
fn four_processes_killed_at_random_on_a_server_lose_nothing() {
    on_a_server(killed_at_random);
}
