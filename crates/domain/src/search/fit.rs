//! How well a part of a turn fits a query, and where.

use std::ops::Range;

use super::query::SearchQuery;
use super::text::{Piece, PieceKind, TurnText, tool_word};
use crate::time::Timestamp;

/// How soon more of the same counts no more (BM25's k1).
const SATURATION: f64 = 1.2;
/// How much the length of a text counts (BM25's b).
const LENGTH: f64 = 0.75;
/// How long a part of a turn is that is neither long nor short, in bytes.
const USUAL_BYTES: f64 = 4_096.0;
/// After so long what is new counts half as much more as it did, in days.
const HALF_LIFE: f64 = 60.0;
/// What remains of it after very long.
const OLD: f64 = 0.4;
/// What a part counts in which no word was searched for.
const LEAST: f64 = 1e-6;
const DAY_MS: f64 = 86_400_000.0;

/// How well a part of a turn fits.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// More is better. It says nothing by itself.
    pub score: f64,
    /// The pieces in which something stands, the best first: which, and where in its text, in bytes.
    pub places: Vec<(usize, Vec<Range<usize>>)>,
}

/// How well the pieces of a part of a turn that are `seen` fit; nothing where something that is searched for is in none of
/// them. What narrows the search by session is not looked at.
#[must_use]
pub fn fit(
    query: &SearchQuery,
    text: &TurnText,
    began: Timestamp,
    now: Timestamp,
    seen: impl Fn(&Piece) -> bool,
) -> Option<Fit> {
    let pieces: Vec<(usize, &Piece)> = text
        .pieces
        .iter()
        .enumerate()
        .filter(|(_, p)| seen(p))
        .collect();
    if !fits_calls(query, &pieces) {
        return None;
    }
    let mut places: Vec<(usize, f64, Vec<Range<usize>>)> = Vec::new();
    let length = relative_length(text.bytes());
    let mut score = 0.0;
    let paths = query.paths.iter().map(|term| (term, true));
    for (term, only_paths) in query.terms.iter().map(|term| (term, false)).chain(paths) {
        let of_kind = |piece: &&(usize, &Piece)| !only_paths || piece.1.kind == PieceKind::Path;
        let mut weight = 0.0;
        for (at, piece) in pieces.iter().filter(of_kind) {
            let ranges = term.ranges(&piece.text);
            if ranges.is_empty() {
                continue;
            }
            let own = piece.kind.weight();
            weight += own * count(&ranges);
            match places.iter_mut().find(|(known, ..)| known == at) {
                Some((_, best, all)) => {
                    *best += own;
                    all.extend(ranges);
                }
                None => places.push((*at, own, ranges)),
            }
        }
        if weight == 0.0 {
            return None;
        }
        let damped = 1.0 - LENGTH + LENGTH * length;
        score += weight * (SATURATION + 1.0) / (weight / 10.0 + SATURATION * damped);
    }
    places.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Some(Fit {
        score: score.max(LEAST) * recency(began, now),
        places: places
            .into_iter()
            .map(|(at, _, mut ranges)| {
                ranges.sort_by_key(|range| (range.start, range.end));
                (at, ranges)
            })
            .collect(),
    })
}

/// Whether there is a call of the tool, and one that failed, where that is searched for.
fn fits_calls(query: &SearchQuery, pieces: &[(usize, &Piece)]) -> bool {
    let is_tool = |piece: &Piece| match &query.tool {
        Some(tool) => piece
            .tool
            .as_deref()
            .is_some_and(|own| tool_word(own) == *tool),
        None => true,
    };
    let is_wanted = |piece: &Piece| is_tool(piece) && (!query.is_error || piece.failed);
    (query.tool.is_none() && !query.is_error) || pieces.iter().any(|(_, piece)| is_wanted(piece))
}

fn count(ranges: &[Range<usize>]) -> f64 {
    f64::from(u32::try_from(ranges.len().min(100)).unwrap_or(100))
}

fn relative_length(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / USUAL_BYTES
}

/// What a turn counts by its age: what is new is more often what is meant.
fn recency(began: Timestamp, now: Timestamp) -> f64 {
    let millis = now.millis_since(began).max(0);
    #[expect(clippy::cast_precision_loss, reason = "a year has few milliseconds")]
    let days = millis as f64 / DAY_MS;
    OLD + (1.0 - OLD) * (-days / HALF_LIFE).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    fn turn(pieces: &[(PieceKind, &str)]) -> TurnText {
        let at = Timestamp::default();
        TurnText {
            agent: "codex".to_owned(),
            repositories: Vec::new(),
            pieces: pieces.iter().map(|(k, t)| Piece::new(*k, t, at)).collect(),
        }
    }

    fn score(query: &str, text: &TurnText, age_days: i64) -> Option<f64> {
        let now = Timestamp::from_seconds(1_800_000_000);
        let query = SearchQuery::parse(query, now).expect("because it is a query");
        let began = now.plus_millis(-age_days * DAY);
        fit(&query, text, began, now, |_| true).map(|fit| fit.score)
    }

    #[test]
    fn all_terms_stand_somewhere_in_the_turn() {
        let text = turn(&[
            (PieceKind::Prompt, "mend the parser"),
            (PieceKind::Result, "rounding"),
        ]);
        assert!(score("parser rounding", &text, 0).is_some());
        assert!(score("parser cart", &text, 0).is_none());
        assert!(score("path:parser", &text, 0).is_none());
        assert!(score("is:error", &text, 0).is_none());
    }

    #[test]
    fn prompts_and_what_is_new_come_first() {
        let prompt = turn(&[(PieceKind::Prompt, "parser")]);
        let result = turn(&[(PieceKind::Result, "parser")]);
        assert!(score("parser", &prompt, 0) > score("parser", &result, 0));
        assert!(score("parser", &prompt, 0) > score("parser", &prompt, 30));
        assert!(score("parser", &prompt, 400) > score("parser", &result, 0));
    }

    #[test]
    fn what_is_not_seen_does_not_count() {
        let text = turn(&[(PieceKind::Commit, "parser"), (PieceKind::Answer, "done")]);
        let now = Timestamp::default();
        let query = SearchQuery::parse("parser", now).expect("because it is a query");
        let is_no_commit = |piece: &Piece| piece.kind != PieceKind::Commit;
        assert_eq!(fit(&query, &text, now, now, is_no_commit), None);
        let found = fit(&query, &text, now, now, |_| true).expect("because it is there");
        let (at, ranges) = &found.places[0];
        assert_eq!((*at, ranges.len(), &ranges[0]), (0, 1, &(0..6)));
    }

    #[test]
    fn an_error_is_one_of_the_tool() {
        let mut text = turn(&[(PieceKind::Result, "boom"), (PieceKind::Result, "fine")]);
        text.pieces[0].failed = true;
        text.pieces[0].tool = Some("Bash".to_owned());
        text.pieces[1].tool = Some("Read".to_owned());
        assert!(score("is:error tool:bash", &text, 0).is_some());
        assert!(score("is:error tool:read", &text, 0).is_none());
        assert!(score("tool:read fine", &text, 0).is_some());
    }
}
