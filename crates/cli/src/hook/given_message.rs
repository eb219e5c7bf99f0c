//! The message that a `git commit` was given on its command line.
//!
//! Git keeps the message of a commit under way in one file for the whole checkout and reads it again
//! after its hooks, so the file may hold the message of another `git commit` by then. The command
//! line cannot be overwritten by anybody. What is not understood here gives no message.

use siglum_domain::command::git_subcommand;

/// A message as a command line gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenMessage {
    /// The text, as git cleans it by default.
    pub text: String,
    /// Whether git adds nothing to it (sign-offs, trailers).
    pub whole: bool,
}

impl GivenMessage {
    /// Whether a message is this one, perhaps with more below it.
    pub fn begins(&self, message: &str) -> bool {
        let message = tidy(message);
        let rest = message.strip_prefix(&self.text);
        rest.is_some_and(|rest| {
            rest.is_empty() || (!self.text.is_empty() && rest.starts_with('\n'))
        })
    }
}

/// Options of `git commit` that take the next word and leave the message alone.
const WITH_VALUE: &[&str] = &["--author", "--date", "--pathspec-from-file"];
/// Options of `git commit` that leave the message alone.
const WITHOUT_VALUE: &[&str] = &[
    "--all",
    "--allow-empty",
    "--amend",
    "--include",
    "--no-edit",
    "--no-gpg-sign",
    "--no-post-rewrite",
    "--no-signoff",
    "--no-status",
    "--no-verify",
    "--only",
    "--patch",
    "--pathspec-file-nul",
    "--quiet",
    "--reset-author",
    "--verbose",
];
/// Options with an optional value that leave the message alone.
const WITH_OPTIONAL_VALUE: &[&str] = &["--gpg-sign", "--untracked-files"];

/// Reads the words of a git process. `read_file` gives the content of a file that `-F` names.
pub fn given_message(
    words: &[String],
    read_file: impl Fn(&str) -> Option<String>,
) -> Option<GivenMessage> {
    let mut words = words.iter().map(String::as_str).skip(1);
    if git_subcommand(&mut words)? != "commit" {
        return None;
    }
    let (mut parts, mut file, mut whole) = (Vec::new(), None, true);
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((word, None), |(name, value)| {
                (&word[..name.len() + 2], Some(value))
            });
            match name {
                "--message" => parts.push(value.or_else(|| words.next())?),
                "--file" => file = Some(value.or_else(|| words.next())?),
                "--signoff" => whole = false,
                "--trailer" => {
                    value.or_else(|| words.next())?;
                    whole = false;
                }
                _ if WITH_VALUE.contains(&name) => drop(value.or_else(|| words.next())?),
                _ if WITHOUT_VALUE.contains(&name) && value.is_none() => {}
                _ if WITH_OPTIONAL_VALUE.contains(&name) => {}
                _ => return None,
            }
            continue;
        }
        let Some(cluster) = word.strip_prefix('-') else {
            continue;
        };
        for (at, letter) in cluster.char_indices() {
            let rest = &cluster[at + letter.len_utf8()..];
            match letter {
                'a' | 'i' | 'n' | 'o' | 'p' | 'q' | 'v' | 'z' => continue,
                's' => {
                    whole = false;
                    continue;
                }
                'm' if rest.is_empty() => parts.push(words.next()?),
                'm' => parts.push(rest),
                'F' if rest.is_empty() => file = Some(words.next()?),
                'F' => file = Some(rest),
                'S' | 'u' => {}
                _ => return None,
            }
            break;
        }
    }
    let text = match (file, parts.as_slice()) {
        (Some(file), []) => tidy(&read_file(file)?),
        (None, [_, ..]) => tidy(&parts.join("\n\n")),
        _ => return None,
    };
    Some(GivenMessage { text, whole })
}

/// What git makes of a message before it writes it: no blanks at the ends of lines, no blank lines at
/// the ends of the message, and one between paragraphs.
fn tidy(text: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    for line in text.lines().map(str::trim_end) {
        if !(line.is_empty() && out.last().is_none_or(|last| last.is_empty())) {
            out.push(line);
        }
    }
    out.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(line: &[&str]) -> Option<(String, bool)> {
        let words: Vec<String> = line.iter().map(|w| (*w).to_owned()).collect();
        let read = |file: &str| (file == "notes").then(|| "from\n\n\na file \n\n".to_owned());
        given_message(&words, read).map(|given| (given.text, given.whole))
    }

    fn text(text: &str) -> Option<(String, bool)> {
        Some((text.to_owned(), true))
    }

    #[test]
    fn messages_on_a_command_line_are_read_as_git_reads_them() {
        assert_eq!(given(&["git", "commit", "-m", "one"]), text("one"));
        assert_eq!(
            given(&[
                "git",
                "-C",
                "commit",
                "-c",
                "a=b",
                "--no-pager",
                "commit",
                "-qam",
                "one"
            ]),
            text("one")
        );
        assert_eq!(
            given(&[
                "git",
                "commit",
                "-mone ",
                "--message=two\n",
                "--message",
                "three"
            ]),
            text("one\n\ntwo\n\nthree")
        );
        assert_eq!(
            given(&["git", "commit", "-m", "one", "--", "-m", "path"]),
            text("one")
        );
        assert_eq!(
            given(&[
                "git", "commit", "file", "-m", "-x", "--author", "-m", "-S", "-nq"
            ]),
            text("-x")
        );
        assert_eq!(
            given(&["git", "commit", "-F", "notes"]),
            text("from\n\na file")
        );
        assert_eq!(
            given(&["git", "commit", "--file=notes"]),
            text("from\n\na file")
        );
        assert_eq!(
            given(&["git", "commit", "-s", "-m", "one"]),
            Some(("one".to_owned(), false))
        );
    }

    #[test]
    fn what_is_not_understood_gives_no_message() {
        for line in [
            &["git", "commit"][..],
            &["git", "merge", "-m", "one"],
            &["git", "ci", "-m", "one"],
            &["git", "commit", "-m"],
            &["git", "commit", "-F", "-"],
            &["git", "commit", "-m", "one", "-F", "notes"],
            &["git", "commit", "-m", "one", "-e"],
            &["git", "commit", "-m", "one", "--edit"],
            &["git", "commit", "-m", "one", "--fixup", "HEAD"],
            &["git", "commit", "--mess", "one"],
            &["git", "commit", "-m", "one", "--cleanup=verbatim"],
            &["git", "commit", "-C", "HEAD"],
        ] {
            assert_eq!(given(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_message_that_begins_alike_is_another_one() {
        let given = GivenMessage {
            text: "1 by writer 2".to_owned(),
            whole: true,
        };
        assert!(given.begins("1 by writer 2\n"));
        assert!(given.begins("1 by writer 2\n\nSigned-off-by: x\n"));
        assert!(!given.begins("1 by writer 22\n"));
        assert!(!given.begins("2 by writer 2\n"));
        assert!(!given.begins(""));
    }
}
