//! Rings of modules: where every module leads to every other one, none of them can be read, tested or moved alone.
//!
//! Modules are the files and folders at the top of a crate's `src`; an arrow is a path that begins with `crate::`. Tests
//! may import what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::{Failure, workspace};

/// Crates that still have rings. None may be added.
const RINGED: &[&str] = &[
    "agents", "bench", "cli", "domain", "gateway", "gitstore", "platform", "store", "xtask",
];

/// Which modules a module imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The floors of each crate without rings, for a person to read, and the rings of those that may have none.
pub(crate) fn check(root: &Path) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut floors, mut problems) = (Vec::new(), Vec::new());
    for dir in workspace::crate_dirs(root)? {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let graph = graph(&dir.join("src"))?;
        let (count, ringed) = stack(&graph);
        let is_known = RINGED.contains(&name.as_ref());
        match (ringed.is_empty(), is_known) {
            (true, false) => floors.push(format!(
                "{name}: {} modules on {count} floors",
                graph.len()
            )),
            (false, false) => problems.push(format!(
                "crates/{name}/src: a ring of modules: {}",
                ringed.join(", ")
            )),
            (true, true) => problems.push(format!(
                "crates/{name}/src has no ring of modules any more: take it out of RINGED in crates/xtask/src/rings.rs"
            )),
            (false, true) => {}
        }
    }
    Ok((floors, problems))
}

/// How many floors modules stand on, each upon lower ones alone, and those that stand in a ring or between two.
fn stack(graph: &Graph) -> (usize, Vec<String>) {
    let mut left = graph.clone();
    let mut floors = 0;
    loop {
        let standing: BTreeSet<String> = left.keys().cloned().collect();
        let before = left.len();
        left.retain(|_, to| to.iter().any(|module| standing.contains(module)));
        if left.len() == before {
            break;
        }
        floors += 1;
    }
    // What only stands upon a ring is in none.
    loop {
        let used: BTreeSet<String> = left.values().flatten().cloned().collect();
        let before = left.len();
        left.retain(|module, _| used.contains(module));
        if left.len() == before {
            return (floors, left.into_keys().collect());
        }
    }
}

fn graph(src: &Path) -> Result<Graph, Failure> {
    let mut files = Vec::new();
    for path in workspace::sources(src)? {
        let text = workspace::read(&path)?;
        files.push((path, text));
    }
    let tests: Vec<PathBuf> = files
        .iter()
        .flat_map(|(path, text)| test_modules(path, text))
        .collect();
    let is_test = |path: &Path| {
        let beneath = |test: &PathBuf| path.starts_with(test) || path == test.with_extension("rs");
        tests.iter().any(beneath)
    };
    let top = |path: &Path| {
        let first = path.strip_prefix(src).ok()?.components().next()?;
        let name = first.as_os_str().to_string_lossy();
        Some(name.trim_end_matches(".rs").to_owned())
    };
    let mut graph = Graph::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test(path)) {
        let name = top(path).filter(|name| name != "lib" && name != "main");
        if let Some(name) = name {
            graph.entry(name).or_default().extend(imports(text));
        }
    }
    let known: BTreeSet<String> = graph.keys().cloned().collect();
    for (name, to) in &mut graph {
        to.retain(|module| module != name && known.contains(module));
    }
    Ok(graph)
}

/// Where the modules are that a file declares for tests alone.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap_or_default();
    let is_root = ["mod", "lib", "main"].iter().any(|root| stem == *root);
    let dir = match is_root {
        true => path.parent().unwrap_or(path).to_owned(),
        false => path.with_extension(""),
    };
    let mut lines = text.lines().peekable();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let next = lines.peek().map(|next| next.trim());
        if line.trim() == "#[cfg(test)]"
            && let Some(declared) = next.and_then(|next| next.strip_suffix(';'))
            && let Some((_, name)) = declared.rsplit_once("mod ")
        {
            found.push(dir.join(name));
        }
    }
    found
}

/// The modules of this crate that a text names, without its inline tests and comments.
fn imports(text: &str) -> BTreeSet<String> {
    let product = text
        .split_once("#[cfg(test)]\nmod tests {")
        .map_or(text, |(before, _)| before);
    let code: String = product
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = BTreeSet::new();
    for path in code.split("crate::").skip(1) {
        match path.strip_prefix('{') {
            Some(group) => found.extend(group_names(group)),
            None => found.extend([first_name(path)]),
        }
    }
    found
}

/// The first names of the paths in braces, which may hold other braces.
fn group_names(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut start) = (0_usize, Vec::new(), true);
    let mut rest = group;
    while let Some(c) = rest.chars().next() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return names,
            '}' => depth -= 1,
            ',' if depth == 0 => start = true,
            c if start && (c.is_alphanumeric() || c == '_') => {
                names.push(first_name(rest));
                start = false;
            }
            _ => {}
        }
        rest = &rest[c.len_utf8()..];
    }
    names
}

fn first_name(path: &str) -> String {
    path.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_behind_crate_are_modules() {
        let text = "use crate::a::B;\nuse crate::{c, d::{e, F}, G};\n// crate::h\nfn i() { crate::j::k() }\n\
                    #[cfg(test)]\nmod tests {\n use crate::l;\n}";
        let names: Vec<String> = imports(text).into_iter().collect();
        assert_eq!(names, ["G", "a", "c", "d", "j"]);
    }

    #[test]
    fn modules_for_tests_are_found_beside_their_file() {
        let text = "mod a;\n#[cfg(test)]\npub(crate) mod b;\n#[cfg(test)]\nmod tests {\n}\n";
        let found = |path: &str| test_modules(Path::new(path), text);
        assert_eq!(found("src/lib.rs"), [PathBuf::from("src/b")]);
        assert_eq!(found("src/c.rs"), [PathBuf::from("src/c/b")]);
        assert_eq!(found("src/d/mod.rs"), [PathBuf::from("src/d/b")]);
    }

    #[track_caller]
    fn check(arrows: &[(&str, &str)], floors: usize, ringed: &[&str]) {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            graph.entry((*to).to_owned()).or_default();
            graph
                .entry((*from).to_owned())
                .or_default()
                .insert((*to).to_owned());
        }
        let found = stack(&graph);
        assert_eq!(
            (found.0, found.1.as_slice()),
            (
                floors,
                ringed
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .as_slice()
            )
        );
    }

    #[test]
    fn modules_stand_on_floors_or_in_a_ring() {
        check(&[("a", "b"), ("b", "c"), ("a", "c")], 3, &[]);
        check(&[("a", "b"), ("b", "a")], 0, &["a", "b"]);
        let beside = [("top", "a"), ("a", "b"), ("b", "a"), ("b", "leaf")];
        check(&beside, 1, &["a", "b"]);
    }
}
