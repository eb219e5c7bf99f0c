//! What is done about logs in PostgreSQL's own way.

use siglum_domain::receipt::{GENESIS, Receipt};

use super::columns::{Col, count, int};
use super::tx::{Tx, Value};
use crate::row::LogRow;
use crate::verbs::log::OwnLog;
use crate::verbs::projections::make_due;
use crate::{Appended, LedgerError, Log, NewEntry};

type Result<T> = std::result::Result<T, LedgerError>;

/// One statement, since the log grows with every hook. The lock on the session lets those who append to the same log
/// wait for each other before they look which place is next, and whether the entry is there.
const APPEND: &str = "WITH log AS (SELECT head, forgotten_at FROM sessions WHERE tenant = $1 AND id = $3 FOR UPDATE), \
     put AS (INSERT INTO observations (tenant, id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload) \
     SELECT $1::text, $2::uuid, $3::uuid, head + 1, $4::text, $5::text, $6::text, $7::uuid, $8::text, $9::text, $10::bigint, $11::bigint, \
     CASE WHEN $10::bigint <= forgotten_at THEN ''::bytea ELSE $12::bytea END, $13::text, \
     CASE WHEN $10::bigint <= forgotten_at THEN NULL ELSE $14::bytea END FROM log \
     ON CONFLICT (tenant, session, source, key) DO NOTHING RETURNING sequence) \
     UPDATE sessions SET head = put.sequence FROM put WHERE tenant = $1 AND id = $3 RETURNING head";

/// One statement, since every turn ends with it. Whoever adds a projection waits for those who hold the tenant's row,
/// and they for him, so that no receipt slips through between what he finds and what finds him.
const PUT_RECEIPT: &str = "WITH held AS (SELECT tenant FROM tenants WHERE tenant = $1 FOR KEY SHARE), \
     before AS (SELECT number, digest FROM receipts WHERE tenant = $1 AND session = $2 ORDER BY number DESC LIMIT 1), \
     moved AS (UPDATE sessions SET sealed = $5 FROM held WHERE sessions.tenant = $1 AND id = $2 AND sealed = $4::bigint - 1 AND head >= $5 \
     AND coalesce((SELECT number FROM before), 0) = $3::bigint - 1 AND coalesce((SELECT digest FROM before), $12::text) = $7 \
     AND NOT EXISTS (SELECT 1 FROM receipts k WHERE k.tenant = $1 AND k.session = $2 AND k.key = $10::text) RETURNING id) \
     INSERT INTO receipts (tenant, session, number, first, last, turns, previous, digest, at, key, content) \
     SELECT $1::text, $2::uuid, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, $8::text, $9::bigint, $10::text, $11::text FROM moved";

impl OwnLog for Tx<'_> {
    fn append_entry(&mut self, new: &NewEntry<'_>) -> Result<Appended> {
        let row = LogRow::from_entry(new);
        let of: [Value<'_>; 13] = [
            &Col(row.id),
            &Col(new.session),
            &row.source.as_str(),
            &row.key,
            &row.event,
            &new.turn.map(Col),
            &row.subagent,
            &row.kind,
            &Col(row.at),
            &Col(row.recorded_at),
            &row.salt.as_slice(),
            &row.digest,
            &row.payload,
        ];
        if let Some(sequence) = self.row(APPEND, &of, |row| count(row, 0))? {
            return Ok(Appended::New(sequence));
        }
        match self.sighted(new.session, row.source, &row.key)? {
            Some(_) => Ok(Appended::Known),
            None => Err(LedgerError::NoSession(new.session)),
        }
    }

    fn store_receipt(&mut self, r: &Receipt, key: Option<(&str, &str)>) -> Result<bool> {
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
        make_due(self, r.session, r.number, r.at)?;
        Ok(true)
    }
}
