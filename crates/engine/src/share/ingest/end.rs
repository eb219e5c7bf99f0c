//! Sessions that only telemetry tells of: nobody says that they are over.

use siglum_domain::SessionId;
use siglum_domain::observation::Source;
use siglum_ledger::{
    Durability, Ledger, LedgerError, Mode, SessionFilter, Transaction, read, write,
};

use crate::Here;
use crate::damage::undamaged;
use crate::record::session_log;

/// So long such a session may be silent before it is taken for over. One that is heard again goes on.
const SILENT_MS: i64 = 30 * 60 * 1000;
/// How many sessions are looked at.
const LOOK: usize = 500;

/// Ends the sessions that telemetry alone tells of and that are silent, so that all of them can be sealed. Returns how
/// many.
///
/// # Errors
/// Those of the ledger.
pub fn end_silent(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<usize, LedgerError> {
    let (home, now) = (ledger.id(), here.now());
    let filter = SessionFilter {
        open: true,
        seen: true,
        limit: LOOK,
        ..SessionFilter::default()
    };
    let mut ended = 0;
    for listing in read(ledger, |tx| tx.sessions(&filter))? {
        let known = listing.record;
        let is_silent = now.millis_since(known.last_at) >= SILENT_MS;
        let is_ours = known.mode == Mode::Observed && known.home == home && known.head > 0;
        if !is_ours || !is_silent {
            continue;
        }
        ended += usize::from(write(ledger, Durability::Process, |tx| {
            // Something may have been heard since it was listed.
            let Some(record) = tx.session(known.id)? else {
                return Ok(false);
            };
            if !is_of_telemetry(tx, record.id)?
                || record.last_at != known.last_at
                || record.ended_at.is_some()
            {
                return Ok(false);
            }
            let key = format!("silent:{}", record.last_at.nanos());
            let reason = "nothing more was heard of it".to_owned();
            session_log::say_ended(tx, here.ids, &record, key, reason, record.last_at)?;
            Ok(true)
        })?);
    }
    Ok(ended)
}

/// Whether telemetry told of a session first, and no hook has shown its process since.
fn is_of_telemetry(tx: &mut dyn Transaction, id: SessionId) -> Result<bool, LedgerError> {
    if !tx.bindings(id)?.is_empty() {
        return Ok(false);
    }
    let Some(first) = undamaged(tx.entries(id, 0, 1))? else {
        return Ok(false);
    };
    let source = first.first().map(|entry| entry.observation.source);
    Ok(source == Some(Source::Telemetry))
}
