//! Driven turns.

use siglum_domain::receipt::Receipt;
use siglum_domain::{SessionId, Timestamp, TurnId};

use super::log::{OwnLog, RECEIPT, receipt_row};
use crate::columns::{Col, Row, Value, int};
use crate::row::from_word;
use crate::sql::sql;
use crate::{KeyedReceipt, Lease, LedgerError, LogRow, OpenTurn, Turns};

type Result<T> = std::result::Result<T, LedgerError>;

const OPEN_TURN: &str = "session, id, key, epoch, base, opened_at, held";

fn open_turn_row(row: &Row<'_>) -> Result<OpenTurn> {
    Ok(OpenTurn {
        session: row.get(0)?,
        id: row.get(1)?,
        key: row.get(2)?,
        epoch: row.count(3)?,
        base: row.count(4)?,
        opened_at: row.get(5)?,
        held: row.get(6)?,
    })
}

fn pending_row(row: &Row<'_>) -> Result<LogRow> {
    Ok(LogRow {
        id: row.get(0)?,
        source: from_word("source", &row.get::<String>(1)?)?,
        key: row.get(2)?,
        event: row.get(3)?,
        subagent: row.get(4)?,
        kind: row.get(5)?,
        at: row.get(6)?,
        recorded_at: row.get(7)?,
        salt: row.salt(8)?,
        digest: row.get(9)?,
        payload: row.get(10)?,
    })
}

/// What a store does about turns in its own way.
pub(crate) trait OwnTurns: OwnLog {
    /// See [`Turns::clock`].
    fn time(&mut self, local: Timestamp) -> Result<Timestamp>;

    /// See [`Turns::append_rows`].
    fn append_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        rows: &[LogRow],
    ) -> Result<Option<String>>;
}

impl<D: OwnTurns> Turns for D {
    fn clock(&mut self, local: Timestamp) -> Result<Timestamp> {
        self.time(local)
    }

    fn take_lease(
        &mut self,
        session: SessionId,
        holder: &str,
        at: Timestamp,
        until: Timestamp,
    ) -> Result<Option<u64>> {
        let sql = sql!(
            "INSERT INTO leases ([tenant,] session, epoch, holder, expires_at) VALUES ([$1,] ?1, 1, ?2, ?4) \
             ON CONFLICT ([tenant,] session) DO UPDATE SET \
             epoch = leases.epoch + CASE WHEN leases.holder <> excluded.holder OR leases.expires_at <= ?3 THEN 1 ELSE 0 END, \
             holder = excluded.holder, expires_at = excluded.expires_at \
             WHERE leases.holder = excluded.holder OR leases.expires_at <= ?3 RETURNING epoch"
        );
        let of: [Value<'_>; 4] = [&Col(session), &holder, &Col(at), &Col(until)];
        self.row(sql, &of, |row| row.count(0))
    }

    fn release_lease(&mut self, session: SessionId, epoch: u64, at: Timestamp) -> Result<()> {
        let sql = sql!(
            "UPDATE leases SET expires_at = [least|min](expires_at, ?3[::bigint]) WHERE [tenant = $1 AND] session = ?1 AND epoch = ?2"
        );
        self.run(sql, &[&Col(session), &int(epoch), &Col(at)])?;
        Ok(())
    }

    fn lease(&mut self, session: SessionId) -> Result<Option<Lease>> {
        let sql = sql!(
            "SELECT epoch, holder, expires_at FROM leases WHERE [tenant = $1 AND] session = ?1 [FOR UPDATE]"
        );
        self.row(sql, &[&Col(session)], |row| {
            Ok(Lease {
                epoch: row.count(0)?,
                holder: row.get(1)?,
                expires_at: row.get(2)?,
            })
        })
    }

    fn put_open_turn(&mut self, t: &OpenTurn) -> Result<()> {
        let sql = sql!("INSERT INTO open_turns ([tenant,] " OPEN_TURN ") VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7) \
             ON CONFLICT ([tenant,] session) DO UPDATE SET id = excluded.id, key = excluded.key, epoch = excluded.epoch, \
             base = excluded.base, opened_at = excluded.opened_at, held = excluded.held");
        self.run(
            sql,
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
        let sql = sql!("SELECT " OPEN_TURN " FROM open_turns WHERE [tenant = $1 AND] session = ?1 [FOR UPDATE]");
        self.row(sql, &[&Col(session)], open_turn_row)
    }

    fn open_turns(&mut self, limit: usize) -> Result<Vec<OpenTurn>> {
        let sql = sql!("SELECT " OPEN_TURN " FROM open_turns [WHERE tenant = $1] ORDER BY opened_at, session LIMIT ?1");
        self.rows(sql, &[&int(limit as u64)], open_turn_row)
    }

    fn drop_turn(&mut self, session: SessionId) -> Result<()> {
        for sql in [
            sql!("DELETE FROM pending WHERE [tenant = $1 AND] session = ?1"),
            sql!("DELETE FROM open_turns WHERE [tenant = $1 AND] session = ?1"),
        ] {
            self.run(sql, &[&Col(session)])?;
        }
        Ok(())
    }

    fn add_pending(&mut self, session: SessionId, row: &LogRow) -> Result<bool> {
        let sql = sql!(
            "INSERT INTO pending ([tenant,] session, [|place,] id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload) \
             VALUES ([$1,] ?1, [|(SELECT coalesce(max(place), 0) + 1 FROM pending WHERE session = ?1),] \
             ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT ([tenant,] session, source, key) DO NOTHING"
        );
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
        let sql = sql!(
            "SELECT id, source, key, event, subagent, kind, at, recorded_at, salt, digest, payload \
             FROM pending WHERE [tenant = $1 AND] session = ?1 ORDER BY place"
        );
        self.rows(sql, &[&Col(session)], pending_row)
    }

    fn append_rows(
        &mut self,
        session: SessionId,
        turn: TurnId,
        rows: &[LogRow],
    ) -> Result<Option<String>> {
        self.append_turn(session, turn, rows)
    }

    fn put_keyed_receipt(&mut self, receipt: &Receipt, key: &str, content: &str) -> Result<bool> {
        self.store_receipt(receipt, Some((key, content)))
    }

    fn keyed_receipt(&mut self, session: SessionId, key: &str) -> Result<Option<KeyedReceipt>> {
        let sql = sql!("SELECT " RECEIPT ", content FROM receipts WHERE [tenant = $1 AND] session = ?1 AND key = ?2");
        self.row(sql, &[&Col(session), &key], |row| {
            Ok(KeyedReceipt {
                receipt: receipt_row(row)?,
                content: row.get(8)?,
            })
        })
    }

    fn last_receipt(&mut self, session: SessionId) -> Result<Option<Receipt>> {
        let sql = sql!("SELECT " RECEIPT " FROM receipts WHERE [tenant = $1 AND] session = ?1 \
             ORDER BY number DESC LIMIT 1");
        self.row(sql, &[&Col(session)], receipt_row)
    }

    fn archive(&mut self, session: SessionId, at: Timestamp) -> Result<()> {
        let sql = sql!(
            "UPDATE sessions SET archived_at = coalesce(archived_at, ?2), ended_at = coalesce(ended_at, ?2) \
             WHERE [tenant = $1 AND] id = ?1"
        );
        self.run(sql, &[&Col(session), &Col(at)])?;
        self.sum("sessions", "id = ?1", &[&Col(session)])?;
        self.session_changed(session)
    }

    fn quarantine(&mut self, session: SessionId, reason: Option<&str>) -> Result<()> {
        let sql = sql!("UPDATE sessions SET quarantined = ?2 WHERE [tenant = $1 AND] id = ?1");
        self.run(sql, &[&Col(session), &reason])?;
        Ok(())
    }

    fn quarantined_sessions(&mut self, limit: usize) -> Result<Vec<(SessionId, String)>> {
        let sql = sql!(
            "SELECT id, quarantined FROM sessions [|INDEXED BY sessions_quarantined] WHERE [tenant = $1 AND] \
             quarantined IS NOT NULL [|AND typeof(id) = 'blob' AND length(id) = 16] ORDER BY id LIMIT ?1"
        );
        self.rows(sql, &[&int(limit as u64)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }
}
