//! Credentials in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::access::Scope;
use siglum_domain::{LedgerId, SessionId, Timestamp, TokenId};

use super::columns::{Col, get, int, opt};
use super::open::Tx;
use crate::lookup::short_forms;
use crate::row::json;
use crate::{Access, LedgerError, TokenRecord};

type Result<T> = std::result::Result<T, LedgerError>;

const TOKEN: &str = "id, digest, session, name, by, created_at, expires_at, revoked_at, replaced_by, last_used_at, scope";

fn token_row(row: &Row<'_>) -> rusqlite::Result<TokenRecord> {
    let limit: Option<String> = row.get(10)?;
    let (scope, limits) = Scope::stored(opt(row, 2)?, limit.as_deref());
    Ok(TokenRecord {
        id: get(row, 0)?,
        digest: row.get(1)?,
        scope,
        limits,
        name: row.get(3)?,
        by: row.get(4)?,
        created_at: get(row, 5)?,
        expires_at: opt(row, 6)?,
        revoked_at: opt(row, 7)?,
        replaced_by: opt(row, 8)?,
        last_used_at: opt(row, 9)?,
    })
}

impl Tx<'_> {
    fn one_token(
        &mut self,
        condition: &str,
        of: impl rusqlite::Params,
    ) -> Result<Option<TokenRecord>> {
        let sql = format!("SELECT {TOKEN} FROM tokens WHERE {condition}");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row(of, token_row).optional()?)
    }
}

impl Access for Tx<'_> {
    fn put_token(&mut self, t: &TokenRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO tokens ({TOKEN}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING"
        );
        self.db.prepare_cached(&sql)?.execute(params![
            Col(t.id),
            t.digest,
            t.scope.session().map(Col),
            t.name,
            t.by,
            Col(t.created_at),
            t.expires_at.map(Col),
            t.revoked_at.map(Col),
            t.replaced_by.map(Col),
            t.last_used_at.map(Col),
            t.scope.limit(&t.limits),
        ])?;
        self.sum("tokens", "id = ?1", [Col(t.id)])
    }

    fn token(&mut self, id: TokenId) -> Result<Option<TokenRecord>> {
        self.one_token("id = ?1", [Col(id)])
    }

    fn token_by_digest(&mut self, digest: &str) -> Result<Option<TokenRecord>> {
        self.one_token("digest = ?1", [digest])
    }

    fn tokens(
        &mut self,
        session: Option<SessionId>,
        before: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<TokenRecord>> {
        let of = match session {
            Some(_) => "session = ?1",
            None => "?1 IS NULL",
        };
        let behind = match before {
            Some(_) => "id < ?2",
            None => "?2 IS NULL",
        };
        let sql =
            format!("SELECT {TOKEN} FROM tokens WHERE {of} AND {behind} ORDER BY id DESC LIMIT ?3");
        let mut query = self.db.prepare_cached(&sql)?;
        let limit = if limit == 0 { -1 } else { int(limit as u64) };
        let values = (session.map(Col), before.map(Col), limit);
        let rows = query.query_map(values, token_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn tokens_by_tail(&mut self, tail: &str) -> Result<Vec<TokenId>> {
        let sql = "SELECT id FROM tokens WHERE lower(substr(hex(id), -8)) IN (SELECT value FROM json_each(?2)) \
             AND instr(lower(substr(hex(id), -max(8, length(?1)))), ?1) > 0 \
             ORDER BY id DESC LIMIT 16";
        let mut query = self.db.prepare(sql)?;
        let rows = query.query_map((tail, json(&short_forms(tail))), |row| get(row, 0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool> {
        let sql = "UPDATE tokens SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        let revoked = self.db.prepare_cached(sql)?.execute((Col(id), Col(at)))?;
        self.sum("tokens", "id = ?1", [Col(id)])?;
        Ok(revoked > 0)
    }

    fn revoke_tokens_of(&mut self, session: SessionId, at: Timestamp) -> Result<u64> {
        let sql = "UPDATE tokens SET revoked_at = ?2 WHERE session = ?1 AND revoked_at IS NULL";
        let values = (Col(session), Col(at));
        let revoked = self.db.prepare_cached(sql)?.execute(values)?;
        self.sum("tokens", "session = ?1", [Col(session)])?;
        Ok(revoked as u64)
    }

    fn replace_token(&mut self, old: TokenId, new: TokenId, until: Timestamp) -> Result<bool> {
        let sql = "UPDATE tokens SET replaced_by = ?2, expires_at = min(coalesce(expires_at, ?3), ?3) \
             WHERE id = ?1 AND replaced_by IS NULL AND revoked_at IS NULL";
        let values = (Col(old), Col(new), Col(until));
        let replaced = self.db.prepare_cached(sql)?.execute(values)?;
        self.sum("tokens", "id = ?1", [Col(old)])?;
        Ok(replaced > 0)
    }

    fn note_token_use(&mut self, id: TokenId, at: Timestamp) -> Result<()> {
        let sql =
            "UPDATE tokens SET last_used_at = max(coalesce(last_used_at, ?2), ?2) WHERE id = ?1";
        self.db.prepare_cached(sql)?.execute((Col(id), Col(at)))?;
        Ok(())
    }

    fn registration(&mut self, ledger: LedgerId) -> Result<Option<TokenId>> {
        let sql = "SELECT token FROM registrations WHERE ledger = ?1";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query
            .query_row([Col(ledger)], |row| get(row, 0))
            .optional()?)
    }

    fn register(&mut self, ledger: LedgerId, token: TokenId, at: Timestamp) -> Result<()> {
        let sql = "INSERT OR IGNORE INTO registrations (ledger, token, at) VALUES (?1, ?2, ?3)";
        let values = (Col(ledger), Col(token), Col(at));
        self.db.prepare_cached(sql)?.execute(values)?;
        self.sum("registrations", "ledger = ?1", [Col(ledger)])
    }

    fn unregister(&mut self, ledger: LedgerId) -> Result<()> {
        self.delete("registrations", "ledger = ?1", [Col(ledger)])?;
        Ok(())
    }
}
