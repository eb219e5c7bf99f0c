//! Sinks of the caller's own, fed by this process.

use siglum_domain::process::ProcessIdentity;
use siglum_domain::scope::Scope;
use siglum_engine::driven::turn::TurnError;
use siglum_engine::share::project::{self, Sink};
use siglum_ledger::{Ledger, read};

use crate::place::here;

/// The word for projections that no worker feeds, since only their own program has the sink.
const KIND: &str = "embedded";

/// Adds the projection, or goes on with it where its cursors stand.
pub(crate) fn register(ledger: &mut dyn Ledger, name: &str) -> Result<(), TurnError> {
    let known = read(ledger, |tx| tx.projections())?;
    let known = known.into_iter().find(|p| p.name == name);
    if let Some(other) = known.as_ref().filter(|p| p.kind != KIND) {
        return Err(TurnError::Invalid {
            field: "name",
            rule: format!("`{name}` is a projection of the kind {}", other.kind),
        });
    }
    let me = siglum_platform::own().map_or_else(String::new, |p| p.key());
    project::add(&here(), ledger, name, KIND, &me, &Scope::in_process())?;
    let before = known.and_then(|p| ProcessIdentity::from_key(&p.target));
    if before.as_ref().and_then(siglum_platform::alive) == Some(false) {
        // What that one had taken for itself would wait, and what its sink refused may go now.
        project::retry(&here(), ledger, name, None)?;
    }
    Ok(())
}

pub(crate) fn feed(
    name: String,
    mut sink: Box<dyn Sink + Send>,
) -> impl FnMut(&mut dyn Ledger) -> Result<siglum_engine::Slice, siglum_ledger::LedgerError>
+ Send
+ 'static {
    move |ledger| project::feed(&here(), ledger, &name, sink.as_mut())
}
