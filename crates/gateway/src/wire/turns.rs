//! Driven turns: leases, what is said, receipts.

use serde::{Deserialize, Serialize};
use siglum_domain::fold::Entry;
use siglum_domain::observation::{self, Observation, Outcome, Tokens};
use siglum_domain::receipt;
use siglum_domain::{Timestamp, TurnId, TurnKey};
use siglum_engine::driven::turn::{Event, Leased, Page, Recovered};

use super::links::without_secret;
use super::numbers::count;
use crate::problem::Problem;

/// How long a key of an event may be, in characters: what it becomes here is longer.
const KEY_MOST: usize = 128;

/// The class of a tool.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
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

impl From<observation::ToolClass> for ToolClass {
    fn from(class: observation::ToolClass) -> Self {
        match class {
            observation::ToolClass::Edit => Self::Edit,
            observation::ToolClass::Shell => Self::Shell,
            observation::ToolClass::Agent => Self::Agent,
            observation::ToolClass::Other => Self::Other,
        }
    }
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToolOutcome {
    Ok,
    Failed,
    Denied,
}

impl From<Outcome> for ToolOutcome {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Ok => Self::Ok,
            Outcome::Failed => Self::Failed,
            Outcome::Denied => Self::Denied,
        }
    }
}

/// Token usage of a message.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Usage {
    #[serde(default, deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    input: u64,
    #[serde(default, deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    output: u64,
    #[serde(default, deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    cache_read: u64,
    #[serde(default, deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
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

/// An event of a turn. Its key identifies it in the session permanently: a repeated event is stored once, and other
/// content under the same key is refused. Text is redacted before it is stored.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum TurnEvent {
    /// A prompt.
    Prompt {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        key: String,
        text: String,
        /// Whether the agent generated it itself.
        #[serde(default)]
        synthetic: bool,
    },
    /// A message of the agent.
    Message {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        key: String,
        text: String,
        #[cfg_attr(test, schema(min_length = 1, max_length = 256))]
        model: Option<String>,
        tokens: Option<Usage>,
        /// The sub-agent that wrote it.
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        subagent: Option<String>,
    },
    /// A tool call; send it before the tool is called.
    ToolCall {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        call: String,
        #[cfg_attr(test, schema(min_length = 1, max_length = 256))]
        tool: String,
        input: String,
        class: Option<ToolClass>,
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        subagent: Option<String>,
    },
    /// A tool result.
    ToolResult {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        call: String,
        #[cfg_attr(test, schema(min_length = 1, max_length = 256))]
        tool: String,
        output: String,
        class: Option<ToolClass>,
        outcome: Option<ToolOutcome>,
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        subagent: Option<String>,
    },
    /// The turn stopped; the key is that of its prompt.
    Stop {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        key: String,
        last_message: Option<String>,
    },
    /// The context was compacted, with its summary.
    Compaction {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        key: String,
        summary: String,
    },
    /// Any other event, by its own name.
    Other {
        #[cfg_attr(test, schema(pattern = r"^[!-~]{1,128}$"))]
        key: String,
        #[cfg_attr(test, schema(min_length = 1, max_length = 256))]
        name: String,
    },
}

fn named(field: &str, text: &str) -> Result<(), Problem> {
    let short = (1..=KEY_MOST).contains(&text.len());
    let plain = text.bytes().all(|b| b.is_ascii_graphic());
    match short && plain {
        true => without_secret(field, text),
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
pub(crate) fn observed(events: &[TurnEvent], now: Timestamp) -> Result<Vec<Observation>, Problem> {
    let one = |(at, event): (usize, &TurnEvent)| {
        let event = event
            .checked()
            .map_err(|p| p.within(&format!("events.{at}")))?;
        Ok(event.observed(now))
    };
    events.iter().enumerate().map(one).collect()
}

/// Requests the lease of a session.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct AcquireLease {
    /// Display name of the driver, such as a host or a program.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$"))]
    pub(crate) holder: String,
    /// Distinguishes drivers of the same name: requests with the same nonce come from the same driver.
    #[cfg_attr(test, schema(pattern = r"^[^\x00-\x1f\x7f-\x9f]{1,200}$"))]
    pub(crate) nonce: String,
    /// Term in milliseconds, counted from each renewal.
    #[cfg_attr(test, schema(minimum = 1000, maximum = 3_600_000))]
    pub(crate) term_ms: u64,
}

/// The lease to renew.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewLease {
    /// The epoch of the lease.
    #[serde(deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) epoch: u64,
    /// New term in milliseconds, counted from now.
    #[cfg_attr(test, schema(minimum = 1000, maximum = 3_600_000))]
    pub(crate) term_ms: u64,
}

/// The lease to release, or under which to abort the open turn.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldLease {
    /// The epoch of the lease.
    #[serde(deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) epoch: u64,
}

/// How the turn that a driver left open was settled.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeaseRecovery {
    /// There was none.
    Nothing,
    /// It has a prompt alone, and stays open.
    Asked,
    /// It was complete, and is committed.
    Committed,
    /// It was broken off, and is committed as interrupted.
    Interrupted,
    /// It waits for a decision.
    Held,
}

/// The right to write to a session.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Lease {
    /// Epoch to pass with each write.
    epoch: u64,
    /// End of the log; pass it as `expected_head` with the first write.
    head: u64,
    /// How the turn that the previous driver left open was settled.
    recovered: LeaseRecovery,
    /// Key of a turn that has a prompt and no answer yet; continue or abort it.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<String>,
}

impl From<&Leased> for Lease {
    fn from(leased: &Leased) -> Self {
        let recovered = match &leased.recovered {
            Recovered::Nothing => LeaseRecovery::Nothing,
            Recovered::Asked => LeaseRecovery::Asked,
            Recovered::Committed(_) => LeaseRecovery::Committed,
            Recovered::Interrupted(_) => LeaseRecovery::Interrupted,
            Recovered::Held { .. } => LeaseRecovery::Held,
        };
        Self {
            epoch: leased.hold.epoch,
            head: leased.committed,
            recovered,
            open: leased.open.as_ref().map(|turn| turn.key.clone()),
        }
    }
}

/// Events of a turn, under a lease.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnEvents {
    /// The epoch of the lease.
    #[serde(deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) epoch: u64,
    /// End of the log, as far as the driver knows.
    #[serde(deserialize_with = "count")]
    #[cfg_attr(test, schema(minimum = 0, maximum = 9_007_199_254_740_991_i64))]
    pub(crate) expected_head: u64,
    /// The events, in order.
    #[serde(default)]
    #[cfg_attr(test, schema(max_items = 10_000))]
    pub(crate) events: Vec<TurnEvent>,
}

/// Proof that a turn is committed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Receipt {
    session: String,
    /// Its number in the session, from 1.
    number: u64,
    /// The first sealed sequence.
    first: u64,
    /// The last sealed sequence, which is the end of the log.
    last: u64,
    turns: Vec<String>,
    /// Digest of the previous receipt.
    previous: String,
    digest: String,
    #[cfg_attr(test, schema(format = DateTime))]
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

/// A committed turn.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CommittedTurn {
    pub(crate) receipt: Receipt,
    /// Whether it was already committed.
    pub(crate) already: bool,
}

/// An open turn.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct OpenedTurn {
    /// Whether it is open; if not, it was already committed, and `receipt` is its receipt.
    pub(crate) open: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<Receipt>,
}

/// Receipts.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ReceiptList {
    pub(crate) items: Vec<Receipt>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// An entry of a session's log.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct LogEntry {
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<String>,
    /// Source: `hook`, `transcript`, `telemetry`, `api` or `siglum`.
    source: &'static str,
    key: String,
    /// Entries with the same value describe the same event.
    event: String,
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subagent: Option<String>,
    /// The observation as stored; its field `fact` is the kind.
    #[cfg_attr(test, schema(value_type = Object))]
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

/// A page of a session's log, without erased entries.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct LogEntryList {
    pub(crate) items: Vec<LogEntry>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
    /// Last sealed sequence; entries after it are open.
    pub(crate) sealed: u64,
}

impl LogEntryList {
    /// A page of at most `limit` entries.
    pub(crate) fn from_page(page: &Page, limit: usize) -> Self {
        let next = page.entries.last().filter(|_| page.entries.len() == limit);
        Self {
            items: page.entries.iter().map(LogEntry::from).collect(),
            next: next.map(|entry| entry.sequence.to_string()),
            sealed: page.committed,
        }
    }
}

/// Takes the key of a turn, out of a path.
pub(crate) fn turn_key(text: &str) -> Result<String, Problem> {
    let key = TurnKey::new(text).map_err(|e| Problem::invalid("turn_key", e.rule))?;
    without_secret("turn_key", text)?;
    Ok(key.to_string())
}
