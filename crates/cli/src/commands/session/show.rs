//! `siglum session show`: one session with its turns.

pub mod team;

use std::collections::BTreeSet;

use serde::Serialize;
use siglum_domain::SessionId;
use siglum_domain::fold::{ToolCall, TurnView};
use siglum_domain::link::Link;
use siglum_domain::observation::{Body, Outcome, Role, ToolClass};
use siglum_engine::driven::launch::Standing;
use siglum_engine::identity::repositories;
use siglum_engine::record::passages::Passages;
use siglum_engine::views::find;
use siglum_engine::views::history::{self, History, Made, Turn};
use siglum_engine::views::session::{self, LinkJson, SessionJson, TokenUsage};
use siglum_ledger::{
    LaunchEnd, Ledger, LedgerError, OwnWorktree, Relation, SessionRecord, StatementRecord, read,
};

use super::export::{self, Format};
use super::page::{self, message_text};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::team::SourceJson;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.session/1";

/// Show a session with its turns
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Show the last turns of a session
    siglum session show a1b2c3d4

  Show turn 3 with messages and tool output
    siglum session show a1b2c3d4 --turn 3 --full

  Write the whole conversation to one HTML file
    siglum session show a1b2c3d4 --html")]
pub struct Args {
    /// Session id, the last digits of it, or the agent's native id
    #[arg(value_name = "SESSION")]
    session: String,
    #[command(flatten)]
    pub depth: Depth,
    #[command(flatten)]
    format: Format,
}

/// How much of a session to show.
#[derive(clap::Args, Debug, Clone, Copy)]
pub struct Depth {
    /// Show messages and tool output too, and truncate nothing
    #[arg(long)]
    pub full: bool,
    /// Only turn number N
    #[arg(long, value_name = "N", conflicts_with = "limit")]
    pub turn: Option<usize>,
    /// Only the last N turns; 0 means all; default: 20, or all with `--md` and `--html`
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// How many turns are shown where nobody says how many.
pub const TURNS: usize = 20;

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let id = find::session(&mut ledger, &args.session)?;
    session(cx, &mut ledger, id, args.depth, args.format)
}

/// Shows a session.
pub fn session(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    id: SessionId,
    depth: Depth,
    format: Format,
) -> Result<(), CommandError> {
    if cx.ui.json {
        return cx.ui.json(SCHEMA, answer(cx, ledger, id, depth)?);
    }
    let limit = depth.limit.or(format.is_document().then_some(0));
    let (history, earlier) = load_history(cx, ledger, id, Depth { limit, ..depth })?;
    let (agent, world) = (history.card.record.agent_word().to_owned(), cx.world()?);
    let mut passages = Passages::new(ledger, &agent);
    let shown = (&history, earlier);
    match format.is_document() {
        true => export::print(&cx.ui, shown, format, &world, &mut passages),
        false => page::print(&cx.ui, shown, depth.full, &world, &mut passages),
    }
}

/// The JSON answer.
pub fn answer(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    id: SessionId,
    depth: Depth,
) -> Result<Json, CommandError> {
    let (history, earlier) = load_history(cx, ledger, id, depth)?;
    let (world, listed) = (cx.world()?, std::slice::from_ref(&history.listed));
    let mut shown = read(ledger, |tx| {
        let repositories = repositories::known(tx)?;
        session::shown(&world, tx, listed, &repositories)
    })?;
    let Some(session) = shown.pop() else {
        return Err(CommandError::not_found(format!("no session {id}")));
    };
    let agent = history.card.record.agent_word().to_owned();
    let mut passages = Passages::new(ledger, &agent);
    let turns = history.turns.iter();
    let turns = turns.map(|turn| TurnJson::from_turn(turn, depth.full, &mut passages));
    Ok(Json {
        session,
        recorded: Some(RecordedJson::from_history(&history)),
        earlier_turns: Some(earlier),
        turns: turns.collect::<Result<_, LedgerError>>()?,
        source: None,
    })
}

/// A session with the turns that were asked for, and how many earlier ones were left out.
fn load_history(
    cx: &Cx,
    ledger: &mut dyn Ledger,
    id: SessionId,
    depth: Depth,
) -> Result<(History, usize), CommandError> {
    let Some(mut history) = history::history(&cx.world()?, ledger, id)? else {
        return Err(CommandError::not_found(format!("no session {id}")));
    };
    let earlier = choose(&mut history, depth)?;
    Ok((history, earlier))
}

/// Leaves the turns that were asked for; returns how many earlier ones were left out.
fn choose(history: &mut History, depth: Depth) -> Result<usize, CommandError> {
    if let Some(number) = depth.turn {
        let last = history.turns.last().map_or(0, |t| t.number);
        history.turns.retain(|t| t.number == number);
        if history.turns.is_empty() {
            return Err(
                CommandError::not_found(format!("the session has no turn {number}"))
                    .hint(format!("Pass a number from 1 to {last}.")),
            );
        }
        return Ok(0);
    }
    let earlier = match depth.limit.unwrap_or(TURNS) {
        0 => 0,
        limit => history.turns.len().saturating_sub(limit),
    };
    history.turns.drain(..earlier);
    Ok(earlier)
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    pub session: SessionJson,
    /// What only a ledger has, and no gateway gives.
    #[serde(flatten)]
    pub recorded: Option<RecordedJson>,
    /// Turns before the first one shown; absent where they were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier_turns: Option<usize>,
    /// The turns, oldest first.
    pub turns: Vec<TurnJson>,
    /// The gateway that gave the answer; absent where it is from this ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceJson>,
}

/// What is known of a session where it is recorded.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedJson {
    /// The agent's own ids, oldest first.
    native_ids: Vec<String>,
    /// Whether its home is another ledger, and here is a replica.
    replica: bool,
    /// How `siglum run` launched it.
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<LaunchJson>,
    children: Vec<Child>,
    /// Its links, with who attached them.
    attached: Vec<Attached>,
    /// Why variables that were to be links are none.
    left_out: Vec<String>,
    /// The ids of its sub-agents.
    subagents: Vec<String>,
    /// The command of the agent that resumes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

/// A launch and what became of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct LaunchJson {
    program: String,
    by: String,
    /// `running`, `completed`, `failed`, `signalled`, `not-started` or `lost`.
    state: String,
    /// The exit code of a command that failed or was not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i32>,
    /// The signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// The session that its agent works for: an older one, if it went on with that.
    #[serde(skip_serializing_if = "Option::is_none")]
    claimed_for: Option<String>,
    /// The checkout that was made for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    /// `removed` or `kept`; absent while it runs and where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree_state: Option<String>,
    /// Why the checkout was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_because: Option<String>,
    /// The reference that keeps what was not committed in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<String>,
}

impl LaunchJson {
    fn from_standing(standing: &Standing) -> Self {
        let (state, code, signal) = match standing.end.as_ref().map(|(end, _)| end) {
            None => ("running", None, None),
            Some(LaunchEnd::Completed) => ("completed", None, None),
            Some(LaunchEnd::Failed { code }) => ("failed", Some(*code), None),
            Some(LaunchEnd::Signalled { signal }) => ("signalled", None, Some(*signal)),
            Some(LaunchEnd::NotStarted { code }) => ("not-started", Some(*code), None),
            Some(LaunchEnd::Lost) => ("lost", None, None),
            Some(LaunchEnd::Expired) => ("expired", None, None),
        };
        let (kept, because, snapshot) = match &standing.worktree {
            None => (None, None, None),
            Some(OwnWorktree::Removed) => (Some("removed"), None, None),
            Some(OwnWorktree::Kept { reason, snapshot }) => {
                let snapshot = snapshot.as_ref().map(|s| s.reference.clone());
                (Some("kept"), Some(reason.clone()), snapshot)
            }
        };
        Self {
            program: standing.launch.program.clone(),
            by: standing.by.clone(),
            state: state.to_owned(),
            code,
            signal,
            ended_at: standing.end.as_ref().map(|(_, at)| at.to_string()),
            claimed_for: standing.claimed.as_ref().map(|c| c.to.to_string()),
            worktree: standing.launch.worktree.clone(),
            worktree_state: kept.map(str::to_owned),
            kept_because: because,
            snapshot,
        }
    }
}

/// A session that came from this one.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Child {
    session: String,
    /// `fork`, `rewind`, `clear` or `nested`.
    relation: String,
}

/// A link, and how it was attached.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Attached {
    #[serde(flatten)]
    link: LinkJson,
    /// Who attached it.
    by: String,
    /// Where that was stated: a flag, a variable, the output of a command.
    source: String,
    since: String,
}

/// One turn.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    /// Its number in the session, from 1; 0 for what happened outside any turn; absent where earlier ones were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<usize>,
    /// `open`, `no stop seen`, `interrupted`, `settled by a person`, `unsealed` or `sealed`.
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Whether the agent wrote the prompt itself.
    synthetic: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
    /// The error that ended it, in the agent's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    pub tools: Vec<Tool>,
    /// The files that it changed.
    pub files: Vec<String>,
    /// The commits to which its calls moved HEAD.
    pub heads: Vec<String>,
    /// Only with `--full`.
    messages: Vec<Message>,
    tokens: TokenUsage,
    compactions: u32,
    /// The commits that the session made in it; absent where a gateway was asked for the log alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<Vec<Commit>>,
}

/// One tool call.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tool {
    tool: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// `ok`, `failed` or `denied`; absent while it runs, or if nobody saw the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// Only with `--full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subagent: Option<String>,
}

/// One message.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Message {
    at: String,
    /// `user` or `assistant`.
    role: String,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subagent: Option<String>,
}

/// A commit that the session made.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Commit {
    commit: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    /// `certain` or `likely`.
    verdict: String,
    at: String,
}

/// The word for how a tool call ended.
pub const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::Failed => "failed",
        Outcome::Denied => "denied",
    }
}

impl RecordedJson {
    fn from_history(history: &History) -> Self {
        let card = &history.card;
        let child = |(child, how): &(SessionRecord, Relation)| Child {
            session: child.id.to_string(),
            relation: how.as_str().to_owned(),
        };
        let attached = |(link, from): &(Link, StatementRecord)| Attached {
            link: LinkJson::from(link),
            by: from.by.clone(),
            source: from.source.clone(),
            since: from.at.to_string(),
        };
        let subagents = history.view.subagents.iter();
        Self {
            native_ids: card.natives.iter().map(ToString::to_string).collect(),
            replica: history.replica,
            launch: history.launch.as_ref().map(LaunchJson::from_standing),
            children: history.children.iter().map(child).collect(),
            attached: history.attached.iter().map(attached).collect(),
            left_out: history.left_out.clone(),
            subagents: subagents.map(|agent| agent.id.clone()).collect(),
            resume: card.resume.clone(),
        }
    }
}

impl TurnJson {
    /// A turn, with messages and outputs if it is shown in `full`.
    pub fn from_turn(
        turn: &Turn,
        full: bool,
        passages: &mut Passages<'_>,
    ) -> Result<Self, LedgerError> {
        let view = &turn.view;
        let mut tools = Vec::with_capacity(view.tools.len());
        for call in &view.tools {
            tools.push(Tool::from_call(call, full, passages)?);
        }
        let mut messages = Vec::new();
        for message in view.messages.iter().filter(|_| full) {
            messages.push(Message {
                at: message.at.to_string(),
                role: match message.role {
                    Role::User => "user",
                    Role::Assistant => "assistant",
                }
                .to_owned(),
                text: message_text(message, passages)?,
                model: message.model.clone(),
                subagent: message.subagent.clone(),
            });
        }
        let (files, heads) = changed(view);
        Ok(Self {
            turn: view.id.map(|t| t.to_string()),
            number: Some(turn.number),
            state: turn.state.word().to_owned(),
            opened_at: view.opened.map(|t| t.to_string()),
            stopped_at: view.stopped.map(|t| t.to_string()),
            prompt: text(view.prompt.as_ref(), passages)?,
            synthetic: view.synthetic,
            last_message: text(view.last_message.as_ref(), passages)?,
            failure: view.failure.clone(),
            tools,
            files,
            heads,
            messages,
            tokens: view.tokens.into(),
            compactions: view.compactions,
            commits: Some(turn.commits.iter().map(Commit::from_commit).collect()),
        })
    }

    /// Every text that somebody wrote.
    pub fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let tools = self.tools.iter_mut().flat_map(|tool| {
            let texts = [&mut tool.input, &mut tool.path, &mut tool.output];
            texts.into_iter().flatten().chain([&mut tool.tool])
        });
        let own = [&mut self.prompt, &mut self.last_message, &mut self.failure];
        let messages = self.messages.iter_mut().map(|message| &mut message.text);
        let texts = own.into_iter().flatten().chain(&mut self.files);
        texts.chain(tools).chain(messages)
    }
}

/// The files that the calls of a turn changed, and the commits to which they moved HEAD.
fn changed(view: &TurnView) -> (Vec<String>, Vec<String>) {
    let mut files: BTreeSet<String> = BTreeSet::new();
    let mut heads = Vec::new();
    for call in &view.tools {
        let seen = call.edits.iter().filter(|edit| edit.after_seen);
        let changed = seen.filter(|edit| !edit.before_seen || edit.before != edit.after);
        files.extend(changed.map(|edit| edit.path.clone()));
        files.extend(named_file(call).cloned());
        if let (before, Some(after)) = &call.heads
            && before.as_ref() != Some(after)
        {
            heads.push(after.to_string());
        }
    }
    (files.into_iter().collect(), heads)
}

/// The file that a call changed by its name, where its content was not seen.
fn named_file(call: &ToolCall) -> Option<&String> {
    let is_done = !matches!(call.outcome, Some(Outcome::Failed | Outcome::Denied));
    let is_edit = call.class == ToolClass::Edit && call.edits.is_empty();
    call.path.as_ref().filter(|_| is_done && is_edit)
}

fn text(body: Option<&Body>, passages: &mut Passages<'_>) -> Result<Option<String>, LedgerError> {
    body.map_or(Ok(None), |body| passages.text(body))
}

impl Tool {
    fn from_call(
        call: &ToolCall,
        full: bool,
        passages: &mut Passages<'_>,
    ) -> Result<Self, LedgerError> {
        let output = call.output.as_ref().filter(|_| full);
        Ok(Self {
            tool: call.tool.clone(),
            input: call.input.as_ref().and_then(Body::text).map(str::to_owned),
            path: call.path.clone(),
            outcome: call.outcome.map(|o| outcome(o).to_owned()),
            output: text(output, passages)?,
            started_at: call.started.map(|t| t.to_string()),
            ended_at: call.ended.map(|t| t.to_string()),
            subagent: call.subagent.clone(),
        })
    }
}

impl Commit {
    fn from_commit(made: &Made) -> Self {
        Self {
            commit: made.commit.to_string(),
            subject: made.subject.clone(),
            verdict: made.verdict.to_string(),
            at: made.at.to_string(),
        }
    }
}
