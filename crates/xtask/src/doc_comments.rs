//! What a library offers is explained: every public item of a library crate has a doc comment.
//!
//! Fields and variants need one only where the name leaves something open, and modules have headers of their own.

use std::path::Path;

use crate::size::Measured;
use crate::{Failure, workspace};

/// The words after `pub` with which an item begins that needs a comment.
const ITEMS: &[&str] = &[
    "fn", "const", "async", "unsafe", "struct", "enum", "trait", "type", "static", "union",
];

/// How doc comments begin; a macro's attributes are those of its caller.
const DOCS: &[&str] = &["///", "/**", "#[doc", "$(#["];

/// How everything begins that may stand between an item and its doc comment, which is among them.
const ABOVE: &[&str] = &["//", "/*", "#[", "$(#["];

/// Every public item of the library crates without a doc comment.
pub(crate) fn check(root: &Path, files: &[Measured]) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for Measured { path, lines } in files {
        if is_library(root, path) {
            let text = workspace::read(&root.join(path))?;
            let product: Vec<&str> = text.lines().take(*lines).collect();
            problems.extend(check_lines(path, &product));
        }
    }
    problems.sort();
    Ok(problems)
}

/// Whether a file is of a library for others: the crate has one, is no program, and the file is none beside it.
fn is_library(root: &Path, path: &str) -> bool {
    let Some((dir, within)) = path.split_once("/src/") else {
        return false;
    };
    let has = |file: &str| root.join(dir).join("src").join(file).is_file();
    !within.starts_with("bin/") && has("lib.rs") && !has("main.rs")
}

fn check_lines(path: &str, lines: &[&str]) -> Vec<String> {
    let problem = |(at, line): (usize, &&str)| {
        let problem = check_item(line.trim(), &lines[..at])?;
        Some(format!("{path}:{}: {problem}", at + 1))
    };
    lines.iter().enumerate().filter_map(problem).collect()
}

/// What is wrong with a line, if an item begins there, and with the lines before it.
fn check_item(line: &str, before: &[&str]) -> Option<String> {
    let needs_comment = is_public(line) || is_exported(line, before);
    let is_missing = needs_comment && !stands_below(before, DOCS);
    let item = declaration(line);
    is_missing.then(|| format!("`{item}` needs a doc comment: say what it means"))
}

fn is_public(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_pub = words.next() == Some("pub");
    is_pub && words.next().is_some_and(|word| ITEMS.contains(&word))
}

fn is_exported(line: &str, before: &[&str]) -> bool {
    line.starts_with("macro_rules!") && stands_below(before, &["#[macro_export"])
}

/// The words of an item up to its name.
fn declaration(line: &str) -> &str {
    let end = |c: char| !c.is_alphanumeric() && !"_ $!".contains(c);
    line.split(end).next().unwrap_or_default().trim_end()
}

/// Whether an attribute or comment directly above an item begins with one of these.
fn stands_below(before: &[&str], beginnings: &[&str]) -> bool {
    attributes(before).any(|line| begins(line, beginnings))
}

/// The lines of attributes and comments directly above an item, from the nearest up.
fn attributes<'a>(before: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let mut is_inside = false;
    let belongs = move |line: &&str| {
        let is_first = begins(line, ABOVE);
        let is_last = line.ends_with(']') || line.ends_with("*/");
        is_inside = !is_first && (is_inside || is_last);
        is_first || is_inside
    };
    let upwards = before.iter().rev().map(|line| line.trim());
    upwards.take_while(belongs)
}

fn begins(line: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|start| line.starts_with(*start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let lines: Vec<&str> = text.lines().collect();
        let found = check_lines("a", &lines);
        let items: Vec<_> = found
            .iter()
            .filter_map(|problem| problem.split_once(" needs "))
            .map(|(item, _)| item)
            .collect();
        assert_eq!(items, expected);
    }

    #[test]
    fn items_without_a_comment_are_found() {
        check("pub fn b() {}", &["a:1: `pub fn b`"]);
        check("    pub const fn c<T>(", &["a:1: `pub const fn c`"]);
        check("pub const D: u8 = 1;", &["a:1: `pub const D`"]);
        check("/// E.\nE,\npub trait F {", &["a:3: `pub trait F`"]);
        check("/// G.\n\npub type G = u8;", &["a:3: `pub type G`"]);
        check("// H.\n#[x]\npub enum H {", &["a:3: `pub enum H`"]);
        check("#[x(\n  y\n)]\npub struct I;", &["a:4: `pub struct I`"]);
        let both = ["a:1: `pub fn j`", "a:2: `pub fn k`"];
        check("pub fn j() {}\npub fn k() {}", &both);
    }

    #[test]
    fn comments_stand_above_attributes() {
        check("/// B.\npub fn b() {}", &[]);
        check("/// C.\n#[must_use]\n// Why.\npub fn c() {}", &[]);
        check("/// D.\n#[x(\n    y,\n    z = 1\n)]\npub union D {", &[]);
        check("/// E.\n#[x]\n#[y(\n    z\n)]\n#[z]\npub enum E {", &[]);
        check("#[doc = \"F\"]\npub struct F;", &[]);
        check("/**\n G.\n*/\npub static G: u8 = 1;", &[]);
        check("    $(#[$doc])*\n    #[x]\n    pub struct $name(", &[]);
    }

    #[test]
    fn what_needs_no_comment() {
        check("struct B {\n    pub b: u8,\n    pub union: u8,\n}", &[]);
        check("pub(crate) fn c() {}\npub(super) struct C;", &[]);
        check("pub(in crate::d) const D: u8 = 1;", &[]);
        check("pub use e::E;\npub mod e;\nmod f;", &[]);
        check("impl G for H {\n    fn g() {}\n}", &[]);
        check("let text = \"pub fn i()\";", &[]);
    }

    #[test]
    fn exported_macros_are_items() {
        let found = ["a:2: `macro_rules! b`"];
        check("#[macro_export]\nmacro_rules! b {", &found);
        check("/// C.\n#[macro_export]\nmacro_rules! c {", &[]);
        check("macro_rules! d {", &[]);
    }

    #[test]
    fn what_is_a_library() {
        let root = workspace::root();
        assert!(is_library(&root, "crates/domain/src/redact/mod.rs"));
        assert!(!is_library(&root, "crates/domain/src/bin/program.rs"));
        assert!(!is_library(&root, "crates/domain/examples/one.rs"));
        assert!(!is_library(&root, "crates/cli/src/main.rs"));
        assert!(!is_library(&root, "crates/cli/src/lib.rs"));
    }
}
