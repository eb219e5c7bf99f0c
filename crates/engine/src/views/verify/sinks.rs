//! Where projections are: their cursors, and what directories have by their own account.

use siglum_domain::SessionId;
use siglum_ledger::{Delivery, Ledger, LedgerError, Projection, read};

use super::report::{Kind, Problem, Report};
use crate::share::project::{Directory, Position, Sink as _};

/// What to do about a projection.
const REBUILD: &str =
    "`siglum rebuild NAME` empties the projection and fills it again from the ledger.";

/// How every projection stands with a session.
pub(super) fn cursors(
    ledger: &mut dyn Ledger,
    session: SessionId,
    report: &mut Report,
) -> Result<(), LedgerError> {
    let (projections, last) = read(ledger, |tx| {
        let last = tx.last_receipt(session)?.map_or(0, |r| r.number);
        Ok((tx.projections()?, last))
    })?;
    for projection in projections {
        let delivery = read(ledger, |tx| tx.delivery(&projection.name, session))?;
        let mut tell = |kind, what| {
            report.beside(Problem {
                kind,
                session: Some(session),
                place: format!("projection {}", projection.name),
                what,
                remedy: REBUILD,
            });
        };
        let Some(delivery) = delivery else {
            if last > 0 {
                tell(
                    Kind::Missing,
                    format!("{last} receipts were never due at it"),
                );
            }
            continue;
        };
        if let Some(what) = wrong(ledger, &delivery)? {
            tell(Kind::Damaged, what);
        }
        if projection.kind == "directory"
            && let Some((kind, what)) = directory(ledger, &projection, &delivery)?
        {
            tell(kind, what);
        }
        report.counts.cursors += 1;
    }
    Ok(())
}

/// How a cursor contradicts itself, or the receipts that there are by now.
fn wrong(ledger: &mut dyn Ledger, delivery: &Delivery) -> Result<Option<String>, LedgerError> {
    let (taken, due) = (delivery.taken, delivery.due);
    let last = read(ledger, |tx| tx.last_receipt(delivery.session))?.map_or(0, |r| r.number);
    Ok((taken > due || due > last)
        .then(|| format!("its cursor is at {taken} of {due}, and there are {last} receipts")))
}

/// How a directory differs from the ledger. Behind what is due is fine; behind what it took, ahead or different is not.
fn directory(
    ledger: &mut dyn Ledger,
    projection: &Projection,
    delivery: &Delivery,
) -> Result<Option<(Kind, String)>, LedgerError> {
    let (session, taken) = (delivery.session, delivery.taken);
    let position = match Directory::at(&projection.target).position(session) {
        Ok(position) => position,
        Err(error) => return Ok(Some((Kind::Missing, error.to_string()))),
    };
    let (number, digest) = match position {
        Position::At { number, digest } => (number, digest),
        Position::Nothing | Position::Unknown => (0, String::new()),
    };
    if number == 0 {
        let lost = (taken > 0).then(|| {
            (
                Kind::Missing,
                format!("it took {taken} receipts and has none"),
            )
        });
        return Ok(lost);
    }
    let ours = read(ledger, |tx| tx.receipts_after(session, number - 1, 1))?.pop();
    Ok(match ours.filter(|r| r.number == number) {
        None if number == u64::MAX => Some((
            Kind::Damaged,
            "the end of its file is nothing that it was given".to_owned(),
        )),
        None => Some((
            Kind::Damaged,
            format!("it is ahead of the ledger, at receipt {number}"),
        )),
        Some(ours) if ours.digest != digest => Some((
            Kind::Damaged,
            format!("its receipt {number} is another one"),
        )),
        Some(_) if number < taken => Some((
            Kind::Missing,
            format!("it took {taken} receipts and has {number}"),
        )),
        Some(_) => None,
    })
}

/// Sessions that a directory shows and the ledger does not have.
pub(super) fn strangers(ledger: &mut dyn Ledger, report: &mut Report) -> Result<(), LedgerError> {
    for projection in read(ledger, |tx| tx.projections())? {
        if projection.kind != "directory" {
            continue;
        }
        for session in Directory::at(&projection.target).sessions() {
            if read(ledger, |tx| tx.session(session))?.is_none() {
                report.beside(Problem {
                    kind: Kind::Damaged,
                    session: Some(session),
                    place: format!("projection {}", projection.name),
                    what: "it shows a session that the ledger does not have".to_owned(),
                    remedy: REBUILD,
                });
            }
        }
    }
    Ok(())
}
