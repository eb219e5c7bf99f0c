//! The walk through everything that is stored, in batches, to look or to erase.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::observation::Fact;
use siglum_domain::{SessionId, Timestamp};
use siglum_gitstore::{ObjectAddress, ObjectStore};
use siglum_ledger::{Durability, Ledger, LedgerError, Payload, Projection, Segment, read, write};

use super::columns;
use super::needle::{Needle, Replaced};
use super::report::{Place, Report};
use crate::identity::audit::{self, Entry};
use crate::share::project::{self, DIRECTORY, Directory};
use crate::{EngineError, Here, World};

/// How many payloads are in memory at once.
const PAYLOADS: usize = 64;
/// How many runs of lines are in memory at once.
const SEGMENTS: usize = 4;
/// A file beside the ledger that is larger is not looked through, in bytes.
const FILE_MOST: u64 = 256 << 20;

/// Looks for it, and changes nothing. `files` are those beside the ledger that hold text.
///
/// # Errors
/// Those of the ledger, or a directory cannot be read.
pub fn search(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    files: &[PathBuf],
    needle: &Needle,
) -> Result<Report, EngineError> {
    walk(world, ledger, files, needle, None)
}

/// Erases it wherever it is stored.
///
/// # Errors
/// Those of the ledger, or a file cannot be changed; what was erased until then stays erased.
pub fn erase(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    files: &[PathBuf],
    needle: &Needle,
    by: &str,
) -> Result<Report, EngineError> {
    let report = walk(world, ledger, files, needle, Some(world.now()))?;
    let places = json!({ "places": report.count });
    audit::note(
        world,
        ledger,
        &Entry::done(by, Action::TextForgotten).with(places),
    )?;
    ledger.scrub()?;
    Ok(report)
}

fn walk(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    files: &[PathBuf],
    needle: &Needle,
    erase: Option<Timestamp>,
) -> Result<Report, EngineError> {
    let mut report = Report::default();
    payloads(ledger, needle, erase, &mut report)?;
    open_turns(ledger, needle, erase, &mut report)?;
    lines(ledger, needle, erase, &mut report)?;
    columns::walk(ledger, needle, erase, &mut report)?;
    columns::telemetry(ledger, needle, erase, &mut report)?;
    versions(&world.objects, ledger, needle, erase, &mut report)?;
    for file in files {
        beside(file, needle, erase, &mut report)?;
    }
    directories(world, ledger, needle, erase, &mut report)?;
    Ok(report)
}

fn payloads(
    ledger: &mut dyn Ledger,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), LedgerError> {
    let mut after = 0;
    loop {
        let batch = read(ledger, |tx| tx.payloads(after, PAYLOADS))?;
        let Some(last) = batch.last() else {
            return Ok(());
        };
        after = last.position;
        let hits: Vec<(&Payload, _)> = batch
            .iter()
            .filter_map(|p| Some((p, needle.in_json(&p.fact)?)))
            .collect();
        for (payload, replaced) in &hits {
            let place = Place::Entry {
                sequence: payload.sequence,
                kind: payload.kind.clone(),
            };
            report.add(Some(payload.session), place, replaced.rules.clone());
        }
        if let Some(at) = erase.filter(|_| !hits.is_empty()) {
            write(ledger, Durability::Disk, |tx| {
                let sessions: BTreeSet<_> =
                    hits.iter().map(|(payload, _)| payload.session).collect();
                sessions
                    .into_iter()
                    .try_for_each(|session| tx.forget_parts(session, at))?;
                hits.iter().try_for_each(|(payload, replaced)| {
                    // What is no fact any more is erased as a whole.
                    let fact = Some(replaced.text.as_str())
                        .filter(|t| serde_json::from_str::<Fact>(t).is_ok());
                    tx.put_payload(payload.position, fact)
                })
            })?;
        }
    }
}

/// A turn that is open has no tombstones: where something of it must go, it goes, and its driver is refused.
fn open_turns(
    ledger: &mut dyn Ledger,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), LedgerError> {
    for turn in read(ledger, |tx| tx.open_turns(usize::MAX))? {
        let waits = read(ledger, |tx| tx.pending(turn.session))?;
        let mut rules = Vec::new();
        let mut is_found = false;
        for row in waits {
            if let Some(replaced) = needle.in_json(&row.fact()?) {
                is_found = true;
                rules.extend(replaced.rules);
            }
        }
        if !is_found {
            continue;
        }
        let place = Place::OpenTurn {
            key: turn.key.clone(),
        };
        report.add(Some(turn.session), place, rules);
        if erase.is_some() {
            write(ledger, Durability::Disk, |tx| tx.drop_turn(turn.session))?;
        }
    }
    Ok(())
}

fn lines(
    ledger: &mut dyn Ledger,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), LedgerError> {
    let (mut stream, mut first) = (String::new(), 0);
    loop {
        let batch = read(ledger, |tx| tx.segments(&stream, first, SEGMENTS))?;
        let Some(last) = batch.last() else {
            return Ok(());
        };
        (stream, first) = (last.stream.clone(), last.first);
        for segment in batch {
            let session = read(ledger, |tx| tx.transcript(&segment.stream))?.map(|t| t.session);
            let Some(cleared) = cleared(&segment, needle, session, report) else {
                continue;
            };
            if let Some(at) = erase {
                write(ledger, Durability::Disk, |tx| {
                    session.map_or(Ok(()), |session| tx.forget_parts(session, at))?;
                    tx.put_lines(&cleared)
                })?;
            }
        }
    }
}

/// The run of lines without what is looked for; nothing if it is not in there.
fn cleared(
    segment: &Segment,
    needle: &Needle,
    session: Option<SessionId>,
    report: &mut Report,
) -> Option<Segment> {
    let mut is_changed = false;
    let mut lines = Vec::with_capacity(segment.lines.len());
    for (offset, line) in &segment.lines {
        // Rules read a line as they did when it was stored: as one text.
        let replaced = match needle {
            Needle::Rules(_) => needle.in_text(line),
            Needle::Pattern { .. } => needle.in_json(line),
        };
        let Some(replaced) = replaced else {
            lines.push((*offset, line.clone()));
            continue;
        };
        is_changed = true;
        let place = Place::Line {
            stream: segment.stream.clone(),
            offset: *offset,
        };
        report.add(session, place, replaced.rules);
        if !replaced.text.is_empty() {
            lines.push((*offset, replaced.text));
        }
    }
    is_changed.then(|| Segment {
        lines,
        ..segment.clone()
    })
}

fn versions(
    objects: &ObjectStore,
    ledger: &mut dyn Ledger,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), EngineError> {
    if matches!(needle, Needle::Rules(_)) {
        return Ok(());
    }
    let mut gone = HashSet::new();
    for address in objects.addresses()? {
        // One that cannot be read is damaged: nobody reads anything out of it.
        if objects
            .get(&address)
            .is_ok_and(|content| needle.in_version(&content))
        {
            report.add(None, Place::Version(address), Vec::new());
            gone.insert(address);
        }
    }
    if erase.is_some() {
        drop_versions(objects, ledger, &gone)?;
    }
    Ok(())
}

/// Erases file versions. First the versions: an address without one is no harm.
fn drop_versions(
    objects: &ObjectStore,
    ledger: &mut dyn Ledger,
    gone: &HashSet<ObjectAddress>,
) -> Result<(), EngineError> {
    if gone.is_empty() {
        return Ok(());
    }
    objects.remove(gone)?;
    write(ledger, Durability::Disk, |tx| {
        gone.iter()
            .try_for_each(|address| tx.drop_object(&address.to_string()))
    })?;
    Ok(())
}

/// A file beside the ledger: lines with it go, and so does a delivery that could not be read.
fn beside(
    path: &Path,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), EngineError> {
    let Some(text) = text_of(path)? else {
        return Ok(());
    };
    let texts = text.lines().chain(std::iter::once(text.as_str()));
    let found: Vec<_> = texts.filter_map(|text| needle.in_text(text)).collect();
    if found.is_empty() {
        return Ok(());
    }
    report.add(None, Place::File(path.to_owned()), rules_of(found));
    match erase {
        Some(_) => drop_lines(path, &text, |text| needle.in_text(text).is_some()),
        None => Ok(()),
    }
}

/// What a file says; nothing of one that is not looked through.
fn text_of(path: &Path) -> Result<Option<String>, EngineError> {
    if !fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= FILE_MOST) {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(|source| EngineError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn rules_of(found: Vec<Replaced>) -> Vec<&'static str> {
    let rules: BTreeSet<_> = found.into_iter().flat_map(|found| found.rules).collect();
    rules.into_iter().collect()
}

/// Erases lines from a file beside the ledger; where its lines do not stand by themselves, it goes as a whole.
pub(super) fn drop_lines(
    path: &Path,
    text: &str,
    goes: impl Fn(&str) -> bool,
) -> Result<(), EngineError> {
    let left: Vec<&str> = text.lines().filter(|line| !goes(line)).collect();
    let left = left.join("\n") + "\n";
    let ending = path.extension().and_then(|e| e.to_str());
    let done = match matches!(ending, Some("log" | "jsonl")) && !goes(&left) {
        true => fs::write(path, left),
        false => fs::remove_file(path),
    };
    done.map_err(|source| EngineError::Read {
        path: path.to_owned(),
        source,
    })
}

/// Directories that show what is committed: a session in whose file it is found is shown anew, with what is left of it.
fn directories(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    needle: &Needle,
    erase: Option<Timestamp>,
    report: &mut Report,
) -> Result<(), EngineError> {
    for projection in shown_in(ledger)? {
        let dir = Directory::at(&projection.target);
        for session in dir.sessions() {
            let path = dir.path(session);
            let text = text_of(&path)?.unwrap_or_default();
            let found: Vec<_> = text
                .lines()
                .filter_map(|line| needle.in_json(line))
                .collect();
            if found.is_empty() {
                continue;
            }
            report.add(Some(session), Place::File(path), rules_of(found));
            if erase.is_some() {
                show_anew(world, ledger, &projection, session)?;
            }
        }
    }
    Ok(())
}

/// The projections that are directories.
pub(super) fn shown_in(ledger: &mut dyn Ledger) -> Result<Vec<Projection>, LedgerError> {
    let mut projections = read(ledger, |tx| tx.projections())?;
    projections.retain(|projection| projection.kind == DIRECTORY);
    Ok(projections)
}

/// Takes what a directory has of a session, so that it gets what is left of it.
pub(super) fn show_anew(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    projection: &Projection,
    session: SessionId,
) -> Result<(), EngineError> {
    let mut sink = Directory::at(&projection.target);
    let emptied = project::rebuild(here, ledger, &projection.name, &mut sink, Some(session))?;
    emptied.map(drop).map_err(|error| EngineError::Write {
        path: sink.path(session),
        source: std::io::Error::other(error),
    })
}
