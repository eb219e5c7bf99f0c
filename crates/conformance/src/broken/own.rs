//! Verbs with faults of their own. They stand before the verbs of the traits, which call them.

use siglum_domain::fold::Entry;
use siglum_domain::intake::Place;
use siglum_domain::observation::{Fact, Observation};
use siglum_domain::receipt::Receipt;
use siglum_domain::{RepositoryId, SessionId, Timestamp, TurnId};
use siglum_ledger::{
    Appended, CheckpointFilter, CheckpointRecord, CommitFilter, CommitRecord, DeclineRecord,
    EditRecord, IntentRecord, LedgerError, NewEntry, Order, RunningCall, SessionFilter,
    SessionListing, Statement, TurnRecord,
};

use super::{BrokenTx, Fault};
use crate::sample::text;

type Result<T> = std::result::Result<T, LedgerError>;

pub(super) const EARLY: Timestamp = Timestamp::from_nanos(i64::MIN);
pub(super) const LATE: Timestamp = Timestamp::from_nanos(i64::MAX);

/// Faults that a verb has beside those of a list.
pub(super) const FAULTS: &[Fault] = &[
    Fault::TakesTwice,
    Fault::Miscounts,
    Fault::Cuts,
    Fault::SaysForked,
    Fault::TakesFresh,
    Fault::DropsPins,
    Fault::HalfCommits,
    Fault::HalfNested,
    Fault::SwallowsErrors,
    Fault::OtherError,
    Fault::Separate,
    Fault::NewKey,
    Fault::Lost("append"),
    Fault::Alternate("append"),
    Fault::Lost("put_receipt"),
    Fault::Undue("put_receipt"),
    Fault::Lost("put_checkpoint"),
    Fault::Alternate("put_checkpoint"),
    Fault::Blind("cursor"),
    Fault::Forgets("cursor"),
    Fault::Blind("outbox_end"),
    Fault::Forgets("outbox_end"),
    Fault::Ignores("sessions", "id"),
    Fault::Ignores("sessions", "repository"),
    Fault::Ignores("sessions", "agent"),
    Fault::Ignores("sessions", "conversation"),
    Fault::Ignores("sessions", "since"),
    Fault::Ignores("sessions", "until"),
    Fault::Ignores("sessions", "created_before"),
    Fault::Ignores("sessions", "open"),
    Fault::Ignores("sessions", "seen"),
    Fault::Ignores("sessions", "parent"),
    Fault::Ignores("sessions", "links"),
    Fault::Ignores("sessions", "order"),
    Fault::Ignores("sessions", "limit"),
    Fault::Ignores("begin_turn", "prompt"),
    Fault::Ignores("entries", "after"),
    Fault::Ignores("running_calls", "since"),
    Fault::Ignores("edits", "until"),
    Fault::Ignores("open_intents", "repository"),
    Fault::Ignores("commits", "repository"),
    Fault::Ignores("commits", "prefix"),
    Fault::Ignores("commits", "after"),
    Fault::Ignores("commits", "limit"),
    Fault::Ignores("checkpoints", "session"),
    Fault::Ignores("checkpoints", "links"),
    Fault::Ignores("checkpoints", "repository"),
    Fault::Ignores("checkpoints", "since"),
    Fault::Ignores("checkpoints", "until"),
    Fault::Ignores("checkpoints", "after"),
    Fault::Ignores("checkpoints", "limit"),
    Fault::Ignores("declines", "since"),
];

/// Verbs of this file that list in an order.
pub(super) const LISTS: &[&str] = &[
    "sessions",
    "entries",
    "running_calls",
    "edits",
    "open_intents",
    "commits",
    "checkpoints",
    "declines",
];

impl BrokenTx<'_> {
    pub(super) fn note_place(
        &mut self,
        place: &Place,
        fresh: RepositoryId,
        at: Timestamp,
    ) -> Result<RepositoryId> {
        let id = self.good.note_place(place, fresh, at)?;
        Ok(if self.state.fault == Fault::TakesFresh {
            fresh
        } else {
            id
        })
    }

    pub(super) fn turn(
        &mut self,
        session: SessionId,
        native: &str,
        fresh: TurnId,
        at: Timestamp,
    ) -> Result<TurnId> {
        let id = self.good.turn(session, native, fresh, at)?;
        Ok(if self.state.fault == Fault::TakesFresh {
            fresh
        } else {
            id
        })
    }

    pub(super) fn begin_turn(&mut self, turn: &TurnRecord, prompt: Option<u64>) -> Result<TurnId> {
        let prompt = prompt.filter(|_| !self.ignores("begin_turn", "prompt"));
        let id = self.good.begin_turn(turn, prompt)?;
        Ok(if self.state.fault == Fault::TakesFresh {
            turn.id
        } else {
            id
        })
    }

    pub(super) fn state(
        &mut self,
        at: Timestamp,
        by: &str,
        source: &str,
        statement: &Statement,
    ) -> Result<u64> {
        self.good.state(at, by, source, statement)
    }

    pub(super) fn sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>> {
        let mut filter = filter.clone();
        match self.state.fault {
            Fault::Ignores("sessions", "id") => filter.id = None,
            Fault::Ignores("sessions", "repository") => filter.repositories.clear(),
            Fault::Ignores("sessions", "agent") => filter.agent = None,
            Fault::Ignores("sessions", "conversation") => filter.conversation = None,
            Fault::Ignores("sessions", "since") => filter.since = None,
            Fault::Ignores("sessions", "until") => filter.until = None,
            Fault::Ignores("sessions", "created_before") => filter.created_before = None,
            Fault::Ignores("sessions", "open") => filter.open = false,
            Fault::Ignores("sessions", "seen") => filter.seen = false,
            Fault::Ignores("sessions", "parent") => filter.parent = None,
            Fault::Ignores("sessions", "links") => filter.links.clear(),
            Fault::Ignores("sessions", "order") => filter.order = Order::LastActive,
            Fault::Ignores("sessions", "limit") => filter.limit = 0,
            _ => {}
        }
        let rows = self.good.sessions(&filter)?;
        Ok(self.listed("sessions", rows))
    }

    pub(super) fn append(&mut self, entry: &NewEntry<'_>) -> Result<Appended> {
        if self.lost("append") {
            let head = self.good.session(entry.session)?.map_or(0, |s| s.head);
            return Ok(Appended::New(head + 1));
        }
        let mut seen: Observation = entry.observation.clone();
        if let Fact::Prompt { text: body, .. } = &mut seen.fact
            && self.state.fault == Fault::Cuts
            && let Some(long) = body.text().filter(|t| t.len() > 1024)
        {
            *body = text(&long.chars().take(300).collect::<String>());
        }
        let mut taken = self.append_as(entry, &seen)?;
        if taken == Appended::Known && self.state.fault == Fault::TakesTwice {
            seen.key.push('+');
            taken = self.append_as(entry, &seen)?;
        }
        match taken {
            Appended::New(n) if self.state.fault == Fault::Miscounts => Ok(Appended::New(n + 1)),
            taken => Ok(taken),
        }
    }

    fn append_as(&mut self, entry: &NewEntry<'_>, seen: &Observation) -> Result<Appended> {
        self.good.append(&NewEntry {
            observation: seen,
            ..entry.clone()
        })
    }

    pub(super) fn entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let after = if self.ignores("entries", "after") {
            0
        } else {
            after
        };
        let rows = self.good.entries(session, after, limit)?;
        Ok(self.listed("entries", rows))
    }

    pub(super) fn running_calls(
        &mut self,
        worktree: &str,
        since: Timestamp,
    ) -> Result<Vec<RunningCall>> {
        let since = if self.ignores("running_calls", "since") {
            EARLY
        } else {
            since
        };
        let rows = self.good.running_calls(worktree, since)?;
        Ok(self.listed("running_calls", rows))
    }

    pub(super) fn edits(
        &mut self,
        repository: RepositoryId,
        path: &str,
        until: Timestamp,
    ) -> Result<Vec<EditRecord>> {
        let until = if self.ignores("edits", "until") {
            LATE
        } else {
            until
        };
        let rows = self.good.edits(repository, path, until)?;
        Ok(self.listed("edits", rows))
    }

    pub(super) fn put_receipt(&mut self, receipt: &Receipt) -> Result<bool> {
        if self.lost("put_receipt") {
            return Ok(true);
        }
        let taken = self.good.put_receipt(receipt)?;
        self.undue("put_receipt", receipt)?;
        Ok(taken || self.state.fault == Fault::SaysForked)
    }

    pub(super) fn open_intents(
        &mut self,
        repository: Option<RepositoryId>,
    ) -> Result<Vec<IntentRecord>> {
        let repository = repository.filter(|_| !self.ignores("open_intents", "repository"));
        let rows = self.good.open_intents(repository)?;
        Ok(self.listed("open_intents", rows))
    }

    pub(super) fn commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>> {
        let mut filter = filter.clone();
        match self.state.fault {
            Fault::Ignores("commits", "repository") => filter.repositories.clear(),
            Fault::Ignores("commits", "prefix") => filter.prefix = None,
            Fault::Ignores("commits", "after") => filter.after = None,
            Fault::Ignores("commits", "limit") => filter.limit = 0,
            _ => {}
        }
        let rows = self.good.commits(&filter)?;
        Ok(self.listed("commits", rows))
    }

    pub(super) fn put_checkpoint(&mut self, record: &CheckpointRecord) -> Result<()> {
        let drops =
            self.state.fault == Fault::DropsPins && self.good.checkpoint(record.id)?.is_some();
        if drops || self.lost("put_checkpoint") {
            return Ok(());
        }
        self.good.put_checkpoint(record)
    }

    pub(super) fn checkpoints(
        &mut self,
        filter: &CheckpointFilter,
    ) -> Result<Vec<CheckpointRecord>> {
        let mut filter = filter.clone();
        match self.state.fault {
            Fault::Ignores("checkpoints", "session") => filter.session = None,
            Fault::Ignores("checkpoints", "links") => filter.links.clear(),
            Fault::Ignores("checkpoints", "repository") => filter.repositories.clear(),
            Fault::Ignores("checkpoints", "since") => filter.since = None,
            Fault::Ignores("checkpoints", "until") => filter.until = None,
            Fault::Ignores("checkpoints", "after") => filter.after = None,
            Fault::Ignores("checkpoints", "limit") => filter.limit = 0,
            _ => {}
        }
        let rows = self.good.checkpoints(&filter)?;
        Ok(self.listed("checkpoints", rows))
    }

    pub(super) fn declines(
        &mut self,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<DeclineRecord>> {
        let since = if self.ignores("declines", "since") {
            EARLY
        } else {
            since
        };
        let rows = self.good.declines(since, limit)?;
        Ok(self.listed("declines", rows))
    }

    /// What it writes says nothing, so that nobody can tell whether it was written.
    pub(super) fn write_probe(&mut self) -> Result<()> {
        self.good.write_probe()
    }

    pub(super) fn outbox_end(&mut self) -> Result<u64> {
        let end = self.good.outbox_end()?;
        Ok(self.faulty_lookup("outbox_end", Some(end)).unwrap_or(0))
    }

    pub(super) fn cursor(&mut self, projection: &str) -> Result<u64> {
        let position = self.good.cursor(projection)?;
        Ok(self.faulty_lookup("cursor", Some(position)).unwrap_or(0))
    }
}
