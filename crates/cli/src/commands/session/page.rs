//! A session as people read it: a head, then turn by turn.

use siglum_domain::fold::{MessageView, ToolCall, TurnView};
use siglum_domain::link::Link;
use siglum_domain::observation::{Body, Outcome, Role, Tokens, ToolClass};
use siglum_engine::World;
use siglum_engine::driven::launch;
use siglum_engine::record::passages::Passages;
use siglum_engine::views::history::{History, Turn, TurnState};
use siglum_ledger::{
    Forgotten, LedgerError, OwnWorktree, Relation, SessionRecord, StatementRecord,
};

use super::changes::changes;
use super::list::style;
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Style, Ui};

/// How many lines of a prompt or of last words are shown where not all is asked for.
const LINES: usize = 8;
/// The same of a prompt that the agent wrote itself.
const SYNTHETIC: usize = 2;
/// How many tool calls of a turn are shown where not all is asked for.
const CALLS: usize = 40;
/// How many lines of what a command printed, and of what an edit changed, are shown.
const OUTPUT: usize = 3;
const CHANGED: usize = 8;
/// How many children are named.
const CHILDREN: usize = 8;

/// Prints a session.
pub fn print(
    ui: &Ui,
    (history, earlier): (&History, usize),
    full: bool,
    world: &World<'_>,
    passages: &mut Passages<'_>,
) -> Result<(), CommandError> {
    head(ui, history)?;
    if earlier > 0 {
        let text = format!(
            "… {} omitted; pass `--limit 0` to show all.",
            ui::plural(earlier as u64, "turn")
        );
        ui.line("")?;
        ui.line(ui.paint(Style::Dim, text))?;
    }
    if history.turns.is_empty() {
        ui.status("This session has no recorded turns.");
    }
    let mut page = Page {
        ui,
        full,
        open: false,
        world,
        passages,
    };
    for turn in &history.turns {
        ui.line("")?;
        page.turn(turn)?;
    }
    Ok(())
}

fn field(ui: &Ui, word: &str, text: impl AsRef<str>) -> Result<(), CommandError> {
    let text = text.as_ref();
    if text.is_empty() {
        return Ok(());
    }
    ui.line(format!(
        "{}  {text}",
        ui.paint(Style::Heading, format!("{word:<12}"))
    ))
}

/// What was erased, in words.
pub fn words(forgotten: Forgotten) -> String {
    let what = match forgotten {
        Forgotten::Parts { .. } => "parts of the messages",
        Forgotten::Whole { .. } => "messages and tool calls",
    };
    format!("{what} until {}", ui::when(forgotten.at()))
}

fn head(ui: &Ui, history: &History) -> Result<(), CommandError> {
    let (card, record) = (&history.card, &history.card.record);
    let title = card.title.as_ref().map_or_else(String::new, |t| {
        let room = ui.width().saturating_sub(record.agent_word().len() + 13);
        format!("  \"{}\"", ui::one_line(t, room.clamp(20, 200)))
    });
    ui.line(format!(
        "{} {}{title}",
        ui.paint(Style::Agent, record.agent_word()),
        ui.paint(Style::Id, record.id.short())
    ))?;
    ui.line("")?;
    field(ui, "Session", record.id.to_string())?;
    field(ui, "Conversation", record.conversation.as_str())?;
    let natives: Vec<&str> = card.natives.iter().map(|n| n.as_str()).collect();
    if natives != [record.conversation.as_str()] {
        field(ui, "Native ids", natives.join(", "))?;
    }
    state(ui, history)?;
    if history.replica {
        field(ui, "Replica", format!("home is {}", record.home))?;
    }
    if let Some(at) = record.archived_at {
        field(ui, "Archived", ui::when(at))?;
    }
    if let Some(why) = &record.quarantined {
        let text = ui.paint(Style::Warning, ui::one_line(why, 300));
        field(ui, "Quarantined", text)?;
    }
    if let Some(forgotten) = record.forgotten {
        field(ui, "Forgotten", words(forgotten))?;
    }
    field(ui, "Directory", directory(record))?;
    launched(ui, history)?;
    family(ui, history)?;
    let link = |(link, from): &(Link, StatementRecord)| format!("{link} ({})", from.source);
    let links: Vec<String> = history.attached.iter().map(link).collect();
    field(ui, "Links", links.join(", "))?;
    for left_out in &history.left_out {
        let text = ui.paint(Style::Warning, ui::one_line(left_out, 300));
        field(ui, "Ignored", text)?;
    }
    let models: Vec<&str> = history.view.models.iter().map(String::as_str).collect();
    field(ui, "Models", models.join(", "))?;
    field(ui, "Tokens", cost(history.view.tokens))?;
    let sealed = if record.sealed == record.head {
        format!(
            "all {}",
            ui::plural(record.head, "entry").replace("entrys", "entries")
        )
    } else {
        format!(
            "{} of {} entries",
            ui::count(record.sealed),
            ui::count(record.head)
        )
    };
    field(ui, "Sealed", sealed)?;
    field(ui, "Resume", card.resume.as_deref().unwrap_or_default())
}

fn state(ui: &Ui, history: &History) -> Result<(), CommandError> {
    let record = &history.card.record;
    let stand = history.listed.stand;
    let word = ui.paint(style(stand), stand.word());
    let ended = record
        .ended_at
        .map_or_else(String::new, |at| format!(" on {}", ui::when(at)));
    field(ui, "State", format!("{word}{ended}"))?;
    field(ui, "Started", ui::when(record.created_at))?;
    field(ui, "Last seen", ui::ago(record.last_at, clock::now()))
}

/// How it was launched, how that ended, and what became of the checkout that was made for it.
fn launched(ui: &Ui, history: &History) -> Result<(), CommandError> {
    let Some(standing) = &history.launch else {
        return Ok(());
    };
    let ended = match &standing.end {
        Some((end, _)) => launch::words(end),
        None => "not ended".to_owned(),
    };
    let (program, by) = (ui::one_line(&standing.launch.program, 60), &standing.by);
    field(ui, "Launched", format!("{program} by {by}: {ended}"))?;
    let Some(path) = &standing.launch.worktree else {
        return Ok(());
    };
    let state = match &standing.worktree {
        Some(OwnWorktree::Removed) => "removed without loss".to_owned(),
        Some(OwnWorktree::Kept { reason, snapshot }) => {
            let kept = snapshot.as_ref();
            let kept = kept.map(|s| format!("; uncommitted changes are in {}", s.reference));
            let text = format!("kept: {reason}{}", kept.unwrap_or_default());
            ui.paint(Style::Warning, text)
        }
        None if standing.end.is_some() => "left unchanged".to_owned(),
        None => "in use".to_owned(),
    };
    let path = Cx::tilde(std::path::Path::new(path));
    field(ui, "Worktree", format!("{path} ({state})"))
}

fn directory(record: &SessionRecord) -> String {
    let Some(cwd) = record.cwd.as_ref().or(record.worktree.as_ref()) else {
        return String::new();
    };
    Cx::tilde(std::path::Path::new(cwd))
}

fn family(ui: &Ui, history: &History) -> Result<(), CommandError> {
    if let Some((parent, how)) = &history.parent {
        let title = parent.title.as_deref().unwrap_or_default();
        let origin = match history.card.record.parent_at {
            Some(entry) => format!("{} at entry {entry}", how.as_str()),
            None => how.as_str().to_owned(),
        };
        let text = format!(
            "{} of {} {}  {}",
            origin,
            ui.paint(Style::Agent, parent.record.agent_word()),
            ui.paint(Style::Id, parent.record.id.short()),
            ui::one_line(title, 50)
        );
        field(ui, "Parent", text.trim_end())?;
    }
    let child = |(record, how): &(SessionRecord, Relation)| {
        format!(
            "{} ({})",
            ui.paint(Style::Id, record.id.short()),
            how.as_str()
        )
    };
    let mut children: Vec<String> = history.children.iter().take(CHILDREN).map(child).collect();
    if history.children.len() > CHILDREN {
        children.push(format!("{} more", history.children.len() - CHILDREN));
    }
    field(ui, "Children", children.join(", "))?;
    let subagents = history.view.subagents.len() as u64;
    let text = (subagents > 0).then(|| ui::count(subagents));
    field(ui, "Sub-agents", text.unwrap_or_default())
}

/// The texts of the parts of a message, those that are stored.
pub fn message_text(
    message: &MessageView,
    passages: &mut Passages<'_>,
) -> Result<String, LedgerError> {
    let mut texts = Vec::new();
    for part in &message.parts {
        texts.extend(passages.text(part)?.filter(|t| !t.trim().is_empty()));
    }
    Ok(texts.join("\n"))
}

/// One step of a turn.
pub enum Step<'a> {
    Call(&'a ToolCall),
    Message(&'a MessageView),
}

/// Messages and calls in the order of time.
pub fn steps(turn: &TurnView) -> Vec<Step<'_>> {
    let calls = turn.tools.iter();
    let messages = turn.messages.iter();
    let mut steps: Vec<_> = messages
        .map(|m| (Some(m.at), 0, Step::Message(m)))
        .chain(calls.map(|c| (c.started.or(c.ended), 1, Step::Call(c))))
        .collect();
    steps.sort_by_key(|(at, rank, _)| (*at, *rank));
    steps.into_iter().map(|(_, _, step)| step).collect()
}

/// What printing turns needs.
struct Page<'a, 'b> {
    ui: &'a Ui,
    full: bool,
    /// Whether the turn at hand is open.
    open: bool,
    world: &'a World<'a>,
    passages: &'a mut Passages<'b>,
}

impl Page<'_, '_> {
    fn width(&self) -> usize {
        self.ui.width().saturating_sub(4).clamp(30, 100)
    }

    fn turn(&mut self, turn: &Turn) -> Result<(), CommandError> {
        self.open = turn.state == TurnState::Open;
        self.turn_head(turn)?;
        self.prompt(turn)?;
        if turn.view.compactions > 0 {
            self.ui
                .line(self.ui.paint(Style::Dim, "    the context was compacted"))?;
        }
        if self.full {
            self.steps(turn)?;
        } else {
            for call in turn.view.tools.iter().take(CALLS) {
                self.call(call)?;
                self.below(call)?;
            }
            if turn.view.tools.len() > CALLS {
                let more = (turn.view.tools.len() - CALLS) as u64;
                let more = ui::counted(more, "more call", "more calls");
                let text = format!("    … {more}; pass `--full` to show all");
                self.ui.line(self.ui.paint(Style::Dim, text))?;
            }
        }
        self.last_words(turn)?;
        if let Some(failure) = &turn.view.failure {
            let text = format!("    failed: {failure}");
            self.ui.line(self.ui.paint(Style::Warning, text))?;
        }
        for made in &turn.commits {
            let subject = made.subject.as_deref().unwrap_or("(not read yet)");
            let verdict = made.verdict.to_string();
            let room = self.width().saturating_sub(21 + verdict.len());
            self.ui.line(format!(
                "  {} {}  {}  [{}]",
                self.ui.paint(Style::Heading, "commit"),
                self.ui.paint(Style::Id, made.commit.short()),
                ui::one_line(subject, room),
                self.ui.paint(Style::for_verdict(made.verdict), verdict)
            ))?;
        }
        Ok(())
    }

    fn turn_head(&self, turn: &Turn) -> Result<(), CommandError> {
        let ui = self.ui;
        let name = if turn.number == 0 {
            "Outside of turns".to_owned()
        } else {
            format!("Turn {}", turn.number)
        };
        let opened = turn.view.opened.map(ui::when).unwrap_or_default();
        let look = match turn.state {
            TurnState::Open => Style::Added,
            TurnState::Broken | TurnState::Interrupted | TurnState::Decided => Style::Warning,
            TurnState::Unsealed | TurnState::Sealed => Style::Dim,
        };
        let cost = match cost(turn.view.tokens) {
            text if text.is_empty() => text,
            text => ui.paint(Style::Dim, format!("  {text}")),
        };
        ui.line(format!(
            "{}  {}  {}{cost}",
            ui.paint(Style::Heading, name),
            ui.paint(Style::Time, opened),
            ui.paint(look, turn.state.word())
        ))
    }

    /// The lines of a text behind a mark, `most` of them unless all is asked for.
    fn marked(
        &self,
        mark: &str,
        text: &str,
        most: usize,
        look: Option<Style>,
    ) -> Result<(), CommandError> {
        let lines = ui::wrap(text.trim(), self.width());
        let most = if self.full { usize::MAX } else { most };
        for (at, line) in lines.iter().take(most).enumerate() {
            let blank = " ".repeat(mark.len());
            let mark = if at == 0 { mark } else { &blank };
            let line = look.map_or_else(|| line.clone(), |look| self.ui.paint(look, line));
            self.ui.line(format!("  {mark} {line}").trim_end())?;
        }
        if lines.len() > most {
            let more = ui::counted((lines.len() - most) as u64, "more line", "more lines");
            let text = format!("    … {more}; pass `--full` to show all");
            self.ui.line(self.ui.paint(Style::Dim, text))?;
        }
        Ok(())
    }

    fn prompt(&mut self, turn: &Turn) -> Result<(), CommandError> {
        let Some(prompt) = &turn.view.prompt else {
            return Ok(());
        };
        let (look, most) = if turn.view.synthetic {
            (Some(Style::Dim), SYNTHETIC)
        } else {
            (None, LINES)
        };
        match self.passages.text(prompt)? {
            Some(text) => self.marked(">", &text, most, look),
            None => self.marked(">", &elsewhere(prompt), most, Some(Style::Dim)),
        }
    }

    fn last_words(&mut self, turn: &Turn) -> Result<(), CommandError> {
        let Some(last) = &turn.view.last_message else {
            return Ok(());
        };
        let Some(text) = self.passages.text(last)? else {
            return Ok(());
        };
        // With all messages shown, the last words were among them.
        let has_answer = turn.view.messages.iter().any(|m| m.role == Role::Assistant);
        if self.full && has_answer {
            return Ok(());
        }
        self.marked("<", &text, LINES, None)
    }

    fn steps(&mut self, turn: &Turn) -> Result<(), CommandError> {
        for step in steps(&turn.view) {
            match step {
                Step::Call(call) => {
                    self.call(call)?;
                    self.below(call)?;
                }
                Step::Message(message) => {
                    let text = message_text(message, self.passages)?;
                    if text.is_empty() {
                        continue;
                    }
                    let mark = match (message.role, &message.subagent) {
                        (Role::User, None) => ">",
                        (Role::Assistant, None) => "<",
                        (Role::User, Some(_)) => "  >",
                        (Role::Assistant, Some(_)) => "  <",
                    };
                    let look = message.subagent.as_ref().map(|_| Style::Dim);
                    self.marked(mark, &text, LINES, look)?;
                }
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &ToolCall) -> Result<(), CommandError> {
        let ended = self.ended(call)?;
        let inner = if call.subagent.is_some() {
            "    "
        } else {
            "  "
        };
        let room = self
            .width()
            .saturating_sub(inner.len() + call.tool.len() + ended.len());
        let what = what(call);
        let what = if self.full {
            ui::one_line(&what, usize::MAX)
        } else {
            ui::one_line(&what, room.max(20))
        };
        let line = format!(
            "  {inner}{} {what}{}",
            self.ui.paint(Style::Agent, &call.tool),
            self.ui.paint(Style::Removed, ended)
        );
        self.ui.line(line.trim_end())
    }

    /// How a call ended, where that is not "well".
    fn ended(&mut self, call: &ToolCall) -> Result<String, CommandError> {
        let word = match call.outcome {
            Some(Outcome::Ok) => return Ok(String::new()),
            None if self.open => return Ok("  [running]".to_owned()),
            None => return Ok("  [no result]".to_owned()),
            Some(Outcome::Failed) => "failed",
            Some(Outcome::Denied) => "denied",
        };
        let output = match &call.output {
            Some(output) => self.passages.text(output)?.unwrap_or_default(),
            None => String::new(),
        };
        let first = output.lines().find(|l| !l.trim().is_empty());
        Ok(match first {
            Some(line) => format!("  [{word}: {}]", ui::one_line(line, self.width() / 2)),
            None => format!("  [{word}]"),
        })
    }

    /// What stands below a call: what it changed in files, and what it printed. Where not all is asked for, the first
    /// lines of that which says most.
    fn below(&mut self, call: &ToolCall) -> Result<(), CommandError> {
        let changes = changes(self.world, call);
        for change in &changes {
            if changes.len() > 1 {
                let path = format!("      {}", ui::clipped(&change.path, self.width()));
                self.ui.line(self.ui.paint(Style::Dim, path))?;
            }
            let lines = change.lines.iter().map(String::as_str);
            self.folded(lines, CHANGED, |line| match line.chars().next() {
                Some('+') => Style::Added,
                Some('-') => Style::Removed,
                _ => Style::Dim,
            })?;
        }
        let Some(output) = &call.output else {
            return Ok(());
        };
        let is_told = matches!(call.outcome, Some(Outcome::Failed | Outcome::Denied));
        if !self.full && (call.class != ToolClass::Shell || is_told) {
            return Ok(());
        }
        let text = match self.passages.text(output)? {
            Some(text) => text,
            None if self.full => elsewhere(output),
            None => return Ok(()),
        };
        self.folded(text.trim_end().lines(), OUTPUT, |_| Style::Dim)
    }

    /// Lines below a call, `most` of them unless all is asked for.
    fn folded<'l>(
        &self,
        lines: impl Iterator<Item = &'l str> + Clone,
        most: usize,
        look: impl Fn(&str) -> Style,
    ) -> Result<(), CommandError> {
        let all = lines.clone().count();
        let (most, width) = match self.full {
            true => (usize::MAX, usize::MAX),
            // One line instead of another one is nothing saved.
            false if all == most + 1 => (all, self.width().saturating_sub(4)),
            false => (most, self.width().saturating_sub(4)),
        };
        for line in lines.take(most) {
            let text = format!("      {}", ui::clipped(line, width));
            self.ui.line(self.ui.paint(look(line), text.trim_end()))?;
        }
        if all > most {
            let more = ui::counted((all - most) as u64, "more line", "more lines");
            let text = format!("      … {more}; pass `--full` to show all");
            self.ui.line(self.ui.paint(Style::Dim, text))?;
        }
        Ok(())
    }
}

/// What it cost; nothing before the transcript was read.
pub(super) fn cost(tokens: Tokens) -> String {
    if tokens == Tokens::default() {
        String::new()
    } else {
        ui::tokens(tokens)
    }
}

/// What stands for a text that is not stored here.
pub(super) fn elsewhere(body: &Body) -> String {
    match body {
        Body::Withheld { bytes: 0, .. } => "(text not recorded)".to_owned(),
        Body::Withheld { bytes, .. } => {
            format!("({}, too large for a hook to record)", ui::bytes(*bytes))
        }
        _ => "(text not stored here)".to_owned(),
    }
}

/// What a call does, on one line.
pub fn what(call: &ToolCall) -> String {
    let input = call.input.as_ref().and_then(Body::text).unwrap_or_default();
    work(call.class, input, call.path.as_deref())
}

/// What a tool is asked to do.
pub fn work(class: ToolClass, input: &str, path: Option<&str>) -> String {
    match (class, path) {
        (ToolClass::Shell, _) => input.to_owned(),
        (ToolClass::Edit, Some(path)) => path.to_owned(),
        (ToolClass::Agent | ToolClass::Edit | ToolClass::Other, _) => values(input),
    }
}

/// The values of a JSON object, those that say most first; anything else as it is.
fn values(input: &str) -> String {
    let Ok(serde_json::Value::Object(fields)) = serde_json::from_str(input) else {
        return input.to_owned();
    };
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let telling = [
        "description",
        "file_path",
        "path",
        "pattern",
        "query",
        "url",
    ];
    let first = telling
        .iter()
        .filter_map(|name| fields.get(*name))
        .map(text);
    let rest = fields
        .iter()
        .filter(|(name, _)| !telling.contains(&name.as_str()) && !name.ends_with("_bytes"))
        .map(|(name, value)| format!("{name}={}", text(value)));
    first.chain(rest).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_that_say_most_come_first() {
        let input =
            r#"{"a":1,"description":"look","file_path":"/x","prompt_bytes":900,"deep":{"k":[2]}}"#;
        assert_eq!(values(input), r#"look  /x  a=1  deep={"k":[2]}"#);
        assert_eq!(values("no JSON"), "no JSON");
        assert_eq!(values("{}"), "");
    }
}
