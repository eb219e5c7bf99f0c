//! What holds for the whole machine: programs, ledger, spool, worker, log.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use siglum_gitstore::MINIMUM_GIT;
use siglum_ledger::{Aside, Ledger, Spool, SqliteLedger};
use siglum_platform::disk::ROOM_NONE;

use super::{Check, FIX};
use crate::config::Config;
use crate::cx::Cx;
use crate::env;
use crate::platform::{Lock, regular_file};
use crate::ui;

/// Above this size the ledger's own log is worth a look, in bytes.
const LOG_MUCH: u64 = 16 << 20;
/// How much of the end of the log file is looked at, in bytes.
const TAIL: u64 = 256 << 10;
/// With less room than this a disk is nearly full, in bytes.
const ROOM_LITTLE: u64 = 100 << 20;
/// How many files of the object store are counted.
const OBJECTS_MOST: usize = 200_000;
/// What to do about a damaged ledger.
const RESTORE: &str = "Restore a backup with `siglum restore`, which keeps the damaged ledger beside it; until then, new evidence waits in the spool. Without a backup, move the ledger away and run `siglum init`.";

pub(super) fn checks(cx: &Cx) -> Vec<Check> {
    let mut checks = vec![program(cx), git(cx)];
    checks.extend(settings(&cx.config));
    checks.push(ledger(cx));
    checks.push(spool("spool", "in Siglum's home", &cx.home.spool()));
    checks.extend(disks(cx));
    checks.push(worker(cx));
    checks.extend(lost(cx));
    checks
}

fn program(cx: &Cx) -> Check {
    let shim = cx.home.shim();
    let shown = Cx::tilde(&shim);
    let version = env!("CARGO_PKG_VERSION");
    // The home of a gateway has a ledger, and nothing there calls the program by this name.
    let is_hooked = cx.home.install_record().exists() || cx.home.everywhere().exists();
    if fs::symlink_metadata(&shim).is_err() && !is_hooked {
        return Check::note("program", format!("siglum {version}; no hook calls it yet"))
            .remedy("Run `siglum init` in a repository to enable it.");
    }
    if fs::symlink_metadata(&shim).is_err() {
        return Check::problem("program", format!("{shown}, which hooks call, is missing"))
            .remedy("Run `siglum doctor --fix` or `siglum init` to create it.");
    }
    if !env::is_program(&shim) {
        return Check::problem(
            "program",
            format!("{shown}, which hooks call, is not an executable program"),
        )
        .remedy(FIX);
    }
    let target = fs::canonicalize(&shim).unwrap_or(shim);
    let this = std::env::current_exe().and_then(fs::canonicalize);
    if this.is_ok_and(|this| this != target) {
        let text = format!(
            "hooks call {}, not this program (siglum {version})",
            Cx::tilde(&target)
        );
        return Check::note("program", text)
            .remedy("Run `siglum doctor --fix` to make hooks call this program.");
    }
    Check::ok(
        "program",
        format!("siglum {version}, which hooks call as {shown}"),
    )
}

fn git(cx: &Cx) -> Check {
    match cx.git().version() {
        Ok(version) if version < MINIMUM_GIT => Check::problem(
            "git",
            format!("git {version} is too old; {MINIMUM_GIT} or newer is required"),
        ),
        Ok(version) => Check::ok("git", format!("git {version}")),
        Err(error) => Check::problem("git", error.to_string())
            .remedy("Install git, or set SIGLUM_GIT to its path."),
    }
}

fn settings(config: &Config) -> Option<Check> {
    let off: Vec<String> = ["record", "trailer"]
        .into_iter()
        .filter_map(|name| config.find(name))
        .filter(|v| v.value == "false")
        .map(|v| format!("{} is disabled ({})", v.name, v.origin.word()))
        .collect();
    if config.warnings.is_empty() && off.is_empty() {
        return None;
    }
    let details = config.warnings.iter().cloned();
    Some(
        if config.records() {
            Check::note(
                "settings",
                if off.is_empty() {
                    "some are ignored".to_owned()
                } else {
                    off.join(", ")
                },
            )
        } else {
            Check::problem(
                "settings",
                format!("{}: nothing is recorded here", off.join(", ")),
            )
            .remedy("Run `siglum config list` to see where each setting comes from.")
        }
        .details(details),
    )
}

fn ledger(cx: &Cx) -> Check {
    let path = cx.home.ledger();
    let shown = Cx::tilde(&path);
    if !cx.has_ledger() && was_there(cx) {
        return Check::problem(
            "ledger",
            format!("{shown} is missing, with all that was recorded in it"),
        )
        .remedy("Run `siglum restore` to restore a backup, or `siglum init` to create a new one.");
    }
    if !cx.has_ledger() {
        return Check::note("ledger", format!("{shown} does not exist yet"))
            .remedy("Run `siglum init` to create it.");
    }
    let checked = cx.open_ledger().and_then(|mut ledger| Ok(ledger.check()?));
    let wrong = match checked {
        Ok(wrong) => wrong,
        Err(error) if error.is_lost_ledger() => {
            return Check::problem("ledger", format!("{:#}", error.source))
                .remedy(error.hints.join(" "));
        }
        // The error names the file.
        Err(error) if error.is_damaged_ledger() => {
            return Check::problem("ledger", format!("{:#}", error.source)).remedy(RESTORE);
        }
        Err(error) => {
            return Check::problem("ledger", format!("{shown}: {:#}", error.source))
                .details(error.hints);
        }
    };
    if !wrong.is_empty() {
        return Check::problem("ledger", format!("{shown} is damaged"))
            .details(wrong)
            .remedy(RESTORE);
    }
    let size = fs::metadata(&path).map_or(0, |m| m.len());
    let log = SqliteLedger::log_bytes(&path);
    let (files, bytes) = weigh(&cx.home.objects());
    let text = format!(
        "{shown} is intact: {}, its log {}, {} in {}",
        ui::bytes(size),
        ui::bytes(log),
        ui::plural(files, "file version"),
        ui::bytes(bytes),
    );
    if log > LOG_MUCH {
        return Check::problem(
            "ledger",
            format!(
                "{text}; while the log is above {}, hooks spool",
                ui::bytes(LOG_MUCH)
            ),
        )
        .remedy(FIX);
    }
    Check::ok("ledger", text)
}

/// Whether something shows that there was a ledger: what lies beside it, or a repository that is switched on.
fn was_there(cx: &Cx) -> bool {
    let beside = fs::read_dir(cx.home.objects()).is_ok_and(|mut dir| dir.next().is_some());
    let switched_on = || cx.find_repo().is_some_and(|repo| repo.is_on());
    beside || switched_on()
}

/// How many files a tree holds, and their size.
fn weigh(dir: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => open.push(entry.path()),
                Ok(meta) => (files, bytes) = (files + 1, bytes + meta.len()),
                Err(_) => {}
            }
            if files as usize > OBJECTS_MOST {
                return (files, bytes);
            }
        }
    }
    (files, bytes)
}

/// The disks that are full, or nearly: of the ledger, the versions of files, and the spools.
fn disks(cx: &Cx) -> Vec<Check> {
    let home = cx.home.ledger();
    let spools = cx.spools();
    let mut places = vec![home, cx.home.objects()];
    places.extend(spools.iter().map(|spool| spool.dir().to_owned()));
    let mut seen = Vec::new();
    let mut checks = Vec::new();
    for place in places {
        // What is not there yet will be made below what is.
        let Some(there) = place.ancestors().find(|dir| dir.is_dir()) else {
            continue;
        };
        let device = fs::metadata(there).map(|meta| meta.dev()).ok();
        if seen.contains(&device) {
            continue;
        }
        seen.push(device);
        let room = siglum_platform::disk::room(there);
        checks.extend(room.and_then(|room| disk_with(&Cx::tilde(there), room)));
    }
    checks
}

/// What is to be said of a disk that has so much room left, in bytes.
fn disk_with(place: &str, room: u64) -> Option<Check> {
    let remedy =
        "Free disk space: evidence is lost when neither the ledger nor the spool can be written.";
    match room {
        0..ROOM_NONE => {
            let text = format!(
                "the disk of {place} is full: {} left, so nothing can be recorded",
                ui::bytes(room)
            );
            Some(Check::problem("disk", text).remedy(remedy))
        }
        ROOM_NONE..ROOM_LITTLE => {
            let text = format!(
                "the disk of {place} is nearly full: {} left",
                ui::bytes(room)
            );
            Some(Check::note("disk", text).remedy(remedy))
        }
        _ => None,
    }
}

/// Why deliveries were set aside, in words, and what to do.
const ASIDE: &[(Aside, &str, &str)] = &[
    (
        Aside::Refused,
        "the ledger refused them",
        "If the ledger is damaged, restore a backup, which records them; `siglum doctor --fix` retries them.",
    ),
    (
        Aside::Newer,
        "a newer version of siglum wrote them",
        "Install that version; its worker records them.",
    ),
    (
        Aside::Unreadable,
        "they cannot be read",
        "They cannot be recovered; inspect them, then delete them.",
    ),
    (
        Aside::Foreign,
        "they are about another repository, or about sessions elsewhere",
        "A repository's spool may only speak of that repository. Inspect them, then delete them; `siglum doctor --fix` retries them.",
    ),
];

/// How a spool stands.
pub(super) fn spool(area: &'static str, place: &str, spool: &Spool) -> Check {
    let waiting = spool.len() as u64;
    for (why, text, remedy) in ASIDE {
        let paths = spool.aside(*why);
        if !paths.is_empty() {
            let n = ui::counted(paths.len() as u64, "delivery is", "deliveries are");
            return Check::problem(area, format!("{n} parked {place}: {text}"))
                .details(paths.iter().take(3).map(|path| Cx::tilde(path)))
                .remedy(*remedy);
        }
    }
    if let Err(error) = spool.probe() {
        return Check::problem(area, format!("{error}: {}", error.source))
            .remedy("Make it writable: evidence waits there while the ledger cannot be written.");
    }
    if waiting > 0 {
        let since = spool.oldest().map(ui::when).unwrap_or_default();
        let text = format!(
            "{} {place} since {since}; the worker or the next command records the spool",
            ui::counted(waiting, "delivery waits", "deliveries wait")
        );
        return Check::note(area, text).remedy(FIX);
    }
    Check::ok(area, format!("the spool {place} is empty"))
}

fn worker(cx: &Cx) -> Check {
    let lock = cx.home.worker_lock();
    if lock.exists() && !Lock::is_free(&lock) {
        Check::ok("worker", "it is running")
    } else {
        Check::ok("worker", "it is idle")
    }
}

/// Deliveries for which there was no place at all are only in the log file.
fn lost(cx: &Cx) -> Option<Check> {
    let mut file = regular_file::open(&cx.home.log(), OpenOptions::new().read(true)).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text
        .lines()
        .filter(|l| l.contains(" lost a delivery"))
        .collect();
    let last = lines.last()?;
    Some(
        Check::problem(
            "lost",
            format!(
                "{} lost, because neither the ledger nor a spool could be written",
                ui::counted(lines.len() as u64, "delivery was", "deliveries were")
            ),
        )
        .details([format!("last: {last}")])
        .remedy(format!(
            "Fix the disk space or the permissions, then delete {}.",
            Cx::tilde(&cx.home.log())
        )),
    )
}
