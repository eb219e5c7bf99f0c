//! Sessions that agents left on disk before anybody watched.
//!
//! [`transcripts_on_disk`] lists them, [`import`] reads one from where the last import stopped, and
//! [`link_commits`] finds the commits that hold their work.

mod commits;
mod head;
mod replay;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use siglum_agents::{AgentSpec, SECRET_IN_PATH, TranscriptFile, has_secret, open_regular};
use siglum_domain::claims::Claims;
use siglum_domain::intake::{AgentMatter, Decline, Intake, Matter, Place, VERSION};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, NativeId, SessionId, Timestamp};
use siglum_gitstore::discover;
use siglum_ledger::{
    Durability, Ledger, LedgerError, SessionOrigin, SessionRecord, Transaction, TranscriptRecord,
    read, write,
};

use crate::damage::undamaged;
use crate::identity;
use crate::record::deliver::{Delivered, deliver};
use crate::record::session_log;
use crate::record::transcript::{self, SkippedLines};
use crate::{EngineError, World};

pub use commits::{Linked, commits_with, is_owed, link_commits};
pub use replay::{
    Replayed, ReplayedCall, ReplayedSession, ReplayedStep, import_replay, known_replay,
};

/// How many files one transaction says are to be read: hooks wait for its end, and a session may have thousands of
/// sub-agents.
const WANTED_TOGETHER: usize = 64;

/// A transcript to import, and the repository that it was written in.
#[derive(Debug, Clone)]
pub struct ImportableTranscript {
    pub agent: &'static AgentSpec,
    /// The file; where only transcripts of its sub-agents are left, the first of these.
    pub file: TranscriptFile,
    pub subagents: Vec<TranscriptFile>,
    pub cwd: String,
    pub place: Option<Place>,
}

impl ImportableTranscript {
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
    /// The transcripts, newest first.
    pub found: Vec<ImportableTranscript>,
    /// Those that cannot be read, with the reason.
    pub refused: Vec<(TranscriptFile, String)>,
}

/// An agent with the files of one session, its own before those of its sub-agents.
type SessionFiles = (&'static AgentSpec, Vec<TranscriptFile>);

/// The transcripts on this machine that were written in a repository, newest first. Those of sub-agents come with their
/// session, and are what is left of it where its own is gone. Where they were written stands in their heads; of those that
/// were read to their end, it is looked up in the ledger, if one is given.
///
/// # Errors
/// Those of the ledger.
pub fn transcripts_on_disk(
    dir_of: &dyn Fn(&AgentSpec) -> PathBuf,
    common_dir: Option<&str>,
    ledger: Option<&mut dyn Ledger>,
) -> Result<OnDisk, LedgerError> {
    let sessions: Vec<SessionFiles> = siglum_agents::AGENTS
        .iter()
        .flat_map(|agent| session_files(agent, &dir_of(agent)))
        .collect();
    let known = match ledger {
        Some(ledger) => known_directories(ledger, &sessions)?,
        None => vec![None; sessions.len()],
    };
    let mut on_disk = OnDisk::default();
    let mut places = Places::new();
    for ((agent, files), known) in sessions.iter().zip(known) {
        match importable(agent, files, known, &mut places) {
            Ok(Some(found)) => {
                let here = |wanted| found.place.as_ref().is_some_and(|p| p.common_dir == wanted);
                if common_dir.is_none_or(here) {
                    on_disk.found.push(found);
                }
            }
            Ok(None) => {}
            Err(error) => on_disk.refused.push((files[0].clone(), error.to_string())),
        }
    }
    let key = |f: &ImportableTranscript| std::cmp::Reverse((f.modified(), f.file.stream.clone()));
    on_disk.found.sort_by_key(key);
    Ok(on_disk)
}

/// The repositories of working directories.
type Places = BTreeMap<String, Option<Place>>;

/// The files of one session, its own first, to be imported; none where nothing happened in it, so that it names no directory.
fn importable(
    agent: &'static AgentSpec,
    files: &[TranscriptFile],
    known: Option<String>,
    places: &mut Places,
) -> std::io::Result<Option<ImportableTranscript>> {
    let Some((file, subagents)) = files.split_first() else {
        return Ok(None);
    };
    let redactor = Redactor::shared();
    let is_named = redactor.has_secret(file.session.as_str());
    if is_named || files.iter().any(|file| has_secret(&file.path, redactor)) {
        return Err(std::io::Error::other(SECRET_IN_PATH));
    }
    let cwd = match file.cwd.clone().or(known) {
        Some(cwd) => Some(cwd),
        None => head::directory(agent, &file.path)?,
    };
    let Some(cwd) = cwd else {
        return Ok(None);
    };
    let place = places
        .entry(cwd.clone())
        .or_insert_with(|| discover(Path::new(&cwd), None, None).map(|repo| repo.place))
        .clone();
    Ok(Some(ImportableTranscript {
        agent,
        file: file.clone(),
        subagents: subagents.to_vec(),
        cwd,
        place,
    }))
}

/// The directories that sessions were in, as far as the ledger knows them.
fn known_directories(
    ledger: &mut dyn Ledger,
    sessions: &[SessionFiles],
) -> Result<Vec<Option<String>>, LedgerError> {
    // One transaction, in which no file is read: there may be tens of thousands.
    read(ledger, |tx| {
        let known = |(_, files): &SessionFiles| known_directory(tx, files.first());
        sessions.iter().map(known).collect()
    })
}

/// The directory that a transcript was written in, where it was read to its end and is the same file still.
fn known_directory(
    tx: &mut dyn Transaction,
    file: Option<&TranscriptFile>,
) -> Result<Option<String>, LedgerError> {
    let Some(file) = file else { return Ok(None) };
    let is_read = |known: &TranscriptRecord| known.read_to == file.bytes && is_same(known, file);
    // One whose row is damaged is looked at anew, and refused then.
    let known = undamaged(tx.transcript(&file.stream))?.flatten();
    let Some(known) = known.filter(is_read) else {
        return Ok(None);
    };
    let session = undamaged(tx.session(known.session))?.flatten();
    Ok(session.and_then(|session| session.cwd))
}

/// The transcripts in an agent's own directory of which a file is so old, and of which something is not in the ledger yet.
///
/// # Errors
/// Those of the ledger. What cannot be read is left out.
pub fn unread_since(
    ledger: &mut dyn Ledger,
    agent: &'static AgentSpec,
    dir: &Path,
    written_until: Timestamp,
) -> Result<Vec<ImportableTranscript>, LedgerError> {
    let mut sessions = session_files(agent, dir);
    sessions.retain(|(_, files)| files.iter().any(|file| file.modified <= written_until));
    let known = known_directories(ledger, &sessions)?;
    let mut places = Places::new();
    let mut all: Vec<ImportableTranscript> = Vec::new();
    for ((agent, files), known) in sessions.iter().zip(known) {
        all.extend(importable(agent, files, known, &mut places).ok().flatten());
    }
    let mut unread = unread(ledger, &all)?.into_iter();
    all.retain(|_| unread.next().is_some_and(|bytes| bytes > 0));
    Ok(all)
}

/// The sessions in an agent's own directory.
fn session_files(agent: &'static AgentSpec, dir: &Path) -> Vec<SessionFiles> {
    let sessions = by_session((agent.discover)(dir)).into_iter();
    sessions.map(|files| (agent, files)).collect()
}

/// The files of each session, its own before those of its sub-agents. One with several of its own stands several times.
fn by_session(files: Vec<TranscriptFile>) -> Vec<Vec<TranscriptFile>> {
    let (subagents, sessions): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|f| f.subagent.is_some());
    let mut inner: BTreeMap<NativeId, Vec<TranscriptFile>> = BTreeMap::new();
    for file in subagents {
        inner.entry(file.session.clone()).or_default().push(file);
    }
    let mut all = Vec::new();
    for file in sessions {
        let subagents = inner.remove(&file.session).unwrap_or_default();
        all.push(std::iter::once(file).chain(subagents).collect());
    }
    all.extend(inner.into_values());
    all
}

/// In which order to import these transcripts, by their places: as they are given, but each behind those that it was
/// forked from, so that what it copied belongs to the session it was copied from.
#[must_use]
pub fn forks_last(world: &World<'_>, found: &[&ImportableTranscript]) -> Vec<usize> {
    let name = |f: &ImportableTranscript, native: &NativeId| (f.agent.name, native.clone());
    let places: BTreeMap<_, usize> = found
        .iter()
        .enumerate()
        .map(|(place, f)| (name(f, &f.file.session), place))
        .collect();
    let mut order = Vec::with_capacity(found.len());
    let mut seen = BTreeSet::new();
    for first in 0..found.len() {
        let mut line = Vec::new();
        let mut next = vec![first];
        while let Some(place) = next.pop() {
            if seen.insert(place) {
                line.push(place);
                let origins = head::head(world, found[place]).origins;
                let known = |origin| places.get(&name(found[place], origin));
                next.extend(origins.iter().filter_map(known));
            }
        }
        order.extend(line.into_iter().rev());
    }
    order
}

/// How many bytes of each transcript and its sub-agents were not read yet. A line without an end does not count: it was
/// cut, or is still written.
///
/// # Errors
/// Those of the ledger.
pub fn unread(
    ledger: &mut dyn Ledger,
    found: &[ImportableTranscript],
) -> Result<Vec<u64>, LedgerError> {
    // One transaction: there may be tens of thousands that were read long ago.
    let offsets: Vec<Vec<u64>> = read(ledger, |tx| {
        found.iter().map(|found| read_offsets(tx, found)).collect()
    })?;
    // Behind it: files are opened for this.
    let mut unread: Vec<u64> = Vec::with_capacity(found.len());
    for (found, offsets) in found.iter().zip(offsets) {
        let files = found.files().zip(offsets);
        let bytes = files.map(|(file, from)| whole_lines(file, from).saturating_sub(from));
        unread.push(bytes.sum());
    }
    Ok(unread)
}

/// How far each file of a session was read, in bytes.
fn read_offsets(
    tx: &mut dyn Transaction,
    found: &ImportableTranscript,
) -> Result<Vec<u64>, LedgerError> {
    let mut offsets = Vec::new();
    for file in found.files() {
        let known = undamaged(tx.transcript(&file.stream))?.flatten();
        let same = known.filter(|known| is_same(known, file));
        offsets.push(same.map_or(0, |known| known.read_to));
    }
    Ok(offsets)
}

/// Where the last line with an end ends, behind `from`, which is the end of one. A file that cannot be read counts whole:
/// who reads it tells why it cannot be.
fn whole_lines(file: &TranscriptFile, from: u64) -> u64 {
    const PIECE: u64 = 4 << 10;
    if file.bytes <= from {
        return from;
    }
    let last_end = |mut open: File| -> std::io::Result<u64> {
        let mut past = file.bytes;
        while past > from {
            let start = past.saturating_sub(PIECE).max(from);
            let mut piece = Vec::new();
            open.seek(SeekFrom::Start(start))?;
            open.by_ref().take(past - start).read_to_end(&mut piece)?;
            if let Some(at) = piece.iter().rposition(|b| *b == b'\n') {
                return Ok(start + at as u64 + 1);
            }
            past = start;
        }
        Ok(from)
    };
    open_regular(&file.path)
        .and_then(last_end)
        .unwrap_or(file.bytes)
}

fn is_same(known: &TranscriptRecord, file: &TranscriptFile) -> bool {
    let identity = fs::symlink_metadata(&file.path).map(|m| format!("{}:{}", m.dev(), m.ino()));
    identity.is_ok_and(|identity| identity == known.file) && known.read_to <= file.bytes
}

/// A session that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedSession {
    pub session: SessionId,
    /// The transcripts of which lines were skipped, now.
    pub skipped: Vec<(PathBuf, SkippedLines)>,
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
    found: &ImportableTranscript,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportedSession, EngineError> {
    let agent = name(found);
    let session = session_of(world, ledger, &agent, found)?;
    let offsets = read(ledger, |tx| read_offsets(tx, found))?;
    let wanted: Vec<TranscriptRecord> = found
        .files()
        .zip(offsets)
        .filter(|(file, from)| whole_lines(file, *from) > *from)
        .map(|(file, _)| unread_transcript(found, file, &agent, session))
        .collect();
    let mut owed_since = None;
    // Together: of many short transcripts, each transaction takes longer than what is read.
    for wanted in wanted.chunks(WANTED_TOGETHER) {
        write(ledger, Durability::Process, |tx| {
            let record = tx.session(session)?;
            let owed = record.and_then(|r| Some((r.repository?, r.created_at)));
            if let Some((repository, since)) = owed {
                commits::owe(tx, repository, since)?;
                owed_since = Some(since);
            }
            let mut wanted = wanted.iter();
            wanted.try_for_each(|record| tx.want_transcript(record))
        })?;
    }
    let mut skipped = Vec::new();
    for record in &wanted {
        let lines = read_all(world, ledger, found, &agent, &record.stream, progress)?;
        if lines.count() > 0 {
            skipped.push((PathBuf::from(&record.path), lines));
        }
    }
    // Until it is read, a session whose head does not say when it began is as old as its last line.
    let record = read(ledger, |tx| tx.session(session))?;
    let began = record.and_then(|r| Some((r.repository?, r.created_at)));
    if let Some((repository, since)) = began.filter(|(_, since)| Some(*since) < owed_since) {
        write(ledger, Durability::Process, |tx| {
            commits::owe(tx, repository, since)
        })?;
    }
    Ok(ImportedSession { session, skipped })
}

/// A file of a session as nobody has read it.
fn unread_transcript(
    found: &ImportableTranscript,
    file: &TranscriptFile,
    agent: &AgentName,
    session: SessionId,
) -> TranscriptRecord {
    TranscriptRecord {
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
    }
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
    let is_open = read(ledger, |tx| Ok(left_open(tx, session)?.is_some()))?;
    if !is_open {
        return Ok(());
    }
    write(ledger, Durability::Process, |tx| {
        match left_open(tx, session)? {
            Some(record) => {
                session_log::end(tx, world.ids, session, record.repository, record.last_at)
            }
            None => Ok(()),
        }
    })
}

/// The session's record, if it was never seen running and has no end where it was heard of last.
fn left_open(
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<Option<SessionRecord>, LedgerError> {
    // One that is damaged keeps nobody from ending the others.
    let Some(record) = undamaged(tx.session(session))?.flatten() else {
        return Ok(None);
    };
    let seen = record.origin != SessionOrigin::Import || !tx.bindings(session)?.is_empty();
    Ok((!seen && record.ended_at != Some(record.last_at)).then_some(record))
}

/// Ends the sessions of these transcripts, also those that an import that was killed left without an end.
///
/// # Errors
/// Those of the ledger.
pub fn close_all(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    found: &[ImportableTranscript],
) -> Result<(), LedgerError> {
    // In one transaction: as a rule, none of many is open.
    let open = read(ledger, |tx| {
        let mut open = Vec::new();
        for found in found {
            let claims = Claims::by_name(&name(found), &found.file.session);
            if let Some(known) = undamaged(identity::find(tx, &claims))?.flatten()
                && left_open(tx, known.session())?.is_some()
            {
                open.push(known.session());
            }
        }
        Ok(open)
    })?;
    open.into_iter()
        .try_for_each(|session| close(world, ledger, session))
}

fn name(found: &ImportableTranscript) -> AgentName {
    AgentName::new(found.agent.name).expect("because the names of agents keep to the grammar")
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
    let path = Redactor::shared().redact(&path.to_string_lossy());
    let path = path.as_str();
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
    found: &ImportableTranscript,
) -> Result<SessionId, EngineError> {
    let native: &NativeId = &found.file.session;
    let claims = Claims::by_name(agent, native);
    if let Some(known) = read(ledger, |tx| identity::find(tx, &claims))? {
        return Ok(known.session());
    }
    let matter = AgentMatter {
        cwd: Some(world.redactor.redact(&found.cwd).into_string()),
        place: found.place.clone(),
        ..AgentMatter::new(agent.clone(), native.clone())
    };
    let intake = Intake {
        version: VERSION,
        key: format!("import:{}", found.file.stream),
        at: head::head(world, found)
            .began
            .unwrap_or(found.file.modified),
        matter: Matter::Agent(matter),
    };
    match deliver(ledger, world.ids, &intake)? {
        Delivered::Session(session) => Ok(session),
        Delivered::Intent(_) | Delivered::Noted => {
            unreachable!("an agent's matter is delivered to a session")
        }
    }
}

/// Reads one file to its end. Commits that its commands name are looked up slice by slice, so that
/// an import that is interrupted has them.
fn read_all(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    found: &ImportableTranscript,
    agent: &AgentName,
    stream: &str,
    progress: &mut dyn FnMut(u64),
) -> Result<SkippedLines, EngineError> {
    let mut reader = None;
    let mut skipped = SkippedLines::default();
    while let Some(record) = read(ledger, |tx| tx.transcript(stream))? {
        let step = transcript::read_on(world, ledger, found.agent, &record, reader.take())?;
        progress(step.bytes);
        skipped += step.skipped;
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
    Ok(skipped)
}

#[cfg(test)]
mod tests;
