//! Who wrote which lines: the edits of all sessions between a parent and a commit, replayed.
//!
//! A pure function of contents. A line that nobody was seen writing belongs to nobody.

use imara_diff::{Algorithm, Diff, InternedInput};
use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// One seen change of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Who made it.
    pub session: SessionId,
    /// The content before; empty if there was no file.
    pub before: Vec<u8>,
    /// The content after; empty if there is none.
    pub after: Vec<u8>,
}

/// Where one line of a content came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was in the parent already.
    Parent,
    /// This session was seen writing it.
    Session(SessionId),
    /// Nobody was seen writing it.
    Unknown,
}

/// A run of lines with one origin. Lines count from 1, both ends inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The first line.
    pub first: u32,
    /// The last line.
    pub last: u32,
    /// Where they came from.
    pub origin: Origin,
}

impl Span {
    /// How many lines.
    #[must_use]
    pub const fn lines(&self) -> u32 {
        self.last + 1 - self.first
    }
}

/// A content and, line by line, its origins.
struct Canvas {
    content: Vec<u8>,
    origins: Vec<Origin>,
}

impl Canvas {
    fn of_parent(content: Vec<u8>) -> Self {
        let origins = vec![Origin::Parent; count_lines(&content)];
        Self { content, origins }
    }

    /// Moves to `next`: lines that the diff keeps keep their origin, all others are `by`.
    fn become_(&mut self, next: &[u8], by: Origin) {
        if self.content == next {
            return;
        }
        let input = InternedInput::new(self.content.as_slice(), next);
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_no_heuristic(&input);
        let mut origins = Vec::with_capacity(input.after.len());
        let mut kept = 0usize;
        for hunk in diff.hunks() {
            origins.extend_from_slice(&self.origins[kept..hunk.before.start as usize]);
            origins.extend(std::iter::repeat_n(by, hunk.after.len()));
            kept = hunk.before.end as usize;
        }
        origins.extend_from_slice(&self.origins[kept..]);
        self.content = next.to_vec();
        self.origins = origins;
    }
}

/// Replays `steps` in order from `parent` to `commit` and gives the origin of each line of `commit`.
///
/// Where a step does not start from what the one before it left, the difference was made by
/// somebody who was not seen. A step that a later one undid leaves no trace.
#[must_use]
pub fn replay(parent: Vec<u8>, steps: &[Step], commit: &[u8]) -> Vec<Span> {
    let mut kept = Canvas::of_parent(parent.clone());
    kept.become_(commit, Origin::Unknown);
    let mut canvas = Canvas::of_parent(parent);
    for step in steps {
        canvas.become_(&step.before, Origin::Unknown);
        canvas.become_(&step.after, Origin::Session(step.session));
    }
    canvas.become_(commit, Origin::Unknown);
    // Steps may start from another branch's content: what the commit did not touch is the parent's.
    let origins = kept
        .origins
        .iter()
        .zip(&canvas.origins)
        .map(|(kept, seen)| match (kept, seen) {
            (Origin::Parent, _) => Origin::Parent,
            (_, Origin::Parent) => Origin::Unknown,
            (_, seen) => *seen,
        });
    spans(&origins.collect::<Vec<_>>())
}

/// Runs of equal origin.
fn spans(origins: &[Origin]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (line, origin) in (1u32..).zip(origins) {
        match spans.last_mut() {
            Some(span) if span.origin == *origin => span.last = line,
            _ => spans.push(Span {
                first: line,
                last: line,
                origin: *origin,
            }),
        }
    }
    spans
}

/// The keyed hash of one line, so that a line can be recognised without being kept.
#[must_use]
pub fn line_hash(key: &[u8; 32], line: &[u8]) -> u64 {
    let hash = blake3::keyed_hash(key, line);
    u64::from_le_bytes(
        hash.as_bytes()[..8]
            .try_into()
            .expect("because a hash has 32 bytes"),
    )
}

/// The keyed hashes of the lines that `after` has and `before` has not.
#[must_use]
pub fn added_lines(key: &[u8; 32], before: &[u8], after: &[u8]) -> Vec<u64> {
    let input = InternedInput::new(before, after);
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut hashes = Vec::new();
    for hunk in diff.hunks() {
        for token in &input.after[hunk.after.start as usize..hunk.after.end as usize] {
            hashes.push(line_hash(key, input.interner[*token]));
        }
    }
    hashes
}

/// The number of lines of a content; an unfinished last line counts.
#[must_use]
pub fn count_lines(content: &[u8]) -> usize {
    let breaks = memchr::memchr_iter(b'\n', content).count();
    breaks + usize::from(!content.is_empty() && !content.ends_with(b"\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ses(n: u128) -> SessionId {
        SessionId::from_uuid(uuid::Uuid::from_u128(n))
    }

    fn step(n: u128, before: &str, after: &str) -> Step {
        Step {
            session: ses(n),
            before: before.into(),
            after: after.into(),
        }
    }

    fn check(parent: &str, steps: &[Step], commit: &str, expected: &[(u32, u32, Origin)]) {
        let spans = replay(parent.into(), steps, commit.as_bytes());
        let got: Vec<_> = spans.iter().map(|s| (s.first, s.last, s.origin)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn each_line_belongs_to_who_was_seen_writing_it() {
        let (one, two) = (Origin::Session(ses(1)), Origin::Session(ses(2)));
        check(
            "a\n",
            &[step(1, "a\n", "a\nb\n")],
            "a\nb\n",
            &[(1, 1, Origin::Parent), (2, 2, one)],
        );
        check(
            "a\n",
            &[step(1, "a\n", "a\nb\n"), step(2, "a\nb\n", "x\na\nb\n")],
            "x\na\nb\n",
            &[(1, 1, two), (2, 2, Origin::Parent), (3, 3, one)],
        );
    }

    #[test]
    fn what_nobody_was_seen_writing_is_unknown() {
        let one = Origin::Session(ses(1));
        check("", &[], "a\n", &[(1, 1, Origin::Unknown)]);
        check(
            "a\n",
            &[step(1, "a\n", "a\nb\n")],
            "a\nb\nc\n",
            &[(1, 1, Origin::Parent), (2, 2, one), (3, 3, Origin::Unknown)],
        );
        check(
            "a\n",
            &[step(1, "a\nh\n", "a\nh\nb\n")],
            "a\nh\nb\n",
            &[(1, 1, Origin::Parent), (2, 2, Origin::Unknown), (3, 3, one)],
        );
    }

    #[test]
    fn a_change_carried_to_another_branch_keeps_its_writer() {
        let one = Origin::Session(ses(1));
        check(
            "other\na\n",
            &[step(1, "a\n", "a\nb\n")],
            "other\na\nb\n",
            &[(1, 2, Origin::Parent), (3, 3, one)],
        );
    }

    #[test]
    fn a_rewritten_line_leaves_its_writer() {
        check("", &[step(1, "", "a\n")], "b\n", &[(1, 1, Origin::Unknown)]);
        check(
            "",
            &[step(1, "", "a\n"), step(2, "a\n", "b\n")],
            "b\n",
            &[(1, 1, Origin::Session(ses(2)))],
        );
    }

    #[test]
    fn lines_need_no_line_feed_and_no_text() {
        assert_eq!(count_lines(b""), 0);
        assert_eq!(count_lines(b"a"), 1);
        assert_eq!(count_lines(b"a\n\xff"), 2);
    }

    #[test]
    fn added_lines_are_recognised_by_their_key_only() {
        let added = added_lines(&[1; 32], b"a\n", b"a\nb\n");
        assert_eq!(added, [line_hash(&[1; 32], b"b\n")]);
        assert_ne!(added, added_lines(&[2; 32], b"a\n", b"a\nb\n"));
    }

    proptest! {
        #[test]
        fn every_line_has_one_origin(
            texts in prop::collection::vec("[abc\n]{0,30}", 2..6),
        ) {
            let steps: Vec<_> = texts.windows(2).enumerate().map(|(n, w)| step(n as u128, &w[0], &w[1])).collect();
            let commit = texts.last().unwrap();
            let spans = replay(texts[0].clone().into(), &steps, commit.as_bytes());
            let mut next = 1;
            for span in &spans {
                prop_assert_eq!(span.first, next);
                prop_assert!(span.last >= span.first);
                next = span.last + 1;
            }
            prop_assert_eq!(next as usize - 1, count_lines(commit.as_bytes()));
        }
    }
}
