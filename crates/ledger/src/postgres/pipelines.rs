//! Pipelines in PostgreSQL.

use postgres::Row;
use siglum_domain::link::Link;
use siglum_domain::pipeline::Event;
use siglum_domain::{Redacted, SessionId, Timestamp, TurnKey};

use super::columns::{Col, count, get, int, limit, opt, raw};
use super::tx::Tx;
use crate::record::SessionListing;
use crate::row::{from_json, json};
use crate::{LedgerError, NewPipelineEvent, PipelineRecord, Pipelines};

type Result<T> = std::result::Result<T, LedgerError>;

const PIPELINE: &str = "id, first_at, last_at, events";

fn pipeline_row(row: &Row) -> Result<PipelineRecord> {
    Ok(PipelineRecord {
        id: raw(row, 0)?,
        first_at: get(row, 1)?,
        last_at: get(row, 2)?,
        events: count(row, 3)?,
    })
}

fn event_row(row: &Row) -> Result<Event> {
    Ok(Event {
        number: count(row, 0)?,
        at: get(row, 1)?,
        by: raw(row, 2)?,
        source: raw(row, 3)?,
        session: opt(row, 4)?,
        key: raw(row, 7)?,
        what: from_json("event of a pipeline", raw(row, 5)?)?,
        text: raw::<Option<String>>(row, 6)?.map(Redacted::from_stored),
    })
}

impl Tx<'_> {
    /// A pipeline was named; gives the number of its last event, after `events` more. Nobody else names it before this
    /// transaction ends.
    fn name_pipeline(&mut self, id: &str, at: Timestamp, events: u64) -> Result<u64> {
        let sql = "INSERT INTO pipelines (tenant, id, first_at, last_at, events) VALUES ($1, $2, $3, $3, $4) \
             ON CONFLICT (tenant, id) DO UPDATE SET first_at = least(pipelines.first_at, excluded.first_at), \
             last_at = greatest(pipelines.last_at, excluded.last_at), events = pipelines.events + excluded.events RETURNING events";
        self.one(sql, &[&id, &Col(at), &int(events)], |row| count(row, 0))
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
        let sql = "INSERT INTO pipeline_sessions (tenant, pipeline, session) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        self.run(sql, &[id, &Col(session)])?;
        Ok(())
    }
}

impl Pipelines for Tx<'_> {
    fn put_pipeline_event(&mut self, pipeline: &str, event: &NewPipelineEvent<'_>) -> Result<u64> {
        let number = self.name_pipeline(pipeline, event.at, 1)?;
        let draft = event.draft;
        let sql = "INSERT INTO pipeline_events (tenant, pipeline, number, at, by, source, session, kind, body, text, key, content) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        self.run(
            sql,
            &[
                &pipeline,
                &int(number),
                &Col(event.at),
                &event.by,
                &event.source,
                &draft.session().map(Col),
                &draft.what().kind(),
                &json(draft.what()),
                &draft.text().map(Redacted::as_str),
                &draft.key().map(TurnKey::as_str),
                &event.content,
            ],
        )?;
        Ok(number)
    }

    fn keyed_pipeline_event(&mut self, pipeline: &str, key: &str) -> Result<Option<(u64, String)>> {
        let sql = "SELECT number, content FROM pipeline_events WHERE tenant = $1 AND pipeline = $2 AND key = $3";
        self.row(sql, &[&pipeline, &key], |row| {
            Ok((count(row, 0)?, raw(row, 1)?))
        })
    }

    fn pipeline_events(&mut self, pipeline: &str, after: u64, most: usize) -> Result<Vec<Event>> {
        let sql = "SELECT number, at, by, source, session, body, text, key FROM pipeline_events \
             WHERE tenant = $1 AND pipeline = $2 AND number > $3 ORDER BY number LIMIT $4";
        self.rows(sql, &[&pipeline, &int(after), &limit(most)], event_row)
    }

    fn pipeline(&mut self, id: &str) -> Result<Option<PipelineRecord>> {
        let sql = format!("SELECT {PIPELINE} FROM pipelines WHERE tenant = $1 AND id = $2");
        self.row(&sql, &[&id], pipeline_row)
    }

    fn pipelines(
        &mut self,
        after: Option<&PipelineRecord>,
        most: usize,
    ) -> Result<Vec<PipelineRecord>> {
        let select = format!("SELECT {PIPELINE} FROM pipelines WHERE tenant = $1");
        let order = "ORDER BY first_at DESC, id LIMIT";
        match after {
            Some(after) => {
                let sql = format!(
                    "{select} AND first_at <= $2 AND (first_at < $2 OR id > $3) {order} $4"
                );
                self.rows(
                    &sql,
                    &[&Col(after.first_at), &after.id, &limit(most)],
                    pipeline_row,
                )
            }
            None => self.rows(
                &format!("{select} {order} $2"),
                &[&limit(most)],
                pipeline_row,
            ),
        }
    }

    fn sessions_of_pipeline(&mut self, pipeline: &str) -> Result<Vec<SessionListing>> {
        let of = "s.tenant = $1 AND s.id IN (SELECT p.session FROM pipeline_sessions p WHERE p.tenant = $1 AND p.pipeline = $2) \
             ORDER BY s.created_at, s.id";
        self.listings(of, &[&pipeline])
    }
}
