//! Verbs of credentials: who may call the gateway, and until when.

use siglum_domain::access::{Limits, Scope};
use siglum_domain::{LedgerId, SessionId, Timestamp, TokenId};

use crate::LedgerError;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// What is kept of a token. Its text is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRecord {
    /// Its id, which is no secret.
    pub id: TokenId,
    /// The digest of its text.
    pub digest: String,
    pub scope: Scope,
    /// What it may not although its scope would allow it.
    pub limits: Limits,
    pub name: String,
    /// Who made it.
    pub by: String,
    pub created_at: Timestamp,
    /// From then on it is worth nothing.
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub replaced_by: Option<TokenId>,
    /// When its use was last noted.
    pub last_used_at: Option<Timestamp>,
}

/// Credentials.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Access {
    /// Stores a token, unless one of this id or digest is there.
    fn put_token(&mut self, token: &TokenRecord) -> Result<()>;
    /// One token.
    fn token(&mut self, id: TokenId) -> Result<Option<TokenRecord>>;
    /// The token whose text has this digest. In a transaction that writes, nobody changes it meanwhile.
    fn token_by_digest(&mut self, digest: &str) -> Result<Option<TokenRecord>>;
    /// The tokens of a session, or all; newest id first, from behind `before` on, `limit` at most; 0 is no limit.
    fn tokens(
        &mut self,
        session: Option<SessionId>,
        before: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<TokenRecord>>;
    /// Tokens that people may mean by these digits, 16 at most, as for sessions.
    fn tokens_by_tail(&mut self, tail: &str) -> Result<Vec<TokenId>>;
    /// Says that a token is worth nothing any more. The first time stands; `false` if it was said before, or
    /// there is none.
    fn revoke_token(&mut self, id: TokenId, at: Timestamp) -> Result<bool>;
    /// Revokes the tokens of a session that are not yet. Gives their number.
    fn revoke_tokens_of(&mut self, session: SessionId, at: Timestamp) -> Result<u64>;
    /// Says that a token has taken the place of an older one, which expires at `until`, if not before. `false`,
    /// and nothing changes, if it was replaced or revoked already, or there is none.
    fn replace_token(&mut self, old: TokenId, new: TokenId, until: Timestamp) -> Result<bool>;
    /// Notes that a token was used; an earlier time than the one that is noted changes nothing.
    fn note_token_use(&mut self, id: TokenId, at: Timestamp) -> Result<()>;
    /// The token that registered a ledger which sends here.
    fn registration(&mut self, ledger: LedgerId) -> Result<Option<TokenId>>;
    /// Notes that a token registers a ledger. The first one stands.
    fn register(&mut self, ledger: LedgerId, token: TokenId, at: Timestamp) -> Result<()>;
    /// A ledger may be registered anew.
    fn unregister(&mut self, ledger: LedgerId) -> Result<()>;
}
