//! What is done about logs, and turns in them, in SQLite's own way.

use siglum_domain::receipt::{GENESIS, Receipt};
use siglum_domain::{SessionId, Timestamp, TurnId};

use super::columns::{Col, int};
use super::database::Tx;
use crate::columns::Value;
use crate::database::Database;
use crate::row::LogRow;
use crate::verbs::log::OwnLog;
use crate::verbs::projections::make_due;
use crate::verbs::turns::OwnTurns;
use crate::{Appended, LedgerError, NewEntry};

type Result<T> = std::result::Result<T, LedgerError>;

impl Tx<'_> {
    /// Inserts an entry at its place of the log, unless it is there; of one that was forgotten before it came, the
    /// header only.
    fn insert_entry(
        &mut self,
        session: SessionId,
        sequence: i64,
        turn: Option<TurnId>,
        row: &LogRow,
        is_forgotten: bool,
    ) -> Result<bool> {
        let sql = "INSERT INTO observations (id, session, sequence, source, key, event, turn, subagent, kind, at, recorded_at, salt, digest, payload, sum) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, row_sum(?1, ?2, ?3, ?7, ?8, ?9, ?10, ?11)) ON CONFLICT (session, source, key) DO NOTHING";
        let salt: &[u8] = if is_forgotten { &[] } else { &row.salt };
        let payload = (!is_forgotten).then_some(&row.payload);
        let added = self.run(
            sql,
            &[
                &Col(row.id),
                &Col(session),
                &sequence,
                &row.source.as_str(),
                &row.key,
                &row.event,
                &turn.map(Col),
                &row.subagent,
                &row.kind,
                &Col(row.at),
                &Col(row.recorded_at),
                &salt,
                &row.digest,
                &payload,
            ],
        )?;
        Ok(added > 0)
    }
}

impl OwnLog for Tx<'_> {
    fn append_entry(&mut self, new: &NewEntry<'_>) -> Result<Appended> {
        let o = new.observation;
        let known = "SELECT 1 FROM observations WHERE session = ?1 AND source = ?2 AND key = ?3";
        let session = Col(new.session);
        if self.exists(known, &[&session, &o.source.as_str(), &o.key])? {
            return Ok(Appended::Known);
        }
        let next = "UPDATE sessions SET head = head + 1 WHERE id = ?1 RETURNING head, forgotten_at";
        let grown: Option<(i64, Option<i64>)> =
            self.row(next, &[&session], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (sequence, forgotten) = grown.ok_or(LedgerError::NoSession(new.session))?;
        let is_forgotten = forgotten.is_some_and(|at| o.at.nanos() <= at);
        let row = LogRow::from_entry(new);
        self.insert_entry(new.session, sequence, new.turn, &row, is_forgotten)?;
        Ok(Appended::New(u64::try_from(sequence).unwrap_or(0)))
    }

    fn store_receipt(&mut self, r: &Receipt, key: Option<(&str, &str)>) -> Result<bool> {
        let last = "SELECT number, digest, EXISTS (SELECT 1 FROM receipts WHERE session = ?1 AND key = ?2) \
             FROM receipts WHERE session = ?1 ORDER BY number DESC LIMIT 1";
        let (key, content) = key.unzip();
        let before: Option<(u64, String, bool)> =
            self.row(last, &[&Col(r.session), &key], |row| {
                Ok((row.count(0)?, row.get(1)?, row.get(2)?))
            })?;
        let (number, digest, is_known) = before.unwrap_or_else(|| (0, GENESIS.to_owned(), false));
        let follows = r.number == number + 1 && r.previous == digest && !is_known;
        if !follows || r.first == 0 || r.first > r.last {
            return Ok(false);
        }
        let next = "UPDATE sessions SET sealed = ?2 WHERE id = ?1 AND sealed = ?3 AND head >= ?2";
        let of: [Value<'_>; 3] = [&Col(r.session), &int(r.last), &int(r.first - 1)];
        if self.run(next, &of)? == 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO receipts (session, number, first, last, turns, previous, digest, at, key, content) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let turns: Vec<String> = r.turns.iter().map(ToString::to_string).collect();
        self.run(
            sql,
            &[
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
            ],
        )?;
        make_due(self, r.session, r.number, r.at)?;
        Ok(true)
    }
}

impl OwnTurns for Tx<'_> {
    fn time(&mut self, local: Timestamp) -> Result<Timestamp> {
        Ok(local)
    }

    fn append_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        rows: &[LogRow],
    ) -> Result<Option<String>> {
        let more =
            "UPDATE sessions SET head = head + ?2 WHERE id = ?1 RETURNING head, forgotten_at";
        let count = int(rows.len() as u64);
        let grown: Option<(i64, Option<i64>)> =
            self.row(more, &[&Col(session), &count], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let (head, forgotten) = grown.ok_or(LedgerError::NoSession(session))?;
        for (sequence, row) in (head - count + 1..).zip(rows) {
            let is_forgotten = forgotten.is_some_and(|at| row.at.nanos() <= at);
            if !self.insert_entry(session, sequence, Some(turn), row, is_forgotten)? {
                return Ok(Some(row.key.clone()));
            }
        }
        Ok(None)
    }
}
