//! Pipelines in SQLite.

use rusqlite::{OptionalExtension, Row, params};
use siglum_domain::link::Link;
use siglum_domain::pipeline::Event;
use siglum_domain::{Redacted, SessionId, Timestamp, TurnKey};

use super::columns::{Col, count, get, int, opt};
use super::open::Tx;
use crate::record::SessionListing;
use crate::row::{from_json, json};
use crate::{LedgerError, NewPipelineEvent, PipelineRecord, Pipelines};

type Result<T> = std::result::Result<T, LedgerError>;

const PIPELINE: &str = "id, first_at, last_at, events";

fn pipeline_row(row: &Row<'_>) -> rusqlite::Result<PipelineRecord> {
    Ok(PipelineRecord {
        id: row.get(0)?,
        first_at: get(row, 1)?,
        last_at: get(row, 2)?,
        events: count(row, 3)?,
    })
}

/// An event whose body is still JSON.
fn event_row(row: &Row<'_>) -> rusqlite::Result<Result<Event>> {
    let body: String = row.get(5)?;
    let text: Option<String> = row.get(6)?;
    let (number, at, session) = (count(row, 0)?, get(row, 1)?, opt(row, 4)?);
    let (by, source, key) = (row.get(2)?, row.get(3)?, row.get(7)?);
    Ok(from_json("event of a pipeline", &body).map(|what| Event {
        number,
        at,
        by,
        source,
        session,
        key,
        what,
        text: text.map(Redacted::from_stored),
    }))
}

impl Tx<'_> {
    /// A pipeline was named; gives the number of its last event, after `events` more.
    fn name_pipeline(&mut self, id: &str, at: Timestamp, events: u64) -> Result<u64> {
        let sql = "INSERT INTO pipelines (id, first_at, last_at, events) VALUES (?1, ?2, ?2, ?3) \
             ON CONFLICT (id) DO UPDATE SET first_at = min(first_at, excluded.first_at), \
             last_at = max(last_at, excluded.last_at), events = events + excluded.events RETURNING events";
        let mut query = self.db.prepare_cached(sql)?;
        Ok(query.query_row((id, Col(at), int(events)), |row| count(row, 0))?)
    }

    /// A session was linked to a pipeline, if the link says so; it stays one of those that ever were.
    pub(super) fn note_pipeline(
        &mut self,
        session: SessionId,
        link: &Link,
        at: Timestamp,
    ) -> Result<()> {
        let Link::PipelineId(id) = link else {
            return Ok(());
        };
        self.name_pipeline(id, at, 0)?;
        let sql = "INSERT OR IGNORE INTO pipeline_sessions (pipeline, session) VALUES (?1, ?2)";
        self.db.prepare_cached(sql)?.execute((id, Col(session)))?;
        Ok(())
    }
}

impl Pipelines for Tx<'_> {
    fn put_pipeline_event(&mut self, pipeline: &str, event: &NewPipelineEvent<'_>) -> Result<u64> {
        let number = self.name_pipeline(pipeline, event.at, 1)?;
        let draft = event.draft;
        let sql = "INSERT INTO pipeline_events (pipeline, number, at, by, source, session, kind, body, text, key, content) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        self.db.prepare_cached(sql)?.execute(params![
            pipeline,
            int(number),
            Col(event.at),
            event.by,
            event.source,
            draft.session().map(Col),
            draft.what().kind(),
            json(draft.what()),
            draft.text().map(Redacted::as_str),
            draft.key().map(TurnKey::as_str),
            event.content,
        ])?;
        let key = (pipeline, int(number));
        self.sum("pipeline_events", "pipeline = ?1 AND number = ?2", key)?;
        Ok(number)
    }

    fn keyed_pipeline_event(&mut self, pipeline: &str, key: &str) -> Result<Option<(u64, String)>> {
        let sql = "SELECT number, content FROM pipeline_events WHERE pipeline = ?1 AND key = ?2";
        let mut query = self.db.prepare_cached(sql)?;
        let row = |row: &Row<'_>| Ok((count(row, 0)?, row.get(1)?));
        Ok(query.query_row((pipeline, key), row).optional()?)
    }

    fn pipeline_events(&mut self, pipeline: &str, after: u64, limit: usize) -> Result<Vec<Event>> {
        let sql = "SELECT number, at, by, source, session, body, text, key FROM pipeline_events \
             WHERE pipeline = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
        let mut query = self.db.prepare_cached(sql)?;
        let rows = query.query_map((pipeline, int(after), most(limit)), event_row)?;
        rows.map(|row| row.map_err(LedgerError::from)?).collect()
    }

    fn pipeline(&mut self, id: &str) -> Result<Option<PipelineRecord>> {
        let sql = format!("SELECT {PIPELINE} FROM pipelines WHERE id = ?1");
        let mut query = self.db.prepare_cached(&sql)?;
        Ok(query.query_row([id], pipeline_row).optional()?)
    }

    fn pipelines(
        &mut self,
        after: Option<&PipelineRecord>,
        limit: usize,
    ) -> Result<Vec<PipelineRecord>> {
        let behind = match after {
            Some(_) => "WHERE first_at <= ?1 AND (first_at < ?1 OR id > ?2)",
            None => "WHERE ?1 = ?1 AND ?2 = ?2",
        };
        let sql = format!(
            "SELECT {PIPELINE} FROM pipelines {behind} ORDER BY first_at DESC, id LIMIT ?3"
        );
        let (at, id) = after.map_or((Timestamp::default(), ""), |a| (a.first_at, a.id.as_str()));
        let mut query = self.db.prepare_cached(&sql)?;
        let rows = query.query_map((Col(at), id, most(limit)), pipeline_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn sessions_of_pipeline(&mut self, pipeline: &str) -> Result<Vec<SessionListing>> {
        let of = "s.id IN (SELECT session FROM pipeline_sessions WHERE pipeline = ?1) ORDER BY s.created_at, s.id";
        self.listings("", of, [pipeline])
    }
}

/// A limit as SQLite takes it; 0 means none.
fn most(limit: usize) -> i64 {
    if limit == 0 { -1 } else { int(limit as u64) }
}
