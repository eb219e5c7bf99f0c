//! `siglum doctor --fix`: what can be mended without asking.

use siglum_engine::commits::sweep;
use siglum_engine::views::{doctor, verify};
use siglum_engine::worker::{self, Run, Slice};
use siglum_gitstore::{Repo, hooks};
use siglum_ledger::{Aside, Durability, Ledger, Spool, read, write};

use super::super::init::{install_shim, note_hooks};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::install_record::InstallRecord;
use crate::ui;

/// Mends what it can, and says what it did. What fails is told and does not hold up the rest.
pub(super) fn fix(cx: &Cx) -> Vec<String> {
    let mut done = Vec::new();
    for part in [shim, git_hooks, waiting, versions] {
        match part(cx) {
            Ok(lines) => done.extend(lines),
            Err(error) => cx.ui.warning(format!("{:#}", error.source)),
        }
    }
    done
}

fn shim(cx: &Cx) -> Result<Vec<String>, CommandError> {
    let shim = cx.home.shim();
    let before = std::fs::read_link(&shim).ok();
    install_shim(cx)?;
    let now = std::fs::read_link(&shim).ok();
    let done =
        (before != now).then(|| format!("Hooks now call this program, as {}.", Cx::tilde(&shim)));
    Ok(done.into_iter().collect())
}

/// Only where Siglum is switched on, and into hooks that are a person's only as `siglum init` would.
fn git_hooks(cx: &Cx) -> Result<Vec<String>, CommandError> {
    let Some(repo) = cx.find_repo().filter(Repo::is_on) else {
        return Ok(Vec::new());
    };
    let plan = hooks::plan_install(&cx.writable_hook_site(&repo)?, &cx.home.shim())?;
    let mut record = InstallRecord::load(&cx.home);
    note_hooks(&repo, &plan, &mut record);
    record.store(&cx.home)?;
    plan.apply()?;
    plan.notes.iter().for_each(|note| cx.ui.warning(note));
    let changed = plan.changes.iter();
    Ok(changed
        .map(|change| format!("Repaired {}.", Cx::tilde(change.path())))
        .collect())
}

/// Stores file versions again that are damaged, where git has them.
fn versions(cx: &Cx) -> Result<Vec<String>, CommandError> {
    if !cx.has_ledger() {
        return Ok(Vec::new());
    }
    let mut ledger = cx.open_ledger()?;
    let healed = verify::heal_versions(&cx.world()?, &mut ledger)?;
    let n = ui::plural(healed, "damaged file version");
    let done = (healed > 0).then(|| format!("Restored {n} from git."));
    Ok(done.into_iter().collect())
}

/// Takes in what waits, tries again what was set aside, and brings the store's log in.
fn waiting(cx: &Cx) -> Result<Vec<String>, CommandError> {
    let mut done = Vec::new();
    if !cx.has_ledger() {
        return Ok(done);
    }
    let mut ledger = cx.open_ledger()?;
    let world = cx.world()?;
    let parked = read(&mut ledger, |tx| tx.parked())?;
    for (queue, item, _, _) in &parked {
        write(&mut ledger, Durability::Process, |tx| {
            tx.unpark(queue, item)?;
            match (queue.as_str(), tx.transcript(item)?) {
                ("transcripts", Some(record)) => tx.want_transcript(&record),
                _ => Ok(()),
            }
        })?;
    }
    if !parked.is_empty() {
        let n = ui::plural(parked.len() as u64, "item");
        done.push(format!("Scheduled {n} for a retry."));
    }
    let on = doctor::switched_on(&mut ledger)?;
    let mut spools = cx.all_spools(&mut ledger)?;
    for spool in &spools {
        spool.take_back(&[Aside::Newer, Aside::Refused]);
        // Its repository may be back in its place. What `uninstall` kept in the home has none.
        if spool.repository().is_some() {
            spool.take_back(&[Aside::Foreign]);
        }
    }
    spools.retain(|spool| !spool.is_empty());
    let held = |spool: &Spool| {
        let aside = Aside::ALL.iter().map(|why| spool.aside(*why).len());
        spool.len() + aside.sum::<usize>()
    };
    let waited: usize = spools.iter().map(held).sum();
    for repository in &on {
        sweep::sweep(&world, &mut ledger, repository)?;
    }
    let mut run = Run::default();
    while worker::slice(&world, &mut ledger, &spools, &mut run)? == Slice::Worked {}
    ledger.maintain()?;
    let left: usize = spools.iter().map(held).sum();
    if waited > left {
        let n = (waited - left) as u64;
        let n = ui::counted(n, "delivery", "deliveries");
        done.push(format!("Recorded {n} from the spool."));
    }
    Ok(done)
}
