//! What the summary of a check says of itself: runners have words and counts of their own.

/// Words for tests that passed, were skipped, and for all of them. A word counts with a number beside it.
const PASSED: &[&str] = &[
    "pass",
    "passed",
    "passing",
    "ok",
    "succeeded",
    "success",
    "successful",
];
const SKIPPED: &[&str] = &[
    "skip", "skips", "skipped", "skipping", "ignored", "pending", "disabled",
];
const ALL: &[&str] = &[
    "total", "run", "ran", "test", "tests", "spec", "specs", "example", "examples", "case",
    "cases", "check", "checks",
];
/// Words that say by themselves, without a number, that something was skipped.
const SKIP: &[&str] = &["skip", "skips", "skipped", "skipping"];
const NONE: &[&str] = &["0", "no", "none", "not", "nothing", "never", "without"];

/// Whether a summary says that the check was skipped, and not that some of it was while the rest passed: `SKIPPED: no
/// runner`, `0 passed, 7 skipped`, `SKIPPED: previous run passed`; not `12 passed, 3 skipped`. Numbers decide where there
/// are some. Else a summary that only mentions what was skipped, behind something that was done, is none.
pub(super) fn says_skipped(summary: &str) -> bool {
    let lower = summary.to_lowercase();
    // Go prints PASS and ok where each of its tests was skipped; what ran has a line of its own.
    if lower.contains("--- skip") {
        return !lower.contains("--- pass");
    }
    let words = words(&lower);
    let counts = Counts::new(&words);
    match (counts.passed, counts.skipped, counts.all) {
        (Some(1..), ..) | (_, Some(0), _) => false,
        (Some(0), Some(_), _) => true,
        (None, Some(skipped), Some(all)) => skipped >= all,
        _ => is_check_skipped(&words),
    }
}

/// A word with what stands between it and the one before.
struct Word<'a> {
    text: &'a str,
    gap: &'a str,
}

impl Word<'_> {
    /// Whether it goes on from the word before.
    fn follows(&self) -> bool {
        !self.gap.is_empty() && self.gap.chars().all(char::is_whitespace)
    }

    /// Whether something new begins with it.
    fn begins_clause(&self) -> bool {
        self.gap.contains([',', ';', '.', '\n', '(', '-'])
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut end = 0;
    for part in text.split(|c: char| !c.is_alphanumeric()) {
        if !part.is_empty() {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            let gap = &text[end..start];
            words.push(Word { text: part, gap });
            end = start + part.len();
        }
    }
    words
}

/// The numbers of a summary, as far as it has some.
#[derive(Default)]
struct Counts {
    passed: Option<u64>,
    skipped: Option<u64>,
    all: Option<u64>,
}

impl Counts {
    fn new(words: &[Word<'_>]) -> Self {
        let mut counts = Self::default();
        for (at, word) in words.iter().enumerate() {
            if let Ok(number) = word.text.parse() {
                counts.add(number, &words[..at], word, &words[at + 1..]);
            }
        }
        counts
    }

    /// `3 skipped`, `3 tests skipped`, `skipped: 3`, `skipped="3"`, `# skipped 3`.
    fn add(&mut self, number: u64, before: &[Word<'_>], word: &Word<'_>, after: &[Word<'_>]) {
        let mut after = after.iter().take_while(|w| w.follows()).map(|w| w.text);
        let next = after.next().unwrap_or_default();
        let beside = match after.next() {
            Some(second) if ALL.contains(&next) && self.slot(second).is_some() => second,
            _ => next,
        };
        if let Some(slot) = self.slot(beside) {
            *slot = Some(slot.unwrap_or(0).saturating_add(number));
            return;
        }
        let gap = word.gap.trim().trim_matches('"');
        if ["", ":", "="].contains(&gap)
            && let Some(slot) = before.last().and_then(|w| self.slot(w.text))
        {
            *slot = Some(slot.unwrap_or(0).saturating_add(number));
        }
    }

    fn slot(&mut self, word: &str) -> Option<&mut Option<u64>> {
        match word {
            _ if PASSED.contains(&word) => Some(&mut self.passed),
            _ if SKIPPED.contains(&word) => Some(&mut self.skipped),
            _ if ALL.contains(&word) => Some(&mut self.all),
            _ => None,
        }
    }
}

/// Whether the words say it of the check itself.
fn is_check_skipped(words: &[Word<'_>]) -> bool {
    let skips = |at: &usize| SKIP.contains(&words[*at].text) && !is_denied(words, *at);
    let Some(at) = (0..words.len()).find(skips) else {
        return false;
    };
    let passed = |at: usize| PASSED.contains(&words[at].text) && !is_denied(words, at);
    if (0..at).any(passed) {
        return false;
    }
    // Something was done before, unless that says that nothing was.
    let clause = (1..=at).rev().find(|at| words[*at].begins_clause());
    clause.is_none_or(|clause| {
        let mut before = words[..clause].iter();
        before.any(|word| NONE.contains(&word.text))
    })
}

/// `no tests skipped`, `not skipped`.
fn is_denied(words: &[Word<'_>], at: usize) -> bool {
    let near = (at.saturating_sub(2)..at).rev();
    let near = near.take_while(|before| words[before + 1].follows());
    near.map(|before| words[before].text)
        .any(|word| NONE.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::says_skipped;

    #[test]
    fn a_summary_says_that_all_was_skipped() {
        for text in [
            "SKIPPED",
            "skip",
            "skipped: no runner",
            "Was Skipped.",
            "SKIPPED: previous run passed",
            "SKIPPED (ok)",
            "not run: SKIPPED because lint passed",
            "Skipping: nothing to do",
            "no runner, skipped",
            "the integration tests were skipped",
            "skipped, all is ok otherwise",
            "not ok, skipped",
            // pytest, nextest, cargo.
            "0 passed, 7 skipped",
            "===== 3 skipped in 0.01s =====",
            "3 skipped, 2 deselected in 0.02s",
            "Summary [   0.002s] 0 tests run: 0 passed, 15 skipped",
            "test result: ok. 0 passed; 0 failed; 7 ignored; 0 measured; 0 filtered out",
            // jest, mocha, rspec, node, unittest.
            "Test Suites: 1 skipped, 0 of 1 total\nTests:       7 skipped, 7 total",
            "0 passing (2ms)\n3 pending",
            "3 examples, 0 failures, 3 pending",
            "# tests 3\n# pass 0\n# fail 0\n# skipped 3",
            "Ran 3 tests in 0.000s\n\nOK (skipped=3)",
            // Go, JUnit.
            "--- SKIP: TestNet (0.00s)",
            "=== RUN   TestNet\n    net_test.go:5: no network\n--- SKIP: TestNet (0.00s)\nPASS\nok  \texample.com/x\t0.002s",
            "Tests run: 3, Failures: 0, Errors: 0, Skipped: 3",
            "<testsuite tests=\"3\" failures=\"0\" errors=\"0\" skipped=\"3\">",
            "3 tests completed, 3 skipped",
            "[ 3 tests found ]\n[ 3 tests skipped ]\n[ 0 tests successful ]",
        ] {
            assert!(says_skipped(text), "{text}");
        }
    }

    #[test]
    fn a_summary_says_that_some_was_skipped_or_none() {
        for text in [
            "",
            "fine",
            "0 skipped",
            "not skipped",
            "nothing skipped",
            "nothing was skipped",
            "no tests skipped",
            "all ok, the slow ones skipped",
            "passed with 2 skipped",
            "linted 14 files, skipped generated code",
            "SKIPPED the slow ones: 12 passed",
            // pytest, nextest, cargo.
            "12 passed, 3 skipped",
            "== 12 passed, 3 skipped, 1 xfailed in 0.51s ==",
            "Summary [   0.5s] 12 tests run: 12 passed (1 slow), 3 skipped",
            "test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            // jest, mocha, rspec, node, unittest.
            "Test Suites: 1 skipped, 2 passed, 2 of 3 total\nTests:       3 skipped, 12 passed, 15 total",
            "12 passing (30ms)\n3 pending",
            "12 examples, 0 failures, 3 pending",
            "# tests 15\n# pass 12\n# fail 0\n# skipped 3",
            "Ran 12 tests in 0.1s\n\nOK (skipped=3)",
            // Go, JUnit, CTest.
            "--- PASS: TestA (0.00s)\n--- SKIP: TestNet (0.00s)\nPASS\nok  \texample.com/x\t0.002s",
            "--- SKIP: TestNet (0.00s)\n--- PASS: TestA (0.00s)\nok  \texample.com/x\t0.002s",
            "ok  \texample.com/x\t0.002s",
            "Tests run: 12, Failures: 0, Errors: 0, Skipped: 3",
            "Tests run: 12, Failures: 0, Errors: 0, Skipped: 0",
            "<testsuite tests=\"12\" failures=\"0\" errors=\"0\" skipped=\"3\">",
            "12 tests completed, 3 skipped",
            "[ 15 tests found ]\n[ 3 tests skipped ]\n[ 12 tests successful ]",
            "100% tests passed, 0 tests failed out of 5\nThe following tests did not run:\n  1 - net (Skipped)",
        ] {
            assert!(!says_skipped(text), "{text}");
        }
    }
}
