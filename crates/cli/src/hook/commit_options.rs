//! What the options of a `git commit` say of its message: whether it goes through an editor, and how
//! git tidies it.

use siglum_domain::command::git_subcommand;

/// What is known of a `git commit` from its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitOptions {
    /// Whether git opens an editor, even one that does nothing.
    pub opens_editor: bool,
    /// How git tidies the message, if the words say it.
    pub cleanup: Option<String>,
}

/// What an option says.
#[derive(Debug, Clone, Copy)]
enum Says {
    /// The message is there already.
    Given,
    /// A message to begin with, which is edited.
    Begun,
    /// It is there, unless it replaces another one.
    Fixup,
    Edited,
    NotEdited,
    Cleanup,
    /// Nothing of the message, but the next word is its value.
    Else,
}

/// The options with a value or a say in the message, by their long names and their letters.
const OPTIONS: [(&str, char, Says); 16] = [
    ("message", 'm', Says::Given),
    ("file", 'F', Says::Given),
    ("reuse-message", 'C', Says::Given),
    ("reedit-message", 'c', Says::Begun),
    ("template", 't', Says::Begun),
    ("fixup", '\0', Says::Fixup),
    ("squash", '\0', Says::Else),
    ("edit", 'e', Says::Edited),
    ("no-edit", '\0', Says::NotEdited),
    ("cleanup", '\0', Says::Cleanup),
    ("author", '\0', Says::Else),
    ("date", '\0', Says::Else),
    ("trailer", '\0', Says::Else),
    ("pathspec-from-file", '\0', Says::Else),
    ("gpg-sign", 'S', Says::Else),
    ("untracked-files", 'u', Says::Else),
];
/// Options whose value only ever stands in the same word.
const OPTIONAL: [&str; 2] = ["gpg-sign", "untracked-files"];

/// Reads the words of a git process; nothing for another command or an alias.
pub fn commit_options(words: &[String]) -> Option<CommitOptions> {
    let mut words = words.iter().map(String::as_str).skip(1);
    if git_subcommand(&mut words)? != "commit" {
        return None;
    }
    let mut read = CommitOptions {
        opens_editor: true,
        cleanup: None,
    };
    // Git lets `--edit` and `--no-edit` win, wherever they stand.
    let mut decided = None;
    while let Some(word) = words.next() {
        if word == "--" {
            break;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long
                .split_once('=')
                .map_or((long, None), |(n, v)| (n, Some(v)));
            let Some((name, _, says)) = long_option(name) else {
                continue;
            };
            let takes_next =
                !matches!(says, Says::Edited | Says::NotEdited) && !OPTIONAL.contains(name);
            let value = value.or_else(|| takes_next.then(|| words.next()).flatten());
            read.note(*says, value.unwrap_or_default(), &mut decided);
        } else if let Some(cluster) = word.strip_prefix('-') {
            for (at, letter) in cluster.char_indices() {
                let Some((name, _, says)) = OPTIONS.iter().find(|(_, short, _)| *short == letter)
                else {
                    continue;
                };
                if matches!(says, Says::Edited) {
                    read.note(*says, "", &mut decided);
                    continue;
                }
                let rest = &cluster[at + letter.len_utf8()..];
                let value = match rest {
                    "" if !OPTIONAL.contains(name) => words.next().unwrap_or_default(),
                    rest => rest,
                };
                read.note(*says, value, &mut decided);
                break;
            }
        }
    }
    read.opens_editor = decided.unwrap_or(read.opens_editor);
    Some(read)
}

/// The option of this name, which git lets people shorten.
fn long_option(name: &str) -> Option<&'static (&'static str, char, Says)> {
    let exact = OPTIONS.iter().find(|(known, _, _)| *known == name);
    let shortened = || OPTIONS.iter().find(|(known, _, _)| known.starts_with(name));
    exact.or_else(|| (name.len() > 1).then(shortened).flatten())
}

impl CommitOptions {
    fn note(&mut self, says: Says, value: &str, decided: &mut Option<bool>) {
        match says {
            Says::Given => self.opens_editor = false,
            Says::Fixup => {
                self.opens_editor = value.starts_with("amend:") || value.starts_with("reword:");
            }
            Says::Edited => *decided = Some(true),
            Says::NotEdited => *decided = Some(false),
            Says::Cleanup => self.cleanup = Some(value.to_owned()),
            Says::Begun | Says::Else => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, opens_editor: bool, cleanup: Option<&str>) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let expected = CommitOptions {
            opens_editor,
            cleanup: cleanup.map(str::to_owned),
        };
        assert_eq!(commit_options(&words), Some(expected), "{line}");
    }

    #[test]
    fn the_options_of_a_commit_say_whether_it_is_edited() {
        check("git commit", true, None);
        check("git commit --amend -a", true, None);
        check("git commit --amend --no-edit", false, None);
        check("git -c x=y commit -qam one", false, None);
        check("git commit -m one -e", true, None);
        check("git commit -m -e", false, None);
        check("git commit -ve -m one", true, None);
        check("git commit --edi --mess=one", true, None);
        check("git commit -F -", false, None);
        check("git commit -C HEAD", false, None);
        check("git commit -c HEAD", true, None);
        check("git commit -t file", true, None);
        check("git commit --fixup HEAD", false, None);
        check("git commit --fixup=amend:HEAD", true, None);
        check("git commit --squash HEAD", true, None);
        check("git commit -S -m one", false, None);
        check("git commit -- -m", true, None);
        check("git commit --cleanup=strip -m one", false, Some("strip"));
        check("git commit --clean verbatim", true, Some("verbatim"));
    }

    #[test]
    fn another_command_says_nothing() {
        for line in ["git ci -m one", "git merge x", "git"] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(commit_options(&words), None, "{line}");
        }
    }
}
