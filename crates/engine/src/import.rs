//! Sessions that agents left on disk before anybody watched.
//!
//! [`look`] lists them, [`import`] reads one from where the last import stopped, and
//! [`link_commits`] finds the commits that hold their work.

mod commits;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use siglum_agents::{AgentSpec, TranscriptFile, open_regular};
use siglum_domain::intake::{AgentMatter, Decline, Intake, Matter, Place, VERSION};
use siglum_domain::{AgentName, NativeId, SessionId, Timestamp};
use siglum_gitstore::discover;
use siglum_ledger::{
    Durability, Ledger, LedgerError, SessionOrigin, Transaction, TranscriptRecord, read, write,
};

use crate::deliver::{Delivered, deliver};
use crate::{EngineError, World, session, transcript};

pub use commits::{Linked, commits_with, link_commits};

/// How much of a transcript tells where and when it was written, in bytes: most need little.
const HEADS: [u64; 3] = [8 << 10, 64 << 10, 256 << 10];

/// A transcript to import, and the repository that it was written in.
#[derive(Debug, Clone)]
pub struct Found {
    /// The agent.
    pub agent: &'static AgentSpec,
    /// The file.
    pub file: TranscriptFile,
    /// The files of its sub-agents.
    pub subagents: Vec<TranscriptFile>,
    /// Where the agent worked.
    pub cwd: String,
    /// The repository.
    pub place: Option<Place>,
}

impl Found {
    fn files(&self) -> impl Iterator<Item = &TranscriptFile> {
        std::iter::once(&self.file).chain(&self.subagents)
    }

    /// The size of all its files in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files().map(|f| f.bytes).sum()
    }

    /// When any of its files was written last.
    #[must_use]
    pub fn modified(&self) -> Timestamp {
        self.files().map(|f| f.modified).max().unwrap_or_default()
    }
}

/// What is on this machine.
#[derive(Debug, Clone, Default)]
pub struct OnDisk {
    /// The transcripts, oldest first.
    pub found: Vec<Found>,
    /// Those that cannot be read, with the reason.
    pub refused: Vec<(TranscriptFile, String)>,
}

/// The transcripts on this machine that were written in a repository, oldest first, so that what a
/// fork copied belongs to the session it was copied from. Those of sub-agents come with their
/// session.
#[must_use]
pub fn look(dir_of: &dyn Fn(&AgentSpec) -> PathBuf, common_dir: Option<&str>) -> OnDisk {
    let mut on_disk = OnDisk::default();
    let mut places: BTreeMap<String, Option<Place>> = BTreeMap::new();
    for agent in siglum_agents::AGENTS {
        let files = (agent.discover)(&dir_of(agent));
        let (subagents, sessions): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|f| f.subagent.is_some());
        let mut inner: BTreeMap<NativeId, Vec<TranscriptFile>> = BTreeMap::new();
        for file in subagents {
            inner.entry(file.session.clone()).or_default().push(file);
        }
        for file in sessions {
            let cwd = match &file.cwd {
                Some(cwd) => Ok(Some(cwd.clone())),
                None => head_says(&file.path, agent.first_cwd),
            };
            let cwd = match cwd {
                Ok(Some(cwd)) => cwd,
                // A transcript in which nothing happened names no directory.
                Ok(None) => continue,
                Err(error) => {
                    on_disk.refused.push((file, error.to_string()));
                    continue;
                }
            };
            let place = places
                .entry(cwd.clone())
                .or_insert_with(|| discover(Path::new(&cwd), None, None).map(|repo| repo.place))
                .clone();
            let here = |wanted| place.as_ref().is_some_and(|p| p.common_dir == wanted);
            if common_dir.is_none_or(here) {
                on_disk.found.push(Found {
                    agent,
                    subagents: inner.remove(&file.session).unwrap_or_default(),
                    file,
                    cwd,
                    place,
                });
            }
        }
    }
    let key = |f: &Found| (f.file.modified, f.file.stream.clone());
    on_disk.found.sort_by_key(key);
    on_disk
}

/// Asks the head of a file, more of it if little does not tell.
fn head_says<T>(path: &Path, ask: impl Fn(&[u8]) -> Option<T>) -> std::io::Result<Option<T>> {
    let mut file = open_regular(path)?;
    let mut head = Vec::new();
    for most in HEADS {
        let before = head.len() as u64;
        file.by_ref().take(most - before).read_to_end(&mut head)?;
        let answer = ask(&head);
        if answer.is_some() || (head.len() as u64) < most {
            return Ok(answer);
        }
    }
    Ok(None)
}

/// How many bytes of a transcript and its sub-agents were not read yet.
///
/// # Errors
/// Those of the ledger.
pub fn unread(ledger: &mut dyn Ledger, found: &Found) -> Result<u64, LedgerError> {
    read(ledger, |tx| {
        let mut bytes = 0;
        for file in found.files() {
            bytes += match tx.transcript(&file.stream)? {
                Some(known) if is_same(&known, file) => file.bytes.saturating_sub(known.read_to),
                _ => file.bytes,
            };
        }
        Ok(bytes)
    })
}

fn is_same(known: &TranscriptRecord, file: &TranscriptFile) -> bool {
    let identity = fs::symlink_metadata(&file.path).map(|m| format!("{}:{}", m.dev(), m.ino()));
    identity.is_ok_and(|identity| identity == known.file) && known.read_to <= file.bytes
}

/// Imports one transcript with its sub-agents, from where the last import stopped. The history that
/// may hold its work is [owed](link_commits) before the first byte is read. `progress` hears of each
/// slice, in bytes.
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
    if unread(ledger, found)? == 0 {
        return Ok(session);
    }
    write(ledger, Durability::Process, |tx| {
        let record = tx.session(session)?;
        match record.and_then(|r| Some((r.repository?, r.created_at))) {
            Some((repository, since)) => commits::owe(tx, repository, since),
            None => Ok(()),
        }
    })?;
    for file in found.files() {
        let record = TranscriptRecord {
            stream: file.stream.clone(),
            agent: agent.clone(),
            session,
            native: found.file.session.clone(),
            path: file.path.to_string_lossy().into_owned(),
            subagent: file.subagent.clone(),
            file: String::new(),
            read_to: 0,
            tail: String::new(),
            turn: None,
            own: false,
        };
        let known = read(ledger, |tx| tx.transcript(&file.stream))?;
        if known.is_some_and(|known| is_same(&known, file) && known.read_to == file.bytes) {
            continue;
        }
        write(ledger, Durability::Process, |tx| {
            tx.want_transcript(&record)
        })?;
        read_all(world, ledger, found, &agent, &record.stream, progress)?;
    }
    Ok(session)
}

/// Ends a session that was never seen running: a transcript has no word for its end. Where a hook
/// hears of it later, it goes on.
///
/// # Errors
/// Those of the ledger.
pub fn close(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let Some(record) = tx.session(session)? else {
            return Ok(());
        };
        let seen = record.origin != SessionOrigin::Import || !tx.bindings(session)?.is_empty();
        if seen || record.ended_at == Some(record.last_at) {
            return Ok(());
        }
        session::end(tx, world.ids, session, record.repository, record.last_at)
    })
}

/// Records that a transcript was not imported; the same refusal twice is one.
///
/// # Errors
/// Those of the ledger.
pub fn refuse(
    tx: &mut dyn Transaction,
    at: Timestamp,
    path: &Path,
    reason: &str,
    detail: &str,
) -> Result<(), LedgerError> {
    let path = path.to_string_lossy();
    let decline = Decline {
        edge: "import".to_owned(),
        reason: reason.to_owned(),
        detail: format!("{path}: {detail}"),
        place: None,
    };
    tx.decline(&format!("import:{reason}:{path}:{detail}"), at, &decline)
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
        carried: None,
        claim: None,
        links: Vec::new(),
        left_out: Vec::new(),
        cwd: Some(found.cwd.clone()),
        place: found.place.clone(),
        transcript: None,
        transcript_of: None,
        observations: Vec::new(),
    };
    let intake = Intake {
        version: VERSION,
        key: format!("import:{}", found.file.stream),
        at: began(world, found),
        matter: Matter::Agent(matter),
    };
    match deliver(ledger, world.ids, &intake)? {
        Delivered::Session(session) => Ok(session),
        Delivered::Intent(_) | Delivered::Noted => {
            unreachable!("an agent's matter is delivered to a session")
        }
    }
}

/// When the session began: the time of the first thing in its transcript that is its own and no
/// copied history, else when the file was written.
fn began(world: &World<'_>, found: &Found) -> Timestamp {
    let file = &found.file;
    let first = |head: &[u8]| {
        let mut reader = (found.agent.transcript)(file.stream.clone(), None, file.session.clone());
        let mut offset = 0;
        for line in head.split_inclusive(|b| *b == b'\n') {
            let text = std::str::from_utf8(line)
                .ok()
                .filter(|l| l.ends_with('\n'))?;
            let seen = reader.line(offset, text.trim_end(), world.redactor);
            let own = |s: &&siglum_agents::Sighting| !s.copied && s.owner == file.session;
            if let Some(sighting) = seen.sightings.iter().find(own) {
                return Some(sighting.observation.at);
            }
            offset += line.len() as u64;
        }
        None
    };
    head_says(&file.path, first)
        .ok()
        .flatten()
        .unwrap_or(file.modified)
}

/// Reads one file to its end. Commits that its commands name are looked up slice by slice, so that
/// an import that is interrupted has them.
fn read_all(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    found: &Found,
    agent: &AgentName,
    stream: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<(), EngineError> {
    let mut reader = None;
    while let Some(record) = read(ledger, |tx| tx.transcript(stream))? {
        let step = transcript::read_on(world, ledger, found.agent, &record, reader.take())?;
        progress(step.bytes);
        reader = step.reader;
        let repository = match &found.place {
            Some(place) if !step.mentions.is_empty() => {
                read(ledger, |tx| tx.repository(&place.common_dir))?
            }
            _ => None,
        };
        if let Some(repository) = repository {
            let mentions = &step.mentions;
            match transcript::link_mentioned(world, ledger, agent, &repository, mentions) {
                Err(EngineError::Git(error)) => {
                    tracing::warn!("left out the commits that {stream} names: {error}");
                }
                other => {
                    other?;
                }
            }
        }
        if !step.more {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
