//! How long a source file may be. Functions are measured by clippy (`too_many_lines`).

use std::path::Path;

use crate::{Failure, workspace};

/// Above this many lines a file fails.
const FAIL: usize = 800;
/// Above this many lines a file is named as a warning.
const WARN: usize = 600;

/// Pure data tables that may be longer, with the reason.
const EXEMPT: &[(&str, &str)] = &[
    (
        "crates/domain/src/redact/rules/known.rs",
        "one row per kind of secret, each with its sample",
    ),
    (
        "crates/domain/src/redact/rules/tokens.rs",
        "one row per kind of secret, each with its sample",
    ),
];

/// Folders and crates that hold nothing but tests.
const TEST_FOLDERS: &[&str] = &["tests", "it", "benches", "conformance", "fixtures"];

/// One counted file.
pub(crate) struct Measured {
    /// Its path below the workspace.
    pub(crate) path: String,
    /// Its lines up to the tests at its end.
    pub(crate) lines: usize,
}

impl Measured {
    fn is_exempt(&self) -> bool {
        EXEMPT.iter().any(|(path, _)| *path == self.path)
    }
}

/// Every source file that is not a test, the longest first.
pub(crate) fn measure(root: &Path) -> Result<Vec<Measured>, Failure> {
    let mut found = Vec::new();
    for dir in workspace::crate_dirs(root)? {
        for path in workspace::sources(&dir)? {
            let short = path.strip_prefix(root).unwrap_or(&path);
            if !is_test(short) {
                let lines = count(&workspace::read(&path)?);
                let path = short.display().to_string();
                found.push(Measured { path, lines });
            }
        }
    }
    found.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.path.cmp(&b.path)));
    Ok(found)
}

/// What is too long and what soon will be.
pub(crate) fn check(files: &[Measured]) -> (Vec<String>, Vec<String>) {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|f| !f.is_exempt()) {
        let Measured { path, lines } = file;
        if *lines > FAIL {
            problems.push(format!("{path} has {lines} lines, more than {FAIL}"));
        } else if *lines > WARN {
            warnings.push(format!("{path} has {lines} lines, more than {WARN}"));
        }
    }
    (problems, warnings)
}

/// Prints the longest files.
pub(crate) fn print_largest() -> Result<(), Failure> {
    for Measured { path, lines } in measure(&workspace::root())?.iter().take(20) {
        println!("{lines:5}  {path}");
    }
    Ok(())
}

fn is_test(path: &Path) -> bool {
    let folder = path.parent().into_iter().flat_map(Path::iter);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    folder
        .into_iter()
        .any(|part| TEST_FOLDERS.iter().any(|t| part == *t))
        || stem == "tests"
        || stem.ends_with("_tests")
}

/// Lines up to a `#[cfg(test)] mod … {` at the end of the file.
fn count(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).rposition(|pair| {
        pair[0].trim_end() == "#[cfg(test)]"
            && pair[1].starts_with("mod ")
            && pair[1].ends_with('{')
    });
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_too_long() {
        let files = measure(&workspace::root()).unwrap();
        assert!(files.len() > 5, "only {} files found", files.len());
        let (problems, _) = check(&files);
        assert!(problems.is_empty(), "{problems:#?}");
    }

    #[test]
    fn lines_end_where_the_tests_begin() {
        assert_eq!(count("a\nb\n"), 2);
        assert_eq!(count("a\n\n#[cfg(test)]\nmod tests {\n  x\n}\n"), 2);
        assert_eq!(count("#[cfg(test)]\nmod tests;\nfn a() {}\n"), 3);
        assert_eq!(count("#[cfg(test)]\nfn only() {}\nfn b() {}\n"), 3);
    }

    #[test]
    fn limits_and_exemptions() {
        let file = |path: &str, lines| Measured {
            path: path.to_owned(),
            lines,
        };
        let files = [
            file("a.rs", 801),
            file("b.rs", 601),
            file("c.rs", 600),
            file(EXEMPT[0].0, 5000),
        ];
        let (problems, warnings) = check(&files);
        assert_eq!(problems, ["a.rs has 801 lines, more than 800"]);
        assert_eq!(warnings, ["b.rs has 601 lines, more than 600"]);
    }

    #[test]
    fn what_counts_as_a_test() {
        assert!(is_test(Path::new("crates/tests/it/main.rs")));
        assert!(is_test(Path::new("crates/conformance/src/turns.rs")));
        assert!(is_test(Path::new("crates/cli/src/hook/tests.rs")));
        assert!(!is_test(Path::new("crates/cli/src/commands/init.rs")));
    }
}
