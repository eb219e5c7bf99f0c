//! Commits that the output of a command names.

use siglum_domain::commit::made_in_line;

/// What of a command's output names a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitOutput {
    /// The line that `git commit` prints.
    Commit,
    /// The same, or the id of HEAD after the commit.
    CommitThenHead,
}

impl CommitOutput {
    /// What the output of a command is looked at for, if it speaks of committing.
    pub(crate) fn from_command(command: &str) -> Option<Self> {
        if tells_head(command) {
            Some(Self::CommitThenHead)
        } else {
            command.contains("commit").then_some(Self::Commit)
        }
    }
}

/// Tells whether the only commit that a command can print the full id of is HEAD after `git commit`:
/// every `rev-parse` follows the commit and asks for HEAD itself, not for an ancestor.
fn tells_head(command: &str) -> bool {
    let Some((before, after)) = command.split_once("git commit") else {
        return false;
    };
    let mut arguments = after.split("rev-parse").skip(1).peekable();
    let is_head = |rest: &str| {
        let rest = rest.strip_prefix(" HEAD");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(END))
    };
    arguments.peek().is_some() && !before.contains("rev-parse") && arguments.all(is_head)
}

/// What may follow a word of a shell command.
const END: &[char] = &[
    ' ', '\t', '\n', '\r', ';', '&', '|', '>', ')', '`', '"', '\'',
];

/// Most commits that are read from one output.
const LIMIT: usize = 64;
/// Fewest digits of an abbreviated id.
const DIGITS_MIN: usize = 7;

/// The ids of the commits that an output names, in order; where HEAD was asked for, its whole id
/// last or in place of its abbreviation.
pub(crate) fn mentioned(output: &str, kind: CommitOutput) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    for id in output
        .lines()
        .filter_map(made_in_line)
        .filter(|id| is_id(id))
    {
        if found.len() < LIMIT && !found.contains(&id) {
            found.push(id);
        }
    }
    let head = (kind == CommitOutput::CommitThenHead).then(|| head(output));
    if let Some(head) = head.flatten() {
        found.retain(|id| !head.starts_with(id));
        found.push(head);
    }
    found
}

/// The id that a whole line is, if only one is printed: of several, one may be an ancestor's.
fn head(output: &str) -> Option<&str> {
    let whole = |line: &&str| matches!(line.len(), 40 | 64) && is_id(line);
    let mut ids = output.lines().map(str::trim_end).filter(whole);
    let id = ids.next()?;
    (ids.all(|other| other == id) && id.bytes().any(|b| b != b'0')).then_some(id)
}

fn is_id(text: &str) -> bool {
    let digits = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    (DIGITS_MIN..=40).contains(&text.len()) && text.bytes().all(digits)
        || text.len() == 64 && text.bytes().all(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "a2e430eda264c05ac40491f4b1c4dba90a0b919f";

    fn check(output: &str, expected: &[&str]) {
        assert_eq!(
            mentioned(output, CommitOutput::Commit),
            expected,
            "{output:?}"
        );
    }

    #[test]
    fn the_line_of_git_commit_is_read() {
        check("[main a2e430e] add hello\n 1 file changed", &["a2e430e"]);
        check("[main (root-commit) a2e430e] add", &["a2e430e"]);
        check("[detached HEAD a2e430e] add", &["a2e430e"]);
        check("[detached HEAD (root-commit) a2e430e] add", &["a2e430e"]);
        check("[feat/x]y a2e430eda2] add", &["a2e430eda2"]);
        check("hook says\r\n[main a2e430e] add\r\n", &["a2e430e"]);
        check("[main a2e430e]", &["a2e430e"]);
        check(
            "[main a2e430e] [b] c\n[main b2e430e] d",
            &["a2e430e", "b2e430e"],
        );
        check(&format!("[main {ID}] add"), &[ID]);
    }

    #[test]
    fn other_lines_are_not() {
        for line in [
            " [main a2e430e] add",
            "> [main a2e430e] add",
            "[main a2e430] add",
            "[main A2E430E] add",
            "[main a2e430g] add",
            "[a2e430e] add",
            "[ a2e430e] add",
            "[main a2e430e]add",
            "[main a2e430e add",
            "[two words a2e430e] add",
            "[detached HEADa2e430e] add",
            "[detached HEAD",
            "[",
            "",
            ID,
        ] {
            check(line, &[]);
        }
        check(&format!("[main {ID}a] add"), &[]);
    }

    #[test]
    fn a_whole_id_counts_where_head_is_printed() {
        let check = |output: &str, expected: &[&str]| {
            assert_eq!(mentioned(output, CommitOutput::CommitThenHead), expected);
        };
        let long = "a".repeat(64);
        check(ID, &[ID]);
        check(&long, &[&long]);
        check(&format!("[main a2e430e] add\n 1 file\n{ID}\n"), &[ID]);
        check(&format!("{ID}\n[main a2e430e] add"), &[ID]);
        check(&format!("HEAD is {ID}"), &[]);
        check(&"0".repeat(40), &[]);
        check("a2e430e", &[]);
        check(&format!("{ID}\n{ID}\n"), &[ID]);
        check(&format!("{ID}\n{}\n", "b".repeat(40)), &[]);
        check(
            &format!("[m c2e430e] x\n[m a2e430e] y\n{ID}"),
            &["c2e430e", ID],
        );
    }

    #[test]
    fn the_number_is_bounded() {
        let output: String = (0..200).map(|n| format!("[main {n:07x}] x\n")).collect();
        assert_eq!(mentioned(&output, CommitOutput::Commit).len(), LIMIT);
    }
}
