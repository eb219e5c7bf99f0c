//! The summary lines of test runners: nextest's, and the one of the built-in harness.

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
