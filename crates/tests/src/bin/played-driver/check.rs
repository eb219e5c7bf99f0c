//! What must be true of a ledger and of every sink at any moment.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use siglum_domain::SessionId;
use siglum_domain::receipt::{GENESIS, Receipt, verifies};
use siglum_ledger::{Ledger, LedgerError, Mode, SessionFilter, SessionRecord, Transaction, read};

/// What is wrong in the ledger, and in directories that show it: each file must be a prefix of its session.
pub(crate) fn check(ledger: &mut dyn Ledger, dirs: &Value) -> Result<Value, LedgerError> {
    let (mut problems, receipts) = read(ledger, |tx| {
        let mut problems = Vec::new();
        let mut receipts = BTreeMap::new();
        for listing in tx.sessions(&SessionFilter::default())? {
            let record = listing.record;
            let all = tx.receipts(record.id)?;
            session(tx, &record, &all, &mut problems)?;
            deliveries(tx, &record, &all, &mut problems)?;
            receipts.insert(record.id, all);
        }
        Ok((problems, receipts))
    })?;
    for dir in dirs.as_array().into_iter().flatten() {
        directory(Path::new(dir.as_str().unwrap()), &receipts, &mut problems);
    }
    let count: usize = receipts.values().map(Vec::len).sum();
    Ok(json!({ "problems": problems, "sessions": receipts.len(), "receipts": count }))
}

/// The log has no hole but where it was forgotten, each turn is in one receipt, the receipts verify, and nothing waits
/// outside an open turn. What is observed may come late, and is sealed when it is.
fn session(
    tx: &mut dyn Transaction,
    record: &SessionRecord,
    receipts: &[Receipt],
    problems: &mut Vec<String>,
) -> Result<(), LedgerError> {
    let id = record.id;
    let entries = tx.entries(id, 0, 0)?;
    let dense = (1..).zip(&entries).all(|(n, e)| e.sequence == n);
    let is_driven = record.mode == Mode::Driven;
    let is_sealed = record.head == record.sealed || !is_driven;
    let is_whole = dense && entries.len() as u64 == record.head && is_sealed;
    if !is_whole && record.forgotten.is_none() {
        problems.push(format!(
            "{id}: {} entries, head {}, sealed {}",
            entries.len(),
            record.head,
            record.sealed
        ));
    }
    let (mut previous, mut last, mut turns) = (GENESIS.to_owned(), 0, BTreeMap::new());
    for receipt in receipts {
        let rows = tx.to_seal(id, receipt.first, receipt.last)?;
        for turn in rows.iter().filter_map(|(_, turn)| *turn) {
            if is_driven && *turns.entry(turn).or_insert(receipt.number) != receipt.number {
                problems.push(format!("{id}: {turn} is in two receipts"));
            }
        }
        let rows: Vec<_> = rows.into_iter().map(|(entry, _)| entry).collect();
        if receipt.first != last + 1 || !verifies(receipt, &previous, &rows) {
            problems.push(format!("{id}: receipt {} does not verify", receipt.number));
        }
        (previous, last) = (receipt.digest.clone(), receipt.last);
    }
    if last != record.sealed {
        problems.push(format!(
            "{id}: receipts end at {last}, sealed {}",
            record.sealed
        ));
    }
    if tx.open_turn(id)?.is_none() && !tx.pending(id)?.is_empty() {
        problems.push(format!("{id}: something waits, and no turn is open"));
    }
    Ok(())
}

/// Each projection is owed all that is committed, and no more.
fn deliveries(
    tx: &mut dyn Transaction,
    record: &SessionRecord,
    receipts: &[Receipt],
    problems: &mut Vec<String>,
) -> Result<(), LedgerError> {
    for projection in tx.projections()? {
        let delivery = tx.delivery(&projection.name, record.id)?;
        let (taken, due) = delivery.map_or((0, 0), |d| (d.taken, d.due));
        if due != receipts.len() as u64 || taken > due {
            problems.push(format!(
                "{}: {} of {} is due at {}, {taken} taken",
                record.id,
                due,
                receipts.len(),
                projection.name
            ));
        }
    }
    Ok(())
}

fn directory(dir: &Path, receipts: &BTreeMap<SessionId, Vec<Receipt>>, problems: &mut Vec<String>) {
    for file in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = file.file_name().into_string().unwrap();
        let Some(Ok(id)) = name.strip_suffix(".jsonl").map(str::parse::<SessionId>) else {
            continue;
        };
        let text = std::fs::read_to_string(file.path()).unwrap();
        // A line without its end was never acknowledged.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let none = Vec::new();
        let ours = receipts.get(&id).unwrap_or(&none);
        for (n, line) in whole.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            let theirs = &line["receipt"];
            let same = ours.get(n).is_some_and(|r| {
                let events = line["events"].as_array().map_or(0, Vec::len) as u64;
                *theirs
                    == json!({ "number": r.number, "first": r.first, "last": r.last, "digest": r.digest })
                    && events == r.last + 1 - r.first
            });
            if !same {
                problems.push(format!(
                    "{}: line {} is not receipt {} of the ledger: {theirs}",
                    file.path().display(),
                    n + 1,
                    n + 1
                ));
                break;
            }
        }
    }
}
