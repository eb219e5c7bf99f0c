//! Where things are: the workspace, the target directory, the crates and their sources.

use std::path::{Path, PathBuf};

use crate::{Failure, programs};

/// Files in memory, on Linux.
const MEMORY: &str = "/dev/shm";
/// How many kibibytes tests and a server may need.
const ROOM: u64 = 4 << 20;

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

/// Where the files of tests and of their servers are: in memory if there is room. They are some hundred for each store, and a
/// disk takes longer to make them than to write what is in them.
pub(crate) fn short_lived() -> PathBuf {
    let sizes = programs::program("df").args(["-P", "-k", MEMORY]).output();
    let text = sizes.map(|sizes| String::from_utf8_lossy(&sizes.stdout).into_owned());
    let free = text.ok().and_then(|text| {
        let free = text.lines().nth(1)?.split_whitespace().nth(3)?;
        free.parse::<u64>().ok()
    });
    // Tests make programs of their own.
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mut mounts = mounts.lines().map(|line| line.split(' '));
    let takes_programs = mounts.any(|mut mount| {
        mount.nth(1) == Some(MEMORY) && !mount.any(|words| words.split(',').any(|w| w == "noexec"))
    });
    match free {
        Some(free) if free >= ROOM && takes_programs => MEMORY.into(),
        _ => std::env::temp_dir(),
    }
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
