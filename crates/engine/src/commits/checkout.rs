//! A checkout as the origin of a commit: what HEAD did there, and what that did to a file.

use std::path::Path;

use siglum_domain::Oid;
use siglum_gitstore::{MoveKind, ReflogMove, Repo, discover};
use siglum_ledger::EditRecord;

/// Most moves of HEAD that are followed between the first edit of a file and a commit.
const MOVES_MOST: usize = 256;

/// The checkout that a commit was made in.
pub(crate) struct Checkout {
    pub(crate) worktree: String,
    pub(crate) repo: Repo,
    moves: Vec<ReflogMove>,
    /// Where the commit stands in the log of HEAD.
    cut: Option<u64>,
    /// Whether git made the commit of another one: a cherry-pick, a rebase, `git am`.
    carries: bool,
}

impl Checkout {
    /// A checkout that is there, whether or not its log of HEAD says that the commit was made in it.
    pub(crate) fn open(worktree: &str, commit: &Oid) -> Option<Self> {
        let repo = discover(Path::new(worktree), None, None)?;
        if repo.worktree() != Path::new(worktree) {
            return None;
        }
        let moves = repo.head_moves();
        let made = moves.iter().find(|m| m.to == *commit && m.makes);
        Some(Self {
            cut: made.map(|m| m.position),
            carries: made.is_some_and(|m| m.kind == MoveKind::Checkout),
            worktree: worktree.to_owned(),
            moves,
            repo,
        })
    }

    /// Whether the log of HEAD says that the commit was made here.
    pub(crate) const fn has_made(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether git made the commit of another one here, and not somebody of what was in the index.
    pub(crate) const fn has_carried(&self) -> bool {
        self.carries
    }

    /// Whether an edit had ended, had begun, or had not begun when the commit was made; nothing where
    /// neither says how far HEAD had come.
    pub(crate) fn timing(&self, edit: &EditRecord) -> Option<Timing> {
        let cut = self.cut?;
        let (began, ended) = (edit.detail.before.head_log, edit.detail.after.head_log);
        match (began.or(ended)?, ended) {
            (began, _) if began > cut => Some(Timing::After),
            (_, Some(ended)) if ended > cut => Some(Timing::During),
            _ => Some(Timing::Before),
        }
    }

    /// The moves of HEAD from an edit to the commit that may have changed files, oldest first; at most so
    /// many that following them costs little, the newest.
    pub(crate) fn moves_since(&self, edit: &EditRecord) -> &[ReflogMove] {
        let from = self.position(edit);
        let first = self.moves.partition_point(|m| m.position < from);
        let past = match self.cut {
            Some(cut) => self.moves.partition_point(|m| m.position < cut),
            None => self.moves.len(),
        };
        let moves = self.moves.get(first..past).unwrap_or_default();
        &moves[moves.len().saturating_sub(MOVES_MOST)..]
    }

    /// Where in the log of HEAD an edit belongs. An edit of which only the time is known is put before the
    /// moves of its second, so that what came of it is rather lost than made up.
    pub(crate) fn position(&self, edit: &EditRecord) -> u64 {
        let detail = &edit.detail;
        detail
            .after
            .head_log
            .or(detail.before.head_log)
            .unwrap_or_else(|| {
                let second = edit.at.nanos() / 1_000_000_000;
                let later = |m: &&ReflogMove| m.at.nanos() / 1_000_000_000 >= second;
                let next = self.moves.iter().find(later);
                next.map_or(u64::MAX, |m| m.position)
            })
    }
}

/// How an edit stands to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timing {
    /// The call had ended.
    Before,
    /// The call was running.
    During,
    /// The call had not begun.
    After,
}

/// Whether a move may have changed a file whose blob was this before and is that after it.
pub(crate) fn replaces(kind: MoveKind, before: Option<&Oid>, after: Option<&Oid>) -> bool {
    match kind {
        // A commit takes the file as it is, unless it removes it.
        MoveKind::Commit => before.is_some() && after.is_none(),
        // What a reset left is seen at the next sight.
        MoveKind::Reset => false,
        MoveKind::Checkout => before != after,
    }
}
