//! The audit.

use siglum_domain::Redacted;
use siglum_domain::audit::{Body, Entry, Header};

use super::integrity::{numbered, row_message};
use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::sql::sql;
use crate::stored::outcome;
use crate::{Audit, AuditFilter, LedgerError, Stored};

type Result<T> = std::result::Result<T, LedgerError>;

pub(crate) const ENTRY: &str = "number, at, actor, action, outcome, reason, field, session, pipeline, body, salt, \
     body_digest, previous, digest";

pub(crate) fn entry_row(row: &Row<'_>) -> Result<Entry> {
    let word: String = row.get(4)?;
    let text: Option<String> = row.get(9)?;
    let salt: Option<Vec<u8>> = row.get(10)?;
    let salt = salt.map(<[u8; 32]>::try_from).transpose();
    let salt = salt.map_err(|_| LedgerError::Damaged("a salt is not 32 bytes long".to_owned()))?;
    let body = text.zip(salt).map(|(text, salt)| Body {
        salt,
        text: Redacted::from_stored(text),
    });
    Ok(Entry {
        number: row.count(0)?,
        header: Header {
            at: row.get(1)?,
            actor: row.get(2)?,
            action: row.get::<String>(3)?.into(),
            outcome: outcome(&word, row.get(5)?, row.get(6)?)?,
            session: row.get(7)?,
            pipeline: row.get(8)?,
        },
        body,
        body_digest: row.get(11)?,
        previous: row.get(12)?,
        digest: row.get(13)?,
    })
}

/// What a store does about the audit in its own way.
pub(crate) trait OwnAudit: Database {
    /// The number of the next entry, and the digest of the last one. Nobody else gets that number.
    fn next_entry(&mut self) -> Result<(u64, String)>;

    /// An entry was added at the end.
    fn entry_added(&mut self, _: &Entry) -> Result<()> {
        Ok(())
    }

    /// See [`Audit::audit`].
    fn list_audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>>;
}

impl<D: OwnAudit> Audit for D {
    fn append_audit(&mut self, header: &Header, body: &Body) -> Result<Entry> {
        let (number, previous) = self.next_entry()?;
        let entry = Entry::seal(
            self.ledger(),
            (number, &previous),
            header.clone(),
            body.clone(),
        );
        let (reason, field) = entry.header.outcome.refusal();
        // Whoever waits for the next number waits for one statement less.
        let sql = sql!("[WITH ended AS (UPDATE audit_ends SET number = ?1, digest = ?14 WHERE tenant = $1)] \
             INSERT INTO audit ([tenant,] " ENTRY ") \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)");
        let h = &entry.header;
        self.run(
            sql,
            &[
                &int(number),
                &Col(h.at),
                &h.actor,
                &h.action.as_str(),
                &h.outcome.as_str(),
                &reason,
                &field,
                &h.session.map(Col),
                &h.pipeline,
                &body.text.as_str(),
                &body.salt.as_slice(),
                &entry.body_digest,
                &entry.previous,
                &entry.digest,
            ],
        )?;
        self.entry_added(&entry)?;
        Ok(entry)
    }

    fn audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>> {
        self.list_audit(filter)
    }

    fn audit_after(&mut self, number: u64, limit: usize) -> Result<Vec<Stored<Entry>>> {
        let sql = sql!("SELECT " ENTRY " FROM audit WHERE [tenant = $1 AND] number > ?1 ORDER BY number LIMIT ?2");
        let of: [Value<'_>; 2] = [&int(number), &int(limit as u64)];
        self.rows(sql, &of, |row| {
            Ok(numbered(row, 0, entry_row(row).map_err(row_message)))
        })
    }

    fn audit_end(&mut self) -> Result<Option<(u64, String)>> {
        let sql = sql!("SELECT number, digest FROM [audit_ends WHERE tenant = $1|audit_end]");
        self.row(sql, &[], |row| Ok((row.count(0)?, row.get(1)?)))
    }
}
