//! Driven turns in PostgreSQL.

use std::collections::HashSet;

use postgres::Row;
use siglum_domain::receipt::{GENESIS, Receipt};
use siglum_domain::{SessionId, Timestamp, TurnId};

use super::columns::{Col, clean, count, get, int, raw};
use super::log::{RECEIPT, receipt_row};
use super::tx::{Tx, Value};
use crate::row::from_word;
use crate::{KeyedReceipt, Lease, LedgerError, LogRow, OpenTurn, Turns};

type Result<T> = std::result::Result<T, LedgerError>;

const OPEN_TURN: &str = "session, id, key, epoch, base, opened_at, held";

fn open_turn_row(row: &Row) -> Result<OpenTurn> {
    Ok(OpenTurn {
        session: get(row, 0)?,
        id: get(row, 1)?,
        key: raw(row, 2)?,
        epoch: count(row, 3)?,
        base: count(row, 4)?,
        opened_at: get(row, 5)?,
        held: raw(row, 6)?,
    })
}

fn pending_row(row: &Row) -> Result<LogRow> {
    let salt: &[u8] = raw(row, 8)?;
    let salt = salt.try_into();
    Ok(LogRow {
        id: get(row, 0)?,
        source: from_word("source", raw(row, 1)?)?,
        key: raw(row, 2)?,
        event: raw(row, 3)?,
        subagent: raw(row, 4)?,
        kind: raw(row, 5)?,
        at: get(row, 6)?,
        recorded_at: get(row, 7)?,
        salt: salt.map_err(|_| LedgerError::Damaged("a salt has not 32 bytes".to_owned()))?,
        digest: raw(row, 9)?,
        payload: raw(row, 10)?,
    })
}

/// One statement, since every turn ends with it. Whoever adds a projection waits for those who hold the tenant's row,
/// and they for him, so that no receipt slips through between what he finds and what finds him.
const PUT_RECEIPT: &str = "WITH held AS (SELECT tenant FROM tenants WHERE tenant = $1 FOR KEY SHARE), \
     before AS (SELECT number, digest FROM receipts WHERE tenant = $1 AND session = $2 ORDER BY number DESC LIMIT 1), \
     moved AS (UPDATE sessions SET sealed = $5 FROM held WHERE sessions.tenant = $1 AND id = $2 AND sealed = $4::bigint - 1 AND head >= $5 \
     AND coalesce((SELECT number FROM before), 0) = $3::bigint - 1 AND coalesce((SELECT digest FROM before), $12::text) = $7 \
     AND NOT EXISTS (SELECT 1 FROM receipts k WHERE k.tenant = $1 AND k.session = $2 AND k.key = $10::text) RETURNING id) \
     INSERT INTO receipts (tenant, session, number, first, last, turns, previous, digest, at, key, content) \
     SELECT $1::text, $2::uuid, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, $8::text, $9::bigint, $10::text, $11::text FROM moved";

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

impl Tx<'_> {
    /// Stores a receipt if it follows the last one, and makes it due at every projection.
    pub(super) fn store_receipt(&mut self, r: &Receipt, key: Option<(&str, &str)>) -> Result<bool> {
        if r.first == 0 || r.first > r.last {
            return Ok(false);
        }
        let turns: Vec<String> = r.turns.iter().map(ToString::to_string).collect();
        let (key, content) = key.unzip();
        let of: [Value<'_>; 11] = [
            &Col(r.session),
            &int(r.number),
            &int(r.first),
            &int(r.last),
            &turns.join(" "),
            &r.previous,
            &r.digest,
            &Col(r.at),
            &key,
            &content,
            &GENESIS,
        ];
        if self.run(PUT_RECEIPT, &of)? == 0 {
            return Ok(false);
        }
        self.make_due(r.session, r.number, r.at)?;
        Ok(true)
    }
}

impl Turns for Tx<'_> {
    /// The time of the server: several machines write to it.
    fn clock(&mut self, _local: Timestamp) -> Result<Timestamp> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint WHERE $1::text IS NOT NULL";
        self.one(sql, &[], |row| get(row, 0))
    }

    fn take_lease(
        &mut self,
        session: SessionId,
        holder: &str,
        at: Timestamp,
        until: Timestamp,
    ) -> Result<Option<u64>> {
        let sql = "INSERT INTO leases (tenant, session, epoch, holder, expires_at) VALUES ($1, $2, 1, $3, $5) \
             ON CONFLICT (tenant, session) DO UPDATE SET \
             epoch = leases.epoch + CASE WHEN leases.holder <> excluded.holder OR leases.expires_at <= $4 THEN 1 ELSE 0 END, \
             holder = excluded.holder, expires_at = excluded.expires_at \
             WHERE leases.holder = excluded.holder OR leases.expires_at <= $4 RETURNING epoch";
        let of: [Value<'_>; 4] = [&Col(session), &holder, &Col(at), &Col(until)];
        self.row(sql, &of, |row| count(row, 0))
    }

    fn release_lease(&mut self, session: SessionId, epoch: u64, at: Timestamp) -> Result<()> {
        let sql = "UPDATE leases SET expires_at = least(expires_at, $4::bigint) WHERE tenant = $1 AND session = $2 AND epoch = $3";
        self.run(sql, &[&Col(session), &int(epoch), &Col(at)])?;
        Ok(())
    }

    fn lease(&mut self, session: SessionId) -> Result<Option<Lease>> {
        let sql = "SELECT epoch, holder, expires_at FROM leases WHERE tenant = $1 AND session = $2";
        self.row(&self.locked(sql), &[&Col(session)], |row| {
            Ok(Lease {
                epoch: count(row, 0)?,
                holder: raw(row, 1)?,
                expires_at: get(row, 2)?,
            })
        })
    }

    fn put_open_turn(&mut self, t: &OpenTurn) -> Result<()> {
        let sql = format!(
            "INSERT INTO open_turns (tenant, {OPEN_TURN}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
             ON CONFLICT (tenant, session) DO UPDATE SET id = excluded.id, key = excluded.key, epoch = excluded.epoch, \
             base = excluded.base, opened_at = excluded.opened_at, held = excluded.held"
        );
        self.run(
            &sql,
            &[
                &Col(t.session),
                &Col(t.id),
                &t.key,
                &int(t.epoch),
                &int(t.base),
                &Col(t.opened_at),
                &t.held,
            ],
        )?;
        Ok(())
    }

    fn open_turn(&mut self, session: SessionId) -> Result<Option<OpenTurn>> {
        let sql = format!("SELECT {OPEN_TURN} FROM open_turns WHERE tenant = $1 AND session = $2");
        self.row(&self.locked(&sql), &[&Col(session)], open_turn_row)
    }

    fn open_turns(&mut self, limit: usize) -> Result<Vec<OpenTurn>> {
        let sql = format!(
            "SELECT {OPEN_TURN} FROM open_turns WHERE tenant = $1 ORDER BY opened_at, session LIMIT $2"
        );
        self.rows(&sql, &[&int(limit as u64)], open_turn_row)
    }

    fn drop_turn(&mut self, session: SessionId) -> Result<()> {
        for sql in [
            "DELETE FROM pending WHERE tenant = $1 AND session = $2",
            "DELETE FROM open_turns WHERE tenant = $1 AND session = $2",
        ] {
            self.run(sql, &[&Col(session)])?;
        }
        Ok(())
    }

    fn add_pending(&mut self, session: SessionId, row: &LogRow) -> Result<bool> {
        let sql = "INSERT INTO pending (tenant, session, id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT (tenant, session, source, key) DO NOTHING";
        let added = self.run(
            sql,
            &[
                &Col(session),
                &Col(row.id),
                &row.source.as_str(),
                &row.key,
                &row.event,
                &row.subagent,
                &row.kind,
                &Col(row.at),
                &Col(row.recorded_at),
                &row.salt.as_slice(),
                &row.digest,
                &row.payload,
            ],
        )?;
        Ok(added > 0)
    }

    fn pending(&mut self, session: SessionId) -> Result<Vec<LogRow>> {
        let sql = "SELECT id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload \
             FROM pending WHERE tenant = $1 AND session = $2 ORDER BY place";
        self.rows(sql, &[&Col(session)], pending_row)
    }

    fn append_rows(
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
        if self.session_record(session)?.is_none() {
            let what = format!("there is no session {session}");
            return Err(LedgerError::Storage(what.into()));
        }
        Ok(Some(row.key.clone()))
    }

    fn put_keyed_receipt(&mut self, receipt: &Receipt, key: &str, content: &str) -> Result<bool> {
        self.store_receipt(receipt, Some((key, content)))
    }

    fn keyed_receipt(&mut self, session: SessionId, key: &str) -> Result<Option<KeyedReceipt>> {
        let sql = format!(
            "SELECT {RECEIPT}, content FROM receipts WHERE tenant = $1 AND session = $2 AND key = $3"
        );
        self.row(&sql, &[&Col(session), &key], |row| {
            Ok(KeyedReceipt {
                receipt: receipt_row(row)?,
                content: raw(row, 8)?,
            })
        })
    }

    fn last_receipt(&mut self, session: SessionId) -> Result<Option<Receipt>> {
        let of = "session = $2 ORDER BY number DESC LIMIT 1";
        Ok(self.receipt_rows(of, &[&Col(session)])?.pop())
    }

    fn archive(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        let sql = "UPDATE sessions SET archived_at = coalesce(archived_at, $3), ended_at = coalesce(ended_at, $3) \
             WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &Col(at)])?;
        self.session_changed(session)
    }

    fn quarantine(&mut self, session: SessionId, reason: Option<&str>) -> Result<()> {
        let sql = "UPDATE sessions SET quarantined = $3 WHERE tenant = $1 AND id = $2";
        self.run(sql, &[&Col(session), &reason])?;
        Ok(())
    }

    fn quarantined_sessions(&mut self, limit: usize) -> Result<Vec<(SessionId, String)>> {
        let sql = "SELECT id, quarantined FROM sessions \
             WHERE tenant = $1 AND quarantined IS NOT NULL ORDER BY id LIMIT $2";
        self.rows(sql, &[&int(limit as u64)], |row| {
            Ok((get(row, 0)?, raw(row, 1)?))
        })
    }
}
