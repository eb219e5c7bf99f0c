//! What is done about erasing in SQLite's own way.

use siglum_domain::SessionId;

use super::columns::Col;
use super::database::Tx;
use crate::columns::Value;
use crate::database::Database;
use crate::row::{from_json, unpack};
use crate::stored::fact_objects;
use crate::verbs::forgetting::OwnForgetting;
use crate::{LedgerError, TextColumn};

type Result<T> = std::result::Result<T, LedgerError>;

impl Tx<'_> {
    /// The addresses in the sightings of files, and in the edits folded from them, of sessions that are `IN` these or
    /// `NOT IN` them.
    fn objects(&mut self, which: &str, sessions: &[SessionId]) -> Result<Vec<String>> {
        let places: Vec<String> = (1..=sessions.len()).map(|n| format!("?{n}")).collect();
        let which = format!("{which} ({})", places.join(", "));
        let ids: Vec<Col<SessionId>> = sessions.iter().map(|session| Col(*session)).collect();
        let ids: Vec<Value<'_>> = ids.iter().map(|id| id as Value<'_>).collect();
        let sql = format!(
            "SELECT payload FROM observations WHERE kind = 'file_seen' AND payload IS NOT NULL AND session {which}"
        );
        let mut found = Vec::new();
        self.each(&sql, &ids, |row| {
            let payload = unpack(&row.get::<Vec<u8>>(0)?)?;
            found.extend(fact_objects(&from_json("fact", &payload)?).map(str::to_owned));
            Ok(())
        })?;
        let sql = format!(
            "SELECT before_object FROM edits WHERE before_object IS NOT NULL AND session {which} \
             UNION SELECT after_object FROM edits WHERE after_object IS NOT NULL AND session {which} \
             UNION SELECT json_extract(detail, '$.write.base.object') FROM edits \
             WHERE json_extract(detail, '$.write.base.object') IS NOT NULL AND session {which} \
             UNION SELECT json_extract(detail, '$.write.written.object') FROM edits \
             WHERE json_extract(detail, '$.write.written.object') IS NOT NULL AND session {which} \
             UNION SELECT json_extract(detail, '$.write.added.object') FROM edits \
             WHERE json_extract(detail, '$.write.added.object') IS NOT NULL AND session {which}"
        );
        found.extend(self.rows(&sql, &ids, |row| row.get::<String>(0))?);
        found.sort();
        found.dedup();
        Ok(found)
    }
}

impl OwnForgetting for Tx<'_> {
    fn objects_of_these(&mut self, sessions: &[SessionId]) -> Result<Vec<String>> {
        self.objects("IN", sessions)
    }

    fn objects_beside_these(&mut self, sessions: &[SessionId]) -> Result<Vec<String>> {
        self.objects("NOT IN", sessions)
    }

    fn replace_column(&mut self, at: TextColumn, old: &str, new: Option<&str>) -> Result<()> {
        let TextColumn { table, column } = at;
        // The digest of what was said stays, and no salt to guess it with.
        let salt = match new {
            Some(_) => "",
            None => ", salt = NULL",
        };
        self.replace_all((table, column), salt, (old, new))
    }
}
