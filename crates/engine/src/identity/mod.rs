//! Who a session is: found or opened once, for all that is written after it.

mod open;
mod resolve;

#[cfg(test)]
mod tests;

use siglum_domain::{RepositoryId, SessionId};

pub(crate) use open::{FirstLinks, Name, NewSession, open_session};
pub(crate) use resolve::resolve;

/// The session that everything after this speaks of. Made by [`resolve`] alone.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SessionIdentity {
    pub(crate) session: SessionId,
    pub(crate) repository: Option<RepositoryId>,
}
