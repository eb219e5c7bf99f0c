//! Sealed turns as traces (DESIGN §8): one trace for each turn, and on every span of it the same id of the conversation.
//!
//! What is told is a function of the log alone. It is told once: what was sealed before is known, and only what came
//! since is made into spans. An event has the same span whenever it is told, so that who gets it twice can know; and
//! tokens that a second source tells anew, or that grew, are told as the difference, so that the sum is right at every
//! sink at any time. Nothing is in here of how it is sent.

mod attributes;
mod encode;
mod logs;
mod moments;
mod spans;
mod subject;
mod turn;
mod usage;

pub use encode::Outgoing;
pub use logs::{SessionMoment, moment};
pub use subject::{Content, Linked, Origin, Subject, TurnPart, Why};
pub use turn::turn;
pub use usage::{Unexported, unexported};

#[cfg(test)]
mod tests;
