//! One tick: its context, its run, its end.

use std::path::PathBuf;
use std::time::Duration;

use siglum_domain::context::{Cause, Keys};
use siglum_domain::heartbeat::{HeartbeatName, Skip};
use siglum_domain::{SessionId, Tenant, TurnKey};
use siglum_engine::Here;
use siglum_engine::driven::context::{self, ContextError, Ran, Resolve, Want};
use siglum_engine::driven::heartbeat::{
    self, BY, Claimed, Definition, Ended, HeartbeatError, Isolation, Permission, Used, tick_name,
    tick_turn,
};
use siglum_ledger::{ContextTurnKind, Ledger, TickRecord, read};
use siglum_platform::clock;

use super::deliver;
use crate::app::App;
use crate::problem::Problem;
use crate::runner::start;
use crate::runs::{
    Ask, Finished, IfBusy, Owned, Permissions, PromptMessage, Resume, RunLimits, Running, Speaker,
    Status, Target, Under,
};

/// How often it is said that a tick is still run.
const SAY: Duration = Duration::from_secs(20);

/// Claims a tick that somebody asks for, and runs it beside. Gives it.
///
/// # Errors
/// Where there is no such heartbeat, where its agent is not run here, and where a tick of it has not ended.
pub(crate) async fn ask(
    app: &App,
    tenant: &Tenant,
    name: &HeartbeatName,
    by: &str,
) -> Result<TickRecord, Problem> {
    let of = name.clone();
    let found = app
        .ledgers()
        .read(tenant, move |_, ledger| heartbeat::show(ledger, &of));
    let definition = found
        .await??
        .definition
        .map_err(|why| Problem::invalid("heartbeat", why))?;
    if !is_run(app, &definition) {
        let rule = format!(
            "this gateway does not run `{}`; start it with `siglum serve --run`",
            definition.agent
        );
        return Err(Problem::invalid("agent", rule));
    }
    let (of, by) = (name.clone(), by.to_owned());
    let claimed = app.ledgers().write(tenant, move |here, ledger| {
        heartbeat::ask(here, ledger, &of, &by)
    });
    let claimed = claimed.await??;
    let tick = claimed.tick.clone();
    let (app, tenant) = (app.clone(), tenant.clone());
    tokio::spawn(async move { run(app, tenant, claimed).await });
    Ok(tick)
}

/// Runs a claimed tick to its end.
pub(super) async fn run(app: App, tenant: Tenant, claimed: Claimed) {
    let name = tick_name(&claimed.tick.heartbeat, claimed.tick.due);
    let late = clock::now().millis_since(claimed.tick.due);
    let late = u64::try_from(late).unwrap_or(0);
    app.metrics().tick_started(Duration::from_millis(late));
    let (ended, used, keys) = tokio::select! {
        ended = ran(&app, &tenant, &claimed) => ended,
        () = held(&app, &tenant, &claimed) => {
            app.metrics().tick_ended("lost");
            return tracing::warn!("tick {name} was considered lost while it ran");
        }
    };
    let outcome = match &ended {
        Ended::Answered { .. } => "done",
        Ended::Skipped(_) => "skipped",
        Ended::Failed { .. } => "failed",
    };
    app.metrics().tick_ended(outcome);
    let turn = tick_turn(&claimed.definition.name, claimed.tick.due);
    let noted = app.ledgers().write(&tenant, move |here, ledger| {
        let tick = heartbeat::end(here, ledger, &claimed, &ended, used)?;
        if let Some(keys) = &keys {
            // What the route shows of its last run is a courtesy.
            let _ = note_on_route(here, ledger, keys, &turn, outcome);
        }
        Ok::<_, HeartbeatError>(tick.outcome)
    });
    match noted.await {
        Ok(Ok(outcome)) => tracing::info!("tick {name}: {outcome}"),
        Ok(Err(error)) => tracing::error!("cannot record the end of tick {name}: {error}"),
        Err(error) => tracing::error!("cannot record the end of tick {name}: {error}"),
    }
    if let Err(error) = deliver::round(&app, &tenant).await {
        tracing::warn!("the answer of tick {name} is not delivered yet: {error}");
    }
}

/// Says under its keys how a tick ended; its turn, if there is one, is known for that of a heartbeat.
fn note_on_route(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    turn: &TurnKey,
    outcome: &str,
) -> Result<(), ContextError> {
    let ran = |turn: Option<TurnKey>| Ran {
        turn,
        outcome: outcome.to_owned(),
        kind: ContextTurnKind::Heartbeat,
    };
    match context::after_turn(here, ledger, keys, &ran(Some(turn.clone()))) {
        // It came to no turn.
        Err(ContextError::NoTurn { .. }) => context::after_turn(here, ledger, keys, &ran(None)),
        other => other,
    }
}

/// Done when the tick is not held any more.
async fn held(app: &App, tenant: &Tenant, claimed: &Claimed) {
    loop {
        tokio::time::sleep(SAY).await;
        let held = claimed.held();
        let renewed = app.ledgers().write(tenant, move |here, ledger| {
            heartbeat::hold(here, ledger, &held)
        });
        if matches!(renewed.await, Ok(Err(HeartbeatError::Lost { .. }))) {
            return;
        }
    }
}

type What = (Ended, Used, Option<Keys>);

async fn ran(app: &App, tenant: &Tenant, claimed: &Claimed) -> What {
    let nothing = |ended| (ended, Used::default(), None);
    let failed = |reason: String| nothing(Ended::Failed { reason });
    let (prompt, cwd) = (
        claimed.definition.prompt.clone(),
        claimed.definition.cwd.clone(),
    );
    if cwd.as_deref().is_some_and(|cwd| !is_allowed(app, cwd)) {
        return failed(
            "cwd: must be an existing directory inside one that `siglum serve --workdir` allows"
                .to_owned(),
        );
    }
    let prompt = tokio::task::spawn_blocking(move || heartbeat::read(&prompt, cwd.as_deref()));
    let prompt = match prompt.await {
        Ok(Ok(Some(prompt))) => prompt,
        Ok(Ok(None)) => return nothing(Ended::Skipped(Skip::NothingToDo)),
        Ok(Err(reason)) => return failed(reason),
        Err(error) => return failed(error.to_string()),
    };
    match is_busy(app, tenant, &claimed.definition).await {
        Ok(false) => {}
        Ok(true) => return nothing(Ended::Skipped(Skip::Busy)),
        Err(problem) => return failed(problem.detail().to_owned()),
    }
    let (keys, session) = match resolved(app, tenant, claimed).await {
        Ok(resolved) => resolved,
        Err(problem) => return failed(problem.detail().to_owned()),
    };
    let mut ask = tick_ask(tenant, claimed, &keys, session, prompt);
    let mut begun = start(app, ask.clone()).await;
    if matches!(&begun, Err(problem) if problem.code() == "cannot-resume") {
        // The agent lost its own session; its schedule goes on all the same.
        ask.resume = Resume::Fresh;
        begun = start(app, ask).await;
    }
    let running = match begun {
        Ok(running) => running,
        Err(problem) if problem.code() == "session-busy" => {
            return (Ended::Skipped(Skip::Busy), Used::default(), Some(keys));
        }
        Err(problem) => {
            let reason = problem.detail().to_owned();
            return (Ended::Failed { reason }, Used::default(), Some(keys));
        }
    };
    let (ended, used) = finished(app, tenant, &running).await;
    (ended, used, Some(keys))
}

/// Whether something may be read there: only where agents may work.
fn is_allowed(app: &App, cwd: &str) -> bool {
    let mut allowed = app.runs().settings().workdirs.iter();
    let real = std::fs::canonicalize(cwd);
    real.is_ok_and(|real| allowed.any(|dir| real.starts_with(dir)))
}

/// Ends a run that nobody waits for any more.
struct Cancelled<'a>(&'a App, &'a Tenant, SessionId);

impl Drop for Cancelled<'_> {
    fn drop(&mut self) {
        let _ = self.0.runs().cancel(self.1, self.2, BY);
    }
}

async fn finished(app: &App, tenant: &Tenant, running: &Running) -> (Ended, Used) {
    let waits = Cancelled(app, tenant, running.session());
    let finished = running.finished().await;
    std::mem::forget(waits);
    let Some(Finished {
        status,
        text,
        usage,
        error,
    }) = finished
    else {
        let reason = "the run did not end".to_owned();
        return (Ended::Failed { reason }, Used::default());
    };
    let tokens = usage.tokens;
    let used = Used {
        tokens: [
            tokens.input,
            tokens.output,
            tokens.cache_read,
            tokens.cache_write,
        ]
        .into_iter()
        .fold(0, u64::saturating_add),
        nano_usd: usage.nano_usd.unwrap_or(0),
    };
    let why = error.map_or_else(
        || status.as_str().to_owned(),
        |e| format!("{}: {}", e.code, e.text),
    );
    let ended = match status {
        Status::Done => Ended::Answered { text },
        Status::Cancelled | Status::Limit | Status::Failed => Ended::Failed { reason: why },
    };
    (ended, used)
}

/// Whether something else runs in the context that the route has now: also where another gateway runs it.
async fn is_busy(app: &App, tenant: &Tenant, definition: &Definition) -> Result<bool, Problem> {
    let route = definition.route.clone();
    let busy = app.ledgers().read(tenant, move |here, ledger| {
        read(ledger, |tx| {
            let current = tx.route(&route)?.and_then(|route| route.current);
            let Some(context) = current.map(|key| tx.context(&key)).transpose()?.flatten() else {
                return Ok(false);
            };
            let now = tx.clock(here.now())?;
            let led = tx
                .lease(context.session)?
                .is_some_and(|lease| lease.expires_at > now);
            Ok(led && tx.open_turn(context.session)?.is_some())
        })
    });
    Ok(busy.await??)
}

/// Gives the tick its keys and its session, and notes them.
async fn resolved(
    app: &App,
    tenant: &Tenant,
    claimed: &Claimed,
) -> Result<(Keys, SessionId), Problem> {
    let definition = &claimed.definition;
    let run = tick_turn(&claimed.definition.name, claimed.tick.due);
    let want = match definition.isolation {
        Isolation::Isolated => Want::Isolated { cause: Cause::Tick },
        Isolation::Shared => Want::Shared,
    };
    let ask = Resolve {
        links: definition.links.clone(),
        cwd: definition.cwd.clone(),
        ..Resolve::new(
            definition.route.clone(),
            want,
            definition.agent.clone(),
            BY.to_owned(),
            run,
        )
    };
    let (policy, held) = (app.policy().clone(), claimed.held());
    let resolved = app.ledgers().write(tenant, move |here, ledger| {
        let found = context::resolve(here, ledger, &policy, &ask).map_err(Problem::from)?;
        heartbeat::began(here, ledger, &held, found.session, &found.keys.context)?;
        Ok::<_, Problem>((found.keys, found.session))
    });
    resolved.await?
}

fn tick_ask(
    tenant: &Tenant,
    claimed: &Claimed,
    keys: &Keys,
    session: SessionId,
    prompt: String,
) -> Ask {
    let definition = &claimed.definition;
    Ask {
        tenant: tenant.clone(),
        session: Target::Session(session),
        under: Under::Keys(keys.clone()),
        agent: definition.agent.clone(),
        prompt: vec![PromptMessage {
            role: Speaker::User,
            text: prompt,
        }],
        cwd: definition.cwd.as_ref().map(PathBuf::from),
        links: Vec::new(),
        model: definition.model.clone(),
        resume: match definition.isolation {
            Isolation::Isolated => Resume::Fresh,
            Isolation::Shared => Resume::Native,
        },
        if_busy: IfBusy::Refuse,
        limits: RunLimits {
            wall: Some(definition.limits.wall),
            silent: None,
            tokens: definition.limits.tokens,
            nano_usd: definition.limits.nano_usd,
        },
        permissions: match definition.permission {
            Permission::Refuse => Permissions::Refuse,
            Permission::Allow => Permissions::Allow,
            Permission::Ask => Permissions::Ask,
        },
        traced: None,
        key: tick_turn(&claimed.definition.name, claimed.tick.due),
        by: BY.to_owned(),
        owned: Owned::BySession,
        environment: Vec::new(),
    }
}

/// Whether its agent may be run here.
pub(super) fn is_run(app: &App, definition: &Definition) -> bool {
    let mut agents = app.runs().settings().agents.iter();
    agents.any(|agent| agent.name == definition.agent)
}
