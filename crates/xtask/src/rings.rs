//! Rings of modules: where every module leads to every other one, none of them can be read, tested or moved alone.
//!
//! Modules are the files and folders in a crate's `src`, and in each folder below it; an arrow is a path that begins with
//! `crate::` or `super::`. It leads to the last module that the path names: what a folder passes on from one of its modules
//! is the folder's. Tests may import what they like.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Failure, workspace};

/// The crate whose folders have a table of their own.
const ENGINE: &str = "engine";

/// What each folder of the engine may import of the others. `docs/ARCHITECTURE.md` has the same arrows.
const FOLDERS: &[(&str, &[&str])] = &[
    ("identity", &[]),
    ("commits", &["identity"]),
    ("record", &["identity", "commits"]),
    ("driven", &["identity", "commits", "record"]),
    ("share", &["identity", "record"]),
    (
        "views",
        &["identity", "commits", "record", "driven", "share"],
    ),
];

/// What all folders of the engine stand on. What is neither here nor among the folders stands on them.
const GROUND: &[&str] = &["damage", "error", "world"];

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
        for (folder, stack) in stacks(&arrows) {
            let is_told = folder.is_empty() || name == ENGINE;
            let place = [vec![name.to_string()], folder].concat().join("/");
            match stack.ringed.is_empty() {
                true if is_told => floors.push(format!("{place}: {stack}")),
                true => {}
                false => problems.push(ring(&place, &stack)),
            }
        }
        if name == ENGINE {
            problems.extend(check_folders(&graph(&arrows, &[])));
        }
    }
    Ok((floors, problems))
}

fn ring(place: &str, stack: &Stack) -> String {
    format!("{place}: a ring of modules: {}", stack.ringed.join(", "))
}

/// The arrows between the folders of the engine that their table lacks.
fn check_folders(graph: &Graph) -> Vec<String> {
    let mut problems = Vec::new();
    for (folder, allowed) in FOLDERS {
        let imported = graph.get(*folder).into_iter().flatten();
        let lacking = imported
            .map(String::as_str)
            .filter(|to| !GROUND.contains(to) && !allowed.contains(to));
        problems.extend(lacking.map(|to| {
            format!("{ENGINE}: {folder} → {to} is not in the table of docs/ARCHITECTURE.md")
        }));
    }
    problems
}

/// The modules of a crate on floors, and those of each folder in it.
fn stacks(arrows: &[(ModulePath, Vec<ModulePath>)]) -> BTreeMap<ModulePath, Stack> {
    let above = |module: &ModulePath| {
        let folders = (0..module.len()).map(|depth| module[..depth].to_vec());
        folders.collect::<Vec<_>>()
    };
    let folders: BTreeSet<ModulePath> = arrows.iter().flat_map(|(m, _)| above(m)).collect();
    let stack = |folder: ModulePath| {
        let stack = stack(&graph(arrows, &folder));
        (folder, stack)
    };
    folders.into_iter().map(stack).collect()
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
fn graph(arrows: &[(ModulePath, Vec<ModulePath>)], folder: &[String]) -> Graph {
    let within = |path: &ModulePath| {
        let (above, rest) = path.split_at_checked(folder.len())?;
        rest.first().filter(|_| above == folder).cloned()
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
    let mut add = |at: usize, rest: &str, above: &[String]| {
        let begun = found.len();
        paths(rest, above, &mut found);
        // Only a `use` ends with a module. A function may be called like one.
        if !code[..at].trim_end().ends_with("use") {
            for path in &mut found[begun..] {
                path.pop();
            }
        }
    };
    for (at, start) in code.match_indices("crate::") {
        add(at, &code[at + start.len()..], &[]);
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
            add(at, rest, &above);
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
                    // crate::l\nfn m() { crate::n::o::<u8>(super::super::p::q(1)) }\n\
                    #[cfg(test)]\nmod tests {\n use crate::q;\n}";
        let found = imports(&path("x::y"), text);
        let expected = [
            "a::B", "c", "d", "d::e::F", "d::G", "I", "n", "x::j", "x::k", "p",
        ];
        assert_eq!(found, expected.map(path));
    }

    #[test]
    fn a_function_may_be_called_like_a_module() {
        let found = |text: &str| imports(&path("x::y"), text);
        assert_eq!(found("fn m() { super::z(1) }"), [path("x")]);
        assert_eq!(found("fn m() { n.map(crate::x::z) }"), [path("x")]);
        assert_eq!(found("fn m() { crate::x::z::o(1) }"), [path("x::z")]);
        assert_eq!(found("pub use super::z;"), [path("x::z")]);
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

    fn ringed(arrows: &[(&str, &str)]) -> Vec<String> {
        let arrows: Vec<_> = arrows
            .iter()
            .map(|(from, to)| (path(from), vec![path(to)]))
            .collect();
        let ringed = |(folder, stack): (ModulePath, Stack)| {
            (!stack.ringed.is_empty()).then(|| ring(&folder.join("/"), &stack))
        };
        stacks(&arrows).into_iter().filter_map(ringed).collect()
    }

    #[test]
    fn a_folder_has_floors_of_its_own() {
        let through_another = [("f::a", "f::b"), ("f::b", "g::a"), ("g::a", "g::b")];
        assert_eq!(ringed(&through_another), [] as [String; 0]);
        let one_deep = [("f::a", "f::b::X"), ("f::b::c", "f::a"), ("g", "f::a")];
        assert_eq!(ringed(&one_deep), ["f: a ring of modules: a, b"]);
        let two_deep = [("f::g::a", "f::g::b"), ("f::g::b", "f::g::a")];
        assert_eq!(ringed(&two_deep), ["f/g: a ring of modules: a, b"]);
        let upwards = [("f", "f::a"), ("f::a", "f::X")];
        assert_eq!(ringed(&upwards), [] as [String; 0]);
    }

    #[test]
    fn folders_of_the_engine_keep_to_their_table() {
        let lacking = |from: &str, to: &str| {
            let to = BTreeSet::from([to.to_owned()]);
            check_folders(&Graph::from([(from.to_owned(), to)]))
        };
        assert_eq!(lacking("record", "commits"), [] as [String; 0]);
        assert_eq!(lacking("commits", "world"), [] as [String; 0]);
        assert_eq!(lacking("worker", "views"), [] as [String; 0]);
        assert_eq!(
            lacking("commits", "record"),
            ["engine: commits → record is not in the table of docs/ARCHITECTURE.md"]
        );
        assert_eq!(lacking("identity", "worker").len(), 1);
    }

    #[test]
    fn the_workspace_has_no_rings() {
        let (floors, problems) = super::check(&workspace::root()).unwrap();
        let has = |place: &str| floors.iter().any(|floor| floor.starts_with(place));
        assert!(has("ledger: ") && has("engine/identity: "), "{floors:#?}");
        assert!(problems.is_empty(), "{problems:#?}");
    }
}
