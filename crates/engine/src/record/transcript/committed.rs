//! What git has of a file, for transcripts that tell a change as a patch alone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use siglum_agents::Committed;
use siglum_domain::intake::Place;
use siglum_domain::{Oid, Timestamp};
use siglum_gitstore::{Git, GitError};

use crate::World;

/// The largest file that is looked at, in bytes.
const MOST: u64 = 8 << 20;
/// How many times one transcript may ask: each costs a few processes, and whoever wrote it may be nobody's friend.
const LOOKUPS_MOST: usize = 2_000;

/// The history of a checkout.
#[derive(Debug)]
pub(super) struct InGit {
    git: Git,
    worktree: PathBuf,
    lookups: AtomicUsize,
}

impl InGit {
    pub(super) fn at(world: &World<'_>, place: &Place) -> Self {
        Self {
            git: world.git(&place.worktree),
            worktree: PathBuf::from(&place.worktree),
            lookups: AtomicUsize::new(0),
        }
    }

    fn committed_versions(
        &self,
        path: &str,
        at: Timestamp,
        began_at: Option<Oid>,
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let before = self.git.head_before(at)?;
        let commits = before.into_iter().chain(began_at);
        let places: Vec<(Oid, String)> = commits.map(|c| (c, path.to_owned())).collect();
        let mut blobs: Vec<Oid> = self.git.blob_ids(&places)?.into_iter().flatten().collect();
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
