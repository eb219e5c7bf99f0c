//! Hooks: guests in somebody's turn or commit.

mod agent;
mod amend_mark;
mod commit_message;
pub mod commit_note;
mod commit_options;
mod delivery;
mod draft;
mod edited_file;
mod git;
mod given_message;
pub mod landings;
mod message;
mod message_lock;
mod message_rules;
mod rebase;
pub mod recorder;
mod scene;
mod takeover;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io, thread};

pub use agent::AgentProcess;
use delivery::Delivery;
use siglum_gitstore::hooks::{AMENDS, COMMITS};
use siglum_gitstore::{BEGUN, is_mark, siglum_subdirectory};

use crate::clock;
use crate::home::Home;

/// A hook takes no longer than this; what is usual is a thousandth.
const TIME_MOST: Duration = Duration::from_secs(10);
/// How long a hook that is ended may take to say so.
const TIME_TO_LOG: Duration = Duration::from_millis(100);

/// Runs a hook. Never fails, never prints on standard output, never panics outwards.
pub fn run(args: Vec<OsString>) {
    std::panic::set_hook(Box::new(|_| {}));
    let args: Vec<String> = args
        .into_iter()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let edge = format!(
        "hook {}",
        args.iter().take(2).cloned().collect::<Vec<_>>().join(" ")
    );
    leave_in_time(&edge);
    let outcome = catch_unwind(AssertUnwindSafe(|| match args.split_first() {
        Some((first, rest)) if first == "git" => git::run(rest),
        Some((agent, _)) => agent::run(agent),
        None => {}
    }));
    if outcome.is_err() {
        Delivery::new(&edge).decline(
            "panicked",
            "a bug in this program; `siglum doctor` shows where it looked",
            None,
        );
    }
}

/// Ends this hook, whatever it waits for, so that nobody's commit or turn waits for it.
fn leave_in_time(edge: &str) {
    let edge = edge.to_owned();
    thread::spawn(move || {
        thread::sleep(TIME_MOST);
        // Writing may hang, too.
        thread::spawn(move || {
            let line = format!("{edge} too_slow: it was ended after {TIME_MOST:?}");
            delivery::log(&Home::find(), clock::now(), &line);
        });
        thread::sleep(TIME_TO_LOG);
        std::process::exit(0);
    });
}

/// Removes what is in a repository beside the spool: its marks, what there was when Siglum was switched on, notes of commits
/// under way and of amends, locks of messages, and whether hooks were taken over.
pub fn remove_state(siglum_dir: &Path) -> io::Result<()> {
    for name in [COMMITS, AMENDS] {
        for path in process_files(siglum_dir, name) {
            fs::remove_file(path)?;
        }
        // What somebody else put there stays, and with it the directory.
        let _ = siglum_subdirectory(siglum_dir, name).map(fs::remove_dir);
    }
    let entries = match fs::read_dir(siglum_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == BEGUN
            || name == takeover::STATE
            || is_mark(&name)
            || message_lock::is_lock(&name)
        {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The files in a directory of Siglum's in a repository that are named by the number of a process, in no order. Whatever
/// else is there is not ours.
fn process_files(siglum_dir: &Path, name: &str) -> Vec<PathBuf> {
    let entries = siglum_subdirectory(siglum_dir, name).map(fs::read_dir);
    let entries = entries.into_iter().flatten().flatten().flatten();
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    let files = entries.filter(|entry| {
        entry.file_name().to_str().is_some_and(is_number)
            && entry.file_type().is_ok_and(|kind| kind.is_file())
    });
    files.map(|entry| entry.path()).collect()
}
