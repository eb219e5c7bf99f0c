//! Driven turns: leases, what is said, receipts.

use serde::{Deserialize, Serialize};
use siglum_domain::fold::Entry;
use siglum_domain::observation::{self, Observation, Outcome, Tokens};
use siglum_domain::receipt;
use siglum_domain::{Timestamp, TurnId, TurnKey};
use siglum_engine::turn::{Event, Leased, Page, Recovered};
use utoipa::ToSchema;

use super::numbers::count;
use crate::problem::Problem;

/// How long a key of an event may be, in characters: what it becomes here is longer.
const KEY_MOST: usize = 128;

/// What a tool does, as far as identity cares.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolClass {
    Edit,
    Shell,
    Agent,
    Other,
}

impl From<ToolClass> for observation::ToolClass {
    fn from(class: ToolClass) -> Self {
        match class {
            ToolClass::Edit => Self::Edit,
            ToolClass::Shell => Self::Shell,
            ToolClass::Agent => Self::Agent,
            ToolClass::Other => Self::Other,
        }
    }
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolOutcome {
    Ok,
    Failed,
    Denied,
}

/// What a message cost.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Usage {
    #[serde(default, deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    input: u64,
    #[serde(default, deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    output: u64,
    #[serde(default, deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    cache_read: u64,
    #[serde(default, deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    cache_write: u64,
}

impl From<ToolOutcome> for Outcome {
    fn from(outcome: ToolOutcome) -> Self {
        match outcome {
            ToolOutcome::Ok => Self::Ok,
            ToolOutcome::Failed => Self::Failed,
            ToolOutcome::Denied => Self::Denied,
        }
    }
}

impl From<Usage> for Tokens {
    fn from(used: Usage) -> Self {
        Self {
            input: used.input,
            output: used.output,
            cache_read: used.cache_read,
            cache_write: used.cache_write,
        }
    }
}

/// One thing that happened in a turn. Its key names it in the session for good: the same one twice is there once, and one
/// that says something else is refused. Texts are redacted before they are stored.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum TurnEvent {
    /// Somebody prompted.
    Prompt {
        #[schema(pattern = r"^[!-~]{1,128}$")]
        key: String,
        text: String,
        /// The agent wrote it itself.
        #[serde(default)]
        synthetic: bool,
    },
    /// The agent wrote a message.
    Message {
        #[schema(pattern = r"^[!-~]{1,128}$")]
        key: String,
        text: String,
        #[schema(min_length = 1, max_length = 256)]
        model: Option<String>,
        tokens: Option<Usage>,
        /// The sub-agent that wrote it.
        #[schema(pattern = r"^[!-~]{1,128}$")]
        subagent: Option<String>,
    },
    /// A tool is about to be called. To be said before it is.
    ToolCall {
        #[schema(pattern = r"^[!-~]{1,128}$")]
        call: String,
        #[schema(min_length = 1, max_length = 256)]
        tool: String,
        input: String,
        class: Option<ToolClass>,
        #[schema(pattern = r"^[!-~]{1,128}$")]
        subagent: Option<String>,
    },
    /// A tool returned.
    ToolResult {
        #[schema(pattern = r"^[!-~]{1,128}$")]
        call: String,
        #[schema(min_length = 1, max_length = 256)]
        tool: String,
        output: String,
        class: Option<ToolClass>,
        outcome: Option<ToolOutcome>,
        #[schema(pattern = r"^[!-~]{1,128}$")]
        subagent: Option<String>,
    },
    /// The turn came to its stop; the key is that of its prompt.
    Stop {
        #[schema(pattern = r"^[!-~]{1,128}$")]
        key: String,
        last_message: Option<String>,
    },
    /// The context was compacted: what is left of it.
    Compaction {
        #[schema(pattern = r"^[!-~]{1,128}$")]
        key: String,
        summary: String,
    },
    /// Something that there is no word for here, by its own name.
    Other {
        #[schema(pattern = r"^[!-~]{1,128}$")]
        key: String,
        #[schema(min_length = 1, max_length = 256)]
        name: String,
    },
}

fn named(field: &str, text: &str) -> Result<(), Problem> {
    let short = (1..=KEY_MOST).contains(&text.len());
    let plain = text.bytes().all(|b| b.is_ascii_graphic());
    match short && plain {
        true => Ok(()),
        false => Err(Problem::invalid(
            field,
            "1 to 128 printable ASCII characters without blanks",
        )),
    }
}

fn called(field: &str, text: &str) -> Result<(), Problem> {
    match (1..=256).contains(&text.chars().count()) {
        true => Ok(()),
        false => Err(Problem::invalid(field, "1 to 256 characters")),
    }
}

fn of_subagent(event: Event, subagent: Option<&String>) -> Result<Event, Problem> {
    let Some(id) = subagent else { return Ok(event) };
    named("subagent", id)?;
    Ok(event.in_subagent(id))
}

fn of_class(event: Event, class: Option<ToolClass>) -> Event {
    match class {
        Some(class) => event.class(class.into()),
        None => event,
    }
}

fn tool_named(call: &str, tool: &str) -> Result<(), Problem> {
    named("call", call)?;
    called("tool", tool)
}

fn ended(event: Event, outcome: Option<ToolOutcome>) -> Event {
    match outcome {
        Some(outcome) => event.outcome(outcome.into()),
        None => event,
    }
}

impl TurnEvent {
    fn checked(&self) -> Result<Event, Problem> {
        match self {
            Self::Prompt {
                key,
                text,
                synthetic,
            } => {
                named("key", key)?;
                let event = Event::prompt(key, text);
                Ok(if *synthetic { event.synthetic() } else { event })
            }
            Self::Message {
                key,
                text,
                model,
                tokens,
                subagent,
            } => {
                named("key", key)?;
                let mut event = Event::message(key, text);
                if let Some(model) = model {
                    called("model", model)?;
                    event = event.model(model);
                }
                if let Some(used) = tokens {
                    event = event.usage(Tokens::from(*used));
                }
                of_subagent(event, subagent.as_ref())
            }
            Self::ToolCall {
                call,
                tool,
                input,
                class,
                subagent,
            } => {
                tool_named(call, tool)?;
                let event = of_class(Event::tool_call(call, tool, input), *class);
                of_subagent(event, subagent.as_ref())
            }
            Self::ToolResult {
                call,
                tool,
                output,
                class,
                outcome,
                subagent,
            } => {
                tool_named(call, tool)?;
                let event = of_class(Event::tool_result(call, tool, output), *class);
                of_subagent(ended(event, *outcome), subagent.as_ref())
            }
            Self::Stop { key, last_message } => {
                named("key", key)?;
                let event = Event::stop(key);
                Ok(match last_message {
                    Some(text) => event.last_words(text),
                    None => event,
                })
            }
            Self::Compaction { key, summary } => {
                named("key", key)?;
                Ok(Event::compaction(key, summary))
            }
            Self::Other { key, name } => {
                named("key", key)?;
                called("name", name)?;
                Ok(Event::other(key, name))
            }
        }
    }
}

/// The events of a request as what was observed at `now`.
pub(crate) fn observed(said: &[TurnEvent], now: Timestamp) -> Result<Vec<Observation>, Problem> {
    let one = |(at, event): (usize, &TurnEvent)| {
        let event = event
            .checked()
            .map_err(|p| p.within(&format!("events.{at}")))?;
        Ok(event.observed(now))
    };
    said.iter().enumerate().map(one).collect()
}

/// Somebody wants to drive a session.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AcquireLease {
    /// Who, for people: a host, a program.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]
    pub(crate) holder: String,
    /// Tells two drivers of one name apart: whoever asks again with the same one is the same driver.
    #[schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$")]
    pub(crate) nonce: String,
    /// For how long, from each renewal on.
    #[schema(minimum = 1000, maximum = 3_600_000)]
    pub(crate) term_ms: u64,
}

/// The lease of whoever renews it.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewLease {
    /// The epoch of the lease.
    #[serde(deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) epoch: u64,
    /// For how long from now.
    #[schema(minimum = 1000, maximum = 3_600_000)]
    pub(crate) term_ms: u64,
}

/// The lease of whoever gives it back, or aborts what is open.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldLease {
    /// The epoch of the lease.
    #[serde(deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) epoch: u64,
}

/// The right to write to a session.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Lease {
    /// To be given with each write.
    epoch: u64,
    /// Where the log ends: the first write gives it as `expected_head`.
    head: u64,
    /// What became of the turn that the driver before left open: `nothing`, `asked`, `committed`,
    /// `interrupted`, `held`
    recovered: String,
    /// The key of a turn in which somebody asked and nothing was answered: to be taken up, or aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<String>,
}

impl From<&Leased> for Lease {
    fn from(leased: &Leased) -> Self {
        let recovered = match &leased.recovered {
            Recovered::Nothing => "nothing",
            Recovered::Asked => "asked",
            Recovered::Committed(_) => "committed",
            Recovered::Interrupted(_) => "interrupted",
            Recovered::Held { .. } => "held",
        };
        Self {
            epoch: leased.hold.epoch,
            head: leased.committed,
            recovered: recovered.to_owned(),
            open: leased.open.as_ref().map(|turn| turn.key.clone()),
        }
    }
}

/// What is said in a turn, under a lease.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnEvents {
    /// The epoch of the lease.
    #[serde(deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) epoch: u64,
    /// Where the log ends, as far as the driver knows.
    #[serde(deserialize_with = "count")]
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub(crate) expected_head: u64,
    /// What happened, in order.
    #[serde(default)]
    #[schema(max_items = 10_000)]
    pub(crate) events: Vec<TurnEvent>,
}

/// Proof that a turn is committed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Receipt {
    session: String,
    /// Its number in the session, from 1.
    number: u64,
    /// The first sealed sequence.
    first: u64,
    /// The last sealed sequence: where the log ends.
    last: u64,
    turns: Vec<String>,
    /// The digest of the receipt before.
    previous: String,
    digest: String,
    #[schema(format = DateTime)]
    at: String,
}

impl From<&receipt::Receipt> for Receipt {
    fn from(receipt: &receipt::Receipt) -> Self {
        Self {
            session: receipt.session.to_string(),
            number: receipt.number,
            first: receipt.first,
            last: receipt.last,
            turns: receipt.turns.iter().map(TurnId::to_string).collect(),
            previous: receipt.previous.clone(),
            digest: receipt.digest.clone(),
            at: receipt.at.to_string(),
        }
    }
}

/// A turn that is committed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct CommittedTurn {
    pub(crate) receipt: Receipt,
    /// Whether it had been committed before.
    pub(crate) already: bool,
}

/// A turn that is open.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct OpenedTurn {
    /// Whether it is open; else it was committed before, and there is its receipt.
    pub(crate) open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<Receipt>,
}

/// Receipts.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ReceiptList {
    pub(crate) receipts: Vec<Receipt>,
}

/// An entry of a session's log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LogEntry {
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    /// Who saw it: `hook`, `transcript`, `telemetry`, `api`, `siglum`.
    source: &'static str,
    key: String,
    /// Entries with the same one speak of the same event.
    event: String,
    #[schema(format = DateTime)]
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subagent: Option<String>,
    /// What was seen, as it is stored; `fact` in it says what kind it is.
    #[schema(value_type = Object)]
    fact: serde_json::Value,
}

impl From<&Entry> for LogEntry {
    fn from(entry: &Entry) -> Self {
        let seen = &entry.observation;
        Self {
            sequence: entry.sequence,
            turn: entry.turn.map(|t| t.to_string()),
            source: seen.source.as_str(),
            key: seen.key.clone(),
            event: seen.event.clone(),
            at: seen.at.to_string(),
            subagent: seen.subagent.clone(),
            fact: serde_json::to_value(&seen.fact).unwrap_or_default(),
        }
    }
}

/// A part of the log of a session. Forgotten entries are left out.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LogPage {
    pub(crate) entries: Vec<LogEntry>,
    /// Up to where the log is sealed: what is behind that is open.
    pub(crate) sealed: u64,
}

impl From<&Page> for LogPage {
    fn from(page: &Page) -> Self {
        Self {
            entries: page.entries.iter().map(LogEntry::from).collect(),
            sealed: page.committed,
        }
    }
}

/// Takes the key of a turn, out of a path.
pub(crate) fn turn_key(text: &str) -> Result<String, Problem> {
    let key = TurnKey::new(text).map_err(|e| Problem::invalid("key", e.rule))?;
    Ok(key.to_string())
}
