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

fn value_of(line: &str) -> Option<String> {
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

/// The line that said where hooks are before Siglum's did.
pub(super) fn kept_line(text: &str) -> Option<&str> {
    text.lines().find_map(|line| line.strip_prefix(KEPT))
}

/// The settings with hooks in Siglum's directory, by this path; none where they say it in a way that
/// cannot be taken back. `is_relative`: the path is for one checkout, and the others have another.
pub(super) fn with_front(text: &str, path: &str, is_relative: bool) -> Option<String> {
    let own = format!("\thooksPath = {}\n", quoted(path));
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
            all.insert(header + 1, &own);
        }
        [line] if !line.is_plain => return None,
        [line] if value_of(line.text).is_some_and(|value| is_front(&value)) => {
            all[line.at] = &own;
        }
        [line] => {
            kept = format!("{KEPT}{}", line.text);
            all[line.at] = &kept;
            all.insert(line.at + 1, &own);
        }
        _ => return None,
    }
    let mut text = all.concat();
    if is_relative && !text.contains(OTHER_CHECKOUTS) {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(OTHER_CHECKOUTS);
    }
    Some(text)
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
    out.replace(OTHER_CHECKOUTS, "")
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
        let with = with_front(text, PATH, true).unwrap();
        assert!(leads_to_front(&with), "{with}");
        assert_eq!(
            with_front(&with, PATH, true).as_ref(),
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
            assert_eq!(with_front(text, PATH, true), None, "{text}");
        }
    }

    #[test]
    fn what_somebody_said_since_stays() {
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
