//! Names that say nothing: a function is named after what it does or returns, a type after the thing, a file after its
//! subject. Whoever searches the code for a word of the product should find it. And what only one place may say: the name
//! of Siglum's directory in a repository, since whoever joins it elsewhere follows links, and the verbs by which a session
//! comes to be, gets its names and is found by one, since whoever calls them elsewhere passes by the bounds of links, the
//! audit, and the rule of whose something is.

use std::path::Path;

use crate::{Failure, workspace};

/// Verbs of telling, and a bare preposition: no names for functions or files, and no ends of the names of types.
const BANNED: &[&str] = &["told", "said", "asked", "heard", "found", "of"];

/// Verbs that do not say what comes of them: no names for functions.
const BANNED_FUNCTIONS: &[&str] = &["look"];

/// Words that say where something stands, and not what it is: no names for files.
const BANNED_FILES: &[&str] = &["past", "aside", "late", "given", "kept", "apart"];

/// The file with the functions that give Siglum's directory in a repository, and tell whether it is one.
const SIGLUM_DIR: &str = "crates/gitstore/src/place.rs";

/// The folder that opens sessions, names them and finds them by a name.
const IDENTITY: &str = "crates/engine/src/identity";

/// The verbs of the ledger for that, each with what is called instead. Nothing else in the product is called so.
const IDENTITY_VERBS: &[(&str, &str)] = &[
    ("create_session", "open_session"),
    ("add_alias", "add_name"),
    ("add_caller_name", "add_name"),
    ("session_by_alias", "session_by_name"),
];

/// The crates that could call them in the product. Those below have the verbs, and the others test or measure them.
const CALLERS: &[&str] = &["engine", "cli", "gateway", "store"];

/// Every banned name in the sources of the workspace, with tests, examples and what fuzzing starts.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let mut problems = Vec::new();
    for dir in ["crates", "examples", "fuzz"].map(|dir| root.join(dir)) {
        for path in workspace::sources(&dir)? {
            let short = path.strip_prefix(root).unwrap_or(&path);
            problems.extend(check_file_name(short));
            problems.extend(check_text(short, &workspace::read(&path)?));
        }
    }
    problems.sort();
    Ok(problems)
}

fn check_file_name(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let banned = BANNED.contains(&stem) || BANNED_FILES.contains(&stem);
    banned.then(|| format!("{}: name the file after its subject", path.display()))
}

fn check_text(path: &Path, text: &str) -> Vec<String> {
    let problem = |(number, line): (usize, &str)| {
        let problem = check_line(line)
            .or_else(|| check_join(path, line))
            .or_else(|| check_identity_verb(path, line))?;
        Some(format!("{}:{}: {problem}", path.display(), number + 1))
    };
    text.lines().enumerate().filter_map(problem).collect()
}

/// The words of a line up to the name of what it declares; comments and texts declare nothing.
fn check_line(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let declares = words.find(|word| {
        let before = ["async", "const", "unsafe", "extern", "\"C\""];
        let is_visibility = word.starts_with("pub") || word.ends_with(')');
        !is_visibility && !before.contains(word)
    })?;
    let end = |c: char| !c.is_alphanumeric() && c != '_';
    let name = words.next()?.split(end).next()?;
    match declares {
        "fn" if BANNED.contains(&name) || BANNED_FUNCTIONS.contains(&name) => Some(format!(
            "`fn {name}`: name it after what it does or returns"
        )),
        "struct" | "enum" | "trait" | "type" if ends_banned(name) => {
            Some(format!("`{declares} {name}`: name it after the thing"))
        }
        _ => None,
    }
}

fn check_join(path: &Path, line: &str) -> Option<String> {
    let is_joined = line.contains("common_dir") && line.contains(".join(\"siglum\")");
    let is_elsewhere = path != Path::new(SIGLUM_DIR);
    (is_joined && is_elsewhere).then(|| format!("call `siglum_dir` or `is_on` of {SIGLUM_DIR}"))
}

fn check_identity_verb(path: &Path, line: &str) -> Option<String> {
    let (verb, instead) = IDENTITY_VERBS
        .iter()
        .find(|(verb, _)| names_verb(line, verb))?;
    let is_product = CALLERS
        .iter()
        .any(|name| path.starts_with(Path::new("crates").join(name).join("src")));
    let is_test = path
        .iter()
        .any(|part| part == "tests" || part == "tests.rs");
    let is_elsewhere = is_product && !is_test && !path.starts_with(IDENTITY);
    is_elsewhere.then(|| format!("`{verb}`: call `{instead}` of {IDENTITY}"))
}

/// Whether code names a verb of whatever has it: it is called, or handed on to be called. Comments name what they like.
fn names_verb(line: &str, verb: &str) -> bool {
    let is_comment = line.trim_start().starts_with("//");
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let names = |(at, _): (usize, &str)| {
        let (before, behind) = (&line[..at], &line[at + verb.len()..]);
        (before.ends_with('.') || before.ends_with("::")) && !behind.starts_with(is_part)
    };
    !is_comment && line.match_indices(verb).any(names)
}

/// Whether the last word of a name in camel case is banned.
fn ends_banned(name: &str) -> bool {
    let last = name.rfind(char::is_uppercase).map(|at| &name[at..]);
    last.is_some_and(|last| BANNED.contains(&last.to_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let found = check_line(line);
        match expected {
            Some(part) => assert!(
                found.as_ref().is_some_and(|f| f.contains(part)),
                "{found:?}"
            ),
            None => assert_eq!(found, None),
        }
    }

    #[test]
    fn banned_functions() {
        check("    pub(crate) const fn of(x: u8) -> Self {", Some("fn of"));
        check("async fn told<T>(", Some("fn told"));
        check("pub fn look<T>(", Some("fn look"));
        check("fn of_session(", None);
        check("// fn of(", None);
        check("let text = \"fn of(\";", None);
    }

    #[test]
    fn banned_types() {
        check("pub struct SessionTold {", Some("struct SessionTold"));
        check("pub(in crate::a) enum Said {", Some("enum Said"));
        check("type Found<T> = Vec<T>;", Some("type Found"));
        check("struct NotFoundPage;", None);
        check("struct Profound;", None);
    }

    #[test]
    fn joins_of_siglums_directory() {
        let line = "let dir = common_dir.join(\"siglum\");";
        let check = |path: &str| check_join(Path::new(path), line).is_some();
        assert!(check("crates/cli/src/cx.rs"));
        assert!(!check(SIGLUM_DIR));
    }

    #[test]
    fn verbs_of_identity() {
        let check = |path: &str, line: &str| check_identity_verb(Path::new(path), line).is_some();
        let line = "        tx.add_alias(agent, native, session, at)?;";
        assert!(check("crates/engine/src/driven/run.rs", line));
        assert!(check(
            "crates/gateway/src/naming.rs",
            "tx.create_session(&record)"
        ));
        for line in [
            "ledger.add_alias(agent, native, session, at)?;",
            "            .add_caller_name(agent, native, session, at)?;",
            "self.tx().create_session(&record)",
            "Transaction::add_alias(tx, agent, native, session, at)?;",
            "<dyn Transaction>::session_by_alias(tx, agent, native)?",
            "records.try_for_each(Transaction::create_session)",
            "let found = read(ledger, |tx| tx.session_by_alias(agent, native))?;",
        ] {
            assert!(check("crates/cli/src/hook/delivery.rs", line), "{line}");
        }
        for line in [
            "/// [`Transaction::add_alias`] does that.",
            "tx.add_aliases(agent, natives)?;",
            "tx.session_by_alias_start(text)?;",
            "fn create_session(",
            "identity::open_session(tx, &new)?;",
            "identity::session_by_name(tx, agent, native)?;",
        ] {
            assert!(!check("crates/cli/src/hook/delivery.rs", line), "{line}");
        }
        assert!(!check("crates/engine/src/identity/open.rs", line));
        assert!(!check("crates/engine/src/tests/seal.rs", line));
        assert!(!check("crates/engine/src/share/ingest/tests.rs", line));
        assert!(!check("crates/bench/src/rows/cost.rs", line));
        assert!(!check(
            "crates/engine/src/driven/run.rs",
            "add_name(tx, session, agent, name, at)?;"
        ));
    }

    #[test]
    fn banned_files() {
        let check = |path: &str| check_file_name(Path::new(path)).is_some();
        assert!(check("crates/engine/src/late.rs"));
        assert!(check("crates/engine/src/told.rs"));
        assert!(!check("crates/engine/src/late_hooks.rs"));
    }
}
