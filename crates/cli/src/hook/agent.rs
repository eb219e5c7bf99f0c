//! The hooks of agents.

use std::borrow::Cow;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use siglum_agents::AgentSpec;
use siglum_agents::{Boundary, EditHint, HookCall, Reduced};
use siglum_domain::intake::{AgentMatter, Matter};
use siglum_domain::observation::{
    Fact, FileVersion, Observation, Outcome, Side, Source, ToolClass,
};
use siglum_domain::process::Chain;
use siglum_domain::pull_request;
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, Oid};
use siglum_engine::session::{file_key, side_key};
use siglum_gitstore::{HeadRead, ObjectAddress, ObjectStore, Repo, blob_id, discover};
use siglum_ledger::{Ledger, read};

use super::delivery::Delivery;
use super::scene;
use crate::config::Config;
use crate::{claim, clock, env, platform};

/// A payload that is larger than this is refused, in bytes.
const PAYLOAD_MOST: u64 = 16 << 20;
/// A payload is read to its end, so that the agent does not write into nothing, up to this size.
const DRAIN_MOST: u64 = 1 << 30;
/// A file that is larger than this is not kept, in bytes.
const FILE_MOST: u64 = 8 << 20;

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
            let repo = discover(Path::new("."), None, None).filter(|r| r.siglum_dir().is_dir());
            let detail = format!("a payload of {bytes} bytes is larger than {PAYLOAD_MOST}");
            return delivery.decline("payload_too_large", &detail, repo.as_ref());
        }
    };
    let repo = working_in(&payload);
    let recorded = repo.as_ref().is_some_and(|r| r.siglum_dir().is_dir())
        || delivery.home.everywhere().exists();
    if recorded && Config::load(repo.as_ref().map(Repo::worktree)).records() {
        record(&mut delivery, spec, &payload, repo.as_ref());
    }
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
    let told = serde_json::from_slice::<Cwd<'_>>(payload)
        .ok()
        .and_then(|c| c.cwd);
    let dir = told.map_or_else(|| PathBuf::from("."), |cwd| PathBuf::from(cwd.as_ref()));
    discover(&dir, None, None)
}

fn record(delivery: &mut Delivery, spec: &AgentSpec, payload: &[u8], repo: Option<&Repo>) {
    let own = format!("{}-{}", std::process::id(), delivery.now.nanos());
    let digest_key = delivery
        .ledger()
        .map_or_else(|_| clock::secret(), |ledger| ledger.key());
    let agent_dir = env::agent_dir(spec);
    let reduced = (spec.reduce)(&HookCall {
        payload,
        redactor: Redactor::shared(),
        digest_key: &digest_key,
        now: delivery.now,
        delivery: &own,
        agent_dir: &agent_dir,
        worktree: repo.map(Repo::worktree),
    });
    let mut reduced = match reduced {
        Ok(reduced) => reduced,
        Err(error) => return delivery.decline(error.reason(), &error.to_string(), repo),
    };
    for declined in &reduced.declines {
        delivery.decline(declined.reason, &declined.detail, repo);
    }
    if reduced.observations.is_empty() {
        return;
    }
    if let Some(repo) = repo {
        let edits = std::mem::take(&mut reduced.edits);
        edits
            .iter()
            .for_each(|edit| see_file(delivery, spec, &mut reduced, repo, edit));
        see_head(delivery, spec, &mut reduced, repo);
    }
    let agent = AgentName::new(spec.name).expect("because the names of agents keep to the grammar");
    // Some agents end sessions in which nothing ever happened, and of which they said nothing before.
    if reduced.boundary == Boundary::SessionEnd
        && delivery.never_heard_of(&agent, &reduced.native, repo)
    {
        return;
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
    let look = begins || !delivery.knows(&agent, &reduced.native);
    let chain = if look {
        platform::chain()
    } else {
        Chain::default()
    };
    let matter = matter(spec, agent, reduced, &chain, repo);
    let key = format!("{}:{own}", spec.name);
    delivery.send(key, Matter::Agent(matter), repo);
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
    spec: &AgentSpec,
    agent: AgentName,
    reduced: Reduced,
    chain: &Chain,
    repo: Option<&Repo>,
) -> AgentMatter {
    let named = spec
        .pid_variable
        .and_then(env::text)
        .and_then(|pid| pid.parse().ok());
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
    let claim = process.as_ref().and_then(|_| claim::inherited());
    let mut observations = reduced.observations;
    if claim.is_some() {
        observations.extend(traced(&observations));
    }
    AgentMatter {
        agent,
        native: reduced.native,
        parent: reduced.parent,
        explicit: None,
        process,
        above,
        carried,
        claim,
        cwd: reduced.cwd,
        place: repo.map(|r| r.place.clone()),
        transcript: reduced.transcript.map(|p| p.to_string_lossy().into_owned()),
        transcript_of: reduced.transcript_of,
        observations,
    }
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

/// Keeps the content of a file that a tool call changes, and notes it.
fn see_file(
    delivery: &mut Delivery,
    spec: &AgentSpec,
    reduced: &mut Reduced,
    repo: &Repo,
    edit: &EditHint,
) {
    let Some(path) = repo.relative(&repo.worktree().join(&edit.path)) else {
        return;
    };
    let holder = match &edit.held_by {
        Some(other) => repo.relative(&repo.worktree().join(other)),
        None => Some(path.clone()),
    };
    let Some(holder) = holder else {
        return;
    };
    let absolute = repo.worktree().join(&holder);
    let regular = fs::symlink_metadata(&absolute).map(|m| m.is_file() && m.len() <= FILE_MOST);
    let content = match regular {
        Ok(true) => fs::read(&absolute).ok(),
        Ok(false) => {
            return delivery.decline(
                "file_not_kept",
                &format!("{path} is too large or no regular file"),
                Some(repo),
            );
        }
        Err(_) => None,
    };
    let version = content.map(|content| {
        let base = base_version(delivery, spec, reduced, repo, edit, &path);
        let object = ObjectStore::open(delivery.home.objects())
            .and_then(|store| store.put(&content, base.as_ref()));
        FileVersion {
            blob: blob_id(repo.object_format(), &content),
            object: object.ok().map(|address| address.to_string()),
            bytes: content.len() as u64,
        }
    });
    let key = file_key(&edit.event, &path, edit.side);
    let fact = Fact::FileSeen {
        path,
        side: edit.side,
        version,
    };
    note(delivery, reduced, &edit.event, key, fact);
}

/// A version that this one is likely close to: the one before this edit, else the last one known.
fn base_version(
    delivery: &mut Delivery,
    spec: &AgentSpec,
    reduced: &Reduced,
    repo: &Repo,
    edit: &EditHint,
    path: &str,
) -> Option<ObjectAddress> {
    let agent = AgentName::new(spec.name).ok()?;
    let key = file_key(&edit.event, path, Side::Before);
    let ledger = delivery.ledger().ok()?;
    let known = read(ledger, |tx| {
        if edit.side == Side::After
            && let Some(session) = tx.session_by_alias(&agent, &reduced.native)?
            && let Some(entry) = tx.entry(session, Source::Hook, &key)?
            && let Fact::FileSeen {
                version: Some(version),
                ..
            } = entry.observation.fact
        {
            return Ok(version.object);
        }
        let Some(repository) = tx.repository(&repo.place.common_dir)? else {
            return Ok(None);
        };
        Ok(tx
            .last_edit(repository.id, path)?
            .and_then(|e| e.after)
            .and_then(|v| v.object))
    });
    known.ok().flatten()?.parse().ok()
}

/// Notes where HEAD stands before or after a tool that runs commands, and how it came there.
fn see_head(delivery: &mut Delivery, spec: &AgentSpec, reduced: &mut Reduced, repo: &Repo) {
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
        let from = log_before(delivery, spec, reduced, &event).unwrap_or(0);
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
    spec: &AgentSpec,
    reduced: &Reduced,
    event: &str,
) -> Option<u64> {
    let agent = AgentName::new(spec.name).ok()?;
    let key = side_key("head", event, Side::Before);
    let seen = read(delivery.ledger().ok()?, |tx| {
        match tx.session_by_alias(&agent, &reduced.native)? {
            Some(session) => tx.entry(session, Source::Hook, &key),
            None => Ok(None),
        }
    });
    match seen.ok().flatten()?.observation.fact {
        Fact::HeadSeen { log, .. } => log,
        _ => None,
    }
}

fn note(delivery: &Delivery, reduced: &mut Reduced, event: &str, key: String, fact: Fact) {
    let like = reduced.observations.iter().find(|o| o.event == event);
    let (turn, subagent) = like.map_or((None, None), |o| (o.turn.clone(), o.subagent.clone()));
    reduced.observations.push(Observation {
        source: Source::Hook,
        key,
        event: event.to_owned(),
        at: delivery.now,
        turn,
        subagent,
        fact,
    });
}
