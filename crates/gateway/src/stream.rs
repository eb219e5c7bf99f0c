//! What is sealed in a session, as it is sealed.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::stream::{Stream, unfold};
use siglum_domain::{SessionId, Tenant};
use siglum_ledger::{LedgerError, Transaction, read};

use crate::app::App;
use crate::wire::{EntryTold, ReceiptTold, SealedTold};

/// How often it is looked for what others seal: other gateways, hooks, commands.
const LOOK: Duration = Duration::from_millis(500);
/// Receipts that are read at once.
const AT_ONCE: usize = 16;

struct Watch {
    app: App,
    tenant: Tenant,
    session: SessionId,
    after: u64,
    ready: std::collections::VecDeque<SealedTold>,
    /// Counted for as long as it is there.
    _open: Open,
}

struct Open(App);

impl Open {
    fn new(app: &App) -> Self {
        app.metrics().streams.inc();
        Self(app.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.metrics().streams.dec();
    }
}

/// The receipts behind `after`, and each that comes, until the gateway stops.
pub(crate) fn sealed(
    app: App,
    tenant: Tenant,
    session: SessionId,
    after: u64,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let watch = Watch {
        _open: Open::new(&app),
        app,
        tenant,
        session,
        after,
        ready: std::collections::VecDeque::new(),
    };
    unfold(watch, |mut watch| async {
        let sealed = watch.next().await?;
        let event = Event::default()
            .event("sealed")
            .id(watch.after.to_string())
            .json_data(&sealed);
        Some((Ok(event.unwrap_or_default()), watch))
    })
}

impl Watch {
    /// The next receipt; nothing when the gateway stops or the store fails: the client comes again.
    async fn next(&mut self) -> Option<SealedTold> {
        let (mut news, mut stopping) = (self.app.news(), self.app.stopping());
        loop {
            if let Some(sealed) = self.ready.pop_front() {
                self.after = sealed.receipt.number();
                return Some(sealed);
            }
            if *stopping.borrow() {
                return None;
            }
            let (session, after) = (self.session, self.after);
            let found = self.app.ledgers().read(&self.tenant, move |_, ledger| {
                read(ledger, |tx| behind(tx, session, after))
            });
            self.ready.extend(found.await.ok()?.ok()?);
            if self.ready.is_empty() {
                tokio::select! {
                    _ = news.changed() => {}
                    _ = stopping.changed() => {}
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        }
    }
}

fn behind(
    tx: &mut dyn Transaction,
    session: SessionId,
    after: u64,
) -> Result<Vec<SealedTold>, LedgerError> {
    let mut sealed = Vec::new();
    for receipt in tx.receipts_after(session, after, AT_ONCE)? {
        let most = usize::try_from(receipt.last + 1 - receipt.first).unwrap_or(usize::MAX);
        let entries = tx.entries(session, receipt.first - 1, most)?;
        let within = entries.iter().filter(|e| e.sequence <= receipt.last);
        sealed.push(SealedTold {
            receipt: ReceiptTold::from(&receipt),
            entries: within.map(EntryTold::from).collect(),
        });
    }
    Ok(sealed)
}
