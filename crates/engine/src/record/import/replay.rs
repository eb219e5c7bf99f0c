//! Sessions that their agent tells again, over the Agent Client Protocol: prompts, messages and calls in order, without times.
//!
//! Whatever is told a second time is known by what it says, so that a history that goes on, or was compacted, adds what is
//! new and nothing else. Content of files is not stored: agents tell a part of a file where the protocol has the whole.

use std::collections::BTreeMap;
use std::path::Path;

use siglum_domain::digest::Hasher;
use siglum_domain::intake::{AgentMatter, Intake, Matter, Place, VERSION};
use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, StartKind, ToolClass, event,
};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, NativeId, SessionId, Timestamp};
use siglum_ledger::{Durability, Ledger, LedgerError, SessionOrigin, read, write};

use super::close;
use crate::World;
use crate::identity::names;
use crate::record::deliver::{Delivered, deliver};

/// The entry that every session has that was read so.
const MARK: &str = "acp:session";
/// How many sightings are written in one transaction.
const BATCH: usize = 256;
/// How much of a digest is a name.
const DIGITS: usize = 24;
/// Longest id of a call that is kept as it is, in bytes.
const ID_MOST: usize = 128;
/// Longest title that is taken for a name, in characters.
const NAME_MOST: usize = 200;

/// A session, as its agent lists it.
#[derive(Debug, Clone)]
pub struct ReplayedSession {
    /// What the agent calls it.
    pub native: NativeId,
    /// The directory that it works in.
    pub cwd: String,
    /// What it is about, in the words of the agent.
    pub title: Option<String>,
    /// When something last happened in it, if the agent says so.
    pub updated_at: Option<Timestamp>,
}

/// One step of a conversation.
#[derive(Debug, Clone)]
pub enum ReplayedStep {
    /// Somebody prompted.
    Prompt(String),
    /// The agent said something.
    Message(String),
    /// A tool was called.
    Call(ReplayedCall),
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct ReplayedCall {
    /// What the agent calls it.
    pub id: String,
    /// The tool's own name.
    pub tool: String,
    /// What it does.
    pub class: ToolClass,
    /// What it was given.
    pub input: String,
    /// The file that it changed.
    pub path: Option<String>,
    /// How it ended, and what came of it; absent if it never returned.
    pub result: Option<(Outcome, String)>,
}

/// What came of a session that was told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replayed {
    /// It is in the ledger, with so many new entries.
    Stored {
        /// The session.
        session: SessionId,
        /// How many entries are new.
        entries: u64,
    },
    /// It was recorded another way, which tells more.
    RecordedOtherwise(SessionId),
    /// It was forgotten, and stays so.
    Forgotten(SessionId),
}

/// Whether a session would be written down, or why not; nothing where it is not known.
///
/// # Errors
/// Those of the ledger.
pub fn known_replay(
    ledger: &mut dyn Ledger,
    agent: &AgentName,
    native: &NativeId,
) -> Result<Option<Replayed>, LedgerError> {
    read(ledger, |tx| {
        // Not by `identity::find`: a program may be called otherwise here than by its hooks, so that a session of any agent
        // is in the way. Where several are, nothing is written whichever is named.
        let known = tx.sessions_by_native(native)?;
        let own = known.iter().find(|(name, _)| name == agent);
        let Some((_, session)) = own.or_else(|| known.first()) else {
            return Ok(None);
        };
        let session = *session;
        let record = tx.session(session)?;
        if record.as_ref().is_some_and(|r| r.forgotten.is_some()) {
            return Ok(Some(Replayed::Forgotten(session)));
        }
        let is_import = record.is_some_and(|r| r.origin == SessionOrigin::Import);
        // Once a hook has seen it run, hooks tell what is new, under other names than a replay.
        let is_unseen = is_import && tx.bindings(session)?.is_empty();
        let is_ours = is_unseen && tx.sighted(session, Source::Transcript, MARK)?.is_some();
        Ok(Some(match is_ours && own.is_some() {
            true => Replayed::Stored {
                session,
                entries: 0,
            },
            false => Replayed::RecordedOtherwise(session),
        }))
    })
}

/// Writes down what an agent tells again of a session, as far as it is not there yet, and ends it: it was not seen running.
///
/// # Errors
/// Those of the ledger; what was written stays.
pub fn import_replay(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    agent: &AgentName,
    (told, place): (&ReplayedSession, Option<&Place>),
    steps: &[ReplayedStep],
) -> Result<Replayed, LedgerError> {
    let known = match known_replay(ledger, agent, &told.native)? {
        Some(Replayed::Stored { session, .. }) => Some(session),
        Some(other) => return Ok(other),
        None => None,
    };
    let mut seen = Sightings::new(
        world.redactor,
        &ledger.key(),
        told.updated_at.unwrap_or_else(|| world.now()),
    );
    seen.worktree = place.map(|place| place.worktree.clone());
    seen.session();
    steps.iter().for_each(|step| seen.step(step));
    let mut fresh = seen.observations;
    if let Some(session) = known {
        let mut is_new = Vec::with_capacity(fresh.len());
        read(ledger, |tx| {
            is_new.clear();
            for observation in &fresh {
                is_new.push(
                    tx.sighted(session, observation.source, &observation.key)?
                        .is_none(),
                );
            }
            Ok(())
        })?;
        let mut is_new = is_new.into_iter();
        fresh.retain(|_| is_new.next().unwrap_or(true));
    }
    let entries = fresh.len() as u64;
    let mut session = known;
    for batch in fresh.chunks(BATCH) {
        let matter = AgentMatter {
            cwd: Some(world.redactor.redact(&told.cwd).into_string()),
            place: place.cloned(),
            observations: batch.to_vec(),
            ..AgentMatter::new(agent.clone(), told.native.clone())
        };
        let intake = Intake {
            version: VERSION,
            key: format!("acp:{agent}:{}:{}", told.native, batch[0].key),
            at: world.now(),
            matter: Matter::Agent(matter),
        };
        if let Delivered::Session(written) = deliver(ledger, world.ids, &intake)? {
            session = Some(written);
        }
    }
    let session = session.expect("because a session that is new has at least its beginning");
    // Also of one that an import that was killed left without an end.
    take_name(world, ledger, session, agent, told)?;
    close(world, ledger, session)?;
    Ok(Replayed::Stored { session, entries })
}

/// The agent's title for a session is its name, unless somebody gave it another one.
fn take_name(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    agent: &AgentName,
    told: &ReplayedSession,
) -> Result<(), LedgerError> {
    let title = told.title.as_deref().unwrap_or_default();
    // Before it is cut: the head of a secret is not known for one any more.
    let title = world.redactor.redact_cow(title);
    let words: Vec<&str> = title.split_whitespace().collect();
    let short: String = words.join(" ").chars().take(NAME_MOST).collect();
    match names::link(short.trim()) {
        Ok(link) if !short.trim().is_empty() => write(ledger, Durability::Process, |tx| {
            names::take_over(tx, world, session, &link, agent)
        }),
        _ => Ok(()),
    }
}

/// The sightings of one history in the making.
struct Sightings<'a> {
    redactor: &'a Redactor,
    key: [u8; 32],
    at: Timestamp,
    worktree: Option<String>,
    turn: Option<String>,
    /// How often each name was given.
    given: BTreeMap<String, u32>,
    observations: Vec<Observation>,
}

impl<'a> Sightings<'a> {
    fn new(redactor: &'a Redactor, key: &[u8; 32], at: Timestamp) -> Self {
        Self {
            redactor,
            key: *key,
            at,
            worktree: None,
            turn: None,
            given: BTreeMap::new(),
            observations: Vec::new(),
        }
    }

    fn session(&mut self) {
        let (how, model) = (StartKind::Startup, None);
        self.push(
            MARK.to_owned(),
            MARK.to_owned(),
            Fact::SessionStarted { how, model },
        );
    }

    fn step(&mut self, step: &ReplayedStep) {
        match step {
            ReplayedStep::Prompt(text) => {
                let turn = self.name("prompt", text);
                let (key, event) = (format!("acp:{turn}"), event::prompt(&turn));
                self.turn = Some(turn);
                let (text, synthetic) = (self.body(text), false);
                self.push(key, event, Fact::Prompt { text, synthetic });
            }
            ReplayedStep::Message(text) => {
                let id = self.name("message", text);
                let fact = Fact::Message {
                    role: Role::Assistant,
                    text: self.body(text),
                    model: None,
                    tokens: None,
                    request: None,
                };
                self.push(format!("acp:{id}"), event::message(&id), fact);
            }
            ReplayedStep::Call(call) => self.call(call),
        }
    }

    fn call(&mut self, call: &ReplayedCall) {
        // Names are not redacted where they are stored.
        let is_plain = call.id.len() <= ID_MOST && self.redactor.redact_cow(&call.id) == call.id;
        let id = match is_plain {
            true => call.id.clone(),
            false => self.name("call", &call.id),
        };
        let event = event::tool(&id);
        let tool = self.redactor.redact_cow(&call.tool).into_owned();
        let worktree = self.worktree.as_deref().map(Path::new);
        let path = call.path.as_deref().map(|path| {
            let inner = worktree.and_then(|w| Path::new(path).strip_prefix(w).ok());
            let shown = inner.and_then(Path::to_str).unwrap_or(path);
            self.redactor.redact_cow(shown).into_owned()
        });
        let started = Fact::ToolStarted {
            tool: tool.clone(),
            class: call.class,
            input: self.body(&call.input),
            path,
        };
        self.push(format!("acp:call:{id}"), event.clone(), started);
        if let Some((outcome, output)) = &call.result {
            let ended = Fact::ToolEnded {
                tool,
                class: call.class,
                outcome: *outcome,
                output: Some(self.body(output)),
                duration_ms: None,
            };
            self.push(format!("acp:result:{id}"), event, ended);
        }
    }

    fn push(&mut self, key: String, event: String, fact: Fact) {
        self.observations.push(Observation {
            source: Source::Transcript,
            key,
            event,
            at: self.at,
            turn: self.turn.clone(),
            subagent: None,
            fact,
        });
    }

    fn body(&self, text: &str) -> Body {
        Body::Text(self.redactor.redact(text))
    }

    /// A name made of what is said, and of how often it was said before. Nothing can be told from it without the key.
    fn name(&mut self, kind: &str, text: &str) -> String {
        let mut hasher = Hasher::keyed(&self.key);
        hasher.field(kind.as_bytes());
        hasher.field(text.as_bytes());
        let name: String = hasher.hex().chars().take(DIGITS).collect();
        let before = self.given.entry(name.clone()).or_default();
        *before += 1;
        match *before {
            1 => name,
            n => format!("{name}.{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::tests::stage::{Stage, agent, at, in_process, native, prompt, says};

    fn keys(steps: &[ReplayedStep]) -> BTreeSet<String> {
        let mut seen = Sightings::new(Redactor::shared(), &[7; 32], Timestamp::from_seconds(1));
        steps.iter().for_each(|step| seen.step(step));
        let keys = seen.observations.into_iter().map(|o| o.key);
        keys.collect()
    }

    #[test]
    fn what_is_replayed_again_has_the_same_names_and_what_is_new_has_others() {
        let prompt = |text: &str| ReplayedStep::Prompt(text.to_owned());
        let message = |text: &str| ReplayedStep::Message(text.to_owned());
        let before = [prompt("go on"), message("done"), prompt("go on")];
        let first = keys(&before);
        assert_eq!(first.len(), 3, "what is said twice is there twice");
        let more = [&before[..], &[message("done"), prompt("go on")]].concat();
        assert!(keys(&more).is_superset(&first));
        assert_eq!(keys(&more).len(), 5);
        // The agent let go of its first turn.
        assert!(keys(&before[2..]).is_subset(&first));
        assert!(keys(&[message("go on")]).is_disjoint(&first));
    }

    fn known(stage: &mut Stage) -> Option<Replayed> {
        stage.play(|_, ledger| known_replay(ledger, &agent(), &native("one")).unwrap())
    }

    #[test]
    fn an_import_that_was_killed_is_completed_and_what_hooks_see_is_left_to_them() {
        let mut stage = Stage::new();
        let listed = ReplayedSession {
            native: native("one"),
            cwd: "/home/dev/main".to_owned(),
            title: None,
            updated_at: Some(at(10)),
        };
        let steps = [ReplayedStep::Prompt("go on".to_owned())];
        let import = |stage: &mut Stage| {
            stage.play(|world, ledger| {
                import_replay(world, ledger, &agent(), (&listed, None), &steps).unwrap()
            })
        };
        let first = import(&mut stage);
        let Replayed::Stored {
            session,
            entries: 2,
        } = first
        else {
            panic!("{first:?}");
        };
        let stored = Replayed::Stored {
            session,
            entries: 0,
        };
        assert_eq!(known(&mut stage), Some(stored));
        write(&mut stage.ledger, Durability::Process, |tx| {
            tx.set_ended(session, None)
        })
        .unwrap();
        assert_eq!(import(&mut stage), stored);
        assert_eq!(stage.session(session).ended_at, Some(at(10)));
        stage.hear(in_process(7, says("one", vec![prompt("t1", 20)])));
        assert_eq!(
            known(&mut stage),
            Some(Replayed::RecordedOtherwise(session))
        );
    }
}
