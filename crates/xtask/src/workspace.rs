//! Where things are: the workspace, the target directory, the crates and their sources.

use std::path::{Path, PathBuf};

use crate::Failure;

/// The directory of the workspace's manifest.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2);
    root.expect("because this crate lies two levels below the workspace")
        .to_owned()
}

/// The directory with the dev programs, where cargo put this program, too.
pub(crate) fn dev_dir() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|e| Failure::new(format!("own path: {e}")))?;
    let dir = own.parent().map(Path::to_owned);
    dir.ok_or_else(|| Failure::new("own path has no directory"))
}

/// The target directory in use.
pub(crate) fn target_dir() -> Result<PathBuf, Failure> {
    let dev = dev_dir()?;
    let dir = dev.parent().map(Path::to_owned);
    dir.ok_or_else(|| Failure::new("the dev directory has no parent"))
}

/// The folders below `crates/`, sorted.
pub(crate) fn crate_dirs(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut dirs: Vec<PathBuf> = entries(&root.join("crates"))?
        .into_iter()
        .filter(|path| path.join("Cargo.toml").is_file())
        .collect();
    dirs.sort();
    Ok(dirs)
}

/// Every `.rs` file below a directory but for build output, in no particular order.
pub(crate) fn sources(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for path in entries(&dir)? {
            if path.is_dir() {
                if !path.ends_with("target") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The text of a file; the error names it.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::new(format!("{}: {e}", path.display())))
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |e: std::io::Error| Failure::new(format!("{}: {e}", dir.display()));
    std::fs::read_dir(dir)
        .map_err(fail)?
        .map(|entry| entry.map(|e| e.path()).map_err(fail))
        .collect()
}
