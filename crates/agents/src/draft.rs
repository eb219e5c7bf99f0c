//! The observations of one payload in the making: what all agents' payloads have in common.
//!
//! The payload stays where it is: fields are looked at only if they are kept, and those above
//! [`BODY_LIMIT`] not even then.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use siglum_domain::NativeId;
use siglum_domain::observation::{Body, Fact, Observation, Side, Source, event};
use siglum_domain::redact::Redactor;

use crate::hook::{
    BODY_LIMIT, Boundary, Declined, EditHint, HookCall, ReduceError, Reduced, WriteHint,
};
use crate::json::Field;
use crate::paths;

/// Longest word (a tool's name, a model, a reason) that is kept, in characters.
const WORD_LIMIT: usize = 200;

/// What comes of one payload.
pub(crate) struct Draft<'a> {
    pub(crate) call: &'a HookCall<'a>,
    /// The agent's name for the event that the hook was called for.
    pub(crate) event: Cow<'a, str>,
    /// The agent's name for the turn.
    pub(crate) turn: Option<String>,
    pub(crate) subagent: Option<String>,
    pub(crate) out: Reduced,
}

/// Reads the fields of a payload.
///
/// # Errors
/// It is no JSON, or no object.
pub(crate) fn parse<'a, T: serde::Deserialize<'a>>(payload: &'a [u8]) -> Result<T, ReduceError> {
    let not_json = || ReduceError::NotJson {
        bytes: payload.len(),
    };
    let text = std::str::from_utf8(payload).map_err(|_| not_json())?;
    match serde_json::from_str(text) {
        Ok(hook) => Ok(hook),
        Err(error) if error.is_data() => Err(ReduceError::NoSession),
        Err(_) => Err(not_json()),
    }
}

/// A short text of an agent's: no control characters, not long.
pub(crate) fn word(text: &str) -> String {
    let plain: String = text.chars().filter(|c| !c.is_control()).collect();
    if plain.chars().nth(WORD_LIMIT).is_none() {
        return plain;
    }
    // Before it is cut: the head of a secret is not known for one any more.
    let clean = Redactor::shared().redact_cow(&plain);
    clean.chars().take(WORD_LIMIT).collect()
}

impl<'a> Draft<'a> {
    /// A draft for the session that the payload names.
    ///
    /// # Errors
    /// It names none, or in a way that no session is named.
    pub(crate) fn new(
        call: &'a HookCall<'a>,
        session: Field<'a>,
        event: Field<'a>,
    ) -> Result<Self, ReduceError> {
        let native = session
            .text()
            .filter(|id| !id.trim().is_empty())
            .ok_or(ReduceError::NoSession)?;
        let native = NativeId::new(native).map_err(ReduceError::BadSessionId)?;
        let event = event.text().unwrap_or_default();
        Ok(Self::for_session(call, native, event))
    }

    /// A draft for a session of this name.
    pub(crate) fn for_session(
        call: &'a HookCall<'a>,
        native: NativeId,
        event: Cow<'a, str>,
    ) -> Self {
        let out = Reduced {
            native,
            parent: None,
            thread: None,
            cwd: None,
            transcript: None,
            transcript_of: None,
            declines: Vec::new(),
            observations: Vec::new(),
            edits: Vec::new(),
            head: None,
            boundary: Boundary::Within,
        };
        Self {
            call,
            event,
            turn: None,
            subagent: None,
            out,
        }
    }

    /// An id of the agent's, which follows the grammar of ids or is dropped.
    pub(crate) fn id(&mut self, field: Field<'_>, reason: &'static str) -> Option<String> {
        let text = field.text().filter(|text| !text.is_empty())?;
        match NativeId::new(text) {
            Ok(id) => Some(id.as_str().to_owned()),
            Err(error) => {
                self.out.declines.push(Declined {
                    reason,
                    detail: error.to_string(),
                });
                None
            }
        }
    }

    /// Notes that something was dropped.
    pub(crate) fn decline(&mut self, reason: &'static str, detail: &str) {
        let detail: String = detail.chars().filter(|c| !c.is_control()).collect();
        let detail = self.call.redactor.redact_cow(&detail);
        let detail = detail.chars().take(300).collect();
        self.out.declines.push(Declined { reason, detail });
    }

    /// The directory that the agent works in, and the transcript, which lies below `root` and has
    /// this ending.
    pub(crate) fn place(
        &mut self,
        cwd: Field<'_>,
        transcript: Field<'_>,
        (root, ending): (&Path, &str),
    ) {
        if let Some(cwd) = cwd.text() {
            let usable = cwd.starts_with('/') || cwd.get(1..3) == Some(":\\");
            if usable && cwd.len() <= 4096 && !cwd.chars().any(char::is_control) {
                self.out.cwd = Some(cwd.into_owned());
            } else {
                self.decline("bad_cwd", &cwd);
            }
        }
        if let Some(text) = transcript.text().filter(|text| !text.is_empty()) {
            self.out.transcript = paths::accept_below(root, ending, &text);
            if self.out.transcript.is_none() {
                self.decline("transcript_outside", &text);
            }
        }
    }

    pub(crate) fn push(&mut self, key: String, event: String, fact: Fact) {
        self.out.observations.push(Observation {
            source: Source::Hook,
            key,
            event,
            at: self.call.now,
            turn: self.turn.clone(),
            subagent: self.subagent.clone(),
            fact,
        });
    }

    /// Adds that a call started a sub-agent, if its event has the name of one.
    pub(crate) fn spawned(&mut self, agent: String, agent_type: String, event: &str) {
        let Some(call) = event::call_of(event).map(str::to_owned) else {
            return;
        };
        let fact = Fact::SubagentStarted {
            agent_type,
            call: Some(call),
        };
        self.push(format!("spawned:{agent}"), event::subagent(&agent), fact);
        if let Some(seen) = self.out.observations.last_mut() {
            seen.subagent = Some(agent);
        }
    }

    /// Adds an event that there is no other word for, by the agent's name for it. What it says is not looked at; a name of
    /// another form than agents give is no event. It is noted once in a session, however often it comes.
    pub(crate) fn push_other(&mut self) {
        let name = &*self.event;
        let is_name =
            (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric());
        if !is_name || self.call.redactor.redact_cow(name) != name {
            return;
        }
        let name = name.to_owned();
        let key = format!("hook:other:{name}");
        self.push(key.clone(), key, Fact::Other { name });
    }

    /// The key of an event that has no name of its own.
    pub(crate) fn delivery_key(&self) -> String {
        format!("hook:{}:{}", self.call.delivery, word(&self.event))
    }

    /// A field's text, if it is small enough to be looked at.
    pub(crate) fn body(&self, field: Field<'_>) -> Option<Body> {
        let raw = field.raw()?;
        if raw.len() > BODY_LIMIT {
            return Some(self.withheld(raw));
        }
        let text = field.text().unwrap_or(Cow::Borrowed(raw));
        Some(Body::Text(self.call.redactor.redact(&text)))
    }

    /// Stands for text that is too large to be looked at.
    pub(crate) fn withheld(&self, raw: &str) -> Body {
        let digest = blake3::keyed_hash(self.call.digest_key, raw.as_bytes())
            .to_hex()
            .to_string();
        Body::Withheld {
            bytes: raw.len() as u64,
            digest,
        }
    }

    /// A text that was made here.
    pub(crate) fn text(&self, text: &str) -> Body {
        Body::Text(self.call.redactor.redact(text))
    }

    /// A field's short text.
    pub(crate) fn word(&self, field: Field<'_>) -> Option<String> {
        field
            .text()
            .filter(|text| !text.is_empty())
            .map(|text| self.call.redactor.redact_cow(&word(&text)).into_owned())
    }

    /// Adds what the tool says it wrote to the capture that was noted last.
    pub(crate) fn note_write(&mut self, write: Option<WriteHint>) {
        if let Some(edit) = self.out.edits.last_mut() {
            edit.write = write;
        }
    }

    /// Notes that the content of a file is to be captured on this side of a call; returns the path
    /// as it is shown.
    pub(crate) fn capture(&mut self, event: &str, path: &Path, side: Side) -> String {
        let path: PathBuf = paths::relative(path, self.call.worktree);
        let shown = path.to_string_lossy();
        let shown = self.call.redactor.redact_cow(&shown).into_owned();
        self.out.edits.push(EditHint {
            event: event.to_owned(),
            path,
            side,
            held_by: None,
            write: None,
        });
        shown
    }
}
