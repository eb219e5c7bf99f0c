//! Processes as Linux's `/proc` tells them (proc_pid_stat(5)).

use std::fs;
use std::path::Path;

use siglum_domain::process::{Ancestor, Chain, ProcessIdentity, Terminal, WALK_LIMIT};

use crate::{Machine, ProcessPaths};

const INTERPRETERS: &[&str] = &["node", "bun", "deno", "python", "ruby", "perl"];

pub(super) fn available() -> bool {
    Path::new("/proc/self/stat").exists()
}

pub(super) fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|s| s.trim().to_owned())
        .unwrap_or_default()
}

/// The inode of our pid namespace: `pid:[4026531836]`.
pub(super) fn pid_namespace() -> u64 {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = link
        .to_string_lossy()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().unwrap_or(0)
}

/// The fields of `/proc/<pid>/stat` that we use.
struct Stat {
    name: String,
    /// It ended, and only its parent's question after it is outstanding.
    ended: bool,
    parent: u32,
    group: i64,
    terminal: u64,
    foreground: i64,
    start: u64,
}

/// The name may hold blanks and parentheses, so the fields begin behind the last `)`.
fn parse(text: &str) -> Option<Stat> {
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let fields: Vec<&str> = text.get(close + 1..)?.split_ascii_whitespace().collect();
    Some(Stat {
        name: text.get(open + 1..close)?.to_owned(),
        ended: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        terminal: fields.get(4)?.parse().unwrap_or(0),
        foreground: fields.get(5)?.parse().unwrap_or(-1),
        start: fields.get(19)?.parse().ok()?,
    })
}

fn stat(pid: u32) -> Option<Stat> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&bytes))
}

/// When a process that has not ended started.
pub(super) fn start_time(pid: u32) -> Option<u64> {
    stat(pid).filter(|s| !s.ended).map(|s| s.start)
}

/// The processes below one, with when each started; at most so many.
pub(super) fn below(top: u32, most: usize) -> Vec<(u32, u64)> {
    let Ok(all) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let number = |name: &str| name.parse::<u32>().ok();
    let all: Vec<(u32, Stat)> = all
        .flatten()
        .filter_map(|e| number(&e.file_name().to_string_lossy()))
        .filter_map(|pid| Some((pid, stat(pid)?)))
        .collect();
    let mut found: Vec<(u32, u64)> = Vec::new();
    let mut above = vec![top];
    while let Some(parent) = above.pop() {
        for (pid, stat) in all.iter().filter(|(_, stat)| stat.parent == parent) {
            if found.len() < most && *pid != top && found.iter().all(|(known, _)| known != pid) {
                found.push((*pid, stat.start));
                above.push(*pid);
            }
        }
    }
    found
}

/// Walks from a process up to the first one, bounded, and safe against loops and parents that vanish
/// meanwhile.
pub(super) fn chain(machine: &Machine, from: u32) -> (Chain, Vec<ProcessPaths>) {
    let mut chain = Chain {
        per_second: u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(0),
        ..Chain::default()
    };
    let mut all_paths = Vec::new();
    let mut pid = from;
    while chain.ancestors.len() < WALK_LIMIT {
        if chain.ancestors.iter().any(|a| a.identity.pid == pid) {
            break;
        }
        let Some(stat) = stat(pid) else { break };
        let paths = paths(pid);
        let base = |path: &Option<String>| {
            path.as_ref()
                .and_then(|p| Path::new(p).file_name())
                .map(|n| n.to_string_lossy().into_owned())
        };
        chain.ancestors.push(Ancestor {
            identity: ProcessIdentity {
                host: machine.host.clone(),
                boot: machine.boot.clone(),
                namespace: machine.namespace,
                pid,
                start: stat.start,
            },
            name: stat.name,
            executable: base(&paths.executable),
            script: base(&paths.script),
            group: stat.group,
            terminal: (stat.terminal != 0).then_some(Terminal {
                device: stat.terminal,
                foreground: stat.foreground,
            }),
        });
        all_paths.push(paths);
        if stat.parent == 0 {
            chain.complete = true;
            break;
        }
        pid = stat.parent;
    }
    (chain, all_paths)
}

fn paths(pid: u32) -> ProcessPaths {
    let executable = fs::read_link(format!("/proc/{pid}/exe")).ok().map(|p| {
        p.to_string_lossy()
            .trim_end_matches(" (deleted)")
            .to_owned()
    });
    let interprets = executable.as_ref().is_some_and(|path| {
        let name = Path::new(path)
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        INTERPRETERS.iter().any(|i| name.starts_with(i))
    });
    ProcessPaths {
        script: if interprets { script(pid) } else { None },
        executable,
    }
}

/// The first argument of an interpreter that is no option.
fn script(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let mut arguments = line.split(|b| *b == 0).skip(1);
    let script = arguments.find(|a| !a.is_empty() && !a.starts_with(b"-"))?;
    Some(String::from_utf8_lossy(script).chars().take(4096).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let line = "42 (a) b (c) S 7 40 39 34816 40 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        let stat = parse(line).unwrap();
        assert_eq!(
            (
                stat.name.as_str(),
                stat.parent,
                stat.group,
                stat.terminal,
                stat.foreground,
                stat.start
            ),
            ("a) b (c", 7, 40, 34816, 40, 987_654)
        );
        assert!(!stat.ended && parse(&line.replace(" S ", " Z ")).unwrap().ended);
        assert!(parse("").is_none());
        assert!(parse("1 (x").is_none());
    }

    #[test]
    fn the_walk_begins_here_and_reaches_the_first_process() {
        let machine = Machine {
            host: "h".into(),
            boot: boot_id(),
            namespace: pid_namespace(),
        };
        let (chain, paths) = chain(&machine, std::process::id());
        assert_eq!(chain.ancestors[0].identity.pid, std::process::id());
        assert!(chain.complete);
        assert_eq!(paths.len(), chain.ancestors.len());
        assert_eq!(
            start_time(std::process::id()),
            Some(chain.ancestors[0].identity.start)
        );
    }
}
