//! A world for one test: directories, a clean environment, an agent, a terminal, answers.

mod agent;
mod answer;
mod container;
mod dice;
mod edits;
mod gateway;
pub(crate) mod issuer;
mod otlp_sink;
mod recency;
mod repo;
mod sources;
pub(crate) mod talk;
mod tally;
mod terminal;
pub(crate) mod wire;
mod world;

pub(crate) use agent::Agent;
pub(crate) use answer::Why;
pub(crate) use container::Container;
pub(crate) use dice::{Dice, number, seed};
pub(crate) use edits::EditCall;
pub(crate) use gateway::{Fate, Gateway};
pub(crate) use issuer::{Issuer, SigningKey};
pub(crate) use otlp_sink::{OtlpSink, SinkFate};
pub(crate) use repo::Repo;
pub(crate) use sources::source_lines_with;
pub(crate) use talk::Talk;
pub(crate) use tally::{Load, Tally};
pub(crate) use terminal::Terminal;
pub(crate) use world::{Ran, World, characters, kill, left_out, until, until_within};
