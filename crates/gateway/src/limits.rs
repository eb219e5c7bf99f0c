//! How often one caller may ask. Each gateway counts for itself.

use std::net::IpAddr;
use std::num::NonZeroU32;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use siglum_domain::SessionId;

use crate::caller::Caller;
use crate::problem::Problem;
use crate::settings::Limits;

/// The counts.
pub(crate) struct Rates {
    requests: DefaultKeyedRateLimiter<String>,
    creations: DefaultKeyedRateLimiter<String>,
    heartbeats: DefaultKeyedRateLimiter<SessionId>,
    strangers: DefaultKeyedRateLimiter<IpAddr>,
}

impl Rates {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            requests: RateLimiter::keyed(Quota::per_second(some(limits.rate))),
            creations: RateLimiter::keyed(Quota::per_minute(some(limits.creations))),
            heartbeats: RateLimiter::keyed(Quota::per_hour(some(limits.heartbeats))),
            strangers: RateLimiter::keyed(Quota::per_minute(some(limits.strangers))),
        }
    }

    /// A request of somebody who was let in.
    pub(crate) fn request(&self, caller: &Caller) -> Result<(), Problem> {
        check(&self.requests, &caller.key(), "this token asks too often")
    }

    /// A session is created.
    pub(crate) fn creation(&self, caller: &Caller) -> Result<(), Problem> {
        check(
            &self.creations,
            &caller.key(),
            "this token creates too many sessions",
        )
    }

    /// A session says that it lives.
    pub(crate) fn heartbeat(&self, session: SessionId) -> Result<(), Problem> {
        check(
            &self.heartbeats,
            &session,
            "this session has too many heartbeats",
        )
    }

    /// Somebody came without a valid token.
    pub(crate) fn stranger(&self, from: IpAddr) -> Result<(), Problem> {
        check(
            &self.strangers,
            &from,
            "too many requests without a valid token",
        )
    }

    /// Lets go of what is as if it had never been counted.
    pub(crate) fn tidy(&self) {
        self.requests.retain_recent();
        self.creations.retain_recent();
        self.heartbeats.retain_recent();
        self.strangers.retain_recent();
    }
}

/// No limit would be none at all: one is the least.
fn some(limit: u32) -> NonZeroU32 {
    NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN)
}

fn check<K: std::hash::Hash + Eq + Clone>(
    limiter: &DefaultKeyedRateLimiter<K>,
    key: &K,
    what: &str,
) -> Result<(), Problem> {
    limiter.check_key(key).map_err(|until| {
        let wait = until.wait_time_from(DefaultClock::default().now());
        Problem::rate_limited(what, wait.as_secs() + 1)
    })
}
