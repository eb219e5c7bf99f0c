//! Who wrote the lines of a file as it stands in a checkout, committed or not.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use siglum_domain::evidence::Verdict;
use siglum_domain::provenance::{Origin, Span, count_lines};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::{Git, Repo};
use siglum_ledger::{Ledger, RepositoryRecord, read, stored_name};

use crate::commits::authors::{self, FileHere};
use crate::commits::contents::Contents;
use crate::commits::elsewhere;
use crate::commits::prompts::made_at;
use crate::commits::prompts::{Prompt, prompts_of_lines};
use crate::commits::why::{SessionCard, card, find_commit};
use crate::{EngineError, World};

/// Lines in a row of which the same is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRun {
    /// The first, counted from 1 in the file as it stands.
    pub first: u32,
    /// The last one, inclusive.
    pub last: u32,
    /// The commit that brought them; nothing for lines that are not committed yet.
    pub commit: Option<Oid>,
    /// Who wrote them; nothing for lines that nobody was seen writing.
    pub session: Option<SessionId>,
    pub verdict: Verdict,
    /// What its session was asked when it wrote them.
    pub prompt: Option<Prompt>,
}

/// Who wrote a file.
#[derive(Debug, Clone)]
pub struct Lines {
    /// Relative to the root of the checkout.
    pub path: String,
    /// How many lines the file has.
    pub count: u32,
    /// Those that were asked for, in order; none where the file has none there.
    pub runs: Vec<LineRun>,
    /// The sessions that wrote them.
    pub sessions: BTreeMap<SessionId, SessionCard>,
}

/// One line of the file as it stands.
struct Line {
    /// Its place in the commit that brought it, or in the file where none did.
    commit: Option<Oid>,
    path: String,
    number: u32,
    text: Vec<u8>,
}

/// Who wrote a file with this content, or some of its lines.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn lines(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
    (repo, path, content): (&Repo, &str, &[u8]),
    range: Option<RangeInclusive<u32>>,
) -> Result<Lines, EngineError> {
    let git = world.git(&repo.place.worktree);
    let count = u32::try_from(count_lines(content)).unwrap_or(u32::MAX);
    let (first, last) = range.map_or((1, count), RangeInclusive::into_inner);
    let numbers = first..=last.min(count);
    let parent = match git.head()? {
        Some(head) => Contents::new(world, &git)
            .blob_ids(&[(head, path.to_owned())])?
            .pop()
            .flatten(),
        None => None,
    };
    let lines = match numbers.is_empty() {
        true => Vec::new(),
        false => read_lines(&git, (path, content), parent.is_some(), numbers)?,
    };
    let file = FileHere {
        repo,
        path,
        parent: parent.as_ref(),
        content,
    };
    let mut writers = Writers {
        world,
        ledger,
        repository,
        git: &git,
        known: BTreeMap::new(),
    };
    let answers = writers.tell(&file, &lines)?;
    let mut runs: Vec<LineRun> = Vec::new();
    for (number, one) in (first..).zip(answers) {
        let is_same = |run: &LineRun| {
            (&run.commit, run.session, run.verdict, &run.prompt)
                == (&one.commit, one.session, one.verdict, &one.prompt)
        };
        match runs.last_mut() {
            Some(run) if is_same(run) => run.last = number,
            _ => runs.push(LineRun {
                first: number,
                last: number,
                ..one
            }),
        }
    }
    let mut sessions = BTreeMap::new();
    for id in runs.iter().filter_map(|run| run.session) {
        if !sessions.contains_key(&id)
            && let Some(card) = read(ledger, |tx| card(tx, id))?
        {
            sessions.insert(id, card);
        }
    }
    Ok(Lines {
        path: path.to_owned(),
        count,
        runs,
        sessions,
    })
}

/// Where each of these lines came from, by git. A file that HEAD does not have came from nowhere.
fn read_lines(
    git: &Git,
    (path, content): (&str, &[u8]),
    is_committed: bool,
    numbers: RangeInclusive<u32>,
) -> Result<Vec<Line>, EngineError> {
    if is_committed {
        let blamed = git.blame(path, Some(numbers.clone()), None)?;
        let line = |(number, found): (u32, siglum_gitstore::BlameLine)| match found.commit.is_zero()
        {
            false => Line {
                commit: Some(found.commit),
                path: found.path,
                number: found.line,
                text: found.text,
            },
            true => Line {
                commit: None,
                path: path.to_owned(),
                number,
                text: found.text,
            },
        };
        return Ok(numbers.zip(blamed).map(line).collect());
    }
    let all = content.split_inclusive(|b| *b == b'\n').zip(1..);
    let lines = all.filter(|(_, number)| numbers.contains(number));
    let line = |(text, number): (&[u8], u32)| Line {
        commit: None,
        path: path.to_owned(),
        number,
        text: without_end(text).to_owned(),
    };
    Ok(lines.map(line).collect())
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// What is known of the lines of one file in one commit, or in the checkout.
struct Written {
    repository: RepositoryId,
    until: Timestamp,
    spans: Vec<Span>,
}

/// Looks each commit up once.
struct Writers<'a> {
    world: &'a World<'a>,
    ledger: &'a mut dyn Ledger,
    repository: &'a RepositoryRecord,
    git: &'a Git,
    known: BTreeMap<(Option<Oid>, String), Option<Written>>,
}

impl Writers<'_> {
    /// An answer for each line, with its prompt.
    fn tell(&mut self, file: &FileHere<'_>, lines: &[Line]) -> Result<Vec<LineRun>, EngineError> {
        let mut answers = Vec::with_capacity(lines.len());
        let mut by_session: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, line) in lines.iter().enumerate() {
            let place = (line.commit.clone(), line.path.clone());
            let (session, verdict) = self.writer(file, &place, line.number)?;
            if let Some(session) = session {
                by_session.entry((place, session)).or_default().push(at);
            }
            answers.push(LineRun {
                first: line.number,
                last: line.number,
                commit: line.commit.clone(),
                session,
                verdict,
                prompt: None,
            });
        }
        for ((place, session), ats) in by_session {
            let Some(Some(written)) = self.known.get(&place) else {
                continue;
            };
            let texts: Vec<&[u8]> = ats.iter().map(|at| &*lines[*at].text).collect();
            let path = stored_name(&place.1);
            let of = (written.repository, &*path, written.until);
            let prompts = prompts_of_lines(self.world, self.ledger, of, session, &texts)?;
            for (at, prompt) in ats.into_iter().zip(prompts) {
                answers[at].prompt = prompt;
            }
        }
        Ok(answers)
    }

    /// Who wrote one line of a commit's file, or of the file here.
    fn writer(
        &mut self,
        file: &FileHere<'_>,
        place: &(Option<Oid>, String),
        number: u32,
    ) -> Result<(Option<SessionId>, Verdict), EngineError> {
        if !self.known.contains_key(place) {
            let written = match &place.0 {
                Some(commit) => self.in_commit(commit, &place.1)?,
                None => Some(self.here(file)?),
            };
            self.known.insert(place.clone(), written);
        }
        let written = self.known.get(place).and_then(Option::as_ref);
        let mut spans = written.into_iter().flat_map(|written| &written.spans);
        let span = spans.find(|span| (span.first..=span.last).contains(&number));
        Ok(match span.map(|span| (span.origin, span.bridged)) {
            Some((Origin::Session(session), false)) => (Some(session), Verdict::Certain),
            Some((Origin::Session(session), true)) => (Some(session), Verdict::Likely),
            _ => (None, Verdict::Unknown),
        })
    }

    fn here(&mut self, file: &FileHere<'_>) -> Result<Written, EngineError> {
        let id = self.repository.id;
        Ok(Written {
            repository: id,
            until: self.world.now(),
            spans: authors::find_uncommitted(self.world, self.ledger, self.git, id, file)?,
        })
    }

    /// Nothing for a commit that nothing can be known of: git need not be asked.
    fn in_commit(&mut self, commit: &Oid, path: &str) -> Result<Option<Written>, EngineError> {
        let here = self.repository.id;
        let path = stored_name(path);
        let is_seen = read(self.ledger, |tx| {
            let known = elsewhere::known_elsewhere(tx, Some(here), commit)?;
            Ok(known.is_some() || !tx.edits(here, &path, self.world.now())?.is_empty())
        })?;
        if !is_seen {
            return Ok(None);
        }
        let found = find_commit(self.world, self.ledger, self.repository, commit)?;
        Ok(found.map(|found| Written {
            repository: found.place,
            until: made_at(found.record.as_ref(), &found.facts),
            spans: found
                .files
                .into_iter()
                .filter(|file| file.path == path)
                .flat_map(|file| file.spans)
                .collect(),
        }))
    }
}
