//! What is there after a power cut.
//!
//! An agent works, commits and meets a locked ledger, and a driver commits turns, while `strace` writes down what they
//! and all their programs do to files in Siglum's home and in its directory of the repository. Then the disk is made
//! again as a cut may leave it: with what was waited for, and of the rest a choice: writes that are lost, torn between
//! sectors, or there although earlier ones are not; names up to some point of the file system's journal. Nothing that
//! was acknowledged may be lost, and nothing that a receipt seals.

mod cut;
mod trace;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Mutex;

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use siglum_gitstore::ObjectStore;

use self::cut::{Disk, lay_out};
use self::trace::Op;
use super::driver::Driver;
use crate::harness::{Agent, Dice, Ran, Repo, World, number, until};

/// How many states of the disk are looked at, where `SIGLUM_TEST_POWER_CUTS` does not say.
const CUTS: u64 = 200;
const THREADS: u64 = 2;
/// What is cut: Siglum's home, and its directory in the repository, below the directory of a world.
const KEPT: [&str; 2] = ["siglum", "repo/.git/siglum"];
const HOME: &str = KEPT[0];
/// Below it, the names of files say what was acknowledged.
const ACKNOWLEDGED: &str = "siglum/acks";
/// The calls that are played again.
const CALLS: &str = "openat,write,pwrite64,ftruncate,fsync,fdatasync,syncfs,sync,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir";

/// What was promised, and from which operation on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Promise {
    /// A commit is known by the intent that the hook before it left.
    Commit(String),
    /// A turn was committed under this key.
    Turn(String),
    /// A session was begun while the ledger was locked.
    Session(String),
}

#[test]
fn a_power_cut_loses_nothing_that_was_acknowledged_or_sealed() {
    let world = World::new();
    let repo = world.repo();
    fs::create_dir(world.root.join(ACKNOWLEDGED)).unwrap();
    let mut agent = Agent::start(&repo, "one");
    let mut driver = Driver::on(
        &world,
        world.siglum_home().join("ledger.db").to_str().unwrap(),
    );
    let session = driver.create("driven");
    driver.lease(&session);
    work(&world, &mut agent, 0);
    rest(&repo);
    // One that was started before would work unseen.
    until("no program is left", || is_quiet(&world));
    let before = files(&world.root);
    // The test, too: whoever closes a ledger last brings its log in.
    let strace = Strace::attach(&world, &[agent.pid(), driver.pid(), std::process::id()]);
    for round in 1..=4 {
        work(&world, &mut agent, round);
        let key = format!("t{round}");
        driver.turn(&session, &key);
        acknowledge(&world, &mut agent, &format!("turn-{key}"));
    }
    rest(&repo);
    agent.quit();
    driver.kill();
    until("no program is left", || is_quiet(&world));
    let text = strace.end();
    let names: Vec<PathBuf> = before.iter().map(|(name, _)| name.clone()).collect();
    let ops = trace::read(&text, &world.root, &KEPT, &names);
    let promises = promises(&ops);
    assert!(promises.len() >= 12, "{promises:?}");
    let waited = |op: &&Op| matches!(op, Op::SyncFile { .. } | Op::SyncDir { .. });
    assert!(ops.iter().filter(waited).count() > 20, "{}", ops.len());
    assert!(
        ops.iter().any(is_intent_in_note),
        "the ledger was asked about every commit"
    );
    let disk = Disk { before, ops };
    check_whole(&disk, &world);
    let tally = look_at_cuts(&repo, &disk, &promises);
    println!("power cuts: {tally:?}");
}

/// The note of a commit whose intent is nowhere else.
fn is_intent_in_note(op: &Op) -> bool {
    let Op::Write { bytes, .. } = op else {
        return false;
    };
    String::from_utf8_lossy(bytes).contains(r#""untold":true"#)
}

/// What is played again must be what happened.
fn check_whole(disk: &Disk, world: &World) {
    let mut whole = disk.whole();
    for (name, bytes) in files(&world.root) {
        let same = whole.remove(&name).is_some_and(|again| again == bytes);
        assert!(
            same || name.ends_with("worker.lock"),
            "{} was not made again",
            name.display()
        );
    }
    let left: Vec<_> = whole.keys().collect();
    assert!(left.is_empty(), "{left:?} went, but not here");
}

/// Whether no program of ours runs any more: a worker closes the ledger last of all.
fn is_quiet(world: &World) -> bool {
    let is_ours = |pid: &u32| {
        let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        program.ends_with("siglum")
    };
    !world.processes().iter().any(is_ours)
}

/// A round of work, each part of which is acknowledged.
fn work(world: &World, agent: &mut Agent, round: u32) {
    agent.prompt(&format!("round {round}"));
    for file in ["a.txt", "b.txt"] {
        let lines: String = (0..200).map(|n| format!("{file} {round} {n}\n")).collect();
        agent.write(file, &lines);
    }
    // Before any other hook tells the ledger of it.
    let acknowledged = world.root.join(ACKNOWLEDGED);
    agent
        .sh(&format!(
            "git add -A && git commit -q -m 'Round {round}' && > {}/commit-$(git rev-parse HEAD)",
            acknowledged.display()
        ))
        .ok();
    agent.stop();
    // The ledger is somebody else's for a while.
    let store = world.store();
    until("the ledger is locked", || {
        store.execute_batch("BEGIN IMMEDIATE").is_ok()
    });
    let native = format!("locked-{round}");
    agent.clear(&native);
    acknowledge(world, agent, &format!("session-{native}"));
    drop(store);
}

/// Makes a file whose name says what was acknowledged: from there on it is promised.
fn acknowledge(world: &World, agent: &mut Agent, what: &str) {
    let acknowledged = world.root.join(ACKNOWLEDGED);
    agent
        .bare_sh(&format!("> {}/{what}", acknowledged.display()))
        .ok();
}

/// Waits until the worker has done all.
fn rest(repo: &Repo<'_>) {
    until("all is sealed", || {
        repo.siglum(&["worker", "--once"]);
        let open = "SELECT count(*) FROM sessions WHERE mode = 'observed' AND head > folded";
        repo.world.spooled() == 0 && repo.world.count(open) == 0
    });
}

struct Strace {
    child: Child,
    out: PathBuf,
}

impl Strace {
    fn attach(world: &World, processes: &[u32]) -> Self {
        let out = world.root.join("strace");
        let mut command = world.command("strace");
        command.args([
            "-f",
            "-y",
            "-xx",
            "-s",
            "100000000",
            "-e",
            &format!("trace={CALLS},{}", trace::OTHERS.join(",")),
        ]);
        command.arg("-o").arg(&out);
        for process in processes {
            command.args(["-p", &process.to_string()]);
        }
        let child = command.stderr(Stdio::null()).spawn().unwrap();
        let traced = |process: &u32| {
            let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
            threads.flatten().all(|thread| {
                let status = fs::read_to_string(thread.path().join("status")).unwrap();
                !status.contains("TracerPid:\t0")
            })
        };
        until("strace is there", || processes.iter().all(traced));
        Self { child, out }
    }

    fn end(mut self) -> String {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        let _ = kill_process(pid, Signal::INT);
        self.child.wait().unwrap();
        fs::read_to_string(&self.out).unwrap()
    }
}

/// All files that are cut, by their names below the directory of a world, but shared memory.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut open) = (Vec::new(), KEPT.map(|kept| root.join(kept)).to_vec());
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap().flatten() {
            let path = entry.path();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() && !path.to_str().unwrap().ends_with("-shm") {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    found
}

fn promises(ops: &[Op]) -> Vec<(usize, Promise)> {
    let promise = |op: &Op| {
        let Op::Create { name, .. } = op else {
            return None;
        };
        let ack = name.strip_prefix(ACKNOWLEDGED).ok()?.to_str()?;
        let (kind, what) = ack.split_once('-')?;
        let what = what.to_owned();
        Some(match kind {
            "commit" => Promise::Commit(what),
            "turn" => Promise::Turn(what),
            _ => Promise::Session(what),
        })
    };
    let all = ops.iter().enumerate();
    all.filter_map(|(n, op)| Some((n, promise(op)?))).collect()
}

/// Cuts the power at many moments, and counts what was found.
fn look_at_cuts(
    repo: &Repo<'_>,
    disk: &Disk,
    promises: &[(usize, Promise)],
) -> BTreeMap<&'static str, usize> {
    let cuts = number("SIGLUM_TEST_POWER_CUTS").unwrap_or(CUTS);
    let tally = Mutex::new(BTreeMap::new());
    let removals = disk.removals();
    let acknowledged: Vec<usize> = promises.iter().map(|(n, _)| n + 1).collect();
    for kept in KEPT {
        fs::remove_dir_all(repo.world.root.join(kept)).unwrap();
    }
    let place = Mutex::new(());
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (tally, place) = (&tally, &place);
            let (removals, acknowledged) = (&removals, &acknowledged);
            scope.spawn(move || {
                for cut in (thread..cuts).step_by(THREADS as usize) {
                    let seed = cut + 1;
                    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                    let at = match cut / THREADS % 4 {
                        0 | 2 => removals[dice.index(removals.len())],
                        1 => acknowledged[dice.index(acknowledged.len())],
                        _ => dice.index(disk.ops.len() + 1),
                    };
                    let state = disk.cut(at, &mut dice);
                    let due = promises.iter().filter(|(n, _)| *n < at).map(|(_, p)| p);
                    let what = format!("cut {cut} before operation {at}");
                    let found = look_at(repo, place, &state, due, &what);
                    let mut tally = tally.lock().unwrap();
                    for (what, count) in found {
                        *tally.entry(what).or_default() += count;
                    }
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// Brings one state up again, and looks whether it keeps what was promised.
fn look_at<'a>(
    repo: &Repo<'_>,
    place: &Mutex<()>,
    state: &cut::State,
    due: impl Iterator<Item = &'a Promise>,
    what: &str,
) -> Vec<(&'static str, usize)> {
    let dir = tempfile::tempdir_in(&repo.world.root).unwrap();
    lay_out(state, dir.path());
    let home = dir.path().join(HOME);
    let open = || Connection::open(home.join("ledger.db")).unwrap();
    let sound = sealed_versions(&open(), &home, what);
    let worked = work_off(repo, place, dir.path());
    assert_eq!(worked.code, Some(0), "{what}: {worked:?}");
    let mut verify = repo.world.command(World::program());
    verify.env("SIGLUM_HOME", &home).current_dir(dir.path());
    let verified = verify.args(["verify", "--all", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&verified.stdout).expect(what);
    let problems = report["data"]["problems"].as_array().unwrap();
    for problem in problems {
        let place = problem["place"].as_str().unwrap();
        assert!(place.starts_with("file version"), "{what}: {problem}");
    }
    let store = open();
    let mut kept = 0;
    for promise in due {
        let (sql, key) = match promise {
            Promise::Commit(commit) => (
                "SELECT count(*) FROM commits WHERE \"commit\" = ?1 AND intent IS NOT NULL",
                commit,
            ),
            Promise::Turn(key) => ("SELECT count(*) FROM receipts WHERE key = ?1", key),
            Promise::Session(native) => ("SELECT count(*) FROM aliases WHERE native = ?1", native),
        };
        let count: i64 = store.query_row(sql, [key], |row| row.get(0)).unwrap();
        assert_eq!(count, 1, "{what}: {promise:?} is lost");
        kept += 1;
    }
    vec![
        ("states", 1),
        ("promises kept", kept),
        ("sealed file versions that are sound", sound),
        (
            "file versions that were not waited for, told as such",
            problems.len(),
        ),
    ]
}

/// Has the worker take in what waits in a state. One at a time is where it was recorded: notes name their home, and the
/// ledger the repository.
fn work_off(repo: &Repo<'_>, place: &Mutex<()>, state: &Path) -> Ran {
    let _alone = place.lock().unwrap();
    let move_kept = |from: &Path, to: &Path| {
        for kept in KEPT {
            fs::rename(from.join(kept), to.join(kept)).unwrap();
        }
    };
    move_kept(state, &repo.world.root);
    let worked = repo.siglum(&["worker", "--once"]);
    move_kept(&repo.world.root, state);
    worked
}

/// The file versions of sessions of which all is sealed must be readable. Gives how many there are.
fn sealed_versions(store: &Connection, home: &Path, what: &str) -> usize {
    let objects = ObjectStore::open(home.join("objects")).unwrap();
    let sql = "SELECT e.before_object, e.after_object FROM edits e JOIN sessions s ON s.id = e.session WHERE s.head = s.sealed";
    let mut query = store.prepare(sql).unwrap();
    let rows = query
        .query_map([], |row| {
            Ok([row.get::<_, Option<String>>(0)?, row.get(1)?])
        })
        .unwrap();
    let named: Vec<String> = rows.flat_map(|row| row.unwrap()).flatten().collect();
    for name in &named {
        let read = objects.get(&name.parse().unwrap());
        assert!(read.is_ok(), "{what}: {name}: {read:?}");
    }
    named.len()
}
