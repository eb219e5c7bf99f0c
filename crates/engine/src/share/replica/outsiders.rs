//! Sessions that a document names beside the one it belongs to, and taking them out of it where they may not be named.
//!
//! Sender and receiver hide by the same rule. The committer of a commit is not hidden here: without it the commit would
//! say something else.

use std::collections::BTreeSet;

use siglum_domain::SessionId;
use siglum_domain::evidence::Judgement;
use siglum_domain::provenance::Origin;

use super::wire::CommitDocument;

/// The sessions that a commit names beside its committer.
pub(super) fn named_beside(document: &CommitDocument) -> BTreeSet<SessionId> {
    let judgement = &document.judgement;
    let mut named: BTreeSet<SessionId> = judgement.candidates.iter().copied().collect();
    named.extend(&judgement.outer);
    named.extend(judgement.evidence.iter().filter_map(|e| e.session));
    let spans = document.authors.iter().flatten().flat_map(|f| &f.spans);
    named.extend(spans.filter_map(|span| match span.origin {
        Origin::Session(session) => Some(session),
        Origin::Parent | Origin::Unknown => None,
    }));
    named
}

/// Takes all that is of these sessions out of a commit.
pub(super) fn hide(document: &mut CommitDocument, is_outside: impl Fn(SessionId) -> bool) {
    let files = document.authors.iter_mut().flatten();
    for span in files.flat_map(|f| &mut f.spans) {
        if matches!(span.origin, Origin::Session(s) if is_outside(s)) {
            span.origin = Origin::Unknown;
        }
    }
    hide_in(&mut document.judgement, is_outside);
}

/// Takes all that is of these sessions out of a judgement.
pub(super) fn hide_in(judgement: &mut Judgement, is_outside: impl Fn(SessionId) -> bool) {
    judgement.candidates.retain(|s| !is_outside(*s));
    judgement.outer.retain(|s| !is_outside(*s));
    judgement
        .evidence
        .retain(|e| e.session.is_none_or(|s| !is_outside(s)));
}
