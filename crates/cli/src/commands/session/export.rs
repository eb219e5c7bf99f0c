//! A session as a document: Markdown, or one HTML page that needs nothing else.
//!
//! Texts are redacted again, and what a terminal would obey in them is shown as what it is.

mod html;
mod markdown;

use siglum_domain::fold::{MessageView, ToolCall};
use siglum_domain::legible;
use siglum_domain::observation::{Body, Outcome, Role};
use siglum_domain::redact::Redactor;
use siglum_engine::World;
use siglum_engine::record::passages::Passages;
use siglum_engine::views::history::{History, Turn};
use siglum_ledger::LedgerError;

use super::changes::changes;
use super::page::{Step, cost, elsewhere, message_text, steps, what};
use crate::error::CommandError;
use crate::ui::{self, Ui};

/// What a session is printed as.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub struct Format {
    /// Print Markdown, with messages and tool output
    #[arg(long, conflicts_with = "html")]
    md: bool,
    /// Print one HTML page without scripts and links, with messages and tool output
    #[arg(long)]
    html: bool,
}

impl Format {
    /// Whether a document is asked for, and not a page for the terminal.
    pub const fn is_document(self) -> bool {
        self.md || self.html
    }
}

/// A session as a document.
struct Document {
    title: String,
    /// What is known of it: a word, and its value.
    facts: Vec<(&'static str, String)>,
    /// How many turns before the first one are left out.
    earlier: usize,
    turns: Vec<DocumentTurn>,
}

/// One turn.
struct DocumentTurn {
    /// Its number, when it began and where it stands.
    heading: String,
    parts: Vec<Part>,
}

/// A part of a turn.
enum Part {
    /// What somebody wrote.
    Text { who: &'static str, text: String },
    /// What a tool was asked to do, and what came of it.
    Call {
        /// The tool and what it does, on one line.
        head: String,
        /// Whether it failed or was denied.
        has_failed: bool,
        /// The paths and the lines of what it changed in files.
        changes: Vec<(String, Vec<String>)>,
        output: Option<String>,
    },
    /// A commit that was made.
    Commit(String),
}

/// Prints a session as a document.
pub fn print(
    ui: &Ui,
    (history, earlier): (&History, usize),
    format: Format,
    world: &World<'_>,
    passages: &mut Passages<'_>,
) -> Result<(), CommandError> {
    let document = Document::new(history, earlier, world, passages)?;
    match format.html {
        true => html::print(ui, &document),
        false => markdown::print(ui, &document),
    }
}

/// A text without secrets, in which nothing is obeyed or hidden. Tabs are blanks.
fn safe(text: &str) -> String {
    let redacted = Redactor::shared().redact_cow(text);
    let spaced = redacted.replace('\t', "    ").replace('\r', "");
    legible::lines(spaced.trim_end()).into_owned()
}

impl Document {
    fn new(
        history: &History,
        earlier: usize,
        world: &World<'_>,
        passages: &mut Passages<'_>,
    ) -> Result<Self, LedgerError> {
        let (card, record) = (&history.card, &history.card.record);
        let links: Vec<String> = card.links.iter().map(ToString::to_string).collect();
        let models: Vec<&str> = history.view.models.iter().map(String::as_str).collect();
        let facts = [
            ("Session", record.id.to_string()),
            ("Agent", record.agent_word().to_owned()),
            ("Conversation", record.conversation.to_string()),
            ("State", history.listed.stand.word().to_owned()),
            ("Started", ui::when(record.created_at)),
            ("Last seen", ui::when(record.last_at)),
            ("Links", links.join(", ")),
            ("Models", models.join(", ")),
            ("Tokens", cost(history.view.tokens)),
        ];
        let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
        let mut turns = Vec::with_capacity(history.turns.len());
        for turn in &history.turns {
            turns.push(DocumentTurn::new(turn, world, passages)?);
        }
        let title = card.title.as_deref().unwrap_or("Session without a prompt");
        Ok(Self {
            title: ui::one_line(&safe(title), 200),
            facts: known.map(|(word, value)| (word, safe(&value))).collect(),
            earlier,
            turns,
        })
    }
}

impl DocumentTurn {
    fn new(
        turn: &Turn,
        world: &World<'_>,
        passages: &mut Passages<'_>,
    ) -> Result<Self, LedgerError> {
        let name = match turn.number {
            0 => "Outside of turns".to_owned(),
            number => format!("Turn {number}"),
        };
        let opened = turn.view.opened.map(ui::when).unwrap_or_default();
        let heading = format!("{name}  {opened}  {}", turn.state.word());
        let mut parts = Vec::new();
        // What the hooks saw may stand among the messages, too; those of sub-agents are others.
        let is_own = |m: &&MessageView| m.subagent.is_none();
        let has_said = |role: Role| {
            let mut own = turn.view.messages.iter().filter(is_own);
            own.any(|m| m.role == role)
        };
        if !has_said(Role::User) {
            parts.extend(body_part(turn.view.prompt.as_ref(), Role::User, passages)?);
        }
        for step in steps(&turn.view) {
            match step {
                Step::Message(message) => parts.extend(message_part(message, passages)?),
                Step::Call(call) => parts.push(call_part(call, world, passages)?),
            }
        }
        if !has_said(Role::Assistant) {
            let last = turn.view.last_message.as_ref();
            parts.extend(body_part(last, Role::Assistant, passages)?);
        }
        for made in &turn.commits {
            let subject = made.subject.as_deref().unwrap_or_default();
            let line = format!("{}  {subject}  [{}]", made.commit.short(), made.verdict);
            parts.push(Part::Commit(ui::one_line(&safe(&line), 300)));
        }
        Ok(Self { heading, parts })
    }
}

const fn who(role: Role, is_subagent: bool) -> &'static str {
    match (role, is_subagent) {
        (Role::User, false) => "Prompt",
        (Role::User, true) => "Prompt of a sub-agent",
        (Role::Assistant, false) => "Agent",
        (Role::Assistant, true) => "Sub-agent",
    }
}

fn body_part(
    body: Option<&Body>,
    role: Role,
    passages: &mut Passages<'_>,
) -> Result<Option<Part>, LedgerError> {
    let Some(body) = body else {
        return Ok(None);
    };
    let text = passages.text(body)?.unwrap_or_else(|| elsewhere(body));
    Ok(Some(Part::Text {
        who: who(role, false),
        text: safe(&text),
    }))
}

fn message_part(
    message: &MessageView,
    passages: &mut Passages<'_>,
) -> Result<Option<Part>, LedgerError> {
    let text = message_text(message, passages)?;
    Ok((!text.is_empty()).then(|| Part::Text {
        who: who(message.role, message.subagent.is_some()),
        text: safe(&text),
    }))
}

fn call_part(
    call: &ToolCall,
    world: &World<'_>,
    passages: &mut Passages<'_>,
) -> Result<Part, LedgerError> {
    let word = match call.outcome {
        Some(Outcome::Failed) => "  [failed]",
        Some(Outcome::Denied) => "  [denied]",
        Some(Outcome::Ok) | None => "",
    };
    let head = format!("{}  {}{word}", call.tool, what(call));
    let output = match &call.output {
        Some(body) => Some(passages.text(body)?.unwrap_or_else(|| elsewhere(body))),
        None => None,
    };
    let changed = changes(world, call).into_iter();
    let changed = changed.map(|change| {
        let lines = change.lines.iter().map(|line| safe(line)).collect();
        (safe(&change.path), lines)
    });
    Ok(Part::Call {
        head: ui::one_line(&safe(&head), 2000),
        has_failed: !word.is_empty(),
        changes: changed.collect(),
        output: output
            .map(|text| safe(&text))
            .filter(|text| !text.is_empty()),
    })
}
