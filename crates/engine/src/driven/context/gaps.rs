//! What hosts did not hand over: known, filled later, or accepted.

use siglum_domain::Timestamp;
use siglum_domain::context::Keys;
use siglum_ledger::{ContextGap, ContextRecord, Durability, Ledger, Transaction};

use super::ContextError;
use super::error::{attempt, attempt_read, belongs};
use super::view::{self, Gaps};
use crate::Here;

/// Why a gap is there, where the host does not say.
pub(super) const MISSING: &str = "turns were not handed over";

type Outcome<T> = Result<T, ContextError>;

/// The gaps of a context, in the order of its host: also those that were filled or accepted.
///
/// # Errors
/// [`ContextError::Mismatch`] and [`ContextError::NoContext`] for keys that do not belong together.
pub fn gaps(ledger: &mut dyn Ledger, keys: &Keys) -> Outcome<Vec<ContextGap>> {
    attempt_read(ledger, |tx| {
        let context = belongs(tx, keys)?;
        Ok(tx.context_gaps(&context.key)?)
    })
}

/// Refuses keys that do not belong together, and a context that has a gap nobody accepted.
///
/// # Errors
/// [`ContextError::Gap`], which names the positions.
pub fn sound(ledger: &mut dyn Ledger, keys: &Keys) -> Outcome<()> {
    attempt_read(ledger, |tx| {
        let context = belongs(tx, keys)?;
        view::sound(tx, &context, Gaps::Refused)
    })
}

/// Goes on without what is missing. Said once for the gaps that begin at or before `until`; gives how many that were.
///
/// # Errors
/// As [`gaps`].
pub fn accept_gap(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    until: Option<u64>,
) -> Outcome<usize> {
    attempt(ledger, Durability::Disk, |tx| {
        let mut context = belongs(tx, keys)?;
        let at = here.now();
        let mut accepted = 0;
        for gap in tx.context_gaps(&context.key)? {
            if !gap.is_open() || until.is_some_and(|until| gap.first > until) {
                continue;
            }
            if context
                .next
                .is_some_and(|next| (gap.first..=gap.last).contains(&next))
            {
                context.next = Some(gap.last + 1);
            }
            accepted += 1;
            let accepted = Some((at, by.to_owned()));
            tx.put_context_gap(&ContextGap { accepted, ..gap })?;
        }
        tx.put_context(&context)?;
        Ok(accepted)
    })
}

/// Notes a gap, or that the one which is known there is longer.
pub(super) fn note(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    (first, last): (u64, u64),
    reason: &str,
) -> Outcome<()> {
    let known = tx.context_gaps(&context.key)?;
    let known = known.into_iter().find(|gap| gap.first == first);
    let reason = here.redactor.redact(reason).into_string();
    let gap = match known {
        Some(known) if known.is_open() => ContextGap {
            last: known.last.max(last),
            ..known
        },
        _ => gap(context, (first, last), reason, here.now()),
    };
    tx.put_context_gap(&gap)?;
    Ok(())
}

/// A gap that nobody noted before.
fn gap(
    context: &ContextRecord,
    (first, last): (u64, u64),
    reason: String,
    since: Timestamp,
) -> ContextGap {
    ContextGap {
        context: context.key.clone(),
        first,
        last,
        reason,
        since,
        filled_at: None,
        accepted: None,
    }
}

/// Refuses positions that do not lie in one gap.
pub(super) fn within(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    (first, last): (u64, u64),
) -> Outcome<()> {
    let known = tx.context_gaps(&context.key)?;
    let holds =
        |gap: &ContextGap| gap.filled_at.is_none() && gap.first <= first && last <= gap.last;
    match known.iter().any(holds) {
        true => Ok(()),
        false => Err(ContextError::invalid(
            "positions",
            format!("{first} to {last} are not in a gap of this context"),
        )),
    }
}

/// Takes positions out of the gap that they lie in.
pub(super) fn fill(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    (first, last): (u64, u64),
    at: Timestamp,
) -> Outcome<()> {
    let known = tx.context_gaps(&context.key)?;
    let holds =
        |gap: &&ContextGap| gap.filled_at.is_none() && gap.first <= first && last <= gap.last;
    let Some(gap) = known.iter().find(holds).cloned() else {
        return Ok(());
    };
    if gap.first < first {
        let last = first - 1;
        tx.put_context_gap(&ContextGap {
            last,
            ..gap.clone()
        })?;
    }
    if last < gap.last {
        let first = last + 1;
        tx.put_context_gap(&ContextGap {
            first,
            ..gap.clone()
        })?;
    }
    let filled_at = Some(at);
    tx.put_context_gap(&ContextGap {
        first,
        last,
        filled_at,
        ..gap
    })?;
    Ok(())
}
