//! A run begins: its session, its place, its lease, its agent, its turn.

use std::sync::Arc;

use siglum_domain::context::Keys;
use siglum_domain::observation::Observation;
use siglum_domain::trace::TraceId;
use siglum_domain::{NativeId, SessionId, TurnId};
use siglum_engine::driven::active_run;
use siglum_engine::driven::run::{self, NativeSession, RunRequest, RunSession, Wanted, Which};
use siglum_engine::driven::turn::{self, Event, Hold, Holder, Leased, Opened, TurnError};
use siglum_ledger::{Launch, LaunchEnd, RunRecord};
use siglum_platform::clock::Ids;
use tokio::sync::mpsc;
use tracing::Instrument as _;

use super::cancelling::{STOPPING, unless_cancelled};
use super::drive::{Drive, process_over};
use super::keys::{self, prompt_key};
use super::leasing::{self, Leasing, lose, release, renewing};
use super::{committed_run, diverged, elsewhere, stored_events};
use crate::app::App;
use crate::problem::Problem;
use crate::runs::agent::{Agent, AgentError, Opening, Way};
use crate::runs::plan::{self, Plan};
use crate::runs::scribe::Scribe;
use crate::runs::{
    Admitted, Ask, Control, IfBusy, Log, NameSource, Owned, Place, Resume, RunEvent, Running, Slot,
    Started, Target, Under, key_reused, process,
};

/// Begins a run. Gives it once its conversation has its name and its turn is open.
///
/// # Errors
/// Where the agent may not be run here or cannot be started, where another run of the session goes on, where the key is
/// that of something else, where somebody cancels it, and those of the store. Nothing was told to the agent then.
pub(crate) async fn start(app: &App, ask: Ask) -> Result<Running, Problem> {
    let plan = Plan::new(app.runs().settings(), &ask)?;
    if app.is_draining() {
        return Err(Problem::stopping());
    }
    // Whoever asked may leave meanwhile: what has begun is brought to its end all the same.
    let begun = tokio::spawn(admit(app.clone(), ask, plan).in_current_span());
    begun.await.unwrap_or_else(|_| Err(Problem::internal()))
}

async fn admit(app: App, ask: Ask, plan: Plan) -> Result<Running, Problem> {
    let content = ask.content();
    let given = keys::before(&app, &ask, &plan).await?;
    let (keys, session) = given.unzip();
    let known = session.map(|session| request_of(&ask, session, &content));
    let found = find(&app, &ask, &plan, known).await?;
    let request = request_of(&ask, found.session, &content);
    let slot = app.runs().slot(&ask.tenant, found.session);
    match app.runs().admit(&slot, &ask, &content).await? {
        Admitted::Same(running) => Ok(running),
        // It may have waited long.
        Admitted::Mine(..) if app.is_draining() => Err(Problem::stopping()),
        Admitted::Mine(place, controls) => {
            let beginning = Beginning {
                app,
                ask,
                request,
                plan,
                found,
                keys,
                slot,
                place: Arc::new(place),
                driver: TurnId::mint(&Ids).to_string(),
                native: None,
                newest: None,
                replay: None,
            };
            beginning.lease(controls).await
        }
    }
}

fn request_of(ask: &Ask, session: SessionId, content: &str) -> RunRequest {
    RunRequest {
        session,
        key: ask.key.to_string(),
        content: content.to_owned(),
    }
}

/// The session of a run: the one that its context is kept in, if that is known.
async fn find(
    app: &App,
    ask: &Ask,
    plan: &Plan,
    known: Option<RunRequest>,
) -> Result<RunSession, Problem> {
    let which = match (&known, &ask.session) {
        (Some(known), _) => Which::Session(known.session),
        (None, Target::Session(session)) => Which::Session(*session),
        (None, Target::Named(conversation, _)) => Which::Named(conversation.clone()),
        (None, Target::Unnamed) => Which::Unnamed,
    };
    let wanted = Wanted {
        agent: ask.agent.clone(),
        which,
        cwd: plan.cwd.to_string_lossy().into_owned(),
        links: ask.links.clone(),
        by: ask.by.clone(),
    };
    let key = ask.key.clone();
    let found = app.ledgers().write(&ask.tenant, move |here, ledger| {
        // Before anything is attached to the session.
        if let Some(known) = &known
            && run::is_key_of_another(ledger, known)?
        {
            return Err(key_reused(&key));
        }
        Ok::<_, Problem>(run::find(here, ledger, &wanted)?)
    });
    found.await?
}

/// A run that has its place.
struct Beginning {
    app: App,
    ask: Ask,
    /// The same as the ledger keeps it.
    request: RunRequest,
    plan: Plan,
    found: RunSession,
    /// Both keys, unless nobody named the conversation.
    keys: Option<Keys>,
    slot: Arc<Slot>,
    place: Arc<Place>,
    /// What tells the holder of its lease from all others.
    driver: String,
    /// The agent's own session that it goes on with.
    native: Option<NativeId>,
    /// The last turn that is in that one.
    newest: Option<TurnId>,
    /// What the agent is told in the place of the messages alone, since it begins another session of its own.
    replay: Option<Vec<String>>,
}

impl Beginning {
    const fn session(&self) -> SessionId {
        self.found.session
    }

    /// Takes the lease; where the rest fails, it is given back.
    async fn lease(self, mut controls: mpsc::Receiver<Control>) -> Result<Running, Problem> {
        let (app, tenant, session) = (self.app.clone(), self.ask.tenant.clone(), self.session());
        let holder = Holder {
            name: "a run of siglum serve".to_owned(),
            nonce: self.driver.clone(),
            process: app.ledgers().is_file().then(siglum_platform::own).flatten(),
        };
        let leasing = leasing::take(&app, &self.ask, &self.request, &holder, &mut controls);
        let leased = match leasing.await? {
            Leasing::Mine(leased) => leased,
            Leasing::Same(running) => return Ok(running),
        };
        if let Some(control) = self.slot.control() {
            elsewhere::listen(&app, &tenant, session, &self.driver, control);
        }
        let hold = leased.hold;
        // Whoever waits for the place must not come before the lease is given back.
        let place = Arc::clone(&self.place);
        match self.under(*leased, controls).await {
            Ok(running) => Ok(running),
            Err(problem) => {
                release(&app, &tenant, hold).await;
                drop(place);
                Err(problem)
            }
        }
    }

    /// Settles what a driver that died left, and goes on where the same was not done before.
    async fn under(
        mut self,
        leased: Leased,
        mut controls: mpsc::Receiver<Control>,
    ) -> Result<Running, Problem> {
        let session = self.session();
        let (hold, head, open) = (leased.hold, leased.committed, leased.open);
        let settled = self.app.ledgers().write(&self.ask.tenant, {
            let request = self.request.clone();
            move |here, ledger| {
                let key = &request.key;
                let left = open.as_ref().filter(|left| left.key != *key);
                let head = match left {
                    Some(left) => {
                        let lost = Event::other(&format!("{}.lost", left.id), "run.lost");
                        let observations = [lost.observed(here.now())];
                        let done =
                            turn::commit(here, ledger, hold, head, &left.key, &observations)?;
                        done.receipt.last
                    }
                    None => head,
                };
                lose(ledger, session, here.now())?;
                let is_reused = run::is_key_of_another(ledger, &request)?;
                let before = turn::receipt(ledger, session, key)?;
                Ok::<_, TurnError>((head, is_reused, before))
            }
        });
        let (head, is_reused, before) = settled.await??;
        if is_reused {
            return Err(key_reused(&self.ask.key));
        }
        if let Some(receipt) = before {
            let past =
                committed_run::committed_run(&self.app, &self.ask, session, &receipt).await?;
            release(&self.app, &self.ask.tenant, hold).await;
            return Ok(past);
        }
        self.go_on().await?;
        let (app, tenant) = (self.app.clone(), self.ask.tenant.clone());
        let starting = self.an_agent(&mut controls);
        let (agent, hold) = renewing(&app, &tenant, hold, starting).await;
        let agent = match agent? {
            Ok(agent) => agent,
            Err(error) => {
                self.not_started().await;
                return Err(problem(&error));
            }
        };
        self.open(agent, hold, head, controls).await
    }

    /// Finds what the agent goes on with: its own session, unless that has more than is committed. Then it begins another
    /// one, and is told what is committed.
    async fn go_on(&mut self) -> Result<(), Problem> {
        if self.ask.resume != Resume::Native && self.ask.if_busy != IfBusy::Steer {
            return Ok(());
        }
        let session = self.session();
        let kept = self.app.ledgers().read(&self.ask.tenant, move |_, ledger| {
            run::native_session(ledger, session)
        });
        match kept.await?? {
            NativeSession::Nothing => Ok(()),
            NativeSession::Committed(native, turn) => {
                (self.native, self.newest) = (Some(native), Some(turn));
                Ok(())
            }
            NativeSession::Diverged => self.begin_anew().await,
        }
    }

    /// The agent begins another session of its own, and is told what is committed.
    async fn begin_anew(&mut self) -> Result<(), Problem> {
        let keys = match (&self.keys, &self.ask.under) {
            (Some(keys), _) | (None, Under::Keys(keys)) => Some(keys.clone()),
            (None, _) => None,
        };
        let before = diverged::committed(&self.app, &self.ask.tenant, keys).await?;
        self.replay = Some(plan::blocks(&[before, self.ask.prompt.clone()].concat())?);
        self.native = None;
        Ok(())
    }

    /// The agent with the native session that the run goes on with, or with another one: on a store that several gateways
    /// serve, the files of that one may be where another gateway is.
    async fn an_agent(
        &mut self,
        controls: &mut mpsc::Receiver<Control>,
    ) -> Result<Result<Agent, AgentError>, Problem> {
        match self.agent(controls).await {
            Err(error) if error.code == "cannot-resume" && self.app.ledgers().is_shared() => {
                self.not_started().await;
                self.begin_anew().await?;
                Ok(self.agent(controls).await)
            }
            agent => Ok(agent),
        }
    }

    /// What the agent is told.
    fn blocks(&self) -> &[String] {
        self.replay.as_deref().unwrap_or(&self.plan.blocks)
    }

    /// Whether the process is used for this run alone.
    fn runs_once(&self) -> bool {
        if matches!(self.plan.way, Way::Headless(_)) {
            return true;
        }
        let isolated = match &self.ask.under {
            Under::Isolated(_) => true,
            Under::Keys(keys) => keys.route.as_str() != keys.context.as_str(),
            Under::Session | Under::Route(_) => false,
        };
        isolated || self.ask.owned == Owned::ByClient
    }

    /// The agent with the native session that the run goes on with.
    async fn agent(&mut self, controls: &mut mpsc::Receiver<Control>) -> Result<Agent, AgentError> {
        let native = self.native.clone();
        let cwd = self.plan.cwd.to_string_lossy().into_owned();
        if let Some((turn, mut warm)) = self.slot.warm() {
            // What was said at another gateway since, its process does not know.
            let is_newest = self.newest == Some(turn);
            let has = is_newest && native.is_some() && warm.native() == native.as_ref();
            if has && warm.lives() && !self.runs_once() {
                let opening = self.opening(native.as_ref(), &cwd);
                unless_cancelled(&self.app, controls, warm.again(&opening)).await?;
                return Ok(warm);
            }
            drop(warm);
            self.over(LaunchEnd::Completed).await;
        }
        let opening = self.opening(native.as_ref(), &cwd);
        let mut agent = self.launch(&opening, controls).await?;
        unless_cancelled(&self.app, controls, agent.open(&opening)).await?;
        Ok(agent)
    }

    fn opening<'a>(&'a self, native: Option<&'a NativeId>, cwd: &'a str) -> Opening<'a> {
        Opening {
            spec: self.plan.spec,
            native,
            cwd,
            permissions: self.ask.permissions,
            model: self.ask.model.as_deref(),
            blocks: self.blocks(),
        }
    }

    /// Starts the process, which hooks find the session by.
    async fn launch(
        &self,
        opening: &Opening<'_>,
        controls: &mut mpsc::Receiver<Control>,
    ) -> Result<Agent, AgentError> {
        let session = self.session();
        let not = |text: String| AgentError::new("agent-not-started", text);
        let handing = self.app.runs().settings().handing.clone();
        let handed = (handing.0)(session).map_err(|e| not(format!("no token: {e}")))?;
        let program = self.plan.program.file_name().unwrap_or_default();
        let launch = Launch {
            digest: handed.digest.clone(),
            launcher: siglum_platform::own(),
            agent: self.ask.agent.clone().named(),
            program: program.to_string_lossy().into_owned(),
            worktree: None,
        };
        let by = self.ask.by.clone();
        let launched = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |here, ledger| {
                run::record_launch(here, ledger, session, &launch, &by)
            });
        let stored = |error: &dyn std::fmt::Display| AgentError::new("store", error.to_string());
        launched
            .await
            .map_err(|e| stored(&e))?
            .map_err(|e| stored(&e))?;
        let traced = self.ask.traced.filter(|_| self.runs_once());
        let mut variables = handed.variables;
        let own = &self.ask.environment;
        variables.extend(plan::variables(
            &self.found.links,
            traced,
            own,
            self.plan.spec,
        ));
        let start = process::Start {
            program: &self.plan.program,
            arguments: self.plan.arguments(opening),
            cwd: &self.plan.cwd,
            variables,
            over: handed.over,
        };
        // What is written is not broken off: nobody would know what became of it.
        let agent =
            unless_cancelled(&self.app, controls, Agent::start(start, self.plan.way)).await?;
        if let Some(process) = siglum_platform::process(agent.pid()) {
            let bound = self
                .app
                .ledgers()
                .write(&self.ask.tenant, move |here, ledger| {
                    run::bind_process(here, ledger, session, &process)
                });
            bound
                .await
                .map_err(|e| stored(&e))?
                .map_err(|e| stored(&e))?;
        }
        Ok(agent)
    }

    /// Opens the turn, and lets the run go.
    async fn open(
        self,
        agent: Agent,
        hold: Hold,
        head: u64,
        controls: mpsc::Receiver<Control>,
    ) -> Result<Running, Problem> {
        let native = agent.native().cloned();
        let native = native.ok_or_else(Problem::internal)?;
        let (session, id) = (self.session(), native.clone());
        let named = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |here, ledger| {
                run::record_native_id(here, ledger, session, &id)
            });
        let conversation = named.await??;
        let keys = match self.keys.clone() {
            Some(keys) => keys,
            None => keys::after(&self.app, &self.ask, session).await?,
        };
        let opened = self.first_words(hold, head).await?;
        let turn = match opened {
            Opened::Turn(turn) => turn,
            Opened::Committed(receipt) => {
                let past =
                    committed_run::committed_run(&self.app, &self.ask, session, &receipt).await?;
                release(&self.app, &self.ask.tenant, hold).await;
                return Ok(past);
            }
        };
        let started = Started {
            session,
            conversation,
            named_by: match &self.ask.session {
                Target::Named(_, by) => *by,
                Target::Unnamed | Target::Session(_) => NameSource::Agent,
            },
            native: Some(native),
            turn: turn.id,
            trace: trace(&self.ask, turn.id),
            keys: Some(keys),
            diverged: self.replay.is_some(),
            at: turn.opened_at,
        };
        self.go(agent, hold, head, started, controls).await
    }

    async fn first_words(&self, hold: Hold, head: u64) -> Result<Opened, Problem> {
        let (request, traced) = (self.request.clone(), self.ask.traced);
        let text = self.plan.blocks.join("\n\n");
        let mark = format!("{}.diverged", prompt_key(&request.key));
        let diverged = self.replay.is_some();
        let diverged = diverged.then(|| Event::other(&mark, diverged::NAME));
        let opened = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |here, ledger| {
                let (now, key) = (here.now(), &request.key);
                let mut observations: Vec<Observation> = Vec::new();
                observations.extend(traced.map(|parent| Event::traced(key, parent).observed(now)));
                observations.extend(diverged.clone().map(|event| event.observed(now)));
                observations.push(Event::prompt(&prompt_key(key), &text).observed(now));
                run::open(here, ledger, hold, head, &request, &observations)
            });
        opened.await??.ok_or_else(|| key_reused(&self.ask.key))
    }

    async fn go(
        self,
        agent: Agent,
        hold: Hold,
        head: u64,
        started: Started,
        controls: mpsc::Receiver<Control>,
    ) -> Result<Running, Problem> {
        let record = RunRecord {
            turn: started.turn,
            session: started.session,
            key: self.ask.key.to_string(),
            native: started.native.clone(),
            route: started.keys.as_ref().map(|keys| keys.route.clone()),
            context: started.keys.as_ref().map(|keys| keys.context.clone()),
            by: self.ask.by.clone(),
            started_at: started.at,
            end: None,
        };
        let first = RunEvent::Started(started.clone());
        let record = self.note(record, &first).await?;
        let log = Log::new();
        log.push(first);
        let running = Running {
            started: Arc::new(started),
            agent: self.ask.agent.clone(),
            by: self.ask.by.clone(),
            log,
        };
        // A cancel that came while this was written waits in the same place as later ones.
        self.slot.begun(&running);
        let keep = !self.runs_once();
        let drive = Drive {
            scribe: scribe(&self.plan, &running, &agent),
            running: running.clone(),
            agent,
            hold,
            head,
            record,
            controls,
            keep,
            app: self.app,
            ask: self.ask,
            blocks: self.replay.unwrap_or(self.plan.blocks),
            slot: self.slot,
            place: self.place,
            interactions: Vec::new(),
            stored: 1,
            broken: None,
        };
        drive.app.metrics().run_started();
        tokio::spawn(drive.run().in_current_span());
        Ok(running)
    }

    /// Notes that the run goes on, for other gateways, too, where there may be some.
    async fn note(&self, record: RunRecord, first: &RunEvent) -> Result<RunRecord, Problem> {
        let is_shared = self.app.ledgers().is_shared();
        let row = stored_events::row(&record, 1, std::slice::from_ref(first));
        let driver = self.driver.clone();
        let noted = self
            .app
            .ledgers()
            .write(&self.ask.tenant, move |_, ledger| {
                match row.as_ref().filter(|_| is_shared) {
                    Some(row) => active_run::begin(ledger, &driver, &record, row),
                    None => run::record_run(ledger, &record).map(|()| record.clone()),
                }
            });
        Ok(noted.await??)
    }

    /// The process that was started is over, and told nothing.
    async fn not_started(&self) {
        self.over(LaunchEnd::NotStarted { code: 1 }).await;
    }

    async fn over(&self, end: LaunchEnd) {
        process_over(&self.app, &self.ask.tenant, self.session(), end).await;
    }
}

fn scribe(plan: &Plan, running: &Running, agent: &Agent) -> Scribe {
    let native = running.started.native.as_ref().map(NativeId::to_string);
    let first = match agent.turns() {
        0 => plan.spec.blank_first,
        _ => run::Blank::Never,
    };
    let mut scribe = Scribe::new(
        plan.spec,
        running.started.turn.to_string(),
        native.unwrap_or_default(),
        first,
        agent.model(),
    );
    scribe.cost_before(agent.cost());
    scribe
}

fn trace(ask: &Ask, turn: TurnId) -> TraceId {
    ask.traced
        .map_or_else(|| TraceId::of_turn(turn), |parent| parent.trace)
}

fn problem(error: &AgentError) -> Problem {
    match error.code {
        STOPPING => Problem::stopping(),
        "cancelled" => Problem::conflict("cancelled", error.text.clone()),
        "cannot-resume" => Problem::conflict("cannot-resume", error.text.clone()),
        "invalid-model" => Problem::invalid("model", error.text.clone()),
        code => Problem::agent(code, error.text.clone()),
    }
}
