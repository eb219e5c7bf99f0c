//! What programs did to files below some directories, as `strace` tells it.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Calls that change files, too, and that nobody uses there. They are not played again.
pub(super) const OTHERS: [&str; 9] = [
    "writev",
    "pwritev",
    "pwritev2",
    "link",
    "linkat",
    "copy_file_range",
    "sendfile",
    "truncate",
    "fallocate",
];

/// One thing that was done. Files are numbered as they came up; a name is a path below the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Op {
    /// A file got a name that it had not.
    Create {
        file: usize,
        name: PathBuf,
    },
    MakeDir {
        name: PathBuf,
    },
    Write {
        file: usize,
        at: u64,
        bytes: Vec<u8>,
    },
    /// It was cut, or made longer.
    Length {
        file: usize,
        length: u64,
    },
    SyncFile {
        file: usize,
    },
    /// The names of a directory were waited for.
    SyncDir {
        name: PathBuf,
    },
    /// All of the file system was waited for.
    SyncAll,
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Remove {
        name: PathBuf,
    },
}

/// Reads a trace (`strace -f -y -xx`) of what was done in the directories `kept` below the root. `known` are the files
/// that were there before, numbered in their order.
pub(super) fn read(text: &str, root: &Path, kept: &[&str], known: &[PathBuf]) -> Vec<Op> {
    let mut reader = Reader {
        root,
        kept,
        names: HashMap::new(),
        files: 0,
        open: HashMap::new(),
        begun: HashMap::new(),
        ops: Vec::new(),
    };
    for name in known {
        reader.name(name);
    }
    for line in text.lines() {
        reader.line(line);
    }
    reader.ops
}

/// Where the next byte goes that is written without a place.
enum Place {
    At(u64),
    End,
}

struct Reader<'a> {
    root: &'a Path,
    kept: &'a [&'a str],
    names: HashMap<PathBuf, usize>,
    files: usize,
    /// By process and descriptor.
    open: HashMap<(String, String), (PathBuf, Place)>,
    /// Calls that were interrupted in the trace.
    begun: HashMap<String, String>,
    ops: Vec<Op>,
}

impl Reader<'_> {
    fn name(&mut self, name: &Path) -> usize {
        let fresh = self.files;
        let file = *self.names.entry(name.to_owned()).or_insert(fresh);
        self.files += usize::from(file == fresh);
        file
    }

    fn line(&mut self, line: &str) {
        let Some((process, call)) = line.trim_start().split_once(' ') else {
            return;
        };
        let call = call.trim_start();
        if let Some(first) = call.strip_suffix("<unfinished ...>") {
            self.begun.insert(process.to_owned(), first.to_owned());
            return;
        }
        let whole = match call.strip_prefix("<... ") {
            Some(rest) => {
                let (Some(first), Some((_, second))) =
                    (self.begun.remove(process), rest.split_once(" resumed>"))
                else {
                    return;
                };
                first + second
            }
            None => call.to_owned(),
        };
        let Some((verb, rest)) = whole.split_once('(') else {
            return;
        };
        // There is room before the result of a call that was interrupted.
        let Some((arguments, result)) = rest.rsplit_once(" = ") else {
            return;
        };
        let Some(arguments) = arguments.trim_end().strip_suffix(')') else {
            return;
        };
        if result.starts_with('-') {
            return;
        }
        let arguments = split(arguments);
        self.call(process, verb, &arguments, result);
    }

    fn call(&mut self, process: &str, verb: &str, given: &[String], result: &str) {
        let arg = |n: usize| given.get(n).map_or("", String::as_str);
        match verb {
            "openat" => self.opened(process, arg(2), result),
            "write" | "pwrite64" => self.written(process, verb, given, result),
            "ftruncate" => {
                if let Some(name) = self.described(arg(0)) {
                    let (file, length) = (self.name(&name), arg(1).parse().unwrap());
                    self.ops.push(Op::Length { file, length });
                }
            }
            "fsync" | "fdatasync" => {
                if let Some(name) = self.described(arg(0)) {
                    let op = match self.names.get(&name) {
                        Some(file) => Op::SyncFile { file: *file },
                        None => Op::SyncDir { name },
                    };
                    self.ops.push(op);
                }
            }
            "syncfs" | "sync" => self.ops.push(Op::SyncAll),
            "mkdir" => self.made(self.below(&path(arg(0)))),
            "mkdirat" => self.made(self.at(arg(0), arg(1))),
            "rename" => self.renamed(self.below(&path(arg(0))), self.below(&path(arg(1)))),
            "renameat" | "renameat2" => {
                self.renamed(self.at(arg(0), arg(1)), self.at(arg(2), arg(3)));
            }
            "unlink" | "rmdir" => self.removed(self.below(&path(arg(0)))),
            "unlinkat" => self.removed(self.at(arg(0), arg(1))),
            other if OTHERS.contains(&other) => {
                assert!(!self.touches(given), "{other} is not played: {given:?}");
            }
            _ => {}
        }
    }

    fn opened(&mut self, process: &str, flags: &str, result: &str) {
        let Some(name) = self.described(result) else {
            return;
        };
        if flags.contains("O_DIRECTORY") || !flags.contains("O_WRONLY") && !flags.contains("O_RDWR")
        {
            return;
        }
        let is_new = !self.names.contains_key(&name);
        let file = self.name(&name);
        if is_new {
            self.ops.push(Op::Create {
                file,
                name: name.clone(),
            });
        } else if flags.contains("O_TRUNC") {
            self.ops.push(Op::Length { file, length: 0 });
        }
        let place = match flags.contains("O_APPEND") {
            true => Place::End,
            false => Place::At(0),
        };
        let number = result.split('<').next().unwrap_or_default();
        let key = (process.to_owned(), number.to_owned());
        self.open.insert(key, (name, place));
    }

    fn written(&mut self, process: &str, verb: &str, given: &[String], result: &str) {
        let Some(name) = self.described(&given[0]) else {
            return;
        };
        let count: usize = result.split(' ').next().unwrap().parse().unwrap();
        let mut bytes = text(&given[1]);
        bytes.truncate(count);
        let file = self.name(&name);
        let at = match verb {
            "pwrite64" => given[3].parse().unwrap(),
            _ => {
                let number = given[0].split('<').next().unwrap_or_default();
                let key = (process.to_owned(), number.to_owned());
                let end = self.end_of(file);
                match self.open.get_mut(&key) {
                    Some((_, Place::At(at))) => {
                        *at += count as u64;
                        *at - count as u64
                    }
                    _ => end,
                }
            }
        };
        self.ops.push(Op::Write { file, at, bytes });
    }

    /// Where a file that came up in the trace ends.
    fn end_of(&self, file: usize) -> u64 {
        self.ops.iter().fold(0, |end, op| match op {
            Op::Write {
                file: of,
                at,
                bytes,
            } if *of == file => end.max(at + bytes.len() as u64),
            Op::Length { file: of, length } if *of == file => *length,
            _ => end,
        })
    }

    fn made(&mut self, name: Option<PathBuf>) {
        self.ops.extend(name.map(|name| Op::MakeDir { name }));
    }

    fn renamed(&mut self, from: Option<PathBuf>, to: Option<PathBuf>) {
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        if let Some(file) = self.names.remove(&from) {
            self.names.insert(to.clone(), file);
        }
        self.ops.push(Op::Rename { from, to });
    }

    fn removed(&mut self, name: Option<PathBuf>) {
        if let Some(name) = name {
            self.names.remove(&name);
            self.ops.push(Op::Remove { name });
        }
    }

    /// Whether an argument of a call is one of the files.
    fn touches(&self, given: &[String]) -> bool {
        let before = std::iter::once("").chain(given.iter().map(String::as_str));
        given.iter().zip(before).any(|(argument, before)| {
            let name = match argument.starts_with('"') {
                true => self.at(before, argument),
                false => self.described(argument),
            };
            name.is_some()
        })
    }

    /// The name that a descriptor has, if it is one of ours: `5<path>`.
    fn described(&self, descriptor: &str) -> Option<PathBuf> {
        let (_, path) = descriptor.split_once('<')?;
        let path = path.strip_suffix("(deleted)").unwrap_or(path);
        let bytes = text(path.trim_end_matches('>'));
        self.below(Path::new(std::str::from_utf8(&bytes).ok()?))
    }

    /// A name that is said in relation to a directory.
    fn at(&self, dir: &str, name: &str) -> Option<PathBuf> {
        let name = path(name);
        if name.is_absolute() {
            return self.below(&name);
        }
        let dir = text(dir.split_once('<')?.1.trim_end_matches('>'));
        self.below(&Path::new(std::str::from_utf8(&dir).ok()?).join(name))
    }

    /// What changes from one process to the next and is made anew after a cut is left out: shared memory.
    fn below(&self, path: &Path) -> Option<PathBuf> {
        let name = path.strip_prefix(self.root).ok()?;
        let plain = name.components().all(|c| matches!(c, Component::Normal(_)));
        let is_kept = self.kept.iter().any(|kept| name.starts_with(kept));
        let is_memory = name.to_str()?.ends_with("-shm");
        (plain && is_kept && !is_memory).then(|| name.to_owned())
    }
}

fn path(quoted: &str) -> PathBuf {
    PathBuf::from(String::from_utf8(text(quoted)).unwrap_or_default())
}

/// The bytes of `"\x61\x62"`, or of what is written in letters.
fn text(quoted: &str) -> Vec<u8> {
    if !quoted.contains("\\x") {
        return quoted.trim_matches('"').as_bytes().to_vec();
    }
    let digits = quoted.split("\\x").skip(1);
    let byte = |d: &str| u8::from_str_radix(d.get(..2)?, 16).ok();
    digits.filter_map(byte).collect()
}

/// The arguments of a call: nothing in them holds a comma, since strings are in digits.
fn split(arguments: &str) -> Vec<String> {
    let all = arguments.split(", ");
    all.map(|argument| argument.trim().to_owned()).collect()
}
