//! Processes as Linux's `/proc` tells them (proc_pid_stat(5)).

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use siglum_domain::process::{Ancestor, Chain, Holdings, ProcessIdentity, Terminal, WALK_LIMIT};

use crate::{Machine, ProcessPaths, descendants};

/// Most open files of one process that are looked at: a hook has little time.
const FILES_MOST: usize = 512;
/// Most bytes of an environment that are read: more than Linux lets one have on a stack of the usual size.
const ENVIRONMENT_MOST: u64 = 4 << 20;
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

pub(super) fn parent(pid: u32) -> Option<u32> {
    stat(pid).map(|s| s.parent)
}

/// The processes below one, with when each started; at most so many.
pub(super) fn below(top: u32, most: usize) -> Vec<(u32, u64)> {
    let Ok(all) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let number = |name: &str| name.parse::<u32>().ok();
    let all = all
        .flatten()
        .filter_map(|e| number(&e.file_name().to_string_lossy()))
        .filter_map(|pid| stat(pid).map(|s| (pid, s.parent, s.start)));
    descendants::below(&all.collect::<Vec<_>>(), top, most)
}

/// Walks from a process up to the first one, bounded, and safe against loops and parents that vanish
/// meanwhile.
pub(super) fn chain(machine: &Machine, from: u32) -> (Chain, Vec<ProcessPaths>) {
    walk(machine, from, WALK_LIMIT)
}

/// The same, for the nearest processes alone.
pub(super) fn walk(machine: &Machine, from: u32, most: usize) -> (Chain, Vec<ProcessPaths>) {
    let mut chain = Chain {
        per_second: u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(0),
        ..Chain::default()
    };
    let mut all_paths = Vec::new();
    let mut pid = from;
    while chain.ancestors.len() < most {
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
            title: paths.title.clone(),
            holdings: Holdings::default(),
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
    let arguments = if interprets {
        arguments(pid)
    } else {
        Vec::new()
    };
    let title = arguments.first().map(|title| {
        // Who sets a title writes it over all arguments: the first word is the name.
        let word = title.split_ascii_whitespace().next().unwrap_or(title);
        word.rsplit('/').next().unwrap_or(word).to_owned()
    });
    let file = executable.as_deref().and_then(|p| Path::new(p).file_name());
    ProcessPaths {
        script: script(&arguments),
        title: title.filter(|t| !t.is_empty() && file.is_none_or(|f| f.to_string_lossy() != *t)),
        executable,
    }
}

/// The arguments of a process as it shows them, each cut to a path's length.
fn arguments(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = |a: &[u8]| String::from_utf8_lossy(a).chars().take(4096).collect();
    line.split(|b| *b == 0).take(32).map(text).collect()
}

/// Those of these variables that a process was started with (proc_pid_environ(5)).
pub(super) fn environment(pid: u32, names: &[&str]) -> Option<Vec<(String, OsString)>> {
    let file = fs::File::open(format!("/proc/{pid}/environ")).ok()?;
    let mut bytes = Vec::new();
    file.take(ENVIRONMENT_MOST).read_to_end(&mut bytes).ok()?;
    variables(&bytes, names)
}

/// Nothing where the bytes are not a whole environment: it was cut, or the process wrote its title over it.
fn variables(bytes: &[u8], names: &[&str]) -> Option<Vec<(String, OsString)>> {
    let mut found = Vec::new();
    for entry in bytes.strip_suffix(b"\0")?.split(|b| *b == 0) {
        let equals = entry.iter().position(|b| *b == b'=')?;
        let (name, value) = (&entry[..equals], &entry[equals + 1..]);
        if let Some(name) = names.iter().find(|n| n.as_bytes() == name) {
            found.push(((*name).to_owned(), OsStr::from_bytes(value).to_owned()));
        }
    }
    Some(found)
}

/// What a process of this user holds open: nothing where that may not be looked at.
pub(super) fn holdings(pid: u32) -> Holdings {
    let mut found = Holdings::default();
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return found;
    };
    let mut sockets = Vec::new();
    for link in open.flatten().take(FILES_MOST) {
        let Ok(target) = fs::read_link(link.path()) else {
            continue;
        };
        let target = target.to_string_lossy();
        found.terminal |= target.ends_with("/ptmx");
        let socket = target.strip_prefix("socket:[");
        sockets.extend(socket.and_then(|s| s.strip_suffix(']')).map(str::to_owned));
    }
    found.connection = !sockets.is_empty() && is_connected(pid, &sockets);
    found
}

/// Whether one of the sockets is an established connection (proc_net_tcp(5): state 01, inode in
/// the tenth column).
fn is_connected(pid: u32, sockets: &[String]) -> bool {
    ["tcp", "tcp6"].iter().any(|table| {
        let rows = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        rows.lines().skip(1).any(|row| {
            let mut columns = row.split_ascii_whitespace().skip(3);
            let established = columns.next() == Some("01");
            let inode = columns.nth(5);
            established && inode.is_some_and(|inode| sockets.iter().any(|s| s == inode))
        })
    })
}

/// The first argument of an interpreter that is no option.
fn script(arguments: &[String]) -> Option<String> {
    let mut rest = arguments.iter().skip(1);
    rest.find(|a| !a.is_empty() && !a.starts_with('-')).cloned()
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
    fn an_environment_is_believed_if_it_is_whole() {
        let check = |bytes: &[u8], expected: Option<&[&str]>| {
            let found = variables(bytes, &["A", "B"]);
            let found: Option<Vec<String>> = found.map(|found| {
                let text =
                    |(name, value): &(String, OsString)| format!("{name}={}", value.display());
                found.iter().map(text).collect()
            });
            let expected = expected.map(|e| e.iter().map(|&e| e.to_owned()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(bytes));
        };
        check(b"PATH=/bin\0A=1=2\0AB=3\0", Some(&["A=1=2"]));
        check(b"PATH=/bin\0A=\0B=4\0", Some(&["A=", "B=4"]));
        check(b"PATH=/bin\0", Some(&[]));
        check(b"PATH=/bin\0A=1", None);
        check(b"my title\0\0\0A=1\0", None);
        check(b"my title\0A=1\0", None);
        check(b"\0\0", None);
        check(b"", None);
        let own = environment(std::process::id(), &["PATH"]).unwrap();
        assert_eq!(own.len(), 1);
        assert!(own[0].0 == "PATH" && !own[0].1.is_empty());
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
