//! Sessions that agents left on disk before anybody watched.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use siglum_agents::{AgentSpec, CommitMention, TranscriptFile};
use siglum_domain::intake::{AgentMatter, Intake, Matter, Place, VERSION};
use siglum_domain::{AgentName, NativeId, SessionId, Timestamp};
use siglum_gitstore::discover;
use siglum_ledger::{Durability, Ledger, TranscriptRecord, read, write};

use crate::deliver::{Delivered, deliver};
use crate::{EngineError, World, transcript};

/// How much of a transcript tells where it was written, in bytes.
const HEAD: u64 = 256 << 10;

/// A transcript to import, and the repository that it was written in.
#[derive(Debug, Clone)]
pub struct Found {
    /// The agent.
    pub agent: &'static AgentSpec,
    /// The file.
    pub file: TranscriptFile,
    /// Where the agent worked.
    pub cwd: String,
    /// The repository.
    pub place: Option<Place>,
}

/// The transcripts on this machine that were written in a repository, oldest first, so that what a
/// fork copied belongs to the session it was copied from. Those of sub-agents come with their
/// session.
#[must_use]
pub fn look(dir_of: &dyn Fn(&AgentSpec) -> PathBuf, common_dir: Option<&str>) -> Vec<Found> {
    let mut found = Vec::new();
    for agent in siglum_agents::AGENTS {
        for file in (agent.discover)(&dir_of(agent)) {
            if file.subagent.is_some() {
                continue;
            }
            let Some(cwd) = first_cwd(agent, &file.path) else {
                continue;
            };
            let place = discover(Path::new(&cwd), None, None).map(|repo| repo.place);
            let wanted = match common_dir {
                Some(common_dir) => place.as_ref().is_some_and(|p| p.common_dir == common_dir),
                None => true,
            };
            if wanted {
                found.push(Found {
                    agent,
                    file,
                    cwd,
                    place,
                });
            }
        }
    }
    found.sort_by(|a, b| (a.file.modified, &a.file.stream).cmp(&(b.file.modified, &b.file.stream)));
    found
}

fn first_cwd(agent: &AgentSpec, path: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(path)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut head)
        .ok()?;
    (agent.first_cwd)(&head)
}

/// Imports one transcript with its sub-agents, from where the last import stopped. `progress` hears
/// of each slice, in bytes.
///
/// # Errors
/// The file cannot be read, or those of the ledger; what was read so far stays.
pub fn import(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    found: &Found,
    progress: &mut dyn FnMut(u64),
) -> Result<SessionId, EngineError> {
    let agent =
        AgentName::new(found.agent.name).expect("because the names of agents keep to the grammar");
    let session = session_of(world, ledger, &agent, found)?;
    let record = TranscriptRecord {
        stream: found.file.stream.clone(),
        agent: agent.clone(),
        session,
        native: found.file.session.clone(),
        path: found.file.path.to_string_lossy().into_owned(),
        subagent: None,
        file: String::new(),
        read_to: 0,
        tail: String::new(),
        turn: None,
        own: false,
    };
    write(ledger, Durability::Process, |tx| {
        tx.want_transcript(&record)
    })?;
    let mut mentions = read_all(world, ledger, found.agent, &record.stream, progress)?;
    let of_session =
        |record: &TranscriptRecord| record.session == session && record.subagent.is_some();
    for subagent in read(ledger, |tx| tx.wanted_transcripts(100_000))?
        .into_iter()
        .filter(of_session)
    {
        mentions.append(&mut read_all(
            world,
            ledger,
            found.agent,
            &subagent.stream,
            progress,
        )?);
    }
    let place = found.place.as_ref();
    let repository = match place {
        Some(place) => read(ledger, |tx| tx.repository(&place.common_dir))?,
        None => None,
    };
    if let Some(repository) = repository {
        transcript::link_mentioned(world, ledger, &agent, &repository, &mentions)?;
    }
    Ok(session)
}

fn session_of(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    agent: &AgentName,
    found: &Found,
) -> Result<SessionId, EngineError> {
    let native: &NativeId = &found.file.session;
    if let Some(session) = read(ledger, |tx| tx.session_by_alias(agent, native))? {
        return Ok(session);
    }
    let matter = AgentMatter {
        agent: agent.clone(),
        native: native.clone(),
        parent: None,
        explicit: None,
        process: None,
        above: Vec::new(),
        cwd: Some(found.cwd.clone()),
        place: found.place.clone(),
        transcript: None,
        observations: Vec::new(),
    };
    let at: Timestamp = found.file.modified;
    let intake = Intake {
        version: VERSION,
        key: format!("import:{}", found.file.stream),
        at,
        matter: Matter::Agent(matter),
    };
    match deliver(ledger, world.ids, &intake)? {
        Delivered::Session(session) => Ok(session),
        Delivered::Intent(_) | Delivered::Noted => {
            unreachable!("an agent's matter is delivered to a session")
        }
    }
}

fn read_all(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    agent: &AgentSpec,
    stream: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<Vec<CommitMention>, EngineError> {
    let (mut reader, mut mentions) = (None, Vec::new());
    while let Some(record) = read(ledger, |tx| tx.transcript(stream))? {
        let mut step = transcript::read_on(world, ledger, agent, &record, reader.take())?;
        progress(step.bytes);
        mentions.append(&mut step.mentions);
        reader = step.reader;
        if !step.more {
            break;
        }
    }
    Ok(mentions)
}
