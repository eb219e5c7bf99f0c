//! Names for tool calls and turns that an agent's hooks do not name.
//!
//! Such a call comes under a name that all calls of the same thing share ([`event::unnamed`]). Hooks tell
//! of starts and ends in order: a start is the next call of its kind, an end belongs to the latest start
//! before it that has none (a call that was refused never ends). The transcript knows when a call was
//! asked for and when it had returned: it speaks of the call that hooks saw starting in between, else of
//! one that hooks did not see. The same delivery twice gets the same name.

use std::borrow::Cow;

use siglum_domain::intake::AgentMatter;
use siglum_domain::observation::{Body, Fact, Observation, Side, Source, ToolClass, event};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{LedgerError, Sighted, Transaction};

use crate::identity::sighting_keys::side_key;

/// How many calls that do the same are looked at for the one that a start or an end belongs to.
const ALIKE: u64 = 16;
/// How many entries of a log are looked at for what a transcript told before the hook.
const LOOK_BACK: u64 = 256;
/// How far before a call's own line in the transcript its start may lie, in milliseconds: the line may
/// be written when the call has returned.
const BEFORE_MS: i64 = 600_000;
/// How long after a call was asked for its hook starts at the latest, in milliseconds, where it is not known when the call
/// had returned.
pub(crate) const HOOK_WITHIN_MS: i64 = 5_000;

/// How many entries of a log are looked at for the calls around a moment.
const AROUND: u64 = 96;
/// How many entries of a turn are looked at for calls of long ago.
const TURN_MOST: usize = 4096;
/// How far from each other the entries of one delivery lie at most.
const TOGETHER: u64 = 8;
/// Beyond the last entry of any log; stores count in signed numbers.
const WHOLE_LOG: u64 = i64::MAX.unsigned_abs();
/// How long after the last thing that was heard of a session its log still ends at a moment, in ms.
const SETTLED_MS: i64 = 5_000;

/// One call of a tool that runs commands.
pub(crate) struct ShellCall {
    pub(crate) event: String,
    pub(crate) command: String,
    started: Timestamp,
    /// When it returned, as far as that was told by the moment that was asked for.
    pub(crate) ended: Option<Timestamp>,
}

impl ShellCall {
    /// Whether it had begun and not returned.
    pub(crate) fn runs_at(&self, at: Timestamp) -> bool {
        self.started <= at && self.ended.is_none_or(|ended| ended > at)
    }
}

/// The calls of a session that run commands, as its log tells them around a moment: those that began
/// by then. Only the end of the log before that moment is looked at.
pub(crate) fn shell_calls(
    tx: &mut dyn Transaction,
    session: SessionId,
    at: Timestamp,
) -> Result<Vec<ShellCall>, LedgerError> {
    let Some(record) = tx.session(session)? else {
        return Ok(Vec::new());
    };
    let entries = if record.last_at <= at.plus_millis(SETTLED_MS) {
        tx.entries(session, record.head.saturating_sub(AROUND), 0)?
    } else {
        let last_prompt = tx
            .last_prompt(session, at)?
            .map_or(0, |(_, sequence)| sequence);
        tx.entries(session, last_prompt.saturating_sub(AROUND), TURN_MOST)?
    };
    let mut calls: Vec<ShellCall> = Vec::new();
    for observation in entries.into_iter().map(|e| e.observation) {
        match observation.fact {
            Fact::ToolStarted {
                class: ToolClass::Shell,
                input: Body::Text(command),
                ..
            } if observation.at <= at && calls.iter().all(|c| c.event != observation.event) => {
                calls.push(ShellCall {
                    event: observation.event,
                    command: command.as_str().to_owned(),
                    started: observation.at,
                    ended: None,
                });
            }
            Fact::ToolEnded { .. } => {
                let call = calls.iter_mut().find(|c| c.event == observation.event);
                if let Some(call) = call {
                    let ended = call.ended.map_or(observation.at, |e| e.min(observation.at));
                    call.ended = Some(ended);
                }
            }
            // It may be told when calls of a later turn run.
            Fact::Stopped { .. } if observation.source == Source::Transcript => {}
            Fact::Stopped { .. } | Fact::SessionEnded { .. } => {
                let open = calls.iter_mut().filter(|c| c.ended.is_none());
                open.for_each(|c| c.ended = Some(observation.at));
            }
            _ => {}
        }
    }
    Ok(calls)
}

/// What a call that runs commands was given, by its event. Hooks tell it in the delivery in which they
/// note HEAD before the call; where none did, it is looked for among all calls of the session.
pub(crate) fn command(
    tx: &mut dyn Transaction,
    session: SessionId,
    event: &str,
) -> Result<Option<String>, LedgerError> {
    let text = |entries: Vec<siglum_domain::fold::Entry>| {
        let mut of_call = entries.into_iter().map(|e| e.observation);
        of_call.find_map(|o| match o.fact {
            Fact::ToolStarted {
                input: Body::Text(text),
                ..
            } if o.event == event => Some(text.as_str().to_owned()),
            _ => None,
        })
    };
    let key = side_key("head", event, Side::Before);
    if let Some(seen) = tx.entry(session, Source::Hook, &key)? {
        let from = seen.sequence.saturating_sub(TOGETHER);
        if let Some(text) = text(tx.entries(session, from, 2 * TOGETHER as usize)?) {
            return Ok(Some(text));
        }
    }
    Ok(text(tx.entries_of_kind(
        session,
        "tool_started",
        WHOLE_LOG,
    )?))
}

/// A hook's matter with a name for the call that it speaks of.
pub(crate) fn named<'a>(
    tx: &mut dyn Transaction,
    session: SessionId,
    matter: &'a AgentMatter,
) -> Result<Cow<'a, AgentMatter>, LedgerError> {
    let side = |o: &&Observation| {
        let side = matches!(o.fact, Fact::ToolStarted { .. } | Fact::ToolEnded { .. });
        side && event::unnamed_parts(&o.event).is_some()
    };
    let Some(seen) = matter.observations.iter().find(side) else {
        return Ok(Cow::Borrowed(matter));
    };
    let Some((likeness, None)) = event::unnamed_parts(&seen.event) else {
        return Ok(Cow::Borrowed(matter));
    };
    let kind = Kind {
        session,
        likeness,
        at: seen.at,
    };
    let call = match seen.fact {
        Fact::ToolStarted { .. } => kind.started(tx)?,
        _ => kind.ended(tx)?,
    };
    let mut matter = matter.clone();
    let unnamed = event::unnamed(likeness);
    for observation in &mut matter.observations {
        if observation.event != unnamed {
            continue;
        }
        observation.key = match observation.fact {
            Fact::ToolStarted { .. } => start_key(likeness, call.number),
            Fact::ToolEnded { .. } => end_key(likeness, call.number),
            _ => observation.key.replace(&unnamed, &call.event),
        };
        observation.event.clone_from(&call.event);
    }
    Ok(Cow::Owned(matter))
}

fn start_key(likeness: &str, number: u64) -> String {
    format!("pre:{likeness}.{number}")
}

fn end_key(likeness: &str, number: u64) -> String {
    format!("post:{likeness}.{number}")
}

struct Call {
    number: u64,
    event: String,
}

/// The calls of a session that do the same, as seen from one moment.
struct Kind<'a> {
    session: SessionId,
    likeness: &'a str,
    at: Timestamp,
}

impl Kind<'_> {
    fn start(&self, tx: &mut dyn Transaction, number: u64) -> Result<Option<Sighted>, LedgerError> {
        tx.sighted(
            self.session,
            Source::Hook,
            &start_key(self.likeness, number),
        )
    }

    fn end(&self, tx: &mut dyn Transaction, number: u64) -> Result<Option<Sighted>, LedgerError> {
        tx.sighted(self.session, Source::Hook, &end_key(self.likeness, number))
    }

    /// The number of the last call that hooks told of.
    fn last(&self, tx: &mut dyn Transaction) -> Result<u64, LedgerError> {
        let mut is_there = |number| -> Result<bool, LedgerError> {
            Ok(self.start(tx, number)?.is_some() || self.end(tx, number)?.is_some())
        };
        let (mut there, mut beyond) = (0, 1);
        while is_there(beyond)? {
            (there, beyond) = (beyond, beyond * 2);
        }
        while beyond - there > 1 {
            let middle = there + (beyond - there) / 2;
            if is_there(middle)? {
                there = middle;
            } else {
                beyond = middle;
            }
        }
        Ok(there)
    }

    /// The call that starts now: one that is known already, one whose end came first, or a new one.
    fn started(&self, tx: &mut dyn Transaction) -> Result<Call, LedgerError> {
        let last = self.last(tx)?;
        let mut overtaken = None;
        for number in (1..=last).rev().take(ALIKE as usize) {
            match self.start(tx, number)? {
                Some(start) if start.at == self.at => return Ok(call(number, start)),
                Some(start) if start.at < self.at => break,
                Some(_) => {}
                None => {
                    let end = self.end(tx, number)?.filter(|end| end.at >= self.at);
                    overtaken = end.map(|end| call(number, end)).or(overtaken);
                }
            }
        }
        match overtaken {
            Some(call) => Ok(call),
            None => self.fresh(tx, last + 1),
        }
    }

    /// The call that ends now: one that is known to, the latest that started before and has no end,
    /// or one whose start did not come yet.
    fn ended(&self, tx: &mut dyn Transaction) -> Result<Call, LedgerError> {
        let last = self.last(tx)?;
        let mut open = None;
        for number in (1..=last).rev().take(ALIKE as usize) {
            match self.end(tx, number)? {
                Some(end) if end.at == self.at => return Ok(call(number, end)),
                Some(_) => {}
                None if open.is_none() => {
                    let start = self.start(tx, number)?.filter(|start| start.at <= self.at);
                    open = start.map(|start| call(number, start));
                }
                None => {}
            }
        }
        match open {
            Some(call) => Ok(call),
            None => self.fresh(tx, last + 1),
        }
    }

    fn fresh(&self, tx: &mut dyn Transaction, number: u64) -> Result<Call, LedgerError> {
        let event = match self.event_from_transcript(tx)? {
            Some(event) => event,
            None => event::tool(&format!("{}.{number}", self.likeness)),
        };
        Ok(Call { number, event })
    }

    /// The call of this kind that the transcript told of before any hook: it ran at this moment.
    fn event_from_transcript(
        &self,
        tx: &mut dyn Transaction,
    ) -> Result<Option<String>, LedgerError> {
        let Some(record) = tx.session(self.session)?.filter(|s| s.last_at > self.at) else {
            return Ok(None);
        };
        let entries = tx.entries(self.session, record.head.saturating_sub(LOOK_BACK), 0)?;
        let ours = event::tool(&format!("{}.", self.likeness));
        let mut known: Vec<&Observation> = entries.iter().map(|e| &e.observation).collect();
        known.retain(|o| o.event.starts_with(&ours));
        let any = |event: &str, fits: &dyn Fn(&Observation) -> bool| {
            known.iter().any(|o| o.event == event && fits(o))
        };
        let found = known.iter().find(|o| {
            let started = matches!(o.fact, Fact::ToolStarted { .. })
                && o.source == Source::Transcript
                && o.at <= self.at;
            let returned =
                |o: &Observation| matches!(o.fact, Fact::ToolEnded { .. }) && o.at >= self.at;
            started && any(&o.event, &returned) && !any(&o.event, &|o| o.source == Source::Hook)
        });
        Ok(found.map(|o| o.event.clone()))
    }

    /// The call that hooks saw starting, and that the transcript has not told of: the first one until
    /// `until`, else the last one before.
    fn event_from_hooks(
        &self,
        tx: &mut dyn Transaction,
        until: Timestamp,
    ) -> Result<Option<String>, LedgerError> {
        let mut found = None;
        for number in (1..=self.last(tx)?).rev() {
            let Some(start) = self.start(tx, number)? else {
                continue;
            };
            let before = start.at < self.at;
            if start.at < self.at.plus_millis(-BEFORE_MS) || before && found.is_some() {
                break;
            }
            let back = tx.sighted(self.session, Source::Transcript, &back_key(&start.event))?;
            if start.at > until || back.is_some() {
                continue;
            }
            found = Some(start.event);
            if before {
                break;
            }
        }
        Ok(found)
    }
}

fn call(number: u64, seen: Sighted) -> Call {
    Call {
        number,
        event: seen.event,
    }
}

fn back_key(event: &str) -> String {
    format!("back:{event}")
}

/// The name of a call that a transcript tells of, by the name that the reader gave it; `span` is when it was asked for, and
/// until when its hook had started at the latest. Other names stay.
pub(crate) fn name_of(
    tx: &mut dyn Transaction,
    session: SessionId,
    event: &str,
    span: (Timestamp, Timestamp),
) -> Result<Option<String>, LedgerError> {
    let Some((likeness, Some(id))) = event::unnamed_parts(event) else {
        return Ok(None);
    };
    let known = tx.sighted(session, Source::Transcript, &format!("call:{id}"))?;
    if let Some(known) = known {
        return Ok(Some(known.event));
    }
    let kind = Kind {
        session,
        likeness,
        at: span.0,
    };
    let seen = kind.event_from_hooks(tx, span.1)?;
    Ok(Some(seen.unwrap_or_else(|| {
        event::tool(&format!("{likeness}.{id}"))
    })))
}

/// The agent's name for the turn that a transcript speaks of, where it is not known by name: that of
/// the hook's prompt that came just before, unless that one was told already.
pub(crate) fn turn_of(
    tx: &mut dyn Transaction,
    session: SessionId,
    turn: &str,
    at: Timestamp,
) -> Result<Option<String>, LedgerError> {
    let Some(prompt) = event::unnamed_turn_prompt(turn) else {
        return Ok(Some(turn.to_owned()));
    };
    if let Some(prompt) = prompt {
        let known = tx.sighted(session, Source::Transcript, &event::prompt(prompt))?;
        if let Some(known) = known {
            return Ok(known.event.strip_prefix("prompt:").map(str::to_owned));
        }
    }
    let last_prompt = tx.last_prompt(session, at)?;
    let Some((_, sequence)) = last_prompt else {
        return Ok(prompt.map(str::to_owned));
    };
    let after = tx.entries(session, sequence.saturating_sub(1), LOOK_BACK as usize)?;
    let prompt_entry = after.first().filter(|e| e.sequence == sequence);
    let named = prompt_entry.and_then(|e| turn_in(&e.observation));
    let is_in_transcript = |name: &str| {
        after.iter().map(|e| &e.observation).any(|o| {
            o.source == Source::Transcript
                && matches!(o.fact, Fact::Prompt { .. })
                && turn_in(o).as_deref() == Some(name)
        })
    };
    Ok(match (prompt, named) {
        (Some(prompt), Some(name)) if is_in_transcript(&name) => Some(prompt.to_owned()),
        (_, Some(name)) => Some(name),
        (prompt, None) => prompt.map(str::to_owned),
    })
}

/// The name of the turn that a prompt began.
fn turn_in(prompt: &Observation) -> Option<String> {
    match (prompt.source, prompt.event.strip_prefix("prompt:")) {
        (_, Some(turn)) => Some(turn.to_owned()),
        (Source::Hook, None) => Some(prompt.key.clone()),
        _ => None,
    }
}
