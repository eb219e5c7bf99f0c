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
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use siglum_domain::Timestamp;
use siglum_domain::process::{Ancestor, Chain, Holdings, ProcessIdentity, Terminal, WALK_LIMIT};

use crate::{Machine, descendants};

struct Row {
    parent: u32,
    group: i64,
    foreground: i64,
    terminal: u64,
    /// It ended, and only its parent's question after it is outstanding.
    ended: bool,
    start: u64,
    command: String,
}

/// A word that is equal during one boot, with how it was had in front; empty where nothing tells.
pub(super) fn boot() -> String {
    let session = ["/usr/sbin/sysctl", "/sbin/sysctl"]
        .iter()
        .find_map(|sysctl| {
            let mut sysctl = Command::new(sysctl);
            let output = sysctl.args(["-n", "kern.bootsessionuuid"]).output().ok()?;
            let id = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            (output.status.success() && !id.is_empty()).then(|| format!("session={id}"))
        });
    let first = || Some(format!("first={}", list()?.get(&1)?.start));
    session.or_else(first).unwrap_or_default()
}

/// All processes; nothing where `ps` cannot be run, or does not show so much as this process.
fn list() -> Option<HashMap<u32, Row>> {
    let program = crate::PS.get().map_or(Path::new("ps"), PathBuf::as_path);
    let mut ps = Command::new(program);
    ps.env("LC_ALL", "C").env("TZ", "UTC").arg("-A");
    // Elsewhere than on Linux an empty heading reaches to the end of its argument.
    for column in [
        "pid=", "ppid=", "pgid=", "tpgid=", "stat=", "tty=", "lstart=", "comm=",
    ] {
        ps.args(["-o", column]);
    }
    let output = ps.stdin(Stdio::null()).output().ok()?;
    let rows: HashMap<u32, Row> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(row)
        .collect();
    rows.contains_key(&std::process::id()).then_some(rows)
}

pub(super) fn chain(machine: &Machine, from: u32) -> Chain {
    // Without a boot its start times would say nothing.
    match list().filter(|_| !machine.boot.is_empty()) {
        Some(rows) => walk(machine, &rows, from),
        None => Chain::default(),
    }
}

/// When a process that has not ended started, in seconds.
pub(super) fn start_time(pid: u32) -> Option<u64> {
    let rows = list()?;
    rows.get(&pid).filter(|r| !r.ended).map(|r| r.start)
}

/// Whether the process of this number that started then has not ended; nothing where `ps` does not tell.
pub(super) fn lives(pid: u32, start: u64) -> Option<bool> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    // The kernel tells without `ps` that there is none.
    if number.is_some_and(|n| test_kill_process(n) == Err(Errno::SRCH)) {
        return Some(false);
    }
    let rows = list()?;
    Some(rows.get(&pid).is_some_and(|r| !r.ended && r.start == start))
}

/// The processes below one, with when each started; at most so many.
pub(super) fn below(top: u32, most: usize) -> Vec<(u32, u64)> {
    let all = list().unwrap_or_default();
    let all: Vec<_> = all
        .iter()
        .map(|(pid, r)| (*pid, r.parent, r.start))
        .collect();
    descendants::below(&all, top, most)
}

fn walk(machine: &Machine, rows: &HashMap<u32, Row>, from: u32) -> Chain {
    let mut chain = Chain {
        per_second: 1,
        ..Chain::default()
    };
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
            title: None,
            holdings: Holdings::default(),
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

/// `  42   7  42  42 S+ ttys001 Sat Nov 21 01:02:03 2026 /bin/zsh`
fn row(line: &str) -> Option<(u32, Row)> {
    let mut words = line.split_ascii_whitespace();
    let pid = words.next()?.parse().ok()?;
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    let foreground = words.next()?.parse().unwrap_or(-1);
    let ended = words.next()?.starts_with(['Z', 'X']);
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
            ended,
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

/// `Sat Nov 21 01:02:03 2026` as seconds since 1970.
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
    use std::io::{BufRead, BufReader, Write};

    use super::*;
    use crate::procfs;

    #[test]
    fn a_line_of_ps_is_a_process() {
        let (pid, row) =
            row("   42     7    42    42 S+ ttys001  Sat Nov 21 01:02:03 2026 /bin/a b (c")
                .unwrap();
        assert_eq!(
            (pid, row.parent, row.group, row.foreground),
            (42, 7, 42, 42)
        );
        assert_eq!(row.command, "/bin/a b (c");
        assert!(row.terminal != 0);
        assert!(super::row("").is_none());
    }

    fn here() -> Machine {
        Machine {
            host: "h".into(),
            boot: "b".into(),
            namespace: 0,
        }
    }

    /// All that a verdict takes from a chain: who is above whom, git, the agent, the terminal, whether
    /// it was left behind.
    fn chain_summary(chain: &Chain) -> String {
        let pid = |a: Option<&Ancestor>| a.map(|a| a.identity.pid);
        let pids: Vec<_> = chain.ancestors.iter().map(|a| a.identity.pid).collect();
        let agents: Vec<_> = (0..pids.len())
            .map(|n| Chain {
                ancestors: chain.ancestors[n..].to_vec(),
                complete: true,
                per_second: chain.per_second,
            })
            .map(|c| pid(c.agent_process(None)))
            .collect();
        format!(
            "{pids:?} complete {} git {:?} agents {agents:?} typed {:?} terminal {:?}",
            chain.complete,
            chain.git_process().map(|(at, a)| (at, a.identity.pid)),
            pid(chain.typed_in()),
            chain.terminal_seen()
        )
    }

    /// Starts a shell command whose last process prints its pid and waits, and compares both walks.
    fn compare(command: &str) -> String {
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let pid = line.trim().parse().expect(&line);
        let by_proc = chain_summary(&procfs::chain(&here(), pid).0);
        let by_ps = chain_summary(&chain(&here(), pid));
        child.stdin.take().unwrap().write_all(b"\n").unwrap();
        child.wait().unwrap();
        drop(output);
        assert_eq!(by_ps, by_proc, "{command}");
        by_ps
    }

    const WAITS: &str = "echo $$; read end; true";

    #[test]
    fn ps_and_proc_tell_the_same_of_real_processes() {
        let git = format!("git -c alias.x='!f() {{ {WAITS}; }}; f' x; true");
        let summary = compare(&git);
        assert!(!summary.contains("git None"), "{summary}");
        compare(&format!("sh -c '{WAITS}'; true"));
        let odd = tempfile::tempdir().unwrap();
        let program = odd.path().join("a) b (c");
        std::fs::copy("/bin/sh", &program).unwrap();
        compare(&format!("'{}' -c '{WAITS}'; true", program.display()));
        let alone = compare(&format!("exec setsid -w {git}"));
        assert!(alone.contains("typed None"), "{alone}");
        let at_terminal = compare(
            "python3 -c 'import pty; pty.spawn([\"bash\", \"--norc\", \"-c\", \"echo $$; read end; true\"])'",
        );
        assert!(at_terminal.contains("git None"), "{at_terminal}");
    }

    #[test]
    fn a_number_that_is_used_again_and_a_zombie_are_not_the_process() {
        let mut child = Command::new("/bin/cat")
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let start = start_time(child.id()).unwrap();
        assert_eq!(lives(child.id(), start), Some(true));
        assert_eq!(lives(child.id(), start - 1), Some(false));
        assert!(below(std::process::id(), 100).contains(&(child.id(), start)));
        drop(child.stdin.take());
        while start_time(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert_eq!(lives(child.id(), start), Some(false), "a zombie");
        child.wait().unwrap();
        assert_eq!(lives(child.id(), start), Some(false));
    }

    #[test]
    fn a_walk_ends_at_loops_vanished_parents_and_its_limit() {
        let row = |parent| Row {
            parent,
            group: 1,
            foreground: -1,
            terminal: 0,
            ended: false,
            start: 1,
            command: "x".to_owned(),
        };
        let walked = |rows: &HashMap<u32, Row>| {
            let chain = walk(&here(), rows, 1000);
            (chain.ancestors.len(), chain.complete)
        };
        let looped = HashMap::from([(1000, row(7)), (7, row(8)), (8, row(7))]);
        assert_eq!(walked(&looped), (3, false));
        let vanished = HashMap::from([(1000, row(7))]);
        assert_eq!(walked(&vanished), (1, false));
        let deep: HashMap<_, _> = (1..=1000).map(|pid| (pid, row(pid - 1))).collect();
        assert_eq!(walked(&deep), (WALK_LIMIT, false));
        let whole = HashMap::from([(1000, row(1)), (1, row(0))]);
        assert_eq!(walked(&whole), (2, true));
    }
}
