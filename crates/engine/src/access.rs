//! Credentials: issuing, checking, rotating and revoking them.
//!
//! The text of a token never comes here: edges mint it, show it once, and hand over its digest. Checking only
//! reads; that a token was used is noted apart, the first time and then once an hour at most.

use std::time::Duration;

use siglum_domain::access::Scope;
use siglum_domain::{SessionId, Timestamp, TokenId, TokenName};
use siglum_ledger::{Durability, Ledger, LedgerError, TokenRecord, Transaction, read, write};

use crate::Here;

/// How long one note of a token's use stands for its later uses.
const NOTED_FOR: Duration = Duration::from_hours(1);

/// A token that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    /// Its id.
    pub id: TokenId,
    /// The digest of its text.
    pub digest: String,
    /// What it may be used for.
    pub scope: Scope,
    /// What people call it.
    pub name: TokenName,
    /// Who makes it.
    pub by: String,
    /// From then on it is worth nothing.
    pub expires_at: Option<Timestamp>,
}

/// Who calls, by a token that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The token.
    pub token: TokenId,
    /// What people call it.
    pub name: String,
    /// What it may be used for.
    pub scope: Scope,
    /// Whether its use is to be noted: see [`note_use`].
    pub note_due: bool,
}

impl Caller {
    /// Tells whether it may act for a session.
    #[must_use]
    pub fn may_act_for(&self, session: SessionId) -> bool {
        self.scope.session().is_none_or(|own| own == session)
    }
}

/// Why a token was not taken, made or replaced.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Nobody made it.
    #[error("this token is not known")]
    Unknown,
    /// Its time is over.
    #[error("this token expired at {at}")]
    Expired {
        /// When.
        at: Timestamp,
    },
    /// Somebody took it back.
    #[error("this token was revoked at {at}")]
    Revoked {
        /// When.
        at: Timestamp,
    },
    /// Another one has taken its place already.
    #[error("this token was replaced by {by}")]
    Replaced {
        /// The other one.
        by: TokenId,
    },
    /// The session that it should act for is not there.
    #[error("there is no session {session}")]
    NoSession {
        /// The session.
        session: SessionId,
    },
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl AccessError {
    /// A word for it that stays the same.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "token_unknown",
            Self::Expired { .. } => "token_expired",
            Self::Revoked { .. } => "token_revoked",
            Self::Replaced { .. } => "token_replaced",
            Self::NoSession { .. } => "session_unknown",
            Self::Ledger(_) => "ledger",
        }
    }
}

/// Makes a token known.
///
/// # Errors
/// [`AccessError::NoSession`] where its session is not there, and those of the ledger; nothing was written then.
pub fn issue(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    new: &NewToken,
) -> Result<TokenRecord, AccessError> {
    let at = here.now();
    decided(ledger, |tx| {
        if let Some(session) = new.scope.session()
            && tx.session(session)?.is_none()
        {
            return Ok(Err(AccessError::NoSession { session }));
        }
        issue_in(tx, at, new).map(Ok)
    })
}

/// Makes a token known in a transaction that does more, such as creating its session, which must be there.
///
/// # Errors
/// Those of the ledger.
pub fn issue_in(
    tx: &mut dyn Transaction,
    at: Timestamp,
    new: &NewToken,
) -> Result<TokenRecord, LedgerError> {
    let record = TokenRecord {
        id: new.id,
        digest: new.digest.clone(),
        scope: new.scope,
        name: new.name.as_str().to_owned(),
        by: new.by.clone(),
        created_at: at,
        expires_at: new.expires_at,
        revoked_at: None,
        replaced_by: None,
        last_used_at: None,
    };
    tx.put_token(&record)?;
    Ok(record)
}

/// Tells who calls with the token of this digest. Nothing is written.
///
/// # Errors
/// Why the token is worth nothing, and those of the ledger.
pub fn authenticate(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    digest: &str,
) -> Result<Caller, AccessError> {
    let found = read(ledger, |tx| tx.token_by_digest(digest))?;
    let token = found.ok_or(AccessError::Unknown)?;
    let now = here.now();
    holds(&token, now)?;
    Ok(Caller {
        token: token.id,
        note_due: is_note_due(&token, now),
        name: token.name,
        scope: token.scope,
    })
}

/// Whether a token is worth anything at `now`. That it was taken back says more than that its time is over.
fn holds(token: &TokenRecord, now: Timestamp) -> Result<(), AccessError> {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => Err(AccessError::Revoked { at }),
        (None, Some(at)) if at <= now => Err(AccessError::Expired { at }),
        _ => Ok(()),
    }
}

fn is_note_due(token: &TokenRecord, now: Timestamp) -> bool {
    token
        .last_used_at
        .is_none_or(|last| after(last, NOTED_FOR) <= now)
}

/// Notes that a token was used, unless that was done within the hour. Whoever calls [`authenticate`] calls it
/// where [`Caller::note_due`] says so; if it fails, the next use is due again.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn note_use(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    caller: &Caller,
) -> Result<(), LedgerError> {
    let now = here.now();
    write(ledger, Durability::Process, |tx| {
        match tx.token(caller.token)? {
            Some(token) if is_note_due(&token, now) => tx.note_token_use(caller.token, now),
            _ => Ok(()),
        }
    })
}

/// Lets a new token take the place of an old one, with its scope; the old one holds for the grace only.
///
/// # Errors
/// Why the old token cannot be replaced, and those of the ledger; nothing was written then.
pub fn rotate(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    old: TokenId,
    new: &NewToken,
    grace: Duration,
) -> Result<TokenRecord, AccessError> {
    let at = here.now();
    decided(ledger, |tx| {
        let Some(before) = tx.token(old)? else {
            return Ok(Err(AccessError::Unknown));
        };
        if let Err(refused) = holds(&before, at) {
            return Ok(Err(refused));
        }
        if let Some(by) = before.replaced_by {
            return Ok(Err(AccessError::Replaced { by }));
        }
        let new = NewToken {
            scope: before.scope,
            ..new.clone()
        };
        let record = issue_in(tx, at, &new)?;
        tx.replace_token(old, new.id, after(at, grace))?;
        Ok(Ok(record))
    })
}

/// Takes a token back; `false` if that was done before.
///
/// # Errors
/// [`AccessError::Unknown`], and those of the ledger; nothing was written then.
pub fn revoke(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    id: TokenId,
    by: &str,
) -> Result<bool, AccessError> {
    let at = here.now();
    decided(ledger, |tx| {
        let Some(token) = tx.token(id)? else {
            return Ok(Err(AccessError::Unknown));
        };
        revoke_in(tx, at, &token, by).map(Ok)
    })
}

fn revoke_in(
    tx: &mut dyn Transaction,
    at: Timestamp,
    token: &TokenRecord,
    _by: &str,
) -> Result<bool, LedgerError> {
    tx.revoke_token(token.id, at)
}

/// Takes all tokens of a session back, in the transaction that closes it. Gives their number.
///
/// # Errors
/// Those of the ledger.
pub fn revoke_of_in(
    tx: &mut dyn Transaction,
    at: Timestamp,
    session: SessionId,
    _by: &str,
) -> Result<u64, LedgerError> {
    tx.revoke_tokens_of(session, at)
}

/// The tokens of a session, or all; newest first, from behind `before` on.
///
/// # Errors
/// Those of the ledger.
pub fn list(
    ledger: &mut dyn Ledger,
    session: Option<SessionId>,
    before: Option<TokenId>,
    limit: usize,
) -> Result<Vec<TokenRecord>, LedgerError> {
    read(ledger, |tx| tx.tokens(session, before, limit))
}

fn after(at: Timestamp, time: Duration) -> Timestamp {
    at.plus_millis(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// One write whose work may refuse; then nothing was written before.
fn decided<T>(
    ledger: &mut dyn Ledger,
    work: impl FnMut(&mut dyn Transaction) -> Result<Result<T, AccessError>, LedgerError>,
) -> Result<T, AccessError> {
    write(ledger, Durability::Disk, work)?
}
