//! Starting programs, and waiting for what they do.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs and read the environment that `cargo xtask test` sets"
)]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command.
pub(super) fn program(name: impl AsRef<OsStr>) -> Command {
    Command::new(name)
}

/// A variable of this process; an empty one is absent.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A variable that names a path.
#[track_caller]
pub(super) fn path(name: &str) -> PathBuf {
    let value = variable(name);
    PathBuf::from(value.unwrap_or_else(|| panic!("`cargo xtask test` sets {name}")))
}

/// The standard output of a command that must succeed.
#[track_caller]
pub(super) fn stdout(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    succeeded(&format!("{command:?}"), &output);
    String::from_utf8(output.stdout).expect("the output is text")
}

/// Fails with all that a program said if it failed.
#[track_caller]
pub(super) fn succeeded(what: &str, output: &Output) {
    assert!(
        output.status.success(),
        "{what}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Waits until something is there.
#[track_caller]
pub(super) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until something holds.
#[track_caller]
pub(super) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}
