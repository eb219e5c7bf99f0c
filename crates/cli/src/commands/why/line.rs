//! One line of a file: the commit that brought it, and who wrote it there.

use std::ops::RangeInclusive;

use siglum_engine::commits::prompts::{Prompt, prompt_of_line};
use siglum_engine::commits::why::{Author, Why};
use siglum_gitstore::{BlameLine, Git, Repo};
use siglum_ledger::{SqliteLedger, stored_name};

use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;

/// A file of this checkout, or some of its lines.
pub(super) struct Target {
    pub(super) repo: Repo,
    /// Relative to the root.
    pub(super) path: String,
    /// All lines, where none are named.
    pub(super) range: Option<RangeInclusive<u32>>,
}

impl Target {
    /// The line that a text names alone.
    pub(super) fn one(&self) -> Option<u32> {
        let range = self.range.as_ref()?;
        (range.start() == range.end()).then_some(*range.start())
    }
}

/// Where the one line that is asked for came from, if it is committed.
pub(super) fn find(target: &Target) -> Option<BlameLine> {
    let number = target.one()?;
    let git = Git::new(env::git(), target.repo.worktree());
    let mut lines = git.blame(&target.path, Some(number..=number), None).ok()?;
    lines.pop().filter(|line| !line.commit.is_zero())
}

/// What led the author of a line to write it.
pub(super) fn author_prompt(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    why: &Why,
    line: &BlameLine,
) -> Result<Option<Prompt>, CommandError> {
    let Some(session) = writer(why, line).and_then(|author| author.session) else {
        return Ok(None);
    };
    let (world, path) = (cx.world()?, stored_name(&line.path));
    let found = prompt_of_line(
        &world,
        ledger,
        (why.repository, &why.facts),
        session,
        &path,
        &line.text,
    )?;
    Ok(found)
}

/// The author whose lines hold this one; none if it was in the parent already or is nobody's.
pub(super) fn writer<'a>(why: &'a Why, line: &BlameLine) -> Option<&'a Author> {
    let path = stored_name(&line.path);
    let holds = |author: &&Author| {
        let files = author.files.iter().filter(|(name, _)| *name == path);
        let mut spans = files.flat_map(|(_, spans)| spans);
        spans.any(|span| (span.first..=span.last).contains(&line.line))
    };
    why.authors.iter().find(holds)
}
