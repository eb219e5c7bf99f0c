//! What git makes of a commit message before it takes or refuses it.
//!
//! A counterpart of git's own rules, so that Siglum adds its trailer only to what git would take
//! without it. Where it cannot be told which rules are in force, the strictest are: a commit without
//! a trailer is known to the ledger all the same, and one that git would have refused is nobody's wish.

/// The marker below which `git commit --verbose` shows the diff.
const SCISSORS: &str = "------------------------ >8 ------------------------";
/// What git chooses from with `core.commentChar=auto`.
const COMMENTS: &str = "#;@!$%^&|:";
/// How the subject of a commit begins that replaces the message of another one.
const AMEND: &str = "amend! ";
const SIGN_OFF: &str = "Signed-off-by: ";

/// How git tidies a message (`commit.cleanup`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleanup {
    /// Comments and superfluous blanks go.
    Strip,
    /// Superfluous blanks go.
    Whitespace,
    /// Nothing goes.
    Verbatim,
}

impl Cleanup {
    /// What a value of the setting or the option means where no editor is opened; none for nonsense.
    #[must_use]
    pub fn without_editor(value: &str) -> Option<Self> {
        match value {
            "strip" => Some(Self::Strip),
            "default" | "whitespace" | "scissors" => Some(Self::Whitespace),
            "verbatim" => Some(Self::Verbatim),
            _ => None,
        }
    }
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
        .all(|l| l.trim().is_empty() || l.starts_with(SIGN_OFF))
}

/// Tells whether git takes a message that it tidies like this.
#[must_use]
pub fn is_taken(message: &str, cleanup: Cleanup, comment: &str) -> bool {
    match cleanup {
        Cleanup::Verbatim => !message.is_empty(),
        Cleanup::Whitespace => says_something(&cleaned(message, "")),
        Cleanup::Strip => says_something(&cleaned(message, comment)),
    }
}

/// Tells whether git takes a message however it tidies it, and whatever begins a comment.
#[must_use]
pub fn is_taken_anyhow(message: &str) -> bool {
    let is_text = |line: &&str| line.starts_with(char::is_alphanumeric);
    let text: Vec<&str> = message.lines().filter(is_text).collect();
    // Without blank lines a body is not told from a subject.
    !message.starts_with(AMEND) && !is_empty(&text.join("\n"))
}

/// Tells whether a cleaned message is its cleaned template, with nothing added but sign-offs.
#[must_use]
pub fn is_untouched(cleaned: &str, template: &str) -> bool {
    let signed_off = |line: &str| line.trim().is_empty() || line.starts_with(SIGN_OFF);
    let template: Vec<&str> = template.lines().collect();
    let end = template.iter().rposition(|line| !signed_off(line));
    let template = template[..end.map_or(0, |at| at + 1)].join("\n");
    cleaned.strip_prefix(&template).is_some_and(is_empty)
}

/// A message that is not empty; one that replaces another needs a body, too.
fn says_something(cleaned: &str) -> bool {
    let body = match cleaned.starts_with(AMEND) {
        true => cleaned.split_once("\n\n").map_or("", |(_, body)| body),
        false => cleaned,
    };
    !is_empty(body)
}

/// What begins a comment in a message that git made with `core.commentChar=auto`: what no line of the
/// person's begins with.
#[must_use]
pub fn automatic_comment(message: &str) -> char {
    let of_scissors = |line: &str| {
        let mark = line.chars().next().filter(|c| COMMENTS.contains(*c))?;
        is_scissors(line, &mark.to_string()).then_some(mark)
    };
    if let Some(mark) = message.lines().find_map(of_scissors) {
        return mark;
    }
    let lines: Vec<&str> = message.trim_end().lines().collect();
    let last = lines.last().and_then(|line| line.chars().next());
    let chosen = last.filter(|mark| {
        let end = lines.iter().rposition(|line| !line.starts_with(*mark));
        chosen_comment(&lines[..end.map_or(0, |at| at + 1)]) == Some(*mark)
    });
    chosen.or_else(|| chosen_comment(&lines)).unwrap_or('#')
}

/// The first that no line begins with.
fn chosen_comment(lines: &[&str]) -> Option<char> {
    let is_free = |mark: &char| !lines.iter().any(|line| line.starts_with(*mark));
    COMMENTS.chars().find(is_free)
}

pub(crate) fn is_comment(line: &str, comment: &str) -> bool {
    !comment.is_empty() && line.starts_with(comment)
}

pub(crate) fn is_scissors(line: &str, comment: &str) -> bool {
    is_comment(line, comment) && line[comment.len()..].trim() == SCISSORS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleaned_is_what_git_keeps() {
        assert_eq!(cleaned("\n# only help\n", "#"), "");
        assert_eq!(cleaned("a \n# c\n\n", "#"), "a");
        assert_eq!(cleaned(&format!("a\n# {SCISSORS}\nb"), "#"), "a");
    }

    #[test]
    fn git_takes_what_says_something() {
        let check = |message: &str, cleanup, expected| {
            assert_eq!(
                is_taken(message, cleanup, "#"),
                expected,
                "{message:?} {cleanup:?}"
            );
            assert!(expected || !is_taken_anyhow(message), "{message:?}");
        };
        check("one\n", Cleanup::Strip, true);
        check("#123 fix\n", Cleanup::Strip, false);
        check("#123 fix\n", Cleanup::Whitespace, true);
        check("#123 fix\n", Cleanup::Verbatim, true);
        check(" \n\n", Cleanup::Whitespace, false);
        check("\n", Cleanup::Verbatim, true);
        check("", Cleanup::Verbatim, false);
        check("\nSigned-off-by: A <a@b>\n", Cleanup::Whitespace, false);
        check("amend! one\n\n# nothing\n", Cleanup::Strip, false);
        check("amend! one\n\ntwo\n", Cleanup::Strip, true);
        assert!(is_taken_anyhow("#1\n\none\n"));
        assert!(!is_taken_anyhow("// one\n; two\n"));
    }

    #[test]
    fn a_template_is_untouched_until_somebody_adds_to_it() {
        let template = "Issue:\n\nSigned-off-by: A <a@b>";
        for untouched in [template, "Issue:", "Issue:\n\nSigned-off-by: B <b@c>"] {
            assert!(is_untouched(untouched, template), "{untouched}");
        }
        for touched in ["Issue: 5", "Issue:\n\nfixed", "x"] {
            assert!(!is_untouched(touched, template), "{touched}");
        }
    }

    #[test]
    fn the_automatic_comment_is_what_no_line_begins_with() {
        let check =
            |message: &str, expected| assert_eq!(automatic_comment(message), expected, "{message}");
        check("", '#');
        check("one\n\n# help\n#\n", '#');
        check("#1 one\n\n; help\n;\n", ';');
        check("#1 one\n; two\n\n@ help\n@\n", '@');
        check("#1 one\n\nbody\n", ';');
        check("#1 one\n", '#');
        check(&format!("#1\n; {SCISSORS}\n; help\ndiff --git a b\n"), ';');
    }
}
