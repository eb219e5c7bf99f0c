//! Records whose rows are the same in every store: some of their parts are words or JSON there.

use siglum_domain::audit::Outcome;
use siglum_domain::evidence::{Committer, Judgement};
use siglum_domain::fold::Entry;
use siglum_domain::observation::{CallWrite, Fact, Observation, Source};
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, LedgerId, Oid, RepositoryId, SessionId, Timestamp,
};

use crate::LedgerError;
use crate::record::*;
use crate::row::{compress, from_json, from_word, json, unpack};

type Result<T> = std::result::Result<T, LedgerError>;

/// An entry whose payload is still packed.
pub(crate) struct EntryRow {
    pub(crate) entry: Entry,
    pub(crate) source: String,
    pub(crate) payload: Option<Vec<u8>>,
}

impl EntryRow {
    /// What an entry sees before its source and its fact are known.
    pub(crate) fn observation(key: String, event: String, at: Timestamp) -> Observation {
        Observation {
            source: Source::Siglum,
            key,
            event,
            at,
            turn: None,
            subagent: None,
            fact: Fact::Other {
                name: String::new(),
            },
        }
    }

    /// The entry, unless its payload was forgotten.
    pub(crate) fn record(self) -> Result<Option<Entry>> {
        let Some(payload) = self.payload else {
            return Ok(None);
        };
        let mut entry = self.entry;
        entry.observation.source = from_word("source", &self.source)?;
        entry.observation.fact = from_json("fact", &unpack(&payload)?)?;
        Ok(Some(entry))
    }

    /// The entries that were not forgotten.
    pub(crate) fn records(rows: Vec<Self>) -> Result<Vec<Entry>> {
        rows.into_iter()
            .filter_map(|row| row.record().transpose())
            .collect()
    }
}

/// The roots of a repository as a column has them: their ids with blanks between them.
pub(crate) fn stored_roots(identity: &RepositoryIdentity) -> String {
    let roots: Vec<&str> = identity.roots.iter().map(Oid::as_str).collect();
    roots.join(" ")
}

/// The identity of a repository from its columns. What is no id of a commit is left out.
pub(crate) fn read_identity(
    roots: &str,
    remote: Option<String>,
    clone_of: Option<RepositoryId>,
) -> RepositoryIdentity {
    RepositoryIdentity {
        roots: roots
            .split(' ')
            .filter_map(|id| Oid::new(id).ok())
            .collect(),
        remote,
        clone_of,
    }
}

/// A process that a session was bound to.
pub(crate) struct BindingRow {
    pub(crate) session: SessionId,
    pub(crate) identity: String,
    pub(crate) bound_at: Timestamp,
    pub(crate) carried: Option<String>,
}

impl BindingRow {
    pub(crate) fn record(self) -> Result<Binding> {
        let carried = self.carried.map(|c| from_json("variables", &c));
        Ok(Binding {
            session: self.session,
            process: from_json("process", &self.identity)?,
            bound_at: self.bound_at,
            carried: carried.transpose()?,
        })
    }
}

/// What became of something that was audited.
pub(crate) fn outcome(
    word: &str,
    reason: Option<String>,
    field: Option<String>,
) -> Result<Outcome> {
    Outcome::parse(word, reason, field)
        .ok_or_else(|| LedgerError::Damaged(format!("`{word}` is no outcome")))
}

pub(crate) struct StatementRow {
    pub(crate) ledger: LedgerId,
    pub(crate) sequence: u64,
    pub(crate) at: Timestamp,
    pub(crate) by: String,
    pub(crate) source: String,
    pub(crate) body: String,
}

impl StatementRow {
    pub(crate) fn record(self) -> Result<StatementRecord> {
        Ok(StatementRecord {
            ledger: self.ledger,
            sequence: self.sequence,
            at: self.at,
            by: self.by,
            source: self.source,
            statement: from_json("statement", &self.body)?,
        })
    }
}

impl SessionRecord {
    /// Its agent as its names are kept under: what stands for none has names, too.
    #[must_use]
    pub fn agent_key(&self) -> AgentName {
        AgentName::key(self.agent.as_ref())
    }

    /// Its agent in a place that must have a word.
    #[must_use]
    pub fn agent_word(&self) -> &str {
        AgentName::word(self.agent.as_ref())
    }
}

/// A session of whose record nothing but the id can be read: it is quarantined.
pub(crate) fn unreadable_session(id: SessionId, why: &dyn std::fmt::Display) -> SessionRecord {
    SessionRecord {
        quarantined: Some(format!("its record cannot be read: {why}")),
        ..SessionRecord::new(
            id,
            None::<AgentName>,
            ConversationId::of_native(None, id),
            LedgerId::from_uuid(id.uuid()),
            Mode::Observed,
            SessionOrigin::Live,
            Timestamp::default(),
        )
    }
}

/// What a statement speaks of, and the word for what it says.
pub(crate) struct Subjects<'a> {
    pub(crate) session: Option<SessionId>,
    pub(crate) repository: Option<RepositoryId>,
    pub(crate) commit: Option<&'a Oid>,
    pub(crate) kind: String,
    pub(crate) body: String,
}

impl<'a> Subjects<'a> {
    pub(crate) fn from_statement(statement: &'a Statement) -> Result<Self> {
        let (repository, commit) = statement.commit().unzip();
        let body = json(statement);
        let kind = from_json::<serde_json::Value>("statement", &body)?["statement"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        Ok(Self {
            session: statement.session(),
            repository,
            commit,
            kind,
            body,
        })
    }
}

pub(crate) struct IntentRow {
    pub(crate) repository: RepositoryId,
    pub(crate) at: Timestamp,
    pub(crate) scene: String,
    pub(crate) state: String,
    pub(crate) commit: Option<Oid>,
}

impl IntentRow {
    pub(crate) fn record(self) -> Result<IntentRecord> {
        let state = match (self.state.as_str(), self.commit) {
            ("landed", Some(commit)) => IntentState::Landed(commit),
            ("expired", _) => IntentState::Expired,
            _ => IntentState::Open,
        };
        Ok(IntentRecord {
            repository: self.repository,
            at: self.at,
            scene: from_json("intent", &self.scene)?,
            state,
        })
    }
}

/// The word for a state of an intent, and its commit.
pub(crate) fn intent_state(state: &IntentState) -> (&'static str, Option<&str>) {
    match state {
        IntentState::Open => ("open", None),
        IntentState::Landed(commit) => ("landed", Some(commit.as_str())),
        IntentState::Expired => ("expired", None),
    }
}

pub(crate) struct CommitRow {
    pub(crate) repository: RepositoryId,
    pub(crate) commit: Oid,
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) intent: Option<CheckpointId>,
    pub(crate) judgement: String,
    pub(crate) facts: Option<String>,
    pub(crate) patch: Option<String>,
    pub(crate) at: Timestamp,
    pub(crate) seen_by: String,
}

impl CommitRow {
    pub(crate) fn record(self) -> Result<CommitRecord> {
        let facts = self.facts.map(|f| from_json("commit", &f));
        Ok(CommitRecord {
            repository: self.repository,
            commit: self.commit,
            checkpoint: self.checkpoint,
            intent: self.intent,
            judgement: from_json("judgement", &self.judgement)?,
            facts: facts.transpose()?,
            patch: self.patch,
            at: self.at,
            seen_by: from_word("seen by", &self.seen_by)?,
        })
    }
}

/// The word for a committer, and the session.
pub(crate) const fn committer(judgement: &Judgement) -> (&'static str, Option<SessionId>) {
    match judgement.committer {
        Committer::Session { session } => ("session", Some(session)),
        Committer::Human => ("human", None),
        Committer::Unknown => ("unknown", None),
    }
}

/// The hashes of lines as bytes.
pub(crate) fn hash_bytes(hashes: &[u64]) -> Vec<u8> {
    hashes.iter().flat_map(|h| h.to_le_bytes()).collect()
}

/// The hashes of lines from bytes.
pub(crate) fn hashes(bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(8)
        .map(|c| u64::from_le_bytes(c.try_into().expect("because chunks have 8 bytes")))
        .collect()
}

/// The lines of a segment, compressed, and their size before that.
pub(crate) fn pack_lines(lines: &[(u64, String)]) -> (Vec<u8>, usize) {
    let text = json(lines);
    (compress(text.as_bytes()), text.len())
}

/// The lines of a segment.
pub(crate) fn unpack_lines(data: &[u8]) -> Result<Vec<(u64, String)>> {
    let damaged = |e: &dyn std::fmt::Display| LedgerError::Damaged(format!("segment: {e}"));
    let text = zstd::stream::decode_all(data).map_err(|e| damaged(&e))?;
    let text = String::from_utf8(text).map_err(|e| damaged(&e))?;
    from_json("segment", &text)
}

/// What was erased of a session, from when and how much.
pub(crate) fn forgotten(at: Option<Timestamp>, is_whole: bool) -> Option<Forgotten> {
    at.map(|at| match is_whole {
        true => Forgotten::Whole { at },
        false => Forgotten::Parts { at },
    })
}
/// The detail of an edit as it is stored. One that cannot be read says nothing: it is a fold of the log.
pub(crate) fn edit_detail(stored: Option<&str>) -> EditDetail {
    stored
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default()
}

/// The addresses in the object store that a sighting of a file has.
pub(crate) fn fact_objects(fact: &Fact) -> impl Iterator<Item = &str> {
    let (version, write) = match fact {
        Fact::FileSeen { version, write, .. } => (version.as_ref(), write.as_deref()),
        _ => (None, None),
    };
    let written = write.into_iter().flat_map(CallWrite::versions);
    version
        .into_iter()
        .chain(written)
        .filter_map(|v| v.object.as_deref())
}
