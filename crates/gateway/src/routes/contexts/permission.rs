//! Who may do something with a context, and what they are told where it is refused.

use siglum_domain::SessionId;
use siglum_domain::context::Keys;
use siglum_engine::driven::context::ContextError;
use siglum_ledger::{Ledger, read};

use crate::problem::Problem;

/// Refuses a session's token that does something with a context that is kept in another session. Whether there is such
/// a context it is not told.
pub(super) fn may(
    ledger: &mut dyn Ledger,
    own: Option<SessionId>,
    keys: &Keys,
) -> Result<(), Problem> {
    let Some(own) = own else { return Ok(()) };
    let context = read(ledger, |tx| tx.context(&keys.context))?;
    match context.is_some_and(|context| context.session == own) {
        true => Ok(()),
        false => Err(Problem::forbidden(
            "a session token acts for the context of its session only",
        )),
    }
}

impl From<ContextError> for Problem {
    fn from(error: ContextError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        match error {
            ContextError::Turn(error) => error.into(),
            ContextError::Invalid { field, rule } => Self::invalid(field, rule),
            ContextError::NoRoute(_) | ContextError::NoContext(_) => Self::not_found(detail),
            ContextError::Mismatch { .. }
            | ContextError::Ended { .. }
            | ContextError::Gap { .. }
            | ContextError::NoTurn { .. }
            | ContextError::Conflict { .. }
            | ContextError::Taken { .. } => Self::conflict(code, detail).not_committed(),
        }
    }
}
