//! Processes as `ps` tells them, for systems without `/proc`.
//!
//! One call lists all processes; start times have the resolution of a second there, and scripts are
//! not told apart. What only such a system can show is said in the user guide.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the second implementation of ancestry"
)]

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::process::Command;

use siglum_domain::Timestamp;
use siglum_domain::process::{Ancestor, Chain, ProcessIdentity, Terminal, WALK_LIMIT};

use super::Machine;

struct Row {
    parent: u32,
    group: i64,
    foreground: i64,
    terminal: u64,
    start: u64,
    command: String,
}

/// A word that is equal during one boot.
pub(super) fn boot_time() -> String {
    let output = Command::new("sysctl")
        .args(["-n", "kern.boottime"])
        .output();
    output
        .map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned())
        .unwrap_or_default()
}

pub(super) fn chain(machine: &Machine) -> Chain {
    let output = Command::new("ps")
        .env("LC_ALL", "C")
        .args(["-A", "-o", "pid=,ppid=,pgid=,tpgid=,tty=,lstart=,comm="])
        .output();
    let Ok(output) = output else {
        return Chain::default();
    };
    let rows: HashMap<u32, Row> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(row)
        .collect();
    walk(machine, &rows, std::process::id())
}

fn walk(machine: &Machine, rows: &HashMap<u32, Row>, from: u32) -> Chain {
    let mut chain = Chain::default();
    let mut pid = from;
    while chain.ancestors.len() < WALK_LIMIT
        && !chain.ancestors.iter().any(|a| a.identity.pid == pid)
    {
        let Some(row) = rows.get(&pid) else { break };
        let name = Path::new(&row.command)
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        chain.ancestors.push(Ancestor {
            identity: ProcessIdentity {
                host: machine.host.clone(),
                boot: machine.boot.clone(),
                namespace: machine.namespace,
                pid,
                start: row.start,
            },
            executable: Some(name.trim_start_matches('-').to_owned()),
            name,
            script: None,
            group: row.group,
            terminal: (row.terminal != 0).then_some(Terminal {
                device: row.terminal,
                foreground: row.foreground,
            }),
        });
        if row.parent == 0 {
            chain.complete = true;
            break;
        }
        pid = row.parent;
    }
    chain
}

/// `  42   7  42  42 ttys001 Sat Nov 21 01:02:03 2026 /bin/zsh`
fn row(line: &str) -> Option<(u32, Row)> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    let foreground = words.next()?.parse().unwrap_or(-1);
    let tty = words.next()?;
    let terminal = if tty.starts_with('?') || tty == "-" {
        0
    } else {
        device(tty)
    };
    let start: Vec<&str> = words.by_ref().take(5).collect();
    let command = words.collect::<Vec<_>>().join(" ");
    Some((
        pid,
        Row {
            parent,
            group,
            foreground,
            terminal,
            start: seconds(&start)?,
            command,
        },
    ))
}

/// A number that is equal for equal terminals, and never 0.
fn device(tty: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    tty.hash(&mut hasher);
    hasher.finish() | 1
}

/// `Sat Nov 21 01:02:03 2026` as seconds; the zone is the same for all, so it does not matter.
fn seconds(words: &[&str]) -> Option<u64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let [_, month, day, time, year] = words else {
        return None;
    };
    let month = MONTHS.iter().position(|m| m == month)? + 1;
    let day: u32 = day.parse().ok()?;
    let at: Timestamp = format!("{year}-{month:02}-{day:02}T{time}Z").parse().ok()?;
    u64::try_from(at.seconds()).ok()
}

#[cfg(test)]
mod tests {
    use super::super::procfs;
    use super::*;

    #[test]
    fn a_line_of_ps_is_a_process() {
        let (pid, row) =
            row("   42     7    42    42 ttys001  Sat Nov 21 01:02:03 2026 /bin/a b (c").unwrap();
        assert_eq!(
            (pid, row.parent, row.group, row.foreground),
            (42, 7, 42, 42)
        );
        assert_eq!(row.command, "/bin/a b (c");
        assert!(row.terminal != 0);
        assert!(super::row("").is_none());
    }

    #[test]
    fn ps_and_proc_agree_on_who_is_above_whom() {
        let machine = Machine {
            host: "h".into(),
            boot: "b".into(),
            namespace: 0,
        };
        let (by_proc, by_ps) = (procfs::chain(&machine).0, chain(&machine));
        let pids = |c: &Chain| {
            c.ancestors
                .iter()
                .map(|a| a.identity.pid)
                .collect::<Vec<_>>()
        };
        assert_eq!(pids(&by_ps), pids(&by_proc));
        assert!(by_ps.complete);
    }
}
