//! The rows of a turn, inserted by hand: what the same file takes at least for them. Nothing is read, checked, packed
//! or hashed while the time counts.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, params};
use siglum_domain::observation::Observation;
use siglum_domain::receipt::payload_digest;
use siglum_domain::{ObservationId, SessionId, TurnId};
use siglum_ledger::{LogRow, NewEntry};
use siglum_platform::clock::{Ids, now};
use uuid::Uuid;

use super::{Sync, Way};
use crate::Fallible;

/// A connection of its own to the ledger's file.
pub(super) struct Raw {
    db: Connection,
    session: SessionId,
    /// Where the log ends, and how many receipts there are.
    head: i64,
    receipts: i64,
}

/// The rows of a turn.
pub(super) struct Rows {
    key: String,
    turn: TurnId,
    entries: Vec<LogRow>,
    digest: String,
}

impl Raw {
    pub(super) fn open(path: &Path, session: SessionId) -> Fallible<Self> {
        let db = Connection::open(path)?;
        db.busy_timeout(Duration::from_secs(10))?;
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        db.pragma_update(None, "foreign_keys", true)?;
        db.set_prepared_statement_cache_capacity(64);
        let mut raw = Self {
            db,
            session,
            head: 0,
            receipts: 0,
        };
        raw.turn_to(session)?;
        Ok(raw)
    }

    /// From now on it writes to this session.
    pub(super) fn turn_to(&mut self, session: SessionId) -> Fallible<()> {
        self.session = session;
        let sql = "SELECT head, (SELECT max(number) FROM receipts WHERE session = id) FROM sessions WHERE id = ?1";
        (self.head, self.receipts) = self.db.query_row(sql, [blob(session.uuid())], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        Ok(())
    }

    pub(super) fn sync(&self, sync: Sync) -> Fallible<()> {
        let level = match sync {
            Sync::On => "FULL",
            Sync::Off => "NORMAL",
        };
        Ok(self.db.pragma_update(None, "synchronous", level)?)
    }

    /// Everything that the rows hold.
    pub(super) fn prepare(
        &self,
        turns: &[(String, Vec<Observation>)],
        way: Way,
    ) -> Fallible<Vec<Rows>> {
        let rows = |(key, events): &(String, Vec<Observation>)| {
            let row = |observation| {
                let mut row = packed(observation);
                if way == Way::RawText {
                    row.payload = row.fact()?.into_bytes();
                }
                Ok(row)
            };
            Ok(Rows {
                key: key.clone(),
                turn: TurnId::mint(&Ids),
                entries: events.iter().map(row).collect::<Fallible<_>>()?,
                digest: payload_digest(&[4; 32], key.as_bytes()),
            })
        };
        turns.iter().map(rows).collect()
    }

    /// The rows of a turn, in one transaction.
    pub(super) fn insert(&mut self, rows: &Rows) -> Fallible<()> {
        let (session, turn) = (blob(self.session.uuid()), blob(rows.turn.uuid()));
        let (first, at) = (self.head + 1, now().nanos());
        let tx = self
            .db
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        let entry = "INSERT INTO observations (id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
        for (sequence, row) in (first..).zip(&rows.entries) {
            tx.prepare_cached(entry)?.execute(params![
                blob(row.id.uuid()),
                session,
                sequence,
                row.source.as_str(),
                row.key,
                row.event,
                turn,
                row.subagent,
                row.kind,
                row.at.nanos(),
                row.recorded_at.nanos(),
                &row.salt[..],
                row.digest,
                row.payload,
            ])?;
            self.head = sequence;
        }
        self.receipts += 1;
        let opened = "INSERT INTO turns (id, session, native, opened_at, prompt) VALUES (?1, ?2, ?3, ?4, ?5)";
        tx.prepare_cached(opened)?
            .execute(params![turn, session, rows.key, at, first])?;
        let receipt = "INSERT INTO receipts (session, number, first, last, turns, previous, digest, at, key, content) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?6)";
        tx.prepare_cached(receipt)?.execute(params![
            session,
            self.receipts,
            first,
            self.head,
            rows.turn.to_string(),
            rows.digest,
            at,
            rows.key,
        ])?;
        let ends = "UPDATE sessions SET head = ?2, sealed = ?2, last_at = ?3 WHERE id = ?1";
        tx.prepare_cached(ends)?
            .execute(params![session, self.head, at])?;
        Ok(tx.commit()?)
    }

    /// Refuses to have measured other rows than the API writes: the last turn of both has the same form.
    pub(super) fn same_as(&self, other: SessionId) -> Fallible<()> {
        let form = |session: SessionId| -> Fallible<String> {
            let of = [blob(session.uuid())];
            Ok(self.db.query_row(FORM, of, |row| row.get(0))?)
        };
        let (mine, other) = (form(self.session)?, form(other)?);
        if mine == other {
            return Ok(());
        }
        Err(format!("the rows by hand are others: {mine}, and not {other}").into())
    }
}

/// The last turn of a session, without what differs from turn to turn.
const FORM: &str = "SELECT concat_ws(' ', r.last = s.head AND r.last = s.sealed AND s.last_at >= r.at, length(r.turns), length(r.previous), \
     length(r.digest), length(r.key) > 0, length(r.content), length(t.id), t.prompt = r.first, \
     (SELECT group_concat(concat_ws(' ', kind, source, length(id), turn = t.id, subagent, length(salt), typeof(digest), \
      length(digest), typeof(payload), recorded_at >= at), ', ') FROM observations \
      WHERE session = s.id AND sequence BETWEEN r.first AND r.last)) \
     FROM sessions s JOIN receipts r ON r.session = s.id JOIN turns t ON t.session = s.id AND t.native = r.key \
     WHERE s.id = ?1 ORDER BY r.number DESC LIMIT 1";

/// An event as the file holds it.
pub(super) fn packed(observation: &Observation) -> LogRow {
    LogRow::from_entry(&NewEntry {
        id: ObservationId::mint(&Ids),
        session: SessionId::mint(&Ids),
        turn: None,
        recorded_at: now(),
        salt: [3; 32],
        observation,
    })
}

/// An id as the file holds it.
fn blob(id: Uuid) -> Vec<u8> {
    id.as_bytes().to_vec()
}
