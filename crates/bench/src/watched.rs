//! Processes that are watched while they run: time, processor time, memory, bytes read.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Fallible;
use crate::clock::tree_cpu_ms_of;
use crate::contest::millis;

/// How often a process is looked at.
const PAUSE: Duration = Duration::from_millis(2);
/// Done, and partly done: some transcripts are refused, with a reason.
const EXIT_CODES: &[i32] = &[0, 4];

/// What a process took from its start to its end.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Took {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    /// The most memory that it ever held.
    pub(crate) memory_mb: f64,
    /// All bytes that it read, from files and elsewhere.
    pub(crate) read_mb: f64,
}

/// Runs a command to its end. It must succeed, at least partly.
pub(crate) fn run(command: &mut Command) -> Fallible<Took> {
    let mut errors = tempfile::tempfile()?;
    let start = Instant::now();
    let mut child = spawn(command, &errors)?;
    let mut took = Took::default();
    while !has_ended(child.id()) {
        took.memory_mb = took.memory_mb.max(memory_mb(child.id()));
        std::thread::sleep(PAUSE);
    }
    took.wall_s = millis(start) / 1e3;
    // Until somebody waits for it, the system knows what it took.
    took.cpu_s = tree_cpu_ms_of(child.id())? / 1e3;
    took.read_mb = read_mb(child.id());
    let status = child.wait()?;
    if status.code().is_some_and(|code| EXIT_CODES.contains(&code)) {
        return Ok(took);
    }
    let mut text = String::new();
    errors.rewind()?;
    errors.read_to_string(&mut text)?;
    Err(format!("{command:?} failed: {text}").into())
}

/// Runs a command and kills it after some time. Tells whether it was killed before it ended by itself.
pub(crate) fn kill_after(command: &mut Command, after: Duration) -> Fallible<bool> {
    let mut child = spawn(command, &tempfile::tempfile()?)?;
    let start = Instant::now();
    while start.elapsed() < after {
        if child.try_wait()?.is_some() {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
    child.kill()?;
    child.wait()?;
    Ok(true)
}

fn spawn(command: &mut Command, errors: &File) -> Fallible<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Ok(command.stderr(errors.try_clone()?).spawn()?)
}

/// Whether a process has ended, and only waits for its parent.
fn has_ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

/// The most memory that a process ever held, in MB; 0 once it has ended.
pub(crate) fn memory_mb(pid: u32) -> f64 {
    field(&format!("/proc/{pid}/status"), "VmHWM:") / 1e3
}

fn read_mb(pid: u32) -> f64 {
    field(&format!("/proc/{pid}/io"), "rchar:") / 1e6
}

/// The number behind a name, in a file of the system.
fn field(path: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    let number = value.and_then(|value| value.split_ascii_whitespace().next()?.parse().ok());
    number.unwrap_or(0.0)
}
