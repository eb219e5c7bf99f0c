//! What is known of the lines of other commits, where git itself carried them: a rebase, a cherry-pick, an
//! amendment, a squash, a checkout.
//!
//! That a commit is a copy of another one needs a trace of git's: what `post-rewrite` said; a log of HEAD
//! that says that git made it, with the author's second, author and subject, which it keeps; or `ORIG_HEAD`, which a squash
//! leaves at the parent. Equal content alone is none: somebody may have written the same elsewhere.

use siglum_domain::Oid;
use siglum_domain::commit::{Change, CommitFacts};
use siglum_domain::provenance::Canvas;
use siglum_ledger::{CommitFilter, CommitRecord, Ledger, LedgerError, read, stored_name};

use crate::EngineError;
use crate::commits::committed_file::CommittedFile;
use crate::commits::contents::Contents;

/// Among how many commits copies are looked for, the newest.
const COMMITS_MOST: usize = 512;
/// How many commits that changed a file one after the other are followed back.
const CHAIN_MOST: usize = 32;

/// The recorded commits of a repository, read when somebody asks for them.
#[derive(Default)]
pub(crate) struct Copies {
    commits: Option<Vec<CommitRecord>>,
}

impl Copies {
    fn commits(
        &mut self,
        ledger: &mut dyn Ledger,
        file: &CommittedFile<'_>,
    ) -> Result<&[CommitRecord], LedgerError> {
        if self.commits.is_none() {
            let newest = CommitFilter::of_repository(file.repository, COMMITS_MOST);
            self.commits = Some(read(ledger, |tx| tx.commits(&newest))?);
        }
        Ok(self.commits.as_deref().unwrap_or_default())
    }

    /// What is known of the lines of a blob that git put at a path: from the recorded commits that left it
    /// there. Where they do not agree, nothing.
    pub(crate) fn canvas_of(
        &mut self,
        ledger: &mut dyn Ledger,
        contents: &mut Contents<'_>,
        file: &CommittedFile<'_>,
        blob: &Oid,
    ) -> Result<Canvas, EngineError> {
        let mut chain: Vec<(Oid, Oid)> = Vec::new();
        let mut next = Some(blob.clone());
        while let Some(blob) = next.take().filter(|_| chain.len() < CHAIN_MOST) {
            let leaves = |c: &&CommitRecord| {
                let left = change_at(c, file.path).and_then(|change| change.after.as_ref());
                c.commit != *file.commit && left == Some(&blob)
            };
            let mut leaving = self.commits(ledger, file)?.iter().filter(leaves);
            let (Some(commit), None) = (leaving.next(), leaving.next()) else {
                break;
            };
            next = change_at(commit, file.path).and_then(|change| change.before.clone());
            chain.push((commit.commit.clone(), blob));
        }
        contents.fetch(chain.iter().map(|(_, blob)| blob).chain([blob]))?;
        let mut canvas: Option<Canvas> = None;
        for (commit, blob) in chain.into_iter().rev() {
            let spans = spans_of(ledger, file, &commit)?;
            let content = contents.blob(Some(&blob))?.unwrap_or_default();
            canvas = Some(Canvas::from_spans(content, &spans, canvas.as_ref()));
        }
        match canvas {
            Some(canvas) => Ok(canvas),
            None => Ok(Canvas::new(contents.blob(Some(blob))?.unwrap_or_default())),
        }
    }

    /// What is known of a commit's file from the commits that it is a copy of.
    pub(crate) fn known(
        &mut self,
        ledger: &mut dyn Ledger,
        contents: &mut Contents<'_>,
        of: (&CommitFacts, &str, bool),
        file: &CommittedFile<'_>,
    ) -> Result<Vec<Canvas>, EngineError> {
        let mut found = Vec::new();
        for (commit, blob, exact) in self.sources(ledger, of, file)? {
            let spans = spans_of(ledger, file, &commit)?;
            let Some(content) = contents.blob(Some(&blob))?.filter(|_| !spans.is_empty()) else {
                continue;
            };
            let mut canvas = Canvas::from_spans(content, &spans, None).kept_in(file.content);
            if !exact && blob != *file.blob {
                canvas.doubt();
            }
            found.push(canvas);
        }
        Ok(found)
    }

    /// The commits that this one was made of, each with the blob that it left and whether the patch is the
    /// same.
    fn sources(
        &mut self,
        ledger: &mut dyn Ledger,
        (facts, patch, carried): (&CommitFacts, &str, bool),
        file: &CommittedFile<'_>,
    ) -> Result<Vec<(Oid, Oid, bool)>, LedgerError> {
        let rewritten = read(ledger, |tx| {
            tx.rewritten_from(file.repository, &facts.commit)
        })?;
        let is_source = |c: &&CommitRecord| {
            // Two commits of one second may have all of that in common and be nobody's copies.
            let same = carried && keeps_authorship(c, facts);
            c.commit != facts.commit && (same || rewritten.contains(&c.commit))
        };
        let source = |c: &CommitRecord| {
            let change = change_at(c, file.path)
                .or_else(|| file.moved_from.and_then(|from| change_at(c, from)))?;
            let same_patch = !patch.is_empty() && c.patch.as_deref() == Some(patch);
            Some((c.commit.clone(), change.after.clone()?, same_patch))
        };
        let commits = self.commits(ledger, file)?;
        Ok(commits
            .iter()
            .filter(is_source)
            .filter_map(source)
            .collect())
    }
}

/// Whether a recorded commit has the author, the author's second and the subject of another one, which git keeps in a copy.
pub(crate) fn keeps_authorship(commit: &CommitRecord, of: &CommitFacts) -> bool {
    commit.facts.as_ref().is_some_and(|facts| {
        facts.authored == of.authored
            && facts.author == stored_name(&of.author)
            && facts.subject == stored_name(&of.subject)
    })
}

fn change_at<'c>(commit: &'c CommitRecord, path: &str) -> Option<&'c Change> {
    let mut changes = commit.facts.iter().flat_map(|f| &f.changes);
    let stored = stored_name(path);
    changes.find(|change| change.path == stored)
}

/// The origins that were found for a file of a commit.
fn spans_of(
    ledger: &mut dyn Ledger,
    file: &CommittedFile<'_>,
    commit: &Oid,
) -> Result<Vec<siglum_domain::provenance::Span>, LedgerError> {
    let files = read(ledger, |tx| tx.authors(file.repository, commit))?;
    let own = files
        .into_iter()
        .flatten()
        .find(|f| file.is_called(&f.path));
    Ok(own.map(|f| f.spans).unwrap_or_default())
}
