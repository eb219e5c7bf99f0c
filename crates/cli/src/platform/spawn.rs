//! Starting the worker, apart from whoever starts it.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that starts the worker"
)]

use std::process::{Command, Stdio};

use super::Lock;
use crate::home::Home;

/// Starts the worker, unless one runs. It is not waited for, and what goes wrong is not told: the
/// next command does what the worker would have done.
pub fn start_worker(home: &Home) {
    if Lock::try_take(&home.worker_lock()).is_none() {
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
    command.current_dir("/").env("SIGLUM_HOME", home.dir());
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_EDITOR",
        "GIT_PREFIX",
    ] {
        command.env_remove(name);
    }
    drop(command.spawn());
}

/// Leaves the session and the terminal of whoever started this process.
pub fn detach() {
    let _ = rustix::process::setsid();
}
