//! What the product's own sources say, for rules that no type holds.

use std::fs;
use std::path::Path;

/// The crates of the product. What plays or measures it has rules of its own.
const PRODUCT: &[&str] = &[
    "agents",
    "cli",
    "domain",
    "egress",
    "engine",
    "gateway",
    "gitstore",
    "ledger",
    "platform",
    "store",
    "telemetry",
];

/// The lines that hold one of these words, with their files, but for those of tests.
pub(crate) fn source_lines_with(words: &[&str]) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for name in PRODUCT {
        collect(&crates.join(name).join("src"), words, &mut found);
    }
    found
}

fn collect(dir: &Path, words: &[&str], found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if name == "tests.rs" || name == "tests" {
            continue;
        }
        if path.is_dir() {
            collect(&path, words, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let has_one = |line: &&str| words.iter().any(|word| line.contains(word));
        let lines = text.lines().filter(has_one);
        found.extend(lines.map(|line| format!("{}: {line}", path.display())));
    }
}
