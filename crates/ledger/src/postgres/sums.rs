//! Sums of rows and tallies of tables, in PostgreSQL: by triggers.
//!
//! Only the transactions of [`super::begun`] count in a tally, which set `siglum.stripe`. What anybody else does to a row,
//! with whatever program, shows.

use std::fmt::Write as _;

use crate::sums::{LOG, SUMMED, is_tallied, list, tallied};

/// What the columns of a row come to: a digest, in the smallest type that holds one.
fn sum(columns: &[&str], before: &str) -> String {
    format!("md5(ROW({})::text)::uuid", list(columns, before))
}

/// SQL that has the rows of all tables summed and counted. Those that never were begin with what is there, and the others
/// keep their sums: what went bad before an upgrade shows after it.
pub(super) fn install() -> String {
    let mut sql = String::new();
    for (table, columns) in SUMMED {
        let (old, new) = (sum(columns, ""), sum(columns, "NEW."));
        // A change of other columns, which is most of what happens to a session, costs no sum and mends none that is wrong.
        let (before, after) = (list(columns, "OLD."), list(columns, "NEW."));
        let summed = list(columns, "");
        let _ = write!(
            sql,
            "DO $$ BEGIN \
                 IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = 'sum') THEN \
                     ALTER TABLE {table} ADD COLUMN sum uuid; \
                     ALTER TABLE {table} DISABLE TRIGGER USER; \
                     UPDATE {table} SET sum = {old}; \
                     ALTER TABLE {table} ENABLE TRIGGER USER; \
                 END IF; \
             END $$; \
             DROP TRIGGER IF EXISTS {table}_summed ON {table}; \
             CREATE OR REPLACE FUNCTION {table}_sum() RETURNS trigger LANGUAGE plpgsql AS $$ \
             BEGIN \
                 IF TG_OP = 'INSERT' OR ROW({before}) IS DISTINCT FROM ROW({after}) THEN NEW.sum := {new}; END IF; \
                 RETURN NEW; \
             END $$; \
             CREATE TRIGGER {table}_summed BEFORE INSERT OR UPDATE OF {summed} ON {table} \
             FOR EACH ROW EXECUTE FUNCTION {table}_sum(); "
        );
        if is_tallied(table) {
            sql.push_str(&tallied_by_triggers(table, &summed));
        }
    }
    format!("{sql}{TALLY}")
}

/// A number of the sum of a row, of which many can be added up.
fn number(sum: &str) -> String {
    format!("coalesce(('x' || left(replace({sum}::text, '-', ''), 15))::bit(60)::bigint, 0)")
}

/// Keeps a tally. One row for all would make everybody who writes wait for everybody else: each transaction takes a
/// stripe that no other one has, until it ends. A connection begins with the one that it had last, which nobody else is
/// likely to hold, and looks through them only where it is taken.
const TALLY: &str = "\
CREATE OR REPLACE FUNCTION tally(whose text, what text, more bigint, difference numeric) RETURNS void LANGUAGE plpgsql AS $$ \
DECLARE mine integer := 0; \
BEGIN \
    IF current_setting('siglum.stripe') = 'none yet' THEN \
        mine := coalesce(nullif(current_setting('siglum.last_stripe', true), '')::integer, 0); \
        IF NOT pg_try_advisory_xact_lock(hashtext('siglum tallies'), mine) THEN \
            mine := 0; \
            WHILE NOT pg_try_advisory_xact_lock(hashtext('siglum tallies'), mine) LOOP mine := mine + 1; END LOOP; \
            PERFORM set_config('siglum.last_stripe', mine::text, false); \
        END IF; \
        PERFORM set_config('siglum.stripe', mine::text, true); \
    ELSE mine := current_setting('siglum.stripe')::integer; \
    END IF; \
    INSERT INTO tallies AS t (tenant, name, stripe, rows, sum) VALUES (whose, what, mine, more, difference) \
        ON CONFLICT (tenant, name, stripe) DO UPDATE SET rows = t.rows + excluded.rows, sum = t.sum + excluded.sum; \
END $$; ";

/// SQL that begins the tally of a table that has none with what is there, and has it kept. What a trigger looks at is in its
/// function, which a connection prepares once: a condition of its own is read anew by each statement.
fn tallied_by_triggers(table: &str, columns: &str) -> String {
    let ours = "current_setting('siglum.stripe', true) <> ''";
    let (sum, old, new) = (number("sum"), number("OLD.sum"), number("NEW.sum"));
    format!(
        "DO $$ BEGIN \
             IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = '{table}'::regclass AND tgname = '{table}_more') THEN \
                 INSERT INTO tallies (tenant, name, stripe, rows, sum) \
                 SELECT tenant, '{table}', 0, count(*), sum({sum}) FROM {table} GROUP BY tenant; \
             END IF; \
         END $$; \
         CREATE OR REPLACE FUNCTION {table}_tally() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN \
             IF {ours} THEN \
                 IF TG_OP = 'INSERT' THEN PERFORM tally(NEW.tenant, '{table}', 1, {new}); \
                 ELSIF OLD.sum IS DISTINCT FROM NEW.sum THEN PERFORM tally(NEW.tenant, '{table}', 0, {new} - {old}); \
                 END IF; \
             END IF; \
             RETURN NULL; \
         END $$; \
         CREATE OR REPLACE FUNCTION {table}_untally() RETURNS trigger LANGUAGE plpgsql AS $$ \
         BEGIN \
             IF {ours} THEN PERFORM tally(tenant, '{table}', -count(*), -sum({sum})) FROM gone GROUP BY tenant; END IF; \
             RETURN NULL; \
         END $$; \
         DROP TRIGGER IF EXISTS {table}_more ON {table}; \
         DROP TRIGGER IF EXISTS {table}_other ON {table}; \
         DROP TRIGGER IF EXISTS {table}_fewer ON {table}; \
         CREATE TRIGGER {table}_more AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_tally(); \
         CREATE TRIGGER {table}_other AFTER UPDATE OF {columns} ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_tally(); \
         CREATE TRIGGER {table}_fewer AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone \
         FOR EACH STATEMENT EXECUTE FUNCTION {table}_untally(); "
    )
}

/// The queries for tables that have other rows than their tallies say, of a tenant.
pub(super) fn miscounts() -> impl Iterator<Item = (&'static str, String)> {
    tallied().map(|table| {
        let sum = number("sum");
        let sql = format!(
            "SELECT t.rows, f.rows FROM \
             (SELECT coalesce(sum(rows), 0)::bigint AS rows, coalesce(sum(sum), 0) AS sum FROM tallies WHERE tenant = $1 AND name = '{table}') t, \
             (SELECT count(*) AS rows, coalesce(sum({sum}), 0) AS sum FROM {table} WHERE tenant = $1) f \
             WHERE (t.rows, t.sum) IS DISTINCT FROM (f.rows, f.sum)"
        );
        (table, sql)
    })
}

/// The queries for rows whose columns are not what was summed: for each table beside the logs, of a tenant, so many.
pub(super) fn unlike() -> impl Iterator<Item = (&'static str, String)> {
    let beside = SUMMED.iter().filter(|(table, _)| *table != LOG);
    beside.map(|(table, columns)| (*table, unlike_rows(table, columns, "")))
}

/// The same of the entries of the log of a session behind a sequence.
pub(super) fn unlike_entries() -> impl Iterator<Item = (&'static str, String)> {
    let log = SUMMED.iter().filter(|(table, _)| *table == LOG);
    let which = "AND session = $3 AND sequence > $4 ";
    log.map(move |(table, columns)| (*table, unlike_rows(table, columns, which)))
}

fn unlike_rows(table: &str, columns: &[&str], which: &str) -> String {
    let of = sum(columns, "");
    let first = list(&columns[..columns.len().min(2)], "");
    format!(
        "SELECT ROW({first})::text FROM {table} WHERE tenant = $1 {which}AND sum IS DISTINCT FROM {of} LIMIT $2"
    )
}
