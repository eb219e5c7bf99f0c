//! The codes of problems and of runs: what is not in this list is not answered. `docs/gateway.md` has what each means.

/// What a code of a run has in place of a status: it is in `end.error` of an answer alone.
const OF_A_RUN: u16 = 200;

/// Each code, with a status that it is answered with.
pub(crate) const CODES: &[(&str, u16)] = &[
    ("invalid-body", 400),
    ("invalid-field", 400),
    ("invalid-head", 400),
    ("token-expired", 401),
    ("token-invalid", 401),
    ("token-malformed", 401),
    ("token-missing", 401),
    ("token-revoked", 401),
    ("token-unknown", 401),
    ("forbidden", 403),
    ("not-found", 404),
    ("method-not-allowed", 405),
    ("too-slow", 408),
    ("ahead", 409),
    ("ambiguous", 409),
    ("archived", 409),
    ("cancelled", 409),
    ("cannot-resume", 409),
    ("conflict", 409),
    ("context-ended", 409),
    ("fenced", 409),
    ("full", 409),
    ("gap", 409),
    ("heartbeat-configured", 409),
    ("heartbeat-running", 409),
    ("held", 409),
    ("home-elsewhere", 409),
    ("interaction-lost", 409),
    ("interaction-settled", 409),
    ("key-reused", 409),
    ("keys-mismatch", 409),
    ("leased", 409),
    ("no-turn", 409),
    ("not-driven", 409),
    ("not-open", 409),
    ("quarantined", 409),
    ("queue-full", 409),
    ("replica", 409),
    ("session-busy", 409),
    ("stale", 409),
    ("taken", 409),
    ("tick-lost", 409),
    ("token-replaced", 409),
    ("twice", 409),
    ("body-too-large", 413),
    ("unsupported-media-type", 415),
    ("replica-refused", 422),
    ("rate-limited", 429),
    ("head-too-large", 431),
    ("internal", 500),
    ("agent-died", 502),
    ("agent-failed", 502),
    ("agent-not-installed", 502),
    ("agent-not-ready", 502),
    ("agent-not-started", 502),
    ("agent-refused", 502),
    ("cannot-resume", 502),
    ("invalid-model", 502),
    ("lease-lost", 502),
    ("not-stored", 502),
    ("run-ended", 502),
    ("store", 502),
    ("busy", 503),
    ("issuer-unavailable", 503),
    ("not-committed", 503),
    ("stopping", 503),
    ("store", 503),
    ("unknown", 503),
    ("agent-cancelled", OF_A_RUN),
    ("cancelled", OF_A_RUN),
    ("client-left", OF_A_RUN),
    ("gateway-stopped", OF_A_RUN),
    ("limit-agent", OF_A_RUN),
    ("limit-cost", OF_A_RUN),
    ("limit-silent", OF_A_RUN),
    ("limit-tokens", OF_A_RUN),
    ("limit-wall", OF_A_RUN),
];

/// Whether a code may be answered with a status.
pub(crate) fn is_answered(code: &str, status: u16) -> bool {
    CODES.contains(&(code, status))
}

/// Whether a run may end with a code; what a request fails with, a run may, too.
pub(crate) fn ends_a_run(code: &str) -> bool {
    CODES.iter().any(|(known, _)| *known == code)
}

/// The code of a run that another gateway tells of.
pub(crate) fn code_of_a_run(code: &str) -> &'static str {
    let mut known = CODES.iter().map(|(known, _)| *known);
    known.find(|known| *known == code).unwrap_or("run-ended")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Error types of the engine whose codes are passed on.
    const PASSED_ON: [&str; 3] = [
        include_str!("../../engine/src/driven/turn/error.rs"),
        include_str!("../../engine/src/driven/context/error.rs"),
        include_str!("../../engine/src/identity/access.rs"),
    ];

    /// What the engine calls something that is answered as `not-found`, `invalid-field`, `forbidden` or `store`.
    const CALLED_OTHERWISE: [&str; 8] = [
        "invalid",
        "ledger",
        "ledger-registered",
        "no-context",
        "no-route",
        "no-session",
        "not-at-home",
        "session-unknown",
    ];

    /// What a code is the first text of.
    const CALLS: [&str; 8] = [
        "Problem::conflict(",
        "Self::conflict(",
        "Problem::unauthorized(",
        "Self::unavailable(",
        "Problem::unavailable(",
        "AgentError::new(",
        "Ending::new(",
        "self.broken(",
    ];

    #[test]
    fn codes_are_in_kebab_case_and_there_once() {
        for (code, _) in CODES {
            let is_kebab = code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
            assert!(is_kebab, "{code}");
        }
        let all: BTreeSet<_> = CODES.iter().collect();
        assert_eq!(all.len(), CODES.len());
    }

    #[test]
    fn what_the_engine_calls_its_errors_is_in_the_list() {
        let mut seen = BTreeSet::new();
        for text in PASSED_ON {
            let (_, arms) = text.split_once("fn code(&self)").unwrap();
            let (arms, _) = arms.split_once("\n    }\n").unwrap();
            let codes = arms.lines().filter_map(|line| {
                let (_, code) = line.split_once("=> \"")?;
                code.split('"').next()
            });
            for code in codes.filter(|code| !CALLED_OTHERWISE.contains(code)) {
                assert!(ends_a_run(code), "{code} is not in the list");
                seen.insert(code);
            }
        }
        for code in ["fenced", "keys-mismatch", "token-revoked"] {
            assert!(seen.contains(code), "{seen:?}");
        }
    }

    #[test]
    fn what_this_crate_answers_is_in_the_list() {
        let mut seen = BTreeSet::new();
        let mut left = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(path) = left.pop() {
            if path.is_dir() {
                let inside = std::fs::read_dir(&path).unwrap();
                left.extend(inside.map(|entry| entry.unwrap().path()));
            } else if !path.ends_with("problem_codes.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                for call in CALLS {
                    let calls = text.split(call).skip(1);
                    seen.extend(calls.filter_map(first_text).map(str::to_owned));
                }
            }
        }
        for code in &seen {
            assert!(ends_a_run(code), "{code} is not in the list");
        }
        for code in ["ambiguous", "limit-wall", "not-stored"] {
            assert!(seen.contains(code), "{seen:?}");
        }
    }

    /// The text that a call begins with, unless it has it from elsewhere.
    fn first_text(call: &str) -> Option<&str> {
        let mut parts = call.split('"');
        let before = parts.next()?;
        let is_literal = !before.contains(['(', ')', ';']);
        parts.next().filter(|_| is_literal)
    }

    #[test]
    fn the_page_has_each_code_and_what_it_means() {
        let page = include_str!("../../../docs/gateway.md");
        let (_, section) = page.split_once("\n### Codes\n").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let mut on_the_page = BTreeSet::new();
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [_, code, status, meaning, _] = cells[..] else {
                panic!("{row}");
            };
            assert!(!meaning.is_empty(), "{row}");
            on_the_page.insert((code.trim_matches('`'), status.parse::<u16>().unwrap()));
        }
        let known: BTreeSet<(&str, u16)> = CODES.iter().copied().collect();
        assert_eq!(on_the_page, known);
    }
}
