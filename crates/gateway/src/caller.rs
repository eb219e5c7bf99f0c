//! Who asks.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use siglum_domain::access::Limits;
use siglum_domain::{SessionId, Tenant, Timestamp};
use siglum_engine::identity::access::Caller as Known;
use siglum_engine::identity::audit;

/// How long a token that was let in is not asked for again: so long it may still be let in after it was revoked.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How many are remembered.
const MOST: usize = 10_000;

/// Whoever has a valid token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) tenant: Tenant,
    pub(crate) from: IpAddr,
    pub(crate) known: Known,
    /// When what it came with is over, where that is known: for the token of an issuer.
    pub(crate) until: Option<Timestamp>,
}

impl Caller {
    /// The name under which things are written down.
    pub(crate) fn by(&self) -> String {
        audit::bearer(self.known.token, &self.known.name)
    }

    /// The credential, as the engine knows it.
    pub(crate) const fn credential(&self) -> &Known {
        &self.known
    }

    /// What its token may not although its scope would allow it.
    pub(crate) const fn limits(&self) -> &Limits {
        &self.known.limits
    }

    /// The same for sessions that are found: a session sees itself, wherever it works.
    pub(crate) fn limits_on_sessions(&self) -> Limits {
        match self.own() {
            Some(_) => Limits::default(),
            None => self.known.limits.clone(),
        }
    }

    /// Whether what it came with is not over.
    pub(crate) fn is_current(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now)
    }

    /// What tells callers apart for limits.
    pub(crate) fn key(&self) -> String {
        self.known.token.to_string()
    }

    /// The session of a token that is a session's.
    pub(crate) const fn own(&self) -> Option<SessionId> {
        self.known.scope.session()
    }
}

/// Who was let in a moment ago, by the digest of the token, and the tenants that anybody was let in to.
#[derive(Default)]
pub(crate) struct Remembered(
    Mutex<HashMap<String, (Instant, Caller)>>,
    Mutex<BTreeSet<Tenant>>,
);

impl Remembered {
    pub(crate) fn get(&self, digest: &str) -> Option<Caller> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, caller) = known.get(digest)?;
        (since.elapsed() < REMEMBERED).then(|| caller.clone())
    }

    /// The tenants that anybody was let in to since the gateway started.
    pub(crate) fn tenants(&self) -> BTreeSet<Tenant> {
        self.1
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn put(&self, digest: String, caller: &Caller) {
        let mut tenants = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if !tenants.contains(&caller.tenant) {
            tenants.insert(caller.tenant.clone());
        }
        drop(tenants);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (since, _)| since.elapsed() < REMEMBERED);
        }
        if known.len() < MOST {
            known.insert(digest, (Instant::now(), caller.clone()));
        }
    }
}
