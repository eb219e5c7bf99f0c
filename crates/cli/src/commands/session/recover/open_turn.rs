//! An open turn in words: what is left of it, and the ways out.

use serde::Serialize;
use siglum_domain::observation::{Body, Fact, Observation};
use siglum_domain::tail::Tail;
use siglum_domain::{AgentName, SessionId, Timestamp};
use siglum_engine::driven::turn::{self, Held};
use siglum_ledger::{Ledger, read};

use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui::{self, Style, Ui};

/// How many turns are listed.
const TURNS_MOST: usize = 1_000;
/// How much of the input of a call is shown.
const INPUT: usize = 200;

/// A turn that is open.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OpenJson {
    session: String,
    /// Absent where nobody named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    agent: Option<AgentName>,
    /// What its driver calls it.
    turn_key: String,
    turn: String,
    since: String,
    /// How many events wait in it.
    events: usize,
    /// What is left of it: `empty`, `asked`, `complete`, `interrupted` or `unanswered`.
    left: String,
    /// The same in a sentence.
    text: String,
    /// Whether it waits for a decision.
    held: bool,
    /// Who drives the session, while somebody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<DriverJson>,
    /// The calls without a result.
    calls: Vec<CallJson>,
    /// What can be done about it.
    ways_out: Vec<WayOut>,
    #[serde(skip)]
    id: SessionId,
    #[serde(skip)]
    at: Timestamp,
}

/// Who drives a session.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DriverJson {
    name: String,
    /// When its lease runs out, unless it is prolonged.
    until: String,
}

/// A call without a result.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallJson {
    tool: String,
    /// What it was given, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    started_at: String,
}

/// Something that can be done.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WayOut {
    /// The command; none where somebody else has to act.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    text: String,
}

/// The turns that are open and not settled, oldest first.
pub fn open_turns(cx: &Cx, ledger: &mut dyn Ledger) -> Result<Vec<OpenJson>, CommandError> {
    let held = turn::held(&*cx.world()?, ledger, TURNS_MOST)?;
    let mut turns = Vec::with_capacity(held.len());
    for held in &held {
        let record = read(ledger, |tx| tx.session(held.turn.session))?;
        turns.push(OpenJson::from_held(held, record.and_then(|r| r.agent)));
    }
    Ok(turns)
}

impl OpenJson {
    fn from_held(held: &Held, agent: Option<AgentName>) -> Self {
        let turn = &held.turn;
        let (left, text) = left(&held.tail);
        Self {
            session: turn.session.to_string(),
            agent,
            turn_key: turn.key.clone(),
            turn: turn.id.to_string(),
            since: turn.opened_at.to_string(),
            events: held.observations.len(),
            left: left.to_owned(),
            text: text.to_owned(),
            held: matches!(held.tail, Tail::Unanswered(_)) && held.driver.is_none(),
            driver: held.driver.as_ref().map(|(name, until)| DriverJson {
                name: name.clone(),
                until: until.to_string(),
            }),
            calls: calls(held),
            ways_out: ways_out(held),
            id: turn.session,
            at: turn.opened_at,
        }
    }

    /// Whether it is a turn of this session.
    pub fn is_of(&self, session: SessionId) -> bool {
        self.id == session
    }

    /// Whether it waits for a decision.
    pub const fn is_held(&self) -> bool {
        self.held
    }

    /// In one line.
    pub fn line(&self) -> String {
        let tools: Vec<_> = self.calls.iter().map(|c| c.tool.as_str()).collect();
        let what = [self.text.as_str(), &tools.join(", ")].join(" ");
        format!(
            "{} `{}`: {}",
            self.id.short(),
            self.turn_key,
            what.trim_end()
        )
    }

    pub(super) fn print(&self, ui: &Ui) -> Result<(), CommandError> {
        ui.line(format!(
            "{} {}  turn `{}`, open since {} ({}), {}",
            ui.paint(Style::Agent, AgentName::word(self.agent.as_ref())),
            ui.paint(Style::Id, self.id.short()),
            ui::one_line(&self.turn_key, 80),
            ui::when(self.at),
            ui::ago(self.at, clock::now()),
            ui::plural(self.events as u64, "event"),
        ))?;
        ui.line(format!("  {}", self.text))?;
        for call in &self.calls {
            let input = call.input.as_deref().unwrap_or("(not stored here)");
            let room = ui.width().saturating_sub(6 + call.tool.len()).max(40);
            ui.line(format!("    {}  {}", call.tool, ui::one_line(input, room)))?;
        }
        for way in &self.ways_out {
            ui.line(match &way.command {
                Some(command) => format!("  {command}  {}", ui.paint(Style::Dim, &way.text)),
                None => format!("  {}", way.text),
            })?;
        }
        Ok(())
    }
}

fn left(tail: &Tail) -> (&'static str, &'static str) {
    match tail {
        Tail::Empty => ("empty", "The turn is empty."),
        Tail::Asked => ("asked", "The prompt has no response."),
        Tail::Complete => ("complete", "The turn is complete but not committed."),
        Tail::Interrupted => (
            "interrupted",
            "The turn was interrupted with no open tool call.",
        ),
        Tail::Unanswered(calls) if calls.len() == 1 => {
            ("unanswered", "It is unknown whether this call completed:")
        }
        Tail::Unanswered(_) => ("unanswered", "It is unknown whether these calls completed:"),
    }
}

fn calls(held: &Held) -> Vec<CallJson> {
    let call = |o: &Observation| match &o.fact {
        Fact::ToolStarted { tool, input, .. } => Some(CallJson {
            tool: tool.clone(),
            input: Body::text(input).map(|text| ui::one_line(text, INPUT)),
            started_at: o.at.to_string(),
        }),
        _ => None,
    };
    held.calls().into_iter().filter_map(call).collect()
}

fn ways_out(held: &Held) -> Vec<WayOut> {
    if let Some((name, until)) = &held.driver {
        let text = format!(
            "{name} drives the session until {}, and commits or aborts the turn.",
            ui::when(*until)
        );
        let command = None;
        return vec![WayOut { command, text }];
    }
    let session = held.turn.session.short();
    let way = |flag: &str, text: &str| WayOut {
        command: Some(format!("siglum session recover {session}{flag}")),
        text: text.to_owned(),
    };
    let settle = |text| vec![way("", text)];
    match held.tail {
        Tail::Empty => settle("drops it"),
        Tail::Complete => settle("commits it"),
        Tail::Interrupted => settle("keeps it, marked as interrupted"),
        Tail::Asked => vec![
            WayOut {
                command: None,
                text: "The next driver continues it.".to_owned(),
            },
            way(" --discard", "drops it"),
        ],
        Tail::Unanswered(_) => vec![
            way(" --mark-done", "keeps it: the calls completed"),
            way(" --mark-failed", "keeps it: the calls failed"),
            way(" --discard", "drops it"),
        ],
    }
}

/// What became of a turn, in a sentence.
pub(super) fn sentence(session: SessionId, outcome: &str) -> String {
    let session = session.short();
    match outcome {
        "committed" => {
            format!("Committed the open turn of session {session}, which was complete.")
        }
        "interrupted" => {
            format!("Kept the open turn of session {session}, marked as interrupted.")
        }
        "asked" => format!("The open turn of session {session} waits for its next driver."),
        "held" => format!("The open turn of session {session} waits for your decision."),
        "kept" => format!("Kept the open turn of session {session}."),
        "discarded" => format!("Discarded the open turn of session {session}."),
        _ => format!("Session {session} has no open turn."),
    }
}
