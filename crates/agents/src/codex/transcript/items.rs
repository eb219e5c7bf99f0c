//! What came of calls: commands that ran, files that were changed.

use std::path::{Path, PathBuf};

use siglum_domain::Timestamp;
use siglum_domain::observation::{Fact, Outcome, ToolClass, event};

use super::Reader;
use super::contents;
use super::reader::Reading;
use super::results::{Started, by_code, call_id, script};
use crate::codex::meta::native;
use crate::codex::tools;
use crate::codex::wire::{FileChange, Item};
use crate::json::{Field, fields};
use crate::transcript::TranscriptEdit;

/// Longest side of a change, in bytes.
const SIDE_LIMIT: usize = 8 << 20;
/// Most sub-agents of one call.
const AGENTS: usize = 16;
/// Most files of one call.
const FILES: usize = 1000;

fields! {
    /// Anything with an id.
    Named { id: "id" }
}

impl Reading<'_, '_> {
    /// When what this line tells of began, if it says so.
    pub(super) fn started_at(&self) -> Option<Timestamp> {
        let millis = self.payload.started_ms.number()?;
        let millis = i64::try_from(millis).ok()?;
        let latest = i64::MAX / 1_000_000;
        (millis <= latest).then(|| Timestamp::from_nanos(millis * 1_000_000))
    }
}

impl Reader {
    pub(super) fn done(&mut self, line: &mut Reading<'_, '_>) {
        let item: Item<'_> = line.payload.item.object();
        match item.kind.text().as_deref() {
            Some("UserMessage") => self.prompt(line, "UserMessage", item.content),
            Some("CommandExecution") => self.ran(line, &item),
            Some("FileChange") => self.changed(line, &item),
            Some("CollabAgentToolCall") => self.spawned(line, &item),
            _ => {}
        }
    }

    /// A command ran. Where the model wrote a program that ran it, its call is told here alone.
    fn ran(&mut self, line: &mut Reading<'_, '_>, item: &Item<'_>) {
        let Some(id) = call_id(item.id) else {
            return;
        };
        let event = event::tool(&id);
        let unknown = self.calls.find(&event).is_none();
        if unknown {
            let started = Started {
                id: id.clone(),
                tool: tools::SHELL.to_owned(),
                class: ToolClass::Shell,
                command: script(item.command).unwrap_or_default(),
            };
            self.started(line, started);
        }
        self.mentions(line, &event, &item.output.text().unwrap_or_default());
        let output = unknown.then(|| self.passage(line));
        let outcome = outcome(item, by_code(item.exit_code.raw()));
        self.ended(line, (id, event), ToolClass::Shell, outcome, output);
    }

    fn changed(&mut self, line: &mut Reading<'_, '_>, item: &Item<'_>) {
        let Some(id) = call_id(item.id) else {
            return;
        };
        let event = event::tool(&id);
        let changes = item.changes.entries();
        if self.calls.find(&event).is_none() {
            let started = Started {
                id: id.clone(),
                tool: tools::EDIT.to_owned(),
                class: ToolClass::Edit,
                command: changes.iter().map(head).collect(),
            };
            self.started(line, started);
        }
        let outcome = outcome(item, Outcome::Ok);
        if outcome == Outcome::Ok {
            for (path, change) in changes.into_iter().take(FILES) {
                let edit = self.edit(line, &event, PathBuf::from(path), change.object());
                line.out.edits.extend(edit);
            }
        }
        self.ended(line, (id, event), ToolClass::Edit, outcome, None);
    }

    fn spawned(&self, line: &mut Reading<'_, '_>, item: &Item<'_>) {
        let starts = item.tool.text().as_deref() == Some("spawn_agent");
        let Some(call) = call_id(item.id).filter(|_| starts) else {
            return;
        };
        let at = line.started_at().unwrap_or(self.last_at);
        for thread in item.receivers.items().into_iter().take(AGENTS) {
            let Some(agent) = native(thread).map(|id| id.as_str().to_owned()) else {
                continue;
            };
            let names = (format!("{call}:agent:{agent}"), event::subagent(&agent));
            let fact = Fact::SubagentStarted {
                agent_type: String::new(),
                call: Some(call.clone()),
            };
            self.push_in(Some(agent), line, at, names, fact);
        }
    }

    fn ended(
        &self,
        line: &mut Reading<'_, '_>,
        (id, event): (String, String),
        class: ToolClass,
        outcome: Outcome,
        output: Option<siglum_domain::observation::Body>,
    ) {
        let fact = Fact::ToolEnded {
            tool: String::new(),
            class,
            outcome,
            output,
            duration_ms: None,
        };
        self.push(line, self.last_at, (format!("{id}:done"), event), fact);
    }

    /// The change of one file, where both sides of it are known.
    fn edit(
        &mut self,
        line: &Reading<'_, '_>,
        event: &str,
        path: PathBuf,
        change: FileChange<'_>,
    ) -> Option<TranscriptEdit> {
        let known = self.contents.take(&path);
        let (before, after) = match change.kind.text()?.as_ref() {
            "add" => (known, change.content.exact()?.into_owned()),
            "update" => {
                let (before, after) = self.patched(&path, known, &change.diff.exact()?)?;
                (Some(before), after)
            }
            _ => return None,
        };
        let to = change
            .moved
            .exact()
            .map_or(path, |to| PathBuf::from(to.as_ref()));
        if after.len() > SIDE_LIMIT || !usable(&to) {
            return None;
        }
        self.contents.put(&to, &after);
        Some(TranscriptEdit {
            owner: self.session.clone(),
            copied: false,
            event: event.to_owned(),
            path: to,
            before: before.map(String::into_bytes),
            after: after.into_bytes(),
            at: self.last_at,
            turn: self.turn_of(&line.payload),
            subagent: self.subagent.clone(),
        })
    }

    /// A file before and after a patch: as the session left it, else as it was committed, if the patch fits.
    fn patched(&self, path: &Path, known: Option<String>, diff: &str) -> Option<(String, String)> {
        let fits = |before: String| {
            let after = contents::patched(&before, diff)?;
            Some((before, after))
        };
        known.and_then(fits).or_else(|| {
            let began_at = self.began_at.as_deref();
            let committed = self.committed.as_ref()?;
            let mut contents = committed.contents(path, self.last_at, began_at).into_iter();
            contents.find_map(|bytes| fits(String::from_utf8(bytes).ok()?))
        })
    }
}

fn usable(path: &Path) -> bool {
    let length = path.as_os_str().len();
    let plain = path.to_str().is_some_and(|text| !text.contains('\0'));
    plain && (1..=4096).contains(&length)
}

/// The line of a patch that names a change.
fn head((path, change): &(String, Field<'_>)) -> String {
    let change: FileChange<'_> = change.object();
    let path = path.replace(['\n', '\r'], " ");
    let line = match change.kind.text().as_deref() {
        Some("add") => format!("*** Add File: {path}\n"),
        Some("delete") => format!("*** Delete File: {path}\n"),
        _ => format!("*** Update File: {path}\n"),
    };
    match change.moved.text() {
        Some(to) => format!("{line}*** Move to: {}\n", to.replace(['\n', '\r'], " ")),
        None => line,
    }
}

fn outcome(item: &Item<'_>, otherwise: Outcome) -> Outcome {
    match item.status.text().as_deref() {
        Some("failed") => Outcome::Failed,
        Some("declined") => Outcome::Denied,
        _ => otherwise,
    }
}
