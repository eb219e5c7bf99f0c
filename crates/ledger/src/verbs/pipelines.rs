//! Pipelines.

use siglum_domain::link::Link;
use siglum_domain::pipeline::Event;
use siglum_domain::{Redacted, SessionId, Timestamp, TurnKey};

use super::listing::{SESSION, SUMMARY, WITH_SUMMARIES, listing_row};
use crate::columns::{Col, Limit, Row, Value, int};
use crate::database::Database;
use crate::record::SessionListing;
use crate::row::{from_json, json};
use crate::sql::sql;
use crate::{LedgerError, NewPipelineEvent, PipelineRecord, Pipelines};

type Result<T> = std::result::Result<T, LedgerError>;

const PIPELINE: &str = "id, first_at, last_at, events";

fn pipeline_row(row: &Row<'_>) -> Result<PipelineRecord> {
    Ok(PipelineRecord {
        id: row.get(0)?,
        first_at: row.get(1)?,
        last_at: row.get(2)?,
        events: row.count(3)?,
    })
}

fn event_row(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        number: row.count(0)?,
        at: row.get(1)?,
        by: row.get(2)?,
        source: row.get(3)?,
        session: row.get(4)?,
        key: row.get(7)?,
        what: from_json("event of a pipeline", &row.get::<String>(5)?)?,
        text: row.get::<Option<String>>(6)?.map(Redacted::from_stored),
    })
}

/// A pipeline was named; gives the number of its last event, after `events` more. Nobody else names it before this
/// transaction ends.
fn name_pipeline(db: &mut impl Database, id: &str, at: Timestamp, events: u64) -> Result<u64> {
    let sql = sql!(
        "INSERT INTO pipelines ([tenant,] id, first_at, last_at, events) VALUES ([$1,] ?1, ?2, ?2, ?3) \
         ON CONFLICT ([tenant,] id) DO UPDATE SET first_at = [least|min](pipelines.first_at, excluded.first_at), \
         last_at = [greatest|max](pipelines.last_at, excluded.last_at), events = pipelines.events + excluded.events \
         RETURNING events"
    );
    db.one(sql, &[&id, &Col(at), &int(events)], |row| row.count(0))
}

/// A session was linked to a pipeline, if the link says so; it stays one of those that ever were.
pub(super) fn note_pipeline(
    db: &mut impl Database,
    session: SessionId,
    link: &Link,
    at: Timestamp,
) -> Result<()> {
    let Link::PipelineId(id) = link else {
        return Ok(());
    };
    name_pipeline(db, id, at, 0)?;
    let sql = sql!(
        "INSERT INTO pipeline_sessions ([tenant,] pipeline, session) VALUES ([$1,] ?1, ?2) ON CONFLICT DO NOTHING"
    );
    db.run(sql, &[id, &Col(session)])?;
    Ok(())
}

impl<D: Database> Pipelines for D {
    fn put_pipeline_event(&mut self, pipeline: &str, event: &NewPipelineEvent<'_>) -> Result<u64> {
        let number = name_pipeline(self, pipeline, event.at, 1)?;
        let draft = event.draft;
        let sql = sql!(
            "INSERT INTO pipeline_events ([tenant,] pipeline, number, at, by, source, session, kind, body, text, key, content) \
             VALUES ([$1,] ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
        );
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
        let row = "pipeline = ?1 AND number = ?2";
        self.sum("pipeline_events", row, &[&pipeline, &int(number)])?;
        Ok(number)
    }

    fn keyed_pipeline_event(&mut self, pipeline: &str, key: &str) -> Result<Option<(u64, String)>> {
        let sql = sql!(
            "SELECT number, content FROM pipeline_events WHERE [tenant = $1 AND] pipeline = ?1 AND key = ?2"
        );
        self.row(sql, &[&pipeline, &key], |row| {
            Ok((row.count(0)?, row.get(1)?))
        })
    }

    fn pipeline_events(&mut self, pipeline: &str, after: u64, most: usize) -> Result<Vec<Event>> {
        let sql = sql!(
            "SELECT number, at, by, source, session, body, text, key FROM pipeline_events \
             WHERE [tenant = $1 AND] pipeline = ?1 AND number > ?2 ORDER BY number LIMIT ?3"
        );
        self.rows(sql, &[&pipeline, &int(after), &Limit(most)], event_row)
    }

    fn pipeline(&mut self, id: &str) -> Result<Option<PipelineRecord>> {
        let sql = sql!("SELECT " PIPELINE " FROM pipelines WHERE [tenant = $1 AND] id = ?1");
        self.row(sql, &[&id], pipeline_row)
    }

    fn pipelines(
        &mut self,
        after: Option<&PipelineRecord>,
        limit: usize,
    ) -> Result<Vec<PipelineRecord>> {
        let Some(after) = after else {
            let sql = sql!("SELECT " PIPELINE " FROM pipelines [WHERE tenant = $1] ORDER BY first_at DESC, id LIMIT ?1");
            return self.rows(sql, &[&Limit(limit)], pipeline_row);
        };
        let sql = sql!("SELECT " PIPELINE " FROM pipelines WHERE [tenant = $1 AND] first_at <= ?1 \
             AND (first_at < ?1 OR id > ?2) ORDER BY first_at DESC, id LIMIT ?3");
        let of: [Value<'_>; 3] = [&Col(after.first_at), &after.id, &Limit(limit)];
        self.rows(sql, &of, pipeline_row)
    }

    fn sessions_of_pipeline(&mut self, pipeline: &str) -> Result<Vec<SessionListing>> {
        let sql = sql!("SELECT " SESSION ", " SUMMARY " FROM sessions s " WITH_SUMMARIES " WHERE [s.tenant = $1 AND] s.id IN \
             (SELECT p.session FROM pipeline_sessions p WHERE [p.tenant = $1 AND] p.pipeline = ?1) \
             ORDER BY s.created_at, s.id");
        self.rows(sql, &[&pipeline], listing_row)
    }
}
