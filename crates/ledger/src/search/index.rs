//! The verbs of the index.

use std::collections::BTreeMap;

use siglum_domain::search::{IndexTerm, TurnText};
use siglum_domain::{RepositoryId, SessionId, Timestamp, TurnId};

use crate::LedgerError;
use crate::row::{from_json, json, pack, unpack};

type Result<T> = std::result::Result<T, LedgerError>;

/// A session whose texts the index lacks in their newest state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitingSession {
    pub session: SessionId,
    /// Which change of it this is. It says nothing of the order of changes.
    pub change: i64,
}

/// Which part of a session: a turn, and a part of it; without a turn, what is outside of all turns.
pub type PartKey = (Option<TurnId>, u64);

/// A part of a session as it is in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartMark {
    pub key: PartKey,
    /// The digest of what it was made of.
    pub mark: [u8; 32],
}

/// A part of a session as it is to be in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedPart {
    pub key: PartKey,
    /// The digest of what it was made of.
    pub mark: [u8; 32],
    /// The number of the turn in the session, from 1; 0 for what is outside of all turns.
    pub number: u64,
    /// When the turn began.
    pub began: Timestamp,
    /// Its texts; absent where the index has them, under the same mark.
    pub text: Option<TurnText>,
}

/// What becomes of a session in the index.
#[derive(Debug, Clone, Copy)]
pub struct IndexUpdate<'a> {
    /// The session as it was when its texts were read.
    pub waiting: WaitingSession,
    pub parts: &'a [IndexedPart],
    /// Whether these are all: others go, and the session waits no more.
    pub is_whole: bool,
    /// When something of the session was last erased in the ledger: nothing of it may remain.
    pub erased: Option<Timestamp>,
}

/// How the index stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexStanding {
    /// Whether it can be asked: it is there, whole, of this version and of this ledger.
    pub is_ready: bool,
    /// Sessions that it lacks in their newest state; 10,000 stand for more.
    pub waiting: u64,
}

/// What a check of the index came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexCheck {
    /// What is wrong, in words; nothing means that no damage is known.
    pub wrong: Vec<String>,
    /// The size of an index that was not looked at, because it is large, in bytes.
    pub unchecked_bytes: Option<u64>,
}

impl From<Vec<String>> for IndexCheck {
    fn from(wrong: Vec<String>) -> Self {
        Self {
            wrong,
            unchecked_bytes: None,
        }
    }
}

/// More sessions that wait are not counted: a search would wait for that.
pub(crate) const WAITING_MOST: usize = 10_000;

/// What is asked of the index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexQuery {
    /// Of each of these lists at least one. Without any, all parts fit.
    pub all_of: Vec<Vec<IndexTerm>>,
    /// Turns that began at or after this.
    pub since: Option<Timestamp>,
    /// Turns that began before this.
    pub until: Option<Timestamp>,
    /// Of these sessions alone; at most a few hundred.
    pub sessions: Option<Vec<SessionId>>,
    pub limit: usize,
}

/// A part of a session that has all that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexMatch {
    /// What the index calls it until it changes.
    pub id: i64,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// The number of the turn in the session, from 1; 0 for what is outside of all turns.
    pub number: u64,
    /// When the turn began.
    pub began: Timestamp,
}

/// The index of a store. Each verb is a transaction of its own.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does; `Damaged` where the index is damaged, which `restart_index` mends"
)]
pub trait SearchIndex {
    /// How it stands.
    fn index_standing(&mut self) -> Result<IndexStanding>;
    /// Makes it ready to be filled. One that is missing, or of another version or ledger, is begun anew.
    fn begin_index(&mut self) -> Result<()>;
    /// Empties it, also where it is damaged: all sessions wait. Gives their number.
    fn restart_index(&mut self) -> Result<u64>;
    /// Sessions that it lacks in their newest state, those first that were created last.
    fn waiting_sessions(&mut self, limit: usize) -> Result<Vec<WaitingSession>>;
    /// The repositories that a session works in or made commits in, in order.
    fn session_repositories(&mut self, session: SessionId) -> Result<Vec<RepositoryId>>;
    /// What it has of a session.
    fn indexed_parts(&mut self, session: SessionId) -> Result<Vec<PartMark>>;
    /// Puts sessions into it, each unless it changed since it was read, or a text is lacking that is to be kept. Gives
    /// how many were put.
    fn update_index(&mut self, updates: &[IndexUpdate<'_>]) -> Result<usize>;
    /// Parts that fit, the newest first.
    fn search_index(&mut self, query: &IndexQuery) -> Result<Vec<IndexMatch>>;
    /// The texts of parts, of those that are still there.
    fn indexed_texts(&mut self, ids: &[i64]) -> Result<Vec<(i64, TurnText)>>;
    /// Checks it, unless it is large.
    fn check_index(&mut self) -> Result<IndexCheck>;
}

/// What stands for a word that no text has.
const NO_WORD: &str = "\u{e00f}";

/// A word as it is asked for. One that no index can have is asked for as one that none has: what it is made of would be
/// other words, or syntax.
pub(crate) fn index_word(word: &str) -> &str {
    let is_of_word =
        |byte: u8| byte.is_ascii_alphanumeric() || !byte.is_ascii() || matches!(byte, b'_' | b'-');
    match !word.is_empty() && word.bytes().all(is_of_word) {
        true => word,
        false => NO_WORD,
    }
}

/// A text as it is stored.
pub(crate) fn text_stored(text: &TurnText) -> Vec<u8> {
    pack(&json(text))
}

/// A text as it was stored.
pub(crate) fn text_of(stored: &[u8]) -> Result<TurnText> {
    from_json("a text of the index", &unpack(stored)?)
}

/// A mark as it was stored.
pub(crate) fn mark_of(stored: &[u8]) -> Result<[u8; 32]> {
    let mark = stored.try_into();
    mark.map_err(|_| LedgerError::Damaged("a mark of the index has not 32 bytes".to_owned()))
}

/// What is to be done with the parts of a session, given those that are stored.
#[derive(Debug)]
pub(crate) struct PartChanges<'a, T> {
    /// Stored ones that go.
    pub(crate) gone: Vec<T>,
    /// Stored ones whose text is replaced.
    pub(crate) replaced: Vec<(T, &'a IndexedPart, &'a TurnText)>,
    /// Stored ones whose text stays.
    pub(crate) kept: Vec<(T, &'a IndexedPart)>,
    pub(crate) added: Vec<(&'a IndexedPart, &'a TurnText)>,
}

impl<'a, T> PartChanges<'a, T> {
    /// What is to be done; nothing where a text is lacking that is not stored.
    pub(crate) fn new(
        update: &IndexUpdate<'a>,
        mut stored: BTreeMap<PartKey, (T, [u8; 32])>,
    ) -> Option<Self> {
        let mut changes = Self {
            gone: Vec::new(),
            replaced: Vec::new(),
            kept: Vec::new(),
            added: Vec::new(),
        };
        for part in update.parts {
            match (stored.remove(&part.key), &part.text) {
                (Some((old, _)), Some(text)) => changes.replaced.push((old, part, text)),
                (None, Some(text)) => changes.added.push((part, text)),
                (Some((old, mark)), None) if mark == part.mark => changes.kept.push((old, part)),
                (_, None) => return None,
            }
        }
        if update.is_whole {
            changes.gone = stored.into_values().map(|(old, _)| old).collect();
        }
        Some(changes)
    }
}
