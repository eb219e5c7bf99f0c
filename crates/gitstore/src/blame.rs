//! Which commit git names for the lines of a file.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::ffi::OsStrExt as _;

use siglum_domain::Oid;

use crate::error::GitError;
use crate::git::Git;

const COMMAND: &str = "blame";

/// One line of a file, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlameLine {
    /// The commit that brought it; all zeros for a line that is not committed.
    pub commit: Oid,
    /// What the file was called in that commit.
    pub path: String,
    /// The number of the line in that commit, from 1.
    pub line: u32,
    /// The line itself, without its end.
    pub text: Vec<u8>,
}

impl Git {
    /// Blames the lines of a file, in order: those of `rev`, or of the checkout without one. The
    /// path is relative to the root. Nobody's list of ignored revisions is used.
    ///
    /// # Errors
    /// There is no such file or no such line, or git fails.
    pub fn blame(
        &self,
        path: &str,
        lines: Option<RangeInclusive<u32>>,
        rev: Option<&Oid>,
    ) -> Result<Vec<BlameLine>, GitError> {
        let mut args = vec![COMMAND.to_owned(), "--porcelain".to_owned()];
        args.extend(["--no-textconv", "--ignore-revs-file="].map(str::to_owned));
        args.extend(lines.map(|l| format!("-L{},{}", l.start(), l.end())));
        args.extend(rev.map(|oid| oid.as_str().to_owned()));
        args.extend(["--".to_owned(), path.to_owned()]);
        self.check_lists()?;
        let git = match rev {
            Some(_) => self.clone(),
            // The lines of the checkout are what its filters make of them.
            None => self.without_own_filters()?,
        };
        parse(&git.bytes(&args, b"")?).ok_or_else(|| GitError::unreadable(COMMAND))
    }

    /// Git opens each list of ignored revisions that a setting names, and the list of names in the checkout, also where it
    /// then uses none, and waits for one that is a pipe.
    fn check_lists(&self) -> Result<(), GitError> {
        let args = ["config", "--null", "--type=path", "--get-all"];
        let output = self.run(&[&args[..], &["blame.ignoreRevsFile"]].concat(), b"")?;
        let lists = output.stdout.split(|b| *b == 0).map(OsStr::from_bytes);
        for list in lists.chain([OsStr::new(".mailmap")]) {
            let path = self.dir().join(list);
            let is_waited_for = |meta: Metadata| !meta.is_file() && !meta.is_dir();
            if std::fs::metadata(&path).is_ok_and(is_waited_for) {
                let why = "git blame reads it, and it is not a regular file";
                let source = io::Error::new(io::ErrorKind::InvalidInput, why);
                return Err(GitError::Io { path, source });
            }
        }
        Ok(())
    }
}

/// Reads groups of `<commit> <line there> <line here>`, settings, and the line after a tab. The
/// name of the file is given once, and again when it changes.
fn parse(output: &[u8]) -> Option<Vec<BlameLine>> {
    let mut found: Vec<BlameLine> = Vec::new();
    let mut names: HashMap<Oid, String> = HashMap::new();
    let mut current: Option<(Oid, u32)> = None;
    for line in output.split(|b| *b == b'\n') {
        match &current {
            Some((commit, number)) if line.starts_with(b"\t") => {
                let text = line[1..].to_vec();
                let path = names.get(commit)?.clone();
                found.push(BlameLine {
                    commit: commit.clone(),
                    path,
                    line: *number,
                    text,
                });
                current = None;
            }
            Some((commit, _)) => {
                if let Some(name) = line.strip_prefix(b"filename ") {
                    names.insert(commit.clone(), unquoted(name));
                }
            }
            None if line.is_empty() => {}
            None => {
                let text = String::from_utf8_lossy(line);
                let mut words = text.split(' ');
                current = Some((Oid::new(words.next()?).ok()?, words.next()?.parse().ok()?));
            }
        }
    }
    Some(found)
}

/// Undoes git's quoting of unusual paths, as in C.
fn unquoted(name: &[u8]) -> String {
    let inner = name.strip_prefix(b"\"").and_then(|n| n.strip_suffix(b"\""));
    let Some(inner) = inner else {
        return String::from_utf8_lossy(name).into_owned();
    };
    let mut out = Vec::new();
    let mut rest = inner;
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = if *byte == b'\\' {
            escaped(after)
        } else {
            (*byte, after)
        };
        out.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn escaped(rest: &[u8]) -> (u8, &[u8]) {
    let octal = |b: &u8| matches!(b, b'0'..=b'7');
    match rest {
        [a @ b'0'..=b'3', b, c, after @ ..] if octal(b) && octal(c) => {
            ((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), after)
        }
        [letter, after @ ..] => {
            let byte = match letter {
                b'a' => 7,
                b'b' => 8,
                b't' => b'\t',
                b'n' => b'\n',
                b'v' => 11,
                b'f' => 12,
                b'r' => b'\r',
                other => *other,
            };
            (byte, after)
        }
        [] => (b'\\', rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_names_are_read_as_in_c() {
        assert_eq!(unquoted(b"plain name"), "plain name");
        assert_eq!(unquoted(br#""a\"b\\c\nd\303\244""#), "a\"b\\c\nd\u{e4}");
    }
}
