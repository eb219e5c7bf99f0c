//! Verbs of usage: what each message of a session cost, by session and event. A fold of the logs, but for what is kept of
//! sessions that were forgotten.

use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_domain::{SessionId, Timestamp};

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
}

/// What is not counted, as stores hold it: number of records, then tokens; of the same source, then of others.
type LeftOut = [[u64; 5]; 2];

pub(crate) fn pack_left_out(usage: &Usage) -> Option<String> {
    let pack = |r: Records| {
        let t = r.tokens;
        [r.count, t.input, t.output, t.cache_read, t.cache_write]
    };
    let packed: LeftOut = [pack(usage.repeated), pack(usage.retold)];
    (packed != LeftOut::default()).then(|| json(&packed))
}

pub(crate) fn unpack_left_out(stored: Option<&str>) -> Result<(Records, Records)> {
    let packed: LeftOut = match stored {
        Some(text) => from_json("what is not counted", text)?,
        None => LeftOut::default(),
    };
    let [repeated, retold] =
        packed.map(|[count, input, output, cache_read, cache_write]| Records {
            count,
            tokens: Tokens {
                input,
                output,
                cache_read,
                cache_write,
            },
        });
    Ok((repeated, retold))
}
