//! Whether what is stored holds secrets that today's rules find.

use std::collections::BTreeMap;

use siglum_engine::forget::{self, Needle, NeedleMatch, Report};

use super::Check;
use crate::commands::forget::{FoundJson, place};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::text_files::{TextFiles, older_ledgers};
use crate::ui;

/// How many places of a rule are shown.
const SHOWN: usize = 5;

/// Looks through everything that is stored. Returns what to tell, and every place.
pub(super) fn check(cx: &Cx) -> (Vec<Check>, Vec<FoundJson>) {
    if !store::is_server() && !cx.has_ledger() {
        return (Vec::new(), Vec::new());
    }
    match search(cx) {
        Ok(report) => {
            let mut checks = secret_checks(&report);
            checks.extend(older_ledger_check(cx));
            let found = report.found.iter().map(FoundJson::from_match);
            (checks, found.collect())
        }
        Err(error) => {
            let check =
                Check::problem("secrets", format!("{:#}", error.source)).details(error.hints);
            (vec![check], Vec::new())
        }
    }
}

/// What no walk looks through.
fn older_ledger_check(cx: &Cx) -> Option<Check> {
    let files = match store::is_server() {
        true => Vec::new(),
        false => older_ledgers(&cx.home),
    };
    let text = "`siglum restore` kept older ledgers, which are not searched and from which nothing is erased";
    (!files.is_empty()).then(|| {
        Check::note("secrets", text)
            .details(files.iter().map(|file| file.display().to_string()))
            .remedy("Delete these files once they are no longer needed.")
    })
}

fn search(cx: &Cx) -> Result<Report, CommandError> {
    let mut ledger = store::open_unsettled(cx)?;
    let needle = Needle::Rules(Vec::new());
    let files = match store::is_server() {
        true => Vec::new(),
        false => TextFiles::find(cx, &mut ledger)?.list(),
    };
    Ok(forget::search(
        &store::world(cx)?,
        &mut ledger,
        &files,
        &needle,
    )?)
}

fn secret_checks(report: &Report) -> Vec<Check> {
    if report.count == 0 {
        return vec![Check::ok(
            "secrets",
            "the current rules find no stored secret",
        )];
    }
    let mut rules: BTreeMap<&str, Vec<&NeedleMatch>> = BTreeMap::new();
    for found in &report.found {
        for rule in &found.rules {
            rules.entry(rule).or_default().push(found);
        }
    }
    let check = |(rule, places): (&str, Vec<&NeedleMatch>)| {
        let n = ui::plural(places.len() as u64, "place");
        let line = |found: &&NeedleMatch| match found.session {
            Some(session) => format!("session {}, {}", session.short(), place(&found.place)),
            None => place(&found.place),
        };
        let more = places.len().saturating_sub(SHOWN);
        let more = (more > 0).then(|| format!("and {more} more; pass `--json` to list all"));
        Check::problem("secrets", format!("a secret that matches {rule} is stored in {n}"))
            .details(places.iter().take(SHOWN).map(line).chain(more))
            .remedy(format!(
                "Run `siglum forget --rule {rule}` to erase it there, or `siglum forget SESSION` to erase a whole session."
            ))
    };
    rules.into_iter().map(check).collect()
}
