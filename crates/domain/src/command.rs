//! What a tool call's command line says about commits and terminals.
//!
//! The text of a call never proves that it made a commit: it may fail, or somebody else may commit
//! while it runs. It separates calls that could have made one from calls that only print it, and it
//! shows when an agent types into a terminal that belongs to somebody else.

use crate::shell;

/// How a command line fits a commit with a given subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CommandFit {
    /// A git command in it makes commits: `commit`, `merge`, `cherry-pick`, …
    pub verb: bool,
    /// The text has the commit's subject.
    pub subject: bool,
    /// A git command in it is given exactly this subject.
    pub exact: bool,
    /// Every commit that it makes has a message in the text, and none of them is the commit's.
    pub other: bool,
}

impl CommandFit {
    /// Whether the call made a commit that git's own line in its output names.
    #[must_use]
    pub const fn with_git_line(self) -> bool {
        self.subject || (self.verb && !self.other)
    }

    /// Whether the call made a commit of which its output says nothing (`git commit -q`).
    #[must_use]
    pub const fn silently(self) -> bool {
        self.exact
    }
}

/// Subcommands of git that make commits and take no message of their own, or may take one elsewhere.
const VERBS: &[&str] = &[
    "am",
    "cherry-pick",
    "ci",
    "citool",
    "fast-import",
    "filter-branch",
    "filter-repo",
    "gui",
    "history",
    "merge",
    "pull",
    "rebase",
    "revert",
    "subtree",
    "svn",
];

/// Options of `git` itself that take their value as the next word.
const GIT_VALUES: &[&str] = &[
    "-c",
    "-C",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--exec-path",
    "--config-env",
    "--attr-source",
];

/// A commit that a command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum RequestedCommit {
    /// With this first line of a message.
    Message(String),
    /// With a message that the text does not tell.
    Anyhow,
}

/// Programs that take words of git as text.
const PRINTERS: &[&str] = &[
    "echo", "printf", "cat", "grep", "rg", "sed", "awk", "man", "which", "type", "tmux", "screen",
];

/// How deep command lines may stand in the arguments of shells.
const DEEPEST: u32 = 4;

/// Tells how a command line fits a commit. Equal texts give equal answers; what is not understood
/// as a shell's command line (a script in another language) fits by its subject alone.
#[must_use]
pub fn commit_fit(command: &str, subject: &str) -> CommandFit {
    let subject = subject.trim();
    let in_text = has_subject(command, subject);
    let Some(requested) = requested_commits(command, DEEPEST) else {
        let words = ["git", "commit"];
        return CommandFit {
            verb: words.iter().all(|word| command.contains(word)),
            // Nothing says that this text is what the command commits.
            subject: in_text,
            exact: false,
            other: true,
        };
    };
    let is_exact = |requested: &RequestedCommit| match requested {
        RequestedCommit::Message(message) => message.trim() == subject,
        // A here-document has the message on lines of its own.
        RequestedCommit::Anyhow => command.lines().any(|line| line.trim() == subject),
    };
    let is_other = |requested: &RequestedCommit| match requested {
        RequestedCommit::Message(message) => !same_subject(message, subject),
        RequestedCommit::Anyhow => false,
    };
    CommandFit {
        verb: !requested.is_empty(),
        subject: in_text,
        exact: !subject.is_empty() && requested.iter().any(is_exact),
        other: !requested.is_empty() && requested.iter().all(is_other),
    }
}

/// A hook of the repository may put a ticket number in front of a message, or behind it.
fn same_subject(message: &str, subject: &str) -> bool {
    let message = message.trim();
    message.is_empty() || subject.contains(message) || message.contains(subject)
}

fn has_subject(command: &str, subject: &str) -> bool {
    !subject.is_empty() && command.contains(subject)
}

/// Whether a command line makes commits; a text that is no shell's command line counts if it names git and commits.
#[must_use]
pub fn may_commit(command: &str) -> bool {
    commit_fit(command, "").verb
}

fn requested_commits(command: &str, depth: u32) -> Option<Vec<RequestedCommit>> {
    let runs = shell::runs(command)?;
    let mut requested = Vec::new();
    for run in &runs {
        let words = run.words();
        if let Some(line) = inner_line(words) {
            if depth == 0 {
                return None;
            }
            requested.extend(requested_commits(line, depth - 1)?);
        }
        requested.extend(commit_in(words));
    }
    Some(requested)
}

/// The command line that a shell is given: `bash -lc LINE`.
fn inner_line(words: &[String]) -> Option<&str> {
    let shell = words.iter().position(|word| {
        let name = word.rsplit('/').next().unwrap_or(word);
        crate::process::is_shell(name)
    })?;
    let mut rest = words[shell + 1..].iter();
    let takes_line =
        |word: &&String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    rest.find(takes_line)?;
    rest.next().map(String::as_str)
}

/// The commit that one simple command asks git for, wherever git stands in it (`env A=b git commit`,
/// `docker exec box git commit`).
fn commit_in(words: &[String]) -> Option<RequestedCommit> {
    let program = words.first()?;
    if PRINTERS.contains(&program.rsplit('/').next().unwrap_or(program)) {
        return None;
    }
    let is_git = |word: &String| word.rsplit('/').next() == Some("git");
    let git = words.iter().position(is_git)?;
    let mut rest = words[git + 1..].iter().map(String::as_str);
    match git_subcommand(&mut rest)? {
        "commit" | "commit-tree" => Some(message(rest)),
        verb if VERBS.contains(&verb) => Some(RequestedCommit::Anyhow),
        _ => None,
    }
}

/// The subcommand among the words that follow `git`, behind git's own options; the iterator is left at
/// its arguments.
pub fn git_subcommand<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<&'a str> {
    loop {
        match words.next()? {
            option if GIT_VALUES.contains(&option) => words.next().map(drop)?,
            option if option.starts_with('-') => {}
            subcommand => return Some(subcommand),
        }
    }
}

/// The message that arguments of `git commit` give.
fn message<'a>(mut rest: impl Iterator<Item = &'a str>) -> RequestedCommit {
    while let Some(word) = rest.next() {
        let given = match word {
            "-m" | "--message" => rest.next(),
            "--" => break,
            word if word.starts_with("--message=") => word.strip_prefix("--message="),
            // A cluster of flags without values may end in one that takes the message: `-qam TEXT`.
            word if word.starts_with('-') && !word.starts_with("--") => {
                let (flags, text) = word.split_once('m').unwrap_or((word, ""));
                let plain = word.contains('m')
                    && flags[1..].chars().all(|flag| "aqsvneoizS".contains(flag));
                match (plain, text) {
                    (false, _) => continue,
                    (true, "") => rest.next(),
                    (true, text) => Some(text),
                }
            }
            _ => continue,
        };
        let first = given.unwrap_or_default().lines().next().unwrap_or_default();
        // An expansion may stand for anything.
        return match first.contains('$') {
            true => RequestedCommit::Anyhow,
            false => RequestedCommit::Message(first.to_owned()),
        };
    }
    RequestedCommit::Anyhow
}

/// Programs, and words of a command line, that send input to a terminal that another program owns.
const TERMINAL_WORDS: &[(&str, &[&str])] = &[
    ("tmux", &["tmux"]),
    ("screen", &["screen"]),
    ("zellij", &["zellij"]),
    ("byobu", &["byobu"]),
    ("dtach", &["dtach"]),
    ("abduco", &["abduco"]),
    ("kitty", &["kitty", "kitten"]),
    ("wezterm", &["wezterm"]),
    ("xdotool", &["xdotool", "ydotool", "wtype", "dotool"]),
    ("osascript", &["osascript"]),
    ("expect", &["expect", "pexpect"]),
    ("script", &["script"]),
    ("socat", &["socat"]),
    ("ssh", &["ssh", "mosh", "telnet"]),
    ("pty", &["pty", "openpty", "ptyprocess", "TIOCSTI"]),
];

/// The program through which a command line can type into somebody else's terminal, if it names one.
///
/// Reads words only, so it errs on the side of naming one: that costs an `ambiguous`, the other way
/// costs a false statement.
#[must_use]
pub fn terminal_addressed(command: &str) -> Option<&'static str> {
    for device in ["/dev/pts/", "/dev/tty", "/dev/ptmx"] {
        if command.contains(device) {
            return Some("a terminal device");
        }
    }
    let of_word = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
    let mut words = command.split(of_word);
    words.find_map(|word| {
        let named = TERMINAL_WORDS
            .iter()
            .find(|(_, words)| words.contains(&word));
        named.map(|(program, _)| *program)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, subject: &str, expected: (bool, bool, bool)) {
        let fit = commit_fit(command, subject);
        assert_eq!((fit.verb, fit.subject, fit.other), expected, "{command}");
    }

    #[test]
    fn a_verb_that_commits() {
        for command in [
            "git commit -q -m 'add hello'",
            "cd x && git -C y -c a.b=c commit -qm 'add hello' --no-verify",
            "git commit -am\"add hello\"",
            "bash -lc 'git add -A; git commit --message=\"add hello\"'",
            "docker exec box git commit -m 'add hello'",
            "env A=b git commit -m 'add hello' -m more",
            "/usr/bin/git commit -m 'add hello'",
        ] {
            check(command, "add hello", (true, true, false));
            check(command, "another one", (true, false, true));
        }
        for command in [
            "git commit --amend --no-edit",
            "git merge topic",
            "git cherry-pick abc",
            "git commit -m \"$MESSAGE\"",
            "git commit -F message.txt",
        ] {
            check(command, "add hello", (true, false, false));
        }
    }

    #[test]
    fn a_message_in_a_here_document_is_in_the_text() {
        let command = "git commit -q -F - <<'EOF'\nadd hello\n\nbody\nEOF";
        check(command, "add hello", (true, true, false));
        assert!(commit_fit(command, "add hello").silently());
        let command = "git commit -m \"$(cat <<'EOF'\nadd hello\nEOF\n)\"";
        assert!(commit_fit(command, "add hello").with_git_line());
    }

    #[test]
    fn printing_is_not_committing() {
        for command in [
            "git log -3",
            "git rev-parse HEAD",
            "git show",
            "cat commit.txt",
            "git log --grep commit",
            "git stash",
            "echo git commit",
        ] {
            assert!(
                !commit_fit(command, "add").verb || command.starts_with("echo"),
                "{command}"
            );
            assert!(!commit_fit(command, "add").silently(), "{command}");
        }
        // A search for a subject has it in its text; without git's own line that is nothing.
        check(
            "git log --grep 'add hello'",
            "add hello",
            (false, true, false),
        );
    }

    #[test]
    fn what_is_no_command_line_fits_by_its_subject() {
        let script = "const r = await tools.exec({cmd: `git commit -m \"add hello\"`});";
        let fit = commit_fit(script, "add hello");
        assert!(fit.with_git_line());
        assert!(!commit_fit(script, "another").with_git_line());
    }

    #[test]
    fn a_ticket_in_front_of_the_subject_is_the_same_commit() {
        let fit = commit_fit("git commit -m 'add hello'", "PROJ-1: add hello");
        assert!(fit.with_git_line());
        assert!(!fit.silently());
    }

    #[test]
    fn commands_that_type_into_terminals() {
        assert_eq!(
            terminal_addressed("tmux send-keys -t 0 'git commit' Enter"),
            Some("tmux")
        );
        assert_eq!(terminal_addressed("screen -X stuff x"), Some("screen"));
        assert_eq!(
            terminal_addressed("echo git commit >/dev/pts/3"),
            Some("a terminal device")
        );
        assert_eq!(terminal_addressed("python3 -c 'import pty'"), Some("pty"));
        for other in ["git commit -m x", "npm run screenshot", "cargo test", ""] {
            assert_eq!(terminal_addressed(other), None, "{other}");
        }
    }
}
