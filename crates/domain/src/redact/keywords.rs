//! Finds the keywords of all rules in one pass.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::rules::RULES;

/// Only the first bytes of a keyword are searched for, the rest is compared: the automaton is a third of the size.
const NEEDLE: usize = 4;
/// Bytes after which the fast automaton is worth building. A hook ends before, an import soon passes it.
const PATIENCE: usize = 512 * 1024;

/// The keywords of all rules.
///
/// Starts with an automaton that is quick to build; a process that reads a lot changes to one that is quick to run.
#[derive(Debug)]
pub(super) struct Keywords {
    words: Vec<Word>,
    /// For each needle, its keywords in `words`.
    groups: Vec<Range<usize>>,
    small: AhoCorasick,
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
        let small = automaton(&words, &groups, AhoCorasickKind::ContiguousNFA);
        Self {
            words,
            groups,
            small,
            fast: OnceLock::new(),
            seen: AtomicUsize::new(0),
        }
    }

    /// Returns each rule with the place of its keyword, in the order of the ends of the needles.
    pub(super) fn hits<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = (usize, Range<usize>)> + 'a {
        self.automaton_for(text)
            .find_overlapping_iter(text)
            .flat_map(move |hit| {
                let rest = &text.as_bytes()[hit.start()..];
                self.words[self.groups[hit.pattern().as_usize()].clone()]
                    .iter()
                    .filter_map(move |word| {
                        let candidate = rest.get(..word.text.len())?;
                        let end = hit.start() + word.text.len();
                        candidate
                            .eq_ignore_ascii_case(word.text.as_bytes())
                            .then_some((word.rule, hit.start()..end))
                    })
            })
    }

    fn automaton_for(&self, text: &str) -> &AhoCorasick {
        if let Some(fast) = self.fast.get() {
            return fast;
        }
        let seen = self.seen.fetch_add(text.len(), Ordering::Relaxed);
        if seen.saturating_add(text.len()) < PATIENCE {
            return &self.small;
        }
        self.fast
            .get_or_init(|| automaton(&self.words, &self.groups, AhoCorasickKind::DFA))
    }
}

fn automaton(words: &[Word], groups: &[Range<usize>], kind: AhoCorasickKind) -> AhoCorasick {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(kind))
        .prefilter(false)
        .build(groups.iter().map(|group| words[group.start].needle()))
        .expect("because the keywords are few and short")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_automata_find_the_same() {
        let keywords = Keywords::new();
        let text: String = RULES
            .iter()
            .map(|rule| rule.sample.to_uppercase() + " ")
            .collect();
        let small: Vec<_> = keywords.hits(&text).collect();
        keywords.seen.store(PATIENCE, Ordering::Relaxed);
        let fast: Vec<_> = keywords.hits(&text).collect();
        assert!(keywords.fast.get().is_some());
        assert!(
            RULES
                .iter()
                .enumerate()
                .all(|(rule, _)| small.iter().any(|hit| hit.0 == rule))
        );
        assert_eq!(small, fast);
    }
}
