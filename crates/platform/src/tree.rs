//! A process that was started here, with all below it.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{by_proc, procfs, ps};

/// How many processes are looked at below one.
const MOST: usize = 4_096;

/// Ends a process that leads a group of its own, with that group and all processes below it, also those that left the
/// group. What cannot be ended is gone.
pub fn end(leader: u32) {
    let (below, start_time): (_, fn(u32) -> Option<u64>) = if by_proc() {
        (procfs::below(leader, MOST), procfs::start_time)
    } else {
        (ps::below(leader, MOST), ps::start_time)
    };
    let Some(pid) = pid(leader) else { return };
    let _ = kill_process_group(pid, Signal::KILL);
    for (child, start) in below {
        // Its number may be another process's by now.
        if start_time(child) == Some(start)
            && let Some(child) = self::pid(child)
        {
            let _ = kill_process(child, Signal::KILL);
        }
    }
}

fn pid(number: u32) -> Option<Pid> {
    // 0 and 1 would be all of a group, and all there are.
    let number = i32::try_from(number).ok().filter(|n| *n > 1)?;
    Pid::from_raw(number)
}
