//! Issuers of tokens that a gateway takes beside its own (OpenID Connect): companies' for people, and those of CI systems for
//! jobs.
//!
//! A token of an issuer is worth what a grant of the configuration makes of its claims, at each request anew: nothing is
//! stored of it, so that a right that the issuer takes back is gone with the token. Signatures are verified by `ring`; what
//! is here decides which ones are taken.

mod grant;
mod issuer;
mod key_set;
mod signed_token;

use serde_json::{Map, Value};

pub use grant::GrantForm;
pub use issuer::{Identity, Issuer, IssuerForm, IssuerFormError};
pub use key_set::{KeySet, PublicKey};
pub use signed_token::{SignedToken, TokenRefusal};

/// What an issuer says in a token, by the names of its claims.
pub type TokenClaims = Map<String, Value>;
