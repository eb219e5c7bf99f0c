//! Git's setting of where hooks are (`core.hooksPath`), in the settings file of a repository: turned to
//! Siglum's directory, and back to what it was, byte for byte. All else in the file stays as it is.

use std::path::Path;

use super::FRONT;
use crate::config;

const SECTION: &str = "core";
const KEY: &str = "hookspath";
/// What stands before the line that was there, which is needed again.
const KEPT: &str = "# kept by siglum: ";
/// A relative path is right for the checkout that has the git directory in it, and for no other one.
const OTHER_CHECKOUTS: &str =
    "[includeIf \"gitdir:.git/worktrees/\"]\n\tpath = siglum-hooks/config\n";

/// What stands above a section that Siglum added at the end, below files that the settings include.
const ADDED: &str = "# added by siglum\n";

/// Where the line with Siglum's directory goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Where the settings have it, or may have it.
    InSection,
    /// At the end: a file that the settings include names another directory, and the last one counts.
    Last,
}

/// A line that says where hooks are.
struct Line<'a> {
    at: usize,
    text: &'a str,
    /// It says nothing else and ends where it ends.
    is_plain: bool,
}

/// Tells whether a value of the setting names a directory of Siglum.
pub(super) fn is_front(value: &str) -> bool {
    Path::new(value).ends_with(FRONT)
}

/// The value in a line of the settings that says where hooks are.
pub(super) fn value_of(line: &str) -> Option<String> {
    config::value(&format!("[{SECTION}]\n{line}"), SECTION, KEY)
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let (mut found, mut is_inside, mut goes_on) = (Vec::new(), false, false);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let continued = std::mem::replace(&mut goes_on, line.trim_end().ends_with('\\'));
        let trimmed = line.trim();
        if continued || trimmed.starts_with(['#', ';']) {
            continue;
        }
        let header = trimmed
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'));
        if let Some((header, _)) = header {
            is_inside = header.trim().eq_ignore_ascii_case(SECTION);
        }
        let body = header.map_or(trimmed, |(_, rest)| rest.trim());
        let name = body.split(['=', ' ', '\t']).next().unwrap_or_default();
        if is_inside && name.eq_ignore_ascii_case(KEY) {
            found.push(Line {
                at,
                text: line,
                is_plain: header.is_none() && !goes_on && line.ends_with('\n'),
            });
        }
    }
    found
}

/// Whether the settings have git take hooks from Siglum's directory.
pub(super) fn leads_to_front(text: &str) -> bool {
    let last = lines(text).pop().and_then(|line| value_of(line.text));
    last.is_some_and(|value| is_front(&value))
}

/// Whether the settings themselves say where hooks were without Siglum's.
pub(super) fn has_own(text: &str) -> bool {
    !lines(&without_front(text)).is_empty()
}

/// The line that said where hooks are before Siglum's did.
pub(super) fn kept_line(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(KEPT))
}

/// The settings with hooks in Siglum's directory, by this path; none where they say it in a way that
/// cannot be taken back. `is_relative`: the path is for one checkout, and the others have another.
pub(super) fn with_front(
    text: &str,
    path: &str,
    is_relative: bool,
    position: Position,
) -> Option<String> {
    let own = format!("\thooksPath = {}\n", quoted(path));
    let mut text = match position {
        Position::InSection => with_line(text, &own)?,
        Position::Last => with_section(&without_front(text), &own)?,
    };
    if is_relative && !text.contains(OTHER_CHECKOUTS) {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(OTHER_CHECKOUTS);
    }
    Some(text)
}

/// The settings with this line instead of the one that says it, or in the section where it belongs.
fn with_line(text: &str, own: &str) -> Option<String> {
    let present = lines(text);
    let mut all: Vec<&str> = text.split_inclusive('\n').collect();
    let kept;
    match present.as_slice() {
        [] => {
            let header = all
                .iter()
                .position(|l| l.trim().eq_ignore_ascii_case("[core]"))?;
            if !all[header].ends_with('\n') {
                return None;
            }
            all.insert(header + 1, own);
        }
        [line] if !line.is_plain => return None,
        [line] if value_of(line.text).is_some_and(|value| is_front(&value)) => {
            all[line.at] = own;
        }
        [line] => {
            kept = format!("{KEPT}{}", line.text);
            all[line.at] = &kept;
            all.insert(line.at + 1, own);
        }
        _ => return None,
    }
    Some(all.concat())
}

/// The settings with this line in a section of its own, if they do not say it themselves: git changes
/// no setting that a file has twice.
fn with_section(text: &str, own: &str) -> Option<String> {
    (lines(text).is_empty() && text.ends_with('\n'))
        .then(|| format!("{text}{ADDED}[{SECTION}]\n{own}"))
}

/// The settings without what Siglum wrote into them. What somebody else said since stays.
pub(super) fn without_front(text: &str) -> String {
    let own: Vec<usize> = lines(text)
        .iter()
        .filter(|line| value_of(line.text).is_some_and(|value| is_front(&value)))
        .map(|line| line.at)
        .collect();
    let mut out = String::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        match line.strip_prefix(KEPT) {
            Some(kept) if !own.is_empty() => out.push_str(kept),
            Some(_) => {}
            None if own.contains(&at) => {}
            None => out.push_str(line),
        }
    }
    without_empty_section(&out.replace(OTHER_CHECKOUTS, ""))
}

/// The settings without the section that Siglum added, unless somebody put something into it since.
fn without_empty_section(text: &str) -> String {
    let header = format!("{ADDED}[{SECTION}]\n");
    let Some((before, after)) = text.split_once(&header) else {
        return text.to_owned();
    };
    let is_empty = after.is_empty() || after.starts_with('[');
    let kept = if is_empty { "" } else { &header[ADDED.len()..] };
    [before, kept, after].concat()
}

/// The settings for other checkouts: the same directory by its absolute path.
pub(super) fn for_other_checkouts(front: &str) -> String {
    format!("[{SECTION}]\n\thooksPath = {}\n", quoted(front))
}

/// A value as git reads it in a settings file.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match value.chars().all(plain) {
        true => value.to_owned(),
        false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = ".git/siglum-hooks";

    fn check(text: &str) -> String {
        let with = with_front(text, PATH, true, Position::InSection).unwrap();
        assert!(leads_to_front(&with), "{with}");
        assert_eq!(
            with_front(&with, PATH, true, Position::InSection).as_ref(),
            Some(&with),
            "twice is once"
        );
        assert_eq!(without_front(&with), text);
        with
    }

    #[test]
    fn the_setting_is_put_in_and_taken_out_byte_for_byte() {
        check("[core]\n\tbare = false\n[remote \"x\"]\n\turl = y\n");
        check("# mine\n[Core]\n  bare = false\n");
        let with = check("[core]\n\tbare = false\n\thookspath = .githooks ; ours\n[a]\n\tb = c\n");
        assert_eq!(kept_line(&with), Some("\thookspath = .githooks ; ours"));
        assert!(with.contains("# kept by siglum: \thookspath"), "{with}");
    }

    #[test]
    fn what_cannot_be_taken_back_is_left_alone() {
        for text in [
            "[core] hooksPath = a\n",
            "[core]\n\thooksPath = a\\\nb\n",
            "[core]\n\thooksPath = a\n\thooksPath = b\n",
            "[a]\n\tb = c\n",
            "[core]\n\thooksPath = a",
        ] {
            assert_eq!(
                with_front(text, PATH, true, Position::InSection),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn a_section_at_the_end_counts_and_goes_again() {
        let text = "[core]\n\tbare = false\n[include]\n\tpath = ../x\n";
        let early = check(text);
        let with = with_front(&early, PATH, true, Position::Last).unwrap();
        assert_eq!(lines(&with).len(), 1, "{with}");
        assert!(with.find("[include]") < with.find("hooksPath"), "{with}");
        for position in [Position::InSection, Position::Last] {
            let again = with_front(&with, PATH, true, position);
            assert_eq!(again.as_ref(), Some(&with), "twice is once");
        }
        assert_eq!(without_front(&with), text);
        // Git puts what comes next into the last section of that name.
        let since = with.replace("siglum-hooks\n", "siglum-hooks\n\tautocrlf = input\n");
        let expected = format!("{text}[core]\n\tautocrlf = input\n");
        assert_eq!(without_front(&since), expected);
        for twice in ["[core]\n\thooksPath = a\n[include]\n\tpath = x\n", "[a]"] {
            assert_eq!(with_front(twice, PATH, true, Position::Last), None);
        }
    }

    #[test]
    fn what_somebody_set_since_stays() {
        let with = check("[core]\n\thooksPath = .githooks\n");
        let since = with.replace(PATH, ".husky/_");
        assert!(!leads_to_front(&since));
        assert_eq!(without_front(&since), "[core]\n\thooksPath = .husky/_\n");
        let unset = with.replace("\thooksPath = .git/siglum-hooks\n", "");
        assert_eq!(without_front(&unset), "[core]\n");
    }

    #[test]
    fn paths_are_quoted_as_git_reads_them() {
        let text = for_other_checkouts("/a \"b\\c");
        assert_eq!(
            config::value(&text, SECTION, KEY).as_deref(),
            Some("/a \"b\\c")
        );
    }
}
