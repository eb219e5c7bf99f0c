//! One term of a query: what an index must hold for it, and where it stands in a text.

use std::collections::HashSet;
use std::ops::Range;

use super::words::{Run, WORD_MOST, dense_signs, each_word, folded, is_mark, parts, runs};

/// A word as an index has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexTerm {
    Whole(String),
    /// All words that begin so.
    Prefix(String),
}

impl IndexTerm {
    /// The same with something before it: words of one facet are told from those of others by how they begin.
    #[must_use]
    pub fn after(self, mark: char) -> Self {
        match self {
            Self::Whole(word) => Self::Whole(format!("{mark}{word}")),
            Self::Prefix(word) => Self::Prefix(format!("{mark}{word}")),
        }
    }
}

/// A word, a prefix or a phrase that is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// As it was typed, without quotes and star.
    text: String,
    is_prefix: bool,
    form: Form,
}

/// How a term is compared with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// Runs that follow each other, with anything between them that is of no word.
    Sequence(Vec<String>),
    /// Characters that follow each other: of a script without blanks, nobody knows where its words end.
    Signs(Vec<char>),
}

impl Term {
    /// A word or a phrase; nothing where it has neither letter nor digit. A prefix is continued by any characters of a
    /// word.
    #[must_use]
    pub fn new(text: &str, is_prefix: bool) -> Option<Self> {
        let found = runs(text);
        let has_word = text.chars().any(char::is_alphanumeric);
        if found.is_empty() || !has_word {
            return None;
        }
        let form = match found.iter().any(|run| run.is_dense) {
            true => Form::Signs(signs(text)),
            false => Form::Sequence(
                found
                    .iter()
                    .map(|r| folded(&text[r.range.clone()]))
                    .collect(),
            ),
        };
        Some(Self {
            text: text.to_owned(),
            is_prefix,
            form,
        })
    }

    /// As it was typed, without quotes and star.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What an index must hold, all of it, where the term stands. It may hold that elsewhere, too.
    #[must_use]
    pub fn index_terms(&self) -> Vec<IndexTerm> {
        let mut terms = Vec::new();
        let all = runs(&self.text);
        let last = all.len().saturating_sub(1);
        for (at, run) in all.iter().enumerate() {
            let word = &self.text[run.range.clone()];
            if run.is_dense {
                let signs = dense_signs(word);
                match signs.as_slice() {
                    [] => {}
                    [one] => terms.push(IndexTerm::Prefix(one.to_string())),
                    _ => terms.extend(
                        signs
                            .windows(2)
                            .map(|two| IndexTerm::Whole(two.iter().collect())),
                    ),
                }
            } else {
                let word = folded(word);
                terms.push(match self.is_prefix && at == last {
                    true => IndexTerm::Prefix(word),
                    false => IndexTerm::Whole(word),
                });
            }
        }
        terms.sort();
        terms.dedup();
        terms
    }

    /// Where it stands in a text, in bytes, in order.
    #[must_use]
    pub fn ranges(&self, text: &str) -> Vec<Range<usize>> {
        match &self.form {
            Form::Sequence(wanted) => self.sequences(wanted, text),
            Form::Signs(wanted) => stretches(wanted, text),
        }
    }

    fn sequences(&self, wanted: &[String], text: &str) -> Vec<Range<usize>> {
        let all = runs(text);
        let mut found = Vec::new();
        let whole = |run: &Run| &text[run.range.clone()];
        for start in 0..all.len() {
            if let [word] = wanted {
                found.extend(self.within(word, whole(&all[start]), all[start].range.start));
                continue;
            }
            let Some(next) = all.get(start..start + wanted.len()) else {
                break;
            };
            let last = wanted.len() - 1;
            let fits = next
                .iter()
                .zip(wanted)
                .enumerate()
                .all(|(at, (run, word))| self.fits(word, whole(run), at == last));
            if fits {
                found.push(next[0].range.start..next[last].range.end);
            }
        }
        found
    }

    /// Where a single word is in a run: all of it, or one of its parts.
    fn within(&self, word: &str, run: &str, at: usize) -> Option<Range<usize>> {
        if self.fits(word, run, true) {
            return Some(at..at + run.len());
        }
        // Most runs are too short to have it in a part.
        if run.is_ascii() && run.len() <= word.len() {
            return None;
        }
        let part = parts(run)
            .into_iter()
            .find(|part| self.fits(word, &run[part.clone()], true))?;
        Some(at + part.start..at + part.end)
    }

    fn fits(&self, word: &str, run: &str, is_last: bool) -> bool {
        let is_open = self.is_prefix && is_last;
        if run.is_ascii() {
            let bytes = word.as_bytes();
            let run = run.as_bytes();
            let run = &run[..run.len().min(WORD_MOST)];
            return match is_open {
                true => run.len() >= bytes.len() && run[..bytes.len()].eq_ignore_ascii_case(bytes),
                false => run.eq_ignore_ascii_case(bytes),
            };
        }
        match is_open {
            true => folded(run).starts_with(word),
            false => folded(run) == word,
        }
    }
}

/// The characters of a text as they are compared.
fn signs(text: &str) -> Vec<char> {
    let signs = text.trim().chars().flat_map(char::to_lowercase);
    signs.filter(|c| !is_mark(*c)).collect()
}

/// Where characters follow each other in a text.
fn stretches(wanted: &[char], text: &str) -> Vec<Range<usize>> {
    let mut all: Vec<(char, Range<usize>)> = Vec::new();
    for (at, sign) in text.char_indices() {
        let range = at..at + sign.len_utf8();
        let lower = sign.to_lowercase().filter(|c| !is_mark(*c));
        all.extend(lower.map(|c| (c, range.clone())));
    }
    let mut found: Vec<Range<usize>> = Vec::new();
    for window in all.windows(wanted.len().max(1)) {
        if window.iter().map(|(c, _)| c).eq(wanted) {
            let last = window.len() - 1;
            found.push(window[0].1.start..window[last].1.end);
        }
    }
    found
}

/// Adds the words of a text.
pub(super) fn words_of(text: &str, words: &mut HashSet<String>) {
    each_word(text, |word| {
        if !words.contains(word) {
            words.insert(word.to_owned());
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(term: &str, text: &str, expected: &[&str]) {
        let (term, is_prefix) = match term.strip_suffix('*') {
            Some(start) => (start, true),
            None => (term, false),
        };
        let term = Term::new(term, is_prefix).expect("because it has a word");
        let ranges = term.ranges(text);
        let found: Vec<&str> = ranges.into_iter().map(|r| &text[r]).collect();
        assert_eq!(found, expected, "{term:?}");
        // Wherever a term stands, the index has all that is asked of it.
        let mut words = HashSet::new();
        words_of(text, &mut words);
        let has = |wanted: &IndexTerm| match wanted {
            IndexTerm::Whole(word) => words.contains(word),
            IndexTerm::Prefix(start) => words.iter().any(|word| word.starts_with(start)),
        };
        let is_indexed = term.index_terms().iter().all(has);
        assert!(is_indexed || expected.is_empty(), "{term:?} {words:?}");
    }

    #[test]
    fn a_word_stands_whole_or_as_a_part() {
        check("parse", "parse_query parse Parser", &["parse", "parse"]);
        check("parse_query", "parse_query parseQuery", &["parse_query"]);
        check("QUERY", "runParseQuery()", &["Query"]);
        check("pars*", "a Parser, parse_x", &["Parser", "parse_x"]);
        check("par", "parser", &[]);
        check("größe", "GRÖSSE GRÖßE", &["GRÖßE"]);
    }

    #[test]
    fn a_phrase_and_a_path_are_words_in_a_row() {
        check(
            "cart rounding",
            "the cart-rounding, cart and rounding",
            &["cart-rounding"],
        );
        check("b/c.rs", "src/a/b/c.rs c.rs", &["b/c.rs"]);
        check("b/c*", "a/b/core.rs", &["b/core"]);
        check("std::fs", "use std::fs::File", &["std::fs"]);
    }

    #[test]
    fn scripts_without_blanks_are_found_inside() {
        check("索引", "全文検索の索引を作る", &["索引"]);
        check("検", "全文検索", &["検"]);
        check("引", "索引", &["引"]);
        check("文索", "全文検索", &[]);
        check("parser解", "eine parser解析", &["parser解"]);
    }

    #[test]
    fn what_has_no_letter_is_no_term() {
        for text in ["", "-", "\"", "_", "::", "\u{301}"] {
            assert_eq!(Term::new(text, false), None, "{text}");
        }
    }
}
