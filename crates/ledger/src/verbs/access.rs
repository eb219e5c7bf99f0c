//! Credentials.

use siglum_domain::access::Scope;
use siglum_domain::{LedgerId, SessionId, Timestamp, TokenId};

use crate::columns::{Col, Limit, Row, Texts};
use crate::database::Database;
use crate::lookup::{BY_TAIL, short_forms};
use crate::sql::sql;
use crate::{Access, LedgerError, TokenRecord};

type Result<T> = std::result::Result<T, LedgerError>;

const TOKEN: &str = "id, digest, session, name, by, created_at, expires_at, revoked_at, replaced_by, last_used_at, scope";

fn token_row(row: &Row<'_>) -> Result<TokenRecord> {
    let limit: Option<String> = row.get(10)?;
    let (scope, limits) = Scope::stored(row.get(2)?, limit.as_deref());
    Ok(TokenRecord {
        id: row.get(0)?,
        digest: row.get(1)?,
        scope,
        limits,
        name: row.get(3)?,
        by: row.get(4)?,
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
        revoked_at: row.get(7)?,
        replaced_by: row.get(8)?,
        last_used_at: row.get(9)?,
    })
}

impl<D: Database> Access for D {
    fn put_token(&mut self, t: &TokenRecord) -> Result<()> {
        let sql = sql!("INSERT INTO tokens ([tenant,] " TOKEN "[|, sum]) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11\
             [|, row_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?11)]) ON CONFLICT DO NOTHING");
        let added = self.run(
            sql,
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
        match added {
            0 => Ok(()),
            _ => self.count_new("tokens", "id = ?1", &[&Col(t.id)]),
        }
    }

    fn token(&mut self, id: TokenId) -> Result<Option<TokenRecord>> {
        let sql = sql!("SELECT " TOKEN " FROM tokens WHERE [tenant = $1 AND] id = ?1 [FOR UPDATE]");
        self.row(sql, &[&Col(id)], token_row)
    }

    fn token_by_digest(&mut self, digest: &str) -> Result<Option<TokenRecord>> {
        let sql =
            sql!("SELECT " TOKEN " FROM tokens WHERE [tenant = $1 AND] digest = ?1 [FOR UPDATE]");
        self.row(sql, &[&digest], token_row)
    }

    fn tokens(
        &mut self,
        session: Option<SessionId>,
        before: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<TokenRecord>> {
        // Each is written out, so that each can use its index.
        let sql = match (session, before) {
            (None, None) => {
                sql!("SELECT " TOKEN " FROM tokens WHERE [tenant = $1 AND] ?1[::uuid] IS NULL \
                 AND ?2[::uuid] IS NULL ORDER BY id DESC LIMIT ?3")
            }
            (None, Some(_)) => {
                sql!("SELECT " TOKEN " FROM tokens WHERE [tenant = $1 AND] ?1[::uuid] IS NULL \
                 AND id < ?2 ORDER BY id DESC LIMIT ?3")
            }
            (Some(_), None) => {
                sql!("SELECT " TOKEN " FROM tokens WHERE [tenant = $1 AND] session = ?1 \
                 AND ?2[::uuid] IS NULL ORDER BY id DESC LIMIT ?3")
            }
            (Some(_), Some(_)) => {
                sql!("SELECT " TOKEN " FROM tokens WHERE [tenant = $1 AND] session = ?1 \
                 AND id < ?2 ORDER BY id DESC LIMIT ?3")
            }
        };
        let (session, before) = (session.map(Col), before.map(Col));
        self.rows(sql, &[&session, &before, &Limit(limit)], token_row)
    }

    fn tokens_by_tail(&mut self, tail: &str) -> Result<Vec<TokenId>> {
        let sql = sql!("SELECT id FROM tokens WHERE [tenant = $1 AND] " BY_TAIL " ORDER BY id DESC LIMIT 16");
        self.rows(sql, &[&tail, &Texts(short_forms(tail))], |row| row.get(0))
    }

    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool> {
        let sql = sql!(
            "UPDATE tokens SET revoked_at = ?2 WHERE [tenant = $1 AND] id = ?1 AND revoked_at IS NULL"
        );
        let revoked = self.run(sql, &[&Col(id), &Col(at)])?;
        self.sum("tokens", "id = ?1", &[&Col(id)])?;
        Ok(revoked > 0)
    }

    fn revoke_tokens_of(&mut self, session: SessionId, at: Timestamp) -> Result<u64> {
        let sql = sql!(
            "UPDATE tokens SET revoked_at = ?2 WHERE [tenant = $1 AND] session = ?1 AND revoked_at IS NULL"
        );
        let revoked = self.run(sql, &[&Col(session), &Col(at)])?;
        self.sum("tokens", "session = ?1", &[&Col(session)])?;
        Ok(revoked)
    }

    fn replace_token(&mut self, old: TokenId, new: TokenId, until: Timestamp) -> Result<bool> {
        let sql = sql!(
            "UPDATE tokens SET replaced_by = ?2, \
             expires_at = [least(expires_at, ?3)|min(coalesce(expires_at, ?3), ?3)] \
             WHERE [tenant = $1 AND] id = ?1 AND replaced_by IS NULL AND revoked_at IS NULL"
        );
        let replaced = self.run(sql, &[&Col(old), &Col(new), &Col(until)])?;
        self.sum("tokens", "id = ?1", &[&Col(old)])?;
        Ok(replaced > 0)
    }

    fn note_token_use(&mut self, id: TokenId, at: Timestamp) -> Result<()> {
        let sql = sql!(
            "UPDATE tokens SET \
             last_used_at = [greatest(last_used_at, ?2)|max(coalesce(last_used_at, ?2), ?2)] \
             WHERE [tenant = $1 AND] id = ?1"
        );
        self.run(sql, &[&Col(id), &Col(at)])?;
        Ok(())
    }

    fn registration(&mut self, ledger: LedgerId) -> Result<Option<TokenId>> {
        let sql = sql!("SELECT token FROM registrations WHERE [tenant = $1 AND] ledger = ?1");
        self.row(sql, &[&Col(ledger)], |row| row.get(0))
    }

    fn register(&mut self, ledger: LedgerId, token: TokenId, at: Timestamp) -> Result<()> {
        let sql = sql!(
            "INSERT INTO registrations ([tenant,] ledger, token, at) VALUES ([$1,] ?1, ?2, ?3) ON CONFLICT DO NOTHING"
        );
        self.run(sql, &[&Col(ledger), &Col(token), &Col(at)])?;
        self.sum("registrations", "ledger = ?1", &[&Col(ledger)])
    }

    fn unregister(&mut self, ledger: LedgerId) -> Result<()> {
        let rows = sql!("[tenant = $1 AND] ledger = ?1");
        self.delete("registrations", rows, &[&Col(ledger)])?;
        Ok(())
    }
}
