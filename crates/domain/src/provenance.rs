//! Who wrote which lines: what tools wrote on the way from a parent to a commit, replayed.
//!
//! A pure function of contents. A line that nobody was seen writing belongs to nobody.

use imara_diff::{Algorithm, Diff, InternedInput};
use serde::{Deserialize, Serialize};

use crate::id::SessionId;

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
    /// Whether the way of the lines has a piece that nobody saw: their writer is then no more than likely.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bridged: bool,
}

impl Span {
    /// How many lines.
    #[must_use]
    pub const fn lines(&self) -> u32 {
        self.last + 1 - self.first
    }
}

/// Whether the file that was seen next is the one that was seen last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// It is the same file of the file system, or nothing but the call itself came between: what is
    /// in both was kept.
    Same,
    /// It may be another file that only has the name: equal text proves nothing.
    Open,
}

/// One write of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub session: SessionId,
    /// The content that it started from; empty if there was no file.
    pub before: Vec<u8>,
    /// The content that it wrote; empty if there is no file any more.
    pub after: Vec<u8>,
    /// Whether the tool itself says what it wrote. Where it does not, somebody else may have saved
    /// during the call, and the writer is no more than likely.
    pub exact: bool,
    /// How it joins what was seen before.
    pub joint: Joint,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineOrigin {
    origin: Origin,
    bridged: bool,
}

impl LineOrigin {
    const fn new(origin: Origin) -> Self {
        Self {
            origin,
            bridged: false,
        }
    }
}

/// A content and, line by line, its origins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canvas {
    content: Vec<u8>,
    origins: Vec<LineOrigin>,
}

impl Canvas {
    /// A content of which nothing is known but that it was there.
    #[must_use]
    pub fn new(content: Vec<u8>) -> Self {
        let origins = vec![LineOrigin::new(Origin::Parent); count_lines(&content)];
        Self { content, origins }
    }

    /// The content of a commit with the origins that were found for its lines. Those of its parent
    /// are what they are in `parent`.
    #[must_use]
    pub fn from_spans(content: Vec<u8>, spans: &[Span], parent: Option<&Self>) -> Self {
        let mut canvas = match parent {
            Some(parent) => parent.kept_in(&content),
            None => Self::new(content),
        };
        for span in spans.iter().filter(|s| s.origin != Origin::Parent) {
            let range = span.first as usize - 1..(span.last as usize).min(canvas.origins.len());
            for line in canvas.origins.get_mut(range).into_iter().flatten() {
                *line = LineOrigin {
                    origin: span.origin,
                    bridged: span.bridged,
                };
            }
        }
        canvas
    }

    /// The content.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Makes all that is known of it likely at most.
    pub fn doubt(&mut self) {
        self.origins.iter_mut().for_each(|line| line.bridged = true);
    }

    /// The same lines in another content, as far as they are there. The rest is unknown.
    #[must_use]
    pub fn kept_in(&self, content: &[u8]) -> Self {
        let mut canvas = self.clone();
        canvas.change(content, LineOrigin::new(Origin::Unknown));
        canvas
    }

    /// How many of its lines are in another content.
    #[must_use]
    pub fn known_lines_in(&self, content: &[u8]) -> usize {
        let kept = self.kept_in(content);
        let is_kept = |line: &&LineOrigin| line.origin != Origin::Unknown;
        kept.origins.iter().filter(is_kept).count()
    }

    /// Moves to `next`: lines that the diff keeps keep their origin, all others are `by`.
    fn change(&mut self, next: &[u8], by: LineOrigin) -> Vec<std::ops::Range<usize>> {
        if self.content == next {
            return Vec::new();
        }
        let input = InternedInput::new(self.content.as_slice(), next);
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_no_heuristic(&input);
        let mut origins = Vec::with_capacity(input.after.len());
        let mut runs = Vec::new();
        let mut kept = 0usize;
        for hunk in diff.hunks() {
            let start = origins.len();
            origins.extend_from_slice(&self.origins[kept..hunk.before.start as usize]);
            runs.push(start..origins.len());
            origins.extend(std::iter::repeat_n(by, hunk.after.len()));
            kept = hunk.before.end as usize;
        }
        let start = origins.len();
        origins.extend_from_slice(&self.origins[kept..]);
        runs.push(start..origins.len());
        self.content = next.to_vec();
        self.origins = origins;
        runs
    }

    /// Moves to `next` by a change that nobody saw: what stays is likely at most, and a run of lines
    /// without a single letter or digit between two changes could be anybody's.
    fn bridge(&mut self, next: &[u8]) {
        let runs = self.change(next, LineOrigin::new(Origin::Unknown));
        let words: Vec<bool> = self
            .content
            .split_inclusive(|b| *b == b'\n')
            .map(|line| line.iter().any(|b| b.is_ascii_alphanumeric() || *b >= 0x80))
            .collect();
        for run in runs {
            let telling = words[run.clone()].iter().any(|word| *word);
            for line in &mut self.origins[run] {
                if !telling && matches!(line.origin, Origin::Session(_)) {
                    line.origin = Origin::Unknown;
                }
                line.bridged = true;
            }
        }
    }

    /// Moves to `next`, which was seen after this.
    fn join(&mut self, next: &[u8], joint: Joint) {
        match joint {
            _ if self.content == next => {}
            Joint::Same => self.bridge(next),
            Joint::Open => *self = Self::new(next.to_vec()),
        }
    }
}

/// The life of one file in one checkout: what tools wrote into it, and what git put in its place.
///
/// | what came next | what becomes of the lines |
/// | --- | --- |
/// | a tool's write that starts from exactly what is there | new lines are the session's, the others keep their origin |
/// | a write that starts from something else, in the same file | what is in both keeps its writer, *likely*; the rest is unknown |
/// | the same, where it may be another file of that name | nothing is known any more |
/// | a write that starts from what was there some writes ago | the origins of then, *likely*: it was taken back |
/// | git moved HEAD and put another content in its place | what is known of that content, or nothing |
/// | git removed the file | nothing is left, and what is written there later is a new file |
///
/// Text is compared only along this way: that it stands somewhere else, in another checkout or on
/// another branch, says nothing of who wrote it here.
#[derive(Debug, Clone)]
pub struct FileLife {
    now: Canvas,
    earlier: Vec<Canvas>,
}

impl FileLife {
    /// How many earlier contents are remembered.
    const EARLIER: usize = 32;

    /// The file as it was when it was seen first.
    #[must_use]
    pub fn new(content: Vec<u8>) -> Self {
        Self {
            now: Canvas::new(content),
            earlier: Vec::new(),
        }
    }

    /// What is there now.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        self.now.content()
    }

    /// A tool wrote.
    pub fn write(&mut self, step: &Step) {
        self.see(&step.before, step.joint);
        self.remember();
        let by = LineOrigin {
            origin: Origin::Session(step.session),
            bridged: !step.exact,
        };
        self.now.change(&step.after, by);
    }

    /// Git put a content in place of what was there.
    pub fn replace(&mut self, canvas: Canvas) {
        if self.now.content != canvas.content {
            self.earlier.clear();
            self.now = canvas;
        }
    }

    /// What becomes of the lines in a content that comes after this.
    #[must_use]
    pub fn lead_to(&self, content: &[u8], joint: Joint) -> Canvas {
        let mut life = self.clone();
        life.see(content, joint);
        life.now
    }

    fn see(&mut self, content: &[u8], joint: Joint) {
        if self.now.content == content {
            return;
        }
        let before = self.earlier.iter().rev().find(|c| c.content == content);
        if let Some(before) = before.filter(|c| !c.content.is_empty()).cloned() {
            self.remember();
            self.now = before;
            self.now
                .origins
                .iter_mut()
                .for_each(|line| line.bridged = true);
            return;
        }
        self.remember();
        self.now.join(content, joint);
    }

    fn remember(&mut self) {
        if self.earlier.len() == Self::EARLIER {
            self.earlier.remove(0);
        }
        self.earlier.push(self.now.clone());
    }
}

/// The origins of the lines of a commit, from the contents of the file in its parents and from what
/// is known of the committed content, the best knowledge first.
#[must_use]
pub fn lines_of_commit(parents: &[Vec<u8>], commit: &[u8], known: &[Canvas]) -> Vec<Span> {
    let mut origins = vec![LineOrigin::new(Origin::Unknown); count_lines(commit)];
    for canvas in known.iter().filter(|c| c.content == commit) {
        for (line, candidate) in origins.iter_mut().zip(&canvas.origins) {
            let is_named = matches!(candidate.origin, Origin::Session(_));
            if is_named && line.origin == Origin::Unknown {
                *line = *candidate;
            }
        }
    }
    for parent in parents {
        let kept = Canvas::new(parent.clone()).kept_in(commit);
        for (line, kept) in origins.iter_mut().zip(&kept.origins) {
            if kept.origin == Origin::Parent {
                *line = *kept;
            }
        }
    }
    spans(&origins)
}

/// What a call started from, where only the lines that it added are known and others may have saved
/// meanwhile: the content after it without those of its lines that were not there before. Nothing if all
/// that was added is its own, and it started from `before`.
#[must_use]
pub fn start_among_others(before: &[u8], after: &[u8], added: &[u8]) -> Option<Vec<u8>> {
    fn text(line: &[u8]) -> &[u8] {
        line.trim_ascii_end()
    }
    let own: std::collections::HashSet<&[u8]> = added.split(|b| *b == b'\n').map(text).collect();
    let input = InternedInput::new(before, after);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let (mut start, mut kept, mut foreign) = (Vec::new(), 0, false);
    let mut put = |tokens: std::ops::Range<usize>, keep_own: bool| {
        for token in &input.after[tokens] {
            let line = input.interner[*token];
            if keep_own || !own.contains(text(line)) {
                foreign |= !keep_own;
                start.extend_from_slice(line);
            }
        }
    };
    for hunk in diff.hunks() {
        put(kept..hunk.after.start as usize, true);
        put(hunk.after.start as usize..hunk.after.end as usize, false);
        kept = hunk.after.end as usize;
    }
    put(kept..input.after.len(), true);
    foreign.then_some(start)
}

/// Runs of equal origin.
fn spans(origins: &[LineOrigin]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (line, LineOrigin { origin, bridged }) in (1u32..).zip(origins) {
        let bridged = *bridged && matches!(origin, Origin::Session(_));
        match spans.last_mut() {
            Some(span) if span.origin == *origin && span.bridged == bridged => span.last = line,
            _ => spans.push(Span {
                first: line,
                last: line,
                origin: *origin,
                bridged,
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
mod tests;
