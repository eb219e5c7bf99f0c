//! Rings of modules: where every module leads to every other one, none of them can be read, tested or moved alone.
//!
//! Modules are the files and folders at the top of a crate's `src`, and in [`FOLDED`] crates those of each folder, too; an
//! arrow is a path that begins with `crate::` or `super::`. Tests may import what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Failure, workspace};

/// Crates whose folders stand on floors, and what is in them as well.
const FOLDED: &[&str] = &["engine"];

/// Which modules a module imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The names of a module below its crate, from the outermost in.
type ModulePath = Vec<String>;

/// The floors of each crate, for a person to read, and the rings, of which there may be none.
pub(crate) fn check(root: &Path) -> Result<(Vec<String>, Vec<String>), Failure> {
    let (mut floors, mut problems) = (Vec::new(), Vec::new());
    for dir in workspace::crate_dirs(root)? {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let arrows = arrows(&dir.join("src"))?;
        let graph = graph(&arrows, &[]);
        let stack = stack(&graph);
        match stack.ringed.is_empty() {
            true => floors.push(format!("{name}: {stack}")),
            false => problems.push(ring(&name, &stack)),
        }
        if FOLDED.contains(&name.as_ref()) {
            let names: Vec<String> = stack.floors.iter().map(|floor| floor.join(", ")).collect();
            floors.push(format!("{name}, from the ground: {}", names.join(" | ")));
            for folder in graph.keys() {
                let place = format!("{name}/{folder}");
                let stack = self::stack(&self::graph(&arrows, &[folder]));
                match (stack.ringed.is_empty(), stack.floors.len()) {
                    (true, 0) => {}
                    (true, _) => floors.push(format!("{place}: {stack}")),
                    (false, _) => problems.push(ring(&place, &stack)),
                }
            }
        }
    }
    Ok((floors, problems))
}

fn ring(place: &str, stack: &Stack) -> String {
    format!("{place}: a ring of modules: {}", stack.ringed.join(", "))
}

/// Modules on floors, the lowest first: each stands upon lower ones alone.
struct Stack {
    floors: Vec<Vec<String>>,
    /// Those that stand in a ring, or between two.
    ringed: Vec<String>,
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules = self.floors.iter().flatten().count();
        write!(f, "{modules} modules on {} floors", self.floors.len())
    }
}

fn stack(graph: &Graph) -> Stack {
    let mut left = graph.clone();
    let mut floors = Vec::new();
    loop {
        let standing: BTreeSet<String> = left.keys().cloned().collect();
        let stands = |to: &BTreeSet<String>| !to.iter().any(|module| standing.contains(module));
        let floor: Vec<String> = left
            .extract_if(.., |_, to| stands(to))
            .map(|(m, _)| m)
            .collect();
        if floor.is_empty() {
            break;
        }
        floors.push(floor);
    }
    // What only stands upon a ring is in none.
    loop {
        let used: BTreeSet<String> = left.values().flatten().cloned().collect();
        let before = left.len();
        left.retain(|module, _| used.contains(module));
        if left.len() == before {
            let ringed = left.into_keys().collect();
            return Stack { floors, ringed };
        }
    }
}

/// What each module of a crate imports of the crate, the modules of tests left out.
fn arrows(src: &Path) -> Result<Vec<(ModulePath, Vec<ModulePath>)>, Failure> {
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
    let arrow = |(path, text): &(PathBuf, String)| {
        let module = module(path.strip_prefix(src).ok()?);
        let imported = imports(&module, text);
        Some((module, imported))
    };
    let product = files.iter().filter(|(path, _)| !is_test(path));
    Ok(product.filter_map(arrow).collect())
}

/// The module that a file below `src` is.
fn module(path: &Path) -> ModulePath {
    let names = path.with_extension("");
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    let mut names: ModulePath = names.collect();
    if names
        .last()
        .is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str()))
    {
        names.pop();
    }
    names
}

/// The arrows between the modules of a folder, each with what is beneath it.
fn graph(arrows: &[(ModulePath, Vec<ModulePath>)], folder: &[&String]) -> Graph {
    let within = |path: &ModulePath| {
        let (above, rest) = path.split_at_checked(folder.len())?;
        let is_here = above.iter().eq(folder.iter().copied());
        rest.first().filter(|_| is_here).cloned()
    };
    let mut graph = Graph::new();
    for (module, imported) in arrows {
        if let Some(name) = within(module) {
            let to = imported.iter().filter_map(within);
            graph.entry(name).or_default().extend(to);
        }
    }
    let known: BTreeSet<String> = graph.keys().cloned().collect();
    for (name, to) in &mut graph {
        to.retain(|module| module != name && known.contains(module));
    }
    graph
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

/// The paths into this crate that a module names, without its inline tests and comments.
fn imports(module: &[String], text: &str) -> Vec<ModulePath> {
    let product = text
        .split_once("#[cfg(test)]\nmod tests {")
        .map_or(text, |(before, _)| before);
    let code: String = product
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        paths(&code[at + start.len()..], &[], &mut found);
    }
    for (at, start) in code.match_indices("super::") {
        // One of several is reached from the first.
        if !code[..at].ends_with("super::") {
            let mut above = module.to_vec();
            let mut rest = &code[at..];
            while let Some(further) = rest.strip_prefix(start) {
                above.pop();
                rest = further;
            }
            paths(rest, &above, &mut found);
        }
    }
    found
}

/// Every path that begins here, below `above`, with those in braces spelled out; what is left of the text.
fn paths<'a>(text: &'a str, above: &[String], found: &mut Vec<ModulePath>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        while !rest.trim_start().starts_with('}') {
            rest = paths(rest, above, found);
            // What stands here is another name for it.
            let next = rest.find([',', '}']).unwrap_or(rest.len());
            rest = rest[next..].strip_prefix(',').unwrap_or(&rest[next..]);
            if rest.is_empty() {
                break;
            }
        }
        return rest.trim_start().strip_prefix('}').unwrap_or(rest);
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    if name.is_empty() {
        // Types in angle brackets, say.
        found.extend((!above.is_empty()).then(|| above.to_vec()));
        return rest;
    }
    let mut path = above.to_vec();
    if name != "self" {
        path.push(name.to_owned());
    }
    match rest.strip_prefix("::") {
        Some(further) => paths(further, &path, found),
        None => {
            found.push(path);
            rest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> ModulePath {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn paths_into_the_crate_are_spelled_out() {
        let text = "use crate::a::B;\nuse crate::{c, d::{self, e::F, G as H}, I};\nuse super::{j, k};\n\
                    // crate::l\nfn m() { crate::n::o::<u8>(super::super::p(1)) }\n\
                    #[cfg(test)]\nmod tests {\n use crate::q;\n}";
        let found = imports(&path("x::y"), text);
        let expected = [
            "a::B", "c", "d", "d::e::F", "d::G", "I", "n::o", "x::j", "x::k", "p",
        ];
        assert_eq!(found, expected.map(path));
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
    fn check(arrows: &[(&str, &str)], floors: &[&[&str]], ringed: &[&str]) {
        let arrows: Vec<_> = arrows
            .iter()
            .map(|(from, to)| (path(from), vec![path(to)]))
            .collect();
        let found = stack(&graph(&arrows, &[]));
        assert_eq!(
            (found.floors, found.ringed),
            (
                floors
                    .iter()
                    .map(|f| f.iter().map(ToString::to_string).collect::<Vec<_>>())
                    .collect(),
                ringed.iter().map(ToString::to_string).collect::<Vec<_>>()
            )
        );
    }

    #[test]
    fn modules_stand_on_floors_or_in_a_ring() {
        let two = [
            ("a::x", "b::y"),
            ("b", "c"),
            ("a::x", "c::z"),
            ("c", "c::y"),
        ];
        check(&two, &[&["c"], &["b"], &["a"]], &[]);
        check(&[("a", "b"), ("b", "a")], &[], &["a", "b"]);
        let beside = [
            ("top", "a"),
            ("a", "b"),
            ("b", "a"),
            ("b", "leaf"),
            ("leaf", "Item"),
        ];
        check(&beside, &[&["leaf"]], &["a", "b"]);
    }

    #[test]
    fn a_folder_has_floors_of_its_own() {
        let arrows = [("f::a", "f::b"), ("f::b", "g::a"), ("g::a", "f::a")];
        let arrows = arrows.map(|(from, to)| (path(from), vec![path(to)]));
        let folder = "f".to_owned();
        let found = stack(&graph(&arrows, &[&folder]));
        assert_eq!(found.floors, [["b"], ["a"]]);
    }
}
