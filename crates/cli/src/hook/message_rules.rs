//! Which messages git takes, as far as a hook can tell: the trailer is added to no other.

use siglum_domain::commit_message::{Cleanup, automatic_comment, is_taken, is_taken_anyhow};
use siglum_gitstore::{Git, MessageSettings, Repo};

use super::commit_options::CommitOptions;
use crate::env;

/// The editor by which git says that it starts none; and by which people say so.
const NO_EDITOR: &str = ":";
/// What begins a comment where nothing else is set.
const COMMENT: &str = "#";

/// Whether the message goes through an editor after this hook, be it one that does nothing. `source`
/// is what git says of where the message came from.
pub fn opens_editor(source: &str, options: Option<&CommitOptions>) -> bool {
    if env::text("GIT_EDITOR").as_deref() != Some(NO_EDITOR) {
        return true;
    }
    // Git gives its hooks the same word where it opens no editor, and it opens none only for a message
    // that is there.
    match source {
        "none" | "template" => true,
        _ => options.is_some_and(|options| options.opens_editor),
    }
}

/// Whether git takes a message that goes through no editor. It is asked how it tidies the message only
/// if that matters; if it does and nobody knows, the answer is no.
pub fn is_message_taken(repo: &Repo, text: &str, options: Option<&CommitOptions>) -> bool {
    if is_taken_anyhow(text) {
        return true;
    }
    let Some(options) = options else {
        return false;
    };
    let Some(settings) = settings(repo) else {
        return false;
    };
    let cleanup = options.cleanup.as_deref().or(settings.cleanup.as_deref());
    let cleanup = Cleanup::without_editor(cleanup.unwrap_or("default"));
    cleanup.is_some_and(|cleanup| is_taken(text, cleanup, &comment_in(text, Some(settings))))
}

/// What begins a comment in a message.
pub fn comment(repo: &Repo, message: &str) -> String {
    comment_in(message, settings(repo))
}

fn settings(repo: &Repo) -> Option<MessageSettings> {
    Git::new(env::git(), repo.worktree())
        .message_settings()
        .ok()
}

fn comment_in(message: &str, settings: Option<MessageSettings>) -> String {
    match settings.and_then(|settings| settings.comment) {
        Some(comment) if comment.eq_ignore_ascii_case("auto") => {
            automatic_comment(message).to_string()
        }
        Some(comment) => comment,
        None => COMMENT.to_owned(),
    }
}
