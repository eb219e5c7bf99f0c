//! Contexts that go wrong.

use siglum_domain::context::{ContextKey, RouteKey};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    ContextGap, ContextRecord, ContextRun, ContextTurn, Contexts, LedgerError, RouteMove,
    RouteRecord,
};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Ignores("claim_route", "what is there"),
    Fault::Ignores("routes", "after"),
    Fault::Ignores("contexts_of_route", "before"),
    Fault::Ignores("context_turns", "after"),
    Fault::Ignores("drop_route", "its contexts"),
    Fault::Ignores("trim_context_runs", "before"),
    Fault::OneMore("trim_context_runs"),
    Fault::Unlimited("trim_context_runs"),
    Fault::Lost("trim_context_runs"),
];

/// Those of them that list in an order.
pub(super) const LISTS: &[&str] = &["routes", "contexts_of_route", "context_turns"];

broken! { Contexts, CONTEXTS, LIMITED;
    Own claim_route(fresh: &RouteRecord) -> RouteRecord;
    Find route(key: &RouteKey) -> Option<RouteRecord>;
    Own routes(after: Option<&RouteKey>; limit) -> Vec<RouteRecord>;
    Write put_route(route: &RouteRecord) -> ();
    Own drop_route(key: &RouteKey) -> ();
    Find context(key: &ContextKey) -> Option<ContextRecord>;
    Find context_of_session(session: SessionId) -> Option<ContextRecord>;
    Write put_context(context: &ContextRecord) -> ();
    Own contexts_of_route(route: &RouteKey, before: Option<&ContextRecord>; limit) -> Vec<ContextRecord>;
    List contexts_from(parent: &ContextKey; limit) -> Vec<ContextRecord>;
    WriteOnce drop_context(key: &ContextKey) -> ();
    Write put_context_turn(turn: &ContextTurn) -> ();
    Find context_turn(context: &ContextKey, key: &str) -> Option<ContextTurn>;
    Own context_turns(context: &ContextKey, after: u64) -> Vec<ContextTurn>;
    Write put_context_gap(gap: &ContextGap) -> ();
    List context_gaps(context: &ContextKey) -> Vec<ContextGap>;
    WriteOnce put_context_run(run: &ContextRun) -> ();
    Find context_run(client: &str, run: &str) -> Option<ContextRun>;
    Own trim_context_runs(before: Timestamp; limit) -> u64;
    WriteOnce put_route_move(moved: &RouteMove) -> ();
    List route_moves(route: &RouteKey; limit) -> Vec<RouteMove>;
}

impl BrokenTx<'_> {
    fn claim_route(&mut self, fresh: &RouteRecord) -> Result<RouteRecord> {
        if self.ignores("claim_route", "what is there") {
            self.good.claim_route(fresh)?;
            self.good.put_route(fresh)?;
        }
        self.good.claim_route(fresh)
    }

    fn routes(&mut self, after: Option<&RouteKey>, limit: usize) -> Result<Vec<RouteRecord>> {
        let after = after.filter(|_| !self.ignores("routes", "after"));
        let rows = self.good.routes(after, limit)?;
        Ok(self.listed("routes", rows))
    }

    fn drop_route(&mut self, key: &RouteKey) -> Result<()> {
        if self.lost("drop_route") {
            return Ok(());
        }
        if self.ignores("drop_route", "its contexts") {
            for context in self.good.contexts_of_route(key, None, 1_000)? {
                self.good.drop_context(&context.key)?;
            }
        }
        self.good.drop_route(key)
    }

    fn contexts_of_route(
        &mut self,
        route: &RouteKey,
        before: Option<&ContextRecord>,
        limit: usize,
    ) -> Result<Vec<ContextRecord>> {
        let before = before.filter(|_| !self.ignores("contexts_of_route", "before"));
        let rows = self.good.contexts_of_route(route, before, limit)?;
        Ok(self.listed("contexts_of_route", rows))
    }

    fn context_turns(&mut self, context: &ContextKey, after: u64) -> Result<Vec<ContextTurn>> {
        let after = if self.ignores("context_turns", "after") {
            0
        } else {
            after
        };
        let rows = self.good.context_turns(context, after)?;
        Ok(self.listed("context_turns", rows))
    }

    fn trim_context_runs(&mut self, before: Timestamp, limit: usize) -> Result<u64> {
        if self.lost("trim_context_runs") {
            return Ok(1);
        }
        let before = if self.ignores("trim_context_runs", "before") {
            super::own::LATE
        } else {
            before
        };
        let count = self.good.trim_context_runs(before, limit)?;
        Ok(count + u64::from(self.state.fault == Fault::OneMore("trim_context_runs")))
    }
}
