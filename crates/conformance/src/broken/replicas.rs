//! Replicas that go wrong.

use siglum_domain::{LedgerId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{
    CommitRecord, Destination, DueDocument, LedgerError, ReplicaRepository, ReplicaRow,
    ReplicaTurn, Replicas, RewriteRecord, SessionRecord, StatementRecord,
};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("put_statement"),
    Fault::Affirms("put_statement"),
    Fault::Denies("put_statement"),
    Fault::OneMore("documents_due"),
    Fault::OneMore("last_stated"),
];

impl BrokenTx<'_> {
    fn put_statement(&mut self, statement: &StatementRecord) -> Result<bool> {
        if self.lost("put_statement") {
            return Ok(true);
        }
        let put = Replicas::put_statement(self.good, statement)?;
        Ok(match self.state.fault {
            Fault::Affirms("put_statement") => true,
            Fault::Denies("put_statement") => false,
            _ => put,
        })
    }

    fn documents_due(&mut self, name: &str) -> Result<u64> {
        let more = self.state.fault == Fault::OneMore("documents_due");
        Ok(self.good.documents_due(name)? + u64::from(more))
    }

    fn last_stated(&mut self, ledger: LedgerId) -> Result<u64> {
        let more = self.state.fault == Fault::OneMore("last_stated");
        Ok(self.good.last_stated(ledger)? + u64::from(more))
    }
}

broken! { Replicas, REPLICAS, LIMITED;
    Find destination(name: &str) -> Option<Destination>;
    Write put_destination(name: &str, destination: &Destination) -> ();
    List due_documents(name: &str; limit) -> Vec<DueDocument>;
    Own documents_due(name: &str) -> u64;
    Write document_sent(name: &str, document: &DueDocument) -> ();
    WriteOnce restart_documents(name: &str) -> ();
    WriteOnce release(name: &str, session: SessionId, until: Timestamp, at: Timestamp) -> ();
    List statements_of_ledger(ledger: LedgerId, after: u64; limit) -> Vec<StatementRecord>;
    Own last_stated(ledger: LedgerId) -> u64;
    List log_rows(session: SessionId, after: u64; limit) -> Vec<ReplicaRow>;
    List turns_named(session: SessionId, turns: &[TurnId]) -> Vec<ReplicaTurn>;
    List rewrites_to(repository: RepositoryId, new: &Oid) -> Vec<RewriteRecord>;
    Find stamp(home: LedgerId, kind: &str, document: &str) -> Option<Timestamp>;
    Write put_stamp(home: LedgerId, kind: &str, document: &str, stamp: Timestamp) -> ();
    Write put_replica_repository(repository: &ReplicaRepository, at: Timestamp) -> ();
    Find replica_repository(id: RepositoryId) -> Option<ReplicaRepository>;
    List replica_repositories() -> Vec<ReplicaRepository>;
    Write put_replica_session(record: &SessionRecord, natives: &[NativeId]) -> ();
    Write put_replica_rows(session: SessionId, turns: &[ReplicaTurn], rows: &[ReplicaRow]) -> ();
    Write replace_fact(session: SessionId, sequence: u64, fact: Option<&str>) -> ();
    Find erasure(session: SessionId) -> Option<u64>;
    Write put_erasure(session: SessionId, restored: Option<u64>) -> ();
    Write restore_rows(session: SessionId, rows: &[ReplicaRow]) -> ();
    Own put_statement(statement: &StatementRecord) -> bool;
    WriteOnce drop_statement(ledger: LedgerId, sequence: u64) -> ();
    List delivered(name: &str, after: Option<SessionId>; limit) -> Vec<SessionId>;
    List commits_named(commit: &Oid) -> Vec<CommitRecord>;
}
