//! What is done about erasing in PostgreSQL's own way.

use std::collections::BTreeSet;

use siglum_domain::SessionId;
use siglum_domain::observation::Fact;

use super::blobs::FREE_BLOBS;
use super::columns::{Col, raw};
use super::tx::Tx;
use crate::row::{from_json, unpack};
use crate::stored::fact_objects;
use crate::verbs::forgetting::OwnForgetting;
use crate::{LedgerError, TextColumn};

type Result<T> = std::result::Result<T, LedgerError>;

/// Where other ledgers are to be told of a replaced text, and the kind of document that it is a part of.
const SHARED: [(&str, &str); 6] = [
    ("aliases", "session"),
    ("authors", "commit"),
    ("commits", "commit"),
    ("repositories", "repository"),
    ("sessions", "session"),
    ("worktrees", "repository"),
];

impl Tx<'_> {
    /// The addresses in the sightings of files, and in the edits folded from them, of sessions that are `= ANY` of these or
    /// `<> ALL` of them.
    fn objects(&mut self, which: &str, sessions: &[SessionId]) -> Result<Vec<String>> {
        let ids: Vec<Col<SessionId>> = sessions.iter().map(|session| Col(*session)).collect();
        let mut found = BTreeSet::new();
        let seen = format!(
            "SELECT payload FROM observations WHERE tenant = $1 AND kind = 'file_seen' AND payload IS NOT NULL AND session {which} ($2)"
        );
        self.each(&seen, &[&ids], |row| {
            let fact: Fact = from_json("fact", &unpack(raw(row, 0)?)?)?;
            found.extend(fact_objects(&fact).map(str::to_owned));
            Ok(())
        })?;
        let folded = format!(
            "SELECT before_object FROM edits WHERE tenant = $1 AND before_object IS NOT NULL AND session {which} ($2) \
             UNION SELECT after_object FROM edits WHERE tenant = $1 AND after_object IS NOT NULL AND session {which} ($2) \
             UNION SELECT detail::json #>> '{{write,base,object}}' FROM edits WHERE tenant = $1 \
             AND detail::json #>> '{{write,base,object}}' IS NOT NULL AND session {which} ($2) \
             UNION SELECT detail::json #>> '{{write,written,object}}' FROM edits WHERE tenant = $1 \
             AND detail::json #>> '{{write,written,object}}' IS NOT NULL AND session {which} ($2) \
             UNION SELECT detail::json #>> '{{write,added,object}}' FROM edits WHERE tenant = $1 \
             AND detail::json #>> '{{write,added,object}}' IS NOT NULL AND session {which} ($2)"
        );
        self.each(&folded, &[&ids], |row| {
            found.insert(raw(row, 0)?);
            Ok(())
        })?;
        Ok(found.into_iter().collect())
    }
}

impl OwnForgetting for Tx<'_> {
    fn objects_of_these(&mut self, sessions: &[SessionId]) -> Result<Vec<String>> {
        self.objects("= ANY", sessions)
    }

    fn objects_beside_these(&mut self, sessions: &[SessionId]) -> Result<Vec<String>> {
        self.objects("<> ALL", sessions)
    }

    fn replace_column(&mut self, at: TextColumn, old: &str, new: Option<&str>) -> Result<()> {
        let TextColumn { table, column } = at;
        self.unindex_holders(at, old)?;
        let sql = match new {
            Some(_) => format!(
                "UPDATE {table} SET \"{column}\" = $3 WHERE tenant = $1 AND \"{column}\" = $2"
            ),
            // The digest of what was said stays, and no salt to guess it with.
            None => format!(
                "UPDATE {table} SET \"{column}\" = $3, salt = NULL WHERE tenant = $1 AND \"{column}\" = $2"
            ),
        };
        self.run(&sql, &[&old, &new])?;
        if let Some((_, kind)) = SHARED.iter().find(|(shared, _)| *shared == table) {
            let sql = "UPDATE documents SET due = due + 1 WHERE tenant = $1 AND kind = $2";
            self.run(sql, &[kind])?;
        }
        Ok(())
    }

    fn unindex(&mut self, session: SessionId) -> Result<()> {
        Self::unindex(self, session)
    }

    fn free_blobs(&mut self, session: SessionId) -> Result<()> {
        self.run(FREE_BLOBS, &[&Col(session)]).map(drop)
    }
}
