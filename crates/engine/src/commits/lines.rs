//! Who wrote the lines of a file as it stands in a checkout, committed or not.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use siglum_domain::evidence::Verdict;
use siglum_domain::provenance::{Origin, Span, count_lines};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::{Git, Repo};
use siglum_ledger::{Ledger, RepositoryRecord, read, stored_name};

use crate::commits::answers::{Asker, CommitAnswer};
use crate::commits::author_prompts::prompt_of_author;
use crate::commits::authors::{self, FileHere};
use crate::commits::cards::{SessionCard, card};
use crate::commits::contents::Contents;
use crate::commits::elsewhere;
use crate::commits::prompts::made_at;
use crate::commits::prompts::{Prompt, prompts_of_lines};
use crate::commits::why::{claim, find_commit, stated};
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
    /// Whether a gateway answers for the commit, and not this ledger.
    pub by_gateway: bool,
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

impl Line {
    /// The file that it is a line of.
    fn place(&self) -> Place {
        (self.commit.clone(), self.path.clone())
    }
}

/// Who wrote a file with this content, or some of its lines. With somebody to `ask`, all commits of lines of which nobody is
/// known here are asked about at once; without a repository only other ledgers' records and who is asked can tell anything.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn lines(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: Option<&RepositoryRecord>,
    (repo, path, content): (&Repo, &str, &[u8]),
    range: Option<RangeInclusive<u32>>,
    ask: Option<Asker<'_>>,
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
        answers: BTreeMap::new(),
    };
    writers.look_up(&file, &lines)?;
    if let Some(ask) = ask {
        writers.ask(&lines, ask)?;
    }
    let runs = in_runs(first, writers.tell(&lines)?);
    let mut told = BTreeMap::new();
    for answer in writers.answers.values() {
        told.extend(answer.cards());
    }
    let named: BTreeSet<SessionId> = runs.iter().filter_map(|run| run.session).collect();
    let mut sessions = BTreeMap::new();
    for id in named {
        // A session that is known here is shown as it is known here, whatever a gateway says of it.
        let known = read(ledger, |tx| card(tx, id))?;
        if let Some(card) = known.or_else(|| told.remove(&id)) {
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

/// Lines in a row of which the same is known, as one.
fn in_runs(first: u32, lines: Vec<LineRun>) -> Vec<LineRun> {
    let mut runs: Vec<LineRun> = Vec::new();
    for (number, one) in (first..).zip(lines) {
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
    runs
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

/// A file of a commit, or the file here.
type Place = (Option<Oid>, String);

/// Looks each commit up once.
struct Writers<'a> {
    world: &'a World<'a>,
    ledger: &'a mut dyn Ledger,
    repository: Option<&'a RepositoryRecord>,
    git: &'a Git,
    known: BTreeMap<Place, Option<Written>>,
    /// What a gateway says of commits, in place of what is known here.
    answers: BTreeMap<Oid, CommitAnswer>,
}

impl Writers<'_> {
    /// Finds what is known here of all lines.
    fn look_up(&mut self, file: &FileHere<'_>, lines: &[Line]) -> Result<(), EngineError> {
        for line in lines {
            let place = line.place();
            if self.known.contains_key(&place) {
                continue;
            }
            let written = match &place.0 {
                Some(commit) => self.in_commit(commit, &place.1)?,
                None => self.here(file)?,
            };
            self.known.insert(place, written);
        }
        Ok(())
    }

    /// Asks about the commits that nobody is known here to have made, or to have written these lines of.
    fn ask(&mut self, lines: &[Line], ask: Asker<'_>) -> Result<(), EngineError> {
        let is_session = |span: &Span| matches!(span.origin, Origin::Session(_));
        let is_written = |(_, written): &(&Place, &Option<Written>)| {
            let mut spans = written.iter().flat_map(|written| &written.spans);
            spans.any(is_session)
        };
        let known = self.known.iter().filter(is_written);
        let known: BTreeSet<&Oid> = known.filter_map(|(place, _)| place.0.as_ref()).collect();
        let commits = lines.iter().filter_map(|line| line.commit.as_ref());
        let commits: BTreeSet<&Oid> = commits.filter(|commit| !known.contains(commit)).collect();
        let here = self.repository.map(|repository| repository.id);
        let open = read(self.ledger, |tx| {
            let mut open = Vec::new();
            for commit in commits.iter().copied() {
                let record = elsewhere::known_elsewhere(tx, here, commit)?;
                let verdict = record.as_ref().map(|record| record.judgement.verdict);
                let claim = match record.map(|record| record.repository).or(here) {
                    Some(place) => claim(&stated(tx, (place, here.unwrap_or(place)), commit)?),
                    None => None,
                };
                if verdict.is_none_or(|v| v == Verdict::Unknown) && claim.is_none() {
                    open.push(commit.clone());
                }
            }
            Ok(open)
        })?;
        if !open.is_empty() {
            self.answers = ask(&open);
            self.answers
                .retain(|_, answer| answer.adds_to(Verdict::Unknown, false, false));
        }
        Ok(())
    }

    /// An answer for each line, with its prompt.
    fn tell(&mut self, lines: &[Line]) -> Result<Vec<LineRun>, EngineError> {
        let mut runs = Vec::with_capacity(lines.len());
        let mut by_session: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        for (at, line) in lines.iter().enumerate() {
            let place = line.place();
            let answer = line.commit.as_ref().and_then(|c| self.answers.get(c));
            let (session, verdict) = self.writer(&place, answer, line.number);
            let mut prompt = None;
            match (session, answer) {
                (Some(session), Some(answer)) => {
                    prompt = prompt_of_author(&answer.author_prompts, session, &place.1).cloned();
                }
                (Some(session), None) => by_session.entry((place, session)).or_default().push(at),
                (None, _) => {}
            }
            runs.push(LineRun {
                first: line.number,
                last: line.number,
                commit: line.commit.clone(),
                session,
                verdict,
                prompt,
                by_gateway: answer.is_some(),
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
                runs[at].prompt = prompt;
            }
        }
        Ok(runs)
    }

    /// Who wrote one line of a commit's file, or of the file here.
    fn writer(
        &self,
        place: &Place,
        answer: Option<&CommitAnswer>,
        number: u32,
    ) -> (Option<SessionId>, Verdict) {
        let path = stored_name(&place.1);
        let spans = match answer {
            Some(answer) => {
                let file = answer.files.iter().find(|file| file.path == path);
                file.map(|file| &file.spans)
            }
            None => {
                let written = self.known.get(place).and_then(Option::as_ref);
                written.map(|written| &written.spans)
            }
        };
        let mut spans = spans.into_iter().flatten();
        let span = spans.find(|span| (span.first..=span.last).contains(&number));
        match span.map(|span| (span.origin, span.bridged)) {
            Some((Origin::Session(session), false)) => (Some(session), Verdict::Certain),
            Some((Origin::Session(session), true)) => (Some(session), Verdict::Likely),
            _ => (None, Verdict::Unknown),
        }
    }

    /// Nothing where nothing is recorded.
    fn here(&mut self, file: &FileHere<'_>) -> Result<Option<Written>, EngineError> {
        let Some(id) = self.repository.map(|repository| repository.id) else {
            return Ok(None);
        };
        Ok(Some(Written {
            repository: id,
            until: self.world.now(),
            spans: authors::find_uncommitted(self.world, self.ledger, self.git, id, file)?,
        }))
    }

    /// Nothing for a commit that nothing can be known of: git need not be asked.
    fn in_commit(&mut self, commit: &Oid, path: &str) -> Result<Option<Written>, EngineError> {
        let here = self.repository.map(|repository| repository.id);
        let path = stored_name(path);
        let is_seen = read(self.ledger, |tx| {
            let known = elsewhere::known_elsewhere(tx, here, commit)?;
            Ok(match (known, here) {
                (Some(_), _) => true,
                (None, Some(here)) => !tx.edits(here, &path, self.world.now())?.is_empty(),
                (None, None) => false,
            })
        })?;
        if !is_seen {
            return Ok(None);
        }
        let repository = match self.repository {
            Some(here) => Some(here.clone()),
            None => elsewhere::repository(self.ledger, None, commit)?,
        };
        let Some(repository) = repository else {
            return Ok(None);
        };
        let found = find_commit(self.world, self.ledger, &repository, commit)?;
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
