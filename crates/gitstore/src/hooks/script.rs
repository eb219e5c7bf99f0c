//! The script that a hook is: where the block goes in and how it comes out again, byte for byte.

use super::block::{BlockLocation, Company, find};

/// The start of a script that Siglum wrote, so that it can be told from one that was there.
const OWN: &[u8] = b"#!/bin/sh\n# This hook was made by siglum.\n";

/// Shells that read the block as it is meant. Not zsh, where a pattern that matches nothing ends the
/// script, nor ksh, which reads some expansions otherwise.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "ash"];

/// A whole script around a block.
pub(super) fn own(block: &str) -> Vec<u8> {
    [OWN, block.as_bytes()].concat()
}

/// Tells whether this is a script that the shell runs from its first line to its last, and that, as the hook
/// of this name, does not look at itself: another line in it changes nothing else. A script without a shebang
/// is run by the shell, too. What is in doubt is none.
pub(super) fn is_plain(content: &[u8], name: &str) -> bool {
    let Ok(text) = str::from_utf8(content) else {
        return false;
    };
    if text.contains(['\0', '\r']) {
        return false;
    }
    let shell = match text.strip_prefix("#!") {
        Some(rest) => is_plain_shell(rest.lines().next().unwrap_or_default()),
        None => true,
    };
    let mut code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    shell
        && !is_two_in_one(text)
        && !code.any(|line| reads_itself(line) || sees_block(line) || names_itself(line, name))
}

/// What tells a script of a block above it: how far down its lines are, which functions there are, and the
/// last word before it.
const SEEN_BY: [&str; 8] = [
    "LINENO",
    "caller",
    "compgen",
    "declare -F",
    "typeset -F",
    "typeset -f",
    "$_",
    "${_",
];

fn sees_block(line: &str) -> bool {
    SEEN_BY
        .iter()
        .any(|word| is_in(line, word, |c| c.is_alphanumeric() || c == '_'))
}

/// Whether a path in the line ends in this name: the hook has its own one from elsewhere than the shell. The
/// bare name is what managers of hooks are told.
fn names_itself(line: &str, name: &str) -> bool {
    is_in(line, &format!("/{name}"), |c| {
        c.is_alphanumeric() || "._-/".contains(c)
    })
}

/// Whether a line has this text, and it does not go on with such a character.
fn is_in(line: &str, text: &str, goes_on: impl Fn(char) -> bool + Copy) -> bool {
    let mut found = line.match_indices(text);
    found.any(|(at, _)| !line[at + text.len()..].starts_with(goes_on))
}

/// A script in two languages hides the lines of one of them from the other in quotes.
fn is_two_in_one(text: &str) -> bool {
    let mut code = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = code.next().unwrap_or_default();
    let first = first.strip_prefix(':').map_or(first, str::trim_start);
    first.starts_with(['\'', '"']) || text.contains("'''") || text.contains("\"\"\"")
}

/// What a script has of its own path but its directory or its name.
fn reads_itself(line: &str) -> bool {
    OWN_PATH.iter().any(|name| {
        let uses = line.match_indices(name);
        uses.into_iter()
            .any(|(at, _)| !is_harmless(&line[..at], &line[at + name.len()..]))
    })
}

/// The names that the shell has for the path of a script.
const OWN_PATH: [&str; 4] = ["$0", "${0", "BASH_SOURCE", "BASH_ARGV0"];
/// What may stand between the path and the program that takes its directory or name.
const BETWEEN: [&str; 12] = [
    "\"", "'", "$(", "`", "--", "-f", "-m", "-e", "readlink", "realpath", "${", "$",
];

/// Tells whether a use of the path takes its directory or its name, or only compares it; or is none, but
/// belongs to a program in quotes.
fn is_harmless(before: &str, after: &str) -> bool {
    let runs_text = ["eval", "exec"].iter().any(|word| before.contains(word));
    if before.matches('\'').count() % 2 == 1 && !runs_text {
        return true;
    }
    if ["##*/", "%/*", "#*/", "[0]%/*", "[0]##*/"]
        .iter()
        .any(|cut| after.starts_with(cut))
    {
        return true;
    }
    let mut before = before.trim_end();
    while let Some(rest) = BETWEEN.iter().find_map(|word| before.strip_suffix(word)) {
        before = rest.trim_end();
    }
    ["dirname", "basename", "case"]
        .iter()
        .any(|word| before.ends_with(word))
}

/// Tells whether a shebang starts a shell in which the block does what it does in any other: without
/// variables of its own, and with no flag but those that end a script early. Others print the block
/// (`-x`, `-v`) or read it otherwise (`-f`, `-n`, `-a`).
fn is_plain_shell(shebang: &str) -> bool {
    let mut words = shebang.split_ascii_whitespace().peekable();
    let mut name = words.next().map(base_name);
    if name == Some("env") {
        let _ = words.next_if_eq(&"-S");
        name = words.next().map(base_name);
    }
    let ends_early = |word: &str| {
        let flags = word.strip_prefix('-').filter(|flags| !flags.is_empty());
        flags.is_some_and(|flags| flags.chars().all(|flag| "eu".contains(flag)))
    };
    name.is_some_and(|name| SHELLS.contains(&name)) && words.all(ends_early)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Who runs beside the block in a script that has one, or will have one.
pub(super) fn company(content: &[u8]) -> Company<'static> {
    match is_own(content) && without(content).is_some_and(|rest| rest.is_empty()) {
        true => Company::Alone,
        false => Company::Below,
    }
}

/// The script with the block after the shebang.
pub(super) fn with(content: &[u8], block: &str) -> Vec<u8> {
    let block = block.as_bytes();
    if !content.starts_with(b"#!") {
        return [block, content].concat();
    }
    match content.iter().position(|b| *b == b'\n') {
        Some(end) => [&content[..=end], block, &content[end + 1..]].concat(),
        None => [content, b"\n", block.trim_ascii_end()].concat(),
    }
}

/// The script without its block: nothing if it is a script of ours with nothing else in it, None if
/// there is no whole block.
pub(super) fn without(content: &[u8]) -> Option<Vec<u8>> {
    let BlockLocation::At(range) = find(content) else {
        return None;
    };
    let (mut head, rest) = (&content[..range.start], &content[range.end..]);
    if !content[range].ends_with(b"\n") {
        head = head.strip_suffix(b"\n").unwrap_or(head);
    }
    if head == OWN {
        let added = [&b"#!/bin/sh\n"[..], rest].concat();
        return Some(if rest.is_empty() { Vec::new() } else { added });
    }
    Some([head, rest].concat())
}

/// The script with another block in the place of its own.
pub(super) fn exchanged(content: &[u8], block: &str) -> Option<Vec<u8>> {
    let BlockLocation::At(range) = find(content) else {
        return None;
    };
    let whole = content[range.clone()].ends_with(b"\n");
    let block = if whole { block } else { block.trim_end() };
    Some(
        [
            &content[..range.start],
            block.as_bytes(),
            &content[range.end..],
        ]
        .concat(),
    )
}

/// Tells whether Siglum wrote this script.
pub(super) fn is_own(content: &[u8]) -> bool {
    content.starts_with(OWN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_the_shell_runs_from_end_to_end_are_plain() {
        for plain in [
            "#!/bin/sh\nexit 0\n",
            "#!/bin/sh -e\n",
            "#! /bin/bash -eu\n",
            "#!/usr/bin/env bash\nset -euo pipefail\n",
            "#!/usr/bin/env -S bash -e\n",
            "echo no shebang\n",
            "",
            "#!/bin/sh\nHERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\n",
            "#!/bin/sh\n. \"$(dirname -- \"$0\")/h\"",
            "#!/bin/bash\nd=$(dirname \"$(readlink -f \"${BASH_SOURCE[0]}\")\")\n",
            "#!/bin/sh\nn=$(basename \"$0\"); m=${0##*/}; case $0 in *x) ;; esac\n",
            "#!/bin/sh\ngit diff | awk '{ print $0 }'\n",
            "#!/bin/sh\n# not \"$0\"\nexec npx lint \"$1\"\n",
            "#!/bin/sh\n# nor $LINENO, .git/hooks/commit-msg\nexec lefthook run commit-msg \"$@\"\n",
            "#!/bin/sh\nexec \"$(dirname \"$0\")/commit-msg.old\" \"$_x\" /commit-msg.d/*\n",
        ] {
            assert!(is_plain(plain.as_bytes(), "commit-msg"), "{plain}");
        }
    }

    #[test]
    fn scripts_that_are_more_than_the_shell_runs_are_not_plain() {
        for other in [
            "#!/usr/bin/env python3\npass\n",
            "#!/bin/zsh\ntrue\n",
            "#!/usr/bin/env ksh\ntrue\n",
            "#!/usr/bin/env zsh\ntrue\n",
            "#!/bin/sh -x\ntrue\n",
            "#!/bin/bash -ev\ntrue\n",
            "#!/bin/sh -f\ntrue\n",
            "#!/bin/sh -\ntrue\n",
            "#!/bin/bash --posix\ntrue\n",
            "#!/usr/bin/env -S bash -x\ntrue\n",
            "#!/usr/bin/env -S BASH_ENV=tools/env bash\ntrue\n",
            "#!/usr/bin/env -S -i sh\ntrue\n",
            "#!/bin/sh\ntrap 'echo $LINENO' EXIT\n",
            "#!/bin/bash\nfor f in $(declare -F | awk '{print $3}'); do $f; done\n",
            "#!/bin/bash\ntypeset -f\n",
            "#!/bin/bash\ncompgen -A function\n",
            "#!/bin/bash\nf() { caller 0; }\nf\n",
            "#!/bin/bash\nhere=$(basename \"$_\")\n",
            "#!/bin/bash\necho ${_##*/}\n",
            "#!/bin/sh\ntail -n +3 \"$(git rev-parse --git-path hooks/commit-msg)\"\n",
            "#!/bin/sh\nsed 1d \"$(dirname \"$0\")/commit-msg\" | sh\n",
            "#!/bin/sh\nhead .git/hooks/commit-msg\n",
            "#!/bin/bash\necho ${BASH_LINENO[0]}\n",
            "#!/bin/sh\n\":\" //; exec node \"$0\" \"$@\"\n",
            "#!/bin/sh\n''':'\nexec python3 -u .git/hooks/commit-msg\n'''\n",
            "#!/bin/sh\n# tcl \\\nexec tclsh \"$0\" ${1+\"$@\"}\n",
            "#!/bin/sh\neval 'exec perl -S $0 ${1+\"$@\"}' if 0;\n",
            "#!/bin/sh\ntail -n +4 \"$0\" | python3 - \"$@\"; exit\nprint(1)\n",
            "#!/bin/bash\nsed -n '/^DATA/,$p' \"${BASH_SOURCE[0]}\"\n",
            "#!/bin/sh\n: ' \nexec ruby x\n'\n",
            "#!/bin/sh\r\ntrue\r\n",
            "\x7fELF\0",
        ] {
            assert!(!is_plain(other.as_bytes(), "commit-msg"), "{other}");
        }
    }
}
