//! The command lines of the processes above this one.

use std::fs;
use std::path::Path;

use crate::procfs;

/// A process above this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub pid: u32,
    /// The file name of its executable, where the system tells it.
    pub executable: Option<String>,
    /// Its arguments, the name that it was called by first.
    pub arguments: Vec<String>,
}

/// How much of a command line is read, in bytes.
const LINE_MOST: usize = 64 << 10;

/// The processes above this one, its parent first; at most so many. Where the system does not tell, there are none.
///
/// For hooks that run by the hundred: a whole walk costs more than they may.
#[must_use]
pub fn above(most: usize) -> Vec<Command> {
    let mut found = Vec::new();
    if !crate::by_proc() {
        return found;
    }
    let mut pid = procfs::parent(std::process::id());
    while let Some(number) = pid.filter(|n| *n > 0)
        && found.len() < most
    {
        let Some(command) = command(number) else {
            break;
        };
        found.push(command);
        pid = procfs::parent(number);
    }
    found
}

fn command(pid: u32) -> Option<Command> {
    let mut line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    line.truncate(LINE_MOST);
    let arguments = line.split(|b| *b == 0);
    let executable = fs::read_link(format!("/proc/{pid}/exe")).ok();
    Some(Command {
        pid,
        executable: executable.as_deref().and_then(file_name),
        arguments: arguments
            .map(|a| String::from_utf8_lossy(a).into_owned())
            .collect(),
    })
}

fn file_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy();
    Some(name.trim_end_matches(" (deleted)").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_above() {
        let above = above(2);
        if Path::new("/proc/self/stat").exists() {
            assert_eq!(above.len(), 2);
            assert!(!above[0].arguments[0].is_empty());
            assert_ne!(above[0].pid, std::process::id());
        } else {
            assert_eq!(above, []);
        }
    }
}
