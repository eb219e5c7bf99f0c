//! Verbs of usage: what each message of a session cost, by session and event. A fold of the logs, but for what is kept of
//! sessions that were forgotten. Beside it, a fold of that: what messages cost together, by session and quarter of an hour,
//! which answers what sessions cost without a look at each message.

use std::collections::BTreeMap;

use siglum_domain::evidence::Verdict;
use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_domain::price::prompt_band;
use siglum_domain::{AgentName, Oid, RepositoryId, SessionId, Timestamp};

use crate::LedgerError;
use crate::columns::int;
use crate::record::SeenBy;
use crate::row::{from_json, from_word, json};

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

    /// The length of its prompt, as far as prices tell lengths apart.
    fn band(&self) -> usize {
        // What is not counted has no price.
        let prompt = match self.is_counted() {
            true => self.usage.tokens.prompt(),
            false => 0,
        };
        prompt_band(prompt)
    }

    /// Where it is summed up, if sums are split at these times, which are in order.
    fn quarter_key(&self, splits: &[Timestamp]) -> QuarterKey<'_> {
        let usage = &self.usage;
        let (start, past) = quarter_around(usage.at, splits);
        QuarterKey {
            start,
            past,
            model: usage.model.as_deref(),
            branch: usage.branch.as_deref(),
            band: self.band(),
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

/// When the quarter of an hour that a time is in is over.
pub(crate) const fn quarter_past(at: Timestamp) -> Timestamp {
    Timestamp::from_nanos(quarter_start(at).nanos().saturating_add(QUARTER))
}

/// The quarter of an hour that a time is in, or the part of it between two splits: its start, and when it is over. A split
/// belongs to what is before it.
fn quarter_around(at: Timestamp, splits: &[Timestamp]) -> (Timestamp, Timestamp) {
    let behind = |split: &Timestamp| Timestamp::from_nanos(split.nanos().saturating_add(1));
    let (start, past) = (quarter_start(at), quarter_past(at));
    let next = splits.partition_point(|split| *split < at);
    let before = next.checked_sub(1).and_then(|place| splits.get(place));
    (
        before.map_or(start, |split| start.max(behind(split))),
        splits
            .get(next)
            .map_or(past, |split| past.min(behind(split))),
    )
}

/// What tells the quarters of a session apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QuarterKey<'u> {
    start: Timestamp,
    past: Timestamp,
    model: Option<&'u str>,
    branch: Option<&'u str>,
    /// The length of the prompts, as far as prices tell lengths apart.
    band: usize,
}

/// What messages of a session cost together: those of one quarter of an hour, or of the part of it up to a commit or behind
/// it, of one model, one branch, and prompts of one length, as far as prices tell lengths apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageQuarter {
    pub start: Timestamp,
    /// When it is over.
    pub past: Timestamp,
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
            past: key.past,
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

    /// Whether a message of the same session is one of these.
    #[must_use]
    pub fn holds(&self, message: &UsageRecord) -> bool {
        let usage = &message.usage;
        self.start <= usage.at
            && usage.at < self.past
            && usage.model == self.model
            && usage.branch == self.branch
            && message.band() == prompt_band(self.prompts.0)
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

/// What messages of a session cost together, in the order of their quarters, which are split at these times.
pub(crate) fn quarters(messages: &[UsageRecord], splits: &[Timestamp]) -> Vec<UsageQuarter> {
    let mut quarters: BTreeMap<QuarterKey<'_>, UsageQuarter> = BTreeMap::new();
    for message in messages {
        let key = message.quarter_key(splits);
        let quarter = quarters.entry(key);
        let quarter = quarter.or_insert_with(|| UsageQuarter::empty(&key));
        quarter.add(message);
    }
    quarters.into_values().collect()
}

/// What tells sums apart that no commit splits.
type UnsplitKey = (Timestamp, Option<String>, Option<String>, usize);

/// The records and tokens that count, those of both kinds that do not, and those that were copied, as stores hold numbers.
type QuarterNumbers = [[i64; 5]; 4];

/// What quarters of a session come to where no commit splits them: when one became known says nothing of what was used.
pub(crate) fn unsplit(quarters: Vec<UsageQuarter>) -> BTreeMap<UnsplitKey, QuarterNumbers> {
    let mut sums: BTreeMap<UnsplitKey, QuarterNumbers> = BTreeMap::new();
    for q in quarters {
        let band = prompt_band(q.prompts.0);
        let sum = sums.entry((quarter_start(q.start), q.model, q.branch, band));
        let sum = sum.or_default().as_flattened_mut().iter_mut();
        let more = [q.counted, q.repeated, q.retold, q.copied];
        let more = more.map(|records| pack_records(records).map(int));
        sum.zip(more.as_flattened())
            .for_each(|(n, more)| *n = n.saturating_add(*more));
    }
    sums
}

/// What an answer about cost says of the session that something was used in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSession {
    pub id: SessionId,
    /// `None` where nobody named it.
    pub agent: Option<AgentName>,
    /// The repository that it began in, where its usage counts.
    pub repository: Option<RepositoryId>,
}

/// A quarter of an hour of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarterRecord {
    pub session: UsageSession,
    pub quarter: UsageQuarter,
}

/// A link that a session has or had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLink {
    pub session: SessionId,
    /// The number or name that was linked.
    pub value: String,
    /// Whether it stood for the whole session: it was never detached, and nothing else of its kind was attached before.
    pub is_whole: bool,
}

/// Which sessions are meant: these, or, if there are none, all that used something within a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsingSessions<'a> {
    pub sessions: &'a [SessionId],
    /// Those that used something in the quarter of an hour that this time is in, or later.
    pub since: Option<Timestamp>,
    /// Those that used something in a quarter of an hour that begins before this time.
    pub until: Option<Timestamp>,
}

impl UsingSessions<'_> {
    /// The first start of a quarter of an hour within the time, and what all of them are before; nothing where all
    /// sessions are meant.
    pub(crate) fn starts(&self) -> Option<(i64, i64)> {
        (self.since.is_some() || self.until.is_some()).then(|| {
            (
                self.since
                    .map_or(i64::MIN, |since| quarter_start(since).nanos()),
                self.until.map_or(i64::MAX, Timestamp::nanos),
            )
        })
    }
}

/// What is known of a commit that a session made, without all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCommit {
    pub session: SessionId,
    pub repository: RepositoryId,
    pub commit: Oid,
    /// When it was noticed.
    pub at: Timestamp,
    pub seen_by: SeenBy,
    pub verdict: Verdict,
    /// When git says it was made, and the first line of its message.
    pub facts: Option<(Timestamp, String)>,
    /// Whether it was made of another commit or became one, or another one has its checkpoint.
    pub is_rewritten: bool,
}

impl SessionCommit {
    /// When it was made.
    #[must_use]
    pub fn made_at(&self) -> Timestamp {
        made_at(
            self.at,
            self.seen_by,
            self.facts.as_ref().map(|facts| facts.0),
        )
    }
}

/// When a commit was made that was noticed `at`: a hook and the return of a call notice one at once; of any other, git
/// tells the second, in `committed`.
#[must_use]
pub fn made_at(at: Timestamp, seen_by: SeenBy, committed: Option<Timestamp>) -> Timestamp {
    match (committed, seen_by) {
        (Some(committed), SeenBy::Sweep | SeenBy::Import | SeenBy::Rewrite) => {
            committed.plus_millis(999)
        }
        _ => at,
    }
}

/// What answers about cost read of the facts of a commit.
#[derive(serde::Deserialize)]
struct CommitHead {
    committed: Timestamp,
    subject: String,
}

/// The facts of a commit that answers about cost need, from all of them as they are stored.
pub(crate) fn commit_head(stored: &str) -> Result<(Timestamp, String)> {
    let head: CommitHead = from_json("commit", stored)?;
    Ok((head.committed, head.subject))
}

/// When a commit was made, from what is stored of it; nothing where that cannot be read.
pub(crate) fn commit_time(at: Timestamp, seen_by: &str, facts: Option<&str>) -> Option<Timestamp> {
    let seen_by = from_word("seen by", seen_by).ok()?;
    let committed = match seen_by {
        SeenBy::Hook | SeenBy::Tool => None,
        _ => facts.map(commit_head).transpose().ok()?.map(|head| head.0),
    };
    Some(made_at(at, seen_by, committed))
}

/// Which quarters are meant; nothing is said of what is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuarterFilter {
    /// Those of these sessions; of any, if there are none.
    pub sessions: Vec<SessionId>,
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
    /// The links of a kind that sessions ever had, by session, then by value; with `value`, only those with this one. At
    /// most `limit`; 0 means all. The kind is one of [`siglum_domain::link::FIELDS`].
    fn session_links(
        &mut self,
        field: &str,
        value: Option<&str>,
        of: UsingSessions<'_>,
        limit: usize,
    ) -> Result<Vec<SessionLink>>;
    /// The commits that are judged to be of sessions, by session, then by repository and commit.
    fn session_commits(&mut self, of: UsingSessions<'_>) -> Result<Vec<SessionCommit>>;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_is_split_where_a_commit_was_made() {
        let at = Timestamp::from_nanos;
        let around = |nanos: i64, splits: &[i64]| {
            let splits: Vec<Timestamp> = splits.iter().map(|n| at(*n)).collect();
            let (start, past) = quarter_around(at(nanos), &splits);
            (start.nanos(), past.nanos())
        };
        assert_eq!(around(5, &[]), (0, QUARTER));
        assert_eq!(around(5, &[-1, QUARTER + 9]), (0, QUARTER));
        assert_eq!(around(5, &[7]), (0, 8));
        assert_eq!(around(7, &[7]), (0, 8));
        assert_eq!(around(8, &[7]), (8, QUARTER));
        assert_eq!(around(8, &[3, 7, 9]), (8, 10));
    }
}
