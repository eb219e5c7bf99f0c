//! What files hold, as far as a transcript tells: a new file is told whole, a change only as a patch.
//!
//! A patch that does not fit what is known makes it unknown. Somebody else may have changed other
//! places of a file meanwhile; what the patch itself changes is right all the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most bytes that are remembered.
const LIMIT: usize = 16 << 20;

/// The files that are known, by path.
#[derive(Debug, Clone, Default)]
pub(super) struct Contents {
    files: BTreeMap<PathBuf, String>,
    bytes: usize,
}

impl Contents {
    pub(super) fn put(&mut self, path: &Path, text: &str) {
        self.take(path);
        if text.len() > LIMIT {
            return;
        }
        if self.bytes + text.len() > LIMIT {
            *self = Self::default();
        }
        self.bytes += text.len();
        self.files.insert(path.to_owned(), text.to_owned());
    }

    pub(super) fn take(&mut self, path: &Path) -> Option<String> {
        let text = self.files.remove(path)?;
        self.bytes -= text.len();
        Some(text)
    }
}

/// The text that a patch makes of this one; nothing if it does not fit.
pub(super) fn patched(before: &str, diff: &str) -> Option<String> {
    let mut old = before.split_inclusive('\n');
    let mut after = String::with_capacity(before.len() + diff.len());
    let mut number = 1;
    let mut hunks = 0;
    for line in diff.split_inclusive('\n') {
        if let Some(start) = hunk_start(line) {
            hunks += 1;
            while number < start {
                after.push_str(old.next()?);
                number += 1;
            }
            continue;
        }
        let (mark, text) = line.split_at_checked(1)?;
        match mark {
            "+" => after.push_str(text),
            "\\" => drop_line_end(&mut after),
            " " | "-" if same(old.next()?, text) => {
                number += 1;
                if mark == " " {
                    after.push_str(text);
                }
            }
            _ => return None,
        }
    }
    after.extend(old);
    (hunks > 0).then_some(after)
}

/// The first line of a hunk in the old text: of `@@ -3,4 +3,5 @@`, 3. An empty side starts behind its
/// line.
fn hunk_start(line: &str) -> Option<u64> {
    let old = line.strip_prefix("@@ -")?.split_once(' ')?.0;
    match old.split_once(',') {
        Some((start, "0")) => start.parse::<u64>().ok()?.checked_add(1),
        Some((start, _)) => start.parse().ok(),
        None => old.parse().ok(),
    }
}

fn same(old: &str, shown: &str) -> bool {
    old == shown
        || old.strip_suffix('\n').unwrap_or(old) == shown.strip_suffix('\n').unwrap_or(shown)
}

/// A line without an end is followed by a remark.
fn drop_line_end(text: &mut String) {
    if text.ends_with('\n') {
        text.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, diff: &str, expected: Option<&str>) {
        assert_eq!(patched(before, diff).as_deref(), expected, "{diff}");
    }

    #[test]
    fn patches_are_applied_where_they_fit() {
        let diff = "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
        check(
            "one\ntwo\nthree\nfour\n",
            diff,
            Some("one\nTWO\nthree\nfour\n"),
        );
        check("one\nx\nthree\n", diff, None);
        check("one\ntwo\n", diff, None);
        let two = "@@ -2 +2,2 @@\n-b\n+B\n+BB\n@@ -4,1 +5,0 @@\n-d\n";
        check("a\nb\nc\nd\n", two, Some("a\nB\nBB\nc\n"));
        check("a\n", "@@ -1,0 +2,1 @@\n+b\n", Some("a\nb\n"));
        check("", "@@ -0,0 +1,1 @@\n+a\n", Some("a\n"));
    }

    #[test]
    fn a_last_line_may_have_no_end() {
        let gone = "@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n";
        check("a\n", gone, Some("b"));
        let both = "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
        check("a", both, Some("b\n"));
    }

    #[test]
    fn what_is_no_patch_changes_nothing() {
        for diff in [
            "",
            "text\n",
            "@@ -9 +9 @@\n-a\n",
            "@@ -x +1 @@\n+a\n",
            "@@ -18446744073709551615,0 +1 @@\n+a\n",
            "+a\n",
            "\n",
        ] {
            check("a\n", diff, None);
        }
    }

    #[test]
    fn the_size_is_bounded() {
        let mut contents = Contents::default();
        let half = "x".repeat(LIMIT / 2);
        for name in ["a", "b", "c"] {
            contents.put(Path::new(name), &half);
        }
        assert!(contents.take(Path::new("a")).is_none());
        assert!(contents.take(Path::new("c")).is_some());
        contents.put(Path::new("d"), &"x".repeat(LIMIT + 1));
        assert!(contents.take(Path::new("d")).is_none());
        assert_eq!(contents.bytes, 0);
    }
}
