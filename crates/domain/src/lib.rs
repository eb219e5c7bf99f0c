//! Nouns and pure rules of Siglum.
//!
//! Everything here is a function of its arguments: no input or output, no clock, no randomness, no
//! environment. The crates above bring the world in as values ([`intake::Intake`]) and take
//! decisions out ([`evidence::judge`], [`fold`], [`provenance`]).

pub mod access;
pub mod audit;
pub mod base64url;
pub mod claims;
pub mod command;
pub mod commit;
pub mod commit_message;
pub mod context;
pub mod digest;
pub mod draft;
pub mod envelope;
pub mod evidence;
pub mod fold;
pub mod grammar;
pub mod heartbeat;
pub mod id;
pub mod intake;
pub mod legible;
pub mod link;
pub mod observation;
pub mod pipeline;
mod place;
pub mod price;
pub mod process;
pub mod provenance;
pub mod pull_request;
pub mod receipt;
pub mod redact;
#[cfg(feature = "schemas")]
mod schemas;
pub mod scope;
pub mod search;
mod shell;
pub mod tail;
pub mod time;
pub mod trace;
pub mod trailer;
mod words;

pub use grammar::{
    AgentName, ConversationId, GrammarError, NativeId, Oid, PlatformName, Tenant, TokenName,
    TurnKey,
};
pub use id::{
    CheckpointId, IdSource, InteractionId, LedgerId, ObservationId, RepositoryId, SessionId,
    TokenId, TurnId,
};
pub use redact::Redacted;
pub use time::Timestamp;
