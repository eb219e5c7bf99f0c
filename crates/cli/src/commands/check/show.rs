//! What `siglum check` says to people.

use std::collections::BTreeMap;

use siglum_domain::AgentName;
use siglum_engine::commits::check::{Checked, Finding};

use super::{Against, Counts, LENIENT, Outcome, Reason};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Cell, Style, Table};

/// How much of a subject is shown.
const SUBJECT: usize = 40;
/// What stands before the text below a commit, which is as wide as an id.
const BELOW: &str = "            ";

/// Writes the commits that fail: one line each, and at a terminal, where that is too long, what to do below.
pub(super) fn answer(cx: &Cx, outcome: &Outcome) -> Result<(), CommandError> {
    let is_narrow = cx.ui.width() < usize::MAX;
    let mut header = vec!["COMMIT", "SUBJECT", "REASON"];
    if !is_narrow {
        header.push("REMEDY");
    }
    let (mut table, mut below) = (Table::new(header), Vec::new());
    for commit in outcome.failed() {
        let findings: Vec<&Finding> = outcome.failing(commit).collect();
        let words: Vec<&str> = findings
            .iter()
            .map(|f| Reason::for_finding(f).word())
            .collect();
        let texts: Vec<String> = findings
            .iter()
            .map(|f| format!("{}; {}", what(f, outcome.against), remedy(f, commit)))
            .collect();
        let text = texts.join(". Also: ");
        let mut row = vec![
            Cell::styled(Style::Id, commit.git.commit.short()),
            Cell::plain(ui::one_line(&commit.git.subject, SUBJECT)),
            Cell::styled(Style::Warning, words.join(",")),
        ];
        if is_narrow {
            below.push(text);
        } else {
            row.push(Cell::plain(text));
        }
        table.row(row);
    }
    if outcome.failed().next().is_none() {
        return Ok(());
    }
    let mut below = below.iter();
    for (at, line) in table.lines(&cx.ui).iter().enumerate() {
        cx.ui.line(line)?;
        let text = below.by_ref().take(usize::from(at > 0)).next();
        let width = cx.ui.width().saturating_sub(BELOW.len());
        for line in text.map(|text| ui::wrap(text, width)).unwrap_or_default() {
            cx.ui.line(format!("{BELOW}{line}"))?;
        }
    }
    Ok(())
}

/// Says what came of it, and with which exit code.
pub(super) fn verdict(cx: &Cx, outcome: &Outcome) -> Result<(), CommandError> {
    let all = outcome.commits.len();
    let failed = outcome.failed().count();
    if failed > 0 {
        let reasons = outcome.failed().flat_map(|c| outcome.failing(c));
        let error = CommandError::failed(format!(
            "{} of {} failed in {}: {}",
            ui::count(failed as u64),
            ui::plural(all as u64, "commit"),
            outcome.range,
            counted(reasons)
        ));
        return Err(switched_off(cx, outcome, error));
    }
    if all == 0 {
        cx.ui.status(format!(
            "No commits in {}; nothing to check.",
            outcome.range
        ));
        return cut(outcome);
    }
    cx.ui.status(summary(outcome));
    if outcome.against == Against::Nothing {
        return Err(CommandError::partly(
            "neither checkpoints nor committers can be verified without a ledger",
        )
        .hint("Run this where the sessions are recorded, set SIGLUM_GATEWAY and SIGLUM_GATEWAY_TOKEN, or pass `--trailers` to check only trailers."));
    }
    cut(outcome)
}

/// A range that a shallow clone cuts may have more commits.
fn cut(outcome: &Outcome) -> Result<(), CommandError> {
    if !outcome.cut {
        return Ok(());
    }
    let text = format!(
        "this clone is shallow, and {} goes beyond its history",
        outcome.range
    );
    Err(CommandError::partly(text)
        .hint("Fetch the full history first (`git fetch --unshallow`, or `fetch-depth: 0`)."))
}

/// Where trailers are switched off, none are missing.
fn switched_off(cx: &Cx, outcome: &Outcome, error: CommandError) -> CommandError {
    let missing = |f: &Finding| matches!(f, Finding::NoTrailer(Some(_)));
    let mut findings = outcome.failed().flat_map(|c| outcome.failing(c));
    if cx.config.get("trailer") == "false" && findings.any(missing) {
        error.hint("Trailers are disabled here (`trailer = false`); pass `--allow no-trailer`.")
    } else {
        error
    }
}

/// `3 unrecorded, 1 nowhere`.
fn counted<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let mut counts: BTreeMap<Reason, u64> = BTreeMap::new();
    for finding in findings {
        *counts.entry(Reason::for_finding(finding)).or_default() += 1;
    }
    let words = counts
        .into_iter()
        .map(|(reason, n)| format!("{n} {}", reason.word()));
    words.collect::<Vec<_>>().join(", ")
}

/// What stands behind commits that all pass.
fn summary(outcome: &Outcome) -> String {
    let count = Counts::from_outcome(outcome);
    let unknown = match outcome.against {
        Against::Ledger | Against::Gateway => (count.unknown, "unknown"),
        Against::Trailers | Against::Nothing => (0, ""),
    };
    let parts = [
        (count.sessions, "by sessions"),
        (count.people, "by people"),
        (count.claimed, "adopted"),
        (count.attested, "attested"),
        (count.ambiguous, "ambiguous"),
        unknown,
    ];
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let mut parts: Vec<String> = parts.map(|(n, word)| format!("{n} {word}")).collect();
    if matches!(outcome.against, Against::Trailers | Against::Nothing) {
        parts.push("all trailers valid".to_owned());
    }
    if count.by_gateway > 0 {
        parts.push(format!("{} answered by the gateway", count.by_gateway));
    }
    let passed = outcome.commits.iter().flat_map(|c| &c.findings);
    let mut allowed = passed
        .filter(|f| !LENIENT.contains(&Reason::for_finding(f)))
        .peekable();
    let allowed = match allowed.peek() {
        Some(_) => format!(" (allowed: {})", counted(allowed)),
        None => String::new(),
    };
    if count.before > 0 {
        parts.push(format!("{} from before Siglum was enabled", count.before));
    }
    format!(
        "{} in {}: {}{allowed}.",
        ui::plural(count.all, "commit"),
        outcome.range,
        parts.join(", ")
    )
}

/// What is wrong.
pub(super) fn what(finding: &Finding, against: Against) -> String {
    match finding {
        Finding::Unrecorded => "it is not recorded".to_owned(),
        Finding::Unknown => "its committer was not observed".to_owned(),
        Finding::Merge => "it is a merge whose committer was not observed".to_owned(),
        Finding::NoTrailer(Some((agent, session))) => format!(
            "{} {} made it, and its message names no checkpoint",
            AgentName::word(agent.as_ref()),
            session.short()
        ),
        Finding::NoTrailer(None) if matches!(against, Against::Ledger | Against::Gateway) => {
            "its message names no checkpoint".to_owned()
        }
        Finding::NoTrailer(None) => {
            "its message names no checkpoint: a person's commit, or one that \
                                     was not recorded"
                .to_owned()
        }
        Finding::Copied {
            checkpoint,
            of: Some(of),
        } => format!(
            "its message names checkpoint {}, which is commit {}",
            checkpoint.short(),
            of.short()
        ),
        Finding::Copied {
            checkpoint,
            of: None,
        } => format!(
            "its message names checkpoint {}, which belongs to no commit",
            checkpoint.short()
        ),
        Finding::Nowhere(checkpoint) => {
            let place = match against {
                Against::Gateway => "at the gateway",
                Against::Ledger | Against::Trailers | Against::Nothing => "in this ledger",
            };
            format!(
                "its message names checkpoint {}, which is not {place}",
                checkpoint.short()
            )
        }
        Finding::Malformed(value) => {
            format!("its trailer `{}` is not an id", ui::one_line(value, 60))
        }
        Finding::Ambiguous(sessions) => format!("one of {sessions} sessions made it"),
        Finding::Attested => {
            "its committer was not observed, and only a platform names it".to_owned()
        }
        Finding::Before => "it is older than Siglum in this repository".to_owned(),
    }
}

/// What to do about it.
pub(super) fn remedy(finding: &Finding, commit: &Checked) -> String {
    let id = commit.git.commit.short();
    let allow = format!("`--allow {}`", Reason::for_finding(finding).word());
    match finding {
        Finding::Unrecorded | Finding::Unknown => {
            format!("run `siglum adopt {id} SESSION` if you know its session, or pass {allow}")
        }
        Finding::Merge => format!("pass {allow} if a forge makes your merges"),
        Finding::NoTrailer(Some(_)) => {
            format!("let its session amend it, or pass {allow}")
        }
        Finding::NoTrailer(None) => format!("check where it was recorded, or pass {allow}"),
        Finding::Copied { .. } => {
            format!(
                "pass {allow} if such copies (cherry-pick, squash, rebase on a forge) are intended"
            )
        }
        Finding::Nowhere(_) => format!("check where it was recorded, or pass {allow}"),
        Finding::Malformed(_) => format!("reword the message, or pass {allow}"),
        Finding::Ambiguous(_) => format!("run `siglum adopt {id} SESSION` to choose one"),
        Finding::Attested => {
            format!(
                "run `siglum adopt {id} SESSION` to confirm it, or do not pass `--deny attested`"
            )
        }
        Finding::Before => format!("run `siglum adopt {id} SESSION` if you know its session"),
    }
}
