//! What the ledger notes of what was verified: how far each session was, and when everything was.

use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    Durability, Forgotten, Ledger, LedgerError, SessionState, StoredSession, Verified, read, write,
};

use super::log::End;
use crate::World;

/// When everything was verified at once and was sound.
const SOUND: &str = "verified-sound";

/// A time as a note holds it.
pub(super) fn number(at: Timestamp) -> u64 {
    u64::try_from(at.nanos()).unwrap_or(0)
}

/// The time of a note; nothing where it was never made.
pub(super) fn time(number: u64) -> Option<Timestamp> {
    let nanos = i64::try_from(number).ok().filter(|nanos| *nanos > 0);
    nanos.map(Timestamp::from_nanos)
}

/// Notes that everything was verified at once from `at` on, and was sound; or, with nothing, that it was not. That it cannot
/// be noted takes nothing from what was found.
pub(super) fn note_whole(ledger: &mut dyn Ledger, at: Option<Timestamp>) {
    let _ = write(ledger, Durability::Process, |tx| {
        tx.set_cursor(SOUND, at.map_or(0, number))
    });
}

/// When everything was last verified at once, and was sound.
pub(super) fn whole_at(ledger: &mut dyn Ledger) -> Result<Option<Timestamp>, LedgerError> {
    Ok(time(read(ledger, |tx| tx.cursor(SOUND))?))
}

/// What to note of sessions that were verified: nothing of one with which anything is wrong, or was.
#[derive(Default)]
pub(super) struct Noted(Vec<(SessionId, Option<Verified>)>);

impl Noted {
    /// Adds a session that was verified, where something else is noted of it.
    pub(super) fn add(
        &mut self,
        world: &World<'_>,
        stored: &StoredSession,
        state: Option<&SessionState>,
        end: Option<End>,
    ) {
        let known = state.and_then(|state| state.verified.as_ref());
        let now = now_verified(world, stored, state, end);
        let is_known = match (known, &now) {
            (Some(known), Some(now)) => {
                let at = known.at;
                *known == Verified { at, ..now.clone() }
            }
            (known, now) => known.is_none() && now.is_none(),
        };
        if !is_known {
            self.0.push((stored.id, now));
        }
    }

    /// Notes it. That it cannot be noted takes nothing from what was found.
    pub(super) fn write(&self, ledger: &mut dyn Ledger) {
        if self.0.is_empty() {
            return;
        }
        let _ = write(ledger, Durability::Process, |tx| {
            let mut all = self.0.iter();
            all.try_for_each(|(session, verified)| tx.put_verified(*session, verified.as_ref()))
        });
    }
}

/// How far a session is sound that was verified, where nothing is wrong with it, or was.
fn now_verified(
    world: &World<'_>,
    stored: &StoredSession,
    state: Option<&SessionState>,
    end: Option<End>,
) -> Option<Verified> {
    let record = stored.record.as_ref().ok()?;
    let end = end.filter(|_| record.quarantined.is_none())?;
    Some(Verified {
        state: state?.state.clone(),
        forgotten: record.forgotten.map(Forgotten::at),
        receipt: end.number,
        sequence: end.last,
        digest: end.digest?,
        at: world.now(),
    })
}
