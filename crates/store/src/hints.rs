//! Hints of a server that another process committed something, so that sinks here need not wait for the next look.

use std::sync::Weak;
use std::thread;

use siglum_domain::LedgerId;
use siglum_ledger::{LedgerError, PostgresHints, PostgresSettings};

use crate::background::LOOK;

/// Who is told that something was committed.
pub(crate) trait Listener: Send + Sync + 'static {
    /// The ledger whose commits count.
    fn ledger_id(&self) -> LedgerId;
    /// Something was committed, or may have been.
    fn notify(&self);
}

/// Listens on a thread of its own for as long as there is the store. Where the server knows no hints, nobody
/// listens, and looking now and then is enough.
pub(crate) fn listen(settings: PostgresSettings, store: Weak<impl Listener>) {
    thread::spawn(move || {
        while let Some(ledger) = store.upgrade().map(|store| store.ledger_id()) {
            match PostgresHints::listen(&settings, ledger) {
                Ok(hints) => hear(hints, &store),
                Err(LedgerError::Unreachable(_)) => {}
                Err(error) => {
                    tracing::debug!("the server gives no hints: {error}");
                    return;
                }
            }
            // The connection was lost, or there is none.
            thread::sleep(LOOK);
        }
    });
}

fn hear(mut hints: PostgresHints, store: &Weak<impl Listener>) {
    // What was committed before it could be heard.
    let mut has_commits = true;
    loop {
        let Some(store) = store.upgrade() else { return };
        if has_commits {
            store.notify();
        }
        drop(store);
        match hints.wait(LOOK) {
            Ok(was) => has_commits = was,
            Err(_) => return,
        }
    }
}
