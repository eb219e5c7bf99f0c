//! Credentials in PostgreSQL.

use postgres::Row;
use siglum_domain::access::Scope;
use siglum_domain::{LedgerId, SessionId, Timestamp, TokenId};

use super::columns::{Col, get, int, opt, raw};
use super::tx::Tx;
use crate::lookup::short_forms;
use crate::{Access, LedgerError, TokenRecord};

type Result<T> = std::result::Result<T, LedgerError>;

const TOKEN: &str = "id, digest, session, name, by, created_at, expires_at, revoked_at, replaced_by, last_used_at, scope";

fn token_row(row: &Row) -> Result<TokenRecord> {
    let limit: Option<String> = raw(row, 10)?;
    let (scope, limits) = Scope::stored(opt(row, 2)?, limit.as_deref());
    Ok(TokenRecord {
        id: get(row, 0)?,
        digest: raw(row, 1)?,
        scope,
        limits,
        name: raw(row, 3)?,
        by: raw(row, 4)?,
        created_at: get(row, 5)?,
        expires_at: opt(row, 6)?,
        revoked_at: opt(row, 7)?,
        replaced_by: opt(row, 8)?,
        last_used_at: opt(row, 9)?,
    })
}

impl Access for Tx<'_> {
    fn put_token(&mut self, t: &TokenRecord) -> Result<()> {
        let sql = format!(
            "INSERT INTO tokens (tenant, {TOKEN}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
             ON CONFLICT DO NOTHING"
        );
        self.run(
            &sql,
            &[
                &Col(t.id),
                &t.digest,
                &t.scope.session().map(Col),
                &t.name,
                &t.by,
                &Col(t.created_at),
                &t.expires_at.map(Col),
                &t.revoked_at.map(Col),
                &t.replaced_by.map(Col),
                &t.last_used_at.map(Col),
                &t.scope.limit(&t.limits),
            ],
        )?;
        Ok(())
    }

    fn token(&mut self, id: TokenId) -> Result<Option<TokenRecord>> {
        let sql = format!("SELECT {TOKEN} FROM tokens WHERE tenant = $1 AND id = $2");
        let sql = self.locked(&sql);
        self.row(&sql, &[&Col(id)], token_row)
    }

    fn token_by_digest(&mut self, digest: &str) -> Result<Option<TokenRecord>> {
        let sql = format!("SELECT {TOKEN} FROM tokens WHERE tenant = $1 AND digest = $2");
        let sql = self.locked(&sql);
        self.row(&sql, &[&digest], token_row)
    }

    fn tokens(
        &mut self,
        session: Option<SessionId>,
        before: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<TokenRecord>> {
        let of = match session {
            Some(_) => "session = $2",
            None => "$2::uuid IS NULL",
        };
        let behind = match before {
            Some(_) => "id < $3",
            None => "$3::uuid IS NULL",
        };
        let sql = format!(
            "SELECT {TOKEN} FROM tokens WHERE tenant = $1 AND {of} AND {behind} \
             ORDER BY id DESC LIMIT $4"
        );
        // Null is no limit there.
        let limit = (limit > 0).then(|| int(limit as u64));
        let values = (session.map(Col), before.map(Col), limit);
        self.rows(&sql, &[&values.0, &values.1, &values.2], token_row)
    }

    fn tokens_by_tail(&mut self, tail: &str) -> Result<Vec<TokenId>> {
        let sql = "SELECT id FROM tokens WHERE tenant = $1 \
             AND right(replace(id::text, '-', ''), 8) = ANY($3) \
             AND strpos(right(replace(id::text, '-', ''), greatest(8, length($2))), $2) > 0 \
             ORDER BY id DESC LIMIT 16";
        self.rows(sql, &[&tail, &short_forms(tail)], |row| get(row, 0))
    }

    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool> {
        let sql = "UPDATE tokens SET revoked_at = $3 WHERE tenant = $1 AND id = $2 AND revoked_at IS NULL";
        Ok(self.run(sql, &[&Col(id), &Col(at)])? > 0)
    }

    fn revoke_tokens_of(&mut self, session: SessionId, at: Timestamp) -> Result<u64> {
        let sql = "UPDATE tokens SET revoked_at = $3 WHERE tenant = $1 AND session = $2 AND revoked_at IS NULL";
        self.run(sql, &[&Col(session), &Col(at)])
    }

    fn replace_token(&mut self, old: TokenId, new: TokenId, until: Timestamp) -> Result<bool> {
        let sql = "UPDATE tokens SET replaced_by = $3, expires_at = least(expires_at, $4) \
             WHERE tenant = $1 AND id = $2 AND replaced_by IS NULL AND revoked_at IS NULL";
        Ok(self.run(sql, &[&Col(old), &Col(new), &Col(until)])? > 0)
    }

    fn note_token_use(&mut self, id: TokenId, at: Timestamp) -> Result<()> {
        let sql = "UPDATE tokens SET last_used_at = greatest(last_used_at, $3) WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(id), &Col(at)])?;
        Ok(())
    }

    fn registration(&mut self, ledger: LedgerId) -> Result<Option<TokenId>> {
        let sql = "SELECT token FROM registrations WHERE tenant = $1 AND ledger = $2";
        self.row(sql, &[&Col(ledger)], |row| get(row, 0))
    }

    fn register(&mut self, ledger: LedgerId, token: TokenId, at: Timestamp) -> Result<()> {
        let sql = "INSERT INTO registrations (tenant, ledger, token, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        self.run(sql, &[&Col(ledger), &Col(token), &Col(at)])
            .map(drop)
    }

    fn unregister(&mut self, ledger: LedgerId) -> Result<()> {
        let sql = "DELETE FROM registrations WHERE tenant = $1 AND ledger = $2";
        self.run(sql, &[&Col(ledger)]).map(drop)
    }
}
