//! Projections that go wrong.

use siglum_domain::receipt::Receipt;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{Delivery, Lag, LedgerError, Projection, Projections, Reach};

use super::own::{EARLY, LATE};
use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// More than any check has.
const ALL: usize = 1_000_000;

/// Faults of the verbs that have their own, beside those of a list.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Lost("put_projection"),
    Fault::Alternate("put_projection"),
    Fault::Undue("put_projection"),
    Fault::GoesBack("put_projection"),
    Fault::Lost("drop_projection"),
    Fault::Affirms("drop_projection"),
    Fault::Denies("drop_projection"),
    Fault::Lost("restart"),
    Fault::OneMore("restart"),
    Fault::Ignores("restart", "session"),
    Fault::Ignores("restart", "at"),
    Fault::StaysParked("restart"),
    Fault::Lost("retry"),
    Fault::OneMore("retry"),
    Fault::GoesBack("retry"),
    Fault::Ignores("retry", "session"),
    Fault::Ignores("retry", "at"),
    Fault::StaysParked("retry"),
    Fault::Lost("come_to"),
    Fault::Alternate("come_to"),
    Fault::OnlyForward("come_to"),
    Fault::Spreads("come_to"),
    Fault::Ignores("come_to", "retry_at"),
    Fault::Lost("leave_out"),
    Fault::Alternate("leave_out"),
    Fault::Spreads("leave_out"),
    Fault::Ignores("leave_out", "number"),
    Fault::Ignores("leave_out", "at"),
    Fault::OnlyForward("leave_out"),
    Fault::Ignores("claim", "at"),
    Fault::Ignores("claim", "until"),
    Fault::ClaimsParked,
    Fault::Lost("free_claims"),
    Fault::OneMore("free_claims"),
    Fault::Ignores("free_claims", "at"),
    Fault::Lost("taken"),
    Fault::Alternate("taken"),
    Fault::GoesBack("taken"),
    Fault::Spreads("taken"),
    Fault::Ignores("taken", "taken"),
    Fault::Ignores("taken", "retry_at"),
    Fault::Lost("failed"),
    Fault::Alternate("failed"),
    Fault::Spreads("failed"),
    Fault::Ignores("failed", "reason"),
    Fault::Ignores("failed", "retry_at"),
    Fault::Ignores("failed", "parked_at"),
    Fault::Ignores("troubled", "name"),
    Fault::Blind("lag"),
    Fault::Forgets("lag"),
    Fault::Ignores("lag", "name"),
    Fault::Ignores("lag", "since"),
    Fault::Ignores("lag", "failing"),
    Fault::Ignores("lag", "parked"),
    Fault::OneMore("lag"),
    Fault::Ignores("receipts_after", "number"),
    Fault::Affirms("in_scope"),
    Fault::Denies("in_scope"),
    Fault::Ignores("in_scope", "name"),
    Fault::OneMore("reach"),
    Fault::Ignores("put_projection", "scope"),
];

/// Those of them that list in an order.
pub(super) const LISTS: &[&str] = &["claim", "troubled", "receipts_after"];

broken! { Projections, PROJECTIONS, LIMITED;
    Own put_projection(projection: &Projection) -> ();
    List projections() -> Vec<Projection>;
    Own in_scope(name: &str, session: SessionId) -> bool;
    Own reach(name: &str) -> Reach;
    Own drop_projection(name: &str) -> bool;
    Own restart(name: &str, session: Option<SessionId>, at: Timestamp) -> u64;
    Own claim(name: &str, at: Timestamp, until: Timestamp; limit) -> Vec<Delivery>;
    Find next_try(name: &str) -> Option<Timestamp>;
    Own free_claims(name: &str, at: Timestamp) -> u64;
    Own taken(name: &str, session: SessionId, taken: u64, retry_at: Timestamp) -> ();
    Own come_to(name: &str, session: SessionId, taken: u64, retry_at: Timestamp) -> ();
    Own retry(name: &str, session: Option<SessionId>, at: Timestamp) -> u64;
    Own leave_out(name: &str, session: SessionId, number: u64, at: Timestamp) -> ();
    Own failed(name: &str, session: SessionId, reason: &str, retry_at: Timestamp, parked_at: Option<Timestamp>) -> ();
    Find delivery(name: &str, session: SessionId) -> Option<Delivery>;
    Own troubled(name: Option<&str>; limit) -> Vec<Delivery>;
    Own lag(name: &str) -> Lag;
    Own receipts_after(session: SessionId, number: u64; limit) -> Vec<Receipt>;
}

impl BrokenTx<'_> {
    /// Says that every sink has a receipt that was just stored.
    pub(super) fn undue(&mut self, verb: &'static str, receipt: &Receipt) -> Result<()> {
        if self.state.fault == Fault::Undue(verb) {
            for projection in self.good.projections()? {
                let name = &projection.name;
                self.good
                    .taken(name, receipt.session, receipt.number, receipt.at)?;
            }
        }
        Ok(())
    }

    /// The projections that a verb goes to.
    fn reached(&mut self, verb: &'static str, name: &str) -> Result<Vec<String>> {
        if self.state.fault != Fault::Spreads(verb) {
            return Ok(vec![name.to_owned()]);
        }
        let all = self.good.projections()?;
        Ok(all.into_iter().map(|p| p.name).collect())
    }

    fn free_claims(&mut self, name: &str, at: Timestamp) -> Result<u64> {
        if self.lost("free_claims") {
            return Ok(2);
        }
        let at = if self.ignores("free_claims", "at") {
            EARLY
        } else {
            at
        };
        let count = self.good.free_claims(name, at)?;
        Ok(count + u64::from(self.state.fault == Fault::OneMore("free_claims")))
    }

    fn put_projection(&mut self, projection: &Projection) -> Result<()> {
        if self.lost("put_projection") {
            return Ok(());
        }
        let mut stored = projection.clone();
        if self.ignores("put_projection", "scope") {
            let known = self.good.projections()?;
            let before = known.into_iter().find(|p| p.name == projection.name);
            stored.scope = before.map_or(stored.scope, |p| p.scope);
        }
        self.good.put_projection(&stored)?;
        let name = &projection.name;
        match self.state.fault {
            Fault::GoesBack("put_projection") => {
                self.good.restart(name, None, projection.at)?;
            }
            Fault::Undue("put_projection") => {
                for due in self.good.claim(name, LATE, LATE, ALL)? {
                    self.good.taken(name, due.session, due.due, LATE)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn in_scope(&mut self, name: &str, session: SessionId) -> Result<bool> {
        let mut is_in = self.good.in_scope(name, session)?;
        if self.ignores("in_scope", "name") {
            for projection in self.good.projections()? {
                is_in |= self.good.in_scope(&projection.name, session)?;
            }
        }
        Ok(self.faulty_flag("in_scope", is_in))
    }

    fn reach(&mut self, name: &str) -> Result<Reach> {
        let reach = self.good.reach(name)?;
        let more = u64::from(self.state.fault == Fault::OneMore("reach"));
        Ok(Reach {
            outside: reach.outside + more,
            ..reach
        })
    }

    fn drop_projection(&mut self, name: &str) -> Result<bool> {
        if self.lost("drop_projection") {
            return Ok(true);
        }
        let gone = self.good.drop_projection(name)?;
        Ok(self.faulty_flag("drop_projection", gone))
    }

    fn restart(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64> {
        if self.lost("restart") {
            return Ok(1);
        }
        let session = session.filter(|_| !self.ignores("restart", "session"));
        let at = if self.ignores("restart", "at") {
            EARLY
        } else {
            at
        };
        let aside = self.good.troubled(Some(name), ALL)?;
        let count = self.good.restart(name, session, at)?;
        self.set_aside_again("restart", aside)?;
        Ok(count + u64::from(self.state.fault == Fault::OneMore("restart")))
    }

    fn set_aside_again(&mut self, verb: &'static str, aside: Vec<Delivery>) -> Result<()> {
        if self.state.fault == Fault::StaysParked(verb) {
            for d in aside {
                self.good
                    .failed(&d.projection, d.session, "", d.retry_at, d.parked_at)?;
            }
        }
        Ok(())
    }

    fn retry(&mut self, name: &str, session: Option<SessionId>, at: Timestamp) -> Result<u64> {
        if self.lost("retry") {
            return Ok(1);
        }
        let session = session.filter(|_| !self.ignores("retry", "session"));
        let at = if self.ignores("retry", "at") {
            EARLY
        } else {
            at
        };
        let aside = self.good.troubled(Some(name), ALL)?;
        let mut count = self.good.retry(name, session, at)?;
        if self.state.fault == Fault::GoesBack("retry") {
            count = self.good.restart(name, session, at)?;
        }
        self.set_aside_again("retry", aside)?;
        Ok(count + u64::from(self.state.fault == Fault::OneMore("retry")))
    }

    fn come_to(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()> {
        if self.lost("come_to") {
            return Ok(());
        }
        let retry_at = if self.ignores("come_to", "retry_at") {
            EARLY
        } else {
            retry_at
        };
        for name in self.reached("come_to", name)? {
            if self.state.fault == Fault::OnlyForward("come_to") {
                self.good.taken(&name, session, taken, retry_at)?;
            } else {
                self.good.come_to(&name, session, taken, retry_at)?;
            }
        }
        Ok(())
    }

    fn leave_out(
        &mut self,
        name: &str,
        session: SessionId,
        number: u64,
        at: Timestamp,
    ) -> Result<()> {
        if self.lost("leave_out") {
            return Ok(());
        }
        let known = self.good.delivery(name, session)?;
        let number = match known {
            Some(d) if self.ignores("leave_out", "number") => d.due,
            _ => number,
        };
        let at = if self.ignores("leave_out", "at") {
            EARLY
        } else {
            at
        };
        for name in self.reached("leave_out", name)? {
            if self.state.fault == Fault::OnlyForward("leave_out") {
                self.good.taken(&name, session, number, at)?;
            } else {
                self.good.leave_out(&name, session, number, at)?;
            }
        }
        Ok(())
    }

    fn claim(
        &mut self,
        name: &str,
        at: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<Vec<Delivery>> {
        let until = if self.ignores("claim", "until") {
            at
        } else {
            until
        };
        let at = if self.ignores("claim", "at") {
            LATE
        } else {
            at
        };
        let mut rows = self.good.claim(name, at, until, limit)?;
        if self.state.fault == Fault::ClaimsParked {
            let aside = self.good.troubled(Some(name), ALL)?;
            rows.extend(aside.into_iter().filter(|d| d.parked_at.is_some()));
            rows.truncate(limit);
        }
        Ok(self.listed("claim", rows))
    }

    fn taken(
        &mut self,
        name: &str,
        session: SessionId,
        taken: u64,
        retry_at: Timestamp,
    ) -> Result<()> {
        if self.lost("taken") {
            return Ok(());
        }
        let known = self.good.delivery(name, session)?;
        let taken = match known {
            Some(d) if self.ignores("taken", "taken") => d.due,
            _ => taken,
        };
        let retry_at = if self.ignores("taken", "retry_at") {
            EARLY
        } else {
            retry_at
        };
        if self.state.fault == Fault::GoesBack("taken") {
            self.good.restart(name, Some(session), retry_at)?;
        }
        for name in self.reached("taken", name)? {
            self.good.taken(&name, session, taken, retry_at)?;
        }
        Ok(())
    }

    fn failed(
        &mut self,
        name: &str,
        session: SessionId,
        reason: &str,
        retry_at: Timestamp,
        parked_at: Option<Timestamp>,
    ) -> Result<()> {
        if self.lost("failed") {
            return Ok(());
        }
        let reason = if self.ignores("failed", "reason") {
            ""
        } else {
            reason
        };
        let retry_at = if self.ignores("failed", "retry_at") {
            EARLY
        } else {
            retry_at
        };
        let parked_at = parked_at.filter(|_| !self.ignores("failed", "parked_at"));
        for name in self.reached("failed", name)? {
            self.good
                .failed(&name, session, reason, retry_at, parked_at)?;
        }
        Ok(())
    }

    fn troubled(&mut self, name: Option<&str>, limit: usize) -> Result<Vec<Delivery>> {
        let name = name.filter(|_| !self.ignores("troubled", "name"));
        let rows = self.good.troubled(name, limit)?;
        Ok(self.listed("troubled", rows))
    }

    fn lag(&mut self, name: &str) -> Result<Lag> {
        let name = if self.ignores("lag", "name") {
            "a"
        } else {
            name
        };
        let mut lag = self.good.lag(name)?;
        match self.state.fault {
            Fault::Ignores("lag", "since") => lag.since = None,
            Fault::Ignores("lag", "failing") => lag.failing = 0,
            Fault::Ignores("lag", "parked") => lag.parked = 0,
            Fault::OneMore("lag") => lag.receipts += 1,
            _ => {}
        }
        Ok(self.faulty_lookup("lag", Some(lag)).unwrap_or_default())
    }

    fn receipts_after(
        &mut self,
        session: SessionId,
        number: u64,
        limit: usize,
    ) -> Result<Vec<Receipt>> {
        let number = if self.ignores("receipts_after", "number") {
            0
        } else {
            number
        };
        let rows = self.good.receipts_after(session, number, limit)?;
        Ok(self.listed("receipts_after", rows))
    }
}
