//! What leaves the machine.
//!
//! Nothing goes anywhere but to an address that the user named. Timeouts, retries, the sizes of answers and the rule
//! for unencrypted connections are here and nowhere else. There is no clock and no randomness in here: who retries
//! says how to wait.

mod address;
mod agent;
#[cfg(feature = "s3")]
mod bucket;
mod client;
mod issuer;
pub mod otlp;
mod problem;
mod reach;
mod retry;
mod token;
mod webhook;

pub use address::{Address, AddressError, Plain};
pub use agent::Timeouts;
#[cfg(feature = "s3")]
pub use bucket::{Bucket, BucketError, BucketSettings};
pub use client::{Answer, EgressError, GatewayClient};
pub use issuer::{
    DeviceAuthorization, DeviceClient, DevicePoll, IssuedTokens, IssuerError, Provider,
    request_job_token,
};
pub use problem::Problem;
pub use reach::Reach;
pub use retry::{Once, Waits, backoff};
pub use token::{Token, TokenError};
pub use webhook::{WebhookError, hand_over};
