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
    exports: DefaultKeyedRateLimiter<String>,
    creations: DefaultKeyedRateLimiter<String>,
    keep_alives: DefaultKeyedRateLimiter<SessionId>,
    strangers: DefaultKeyedRateLimiter<IpAddr>,
    refusals: DefaultKeyedRateLimiter<String>,
    readings: DefaultKeyedRateLimiter<(String, SessionId)>,
    identities: DefaultKeyedRateLimiter<String>,
}

/// Refusals of one token that go into the audit in a minute.
const REFUSALS: u32 = 30;
/// Readings of one session by one token that go into the audit in an hour.
const READINGS: u32 = 1;
/// Uses of the tokens of one identity that go into the audit in an hour.
const IDENTITIES: u32 = 1;

impl Rates {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            requests: RateLimiter::keyed(Quota::per_second(some(limits.rate))),
            exports: RateLimiter::keyed(Quota::per_second(some(limits.telemetry_rate))),
            creations: RateLimiter::keyed(Quota::per_minute(some(limits.creations))),
            keep_alives: RateLimiter::keyed(Quota::per_hour(some(limits.keep_alives))),
            strangers: RateLimiter::keyed(Quota::per_minute(some(limits.strangers))),
            refusals: RateLimiter::keyed(Quota::per_minute(some(REFUSALS))),
            readings: RateLimiter::keyed(Quota::per_hour(some(READINGS))),
            identities: RateLimiter::keyed(Quota::per_hour(some(IDENTITIES))),
        }
    }

    /// A request of somebody who was let in.
    pub(crate) fn request(&self, caller: &Caller) -> Result<(), Problem> {
        check(
            &self.requests,
            &caller.key(),
            "this token sends too many requests",
        )
    }

    /// A request with telemetry of somebody who was let in. It takes nothing from what else they may ask.
    pub(crate) fn export(&self, caller: &Caller) -> Result<(), Problem> {
        let what = "this token sends too many telemetry requests";
        check(&self.exports, &caller.key(), what)
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
    pub(crate) fn keep_alive(&self, session: SessionId) -> Result<(), Problem> {
        check(
            &self.keep_alives,
            &session,
            "this session sends too many keep-alives",
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

    /// A refusal that is to go into the audit.
    pub(crate) fn refusal(&self, caller: &Caller) -> Result<(), Problem> {
        check(
            &self.refusals,
            &caller.key(),
            "enough of them are written down",
        )
    }

    /// A reading that is to go into the audit.
    pub(crate) fn reading(&self, caller: &Caller, session: SessionId) -> Result<(), Problem> {
        check(
            &self.readings,
            &(caller.key(), session),
            "it is written down",
        )
    }

    /// A use of the token of an issuer that is to go into the audit.
    pub(crate) fn identity(&self, caller: &Caller) -> Result<(), Problem> {
        check(&self.identities, &caller.key(), "it is written down")
    }

    /// Lets go of what is as if it had never been counted.
    pub(crate) fn tidy(&self) {
        self.requests.retain_recent();
        self.exports.retain_recent();
        self.creations.retain_recent();
        self.keep_alives.retain_recent();
        self.strangers.retain_recent();
        self.refusals.retain_recent();
        self.readings.retain_recent();
        self.identities.retain_recent();
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
