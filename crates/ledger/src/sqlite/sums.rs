//! Sums of rows, in SQLite: by a function that every connection of ours has, and whoever writes a row has it summed.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

use super::open::Tx;
use crate::LedgerError;
use crate::sums::{SUMMED, Unlike, list};

type Result<T> = rusqlite::Result<T>;

/// Lets SQL on a connection sum columns: `row_sum(a, b, …)`.
///
/// # Errors
/// Those of the store.
pub fn sums_on(db: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    db.create_scalar_function("row_sum", -1, flags, sum)
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

/// Has the rows of all tables summed, whatever was made of them: by migrations, or by whoever writes to the file itself.
///
/// # Errors
/// Those of the store.
pub fn sum_all(db: &Connection) -> Result<()> {
    for (table, columns) in SUMMED {
        let known = "SELECT 1 FROM pragma_table_info(?1) WHERE name = 'sum'";
        if !db.prepare(known)?.exists([table])? {
            db.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN sum INTEGER"))?;
        }
        db.execute(&set(table, columns, "true"), [])?;
    }
    Ok(())
}

/// Sums some rows of a table anew, where that makes a difference.
fn set(table: &str, columns: &[&str], rows: &str) -> String {
    let all = list(columns, "");
    format!("UPDATE {table} SET sum = row_sum({all}) WHERE {rows} AND sum IS NOT row_sum({all})")
}

/// What else an `UPDATE` sets that sets a column of many rows to `value`; nothing where that is in no sum.
pub(super) fn when_set(table: &str, column: &str, value: &str) -> String {
    let summed = SUMMED.iter().find(|(summed, _)| *summed == table);
    let Some((_, columns)) = summed.filter(|(_, columns)| columns.contains(&column)) else {
        return String::new();
    };
    let quoted = format!("\"{column}\"");
    format!(
        ", sum = row_sum({})",
        list(columns, "").replace(&quoted, value)
    )
}

impl Tx<'_> {
    /// Sums rows whose columns were written, by a condition on their table. Triggers would do it by themselves, but each
    /// process that opens the file would read all of them first.
    pub(super) fn sum(
        &self,
        table: &'static str,
        rows: &str,
        of: impl rusqlite::Params,
    ) -> std::result::Result<(), LedgerError> {
        let (_, columns) = SUMMED
            .iter()
            .find(|(summed, _)| *summed == table)
            .expect("a table whose rows have sums");
        let sql = set(table, columns, rows);
        self.db.prepare_cached(&sql)?.execute(of)?;
        Ok(())
    }
}

/// The columns of the primary key of a table.
fn key(db: &Connection, table: &str) -> Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
    let mut query = db.prepare(sql)?;
    query.query_map([table], |row| row.get(0))?.collect()
}

/// The rows whose columns are not what was summed, `most` of each table.
pub(super) fn unlike(db: &Connection, most: i64) -> Result<Vec<Unlike>> {
    let mut found = Vec::new();
    for (table, columns) in SUMMED {
        let shown: Vec<String> = key(db, table)?
            .iter()
            .map(|c| format!("'{c} ' || CASE typeof(\"{c}\") WHEN 'blob' THEN lower(hex(\"{c}\")) ELSE \"{c}\" END"))
            .collect();
        let sql = format!(
            "SELECT {} FROM {table} WHERE sum IS NOT row_sum({}) LIMIT ?1",
            shown.join(" || ', ' || "),
            list(columns, "")
        );
        let mut query = db.prepare(&sql)?;
        let rows = query.query_map([most], |row| {
            let row = row.get::<_, Option<String>>(0)?;
            Ok(Unlike {
                table,
                row: row.unwrap_or_default(),
            })
        })?;
        found.extend(rows.collect::<Result<Vec<_>>>()?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
