//! Calls of the model, and what it was told of them.

use siglum_domain::NativeId;
use siglum_domain::observation::{Body, Fact, Outcome, ToolClass, event};
use siglum_domain::redact::Redactor;

use super::Reader;
use super::calls::Call;
use super::reader::{Reading, word};
use crate::codex::passage::content_text;
use crate::codex::wire::{Arguments, OldMetadata, OldOutput};
use crate::codex::{patch, tools};
use crate::json::Field;
use crate::mentions::{self, CommitOutput};
use crate::paths;
use crate::summary;
use crate::transcript::CommitMention;

/// In how many lines of an output the agent itself says how it ended.
const OWN_LINES: usize = 6;

impl Reader {
    pub(super) fn called(&mut self, line: &mut Reading<'_, '_>) {
        let payload = line.payload;
        let Some(id) = call_id(payload.call_id) else {
            return;
        };
        let by_kind = (payload.kind.text().as_deref() == Some("local_shell_call"))
            .then(|| tools::SHELL.to_owned());
        let name = by_kind.or_else(|| word(payload.name)).unwrap_or_default();
        let tool = tools::hook_name(&name).to_owned();
        let class = tools::class(&tool);
        let given = [payload.arguments, payload.input, payload.action]
            .into_iter()
            .find(|field| field.raw().is_some())
            .unwrap_or_default();
        let command = match class {
            ToolClass::Shell => command_of(given),
            ToolClass::Edit => patch_of(given),
            ToolClass::Agent | ToolClass::Other => given.text().map(|text| text.into_owned()),
        }
        .unwrap_or_default();
        let started = Started {
            id,
            tool,
            class,
            command,
        };
        self.started(line, started);
    }

    /// A call begins: as the model gave it, or as it is told afterwards.
    pub(super) fn started(&mut self, line: &mut Reading<'_, '_>, started: Started) {
        let Started {
            id,
            tool,
            class,
            command,
        } = started;
        let at = line.started_at().unwrap_or(self.last_at);
        let (input, path) = if class == ToolClass::Edit {
            let changes = patch::changes(&command);
            let summary = tools::summary(&command, &changes);
            let files = patch::files(&changes, self.cwd.as_deref());
            let path = match files.as_slice() {
                [file] => self.shown(&file.path, line.redactor),
                _ => None,
            };
            (Body::Text(line.redactor.redact(&summary)), path)
        } else {
            let input = match summary::is_kept(&command) {
                true if !command.is_empty() => Body::Text(line.redactor.redact(&command)),
                _ => self.passage(line),
            };
            (input, None)
        };
        let event = event::tool(&id);
        self.calls.begin(Call {
            event: event.clone(),
            class,
            commit_output: (class == ToolClass::Shell)
                .then(|| CommitOutput::from_command(&command))
                .flatten(),
            at: Some(at),
        });
        let fact = Fact::ToolStarted {
            tool,
            class,
            input,
            path,
        };
        self.push(line, at, (format!("{id}:call"), event), fact);
    }

    /// The path of a file, where the worktree is known.
    fn shown(&self, file: &std::path::Path, redactor: &Redactor) -> Option<String> {
        let root = self.worktree.as_deref()?;
        let path = paths::relative(file, Some(root));
        Some(redactor.redact_cow(&path.to_string_lossy()).into_owned())
    }

    /// The model is told what a tool returned.
    pub(super) fn returned(&mut self, line: &mut Reading<'_, '_>) {
        let payload = line.payload;
        let Some(id) = call_id(payload.call_id) else {
            return;
        };
        let event = event::tool(&id);
        let class = self.calls.find(&event).map(|call| call.class);
        let text = content_text(payload.output).unwrap_or_default();
        let (outcome, printed) = outcome_and_output(class, &text);
        self.mentions(line, &event, &printed);
        let output = Some(self.passage(line));
        let fact = Fact::ToolEnded {
            tool: String::new(),
            class: ToolClass::Other,
            outcome,
            output,
            duration_ms: None,
        };
        self.push(line, self.last_at, (format!("{id}:out"), event), fact);
    }

    /// The commits that the output of a call names, once for each call that names any.
    pub(super) fn mentions(&mut self, line: &mut Reading<'_, '_>, event: &str, output: &str) {
        let (owner, ended) = (self.session.clone(), self.last_at);
        let Some(call) = self.calls.find(event) else {
            return;
        };
        let Some(kind) = call.commit_output else {
            return;
        };
        let named = mentions::mentioned(output, kind);
        if named.is_empty() {
            return;
        }
        call.commit_output = None;
        let mention = |id: &str| CommitMention {
            owner: owner.clone(),
            copied: false,
            event: event.to_owned(),
            abbreviated: id.to_owned(),
            started: call.at,
            ended,
        };
        line.out.commits.extend(named.into_iter().map(mention));
    }
}

/// A call as it begins.
pub(super) struct Started {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) class: ToolClass,
    /// The command, the patch, or whatever else it was given.
    pub(super) command: String,
}

/// The name of a call, as hooks take it.
pub(super) fn call_id(field: Field<'_>) -> Option<String> {
    let id = NativeId::new(field.text()?).ok()?;
    Some(id.as_str().to_owned())
}

/// The command that a shell tool is given: as JSON in a string, or as an object.
fn command_of(given: Field<'_>) -> Option<String> {
    let text = given.text();
    let arguments: Arguments<'_> = match &text {
        Some(text) => serde_json::from_str(text).ok()?,
        None => given.object(),
    };
    let candidates = [arguments.cmd, arguments.command];
    candidates.into_iter().find_map(script)
}

/// A command line, or what a shell is told to run.
pub(super) fn script(command: Field<'_>) -> Option<String> {
    if let Some(line) = command.text() {
        return Some(line.into_owned());
    }
    let words: Vec<String> = command
        .items()
        .into_iter()
        .filter_map(|word| Some(word.text()?.into_owned()))
        .collect();
    match words.as_slice() {
        [] => None,
        [_, flag, script] if flag.starts_with('-') && flag.ends_with('c') => Some(script.clone()),
        words => Some(words.join(" ")),
    }
}

/// The patch that the edit tool is given: itself, or as JSON in a string.
fn patch_of(given: Field<'_>) -> Option<String> {
    let text = given.text()?;
    if text.trim_start().starts_with('{') {
        let arguments: crate::codex::wire::Payload<'_> = serde_json::from_str(&text).ok()?;
        return arguments.input.text().map(|text| text.into_owned());
    }
    Some(text.into_owned())
}

/// How a call ended and what it said, by what the model was told.
fn outcome_and_output(class: Option<ToolClass>, text: &str) -> (Outcome, String) {
    if !matches!(class, Some(ToolClass::Shell | ToolClass::Edit)) {
        return (Outcome::Ok, text.to_owned());
    }
    if let Ok(old) = serde_json::from_str::<OldOutput<'_>>(text)
        && let Some(output) = old.output.text()
    {
        let code = old.metadata.object::<OldMetadata<'_>>().exit_code;
        return (by_code(code.raw()), output.into_owned());
    }
    let code = text.lines().take(OWN_LINES).find_map(|line| {
        let code = line.strip_prefix("Process exited with code ");
        code.or_else(|| line.strip_prefix("Exit code: "))
    });
    let refused = class == Some(ToolClass::Edit) && code.is_none();
    let outcome = if refused {
        Outcome::Failed
    } else {
        by_code(code)
    };
    (outcome, text.to_owned())
}

/// A command that is still running has no code yet.
pub(super) fn by_code(code: Option<&str>) -> Outcome {
    match code.map(str::trim) {
        None | Some("0") => Outcome::Ok,
        Some(_) => Outcome::Failed,
    }
}
