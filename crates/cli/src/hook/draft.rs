//! What a commit will be, for the case that no hook sees it landing.

use std::path::PathBuf;

use siglum_domain::draft::draft_digest;
use siglum_domain::intake::Scene;
use siglum_gitstore::Repo;

use super::message::Message;
use crate::env;

/// Adds the digest of what the commit will be to its scene. One of an agent is found by its trailer, and a message
/// that a person edits is not known yet.
pub fn with_draft(mut scene: Scene, repo: &Repo, message: Option<&Message>) -> Scene {
    let is_final = env::text("GIT_EDITOR").as_deref() == Some(":");
    let by_trailer = !scene.agents.is_empty() || !scene.variables.is_empty();
    if is_final && !by_trailer {
        scene.draft = digest(&scene, repo, message);
    }
    scene
}

fn digest(scene: &Scene, repo: &Repo, message: Option<&Message>) -> Option<String> {
    let text = message?.cleaned("");
    let index = env::path("GIT_INDEX_FILE").unwrap_or_else(|| PathBuf::from("index"));
    let tree = repo.index_tree(&repo.worktree().join(index))?;
    let subject = text.lines().next().unwrap_or_default();
    Some(draft_digest(scene.checkpoint, &tree, subject))
}
