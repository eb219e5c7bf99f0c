//! `siglum worker`: does what can wait, and leaves when there is nothing.

pub mod feeders;
mod retention;

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use siglum_engine::worker::{self, Run, Slice};
use siglum_ledger::{Aside, SqliteLedger, read};

use self::feeders::Feeders;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform::{self, Lock};
use crate::text_files::take_up_notes;

/// How long the worker waits for more, in slices of this many milliseconds.
const IDLE_MS: u64 = 200;
const IDLE_SLICES: u32 = 10;

/// Nobody asks for longer whether the lock is free, in milliseconds.
const ASKED_MS: u64 = 20;

/// How often a worker goes on because something is due at a projection. What it cannot hand over must not keep it for
/// long; and a worker lives through many changes of projections, none of which starts another one.
const AGAIN_MOST: u32 = 16;

/// Process the work that hooks deferred, then exit
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Process the deferred work and exit at once
    siglum worker --once")]
pub struct Args {
    /// Exit as soon as no work is left
    #[arg(long)]
    once: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    // A hook starts it, and its home may be moved away before it is up: a second one would be in the way of its return.
    if !cx.home.dir().is_dir() {
        return Ok(());
    }
    if !args.once {
        platform::detach();
    }
    let mut feeders = Feeders::from_own_ledger(cx, args.once);
    let (program, mut again) = (program(), 0);
    loop {
        let Some(lock) = take_lock(&cx.home.worker_lock()) else {
            return Ok(());
        };
        let (ledger, version) = work(args, cx, program.as_ref(), &mut feeders)?;
        drop(lock);
        // Whoever came after the last look and before the lock was free started no worker.
        if ledger.version()? != version || !cx.home.spool().is_empty() {
            continue;
        }
        if again == AGAIN_MOST || !feeders::is_due(cx)? {
            return Ok(());
        }
        again += 1;
    }
}

/// Takes the lock of the worker, unless another worker has it: who only asks whether it is free has it for a moment.
fn take_lock(path: &Path) -> Option<Lock> {
    Lock::try_take(path).or_else(|| {
        std::thread::sleep(Duration::from_millis(ASKED_MS));
        Lock::try_take(path)
    })
}

/// Works until nothing is left. Gives the ledger, and its version before the last look.
fn work(
    args: &Args,
    cx: &Cx,
    program: Option<&Metadata>,
    feeders: &mut Feeders,
) -> Result<(SqliteLedger, i64), CommandError> {
    let world = cx.world_in_home()?;
    let mut ledger = cx.open_ledger_in_home()?;
    // This program may be the newer one that they wait for.
    for spool in cx.all_spools(&mut ledger)? {
        spool.take_back(&[Aside::Newer]);
    }
    let mut run = Run::default();
    let mut idle = 0;
    loop {
        let version = ledger.version()?;
        let repositories = read(&mut ledger, |tx| tx.repositories())?;
        take_up_notes(&cx.home, &repositories, &mut ledger);
        let mut spools = cx.all_spools(&mut ledger)?;
        cx.find_lost_launches(&world, &mut ledger)?;
        feeders.follow(read(&mut ledger, |tx| tx.projections())?);
        spools.retain(|spool| !spool.is_empty());
        let has_worked = worker::slice(&world, &mut ledger, &spools, &mut run)? == Slice::Worked;
        // Nothing goes before all that waits has come in: it may be about what is old.
        if has_worked || retention::apply(cx, &world, &mut ledger, args.once) {
            idle = 0;
            feeders.more();
            continue;
        }
        idle = match feeders.are_idle() && !run.folds_later() {
            true => idle + 1,
            false => 0,
        };
        let is_over = match args.once {
            true => idle > 0,
            false => idle > IDLE_SLICES || changed(program),
        };
        if is_over && feeders.pause() {
            return Ok((ledger, version));
        }
        std::thread::sleep(Duration::from_millis(IDLE_MS));
    }
}

fn program() -> Option<Metadata> {
    std::env::current_exe().and_then(std::fs::metadata).ok()
}

/// Tells whether the program was replaced since it was started.
fn changed(before: Option<&Metadata>) -> bool {
    let same =
        |a: &Metadata, b: &Metadata| (a.dev(), a.ino(), a.mtime()) == (b.dev(), b.ino(), b.mtime());
    match (before, program()) {
        (Some(before), Some(now)) => !same(before, &now),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use siglum_ledger::{Durability, write};

    use super::*;

    /// A hook does so that finds the lock held: it starts no worker, and this one must look again.
    #[test]
    fn a_write_after_the_last_look_changes_the_version() {
        let dir = tempfile::tempdir().unwrap();
        let cx = Cx::for_tests(dir.path());
        let mut feeders = Feeders::from_own_ledger(&cx, true);
        let (ledger, version) = work(&Args { once: true }, &cx, None, &mut feeders).unwrap();
        assert_eq!(ledger.version().unwrap(), version);
        let mut hook = cx.open_ledger_in_home().unwrap();
        write(&mut hook, Durability::Process, |tx| tx.add_count("a", 1)).unwrap();
        assert_ne!(ledger.version().unwrap(), version);
    }
}
