//! Git's setting of where hooks are (`core.hooksPath`), in the settings file of a repository: led to
//! Siglum's directory, and back to what it was, byte for byte. All else in the file stays as it is.
//!
//! The first lines of the file include one of ours. Whatever is set later stands below them and counts
//! more. What is included names Siglum's directory by its absolute path, because git runs in many
//! directories, and only for the git directory that it was written for: one that was moved or copied has
//! the hooks that it had without Siglum.

use std::path::Path;

use super::{FRONT, SCRIPT_LIMIT};
use crate::{bounded, config};

const SECTION: &str = "core";
const KEY: &str = "hookspath";
/// What stands before the line that was there, which is needed again.
const KEPT: &str = "# kept by siglum: ";
/// Holds everywhere. A plain `[include]` would be a key that people set.
const INCLUDE: &str = "[includeIf \"gitdir:/\"]\n\tpath = siglum-hooks/siglum-config\n";
/// The file that is included: where hooks are without Siglum, and which git directory has the other file.
const CONFIG: &str = "siglum-config";
/// The file that names Siglum's directory.
const HERE: &str = "siglum-here";
/// The files of the settings in Siglum's directory. Nothing of the user's that is found there has such a name.
pub(super) const FILES: [&str; 2] = [CONFIG, HERE];
/// What earlier versions called theirs.
const EARLIER_FILE: &str = "config";
/// A byte order mark may stand before everything else.
const MARK: char = '\u{feff}';
/// Where file systems take names without case, git may know a directory by another one than we do.
const GIT_DIR: &str = match cfg!(target_os = "macos") {
    true => "gitdir/i",
    false => "gitdir",
};

/// What earlier versions wrote for linked worktrees, below a path that held in the main one.
const OTHER_CHECKOUTS: &str =
    "[includeIf \"gitdir:.git/worktrees/\"]\n\tpath = siglum-hooks/config\n";
/// What they wrote above a section at the end, below files that the settings include.
const ADDED: &str = "# added by siglum\n";

/// Where the lines that lead to Siglum's directory go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Above everything else.
    First,
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

impl Line<'_> {
    /// Whether an earlier version of Siglum wrote it.
    fn is_front(&self) -> bool {
        value_of(self.text).is_some_and(|value| is_front(&value))
    }
}

/// Tells whether a value of the setting names a directory of Siglum, here or anywhere.
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
        let continued = std::mem::take(&mut goes_on);
        let trimmed = line.trim_start_matches(MARK).trim();
        // Git continues no comments.
        if !continued && trimmed.starts_with(['#', ';']) {
            continue;
        }
        let end = line.trim_end_matches(['\n', '\r']);
        goes_on = (end.len() - end.trim_end_matches('\\').len()) % 2 == 1;
        if continued {
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

/// Whether the settings themselves have git take hooks from Siglum's directory, by what they include.
pub(super) fn leads_to_front(text: &str) -> bool {
    let after = text.split_once(INCLUDE).map(|(_, after)| after);
    after.is_some_and(|after| lines(after).is_empty())
}

/// The line that said where hooks are before Siglum's directory, if nobody said anything else since.
pub(super) fn kept_line(text: &str) -> Option<&str> {
    let all = lines(text);
    let is_ours = text.contains(INCLUDE) || !all.is_empty();
    // Earlier versions left one line more each time that somebody set another directory.
    let last = text.lines().rev().find_map(|line| line.strip_prefix(KEPT));
    last.filter(|_| is_ours && all.iter().all(Line::is_front))
}

/// The settings with hooks in Siglum's directory; none where they say where hooks are in a way that cannot
/// be taken back.
pub(super) fn with_front(text: &str, position: Position) -> Option<String> {
    let without = without_front(text);
    if position == Position::Last {
        return without.ends_with('\n').then(|| without + INCLUDE);
    }
    let mut all: Vec<&str> = without.split_inclusive('\n').collect();
    let kept;
    match lines(&without).as_slice() {
        [] => {}
        [line] if line.is_plain => {
            kept = format!("{KEPT}{}", line.text);
            all[line.at] = &kept;
        }
        _ => return None,
    }
    let all = all.concat();
    let mark = all.starts_with(MARK).then_some(MARK);
    let (before, after) = all.split_at(mark.map_or(0, char::len_utf8));
    Some([before, INCLUDE, after].concat())
}

/// The settings without what Siglum wrote into them. What somebody else said since stays.
pub(super) fn without_front(text: &str) -> String {
    let own: Vec<usize> = lines(text)
        .iter()
        .filter(|line| line.is_front())
        .map(|line| line.at)
        .collect();
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let last = all.iter().rposition(|line| line.starts_with(KEPT));
    let restored = last.filter(|_| kept_line(text).is_some());
    let rest = all.iter().enumerate();
    let rest = rest.filter_map(|(at, line)| match line.strip_prefix(KEPT) {
        Some(kept) => (restored == Some(at)).then_some(kept),
        None => (!own.contains(&at)).then_some(*line),
    });
    let rest: String = rest.collect();
    without_empty_section(&rest.replace(OTHER_CHECKOUTS, "").replace(INCLUDE, ""))
}

/// The settings without the section that an earlier version added, unless somebody put something into it
/// since.
fn without_empty_section(text: &str) -> String {
    let header = format!("{ADDED}[{SECTION}]\n");
    let Some((before, after)) = text.split_once(&header) else {
        return text.to_owned();
    };
    let is_empty = after.is_empty() || after.starts_with('[');
    let kept = if is_empty { "" } else { &header[ADDED.len()..] };
    [before, kept, after].concat()
}

/// The files in Siglum's directory that lead git there, in the order of [`FILES`], with the line that says
/// where hooks are without it; none for a path that git does not read in a settings file.
pub(super) fn files(common_dir: &str, kept: Option<&str>) -> Option<[String; 2]> {
    let front = quoted(&format!("{common_dir}/{FRONT}"))?;
    let pattern = pattern(common_dir);
    let kept = kept.map_or_else(String::new, |line| format!("[{SECTION}]\n{line}\n"));
    let for_checkouts = ["", "/worktrees/"]
        .map(|end| format!("[includeIf \"{GIT_DIR}:{pattern}{end}\"]\n\tpath = {HERE}\n"));
    Some([
        kept + &for_checkouts.concat(),
        format!("[{SECTION}]\n\thooksPath = {front}\n"),
    ])
}

/// Whether a file in Siglum's directory is one of its settings.
pub(super) fn is_own_file(name: &str, content: &[u8]) -> bool {
    let leads_here = |text: &str| config::value(text, SECTION, KEY).is_some_and(|v| is_front(&v));
    FILES.contains(&name)
        || name == EARLIER_FILE && std::str::from_utf8(content).is_ok_and(leads_here)
}

/// Whether the files in Siglum's directory are for the git directory that it is in now.
pub(super) fn is_for(front: &Path) -> bool {
    let text = bounded::read_text(&front.join(HERE), SCRIPT_LIMIT).unwrap_or_default();
    config::value(&text, SECTION, KEY).is_some_and(|path| Path::new(&path) == front)
}

/// A path as a pattern for it alone, as it stands in the header of a section.
fn pattern(path: &str) -> String {
    let mut out = String::new();
    for c in path.chars() {
        match c {
            // A header ends with its line.
            '\n' => out.push('?'),
            '*' | '?' | '[' => out.extend(['\\', '\\', c]),
            '\\' => out.push_str(r"\\\\"),
            '"' => out.push_str("\\\""),
            _ => out.push(c),
        }
    }
    out
}

/// A value as git reads it in a settings file; none for signs that it has no way to write.
fn quoted(value: &str) -> Option<String> {
    let mut out = String::new();
    for c in value.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' => out.extend(['\\', c]),
            _ if c.is_control() => return None,
            _ => out.push(c),
        }
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match out.chars().all(is_plain) {
        true => Some(out),
        false => Some(format!("\"{out}\"")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What an earlier version made of settings with `.githooks`.
    const EARLIER: &str = "[core]\n# kept by siglum: \thooksPath = .githooks\n\thooksPath = .git/siglum-hooks\n\
        [a]\n\tb = c\n[includeIf \"gitdir:.git/worktrees/\"]\n\tpath = siglum-hooks/config\n";

    fn check_at(text: &str, position: Position) -> String {
        let with = with_front(text, position).unwrap();
        assert_eq!(
            with_front(&with, position).as_ref(),
            Some(&with),
            "twice is once"
        );
        assert_eq!(without_front(&with), text);
        with
    }

    fn check(text: &str) -> String {
        let with = check_at(text, Position::First);
        assert!(leads_to_front(&with), "{with}");
        with
    }

    #[test]
    fn the_setting_is_put_in_and_taken_out_byte_for_byte() {
        check("");
        check("[a]\n\tb = c");
        check("\u{feff}[core]\n\thooksPath = mine\n");
        check("[core]\n\tbare = false\n[remote \"x\"]\n\turl = y\n");
        // Git continues no comments, and an even number of backslashes continues nothing.
        for end in ["# C:\\\n", "\ta = \"C:\\\\\"\\\\\n"] {
            let with = check(&format!("[user]\n{end}[core]\n\thooksPath = .githooks\n"));
            assert_eq!(config::value(&with, SECTION, KEY), None, "{with}");
        }
        let with = check("# mine\n[core]\n  bare = false\n");
        assert_eq!(config::value(&with, SECTION, KEY), None);
        let with = check("[Core]\n\tbare = false\n\thookspath = .githooks ; ours\n[a]\n\tb = c\n");
        assert_eq!(kept_line(&with), Some("\thookspath = .githooks ; ours"));
        assert!(with.contains("# kept by siglum: \thookspath"), "{with}");
    }

    #[test]
    fn what_cannot_be_taken_back_is_left_alone() {
        for text in [
            "[core] hooksPath = a\n",
            "[core]\n\thooksPath = a\\\nb\n",
            "[core]\n\thooksPath = a\n\thooksPath = b\n",
            "[core]\n\thooksPath = a",
        ] {
            assert_eq!(with_front(text, Position::First), None, "{text}");
        }
        assert_eq!(with_front("[a]", Position::Last), None);
    }

    #[test]
    fn what_is_included_further_down_counts_less() {
        let text = "[core]\n\thooksPath = a\n[include]\n\tpath = ../x\n";
        let with = check_at(text, Position::Last);
        assert_eq!(with, format!("{text}{INCLUDE}"));
        let early = check(text);
        assert_eq!(with_front(&early, Position::Last), Some(with));
    }

    #[test]
    fn what_earlier_versions_wrote_is_replaced_and_removed() {
        let before = "[core]\n\thooksPath = .githooks\n[a]\n\tb = c\n";
        assert_eq!(without_front(EARLIER), before);
        let with = with_front(EARLIER, Position::First);
        assert_eq!(with, with_front(before, Position::First));
        let set_since = EARLIER.replace(".git/siglum-hooks", ".new");
        assert_eq!(
            without_front(&set_since),
            before.replace(".githooks", ".new")
        );
        let unset_since = EARLIER.replace("\thooksPath = .git/siglum-hooks\n", "");
        assert_eq!(without_front(&unset_since), "[core]\n[a]\n\tb = c\n");
        let many = EARLIER.replace("# kept", "# kept by siglum: \thooksPath = older\n# kept");
        assert_eq!(without_front(&many), before);
        // A section at the end, and what git put into it since.
        let added = "[a]\n\tb = c\n# added by siglum\n[core]\n\thooksPath = /x/siglum-hooks\n";
        assert_eq!(without_front(added), "[a]\n\tb = c\n");
        let since = format!("{added}\tautocrlf = input\n");
        assert_eq!(
            without_front(&since),
            "[a]\n\tb = c\n[core]\n\tautocrlf = input\n"
        );
    }

    #[test]
    fn paths_are_written_as_git_reads_them() {
        let path = "/a \"b\\c\n\td*[e]?";
        let [config, here] = files(path, Some("\thooksPath = mine")).unwrap();
        let front = format!("{path}/siglum-hooks");
        assert_eq!(config::value(&here, SECTION, KEY), Some(front));
        assert_eq!(here.lines().count(), 2, "{here}");
        assert_eq!(
            config::value(&config, SECTION, KEY).as_deref(),
            Some("mine")
        );
        let header = r#":/a \"b\\\\c?"#.to_owned() + "\td\\\\*\\\\[e]\\\\?\"]\n";
        assert!(config.contains(&header), "{config}");
        assert_eq!(files("/a\u{1}", None), None);
    }

    /// What `git config` makes of a file that says it once at most.
    fn set(text: &str, value: Option<&str>) -> String {
        let line = value.map_or_else(String::new, |value| format!("\thooksPath = {value}\n"));
        match lines(text).first() {
            Some(old) => text.replace(old.text, &line),
            None => text.replace("[core]\n", &format!("[core]\n{line}")),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_was_set_last_is_what_stays(
            deeds in proptest::collection::vec(0..6_u8, 0..12),
            was_earlier in any::<bool>(),
        ) {
            let plain = "[core]\n\tbare = false\n";
            let mut text = if was_earlier { EARLIER } else { plain }.to_owned();
            let mut kept = was_earlier.then(|| ".githooks".to_owned());
            let mut visible = None;
            for (at, deed) in deeds.into_iter().enumerate() {
                match deed {
                    0..3 if lines(&text).iter().all(|line| !line.is_front()) => {
                        visible = (deed > 0).then(|| format!("hooks{at}"));
                        text = set(&text, visible.as_deref());
                    }
                    3 | 4 => {
                        text = with_front(&text, Position::First).unwrap();
                        kept = visible.take().or(kept);
                        let said = kept_line(&text).and_then(value_of);
                        prop_assert_eq!(said, kept.clone());
                    }
                    5 => {
                        text = without_front(&text);
                        visible = visible.or(kept.take());
                        prop_assert!(!text.contains("siglum"), "{text}");
                    }
                    _ => {}
                }
                prop_assert!(text.matches(KEPT).count() <= 1, "{text}");
            }
            let said = config::value(&without_front(&text), SECTION, KEY);
            prop_assert_eq!(said, visible.or(kept));
        }
    }
}
