//! What a reader of an answer should know beside it.

use serde::Serialize;
use siglum_domain::evidence::Verdict;
use siglum_engine::commits::why::Why;
use siglum_gitstore::Repo;
use siglum_gitstore::hooks::{self, HookCondition};
use siglum_ledger::{Ledger, LedgerError, SeenBy, read};

use crate::cx::Cx;

/// How many of the last declines are looked through for this commit.
const DECLINES_MOST: usize = 10_000;
/// Clocks of writers may differ by so much, in ms.
const BEFORE: i64 = 60 * 60 * 1000;

/// One thing to know.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Warning {
    /// `message-mixed` or `hooks-taken-over`.
    pub code: &'static str,
    /// The same in words.
    pub text: String,
}

/// All there is to know beside an answer.
pub(super) fn collect(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    why: &Why,
) -> Result<Vec<Warning>, LedgerError> {
    let mut warnings = Vec::new();
    let since = why.facts.committed.plus_millis(-BEFORE);
    let declines = read(ledger, |tx| tx.declines(since, DECLINES_MOST))?;
    let commit = why.facts.commit.as_str();
    let mixed = declines
        .into_iter()
        .find(|d| d.reason == "message_mixed" && d.detail.contains(commit));
    warnings.extend(mixed.map(|decline| Warning {
        code: "message-mixed",
        text: decline.detail,
    }));
    let seen = matches!(why.seen_by, Some(SeenBy::Hook | SeenBy::Rewrite));
    if why.judgement.verdict == Verdict::Unknown && !seen {
        warnings.extend(hooks_taken_over(cx));
    }
    Ok(warnings)
}

/// Whether git runs other hooks than ours here, which would be why nothing is known.
fn hooks_taken_over(cx: &Cx) -> Option<Warning> {
    let repo = cx.find_repo().filter(Repo::is_on)?;
    let site = cx.hook_site(&repo).ok()?;
    let dir = site.present_dir();
    let lacking: Vec<String> = hooks::inspect(&site, &cx.home.shim())
        .into_iter()
        .filter(|hook| hook.state == HookCondition::Missing)
        .map(|hook| hook.name)
        .collect();
    let inside = dir.strip_prefix(repo.worktree()).unwrap_or(&dir);
    (!lacking.is_empty()).then(|| Warning {
        code: "hooks-taken-over",
        text: format!(
            "git hooks in {} do not call siglum ({}): commits are missed or recorded in part; run `siglum init` again",
            inside.display(),
            lacking.join(", ")
        ),
    })
}
