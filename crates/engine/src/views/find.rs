//! What people type: a whole id, the tail of one, an agent's own id for a session, or the name of one.

use siglum_domain::redact::Redactor;
use siglum_domain::{CheckpointId, NativeId, SessionId, TokenId, id};
use siglum_ledger::{Ledger, LedgerError, Transaction, read};

use crate::identity::names;

/// Why a name names nothing.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// Nothing has this name.
    #[error("no {noun} matches `{text}`")]
    NotFound {
        /// What was looked for.
        noun: &'static str,
        /// What was given.
        text: String,
    },
    /// Several things have it.
    #[error("`{text}` is ambiguous: it matches {}", .meanings.join(" or "))]
    Ambiguous {
        /// What was given.
        text: String,
        meanings: Vec<String>,
    },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// So many characters of an agent's id stand for it, where no other begins with them.
const START_LEAST: usize = 4;

/// What a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Session(SessionId),
    Checkpoint(CheckpointId),
}

/// The session that a text names.
///
/// # Errors
/// It names none, or several.
pub fn session(ledger: &mut dyn Ledger, text: &str) -> Result<SessionId, FindError> {
    match anything(ledger, text) {
        Ok(Named::Session(id)) => Ok(id),
        Ok(Named::Checkpoint(_)) => Err(FindError::NotFound {
            noun: "session",
            text: text.to_owned(),
        }),
        Err(FindError::NotFound { noun, text: shown }) => match by_name(ledger, text)? {
            Some(id) => Ok(id),
            None => Err(FindError::NotFound { noun, text: shown }),
        },
        Err(other) => Err(other),
    }
}

/// Whether a text looks like an id. As a name it could stand for another session, whose id is not in this ledger.
#[must_use]
pub fn looks_like_id(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_hexdigit() || c == '-';
    let is_digits = text.len() >= id::TAIL_MIN && text.chars().all(is_digit);
    is_digits || text.starts_with("ses_") || text.starts_with("chk_")
}

/// The session that a person or its agent named so, else the one whose name begins so. What looks like an id is none.
///
/// # Errors
/// Several are named so.
pub fn by_name(ledger: &mut dyn Ledger, text: &str) -> Result<Option<SessionId>, FindError> {
    let is_name = !text.is_empty() && !looks_like_id(text);
    let Some(link) = names::link(text).ok().filter(|_| is_name) else {
        return Ok(None);
    };
    let (field, whole) = (link.field(), link.value());
    let mut named = read(ledger, |tx| tx.sessions_by_link_start(field, &whole))?;
    if named.iter().any(|(value, _)| *value == whole) {
        named.retain(|(value, _)| *value == whole);
    }
    match named[..] {
        [] => Ok(None),
        [(_, session)] => Ok(Some(session)),
        _ => Err(FindError::Ambiguous {
            text: text.to_owned(),
            meanings: named.iter().map(|(_, id)| id.to_string()).collect(),
        }),
    }
}

/// The checkpoint that a text names.
///
/// # Errors
/// It names none, or several.
pub fn checkpoint(ledger: &mut dyn Ledger, text: &str) -> Result<CheckpointId, FindError> {
    match anything(ledger, text)? {
        Named::Checkpoint(id) => Ok(id),
        Named::Session(_) => Err(FindError::NotFound {
            noun: "checkpoint",
            text: text.to_owned(),
        }),
    }
}

/// The token that a text names: by its id or the tail of it, and never by its secret, which no error repeats.
///
/// # Errors
/// It names none, or several.
pub fn token(ledger: &mut dyn Ledger, text: &str) -> Result<TokenId, FindError> {
    let mut found = read(ledger, |tx| {
        if let Ok(id) = text.parse::<TokenId>() {
            return Ok(tx.token(id)?.map(|t| t.id).into_iter().collect());
        }
        let tail = text.strip_prefix("tok_").unwrap_or(text);
        match id::is_tail(tail) {
            true => tx.tokens_by_tail(tail),
            false => Ok(Vec::new()),
        }
    })?;
    let redacted_text = || Redactor::shared().redact(text).into_string();
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(FindError::NotFound {
            noun: "token",
            text: redacted_text().chars().take(80).collect(),
        }),
        _ => Err(FindError::Ambiguous {
            text: redacted_text(),
            meanings: found.iter().map(ToString::to_string).collect(),
        }),
    }
}

/// The session or checkpoint that a text names.
///
/// # Errors
/// It names neither, or several.
pub fn anything(ledger: &mut dyn Ledger, text: &str) -> Result<Named, FindError> {
    let mut found = read(ledger, |tx| candidates(tx, text))?;
    match found.len() {
        1 => Ok(found.remove(0).0),
        0 => Err(FindError::NotFound {
            noun: "session or checkpoint",
            text: text.chars().take(80).collect(),
        }),
        _ => Err(FindError::Ambiguous {
            text: text.to_owned(),
            meanings: found.into_iter().map(|(_, name)| name).collect(),
        }),
    }
}

fn candidates(tx: &mut dyn Transaction, text: &str) -> Result<Vec<(Named, String)>, LedgerError> {
    let mut found = Vec::new();
    if let Ok(id) = text.parse::<SessionId>() {
        found.extend(
            tx.session(id)?
                .map(|s| (Named::Session(s.id), s.id.to_string())),
        );
    } else if let Ok(id) = text.parse::<CheckpointId>() {
        found.extend(
            tx.checkpoint(id)?
                .map(|c| (Named::Checkpoint(c.id), c.id.to_string())),
        );
    } else {
        let tail = text
            .strip_prefix("ses_")
            .or_else(|| text.strip_prefix("chk_"))
            .unwrap_or(text);
        if id::is_tail(tail) {
            found.extend(
                tx.sessions_by_tail(tail)?
                    .into_iter()
                    .map(|s| (Named::Session(s), s.to_string())),
            );
            found.extend(
                tx.checkpoints_by_tail(tail)?
                    .into_iter()
                    .map(|c| (Named::Checkpoint(c), c.to_string())),
            );
        }
        found.extend(by_native(tx, text)?);
    }
    Ok(found)
}

fn by_native(tx: &mut dyn Transaction, text: &str) -> Result<Vec<(Named, String)>, LedgerError> {
    let Ok(native) = NativeId::new(text) else {
        return Ok(Vec::new());
    };
    let mut called = tx.sessions_by_native(&native)?;
    if called.is_empty() && text.chars().count() >= START_LEAST {
        called = tx.sessions_by_native_start(text)?;
    }
    let meaning = |(agent, session)| {
        (
            Named::Session(session),
            format!("{session} ({agent} {native})"),
        )
    };
    Ok(called.into_iter().map(meaning).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_look_like_an_id() {
        for text in ["1234567", "deadbeef", "82d22249-95b9", "ses_x", "chk_1"] {
            assert!(looks_like_id(text), "{text}");
        }
        for text in ["", "cafe", "cart", "deadbeef1 fix", "session"] {
            assert!(!looks_like_id(text), "{text}");
        }
    }
}
