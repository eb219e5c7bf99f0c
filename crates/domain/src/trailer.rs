//! The one line that Siglum adds to a commit message.
//!
//! A pure counterpart of `git interpret-trailers` for one key, because a hook that gives the
//! message back within a millisecond cannot start git for it. A test compares the two.

use crate::commit_message::{is_comment, is_scissors};
use crate::id::CheckpointId;

/// The key of the trailer.
pub const KEY: &str = "Siglum-Checkpoint";

/// What git passes over when it looks for trailers, unless it is told otherwise.
const COMMENT: &str = "#";
/// How lines of a block of trailers begin that git itself writes.
const GENERATED: [&str; 2] = ["Signed-off-by: ", "(cherry picked from commit "];

/// The checkpoints that a message names, in order, each once.
#[must_use]
pub fn named(message: &str) -> Vec<CheckpointId> {
    let mut found = Vec::new();
    for value in message.lines().filter_map(value) {
        if let Ok(id) = value.parse()
            && !found.contains(&id)
        {
            found.push(id);
        }
    }
    found
}

/// The values of our key in the closing block of trailers that are no checkpoint ids. The same words
/// in prose are not meant.
#[must_use]
pub fn malformed(message: &str) -> Vec<String> {
    let lines: Vec<&str> = message.trim_end().lines().collect();
    if !ends_in_trailers(&lines, COMMENT) {
        return Vec::new();
    }
    let block = lines.iter().rev().take_while(|l| !l.trim().is_empty());
    let values = block.filter_map(|line| value(line));
    let mut found: Vec<String> = values
        .filter(|v| v.parse::<CheckpointId>().is_err())
        .map(str::to_owned)
        .collect();
    found.reverse();
    found
}

/// The value of a line with our key.
fn value(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    key.trim_end()
        .eq_ignore_ascii_case(KEY)
        .then(|| value.trim())
}

/// Adds the trailer to a message, before trailing comments and the scissors, in the block of
/// trailers that is there or in a new one. `comment` is git's comment prefix, empty where the
/// message has no comments. A message that names this checkpoint already is left as it is.
#[must_use]
pub fn add(message: &str, comment: &str, checkpoint: CheckpointId) -> String {
    if named(message).contains(&checkpoint) {
        return message.to_owned();
    }
    // A carriage return at the end of a line is the message's own: git keeps it where it tidies nothing.
    let lines: Vec<&str> = message.split_terminator('\n').collect();
    let end = lines
        .iter()
        .position(|l| is_scissors(l, comment))
        .unwrap_or(lines.len());
    let skipped = |line: &&str| line.trim().is_empty() || is_comment(line, comment);
    let body = lines[..end]
        .iter()
        .rposition(|l| !skipped(l))
        .map_or(0, |at| at + 1);
    let mut out = lines[..body].join("\n");
    if body > 0 {
        let comment = if comment.is_empty() { COMMENT } else { comment };
        out.push_str(if ends_in_trailers(&lines[..body], comment) {
            "\n"
        } else {
            "\n\n"
        });
    }
    out.push_str(&format!("{KEY}: {checkpoint}\n"));
    for line in &lines[body..] {
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Tells whether a message closes with a block of trailers, by git's rule: a paragraph that is not the
/// title, of trailers and continued lines alone; or a quarter of it, if git wrote one of them.
fn ends_in_trailers(lines: &[&str], comment: &str) -> bool {
    let is_blank = |line: &str| line.trim().is_empty();
    // Whoever reads the message need not have the settings of whoever wrote it.
    let is_comment = |line: &str| is_comment(line, comment) || is_comment(line, COMMENT);
    let title = lines.iter().position(|l| !is_comment(l) && is_blank(l));
    let rest = &lines[title.unwrap_or(lines.len())..];
    let (mut trailers, mut prose, mut continued) = (0, 0, 0);
    let mut is_generated = false;
    for line in rest.iter().rev().skip_while(|l| is_blank(l)) {
        if is_blank(line) {
            prose += continued;
            return (is_generated && trailers * 3 >= prose) || (trailers > 0 && prose == 0);
        }
        if is_comment(line) {
            (prose, continued) = (prose + continued, 0);
        } else if GENERATED.iter().any(|start| line.starts_with(start)) {
            (trailers, continued, is_generated) = (trailers + 1, 0, true);
        } else if is_trailer(line) {
            (trailers, continued) = (trailers + 1, 0);
        } else if line.starts_with(char::is_whitespace) {
            continued += 1;
        } else {
            (prose, continued) = (prose + continued + 1, 0);
        }
    }
    false
}

fn is_trailer(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| {
        let key = key.trim_end();
        !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> CheckpointId {
        "chk_019200000000700080000000deadbeef".parse().unwrap()
    }

    const LINE: &str = "Siglum-Checkpoint: chk_019200000000700080000000deadbeef";

    fn check(message: &str, expected: &str) {
        let expected = expected.replace('%', LINE);
        let once = add(message, "#", id());
        assert_eq!(once, expected);
        assert_eq!(add(&once, "#", id()), once, "twice is once");
        assert_eq!(named(&once), [id()]);
    }

    #[test]
    fn a_block_of_its_own_or_the_one_that_is_there() {
        check("title\n", "title\n\n%\n");
        check("title", "title\n\n%\n");
        check("title\n\nbody\n", "title\n\nbody\n\n%\n");
        check(
            "title\n\nSigned-off-by: A <a@b>\n",
            "title\n\nSigned-off-by: A <a@b>\n%\n",
        );
        check("fix: title\n", "fix: title\n\n%\n");
        check(
            "title\n\nbody: has a colon\nbut is prose\n",
            "title\n\nbody: has a colon\nbut is prose\n\n%\n",
        );
        check(
            "title\n\nbody\n\nSigned-off-by: A <a@b>\nprose\n",
            "title\n\nbody\n\nSigned-off-by: A <a@b>\nprose\n%\n",
        );
    }

    #[test]
    fn what_is_there_stays_to_the_byte() {
        check(
            "\r\ntitle \r\n\r\nbody\t\r\n",
            "\r\ntitle \r\n\r\nbody\t\r\n\n%\n",
        );
        check("title\r\n\r\na: b\r\n", "title\r\n\r\na: b\r\n%\n");
        check("title\n\n \n", "title\n\n%\n\n \n");
    }

    #[test]
    fn comments_and_the_diff_stay_below() {
        check(
            "title\n\n# help\n# more\n",
            "title\n\n%\n\n# help\n# more\n",
        );
        check(
            "title\n# ------------------------ >8 ------------------------\ndiff --git a b\n",
            "title\n\n%\n# ------------------------ >8 ------------------------\ndiff --git a b\n",
        );
    }

    #[test]
    fn only_the_closing_block_can_be_malformed() {
        let check = |message: &str, expected: &[&str]| assert_eq!(malformed(message), expected);
        check("title\n\nSiglum-Checkpoint: chk_1\n", &["chk_1"]);
        check(
            "title\n\na: b\nSiglum-Checkpoint:\nsiglum-checkpoint: x\n",
            &["", "x"],
        );
        check(&format!("title\n\n{LINE}\n"), &[]);
        check(
            "title\n\nSiglum-Checkpoint: is the key\nthat we use.\n",
            &[],
        );
        check("Siglum-Checkpoint: a title\n", &[]);
    }

    #[test]
    fn nonsense_names_nothing() {
        assert!(named("Siglum-Checkpoint: ../../x\nSiglum-Checkpoint:\n").is_empty());
    }
}
