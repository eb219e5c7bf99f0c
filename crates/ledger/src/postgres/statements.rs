//! Statements, and the links that they attach.

use std::collections::BTreeSet;

use postgres::Row;
use siglum_domain::{Oid, SessionId, Timestamp};

use super::columns::{Col, count, get, int, raw};
use super::tx::{Tx, Value};
use crate::links::links_ever;
use crate::record::*;
use crate::stored::{StatementRow, Subjects};
use crate::{LedgerError, Sessions};

type Result<T> = std::result::Result<T, LedgerError>;

pub(super) fn statement_row(row: &Row) -> Result<StatementRecord> {
    let statement = StatementRow {
        ledger: get(row, 0)?,
        sequence: count(row, 1)?,
        at: get(row, 2)?,
        by: raw(row, 3)?,
        source: raw(row, 4)?,
        body: raw(row, 5)?,
    };
    statement.record()
}

impl Tx<'_> {
    pub(super) fn statement_rows(
        &mut self,
        condition: &str,
        of: &[Value<'_>],
    ) -> Result<Vec<StatementRecord>> {
        let sql = format!(
            "SELECT ledger, sequence, at, by, source, body FROM statements \
             WHERE tenant = $1 AND {condition} ORDER BY at, ledger, sequence"
        );
        self.rows(&sql, of, statement_row)
    }

    /// Stores a statement under the next number, which nobody else gets before this transaction ends.
    pub(super) fn store_statement(
        &mut self,
        (at, by, source): (Timestamp, &str, &str),
        statement: &Statement,
    ) -> Result<u64> {
        let next = "INSERT INTO counters (tenant, name, value) VALUES ($1, 'statement', 1) \
             ON CONFLICT (tenant, name) DO UPDATE SET value = counters.value + 1 RETURNING value";
        let sequence = self.one(next, &[], |row| count(row, 0))?;
        let of = Subjects::from_statement(statement)?;
        let sql = "INSERT INTO statements (tenant, ledger, sequence, at, by, source, kind, body, session, repository, \"commit\") \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
        self.run(
            sql,
            &[
                &Col(self.ledger),
                &int(sequence),
                &Col(at),
                &by,
                &source,
                &of.kind,
                &of.body,
                &of.session.map(Col),
                &of.repository.map(Col),
                &of.commit.map(Oid::as_str),
            ],
        )?;
        if let Some(session) = of.session {
            self.index_later(session)?;
        }
        self.fold_link(statement)?;
        if let Statement::LinkAttached { session, link } = statement {
            self.note_pipeline(*session, link, at)?;
        }
        if let Statement::WorksIn {
            session,
            repositories,
        } = statement
        {
            self.works_in(*session, repositories.iter().copied())?;
        }
        Ok(sequence)
    }

    /// Attaches a link or detaches it, as the last statement of it says: last by time, as they are listed.
    pub(super) fn fold_link(&mut self, statement: &Statement) -> Result<()> {
        let (Statement::LinkAttached { session, link } | Statement::LinkDetached { session, link }) =
            statement
        else {
            return Ok(());
        };
        let says = |record: StatementRecord| match record.statement {
            Statement::LinkAttached { link: l, .. } if l == *link => Some(true),
            Statement::LinkDetached { link: l, .. } if l == *link => Some(false),
            _ => None,
        };
        let stated = self.statements_of_session(*session)?;
        self.fold_links_ever(*session, &stated)?;
        let sql = match stated.into_iter().rev().find_map(says) {
            Some(true) => {
                "INSERT INTO links (tenant, field, value, session) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
            }
            _ => {
                "DELETE FROM links WHERE tenant = $1 AND field = $2 AND value = $3 AND session = $4"
            }
        };
        self.run(sql, &[&link.field(), &link.value(), &Col(*session)])?;
        Ok(())
    }

    /// Which links a session ever had, by all that is stated of it.
    pub(super) fn fold_links_ever(
        &mut self,
        session: SessionId,
        stated: &[StatementRecord],
    ) -> Result<()> {
        let ever = links_ever(stated).into_iter();
        let ever = ever.map(|(link, is_whole)| (link.field().to_owned(), link.value(), is_whole));
        let ever: BTreeSet<(String, String, bool)> = ever.collect();
        let sql =
            "SELECT field, value, whole FROM session_links WHERE tenant = $1 AND session = $2";
        let known = self.rows(sql, &[&Col(session)], |row| {
            Ok((
                raw::<String>(row, 0)?,
                raw::<String>(row, 1)?,
                raw::<bool>(row, 2)?,
            ))
        })?;
        if known.into_iter().collect::<BTreeSet<_>>() == ever {
            return Ok(());
        }
        let sql = "DELETE FROM session_links WHERE tenant = $1 AND session = $2";
        self.run(sql, &[&Col(session)])?;
        // Where somebody else states something of it at once, a link of both is read by its statements.
        let sql = "INSERT INTO session_links (tenant, session, field, value, whole) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (tenant, session, field, value) DO UPDATE SET whole = session_links.whole AND excluded.whole";
        for (field, value, is_whole) in &ever {
            let of: [Value<'_>; 4] = [&Col(session), field, value, is_whole];
            self.run(sql, &of)?;
        }
        Ok(())
    }
}
