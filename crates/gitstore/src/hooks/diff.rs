//! A change to a file as people read it.

use std::fmt::Write;
use std::path::Path;

use super::change::FileChange;

const CONTEXT: usize = 3;

impl FileChange {
    /// The change in the form of a unified diff.
    #[must_use]
    pub fn diff(&self) -> String {
        match self {
            Self::Write {
                path,
                before,
                after,
                ..
            } => unified(before.as_deref(), Some(after), path),
            Self::Delete { path, before } => unified(Some(before), None, path),
            Self::Leave { path } => format!("-directory {}\n", path.display()),
            Self::Link {
                path,
                before,
                after,
            } => {
                let line = |sign: char, target: &Path| {
                    format!("{sign}link {} to {}\n", path.display(), target.display())
                };
                let gone = before.iter().map(|target| line('-', target));
                gone.chain(after.iter().map(|target| line('+', target)))
                    .collect()
            }
            Self::Move { from, to } => {
                format!(
                    "rename from {}\nrename to {}\n",
                    from.display(),
                    to.display()
                )
            }
        }
    }
}

/// A unified diff of one hunk: from the first line that differs to the last. None stands for a file
/// that is not there.
#[must_use]
pub fn unified(before: Option<&[u8]>, after: Option<&[u8]>, path: &Path) -> String {
    let name =
        |content: Option<&[u8]>| content.map_or("/dev/null".into(), |_| path.to_string_lossy());
    let (old, new) = (lines(before), lines(after));
    let limit = old.len().min(new.len());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let same_tail = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let tail = same_tail.min(limit - head);
    if head == old.len() && head == new.len() {
        return String::new();
    }
    let start = head.saturating_sub(CONTEXT);
    let old_end = (old.len() - tail + CONTEXT).min(old.len());
    let new_end = (new.len() - tail + CONTEXT).min(new.len());
    let mut text = format!("--- {}\n+++ {}\n", name(before), name(after));
    let _ = writeln!(
        text,
        "@@ -{} +{} @@",
        span(start, old_end),
        span(start, new_end)
    );
    push(&mut text, ' ', &old[start..head]);
    push(&mut text, '-', &old[head..old.len() - tail]);
    push(&mut text, '+', &new[head..new.len() - tail]);
    push(&mut text, ' ', &old[old.len() - tail..old_end]);
    text
}

fn lines(content: Option<&[u8]>) -> Vec<String> {
    let text = String::from_utf8_lossy(content.unwrap_or_default());
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn span(start: usize, end: usize) -> String {
    let first = if end == start { start } else { start + 1 };
    format!("{first},{}", end - start)
}

fn push(text: &mut String, sign: char, lines: &[String]) {
    for line in lines {
        text.push(sign);
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: Option<&str>, after: Option<&str>, expected: &str) {
        let found = unified(
            before.map(str::as_bytes),
            after.map(str::as_bytes),
            Path::new("h"),
        );
        assert_eq!(found, expected);
    }

    #[test]
    fn one_hunk_with_context() {
        check(Some("a\n"), Some("a\n"), "");
        check(
            None,
            Some("a\nb\n"),
            "--- /dev/null\n+++ h\n@@ -0,0 +1,2 @@\n+a\n+b\n",
        );
        check(
            Some("a"),
            None,
            "--- h\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n\\ No newline at end of file\n",
        );
        check(
            Some("1\n2\n3\n4\n5\n6\n7\n8\n"),
            Some("1\n2\n3\n4\nx\n5\n6\n7\n8\n"),
            "--- h\n+++ h\n@@ -2,6 +2,7 @@\n 2\n 3\n 4\n+x\n 5\n 6\n 7\n",
        );
        check(
            Some("a\na\n"),
            Some("a\n"),
            "--- h\n+++ h\n@@ -1,2 +1,1 @@\n a\n-a\n",
        );
    }
}
