//! What hosts ask of contexts.
//!
//! Both keys go with every call, and there is no context to fall back to: a host that keeps state under its own stable key
//! alone shows one tick what another one said.

use std::collections::BTreeMap;

use serde::Deserialize;
use siglum_domain::context::{Cause, ContextKey, Inherit, Keys, RouteKey};
use siglum_domain::{AgentName, NativeId, TurnKey};
use siglum_engine::driven::context::{
    self, Anchor, Assemble, Commit, During, Gaps, Heartbeats, Ran, Resolve, SubagentEnd, Want,
};
use siglum_ledger::ContextTurnKind;

use super::{ContextMessage, messages};
use crate::problem::Problem;
use crate::wire::numbers::{count, count_if_any};
use crate::wire::{LinkInput, conversation, without_secret};

/// The route key and the context key of a run.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ContextKeys {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
}

macro_rules! with_keys {
    ($($request:ident),+ $(,)?) => {$(
        impl $request {
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
    ContextKeys,
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

/// Why a run gets a context other than its route's current one.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
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

/// A position in a context: exactly one of these fields.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ContextAnchor {
    /// The end of the turn with this key.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$"))]
    turn_key: Option<TurnKey>,
    /// A position in the host's order.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    position: Option<u64>,
    /// Number of a message as seen from the context, from 1.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 1, maximum = 9_007_199_254_740_991_i64))]
    message: Option<u64>,
}

impl ContextAnchor {
    fn checked(&self) -> Result<Anchor, Problem> {
        match (&self.turn_key, self.position, self.message) {
            (Some(turn), None, None) => Ok(Anchor::Turn(turn.clone())),
            (None, Some(position), None) => Ok(Anchor::Position(position)),
            (None, None, Some(message)) => Ok(Anchor::Message(message)),
            _ => Err(Problem::invalid(
                "anchor",
                "must have exactly one of turn_key, position and message",
            )),
        }
    }
}

/// Requests the keys of a run.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveContext {
    /// Route key: where answers are delivered. Never truncated or parsed; case is preserved.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// The agent, such as `claude-code`.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[a-z0-9-]{1,64}$"))]
    agent: AgentName,
    /// Name of the run, chosen by the caller; a repeated request gets the same keys.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$"))]
    run: TurnKey,
    /// Name of the caller that outlives its token; a run is identified by it and `run`.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$"))]
    client: Option<String>,
    /// Why the run gets a context other than its route's current one; default: it gets the current one.
    cause: Option<ContextCause>,
    /// Where a rewind goes back to, or a fork starts.
    anchor: Option<ContextAnchor>,
    /// What a fork starts from.
    from: Option<ContextKeys>,
    /// Conversation id; blank counts as absent.
    #[cfg_attr(test, schema(pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$"))]
    conversation_id: Option<String>,
    /// Native id: the agent's own id for it.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^(?!.*\.\.)[^\s/\\\x00-\x1f\x7f-\x9f]{1,256}$"))]
    native_id: Option<NativeId>,
    /// Other names that the host uses for it, such as a generation; stored unchanged and never interpreted.
    aliases: Option<BTreeMap<String, String>>,
    /// Next position in the host's order, if it has one; gaps are detected from there on.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    next_position: Option<u64>,
    /// Links to attach.
    links: Option<LinkInput>,
    /// Working directory.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,4096}$"))]
    cwd: Option<String>,
}

fn plain(field: &str, text: &str, most: usize) -> Result<String, Problem> {
    let fits = (1..=most).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    if !fits {
        return Err(Problem::invalid(
            field,
            format!("1 to {most} characters, no control characters"),
        ));
    }
    without_secret(field, text)?;
    Ok(text.to_owned())
}

impl ResolveContext {
    /// What is asked, checked.
    pub(crate) fn checked(&self, by: String) -> Result<Resolve, Problem> {
        let client = self.client.as_deref();
        let client = client.map(|text| plain("client", text, 200)).transpose()?;
        let cwd = self.cwd.as_deref();
        let aliases = self.aliases.clone().unwrap_or_default();
        without_secret("route_key", self.route_key.as_str())?;
        without_secret("run", self.run.as_str())?;
        if let Some(native) = &self.native_id {
            without_secret("native_id", native.as_str())?;
        }
        for text in aliases.iter().flat_map(|(name, alias)| [name, alias]) {
            without_secret("aliases", text)?;
        }
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
                format!("requires the cause {cause}"),
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
                None => Err(Problem::invalid("anchor", "is required for a rewind")),
            },
            Some(ContextCause::Fork) => match &self.from {
                Some(from) => Ok(Want::Forked {
                    from: from.keys(),
                    at: anchor,
                }),
                None => Err(Problem::invalid("from", "is required for a fork")),
            },
        }
    }
}

/// Starts a run.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct BootstrapContext {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// Last position in the host's order before the turn that is about to start; positions up to it that were not
    /// handed over are a gap.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) last_position: Option<u64>,
}

/// The phase in which the call is made.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
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

/// Requests the messages that a run reads.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AssembleContext {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// Token budget for the messages, including the prompt or the tool result.
    #[serde(deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    budget: u64,
    /// Prompt of the turn; it counts towards the budget and is not among the returned messages.
    prompt: Option<String>,
    during: Option<AssemblyPhase>,
    /// Tokens of the tool result, for the phase `tool-result`.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    result_tokens: Option<u64>,
    /// Omit messages of heartbeats.
    #[serde(default)]
    without_heartbeats: bool,
    /// Continue although turns are known to be missing.
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
                let rule = "is required for tool-result, and allowed only there";
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

/// A message of an open turn.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct IngestMessage {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// The key under which the turn will be committed.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$"))]
    pub(crate) turn_key: TurnKey,
    /// Index of the message in the turn, from 0.
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_999))]
    pub(crate) index: u16,
    pub(crate) message: ContextMessage,
}

/// A range of the host's order.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PositionRange {
    /// The first position.
    #[serde(deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    first: u64,
    /// The last position.
    #[serde(deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    last: u64,
}

/// Commits a finished turn.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitContextTurn {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// Idempotency key: the same on each retry, never reused.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$"))]
    turn_key: TurnKey,
    /// Its positions in the host's order, if the host has one.
    positions: Option<PositionRange>,
    /// All messages of the turn, including those that were ingested one by one.
    #[cfg_attr(test, schema(min_items = 1, max_items = 9_000))]
    messages: Vec<ContextMessage>,
    /// Whether the turn is a heartbeat's.
    #[serde(default)]
    heartbeat: bool,
    /// The host's digest of the turn; a different digest under the same key is a conflict.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$"))]
    digest: Option<String>,
    /// Key of the interrupted turn that this one repeats.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$"))]
    recovers: Option<TurnKey>,
}

impl CommitContextTurn {
    pub(crate) fn checked(&self) -> Result<Commit, Problem> {
        let digest = self.digest.as_deref();
        without_secret("turn_key", self.turn_key.as_str())?;
        Ok(Commit {
            positions: self
                .positions
                .map(|p| siglum_engine::driven::context::Positions {
                    first: p.first,
                    last: p.last,
                }),
            kind: kind(self.heartbeat),
            digest: digest.map(|text| plain("digest", text, 200)).transpose()?,
            recovers: self.recovers.clone(),
            ..Commit::new(self.turn_key.clone(), messages(&self.messages)?)
        })
    }
}

const fn kind(heartbeat: bool) -> ContextTurnKind {
    match heartbeat {
        true => ContextTurnKind::Heartbeat,
        false => ContextTurnKind::Asked,
    }
}

/// Reports that a run ended.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AfterTurn {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// Key of its turn, if the turn was committed.
    #[cfg_attr(test, schema(value_type = Option<String>, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$"))]
    turn_key: Option<TurnKey>,
    /// Outcome, in a word chosen by the host.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,64}$"))]
    outcome: String,
    /// Whether the run was a heartbeat's.
    #[serde(default)]
    heartbeat: bool,
}

impl AfterTurn {
    pub(crate) fn ran(&self) -> Ran {
        Ran {
            turn: self.turn_key.clone(),
            outcome: self.outcome.clone(),
            kind: kind(self.heartbeat),
        }
    }
}

/// Replaces the messages so far by a summary.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct CompactContext {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// Idempotency key: the same on each retry, never reused.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,200}$"))]
    pub(crate) turn_key: TurnKey,
    /// The summary.
    pub(crate) summary: String,
    /// What triggered the compaction, in a word chosen by the host; default: `host`.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,64}$"))]
    pub(crate) trigger: Option<String>,
    /// Number of newest messages to keep in addition to the summary.
    #[serde(default)]
    #[cfg_attr(test, schema(minimum = 0, maximum = 10_000))]
    pub(crate) keep: u16,
}

impl CompactContext {
    pub(crate) fn trigger(&self) -> Result<String, Problem> {
        plain("trigger", self.trigger.as_deref().unwrap_or("host"), 64)
    }
}

/// Reserves the keys of a sub-agent before it starts.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct PrepareSubagent {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// The run of the sub-agent, without `cause`, `anchor` and `from`.
    child: ResolveContext,
    /// What it inherits from the context that starts it: `none` (default), `summary`, `tail:<n>` or `all`.
    #[cfg_attr(test, schema(pattern = r"^(none|summary|all|tail:[1-9][0-9]{0,4})$"))]
    inherit: Option<String>,
    /// Where the inherited part ends; default: at the end.
    anchor: Option<ContextAnchor>,
}

impl PrepareSubagent {
    pub(crate) fn checked(&self, by: String) -> Result<context::PrepareSubagent, Problem> {
        let inherit = self.inherit.as_deref().unwrap_or("none").parse::<Inherit>();
        let child = self.child.checked(by).map_err(|p| p.within("child"))?;
        if child.want != Want::Shared {
            return Err(Problem::invalid(
                "child.cause",
                "is not allowed for a sub-agent",
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
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SubagentOutcome {
    Done,
    Failed,
    /// It never started: nothing of it stays.
    NeverStarted,
}

/// Reports that a sub-agent ended. The keys are the sub-agent's own.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct EndSubagent {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
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

/// Accepts gaps of a context, to continue without the missing turns.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AcceptGap {
    /// Route key: where answers are delivered.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    route_key: RouteKey,
    /// Context key, as `resolve` returned it; never constructed by the caller.
    #[cfg_attr(test, schema(value_type = String, pattern = r"^[A-Za-z0-9._:/@#+-]{1,512}$"))]
    context_key: ContextKey,
    /// Accept the gaps that start at or before this position; default: all gaps.
    #[serde(default, deserialize_with = "count_if_any")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) until: Option<u64>,
}
