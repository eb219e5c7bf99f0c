//! What all packages say of the program: from the manifests, and nowhere else.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::{Failure, programs, workspace};

/// Who is named where a format wants an address. Nobody is written to there: faults are issues of the repository.
const MAINTAINER: &str = "The Siglum Authors <siglum@users.noreply.github.com>";

/// Names and what they stand for in the texts of `packaging/`.
#[derive(Clone)]
pub(crate) struct Facts {
    values: Vec<(String, String)>,
}

impl Facts {
    /// Reads the manifests.
    pub(crate) fn load() -> Result<Self, Failure> {
        let root = workspace::root();
        let shared = manifest(&root.join("Cargo.toml"))?;
        let own = manifest(&root.join("crates/cli/Cargo.toml"))?;
        let of = |table: &Table, path: &[&str]| {
            let first = table.get(path[0]);
            let found = path[1..].iter().fold(first, |at, key| at?.get(key));
            let text = found.and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| Failure::new(format!("no {} in a manifest", path.join("."))))
        };
        let workspace = ["workspace", "package"];
        let shared = |key| of(&shared, &[&workspace[..], &[key]].concat());
        let facts = Self { values: Vec::new() };
        Ok(facts
            .with("name", of(&own, &["package", "name"])?)
            .with("description", of(&own, &["package", "description"])?)
            .with("version", shared("version")?)
            .with("license", shared("license")?)
            .with("repository", shared("repository")?)
            .with("maintainer", MAINTAINER))
    }

    /// The same, and one fact more.
    pub(crate) fn with(&self, name: &str, value: impl Into<String>) -> Self {
        let mut facts = self.clone();
        facts.values.push((name.to_owned(), value.into()));
        facts
    }

    pub(crate) fn get(&self, name: &str) -> &str {
        let found = self.values.iter().find(|(known, _)| known == name);
        let value = found.map(|(_, value)| value.as_str());
        value.expect("because facts are asked for by names that are loaded")
    }

    /// Fills a text. A name that nobody knows fails: it would be shipped as it stands.
    pub(crate) fn fill(&self, text: &str) -> Result<String, Failure> {
        let filled = self
            .values
            .iter()
            .fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{{{name}}}}}"), value)
            });
        match filled.split_once("{{") {
            Some((_, rest)) => {
                let name = rest.split("}}").next().unwrap_or_default();
                Err(Failure::new(format!("nothing is known of {{{{{name}}}}}")))
            }
            None => Ok(filled),
        }
    }

    /// Fills a text of `packaging/`.
    pub(crate) fn fill_file(&self, path: &str) -> Result<String, Failure> {
        let filled = self.fill(&workspace::read(&source(path))?);
        filled.map_err(|e| Failure::new(format!("packaging/{path}: {e}")))
    }
}

/// A file of `packaging/`.
pub(crate) fn source(path: &str) -> PathBuf {
    workspace::root().join("packaging").join(path)
}

/// When the sources were committed, in seconds: packages of the same commit are the same bytes.
pub(crate) fn epoch() -> String {
    let log = programs::program("git")
        .args(["log", "-1", "--format=%ct"])
        .output();
    let text = log.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned());
    match text {
        Ok(text) if !text.is_empty() => text,
        // A tarball of the sources has no log.
        _ => "0".to_owned(),
    }
}

fn manifest(path: &Path) -> Result<Table, Failure> {
    let parsed = workspace::read(path)?.parse::<Table>();
    parsed.map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_filled_whole_or_not_at_all() {
        let facts = Facts { values: Vec::new() }.with("name", "siglum");
        assert_eq!(facts.fill("{{name}} {{name}}").unwrap(), "siglum siglum");
        let failure = facts.fill("{{name}} {{color}}").unwrap_err();
        assert_eq!(failure.to_string(), "nothing is known of {{color}}");
    }

    #[test]
    fn the_manifests_have_all_facts() {
        let facts = Facts::load().unwrap();
        assert_eq!(facts.get("name"), "siglum");
        assert!(facts.get("repository").starts_with("https://"));
    }

    #[test]
    fn the_readme_has_the_clone_line_and_the_rust_version_of_the_manifest() {
        let root = workspace::root();
        let readme = workspace::read(&root.join("README.md")).unwrap();
        let shared = manifest(&root.join("Cargo.toml")).unwrap();
        let of = |key: &str| shared["workspace"]["package"][key].as_str().unwrap();
        for line in [
            format!("git clone {} && cd siglum\n", of("repository")),
            format!("Rust {} or newer", of("rust-version")),
        ] {
            assert!(readme.contains(&line), "the README lacks `{line}`");
        }
    }

    #[test]
    fn the_readme_begins_with_one_line_and_has_daily_commands_apart_from_servers() {
        let root = workspace::root();
        let readme = workspace::read(&root.join("README.md")).unwrap();
        let line =
            "```sh\ncurl -fsSL {{repository}}/releases/latest/download/install.sh | sh\n```\n";
        let line = Facts::load().unwrap().fill(line).unwrap();
        let (_, first) = readme.split_once("\n## ").unwrap();
        let (before, _) = first.split_once(&line).unwrap();
        let is_first = before.starts_with("Install\n\n") && !before.contains("```");
        assert!(is_first, "before the line stands {before}");
        assert!(readme.contains("](docs/demo.svg)") && root.join("docs/demo.svg").is_file());
        let (_, rest) = readme.split_once("\n### Every day\n").unwrap();
        let (daily, rest) = rest
            .split_once("\n### Pipelines, teams and platforms\n")
            .unwrap();
        let (servers, _) = rest.split_once("\n## ").unwrap();
        for (command, is_daily) in [
            ("`siglum why <commit>`", true),
            ("`siglum log`", true),
            ("`siglum resume <id>`", true),
            ("`siglum serve`", false),
            ("`siglum mcp`", false),
        ] {
            let there = [daily, servers].map(|section| section.contains(command));
            assert_eq!(there, [is_daily, !is_daily], "{command}");
        }
    }
}
