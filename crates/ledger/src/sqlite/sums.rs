//! Sums of rows, in SQLite: by a function that every connection of ours has, and whoever writes a row has it summed.

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Params, Row, params_from_iter};
use siglum_domain::SessionId;

use super::bound;
use super::columns::{Col, count};
use super::database::Tx;
use crate::LedgerError;
use crate::columns::Value;
use crate::sums::{LOG, Miscount, SUMMED, Unlike, is_tallied, list, tallied};

type Result<T> = rusqlite::Result<T>;
type Done = std::result::Result<(), LedgerError>;

/// Lets SQL on a connection sum columns: `row_sum(a, b, …)`, and add such sums up: `all_sums(sum)` those of many rows,
/// `two_sums(a, b)` two of them. SQLite's own addition becomes inexact where it leaves 64 bits.
///
/// # Errors
/// Those of the store.
pub fn sums_on(db: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    db.create_scalar_function("row_sum", -1, flags, sum)?;
    db.create_scalar_function("two_sums", 2, flags, |two| {
        Ok(two.get::<i64>(0)?.wrapping_add(two.get(1)?))
    })?;
    db.create_aggregate_function("all_sums", 1, flags, AllSums)
}

/// What the sums of rows add up to, in any order. A row without a sum adds nothing.
struct AllSums;

impl Aggregate<i64, i64> for AllSums {
    fn init(&self, _: &mut Context<'_>) -> Result<i64> {
        Ok(0)
    }

    fn step(&self, row: &mut Context<'_>, all: &mut i64) -> Result<()> {
        *all = all.wrapping_add(row.get::<Option<i64>>(0)?.unwrap_or(0));
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, all: Option<i64>) -> Result<i64> {
        Ok(all.unwrap_or(0))
    }
}

/// The first eight bytes of a hash over the kinds and contents of values.
fn sum(values: &Context<'_>) -> Result<i64> {
    let mut hash = blake3::Hasher::new();
    for at in 0..values.len() {
        let (kind, bytes): (u8, &[u8]) = match values.get_raw(at) {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(n) => (1, &n.to_le_bytes()),
            ValueRef::Real(n) => (2, &n.to_le_bytes()),
            ValueRef::Text(text) => (3, text),
            ValueRef::Blob(blob) => (4, blob),
        };
        hash.update(&[kind]);
        hash.update(&bytes.len().to_le_bytes());
        hash.update(bytes);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize().as_bytes()[..8]);
    Ok(i64::from_le_bytes(first))
}

/// How the column of the sums is written in the SQL of a table.
pub(super) const COLUMN: &str = ", sum INTEGER";

/// The first schema with tallies.
const WITH_TALLIES: u32 = 17;

/// Has the rows of all tables summed and counted, whatever was made of them by whoever writes to the file itself.
///
/// # Errors
/// Those of the store.
pub fn sum_all(db: &Connection) -> Result<()> {
    for (table, columns) in SUMMED {
        db.execute(&set(table, columns, "true"), [])?;
    }
    tallied().try_for_each(|table| begin_tally(db, table))
}

/// Has the rows of tables summed and counted that never were: those that migrations made, and all of a store that is from
/// before there were sums. The others keep theirs, so that what went bad before an upgrade shows after it.
pub(super) fn begin(db: &Connection, from: u32) -> Result<()> {
    let known = "SELECT 1 FROM pragma_table_info(?1) WHERE name = 'sum'";
    for (table, columns) in SUMMED {
        let is_new = !db.prepare(known)?.exists([table])?;
        if is_new {
            db.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN sum INTEGER"))?;
            db.execute(&set(table, columns, "true"), [])?;
        }
        if is_tallied(table) && (is_new || from < WITH_TALLIES) {
            begin_tally(db, table)?;
        }
    }
    Ok(())
}

/// Begins the tally of a table with what is there.
fn begin_tally(db: &Connection, table: &str) -> Result<()> {
    let begin = format!(
        "INSERT OR REPLACE INTO tallies (name, rows, sum) SELECT '{table}', count(*), all_sums(sum) FROM {table}"
    );
    db.execute(&begin, [])?;
    Ok(())
}

/// Sums some rows of a table anew, where that makes a difference.
fn set(table: &str, columns: &[&str], rows: &str) -> String {
    let all = list(columns, "");
    format!("UPDATE {table} SET sum = row_sum({all}) WHERE {rows} AND sum IS NOT row_sum({all})")
}

/// The columns of a table that are in its sum.
fn summed(table: &str) -> Option<&'static [&'static str]> {
    let found = SUMMED.iter().find(|(summed, _)| *summed == table);
    found.map(|(_, columns)| *columns)
}

impl Tx<'_> {
    /// Sums rows whose columns were written, by a condition on their table. Triggers would do it by themselves, but each
    /// process that opens the file would read all of them first.
    pub(super) fn sum_rows(&self, table: &'static str, rows: &str, of: &[Value<'_>]) -> Done {
        let columns = summed(table).expect("a table whose rows have sums");
        let new = format!("row_sum({})", list(columns, ""));
        let stale = format!("{rows} AND sum IS NOT {new}");
        let before = self.tally_of(table, &stale, &new, params_from_iter(of))?;
        if before.rows == 0 {
            return Ok(());
        }
        let sql = format!("UPDATE {table} SET sum = {new} WHERE {stale}");
        self.db
            .prepare_cached(&sql)?
            .execute(params_from_iter(of))?;
        // A row that has no sum was not there before.
        let more = before.rows - before.summed;
        self.tally(table, more, before.new.wrapping_sub(before.old))
    }

    /// Puts a row into the tally of its table that was inserted with its sum, by a condition on the table.
    pub(super) fn count_row(&self, table: &'static str, row: &str, of: &[Value<'_>]) -> Done {
        let sql = format!(
            "UPDATE tallies SET rows = rows + 1, sum = two_sums(sum, (SELECT sum FROM {table} WHERE {row})) WHERE name = '{table}'"
        );
        self.db
            .prepare_cached(&sql)?
            .execute(params_from_iter(of))?;
        Ok(())
    }

    /// Takes rows out of the tally of their table that are about to go or to be replaced.
    pub(super) fn uncount_rows(&self, table: &str, rows: &str, of: &[Value<'_>]) -> Done {
        if !is_tallied(table) {
            return Ok(());
        }
        let before = self.tally_of(table, rows, "0", params_from_iter(of))?;
        self.tally(table, -before.rows, before.old.wrapping_neg())
    }

    /// Sets a column of all rows that have `?1` there to `?2`, and what `also` says.
    pub(super) fn replace_all(
        &self,
        (table, column): (&str, &str),
        also: &str,
        values: impl Params + Clone,
    ) -> Done {
        bound::forget_rows(self.db, table)?;
        let rows = format!("\"{column}\" = ?1");
        let columns = summed(table).filter(|columns| columns.contains(&column));
        let mut set = format!("\"{column}\" = ?2{also}");
        if let Some(columns) = columns {
            let all = list(columns, "").replace(&format!("\"{column}\""), "?2");
            let new = format!("row_sum({all})");
            let before = self.tally_of(table, &rows, &new, values.clone())?;
            self.tally(table, 0, before.new.wrapping_sub(before.old))?;
            set = format!("{set}, sum = {new}");
        }
        let sql = format!("UPDATE {table} SET {set} WHERE {rows}");
        self.db.prepare_cached(&sql)?.execute(values)?;
        Ok(())
    }

    /// Looks at rows that are about to change, and at what their sums will be.
    fn tally_of(
        &self,
        table: &str,
        rows: &str,
        new: &str,
        of: impl Params,
    ) -> std::result::Result<Look, LedgerError> {
        let sql = format!(
            "SELECT count(*), count(sum), all_sums(sum), all_sums({new}) FROM {table} WHERE {rows}"
        );
        let look = |row: &Row<'_>| {
            Ok(Look {
                rows: row.get(0)?,
                summed: row.get(1)?,
                old: row.get(2)?,
                new: row.get(3)?,
            })
        };
        Ok(self.db.prepare_cached(&sql)?.query_row(of, look)?)
    }

    /// Keeps the tally of a table: so many more rows, and so much more in their sums.
    fn tally(&self, table: &str, rows: i64, sum: i64) -> Done {
        if is_tallied(table) && (rows, sum) != (0, 0) {
            let sql =
                "UPDATE tallies SET rows = rows + ?2, sum = two_sums(sum, ?3) WHERE name = ?1";
            self.db.prepare_cached(sql)?.execute((table, rows, sum))?;
        }
        Ok(())
    }
}

/// Rows before they change: how many, how many of them have a sum, and what their sums add up to now and then.
struct Look {
    rows: i64,
    summed: i64,
    old: i64,
    new: i64,
}

/// The columns of the primary key of a table.
fn key(db: &Connection, table: &str) -> Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
    let mut query = db.prepare(sql)?;
    query.query_map([table], |row| row.get(0))?.collect()
}

/// The tables that have other rows than their tallies say. Where a tally is gone, it says nothing was stored.
pub(crate) fn miscounts(db: &Connection) -> Result<Vec<Miscount>> {
    let mut found = Vec::new();
    for table in tallied() {
        let sql = format!(
            "SELECT coalesce(t.rows, 0), f.rows FROM (SELECT count(*) AS rows, all_sums(sum) AS sum FROM {table}) f \
             LEFT JOIN tallies t ON t.name = '{table}' WHERE (f.rows, f.sum) IS NOT (coalesce(t.rows, 0), coalesce(t.sum, 0))"
        );
        let mut query = db.prepare(&sql)?;
        let rows = query.query_map([], |row| {
            Ok(Miscount {
                table,
                stored: count(row, 0)?,
                found: count(row, 1)?,
            })
        })?;
        found.extend(rows.collect::<Result<Vec<_>>>()?);
    }
    Ok(found)
}

/// The rows whose columns are not what was summed, `most` of each table.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn unlike(db: &Connection, most: i64) -> Result<Vec<Unlike>> {
    let all = SUMMED
        .iter()
        .map(|summed| unlike_rows(db, *summed, "", [most]));
    Ok(all.collect::<Result<Vec<_>>>()?.concat())
}

/// The same of the tables beside the logs.
pub(super) fn unlike_beside_logs(db: &Connection, most: i64) -> Result<Vec<Unlike>> {
    let beside = SUMMED.iter().filter(|(table, _)| *table != LOG);
    let all = beside.map(|summed| unlike_rows(db, *summed, "", [most]));
    Ok(all.collect::<Result<Vec<_>>>()?.concat())
}

/// The same of the entries of the log of a session behind a sequence.
pub(super) fn unlike_entries(
    db: &Connection,
    session: SessionId,
    after: i64,
    most: i64,
) -> Result<Vec<Unlike>> {
    let log = SUMMED.iter().filter(|(table, _)| *table == LOG);
    let of = (most, Col(session), after);
    let which = "session = ?2 AND sequence > ?3 AND ";
    let all = log.map(|summed| unlike_rows(db, *summed, which, of));
    Ok(all.collect::<Result<Vec<_>>>()?.concat())
}

fn unlike_rows(
    db: &Connection,
    (table, columns): (&'static str, &[&str]),
    which: &str,
    of: impl Params,
) -> Result<Vec<Unlike>> {
    let shown: Vec<String> = key(db, table)?
        .iter()
        .map(|c| {
            format!(
                "'{c} ' || CASE typeof(\"{c}\") WHEN 'blob' THEN lower(hex(\"{c}\")) ELSE \"{c}\" END"
            )
        })
        .collect();
    let sql = format!(
        "SELECT {} FROM {table} WHERE {which}sum IS NOT row_sum({}) LIMIT ?1",
        shown.join(" || ', ' || "),
        list(columns, "")
    );
    let mut query = db.prepare_cached(&sql)?;
    let rows = query.query_map(of, |row| {
        let row = row.get::<_, Option<String>>(0)?;
        Ok(Unlike {
            table,
            row: row.unwrap_or_default(),
        })
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests;
