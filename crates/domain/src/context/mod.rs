//! Where replies go, and what conversational state is kept under: two keys that are never mixed up.
//!
//! A *route key* is stable: replies, liveness and the name of a scheduled run go by it. A *context key* names one
//! context, that is one stretch of conversational state, and nothing is read from another one unless its policy says so.
//! Most runs have both equal. An isolated run keeps its route and gets a context of its own, which is why they are two
//! types:
//!
//! ```compile_fail,E0308
//! use siglum_domain::context::{ContextKey, RouteKey};
//! fn assemble(_: &ContextKey) {}
//! let route = RouteKey::new("agent:main:main").unwrap();
//! assemble(&route); // a route key where a context key is wanted
//! ```
//!
//! ```
//! use siglum_domain::context::{ContextKey, RouteKey};
//! fn assemble(_: &ContextKey) {}
//! let route = RouteKey::new("agent:main:main").unwrap();
//! assemble(&ContextKey::from_route(&route));
//! ```

mod cause;
mod keys;
mod policy;
#[cfg(test)]
mod tests;

pub use self::cause::{Cause, Inherit};
pub use self::keys::Keys;
pub use self::policy::{Policy, RoutePattern, Rule};
pub use crate::grammar::{ContextKey, RouteKey};
