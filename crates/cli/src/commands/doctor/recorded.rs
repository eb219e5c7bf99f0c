//! What the ledger tells of things that were refused, deferred or lost.

use std::path::Path;

use siglum_domain::{SessionId, Timestamp};
use siglum_engine::World;
use siglum_engine::driven::launch;
use siglum_engine::identity::audit;
use siglum_engine::record::transcript::SkippedLines;
use siglum_engine::views::doctor::{self, AllDeclined, SkippedTranscript, Waiting};
use siglum_engine::views::verify::{self, Look};
use siglum_ledger::Ledger;

use super::{Check, FIX};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{store, ui};

/// How many things of a kind are shown.
const SHOWN: usize = 5;
/// How many transcripts with skipped lines are shown.
const TRANSCRIPTS: usize = 20;
/// So many sessions wait for the search index while nothing is wrong.
const LAG: u64 = 64;
/// Reasons that are a fault of this program.
const FAULTS: [&str; 1] = ["panicked"];

pub(super) fn checks(cx: &Cx, since: Timestamp) -> Vec<Check> {
    // That there is none, or that it cannot be opened, was told already.
    let Ok(mut ledger) = store::open_unsettled(cx) else {
        return Vec::new();
    };
    let looked = store::world(cx).and_then(|world| all_checks(&world, &mut ledger, since));
    looked.unwrap_or_else(|error| {
        vec![Check::problem("ledger", format!("{:#}", error.source)).details(error.hints)]
    })
}

fn all_checks(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    since: Timestamp,
) -> Result<Vec<Check>, CommandError> {
    let mut checks = declined(&doctor::declined(ledger, since)?, since);
    let waiting = doctor::waiting(ledger, clock::now())?;
    checks.extend(parked(&waiting));
    checks.extend(intents(&waiting));
    checks.extend(unfinished(&waiting));
    checks.extend(damaged(&doctor::damaged(ledger)?));
    checks.push(search_index(ledger));
    let look = verify::spot_check(world, ledger)?;
    checks.push(stored(&look));
    // Otherwise there is too much of it to be gone through here.
    if look.is_whole {
        checks.push(chain(&audit::verify(ledger)?));
    }
    Ok(checks)
}

fn declined(all: &AllDeclined, since: Timestamp) -> Vec<Check> {
    let AllDeclined { groups, skipped } = all;
    if groups.is_empty() && skipped.is_empty() {
        let text = format!("nothing was declined since {}", ui::when(since));
        return vec![Check::ok("declined", text)];
    }
    let check = |group: &doctor::Declined| {
        let text = format!(
            "{} × {}, last at {} in `{}`",
            ui::count(group.count),
            group.reason,
            ui::when(group.last),
            group.edge
        );
        let check = match group.reason.as_str() {
            reason if FAULTS.contains(&reason) => Check::problem("declined", text)
                .remedy("This is a bug in siglum; please report it."),
            launch::UNREADABLE_TOKEN => Check::note("declined", text).remedy(
                "Allow the sandbox to read the file in SIGLUM_LAUNCH_TOKEN_FILE, or attach the links with `siglum link add`.",
            ),
            _ => Check::note("declined", text),
        };
        check.details([ui::one_line(&group.example, 300)])
    };
    groups
        .iter()
        .map(check)
        .chain(skipped_lines(skipped))
        .collect()
}

/// Lines of transcripts that could not be read.
fn skipped_lines(skipped: &[SkippedTranscript]) -> Option<Check> {
    if skipped.is_empty() {
        return None;
    }
    let mut all = SkippedLines::default();
    skipped
        .iter()
        .for_each(|transcript| all += transcript.lines);
    let text = format!(
        "skipped {} of {}: {all}",
        ui::plural(all.count(), "line"),
        ui::plural(skipped.len() as u64, "transcript"),
    );
    let line = |transcript: &SkippedTranscript| {
        let SkippedTranscript { path, lines, .. } = transcript;
        let first_at = lines.first_at.unwrap_or_default();
        let path = Cx::tilde(Path::new(path));
        format!("{path}: {lines}; the first at byte {first_at}")
    };
    let more = skipped.len().saturating_sub(TRANSCRIPTS);
    let more = (more > 0).then(|| format!("and {} more", ui::plural(more as u64, "transcript")));
    Some(
        Check::note("transcripts", text)
            .details(skipped.iter().take(TRANSCRIPTS).map(line).chain(more))
            .remedy("They are not in the ledger. Lines are malformed if a write was cut off, or an agent changed its format."),
    )
}

/// The search index: whether it can be asked, and what it lacks.
fn search_index(ledger: &mut dyn Ledger) -> Check {
    let looked = ledger.index().and_then(|index| {
        let check = index.check_index()?;
        Ok((check, index.index_standing()))
    });
    let (check, standing) = match looked {
        Ok((check, Ok(standing))) => (check, standing),
        Ok((check, Err(error))) => return damaged_index(check.wrong, &error.to_string()),
        Err(error) => return damaged_index(Vec::new(), &error.to_string()),
    };
    if !check.wrong.is_empty() {
        return damaged_index(check.wrong, "it does not hold together");
    }
    let waiting = ui::plural(standing.waiting, "session");
    let has_all = match (standing.is_ready, standing.waiting) {
        (true, 0) => Check::ok("search", "the search index has all sessions"),
        (true, n) if n <= LAG => {
            Check::ok("search", format!("the search index is {waiting} behind"))
        }
        (false, n) if n <= LAG => Check::ok("search", "the search index is not built yet"),
        _ => Check::note("search", format!("the search index is {waiting} behind")).remedy(
            match store::is_server() {
                true => "A gateway fills it: check that one runs.",
                false => "The worker fills it; run `siglum status` to start the worker.",
            },
        ),
    };
    let not_checked = check.unchecked_bytes.map(|bytes| {
        let size = ui::bytes(bytes);
        format!("not checked for damage, because it is large ({size})")
    });
    has_all.details(not_checked)
}

fn damaged_index(wrong: Vec<String>, why: &str) -> Check {
    let text = format!("the search index is damaged: {}", ui::one_line(why, 200));
    Check::problem("search", text)
        .details(wrong.into_iter().take(SHOWN))
        .remedy("Run `siglum rebuild search`; only the index is rebuilt.")
}

/// The chain of the audit.
fn chain(report: &audit::Report) -> Check {
    if report.is_sound() {
        let text = ui::counted(
            report.entries,
            "entry, the first of its chain",
            "entries, each chained to the one before",
        );
        return Check::ok("audit", text);
    }
    let places = ui::plural(report.count, "place");
    Check::problem("audit", format!("entries were changed, in {places}"))
        .details(report.flaws.iter().take(SHOWN).map(ToString::to_string))
        .remedy("Run `siglum audit verify` for details, and keep a copy of the ledger as it is.")
}

fn parked(waiting: &Waiting) -> Option<Check> {
    if waiting.parked.is_empty() {
        return None;
    }
    let line = |(queue, item, at, why): &(String, String, Timestamp, String)| {
        format!("{queue} {item} since {}: {why}", ui::when(*at))
    };
    let n = waiting.parked.len() as u64;
    Some(
        Check::problem(
            "parked",
            format!("{} failed repeatedly", ui::plural(n, "item")),
        )
        .details(waiting.parked.iter().take(SHOWN).map(line))
        .remedy("Run `siglum doctor --fix` to retry them."),
    )
}

fn intents(waiting: &Waiting) -> Option<Check> {
    if waiting.intents.is_empty() {
        return None;
    }
    let line = |i: &siglum_ledger::IntentRecord| {
        format!(
            "{} since {} in {}",
            i.scene.checkpoint.short(),
            ui::when(i.at),
            Cx::tilde(Path::new(&i.scene.place.worktree))
        )
    };
    let n = waiting.intents.len() as u64;
    let text = format!(
        "{} open for more than a day: a commit started, and this machine saw neither its landing nor its failure",
        if n == 1 {
            "1 intent is".to_owned()
        } else {
            format!("{n} intents are")
        }
    );
    Some(
        Check::note("intents", text)
            .details(waiting.intents.iter().take(SHOWN).map(line))
            .remedy("Run any command in that repository to check again."),
    )
}

fn unfinished(waiting: &Waiting) -> Vec<Check> {
    let mut checks = Vec::new();
    if waiting.commits > 0 {
        let n = ui::plural(waiting.commits as u64, "commit");
        let text = format!("{n} not read from git yet");
        checks.push(Check::note("commits", text).remedy(FIX));
    }
    if waiting.transcripts > 0 {
        let n = ui::plural(waiting.transcripts as u64, "transcript");
        let text = format!("{n} not read completely yet; the worker continues");
        checks.push(Check::note("transcripts", text).remedy(FIX));
    }
    checks
}

fn damaged(sessions: &[(SessionId, String)]) -> Option<Check> {
    if sessions.is_empty() {
        return None;
    }
    let lines = sessions.iter().take(SHOWN).map(|(session, reason)| {
        format!("session {}: {}", session.short(), ui::one_line(reason, 300))
    });
    let n = ui::plural(sessions.len() as u64, "session");
    Some(
        Check::problem("damaged", format!("{n} damaged; all others are available"))
            .details(lines)
            .remedy("Run `siglum verify SESSION` for details; it releases a session that is intact again."),
    )
}

/// What `siglum verify` says, or would say of a part.
fn stored(look: &Look) -> Check {
    let report = &look.report;
    let looked = format!(
        "{} of {}",
        ui::plural(report.counts.receipts, "receipt"),
        ui::plural(report.counts.sessions, "session")
    );
    if report.is_sound() && look.is_whole {
        return Check::ok(
            "stored",
            format!("{looked} verified, and all files that they need"),
        );
    }
    if report.is_sound() {
        let by_turns = match look.since {
            Some(since) => format!("every session was sound since {}", ui::when(since)),
            None => "not every session was looked at yet".to_owned(),
        };
        let at_once = match look.verified {
            Some(at) => format!("everything was verified at {}", ui::when(at)),
            None => "everything was never verified at once".to_owned(),
        };
        let text = format!("{looked} verified: a part, since there are many");
        return Check::note("stored", text)
            .details([by_turns, at_once])
            .remedy("Run `siglum verify --all` to verify everything.");
    }
    let lines = report.problems.iter().take(SHOWN).map(|problem| {
        let session = problem.session.map(|s| format!("session {}: ", s.short()));
        let what = ui::one_line(&problem.what, 300);
        format!("{}{}: {what}", session.unwrap_or_default(), problem.place)
    });
    let count = report.counts.missing + report.counts.damaged;
    let text = format!(
        "{} missing or damaged",
        ui::counted(count, "object is", "objects are")
    );
    let first = report.problems.first().map_or("", |problem| problem.remedy);
    Check::problem("stored", text)
        .details(lines)
        .remedy(format!("Run `siglum verify --all` for details. {first}"))
}
