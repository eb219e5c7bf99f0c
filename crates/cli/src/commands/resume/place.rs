//! Where a session goes on: the directory, and what is there of its transcript.

use std::path::{Path, PathBuf};

use siglum_agents::AgentSpec;
use siglum_domain::NativeId;
use siglum_engine::commits::cards::SessionCard;
use siglum_engine::identity::repositories;
use siglum_engine::record::transcript::{StoredTranscript, transcript_of};
use siglum_ledger::{Forgotten, RepositoryRecord, SqliteLedger, read};

use super::gone;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;

/// Where a session goes on.
pub(super) struct Place {
    pub(super) dir: PathBuf,
    pub(super) transcript: Transcript,
}

/// What is there of a transcript. Every path that is written to is the agent's own rule, applied to an id that is a name
/// and nothing else.
pub(super) enum Transcript {
    /// It is where the agent looks.
    Present,
    /// It is gone, and its lines are stored.
    Deleted {
        stored: Box<StoredTranscript>,
        path: PathBuf,
    },
    /// It is where the agent would look in another directory, which is gone.
    Moved { from: PathBuf, path: PathBuf },
    /// The agent keeps it in a place that cannot be told from here.
    Unknown,
}

impl Place {
    pub(super) fn find(
        cx: &Cx,
        ledger: &mut SqliteLedger,
        here: Option<&RepositoryRecord>,
        agent: &'static AgentSpec,
        card: &SessionCard,
    ) -> Result<Self, CommandError> {
        let session = card.record.id;
        let Some(native) = card.natives.last() else {
            return Err(gone(session, agent));
        };
        let stored = read(ledger, |tx| transcript_of(tx, session, native))?;
        let paths = Paths {
            agent,
            agent_dir: env::agent_dir(agent),
            native,
            stream: stored.as_ref().map_or("", |s| s.record.stream.as_str()),
        };
        let dirs = directories(cx, ledger, here, card)?;
        let has_it = |dir: &&PathBuf| paths.at(dir).is_some_and(|path| path.exists());
        let Some(dir) = dirs.iter().find(has_it).or(dirs.first()).cloned() else {
            let dir = card.record.cwd.as_deref().unwrap_or("its directory");
            let error = format!("{dir} does not exist any more");
            return Err(CommandError::failed(error)
                .hint("Run `siglum resume` in a checkout of the repository."));
        };
        let Some(path) = paths.at(&dir) else {
            return match stored {
                Some(stored) if !Path::new(&stored.record.path).exists() => {
                    Err(gone(session, agent))
                }
                Some(_) => Ok(Self::new(dir, Transcript::Present)),
                None => Ok(Self::new(dir, Transcript::Unknown)),
            };
        };
        if path.exists() {
            return Ok(Self::new(dir, Transcript::Present));
        }
        let old = [&card.record.cwd, &card.record.worktree].into_iter();
        let mut old = old.flatten().filter_map(|dir| paths.at(Path::new(dir)));
        let from = old.find(|old| old.is_file());
        drop(old);
        if let Some(from) = from {
            return Ok(Self::new(dir, Transcript::Moved { from, path }));
        }
        check_whole(card)?;
        match stored {
            Some(stored) => {
                let stored = Box::new(stored);
                Ok(Self::new(dir, Transcript::Deleted { stored, path }))
            }
            None => Err(gone(session, agent)),
        }
    }

    const fn new(dir: PathBuf, transcript: Transcript) -> Self {
        Self { dir, transcript }
    }
}

/// What is stored of some sessions is not the whole conversation.
fn check_whole(card: &SessionCard) -> Result<(), CommandError> {
    let record = &card.record;
    let short = record.id.short();
    if matches!(record.forgotten, Some(Forgotten::Whole { .. })) {
        let error = format!("session {short} was forgotten, and its transcript is deleted");
        return Err(CommandError::failed(error));
    }
    match record.parent {
        Some((parent, how)) if how.shares_history() => Err(CommandError::failed(format!(
            "the transcript of session {short} is deleted, and a part of its conversation is stored with another session"
        ))
        .hint(format!(
            "Run `siglum resume {}` to resume the session that it came from.",
            parent.short()
        ))),
        _ => Ok(()),
    }
}

/// Where the agent looks for the transcript.
struct Paths<'a> {
    agent: &'static AgentSpec,
    agent_dir: PathBuf,
    native: &'a NativeId,
    stream: &'a str,
}

impl Paths<'_> {
    /// Where it looks if it is started in a directory.
    fn at(&self, dir: &Path) -> Option<PathBuf> {
        let place = self.agent.resumed_transcript;
        place(&self.agent_dir, dir.to_str()?, self.native, self.stream)
    }
}

/// The directories that a session may go on in: that in which it ran, else checkouts of its repository, of which the one
/// that we stand in comes first.
fn directories(
    cx: &Cx,
    ledger: &mut SqliteLedger,
    here: Option<&RepositoryRecord>,
    card: &SessionCard,
) -> Result<Vec<PathBuf>, CommandError> {
    let record = &card.record;
    let mut dirs: Vec<PathBuf> = [&record.cwd, &record.worktree]
        .into_iter()
        .flatten()
        .map(PathBuf::from)
        .collect();
    if let Some(repository) = record.repository {
        let own = [repository];
        let clones = read(ledger, |tx| repositories::clones(tx, &own))?;
        if here.is_some_and(|here| clones.contains(&here.id)) {
            dirs.extend(cx.find_repo().map(|repo| repo.worktree().to_owned()));
        }
        let known = read(ledger, |tx| tx.repositories())?;
        let checkouts = known.iter().filter(|r| r.id == repository);
        let checkouts = checkouts.flat_map(|r| &r.worktrees);
        dirs.extend(checkouts.map(|(path, _)| PathBuf::from(path)));
    }
    // The agent sees the directory without links.
    let real = dirs.iter().filter_map(|dir| dir.canonicalize().ok());
    Ok(real.filter(|dir| dir.is_dir()).collect())
}
