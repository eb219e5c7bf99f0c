//! What is sealed in a session, as it is sealed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::stream::{Stream, unfold};
use siglum_domain::{SessionId, Tenant};
use siglum_ledger::{LedgerError, Transaction, read};

use crate::app::App;
use crate::shares::{self, Room, Weight};
use crate::wire::{LogEntry, Receipt, SealedPosition};

/// How often it is looked for what others seal: other gateways, hooks, commands.
const LOOK: Duration = Duration::from_millis(500);
/// Receipts that are read at once, and bytes of events above which none is read beside them: whoever follows may take
/// nothing of it for long.
const AT_ONCE: usize = 16;
const BYTES_AT_ONCE: usize = 256 << 10;
/// How soon a client comes again when the gateway stops.
const RECONNECT: Duration = Duration::from_secs(1);

struct Watch {
    app: App,
    tenant: Tenant,
    session: SessionId,
    after: u64,
    ready: VecDeque<Sealed>,
    /// Of the token that follows; nothing where nobody is counted.
    room: Option<Room>,
    /// What was handed on last. Who asks for more has taken it.
    handed_on: Option<Weight>,
    /// The client was told to come again, which is the last that it is told.
    is_over: bool,
    /// Counted for as long as it is there.
    _open: Open,
}

/// A receipt as it is sent: with its entries, in JSON.
struct Sealed {
    number: u64,
    json: String,
    weight: Option<Weight>,
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
        ready: VecDeque::new(),
        room: shares::room(),
        handed_on: None,
        is_over: false,
    };
    unfold(watch, |mut watch| async {
        let Some(sealed) = watch.next().await else {
            return watch.reconnect().map(|event| (Ok(event), watch));
        };
        let event = Event::default()
            .event("sealed")
            .id(sealed.number.to_string())
            .data(&sealed.json);
        watch.handed_on = sealed.weight;
        Some((Ok(event), watch))
    })
}

impl Watch {
    /// Tells the client how soon to come again, once, where the gateway stops: to another one, or to the next of this one.
    fn reconnect(&mut self) -> Option<Event> {
        let is_due = !self.is_over && *self.app.stopping().borrow();
        self.is_over = true;
        is_due.then(|| Event::default().retry(RECONNECT))
    }

    /// The next receipt; nothing when the gateway stops, the store fails, or the token leaves too much unread: the client
    /// comes again.
    async fn next(&mut self) -> Option<Sealed> {
        let (mut news, mut stopping) = (self.app.news(), self.app.stopping());
        self.handed_on = None;
        loop {
            if let Some(sealed) = self.ready.pop_front() {
                self.after = sealed.number;
                return Some(sealed);
            }
            if *stopping.borrow() {
                return None;
            }
            self.read().await?;
            if self.ready.is_empty() {
                tokio::select! {
                    _ = news.changed() => {}
                    _ = stopping.changed() => {}
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        }
    }

    /// Reads what there is, as soon as the token has room for it.
    async fn read(&mut self) -> Option<()> {
        let _place = match &self.room {
            Some(room) => Some(room.place().await?),
            None => None,
        };
        let (session, after) = (self.session, self.after);
        let found = self.app.ledgers().read(&self.tenant, move |_, ledger| {
            read(ledger, |tx| behind(tx, session, after))
        });
        for mut sealed in found.await.ok()?.ok()? {
            let room = self.room.as_ref();
            sealed.weight = room.map(|room| room.hold(sealed.json.len()));
            self.ready.push_back(sealed);
        }
        Some(())
    }
}

fn behind(
    tx: &mut dyn Transaction,
    session: SessionId,
    after: u64,
) -> Result<Vec<Sealed>, LedgerError> {
    let (mut sealed, mut bytes) = (Vec::new(), 0);
    for receipt in tx.receipts_after(session, after, AT_ONCE)? {
        if bytes >= BYTES_AT_ONCE {
            break;
        }
        let most = usize::try_from(receipt.last + 1 - receipt.first).unwrap_or(usize::MAX);
        let entries = tx.entries(session, receipt.first - 1, most)?;
        let within = entries.iter().filter(|e| e.sequence <= receipt.last);
        let position = SealedPosition {
            receipt: Receipt::from(&receipt),
            entries: within.map(LogEntry::from).collect(),
        };
        let json =
            serde_json::to_string(&position).map_err(|e| LedgerError::Storage(Box::new(e)))?;
        bytes += json.len();
        sealed.push(Sealed {
            number: receipt.number,
            json,
            weight: None,
        });
    }
    Ok(sealed)
}
