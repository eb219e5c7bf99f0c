//! What stands around a log: its open turn, transcripts, file versions, and rows that belong to nobody.

use std::collections::HashSet;

use siglum_domain::SessionId;
use siglum_domain::audit::Wrong;
use siglum_domain::receipt::payload_digest;
use siglum_gitstore::{GitError, ObjectAddress};
use siglum_ledger::{Ledger, LedgerError, LogRow, Miscount, OpenTurn, Unlike, read};

use super::RESTORE;
use super::report::{Kind, Problem, Report};
use crate::commits::contents::FILE_MOST;
use crate::identity::repositories::usable_git;
use crate::{EngineError, World};

/// What to do about sums of usage.
const ADD_UP: &str = "`siglum rebuild summaries` adds the usage of all sessions up again.";
/// How many rows of a table that went bad are told.
const UNLIKE_MOST: usize = 20;
/// How many rows are read at a time.
const PAGE: usize = 64;
/// How many addresses of file versions that are sound are remembered.
const REMEMBERED: usize = 100_000;

/// The file versions that are known to be sound.
#[derive(Default)]
pub(super) struct Versions(HashSet<ObjectAddress>);

/// The turn that is open, and what waits in it.
pub(super) fn open_turn(
    ledger: &mut dyn Ledger,
    session: SessionId,
    report: &mut Report,
) -> Result<(), LedgerError> {
    let found = read(ledger, |tx| {
        let Some(turn) = tx.open_turn(session)? else {
            return Ok(None);
        };
        let head = tx.session(session)?.map_or(0, |s| s.head);
        let epoch = tx.lease(session)?.map(|lease| lease.epoch);
        Ok(Some((turn, head, epoch, tx.pending(session)?)))
    })?;
    let Some((turn, head, epoch, rows)) = found else {
        return Ok(());
    };
    let mut wrong = |what: String| report.damaged(Some(session), place(&turn), what, RESTORE);
    if turn.base > head {
        wrong(format!(
            "it was opened behind {}, the log ends at {head}",
            turn.base
        ));
    }
    if epoch.is_some_and(|epoch| epoch < turn.epoch) {
        wrong("the lease is older than the turn".to_owned());
    }
    for row in &rows {
        if let Some(what) = unlike(row) {
            wrong(format!("`{}`: {what}", row.key));
        }
    }
    Ok(())
}

fn place(turn: &OpenTurn) -> String {
    format!("the open turn `{}`", turn.key)
}

/// How the payload of a row differs from its digest.
fn unlike(row: &LogRow) -> Option<String> {
    match row.fact() {
        Err(error) => Some(error.to_string()),
        Ok(json) if payload_digest(&row.salt, json.as_bytes()) != row.digest => {
            Some("its payload is not what its digest says".to_owned())
        }
        Ok(_) => None,
    }
}

/// The stored lines of transcripts. They have no digest: only what cannot be unpacked is told.
pub(super) fn transcripts(
    ledger: &mut dyn Ledger,
    session: SessionId,
    report: &mut Report,
) -> Result<(), LedgerError> {
    let (mut stream, mut first) = (String::new(), 0);
    loop {
        let page = read(ledger, |tx| {
            tx.stored_segments(session, &stream, first, PAGE)
        })?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        (stream, first) = (last.stream.clone(), last.first);
        for segment in page {
            report.counts.segments += 1;
            if let Err(what) = segment.lines {
                let place = format!("transcript {} at byte {}", segment.stream, segment.first);
                report.damaged(Some(session), place, what, RESTORE);
            }
        }
    }
}

/// The file versions that the edits of a session name.
pub(super) fn versions(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    sound: &mut Versions,
    report: &mut Report,
) -> Result<(), LedgerError> {
    let mut after = String::new();
    loop {
        let page = read(ledger, |tx| tx.edit_objects(session, &after, PAGE))?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after.clone_from(last);
        for name in page {
            report.counts.versions += 1;
            if let Some((kind, what)) = version(world, &name, sound) {
                report.beside(Problem {
                    kind,
                    session: Some(session),
                    place: format!("file version {}", name.chars().take(12).collect::<String>()),
                    what,
                    remedy: "`siglum doctor --fix` stores it again where git has it; else copy it from a backup of the object store, if there is one. Answers about lines do without it.",
                });
            }
        }
    }
}

/// Stores file versions of a session again that are damaged or missing, where git has their content. Gives how many.
pub(super) fn heal(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    sound: &mut Versions,
) -> Result<u64, EngineError> {
    let (mut after, mut healed) = (String::new(), 0);
    loop {
        let page = read(ledger, |tx| tx.edit_objects(session, &after, PAGE))?;
        let Some(last) = page.last() else {
            return Ok(healed);
        };
        after.clone_from(last);
        for name in page {
            if version(world, &name, sound).is_some()
                && let Ok(address) = name.parse()
                && let Some(content) = of_git(world, ledger, &name)?
                && ObjectAddress::for_content(&content) == address
            {
                world.objects.put(&content, None)?;
                healed += 1;
            }
        }
    }
}

/// The content of a file version, from git.
fn of_git(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    object: &str,
) -> Result<Option<Vec<u8>>, EngineError> {
    let found = read(ledger, |tx| {
        let Some((repository, blob)) = tx.blob_of(object)? else {
            return Ok(None);
        };
        let all = tx.repositories()?;
        Ok(all
            .into_iter()
            .find(|r| r.id == repository)
            .map(|r| (r, blob)))
    })?;
    let Some((repository, blob)) = found else {
        return Ok(None);
    };
    let Some(git) = usable_git(world, &repository) else {
        return Ok(None);
    };
    let blobs = git.blobs(std::slice::from_ref(&blob), FILE_MOST)?;
    Ok(blobs.into_iter().find_map(|(_, content)| content))
}

fn version(world: &World<'_>, name: &str, sound: &mut Versions) -> Option<(Kind, String)> {
    let Ok(address) = name.parse::<ObjectAddress>() else {
        return Some((Kind::Damaged, format!("`{name}` is no address")));
    };
    if sound.0.contains(&address) {
        return None;
    }
    if !world.objects.contains(&address) {
        return Some((Kind::Missing, "not in the object store".to_owned()));
    }
    match world.objects.get(&address) {
        Ok(_) => {
            if sound.0.len() >= REMEMBERED {
                sound.0.clear();
            }
            sound.0.insert(address);
            None
        }
        Err(error @ GitError::NotFound(_)) => Some((Kind::Missing, error.to_string())),
        Err(error) => Some((Kind::Damaged, error.to_string())),
    }
}

/// Rows that belong to nothing that is there.
pub(super) fn strays(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    for stray in read(ledger, |tx| tx.strays())? {
        let what = format!("{} of {}, which is not there", stray.rows, stray.of);
        report.missing(None, format!("rows in {}", stray.what), what, RESTORE);
    }
    Ok(())
}

/// Entries of a session behind a sequence, of which columns that no receipt covers are not what was stored.
pub(super) fn rotten_entries(
    ledger: &mut dyn Ledger,
    session: SessionId,
    after: u64,
    report: &mut Report,
) -> Result<(), LedgerError> {
    for unlike in read(ledger, |tx| tx.unlike_entries(session, after, UNLIKE_MOST))? {
        let place = format!("a row in {}", unlike.table);
        let what = format!("its columns are not what was stored: {}", unlike.row);
        report.damaged(Some(session), place, what, RESTORE);
    }
    Ok(())
}

/// Rows beside the logs that nothing else verifies and whose columns are not what was stored.
pub(super) fn rotten(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    for Unlike { table, row } in read(ledger, |tx| tx.unlike(UNLIKE_MOST))? {
        let place = format!("a row in {table}");
        let (what, remedy) = match table {
            "usage_quarters" => ("it is not what the messages come to", ADD_UP),
            _ => ("its columns are not what was stored", RESTORE),
        };
        report.damaged(None, place, format!("{what}: {row}"), remedy);
    }
    Ok(())
}

/// Tables that have other rows than were stored.
pub(super) fn miscounted(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    for Miscount {
        table,
        stored,
        found,
    } in read(ledger, |tx| tx.miscounts())?
    {
        let place = format!("the table {table}");
        if found < stored {
            let what = format!("{} of its {stored} rows are gone", stored - found);
            report.missing(None, place, what, RESTORE);
            continue;
        }
        let what = match found - stored {
            0 => "it has as many rows as were stored, and not the same ones".to_owned(),
            more => format!("{stored} rows were stored, and it has {more} more"),
        };
        report.damaged(None, place, what, RESTORE);
    }
    Ok(())
}

/// The chain of the audit.
pub(super) fn audit(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    let found = crate::identity::audit::verify(ledger)?;
    report.counts.audit = found.entries;
    for flaw in &found.flaws {
        let place = format!("audit entry {}", flaw.number);
        match flaw.wrong {
            Wrong::Missing { .. } => report.missing(None, place, flaw.to_string(), RESTORE),
            _ => report.damaged(None, place, flaw.to_string(), RESTORE),
        }
    }
    Ok(())
}
