//! The keys of issuers: fetched when the first token comes, again once in a while, and when a token names one that nobody
//! knows. Where an issuer is away, its last ones count.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use siglum_engine::identity::issuers::{Issuer, KeySet, SignedToken, TokenClaims, TokenRefusal};

/// How long keys are not asked for again, unless one is missing.
const FRESH: Duration = Duration::from_mins(10);
/// How long an issuer is left alone that did not give its keys.
const PAUSE: Duration = Duration::from_secs(5);
/// How often an issuer is asked in a minute, whatever tokens name: anybody can make one that names a key.
const FETCHES: u32 = 6;

/// Why the claims of a token are not known.
#[derive(Debug)]
pub(crate) enum Unverified {
    /// The token is not taken.
    Refused(TokenRefusal),
    /// The keys of its issuer cannot be had now.
    Away,
}

impl From<TokenRefusal> for Unverified {
    fn from(refusal: TokenRefusal) -> Self {
        Self::Refused(refusal)
    }
}

/// All issuers, with their keys.
pub(crate) struct IssuerKeys(Vec<Arc<Fetched>>);

/// An issuer, and what is known of its keys.
struct Fetched {
    issuer: Arc<Issuer>,
    known: Mutex<Known>,
    /// One request fetches, and those that come meanwhile wait for it.
    turn: tokio::sync::Mutex<()>,
    rate: DefaultDirectRateLimiter,
}

#[derive(Clone, Default)]
struct Known {
    keys: Arc<KeySet>,
    /// When they were fetched.
    at: Option<Instant>,
    /// When that failed last.
    failed: Option<Instant>,
}

impl Known {
    fn failed_lately(&self) -> bool {
        self.failed.is_some_and(|at| at.elapsed() < PAUSE)
    }

    fn is_old(&self) -> bool {
        self.at.is_none_or(|at| at.elapsed() > FRESH) && !self.failed_lately()
    }
}

impl IssuerKeys {
    pub(crate) fn new(issuers: &[Issuer]) -> Self {
        let fetched = |issuer: &Issuer| {
            Arc::new(Fetched {
                issuer: Arc::new(issuer.clone()),
                known: Mutex::default(),
                turn: tokio::sync::Mutex::default(),
                rate: RateLimiter::direct(Quota::per_minute(
                    FETCHES.try_into().expect("because it is not zero"),
                )),
            })
        };
        Self(issuers.iter().map(fetched).collect())
    }

    /// Whether no tokens but our own are taken.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn issuers(&self) -> impl Iterator<Item = &Issuer> {
        self.0.iter().map(|fetched| &*fetched.issuer)
    }

    /// The issuer that a token names, which may be a lie.
    pub(crate) fn named_by(&self, token: &SignedToken<'_>) -> Option<Arc<Issuer>> {
        let fetched = self.fetched(token)?;
        Some(Arc::clone(&fetched.issuer))
    }

    fn fetched(&self, token: &SignedToken<'_>) -> Option<&Arc<Fetched>> {
        let url = token.issuer()?;
        self.0.iter().find(|fetched| fetched.issuer.url() == url)
    }

    /// What a token says, once its signature is verified by a key of the issuer that it names.
    pub(crate) async fn verified(&self, token: SignedToken<'_>) -> Result<TokenClaims, Unverified> {
        let fetched = self.fetched(&token).ok_or(TokenRefusal::UnknownIssuer)?;
        let mut known = fetched.known();
        if token.key_in(&known.keys).is_none() {
            known = fetched.fetch_behind(known.at).await?;
        } else if known.is_old() && known.failed.is_some() {
            // It was away the last time: nobody waits for it again.
            let (fetched, at) = (Arc::clone(fetched), known.at);
            tokio::spawn(async move { fetched.fetch_behind(at).await.map(drop) });
        } else if known.is_old() {
            // A key that the issuer took back does not count once more because nobody came for long.
            known = fetched.fetch_behind(known.at).await.unwrap_or(known);
        }
        let key = token.key_in(&known.keys);
        let key = key.ok_or(TokenRefusal::Invalid("its issuer has no such key"))?;
        token.verified_claims(key).map_err(Unverified::from)
    }
}

impl Fetched {
    fn known(&self) -> Known {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn note(&self, known: &Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = known.clone();
    }

    /// Keys that are newer than those of a time: what another request fetched meanwhile, or what the issuer has now.
    async fn fetch_behind(self: &Arc<Self>, at: Option<Instant>) -> Result<Known, Unverified> {
        let _turn = self.turn.lock().await;
        let known = self.known();
        if known.at != at {
            return Ok(known);
        }
        if known.failed_lately() || self.rate.check().is_err() {
            return Err(Unverified::Away);
        }
        // Whoever asked may have gone before the issuer answers: what it says is noted all the same.
        let own = Arc::clone(self);
        let fetching = tokio::task::spawn_blocking(move || own.fetch());
        fetching.await.unwrap_or(Err(Unverified::Away))
    }

    /// Asks the issuer, and notes what came of that.
    fn fetch(&self) -> Result<Known, Unverified> {
        let known = match self.issuer.fetch_keys() {
            Ok(keys) => Known {
                keys: Arc::new(keys),
                at: Some(Instant::now()),
                failed: None,
            },
            Err(error) => {
                let name = self.issuer.name();
                tracing::warn!("cannot read the keys of issuer {name}: {error}");
                let failed = Some(Instant::now());
                self.note(&Known {
                    failed,
                    ..self.known()
                });
                return Err(Unverified::Away);
            }
        };
        self.note(&known);
        Ok(known)
    }
}
