//! What git has of a file, for transcripts that tell a change as a patch alone.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use siglum_agents::Committed;
use siglum_domain::intake::Place;
use siglum_domain::{Oid, Timestamp};
use siglum_gitstore::{Git, GitError};

use crate::World;

/// The largest file that is looked at, in bytes.
const MOST: u64 = 8 << 20;
/// How many times one transcript may ask: each costs a few processes, and whoever wrote it may be nobody's friend.
const LOOKUPS_MOST: usize = 2_000;
/// The longest path that is looked for, in bytes: no file has a longer one, and those that are not there are kept in memory.
const PATH_MOST: usize = 4_096;
/// For how long after a change HEAD is looked at, too, in milliseconds: the next change is likely to come by then.
const AHEAD_MS: i64 = 3_600_000;

/// The history of a checkout.
#[derive(Debug)]
pub(super) struct InGit {
    git: Git,
    worktree: PathBuf,
    lookups: AtomicUsize,
    known: Mutex<Known>,
}

/// What git answered: a transcript asks for many changes of the same files, and for files that are not committed.
#[derive(Debug, Default)]
struct Known {
    /// The commit that HEAD had from one moment to another.
    head: Option<(Timestamp, Timestamp, Option<Oid>)>,
    /// Paths that commits do not have.
    missing: HashSet<(Oid, String)>,
}

impl Known {
    fn head_before(&mut self, git: &Git, at: Timestamp) -> Result<Option<Oid>, GitError> {
        if let Some((from, to, head)) = &self.head
            && (*from..=*to).contains(&at)
        {
            return Ok(head.clone());
        }
        let head = git.head_before(at)?;
        // What HEAD had at two moments, it had between them. Who asked before is likely to ask again.
        let ahead = at.plus_millis(AHEAD_MS);
        let to = match self.head.is_some() && git.head_before(ahead)? == head {
            true => ahead,
            false => at,
        };
        self.head = Some((at, to, head.clone()));
        Ok(head)
    }
}

impl InGit {
    pub(super) fn at(world: &World<'_>, place: &Place) -> Self {
        Self {
            git: world.git(&place.worktree),
            worktree: PathBuf::from(&place.worktree),
            lookups: AtomicUsize::new(0),
            known: Mutex::default(),
        }
    }

    fn committed_versions(
        &self,
        path: &str,
        at: Timestamp,
        began_at: Option<Oid>,
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.head_before(&self.git, at)?;
        let commits = before.into_iter().chain(began_at);
        let mut places: Vec<(Oid, String)> = commits.map(|c| (c, path.to_owned())).collect();
        places.retain(|place| !known.missing.contains(place));
        let mut blobs = Vec::new();
        for (place, blob) in places.iter().zip(self.git.blob_ids(&places)?) {
            match blob {
                Some(blob) => blobs.push(blob),
                None => {
                    known.missing.insert(place.clone());
                }
            }
        }
        blobs.dedup();
        let found = self.git.blobs(&blobs, MOST)?;
        Ok(found
            .into_iter()
            .filter_map(|(_, content)| content)
            .collect())
    }
}

impl Committed for InGit {
    fn contents(&self, path: &Path, at: Timestamp, began_at: Option<&str>) -> Vec<Vec<u8>> {
        if self.lookups.fetch_add(1, Ordering::Relaxed) >= LOOKUPS_MOST {
            return Vec::new();
        }
        let Some(path) = path
            .strip_prefix(&self.worktree)
            .ok()
            .and_then(Path::to_str)
            .filter(|path| path.len() <= PATH_MOST)
        else {
            return Vec::new();
        };
        let began_at = began_at.and_then(|id| Oid::new(id).ok());
        self.committed_versions(path, at, began_at)
            .unwrap_or_else(|error| {
                tracing::debug!("what {path} was could not be told: {error}");
                Vec::new()
            })
    }
}
