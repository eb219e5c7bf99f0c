//! `siglum worker`: does what can wait, and leaves when there is nothing.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use siglum_engine::worker::{self, Run, Slice};
use siglum_ledger::{Spool, read};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::home::repository_spool;
use crate::platform::{self, Lock};

/// How long the worker waits for more, in slices of this many milliseconds.
const IDLE_MS: u64 = 200;
const IDLE_SLICES: u32 = 10;

/// Do what hooks left for later, then exit
#[derive(clap::Args)]
pub struct Args {
    /// Exit as soon as there is nothing left to do
    #[arg(long)]
    once: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if !args.once {
        platform::detach();
    }
    loop {
        let Some(lock) = Lock::try_take(&cx.home.worker_lock()) else {
            return Ok(());
        };
        work(args, cx)?;
        drop(lock);
        // A hook that came after the last look and before the lock was free started no worker.
        if cx.home.spool().is_empty() {
            return Ok(());
        }
    }
}

fn work(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let program = program();
    let world = cx.world()?;
    let mut ledger = cx.open_ledger()?;
    let mut run = Run::default();
    let mut idle = 0;
    loop {
        let mut spools = vec![cx.home.spool()];
        let repositories = read(&mut ledger, |tx| tx.repositories())?;
        spools.extend(
            repositories
                .iter()
                .map(|r| repository_spool(&std::path::Path::new(&r.common_dir).join("siglum"))),
        );
        let spools: Vec<Spool> = spools.into_iter().filter(|s| !s.is_empty()).collect();
        if worker::slice(&world, &mut ledger, &spools, &mut run)? == Slice::Worked {
            idle = 0;
            continue;
        }
        idle += 1;
        if args.once || idle > IDLE_SLICES || changed(program.as_ref()) {
            return Ok(());
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
