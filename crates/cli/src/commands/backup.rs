//! `siglum backup`: a copy of the ledger while it is in use.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::Serialize;
use siglum_engine::worker;
use siglum_gitstore::{is_on, siglum_dir};
use siglum_ledger::{Ledger as _, LedgerError, Spool, SqliteLedger, read};

use crate::clock::{self, Ids};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::home::repository_spool;
use crate::text_files::take_up_notes;
use crate::ui;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.backup/1";

/// Copy the ledger to a file while it is in use
///
/// The copy is a snapshot of one moment, with every session, commit, link and receipt up to then. Spooled data is
/// taken into the ledger first. The copy excludes versions of edited files: `--objects DIR` copies them too, and copies
/// only new versions on later runs. Neither includes hook settings, the log file or deliveries that could not be read.
/// The copy contains what agents said and did: keep it as private as the ledger.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Back up the ledger
    siglum backup /backup/siglum.db

  Replace the last backup, and copy file versions too
    siglum backup /backup/siglum.db --objects /backup/objects --force")]
pub struct Args {
    /// Destination file
    file: PathBuf,
    /// Copy versions of edited files to this directory too
    #[arg(long, value_name = "DIR")]
    objects: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    file: String,
    bytes: u64,
    /// File versions that were copied now; absent without `--objects`.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<usize>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    if !cx.has_ledger() {
        return Err(CommandError::not_found("there is no ledger yet"));
    }
    if args.file.exists() && !args.force {
        return Err(
            CommandError::failed(format!("{} already exists", args.file.display()))
                .hint("Choose another file, or pass `--force` to replace it."),
        );
    }
    let mut ledger = cx.open_ledger()?;
    take_in(cx, &mut ledger)?;
    let temporary = beside(&args.file);
    let copied = copy(&mut ledger, &temporary, &args.file);
    if copied.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    copied?;
    let versions = match &args.objects {
        Some(dir) => Some(cx.world()?.objects.copy_to(dir)?),
        None => None,
    };
    let bytes = fs::metadata(&args.file).map_err(CommandError::at(&args.file))?;
    let bytes = bytes.len();
    if cx.ui.json {
        let file = args.file.display().to_string();
        return cx.ui.json(
            SCHEMA,
            Json {
                file,
                bytes,
                versions,
            },
        );
    }
    let more = versions.map_or_else(
        || "; file versions are not included (pass `--objects DIR`)".to_owned(),
        |n| format!(", and copied {}", ui::plural(n as u64, "new file version")),
    );
    cx.ui.status(format!(
        "Wrote {} to {}{more}.",
        ui::bytes(bytes),
        args.file.display()
    ));
    Ok(())
}

/// Takes in what hooks left in the spools up to now: they were told that it is recorded.
fn take_in(cx: &Cx, ledger: &mut SqliteLedger) -> Result<(), CommandError> {
    let repositories = read(ledger, |tx| tx.repositories())?;
    take_up_notes(&cx.home, &repositories, ledger);
    let mut spools = cx.spools();
    for repository in repositories {
        let common_dir = Path::new(&repository.common_dir);
        if repository.is_here() && is_on(common_dir) {
            spools.push(repository_spool(&siglum_dir(common_dir)));
        }
    }
    let mut left: usize = spools.iter().map(Spool::len).sum();
    while left > 0 {
        let moved = worker::drain(&Ids, ledger, &spools)?;
        // What comes meanwhile is for the next backup.
        left = if moved == 0 {
            0
        } else {
            left.saturating_sub(moved)
        };
    }
    Ok(())
}

/// A name beside the file that nobody else uses.
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(
        ".{}-{}.part",
        std::process::id(),
        clock::now().nanos()
    ));
    PathBuf::from(name)
}

/// Copies, looks at the copy, and only then gives it its name.
fn copy(ledger: &mut SqliteLedger, temporary: &Path, file: &Path) -> Result<(), CommandError> {
    ledger.copy_to(temporary).map_err(|error| match error {
        // Of the ledger it is only read.
        LedgerError::Unwritable(why) => CommandError::failed(format!("{}: {why}", file.display())),
        error => error.into(),
    })?;
    let wrong = SqliteLedger::look_at(temporary)?;
    if let Some(first) = wrong.first() {
        return Err(CommandError::failed(format!(
            "the copy is damaged: {first}"
        )));
    }
    fs::rename(temporary, file).map_err(CommandError::at(file))?;
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new("."));
    let opened = File::open(dir).map_err(CommandError::at(dir))?;
    opened.sync_all().map_err(CommandError::at(dir))?;
    ledger.maintain()?;
    Ok(())
}
