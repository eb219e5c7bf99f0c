//! Finds the keywords of all rules in one pass.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::rules::RULES;

/// Only the first bytes of a keyword are searched for, the rest is compared: the automaton is a third of the size.
const NEEDLE: usize = 4;
/// Bytes after which the automaton is worth building. A hook ends before, an import soon passes it.
const PATIENCE: usize = 128 * 1024;

/// The keywords of all rules.
///
/// Starts with a table of the first two bytes, which costs nothing to build; a process that reads a
/// lot changes to an automaton, which is quicker to run.
#[derive(Debug)]
pub(super) struct Keywords {
    words: Vec<Word>,
    /// For each needle, its keywords in `words`.
    groups: Vec<Range<usize>>,
    /// One bit for each pair of bytes that begins a needle.
    starts: Vec<u64>,
    fast: OnceLock<AhoCorasick>,
    seen: AtomicUsize,
}

#[derive(Debug)]
struct Word {
    text: &'static str,
    rule: usize,
}

impl Word {
    fn needle(&self) -> &'static [u8] {
        let bytes = self.text.as_bytes();
        &bytes[..bytes.len().min(NEEDLE)]
    }
}

impl Keywords {
    pub(super) fn new() -> Self {
        let mut words: Vec<_> = RULES
            .iter()
            .enumerate()
            .flat_map(|(rule, row)| row.keywords.iter().map(move |text| Word { text, rule }))
            .collect();
        words.sort_unstable_by_key(|word| (word.needle(), word.rule));
        let mut groups: Vec<Range<usize>> = Vec::with_capacity(words.len());
        for (at, word) in words.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if words[group.start].needle() == word.needle() => group.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        let mut starts = vec![0; (1 << 16) / 64];
        for group in &groups {
            let pair = pair(words[group.start].needle());
            starts[pair / 64] |= 1 << (pair % 64);
        }
        Self {
            words,
            groups,
            starts,
            fast: OnceLock::new(),
            seen: AtomicUsize::new(0),
        }
    }

    /// Returns each rule with the place of its keyword, in the order of the ends of the needles.
    pub(super) fn hits<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (usize, Range<usize>)> + 'a {
        let found: Box<dyn Iterator<Item = (usize, usize)>> = match self.fast_for(text) {
            Some(fast) => {
                let hits = fast.find_overlapping_iter(text);
                Box::new(hits.map(|hit| (hit.pattern().as_usize(), hit.start())))
            }
            None => Box::new(self.scan(text.as_bytes()).into_iter()),
        };
        found.flat_map(move |(group, start)| {
            let rest = &text.as_bytes()[start..];
            self.words[self.groups[group].clone()]
                .iter()
                .filter_map(move |word| {
                    let candidate = rest.get(..word.text.len())?;
                    let is_word = candidate.eq_ignore_ascii_case(word.text.as_bytes());
                    is_word.then(|| (word.rule, start..start + word.text.len()))
                })
        })
    }

    /// The needles in a text, each with its place, without the automaton.
    fn scan(&self, text: &[u8]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for start in 0..text.len().saturating_sub(1) {
            let first = pair(&text[start..]);
            if self.starts[first / 64] & (1 << (first % 64)) == 0 {
                continue;
            }
            let with = |group: &Range<usize>| pair(self.words[group.start].needle());
            let from = self.groups.partition_point(|group| with(group) < first);
            let groups = self.groups.iter().enumerate().skip(from);
            for (group, words) in groups.take_while(|(_, group)| with(group) == first) {
                let needle = self.words[words.start].needle();
                let here = text.get(start..start + needle.len());
                if here.is_some_and(|here| here.eq_ignore_ascii_case(needle)) {
                    found.push((group, start));
                }
            }
        }
        found.sort_by_key(|(group, start)| {
            start + self.words[self.groups[*group].start].needle().len()
        });
        found
    }

    /// The automaton, once it is worth its building.
    fn fast_for(&self, text: &str) -> Option<&AhoCorasick> {
        if let Some(fast) = self.fast.get() {
            return Some(fast);
        }
        let seen = self.seen.fetch_add(text.len(), Ordering::Relaxed);
        let worth = seen.saturating_add(text.len()) >= PATIENCE;
        worth.then(|| {
            self.fast
                .get_or_init(|| automaton(&self.words, &self.groups))
        })
    }
}

/// The first two bytes, in lower case, as one number.
fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0].to_ascii_lowercase()) << 8 | usize::from(bytes[1].to_ascii_lowercase())
}

fn automaton(words: &[Word], groups: &[Range<usize>]) -> AhoCorasick {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .prefilter(false)
        .build(groups.iter().map(|group| words[group.start].needle()))
        .expect("because the keywords are few and short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_and_the_automaton_find_the_same() {
        let keywords = Keywords::new();
        let text: String = RULES
            .iter()
            .map(|rule| rule.sample.to_uppercase() + " ")
            .collect();
        let mut small: Vec<_> = keywords.hits(&text).collect();
        keywords.seen.store(PATIENCE, Ordering::Relaxed);
        let mut fast: Vec<_> = keywords.hits(&text).collect();
        assert!(keywords.fast.get().is_some());
        assert!(
            RULES
                .iter()
                .enumerate()
                .all(|(rule, _)| small.iter().any(|hit| hit.0 == rule))
        );
        // Needles that end at one place come in any order.
        small.sort_by_key(|hit| (hit.1.start, hit.1.end, hit.0));
        fast.sort_by_key(|hit| (hit.1.start, hit.1.end, hit.0));
        assert_eq!(small, fast);
    }
}
