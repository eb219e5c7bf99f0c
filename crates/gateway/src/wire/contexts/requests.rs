//! What hosts ask of contexts.

use std::collections::BTreeMap;

use serde::Deserialize;
use siglum_domain::context::{Cause, ContextKey, Inherit, Keys, RouteKey};
use siglum_domain::{AgentName, NativeId, TurnKey};
use siglum_engine::context::{
    self, Anchor, Assemble, Commit, During, Gaps, Heartbeats, Ran, Resolve, SubagentEnd, Want,
};
use siglum_ledger::ContextTurnKind;
use utoipa::ToSchema;

use super::{ContextMessage, messages};
use crate::problem::Problem;
use crate::wire::numbers::{count, count_if_any};
use crate::wire::{LinkInput, conversation};

/// Both keys of a run. Every call but the first has both.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MaintainContext {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
}

macro_rules! with_keys {
    ($($asked:ident),+ $(,)?) => {$(
        impl $asked {
            /// Both keys.
            pub(crate) fn keys(&self) -> Keys {
                Keys {
                    route: self.route_key.clone(),
                    context: self.context_key.clone(),
                }
            }
        }
    )+};
}

with_keys!(
    MaintainContext,
    BootstrapContext,
    AssembleContext,
    IngestMessage,
    CommitContextTurn,
    AfterTurn,
    CompactContext,
    PrepareSubagent,
    EndSubagent,
    AcceptGap,
);

/// Why a run gets another context than the one that its route has.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ContextCause {
    /// A heartbeat that is isolated: a context for it alone.
    Tick,
    /// A scheduled run that is isolated: a context for it alone.
    CronRun,
    /// Somebody begins anew.
    Reset,
    /// Nothing was said for too long.
    Idle,
    /// The host lost its own state: the context stays the same.
    Recovery,
    /// What comes was said elsewhere.
    Import,
    /// Somebody goes back to `anchor`.
    Rewind,
    /// This route goes on from `from`, at `anchor` or its end.
    Fork,
}

/// A place in a context: exactly one of these.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ContextAnchor {
    /// The end of the turn that was handed over under this key.
    #[schema(value_type = Option<String>, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$")]
    turn: Option<TurnKey>,
    /// A position in the host's own order.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    position: Option<u64>,
    /// The message of this number, from 1, as it is seen from the context.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    message: Option<u64>,
}

impl ContextAnchor {
    fn checked(&self) -> Result<Anchor, Problem> {
        match (&self.turn, self.position, self.message) {
            (Some(turn), None, None) => Ok(Anchor::Turn(turn.clone())),
            (None, Some(position), None) => Ok(Anchor::Position(position)),
            (None, None, Some(message)) => Ok(Anchor::Message(message)),
            _ => Err(Problem::invalid(
                "anchor",
                "exactly one of turn, position and message",
            )),
        }
    }
}

/// A run that wants its keys.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveContext {
    /// Where its answers go. Never shortened, never taken apart, its case is kept.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// The product that does the work.
    #[schema(value_type = String, pattern = r"^[a-z0-9-]{1,64}$")]
    agent: AgentName,
    /// What the caller calls the run: asked for again, it is given the same.
    #[schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$")]
    run: TurnKey,
    /// What the caller calls itself, where that outlives its token: runs are counted by it.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]
    client: Option<String>,
    /// Why it gets another context than the one that its route has; without it, it gets that one.
    cause: Option<ContextCause>,
    /// Where a rewind goes back to, or a fork goes on from.
    anchor: Option<ContextAnchor>,
    /// What a fork goes on from.
    from: Option<MaintainContext>,
    /// What the outside world calls the conversation. Blank is absent.
    #[schema(pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$")]
    conversation_id: Option<String>,
    /// What the agent itself calls it.
    #[schema(value_type = Option<String>, pattern = r"^(?!.*\.\.)[^\s/\\\x00-\x1f\x7f-\x9f]{1,256}$")]
    native_id: Option<NativeId>,
    /// What else the host calls it, such as a generation: kept as it is, and never looked at.
    aliases: Option<BTreeMap<String, String>>,
    /// The next position in the host's own order, where it counts: what is missing is known from there on.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    next_position: Option<u64>,
    /// What it works for.
    links: Option<LinkInput>,
    /// The directory it works in.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$")]
    cwd: Option<String>,
}

fn plain(field: &str, text: &str, most: usize) -> Result<String, Problem> {
    let fits = (1..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    match fits {
        true => Ok(text.to_owned()),
        false => Err(Problem::invalid(
            field,
            format!("1 to {most} characters, no control characters"),
        )),
    }
}

impl ResolveContext {
    /// What is asked, checked.
    pub(crate) fn checked(&self, by: String) -> Result<Resolve, Problem> {
        let client = self.client.as_deref();
        let client = client.map(|text| plain("client", text, 200)).transpose()?;
        let cwd = self.cwd.as_deref();
        let aliases = self.aliases.clone().unwrap_or_default();
        Ok(Resolve {
            conversation: conversation("conversation_id", self.conversation_id.as_deref())?,
            native: self.native_id.clone(),
            anchors: aliases.into_iter().collect(),
            next: self.next_position,
            links: self
                .links
                .as_ref()
                .map_or(Ok(Vec::new()), LinkInput::checked)?,
            cwd: cwd.map(|text| plain("cwd", text, 4096)).transpose()?,
            client,
            ..Resolve::new(
                self.route_key.clone(),
                self.want()?,
                self.agent.clone(),
                by,
                self.run.clone(),
            )
        })
    }

    fn want(&self) -> Result<Want, Problem> {
        let anchor = self
            .anchor
            .as_ref()
            .map(ContextAnchor::checked)
            .transpose()?;
        let only = |field: &str, cause: &str| {
            Err(Problem::invalid(
                field,
                format!("goes with the cause {cause}"),
            ))
        };
        let another = |cause| Ok(Want::Another { cause });
        let is_fork = matches!(self.cause, Some(ContextCause::Fork));
        if self.from.is_some() && !is_fork {
            return only("from", "fork");
        }
        if anchor.is_some() && !is_fork && !matches!(self.cause, Some(ContextCause::Rewind)) {
            return only("anchor", "rewind or fork");
        }
        match self.cause {
            None => Ok(Want::Shared),
            Some(ContextCause::Tick) => Ok(Want::Isolated { cause: Cause::Tick }),
            Some(ContextCause::CronRun) => Ok(Want::Isolated {
                cause: Cause::CronRun,
            }),
            Some(ContextCause::Reset) => another(Cause::Reset),
            Some(ContextCause::Idle) => another(Cause::Idle),
            Some(ContextCause::Recovery) => another(Cause::Recovery),
            Some(ContextCause::Import) => another(Cause::Import),
            Some(ContextCause::Rewind) => match anchor {
                Some(to) => Ok(Want::Rewound { to }),
                None => Err(Problem::invalid(
                    "anchor",
                    "says where a rewind goes back to",
                )),
            },
            Some(ContextCause::Fork) => match &self.from {
                Some(from) => Ok(Want::Forked {
                    from: from.keys(),
                    at: anchor,
                }),
                None => Err(Problem::invalid("from", "says what a fork goes on from")),
            },
        }
    }
}

/// A run begins.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BootstrapContext {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// The last position in the host's own order before the turn that is about to begin: what was not handed over up to
    /// there is a gap.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) last_position: Option<u64>,
}

/// When the call is made.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AssemblyPhase {
    /// Before the prompt goes to the model.
    #[default]
    BeforePrompt,
    /// Between the tool calls of a turn: what was handed over of it is among the messages.
    ToolLoop,
    /// Before the result of a tool is taken into the turn: `room` says whether it fits.
    ToolResult,
}

/// A run wants to know what to read.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AssembleContext {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// How many tokens the messages may have, with the prompt or the result that is told of.
    #[serde(deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    budget: u64,
    /// The prompt of the turn: it takes its part of the budget and is not among the messages.
    prompt: Option<String>,
    during: Option<AssemblyPhase>,
    /// The tokens of the result, for `tool-result`.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    result_tokens: Option<u64>,
    /// Leaves out what heartbeats said.
    #[serde(default)]
    without_heartbeats: bool,
    /// Goes on though turns are known to be missing.
    #[serde(default)]
    accept_gaps: bool,
}

impl AssembleContext {
    pub(crate) fn checked(&self) -> Result<Assemble, Problem> {
        let during = match (self.during.unwrap_or_default(), self.result_tokens) {
            (AssemblyPhase::BeforePrompt, None) => During::BeforePrompt,
            (AssemblyPhase::ToolLoop, None) => During::ToolLoop,
            (AssemblyPhase::ToolResult, Some(tokens)) => During::ToolResult { tokens },
            _ => {
                let rule = "is said for tool-result, and for nothing else";
                return Err(Problem::invalid("result_tokens", rule));
            }
        };
        Ok(Assemble {
            budget: self.budget,
            prompt: self.prompt.clone(),
            during,
            heartbeats: match self.without_heartbeats {
                true => Heartbeats::LeftOut,
                false => Heartbeats::Seen,
            },
            gaps: match self.accept_gaps {
                true => Gaps::Accepted,
                false => Gaps::Refused,
            },
        })
    }
}

/// One message of a turn that is not over.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct IngestMessage {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// The key under which the turn will be committed.
    #[schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$")]
    pub(crate) advancement_key: TurnKey,
    /// The place of the message in the turn, from 0.
    #[schema(minimum = 0, maximum = 9_999)]
    pub(crate) place: u16,
    pub(crate) message: ContextMessage,
}

/// A part of the host's own order.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PositionRange {
    /// The first position.
    #[serde(deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    first: u64,
    /// The last position.
    #[serde(deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    last: u64,
}

/// A turn that is over.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitContextTurn {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// The same on each try, and never used again.
    #[schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$")]
    advancement_key: TurnKey,
    /// Where it stands in the host's own order, if the host counts.
    positions: Option<PositionRange>,
    /// All of its messages, also those that were handed over one by one.
    #[schema(min_items = 1, max_items = 9_000)]
    messages: Vec<ContextMessage>,
    /// Whether it is a heartbeat's.
    #[serde(default)]
    heartbeat: bool,
    /// The host's own digest of what it hands over: another one under the same key is a conflict.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]
    digest: Option<String>,
    /// The key of the turn that was broken off and that this one does again.
    #[schema(value_type = Option<String>, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$")]
    recovers: Option<TurnKey>,
}

impl CommitContextTurn {
    pub(crate) fn checked(&self) -> Result<Commit, Problem> {
        let digest = self.digest.as_deref();
        Ok(Commit {
            positions: self.positions.map(|p| siglum_engine::context::Positions {
                first: p.first,
                last: p.last,
            }),
            kind: kind(self.heartbeat),
            digest: digest.map(|text| plain("digest", text, 200)).transpose()?,
            recovers: self.recovers.clone(),
            ..Commit::new(self.advancement_key.clone(), messages(&self.messages)?)
        })
    }
}

const fn kind(heartbeat: bool) -> ContextTurnKind {
    match heartbeat {
        true => ContextTurnKind::Heartbeat,
        false => ContextTurnKind::Asked,
    }
}

/// A run is over.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AfterTurn {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// The key of its turn, if it was committed.
    #[schema(value_type = Option<String>, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$")]
    advancement_key: Option<TurnKey>,
    /// How it ended, in a word of the host.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,64}$")]
    outcome: String,
    /// Whether it was a heartbeat's.
    #[serde(default)]
    heartbeat: bool,
}

impl AfterTurn {
    pub(crate) fn ran(&self) -> Ran {
        Ran {
            turn: self.advancement_key.clone(),
            outcome: self.outcome.clone(),
            kind: kind(self.heartbeat),
        }
    }
}

/// What was said so far is summed up.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompactContext {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// The same on each try, and never used again.
    #[schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$")]
    pub(crate) advancement_key: TurnKey,
    /// What is left of what was said.
    pub(crate) summary: String,
    /// Why, in a word of the host; `host` where nothing is said.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,64}$")]
    pub(crate) trigger: Option<String>,
    /// How many of the last messages stay beside the summary.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 10_000)]
    pub(crate) keep: u16,
}

impl CompactContext {
    pub(crate) fn trigger(&self) -> Result<String, Problem> {
        plain("trigger", self.trigger.as_deref().unwrap_or("host"), 64)
    }
}

/// A sub-agent is about to be started.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrepareSubagent {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// The run that the sub-agent will be; `cause`, `anchor` and `from` are not said of it.
    child: ResolveContext,
    /// What it has of the context that starts it: `none` where nothing is said, `summary`, `tail:<n>` or `all`.
    #[schema(pattern = r"^(none|summary|all|tail:[1-9][0-9]{0,4})$")]
    inherit: Option<String>,
    /// Up to where; without this, up to the end.
    anchor: Option<ContextAnchor>,
}

impl PrepareSubagent {
    pub(crate) fn checked(&self, by: String) -> Result<context::PrepareSubagent, Problem> {
        let inherit = self.inherit.as_deref().unwrap_or("none").parse::<Inherit>();
        let child = self.child.checked(by).map_err(|p| p.within("child"))?;
        if child.want != Want::Shared {
            return Err(Problem::invalid(
                "child.cause",
                "is not said of a sub-agent",
            ));
        }
        Ok(context::PrepareSubagent {
            child,
            inherit: inherit.map_err(|e| Problem::invalid("inherit", e.rule))?,
            at: self
                .anchor
                .as_ref()
                .map(ContextAnchor::checked)
                .transpose()?,
        })
    }
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SubagentOutcome {
    Done,
    Failed,
    /// It never started: nothing of it stays.
    NeverStarted,
}

/// A sub-agent ended. The keys are its own.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndSubagent {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    outcome: SubagentOutcome,
}

impl EndSubagent {
    pub(crate) const fn how(&self) -> SubagentEnd {
        match self.outcome {
            SubagentOutcome::Done => SubagentEnd::Done,
            SubagentOutcome::Failed => SubagentEnd::Failed,
            SubagentOutcome::NeverStarted => SubagentEnd::NeverStarted,
        }
    }
}

/// Somebody goes on without what is missing.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcceptGap {
    /// Where answers go.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    route_key: RouteKey,
    /// What is kept under it: as `resolve` gave it, and never made by the caller.
    #[schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$")]
    context_key: ContextKey,
    /// The gaps that begin at or before this position; all where nothing is said.
    #[serde(default, deserialize_with = "count_if_any")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) until: Option<u64>,
}
