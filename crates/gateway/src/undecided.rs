//! Turns that wait for a decision, where the operator decided beforehand what becomes of them.

use std::time::Duration;

use siglum_domain::{SessionId, Tenant};
use siglum_engine::driven::turn::{self, Decider, Decision, Held, TurnError};
use siglum_engine::identity::audit;

use crate::app::App;
use crate::ledgers::{Unavailable, seeing};

/// How often it is looked whose driver died in the middle of a call.
const LOOK: Duration = Duration::from_secs(5);
/// Turns that are read at a time.
const PAGE: usize = 16;

/// Decides of each turn that waits for it, for as long as the gateway runs. Another gateway may drive the session: until
/// its lease has run out nothing is done there.
pub(crate) async fn settle(app: App, decision: Decision) {
    let mut stopping = app.stopping();
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = stopping.changed() => return,
        }
        for tenant in app.ledgers().driving().await {
            if let Err(error) = settle_all(&app, &tenant, decision).await {
                tracing::warn!("cannot settle the turns that wait for a decision: {error}");
            }
        }
    }
}

async fn settle_all(app: &App, tenant: &Tenant, decision: Decision) -> Result<(), Unavailable> {
    let mut after: Option<SessionId> = None;
    while !*app.stopping().borrow() {
        let page = app.ledgers().read(tenant, move |here, ledger| {
            turn::waiting(&seeing(here), ledger, after, PAGE)
        });
        let page = match page.await? {
            Ok(page) => page,
            Err(TurnError::Ledger(error)) => return Err(Unavailable::from(&error)),
            Err(_) => return Ok(()),
        };
        for held in &page {
            decide(app, tenant, held, decision).await?;
        }
        let Some(last) = page.last().filter(|_| page.len() == PAGE) else {
            return Ok(());
        };
        after = Some(last.turn.session);
    }
    Ok(())
}

async fn decide(
    app: &App,
    tenant: &Tenant,
    held: &Held,
    decision: Decision,
) -> Result<(), Unavailable> {
    let (session, key) = (held.turn.session, held.turn.key.clone());
    let decided = app.ledgers().write(tenant, move |here, ledger| {
        let who = Decider {
            turn: Some(&key),
            by: audit::SIGLUM,
            source: "policy",
        };
        turn::decide(&seeing(here), ledger, session, decision, who)
    });
    match decided.await? {
        Ok(_) => {
            app.sealed();
            let word = decision.word();
            tracing::info!("decided `{word}` of the turn that held session {session}");
        }
        // Somebody else was faster, or drives on.
        Err(TurnError::NotOpen { .. } | TurnError::Leased { .. }) => {}
        Err(error) => tracing::warn!("cannot settle the turn that holds a session: {error}"),
    }
    Ok(())
}
