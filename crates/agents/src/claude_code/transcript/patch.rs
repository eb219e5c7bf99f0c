//! Whether a patch, as the agent shows it, leads from one text to another.
//!
//! The agent may show leading tabs as two blanks each, and need not say that a last line has no end.

use crate::claude_code::wire::Hunk;
use crate::json::Field;

/// Tells whether the texts differ in what the patch shows, and in nothing else.
pub(super) fn leads(patch: Field<'_>, before: &str, after: &str) -> bool {
    if patch.raw().is_none_or(|raw| !raw.starts_with('[')) {
        return false;
    }
    let mut sides = Sides {
        number: 1,
        before: before.split_inclusive('\n'),
        after: after.split_inclusive('\n'),
    };
    let mut hunks = patch.items().into_iter().map(Field::object::<Hunk<'_>>);
    hunks.all(|hunk| sides.hunk(&hunk)) && sides.before.eq(sides.after)
}

/// What is left of both texts.
struct Sides<'t> {
    number: u64,
    before: std::str::SplitInclusive<'t, char>,
    after: std::str::SplitInclusive<'t, char>,
}

impl<'t> Sides<'t> {
    /// Walks to the end of a hunk; tells whether it is right so far.
    fn hunk(&mut self, hunk: &Hunk<'_>) -> bool {
        let Some(start) = hunk.old_start.number() else {
            return false;
        };
        while self.number < start {
            match (self.before.next(), self.after.next()) {
                (Some(old), Some(new)) if old == new => self.number += 1,
                _ => return false,
            }
        }
        hunk.lines.items().into_iter().all(|line| {
            let line = line.exact();
            line.is_some_and(|line| self.line(&line))
        })
    }

    fn line(&mut self, shown: &str) -> bool {
        let Some((mark, shown)) = shown.split_at_checked(1) else {
            return false;
        };
        match mark {
            " " => {
                let (old, new) = (self.old(), self.after.next());
                old == new && is(old, shown)
            }
            "-" => is(self.old(), shown),
            "+" => is(self.after.next(), shown),
            "\\" => true,
            _ => false,
        }
    }

    fn old(&mut self) -> Option<&'t str> {
        self.number += 1;
        self.before.next()
    }
}

/// Tells whether a line is shown like this.
fn is(line: Option<&str>, shown: &str) -> bool {
    let Some(line) = line.map(|line| line.strip_suffix('\n').unwrap_or(line)) else {
        return false;
    };
    let text = line.trim_start_matches('\t');
    let tabs = line.len() - text.len();
    line == shown
        || shown
            .split_at_checked(2 * tabs)
            .is_some_and(|(blanks, rest)| rest == text && blanks.bytes().all(|b| b == b' '))
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn check(patch: &str, before: &str, after: &str, expected: bool) {
        let raw: &RawValue = serde_json::from_str(patch).expect("JSON");
        let accepted = leads(Field::from(raw), before, after);
        assert_eq!(accepted, expected, "{patch} {before:?} {after:?}");
    }

    #[test]
    fn a_patch_that_fits_is_accepted() {
        let patch = r#"[{"oldStart":1,"lines":[" a","-b","+c"," d"]}]"#;
        check(patch, "a\nb\nd\n", "a\nc\nd\n", true);
        check(patch, "a\nb\nd\ne", "a\nc\nd\ne", true);
        let two = r#"[{"oldStart":2,"lines":["-b","+B","+BB"]},{"oldStart":4,"lines":["-d"]}]"#;
        check(two, "a\nb\nc\nd\n", "a\nB\nBB\nc\n", true);
        check(
            r#"[{"oldStart":1,"lines":["-\ta","+\tb"]}]"#,
            "\ta",
            "\tb",
            true,
        );
        check(
            r#"[{"oldStart":1,"lines":["-    a","+  b"]}]"#,
            "\t\ta\n",
            "\tb\n",
            true,
        );
        let end = r#"[{"oldStart":1,"lines":["-a","\\ No newline at end of file","+b","\\ No newline at end of file"]}]"#;
        check(end, "a", "b", true);
        check(r#"[{"oldStart":1,"lines":["+a"]}]"#, "", "a", true);
        check("[]", "a\nb", "a\nb", true);
    }

    #[test]
    fn a_patch_that_does_not_fit_is_not() {
        let patch = r#"[{"oldStart":1,"lines":[" a","-b","+c"," d"]}]"#;
        for (before, after) in [
            ("a\nb\nd\n", "a\nb\nd\n"),
            ("a\nb\nd\n", "a\nc\nd\ne\n"),
            ("a\nb\nd\ne\n", "a\nc\nd\nE\n"),
            ("a\nb\nd\n", "a\nc\n"),
            ("a\nb\nd\n", "a\nc\nd"),
            ("x\na\nb\nd\n", "x\na\nc\nd\n"),
            ("", ""),
        ] {
            check(patch, before, after, false);
        }
        for patch in [
            "[]",
            "null",
            "{}",
            "[7]",
            r#"[{"lines":["-a","+b"]}]"#,
            r#"[{"oldStart":1,"lines":["-a","+\ud800"]}]"#,
            r#"[{"oldStart":1,"lines":["","-a","+b"]}]"#,
            r#"[{"oldStart":1,"lines":["-a","ä","+b"]}]"#,
            r#"[{"oldStart":1,"lines":["-a","+ b"]}]"#,
            r#"[{"oldStart":9,"lines":["-a","+b"]}]"#,
            r#"[{"oldStart":18446744073709551615,"lines":["-a","+b"]}]"#,
        ] {
            check(patch, "a\n", "b\n", false);
        }
    }
}
