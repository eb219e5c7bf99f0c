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

/// How long data is kept. Hooks start the worker, and a repository's settings of an agent set their variables.
const AGES: &[&str] = &[
    "SIGLUM_KEEP_SESSIONS",
    "SIGLUM_KEEP_TELEMETRY",
    "SIGLUM_KEEP_AUDIT",
];

/// Starts the worker of a home, unless one runs and holds the lock. What this process inherited stays with it: nothing that it
/// starts from now on has it. The worker is not waited for, and what goes wrong is not told: the
/// next command does what the worker would have done. How long data is kept, only the user's file tells it.
pub fn start_worker(home: &Path, lock: &Path) {
    start(home, lock, AGES);
}

/// The same for a gateway, whose operator may set how long data is kept in its environment.
#[cfg(feature = "gateway")]
pub fn start_worker_of_gateway(home: &Path, lock: &Path) {
    start(home, lock, &[]);
}

fn start(home: &Path, lock: &Path, left_out: &[&str]) {
    if !Lock::is_free(lock) {
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
    for name in left_out {
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
