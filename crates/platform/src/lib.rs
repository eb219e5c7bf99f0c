//! What only the operating system knows: who runs, the time, and what is random.
//!
//! For the edges alone; whatever lies below them gets these as values. What the system does not tell is no evidence,
//! never a failure.

pub mod clock;
pub mod commands;
mod descendants;
pub mod disk;
mod procfs;
mod ps;
pub mod tree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use siglum_domain::process::{Chain, Holdings, ProcessIdentity};

/// The machine and its boot, which make a pid mean one process.
#[derive(Debug, Clone)]
struct Machine {
    host: String,
    boot: String,
    namespace: u64,
}

static PS: OnceLock<PathBuf> = OnceLock::new();

/// Has processes told by a program that is called as `ps` is, also where there is a `/proc`. To be called before
/// anything else is asked here; a second call changes nothing.
pub fn ask_ps(program: PathBuf) {
    let _ = PS.set(program);
}

fn by_proc() -> bool {
    PS.get().is_none() && procfs::available()
}

fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let host = rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned();
        if by_proc() {
            Machine {
                host,
                boot: procfs::boot_id(),
                namespace: procfs::pid_namespace(),
            }
        } else {
            Machine {
                host,
                boot: ps::boot(),
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
    if by_proc() {
        procfs::chain(machine(), std::process::id()).0
    } else {
        ps::chain(machine(), std::process::id())
    }
}

/// The nearest processes from this one upwards, for whoever only looks for the one that started it: a
/// whole walk costs more.
#[must_use]
pub fn nearest(most: usize) -> Chain {
    if by_proc() {
        procfs::walk(machine(), std::process::id(), most).0
    } else {
        ps::chain(machine(), std::process::id())
    }
}

/// The processes from this one upwards, with what tells agents apart: the path of each executable
/// and of the script it runs, nearest first.
#[must_use]
pub fn chain_with_paths() -> (Chain, Vec<ProcessPaths>) {
    if by_proc() {
        procfs::chain(machine(), std::process::id())
    } else {
        (ps::chain(machine(), std::process::id()), Vec::new())
    }
}

/// What a process holds open that tells a program with a life of its own; nothing where the system
/// does not tell.
#[must_use]
pub fn holdings(process: &ProcessIdentity) -> Holdings {
    if process.namespace == machine().namespace && by_proc() {
        procfs::holdings(process.pid)
    } else {
        Holdings::default()
    }
}

/// Those of these variables that a process was started with; nothing where the system does not tell, or another process has
/// its number by now. What a process sets later is not among them.
#[must_use]
pub fn started_with(process: &ProcessIdentity, names: &[&str]) -> Option<Vec<(String, OsString)>> {
    if process.namespace != machine().namespace || !by_proc() {
        return None;
    }
    let found = procfs::environment(process.pid, names)?;
    (procfs::start_time(process.pid) == Some(process.start)).then_some(found)
}

/// The files that a process runs.
#[derive(Debug, Clone, Default)]
pub struct ProcessPaths {
    pub executable: Option<String>,
    /// The script, if the program is an interpreter.
    pub script: Option<String>,
    /// The name that an interpreter shows for itself, if it is not its program's.
    pub title: Option<String>,
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
    let start = if by_proc() {
        procfs::start_time(pid)?
    } else {
        ps::start_time(pid).filter(|_| !here.boot.is_empty())?
    };
    Some(ProcessIdentity {
        host: here.host.clone(),
        boot: here.boot.clone(),
        namespace: here.namespace,
        pid,
        start,
    })
}

/// The words that a process was started with; nothing where the system does not tell, or they are
/// no text.
#[must_use]
pub fn command_line(pid: u32) -> Option<Vec<String>> {
    // What `ps` shows does not tell where a word ends.
    let bytes = by_proc().then(|| std::fs::read(format!("/proc/{pid}/cmdline")))?;
    let bytes = bytes.ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let words = text.strip_suffix('\0')?.split('\0');
    Some(words.map(str::to_owned).collect())
}

/// Tells whether a process lives; nothing where that cannot be seen from here.
#[must_use]
pub fn alive(process: &ProcessIdentity) -> Option<bool> {
    let here = machine();
    let is_known = !process.boot.is_empty() && !here.boot.is_empty();
    if process.host != here.host || !is_known || boot_kind(&process.boot) != boot_kind(&here.boot) {
        return None;
    }
    if process.boot != here.boot {
        return Some(false);
    }
    if process.namespace != here.namespace {
        return None;
    }
    if by_proc() {
        return Some(procfs::start_time(process.pid) == Some(process.start));
    }
    ps::lives(process.pid, process.start)
}

/// How a word for a boot was had: `ps` puts it in front, `/proc` has none. Boots and start times of different kinds
/// cannot be compared.
fn boot_kind(boot: &str) -> &str {
    boot.split_once('=').map_or("", |(kind, _)| kind)
}
