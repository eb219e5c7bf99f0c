//! Starting the worker, apart from whoever starts it.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that starts the worker"
)]

use std::path::Path;
use std::process::{Command, Stdio};

use super::Lock;

/// The first descriptor behind standard input, output and error.
const FIRST_INHERITED: i32 = 3;

/// Starts the worker of a home, unless one runs and holds the lock. What this process inherited stays with it: nothing that it
/// starts from now on has it. The worker is not waited for, and what goes wrong is not told: the
/// next command does what the worker would have done.
pub fn start_worker(home: &Path, lock: &Path) {
    if Lock::try_take(lock).is_none() {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    let mut command = Command::new(program);
    command
        .arg("worker")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.current_dir("/").env("SIGLUM_HOME", home);
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_EDITOR",
        "GIT_PREFIX",
    ] {
        command.env_remove(name);
    }
    // The caller may wait until nobody holds its descriptors: a lock, the end of a pipe.
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    drop(command.spawn());
}

/// Leaves the session and the terminal of whoever started this process.
pub fn detach() {
    let _ = rustix::process::setsid();
}
