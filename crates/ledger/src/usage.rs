//! Verbs of usage: what each message of a session cost, by session and event. A fold of the logs, but for what is kept of
//! sessions that were forgotten. Beside it, a fold of that: what messages cost together, by session and quarter of an hour,
//! which answers what sessions cost without a look at each message.

use std::collections::BTreeMap;

use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_domain::price::prompt_band;
use siglum_domain::{AgentName, RepositoryId, SessionId, Timestamp};

use crate::LedgerError;
use crate::row::{from_json, json};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// What a message of a session cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRecord {
    pub session: SessionId,
    pub usage: Usage,
    /// Whether an older session has the same event of the same moment, so that this one is a copy of it.
    pub copied: bool,
}

impl UsageRecord {
    /// Whether it counts in this session: not where it is a copy, or another message under a second name.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        !self.copied && self.usage.is_counted()
    }

    fn quarter_key(&self) -> QuarterKey<'_> {
        let usage = &self.usage;
        // What is not counted has no price.
        let prompt = match self.is_counted() {
            true => usage.tokens.prompt(),
            false => 0,
        };
        QuarterKey {
            start: quarter_start(usage.at),
            model: usage.model.as_deref(),
            branch: usage.branch.as_deref(),
            band: prompt_band(prompt),
        }
    }
}

/// How long a quarter of an hour is, in nanoseconds. Days begin with one in every time zone in use, also where the offset
/// is no whole hour, and the prices of a day with one in UTC.
pub const QUARTER: i64 = 15 * 60 * 1_000_000_000;

/// The start of the quarter of an hour that a time is in.
#[must_use]
pub const fn quarter_start(at: Timestamp) -> Timestamp {
    let nanos = at.nanos();
    Timestamp::from_nanos(nanos.saturating_sub(nanos.rem_euclid(QUARTER)))
}

/// What tells the quarters of a session apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QuarterKey<'u> {
    start: Timestamp,
    model: Option<&'u str>,
    branch: Option<&'u str>,
    /// The length of the prompts, as far as prices tell lengths apart.
    band: usize,
}

/// What messages of a session cost together: those of one quarter of an hour, one model, one branch, and prompts of one
/// length, as far as prices tell lengths apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuarter {
    pub start: Timestamp,
    pub model: Option<String>,
    pub branch: Option<String>,
    /// The messages that count, and their tokens.
    pub counted: Records,
    /// Records by which the same source told of a message again.
    pub repeated: Records,
    /// Records by which another source told of a message, too.
    pub retold: Records,
    /// Records of messages that were copied from an older session.
    pub copied: Records,
    /// The shortest and the longest prompt of the messages that count, in tokens.
    pub prompts: (u64, u64),
    /// When the last message that counts was written; the start where none counts.
    pub last_at: Timestamp,
}

impl UsageQuarter {
    fn empty(key: &QuarterKey<'_>) -> Self {
        Self {
            start: key.start,
            model: key.model.map(str::to_owned),
            branch: key.branch.map(str::to_owned),
            counted: Records::default(),
            repeated: Records::default(),
            retold: Records::default(),
            copied: Records::default(),
            prompts: (0, 0),
            last_at: key.start,
        }
    }

    /// When it is over.
    #[must_use]
    pub const fn end(&self) -> Timestamp {
        Timestamp::from_nanos(self.start.nanos().saturating_add(QUARTER))
    }

    /// Whether a message of the same session is one of these.
    #[must_use]
    pub fn holds(&self, message: &UsageRecord) -> bool {
        let own = QuarterKey {
            start: self.start,
            model: self.model.as_deref(),
            branch: self.branch.as_deref(),
            band: prompt_band(self.prompts.0),
        };
        message.quarter_key() == own
    }

    fn add(&mut self, message: &UsageRecord) {
        let usage = &message.usage;
        let own = Records {
            count: u64::from(usage.is_counted()),
            tokens: usage.tokens,
        };
        if message.copied {
            self.copied += own;
            self.copied += usage.repeated;
            self.copied += usage.retold;
            return;
        }
        self.repeated += usage.repeated;
        self.retold += usage.retold;
        if !usage.is_counted() {
            return;
        }
        let prompt = usage.tokens.prompt();
        self.prompts = match (self.counted.count, self.prompts) {
            (0, _) => (prompt, prompt),
            (_, (shortest, longest)) => (shortest.min(prompt), longest.max(prompt)),
        };
        self.last_at = self.last_at.max(usage.at);
        self.counted += own;
    }
}

/// What messages of a session cost together, in the order of their quarters.
pub(crate) fn quarters(messages: &[UsageRecord]) -> Vec<UsageQuarter> {
    let mut quarters: BTreeMap<QuarterKey<'_>, UsageQuarter> = BTreeMap::new();
    for message in messages {
        let key = message.quarter_key();
        let quarter = quarters.entry(key);
        let quarter = quarter.or_insert_with(|| UsageQuarter::empty(&key));
        quarter.add(message);
    }
    quarters.into_values().collect()
}

/// What an answer about cost says of the session that something was used in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSession {
    pub id: SessionId,
    pub agent: AgentName,
    /// The repository that it began in, where its usage counts.
    pub repository: Option<RepositoryId>,
}

/// A quarter of an hour of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarterRecord {
    pub session: UsageSession,
    pub quarter: UsageQuarter,
}

/// Which quarters are meant; nothing is said of what is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuarterFilter {
    pub session: Option<SessionId>,
    /// Those of sessions that began in one of these repositories; in any place, if there are none.
    pub repositories: Vec<RepositoryId>,
    /// Those of sessions of this agent.
    pub agent: Option<AgentName>,
    pub model: Option<String>,
    /// Those that this time is in, and later ones.
    pub since: Option<Timestamp>,
    /// Those that begin before this time.
    pub until: Option<Timestamp>,
}

/// Which messages are meant; nothing is said of what is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageFilter {
    pub session: Option<SessionId>,
    /// Those from this time on.
    pub since: Option<Timestamp>,
    /// Those before this time.
    pub until: Option<Timestamp>,
    /// Those behind this event of this session: where a page ends, the next one begins.
    pub after: Option<(SessionId, String)>,
    /// At most so many; 0 means all.
    pub limit: usize,
}

/// What messages cost.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Usages {
    /// Stores what the messages of a session cost; what was there of it is replaced, but for what was kept when the
    /// session was forgotten.
    fn put_usages(&mut self, session: SessionId, usage: &[Usage]) -> Result<()>;
    /// Erases what the messages of a session cost, also what was kept when it was forgotten.
    fn drop_usages(&mut self, session: SessionId) -> Result<()>;
    /// What messages cost, by session, then by event.
    fn usages(&mut self, filter: &UsageFilter) -> Result<Vec<UsageRecord>>;
    /// Hands what messages cost together to `take`, in any order, one quarter of an hour after the other: there may be
    /// more than fit into memory.
    fn usage_quarters(
        &mut self,
        filter: &QuarterFilter,
        take: &mut dyn FnMut(QuarterRecord),
    ) -> Result<()>;
    /// The sessions that a link was ever attached to, by id.
    fn linked_sessions(&mut self) -> Result<Vec<SessionId>>;
    /// The sessions that commits are judged to be of, by id.
    fn committing_sessions(&mut self) -> Result<Vec<SessionId>>;
    /// The titles of those of these sessions that have one, by id.
    fn titles(&mut self, sessions: &[SessionId]) -> Result<Vec<(SessionId, String)>>;
}

/// Records as stores hold them where they are not counted: their number, then tokens.
type Packed = [u64; 5];

const fn pack_records(records: Records) -> Packed {
    let t = records.tokens;
    [
        records.count,
        t.input,
        t.output,
        t.cache_read,
        t.cache_write,
    ]
}

const fn unpack_records([count, input, output, cache_read, cache_write]: Packed) -> Records {
    Records {
        count,
        tokens: Tokens {
            input,
            output,
            cache_read,
            cache_write,
        },
    }
}

/// What is not counted, as stores hold it: records of the same source, then of others.
type LeftOut = [Packed; 2];

pub(crate) fn pack_left_out(usage: &Usage) -> Option<String> {
    let packed: LeftOut = [usage.repeated, usage.retold].map(pack_records);
    (packed != LeftOut::default()).then(|| json(&packed))
}

pub(crate) fn unpack_left_out(stored: Option<&str>) -> Result<(Records, Records)> {
    let packed: LeftOut = match stored {
        Some(text) => from_json("what is not counted", text)?,
        None => LeftOut::default(),
    };
    let [repeated, retold] = packed.map(unpack_records);
    Ok((repeated, retold))
}

/// The same of a quarter of an hour: records of the same source, of others, and of copies.
type QuarterLeftOut = [Packed; 3];

pub(crate) fn pack_quarter_left_out(quarter: &UsageQuarter) -> Option<String> {
    let parts = [quarter.repeated, quarter.retold, quarter.copied];
    let packed: QuarterLeftOut = parts.map(pack_records);
    (packed != QuarterLeftOut::default()).then(|| json(&packed))
}

pub(crate) fn unpack_quarter_left_out(stored: Option<&str>) -> Result<[Records; 3]> {
    let packed: QuarterLeftOut = match stored {
        Some(text) => from_json("what is not counted", text)?,
        None => QuarterLeftOut::default(),
    };
    Ok(packed.map(unpack_records))
}
