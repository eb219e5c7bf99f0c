//! What destinations lack, and what is done about replicas in PostgreSQL's own way.

use siglum_domain::{CheckpointId, NativeId, Oid, RepositoryId, SessionId, TurnId};

use super::columns::{Col, clean, raw};
use super::tx::{Tx, Watch};
use crate::LedgerError;
use crate::columns::Row;
use crate::replicas::ReplicaTurn;
use crate::verbs::replicas::{OwnReplicas, turn_row};

type Result<T> = std::result::Result<T, LedgerError>;

impl Tx<'_> {
    /// A document changed, so that every destination lacks it. Whoever adds a destination waits for those that hold the
    /// tenant's row, and they for him: no change slips through between what he finds and what finds him.
    pub(super) fn changed(&mut self, kind: &str, document: &str) -> Result<()> {
        if self.watch == Watch::Unknown {
            let held = "SELECT tenant FROM tenants WHERE tenant = $1 FOR KEY SHARE";
            self.row(held, &[], |_| Ok(()))?;
            let any = "SELECT EXISTS (SELECT 1 FROM destinations WHERE tenant = $1)";
            self.watch = match self.one(any, &[], |row| raw(row, 0))? {
                true => Watch::Somebody,
                false => Watch::Nobody,
            };
        }
        if self.watch == Watch::Nobody {
            return Ok(());
        }
        let sql = "INSERT INTO documents (tenant, projection, kind, document, due) \
             SELECT $1::text, d.projection, $2::text, $3::text, 1 FROM destinations d WHERE d.tenant = $1 \
             ON CONFLICT (tenant, projection, kind, document) DO UPDATE SET due = documents.due + 1";
        self.run(sql, &[&kind, &document]).map(drop)
    }

    pub(super) fn session_changed(&mut self, session: SessionId) -> Result<()> {
        self.changed("session", &session.uuid().simple().to_string())
    }

    pub(super) fn checkpoint_changed(&mut self, id: CheckpointId) -> Result<()> {
        self.changed("checkpoint", &id.uuid().simple().to_string())
    }

    pub(super) fn commit_changed(&mut self, repository: RepositoryId, commit: &Oid) -> Result<()> {
        self.changed(
            "commit",
            &format!("{}:{commit}", repository.uuid().simple()),
        )
    }

    /// Everything that there is is due at a new destination.
    pub(super) fn add_destination(&mut self, name: &str) -> Result<()> {
        self.watch = Watch::Somebody;
        self.run(
            "INSERT INTO destinations (tenant, projection) VALUES ($1, $2)",
            &[&name],
        )?;
        let hex = |id: &str| format!("replace({id}::text, '-', '')");
        let of = |kind: &str, document: &str, table: &str| {
            format!(
                "SELECT $1::text, $2::text, '{kind}', {document}, 1 FROM {table} WHERE tenant = $1"
            )
        };
        let all = [
            of("repository", &hex("id"), "repositories"),
            of("session", &hex("id"), "sessions"),
            of("checkpoint", &hex("id"), "checkpoints"),
            of(
                "commit",
                &format!("{} || ':' || \"commit\"", hex("repository")),
                "commits",
            ),
        ];
        for part in all {
            let sql =
                format!("INSERT INTO documents (tenant, projection, kind, document, due) {part}");
            self.run(&sql, &[&name])?;
        }
        Ok(())
    }

    pub(super) fn drop_destination(&mut self, name: &str) -> Result<()> {
        for table in ["destinations", "documents"] {
            let sql = format!("DELETE FROM {table} WHERE tenant = $1 AND projection = $2");
            self.run(&sql, &[&name])?;
        }
        Ok(())
    }
}

impl OwnReplicas for Tx<'_> {
    fn find_turns(&mut self, session: SessionId, turns: &[TurnId]) -> Result<Vec<ReplicaTurn>> {
        let sql = "SELECT id, native, opened_at, prompt FROM turns \
             WHERE tenant = $1 AND session = $2 AND id = ANY($3) ORDER BY opened_at, id";
        let turns: Vec<uuid::Uuid> = turns.iter().map(|t| t.uuid()).collect();
        self.rows(sql, &[&Col(session), &turns], |row| {
            turn_row(&Row::Postgres(row))
        })
    }

    fn name_replica(&mut self, session: SessionId, natives: &[NativeId]) -> Result<()> {
        let names: Vec<String> = natives.iter().map(|n| clean(n.as_str())).collect();
        let sql = "INSERT INTO replica_aliases (tenant, session, native, place) \
             SELECT $1::text, $2::uuid, n.native, n.place FROM unnest($3::text[]) WITH ORDINALITY AS n (native, place) \
             ON CONFLICT DO NOTHING";
        self.run(sql, &[&Col(session), &names]).map(drop)
    }
}
