//! How checks ended, and what test runners print: their summary lines, and what nextest shows of tests that failed.

/// How a lane's checks ended.
#[derive(Default)]
pub(crate) struct Ended {
    /// The test runners' own summary lines.
    pub(crate) summaries: Vec<String>,
    /// What failed tests printed.
    pub(crate) failures: Vec<String>,
    /// What was wrong, if anything.
    pub(crate) problem: Option<String>,
}

/// A test runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Nextest,
    /// The harness that comes with Rust; doc tests always use it.
    BuiltIn,
}

/// What a summary line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Who wrote it. Nextest shows the output of failed tests, which holds lines of the other.
    pub(crate) runner: Runner,
    /// Tests that were executed, passed or not.
    pub(crate) run: u64,
}

/// Reads a summary line, or says that the line is none.
pub(crate) fn parse(line: &str) -> Option<Counts> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("Summary [") {
        let (_, rest) = rest.split_once(']')?;
        let (run, rest) = rest.trim_start().split_once(' ')?;
        let run = run.split('/').next()?.parse().ok()?;
        let is_run = rest.starts_with("tests run:") || rest.starts_with("test run:");
        return is_run.then_some(Counts {
            runner: Runner::Nextest,
            run,
        });
    }
    let rest = line.strip_prefix("test result: ")?;
    let count = |what: &str| -> Option<u64> {
        let (before, _) = rest.split_once(what)?;
        before
            .trim_end()
            .rsplit([' ', '.', ';'])
            .next()?
            .parse()
            .ok()
    };
    let run = count("passed;")? + count("failed;")?;
    Some(Counts {
        runner: Runner::BuiltIn,
        run,
    })
}

/// Adds up what a lane's summary lines say was executed.
pub(crate) fn total(lines: &[String]) -> u64 {
    lines.iter().filter_map(|l| parse(l)).map(|c| c.run).sum()
}

/// How much is kept of what one failed test printed to stderr. Its beginning has the seed and the panic.
const KEPT_LINES: usize = 40;
const KEPT_CHARS: usize = 400;

/// What nextest shows of the tests that failed, picked out of all that it prints.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// One for each failed test: the line with its name, then what it printed.
    pub(crate) shown: Vec<String>,
    /// Whether the lines are of a test that failed.
    within: bool,
    lines_left: usize,
}

impl Failures {
    /// Takes the next line, which has no colours.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(state) = state(line) {
            // With `TRY 2 ` before it where a test is run again.
            let is_well = |well: &&str| state.ends_with(well);
            let failed =
                !["PASS", "SLOW", "LEAK"].iter().any(is_well) && !state.starts_with("FLAKY");
            // They are listed once more at the end.
            let line = line.trim();
            let is_new = failed && !self.shown.iter().any(|shown| shown.starts_with(line));
            (self.within, self.lines_left) = (is_new, 0);
            if is_new {
                self.shown.push(line.to_owned());
            }
        } else if self.within && line.starts_with("  stderr ──") {
            self.lines_left = KEPT_LINES;
        } else if self.lines_left > 0 && line.starts_with("  ") {
            self.lines_left -= 1;
            if let Some(shown) = self.shown.last_mut() {
                shown.push('\n');
                shown.extend(line.chars().take(KEPT_CHARS));
            }
        }
    }
}

/// How a test ended, if this is nextest's line about one: `FAIL [   0.012s] (1/7) siglum-tests::it a::b`.
fn state(line: &str) -> Option<&str> {
    let (state, rest) = line.trim_start().split_once(" [")?;
    let (took, _) = rest.split_once("s]")?;
    let took = took.trim_start().trim_start_matches(['>', ' ']);
    let is_state = state.starts_with(|c: char| c.is_ascii_uppercase()) && state != "Summary";
    (is_state && took.parse::<f64>().is_ok()).then_some(state)
}

/// The line without terminal colours.
pub(crate) fn without_colour(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            let _sequence = chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, run: Option<u64>) {
        assert_eq!(parse(&without_colour(line)).map(|c| c.run), run, "{line}");
    }

    #[test]
    fn summaries_of_nextest() {
        check(
            "     Summary [   0.012s] 5 tests run: 5 passed, 0 skipped",
            Some(5),
        );
        check(
            "     Summary [   1.5s] 1 test run: 0 passed, 1 failed, 2 skipped",
            Some(1),
        );
        check(
            "     Summary [   9.1s] 3/7 tests run: 2 passed, 1 failed",
            Some(3),
        );
        check(
            "\u{1b}[32m Summary\u{1b}[0m [ 0.0s] \u{1b}[1m0\u{1b}[0m tests run: 0 passed",
            Some(0),
        );
        check("        PASS [   0.004s] xtask summary::tests::x", None);
    }

    #[test]
    fn failures_of_nextest() {
        let printed = "\
        PASS [   0.004s] (1/3) siglum-tests::it a::b
  stderr ───

    counted: 3

        FAIL [   0.312s] (2/3) siglum-tests::it c::d
  stdout ───

    running 1 test

  stderr ───
    SIGLUM_SEED=7
    thread 'c::d' panicked

        SLOW [> 60.000s] (───) siglum-tests::it e::f
    not of c::d
     TIMEOUT [ 300.000s] (3/3) siglum-tests::it e::f
  TRY 2 PASS [   1.000s] (4/4) siglum-tests::it g::h
   FLAKY 2/2 [   1.000s] (4/4) siglum-tests::it g::h
────────────
     Summary [ 300.5s] 3 tests run: 1 passed, 1 failed, 1 timed out
        FAIL [   0.312s] (2/3) siglum-tests::it c::d";
        let mut failures = Failures::default();
        printed.lines().for_each(|line| failures.read(line));
        let of_d = "FAIL [   0.312s] (2/3) siglum-tests::it c::d";
        let of_f = "TIMEOUT [ 300.000s] (3/3) siglum-tests::it e::f";
        let printed = "\n    SIGLUM_SEED=7\n    thread 'c::d' panicked";
        assert_eq!(failures.shown, [of_d.to_owned() + printed, of_f.to_owned()]);
    }

    #[test]
    fn summaries_of_the_built_in_harness() {
        let ok = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        check(ok, Some(3));
        check(
            "test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured",
            Some(3),
        );
        check("test result: ok", None);
        check("test a::b ... ok", None);
    }
}
