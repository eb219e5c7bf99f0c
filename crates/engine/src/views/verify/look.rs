//! A look at a part of what is stored, for a few seconds: at what something happened to since the last look, then at one
//! session after the other, from where the last look came to. All of them have their turn, however many there are: what is
//! damaged without anything happening to it is found in the end, too.
//!
//! The ledger notes how far looks came. One that finds something notes nothing: the next one finds it again.

use std::collections::BTreeSet;

use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    Durability, Ledger, LedgerError, SessionFilter, SessionState, StoredSession, Transaction, read,
    write,
};

use super::around::Versions;
use super::noted::{Noted, note_whole, number, time, whole_at};
use super::report::Report;
use super::{SESSIONS, file, one, tables};
use crate::World;
use crate::damage::undamaged;

/// So long sessions are looked at, in ms.
const LOOK_MS: i64 = 5_000;
/// How many of those that something happened to are looked at, newest first.
const CHANGED_MOST: usize = 500;
/// Where looks came to, when they began at the first session, when they had begun there the time before, and when the last
/// one was.
const PLACE: &str = "look-place";
const BEGUN: &str = "look-begun";
const WHOLE: &str = "look-whole";
const LAST: &str = "look-last";

/// What a look found.
#[derive(Debug)]
pub struct Look {
    pub report: Report,
    /// Whether it was at everything.
    pub is_whole: bool,
    /// Every session was looked at since then, and sound; nothing while looks have not come around.
    pub since: Option<Timestamp>,
    /// When everything was last verified at once, and was sound.
    pub verified: Option<Timestamp>,
}

/// Looks at sessions for a few seconds, and at everything if that suffices.
///
/// # Errors
/// Those of the store as a whole.
pub fn spot_check(world: &World<'_>, ledger: &mut dyn Ledger) -> Result<Look, LedgerError> {
    let now = world.now();
    let mut notes = read(ledger, Notes::read)?;
    let mut verified = whole_at(ledger)?;
    let mut walk = Walk {
        world,
        until: now.plus_millis(LOOK_MS),
        seen: BTreeSet::new(),
        versions: Versions::default(),
        noted: Noted::default(),
        report: Report::default(),
    };
    walk.changed(ledger, time(notes.last))?;
    let is_whole = walk.around(ledger, &mut notes)?;
    walk.noted.write(ledger);
    let mut report = walk.report;
    if is_whole {
        file(ledger, &mut report)?;
        tables(ledger, &mut report)?;
    }
    if is_whole {
        note_whole(ledger, report.is_sound().then_some(now));
    }
    if report.is_sound() {
        notes.last = number(now);
        if is_whole {
            verified = Some(now);
        }
        // That it cannot be noted takes nothing from what was found.
        let _ = write(ledger, Durability::Process, |tx| notes.write(tx));
    }
    Ok(Look {
        report,
        is_whole,
        since: time(notes.whole),
        verified,
    })
}

/// The first 63 digits of an id: as much as a note holds. Sessions are looked at again that share them with the last one.
fn place_of(id: SessionId) -> u64 {
    u64::try_from(id.uuid().as_u128() >> 65).unwrap_or(u64::MAX)
}

/// An id before all that have this place; nothing before all of them.
fn before(place: u64) -> Option<SessionId> {
    let id = format!("ses_{:032x}", u128::from(place) << 65);
    id.parse().ok().filter(|_| place > 0)
}

#[derive(Debug, Clone, Copy)]
struct Notes {
    place: u64,
    begun: u64,
    whole: u64,
    last: u64,
}

impl Notes {
    fn read(tx: &mut dyn Transaction) -> Result<Self, LedgerError> {
        Ok(Self {
            place: tx.cursor(PLACE)?,
            begun: tx.cursor(BEGUN)?,
            whole: tx.cursor(WHOLE)?,
            last: tx.cursor(LAST)?,
        })
    }

    fn write(&self, tx: &mut dyn Transaction) -> Result<(), LedgerError> {
        tx.set_cursor(PLACE, self.place)?;
        tx.set_cursor(BEGUN, self.begun)?;
        tx.set_cursor(WHOLE, self.whole)?;
        tx.set_cursor(LAST, self.last)
    }

    /// Looks came to the last session, and begin at the first one again.
    fn turn(&mut self, now: Timestamp) {
        self.place = 0;
        self.whole = self.begun;
        self.begun = number(now);
    }
}

struct Walk<'a> {
    world: &'a World<'a>,
    until: Timestamp,
    seen: BTreeSet<SessionId>,
    versions: Versions,
    /// How far sessions are sound that were looked at.
    noted: Noted,
    report: Report,
}

impl Walk<'_> {
    fn is_over(&self) -> bool {
        self.world.now() >= self.until
    }

    fn session(
        &mut self,
        ledger: &mut dyn Ledger,
        stored: &StoredSession,
        state: Option<&SessionState>,
    ) -> Result<(), LedgerError> {
        if !self.seen.insert(stored.id) {
            return Ok(());
        }
        let (versions, report) = (&mut self.versions, &mut self.report);
        let end = one(self.world, ledger, stored, None, versions, report)?;
        self.noted.add(self.world, stored, state, end);
        Ok(())
    }

    /// Looks at sessions that something happened to since the last look, for half of the time.
    fn changed(
        &mut self,
        ledger: &mut dyn Ledger,
        since: Option<Timestamp>,
    ) -> Result<(), LedgerError> {
        if since.is_none() {
            return Ok(());
        }
        let half = self.until.plus_millis(-LOOK_MS / 2);
        let changed = SessionFilter {
            since,
            limit: CHANGED_MOST,
            ..SessionFilter::default()
        };
        let listed = undamaged(read(ledger, |tx| tx.sessions(&changed)))?.unwrap_or_default();
        for id in listed.into_iter().map(|listed| listed.record.id) {
            if self.world.now() >= half {
                break;
            }
            let state = undamaged(read(ledger, |tx| tx.session_state(id)))?.flatten();
            // Somebody verified it meanwhile.
            if state.as_ref().is_some_and(SessionState::is_unchanged) {
                continue;
            }
            if let Some(stored) = read(ledger, |tx| tx.stored_session(id))? {
                self.session(ledger, &stored, state.as_ref())?;
            }
        }
        Ok(())
    }

    /// Looks at the sessions from the noted place on, in the order of their ids. `true` where it came around.
    fn around(&mut self, ledger: &mut dyn Ledger, notes: &mut Notes) -> Result<bool, LedgerError> {
        let start = notes.place;
        if start == 0 {
            notes.begun = number(self.world.now());
        }
        let (mut after, mut came_to_end) = (before(start), false);
        loop {
            let page = read(ledger, |tx| tx.stored_sessions(after, SESSIONS))?;
            for stored in &page {
                let place = place_of(stored.id);
                if came_to_end && place > start {
                    return Ok(true);
                }
                let state = undamaged(read(ledger, |tx| tx.session_state(stored.id)))?.flatten();
                self.session(ledger, stored, state.as_ref())?;
                notes.place = place;
                // Else nothing but the session of the last look might be looked at again and again.
                if place != start && self.is_over() {
                    return Ok(false);
                }
            }
            after = page.last().map(|stored| stored.id);
            if page.is_empty() {
                notes.turn(self.world.now());
                if start == 0 || came_to_end {
                    return Ok(true);
                }
                came_to_end = true;
            }
        }
    }
}
