//! Writing down what a slice of a transcript says.

use std::collections::BTreeMap;
use std::path::Path;

use siglum_agents::{
    AgentSpec, CommitMention, ReadLine, SECRET_IN_PATH, Sighting, TranscriptEdit, TranscriptReader,
    has_secret,
};
use siglum_domain::claims::Claims;
use siglum_domain::intake::{AgentMatter, Decline};
use siglum_domain::observation::{Fact, Observation, event};
use siglum_domain::{NativeId, SessionId, Timestamp};
use siglum_ledger::{
    Forgotten, LedgerError, Relation, Segment, SessionOrigin, SessionRecord, Transaction,
    TranscriptRecord,
};

use super::{branch, proof};
use crate::World;
use crate::commits::calls;
use crate::identity::{self, SessionIdentity, names};
use crate::record::{session, session_log};

/// How much text one segment holds, in bytes.
const SEGMENT: usize = 256 << 10;
/// How much of a name that an agent gives is taken, in characters.
const NAME_MOST: usize = 200;

/// A line and what it says.
pub(super) struct Line<'a> {
    /// Where it begins in the file.
    pub(super) offset: u64,
    pub(super) raw: &'a str,
    pub(super) seen: ReadLine<'a>,
    /// Whether copied history, if there was any, is over.
    pub(super) is_own: bool,
}

/// Lines that are stored in one transaction.
pub(super) struct Slice<'a> {
    /// Where they begin in the file.
    pub(super) from: u64,
    /// Whether the file goes on behind them.
    pub(super) more: bool,
    pub(super) lines: Vec<Line<'a>>,
    /// The session of the transcript, as a matter without observations.
    pub(super) matter: AgentMatter,
    /// The reader behind the last of them.
    pub(super) reader: Box<dyn TranscriptReader>,
}

/// One slice on its way into the ledger.
pub(super) struct Store<'a> {
    agent: &'a AgentSpec,
    record: &'a TranscriptRecord,
    slice: &'a Slice<'a>,
    owners: Owners<'a>,
    reader: Box<dyn TranscriptReader>,
    lines: Vec<(u64, String)>,
    size: usize,
    mentions: Vec<CommitMention>,
    /// Whose the last line of copied history was, and where it starts.
    copied: Option<(NativeId, u64)>,
    branch: branch::LastBranch,
    /// What the agent calls the session by now, if it says so.
    name: Option<String>,
}

impl<'a> Store<'a> {
    pub(super) fn new(
        world: &'a World<'a>,
        agent: &'a AgentSpec,
        record: &'a TranscriptRecord,
        slice: &'a Slice<'a>,
    ) -> Self {
        let owners = Owners {
            world,
            matter: &slice.matter,
            record,
            known: Vec::new(),
            returned: returned(&slice.lines),
            touched: BTreeMap::new(),
        };
        Self {
            agent,
            record,
            slice,
            owners,
            reader: slice.reader.copy(),
            lines: Vec::new(),
            size: 0,
            mentions: Vec::new(),
            copied: None,
            branch: branch::LastBranch::default(),
            name: None,
        }
    }

    /// Writes everything. Returns how far the file was read: lines whose owner only a later line can
    /// tell are read again.
    pub(super) fn all(
        &mut self,
        tx: &mut dyn Transaction,
    ) -> Result<TranscriptRecord, LedgerError> {
        // Read here, not before: somebody may forget while this waits for the ledger.
        let record = tx.session(self.record.session)?;
        let forgotten = record.and_then(|s| s.forgotten).map(Forgotten::at);
        for line in &self.slice.lines {
            let (offset, seen) = (line.offset, &line.seen);
            self.owners.append(tx, &seen.sightings)?;
            self.owners.edits(tx, seen)?;
            let mut commits = seen.commits.clone();
            self.owners.name(tx, &mut commits)?;
            self.mentions.append(&mut commits);
            self.forked(tx, seen.forked_from.as_ref())?;
            let copied = !seen.sightings.is_empty() && seen.sightings.iter().all(|s| s.copied);
            if !copied && line.is_own {
                self.branch(tx, offset, seen)?;
            }
            // Such a line has no time: nobody knows whether it is older than what was forgotten.
            let is_named = self.record.subagent.is_none() && forgotten.is_none();
            if let Some(name) = seen.name.as_deref().filter(|_| is_named) {
                self.name = Some(name.to_owned());
            }
            if copied && let Some(last) = seen.sightings.last() {
                self.copied = Some((last.owner.clone(), offset));
            }
            let written = seen.at.or(seen.archived);
            let is_forgotten = written.is_some_and(|at| Some(at) <= forgotten);
            if written.is_some() && !copied && !is_forgotten {
                self.keep(tx, offset, line.raw)?;
            }
        }
        self.put_segment(tx)?;
        self.name(tx)?;
        self.let_go(tx)?;
        self.owners.touch(tx)?;
        want_subagents(tx, self.owners.world, self.agent, self.record)?;
        let held_from = self.relate(tx)?.or(self.reader.held_from());
        let redactor = self.owners.world.redactor;
        Ok(TranscriptRecord {
            read_to: held_from.unwrap_or(self.record.read_to),
            turn: self
                .reader
                .turn()
                .map(|turn| redactor.redact_cow(turn).into_owned()),
            own: self.reader.is_own(),
            ..self.record.clone()
        })
    }

    /// A line of the session's own tells which branch was checked out.
    fn branch(
        &mut self,
        tx: &mut dyn Transaction,
        offset: u64,
        seen: &ReadLine<'_>,
    ) -> Result<(), LedgerError> {
        let (Some(name), Some(at)) = (seen.git_branch.as_deref(), seen.at) else {
            return Ok(());
        };
        let name = self.owners.world.redactor.redact_cow(name);
        let line = (self.record, offset, at);
        let Some(observation) = self.branch.changed(tx, line, &name)? else {
            return Ok(());
        };
        let Some(identity) = self.owners.find(tx, &self.record.native, at)? else {
            return Ok(());
        };
        let (world, now) = (self.owners.world, self.owners.world.now());
        let matter = self.owners.matter;
        session_log::append(tx, world.ids, now, identity, matter, &observation).map(drop)
    }

    /// The agent calls the session so by now.
    fn name(&self, tx: &mut dyn Transaction) -> Result<(), LedgerError> {
        let Some(name) = &self.name else {
            return Ok(());
        };
        // Before it is cut: the head of a secret is not known for one any more.
        let name = self.owners.world.redactor.redact_cow(name);
        let words: Vec<&str> = name.split_whitespace().collect();
        let short: String = words.join(" ").chars().take(NAME_MOST).collect();
        match names::link(short.trim()) {
            Ok(link) if !short.trim().is_empty() => {
                let (session, agent) = (self.record.session, &self.record.agent);
                names::take_over(tx, self.owners.world, session, &link, agent)
            }
            _ => Ok(()),
        }
    }

    /// What is left for the caller.
    pub(super) fn end(self) -> (Vec<CommitMention>, Box<dyn TranscriptReader>) {
        (self.mentions, self.reader)
    }

    /// Whether the session says nothing more.
    fn over(&self, tx: &mut dyn Transaction) -> Result<bool, LedgerError> {
        let over = |s: SessionRecord| s.ended_at.is_some() || s.origin == SessionOrigin::Import;
        Ok(!self.slice.more && tx.session(self.record.session)?.is_none_or(over))
    }

    /// What is held back is the session's own, if nothing will come that could say otherwise, or if
    /// waiting would never end.
    fn let_go(&mut self, tx: &mut dyn Transaction) -> Result<(), LedgerError> {
        let stuck = self.slice.more && self.reader.held_from() == Some(self.slice.from);
        if stuck || self.over(tx)? {
            let held = self.reader.finish();
            self.owners.append(tx, &held)?;
        }
        Ok(())
    }

    /// The session whose history was copied last is the parent; those before are its own
    /// forefathers. While the history may go on, returns where its last line starts, from which the
    /// file is to be read again.
    fn relate(&self, tx: &mut dyn Transaction) -> Result<Option<u64>, LedgerError> {
        let Some((owner, offset)) = &self.copied else {
            return Ok(None);
        };
        if !self.reader.is_own() && !self.over(tx)? {
            let again = !self.slice.more || *offset > self.slice.from;
            return Ok(again.then_some(*offset));
        }
        if let Some((_, parent)) = self.owners.known.iter().find(|(native, _)| native == owner)
            && parent.session() != self.record.session
        {
            tx.set_parent(self.record.session, parent.session(), Relation::Fork)?;
        }
        Ok(None)
    }

    /// A transcript that points to the one it came from copies nothing of it.
    fn forked(&self, tx: &mut dyn Transaction, from: Option<&NativeId>) -> Result<(), LedgerError> {
        let (Some(from), None) = (from, &self.record.subagent) else {
            return Ok(());
        };
        match identity::find(tx, &Claims::by_name(&self.record.agent, from))? {
            Some(parent) if parent.session() != self.record.session => {
                tx.set_parent(self.record.session, parent.session(), Relation::Fork)
            }
            _ => Ok(()),
        }
    }

    fn keep(
        &mut self,
        tx: &mut dyn Transaction,
        offset: u64,
        raw: &str,
    ) -> Result<(), LedgerError> {
        let line = self.owners.world.redactor.redact_cow(raw).into_owned();
        self.size += line.len();
        self.lines.push((offset, line));
        if self.size >= SEGMENT {
            self.put_segment(tx)
        } else {
            Ok(())
        }
    }

    fn put_segment(&mut self, tx: &mut dyn Transaction) -> Result<(), LedgerError> {
        let (Some(first), Some(last)) = (self.lines.first(), self.lines.last()) else {
            return Ok(());
        };
        let (first, past) = (first.0, last.0 + 1);
        self.size = 0;
        let lines = std::mem::take(&mut self.lines);
        tx.put_segment(&Segment {
            stream: self.record.stream.clone(),
            first,
            past,
            lines,
        })
    }
}

/// The sessions that lines of one file belong to: its own, and those whose history it copied.
struct Owners<'a> {
    world: &'a World<'a>,
    matter: &'a AgentMatter,
    record: &'a TranscriptRecord,
    known: Vec<(NativeId, SessionIdentity)>,
    /// When the unnamed calls of this slice had returned, by the names that the reader gave them.
    returned: BTreeMap<&'a str, Timestamp>,
    /// When something was heard of each session first and last in this slice.
    touched: BTreeMap<SessionId, (Timestamp, Timestamp)>,
}

impl Owners<'_> {
    fn append(
        &mut self,
        tx: &mut dyn Transaction,
        sightings: &[Sighting],
    ) -> Result<(), LedgerError> {
        let at = self.world.now();
        for sighting in sightings {
            let observation = &sighting.observation;
            let Some(identity) = self.find(tx, &sighting.owner, observation.at)? else {
                continue;
            };
            if sighting.copied && self.has_its_own_file(&sighting.owner) {
                continue;
            }
            let returned = self.returned.get(observation.event.as_str()).copied();
            let mut observation = named(tx, identity.session(), observation, returned)?;
            observation.redact_names(self.world.redactor);
            session_log::append(tx, self.world.ids, at, identity, self.matter, &observation)?;
            let seen_at = observation.at;
            let span = self.touched.entry(identity.session());
            span.and_modify(|(first, last)| {
                *first = (*first).min(seen_at);
                *last = (*last).max(seen_at);
            })
            .or_insert((seen_at, seen_at));
        }
        Ok(())
    }

    /// Notes when something was heard of the sessions: once for all lines, since each time writes their rows and what
    /// they are listed by.
    fn touch(&mut self, tx: &mut dyn Transaction) -> Result<(), LedgerError> {
        for (session, (first, last)) in std::mem::take(&mut self.touched) {
            tx.touch(session, last, None, None)?;
            if first < last {
                tx.touch(session, first, None, None)?;
            }
        }
        Ok(())
    }

    /// Edits whose content before and after the transcript tells, unless a hook saw them.
    fn edits(&mut self, tx: &mut dyn Transaction, seen: &ReadLine<'_>) -> Result<(), LedgerError> {
        for edit in seen.edits.iter().filter(|e| !e.copied) {
            let Some(identity) = self.find(tx, &edit.owner, edit.at)? else {
                continue;
            };
            let mark = tx.session(identity.session())?.and_then(|s| s.forgotten);
            if mark.is_some_and(|mark| edit.at <= mark.at()) {
                continue;
            }
            let name = calls::name_of(tx, identity.session(), &edit.event, (edit.at, edit.at))?;
            let turn = match &edit.turn {
                Some(turn) => calls::turn_of(tx, identity.session(), turn, edit.at)?,
                None => None,
            };
            // It holds two whole files: copied only where it is called otherwise.
            let renamed = (name.is_some() || turn != edit.turn).then(|| TranscriptEdit {
                event: name.unwrap_or_else(|| edit.event.clone()),
                turn,
                ..edit.clone()
            });
            let edit = renamed.as_ref().unwrap_or(edit);
            let observations = proof::edit(self.world, tx, identity.session(), self.matter, edit)?;
            for mut observation in observations {
                observation.redact_names(self.world.redactor);
                session_log::append(
                    tx,
                    self.world.ids,
                    self.world.now(),
                    identity,
                    self.matter,
                    &observation,
                )?;
            }
        }
        Ok(())
    }

    /// Gives the calls that name commits the names that they have in the ledger.
    fn name(
        &mut self,
        tx: &mut dyn Transaction,
        mentions: &mut [CommitMention],
    ) -> Result<(), LedgerError> {
        for mention in mentions {
            let span = (mention.started.unwrap_or(mention.ended), mention.ended);
            if let Some(identity) = self.find(tx, &mention.owner, mention.ended)?
                && let Some(name) = calls::name_of(tx, identity.session(), &mention.event, span)?
            {
                mention.event = name;
            }
        }
        Ok(())
    }

    /// A copy of history is of use only where the history itself is gone.
    fn has_its_own_file(&self, owner: &NativeId) -> bool {
        Path::new(&self.record.path)
            .with_file_name(format!("{owner}.jsonl"))
            .exists()
    }

    fn find(
        &mut self,
        tx: &mut dyn Transaction,
        owner: &NativeId,
        at: Timestamp,
    ) -> Result<Option<SessionIdentity>, LedgerError> {
        if let Some((_, identity)) = self.known.iter().find(|(native, _)| native == owner) {
            return Ok(Some(*identity));
        }
        if self.world.redactor.has_secret(owner.as_str()) {
            return Ok(None);
        }
        let Some(own) = tx.session(self.record.session)? else {
            return Ok(None);
        };
        let known = identity::find(tx, &Claims::by_name(&self.record.agent, owner))?;
        let identity = match known {
            Some(known) => known,
            None => {
                let matter = AgentMatter {
                    native: owner.clone(),
                    ..self.matter.clone()
                };
                session::record(tx, own.home, self.world.ids, at, &matter)?
            }
        };
        let identity = identity.within(own.repository);
        self.known.push((owner.clone(), identity));
        Ok(Some(identity))
    }
}

/// When each unnamed call had returned that returned in these lines: some agents tell of its start and of its end in one
/// line, and others in two.
fn returned<'s>(lines: &'s [Line<'_>]) -> BTreeMap<&'s str, Timestamp> {
    let seen = lines.iter().flat_map(|line| &line.seen.sightings);
    let ends = seen.map(|s| &s.observation).filter(|o| {
        matches!(o.fact, Fact::ToolEnded { .. }) && event::unnamed_parts(&o.event).is_some()
    });
    ends.map(|o| (o.event.as_str(), o.at)).collect()
}

/// The observation with the names that its call and its turn have in the ledger. `returned` is when its call had returned,
/// as far as that is known: its hook runs soon after a call was asked for.
fn named(
    tx: &mut dyn Transaction,
    session: SessionId,
    observation: &Observation,
    returned: Option<Timestamp>,
) -> Result<Observation, LedgerError> {
    let mut named = observation.clone();
    let is_start = matches!(observation.fact, Fact::ToolStarted { .. });
    let until = match returned {
        Some(returned) => returned.max(observation.at),
        None if is_start => observation.at.plus_millis(calls::HOOK_WITHIN_MS),
        None => observation.at,
    };
    let span = (observation.at, until);
    if let Some(name) = calls::name_of(tx, session, &observation.event, span)? {
        named.key = observation.key.replace(&observation.event, &name);
        named.event = name;
    }
    if let Fact::SubagentStarted {
        call: Some(call), ..
    } = &mut named.fact
        && let Some(name) = calls::name_of(tx, session, call, span)?
    {
        event::call_of(&name).unwrap_or(&name).clone_into(call);
    }
    if let Some(turn) = &observation.turn {
        named.turn = calls::turn_of(tx, session, turn, observation.at)?;
        if matches!(named.fact, Fact::Prompt { .. })
            && let Some(turn) = named.turn.as_deref().filter(|own| *own != turn)
        {
            named.event = event::prompt(turn);
        }
    }
    Ok(named)
}

/// Sub-agents write files of their own.
fn want_subagents(
    tx: &mut dyn Transaction,
    world: &World<'_>,
    agent: &AgentSpec,
    record: &TranscriptRecord,
) -> Result<(), LedgerError> {
    if record.subagent.is_some() {
        return Ok(());
    }
    let folder = (agent.subagents)(Path::new(&record.path), &record.native);
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries.flatten().take(10_000) {
        let path = entry.path();
        let regular = entry.file_type().is_ok_and(|t| t.is_file());
        let Some(stem) = path
            .file_stem()
            .and_then(|s| s.to_str())
            .filter(|_| regular && path.extension().is_some_and(|e| e == "jsonl"))
        else {
            continue;
        };
        let known = tx.transcript(stem)?;
        let size = entry.metadata().map_or(0, |m| m.len());
        if known.as_ref().is_some_and(|k| k.read_to == size) {
            continue;
        }
        if has_secret(&path, world.redactor) {
            let decline = Decline {
                edge: "transcript".to_owned(),
                reason: "transcript_path".to_owned(),
                detail: SECRET_IN_PATH.to_owned(),
                place: None,
            };
            tx.decline(
                &format!("transcript:{}", record.session),
                world.now(),
                &decline,
            )?;
            continue;
        }
        let subagent = stem.strip_prefix("agent-").unwrap_or(stem).to_owned();
        let record = TranscriptRecord {
            stream: stem.to_owned(),
            path: path.to_string_lossy().into_owned(),
            subagent: Some(subagent),
            ..record.clone()
        };
        tx.want_transcript(&record)?;
    }
    Ok(())
}
