//! Runs a command as if its caller had started it: same terminal, same process group, signals handed
//! on, stops seen.
//!
//! The command stays in the process group of this program, so the terminal's own signals and job
//! control reach both. What somebody sends to this program alone is handed on; what the terminal
//! sends is not, because the command has it already.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process, waitid};
use signal_hook::consts::signal;
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};

/// The signals that are handed on.
const HANDED_ON: [i32; 9] = [
    signal::SIGINT,
    signal::SIGTERM,
    signal::SIGHUP,
    signal::SIGQUIT,
    signal::SIGUSR1,
    signal::SIGUSR2,
    signal::SIGTSTP,
    signal::SIGCONT,
    signal::SIGWINCH,
];

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Code(i32),
    Signal(i32),
}

/// The signals of this process, caught from now on.
pub struct Signals(SignalsInfo<WithOrigin>);

impl Signals {
    /// Catches them, except those that the caller had switched off (`nohup`, a background job): these
    /// stay off for the command, too.
    pub fn catch() -> io::Result<Self> {
        let ignored = ignored();
        let is_on = |s: &&i32| ignored >> (**s - 1) & 1 == 0;
        // Where the caller ignored the ends of children, nobody could wait for one.
        let wanted = HANDED_ON.iter().filter(is_on).chain(&[signal::SIGCHLD]);
        Ok(Self(SignalsInfo::new(wanted)?))
    }
}

/// The signals that this process ignores, as a set of bits; none where the system does not tell.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    line.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

/// The command while it can be sent signals: gone once it was waited for, because its pid may then be
/// another's.
type Target = Arc<Mutex<Option<Pid>>>;

fn locked(target: &Target) -> MutexGuard<'_, Option<Pid>> {
    target.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command with its arguments, not started yet.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that starts what a launcher launches"
)]
pub fn command(program: &OsStr, args: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// Runs a command to its end.
///
/// # Errors
/// It does not start.
pub fn run(command: &mut Command, signals: Signals) -> io::Result<Ended> {
    let mut child = command.spawn()?;
    let target: Target = Arc::new(Mutex::new(Some(Pid::from_child(&child))));
    let reached = Arc::clone(&target);
    std::thread::spawn(move || hand_on(signals, &reached));
    wait(&mut child, &target)
}

fn hand_on(Signals(mut signals): Signals, target: &Target) {
    for origin in signals.forever() {
        let target = locked(target);
        if let Some(pid) = *target
            && sent_to_us_alone(&origin, pid)
            && let Some(signal) = Signal::from_named_raw(origin.signal)
        {
            let _ = kill_process(pid, signal);
        }
    }
}

/// The terminal sends to the whole process group, and so does a command that stops itself.
fn sent_to_us_alone(origin: &Origin, command: Pid) -> bool {
    let own =
        |p: &signal_hook::low_level::siginfo::Process| p.pid == command.as_raw_nonzero().get();
    matches!(origin.cause, Cause::Sent(_)) && !origin.process.as_ref().is_some_and(own)
}

fn wait(child: &mut Child, target: &Target) -> io::Result<Ended> {
    let pid = Pid::from_child(child);
    let any = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(pid), any) {
            Ok(Some(status)) if status.stopped() => {
                let seen = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG;
                if matches!(waitid(WaitId::Pid(pid), seen), Ok(Some(_))) {
                    stop_too(pid);
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            _ => break,
        }
    }
    let mut target = locked(target);
    let status = child.wait()?;
    *target = None;
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    })
}

/// The command stopped. Where a shell with job control waits for this process, it must stop, too, so
/// that the shell gets its terminal back; and the command goes on with it.
fn stop_too(command: Pid) {
    if !in_foreground() {
        return;
    }
    let _ = kill_process(getpid(), Signal::STOP);
    let _ = kill_process(command, Signal::CONT);
}

fn in_foreground() -> bool {
    let terminal = std::fs::File::open("/dev/tty");
    terminal
        .ok()
        .and_then(|t| rustix::termios::tcgetpgrp(t).ok())
        .is_some_and(|foreground| foreground == getpgrp())
}
