//! Sums of rows, in SQLite: by triggers and a function that every connection of ours has.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

use crate::sums::{SUMMED, Unlike, list};

type Result<T> = rusqlite::Result<T>;

/// Entries of logs are many: what inserts one sums it.
const SUMMED_BY_INSERT: &str = "observations";

/// Lets SQL on a connection sum columns, `row_sum(a, b, …)`, without which nothing can be written to a ledger.
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

/// Whether something in a file is a trigger that sums rows, by its name.
pub(super) fn is_trigger(kind: &str, name: &str) -> bool {
    kind == "trigger" && (name.ends_with("_summed") || name.ends_with("_summed_again"))
}

/// Stops the summing of rows, so that migrations can change them.
pub(super) fn remove(db: &Connection) -> Result<()> {
    let sql = "SELECT type, name FROM sqlite_master";
    let mut query = db.prepare(sql)?;
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for thing in rows.collect::<Result<Vec<(String, String)>>>()? {
        if is_trigger(&thing.0, &thing.1) {
            db.execute_batch(&format!(
                "DROP TRIGGER \"{}\"",
                thing.1.replace('"', "\"\"")
            ))?;
        }
    }
    Ok(())
}

/// Has the rows of all tables summed, after whatever migrations made of them.
pub(super) fn install(db: &Connection) -> Result<()> {
    for (table, columns) in SUMMED {
        if key(db, table)?.is_empty() {
            continue;
        }
        let known = "SELECT 1 FROM pragma_table_info(?1) WHERE name = 'sum'";
        if !db.prepare(known)?.exists([table])? {
            db.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN sum INTEGER"))?;
        }
        let all = list(columns, "");
        let sums =
            format!("UPDATE {table} SET sum = row_sum({all}) WHERE sum IS NOT row_sum({all})");
        db.execute_batch(&sums)?;
        for sql in triggers(db, table, columns)? {
            db.execute_batch(&sql)?;
        }
    }
    Ok(())
}

fn triggers(db: &Connection, table: &str, columns: &[&str]) -> Result<Vec<String>> {
    let same: Vec<String> = key(db, table)?
        .iter()
        .map(|column| format!("\"{column}\" IS NEW.\"{column}\""))
        .collect();
    let set = format!(
        "UPDATE {table} SET sum = row_sum({}) WHERE {}",
        list(columns, "NEW."),
        same.join(" AND ")
    );
    let trigger = |name: &str, when: &str| {
        format!("CREATE TRIGGER {table}_{name} AFTER {when} ON {table} BEGIN {set}; END")
    };
    let changed = format!("UPDATE OF {}", list(columns, ""));
    let mut all = vec![trigger("summed_again", &changed)];
    if table != SUMMED_BY_INSERT {
        all.push(trigger("summed", "INSERT"));
    }
    Ok(all)
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
