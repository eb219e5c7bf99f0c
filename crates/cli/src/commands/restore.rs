//! `siglum restore`: the ledger as a backup has it.

use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use siglum_domain::LedgerId;
use siglum_engine::restore;
use siglum_engine::views::verify;
use siglum_gitstore::ObjectStore;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Aside, Ledger as _, LedgerError, SessionFilter, Spool, SqliteLedger, read};

use crate::clock::{self, Ids};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::home::BEFORE_RESTORE;
use crate::known_ledger;
use crate::platform::Lock;
use crate::ui;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.restore/1";

/// How long the worker may take to leave.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Restore the ledger from a backup
///
/// Checks the backup before changing anything, and keeps the current ledger beside the restored one, as
/// `ledger.db.before-restore-<time>`. Afterwards every session is due at every projection again, so that a projection
/// that is ahead is detected and refilled, and drivers must acquire their leases again. Hook deliveries that arrive
/// during the restore wait in the spool and are recorded afterwards.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Restore a backup
    siglum restore siglum-backup.db

  Restore it with file versions, without confirmation
    siglum restore siglum-backup.db --objects ./objects --yes")]
pub struct Args {
    /// Backup written by `siglum backup`
    file: PathBuf,
    /// Also restore versions of edited files from this directory; existing ones are not replaced
    #[arg(long, value_name = "DIR")]
    objects: Option<PathBuf>,
    /// Accept a backup of another ledger, or one with missing or damaged rows
    #[arg(long)]
    force: bool,
    /// Replace the current ledger without confirmation
    #[arg(long)]
    yes: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Where the ledger from before is.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<String>,
    /// Sessions that are due again, over all projections.
    due: u64,
    /// Leases that were taken from whoever had them.
    fenced: u64,
    /// Deliveries that waited for a sound ledger, and which the worker takes in now.
    waiting: usize,
    /// File versions that were brought back; absent without `--objects`.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<usize>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    look_at(&args.file)?;
    let lock = alone(cx)?;
    let part = cx
        .home
        .dir()
        .join(format!("restore-{}.part", clock::now().nanos()));
    let done = restored(args, cx, &part);
    for ending in ["", "-wal", "-shm"] {
        let mut name = part.as_os_str().to_owned();
        name.push(ending);
        let _ = fs::remove_file(name);
    }
    let json = done?;
    drop(lock);
    if json.waiting > 0 {
        cx.home.start_worker();
    }
    if cx.ui.json {
        return cx.ui.json(SCHEMA, json);
    }
    cx.ui.status(match &json.kept {
        Some(kept) => format!("Restored; the previous ledger is in {kept}."),
        None => "Restored.".to_owned(),
    });
    if json.due > 0 {
        let n = ui::plural(json.due, "session");
        cx.ui.status(format!(
            "Projections are due for {n} again; the worker delivers them."
        ));
    }
    if json.waiting > 0 {
        let n = ui::counted(json.waiting as u64, "delivery", "deliveries");
        cx.ui
            .status(format!("{n} in the spool, for the worker to process."));
    }
    cx.ui
        .hint("Run `siglum verify --all` to check file versions and projections.");
    Ok(())
}

/// Has the worker away, until this is dropped.
fn alone(cx: &Cx) -> Result<Lock, CommandError> {
    cx.home.create().map_err(CommandError::at(cx.home.dir()))?;
    let start = Instant::now();
    loop {
        if let Some(lock) = Lock::try_take(&cx.home.worker_lock()) {
            return Ok(lock);
        }
        if start.elapsed() > PATIENCE {
            return Err(CommandError::failed("a worker is using the ledger")
                .hint("Try again later: the worker exits when it is idle."));
        }
        std::thread::sleep(PAUSE);
    }
}

fn restored(args: &Args, cx: &Cx, part: &Path) -> Result<Json, CommandError> {
    let mut source = fs::File::open(&args.file).map_err(CommandError::at(&args.file))?;
    let mut copy = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(part)
        .map_err(CommandError::at(part))?;
    std::io::copy(&mut source, &mut copy).map_err(CommandError::at(part))?;
    drop(copy);
    let mut ledger = SqliteLedger::open(part, how())?;
    examine(args, cx, &mut ledger)?;
    let path = cx.home.ledger();
    let kept = kept(&path);
    let mut old = current_ledger(&path)?;
    let readable = old.as_ref().and_then(|old| old.as_ref().ok());
    let present = readable.map(SqliteLedger::id);
    same(args, known_ledger::load(&cx.home).or(present), ledger.id())?;
    if let Some(old) = &mut old {
        agree(args, cx, old, &mut ledger, &kept)?;
    }
    let epoch = match &mut old {
        Some(Ok(old)) => read(old, |tx| tx.greatest_epoch()).unwrap_or(0),
        _ => 0,
    };
    let prepared = restore::prepare(&cx.world()?, &mut ledger, epoch, &cx.person())?;
    ledger.settle()?;
    drop(ledger);
    let kept = match &mut old {
        Some(Ok(old)) => {
            old.replace_by(part, &kept)?;
            Some(kept.display().to_string())
        }
        unreadable => {
            let aside = set_aside(&path, &kept, unreadable.is_some())?;
            fs::rename(part, &path).map_err(CommandError::at(&path))?;
            aside.map(|aside| aside.display().to_string())
        }
    };
    let mut restored = cx.begin_ledger()?;
    // The search index beside it is of the ledger that was here.
    restored.index()?.restart_index()?;
    let spools = cx.all_spools(&mut restored)?;
    spools.iter().for_each(|spool| {
        spool.take_back(&[Aside::Refused]);
    });
    let waiting = spools.iter().map(Spool::len).sum();
    drop(restored);
    let versions = match &args.objects {
        Some(dir) => Some(ObjectStore::open(dir)?.copy_to(&cx.home.objects())?),
        None => None,
    };
    Ok(Json {
        kept,
        due: prepared.due,
        fenced: prepared.fenced,
        waiting,
        versions,
    })
}

/// The ledger that is replaced, or why it cannot be read: where it is damaged, or where a newer program migrated it, so that
/// whoever goes back to this program can restore the backup from before. Nothing where there is none.
fn current_ledger(path: &Path) -> Result<Option<Result<SqliteLedger, LedgerError>>, CommandError> {
    match fs::metadata(path) {
        Ok(meta) if !meta.is_file() || meta.len() > 0 => {}
        _ => return Ok(None),
    }
    match SqliteLedger::open(path, how()) {
        Ok(ledger) => Ok(Some(Ok(ledger))),
        Err(error @ (LedgerError::TooNew { .. } | LedgerError::Damaged(_))) => Ok(Some(Err(error))),
        Err(error @ LedgerError::Unwritable(_)) => match fs::File::open(path) {
            Ok(_) => Err(error.into()),
            Err(denied) => {
                let what = format!("{}: {denied}", path.display());
                Ok(Some(Err(LedgerError::Damaged(what))))
            }
        },
        Err(error) => Err(error.into()),
    }
}

/// Asks before a ledger is replaced, and tells how far each of both goes.
fn agree(
    args: &Args,
    cx: &Cx,
    old: &mut Result<SqliteLedger, LedgerError>,
    backup: &mut SqliteLedger,
    kept: &Path,
) -> Result<(), CommandError> {
    if args.yes {
        return Ok(());
    }
    let until = |ledger: &mut SqliteLedger| {
        let filter = SessionFilter {
            limit: 1,
            ..SessionFilter::default()
        };
        match read(ledger, |tx| tx.sessions(&filter)) {
            Ok(last) => last.first().map_or_else(
                || "has no sessions".to_owned(),
                |last| format!("ends at {}", ui::when(last.record.last_at)),
            ),
            Err(error) => format!("cannot be read ({error})"),
        }
    };
    let current = match old {
        Ok(old) => until(old),
        Err(LedgerError::TooNew { .. }) => "is of a newer program".to_owned(),
        Err(error) => format!("cannot be read ({error})"),
    };
    let backup = until(backup);
    cx.ui.status(format!(
        "The current ledger {current}; the backup {backup}."
    ));
    let kept = Cx::tilde(kept);
    cx.ui
        .status(format!("The current ledger will be kept as {kept}."));
    match ui::agreed()? {
        true => Ok(()),
        false => Err(ui::not_agreed(
            "nothing was restored",
            "Run the same command with `--yes` to skip the confirmation.",
        )),
    }
}

fn how() -> Open {
    Open::Command {
        id: LedgerId::mint(&Ids),
        key: clock::secret(),
    }
}

/// Looks at the file that was given, and changes nothing of it.
fn look_at(file: &Path) -> Result<(), CommandError> {
    if !file.is_file() {
        return Err(
            CommandError::not_found(format!("{} is not a file", file.display()))
                .hint("Pass a file written by `siglum backup`."),
        );
    }
    if SqliteLedger::log_bytes(file) > 0 {
        return Err(CommandError::failed(format!(
            "{} has a write-ahead log beside it: it is a ledger in use, or a copy of one",
            file.display()
        ))
        .hint("Pass a file written by `siglum backup`."));
    }
    let wrong = match SqliteLedger::look_at(file) {
        Err(LedgerError::Damaged(what)) => Some(what),
        Err(LedgerError::Storage(source)) => Some(source.to_string()),
        looked => looked?.into_iter().next(),
    };
    match wrong {
        None => Ok(()),
        Some(wrong) => Err(CommandError::failed(format!(
            "{} is damaged: {wrong}; nothing was changed",
            file.display()
        ))),
    }
}

/// Verifies the logs of a backup, row by row.
fn examine(args: &Args, cx: &Cx, ledger: &mut SqliteLedger) -> Result<(), CommandError> {
    let report = verify::verify(&cx.world()?, ledger, None)?;
    let Some((session, what)) = report.unsound.iter().next() else {
        return Ok(());
    };
    if args.force {
        verify::quarantine(ledger, &report)?;
        return Ok(());
    }
    let n = ui::plural(report.unsound.len() as u64, "session");
    Err(CommandError::failed(format!(
        "the backup has {n} with damage, such as {}: {what}; nothing was changed",
        session.short()
    ))
    .hint("Pass `--force` to restore it anyway and quarantine them."))
}

/// Makes sure that the backup is of the ledger that this home has, or had before that was lost.
fn same(args: &Args, known: Option<LedgerId>, backup: LedgerId) -> Result<(), CommandError> {
    match known {
        Some(known) if known != backup && !args.force => Err(CommandError::failed(format!(
            "the backup is of ledger {backup}, not of this ledger {known}; nothing was changed"
        ))
        .hint("Pass `--force` to replace it anyway.")),
        _ => Ok(()),
    }
}

/// Takes away the log that a lost ledger left, which the store would take for one of the ledger that comes in its place,
/// and the ledger itself where this program cannot read it. Returns where what was there is now.
fn set_aside(path: &Path, kept: &Path, is_there: bool) -> Result<Option<PathBuf>, CommandError> {
    let beside = |path: &Path, ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let _ = fs::remove_file(beside(path, "-shm"));
    let endings: &[&str] = if is_there { &["-wal", ""] } else { &["-wal"] };
    let mut aside = None;
    for ending in endings {
        let (from, to) = (beside(path, ending), beside(kept, ending));
        match fs::rename(&from, &to) {
            Ok(()) => aside = Some(to),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(CommandError::at(&from)(error)),
        }
    }
    Ok(aside)
}

fn kept(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    let time = clock::now().to_string().replace(':', "-");
    name.push(format!("{BEFORE_RESTORE}{time}"));
    PathBuf::from(name)
}
