//! The files beside the ledger that hold text: what is forgotten, and what secrets are looked for in, is the same list.

use std::fs;
use std::path::{Path, PathBuf};

use siglum_gitstore::{is_on, siglum_dir};
use siglum_ledger::{Ledger, RepositoryRecord, Spool, read};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::home::{BEFORE_RESTORE, Home, repository_spool};
use crate::hook::{commit_note, landings};

/// The files of this home and of all repositories that are here, and the spools among them.
pub struct TextFiles {
    pub spools: Vec<Spool>,
    siglum_dirs: Vec<PathBuf>,
    own: Vec<PathBuf>,
}

impl TextFiles {
    /// Finds the places. The repository that we stand in is one of them, whether it is known or not.
    pub fn find(cx: &Cx, ledger: &mut dyn Ledger) -> Result<Self, CommandError> {
        let mut siglum_dirs = siglum_dirs(&read(ledger, |tx| tx.repositories())?);
        siglum_dirs.extend(cx.find_repo().map(|repo| repo.siglum_dir()));
        siglum_dirs.sort();
        siglum_dirs.dedup();
        let of = |dir: &PathBuf| repository_spool(dir);
        let spools = std::iter::once(cx.home.spool()).chain(siglum_dirs.iter().map(of));
        // The record of `init` is none of them: without it `uninstall` would not find what it has to take back.
        let mut own = vec![cx.home.log()];
        own.extend(files_in(&cx.home.heartbeats()));
        own.extend(files_in(&cx.home.answers()));
        Ok(Self {
            spools: spools.collect(),
            siglum_dirs,
            own,
        })
    }

    /// The files as they are now. A note of a commit under way is none of them: the commit takes it with it.
    pub fn list(&self) -> Vec<PathBuf> {
        let notes = self
            .siglum_dirs
            .iter()
            .flat_map(|dir| commit_note::left(dir));
        let leftovers = self.spools.iter().flat_map(Spool::leftovers);
        let mut files = self.own.clone();
        files.extend(leftovers.chain(notes));
        files.sort();
        files.dedup();
        files
    }
}

/// Has what the notes of commits say wait in the spools of the repositories that are here, and removes the notes of
/// commits that were refused.
pub fn take_up_notes(home: &Home, repositories: &[RepositoryRecord], ledger: &mut dyn Ledger) {
    for dir in siglum_dirs(repositories) {
        landings::spool(home, &dir, |checkpoint| {
            landings::is_told(ledger, checkpoint)
        });
    }
}

/// The ledgers that `siglum restore` kept, with their logs. They still hold what was forgotten since: nothing is erased in
/// a file that is kept as it was.
pub fn older_ledgers(home: &Home) -> Vec<PathBuf> {
    let begin = format!("{}{BEFORE_RESTORE}", home.ledger().display());
    let mut files = files_in(home.dir());
    files.retain(|path| path.to_string_lossy().starts_with(&begin));
    files.sort();
    files
}

/// Siglum's directories in the repositories that are here.
fn siglum_dirs(repositories: &[RepositoryRecord]) -> Vec<PathBuf> {
    let here = repositories.iter().filter(|r| r.is_here());
    let common_dirs = here.map(|r| Path::new(&r.common_dir));
    let on = common_dirs.filter(|dir| is_on(dir));
    on.map(siglum_dir).collect()
}

fn files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let files = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_file()));
    files.map(|e| e.path()).collect()
}
