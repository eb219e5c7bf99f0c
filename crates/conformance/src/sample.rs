//! Rows to try a store with.

use siglum_domain::access::{Limits, Scope};
use siglum_domain::commit::{Change, CommitFacts};
use siglum_domain::evidence::{Basis, Committer, Evidence, Judgement, RULES, Verdict};
use siglum_domain::intake::{AgentVariable, Place, Scene};
use siglum_domain::observation::{Body, Fact, FileVersion, Observation, Source};
use siglum_domain::process::{Ancestor, Chain, ProcessIdentity, Terminal};
use siglum_domain::receipt::{Receipt, seal};
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, InteractionId, LedgerId, NativeId, ObservationId, Oid,
    Redacted, RepositoryId, SessionId, Timestamp, TokenId, TurnId,
};
use siglum_ledger::{
    Appended, CheckpointKind, CheckpointRecord, CommitRecord, EditDetail, EditRecord, LedgerError,
    LogRow, Mode, NewEntry, OpenTurn, Projection, SeenBy, Segment, SessionOrigin, SessionRecord,
    TokenRecord, Transaction, TranscriptRecord,
};
use uuid::Uuid;

use super::check::{Desk, Outcome};

/// A UUID with a version and a tail of its own.
const fn uuid(kind: u128, n: u128) -> Uuid {
    Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0000 | (kind << 40) | n)
}

pub(super) const fn session_id(n: u128) -> SessionId {
    SessionId::from_uuid(uuid(1, n))
}
pub(super) const fn repository_id(n: u128) -> RepositoryId {
    RepositoryId::from_uuid(uuid(2, n))
}
pub(super) const fn checkpoint_id(n: u128) -> CheckpointId {
    CheckpointId::from_uuid(uuid(3, n))
}
pub(super) const fn turn_id(n: u128) -> TurnId {
    TurnId::from_uuid(uuid(4, n))
}
pub(super) const fn entry_id(n: u128) -> ObservationId {
    ObservationId::from_uuid(uuid(5, n))
}

pub(super) const fn token_id(n: u128) -> TokenId {
    TokenId::from_uuid(uuid(6, n))
}

pub(super) const fn interaction_id(n: u128) -> InteractionId {
    InteractionId::from_uuid(uuid(7, n))
}

pub(super) const fn at(seconds: i64) -> Timestamp {
    // Nanoseconds must survive, too.
    Timestamp::from_nanos(1_795_000_000_000_000_007 + seconds * 1_000_000_000)
}

pub(super) fn agent(name: &str) -> AgentName {
    AgentName::new(name).expect("because samples keep to the grammar")
}

pub(super) fn native(id: &str) -> NativeId {
    NativeId::new(id).expect("because samples keep to the grammar")
}

pub(super) fn oid(n: u8) -> Oid {
    Oid::new(format!("{n:02x}").repeat(20)).expect("because samples keep to the grammar")
}

pub(super) fn long_oid(n: u8) -> Oid {
    Oid::new(format!("{n:02x}").repeat(32)).expect("because samples keep to the grammar")
}

pub(super) fn place(n: u128) -> Place {
    Place {
        common_dir: format!("/home/dev/r{n}/.git"),
        worktree: format!("/home/dev/r{n}"),
    }
}

pub(super) fn session(n: u128, home: LedgerId) -> SessionRecord {
    let seconds = i64::try_from(n).unwrap_or(0) * 10;
    SessionRecord::new(
        session_id(n),
        agent("claude-code"),
        ConversationId::new(format!("native-{n}")).expect("it keeps to the grammar"),
        home,
        Mode::Observed,
        SessionOrigin::Live,
        at(seconds),
    )
}

/// Two repositories and three sessions; the first two sessions work in the first repository.
pub(super) fn furnish(desk: &mut Desk) -> Outcome<LedgerId> {
    let home = desk.0.id();
    desk.write(|tx| {
        for n in [1, 2] {
            tx.note_place(&place(n), repository_id(n), at(0))?;
        }
        for n in [1, 2, 3] {
            let mut record = session(n, home);
            if n < 3 {
                record.repository = Some(repository_id(1));
                record.worktree = Some(place(1).worktree);
            }
            tx.create_session(&record)?;
        }
        Ok(())
    })?;
    Ok(home)
}

pub(super) fn process(pid: u32) -> ProcessIdentity {
    ProcessIdentity {
        host: "host".to_owned(),
        boot: "boot".to_owned(),
        namespace: 4_026_531_836,
        pid,
        start: u64::MAX,
    }
}

pub(super) fn variable() -> AgentVariable {
    AgentVariable {
        name: "AGENT".to_owned(),
        agent: agent("codex"),
        native: Some(native("a b".trim_end_matches(" b"))),
    }
}

pub(super) fn scene(n: u128, pid: u32) -> Scene {
    let git = Ancestor {
        identity: process(pid),
        name: "git".to_owned(),
        executable: Some("git".to_owned()),
        script: None,
        title: None,
        holdings: siglum_domain::process::Holdings::default(),
        group: -1,
        terminal: Some(Terminal {
            device: 7,
            foreground: 8,
        }),
    };
    Scene {
        checkpoint: checkpoint_id(n),
        place: place(1),
        head: Some(oid(9)),
        chain: Chain {
            ancestors: vec![git],
            complete: true,
            per_second: 100,
        },
        variables: vec![variable()],
        claim: None,
        launches: Vec::new(),
        agents: vec![(0, agent("codex"))],
        inherited: Vec::new(),
        message: "message".to_owned(),
        named: Some(checkpoint_id(77)),
        draft: Some("0a1b2c".to_owned()),
    }
}

pub(super) fn text(text: &str) -> Body {
    Body::Text(Redacted::from_stored(text.to_owned()))
}

pub(super) fn prompt(key: &str, words: &str) -> Observation {
    Observation {
        source: Source::Hook,
        key: key.to_owned(),
        event: format!("prompt:{key}"),
        at: at(1),
        turn: None,
        subagent: Some("helper".to_owned()),
        fact: Fact::Prompt {
            text: text(words),
            synthetic: false,
        },
    }
}

/// Appends an observation to a session's log, under an id made of `n`.
pub(super) fn append(
    tx: &mut dyn Transaction,
    session: SessionId,
    n: u128,
    turn: Option<TurnId>,
    observation: &Observation,
) -> Result<Appended, LedgerError> {
    tx.append(&NewEntry {
        id: entry_id(n),
        session,
        turn,
        recorded_at: at(2),
        salt: [7; 32],
        observation,
    })
}

/// A prompt on its way into a log, under an id made of `n`.
pub(super) fn row(n: u128, key: &str, words: &str) -> LogRow {
    LogRow::from_entry(&NewEntry {
        id: entry_id(n),
        session: session_id(1),
        turn: None,
        recorded_at: at(2),
        salt: [7; 32],
        observation: &prompt(key, words),
    })
}

/// The turn that a driver has open in a session.
pub(super) fn open_turn(n: u128) -> OpenTurn {
    OpenTurn {
        session: session_id(n),
        id: turn_id(n),
        key: format!("turn of {n}"),
        epoch: 1,
        base: 0,
        opened_at: at(i64::try_from(n).unwrap_or(0)),
        held: None,
    }
}

/// A projection that follows from `at(100)` on.
pub(super) fn projection(name: &str) -> Projection {
    Projection {
        name: name.to_owned(),
        kind: "spans".to_owned(),
        target: format!("https://{name}.example"),
        at: at(100),
        scope: Some(siglum_domain::scope::Scope::in_process()),
    }
}

pub(super) fn judgement(committer: Committer, verdict: Verdict) -> Judgement {
    Judgement {
        rules: RULES,
        committer,
        verdict,
        rule: "ancestry".into(),
        evidence: vec![Evidence {
            session: Some(session_id(2)),
            basis: Basis::Observed,
            counted: true,
            text: "seen, \"quoted\" — and so on".to_owned(),
        }],
        candidates: vec![session_id(3), session_id(2)],
        outer: vec![session_id(2)],
    }
}

pub(super) const fn by_session(n: u128) -> Committer {
    Committer::Session {
        session: session_id(n),
    }
}

/// A commit of the first repository that the first session made.
pub(super) fn commit(n: u8) -> CommitRecord {
    CommitRecord {
        repository: repository_id(1),
        commit: oid(n),
        checkpoint: Some(checkpoint_id(u128::from(n))),
        intent: None,
        judgement: judgement(by_session(1), Verdict::Likely),
        facts: None,
        patch: None,
        at: at(i64::from(n)),
        seen_by: SeenBy::Hook,
    }
}

pub(super) fn facts(commit: &Oid) -> CommitFacts {
    CommitFacts {
        commit: commit.clone(),
        tree: oid(0xaa),
        parents: vec![oid(0xbb), oid(0xcc)],
        authored: at(3),
        committed: at(4),
        author: "Ann <ann@example.org>".to_owned(),
        subject: "Do it".to_owned(),
        named: vec![checkpoint_id(5)],
        changes: vec![Change {
            path: "a b/ü.rs".to_owned(),
            before: None,
            after: Some(oid(0xdd)),
        }],
    }
}

pub(super) fn version(n: u8) -> FileVersion {
    FileVersion {
        blob: oid(n),
        object: Some(format!("object-{n}")),
        bytes: u64::from(n) * 1000,
    }
}

/// An edit of `path` in the first repository by the first session.
pub(super) fn edit(event: &str, path: &str, seconds: i64) -> EditRecord {
    EditRecord {
        session: session_id(1),
        event: event.to_owned(),
        turn: Some(turn_id(1)),
        repository: repository_id(1),
        worktree: place(1).worktree,
        path: path.to_owned(),
        began: at(seconds),
        at: at(seconds),
        before: Some(version(1)),
        after: Some(version(2)),
        detail: EditDetail::default(),
        lines: None,
    }
}

pub(super) fn transcript(stream: &str) -> TranscriptRecord {
    TranscriptRecord {
        stream: stream.to_owned(),
        agent: agent("claude-code"),
        session: session_id(1),
        native: native("native-1"),
        path: format!("/home/{stream}.jsonl"),
        subagent: None,
        file: String::new(),
        read_to: 0,
        tail: String::new(),
        turn: None,
        own: false,
    }
}

pub(super) fn segment(stream: &str, first: u64, past: u64, line: &str) -> Segment {
    Segment {
        stream: stream.to_owned(),
        first,
        past,
        lines: vec![(first, line.to_owned()), (past - 1, "last".to_owned())],
    }
}

pub(super) fn receipt_entries(
    tx: &mut dyn Transaction,
    session: SessionId,
    first: u64,
    last: u64,
) -> Result<Vec<siglum_domain::receipt::SealedEntry>, LedgerError> {
    let rows = tx.to_seal(session, first, last)?;
    Ok(rows.into_iter().map(|(entry, _)| entry).collect())
}

/// The receipt over all that a session has behind its last one, not stored yet.
pub(super) fn next_receipt(
    tx: &mut dyn Transaction,
    n: u128,
    seconds: i64,
) -> Result<Receipt, LedgerError> {
    let nothing = || LedgerError::Damaged("a session that grew has nothing to seal".to_owned());
    let record = tx.session(session_id(n))?.ok_or_else(nothing)?;
    let rows = receipt_entries(tx, record.id, record.sealed + 1, record.head)?;
    let before = tx.receipts(record.id)?.pop();
    seal(record.id, before.as_ref(), &rows, vec![], at(seconds)).ok_or_else(nothing)
}

/// Lets a session grow by an entry and seals it.
pub(super) fn commit_entry(
    tx: &mut dyn Transaction,
    n: u128,
    seconds: i64,
) -> Result<Receipt, LedgerError> {
    let head = tx.session(session_id(n))?.map_or(0, |s| s.head);
    let (id, key) = (n * 1000 + u128::from(head), format!("sealed {head}"));
    append(tx, session_id(n), id, None, &prompt(&key, "x"))?;
    let receipt = next_receipt(tx, n, seconds)?;
    if tx.put_receipt(&receipt)? {
        Ok(receipt)
    } else {
        Err(LedgerError::Damaged(
            "a receipt that follows was refused".to_owned(),
        ))
    }
}

pub(super) fn checkpoint(n: u128, kind: CheckpointKind) -> CheckpointRecord {
    CheckpointRecord {
        id: checkpoint_id(n),
        kind,
        repository: Some(repository_id(1)),
        commit: None,
        at: at(i64::try_from(n).unwrap_or(0)),
        pins: vec![(session_id(1), 4)],
    }
}

/// A launcher's token that never expires.
pub(super) fn token(n: u128) -> TokenRecord {
    TokenRecord {
        id: token_id(n),
        digest: format!("digest {n}"),
        scope: Scope::Launcher,
        limits: Limits::default(),
        name: format!("token — {n}"),
        by: "Ann".to_owned(),
        created_at: at(i64::try_from(n).unwrap_or(0)),
        expires_at: None,
        revoked_at: None,
        replaced_by: None,
        last_used_at: None,
    }
}
