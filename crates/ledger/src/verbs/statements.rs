//! Statements, and the links that they attach.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::link::Link;
use siglum_domain::{LedgerId, Oid, SessionId, Timestamp};

use super::pipelines::note_pipeline;
use super::places::works_in;
use crate::LedgerError;
use crate::columns::{Col, Row, Value, int};
use crate::database::Database;
use crate::links::links_ever;
use crate::record::*;
use crate::sql::{Sql, sql};
use crate::stored::{StatementRow, Subjects};

type Result<T> = std::result::Result<T, LedgerError>;

/// The columns of a statement, with their table.
pub(super) const STATEMENTS: &str =
    "SELECT ledger, sequence, at, by, source, body FROM statements WHERE [tenant = $1 AND]";

/// A statement, in SQLite with its sum.
pub(crate) const INSERT_STATEMENT: &str = "INSERT INTO statements ([tenant,] ledger, sequence, at, by, source, kind, body, \
     session, repository, \"commit\"[|, sum]) VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10\
     [|, row_sum(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)])";

pub(super) fn statement_row(row: &Row<'_>) -> Result<StatementRecord> {
    let statement = StatementRow {
        ledger: row.get(0)?,
        sequence: row.count(1)?,
        at: row.get(2)?,
        by: row.get(3)?,
        source: row.get(4)?,
        body: row.get(5)?,
    };
    statement.record()
}

pub(super) fn statements_of_session(
    db: &mut impl Database,
    session: SessionId,
) -> Result<Vec<StatementRecord>> {
    let sql = sql!(STATEMENTS " session = ?1 ORDER BY at, ledger, sequence");
    db.rows(sql, &[&Col(session)], statement_row)
}

/// Inserts the row of a statement, and gives whether it was added.
pub(crate) fn insert(
    db: &mut impl Database,
    sql: Sql<'_>,
    (ledger, sequence): (LedgerId, u64),
    (at, by, source): (Timestamp, &str, &str),
    of: &Subjects<'_>,
) -> Result<bool> {
    let values: [Value<'_>; 10] = [
        &Col(ledger),
        &int(sequence),
        &Col(at),
        &by,
        &source,
        &of.kind,
        &of.body,
        &of.session.map(Col),
        &of.repository.map(Col),
        &of.commit.map(Oid::as_str),
    ];
    let is_new = db.run(sql, &values)? > 0;
    if is_new {
        let row = "ledger = ?1 AND sequence = ?2";
        db.count_new("statements", row, &[&Col(ledger), &int(sequence)])?;
    }
    Ok(is_new)
}

/// Stores statements, each with its source, under the next numbers of this ledger, and gives the first of these. What they
/// come to is folded when all are stored.
pub(super) fn state_all(
    db: &mut impl Database,
    (at, by): (Timestamp, &str),
    statements: &[(&str, &Statement)],
) -> Result<u64> {
    let mut rows = Vec::with_capacity(statements.len());
    for (source, statement) in statements {
        rows.push((*source, Subjects::from_statement(statement)?));
    }
    // Whoever states something of the same session waits from here on: what is folded is all that is stated of it.
    let sessions: BTreeSet<SessionId> = rows.iter().filter_map(|(_, of)| of.session).collect();
    for session in sessions {
        db.index_later(session)?;
    }
    let ledger = db.ledger();
    let stored_next = |(source, statement): &(&str, &Statement)| StatementRecord {
        ledger,
        // Behind all that this ledger stated before.
        sequence: u64::MAX,
        at,
        by: by.to_owned(),
        source: (*source).to_owned(),
        statement: (*statement).clone(),
    };
    let next: Vec<StatementRecord> = statements.iter().map(stored_next).collect();
    fold_links(db, next.iter().map(|record| &record.statement), &next)?;
    // Whoever states anything next waits from here on until this transaction ends: what can come before it does.
    let first = db.insert_next((at, by), &rows)?;
    for (_, statement) in statements {
        match statement {
            Statement::LinkAttached { session, link } => note_pipeline(db, *session, link, at)?,
            Statement::WorksIn {
                session,
                repositories,
            } => works_in(db, *session, repositories.iter().copied())?,
            _ => {}
        }
    }
    Ok(first)
}

/// Attaches and detaches the links of these statements. Those that are stored `next` count as if they were.
pub(super) fn fold_links<'s>(
    db: &mut impl Database,
    statements: impl IntoIterator<Item = &'s Statement>,
    next: &[StatementRecord],
) -> Result<()> {
    let mut links: BTreeMap<SessionId, Vec<&Link>> = BTreeMap::new();
    for statement in statements {
        if let Statement::LinkAttached { session, link }
        | Statement::LinkDetached { session, link } = statement
        {
            links.entry(*session).or_default().push(link);
        }
    }
    for (session, links) in links {
        let mut stated = statements_of_session(db, session)?;
        let of_session = next
            .iter()
            .filter(|n| n.statement.session() == Some(session));
        stated.extend(of_session.cloned());
        stated.sort_by_key(|record| (record.at, record.ledger, record.sequence));
        fold_links_ever(db, session, &stated)?;
        let (attached, detached): (Vec<&Link>, Vec<&Link>) = links
            .into_iter()
            .partition(|link| is_attached(link, &stated));
        for link in detached {
            let rows = sql!("[tenant = $1 AND] field = ?1 AND value = ?2 AND session = ?3");
            let key: [Value<'_>; 3] = [&link.field(), &link.value(), &Col(session)];
            db.delete("links", rows, &key)?;
        }
        if !attached.is_empty() {
            db.insert_links(session, &attached)?;
        }
    }
    Ok(())
}

/// Whether a link is attached, as the last statement of it says: last by time, as they are listed.
fn is_attached(link: &Link, stated: &[StatementRecord]) -> bool {
    let says = |record: &StatementRecord| match &record.statement {
        Statement::LinkAttached { link: l, .. } if l == link => Some(true),
        Statement::LinkDetached { link: l, .. } if l == link => Some(false),
        _ => None,
    };
    stated.iter().rev().find_map(says) == Some(true)
}

/// Which links a session ever had, by all that is stated of it.
pub(super) fn fold_links_ever(
    db: &mut impl Database,
    session: SessionId,
    stated: &[StatementRecord],
) -> Result<()> {
    let ever = links_ever(stated).into_iter();
    let ever = ever.map(|(link, is_whole)| (link.field().to_owned(), link.value(), is_whole));
    let ever: BTreeSet<(String, String, bool)> = ever.collect();
    let sql =
        sql!("SELECT field, value, whole FROM session_links WHERE [tenant = $1 AND] session = ?1");
    let known: Result<Vec<(String, String, bool)>> = db.rows(sql, &[&Col(session)], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    });
    // What cannot be read is made anew.
    let known = match known {
        Ok(known) => Some(known.into_iter().collect::<BTreeSet<_>>()),
        Err(LedgerError::Damaged(_)) => None,
        Err(error) => return Err(error),
    };
    if known.as_ref() == Some(&ever) {
        return Ok(());
    }
    if known.is_none_or(|known| !known.is_empty()) {
        let sql = sql!("DELETE FROM session_links WHERE [tenant = $1 AND] session = ?1");
        db.run(sql, &[&Col(session)])?;
    }
    // Where somebody else states something of it at once, a link of both is read by its statements.
    db.insert_links_ever(session, &ever)
}
