//! Reading a long transcript: speed, memory, what is kept.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::redact::Redactor;
use siglum_engine::record::import;
use siglum_engine::{Here, World, worker};
use siglum_gitstore::ObjectStore;
use siglum_ledger::Ledger as _;

use crate::Fallible;
use crate::clock::{Chance, Ids, cpu_ms, now};
use crate::contest::millis;
use crate::home::Home;
use crate::payload::Agent;
use crate::repo::Repo;
use crate::report::Line;
use crate::run::{Run, on_disk};
use crate::transcript;
use crate::watched::{self, memory_mb};

/// The slowest reading, in MB per second of one core.
const SPEED_LEAST: f64 = 50.0;
/// The most memory, in MB.
const MEMORY_MOST: f64 = 100.0;
/// The largest part of the transcript that the ledger may take.
const SHARE_MOST: f64 = 0.25;
/// How often each way is measured.
const ROUNDS: usize = 3;

/// What one reading took.
struct Took {
    wall_s: f64,
    cpu_s: f64,
    memory_mb: f64,
    ledger_mb: f64,
}

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let megabytes = run.much(100, 20);
    let rounds = run.much(ROUNDS, 1);
    let (mut imports, mut works, mut size) = (Vec::new(), Vec::new(), 0.0);
    for round in 0..rounds {
        let scene = |way: &str| prepare(run, &format!("import-{way}-{round}"), megabytes << 20);
        let (home, bytes) = scene("library")?;
        imports.push(by_library(&home)?);
        size = bytes;
        let (home, _) = scene("worker")?;
        works.push(by_worker(&home)?);
    }
    let mut lines = lines("import", size, imports);
    lines.extend(self::lines("worker", size, works));
    Ok(lines)
}

fn lines(way: &str, megabytes: f64, mut took: Vec<Took>) -> Vec<Line> {
    let n = took.len();
    took.sort_by(|a, b| a.cpu_s.total_cmp(&b.cpu_s));
    let took = &took[n / 2];
    let speed = megabytes / took.cpu_s;
    let share = took.ledger_mb / megabytes;
    let what = |what: &str| format!("{way} of {megabytes:.0} MB: {what}");
    vec![
        Line::new(what("speed per core"), speed, "MB/s", n)
            .bound("≥ 50 MB/s", speed >= SPEED_LEAST),
        Line::new(what("wall time"), took.wall_s, "s", n),
        Line::new(what("resident memory"), took.memory_mb, "MB", n)
            .bound("≤ 100 MB", took.memory_mb <= MEMORY_MOST),
        Line::new(what("ledger"), took.ledger_mb, "MB", n)
            .against("transcript", megabytes)
            .bound("≤ 0.25", share <= SHARE_MOST),
    ]
}

/// A home with a repository and one session whose transcript is long; its size in MB.
fn prepare(run: &Run, name: &str, bytes: usize) -> Fallible<(Home, f64)> {
    let dir = run.dir(name)?;
    let home = Home::create(&run.program, &dir)?;
    let repo = Repo::create(&home, &dir.join("repo"), 20, 20)?;
    home.run(&repo.dir, &["init", "--yes"])?;
    let cwd = repo.dir.to_str().ok_or("a path that is no text")?;
    let session = "11111111-2222-4333-8444-555555555555";
    let written = transcript::write(&home.transcript(session), session, cwd, bytes)?;
    #[expect(clippy::cast_precision_loss, reason = "a size of some megabytes")]
    Ok((home, written as f64 / 1e6))
}

/// As `siglum import` does it, in a process of its own.
fn by_library(home: &Home) -> Fallible<Took> {
    let root = home.siglum.parent().ok_or("a home without a parent")?;
    let mut command = Command::new(std::env::current_exe()?);
    home.apply(&mut command);
    let out = command.arg("--import-here").arg(root).output()?;
    if !out.status.success() {
        let stderr = String::from_utf8_lossy(&out.stderr);
        return Err(format!("the import failed: {stderr}").into());
    }
    let report: Value = serde_json::from_slice(&out.stdout)?;
    let number = |key: &str| report[key].as_f64().unwrap_or(f64::NAN);
    Ok(Took {
        wall_s: number("wall_s"),
        cpu_s: number("cpu_s"),
        memory_mb: number("memory_mb"),
        ledger_mb: ledger_mb(home)?,
    })
}

/// The work of that process: imports all transcripts of a home and tells what it took.
pub(crate) fn in_this_process(root: &Path) -> Fallible<()> {
    let home = Home::create(Path::new("siglum"), root)?;
    let (chance, gone) = (Chance::new(7), |_: &ProcessIdentity| None);
    let ids = Ids {
        chance: &chance,
        at: std::cell::Cell::new(now()),
    };
    let world = World {
        here: Here {
            ids: &ids,
            clock: &now,
            alive: &gone,
            redactor: Redactor::shared(),
        },
        git: PathBuf::from("git"),
        objects: ObjectStore::open(home.siglum.join("objects"))?,
    };
    let start = Instant::now();
    let mut ledger = home.ledger()?;
    let user = &home.user;
    let on_disk = import::transcripts_on_disk(&|agent| (agent.default_dir)(user), None, None)?;
    for found in on_disk.found {
        import::import(&world, &mut ledger, &found, &mut |_| {})?;
    }
    while worker::fold_sessions(&world, &mut ledger, 64)? > 0 {}
    ledger.maintain()?;
    let report = json!({
        "wall_s": millis(start) / 1000.0,
        "cpu_s": cpu_ms() / 1000.0,
        "memory_mb": memory_mb(std::process::id()),
    });
    println!("{report}");
    Ok(())
}

/// As the worker does it after the end of a turn.
fn by_worker(home: &Home) -> Fallible<Took> {
    let lock = home.without_worker()?;
    let dir = home
        .siglum
        .parent()
        .ok_or("a home without a parent")?
        .join("repo");
    let mut agent = Agent::start(home, &dir, &Chance::new(8))?;
    let long = home.transcript("11111111-2222-4333-8444-555555555555");
    std::fs::rename(long, home.transcript(&agent.session))?;
    agent.shell_begins()?;
    agent.shell_returns("ok")?;
    agent.stop()?;
    drop(lock);
    let took = watched::run(&mut home.command(&dir, &["worker", "--once"]))?;
    home.check()?;
    Ok(Took {
        wall_s: took.wall_s,
        cpu_s: took.cpu_s,
        memory_mb: took.memory_mb,
        ledger_mb: ledger_mb(home)?,
    })
}

fn ledger_mb(home: &Home) -> Fallible<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a size of some megabytes")]
    Ok(on_disk(&home.siglum)? as f64 / 1e6)
}
