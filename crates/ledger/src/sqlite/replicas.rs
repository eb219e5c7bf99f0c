//! What is done about replicas in SQLite's own way.

use siglum_domain::{NativeId, SessionId, TurnId};

use super::columns::{Col, int};
use super::database::Tx;
use crate::LedgerError;
use crate::database::Database;
use crate::replicas::ReplicaTurn;
use crate::verbs::replicas::{OwnReplicas, turn_row};

type Result<T> = std::result::Result<T, LedgerError>;

impl OwnReplicas for Tx<'_> {
    fn find_turns(&mut self, session: SessionId, turns: &[TurnId]) -> Result<Vec<ReplicaTurn>> {
        let sql = "SELECT id, native, opened_at, prompt FROM turns WHERE id = ?1 AND session = ?2";
        let mut found = Vec::with_capacity(turns.len());
        for id in turns {
            found.extend(self.row(sql, &[&Col(*id), &Col(session)], turn_row)?);
        }
        found.sort_by_key(|t| (t.opened_at, t.id));
        Ok(found)
    }

    fn name_replica(&mut self, session: SessionId, natives: &[NativeId]) -> Result<()> {
        let sql =
            "INSERT OR IGNORE INTO replica_aliases (session, native, place) VALUES (?1, ?2, ?3)";
        for (place, native) in natives.iter().enumerate() {
            let place = int(place as u64);
            self.run(sql, &[&Col(session), &native.as_str(), &place])?;
        }
        Ok(())
    }
}
