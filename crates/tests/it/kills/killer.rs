//! Who may be killed, and the killing.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Dice, World, kill, until};

const HOOKS: &[&str] = &["prepare-commit", "commit-msg", "post-"];

/// What a process of this world is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agent,
    Worker,
    /// Git, a hook of it, or the program under test.
    Passing,
}

/// A process that may be killed.
struct Victim {
    pid: u32,
    name: String,
    kind: Kind,
}

fn victims(world: &World) -> Vec<Victim> {
    let named = |pid: u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        let name = name.trim().to_owned();
        let ours = ["siglum", "git", "claude"].contains(&name.as_str())
            || HOOKS.iter().any(|hook| name.starts_with(hook));
        ours.then_some((pid, name))
    };
    let mark = world.root.to_str().unwrap().as_bytes();
    let here = |pid: u32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.windows(mark.len()).any(|window| window == mark)
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    let candidates: Vec<(u32, String)> = pids.filter_map(named).collect();
    let found = candidates.into_iter().filter(|(pid, _)| here(*pid));
    found.map(|(pid, name)| victim(pid, name)).collect()
}

fn victim(pid: u32, name: String) -> Victim {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let kind = match name.as_str() {
        "claude" => Kind::Agent,
        _ if line.ends_with(b"\0worker\0") => Kind::Worker,
        _ => Kind::Passing,
    };
    let name = match kind {
        Kind::Agent => "agent".to_owned(),
        Kind::Worker => "worker".to_owned(),
        Kind::Passing if name == "siglum" => called(&line),
        Kind::Passing => name,
    };
    Victim { pid, name, kind }
}

/// A run of the program under test: a hook, or a command.
fn called(line: &[u8]) -> String {
    let hook = line.split(|byte| *byte == 0).any(|word| word == b"hook");
    if hook {
        "siglum hook"
    } else {
        "siglum command"
    }
    .to_owned()
}

/// Whether nothing runs any more that is not meant to.
fn is_quiet(world: &World, quiet: fn(Kind) -> bool) -> bool {
    victims(world).iter().all(|victim| quiet(victim.kind))
}

/// Waits until the worker has nothing to do any more, either.
pub(super) fn until_idle(world: &World) {
    until("the worker is done", || {
        is_quiet(world, |kind| kind == Kind::Agent)
    });
}

/// Does something, and kills one process at a random moment meanwhile. Gives what was killed.
pub(super) fn with_a_kill(world: &World, dice: &mut Dice, work: impl FnOnce()) -> Option<String> {
    let delay = Duration::from_micros(dice.roll(150_000));
    let wanted = match dice.roll(100) {
        0..12 => Kind::Agent,
        12..30 => Kind::Worker,
        _ => Kind::Passing,
    };
    let choice = dice.index(1 << 20);
    let done = AtomicBool::new(false);
    let killed = thread::scope(|scope| {
        let killer = scope.spawn(|| {
            let start = Instant::now();
            while !done.load(Ordering::Relaxed) {
                if start.elapsed() < delay {
                    thread::sleep(Duration::from_micros(200));
                    continue;
                }
                let mut found = victims(world);
                found.retain(|victim| victim.kind == wanted);
                if !found.is_empty() {
                    let victim = found.swap_remove(choice % found.len());
                    kill(victim.pid);
                    return Some(victim.name);
                }
            }
            None
        });
        work();
        done.store(true, Ordering::Relaxed);
        killer.join().unwrap()
    });
    until("what was left behind is done", || {
        is_quiet(world, |kind| kind != Kind::Passing)
    });
    killed
}
