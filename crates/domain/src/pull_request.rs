//! Pull requests that a tool call opened, told from what it was given and what it said.
//!
//! Nothing is guessed. A call counts if its words are those of a command that opens one, and if the
//! output shows the address of what that command opened: as a line of its own, the way the programs
//! print it, or in the result of a tool that opens one through an API. An address that something else
//! in the same command line may have printed does not count, nor one that was there before.

mod address;
mod result;

use crate::shell::{self, Joint, Run};

pub use self::address::{PullRequest, repository_name};

/// A pull request that a tool call opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub request: PullRequest,
    /// What showed it, in words: `output of gh pr create`.
    pub shown_by: String,
}

/// Tells quickly whether an output may show a pull request at all.
fn may_show(output: &str) -> bool {
    let has = |part: &str| memchr::memmem::find(output.as_bytes(), part.as_bytes()).is_some();
    has("/pull/") || has("/merge_requests/")
}

/// Whether a shell command is one that opens a pull request.
#[must_use]
pub fn is_opened_by_command(command: &str) -> bool {
    let opens = |runs: Vec<Run>| runs.iter().any(|run| Opening::from_run(run).is_some());
    may_open(command) && shell::runs(command).is_some_and(opens)
}

/// Tells quickly whether a command may be one that opens a pull request.
fn may_open(command: &str) -> bool {
    let has = |part: &str| memchr::memmem::find(command.as_bytes(), part.as_bytes()).is_some();
    let (noun, verb) = (has("pr") || has("mr"), has("create") || has("new"));
    noun && verb || has("pull-request")
}

/// Whether a tool of this name opens a pull request through an API.
#[must_use]
pub fn is_opened_by_tool(tool: &str) -> bool {
    result::opens(tool)
}

/// Whether an output shows a pull request the way programs print one that they opened.
#[must_use]
pub fn is_shown_in(output: &str) -> bool {
    may_show(output) && !address::printed(output).is_empty()
}

/// The pull requests that a shell command opened, by what it was and what it printed. It must have
/// ended well; whoever calls this knows.
#[must_use]
pub fn by_command(command: &str, output: &str) -> Vec<Opened> {
    if !may_show(output) {
        return Vec::new();
    }
    let Some(runs) = shell::runs(command) else {
        return Vec::new();
    };
    let opening = |at: usize| Opening::from_run(&runs[at]).map(|how| (at, how));
    let openings: Vec<(usize, Opening)> = (0..runs.len()).filter_map(opening).collect();
    let sure = openings.iter().all(|(at, _)| succeeded(&runs, *at));
    let mut shown = address::printed(output);
    // What was typed may only be repeated.
    shown.retain(|(address, _)| !command.contains(address));
    if !sure || shown.len() > openings.len() {
        return Vec::new();
    }
    let by = |(_, request): (&str, PullRequest)| {
        let mut hows = openings.iter().map(|(_, how)| how);
        let how = hows.find(|how| how.is_of_gitlab() == request.is_of_gitlab())?;
        let shown_by = format!("output of {}", how.words());
        Some(Opened { request, shown_by })
    };
    shown.into_iter().filter_map(by).collect()
}

/// The pull request that a tool opened through an API, by its name and its result.
#[must_use]
pub fn by_tool(tool: &str, output: &str) -> Option<Opened> {
    if !result::opens(tool) || !may_show(output) {
        return None;
    }
    let request = result::request(output)?;
    let shown_by = format!("result of {tool}");
    Some(Opened { request, shown_by })
}

/// A command that opens a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Gh,
    Hub,
    Glab,
}

impl Opening {
    fn from_run(run: &Run) -> Option<Self> {
        let (program, arguments) = run.program()?;
        let dry = |word: &String| matches!(word.as_str(), "--dry-run" | "--help" | "-h");
        if arguments.iter().any(dry) {
            return None;
        }
        let mut words = plain(arguments);
        let (noun, verb) = (words.next(), words.next());
        match (program, noun, verb) {
            ("gh", Some("pr"), Some("create" | "new")) => Some(Self::Gh),
            ("glab", Some("mr"), Some("create" | "new")) => Some(Self::Glab),
            ("hub", Some("pull-request"), _) => Some(Self::Hub),
            _ => None,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Gh => "gh pr create",
            Self::Hub => "hub pull-request",
            Self::Glab => "glab mr create",
        }
    }

    fn is_of_gitlab(self) -> bool {
        self == Self::Glab
    }
}

/// The words that say what to do: those before the first flag that says anything else than where.
fn plain(arguments: &[String]) -> impl Iterator<Item = &str> {
    let mut words = arguments.iter().map(String::as_str);
    std::iter::from_fn(move || {
        loop {
            match words.next()? {
                "-R" | "--repo" => words.next().map(drop)?,
                word if word.starts_with("--repo=") => {}
                word if word.starts_with('-') => return None,
                word => return Some(word),
            }
        }
    })
}

/// Whether a command that opens a pull request did so, given that the whole ended well.
fn succeeded(runs: &[Run], at: usize) -> bool {
    let others = (0..runs.len()).any(|other| may_print_another(&runs[other]));
    let hidden = runs[at].stdout_elsewhere && others;
    !hidden && (by_exit(runs, at) || by_words(runs, at, others))
}

/// A program that prints addresses of pull requests that were there before.
fn may_print_another(run: &Run) -> bool {
    let Some((program, arguments)) = run.program() else {
        return false;
    };
    let quiet = |word: &str| matches!(word, "auth" | "config" | "version" | "--version");
    matches!(program, "gh" | "hub" | "glab" | "curl")
        && Opening::from_run(run).is_none()
        && !arguments.first().is_some_and(|word| quiet(word))
}

/// The whole ended well only if this did: it runs in any case once its list has come so far, and
/// nothing after it hides how it ended.
fn by_exit(runs: &[Run], at: usize) -> bool {
    let same_list = |run: &&Run| !matches!(run.joint, Joint::Next | Joint::Background);
    let before = runs[..at].iter().rev().take_while(same_list);
    let mut after = runs[at..].iter().filter(|run| !run.inner).peekable();
    let mut hidden = runs[at].inner || before.map(|run| run.joint).any(|j| j == Joint::Or);
    while let Some(run) = after.next() {
        hidden |= match after.peek() {
            Some(_) => run.joint != Joint::And,
            None => !matches!(run.joint, Joint::End | Joint::Next),
        };
    }
    !hidden
}

/// It prints what went wrong where it is seen, and nothing else prints such addresses.
fn by_words(runs: &[Run], at: usize, others: bool) -> bool {
    let mut next = at;
    while runs[next].joint == Joint::Pipe {
        let passes_on = |run: &Run| matches!(run.program(), Some(("cat" | "tee", _)));
        next += 1;
        if !runs.get(next).is_some_and(passes_on) {
            return false;
        }
    }
    !others && !runs[at].stderr_elsewhere
}

#[cfg(test)]
mod tests;
