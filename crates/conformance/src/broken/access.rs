//! Credentials that go wrong.

use siglum_domain::{LedgerId, SessionId, Timestamp, TokenId};
use siglum_ledger::{Access, LedgerError, TokenRecord};

use super::own::LATE;
use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Ignores("tokens", "session"),
    Fault::Ignores("tokens", "before"),
    Fault::Lost("revoke_token"),
    Fault::Affirms("revoke_token"),
    Fault::Denies("revoke_token"),
    Fault::Ignores("revoke_token", "at"),
    Fault::Lost("revoke_tokens_of"),
    Fault::OneMore("revoke_tokens_of"),
    Fault::Spreads("revoke_tokens_of"),
    Fault::Lost("replace_token"),
    Fault::Affirms("replace_token"),
    Fault::Denies("replace_token"),
    Fault::Ignores("replace_token", "new"),
    Fault::Ignores("replace_token", "until"),
];

/// Those of them that list in an order.
pub(super) const LISTS: &[&str] = &["tokens"];

broken! { Access, ACCESS, LIMITED;
    WriteOnce put_token(token: &TokenRecord) -> ();
    Find token(id: TokenId) -> Option<TokenRecord>;
    Find token_by_digest(digest: &str) -> Option<TokenRecord>;
    Own tokens(session: Option<SessionId>, before: Option<TokenId>; limit) -> Vec<TokenRecord>;
    Bag tokens_by_tail(tail: &str) -> Vec<TokenId>;
    Own revoke_token(id: TokenId, at: Timestamp) -> bool;
    Own revoke_tokens_of(session: SessionId, at: Timestamp) -> u64;
    Own replace_token(old: TokenId, new: TokenId, until: Timestamp) -> bool;
    Write note_token_use(id: TokenId, at: Timestamp) -> ();
    Find registration(ledger: LedgerId) -> Option<TokenId>;
    WriteOnce register(ledger: LedgerId, token: TokenId, at: Timestamp) -> ();
    WriteOnce unregister(ledger: LedgerId) -> ();
}

impl BrokenTx<'_> {
    fn tokens(
        &mut self,
        session: Option<SessionId>,
        before: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<TokenRecord>> {
        let session = session.filter(|_| !self.ignores("tokens", "session"));
        let before = before.filter(|_| !self.ignores("tokens", "before"));
        let rows = self.good.tokens(session, before, limit)?;
        Ok(self.listed("tokens", rows))
    }

    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool> {
        if self.lost("revoke_token") {
            return Ok(true);
        }
        let at = if self.ignores("revoke_token", "at") {
            LATE
        } else {
            at
        };
        let done = self.good.revoke_token(id, at)?;
        Ok(self.faulty_flag("revoke_token", done))
    }

    fn revoke_tokens_of(&mut self, session: SessionId, at: Timestamp) -> Result<u64> {
        if self.lost("revoke_tokens_of") {
            return Ok(2);
        }
        let count = self.good.revoke_tokens_of(session, at)?;
        if self.state.fault == Fault::Spreads("revoke_tokens_of") {
            for token in self.good.tokens(None, None, 100)? {
                self.good.revoke_token(token.id, at)?;
            }
        }
        Ok(count + u64::from(self.state.fault == Fault::OneMore("revoke_tokens_of")))
    }

    fn replace_token(&mut self, old: TokenId, new: TokenId, until: Timestamp) -> Result<bool> {
        if self.lost("replace_token") {
            return Ok(true);
        }
        let new = if self.ignores("replace_token", "new") {
            old
        } else {
            new
        };
        let until = if self.ignores("replace_token", "until") {
            LATE
        } else {
            until
        };
        let done = self.good.replace_token(old, new, until)?;
        Ok(self.faulty_flag("replace_token", done))
    }
}
