//! Sessions as they are shown: one form for the command line, for agents and for the API.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use siglum_domain::link::Link;
use siglum_domain::observation::{Body, Fact, Observation, Tokens, event};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, LedgerId, SessionId, Timestamp};
use siglum_ledger::{
    Forgotten, LedgerError, Mode, Relation, RepositoryRecord, SessionOrigin, Statement,
    StatementRecord, Transaction,
};

use super::overview::{Listed, Stand};
use crate::Here;
use crate::damage::undamaged;
use crate::driven::turn::{self, Held};
use crate::driven::{launch, remote};

/// How much of the input of a call is shown, in characters.
const INPUT: usize = 200;

#[cfg(feature = "schemas")]
words! {
    ModeWords as "SessionMode":
        "Whether a session is driven or observed.", "driven" | "observed";
    OriginWords as "SessionOrigin":
        "How a session came into the ledger: its agent was watched, it was read from a transcript, a program created it, or a launcher started its agent.",
        "live" | "import" | "api" | "launch";
    StateWords as "SessionState":
        "Whether a turn of a session is open, the last one stopped, it ended, or nobody saw it run; as far as can be told by whoever answers: whether its process runs is seen on its own machine.",
        "working" | "waiting" | "ended" | "imported";
}

/// A session, and what it amounts to.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionJson {
    pub id: SessionId,
    /// The product that does the work; absent where nobody named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    pub conversation_id: String,
    #[cfg_attr(feature = "schemas", schemars(with = "ModeWords"))]
    pub mode: Mode,
    #[cfg_attr(feature = "schemas", schemars(with = "OriginWords"))]
    pub origin: SessionOrigin,
    #[cfg_attr(feature = "schemas", schemars(with = "StateWords"))]
    pub state: Stand,
    /// Home: the ledger that alone extends its log; others have replicas.
    pub home: LedgerId,
    /// The name that a person gave to it, else the first line of its first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub created_at: Timestamp,
    /// Time of its last activity.
    pub last_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
    /// From then on nothing is written to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
    /// The damage for which it can be read and not written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<String>,
    /// What was erased of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forgotten: Option<ForgottenJson>,
    /// The session that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// How it came from its parent: `fork`, `rewind`, `clear` or `nested`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub relation: Option<Relation>,
    /// The last entry of its parent's log that is part of the history of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_at: Option<u64>,
    /// The directory that it began in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The checkout that it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<String>,
    /// The repositories that it works in, its own first: git common directories, or the names that others gave.
    pub repositories: Vec<String>,
    /// Where its own repository is fetched from, as `host/owner/name`; the same for each of its clones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_remote: Option<String>,
    /// What is attached to it now.
    pub links: Vec<LinkJson>,
    /// The models that wrote its messages.
    pub models: Vec<String>,
    /// The last sequence of its log.
    pub head: u64,
    /// The last sealed sequence.
    pub sealed: u64,
    /// Number of turns with a prompt.
    pub turns: u64,
    pub tool_calls: u64,
    pub subagents: u64,
    /// Number of commits that have it as committer.
    pub commits: u64,
    pub tokens: TokenUsage,
    /// The turn that waits for a decision, without the input of its calls; only where sessions are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldTurnJson>,
}

/// Sessions, newest first.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SessionListJson {
    pub items: Vec<SessionJson>,
    /// Whether there are more than were asked for.
    pub more: bool,
    /// Pass it as `cursor` to get the next page of the API; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// What was erased of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ForgottenJson {
    /// `parts` or `whole`.
    what: String,
    /// When something was erased last.
    at: String,
}

/// A fact attached to a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LinkJson {
    field: String,
    /// Value: a number or text; for a label, `key=value`.
    #[cfg_attr(feature = "schemas", schemars(extend("type" = ["integer", "string"])))]
    value: serde_json::Value,
}

/// Token usage.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TokenUsage {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// A turn that waits for a decision: its driver is gone, and calls in it have no result.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct HeldTurnJson {
    session: String,
    /// Turn key; pass it with the decision.
    turn_key: String,
    /// When the turn was opened.
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    since: String,
    /// The calls without a result, in order.
    calls: Vec<UnansweredCallJson>,
}

/// A tool call without a result: it is unknown whether it was executed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct UnansweredCallJson {
    call: String,
    tool: String,
    /// The first 200 characters of its input; absent in a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    #[cfg_attr(feature = "schemas", schemars(extend("format" = "date-time")))]
    started_at: String,
}

/// Sessions with the turns that wait for a decision. For transactions that only read, as [`turn::waits`] is.
///
/// # Errors
/// Those of the ledger.
pub fn shown(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    sessions: &[Listed],
    repositories: &[RepositoryRecord],
) -> Result<Vec<SessionJson>, LedgerError> {
    let mut shown = Vec::with_capacity(sessions.len());
    for listed in sessions {
        let held = undamaged(turn::waits(here, tx, listed.listing.record.id))?.flatten();
        shown.push(SessionJson {
            held: held.map(|held| HeldTurnJson::from(&held).without_input()),
            ..SessionJson::from_listed(listed, repositories)
        });
    }
    Ok(shown)
}

impl SessionJson {
    /// A session that works in some of these repositories.
    #[must_use]
    pub fn from_listed(session: &Listed, repositories: &[RepositoryRecord]) -> Self {
        let (record, summary) = (&session.listing.record, &session.listing.summary);
        let known = |id| repositories.iter().find(|r| r.id == id);
        let works_in = remote::works_in(record, &session.statements).into_iter();
        let own = record.repository.and_then(known);
        let remote = own.and_then(|r| r.identity.hosted_remote());
        Self {
            id: record.id,
            agent: record.agent.clone(),
            conversation_id: record.conversation.to_string(),
            mode: record.mode,
            origin: record.origin,
            state: session.stand,
            home: record.home,
            title: session.title().map(str::to_owned),
            created_at: record.created_at,
            last_at: record.last_at,
            ended_at: record.ended_at,
            end: end(&session.statements),
            archived_at: record.archived_at,
            quarantined: record.quarantined.clone(),
            forgotten: record.forgotten.map(ForgottenJson::from_forgotten),
            parent: record.parent.map(|(parent, _)| parent),
            relation: record.parent.map(|(_, relation)| relation),
            parent_at: record.parent_at,
            cwd: record.cwd.clone(),
            worktree: record.worktree.clone(),
            repositories: works_in
                .filter_map(known)
                .map(|r| r.common_dir.clone())
                .collect(),
            repository_remote: remote.map(str::to_owned),
            links: session.links.iter().map(LinkJson::from).collect(),
            models: summary.models.clone(),
            head: record.head,
            sealed: record.sealed,
            turns: summary.turns,
            tool_calls: summary.tool_calls,
            subagents: summary.subagents,
            commits: session.listing.commits,
            tokens: summary.tokens.into(),
            held: None,
        }
    }

    /// What another machine says, without secrets and without links that this program does not know.
    #[must_use]
    pub fn cleaned(mut self) -> Self {
        self.links.retain(|link| link.to_link().is_some());
        let texts = [
            &mut self.title,
            &mut self.end,
            &mut self.quarantined,
            &mut self.cwd,
            &mut self.worktree,
            &mut self.repository_remote,
        ];
        let texts = texts.into_iter().flatten();
        let texts = texts.chain([&mut self.conversation_id]);
        let texts = texts.chain(&mut self.repositories).chain(&mut self.models);
        let texts = texts.chain(
            self.forgotten
                .iter_mut()
                .flat_map(|f| [&mut f.what, &mut f.at]),
        );
        let texts = texts.chain(self.held.iter_mut().flat_map(HeldTurnJson::texts));
        for text in texts {
            if let Cow::Owned(clean) = Redactor::shared().redact_cow(text) {
                *text = clean;
            }
        }
        self
    }
}

/// How a session ended, in words.
fn end(statements: &[StatementRecord]) -> Option<String> {
    statements.iter().rev().find_map(|s| match &s.statement {
        Statement::Ended { end: Some(end), .. } | Statement::LaunchEnded { end, .. } => {
            Some(launch::words(end))
        }
        _ => None,
    })
}

impl ForgottenJson {
    /// What was erased, as the ledger has it.
    #[must_use]
    pub fn from_forgotten(forgotten: Forgotten) -> Self {
        let what = match forgotten {
            Forgotten::Parts { .. } => "parts",
            Forgotten::Whole { .. } => "whole",
        };
        Self {
            what: what.to_owned(),
            at: forgotten.at().to_string(),
        }
    }
}

impl LinkJson {
    /// The link, if it is one that this program knows.
    #[must_use]
    pub fn to_link(&self) -> Option<Link> {
        Link::from_json(&self.field, &self.value).ok()
    }
}

impl From<&Link> for LinkJson {
    fn from(link: &Link) -> Self {
        Self {
            field: link.field().to_owned(),
            value: link.to_json(),
        }
    }
}

impl From<Tokens> for TokenUsage {
    fn from(used: Tokens) -> Self {
        Self {
            input: used.input,
            output: used.output,
            cache_read: used.cache_read,
            cache_write: used.cache_write,
        }
    }
}

impl From<TokenUsage> for Tokens {
    fn from(used: TokenUsage) -> Self {
        Self {
            input: used.input,
            output: used.output,
            cache_read: used.cache_read,
            cache_write: used.cache_write,
        }
    }
}

impl From<&Held> for HeldTurnJson {
    fn from(held: &Held) -> Self {
        let calls = held.calls().into_iter();
        Self {
            session: held.turn.session.to_string(),
            turn_key: held.turn.key.clone(),
            since: held.turn.opened_at.to_string(),
            calls: calls.filter_map(UnansweredCallJson::new).collect(),
        }
    }
}

impl HeldTurnJson {
    /// The same without what was said in it, which nobody is shown before it is committed unless they are to decide.
    fn without_input(mut self) -> Self {
        for call in &mut self.calls {
            call.input = None;
        }
        self
    }

    fn texts(&mut self) -> impl Iterator<Item = &mut String> {
        let own = [&mut self.session, &mut self.turn_key, &mut self.since];
        let of_calls = self.calls.iter_mut().flat_map(|call| {
            let texts = [&mut call.call, &mut call.tool, &mut call.started_at];
            texts.into_iter().chain(&mut call.input)
        });
        own.into_iter().chain(of_calls)
    }
}

impl UnansweredCallJson {
    fn new(call: &Observation) -> Option<Self> {
        let Fact::ToolStarted { tool, input, .. } = &call.fact else {
            return None;
        };
        let input = Body::text(input).map(|text| text.chars().take(INPUT).collect());
        Some(Self {
            call: event::call_of(&call.event)
                .unwrap_or(&call.event)
                .to_owned(),
            tool: tool.clone(),
            input,
            started_at: call.at.to_string(),
        })
    }
}
