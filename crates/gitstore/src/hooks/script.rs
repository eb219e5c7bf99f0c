//! The script that a hook is: where the block goes in and how it comes out again, byte for byte.

use super::block::{Company, Found, find};

/// The start of a script that Siglum wrote, so that it can be told from one that was there.
const OWN: &[u8] = b"#!/bin/sh\n# This hook was made by siglum.\n";

const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh"];

/// A whole script around a block.
pub(super) fn own(block: &str) -> Vec<u8> {
    [OWN, block.as_bytes()].concat()
}

/// Tells whether the shell runs this script from its first line to its last. A script without a
/// shebang is run by the shell, too; one that gives itself to another interpreter is not meant.
pub(super) fn is_shell(content: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(content) else {
        return false;
    };
    if text.contains('\0') {
        return false;
    }
    let shell = match text.strip_prefix("#!") {
        Some(rest) => interpreter(rest.lines().next().unwrap_or_default())
            .is_some_and(|name| SHELLS.contains(&name)),
        None => true,
    };
    shell && !text.lines().any(hands_itself_over)
}

fn interpreter(shebang: &str) -> Option<&str> {
    let mut words = shebang.split_ascii_whitespace().map(base_name);
    match words.next()? {
        "env" => words.find(|word| !word.starts_with('-') && !word.contains('=')),
        name => Some(name),
    }
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `exec tclsh "$0" "$@"`: the file is two scripts in one.
fn hands_itself_over(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    let first = words.next().unwrap_or_default().replace(['\'', '"'], "");
    first == "exec"
        && words
            .skip(1)
            .any(|word| matches!(word, "\"$0\"" | "$0" | "\"${0}\""))
}

/// Tells whether a program asks what it is called, and so cannot be moved aside.
pub(super) fn asks_its_name(content: &[u8]) -> bool {
    let lower = content.to_ascii_lowercase();
    lower.windows(8).any(|window| window == b"basename")
}

/// Who runs beside the block in a script that has one, or will have one.
pub(super) fn company(content: &[u8], chained: bool) -> Company {
    if chained {
        Company::Chained
    } else if is_own(content) && without(content).is_some_and(|rest| rest.is_empty()) {
        Company::Alone
    } else {
        Company::Below
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
    let Found::At(range) = find(content) else {
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
    let Found::At(range) = find(content) else {
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
