//! A log that goes wrong.

use siglum_domain::fold::Entry;
use siglum_domain::observation::Source;
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{
    Appended, EditRecord, HeadMove, LedgerError, Log, NewEntry, RunningCall, SessionRecord, Sighted,
};

use super::verbs::broken;
use super::{BrokenTx, Kind};

broken! { Log, LOG, LIMITED;
    Own append(entry: &NewEntry<'_>) -> Appended;
    Own entries(session: SessionId, after: u64; limit) -> Vec<Entry>;
    List entries_of_turn(session: SessionId, turn: TurnId, until: u64) -> Vec<Entry>;
    List entries_of_kind(session: SessionId, kind: &str, until: u64) -> Vec<Entry>;
    Find last_of_kind(session: SessionId, kind: &str, until: u64) -> Option<u64>;
    Find entry(session: SessionId, source: Source, key: &str) -> Option<Entry>;
    Find sighted(session: SessionId, source: Source, key: &str) -> Option<Sighted>;
    Write begin_call(session: SessionId, event: &str, worktree: &str, at: Timestamp) -> ();
    WriteOnce end_call(session: SessionId, event: &str) -> ();
    WriteOnce end_calls(session: SessionId) -> ();
    Own running_calls(worktree: &str, since: Timestamp) -> Vec<RunningCall>;
    Write put_move(moved: &HeadMove) -> ();
    List moves_to(repository: RepositoryId, commit: &Oid) -> Vec<HeadMove>;
    Write put_edit(edit: &EditRecord) -> ();
    Own edits(repository: RepositoryId, path: &str, until: Timestamp) -> Vec<EditRecord>;
    Find last_edit(repository: RepositoryId, path: &str) -> Option<EditRecord>;
    List edits_leaving(blob: &Oid) -> Vec<EditRecord>;
    Bag unhashed_edits(; limit) -> Vec<EditRecord>;
    List unsealed(; limit) -> Vec<SessionRecord>;
    List to_seal(session: SessionId, first: u64, last: u64) -> Vec<(SealedEntry, Option<TurnId>)>;
    Own put_receipt(receipt: &Receipt) -> bool;
    List receipts(session: SessionId) -> Vec<Receipt>;
}
