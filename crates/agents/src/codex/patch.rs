//! The patches that Codex's edit tool is given: which files they change.

use std::path::{Path, PathBuf};

use crate::paths::normal;

/// Most files that one patch is taken to change.
const LIMIT: usize = 1000;

/// The change of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change<'t> {
    Add(&'t str),
    Update(&'t str),
    Delete(&'t str),
    /// Other content, or the same, at another path.
    Move(&'t str, &'t str),
}

impl<'t> Change<'t> {
    /// The paths that it touches, as the patch names them, each with the one that its content comes
    /// from where that is another.
    fn paths(self) -> impl Iterator<Item = (&'t str, Option<&'t str>)> {
        let (first, second) = match self {
            Self::Add(path) | Self::Update(path) | Self::Delete(path) => (path, None),
            Self::Move(from, to) => (from, Some((to, Some(from)))),
        };
        std::iter::once((first, None)).chain(second)
    }

    /// As Codex itself tells it.
    pub(super) fn summary_line(&self) -> String {
        match self {
            Self::Add(path) => format!("A {path}"),
            Self::Update(path) => format!("M {path}"),
            Self::Delete(path) => format!("D {path}"),
            Self::Move(from, to) => format!("R {from} -> {to}"),
        }
    }
}

/// The changes that a patch names, in order.
pub(super) fn changes(patch: &str) -> Vec<Change<'_>> {
    let mut found: Vec<Change<'_>> = Vec::new();
    for line in patch.lines().filter(|line| line.starts_with("*** ")) {
        let named = |head: &str| line.strip_prefix(head).map(str::trim).filter(|p| usable(p));
        if let (Some(to), Some(Change::Update(from))) = (named("*** Move to: "), found.last()) {
            let moved = Change::Move(from, to);
            found.pop();
            found.push(moved);
            continue;
        }
        let change = named("*** Add File: ")
            .map(Change::Add)
            .or_else(|| named("*** Update File: ").map(Change::Update))
            .or_else(|| named("*** Delete File: ").map(Change::Delete));
        found.extend(change.filter(|_| found.len() < LIMIT));
    }
    found
}

/// The lines that a patch adds to files.
pub(super) fn added(patch: &str) -> String {
    let lines = patch.split_inclusive('\n');
    lines.filter_map(|line| line.strip_prefix('+')).collect()
}

fn usable(path: &str) -> bool {
    !path.is_empty() && path.len() <= 4096 && !path.contains('\0')
}

/// A file that is touched, absolute where that can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Touched {
    pub(super) path: PathBuf,
    /// The file that is moved here.
    pub(super) moved_from: Option<PathBuf>,
}

/// The files that changes touch, each once.
pub(super) fn files(changes: &[Change<'_>], cwd: Option<&str>) -> Vec<Touched> {
    let absolute = |path: &str| normal(&Path::new(cwd.unwrap_or_default()).join(path));
    let mut files: Vec<Touched> = Vec::new();
    for (path, from) in changes.iter().flat_map(|change| change.paths()) {
        let path = absolute(path);
        if files.iter().all(|file| file.path != path) {
            let moved_from = from.map(absolute);
            files.push(Touched { path, moved_from });
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: dir/new.txt\n+*** Add File: no\n+n2\n\
        *** Update File: a.txt\n@@\n one\n-two\n+TWO\n*** Delete File: b.txt\n\
        *** Update File: c.txt\n*** Move to: /repo/moved.txt\n@@\n m1\n*** End Patch\n";

    #[test]
    fn every_file_of_a_patch_is_named() {
        let changes = changes(PATCH);
        let lines: Vec<String> = changes.iter().map(Change::summary_line).collect();
        assert_eq!(
            lines,
            [
                "A dir/new.txt",
                "M a.txt",
                "D b.txt",
                "R c.txt -> /repo/moved.txt"
            ]
        );
        let files = files(&changes, Some("/repo"));
        let shown: Vec<_> = files
            .iter()
            .map(|f| {
                (
                    f.path.to_str(),
                    f.moved_from.as_ref().and_then(|p| p.to_str()),
                )
            })
            .collect();
        let expected = [
            (Some("/repo/dir/new.txt"), None),
            (Some("/repo/a.txt"), None),
            (Some("/repo/b.txt"), None),
            (Some("/repo/c.txt"), None),
            (Some("/repo/moved.txt"), Some("/repo/c.txt")),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_lines_that_a_patch_adds_are_known() {
        assert_eq!(added(PATCH), "*** Add File: no\nn2\nTWO\n");
        assert_eq!(added("*** Begin Patch\n-a\n b\n"), "");
    }

    #[test]
    fn what_is_no_patch_names_nothing() {
        for text in [
            "",
            "*** Begin Patch",
            "*** Move to: x",
            "*** Add File: ",
            "+*** Add File: x",
            "*** Add File: a\0b",
        ] {
            assert_eq!(changes(text), [], "{text:?}");
        }
        let twice = changes("*** Update File: a\n*** Update File: ./a\n");
        let paths =
            |cwd| -> Vec<PathBuf> { files(&twice, cwd).into_iter().map(|f| f.path).collect() };
        assert_eq!(paths(Some("/r")), [PathBuf::from("/r/a")]);
        assert_eq!(paths(None), [PathBuf::from("a")]);
    }

    #[test]
    fn the_number_is_bounded() {
        let patch: String = (0..2 * LIMIT)
            .map(|n| format!("*** Add File: {n}\n"))
            .collect();
        assert_eq!(changes(&patch).len(), LIMIT);
    }
}
