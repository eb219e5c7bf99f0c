//! A run has both keys, and the session that its context is kept in, before anybody is told of it.

use siglum_domain::context::{Cause, Keys, Policy, RouteKey};
use siglum_domain::{SessionId, TurnKey};
use siglum_engine::Here;
use siglum_engine::driven::context::{self, ContextError, Ran, Resolve, Want};
use siglum_engine::driven::turn::TurnError;
use siglum_ledger::{ContextTurnKind, Ledger, SessionRecord, read};

use crate::app::App;
use crate::problem::Problem;
use crate::runs::plan::Plan;
use crate::runs::{Ask, Resume, Target, Under};

/// The keys of a run and its session, as far as both can be told before the agent told its own name for it.
///
/// # Errors
/// Where the route belongs to another conversation, and where the agent is to go on with a context that has a gap.
pub(super) async fn before(
    app: &App,
    ask: &Ask,
    plan: &Plan,
) -> Result<Option<(Keys, SessionId)>, Problem> {
    let (ask, policy) = (ask.clone(), app.policy().clone());
    let cwd = plan.cwd.to_string_lossy().into_owned();
    let tenant = ask.tenant.clone();
    let resolved = app.ledgers().write(&tenant, move |here, ledger| {
        let given = match (&ask.under, &ask.session) {
            (Under::Session, Target::Unnamed)
            | (Under::Keys(_), Target::Named(..) | Target::Unnamed) => None,
            (Under::Keys(keys), Target::Session(session)) => Some((keys.clone(), *session)),
            (Under::Session, Target::Session(session)) => {
                Some((of_session(here, ledger, &policy, &ask, *session)?, *session))
            }
            (_, Target::Session(_)) => {
                let rule = "cannot be combined with a session that already has a context";
                return Err(ContextError::Invalid {
                    field: "route_key",
                    rule: rule.to_owned(),
                });
            }
            _ => {
                let request = wanted(&ask, &cwd);
                let found = context::resolve(here, ledger, &policy, &request)?;
                Some((found.keys, found.session))
            }
        };
        if let (Some((keys, _)), Resume::Native) = (&given, ask.resume) {
            context::sound(ledger, keys)?;
        }
        Ok::<_, ContextError>(given)
    });
    Ok(resolved.await??)
}

/// The keys of a run whose session got its name just now.
pub(super) async fn after(app: &App, ask: &Ask, session: SessionId) -> Result<Keys, Problem> {
    let (ask, policy) = (ask.clone(), app.policy().clone());
    let tenant = ask.tenant.clone();
    let keys = app.ledgers().write(&tenant, move |here, ledger| {
        of_session(here, ledger, &policy, &ask, session)
    });
    Ok(keys.await??)
}

/// Says under its keys that a run ended, unless whoever asked does so.
pub(super) async fn ended(app: &App, ask: &Ask, keys: &Keys, outcome: &'static str) {
    if matches!(ask.under, Under::Keys(_)) {
        return;
    }
    let (keys, turn) = (keys.clone(), ask.key.clone());
    let recorded = app.ledgers().write(&ask.tenant, move |here, ledger| {
        let ran = Ran {
            turn: Some(turn.clone()),
            outcome: outcome.to_owned(),
            kind: ContextTurnKind::Asked,
        };
        context::after_turn(here, ledger, &keys, &ran)
    });
    match recorded.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!("cannot record the end of a run on its route: {error}"),
        Err(error) => tracing::warn!("cannot record the end of a run on its route: {error}"),
    }
}

/// What a run by name asks for.
fn wanted(ask: &Ask, cwd: &str) -> Resolve {
    let conversation = match &ask.session {
        Target::Named(conversation, _) => Some(conversation.clone()),
        Target::Unnamed | Target::Session(_) => None,
    };
    let (route, want) = match &ask.under {
        Under::Isolated(route) => (
            route.clone(),
            Want::Isolated {
                cause: Cause::CronRun,
            },
        ),
        Under::Route(route) | Under::Keys(Keys { route, .. }) => (route.clone(), Want::Shared),
        Under::Session => {
            let name = conversation.as_ref().map_or("", |name| name.as_str());
            (own_route(ask, name), Want::Shared)
        }
    };
    Resolve {
        conversation,
        links: ask.links.clone(),
        cwd: Some(cwd.to_owned()),
        ..Resolve::new(route, want, ask.agent.clone(), ask.by.clone(), run_of(ask))
    }
}

/// The keys of the context that a session keeps; a session that keeps none gets the first one of a route of its own.
fn of_session(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    policy: &Policy,
    ask: &Ask,
    session: SessionId,
) -> Result<Keys, ContextError> {
    let (known, record) = read(ledger, |tx| {
        Ok((tx.context_of_session(session)?, tx.session(session)?))
    })?;
    if let Some(context) = known {
        return Ok(Keys {
            route: context.route,
            context: context.key,
        });
    }
    let record: SessionRecord = record.ok_or(TurnError::NoSession(session))?;
    let route = own_route(ask, record.conversation.as_str());
    let request = Resolve {
        conversation: Some(record.conversation),
        ..Resolve::new(
            route,
            Want::Shared,
            ask.agent.clone(),
            ask.by.clone(),
            run_of(ask),
        )
    };
    Ok(context::resolve(here, ledger, policy, &request)?.keys)
}

/// The route of a conversation that nobody gave another one: two agents may have conversations of one name.
fn own_route(ask: &Ask, conversation: &str) -> RouteKey {
    let route = RouteKey::new(format!("{}:{conversation}", ask.agent));
    route.expect("because both keep to the grammar of keys, and are short")
}

/// What a run is called among those of whoever asks: two conversations may have turns of one key.
fn run_of(ask: &Ask) -> TurnKey {
    let of = match &ask.session {
        Target::Named(conversation, _) => conversation.to_string(),
        Target::Session(session) => session.to_string(),
        Target::Unnamed => "unnamed".to_owned(),
    };
    let run = prompt_key(&format!("{}:{of}:{}", ask.agent, ask.key));
    TurnKey::new(run).expect("because it has no blanks and is short")
}

/// What a prompt is called: short enough, and the same whenever the same is asked.
pub(super) fn prompt_key(key: &str) -> String {
    match key.len() <= 100 && key.is_ascii() {
        true => key.to_owned(),
        false => blake3::hash(key.as_bytes()).to_hex().to_string(),
    }
}
