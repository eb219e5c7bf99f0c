//! Records as they leave: redacted, and with the texts that may.

use siglum_domain::redact::Redactor;
use siglum_domain::scope::Kinds;
use siglum_gitstore::is_remote_name;
use siglum_ledger::{
    CommitRecord, FileAuthors, Forgotten, LedgerError, ReplicaRow, RepositoryRecord, RewriteRecord,
    SessionRecord, Transaction,
};

use super::clean::{self, Cleaned};
use super::limits::ROOTS_MOST;
use super::wire::*;

/// An entry. What the rules of today or the scope change has no salt any more.
pub(super) fn entry(redactor: &Redactor, kinds: Kinds, row: ReplicaRow) -> EntryDocument {
    let (salt, fact) = match row.fact.as_deref().map(|f| clean::fact(redactor, kinds, f)) {
        None | Some(Cleaned::Nothing) => (None, None),
        Some(Cleaned::Same) => (row.salt, row.fact),
        Some(Cleaned::Changed(fact)) => (None, Some(fact)),
    };
    EntryDocument {
        sequence: row.sequence,
        turn: row.turn,
        id: row.id,
        source: row.source,
        key: row.key,
        event: row.event,
        subagent: row.subagent,
        kind: row.kind,
        at: row.at,
        recorded_at: row.recorded_at,
        salt: salt.map(|s| hex(&s)),
        digest: row.digest,
        fact,
    }
}

/// A repository on a machine of this name. That a path is fetched from means something there only, and does not leave.
pub(super) fn repository(
    redactor: &Redactor,
    host: &str,
    record: &RepositoryRecord,
) -> RepositoryDocument {
    let identity = &record.identity;
    let remote = identity.hosted_remote().map(str::to_owned);
    RepositoryDocument {
        id: record.id,
        common_dir: clean::text(redactor, record.common_dir.clone()),
        host: host.to_owned(),
        roots: identity.roots.iter().take(ROOTS_MOST).cloned().collect(),
        remote: clean::optional(redactor, remote).filter(|remote| is_remote_name(remote)),
    }
}

pub(super) fn session(
    tx: &mut dyn Transaction,
    redactor: &Redactor,
    kinds: Kinds,
    record: SessionRecord,
) -> Result<SessionDocument, LedgerError> {
    let natives = tx.aliases(record.id)?;
    let (forgotten_at, erased) = match record.forgotten {
        Some(Forgotten::Whole { at }) => (Some(at), Vec::new()),
        Some(Forgotten::Parts { .. }) => (None, erased(tx, redactor, kinds, &record)?),
        None => (None, Vec::new()),
    };
    Ok(SessionDocument {
        id: record.id,
        agent: record.agent_key(),
        conversation_id: record.conversation,
        home: record.home,
        mode: record.mode,
        origin: record.origin,
        parent: record
            .parent
            .map(|(session, relation)| ParentDocument { session, relation }),
        parent_at: record.parent_at,
        created_at: record.created_at,
        last_at: record.last_at,
        ended_at: record.ended_at,
        archived_at: record.archived_at,
        cwd: clean::optional(redactor, record.cwd),
        repository: record.repository,
        worktree: clean::optional(redactor, record.worktree),
        natives,
        forgotten_at,
        erased,
    })
}

/// The sealed entries of which parts were erased.
fn erased(
    tx: &mut dyn Transaction,
    redactor: &Redactor,
    kinds: Kinds,
    record: &SessionRecord,
) -> Result<Vec<ErasedDocument>, LedgerError> {
    const PAGE: usize = 256;
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let page = tx.log_rows(record.id, after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = last.sequence;
        for row in page {
            if row.salt.is_none() && row.sequence <= record.sealed {
                let entry = entry(redactor, kinds, row);
                found.push(ErasedDocument {
                    sequence: entry.sequence,
                    fact: entry.fact,
                });
            }
        }
    }
}

pub(super) fn commit(
    redactor: &Redactor,
    record: CommitRecord,
    authors: Option<Vec<FileAuthors>>,
    rewritten: Vec<RewriteRecord>,
) -> CommitDocument {
    let file = |f: FileAuthors| FileDocument {
        path: clean::text(redactor, f.path),
        spans: f.spans,
    };
    let rewrite = |r: RewriteRecord| RewriteDocument {
        old: r.old,
        command: r.command,
        at: r.at,
    };
    CommitDocument {
        repository: record.repository,
        commit: record.commit,
        checkpoint: record.checkpoint,
        judgement: clean::judgement(redactor, record.judgement),
        facts: record.facts.map(|f| clean::facts(redactor, f)),
        patch: record.patch,
        at: record.at,
        seen_by: record.seen_by,
        authors: authors.map(|files| files.into_iter().map(file).collect()),
        rewritten: rewritten.into_iter().map(rewrite).collect(),
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
