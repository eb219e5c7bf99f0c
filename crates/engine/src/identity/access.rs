//! Credentials: issuing, checking, rotating and revoking them.
//!
//! The text of a token never comes here: edges mint it, show it once, and hand over its digest. Checking only
//! reads; that a token was used is noted apart, the first time and then once an hour at most.

use std::time::Duration;

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Right, Scope};
use siglum_domain::audit::Action;
use siglum_domain::{LedgerId, SessionId, Timestamp, TokenId, TokenName};
use siglum_ledger::{
    AuditFilter, Durability, Ledger, LedgerError, TokenRecord, Transaction, read, write,
};

use crate::Here;
use crate::identity::audit::{self, Entry};

/// How long one note of a token stands for what comes later, in milliseconds.
const HOUR: i64 = 3_600_000;

/// A token that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub id: TokenId,
    /// The digest of its text.
    pub digest: String,
    pub scope: Scope,
    /// What it may not although its scope would allow it.
    pub limits: Limits,
    pub name: TokenName,
    pub by: String,
    pub expires_at: Option<Timestamp>,
}

/// Who calls, by a token that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub token: TokenId,
    pub name: String,
    pub scope: Scope,
    /// What it may not although its scope would allow it.
    pub limits: Limits,
    /// Whether its use is to be noted: see [`note_use`].
    pub note_due: bool,
}

impl Caller {
    /// Tells whether it may act for a session.
    #[must_use]
    pub fn may_act_for(&self, session: SessionId) -> bool {
        self.scope.allows(session)
    }
}

/// Why a token was not taken, made or replaced.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// Nobody made it.
    #[error("this token is unknown")]
    Unknown,
    #[error("this token expired at {at}")]
    Expired { at: Timestamp },
    /// Somebody took it back.
    #[error("this token was revoked at {at}")]
    Revoked { at: Timestamp },
    /// Another one has taken its place already.
    #[error("this token was replaced by {by}")]
    Replaced { by: TokenId },
    /// The session that it should act for is not there.
    #[error("no session {session}")]
    NoSession { session: SessionId },
    /// Another token registered the ledger that it would speak for.
    #[error(
        "only token {token}, which registered ledger {ledger}, can send for it; to replace that token, run `siglum token create --for-ledger {ledger}` on the gateway's machine, or `siglum token release {ledger}` for a login"
    )]
    Registered {
        ledger: LedgerId,
        /// The other token.
        token: TokenId,
    },
    /// The session that it acts for is at home in another ledger.
    #[error("a session token can send only for the session's home ledger")]
    NotAtHome,
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl AccessError {
    /// A word for it that stays the same.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "token-unknown",
            Self::Expired { .. } => "token-expired",
            Self::Revoked { .. } => "token-revoked",
            Self::Replaced { .. } => "token-replaced",
            Self::NoSession { .. } => "session-unknown",
            Self::Registered { .. } => "ledger-registered",
            Self::NotAtHome => "not-at-home",
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
    decided(ledger, |tx| {
        if let Some(session) = new.scope.session()
            && tx.session(session)?.is_none()
        {
            return Ok(Err(AccessError::NoSession { session }));
        }
        issue_in(tx, here, new, None).map(Ok)
    })
}

/// Makes a token known in a transaction that does more, such as creating its session, which must be there. It writes
/// to the audit, so statements come before it. The pipeline of its session is looked up, unless it is named.
///
/// # Errors
/// Those of the ledger.
pub fn issue_in(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    new: &NewToken,
    pipeline: Option<String>,
) -> Result<TokenRecord, LedgerError> {
    let record = stored(tx, here.now(), new)?;
    let entry = entry(&record, &new.by, Action::TokenCreated, json!({}));
    audit::record(tx, here, &Entry { pipeline, ..entry })?;
    Ok(record)
}

fn stored(
    tx: &mut dyn Transaction,
    at: Timestamp,
    new: &NewToken,
) -> Result<TokenRecord, LedgerError> {
    let record = TokenRecord {
        id: new.id,
        digest: new.digest.clone(),
        scope: new.scope,
        limits: new.limits.clone(),
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

/// Records what was done with a token.
fn audited(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    token: &TokenRecord,
    actor: &str,
    action: Action,
    more: Value,
) -> Result<(), LedgerError> {
    audit::record(tx, here, &entry(token, actor, action, more)).map(drop)
}

/// What the audit has of what was done with a token.
fn entry(token: &TokenRecord, actor: &str, action: Action, more: Value) -> Entry {
    let mut body = json!({
        "expires_at": token.expires_at.map(|at| at.to_string()),
        "id": token.id.to_string(),
        "name": token.name,
        "scope": token.scope.as_str(),
    });
    if let Value::Object(body) = &mut body {
        let rights: Vec<&str> = token.limits.rights().map(Right::as_str).collect();
        let repositories = token.limits.repositories();
        if !rights.is_empty() {
            body.insert("may".to_owned(), json!(rights));
        }
        if !repositories.is_empty() {
            body.insert("repositories".to_owned(), json!(repositories));
        }
        if let Value::Object(more) = more {
            body.extend(more);
        }
    }
    let mut entry = Entry::done(actor, action).with(body);
    entry.session = token.scope.session();
    entry
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
        limits: token.limits,
    })
}

/// Refuses a caller whose token was revoked, or expired, since it was let in: for what rests on the token itself.
///
/// # Errors
/// Why the token is worth nothing, and those of the ledger.
pub fn still_holds(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    caller: &Caller,
) -> Result<(), AccessError> {
    let token = tx.token(caller.token)?.ok_or(AccessError::Unknown)?;
    holds(&token, here.now())
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
        .is_none_or(|last| last.plus_millis(HOUR) <= now)
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
            Some(token) if is_note_due(&token, now) => {
                tx.note_token_use(token.id, now)?;
                let actor = audit::bearer(token.id, &token.name);
                audited(tx, here, &token, &actor, Action::TokenUsed, json!({}))
            }
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
            limits: before.limits,
            ..new.clone()
        };
        let record = stored(tx, at, &new)?;
        let until = after(at, grace);
        tx.replace_token(old, new.id, until)?;
        let until = before.expires_at.map_or(until, |at| at.min(until));
        let more = json!({ "replaces": old.to_string(), "holds_until": until.to_string() });
        audited(tx, here, &record, &new.by, Action::TokenRotated, more)?;
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
        let revoked = tx.revoke_token(id, at)?;
        if revoked {
            audited(tx, here, &token, by, Action::TokenRevoked, json!({}))?;
        }
        Ok(Ok(revoked))
    })
}

/// Takes all tokens of a session back, in the transaction that closes it. Gives their number.
///
/// # Errors
/// Those of the ledger.
pub fn revoke_of_in(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
    by: &str,
) -> Result<u64, LedgerError> {
    let count = tx.revoke_tokens_of(session, here.now())?;
    if count > 0 {
        let entry = Entry::done(by, Action::TokenRevoked).for_session(session);
        audit::record(
            tx,
            here,
            &entry.with(json!({ "all_of_the_session": count })),
        )?;
    }
    Ok(count)
}

/// Records that somebody came with a token that is worth nothing: of one that is known, once an hour at most; of one
/// that is not known, each time, so that edges limit how often they ask. `more` is an object with what the edge
/// knows, such as an address.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn note_refusal(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    digest: &str,
    refusal: &AccessError,
    more: &Value,
) -> Result<(), LedgerError> {
    let (reason, since) = (refusal.to_string(), here.now().plus_millis(-HOUR));
    write(ledger, Durability::Process, |tx| {
        let known = tx.token_by_digest(digest)?;
        let actor = known
            .as_ref()
            .map_or_else(|| "unknown".to_owned(), |t| audit::bearer(t.id, &t.name));
        let before = AuditFilter {
            action: Some(Action::TokenRefused.as_str().to_owned()),
            actor: Some(actor.clone()),
            since: Some(since),
            limit: 1,
            ..AuditFilter::default()
        };
        if known.is_some() && !tx.audit(&before)?.is_empty() {
            return Ok(());
        }
        let mut entry = Entry::refused(&actor, Action::TokenRefused, &reason, Some("token"));
        entry.session = known.and_then(|t| t.scope.session());
        entry.body = more.clone();
        audit::record(tx, here, &entry)?;
        Ok(())
    })
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

/// How many tokens one after the other may have taken each other's place.
const SUCCESSORS: usize = 1_000;

/// How a token stands to a ledger that sends here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It, or one whose place it took, registered the ledger.
    Registered,
    /// Nobody registered the ledger before, and now it did.
    New,
}

impl Standing {
    /// Writes into the audit that a ledger was registered, as the last step of the transaction.
    ///
    /// # Errors
    /// Those of the ledger.
    pub fn note(
        self,
        here: &Here<'_>,
        tx: &mut dyn Transaction,
        caller: &Caller,
        ledger: LedgerId,
    ) -> Result<(), LedgerError> {
        if self == Self::Registered {
            return Ok(());
        }
        let by = audit::bearer(caller.token, &caller.name);
        let body = json!({ "ledger": ledger.to_string(), "token": caller.token.to_string() });
        let entry = Entry::done(&by, Action::LedgerRegistered).with(body);
        audit::record(tx, here, &entry).map(drop)
    }
}

/// Tells how a caller stands to a ledger that sends here, which it registers if nobody did before: the first launcher
/// stands. A session speaks for the ledger that it is at home in.
///
/// # Errors
/// [`AccessError::Registered`], [`AccessError::NotAtHome`], and those of the ledger.
pub fn standing(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    caller: &Caller,
    ledger: LedgerId,
) -> Result<Standing, AccessError> {
    if let Some(session) = caller.scope.session() {
        return match tx.session(session)?.map(|s| s.home) == Some(ledger) {
            true => Ok(Standing::Registered),
            false => Err(AccessError::NotAtHome),
        };
    }
    let mut standing = Standing::Registered;
    if tx.registration(ledger)?.is_none() {
        tx.register(ledger, caller.token, here.now())?;
        standing = Standing::New;
    }
    // Of several who come at once one is the first.
    match tx.registration(ledger)? {
        Some(token) if !is_one_credential(tx, token, caller.token)? => {
            Err(AccessError::Registered { ledger, token })
        }
        _ => Ok(standing),
    }
}

/// Whether a caller speaks for a ledger that somebody registered: what is asked about another one's sessions registers none.
///
/// # Errors
/// Those of the ledger.
pub fn speaks_for(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    caller: &Caller,
    ledger: LedgerId,
) -> Result<bool, LedgerError> {
    if tx.registration(ledger)?.is_none() {
        return Ok(false);
    }
    match standing(here, tx, caller, ledger) {
        Ok(_) => Ok(true),
        Err(AccessError::Ledger(error)) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Whether one of two tokens took the place of the other, however many were between them.
fn is_one_credential(
    tx: &mut dyn Transaction,
    one: TokenId,
    other: TokenId,
) -> Result<bool, LedgerError> {
    for (mut at, end) in [(one, other), (other, one)] {
        for _ in 0..SUCCESSORS {
            if at == end {
                return Ok(true);
            }
            match tx.token(at)?.and_then(|t| t.replaced_by) {
                Some(next) => at = next,
                None => break,
            }
        }
    }
    Ok(false)
}

/// Hands a ledger that sends here over to a token: from now on it alone speaks for that ledger. It is for the operator,
/// where the one that registered it has expired or was revoked.
///
/// # Errors
/// [`AccessError::Unknown`], and those of the ledger; nothing was written then.
pub fn hand_over(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    of: LedgerId,
    to: TokenId,
    by: &str,
) -> Result<(), AccessError> {
    decided(ledger, |tx| {
        if tx.token(to)?.is_none() {
            return Ok(Err(AccessError::Unknown));
        }
        let before = tx.registration(of)?;
        tx.unregister(of)?;
        tx.register(of, to, here.now())?;
        let body = json!({
            "ledger": of.to_string(),
            "token": to.to_string(),
            "instead_of": before.map(|t| t.to_string()),
        });
        let entry = Entry::done(by, Action::LedgerRegistered).with(body);
        audit::record(tx, here, &entry)?;
        Ok(Ok(()))
    })
}

/// Takes a ledger that sends here from the token that registered it, so that whoever sends for it next registers it: for
/// the operator, where a laptop logs in now that had a token. Gives that token; nothing where nobody registered the ledger.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn release(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    of: LedgerId,
    by: &str,
) -> Result<Option<TokenId>, LedgerError> {
    write(ledger, Durability::Disk, |tx| {
        let Some(token) = tx.registration(of)? else {
            return Ok(None);
        };
        tx.unregister(of)?;
        let body = json!({ "ledger": of.to_string(), "token": token.to_string() });
        let entry = Entry::done(by, Action::LedgerReleased).with(body);
        audit::record(tx, here, &entry)?;
        Ok(Some(token))
    })
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
