//! Sums of rows, in PostgreSQL: by triggers.

use std::fmt::Write as _;

use crate::sums::{SUMMED, list};

/// What the columns of a row come to: a digest, in the smallest type that holds one.
fn sum(columns: &[&str], before: &str) -> String {
    format!("md5(ROW({})::text)::uuid", list(columns, before))
}

/// SQL that has the rows of all tables summed, after whatever migrations made of them.
pub(super) fn install() -> String {
    let mut sql = String::new();
    for (table, columns) in SUMMED {
        let (old, new) = (sum(columns, ""), sum(columns, "NEW."));
        let _ = write!(
            sql,
            "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS sum uuid; \
             DROP TRIGGER IF EXISTS {table}_summed ON {table}; \
             ALTER TABLE {table} DISABLE TRIGGER USER; \
             UPDATE {table} SET sum = {old} WHERE sum IS DISTINCT FROM {old}; \
             ALTER TABLE {table} ENABLE TRIGGER USER; \
             CREATE OR REPLACE FUNCTION {table}_sum() RETURNS trigger LANGUAGE plpgsql AS $$ \
             BEGIN NEW.sum := {new}; RETURN NEW; END $$; \
             CREATE TRIGGER {table}_summed BEFORE INSERT OR UPDATE ON {table} \
             FOR EACH ROW EXECUTE FUNCTION {table}_sum(); "
        );
    }
    sql
}

/// The queries for rows whose columns are not what was summed: for each table, of a tenant, so many.
pub(super) fn unlike() -> impl Iterator<Item = (&'static str, String)> {
    SUMMED.iter().map(|(table, columns)| {
        let of = sum(columns, "");
        let first = list(&columns[..columns.len().min(2)], "");
        let sql = format!(
            "SELECT ROW({first})::text FROM {table} WHERE tenant = $1 AND sum IS DISTINCT FROM {of} LIMIT $2"
        );
        (*table, sql)
    })
}
