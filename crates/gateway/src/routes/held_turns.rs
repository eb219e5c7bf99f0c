//! Turns of which nobody knows whether their calls were executed: listed, and decided. The gateway does not guess, because
//! a call that is run twice can do harm, and so can one that is taken for done (DESIGN §6).

use axum::Json;
use axum::extract::State;
use siglum_domain::SessionId;
use siglum_engine::Here;
use siglum_engine::driven::turn::{self, Decider, Decision, Recovered, TurnError};
use siglum_engine::views::session::HeldTurnJson;
use siglum_ledger::Ledger;

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
use super::turns::session_id;
use crate::admission::{self, Launcher};
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::ledgers::seeing;
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::query::Query;
use crate::wire::{DecideTurn, DecidedTurn, HeldTurnList, Receipt, turn_key};

/// Rows of a page.
const PAGE: usize = 50;
const PAGE_MOST: usize = 500;

/// List the turns that wait for a decision, in the order in which their sessions were created
#[cfg_attr(test, utoipa::path(get, path = "/v1/turns/held", tag = "turns", operation_id = "listHeldTurns",
    security(("launcher" = [])),
    params(
        ("cursor" = Option<String>, Query, description = "Return turns after the one of this session (`next` of the previous page)", pattern = r"^ses_[0-9a-f]{32}$"),
        ("limit" = Option<i64>, Query, description = "Maximum number of items", minimum = 1, maximum = 500),
    ),
    responses((status = 200, description = "The turns", body = HeldTurnList), Problems)))]
pub(crate) async fn list(
    State(app): State<App>,
    Launcher(caller): Launcher,
    mut query: Query,
) -> Result<Json<HeldTurnList>, Problem> {
    let limit = query.limit(PAGE, PAGE_MOST)?;
    let after: Option<SessionId> = query.cursor()?;
    query.end()?;
    let found = app.ledgers().read(&caller.tenant, move |here, ledger| {
        turn::waiting(&seeing(here), ledger, after, limit + 1)
    });
    let mut found = found.await??;
    let more = found.len() > limit;
    found.truncate(limit);
    for held in &found {
        // Whoever decides sees what the calls were given.
        admission::read(&app, &caller, held.turn.session);
    }
    let next = found.last().filter(|_| more);
    Ok(Json(HeldTurnList {
        items: found.iter().map(HeldTurnJson::from).collect(),
        next: next.map(|held| held.turn.session.to_string()),
    }))
}

/// Decide what becomes of the turn that holds a session; a turn that needs no decision is settled
///
/// The turn must be the one that is open. Nothing is executed again.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/turns/{turn_key}/decide", tag = "turns", operation_id = "decideTurn",
    security(("launcher" = []), ("session" = [])),
    params(
        OfSession,
        ("turn_key" = String, Path, description = "Turn key, chosen by the driver", pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
    ),
    request_body = DecideTurn,
    responses((status = 200, description = "The turn is settled", body = DecidedTurn), Problems)))]
pub(crate) async fn decide(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    Body(ask): Body<DecideTurn>,
) -> Result<Json<DecidedTurn>, Problem> {
    let (session, key) = (
        session_id(&app, &caller, &path)?,
        turn_key(path.text("turn_key")?)?,
    );
    let (decision, by) = (Decision::from(ask.decision), caller.by());
    let settled = app.ledgers().write(&caller.tenant, move |here, ledger| {
        let who = Decider {
            turn: Some(&key),
            by: &by,
            source: "api",
        };
        settle(&seeing(here), ledger, session, decision, who)
    });
    let settled = settled.await??;
    // Also where nothing was decided: a turn that had come to its stop was committed on the way.
    app.sealed();
    Ok(Json(settled))
}

/// Settles what needs no decision, and decides the rest.
fn settle(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    decision: Decision,
    who: Decider<'_>,
) -> Result<DecidedTurn, TurnError> {
    let recovered = turn::recover(here, ledger, session)?;
    let waits = matches!(recovered, Recovered::Held { .. } | Recovered::Asked);
    // Asked again, since the answer was lost, or committed without a word: it is kept, as was asked.
    if !waits
        && decision != Decision::Discard
        && let Some(key) = who.turn
        && let Some(receipt) = turn::receipt(ledger, session, key)?
    {
        return Ok(DecidedTurn {
            receipt: Some(Receipt::from(&receipt)),
            already: true,
        });
    }
    let receipt = turn::decide(here, ledger, session, decision, who)?;
    Ok(DecidedTurn {
        receipt: receipt.as_ref().map(Receipt::from),
        already: false,
    })
}
