//! Hooks: guests in somebody's turn or commit.

mod agent;
mod delivery;
mod git;
mod message;
mod scene;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use delivery::Delivery;

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
