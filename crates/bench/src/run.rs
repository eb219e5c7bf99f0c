//! What all rows share: the program, a place on the disk, how much to do.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Fallible;
use crate::args::Args;
use crate::contest::millis;

pub(crate) struct Run {
    /// The program under test.
    pub(crate) program: PathBuf,
    /// A program that does nothing.
    pub(crate) nothing: PathBuf,
    /// Where things are made; gone with the run.
    dir: tempfile::TempDir,
    pub(crate) quick: bool,
    pub(crate) cold: bool,
    /// How many sessions there are at most, where a row has very many.
    pub(crate) sessions: Option<usize>,
    /// How much a corpus has.
    pub(crate) megabytes: Option<usize>,
}

impl Run {
    pub(crate) fn new(args: &Args) -> Fallible<Self> {
        let own = std::env::current_exe()?;
        let beside = own.parent().ok_or("this program lies nowhere")?;
        let program = match std::env::var_os("SIGLUM_BIN") {
            Some(path) => PathBuf::from(path),
            None => beside.join("siglum"),
        };
        let program = program.canonicalize().map_err(|e| {
            format!(
                "{}: {e}; build it with `cargo build --profile dist -p siglum`",
                program.display()
            )
        })?;
        let nothing = beside.join("siglum-bench-nothing");
        if !nothing.is_file() {
            return Err(format!(
                "{} is missing; build it with `cargo build --profile dist -p siglum-bench`",
                nothing.display()
            )
            .into());
        }
        let dir = tempfile::Builder::new().prefix("siglum-bench-").tempdir()?;
        // As an installation has it: a file as a linker leaves it lies otherwise in the system's cache, and starts more slowly.
        let installed = dir.path().canonicalize()?.join("siglum");
        std::fs::copy(&program, &installed)?;
        let program = installed;
        Ok(Self {
            program,
            nothing,
            dir,
            quick: args.quick,
            cold: args.cold,
            sessions: args.sessions,
            megabytes: args.megabytes,
        })
    }

    /// A directory of this run, created.
    pub(crate) fn dir(&self, name: &str) -> Fallible<PathBuf> {
        let dir = self.dir.path().canonicalize()?.join(name);
        std::fs::create_dir_all(&dir)?;
        Ok(dir)
    }

    /// Either number, by how much is wanted.
    pub(crate) const fn much(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Starts the program that does nothing and waits for it; milliseconds.
    pub(crate) fn empty_process(&self) -> Fallible<f64> {
        let mut command = Command::new(&self.nothing);
        command.env_clear().stdin(std::process::Stdio::null());
        let start = Instant::now();
        let status = command.status()?;
        let time = millis(start);
        if status.success() {
            Ok(time)
        } else {
            Err("the program that does nothing failed".into())
        }
    }
}

/// The bytes that everything below a path takes on disk, in blocks of 4 KB.
pub(crate) fn on_disk(path: &Path) -> Fallible<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let meta = std::fs::symlink_metadata(path)?;
    let own = (meta.blocks() * 512).next_multiple_of(4096);
    if !meta.is_dir() {
        return Ok(own);
    }
    let mut sum = own;
    for entry in std::fs::read_dir(path)? {
        sum += on_disk(&entry?.path())?;
    }
    Ok(sum)
}
