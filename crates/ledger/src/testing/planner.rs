//! How a PostgreSQL server would answer statements, on tables that are filled.

use postgres::{Client, SimpleQueryMessage};

use super::{SMALL, Server};

type Result<T> = std::result::Result<T, postgres::Error>;

/// How many rows a table gets.
const ROWS: u32 = 10_000;
/// Whose rows they are.
const TENANT: &str = "filled";

/// Columns with few values: so many.
const FEW: &[(&str, u32)] = &[
    ("action", 5),
    ("agent", 3),
    ("field", 4),
    ("home", 1),
    ("ledger", 1),
    ("kind", 3),
    ("model", 3),
    ("outcome", 4),
    ("projection", 2),
    ("repository", 500),
];

/// Columns that take certain words only.
const WORDS: &[(&str, &str, &str)] = &[
    ("sessions", "mode", "observed"),
    ("sessions", "origin", "live"),
    ("intents", "state", "landed"),
    ("checkpoints", "kind", "commit"),
    ("context_turns", "kind", "asked"),
];

/// A connection to a schema whose tables that grow are filled, and that plans for all values alike.
pub struct Planner(Client);

impl Planner {
    /// Fills the tables of a schema.
    ///
    /// # Errors
    /// Those of the server.
    pub fn on(server: &Server) -> Result<Self> {
        let mut client = server.client()?;
        let sql = "SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns \
             WHERE table_schema = current_schema() AND is_identity = 'NO' AND is_generated = 'NEVER' ORDER BY 1";
        let columns = client.query(sql, &[])?;
        let columns: Vec<[String; 3]> = columns
            .iter()
            .map(|row| -> Result<[String; 3]> {
                Ok([row.try_get(0)?, row.try_get(1)?, row.try_get(2)?])
            })
            .collect::<Result<_>>()?;
        let of_one_table = columns.chunk_by(|a, b| a[0] == b[0]);
        for columns in of_one_table.filter(|columns| !SMALL.contains(&columns[0][0].as_str())) {
            let table = &columns[0][0];
            let names: Vec<_> = columns.iter().map(|[_, c, _]| format!("\"{c}\"")).collect();
            let values: Vec<_> = columns.iter().map(|[t, c, ty]| value(t, c, ty)).collect();
            // Its triggers would take longer than all the rest.
            client.batch_execute(&format!(
                "ALTER TABLE {table} DISABLE TRIGGER USER; \
                 INSERT INTO {table} ({}) SELECT {} FROM generate_series(1, {ROWS}) AS n; \
                 ALTER TABLE {table} ENABLE TRIGGER USER; ANALYZE {table}",
                names.join(", "),
                values.join(", ")
            ))?;
        }
        // How much a statement asks for decides whether to read a whole table is quicker, and that is not known here. So it
        // is done only where there is no other way.
        client
            .batch_execute("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off")?;
        Ok(Self(client))
    }

    /// The plan of a statement, in JSON.
    ///
    /// # Errors
    /// Those of the server.
    pub fn plan(&mut self, sql: &str) -> Result<String> {
        let values = vec!["NULL"; self.0.prepare(sql)?.params().len()].join(", ");
        let values = match values.as_str() {
            "" => values,
            _ => format!("({values})"),
        };
        self.0.batch_execute(&format!("PREPARE planned AS {sql}"))?;
        let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE planned{values}");
        let rows = self.0.simple_query(&explain)?;
        self.0.batch_execute("DEALLOCATE planned")?;
        let lines = rows.iter().filter_map(|row| match row {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    /// The indexes that hold some rows of their table only.
    ///
    /// # Errors
    /// Those of the server.
    pub fn partial_indexes(&mut self) -> Result<Vec<String>> {
        let sql = "SELECT indexrelid::regclass::text FROM pg_index WHERE indpred IS NOT NULL \
             AND pg_table_is_visible(indexrelid)";
        let rows = self.0.query(sql, &[])?;
        rows.iter().map(|row| row.try_get(0)).collect()
    }
}

/// What the row `n` has in a column, in SQL.
fn value(table: &str, column: &str, ty: &str) -> String {
    let word = WORDS.iter().find(|(t, c, _)| (*t, *c) == (table, column));
    if let Some((_, _, word)) = word {
        return format!("'{word}'");
    }
    let few = FEW.iter().find(|(c, _)| *c == column);
    let number = few.map_or("n".to_owned(), |(_, few)| format!("n % {few}"));
    match ty {
        "text" if column == "tenant" => format!("'{TENANT}'"),
        // The same in all columns, so that rows that refer to others find them.
        "text" => format!("'text ' || {number}"),
        "uuid" => format!("md5(({number})::text)::uuid"),
        "bytea" => "decode(md5(n::text), 'hex')".to_owned(),
        "boolean" => "false".to_owned(),
        "tsvector" => "array_to_tsvector(ARRAY['word' || n])".to_owned(),
        _ => number,
    }
}
