//! Statements, written once for both stores.
//!
//! In SQLite a ledger is a file. In PostgreSQL the tables have the ledgers of many tenants, and the tenant comes before all
//! values. So a statement is written for one ledger, and what only PostgreSQL has stands in brackets:
//!
//! `SELECT at FROM requests WHERE [tenant = $1 AND] key = ?1`
//!
//! There, `?1` is `$2`, and so on. Where both have a word of their own for one thing, that of SQLite stands behind a bar:
//! `[least|min](at, ?2)`. Where the brackets leave nothing, the blank behind them goes, too. A bracket that is meant as such
//! is a value.
//!
//! Both texts are made by the compiler, so that a call costs what a text costs that was written out.

/// A statement, or a part of one, as each store has it. One made of a text is for one store alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql<'a> {
    pub(crate) sqlite: &'a str,
    pub(crate) postgres: &'a str,
}

impl<'a> From<&'a str> for Sql<'a> {
    fn from(text: &'a str) -> Self {
        Self {
            sqlite: text,
            postgres: text,
        }
    }
}

impl<'a> From<&'a String> for Sql<'a> {
    fn from(text: &'a String) -> Self {
        Self::from(text.as_str())
    }
}

impl Sql<'_> {
    /// The statement about a table, whose name stands in it as `{table}`. Made with each call, and so for what is rare.
    pub(crate) fn of_table(self, table: &str) -> TableSql {
        TableSql {
            sqlite: self.sqlite.replace("{table}", table),
            postgres: self.postgres.replace("{table}", table),
        }
    }

    /// The same about a column of a table, which stands in it as `{column}`.
    pub(crate) fn of_column(self, table: &str, column: &str) -> TableSql {
        let TableSql { sqlite, postgres } = self.of_table(table);
        TableSql {
            sqlite: sqlite.replace("{column}", column),
            postgres: postgres.replace("{column}", column),
        }
    }
}

/// A statement about a table that the program chose.
pub(crate) struct TableSql {
    sqlite: String,
    postgres: String,
}

impl<'a> From<&'a TableSql> for Sql<'a> {
    fn from(of_table: &'a TableSql) -> Self {
        Self {
            sqlite: &of_table.sqlite,
            postgres: &of_table.postgres,
        }
    }
}

/// Whose words a text has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// More bytes than any statement has.
const MOST: usize = 1 << 14;

/// A statement of texts and constants, one behind the other.
macro_rules! sql {
    ($($part:tt)+) => {
        const {
            use $crate::sql::{Dialect, Sql, length, text, utf8};
            const PARTS: &[&str] = &[$($part),+];
            const SQLITE: &[u8] = &text::<{ length(PARTS, Dialect::Sqlite) }>(PARTS, Dialect::Sqlite);
            const POSTGRES: &[u8] =
                &text::<{ length(PARTS, Dialect::Postgres) }>(PARTS, Dialect::Postgres);
            Sql {
                sqlite: utf8(SQLITE),
                postgres: utf8(POSTGRES),
            }
        }
    };
}
pub(crate) use sql;

/// How many bytes a statement has.
pub(crate) const fn length(parts: &[&str], dialect: Dialect) -> usize {
    written::<MOST>(parts, dialect).1
}

/// The bytes of a statement, of which there are `N`.
pub(crate) const fn text<const N: usize>(parts: &[&str], dialect: Dialect) -> [u8; N] {
    written::<N>(parts, dialect).0
}

/// Bytes of [`text`] as what they were before.
pub(crate) const fn utf8(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("no character is cut"),
    }
}

/// A statement as a store has it, with room behind it, and how many bytes it has.
const fn written<const N: usize>(parts: &[&str], dialect: Dialect) -> ([u8; N], usize) {
    let is_postgres = matches!(dialect, Dialect::Postgres);
    let mut out = [0; N];
    let mut len = 0;
    // Where open brackets began, and whether what is read is this store's.
    let mut bracket = None;
    let mut is_own = true;
    // Whether brackets that left nothing were just closed.
    let mut is_left_out = false;
    let mut part = 0;
    while part < parts.len() {
        let text = parts[part].as_bytes();
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            at += 1;
            let is_behind_nothing = is_left_out;
            is_left_out = false;
            match (byte, bracket) {
                (b' ', None) if is_behind_nothing => {}
                (b'[', None) => {
                    bracket = Some(len);
                    is_own = is_postgres;
                }
                (b'|', Some(_)) => is_own = !is_own,
                (b']', Some(begun)) => {
                    is_left_out = len == begun && is_gap(&out, begun);
                    bracket = None;
                    is_own = true;
                }
                _ if !is_own => {}
                (b'?', _) if is_postgres => {
                    let mut place: u8 = 0;
                    while at < text.len() && text[at].is_ascii_digit() {
                        place = place * 10 + text[at] - b'0';
                        at += 1;
                    }
                    // The tenant is the first one.
                    place += 1;
                    out[len] = b'$';
                    len += 1;
                    if place > 9 {
                        out[len] = b'0' + place / 10;
                        len += 1;
                    }
                    out[len] = b'0' + place % 10;
                    len += 1;
                }
                _ => {
                    out[len] = byte;
                    len += 1;
                }
            }
        }
        part += 1;
    }
    assert!(bracket.is_none(), "each bracket is closed");
    (out, len)
}

/// Whether no word ends at a place.
const fn is_gap(text: &[u8], at: usize) -> bool {
    at == 0 || matches!(text[at - 1], b' ' | b'(')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: Sql<'_>, sqlite: &str, postgres: &str) {
        assert_eq!((sql.sqlite, sql.postgres), (sqlite, postgres));
    }

    #[test]
    fn what_one_store_has_alone_stands_in_brackets() {
        check(
            sql!("SELECT at FROM requests WHERE [tenant = $1 AND] key = ?1"),
            "SELECT at FROM requests WHERE key = ?1",
            "SELECT at FROM requests WHERE tenant = $1 AND key = $2",
        );
        check(
            sql!(
                "INSERT INTO t ([tenant,] a) VALUES ([$1,] ?1) ON CONFLICT ([tenant,] a) DO NOTHING"
            ),
            "INSERT INTO t (a) VALUES (?1) ON CONFLICT (a) DO NOTHING",
            "INSERT INTO t (tenant, a) VALUES ($1, $2) ON CONFLICT (tenant, a) DO NOTHING",
        );
        check(
            sql!(
                "SELECT a || 'b' FROM t [|INDEXED BY i] WHERE ?1[::uuid] IS NULL AND [least|min](a, ?2) = ?12"
            ),
            "SELECT a || 'b' FROM t INDEXED BY i WHERE ?1 IS NULL AND min(a, ?2) = ?12",
            "SELECT a || 'b' FROM t WHERE $2::uuid IS NULL AND least(a, $3) = $13",
        );
    }

    #[test]
    fn a_statement_is_put_together_of_constants() {
        const COLUMNS: &str = "a, \"ä\"";
        const OURS: &str = " WHERE [tenant = $1 AND]";
        check(
            sql!("SELECT " COLUMNS " FROM t" OURS " a = ?9"),
            "SELECT a, \"ä\" FROM t WHERE a = ?9",
            "SELECT a, \"ä\" FROM t WHERE tenant = $1 AND a = $10",
        );
    }
}
