//! Entries of the audit that are no part of a change: nobody waits for them.

use siglum_domain::Tenant;
use siglum_engine::identity::audit::{self, Entry};
use tracing::Instrument as _;

use crate::app::App;

/// Writes an entry into the audit of a tenant, when there is time.
pub(crate) fn note_entry(app: &App, tenant: &Tenant, entry: Entry) {
    let (ledgers, tenant) = (app.ledgers().clone(), tenant.clone());
    let noting = async move {
        let noted = ledgers
            .write(&tenant, move |here, ledger| {
                audit::note(here, ledger, &entry)
            })
            .await;
        if !matches!(noted, Ok(Ok(_))) {
            tracing::warn!("cannot write an audit entry");
        }
    };
    tokio::spawn(noting.in_current_span());
}
