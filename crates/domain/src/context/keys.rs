//! Both keys, and how a context key is made.

use serde::{Deserialize, Serialize};

use super::{Cause, ContextKey, RouteKey};
use crate::{GrammarError, SessionId};

impl ContextKey {
    /// The key of a context that is not isolated: that of its route.
    #[must_use]
    pub fn from_route(route: &RouteKey) -> Self {
        Self::new(route.as_str()).expect("because both keys have one grammar")
    }

    /// The key of the context of one isolated run: `<route key>-run:<session id>`. Made so that people can read it; it
    /// is never taken apart again.
    ///
    /// # Errors
    /// The rule, where the route key leaves no room.
    pub fn isolated(route: &RouteKey, session: SessionId) -> Result<Self, GrammarError> {
        Self::new(format!("{route}-run:{session}"))
    }

    /// The key of a context that replaces another one on its route: `<route key>-<cause>:<session id>`.
    ///
    /// # Errors
    /// The rule, where the route key leaves no room.
    pub fn replacing(
        route: &RouteKey,
        cause: Cause,
        session: SessionId,
    ) -> Result<Self, GrammarError> {
        Self::new(format!("{route}-{cause}:{session}"))
    }
}

/// Both keys of a run. Every call that touches conversational state has both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Where replies go, and what the run is called.
    pub route: RouteKey,
    /// What state it sees and adds to.
    pub context: ContextKey,
}

impl Keys {
    /// The keys of a run that is not isolated: both are equal.
    #[must_use]
    pub fn shared(route: RouteKey) -> Self {
        let context = ContextKey::from_route(&route);
        Self { route, context }
    }

    /// The keys of an isolated run of this session.
    ///
    /// # Errors
    /// As [`ContextKey::isolated`].
    pub fn isolated(route: RouteKey, session: SessionId) -> Result<Self, GrammarError> {
        let context = ContextKey::isolated(&route, session)?;
        Ok(Self { route, context })
    }
}
