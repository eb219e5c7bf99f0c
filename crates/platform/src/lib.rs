//! What only the operating system knows: who runs, the time, and what is random.
//!
//! For the edges alone; whatever lies below them gets these as values. What the system does not tell is no evidence,
//! never a failure.
#![warn(missing_docs)]

pub mod clock;
mod procfs;
mod ps;
pub mod tree;

use std::sync::OnceLock;

use siglum_domain::process::{Chain, ProcessIdentity};

/// The machine and its boot, which make a pid mean one process.
#[derive(Debug, Clone)]
struct Machine {
    host: String,
    boot: String,
    namespace: u64,
}

fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        if procfs::available() {
            Machine {
                host,
                boot: procfs::boot_id(),
                namespace: procfs::pid_namespace(),
            }
        } else {
            Machine {
                host,
                boot: ps::boot_time(),
                namespace: 0,
            }
        }
    })
}

/// Lets this process have as many files and connections open as its user may.
pub fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most = getrlimit(Resource::Nofile).maximum;
    // Without it there are fewer.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: most,
            maximum: most,
        },
    );
}

/// The processes from this one upwards. Where the system does not tell, there are none: no
/// evidence, never a failure.
#[must_use]
pub fn chain() -> Chain {
    if procfs::available() {
        procfs::chain(machine(), std::process::id()).0
    } else {
        ps::chain(machine(), std::process::id())
    }
}

/// The processes from this one upwards, with what tells agents apart: the path of each executable
/// and of the script it runs, nearest first.
#[must_use]
pub fn chain_with_paths() -> (Chain, Vec<ProcessPaths>) {
    if procfs::available() {
        procfs::chain(machine(), std::process::id())
    } else {
        (ps::chain(machine(), std::process::id()), Vec::new())
    }
}

/// The files that a process runs.
#[derive(Debug, Clone, Default)]
pub struct ProcessPaths {
    /// The program.
    pub executable: Option<String>,
    /// The script, if the program is an interpreter.
    pub script: Option<String>,
}

/// This process; nothing where the system does not tell.
#[must_use]
pub fn own() -> Option<ProcessIdentity> {
    process(std::process::id())
}

/// A process by its number; nothing where the system does not tell, or there is none.
#[must_use]
pub fn process(pid: u32) -> Option<ProcessIdentity> {
    let here = machine();
    if !procfs::available() {
        return None;
    }
    Some(ProcessIdentity {
        host: here.host.clone(),
        boot: here.boot.clone(),
        namespace: here.namespace,
        pid,
        start: procfs::start_time(pid)?,
    })
}

/// Tells whether a process lives; nothing where that cannot be seen from here.
#[must_use]
pub fn alive(process: &ProcessIdentity) -> Option<bool> {
    let here = machine();
    if process.host != here.host {
        return None;
    }
    if process.boot != here.boot {
        return Some(false);
    }
    if process.namespace != here.namespace || !procfs::available() {
        return None;
    }
    Some(procfs::start_time(process.pid) == Some(process.start))
}
