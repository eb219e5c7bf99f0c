//! Lines of transcripts that cannot be read, and of which nothing is recorded: they are counted, and declined.

use std::fmt;
use std::ops::AddAssign;

use siglum_domain::Timestamp;
use siglum_domain::intake::{Decline, Place};
use siglum_domain::redact::Redactor;
use siglum_ledger::{LedgerError, Transaction, TranscriptRecord};

/// The reason of the declines.
pub(crate) const REASON: &str = "lines_skipped";
/// A line that is longer than this is skipped, in bytes.
pub(super) const LINE_MOST: usize = 64 << 20;
const TOO_LONG: &str = "longer than 64 MiB";
const MALFORMED: &str = "malformed";
const NOT_UTF8: &str = "not UTF-8";
/// Between the path of a transcript and the place of its first skipped line.
const FROM_BYTE: &str = ": from byte ";

/// Why a line is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    Malformed,
    NotUtf8,
    TooLong,
}

/// How many lines of a transcript are skipped, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedLines {
    /// Lines that are cut, or not of the form that the agent writes.
    pub malformed: u64,
    pub not_utf8: u64,
    /// Lines that are too long to be read.
    pub too_long: u64,
    /// Where the first of them begins in the file, in bytes.
    pub first_at: Option<u64>,
}

impl SkippedLines {
    /// How many there are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.malformed + self.not_utf8 + self.too_long
    }

    /// Counts those before a place of the file. The others are read again, and count then.
    pub(super) fn before(end: u64, skips: &[(u64, SkipReason)]) -> Self {
        let mut lines = Self::default();
        for (at, reason) in skips.iter().filter(|(at, _)| *at < end) {
            match reason {
                SkipReason::Malformed => lines.malformed += 1,
                SkipReason::NotUtf8 => lines.not_utf8 += 1,
                SkipReason::TooLong => lines.too_long += 1,
            }
            lines.first_at = Some(lines.first_at.map_or(*at, |first| first.min(*at)));
        }
        lines
    }

    /// Records that these lines of one slice were skipped. If the file is read anew, they are not counted again.
    pub(super) fn decline(
        &self,
        tx: &mut dyn Transaction,
        record: &TranscriptRecord,
        place: Option<&Place>,
        at: Timestamp,
    ) -> Result<(), LedgerError> {
        let Some(first_at) = self.first_at else {
            return Ok(());
        };
        let decline = Decline {
            edge: "transcript".to_owned(),
            reason: REASON.to_owned(),
            detail: self.detail(Redactor::shared().redact(&record.path).as_str(), first_at),
            place: place.cloned(),
        };
        let key = format!("transcript:{}:skipped:{first_at}", record.stream);
        tx.decline(&key, at, &decline)
    }

    fn detail(&self, path: &str, first_at: u64) -> String {
        format!("{path}{FROM_BYTE}{first_at}: {self}")
    }

    /// The path and the lines that the detail of a decline names.
    pub(crate) fn parse(detail: &str) -> Option<(&str, Self)> {
        let (path, rest) = detail.rsplit_once(FROM_BYTE)?;
        let (first_at, counts) = rest.split_once(": ")?;
        let mut lines = Self {
            first_at: Some(first_at.parse().ok()?),
            ..Self::default()
        };
        for count in counts.split(", ") {
            let (count, reason) = count.split_once(' ')?;
            let of_reason = match reason {
                MALFORMED => &mut lines.malformed,
                NOT_UTF8 => &mut lines.not_utf8,
                TOO_LONG => &mut lines.too_long,
                _ => return None,
            };
            *of_reason = count.parse().ok()?;
        }
        Some((path, lines))
    }
}

impl AddAssign for SkippedLines {
    fn add_assign(&mut self, other: Self) {
        self.malformed = self.malformed.saturating_add(other.malformed);
        self.not_utf8 = self.not_utf8.saturating_add(other.not_utf8);
        self.too_long = self.too_long.saturating_add(other.too_long);
        self.first_at = match (self.first_at, other.first_at) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }
}

/// `2 malformed, 1 not UTF-8`.
impl fmt::Display for SkippedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.malformed, MALFORMED),
            (self.not_utf8, NOT_UTF8),
            (self.too_long, TOO_LONG),
        ];
        let mut between = "";
        for (count, reason) in counts.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, "{between}{count} {reason}")?;
            between = ", ";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_read_as_it_was_written() {
        let all = SkippedLines {
            malformed: 2,
            not_utf8: 1,
            too_long: 3,
            first_at: Some(70),
        };
        let one = SkippedLines {
            too_long: 1,
            first_at: Some(0),
            ..SkippedLines::default()
        };
        for (lines, text) in [
            (
                all,
                "from byte 70: 2 malformed, 1 not UTF-8, 3 longer than 64 MiB",
            ),
            (one, "from byte 0: 1 longer than 64 MiB"),
        ] {
            for path in ["/a/b.jsonl", "/a: from byte 7: 1 malformed/b.jsonl", ""] {
                let detail = lines.detail(path, lines.first_at.unwrap());
                assert_eq!(detail, format!("{path}: {text}"));
                assert_eq!(SkippedLines::parse(&detail), Some((path, lines)));
            }
        }
        for other in ["/a/b.jsonl: from byte 1: 2 green", "/a/b.jsonl", ""] {
            assert_eq!(SkippedLines::parse(other), None, "{other}");
        }
    }

    #[test]
    fn lines_that_are_read_again_do_not_count_yet() {
        let skips = [
            (10, SkipReason::NotUtf8),
            (20, SkipReason::Malformed),
            (5, SkipReason::TooLong),
            (30, SkipReason::Malformed),
        ];
        let lines = SkippedLines::before(30, &skips);
        assert_eq!((lines.count(), lines.first_at), (3, Some(5)));
        assert_eq!(SkippedLines::before(5, &skips), SkippedLines::default());
    }
}
