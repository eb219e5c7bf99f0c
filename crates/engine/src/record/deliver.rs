//! From an edge's delivery to rows: the only way in.
//!
//! One delivery is one transaction. A delivery that comes twice, from the hook and from the spool,
//! has the effect of one.

use siglum_domain::evidence::Judgement;
use siglum_domain::intake::{Intake, Matter};
use siglum_domain::{IdSource, LedgerId, SessionId};
use siglum_ledger::{Durability, Ledger, LedgerError, Transaction, write};

use crate::commits::{landing, rewrites, scene};
use crate::identity::repositories::note_place;
use crate::record::session;

/// What a delivery led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivered {
    /// It was written to this session.
    Session(SessionId),
    /// The intent was judged so.
    Intent(Judgement),
    /// It was written.
    Noted,
}

/// How safe a delivery must be before its edge goes on.
#[must_use]
pub const fn durability(matter: &Matter) -> Durability {
    match matter {
        Matter::Intent(_) => Durability::Disk,
        _ => Durability::Process,
    }
}

/// Writes a delivery to the ledger.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn deliver(
    ledger: &mut dyn Ledger,
    ids: &dyn IdSource,
    intake: &Intake,
) -> Result<Delivered, LedgerError> {
    let home = ledger.id();
    write(ledger, durability(&intake.matter), |tx| {
        write_down(tx, home, ids, intake)
    })
}

fn write_down(
    tx: &mut dyn Transaction,
    home: LedgerId,
    ids: &dyn IdSource,
    intake: &Intake,
) -> Result<Delivered, LedgerError> {
    match &intake.matter {
        Matter::Agent(matter) => {
            let identity = session::record(tx, home, ids, intake.at, matter)?;
            Ok(Delivered::Session(identity.session()))
        }
        Matter::Intent(seen) => {
            let repository = note_place(tx, ids, &seen.place, intake.at)?;
            tx.put_intent(repository, intake.at, seen)?;
            let case = scene::case(tx, seen, intake.at)?;
            Ok(Delivered::Intent(siglum_domain::evidence::judge(&case)))
        }
        Matter::Landed(landed) => {
            let repository = note_place(tx, ids, &landed.place, intake.at)?;
            landing::land(tx, repository, intake.at, landed)?;
            Ok(Delivered::Noted)
        }
        Matter::Rewritten(rewritten) => {
            let repository = note_place(tx, ids, &rewritten.place, intake.at)?;
            rewrites::rewrite(tx, repository, intake.at, rewritten)?;
            Ok(Delivered::Noted)
        }
        Matter::Head(head) => {
            let repository = note_place(tx, ids, &head.place, intake.at)?;
            landing::look_from_here(tx, repository, head)?;
            Ok(Delivered::Noted)
        }
        Matter::Decline(decline) => {
            tx.decline(&intake.key, intake.at, decline)?;
            Ok(Delivered::Noted)
        }
    }
}
