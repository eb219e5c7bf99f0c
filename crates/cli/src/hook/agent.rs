//! The hooks of agents.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use siglum_agents::AgentSpec;
use siglum_agents::{Boundary, HookCall, ReduceError, Reduced};
use siglum_domain::intake::{AgentMatter, Matter};
use siglum_domain::link::{Dropped, from_variables};
use siglum_domain::observation::{Fact, Observation, Outcome, Side, ToolClass};
use siglum_domain::process::Chain;
use siglum_domain::pull_request;
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, Oid};
use siglum_engine::identity::sighting_keys::side_key;
use siglum_gitstore::{HeadRead, Repo, discover};
use siglum_ledger::Ledger;

use super::delivery::{Delivery, is_recorded, note};
use super::edited_file::{checkout_of, see_file};
use super::{landings, scene, takeover};
use crate::{claim, clock, env, platform};

/// A payload that is larger than this is refused, in bytes.
const PAYLOAD_MOST: u64 = 16 << 20;
/// A payload is read to its end, so that the agent does not write into nothing, up to this size.
const DRAIN_MOST: u64 = 1 << 30;

/// Runs the hook of an agent: its payload is on standard input.
pub fn run(agent: &str) {
    let mut delivery = Delivery::new(&format!("hook {agent}"));
    let payload = read_payload();
    let Some(spec) = siglum_agents::find(agent) else {
        return delivery.decline(
            "unknown_agent",
            "this program does not record this agent",
            None,
        );
    };
    let payload = match payload {
        Ok(payload) => payload,
        Err(bytes) => {
            let repo = discover(Path::new("."), None, None).filter(Repo::is_on);
            let detail = format!("a payload of {bytes} bytes is larger than {PAYLOAD_MOST}");
            return delivery.decline("payload_too_large", &detail, repo.as_ref());
        }
    };
    let repo = working_in(&payload);
    if is_recorded(&delivery.home, repo.as_ref()) {
        return record(&mut delivery, spec, &payload, repo.as_ref(), Kept::All);
    }
    if let Some(repo) = edited_elsewhere(&delivery, spec, &payload) {
        record(&mut delivery, spec, &payload, Some(&repo), Kept::Edits);
    }
}

/// How much of what a payload tells is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    All,
    /// Only the content of the files that it edits: the agent works where nothing is recorded.
    Edits,
}

/// The first recorded repository that a file of a call is in, where the agent itself works elsewhere. Nothing is
/// opened for that, and nothing written.
fn edited_elsewhere(delivery: &Delivery, spec: &AgentSpec, payload: &[u8]) -> Option<Repo> {
    let (own, digest_key) = (String::new(), clock::secret());
    let reduced = reduce(delivery, spec, payload, None, (&own, &digest_key)).ok()?;
    let checkouts = reduced.edits.iter().filter_map(|e| checkout_of(&e.path));
    checkouts
        .filter(Repo::is_on)
        .find(|repo| is_recorded(&delivery.home, Some(repo)))
}

/// What a payload says, with what this delivery is called and the key of digests.
fn reduce(
    delivery: &Delivery,
    spec: &AgentSpec,
    payload: &[u8],
    repo: Option<&Repo>,
    (own, digest_key): (&str, &[u8; 32]),
) -> Result<Reduced, ReduceError> {
    let reduced = (spec.reduce)(&HookCall {
        payload,
        redactor: Redactor::shared(),
        digest_key,
        now: delivery.now,
        delivery: own,
        agent_dir: &env::agent_dir(spec),
        worktree: repo.map(Repo::worktree),
    })?;
    reduced.without_secrets(Redactor::shared())
}

/// All of standard input, or its size if it is too large.
fn read_payload() -> Result<Vec<u8>, u64> {
    let mut stdin = std::io::stdin().lock();
    let mut payload = Vec::new();
    let _ = stdin
        .by_ref()
        .take(PAYLOAD_MOST + 1)
        .read_to_end(&mut payload);
    if payload.len() as u64 <= PAYLOAD_MOST {
        return Ok(payload);
    }
    let rest = std::io::copy(&mut stdin.take(DRAIN_MOST), &mut std::io::sink()).unwrap_or(0);
    Err(payload.len() as u64 + rest)
}

/// The repository that the agent works in: by its own word, else where this hook was started.
fn working_in(payload: &[u8]) -> Option<Repo> {
    #[derive(Deserialize)]
    struct Cwd<'a> {
        #[serde(borrow)]
        cwd: Option<Cow<'a, str>>,
    }
    let cwd = serde_json::from_slice::<Cwd<'_>>(payload)
        .ok()
        .and_then(|c| c.cwd);
    let dir = cwd.map_or_else(|| PathBuf::from("."), |cwd| PathBuf::from(cwd.as_ref()));
    discover(&dir, None, None)
}

fn record(
    delivery: &mut Delivery,
    spec: &AgentSpec,
    payload: &[u8],
    repo: Option<&Repo>,
    kept: Kept,
) {
    if let Some(repo) = repo {
        landings::send(delivery, repo);
    }
    let own = format!("{}-{}", std::process::id(), delivery.now.nanos());
    let digest_key = delivery
        .ledger()
        .map_or_else(|_| clock::secret(), |ledger| ledger.key());
    let reduced = match reduce(delivery, spec, payload, repo, (&own, &digest_key)) {
        Ok(reduced) => reduced,
        Err(error) => return delivery.decline(error.reason(), &error.to_string(), repo),
    };
    for declined in reduced.declines.iter().filter(|_| kept == Kept::All) {
        delivery.decline(declined.reason, &declined.detail, repo);
    }
    if reduced.observations.is_empty() {
        return;
    }
    let agent = AgentName::new(spec.name).expect("because the names of agents keep to the grammar");
    // Some agents end sessions in which nothing ever happened, and of which they said nothing before.
    if reduced.boundary == Boundary::SessionEnd
        && delivery.has_no_record_of(&agent, &reduced.native, repo)
    {
        return;
    }
    let named = spec.pid_variable.and_then(env::text);
    let process = match named.and_then(|pid| pid.parse().ok()) {
        Some(pid) => AgentProcess::Named(pid),
        None => AgentProcess::Nearest,
    };
    if let Some(matter) = complete(delivery, agent, process, reduced, (repo, kept)) {
        let key = format!("{}:{own}", spec.name);
        delivery.send(key, Matter::Agent(matter), repo);
    }
}

/// Which process above this one runs the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentProcess {
    /// The first that is no shell, package runner or program of ours.
    Nearest,
    /// The one with this id.
    Named(u32),
    /// None: no process is evidence for what is said.
    Nobody,
}

/// Adds what only this process can see: the content of files, HEAD, the processes above. Nothing where nothing is left to
/// be written down.
pub(super) fn complete(
    delivery: &mut Delivery,
    agent: AgentName,
    process: AgentProcess,
    mut reduced: Reduced,
    (repo, kept): (Option<&Repo>, Kept),
) -> Option<AgentMatter> {
    for edit in std::mem::take(&mut reduced.edits) {
        see_file(delivery, &agent, &mut reduced, repo, &edit);
    }
    match (kept, repo) {
        (Kept::All, Some(repo)) => see_head(delivery, &agent, &mut reduced, repo),
        (Kept::All, None) => {}
        (Kept::Edits, _) => keep_edits(&mut reduced),
    }
    if reduced.observations.is_empty() {
        return None;
    }
    let turn_is_over = matches!(reduced.boundary, Boundary::TurnEnd | Boundary::SessionEnd);
    if turn_is_over || reduced.observations.iter().any(shows_a_pull_request) {
        delivery.want_worker();
    }
    // The processes above are looked at where a session is bound to one, when it begins and with each
    // turn, and where it ends: perhaps it goes on in another one.
    let begins = matches!(
        reduced.boundary,
        Boundary::SessionStart | Boundary::TurnStart | Boundary::SessionEnd
    );
    if let Some(repo) = repo.filter(|_| begins) {
        takeover::record(delivery, repo);
    }
    let look =
        process != AgentProcess::Nobody && (begins || !delivery.knows(&agent, &reduced.native));
    let chain = if look {
        platform::chain()
    } else {
        Chain::default()
    };
    let reads_variables = look && kept == Kept::All && reduced.boundary != Boundary::SessionEnd;
    let mut matter = matter(agent, process, reduced, &chain, repo);
    if reads_variables {
        read_links(&mut matter);
    }
    Some(matter)
}

/// Leaves out all but the content of edited files, and where the agent works.
fn keep_edits(reduced: &mut Reduced) {
    let is_edit = |o: &Observation| matches!(o.fact, Fact::FileSeen { .. });
    reduced.observations.retain(is_edit);
    (reduced.cwd, reduced.transcript, reduced.transcript_of) = (None, None, None);
}

/// Whether a call seems to have opened a pull request: the worker looks closer, and links it.
fn shows_a_pull_request(observation: &Observation) -> bool {
    let Fact::ToolEnded {
        tool,
        class,
        outcome: Outcome::Ok,
        output: Some(output),
        ..
    } = &observation.fact
    else {
        return false;
    };
    match class {
        ToolClass::Shell => output.text().is_some_and(pull_request::is_shown_in),
        _ => pull_request::is_opened_by_tool(tool),
    }
}

fn matter(
    agent: AgentName,
    process: AgentProcess,
    reduced: Reduced,
    chain: &Chain,
    repo: Option<&Repo>,
) -> AgentMatter {
    let named = match process {
        AgentProcess::Named(pid) => Some(pid),
        AgentProcess::Nearest | AgentProcess::Nobody => None,
    };
    let process = chain.agent_process(named).map(|a| a.identity.clone());
    let above = match chain
        .ancestors
        .iter()
        .position(|a| Some(&a.identity) == process.as_ref())
    {
        Some(at) => chain.ancestors[at + 1..]
            .iter()
            .map(|a| a.identity.clone())
            .collect(),
        None => Vec::new(),
    };
    // Looked at together with the process that had them.
    let carried = process.as_ref().map(|_| {
        let mut carried = scene::variables();
        carried.retain(|v| v.agent != agent || v.native.as_ref() != Some(&reduced.native));
        carried
    });
    let claim = process.as_ref().and_then(|_| claim::inherited(repo));
    let mut observations = reduced.observations;
    if claim.is_some() {
        observations.extend(traced(&observations));
    }
    AgentMatter {
        parent: reduced.parent,
        thread: reduced.thread,
        process,
        above,
        carried,
        claim,
        cwd: reduced.cwd,
        place: repo.map(|r| r.place.clone()),
        transcript: reduced.transcript.map(|p| p.to_string_lossy().into_owned()),
        transcript_of: reduced.transcript_of,
        observations,
        ..AgentMatter::new(agent, reduced.native)
    }
}

/// Takes the links that the agent's variables name: its hooks inherit its environment.
fn read_links(matter: &mut AgentMatter) {
    let (links, dropped) = from_variables(env::raw);
    let edge = format!("hook {}", matter.agent);
    let decline = |dropped: &Dropped| dropped.decline(&edge, matter.place.as_ref());
    matter.left_out = dropped.iter().map(decline).collect();
    matter.links = links;
}

/// The trace that the launcher was asked in. It is that of the first turn alone: the variable stays as it is for as
/// long as the agent runs, and what has one key is noted once.
fn traced(observations: &[Observation]) -> Option<Observation> {
    let prompt = observations
        .iter()
        .find(|o| matches!(o.fact, Fact::Prompt { .. }))?;
    let parent = env::text(claim::TRACED)?.parse().ok()?;
    let key = format!("traced:{parent}");
    Some(Observation {
        event: key.clone(),
        key,
        fact: Fact::Traced { parent },
        ..prompt.clone()
    })
}

/// Notes where HEAD stands before or after a tool that runs commands, and how it came there.
fn see_head(delivery: &mut Delivery, agent: &AgentName, reduced: &mut Reduced, repo: &Repo) {
    let Some((event, side)) = reduced.head.take() else {
        return;
    };
    let commit: Option<Oid> = match repo.head() {
        HeadRead::Commit(oid) => Some(oid),
        HeadRead::Unborn => None,
        HeadRead::NeedsGit => return,
    };
    let (mut arrival, mut moves) = (None, Vec::new());
    let log = repo.log_length();
    if side == Side::After {
        arrival = commit.as_ref().and_then(|commit| repo.arrival(commit));
        moves = repo.steps();
        let from = log_before(delivery, agent, reduced, &event).unwrap_or(0);
        moves.retain(|step| step.position >= from);
    }
    let fact = Fact::HeadSeen {
        side,
        commit,
        arrival,
        log,
        moves,
    };
    note(
        delivery,
        reduced,
        &event,
        side_key("head", &event, side),
        fact,
    );
}

/// How long git's list of the moves of HEAD was before a call, where the ledger knows it.
fn log_before(
    delivery: &mut Delivery,
    agent: &AgentName,
    reduced: &Reduced,
    event: &str,
) -> Option<u64> {
    let key = side_key("head", event, Side::Before);
    match delivery.sighting(agent, &reduced.native, &key)? {
        Fact::HeadSeen { log, .. } => log,
        _ => None,
    }
}
