//! What is done about turns in PostgreSQL's own way.

use std::collections::HashSet;

use siglum_domain::{SessionId, Timestamp, TurnId};

use super::columns::{Col, clean, get, int, raw};
use super::tx::{Tx, Value};
use crate::verbs::turns::OwnTurns;
use crate::{LedgerError, LogRow, Sessions};

type Result<T> = std::result::Result<T, LedgerError>;

/// Rows of the log as one column each.
#[derive(Default)]
struct Columns {
    ids: Vec<uuid::Uuid>,
    sources: Vec<&'static str>,
    keys: Vec<String>,
    events: Vec<String>,
    subagents: Vec<Option<String>>,
    kinds: Vec<String>,
    at: Vec<i64>,
    recorded_at: Vec<i64>,
    salts: Vec<Vec<u8>>,
    digests: Vec<String>,
    payloads: Vec<Vec<u8>>,
}

impl Columns {
    fn from_rows(rows: &[LogRow]) -> Self {
        let mut columns = Self::default();
        for row in rows {
            columns.ids.push(row.id.uuid());
            columns.sources.push(row.source.as_str());
            columns.keys.push(clean(&row.key));
            columns.events.push(clean(&row.event));
            columns.subagents.push(row.subagent.as_deref().map(clean));
            columns.kinds.push(clean(&row.kind));
            columns.at.push(row.at.nanos());
            columns.recorded_at.push(row.recorded_at.nanos());
            columns.salts.push(row.salt.to_vec());
            columns.digests.push(row.digest.clone());
            columns.payloads.push(row.payload.clone());
        }
        columns
    }
}

const APPEND_ROWS: &str = "WITH log AS (UPDATE sessions SET head = head + $4::bigint WHERE tenant = $1 AND id = $2 \
     RETURNING head - $4::bigint AS base, forgotten_at) \
     INSERT INTO observations (tenant, id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload) \
     SELECT $1::text, new.id, $2::uuid, log.base + new.place, new.source, new.key, new.event, $3::uuid, new.subagent, new.kind, new.at, new.recorded_at, \
     CASE WHEN new.at <= log.forgotten_at THEN ''::bytea ELSE new.salt END, new.digest, \
     CASE WHEN new.at <= log.forgotten_at THEN NULL ELSE new.payload END \
     FROM log, unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::bytea[], $14::text[], $15::bytea[]) \
     WITH ORDINALITY AS new (id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload, place) \
     ON CONFLICT (tenant, session, source, key) DO NOTHING RETURNING source, key";

impl OwnTurns for Tx<'_> {
    /// The time of the server: several machines write to it.
    fn time(&mut self, _local: Timestamp) -> Result<Timestamp> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint WHERE $1::text IS NOT NULL";
        self.one(sql, &[], |row| get(row, 0))
    }

    fn append_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        rows: &[LogRow],
    ) -> Result<Option<String>> {
        let c = Columns::from_rows(rows);
        let of: [Value<'_>; 14] = [
            &Col(session),
            &Col(turn),
            &int(rows.len() as u64),
            &c.ids,
            &c.sources,
            &c.keys,
            &c.events,
            &c.subagents,
            &c.kinds,
            &c.at,
            &c.recorded_at,
            &c.salts,
            &c.digests,
            &c.payloads,
        ];
        let mut added = HashSet::new();
        self.each(APPEND_ROWS, &of, |row| {
            added.insert((raw::<String>(row, 0)?, raw::<String>(row, 1)?));
            Ok(())
        })?;
        let names = c.sources.iter().map(|source| String::from(*source));
        let all = names.zip(c.keys).zip(rows);
        let mut known = all.filter(|(name, _)| !added.remove(name));
        let Some((_, row)) = known.next() else {
            return Ok(None);
        };
        if self.session(session)?.is_none() {
            return Err(LedgerError::NoSession(session));
        }
        Ok(Some(row.key.clone()))
    }
}
