//! Which sessions there are, and their files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use siglum_domain::Timestamp;

use super::forms::{
    ClaudeCode, Codex, Copilot, Form, Gemini, HelperPlace, OpenCode, Origin, Parent, Pi, Qwen,
    file_stamp, slug,
};
use super::needle::Needle;
use super::sheet::{Sheet, Tail};
use super::story::{Event, Story};
use super::text::Text;
use crate::Fallible;
use crate::args::Args;
use crate::clock::Chance;
use crate::payload::uuid;

/// When the first session may begin: 1 January 2026.
const FIRST: Timestamp = Timestamp::from_nanos(1_767_225_600_000_000_000);
/// Over how many days sessions begin.
const DAYS: usize = 300;
/// How long after a session another one is forked from it, in milliseconds.
const FORKED_AFTER: i64 = 24 * 3_600_000;
/// The largest session has this part of all bytes.
const LARGEST: u64 = 5;
/// The longest line has this part of all bytes.
const LONGEST_LINE: u64 = 100;
/// One session of so many was forked, where its agent forks.
const FORKED: usize = 12;
/// One file of so many was not written to its end.
const TORN: usize = 20;
/// How the files end that were not.
const TAILS: [Tail; 3] = [Tail::Cut, Tail::HalfCharacter, Tail::Resumed];
/// How much a plug-in says of a session at most, in bytes: each line is a process.
const PLUGIN_MOST: u64 = 20_000;
/// A directory that is no repository, and not there any more.
const ELSEWHERE: &str = "/home/dev/elsewhere";
/// What is made anew for each session, by its seed: ids, times and events.
const IDS: u64 = 1;
const TIMES: u64 = 2;
const EVENTS: u64 = 3;

/// Megabytes and sessions of a whole corpus, and of a small one.
pub(crate) const FULL: (usize, usize) = (10_000, 20_000);
pub(crate) const QUICK: (usize, usize) = (50, 300);

/// How large a corpus is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Of all transcripts, about.
    pub(crate) bytes: u64,
    pub(crate) sessions: usize,
    pub(crate) needles: usize,
    pub(crate) seed: u64,
}

impl Size {
    /// So many megabytes in so many sessions, and always the same.
    pub(crate) const fn wanted(megabytes: usize, sessions: usize) -> Self {
        Self {
            bytes: megabytes as u64 * 1_000_000,
            sessions,
            needles: 200,
            seed: 11,
        }
    }

    /// What is wanted of a corpus that is only written.
    pub(crate) fn of_args(args: &Args) -> Self {
        let (megabytes, sessions) = match args.quick {
            true => QUICK,
            false => FULL,
        };
        Self::wanted(
            args.megabytes.unwrap_or(megabytes),
            args.sessions.unwrap_or(sessions),
        )
    }
}

/// A needle and where it is.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) needle: Needle,
    pub(crate) agent: &'static str,
    /// The agent's id for the session.
    pub(crate) session: String,
}

/// What was written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Corpus {
    pub(crate) sessions: usize,
    /// Transcripts, those of sub-agents among them.
    pub(crate) files: usize,
    /// Of all transcripts.
    pub(crate) bytes: u64,
    /// The directory with what the plug-in of OpenCode says, a file for each session.
    pub(crate) plugin_lines: PathBuf,
    pub(crate) plugin_bytes: u64,
    pub(crate) needles: Vec<Planted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Agent {
    ClaudeCode,
    Codex,
    Gemini,
    Qwen,
    Copilot,
    Pi,
    OpenCode,
}

impl Agent {
    /// Which agent a session is of, by a number below 100.
    const fn at(percent: usize) -> Self {
        match percent {
            0..=39 => Self::ClaudeCode,
            40..=64 => Self::Codex,
            65..=74 => Self::Gemini,
            75..=84 => Self::Qwen,
            85..=91 => Self::Copilot,
            92..=98 => Self::Pi,
            _ => Self::OpenCode,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
            Self::Pi => "pi",
            Self::OpenCode => "opencode",
        }
    }

    const fn forks(self) -> bool {
        !matches!(self, Self::Gemini | Self::Copilot)
    }

    /// Whether a fork begins with what it shares.
    const fn copies(self) -> bool {
        matches!(self, Self::ClaudeCode | Self::Qwen | Self::Pi)
    }

    fn form(self, origin: Origin, chance: Chance) -> Box<dyn Form> {
        match self {
            Self::ClaudeCode => Box::new(ClaudeCode::new(origin, chance)),
            Self::Codex => Box::new(Codex::new(origin, chance)),
            Self::Gemini => Box::new(Gemini::new(origin, chance)),
            Self::Qwen => Box::new(Qwen::new(origin, chance)),
            Self::Copilot => Box::new(Copilot::new(origin, chance)),
            Self::Pi => Box::new(Pi::new(origin, chance)),
            Self::OpenCode => Box::new(OpenCode::new(origin, chance)),
        }
    }

    /// The file of a session below the user's home.
    fn file(self, origin: &Origin) -> PathBuf {
        let (session, project) = (&origin.session, slug(&origin.cwd));
        let stamp = file_stamp(&origin.began.to_string());
        let (day, minute, short) = (&stamp[..10], &stamp[..16], &session[..8]);
        PathBuf::from(match self {
            Self::ClaudeCode => format!(".claude/projects/{project}/{session}.jsonl"),
            Self::Codex => {
                let day = day.replace('-', "/");
                format!(".codex/sessions/{day}/rollout-{stamp}-{session}.jsonl")
            }
            Self::Gemini => format!(".gemini/tmp/{project}/chats/session-{minute}-{short}.jsonl"),
            Self::Qwen => format!(".qwen/projects/{project}/chats/{session}.jsonl"),
            Self::Copilot => format!(".copilot/session-state/{session}/events.jsonl"),
            Self::Pi => {
                let project = origin.cwd.trim_start_matches('/').replace('/', "-");
                format!(".pi/agent/sessions/--{project}--/{stamp}-000Z_{session}.jsonl")
            }
            Self::OpenCode => format!("opencode-lines/{session}.jsonl"),
        })
    }
}

/// Writes a corpus into the home of a user whose agents worked in a repository, and now and then elsewhere.
pub(crate) fn write(user: &Path, repo: &Path, size: Size) -> Fallible<Corpus> {
    let repo = repo.to_str().ok_or("a path that is no text")?;
    let chance = Chance::new(size.seed);
    let needles = Needle::all(&chance, size.needles);
    let mut ranks: Vec<u64> = (0..size.sessions as u64).collect();
    chance.shuffle(&mut ranks);
    // Few sessions are long.
    let weight = |rank: u64| 1_000_000 / (rank + 20);
    let weights: u64 = ranks.iter().map(|rank| weight(*rank)).sum();
    let rest = size.bytes - size.bytes / LARGEST - size.bytes / LONGEST_LINE;
    let plugin_lines = user.join("opencode-lines");
    std::fs::create_dir_all(&plugin_lines)?;
    let mut writer = Writer {
        user,
        repo,
        text: Text::new(size.seed),
        chance,
        parents: BTreeMap::new(),
        corpus: Corpus {
            sessions: size.sessions,
            plugin_lines,
            ..Corpus::default()
        },
    };
    for (nth, rank) in ranks.into_iter().enumerate() {
        let bytes = match nth {
            0 => size.bytes / LARGEST,
            _ => rest * weight(rank) / weights.max(1),
        };
        let image = (nth == 1).then_some(size.bytes / LONGEST_LINE);
        let planted = needles.iter().skip(nth).step_by(size.sessions.max(1));
        writer.session(nth, (bytes, image), planted)?;
    }
    Ok(writer.corpus)
}

struct Writer<'a> {
    user: &'a Path,
    repo: &'a str,
    text: Text,
    chance: Chance,
    /// The last session of each agent that others may be forked from.
    parents: BTreeMap<Agent, Parent>,
    corpus: Corpus,
}

/// The files of sub-agents, beside that of their session.
#[derive(Default)]
struct Beside {
    files: usize,
    bytes: u64,
}

impl Writer<'_> {
    /// Writes a session of about so many bytes, with an image of its own size and with needles.
    fn session<'n>(
        &mut self,
        nth: usize,
        (bytes, image): (u64, Option<u64>),
        needles: impl Iterator<Item = &'n Needle>,
    ) -> Fallible<()> {
        let agent = match nth {
            0 => Agent::ClaudeCode,
            1 => Agent::Codex,
            _ => Agent::at(self.chance.below(100)),
        };
        let (seed, origin) = (self.chance.next(), self.origin(nth, agent));
        let path = self.user.join(agent.file(&origin));
        let parent = origin.parent.clone().filter(|_| agent.copies());
        let (from, at) = match &parent {
            Some(parent) => (parent.seed, parent.began),
            None => (seed, origin.began),
        };
        let mut sheet = Sheet::create(&path, at, from ^ TIMES)?;
        let mut form = agent.form(origin.clone(), Chance::new(from ^ IDS));
        let form = &mut *form;
        let mut beside = Beside::default();
        form.begin(&mut sheet)?;
        if let Some(parent) = &parent {
            let shared = Story::new(&self.text, parent.seed ^ EVENTS).turn(0);
            play(form, &mut sheet, &shared, &mut beside)?;
            form.end_copy(Chance::new(seed ^ IDS));
            sheet.go_on(origin.began, seed ^ TIMES);
        }
        let story = Story::new(&self.text, seed ^ EVENTS);
        let most = match agent {
            Agent::OpenCode => bytes.min(PLUGIN_MOST),
            _ => bytes,
        };
        for turn in usize::from(parent.is_some()).. {
            play(form, &mut sheet, &story.turn(turn), &mut beside)?;
            if sheet.bytes() + beside.bytes >= most {
                break;
            }
        }
        if let Some(digits) = image.and_then(|digits| usize::try_from(digits).ok()) {
            play(
                form,
                &mut sheet,
                &story.turn_with_image(digits),
                &mut beside,
            )?;
        }
        for needle in needles {
            play(form, &mut sheet, &story.turn_with(needle), &mut beside)?;
            self.corpus.needles.push(Planted {
                needle: needle.clone(),
                agent: agent.name(),
                session: origin.session.clone(),
            });
        }
        if nth % TORN == 5 && agent != Agent::OpenCode {
            tear(form, &mut sheet, &story, TAILS[nth / TORN % TAILS.len()])?;
        }
        form.end(&mut sheet)?;
        let own = sheet.end()?;
        match agent {
            Agent::OpenCode => self.corpus.plugin_bytes += own,
            _ => {
                self.corpus.files += 1 + beside.files;
                self.corpus.bytes += own + beside.bytes;
            }
        }
        if nth > 1 && origin.parent.is_none() {
            let parent = Parent {
                session: origin.session,
                cwd: origin.cwd,
                path,
                seed,
                began: origin.began,
            };
            self.parents.insert(agent, parent);
        }
        Ok(())
    }

    /// Whose the next session is, and where and when it began.
    fn origin(&self, nth: usize, agent: Agent) -> Origin {
        let session = uuid(&self.chance);
        let minutes = self.chance.below(DAYS * 24 * 60) as i64;
        let is_elsewhere = self.chance.below(4) == 0;
        let parent = self.parents.get(&agent);
        let parent = parent.filter(|_| agent.forks() && nth.is_multiple_of(FORKED));
        let began = match parent {
            Some(parent) => parent.began.plus_millis(FORKED_AFTER),
            None => FIRST.plus_millis(minutes * 60_000),
        };
        // A plug-in is asked nothing where nothing is recorded.
        let cwd = match parent {
            Some(parent) => parent.cwd.as_str(),
            None if is_elsewhere && agent != Agent::OpenCode => ELSEWHERE,
            None => self.repo,
        };
        Origin {
            session,
            cwd: cwd.to_owned(),
            began,
            parent: parent.cloned(),
            helper: None,
        }
    }
}

/// Writes events down, those of sub-agents where their agent has them.
fn play(
    form: &mut dyn Form,
    sheet: &mut Sheet,
    events: &[Event],
    beside: &mut Beside,
) -> Fallible<()> {
    for event in events {
        let Event::Helper(helper) = event else {
            form.event(sheet, event)?;
            continue;
        };
        match form.helper_starts(sheet, helper)? {
            HelperPlace::Nowhere => continue,
            HelperPlace::Inline => play(form, sheet, &helper.events, beside)?,
            HelperPlace::File(path, mut inner) => {
                let seed = sheet.at().nanos().unsigned_abs();
                let mut own = Sheet::create(&path, sheet.at(), seed)?;
                inner.begin(&mut own)?;
                play(&mut *inner, &mut own, &helper.events, beside)?;
                beside.files += 1;
                beside.bytes += own.end()?;
            }
        }
        form.helper_ends(sheet, helper)?;
    }
    Ok(())
}

/// Leaves a file as an agent leaves it that was killed.
fn tear(form: &mut dyn Form, sheet: &mut Sheet, story: &Story<'_>, tail: Tail) -> Fallible<()> {
    sheet.tear(tail)?;
    match tail {
        Tail::Resumed => play(form, sheet, &story.turn(0), &mut Beside::default()),
        Tail::Cut | Tail::HalfCharacter => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::needle::Place;

    const SMALL: Size = Size {
        bytes: 3_000_000,
        sessions: 60,
        needles: 40,
        seed: 5,
    };

    /// The paths of all files with what they hold.
    fn files(dir: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files(&path, found);
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
    }

    fn written(size: Size) -> (Corpus, BTreeMap<PathBuf, Vec<u8>>) {
        let dir = tempfile::tempdir().unwrap();
        let corpus = write(dir.path(), Path::new("/home/dev/repo"), size).unwrap();
        let mut found = BTreeMap::new();
        files(dir.path(), &mut found);
        // Forks of Pi name the file that they came from.
        let home = dir.path().to_str().unwrap();
        let anywhere = "~".repeat(home.len());
        let relative = |(path, text): (PathBuf, Vec<u8>)| {
            let path = path.strip_prefix(home).unwrap().to_owned();
            let text = match String::from_utf8(text) {
                Ok(text) => text.replace(home, &anywhere).into_bytes(),
                Err(torn) => torn.into_bytes(),
            };
            (path, text)
        };
        (corpus, found.into_iter().map(relative).collect())
    }

    #[test]
    fn the_same_seed_writes_the_same_corpus() {
        let (one, files) = written(SMALL);
        assert_eq!(files, written(SMALL).1);
        let other = Size { seed: 6, ..SMALL };
        assert_ne!(files, written(other).1);
        assert_eq!(one.sessions, SMALL.sessions);
        let bytes: usize = files.values().map(Vec::len).sum();
        assert_eq!(bytes as u64, one.bytes + one.plugin_bytes);
    }

    #[test]
    fn lines_are_json_but_for_the_torn_ones() {
        let (_, files) = written(SMALL);
        let mut torn = 0;
        for (path, text) in &files {
            for line in text.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
                let read = serde_json::from_slice::<serde_json::Value>(line);
                let is_torn = line.starts_with("{\"type\":\"user\",\"message\":\"größ".as_bytes());
                assert_eq!(read.is_err(), is_torn, "{}", path.display());
                torn += usize::from(is_torn);
            }
        }
        assert!((1..=SMALL.sessions / TORN).contains(&torn), "{torn}");
        assert!(
            files
                .values()
                .any(|text| std::str::from_utf8(text).is_err())
        );
    }

    #[test]
    fn every_needle_stands_in_its_session_alone() {
        let (corpus, files) = written(SMALL);
        assert_eq!(corpus.needles.len(), SMALL.needles);
        for planted in &corpus.needles {
            let word = planted.needle.word.as_bytes();
            let with = files
                .iter()
                .filter(|(_, text)| memchr::memmem::find(text, word).is_some());
            let with: Vec<_> = with.map(|(path, _)| path.display().to_string()).collect();
            let id = &planted.session[..8];
            assert!(
                with.len() == 1 && with[0].contains(id),
                "{with:?} {planted:?}"
            );
        }
        assert!(
            corpus
                .needles
                .iter()
                .any(|p| p.needle.place == Place::Output)
        );
    }
}
