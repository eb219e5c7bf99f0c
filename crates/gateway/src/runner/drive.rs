//! A run goes on: what the agent says is written down and told, what others say to it is heard, and it comes to its end.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use siglum_domain::observation::Observation;
use siglum_domain::receipt::Receipt;
use siglum_domain::redact::Redactor;
use siglum_domain::trace::{SpanId, TraceParent};
use siglum_domain::{InteractionId, SessionId, Tenant, Timestamp};
use siglum_engine::driven::turn::{self, Event, Hold, TurnError};
use siglum_engine::driven::{active_run, run};
use siglum_ledger::{LaunchEnd, RunEnd, RunRecord};
use siglum_platform::clock::{self, Ids};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::cancelling::stops;
use super::elsewhere::LOOK;
use super::interactions::{PendingInteraction, settled_before};
use super::keys::{self, prompt_key};
use super::leasing::{RENEW, TERM, release, warn_of_lease};
use crate::app::App;
use crate::problem::Problem;
use crate::problem_codes::ends_a_run;
use crate::runs::agent::{Agent, AgentError, AgentMessage, Refused};
use crate::runs::scribe::Scribe;
use crate::runs::{
    Ask, Control, Finished, NOT_COMMITTED, Owned, Place, RunError, RunEvent, Running, Slot,
    Started, Status,
};

/// How often what was said is stored.
const STORE: Duration = Duration::from_millis(200);
/// How long an agent may take to stop when it is told to.
const STOP: Duration = Duration::from_secs(10);
/// How long a run that belongs to whoever asked waits for somebody to follow it.
const ALONE: Duration = Duration::from_secs(3);

/// A run that goes on.
pub(super) struct Drive {
    pub(super) app: App,
    pub(super) ask: Ask,
    pub(super) blocks: Vec<String>,
    pub(super) slot: Arc<Slot>,
    pub(super) place: Arc<Place>,
    pub(super) running: Running,
    pub(super) agent: Agent,
    pub(super) scribe: Scribe,
    pub(super) hold: Hold,
    /// Where the log ended when the lease was taken.
    pub(super) head: u64,
    pub(super) record: RunRecord,
    pub(super) controls: mpsc::Receiver<Control>,
    /// Whether the agent is kept for the next message.
    pub(super) keep: bool,
    /// What the agent waits for.
    pub(super) interactions: Vec<PendingInteraction>,
    /// The number of the last event that is stored for those who follow at other gateways.
    pub(super) stored: u64,
    /// Why nothing can be stored any more.
    pub(super) broken: Option<RunError>,
}

/// Why a run comes to its end.
#[derive(Debug, Clone)]
struct Ending {
    status: Status,
    error: Option<RunError>,
    /// Whether the agent can be asked again.
    sound: bool,
}

impl Ending {
    fn new(status: Status, code: &'static str, text: impl Into<String>) -> Self {
        debug_assert!(ends_a_run(code), "{code}: not in the list of codes");
        let text = Redactor::shared().redact(&text.into()).into_string();
        Self {
            status,
            error: Some(RunError { code, text }),
            sound: true,
        }
    }

    const fn done() -> Self {
        Self {
            status: Status::Done,
            error: None,
            sound: true,
        }
    }
}

/// What a run waits for beside its agent.
struct Watch {
    wall: Instant,
    wall_limit: Duration,
    silent: Duration,
    last_active: Instant,
    /// Since when nobody follows.
    alone: Option<Instant>,
    /// The end that the agent was told, and until when it may take.
    ending: Option<(Ending, Instant)>,
}

impl Drive {
    /// Runs to the end.
    pub(super) async fn run(mut self) {
        let ending = self.converse().await;
        self.finish(ending).await;
    }

    fn watch(&self) -> Watch {
        let settings = self.app.runs().settings();
        let limits = self.ask.limits;
        let wall = limits.wall.unwrap_or(settings.wall).min(settings.wall);
        let now = Instant::now();
        Watch {
            wall: now + wall,
            wall_limit: wall,
            silent: limits
                .silent
                .unwrap_or(settings.silent)
                .min(settings.silent),
            last_active: now,
            alone: Some(now),
            ending: None,
        }
    }

    async fn converse(&mut self) -> Ending {
        let started = &self.running.started;
        let parent = parent(&self.ask, started).to_string();
        let mut answer = match self.agent.prompt(&self.blocks, &parent) {
            Ok(answer) => answer,
            Err(error) => return self.failed(&error),
        };
        let mut watch = self.watch();
        let (mut store, mut renew) = (interval(STORE), interval(RENEW));
        let mut look = interval(LOOK);
        for ticks in [&mut store, &mut renew, &mut look] {
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        let is_shared = self.app.ledgers().is_shared();
        let mut stopping = self.app.stopping();
        loop {
            let patience = watch
                .ending
                .as_ref()
                .map_or(watch.wall, |(_, until)| *until);
            tokio::select! {
                biased;
                answer = &mut answer => {
                    while let Some(message) = self.agent.try_hear() {
                        self.hear(message).await;
                    }
                    return self.answered(answer, watch.ending).await;
                }
                Some(message) = self.agent.hear() => {
                    watch.last_active = Instant::now();
                    self.hear(message).await;
                    self.tell_events();
                }
                Some(control) = self.controls.recv() => self.control(control, &mut watch).await,
                () = sleep_until(patience) => {
                    if let Some((mut ending, _)) = watch.ending.take() {
                        ending.sound = false;
                        return ending;
                    }
                    let text = format!("the run took longer than {} s", watch.wall_limit.as_secs());
                    self.stop(&mut watch, Ending::new(Status::Limit, "limit-wall", text)).await;
                }
                _ = store.tick() => {
                    self.scribe.start_silent_calls();
                    self.store().await;
                    self.store_events().await;
                    self.check_for_an_end(&mut watch).await;
                }
                _ = look.tick(), if is_shared && !self.interactions.is_empty() => {
                    self.take_answers().await;
                }
                _ = renew.tick() => self.renew().await,
                () = stops(&mut stopping), if watch.ending.is_none() => {
                    let text = "the gateway is shutting down";
                    self.stop(&mut watch, Ending::new(Status::Cancelled, "gateway-stopped", text)).await;
                }
            }
        }
    }

    /// Looks whether anything is a reason to end.
    async fn check_for_an_end(&mut self, watch: &mut Watch) {
        if watch.ending.is_some() {
            return;
        }
        self.expire().await;
        if !self.interactions.is_empty() {
            // It is others who are silent.
            watch.last_active = Instant::now();
        }
        let is_followed = self.running.log.readers() > 0 || self.ask.owned == Owned::BySession;
        watch.alone = match (is_followed, watch.alone) {
            (true, _) => None,
            (false, since) => since.or_else(|| Some(Instant::now())),
        };
        let ending = if let Some(broken) = &self.broken {
            let mut ending = Ending::new(Status::Failed, broken.code, broken.text.clone());
            ending.sound = false;
            Some(ending)
        } else if watch.last_active.elapsed() > watch.silent {
            let text = format!(
                "the agent produced no output for {} s",
                watch.silent.as_secs()
            );
            Some(Ending::new(Status::Limit, "limit-silent", text))
        } else if watch.alone.is_some_and(|since| since.elapsed() > ALONE) {
            let text = "the client disconnected";
            Some(Ending::new(Status::Cancelled, "client-left", text))
        } else {
            self.spent()
        };
        if let Some(ending) = ending {
            self.stop(watch, ending).await;
        }
    }

    /// Whether it used more than it may, as far as that is told while it runs.
    fn spent(&self) -> Option<Ending> {
        let usage = self.scribe.usage(clock::now());
        let t = usage.tokens;
        let tokens = (t.input + t.output + t.cache_read + t.cache_write).max(self.scribe.context);
        let limits = self.ask.limits;
        if limits.tokens.is_some_and(|most| tokens > most) {
            let text = format!("the run used {tokens} tokens");
            return Some(Ending::new(Status::Limit, "limit-tokens", text));
        }
        let cost = usage.nano_usd.unwrap_or(0);
        if limits.nano_usd.is_some_and(|most| cost > most) {
            let text = format!("the run cost {cost} billionths of a US dollar");
            return Some(Ending::new(Status::Limit, "limit-cost", text));
        }
        None
    }

    /// Has the agent stop, for this reason.
    async fn stop(&mut self, watch: &mut Watch, ending: Ending) {
        if watch.ending.is_some() {
            return;
        }
        self.agent.cancel();
        self.let_go("cancelled").await;
        watch.ending = Some((ending, Instant::now() + STOP));
    }

    async fn control(&mut self, control: Control, watch: &mut Watch) {
        match control {
            Control::Cancel(by) => {
                let text = format!("cancelled by {by}");
                self.stop(watch, Ending::new(Status::Cancelled, "cancelled", text))
                    .await;
            }
            Control::Answer {
                id,
                option,
                by,
                reply,
            } => {
                watch.last_active = Instant::now();
                let answered = match self.answer(id, Some(&option), "answered", &by).await {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(settled_before(id)),
                    Err(problem) => Err(problem),
                };
                // Whoever answered may have gone.
                let _ = reply.send(answered);
            }
        }
    }

    async fn hear(&mut self, message: AgentMessage) {
        match message {
            AgentMessage::Update(params) => self.scribe.hear(&params),
            AgentMessage::Permission(params, responder) => {
                let call = self.scribe.announce_call(&params["toolCall"]);
                let id = InteractionId::mint(&Ids);
                let pending = PendingInteraction::new(id, call, &params, responder);
                let title = params["toolCall"]["title"]
                    .as_str()
                    .unwrap_or("a tool call");
                self.ask_somebody(pending, title).await;
            }
        }
    }

    async fn answered(
        &mut self,
        answer: Result<Value, Refused>,
        requested: Option<(Ending, Instant)>,
    ) -> Ending {
        let requested = requested.map(|(ending, _)| ending);
        let answer = match answer {
            Ok(answer) => answer,
            Err(refused) => {
                self.scribe.answered(&refused.answer);
                let failed = self.agent.refused(&refused).await;
                let mut ending = requested.unwrap_or_else(|| self.failed(&failed));
                ending.sound = false;
                return ending;
            }
        };
        self.scribe.answered(&answer);
        let reason = answer["stopReason"].as_str().unwrap_or("end_turn");
        match (reason, requested) {
            ("cancelled", Some(ending)) => ending,
            ("cancelled", None) => Ending::new(
                Status::Cancelled,
                "agent-cancelled",
                "the agent cancelled the run",
            ),
            ("max_tokens" | "max_turn_requests", _) => {
                let text = format!("the agent stopped at its own limit: {reason}");
                Ending::new(Status::Limit, "limit-agent", text)
            }
            ("refusal", _) => Ending::new(
                Status::Failed,
                "agent-refused",
                "the agent refused to continue",
            ),
            // It was done before it heard that it should stop.
            _ => Ending::done(),
        }
    }

    fn failed(&self, error: &AgentError) -> Ending {
        let mut ending = Ending::new(Status::Failed, error.code, error.text.clone());
        ending.sound = false;
        ending
    }

    async fn renew(&mut self) {
        let hold = self.hold;
        let renewed = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |here, ledger| {
                turn::renew(here, ledger, hold, TERM)
            });
        match renewed.await {
            Ok(Ok(hold)) => self.hold = hold,
            Ok(Err(error @ TurnError::Fenced { .. })) => self.broken("lease-lost", &error),
            // The store may be back before the lease runs out.
            Ok(Err(error)) => tracing::warn!("cannot renew a lease: {error}"),
            Err(error) => tracing::warn!("cannot renew a lease: {error}"),
        }
    }

    fn broken(&mut self, code: &'static str, error: &dyn std::fmt::Display) {
        let text = error.to_string();
        self.broken.get_or_insert(RunError { code, text });
    }

    fn tell_events(&mut self) {
        for event in self.scribe.events() {
            self.running.log.push(event);
        }
    }

    /// Stores what was said since, and tells it.
    pub(super) async fn store(&mut self) {
        self.tell_events();
        let observations = self.scribe.take_observations(clock::now());
        if observations.is_empty() || self.broken.is_some() {
            return;
        }
        let (hold, key, turn) = (self.hold, self.record.key.clone(), self.record.turn);
        let stored = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |here, ledger| {
                let mut observations: Vec<Observation> = observations.clone();
                run::rename(ledger, hold.session, turn, &mut observations)?;
                turn::append(here, ledger, hold, &key, &observations)
            });
        match stored.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.broken("not-stored", &error),
            Err(error) => self.broken("not-stored", &error),
        }
    }

    /// The turn is committed, and everybody is told.
    async fn finish(mut self, mut ending: Ending) {
        self.let_go("lost").await;
        self.scribe.end();
        self.tell_events();
        let now = clock::now();
        let usage = self.scribe.usage(now);
        let committed = self.commit(&ending, now).await;
        if let Err(error) = &committed {
            ending = Ending::new(Status::Failed, NOT_COMMITTED, error.detail());
            ending.sound = false;
        }
        let is_whole = committed.is_ok() && self.broken.is_none();
        // One that was forgotten while it was open is committed as another turn, without what was forgotten.
        let is_kept = committed.is_ok_and(|receipt| receipt.turns.contains(&self.record.turn));
        self.note_end(&ending, is_whole, now).await;
        // A command that nobody told the end of may run on; it ends with the agent.
        let is_sound = ending.sound && self.scribe.open_calls() == 0 && self.agent.lives();
        let keep = self.keep && is_sound && !self.app.is_draining();
        self.running.log.push(RunEvent::Usage(usage.clone()));
        let finished = Finished {
            status: ending.status,
            text: self.scribe.last_words().to_owned(),
            usage,
            error: ending.error,
        };
        self.leave(keep, finished, is_kept).await;
    }

    /// Gives back all that the run had; the last that is told is how it ended.
    async fn leave(mut self, keep: bool, finished: Finished, is_kept: bool) {
        self.give_back(&finished, is_kept).await;
        let Self {
            app,
            ask,
            slot,
            place,
            running,
            mut agent,
            scribe,
            ..
        } = self;
        slot.clear();
        agent.cost_now(scribe.cost_now());
        if keep {
            let warm = app.runs().settings().warm;
            slot.keep(agent, running.turn(), warm);
        } else {
            drop(agent);
            let end = LaunchEnd::Completed;
            process_over(&app, &ask.tenant, running.started.session, end).await;
        }
        // The next run may begin before anybody hears of the end, and the gateway may stop only behind it.
        let among_all = place.among_all();
        drop(place);
        let code = finished.error.as_ref().map(|error| error.code);
        app.metrics().run_ended(finished.status.as_str(), code);
        running.log.push(RunEvent::Finished(finished));
        drop(among_all);
    }

    /// Gives the lease back; whoever follows at another gateway is told the end with that.
    async fn give_back(&mut self, finished: &Finished, is_kept: bool) {
        let (tenant, hold) = (&self.ask.tenant, self.hold);
        let Some(last) = self.last_events(finished, is_kept) else {
            return release(&self.app, tenant, hold).await;
        };
        let released = self.app.ledgers().write(tenant, move |here, ledger| {
            active_run::release(here, ledger, hold, &last)
        });
        if !matches!(released.await, Ok(Ok(()))) {
            warn_of_lease(hold);
        }
        self.drop_events_later();
    }

    async fn commit(&mut self, ending: &Ending, now: Timestamp) -> Result<Receipt, Problem> {
        let mut observations = self.scribe.take_observations(now);
        if let Some(error) = &ending.error {
            let name = format!("run.{}: {}", ending.status.as_str(), error.text);
            let mark = Event::other(&format!("{}.end", self.record.turn), &name);
            observations.push(mark.observed(now));
        }
        if ending.status != Status::Failed {
            let mut stop = Event::stop(&prompt_key(&self.record.key));
            let last = self.scribe.last_words();
            if !last.is_empty() {
                stop = stop.last_words(last);
            }
            observations.push(stop.observed(now));
        }
        let (hold, head, key) = (self.hold, self.head, self.record.key.clone());
        let turn = self.record.turn;
        let done = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |here, ledger| {
                let mut observations = observations.clone();
                run::rename(ledger, hold.session, turn, &mut observations)?;
                turn::commit(here, ledger, hold, head, &key, &observations)
            });
        let done = done.await??;
        self.app.metrics().turns.inc();
        self.app.sealed();
        Ok(done.receipt)
    }

    async fn note_end(&mut self, ending: &Ending, committed: bool, at: Timestamp) {
        let error = ending.error.as_ref();
        let record = RunRecord {
            end: Some(RunEnd {
                at,
                status: ending.status.as_str().to_owned(),
                error: error.map(|error| Redactor::shared().redact(&error.text)),
                committed,
            }),
            ..self.record.clone()
        };
        let noted = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |_, ledger| {
                run::record_run(ledger, &record)
            });
        if !matches!(noted.await, Ok(Ok(()))) {
            tracing::warn!("cannot record the end of a run");
        }
        if let Some(keys) = &self.running.started.keys {
            keys::ended(&self.app, &self.ask, keys, ending.status.as_str()).await;
        }
    }
}

/// Where in a trace the agent is asked: below the turn.
fn parent(ask: &Ask, started: &Started) -> TraceParent {
    TraceParent {
        trace: started.trace,
        span: SpanId::of_event(started.session, started.turn, "turn"),
        sampled: ask.traced.is_none_or(|parent| parent.sampled),
    }
}

/// Writes down that a process is over.
pub(super) async fn process_over(app: &App, tenant: &Tenant, session: SessionId, end: LaunchEnd) {
    let ended = app.ledgers().write(tenant, move |here, ledger| {
        siglum_engine::driven::launch::end(here, ledger, session, &end, None)
    });
    if !matches!(ended.await, Ok(Ok(()))) {
        tracing::warn!("cannot record the end of an agent of session {session}");
    }
}
