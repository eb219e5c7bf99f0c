//! The one line that Siglum adds to a commit message.
//!
//! A pure counterpart of `git interpret-trailers` for one key, because a hook that gives the
//! message back within a millisecond cannot start git for it. A test compares the two.

use crate::id::CheckpointId;

/// The key of the trailer.
pub const KEY: &str = "Siglum-Checkpoint";

/// The marker below which `git commit --verbose` shows the diff.
const SCISSORS: &str = "------------------------ >8 ------------------------";

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
    if !ends_in_trailers(&lines) {
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

/// The part of a message that git keeps: without comments, and without what is below the scissors.
#[must_use]
pub fn cleaned(message: &str, comment: &str) -> String {
    let kept = message.lines().take_while(|l| !is_scissors(l, comment));
    let lines: Vec<&str> = kept
        .filter(|l| !is_comment(l, comment))
        .map(str::trim_end)
        .collect();
    lines.join("\n").trim().to_owned()
}

/// Tells whether git takes a cleaned message as empty: nothing in it, or nothing but sign-offs.
#[must_use]
pub fn is_empty(cleaned: &str) -> bool {
    cleaned
        .lines()
        .all(|l| l.trim().is_empty() || l.starts_with("Signed-off-by: "))
}

fn is_comment(line: &str, comment: &str) -> bool {
    !comment.is_empty() && line.starts_with(comment)
}

fn is_scissors(line: &str, comment: &str) -> bool {
    is_comment(line, comment) && line[comment.len()..].trim() == SCISSORS
}

/// Adds the trailer to a message, before trailing comments and the scissors, in the block of
/// trailers that is there or in a new one. `comment` is git's comment prefix, empty where the
/// message has no comments. A message that names this checkpoint already is left as it is.
#[must_use]
pub fn add(message: &str, comment: &str, checkpoint: CheckpointId) -> String {
    if named(message).contains(&checkpoint) {
        return message.to_owned();
    }
    let lines: Vec<&str> = message.lines().collect();
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
        out.push_str(if ends_in_trailers(&lines[..body]) {
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

/// Tells whether the last paragraph is a block of trailers: it is not the title, and each line is
/// `Key: value`, a continuation, or what cherry-pick adds.
fn ends_in_trailers(lines: &[&str]) -> bool {
    let Some(blank) = lines.iter().rposition(|l| l.trim().is_empty()) else {
        return false;
    };
    let block = &lines[blank + 1..];
    let titled = lines[..blank].iter().any(|l| !l.trim().is_empty());
    titled
        && !block.is_empty()
        && is_trailer(block[0])
        && block
            .iter()
            .all(|l| is_trailer(l) || l.starts_with([' ', '\t']))
}

fn is_trailer(line: &str) -> bool {
    if line.starts_with("(cherry picked from commit ") {
        return true;
    }
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
    fn cleaned_is_what_git_keeps() {
        assert_eq!(cleaned("\n# only help\n", "#"), "");
        assert_eq!(cleaned("a \n# c\n\n", "#"), "a");
        assert_eq!(
            cleaned(
                "a\n# ------------------------ >8 ------------------------\nb",
                "#"
            ),
            "a"
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
